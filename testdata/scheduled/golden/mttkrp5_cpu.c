/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "mttkrp5.h"

/* mttkrp5
 *   A(i, j) +=! B(i, k, l, m, n) * F(n, j) * E(m, j) * D(l, j) * C(k, j)
 *   B: {compressed, compressed, compressed, compressed, compressed}
 *   reorder(i, k, l, m, n, j)
 *   precompute(B(i,k,l,m,n) * F(n,j) * E(m,j) * D(l,j), j, j, BDEF)
 *   precompute(B(i,k,l,m,n) * F(n,j) * E(m,j), j, j, BEF)
 *   precompute(B(i,k,l,m,n) * F(n,j), j, j, BF)
 *   split(i, i1, i2, 32)
 *   parallelize(i1, CPUThread, NoRaces)
 */
/* An iteration of the loop over i1. */
static void mttkrp5_loop(int64_t i1, int64_t I, int64_t J, const int32_t *SPARSEC_RESTRICT B1_pos,
    const int32_t *SPARSEC_RESTRICT B1_crd, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const int32_t *SPARSEC_RESTRICT B3_pos,
    const int32_t *SPARSEC_RESTRICT B3_crd, const int32_t *SPARSEC_RESTRICT B4_pos,
    const int32_t *SPARSEC_RESTRICT B4_crd, const int32_t *SPARSEC_RESTRICT B5_pos,
    const int32_t *SPARSEC_RESTRICT B5_crd, const double *SPARSEC_RESTRICT B_vals,
    const double *SPARSEC_RESTRICT C_vals, const double *SPARSEC_RESTRICT D_vals,
    const double *SPARSEC_RESTRICT E_vals, const double *SPARSEC_RESTRICT F_vals,
    double *SPARSEC_RESTRICT A_vals, double *SPARSEC_RESTRICT BDEF_all,
    double *SPARSEC_RESTRICT BEF_all, double *SPARSEC_RESTRICT BF_all) {
    int64_t pB1_begin = sparsec_lower_bound_int32(B1_crd, B1_pos[0], B1_pos[1], i1 * 32);
    int64_t pB1_end = sparsec_lower_bound_int32(B1_crd, pB1_begin, B1_pos[1],
        i1 * 32 + sparsec_min_int64(32, I - i1 * 32));
    for (int64_t pB1 = pB1_begin; pB1 < pB1_end; pB1++) {
        for (int64_t pB2 = B2_pos[pB1]; pB2 < B2_pos[pB1 + 1]; pB2++) {
            int64_t k = B2_crd[pB2];
            double *SPARSEC_RESTRICT BDEF_vals = BDEF_all + sparsec_thread_index() * J;
            for (int64_t j = 0; j < J; j++) {
                BDEF_vals[j] = 0.0;
            }
            for (int64_t pB3 = B3_pos[pB2]; pB3 < B3_pos[pB2 + 1]; pB3++) {
                int64_t l = B3_crd[pB3];
                double *SPARSEC_RESTRICT BEF_vals = BEF_all + sparsec_thread_index() * J;
                for (int64_t j = 0; j < J; j++) {
                    BEF_vals[j] = 0.0;
                }
                for (int64_t pB4 = B4_pos[pB3]; pB4 < B4_pos[pB3 + 1]; pB4++) {
                    int64_t m = B4_crd[pB4];
                    double *SPARSEC_RESTRICT BF_vals = BF_all + sparsec_thread_index() * J;
                    for (int64_t j = 0; j < J; j++) {
                        BF_vals[j] = 0.0;
                    }
                    for (int64_t pB5 = B5_pos[pB4]; pB5 < B5_pos[pB4 + 1]; pB5++) {
                        SPARSEC_NO_JAM();
                        int64_t n = B5_crd[pB5];
                        for (int64_t j = 0; j < J; j++) {
                            BF_vals[j] += B_vals[pB5] * F_vals[n * J + j];
                        }
                    }
                    for (int64_t j = 0; j < J; j++) {
                        BEF_vals[j] += E_vals[m * J + j] * BF_vals[j];
                    }
                }
                for (int64_t j = 0; j < J; j++) {
                    BDEF_vals[j] += D_vals[l * J + j] * BEF_vals[j];
                }
            }
            for (int64_t j = 0; j < J; j++) {
                A_vals[B1_crd[pB1] * J + j] += C_vals[k * J + j] * BDEF_vals[j];
            }
        }
    }
}

