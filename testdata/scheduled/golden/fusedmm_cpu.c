/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "fusedmm.h"

/* fusedmm
 *   C(i, j) +=! A(i, j) * B(i, k) * D(j, k)
 *   E(i, l) +=! C(i, j) * D(j, l)
 *   A: {dense, compressed}
 *   C: {dense, compressed}
 *   join(S1, S2, i)
 *   split(S1.i, i0, i1, 16)
 *   split(k, k0, k1, 16)
 *   reorder(S1.j, k1, k0)
 *   precompute(B(i,k) * D(j,k), k1, lane, partial)
 *   reorder(k0, lane)
 *   parallelize(i0, CPUThread(dynamic, 4), NoRaces)
 *   parallelize(lane, CPUVector, NoRaces)
 *   parallelize(k1, CPUVector, ParallelReduction)
 *   parallelize(l, CPUVector, NoRaces)
 */
/* An iteration of the loop over i0. */
static void fusedmm_loop(int64_t i0, int64_t M, int64_t K, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, const double *SPARSEC_RESTRICT D_vals,
    const int32_t *SPARSEC_RESTRICT C2_pos, const int32_t *SPARSEC_RESTRICT C2_crd,
    double *SPARSEC_RESTRICT C_vals, double *SPARSEC_RESTRICT E_vals) {
    for (int64_t i1 = 0; i1 < sparsec_min_int64(16, M - i0 * 16); i1++) {
        int64_t i = i0 * 16 + i1;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            double sum = 0.0;
            double partial_vals[16];
            for (int64_t k1 = 0; k1 < 16; k1++) {
                partial_vals[k1] = 0.0;
            }
            int64_t k0_full = K / 16;
            for (int64_t k0 = 0; k0 < k0_full; k0++) {
                SPARSEC_UNROLL(2)
                for (int64_t lane = 0; lane < 16; lane += 8) {
                    int64_t k = k0 * 16 + lane;
                    *(sparsec_double8 *)&partial_vals[lane] +=
                        *(const sparsec_double8 *)&B_vals[i * K + k] *
                        *(const sparsec_double8 *)&D_vals[j * K + k];
                }
            }
            if (k0_full * 16 < K) {
                int64_t k0 = k0_full;
                double rest = 0.0;
#ifdef _OPENMP
                #pragma omp simd reduction(+:rest)
#endif
                for (int64_t lane = 0; lane < sparsec_min_int64(16, K - k0 * 16); lane++) {
                    int64_t k = k0 * 16 + lane;
                    rest += B_vals[i * K + k] * D_vals[j * K + k];
                }
                sum += A_vals[pA2] * rest;
            }
            sparsec_double8 sum_lanes = {0};
            SPARSEC_UNROLL(2)
            for (int64_t k1 = 0; k1 < 16; k1 += 8) {
                sum_lanes += A_vals[pA2] * *(const sparsec_double8 *)&partial_vals[k1];
            }
            sum += sparsec_sum_double8(&sum_lanes);
            C_vals[pA2] = sum;
        }
#ifdef _OPENMP
        #pragma omp simd
#endif
        for (int64_t l = 0; l < K; l++) {
            E_vals[i * K + l] = 0.0;
        }
        for (int64_t pC2 = C2_pos[i]; pC2 < C2_pos[i + 1]; pC2++) {
            SPARSEC_NO_JAM();
            int64_t j = C2_crd[pC2];
#ifdef _OPENMP
            #pragma omp simd
#endif
            for (int64_t l = 0; l < K; l++) {
                E_vals[i * K + l] += C_vals[pC2] * D_vals[j * K + l];
            }
        }
    }
}

