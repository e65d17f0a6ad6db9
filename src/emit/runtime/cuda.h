/* ---- CUDA ------------------------------------------------------------------ */

#ifdef SPARSEC_CUDA
extern "C++" { /* Templates, where the header is included within extern "C", too. */

#ifdef SPARSEC_DEBUG
/* The first promise that was found broken: by the host's thread that calls, by a thread of the device. */
struct sparsec_broken_promise {
    int broken;
    long long found;
    char text[200];
};
static thread_local sparsec_broken_promise sparsec_broken;
#ifdef SPARSEC_EMULATED
/* The emulator does not watch it: it is the host's memory. */
__attribute__((no_sanitize("thread")))
#else
static __device__ sparsec_broken_promise sparsec_device_broken;
#endif
static SPARSEC_DEVICE inline void sparsec_note_broken(const char *text, int64_t found) {
#ifdef __CUDA_ARCH__
    sparsec_broken_promise *note = &sparsec_device_broken;
    if (atomicCAS(&note->broken, 0, 1) != 0) return;
#else
    sparsec_broken_promise *note = &sparsec_broken;
    if (note->broken) return;
    note->broken = 1;
#endif
    note->found = (long long)found;
    for (int k = 0; k < 199 && text[k]; k++) note->text[k] = text[k];
}

/* The status of a call, or that it broke a promise; waits for the device. */
static inline int sparsec_kept(int status) {
    sparsec_broken_promise note = sparsec_broken;
    memset(&sparsec_broken, 0, sizeof sparsec_broken);
#ifndef SPARSEC_EMULATED
    const sparsec_broken_promise none = {};
    if (!note.broken && cudaMemcpyFromSymbol(&note, sparsec_device_broken, sizeof note) != cudaSuccess) return status;
    if (cudaMemcpyToSymbol(sparsec_device_broken, &none, sizeof none) != cudaSuccess) return status;
#endif
    if (!note.broken) return status;
    return SPARSEC_FAIL(SPARSEC_PROMISE_BROKEN, "%s %lld", note.text, note.found);
}
#endif

/* Reductions' operators. */
struct sparsec_add { template <class T> SPARSEC_DEVICE T operator()(T a, T b) const { return (T)(a + b); } };
struct sparsec_mul { template <class T> SPARSEC_DEVICE T operator()(T a, T b) const { return (T)(a * b); } };
struct sparsec_and { template <class T> SPARSEC_DEVICE T operator()(T a, T b) const { return (T)(a && b); } };
struct sparsec_or { template <class T> SPARSEC_DEVICE T operator()(T a, T b) const { return (T)(a || b); } };
/* What is set is combined with nothing. */
struct sparsec_set { template <class T> SPARSEC_DEVICE T operator()(T, T b) const { return b; } };
struct sparsec_min {
    template <class T> SPARSEC_DEVICE T operator()(T a, T b) const { return SPARSEC_APART(T, b < a ? b : a); }
    SPARSEC_DEVICE float operator()(float a, float b) const { return fminf(a, b); }
    SPARSEC_DEVICE double operator()(double a, double b) const { return fmin(a, b); }
};
struct sparsec_max {
    template <class T> SPARSEC_DEVICE T operator()(T a, T b) const { return SPARSEC_APART(T, a < b ? b : a); }
    SPARSEC_DEVICE float operator()(float a, float b) const { return fmaxf(a, b); }
    SPARSEC_DEVICE double operator()(double a, double b) const { return fmax(a, b); }
};

/* The number of the thread in its block. */
static __device__ inline unsigned sparsec_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/* The lanes of the aligned group of W (a power of two, at most 32) that the thread is in. */
template <unsigned W> static __device__ inline unsigned sparsec_lanes() {
    return W == 32 ? 0xffffffffu : ((1u << (W & 31u)) - 1u) << (sparsec_rank() & 31u & ~(W - 1u));
}

template <unsigned W> static __device__ inline void sparsec_sync_lanes() {
    __syncwarp(sparsec_lanes<W>());
}

/* The value that lane `from` of the warp has. */
template <class T> static __device__ inline T sparsec_shuffle(unsigned mask, T value, unsigned from) {
    unsigned words[(sizeof(T) + 3) / 4] = {0};
    memcpy(words, &value, sizeof(T));
    for (unsigned k = 0; k < sizeof words / sizeof *words; k++) words[k] = __shfl_sync(mask, words[k], (int)from);
    memcpy(&value, words, sizeof(T));
    return value;
}

/* Reduces over aligned groups of W threads; all of them get the result. */
template <unsigned W, class T, class Op> static __device__ inline T sparsec_reduce_lanes(T value, Op op) {
    const unsigned lane = sparsec_rank() & 31u, mask = sparsec_lanes<W>();
    for (unsigned d = W / 2; d > 0; d /= 2) value = op(value, sparsec_shuffle(mask, value, lane ^ d));
    return value;
}

/* Reduces over every STRIDEth thread, COUNT of them; all threads of the block call it. */
template <unsigned COUNT, unsigned STRIDE, class T, class Op>
static __device__ inline T sparsec_reduce_strided(T value, Op op, T *scratch) {
    const unsigned rank = sparsec_rank(), first = rank - rank / STRIDE % COUNT * STRIDE;
    scratch[rank] = value;
    __syncthreads();
    value = scratch[first];
    for (unsigned k = 1; k < COUNT; k++) value = op(value, scratch[first + k * STRIDE]);
    __syncthreads();
    return value;
}

/* Sorts n elements by their order coordinates, outermost first: a heap, since nothing is allocated here.
 * Equal elements come in an order that is the same in each run. */
template <class I, class V>
static __device__ inline bool sparsec_is_before(int order, I *const *crd, int64_t a, int64_t b) {
    for (int l = 0; l < order; l++)
        if (crd[l][a] != crd[l][b]) return crd[l][a] < crd[l][b];
    return false;
}

template <class I, class V>
static __device__ inline void sparsec_swap_elements(int order, I *const *crd, V *vals, int64_t a, int64_t b) {
    for (int l = 0; l < order; l++) {
        const I c = crd[l][a];
        crd[l][a] = crd[l][b];
        crd[l][b] = c;
    }
    const V v = vals[a];
    vals[a] = vals[b];
    vals[b] = v;
}

template <class I, class V>
static __device__ inline void sparsec_sort_in_place(int64_t n, int order, I *const *crd, V *vals) {
    bool sorted = true;
    for (int64_t k = 1; k < n && sorted; k++) sorted = !sparsec_is_before<I, V>(order, crd, k, k - 1);
    if (sorted) return;
    for (int64_t from = n / 2 - 1, to = n; to > 1;) {
        if (from < 0) sparsec_swap_elements(order, crd, vals, 0, --to);
        int64_t root = from < 0 ? 0 : from--;
        for (int64_t child = 2 * root + 1; child < to; child = 2 * root + 1) {
            if (child + 1 < to && sparsec_is_before<I, V>(order, crd, child, child + 1)) child++;
            if (!sparsec_is_before<I, V>(order, crd, root, child)) break;
            sparsec_swap_elements(order, crd, vals, root, child);
            root = child;
        }
    }
}

/* The same by all threads of a block at once: a bitonic network that always sorts upwards, so that elements that
 * would stand behind the last one stay there. */
template <class I, class V>
static __device__ inline void sparsec_sort_pair(int64_t n, int order, I *const *crd, V *vals, int64_t a, int64_t b) {
    if (b < n && sparsec_is_before<I, V>(order, crd, b, a)) sparsec_swap_elements(order, crd, vals, a, b);
}

template <class I, class V>
static __device__ inline void sparsec_sort_network(int64_t n, int order, I *const *crd, V *vals) {
    const int64_t rank = sparsec_rank(), threads = (int64_t)blockDim.x * blockDim.y * blockDim.z;
    for (int64_t size = 2; size < 2 * n; size *= 2) {
        for (int64_t k = rank; 2 * k < n + size; k += threads) {
            const int64_t at = k & (size / 2 - 1), from = 2 * (k - at);
            sparsec_sort_pair(n, order, crd, vals, from + at, from + size - 1 - at);
        }
        __syncthreads();
        for (int64_t half = size / 4; half > 0; half /= 2) {
            for (int64_t k = rank; 2 * k < n + 2 * half; k += threads) {
                const int64_t at = k & (half - 1), from = 2 * (k - at) + at;
                sparsec_sort_pair(n, order, crd, vals, from, from + half);
            }
            __syncthreads();
        }
    }
}

/* The same of a row, in shared memory of so many bytes if it fits: where there are few for each thread, it counts what comes before them. */
template <class I, class V>
static __device__ inline void sparsec_sort_together(int64_t n, int order, I *const *crd, V *vals, void *memory,
                                                    size_t bytes) {
    const int most = (int)((bytes - 16) / (sizeof(I) + sizeof(V)));
    I *const keys = (I *)memory;
    V *const own = (V *)((char *)memory + ((size_t)most * sizeof(I) + 15) / 16 * 16);
    const int rank = (int)sparsec_rank(), threads = (int)(blockDim.x * blockDim.y * blockDim.z);
    if (order > 1 || n > most) return sparsec_sort_network(n, order, crd, vals);
    for (int k = rank; k < n; k += threads) {
        keys[k] = crd[0][k];
        own[k] = vals[k];
    }
    __syncthreads();
    if (n <= 2 * threads) {
        for (int k = rank; k < n; k += threads) {
            const I key = keys[k];
            int to = 0;
            for (int other = 0; other < n; other++) to += keys[other] < key || (keys[other] == key && other < k);
            crd[0][to] = key;
            vals[to] = own[k];
        }
    } else {
        I *const by[] = {keys};
        sparsec_sort_network(n, 1, by, own);
        for (int k = rank; k < n; k += threads) {
            crd[0][k] = keys[k];
            vals[k] = own[k];
        }
    }
    __syncthreads();
}

/* The slot of a key among so many of a table in which threads enter keys at once: by open addressing, unless there is
 * one for each key. Free slots hold -1. Who takes one gets a number, and notes the key and the slot. */
static __device__ inline int32_t sparsec_take_slot(int32_t *slot, int32_t key) {
    return (int32_t)atomicCAS((unsigned *)slot, (unsigned)-1, (unsigned)key);
}
static __device__ inline int64_t sparsec_take_slot(int64_t *slot, int64_t key) {
    return (int64_t)atomicCAS((unsigned long long *)slot, (unsigned long long)-1, (unsigned long long)key);
}
static __device__ inline int32_t sparsec_next(int32_t *count) { return (int32_t)atomicAdd((unsigned *)count, 1u); }
static __device__ inline int64_t sparsec_next(int64_t *count) {
    return (int64_t)atomicAdd((unsigned long long *)count, 1ull);
}

template <class I>
static __device__ inline int64_t sparsec_claim(I *table, int64_t slots, int64_t extent, int64_t key, I *count, I *keys,
                                               I *places) {
    int64_t at = slots < extent ? sparsec_slot(key, slots) : key;
    for (;;) {
        const I old = sparsec_take_slot(&table[at], (I)key);
        if (old == (I)key) return at;
        if (old == (I)-1) {
            const I number = sparsec_next(count);
            keys[number] = (I)key;
            if (places) places[number] = (I)at;
            return at;
        }
        at = at + 1 < slots ? at + 1 : 0;
    }
}

/* Tells the emulator which bytes of a word the next atomics are after. */
#ifdef SPARSEC_EMULATED
#define SPARSEC_NARROW(at, bytes) emu_narrow(at, bytes)
#else
#define SPARSEC_NARROW(at, bytes) ((void)0)
#endif

/* *at = op(*at, value), by comparing and swapping the word that holds it. */
template <class T, class Op> static __device__ inline void sparsec_swap_in(T *at, T value, Op op) {
    if (sizeof(T) == 8) {
        unsigned long long *word = (unsigned long long *)(void *)at, old = atomicAdd(word, 0ull), seen;
        do {
            T now;
            unsigned long long next;
            seen = old;
            memcpy(&now, &seen, sizeof(T) == 8 ? 8 : 0);
            now = op(now, value);
            memcpy(&next, &now, sizeof(T) == 8 ? 8 : 0);
            old = next == seen ? seen : atomicCAS(word, seen, next);
        } while (old != seen);
    } else if (sizeof(T) <= 4) {
        SPARSEC_NARROW(at, sizeof(T));
        const size_t inside = (size_t)at % 4;
        unsigned *word = (unsigned *)(void *)((char *)at - inside), old = atomicAdd(word, 0u), seen;
        do {
            T now;
            unsigned next = seen = old;
            memcpy(&now, (char *)&next + inside, sizeof(T) <= 4 ? sizeof(T) : 0);
            now = op(now, value);
            memcpy((char *)&next + inside, &now, sizeof(T) <= 4 ? sizeof(T) : 0);
            old = next == seen ? seen : atomicCAS(word, seen, next);
        } while (old != seen);
        SPARSEC_NARROW(NULL, 0);
    } else {
        /* 16 bytes: one at a time, under a lock. */
        unsigned long long *word = (unsigned long long *)(void *)at, half[2];
        for (bool done = false; !done;) {
            if (atomicCAS(&sparsec_lock, 0u, 1u) != 0u) continue;
            T now;
            __threadfence();
            half[0] = atomicAdd(word, 0ull);
            half[1] = atomicAdd(word + 1, 0ull);
            memcpy((void *)&now, half, sizeof(T) == 16 ? 16 : 0);
            now = op(now, value);
            memcpy(half, (void *)&now, sizeof(T) == 16 ? 16 : 0);
            atomicExch(word, half[0]);
            atomicExch(word + 1, half[1]);
            __threadfence();
            atomicExch(&sparsec_lock, 0u);
            done = true;
        }
    }
}

template <class T, class Op> struct sparsec_atomically {
    static __device__ void update(T *at, T value, Op op) { sparsec_swap_in(at, value, op); }
};
#define SPARSEC_ATOMIC(T, OP, CALL, AS)                                                           \
    template <> struct sparsec_atomically<T, OP> {                                                \
        static __device__ void update(T *at, T value, OP) { CALL((AS *)at, (AS)value); }      \
    };
SPARSEC_ATOMIC(float, sparsec_add, atomicAdd, float)
SPARSEC_ATOMIC(double, sparsec_add, atomicAdd, double)
SPARSEC_ATOMIC(int32_t, sparsec_add, atomicAdd, int)
SPARSEC_ATOMIC(uint32_t, sparsec_add, atomicAdd, unsigned)
SPARSEC_ATOMIC(int64_t, sparsec_add, atomicAdd, unsigned long long)
SPARSEC_ATOMIC(uint64_t, sparsec_add, atomicAdd, unsigned long long)
SPARSEC_ATOMIC(int32_t, sparsec_min, atomicMin, int)
SPARSEC_ATOMIC(uint32_t, sparsec_min, atomicMin, unsigned)
SPARSEC_ATOMIC(int64_t, sparsec_min, atomicMin, long long)
SPARSEC_ATOMIC(uint64_t, sparsec_min, atomicMin, unsigned long long)
SPARSEC_ATOMIC(int32_t, sparsec_max, atomicMax, int)
SPARSEC_ATOMIC(uint32_t, sparsec_max, atomicMax, unsigned)
SPARSEC_ATOMIC(int64_t, sparsec_max, atomicMax, long long)
SPARSEC_ATOMIC(uint64_t, sparsec_max, atomicMax, unsigned long long)
#undef SPARSEC_ATOMIC
template <class T> struct sparsec_atomically<sparsec_complex<T>, sparsec_add> {
    static __device__ void update(sparsec_complex<T> *at, sparsec_complex<T> value, sparsec_add) {
        atomicAdd(&at->re, value.re);
        atomicAdd(&at->im, value.im);
    }
};

/* *at = op(*at, value) while other threads do the same. */
template <class T, class V, class Op> static __device__ inline void sparsec_atomic(T *at, V value, Op op) {
    sparsec_atomically<T, Op>::update(at, (T)value, op);
}

/* Halves combine in float. */
template <class Op> struct sparsec_half_op {
    Op op;
    __device__ sparsec_half operator()(sparsec_half a, float b) const {
        return sparsec_float_to_half(op(sparsec_half_to_float(a), b));
    }
};
template <class Op> struct sparsec_bfloat16_op {
    Op op;
    __device__ sparsec_bfloat16 operator()(sparsec_bfloat16 a, float b) const {
        return sparsec_float_to_bfloat16(op(sparsec_bfloat16_to_float(a), b));
    }
};
template <class Op> static __device__ inline void sparsec_swap_half(uint16_t *at, float value, Op op) {
    SPARSEC_NARROW(at, 2);
    const size_t inside = (size_t)at % 4;
    unsigned *word = (unsigned *)(void *)((char *)at - inside), old = atomicAdd(word, 0u), seen;
    do {
        unsigned next = seen = old;
        uint16_t now;
        memcpy(&now, (char *)&next + inside, 2);
        now = op(now, value);
        memcpy((char *)&next + inside, &now, 2);
        old = next == seen ? seen : atomicCAS(word, seen, next);
    } while (old != seen);
    SPARSEC_NARROW(NULL, 0);
}
template <class Op> static __device__ inline void sparsec_atomic_half(sparsec_half *at, float value, Op op) {
    sparsec_swap_half(at, value, sparsec_half_op<Op>{op});
}
template <class Op> static __device__ inline void sparsec_atomic_bfloat16(sparsec_bfloat16 *at, float value, Op op) {
    sparsec_swap_half(at, value, sparsec_bfloat16_op<Op>{op});
}

/* Reduces over runs of lanes with one index, in aligned groups of W threads; the first lane
 * of each run gets the result. Returns whether the thread is such a lane. */
template <unsigned W, class T, class Op>
static __device__ inline bool sparsec_reduce_run(int64_t index, T *value, Op op) {
    const unsigned warp_lane = sparsec_rank() & 31u, lane = warp_lane & (W - 1u), mask = sparsec_lanes<W>();
    const int64_t before = sparsec_shuffle(mask, index, lane ? warp_lane - 1 : warp_lane);
    const bool first = lane == 0 || before != index;
    const unsigned later = __ballot_sync(mask, first) >> warp_lane >> 1;
    /* Lanes to the end of the run. */
    const unsigned left = later ? (unsigned)__ffs((int)later) - 1u : W - 1u - lane;
    for (unsigned d = 1; d < W; d *= 2) {
        const T other = sparsec_shuffle(mask, *value, lane + d < W ? warp_lane + d : warp_lane);
        if (d <= left) *value = op(*value, other);
    }
    return first;
}

/* The array, known to begin at a multiple of BYTES: consecutive elements are loaded together. */
template <unsigned BYTES, class T> static __device__ inline T *sparsec_aligned(T *array) {
#ifdef SPARSEC_EMULATED
    emu_aligned(array, BYTES, sizeof(T));
#endif
    return (T *)__builtin_assume_aligned(array, BYTES);
}

/* array[index] = op(array[index], value) for each thread of aligned groups of W. */
template <unsigned W, class T, class V, class Op>
static __device__ inline void sparsec_segment(T *array, int64_t index, V value, Op op) {
    T sum = (T)value;
    if (sparsec_reduce_run<W>(index, &sum, op)) sparsec_atomic(array + index, sum, op);
}
template <unsigned W, class Op>
static __device__ inline void sparsec_segment_half(sparsec_half *array, int64_t index, float value, Op op) {
    if (sparsec_reduce_run<W>(index, &value, op)) sparsec_atomic_half(array + index, value, op);
}
template <unsigned W, class Op>
static __device__ inline void sparsec_segment_bfloat16(sparsec_bfloat16 *array, int64_t index, float value, Op op) {
    if (sparsec_reduce_run<W>(index, &value, op)) sparsec_atomic_bfloat16(array + index, value, op);
}

/* ---- the host's side of CUDA ------------------------------------------------ */

static inline int sparsec_cuda(cudaError_t status) {
    if (status == cudaSuccess) return SPARSEC_OK;
    if (status == cudaErrorMemoryAllocation) return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    return SPARSEC_FAIL(SPARSEC_DEVICE_FAILED, "CUDA: %s", cudaGetErrorString(status));
}

#define SPARSEC_TRY(call)                    \
    do {                                     \
        const int sparsec_status = (call);   \
        if (sparsec_status) return sparsec_status; \
    } while (0)

/* Before a launch or clear of the device, and before what the host waits for or allocates:
 * `sparsec run --time` defines them to start and stop a clock. */
#ifndef SPARSEC_WORK_BEGINS
#define SPARSEC_WORK_BEGINS(stream) ((void)0)
#define SPARSEC_WORK_ENDS() ((void)0)
#endif

/* What kernels with vector loads need of an array; all that cudaMalloc gives is aligned. */
static inline int sparsec_need_aligned(const void *array, unsigned bytes, const char *name) {
    if ((size_t)array % bytes == 0) return SPARSEC_OK;
    return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s must begin at a multiple of %u bytes", name, bytes);
}

/* Launches a kernel of x * y * z blocks, none if one of them is 0. */
template <class... P, class... A>
static inline int sparsec_launch(void (*kernel)(P...), int64_t x, int64_t y, int64_t z, dim3 block,
                                 cudaStream_t stream, A... args) {
    if (x <= 0 || y <= 0 || z <= 0) return SPARSEC_OK;
    if (x > 2147483647 || y > 65535 || z > 65535)
        return SPARSEC_FAIL(SPARSEC_DEVICE_FAILED, "a launch of %lld x %lld x %lld blocks is too large",
                            (long long)x, (long long)y, (long long)z);
    SPARSEC_WORK_BEGINS(stream);
#ifdef SPARSEC_EMULATED
    emu_launch(kernel, dim3((unsigned)x, (unsigned)y, (unsigned)z), block, stream, args...);
#else
    kernel<<<dim3((unsigned)x, (unsigned)y, (unsigned)z), block, 0, stream>>>(args...);
#endif
    return sparsec_cuda(cudaGetLastError());
}
/* The emulator's reports name arrays as the launch does. */
#ifdef SPARSEC_EMULATED
#define sparsec_launch(...) (emu_call(#__VA_ARGS__), sparsec_launch(__VA_ARGS__))
#endif

#ifdef SPARSEC_SCANS
/* Running sums or maxima of counts, which are not below 0, in three launches: what each tile of the array
 * combines to, what all tiles up to each do, and the elements. */
enum { SPARSEC_SCAN_THREADS = 256, SPARSEC_SCAN_TILE = 2048 };

struct sparsec_scan_op {
    bool largest;
    __device__ int64_t operator()(int64_t a, int64_t b) const { return !largest ? a + b : a < b ? b : a; }
};

/* What the values of the block's threads up to this one combine to, and all of them. Scratch has an element for
 * each warp. */
static __device__ inline int64_t sparsec_scan_block(int64_t value, sparsec_scan_op op, int64_t *scratch, int64_t *all) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned d = 1; d < 32; d *= 2) {
        const int64_t before = sparsec_shuffle(0xffffffffu, value, lane < d ? lane : lane - d);
        if (lane >= d) value = op(before, value);
    }
    if (lane == 31) scratch[warp] = value;
    __syncthreads();
    int64_t before = 0;
    *all = 0;
    for (unsigned w = 0; w < SPARSEC_SCAN_THREADS / 32; w++) {
        if (w == warp) before = *all;
        *all = op(*all, scratch[w]);
    }
    __syncthreads();
    return op(before, value);
}

