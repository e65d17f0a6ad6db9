/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "sgemm.h"

/* sgemm
 *   C(i, j) = b * C(i, j)
 *   C(i, j) += a * A(i, k) * B(k, j)
 *   split(S0.j, s0_tile, s0_thread, 64)
 *   reorder(S0.i, s0_tile, s0_thread)
 *   parallelize(S0.i, GPUBlock, NoRaces)
 *   parallelize(s0_tile, GPUBlockY, NoRaces)
 *   parallelize(s0_thread, GPUThread, NoRaces)
 *   split(S1.i, s1_m0, s1_m1, 64)
 *   split(S1.j, s1_n0, s1_n1, 64)
 *   split(k, s1_k0, s1_k1, 16)
 *   split(s1_m1, s1_r, s1_row, 16)
 *   split(s1_n1, s1_c, s1_column, 16)
 *   reorder(s1_m0, s1_n0, s1_row, s1_column, s1_r, s1_c, s1_k0, s1_k1)
 *   precompute(a * A(i,k) * B(k,j), {s1_row, s1_column, s1_r, s1_c}, {s1_row2, s1_column2, s1_r2, s1_c2}, s1_sums)
 *   reorder(s1_k0, s1_row2, s1_column2, s1_k1, s1_r2, s1_c2)
 *   promote(A, shared, s1_k0)
 *   promote(B, shared, s1_k0)
 *   unroll(s1_k1, 16)
 *   unroll(s1_r2, 4)
 *   unroll(s1_c2, 4)
 *   parallelize(s1_m0, GPUBlockY, NoRaces)
 *   parallelize(s1_n0, GPUBlock, NoRaces)
 *   parallelize(s1_row, GPUThreadY, NoRaces)
 *   parallelize(s1_column, GPUThread, NoRaces)
 *   parallelize(s1_row2, GPUThreadY, NoRaces)
 *   parallelize(s1_column2, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(64, 16) sgemm_kernel1(int64_t K, float b, float *C_vals) {
    int64_t i = blockIdx.x;
    for (int64_t s0_tile = blockIdx.y; s0_tile < sparsec_floordiv(K + 63, 64); s0_tile += 65535) {
        int64_t s0_thread = threadIdx.x;
        if (s0_thread < sparsec_min_int64(64, K - s0_tile * 64)) {
            int64_t j = s0_tile * 64 + s0_thread;
            C_vals[i * K + j] = b * C_vals[i * K + j];
        }
    }
}

static __global__ void __launch_bounds__(256, 4) sgemm_kernel2(int64_t N, int64_t M, int64_t K,
    float a, const float *SPARSEC_RESTRICT A_vals, const float *SPARSEC_RESTRICT B_vals,
    float *C_vals) {
    for (int64_t s1_m0 = blockIdx.y; s1_m0 < sparsec_floordiv(N + 63, 64); s1_m0 += 65535) {
        int64_t s1_n0 = blockIdx.x;
        float s1_sums_vals[16];
        SPARSEC_UNROLL(16)
        for (int64_t e = 0; e < 16; e++) {
            s1_sums_vals[e] = 0.0f;
        }
        for (int64_t s1_k0 = 0; s1_k0 < (M + 15) / 16; s1_k0++) {
            __shared__ float B_tile_vals[1024];
            __syncthreads();
            int64_t s1_k1_B_tile = threadIdx.y;
            for (int64_t s1_c2_B_tile = threadIdx.x; s1_c2_B_tile < 64; s1_c2_B_tile += 16) {
                B_tile_vals[s1_k1_B_tile * 64 + s1_c2_B_tile] =
                    s1_k0 * 16 + s1_k1_B_tile < M && s1_n0 * 64 + s1_c2_B_tile < K ?
                    B_vals[(s1_k0 * 16 + s1_k1_B_tile) * K + (s1_n0 * 64 + s1_c2_B_tile)] : 0.0f;
            }
            __shared__ float A_tile_vals[1024];
            for (int64_t s1_r2_A_tile = threadIdx.y; s1_r2_A_tile < 64; s1_r2_A_tile += 16) {
                int64_t s1_k1_A_tile = threadIdx.x;
                A_tile_vals[s1_r2_A_tile * 16 + s1_k1_A_tile] =
                    s1_m0 * 64 + s1_r2_A_tile < N && s1_k0 * 16 + s1_k1_A_tile < M ?
                    A_vals[(s1_m0 * 64 + s1_r2_A_tile) * M + (s1_k0 * 16 + s1_k1_A_tile)] : 0.0f;
            }
            __syncthreads();
            if (M - s1_k0 * 16 >= 16) {
                int64_t s1_row2 = threadIdx.y;
                if (sparsec_floordiv(N - (s1_m0 * 64 + s1_row2) + 15, 16) >= 4) {
                    int64_t s1_column2 = threadIdx.x;
                    if (sparsec_floordiv(K - (s1_n0 * 64 + s1_column2) + 15, 16) >= 4) {
                        SPARSEC_UNROLL(16)
                        for (int64_t s1_k1 = 0; s1_k1 < 16; s1_k1++) {
                            SPARSEC_UNROLL(4)
                            for (int64_t s1_r2 = 0; s1_r2 < 4; s1_r2++) {
                                SPARSEC_UNROLL(4)
                                for (int64_t s1_c2 = 0; s1_c2 < 4; s1_c2++) {
                                    s1_sums_vals[s1_r2 * 4 + s1_c2] +=
                                        a * A_tile_vals[(s1_r2 * 16 + s1_row2) * 16 + s1_k1] *
                                        B_tile_vals[s1_k1 * 64 + (s1_c2 * 16 + s1_column2)];
                                }
                            }
                        }
                    } else {
                        SPARSEC_UNROLL(16)
                        for (int64_t s1_k1 = 0; s1_k1 < 16; s1_k1++) {
                            SPARSEC_UNROLL(4)
                            for (int64_t s1_r2 = 0; s1_r2 < 4; s1_r2++) {
                                SPARSEC_UNROLL(4)
                                for (int64_t s1_c2 = 0; s1_c2 < 4; s1_c2++) {
                                    if (s1_c2 < (K - (s1_n0 * 64 + s1_column2) + 15) / 16) {
                                        s1_sums_vals[s1_r2 * 4 + s1_c2] +=
                                            a * A_tile_vals[(s1_r2 * 16 + s1_row2) * 16 + s1_k1] *
                                            B_tile_vals[s1_k1 * 64 + (s1_c2 * 16 + s1_column2)];
                                    }
                                }
                            }
                        }
                    }
                } else {
                    int64_t s1_column2 = threadIdx.x;
                    SPARSEC_UNROLL(16)
                    for (int64_t s1_k1 = 0; s1_k1 < 16; s1_k1++) {
                        SPARSEC_UNROLL(4)
                        for (int64_t s1_r2 = 0; s1_r2 < 4; s1_r2++) {
                            if (s1_r2 * 16 < N - s1_m0 * 64 - s1_row2) {
                                SPARSEC_UNROLL(4)
                                for (int64_t s1_c2 = 0; s1_c2 < 4; s1_c2++) {
                                    if (s1_c2 < (K - (s1_n0 * 64 + s1_column2) + 15) / 16) {
                                        s1_sums_vals[s1_r2 * 4 + s1_c2] +=
                                            a * A_tile_vals[(s1_r2 * 16 + s1_row2) * 16 + s1_k1] *
                                            B_tile_vals[s1_k1 * 64 + (s1_c2 * 16 + s1_column2)];
                                    }
                                }
                            }
                        }
                    }
                }
            } else {
                int64_t s1_row2 = threadIdx.y;
                int64_t s1_column2 = threadIdx.x;
                for (int64_t s1_k1 = 0; s1_k1 < sparsec_min_int64(16, M - s1_k0 * 16); s1_k1++) {
                    SPARSEC_UNROLL(4)
                    for (int64_t s1_r2 = 0; s1_r2 < 4; s1_r2++) {
                        if (s1_r2 * 16 < N - s1_m0 * 64 - s1_row2) {
                            SPARSEC_UNROLL(4)
                            for (int64_t s1_c2 = 0; s1_c2 < 4; s1_c2++) {
                                if (s1_c2 < (K - (s1_n0 * 64 + s1_column2) + 15) / 16) {
                                    s1_sums_vals[s1_r2 * 4 + s1_c2] +=
                                        a * A_tile_vals[(s1_r2 * 16 + s1_row2) * 16 + s1_k1] *
                                        B_tile_vals[s1_k1 * 64 + (s1_c2 * 16 + s1_column2)];
                                }
                            }
                        }
                    }
                }
            }
        }
        int64_t s1_row = threadIdx.y;
        int64_t s1_column = threadIdx.x;
        SPARSEC_UNROLL(4)
        for (int64_t s1_r = 0; s1_r < 4; s1_r++) {
            if (s1_r * 16 < N - s1_m0 * 64 - s1_row) {
                int64_t i = s1_m0 * 64 + (s1_r * 16 + s1_row);
                SPARSEC_UNROLL(4)
                for (int64_t s1_c = 0; s1_c < 4; s1_c++) {
                    if (s1_c * 16 < K - s1_n0 * 64 - s1_column) {
                        int64_t j = s1_n0 * 64 + (s1_c * 16 + s1_column);
                        C_vals[i * K + j] += s1_sums_vals[s1_r * 4 + s1_c];
                    }
                }
            }
        }
    }
}

size_t sgemm_workspace(int64_t N, int64_t M, int64_t K, float a, float b) {
    (void)N; (void)M; (void)K; (void)a; (void)b;
    return 0;
}

int sgemm_device(int64_t N, int64_t M, int64_t K, float a, float b, const float *A_vals,
    const float *B_vals, float *C_vals, void *workspace, cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(sgemm_kernel1, N, sparsec_min_int64(sparsec_floordiv(K + 63, 64), 65535),
        1, dim3(64, 1, 1), stream, K, b, C_vals));
    SPARSEC_TRY(sparsec_launch(sgemm_kernel2, sparsec_floordiv(K + 63, 64),
        sparsec_min_int64(sparsec_floordiv(N + 63, 64), 65535), 1, dim3(16, 16, 1), stream, N, M, K, a,
        A_vals, B_vals, C_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec sgemm_A_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec sgemm_A_spec = {"A", SPARSEC_FLOAT32, 2, 32, sgemm_A_levels, NULL};
static const sparsec_level_spec sgemm_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec sgemm_B_spec = {"B", SPARSEC_FLOAT32, 2, 32, sgemm_B_levels, NULL};
static const sparsec_level_spec sgemm_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec sgemm_C_spec = {"C", SPARSEC_FLOAT32, 2, 32, sgemm_C_levels, NULL};

int sgemm(float a, float b, const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &sgemm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &sgemm_B_spec);
    if (error) return error;
    error = sparsec_check(C, &sgemm_C_spec);
    if (error) return error;
    int64_t N = A->dims[0];
    int64_t M = A->dims[1];
    int64_t K = B->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "C", C->dims[0], "A", N);
    if (error) return error;
    error = sparsec_same_size("K", "C", C->dims[1], "B", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    sparsec_memory memory;
    const float *A_vals = (const float *)sparsec_upload_vals(&memory, A);
    const float *B_vals = (const float *)sparsec_upload_vals(&memory, B);
    float *C_vals = (float *)sparsec_upload_vals(&memory, C);
    void *workspace = memory.room((int64_t)sgemm_workspace(N, M, K, a, b), 1);
    if (memory.error) return memory.error;
    error = sgemm_device(N, M, K, a, b, A_vals, B_vals, C_vals, workspace, 0);
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

static int smoke_sgemm(int64_t n, int rounds) {
    float a = 0.5f;
    float b = 0.5f;
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {};
    const int64_t C_dims[] = {n, n};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &sgemm_A_spec, A_dims, 3);
    error |= smoke_fill(&B, &sgemm_B_spec, B_dims, 4);
    error |= smoke_fill(&C, &sgemm_C_spec, C_dims, 5);
    if (!error) error = sgemm(a, b, &A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = sgemm(a, b, &A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("sgemm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_sgemm(n, rounds);
    return failed;
}
#endif
