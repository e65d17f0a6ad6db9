/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "tmm.h"

/* tmm
 *   C(m, n) +=! A(m, k) * B(n, k)
 *   split(m, m0, m1, 32)
 *   split(n, n0, n1, 32)
 *   split(k, k0, k1, 32)
 *   reorder(m0, n0, m1, n1, k0, k1)
 *   precompute(A(m,k) * B(n,k), {m1, n1}, {m2, n2}, sums)
 *   reorder(k0, m2, n2, k1)
 *   precompute(A(m,k), {m2, k1}, {m2_A_tile, k1_A_tile}, A_tile)
 *   reorder(m2_A_tile, k1_A_tile)
 *   precompute(B(n,k), {n2, k1}, {n2_B_tile, k1_B_tile}, B_tile)
 *   reorder(n2_B_tile, k1_B_tile)
 *   unroll(k1, 32)
 *   parallelize(m0, GPUBlockY, NoRaces)
 *   parallelize(n0, GPUBlock, NoRaces)
 *   parallelize(m1, GPUThreadY, NoRaces)
 *   parallelize(n1, GPUThread, NoRaces)
 *   parallelize(m2, GPUThreadY, NoRaces)
 *   parallelize(n2, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(1024, 1) tmm_kernel(int64_t M, int64_t K, int64_t N,
    const float *SPARSEC_RESTRICT A_vals, const float *SPARSEC_RESTRICT B_vals, float *C_vals) {
    for (int64_t m0 = blockIdx.y; m0 < sparsec_floordiv(M + 31, 32); m0 += 65535) {
        int64_t n0 = blockIdx.x;
        float sums = 0.0f;
        for (int64_t k0 = 0; k0 < (K + 31) / 32; k0++) {
            __shared__ float B_tile_vals[1056];
            __syncthreads();
            int64_t n2_B_tile = threadIdx.y;
            if (n2_B_tile < sparsec_min_int64(32, N - n0 * 32)) {
                int64_t n = n0 * 32 + n2_B_tile;
                int64_t k1_B_tile = threadIdx.x;
                if (k1_B_tile < sparsec_min_int64(32, K - k0 * 32)) {
                    int64_t k = k0 * 32 + k1_B_tile;
                    B_tile_vals[n2_B_tile * 33 + k1_B_tile] = B_vals[n * K + k];
                }
            }
            __shared__ float A_tile_vals[1024];
            int64_t m2_A_tile = threadIdx.y;
            if (m2_A_tile < sparsec_min_int64(32, M - m0 * 32)) {
                int64_t m = m0 * 32 + m2_A_tile;
                int64_t k1_A_tile = threadIdx.x;
                if (k1_A_tile < sparsec_min_int64(32, K - k0 * 32)) {
                    int64_t k = k0 * 32 + k1_A_tile;
                    A_tile_vals[m2_A_tile * 32 + k1_A_tile] = A_vals[m * K + k];
                }
            }
            __syncthreads();
            if (K - k0 * 32 >= 32) {
                int64_t m2 = threadIdx.y;
                if (m2 < sparsec_min_int64(32, M - m0 * 32)) {
                    int64_t n2 = threadIdx.x;
                    if (n2 < sparsec_min_int64(32, N - n0 * 32)) {
                        float sum = 0.0f;
                        SPARSEC_UNROLL(32)
                        for (int64_t k1 = 0; k1 < 32; k1++) {
                            sum += A_tile_vals[m2 * 32 + k1] * B_tile_vals[n2 * 33 + k1];
                        }
                        sums += sum;
                    }
                }
            } else {
                int64_t m2 = threadIdx.y;
                if (m2 < sparsec_min_int64(32, M - m0 * 32)) {
                    int64_t n2 = threadIdx.x;
                    if (n2 < sparsec_min_int64(32, N - n0 * 32)) {
                        float sum = 0.0f;
                        for (int64_t k1 = 0; k1 < sparsec_min_int64(32, K - k0 * 32); k1++) {
                            sum += A_tile_vals[m2 * 32 + k1] * B_tile_vals[n2 * 33 + k1];
                        }
                        sums += sum;
                    }
                }
            }
        }
        int64_t m1 = threadIdx.y;
        if (m1 < sparsec_min_int64(32, M - m0 * 32)) {
            int64_t m = m0 * 32 + m1;
            int64_t n1 = threadIdx.x;
            if (n1 < sparsec_min_int64(32, N - n0 * 32)) {
                int64_t n = n0 * 32 + n1;
                C_vals[m * N + n] = sums;
            }
        }
    }
}

size_t tmm_workspace(int64_t M, int64_t K, int64_t N) {
    (void)M; (void)K; (void)N;
    return 0;
}

int tmm_device(int64_t M, int64_t K, int64_t N, const float *A_vals, const float *B_vals,
    float *C_vals, void *workspace, cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(tmm_kernel, sparsec_floordiv(N + 31, 32),
        sparsec_min_int64(sparsec_floordiv(M + 31, 32), 65535), 1, dim3(32, 32, 1), stream, M, K, N,
        A_vals, B_vals, C_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec tmm_A_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec tmm_A_spec = {"A", SPARSEC_FLOAT32, 2, 32, tmm_A_levels, NULL};
static const sparsec_level_spec tmm_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec tmm_B_spec = {"B", SPARSEC_FLOAT32, 2, 32, tmm_B_levels, NULL};
static const sparsec_level_spec tmm_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec tmm_C_spec = {"C", SPARSEC_FLOAT32, 2, 32, tmm_C_levels, NULL};

int tmm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &tmm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &tmm_B_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t K = A->dims[1];
    int64_t N = B->dims[0];
    error = sparsec_same_size("K", "B", B->dims[1], "A", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape_dense(C, &tmm_C_spec, C_dims);
    if (error) return error;
    sparsec_memory memory;
    const float *A_vals = (const float *)sparsec_upload_vals(&memory, A);
    const float *B_vals = (const float *)sparsec_upload_vals(&memory, B);
    float *C_vals = (float *)sparsec_room_vals(&memory, C);
    void *workspace = memory.room((int64_t)tmm_workspace(M, K, N), 1);
    if (memory.error) return memory.error;
    error = tmm_device(M, K, N, A_vals, B_vals, C_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(C, C_vals);
    if (error) return error;
    return SPARSEC_OK;
}

#ifdef SPARSEC_MAIN
#include <time.h>

/* A small linear congruential generator: the same data everywhere. */
static uint64_t smoke_state;

