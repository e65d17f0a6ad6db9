/* Kernels with a fault each, and what they are without it: `holes NAME` runs one of them. */
#define SPARSEC_IMPLEMENTATION
#include "sparsec.h"
#include <stdio.h>

#define R SPARSEC_RESTRICT

/* Lanes 1 to 4 read, of which all but lane 1 meet lane 0, which writes. */
static __global__ void readers(unsigned mask, double *R y) {
    __shared__ double w[1];
    const unsigned lane = threadIdx.x;
    if (lane == 0) w[0] = 1;
    __syncwarp();
    if (lane >= 1 && lane < 5) y[lane] = w[0];
    if (mask >> lane & 1) __syncwarp(mask);
    if (lane == 0) w[0] = 2;
}

static __global__ void store(int at, double *R y) { y[at] = 1; }

/* Writes at [at] of the first array, by its address. */
static __global__ void shared(int at, double *R y) {
    __shared__ double first[32];
    __shared__ double second[32];
    double *p = first;
    second[0] = 0;
    first[0] = 0;
    __asm__ volatile("" : "+r"(p));
    p[at] = 1;
    y[0] = second[threadIdx.x] + first[threadIdx.x];
}
static __global__ void indexed(int at, double *R y) {
    __shared__ double first[32];
    __shared__ double second[320];
    second[threadIdx.x] = 0;
    first[threadIdx.x] = 0;
    first[at] = 1;
    y[0] = first[threadIdx.x] + second[threadIdx.x];
}

static __global__ void vectors(int at, float *R y) {
    const float4 *v = (const float4 *)(void *)(y + at);
    const float4 four = *v;
    y[0] = four.x + four.w;
}

static __global__ void __launch_bounds__(64) bounded(double *R y) { y[threadIdx.x] = 1; }
static __global__ void unbounded(double *R y) { y[threadIdx.x] = 1; }
#define LARGE(name, count)                        \
    static __global__ void name(double *R y) {    \
        __shared__ double w[count];               \
        w[threadIdx.x] = 1;                       \
        __syncthreads();                          \
        y[threadIdx.x] = w[7 - threadIdx.x];      \
    }
LARGE(large, 6144)
LARGE(too_large, 6145)

static __global__ void leaves(unsigned first, double *R y) {
    if (threadIdx.x < first) return;
    __syncthreads();
    y[threadIdx.x] = 1;
}

static __global__ void local_array(int set, const double *R x, double *R y) {
    double own[8];
    for (int k = 0; k < set; k++) own[k] = x[k];
    for (int k = 0; k < 8; k++) y[k] = own[k];
}
#define LOCAL_SUM(name, start)                                              \
    static __global__ void name(int count, const double *R x, double *R y) { \
        double sum start;                                                   \
        for (int k = 0; k < count; k++) sum += x[k];                        \
        y[0] = sum;                                                         \
    }
LOCAL_SUM(local_sum, = 0)
LOCAL_SUM(unset_sum, )

/* A GPU has no atomics on a thread's own memory. */
static __global__ void own_counter(bool shared, double *R y) {
    __shared__ unsigned ours[1];
    unsigned own[1] = {0};
    unsigned *counter = shared ? ours : own;
    ours[0] = 0;
    atomicAdd(counter, 1u);
    y[0] = counter[0];
}

static __global__ void copies(const double *R x, double *R y) { y[threadIdx.x] = x[threadIdx.x] + 1; }

static __device__ void fence(bool there) {
    if (there) __threadfence();
}
/* The block that comes last adds up what all others left. */
static __global__ void last_block(bool fences, int n, double *R parts, unsigned *R counter, double *R out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 1;
        fence(fences);
        last = atomicAdd(counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 1) {
        double sum = 0;
        for (int k = 0; k < n; k++) sum += parts[k];
        *out = sum;
    }
}
/* A scan in one pass: a block looks back for what the blocks before it have. */
static __global__ void look_back(bool fences, bool tickets, unsigned *R ticket, volatile int *R flags, int *R sums, int *R out) {
    const int own = tickets ? (int)atomicAdd(ticket, 1u) : (int)blockIdx.x;
    int before = 0;
    sums[2 * own] = own;
    fence(fences);
    flags[own] = 1;
    for (int k = own - 1; k >= 0; k--) {
        int flag;
        while ((flag = flags[k]) == 0) {}
        fence(fences);
        before += sums[2 * k + (flag == 2)];
        if (flag == 2) break;
    }
    sums[2 * own + 1] = before + own;
    fence(fences);
    flags[own] = 2;
    out[own] = before + own;
}