int fusedmm_raw(int64_t M, int64_t N, int64_t K, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, const double *SPARSEC_RESTRICT D_vals,
    int32_t **C2_pos_out, int32_t **C2_crd_out, double **C_vals_out,
    double *SPARSEC_RESTRICT E_vals) {
    (void)N;
    int32_t *C2_pos = *C2_pos_out;
    int32_t *C2_crd = *C2_crd_out;
    double *C_vals = *C_vals_out;
    int error;
    SPARSEC_RESIZE(C2_pos, M + 1);
    sparsec_copy(C2_pos, A2_pos, M + 1, sizeof *C2_pos);
    int64_t C_stored = A2_pos[M];
    SPARSEC_RESIZE(C2_crd, C_stored);
    sparsec_copy(C2_crd, A2_crd, C_stored, sizeof *C2_crd);
    SPARSEC_RESIZE(C_vals, C_stored);
#ifdef _OPENMP
    #pragma omp parallel for schedule(dynamic, 4)
#endif
    for (int64_t i0 = 0; i0 < (M + 15) / 16; i0++) {
        fusedmm_loop(i0, M, K, A2_pos, A2_crd, A_vals, B_vals, D_vals, C2_pos, C2_crd,
            C_vals, E_vals);
    }
    *C2_pos_out = C2_pos;
    *C2_crd_out = C2_crd;
    *C_vals_out = C_vals;
    return SPARSEC_OK;
fail:
    sparsec_release(C2_pos);
    *C2_pos_out = NULL;
    sparsec_release(C2_crd);
    *C2_crd_out = NULL;
    sparsec_release(C_vals);
    *C_vals_out = NULL;
    return error;
}

static const sparsec_level_spec fusedmm_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec fusedmm_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, fusedmm_A_levels, NULL};
static const sparsec_level_spec fusedmm_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec fusedmm_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, fusedmm_B_levels, NULL};
static const sparsec_level_spec fusedmm_D_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec fusedmm_D_spec = {"D", SPARSEC_FLOAT64, 2, 32, fusedmm_D_levels, NULL};
static const sparsec_level_spec fusedmm_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec fusedmm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, fusedmm_C_levels, NULL};
static const sparsec_level_spec fusedmm_E_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec fusedmm_E_spec = {"E", SPARSEC_FLOAT64, 2, 32, fusedmm_E_levels, NULL};

int fusedmm(const sparsec_tensor *A, const sparsec_tensor *B, const sparsec_tensor *D,
    sparsec_tensor *C, sparsec_tensor *E) {
    int error;
    error = sparsec_check(A, &fusedmm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &fusedmm_B_spec);
    if (error) return error;
    error = sparsec_check(D, &fusedmm_D_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    if (!E) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "E: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    int64_t K = B->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "D", D->dims[0], "A", N);
    if (error) return error;
    error = sparsec_same_size("K", "D", D->dims[1], "B", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, D, C, E};
    error = sparsec_apart(C, "C", tensors, 5);
    if (error) return error;
    error = sparsec_apart(E, "E", tensors, 5);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape(C, &fusedmm_C_spec, C_dims);
    if (error) return error;
    int64_t E_dims[] = {M, K};
    error = sparsec_shape_dense(E, &fusedmm_E_spec, E_dims);
    if (error) return error;
    int32_t *C2_pos = (int32_t *)sparsec_take(&C->levels[1].pos);
    int32_t *C2_crd = (int32_t *)sparsec_take(&C->levels[1].crd);
    double *C_vals = (double *)sparsec_take(&C->vals);
    error = fusedmm_raw(M, N, K, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, (const double *)B->vals, (const double *)D->vals, &C2_pos, &C2_crd,
        &C_vals, (double *)E->vals);
    if (error) return sparsec_fail_code(error);
    int64_t C_positions = 1;
    C_positions = sparsec_positions(C, 0, C_positions);
    sparsec_set_level(C, 1, C2_pos, C2_crd, C_positions);
    C_positions = sparsec_positions(C, 1, C_positions);
    C->vals = C_vals;
    C->vals_len = C->vals_cap = C_positions;
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

static int smoke_fusedmm(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor D = {0};
    const int64_t D_dims[] = {n, n};
    sparsec_tensor C = {0};
    sparsec_tensor E = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &fusedmm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &fusedmm_B_spec, B_dims, 2);
    error |= smoke_fill(&D, &fusedmm_D_spec, D_dims, 3);
    if (!error) error = fusedmm(&A, &B, &D, &C, &E);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = fusedmm(&A, &B, &D, &C, &E);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("fusedmm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&D);
    sparsec_free_tensor(&C);
    sparsec_free_tensor(&E);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_fusedmm(n, rounds);
    return failed;
}
#endif