template <class T>
static __device__ inline void sparsec_combine_tile(const T *array, int64_t count, sparsec_scan_op op, int64_t *sums,
                                                   int64_t *scratch) {
    const int64_t first = (int64_t)blockIdx.x * SPARSEC_SCAN_TILE;
    int64_t value = 0, all;
    for (int64_t k = first + threadIdx.x; k < first + SPARSEC_SCAN_TILE; k += SPARSEC_SCAN_THREADS)
        if (k < count) value = op(value, array[k]);
    sparsec_scan_block(value, op, scratch, &all);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

template <class T>
static __device__ inline void sparsec_scan_tile(T *array, int64_t count, sparsec_scan_op op, const int64_t *sums,
                                                int64_t *scratch) {
    const int64_t first = (int64_t)blockIdx.x * SPARSEC_SCAN_TILE;
    int64_t before = blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0, all;
    for (int64_t k = first + threadIdx.x; k < first + SPARSEC_SCAN_TILE; k += SPARSEC_SCAN_THREADS) {
        const int64_t value = sparsec_scan_block(k < count ? array[k] : 0, op, scratch, &all);
        if (k < count) array[k] = (T)op(before, value);
        before = op(before, all);
    }
}

static __global__ void __launch_bounds__(256, 4)
sparsec_combine_tiles_int32(const int32_t *array, int64_t count, bool largest, int64_t *sums) {
    __shared__ int64_t scratch[SPARSEC_SCAN_THREADS / 32];
    sparsec_combine_tile(array, count, sparsec_scan_op{largest}, sums, scratch);
}
static __global__ void __launch_bounds__(256, 4)
sparsec_combine_tiles_int64(const int64_t *array, int64_t count, bool largest, int64_t *sums) {
    __shared__ int64_t scratch[SPARSEC_SCAN_THREADS / 32];
    sparsec_combine_tile(array, count, sparsec_scan_op{largest}, sums, scratch);
}
static __global__ void __launch_bounds__(256, 4)
sparsec_scan_sums(int64_t *sums, int64_t tiles, bool largest, int64_t *total) {
    __shared__ int64_t scratch[SPARSEC_SCAN_THREADS / 32];
    const sparsec_scan_op op = {largest};
    int64_t before = 0, all;
    for (int64_t first = 0; first < tiles; first += SPARSEC_SCAN_THREADS) {
        const int64_t k = first + threadIdx.x;
        const int64_t value = sparsec_scan_block(k < tiles ? sums[k] : 0, op, scratch, &all);
        if (k < tiles) sums[k] = op(before, value);
        before = op(before, all);
    }
    if (threadIdx.x == 0 && total) *total = before;
}
static __global__ void __launch_bounds__(256, 4)
sparsec_scan_tiles_int32(int32_t *array, int64_t count, bool largest, const int64_t *sums) {
    __shared__ int64_t scratch[SPARSEC_SCAN_THREADS / 32];
    sparsec_scan_tile(array, count, sparsec_scan_op{largest}, sums, scratch);
}
static __global__ void __launch_bounds__(256, 4)
sparsec_scan_tiles_int64(int64_t *array, int64_t count, bool largest, const int64_t *sums) {
    __shared__ int64_t scratch[SPARSEC_SCAN_THREADS / 32];
    sparsec_scan_tile(array, count, sparsec_scan_op{largest}, sums, scratch);
}

static inline int64_t sparsec_scan_tiles(int64_t count) {
    return count > 0 ? (count + SPARSEC_SCAN_TILE - 1) / SPARSEC_SCAN_TILE : 0;
}
static inline int sparsec_scan(int32_t *array, int64_t count, bool largest, int64_t *sums, int64_t *total, cudaStream_t stream) {
    const int64_t tiles = sparsec_scan_tiles(count);
    const dim3 block(SPARSEC_SCAN_THREADS);
    SPARSEC_TRY(sparsec_launch(sparsec_combine_tiles_int32, tiles, 1, 1, block, stream, array, count, largest, sums));
    SPARSEC_TRY(sparsec_launch(sparsec_scan_sums, 1, 1, 1, block, stream, sums, tiles, largest, total));
    return sparsec_launch(sparsec_scan_tiles_int32, tiles, 1, 1, block, stream, array, count, largest, sums);
}
static inline int sparsec_scan(int64_t *array, int64_t count, bool largest, int64_t *sums, int64_t *total, cudaStream_t stream) {
    const int64_t tiles = sparsec_scan_tiles(count);
    const dim3 block(SPARSEC_SCAN_THREADS);
    SPARSEC_TRY(sparsec_launch(sparsec_combine_tiles_int64, tiles, 1, 1, block, stream, array, count, largest, sums));
    SPARSEC_TRY(sparsec_launch(sparsec_scan_sums, 1, 1, 1, block, stream, sums, tiles, largest, total));
    return sparsec_launch(sparsec_scan_tiles_int64, tiles, 1, 1, block, stream, array, count, largest, sums);
}

/* array[k] becomes the sum of array[0..k], and *total that of all; sums has room for a sum of each tile. */
template <class T>
static inline int sparsec_running_sums(T *array, int64_t count, int64_t *sums, int64_t *total, cudaStream_t stream) {
    return sparsec_scan(array, count, false, sums, total, stream);
}
template <class T>
static inline int sparsec_running_maxima(T *array, int64_t count, int64_t *sums, cudaStream_t stream) {
    return sparsec_scan(array, count, true, sums, (int64_t *)NULL, stream);
}
#endif

/* More than any memory has; so is what several arrays of so many bytes have together. */
#define SPARSEC_NO_SIZE ((size_t)1 << 56)

/* Whether memory may have so many elements: products of extents that no number holds are below zero. */
static inline bool sparsec_is_size(int64_t count, size_t size) {
    return count >= 0 && (size_t)count <= SPARSEC_NO_SIZE / size;
}

/* Bytes of an array in a workspace: arrays begin at multiples of 256. */
static inline size_t sparsec_bytes(int64_t count, size_t size) {
    if (!sparsec_is_size(count, size)) return SPARSEC_NO_SIZE;
    return ((size_t)count * size + 255) / 256 * 256;
}

/* The next array of a workspace. */
static inline void *sparsec_take(char **workspace, int64_t count, size_t size) {
    void *array = *workspace;
    *workspace += sparsec_bytes(count, size);
#ifdef SPARSEC_EMULATED
    emu_take(array, count > 0 ? (size_t)count * size : 0);
#endif
    return array;
}

static inline int sparsec_clear(void *array, int64_t count, size_t size, cudaStream_t stream) {
    if (count <= 0) return SPARSEC_OK;
    SPARSEC_WORK_BEGINS(stream);
    return sparsec_cuda(cudaMemsetAsync(array, 0, (size_t)count * size, stream));
}

/* Memory of the device that is freed with this object. */
struct sparsec_memory {
    enum { most = 256 };
    void *arrays[most];
    int count;
    int error;
    sparsec_memory() : count(0), error(SPARSEC_OK) {}
    ~sparsec_memory() {
        SPARSEC_WORK_ENDS();
        for (int k = 0; k < count; k++) cudaFree(arrays[k]);
    }
    sparsec_memory(const sparsec_memory &) = delete;
    sparsec_memory &operator=(const sparsec_memory &) = delete;

    /* Room for count elements, or NULL and the error noted. */
    void *room(int64_t elements, size_t size) {
        void *array = NULL;
        if (error) return NULL;
        SPARSEC_WORK_ENDS();
        if (count == most || !sparsec_is_size(elements, size)) error = sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
        if (!error) error = sparsec_cuda(cudaMalloc(&array, elements > 0 ? (size_t)elements * size : size));
        if (error) return NULL;
        arrays[count++] = array;
        return array;
    }
    /* A copy of elements of the host. */
    void *copy(const void *from, int64_t elements, size_t size) {
        void *array = room(elements, size);
        if (array && elements > 0)
            error = sparsec_cuda(cudaMemcpy(array, from, (size_t)elements * size, cudaMemcpyHostToDevice));
        return array;
    }
    /* More room in the place of an array; its content is lost. */
    int resize(void **array, int64_t elements, size_t size) {
        SPARSEC_WORK_ENDS();
        for (int k = 0; k < count; k++)
            if (*array && arrays[k] == *array) {
                cudaFree(*array);
                arrays[k] = arrays[--count];
            }
        *array = room(elements, size);
        return error;
    }
};

static inline int sparsec_fetch(void *to, const void *from, int64_t elements, size_t size, cudaStream_t stream) {
    SPARSEC_WORK_ENDS();
    if (elements <= 0) return SPARSEC_OK;
    SPARSEC_TRY(sparsec_cuda(cudaStreamSynchronize(stream)));
    return sparsec_cuda(cudaMemcpy(to, from, (size_t)elements * size, cudaMemcpyDeviceToHost));
}

/* Positions of the levels before `level` of a tensor of the host. */
static inline int64_t sparsec_parents(const sparsec_tensor *t, int32_t level) {
    int64_t n = 1;
    for (int32_t l = 0; l < level; l++) {
        const sparsec_level *own = &t->levels[l];
        if (sparsec_has_places(own)) n *= sparsec_extent(t->dims, own->mode);
        else if (sparsec_has_positions(own->kind)) n = sparsec_index_at(t, own->pos, n);
    }
    return n;
}

static inline size_t sparsec_index_size(const sparsec_tensor *t) { return t->index_bits == 64 ? 8 : 4; }

static inline void *sparsec_upload_pos(sparsec_memory *memory, const sparsec_tensor *t, int32_t l) {
    return memory->copy(t->levels[l].pos, sparsec_parents(t, l) + 1, sparsec_index_size(t));
}
static inline void *sparsec_upload_crd(sparsec_memory *memory, const sparsec_tensor *t, int32_t l) {
    return memory->copy(t->levels[l].crd, sparsec_parents(t, l + 1), sparsec_index_size(t));
}
static inline void *sparsec_upload_bits(sparsec_memory *memory, const sparsec_tensor *t, int32_t l) {
    return memory->copy(t->levels[l].crd, sparsec_parents(t, l + 1), 1);
}
static inline void *sparsec_upload_table(sparsec_memory *memory, const sparsec_tensor *t, int32_t l) {
    return memory->copy(t->levels[l].table, 2 * sparsec_parents(t, l + 1), sparsec_index_size(t));
}
static inline int sparsec_download_bits(sparsec_tensor *t, int32_t l, const void *bits) {
    return sparsec_fetch(t->levels[l].crd, bits, sparsec_parents(t, l + 1), 1, 0);
}
static inline void *sparsec_upload_vals(sparsec_memory *memory, const sparsec_tensor *t) {
    return memory->copy(t->vals, sparsec_parents(t, t->order), sparsec_type_size(t->type));
}
static inline void *sparsec_room_vals(sparsec_memory *memory, const sparsec_tensor *t) {
    return memory->room(sparsec_parents(t, t->order), sparsec_type_size(t->type));
}
static inline int sparsec_download_vals(sparsec_tensor *t, const void *vals) {
    return sparsec_fetch(t->vals, vals, sparsec_parents(t, t->order), sparsec_type_size(t->type), 0);
}

/* Fetches an array of a result, for which there is room now. What a result has in part is freed. */
static inline int sparsec_download(sparsec_tensor *t, bool room, void *to, const void *from, int64_t count, size_t size) {
    int error = room ? SPARSEC_OK : sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    if (!error) error = sparsec_fetch(to, from, count, size, 0);
    if (error) sparsec_free_tensor(t);
    return error;
}

/* Fetches the arrays of a level that the device built. */
static inline int sparsec_download_level(sparsec_tensor *t, int32_t l, const void *pos, const void *crd) {
    SPARSEC_WORK_ENDS();
    const int64_t parents = sparsec_parents(t, l);
    const size_t size = sparsec_index_size(t);
    sparsec_level *level = &t->levels[l];
    int64_t positions = sparsec_has_places(level) ? parents * sparsec_extent(t->dims, level->mode) : parents;
    if (pos) {
        const bool room = sparsec_have_room(&level->pos, &level->pos_cap, parents + 1, size);
        SPARSEC_TRY(sparsec_download(t, room, level->pos, pos, parents + 1, size));
        level->pos_len = parents + 1;
        positions = sparsec_index_at(t, level->pos, parents);
    }
    if (crd) {
        const size_t own = sparsec_crd_size(t, l);
        const bool room = sparsec_have_room(&level->crd, &level->crd_cap, positions, own);
        SPARSEC_TRY(sparsec_download(t, room, level->crd, crd, positions, own));
        level->crd_len = positions;
    }
    return SPARSEC_OK;
}

/* Fetches the table of a level that the device built, behind its positions. */
static inline int sparsec_download_table(sparsec_tensor *t, int32_t l, const void *table) {
    SPARSEC_WORK_ENDS();
    const int64_t slots = 2 * sparsec_parents(t, l + 1);
    sparsec_level *level = &t->levels[l];
    const size_t size = sparsec_index_size(t);
    const bool room = sparsec_have_room(&level->table, &level->table_cap, slots, size);
    SPARSEC_TRY(sparsec_download(t, room, level->table, table, slots, size));
    level->table_len = slots;
    return SPARSEC_OK;
}

/* Fetches the values that the device built. */
static inline int sparsec_download_result(sparsec_tensor *t, const void *vals) {
    SPARSEC_WORK_ENDS();
    const int64_t count = sparsec_parents(t, t->order);
    SPARSEC_TRY(sparsec_have_values(t, count));
    return sparsec_download(t, true, t->vals, vals, count, sparsec_type_size(t->type));
}

}
#endif /* SPARSEC_CUDA */
