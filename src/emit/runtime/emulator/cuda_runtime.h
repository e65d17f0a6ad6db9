/* The part of CUDA's runtime that kernels written by sparsec use, on a CPU.
 *
 * Every thread is a fibre (emulator.cpp); barriers and warp operations switch
 * between them. Compiled with -fsanitize=thread, but linked without it, every load and
 * store of a kernel is checked as well: see emulator.cpp. For sm_70 and later.
 */
#ifndef SPARSEC_EMULATOR_H
#define SPARSEC_EMULATOR_H
#ifndef SPARSEC_EMULATED
#error "this header stands in for CUDA's: compile with -DSPARSEC_EMULATED, or keep it off the include path"
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline

/* Of these C++ has templates for arguments that differ, but none for GPUs. */
double fmin(double, float) = delete;
double fmin(float, double) = delete;
double fmax(double, float) = delete;
double fmax(float, double) = delete;
double fmod(double, float) = delete;
double fmod(float, double) = delete;
double pow(double, float) = delete;
double pow(float, double) = delete;
double atan2(double, float) = delete;
double atan2(float, double) = delete;

/* A part of the library: the kernel of a launch bound, or an array of shared memory. */
struct emu_part {
    char *begin, *end;
    unsigned most;        /* threads of a block */
    const char *function; /* whose array it is */
};
/* Each has a section of its own, which the linker gives a begin and an end; neither if the
 * compiler left out what was in it. */
#define EMU_ENDS(kind, n)                                                                            \
    extern char emu_begin_##n[] __asm__("__start_emu_" kind #n) __attribute__((weak, visibility("hidden"))); \
    extern char emu_end_##n[] __asm__("__stop_emu_" kind #n) __attribute__((weak, visibility("hidden")));