int mttkrp5_raw(int64_t I, int64_t K, int64_t L, int64_t M, int64_t N, int64_t J,
    const int32_t *SPARSEC_RESTRICT B1_pos, const int32_t *SPARSEC_RESTRICT B1_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const int32_t *SPARSEC_RESTRICT B3_pos, const int32_t *SPARSEC_RESTRICT B3_crd,
    const int32_t *SPARSEC_RESTRICT B4_pos, const int32_t *SPARSEC_RESTRICT B4_crd,
    const int32_t *SPARSEC_RESTRICT B5_pos, const int32_t *SPARSEC_RESTRICT B5_crd,
    const double *SPARSEC_RESTRICT B_vals, const double *SPARSEC_RESTRICT C_vals,
    const double *SPARSEC_RESTRICT D_vals, const double *SPARSEC_RESTRICT E_vals,
    const double *SPARSEC_RESTRICT F_vals, double *SPARSEC_RESTRICT A_vals) {
    (void)K; (void)L; (void)M; (void)N;
    double *BDEF_all = NULL;
    double *BEF_all = NULL;
    double *BF_all = NULL;
    int error;
    BDEF_all = sparsec_resize(NULL, sparsec_times(sparsec_thread_count(), J), sizeof *BDEF_all);
    SPARSEC_NEED(BDEF_all);
    BEF_all = sparsec_resize(NULL, sparsec_times(sparsec_thread_count(), J), sizeof *BEF_all);
    SPARSEC_NEED(BEF_all);
    BF_all = sparsec_resize(NULL, sparsec_times(sparsec_thread_count(), J), sizeof *BF_all);
    SPARSEC_NEED(BF_all);
    sparsec_clear(A_vals, I * J, sizeof *A_vals);
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i1 = 0; i1 < (I + 31) / 32; i1++) {
        mttkrp5_loop(i1, I, J, B1_pos, B1_crd, B2_pos, B2_crd, B3_pos, B3_crd, B4_pos, B4_crd,
            B5_pos, B5_crd, B_vals, C_vals, D_vals, E_vals, F_vals, A_vals, BDEF_all,
            BEF_all, BF_all);
    }
    sparsec_release(BDEF_all);
    sparsec_release(BEF_all);
    sparsec_release(BF_all);
    return SPARSEC_OK;
fail:
    sparsec_release(BDEF_all);
    sparsec_release(BEF_all);
    sparsec_release(BF_all);
    return error;
}

static const sparsec_level_spec mttkrp5_B_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}, {SPARSEC_COMPRESSED, 0, 2},
    {SPARSEC_COMPRESSED, 0, 3}, {SPARSEC_COMPRESSED, 0, 4}};
static const sparsec_spec mttkrp5_B_spec = {"B", SPARSEC_FLOAT64, 5, 32, mttkrp5_B_levels, NULL};
static const sparsec_level_spec mttkrp5_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp5_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, mttkrp5_C_levels, NULL};
static const sparsec_level_spec mttkrp5_D_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp5_D_spec = {"D", SPARSEC_FLOAT64, 2, 32, mttkrp5_D_levels, NULL};
static const sparsec_level_spec mttkrp5_E_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp5_E_spec = {"E", SPARSEC_FLOAT64, 2, 32, mttkrp5_E_levels, NULL};
static const sparsec_level_spec mttkrp5_F_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp5_F_spec = {"F", SPARSEC_FLOAT64, 2, 32, mttkrp5_F_levels, NULL};
static const sparsec_level_spec mttkrp5_A_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp5_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, mttkrp5_A_levels, NULL};

