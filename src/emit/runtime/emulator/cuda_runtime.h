/* The part of CUDA's runtime that kernels written by sparsec use, on a CPU.
 *
 * Every thread of a block is a fibre (emulator.cpp); barriers and warp operations switch
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
#define __launch_bounds__(...)
/* One block runs at a time, so its shared memory is a section of the library. */
#define __shared__ static __attribute__((section("emu_shared")))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

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
static inline void __threadfence(void) {}
static inline void __threadfence_block(void) {}

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

/* Notes an atomic access of bytes; of an array of smaller elements, which of them. */
void emu_atomic(const void *at, size_t bytes);
void emu_narrow(const void *at, size_t bytes);

#define EMU_RAW __attribute__((no_sanitize("thread"), noinline))
template <class T> EMU_RAW T emu_swap(T *at, T value) { emu_atomic(at, sizeof(T)); T old = *at; *at = value; return old; }
template <class T> EMU_RAW T emu_add(T *at, T value) { emu_atomic(at, sizeof(T)); T old = *at; *at = (T)(old + value); return old; }
template <class T> EMU_RAW T emu_min(T *at, T value) { emu_atomic(at, sizeof(T)); T old = *at; if (value < old) *at = value; return old; }
template <class T> EMU_RAW T emu_max(T *at, T value) { emu_atomic(at, sizeof(T)); T old = *at; if (old < value) *at = value; return old; }
template <class T> EMU_RAW T emu_cas(T *at, T expected, T value) {
    emu_atomic(at, sizeof(T));
    T old = *at;
    if (old == expected) *at = value;
    return old;
}
static inline int atomicAdd(int *at, int value) { return emu_add(at, value); }
static inline unsigned atomicAdd(unsigned *at, unsigned value) { return emu_add(at, value); }
static inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long value) { return emu_add(at, value); }
static inline float atomicAdd(float *at, float value) { return emu_add(at, value); }
static inline double atomicAdd(double *at, double value) { return emu_add(at, value); }
static inline int atomicMin(int *at, int value) { return emu_min(at, value); }
static inline unsigned atomicMin(unsigned *at, unsigned value) { return emu_min(at, value); }
static inline long long atomicMin(long long *at, long long value) { return emu_min(at, value); }
static inline unsigned long long atomicMin(unsigned long long *at, unsigned long long value) { return emu_min(at, value); }
static inline int atomicMax(int *at, int value) { return emu_max(at, value); }
static inline unsigned atomicMax(unsigned *at, unsigned value) { return emu_max(at, value); }
static inline long long atomicMax(long long *at, long long value) { return emu_max(at, value); }
static inline unsigned long long atomicMax(unsigned long long *at, unsigned long long value) { return emu_max(at, value); }
static inline unsigned atomicExch(unsigned *at, unsigned value) { return emu_swap(at, value); }
static inline unsigned long long atomicExch(unsigned long long *at, unsigned long long value) { return emu_swap(at, value); }
static inline unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value) { return emu_cas(at, expected, value); }
static inline unsigned long long atomicCAS(unsigned long long *at, unsigned long long expected, unsigned long long value) {
    return emu_cas(at, expected, value);
}

/* ---- launches ----------------------------------------------------------------- */

/* Runs the closure in each thread, or, while the stream is captured, a copy of it later on. */
void emu_enqueue(void (*thread)(void *), void *(*copy)(const void *), void (*drop)(void *), void *closure,
                 dim3 blocks, dim3 threads, cudaStream_t stream);

template <class F> static void emu_call(void *closure) { (*(F *)closure)(); }
template <class F> static void *emu_copy(const void *closure) { return new F(*(const F *)closure); }
template <class F> static void emu_drop(void *closure) { delete (F *)closure; }

template <class... P, class... A>
static inline void emu_launch(void (*kernel)(P...), dim3 blocks, dim3 threads, cudaStream_t stream, A... args) {
    auto thread = [=]() { kernel(args...); };
    typedef decltype(thread) T;
    emu_enqueue(emu_call<T>, emu_copy<T>, emu_drop<T>, &thread, blocks, threads, stream);
}

#endif