/* Blocks wait for each other. */
static __global__ void all_meet(unsigned *R counter) {
    atomicAdd(counter, 1u);
    while (atomicAdd(counter, 0u) < gridDim.x) {}
}
static __global__ void waits(volatile int *R flag, int which) {
    if ((int)threadIdx.x == which) {
        __threadfence();
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {}
    }
}

template <class T> static T *room(size_t count) {
    void *array;
    if (cudaMalloc(&array, count * sizeof(T)) || cudaMemset(array, 0, count * sizeof(T))) exit(2);
    return (T *)array;
}

static int run(const char *name) {
    double *x = room<double>(64), *y = room<double>(2048);
    unsigned *counter = room<unsigned>(1);
    int *flags = room<int>(40), *sums = room<int>(80), *out = room<int>(40);
#define IS(text) (strcmp(name, text) == 0)
#define RUN(kernel, blocks, threads, ...) sparsec_launch(kernel, blocks, 1, 1, dim3(threads), 0, __VA_ARGS__)
    if (IS("readers")) return RUN(readers, 1, 32, 0x1du, y);
    if (IS("readers, clean")) return RUN(readers, 1, 32, 0x1fu, y);
    double *gone = room<double>(16);
    if (IS("freed, clean")) return RUN(store, 1, 1, 15, gone);
    if (RUN(store, 1, 1, 15, gone)) return 2;
    cudaFree(gone);
    if (IS("freed")) return RUN(store, 1, 1, 0, gone);
    double *again = room<double>(8);
    if (again != gone) return 2;
    if (IS("again")) return RUN(store, 1, 1, 8, again);
    if (IS("again, clean")) return RUN(store, 1, 1, 7, again);
    if (IS("shared")) return RUN(shared, 1, 1, 32, y);
    if (IS("shared, clean")) return RUN(shared, 1, 1, 31, y);
    if (IS("indexed")) return RUN(indexed, 1, 1, 100, y);
    if (IS("indexed, clean")) return RUN(indexed, 1, 1, 31, y);
    if (IS("vectors")) return RUN(vectors, 1, 1, 1, (float *)y);
    if (IS("vectors, clean")) return RUN(vectors, 1, 1, 4, (float *)y);
    if (IS("bounds")) return RUN(bounded, 1, 65, y);
    if (IS("bounds, clean")) return RUN(bounded, 1, 64, y);
    if (IS("threads")) return RUN(unbounded, 1, 1025, y);
    if (IS("threads, clean")) return RUN(unbounded, 1, 1024, y);
    if (IS("large")) return RUN(too_large, 1, 8, y);
    if (IS("large, clean")) return RUN(large, 1, 8, y);
    if (IS("leaves")) return RUN(leaves, 1, 64, 20u, y);
    if (IS("leaves, clean")) return RUN(leaves, 1, 64, 0u, y);
    if (IS("local array")) return RUN(local_array, 1, 1, 7, x, y);
    if (IS("local array, clean")) return RUN(local_array, 1, 1, 8, x, y);
    if (IS("local sum")) return RUN(unset_sum, 1, 1, 5, x, y);
    if (IS("local sum, clean")) return RUN(local_sum, 1, 1, 5, x, y);
    if (IS("own counter")) return RUN(own_counter, 1, 1, false, y);
    if (IS("own counter, clean")) return RUN(own_counter, 1, 1, true, y);
    if (IS("overlap")) return RUN(copies, 1, 8, y, y);
    if (IS("overlap, clean")) return RUN(copies, 1, 8, y + 8, y);
    if (IS("last block")) return RUN(last_block, 20, 32, false, 20, y, counter, x);
    if (IS("last block, clean")) return RUN(last_block, 20, 32, true, 20, y, counter, x);
    if (IS("look back")) return RUN(look_back, 40, 1, false, true, counter, flags, sums, out);
    if (IS("look back by number")) return RUN(look_back, 40, 1, true, false, counter, flags, sums, out);
    if (IS("look back, clean")) {
        int host[40];
        if (const int error = RUN(look_back, 40, 1, true, true, counter, flags, sums, out)) return error;
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
        return host[39] == 780 ? 0 : 3;
    }
    if (IS("all meet")) return RUN(all_meet, 9, 1, counter);
    if (IS("all meet, clean")) return RUN(all_meet, 8, 1, counter);
    if (IS("waits")) return RUN(waits, 2, 64, flags, 64);
    if (IS("waits, clean")) return RUN(waits, 1, 64, flags, 63);
    return 4;
}

int main(int, char **argv) {
    const int error = run(argv[1]);
    printf("%d %s\n", error, error ? sparsec_error() : "clean");
    return error;
}