int mttkrp5(const sparsec_tensor *B, const sparsec_tensor *C, const sparsec_tensor *D,
    const sparsec_tensor *E, const sparsec_tensor *F, sparsec_tensor *A) {
    int error;
    error = sparsec_check(B, &mttkrp5_B_spec);
    if (error) return error;
    error = sparsec_check(C, &mttkrp5_C_spec);
    if (error) return error;
    error = sparsec_check(D, &mttkrp5_D_spec);
    if (error) return error;
    error = sparsec_check(E, &mttkrp5_E_spec);
    if (error) return error;
    error = sparsec_check(F, &mttkrp5_F_spec);
    if (error) return error;
    if (!A) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "A: no tensor given");
    int64_t I = B->dims[0];
    int64_t K = B->dims[1];
    int64_t L = B->dims[2];
    int64_t M = B->dims[3];
    int64_t N = B->dims[4];
    int64_t J = C->dims[1];
    error = sparsec_same_size("K", "C", C->dims[0], "B", K);
    if (error) return error;
    error = sparsec_same_size("L", "D", D->dims[0], "B", L);
    if (error) return error;
    error = sparsec_same_size("J", "D", D->dims[1], "C", J);
    if (error) return error;
    error = sparsec_same_size("M", "E", E->dims[0], "B", M);
    if (error) return error;
    error = sparsec_same_size("J", "E", E->dims[1], "C", J);
    if (error) return error;
    error = sparsec_same_size("N", "F", F->dims[0], "B", N);
    if (error) return error;
    error = sparsec_same_size("J", "F", F->dims[1], "C", J);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {B, C, D, E, F, A};
    error = sparsec_apart(A, "A", tensors, 6);
    if (error) return error;
    int64_t A_dims[] = {I, J};
    error = sparsec_shape_dense(A, &mttkrp5_A_spec, A_dims);
    if (error) return error;
    error = mttkrp5_raw(I, K, L, M, N, J, (const int32_t *)B->levels[0].pos,
        (const int32_t *)B->levels[0].crd, (const int32_t *)B->levels[1].pos,
        (const int32_t *)B->levels[1].crd, (const int32_t *)B->levels[2].pos,
        (const int32_t *)B->levels[2].crd, (const int32_t *)B->levels[3].pos,
        (const int32_t *)B->levels[3].crd, (const int32_t *)B->levels[4].pos,
        (const int32_t *)B->levels[4].crd, (const double *)B->vals, (const double *)C->vals,
        (const double *)D->vals, (const double *)E->vals, (const double *)F->vals, (double *)A->vals);
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

static int smoke_mttkrp5(int64_t n, int rounds) {
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n, n, n, n};
    sparsec_tensor C = {0};
    const int64_t C_dims[] = {n, n};
    sparsec_tensor D = {0};
    const int64_t D_dims[] = {n, n};
    sparsec_tensor E = {0};
    const int64_t E_dims[] = {n, n};
    sparsec_tensor F = {0};
    const int64_t F_dims[] = {n, n};
    sparsec_tensor A = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&B, &mttkrp5_B_spec, B_dims, 1);
    error |= smoke_fill(&C, &mttkrp5_C_spec, C_dims, 2);
    error |= smoke_fill(&D, &mttkrp5_D_spec, D_dims, 3);
    error |= smoke_fill(&E, &mttkrp5_E_spec, E_dims, 4);
    error |= smoke_fill(&F, &mttkrp5_F_spec, F_dims, 5);
    if (!error) error = mttkrp5(&B, &C, &D, &E, &F, &A);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = mttkrp5(&B, &C, &D, &E, &F, &A);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("mttkrp5", error, best);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    sparsec_free_tensor(&D);
    sparsec_free_tensor(&E);
    sparsec_free_tensor(&F);
    sparsec_free_tensor(&A);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_mttkrp5(n, rounds);
    return failed;
}
#endif