static double smoke_random(void) {
    smoke_state = smoke_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(smoke_state >> 11) / 9007199254740992.0;
}

/* Floats in [-1, 1), zeros for whole numbers (they may be subscripts). */
static void smoke_value(int32_t type, void *at) {
    double x = 2 * smoke_random() - 1;
    memset(at, 0, sparsec_type_size(type)); /* a debug build's memory is all ones */
    switch (type) {
    case SPARSEC_HALF: *(sparsec_half *)at = sparsec_float_to_half((float)x); break;
    case SPARSEC_BFLOAT16: *(sparsec_bfloat16 *)at = sparsec_float_to_bfloat16((float)x); break;
    case SPARSEC_FLOAT32: *(float *)at = (float)x; break;
    case SPARSEC_FLOAT64: *(double *)at = x; break;
    case SPARSEC_COMPLEX64: ((float *)at)[0] = (float)x; break;
    case SPARSEC_COMPLEX128: ((double *)at)[0] = x; break;
    default: break;
    }
}

/* Random elements: all of a dense tensor, about eight per first coordinate else. */
static int smoke_fill(sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims, uint64_t seed) {
    size_t size = sparsec_type_size(spec->type);
    int64_t count = sparsec_element_count(spec->order, dims), order = spec->order;
    int64_t *coords;
    char *vals;
    bool dense = true;
    int error;
    for (int64_t l = 0; l < order; l++) dense = dense && spec->levels[l].kind == SPARSEC_DENSE;
    if (count < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: too large", spec->name);
    smoke_state = seed;
    if (dense) {
        error = sparsec_shape_dense(t, spec, dims);
        for (int64_t k = 0; !error && k < count; k++) smoke_value(spec->type, (char *)t->vals + (size_t)k * size);
        return error;
    }
    count = count < 8 * dims[0] ? count : 8 * dims[0];
    coords = (int64_t *)sparsec_resize(NULL, count * order, sizeof *coords);
    vals = (char *)sparsec_zeroed(count, size);
    if (!coords || !vals) {
        error = sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    } else {
        for (int64_t k = 0; k < count; k++) {
            for (int64_t m = 0; m < order; m++) coords[k * order + m] = (int64_t)(smoke_random() * (double)dims[m]);
            for (int64_t l = 0; l < order; l++) {
                const int64_t mode = spec->levels[l].mode, block = mode >> 32;
                if (block > 1) coords[k * order + sparsec_dimension(mode)] /= block;
            }
            smoke_value(spec->type, vals + (size_t)k * size);
        }
        error = sparsec_pack(t, spec, dims, count, coords, vals);
    }
    sparsec_release(coords);
    sparsec_release(vals);
    return error;
}

static double smoke_seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void smoke_report(const char *name, int error, double best) {
    if (error) printf("%s: error %d: %s\n", name, error, sparsec_error());
    else if (best < INFINITY) printf("%s: ok, %.3f ms\n", name, 1e3 * best);
    else printf("%s: ok\n", name);
}

static int smoke_tmm(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &tmm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &tmm_B_spec, B_dims, 2);
    if (!error) error = tmm(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = tmm(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("tmm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_tmm(n, rounds);
    return failed;
}
#endif