/* `static void __launch_bounds__(64) f()`: a function of no use, the bound, then `static void f()`. */
#define EMU_BOUND_(n, ...)                                                                  \
    __attribute__((unused)) emu_nothing_##n(void) {}                                        \
    EMU_ENDS("bound_", n)                                                                   \
    static emu_part emu_part_##n __attribute__((section("emu_bounds"), used)) =             \
        {emu_begin_##n, emu_end_##n, emu_most(__VA_ARGS__), NULL};                                        \
    static __attribute__((section("emu_bound_" #n))) void
#define EMU_BOUND(n, ...) EMU_BOUND_(n, __VA_ARGS__)
#define __launch_bounds__(...) EMU_BOUND(__COUNTER__, __VA_ARGS__)
static constexpr inline unsigned emu_most(unsigned threads, unsigned = 0, unsigned = 0) { return threads; }
/* Behind each array of shared memory comes a gap. */
#define EMU_SHARED_(n)                                                                      \
    __asm__(".pushsection emu_shared_" #n ",\"aw\",%progbits\n.popsection\n"                \
            ".pushsection emu_shared_gap_" #n ",\"aw\",%progbits\n.zero 256\n.popsection");  \
    EMU_ENDS("shared_", n)                                                                  \
    static emu_part emu_part_##n __attribute__((section("emu_arrays"), used)) =             \
        {emu_begin_##n, emu_end_##n, 0, __func__};                                          \
    static __attribute__((section("emu_shared_" #n)))
#define EMU_SHARED(n) EMU_SHARED_(n)
#define __shared__ EMU_SHARED(__COUNTER__)

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* Reports an array that does not begin at a multiple of `bytes`. */
void emu_aligned(const void *array, unsigned bytes, unsigned size);

/* What is loaded and stored together begins at a multiple of its size. */
#define EMU_VECTOR(name, T, n, ...)                                                                       \
    struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) name {                                        \
        T __VA_ARGS__;                                                                                    \
        name() = default;                                                                                 \
        name(const name &other) { emu_aligned(&other, alignof(name), sizeof(T)); memcpy((void *)this, (const void *)&other, sizeof other); } \
        name &operator=(const name &other) {                                                              \
            emu_aligned(this, alignof(name), sizeof(T));                                                  \
            memcpy((void *)this, (const void *)&other, sizeof other);                                     \
            return *this;                                                                                 \
        }                                                                                                 \
    };
EMU_VECTOR(float2, float, 2, x, y)
EMU_VECTOR(float4, float, 4, x, y, z, w)
EMU_VECTOR(int2, int, 2, x, y)
EMU_VECTOR(int4, int, 4, x, y, z, w)
EMU_VECTOR(double2, double, 2, x, y)
#undef EMU_VECTOR

/* Where the thread at hand is. */
struct emu_place {
    uint3 thread, block;
    dim3 threads, blocks;
};
extern emu_place emu_now;
#define threadIdx (emu_now.thread)
#define blockIdx (emu_now.block)
#define blockDim (emu_now.threads)
#define gridDim (emu_now.blocks)

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorLaunchFailure = 719,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureImplicit = 906
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

cudaError_t cudaMalloc(void **array, size_t bytes);
cudaError_t cudaFree(void *array);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemset(void *array, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *array, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);

/* Times of this machine. */
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventDestroy(cudaEvent_t event);

/* Graphs of what one stream does, in its order. While it is captured, nothing may allocate,
 * wait, or use the default stream, unless the mode is relaxed. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

/* ---- synchronisation ------------------------------------------------------- */

void emu_barrier(int line);
/* Lanes of the mask exchange a word each; emu_word then gives that of a lane of the mask. */
void emu_exchange(unsigned mask, int operation, uint64_t word, int line);
uint64_t emu_word(unsigned mask, unsigned lane, int line);
unsigned emu_lane(void);

static inline void __syncthreads(int line = __builtin_LINE()) { emu_barrier(line); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) { emu_exchange(mask, 0, 0, line); }
/* Orders what the thread did before what others do after they saw an atomic or volatile store
 * that follows, on the whole device or in the block. */
void emu_fence(bool device);
static inline void __threadfence(void) { emu_fence(true); }
static inline void __threadfence_block(void) { emu_fence(false); }
/* Lets other threads and blocks go on. */
void emu_pause(void);
static inline void __nanosleep(unsigned) { emu_pause(); }

template <class T> static inline T emu_shuffle(unsigned mask, T value, unsigned from, int line) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof(T));
    emu_exchange(mask, 1, word, line);
    word = emu_word(mask, from & 31u, line);
    memcpy(&value, &word, sizeof(T));
    return value;
}
/* Lanes of an aligned group of `width`. */
template <class T> static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32, int line = __builtin_LINE()) {
    const unsigned first = emu_lane() & ~((unsigned)width - 1u);
    return emu_shuffle(mask, value, first + ((unsigned)from & ((unsigned)width - 1u)), line);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE()) {
    const unsigned lane = emu_lane(), inside = lane & ((unsigned)width - 1u);
    return emu_shuffle(mask, value, inside + by < (unsigned)width ? lane + by : lane, line);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE()) {
    const unsigned lane = emu_lane(), inside = lane & ((unsigned)width - 1u);
    return emu_shuffle(mask, value, inside >= by ? lane - by : lane, line);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32, int line = __builtin_LINE()) {
    const unsigned lane = emu_lane(), other = lane ^ (unsigned)with;
    return emu_shuffle(mask, value, other / (unsigned)width == lane / (unsigned)width ? other : lane, line);
}
static inline unsigned __ballot_sync(unsigned mask, int holds, int line = __builtin_LINE()) {
    unsigned all = 0;
    emu_exchange(mask, 2, holds != 0, line);
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1u) all |= (unsigned)emu_word(mask, lane, line) << lane;
    return all;
}
static inline int __any_sync(unsigned mask, int holds, int line = __builtin_LINE()) { return __ballot_sync(mask, holds, line) != 0; }
static inline int __all_sync(unsigned mask, int holds, int line = __builtin_LINE()) { return __ballot_sync(mask, holds, line) == mask; }
static inline int __ffs(int word) { return __builtin_ffs(word); }
static inline int __popc(unsigned word) { return __builtin_popcount(word); }

/* ---- atomics ---------------------------------------------------------------- */

/* Notes an atomic access of bytes, with the value that goes in; of an array of smaller
 * elements, which of them; and afterwards whether it changed them. */
void emu_atomic(const void *at, size_t bytes, const void *value, const void *from);
void emu_narrow(const void *at, size_t bytes);
void emu_done(bool changed);

/* An update, which returns what was there. */
#define EMU_ATOMIC(name, T, expression)                                                              \
    __attribute__((no_sanitize("thread"), noinline, unused)) static T name(T *at, T value) {         \
        emu_atomic(at, sizeof(T), &value, __builtin_return_address(0));                              \
        const T old = *at, fresh = (T)(expression);                                                  \
        *at = fresh;                                                                                 \
        emu_done(memcmp(&old, &fresh, sizeof(T)) != 0);                                              \
        return old;                                                                                  \
    }
#define EMU_ATOMICS(name, expression)  \
    EMU_ATOMIC(name, int, expression)  \
    EMU_ATOMIC(name, unsigned, expression) \
    EMU_ATOMIC(name, unsigned long long, expression)
EMU_ATOMICS(atomicAdd, old + value)
EMU_ATOMIC(atomicAdd, float, old + value)
EMU_ATOMIC(atomicAdd, double, old + value)
EMU_ATOMICS(atomicMin, value < old ? value : old)
EMU_ATOMIC(atomicMin, long long, value < old ? value : old)
EMU_ATOMICS(atomicMax, old < value ? value : old)
EMU_ATOMIC(atomicMax, long long, old < value ? value : old)
EMU_ATOMICS(atomicExch, value)
EMU_ATOMICS(atomicOr, old | value)
EMU_ATOMICS(atomicAnd, old & value)
EMU_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
#undef EMU_ATOMICS
#undef EMU_ATOMIC
#define EMU_SWAP(T)                                                                                             \
    __attribute__((no_sanitize("thread"), noinline, unused)) static T atomicCAS(T *at, T expected, T value) {   \
        emu_atomic(at, sizeof(T), &value, __builtin_return_address(0));                                         \
        const T old = *at;                                                                                      \
        if (old == expected) *at = value;                                                                       \
        emu_done(old == expected && old != value);                                                              \
        return old;                                                                                             \
    }
EMU_SWAP(int)
EMU_SWAP(unsigned)
EMU_SWAP(unsigned long long)
#undef EMU_SWAP

/* ---- launches ----------------------------------------------------------------- */

/* A parameter of a kernel. */
struct emu_array {
    const void *at; /* an array as the host knows it; NULL for what is none */
    size_t size;    /* of its elements */
    bool constant;
};
/* A kernel with what it takes: run in each thread, and copied while a stream is captured. */
struct emu_kernel {
    void (*run)(void *);
    void *(*copy)(const void *);
    void (*drop)(void *);
    void *closure;
    const void *function;
    dim3 blocks, threads;
    const emu_array *arrays;
    size_t count;
};

/* The text of the next launch, which names its arrays. */
void emu_call(const char *text);
/* An array of so many bytes is taken from a workspace. */
void emu_take(const void *array, size_t bytes);
/* The array, where a parameter of this number finds it. */
const void *emu_view(const void *array, size_t parameter);
/* Runs the kernel, or, while the stream is captured, a copy of it later on. */
void emu_enqueue(const emu_kernel &kernel, cudaStream_t stream);

template <class F> __attribute__((no_sanitize("thread"))) static void emu_run(void *closure) { (*(F *)closure)(); }
template <class F> static void *emu_copy(const void *closure) { return new F(*(const F *)closure); }
template <class F> static void emu_drop(void *closure) { delete (F *)closure; }

/* What a parameter of the type P is given: arrays are seen from where it finds them. */
template <class P> struct emu_pass {
    template <class A> static void note(emu_array *, size_t &count, A &) { count++; }
};
template <class T> struct emu_pass<T *> {
    template <class A> static void note(emu_array *arrays, size_t &count, A &value) {
        arrays[count] = {(const void *)value, sizeof(T), false};
        value = (A)emu_view((const void *)value, count++);
    }
};
template <class T> struct emu_pass<const T *> {
    template <class A> static void note(emu_array *arrays, size_t &count, A &value) {
        emu_pass<T *>::note(arrays, count, value);
        arrays[count - 1].constant = true;
    }
};

template <class... P, class... A>
static inline void emu_launch(void (*kernel)(P...), dim3 blocks, dim3 threads, cudaStream_t stream, A... args) {
    emu_array arrays[sizeof...(P) + 1] = {};
    size_t count = 0;
    (emu_pass<P>::note(arrays, count, args), ...);
    auto thread = [=]() __attribute__((no_sanitize("thread"))) { kernel(args...); };
    typedef decltype(thread) T;
    emu_enqueue({emu_run<T>, emu_copy<T>, emu_drop<T>, &thread, (const void *)kernel, blocks, threads, arrays, count}, stream);
}

#endif
