/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "gemm.h"

/* gemm
 *   C(i, j) +=! A(i, k) * B(k, j)
 *   split(i, i0, i1, 6)
 *   split(j, j0, j1, 16)
 *   reorder(j0, i0, k, i1, j1)
 *   precompute(B(k,j), {k, j1}, {k2, j2}, panel)
 *   precompute(A(i,k) * panel(k,j1), {i1, j1}, {i1, j1}, tile)
 *   unroll(i1, 6)
 *   parallelize(j1, CPUVector, NoRaces)
 *   parallelize(j0, CPUThread, NoRaces)
 */
/* An iteration of the loop over j0. */
static void gemm_loop(int64_t j0, int64_t M, int64_t K, int64_t N,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT B_vals,
    double *SPARSEC_RESTRICT C_vals, double *SPARSEC_RESTRICT panel_all) {
    double *SPARSEC_RESTRICT panel_vals = panel_all + sparsec_thread_index() * (K * 16);
    for (int64_t k2 = 0; k2 < K; k2++) {
        for (int64_t j2 = 0; j2 < sparsec_min_int64(16, N - j0 * 16); j2++) {
            int64_t j = j0 * 16 + j2;
            panel_vals[k2 * 16 + j2] = B_vals[k2 * N + j];
        }
    }
    if (N - j0 * 16 >= 16) {
        int64_t i0_full = M / 6;
        for (int64_t i0 = 0; i0 < i0_full; i0++) {
            double tile_vals[96];
            SPARSEC_UNROLL(6)
            for (int64_t i1 = 0; i1 < 6; i1++) {
                SPARSEC_UNROLL(2)
                for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                    *(sparsec_double8 *)&tile_vals[i1 * 16 + j1] = (sparsec_double8){0};
                }
            }
            for (int64_t k = 0; k < K; k++) {
                SPARSEC_UNROLL(6)
                for (int64_t i1 = 0; i1 < 6; i1++) {
                    int64_t i = i0 * 6 + i1;
                    SPARSEC_UNROLL(2)
                    for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                        *(sparsec_double8 *)&tile_vals[i1 * 16 + j1] +=
                            A_vals[i * K + k] * *(const sparsec_double8 *)&panel_vals[k * 16 + j1];
                    }
                }
            }
            SPARSEC_UNROLL(6)
            for (int64_t i1 = 0; i1 < 6; i1++) {
                int64_t i = i0 * 6 + i1;
                SPARSEC_UNROLL(2)
                for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                    int64_t j = j0 * 16 + j1;
                    *(sparsec_double8 *)&C_vals[i * N + j] =
                        *(const sparsec_double8 *)&tile_vals[i1 * 16 + j1];
                }
            }
        }
        if (i0_full * 6 < M) {
            int64_t i0 = i0_full;
            double tile_vals[96];
            for (int64_t i1 = 0; i1 < sparsec_min_int64(6, M - i0 * 6); i1++) {
                SPARSEC_UNROLL(2)
                for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                    *(sparsec_double8 *)&tile_vals[i1 * 16 + j1] = (sparsec_double8){0};
                }
            }
            for (int64_t k = 0; k < K; k++) {
                for (int64_t i1 = 0; i1 < sparsec_min_int64(6, M - i0 * 6); i1++) {
                    int64_t i = i0 * 6 + i1;
                    SPARSEC_UNROLL(2)
                    for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                        *(sparsec_double8 *)&tile_vals[i1 * 16 + j1] +=
                            A_vals[i * K + k] * *(const sparsec_double8 *)&panel_vals[k * 16 + j1];
                    }
                }
            }
            for (int64_t i1 = 0; i1 < sparsec_min_int64(6, M - i0 * 6); i1++) {
                int64_t i = i0 * 6 + i1;
                SPARSEC_UNROLL(2)
                for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                    int64_t j = j0 * 16 + j1;
                    *(sparsec_double8 *)&C_vals[i * N + j] =
                        *(const sparsec_double8 *)&tile_vals[i1 * 16 + j1];
                }
            }
        }
    } else {
        for (int64_t i0 = 0; i0 < (M + 5) / 6; i0++) {
            if (0 < N - j0 * 16) {
                double tile_vals[96];
                for (int64_t i1 = 0; i1 < sparsec_min_int64(6, M - i0 * 6); i1++) {
                    SPARSEC_UNROLL(2)
                    for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                        *(sparsec_double8 *)&tile_vals[i1 * 16 + j1] = (sparsec_double8){0};
                    }
                }
                for (int64_t k = 0; k < K; k++) {
                    for (int64_t i1 = 0; i1 < sparsec_min_int64(6, M - i0 * 6); i1++) {
                        int64_t i = i0 * 6 + i1;
                        SPARSEC_UNROLL(2)
                        for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                            *(sparsec_double8 *)&tile_vals[i1 * 16 + j1] +=
                                A_vals[i * K + k] *
                                SPARSEC_LANES_BELOW(sparsec_double8, panel_vals, k * 16 + j1, j1,
                                N - j0 * 16);
                        }
                    }
                }
                for (int64_t i1 = 0; i1 < sparsec_min_int64(6, M - i0 * 6); i1++) {
                    int64_t i = i0 * 6 + i1;
                    SPARSEC_UNROLL(2)
                    for (int64_t j1 = 0; j1 < 16; j1 += 8) {
                        int64_t j = j0 * 16 + j1;
                        SPARSEC_LANES_STORE(sparsec_double8, C_vals, i * N + j, j1, N - j0 * 16,
                            *(const sparsec_double8 *)&tile_vals[i1 * 16 + j1]);
                    }
                }
            }
        }
    }
}

int gemm_raw(int64_t M, int64_t K, int64_t N, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, double *SPARSEC_RESTRICT C_vals) {
    double *panel_all = NULL;
    int error;
    panel_all = sparsec_resize(NULL, sparsec_times(sparsec_thread_count(), sparsec_times(K, 16)),
        sizeof *panel_all);
    SPARSEC_NEED(panel_all);
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t j0 = 0; j0 < (N + 15) / 16; j0++) {
        gemm_loop(j0, M, K, N, A_vals, B_vals, C_vals, panel_all);
    }
    sparsec_release(panel_all);
    return SPARSEC_OK;
fail:
    sparsec_release(panel_all);
    return error;
}

static const sparsec_level_spec gemm_A_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gemm_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, gemm_A_levels, NULL};
static const sparsec_level_spec gemm_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gemm_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, gemm_B_levels, NULL};
static const sparsec_level_spec gemm_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gemm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, gemm_C_levels, NULL};

int gemm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &gemm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &gemm_B_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t K = A->dims[1];
    int64_t N = B->dims[1];
    error = sparsec_same_size("K", "B", B->dims[0], "A", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape_dense(C, &gemm_C_spec, C_dims);
    if (error) return error;
    error = gemm_raw(M, K, N, (const double *)A->vals, (const double *)B->vals, (double *)C->vals);
    if (error) return sparsec_fail_code(error);
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

static int smoke_gemm(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &gemm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &gemm_B_spec, B_dims, 2);
    if (!error) error = gemm(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = gemm(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("gemm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_gemm(n, rounds);
    return failed;
}
#endif
