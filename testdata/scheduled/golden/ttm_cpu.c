/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "ttm.h"

/* ttm
 *   A(i, j, l) +=! B(i, j, k) * C(k, l)
 *   B: {compressed, compressed, compressed}
 *   A: {compressed, compressed, dense}
 *   fuse(i, j, f)
 *   pos(f, p, B(i,j,k))
 *   split(p, p0, p1, 64)
 *   split(l, l0, l1, 32)
 *   reorder(p0, p1, l0, k, l1)
 *   precompute(B(i,j,k) * C(k,l), l1, l1, tile)
 *   unroll(l1, 32)
 *   parallelize(p0, CPUThread(dynamic, 16), NoRaces)
 */
int ttm_raw(int64_t I, int64_t J, int64_t K, int64_t L, const int32_t *SPARSEC_RESTRICT B1_pos,
    const int32_t *SPARSEC_RESTRICT B1_crd, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const int32_t *SPARSEC_RESTRICT B3_pos,
    const int32_t *SPARSEC_RESTRICT B3_crd, const double *SPARSEC_RESTRICT B_vals,
    const double *SPARSEC_RESTRICT C_vals, int32_t **A1_pos_out, int32_t **A1_crd_out,
    int32_t **A2_pos_out, int32_t **A2_crd_out, double **A_vals_out) {
    (void)I; (void)J; (void)K;
    int32_t *A1_pos = *A1_pos_out;
    int32_t *A1_crd = *A1_crd_out;
    int32_t *A2_pos = *A2_pos_out;
    int32_t *A2_crd = *A2_crd_out;
    double *A_vals = *A_vals_out;
    int error;
    SPARSEC_RESIZE(A1_pos, 2);
    sparsec_copy(A1_pos, B1_pos, 2, sizeof *A1_pos);
    int64_t A_stored = B1_pos[1];
    SPARSEC_RESIZE(A1_crd, A_stored);
    sparsec_copy(A1_crd, B1_crd, A_stored, sizeof *A1_crd);
    SPARSEC_RESIZE(A2_pos, A_stored + 1);
    sparsec_copy(A2_pos, B2_pos, A_stored + 1, sizeof *A2_pos);
    int64_t A_stored2 = B2_pos[A_stored];
    SPARSEC_RESIZE(A2_crd, A_stored2);
    sparsec_copy(A2_crd, B2_crd, A_stored2, sizeof *A2_crd);
    SPARSEC_RESIZE(A_vals, sparsec_times(A_stored2, L));
    int64_t p_begin = B2_pos[B1_pos[0]];
    int64_t p_end = B2_pos[B1_pos[1]];
#ifdef _OPENMP
    #pragma omp parallel for schedule(dynamic, 16)
#endif
    for (int64_t p0 = 0; p0 < (p_end - p_begin + 63) / 64; p0++) {
        int64_t p1_begin = p_begin + p0 * 64;
        int64_t p1_end = sparsec_min_int64(p1_begin + 64, p_end);
        int64_t B1_first = sparsec_lower_bound_int32(B2_pos, B1_pos[0], B1_pos[1], p1_begin + 1);
        int64_t B1_last = sparsec_gallop_int32(B2_pos, B1_first, B1_pos[1], p1_end);
        int64_t pB1_begin = sparsec_max_int64(B1_pos[0], B1_first - 1);
        int64_t pB1_end = sparsec_min_int64(B1_pos[1], B1_last);
        for (int64_t pB1 = pB1_begin; pB1 < pB1_end; pB1++) {
            int64_t pB2_begin = sparsec_max_int64(B2_pos[pB1], p1_begin);
            int64_t pB2_end = sparsec_min_int64(B2_pos[pB1 + 1], p1_end);
            for (int64_t p = pB2_begin; p < pB2_end; p++) {
                int64_t l0_full = L / 32;
                for (int64_t l0 = 0; l0 < l0_full; l0++) {
                    double tile_vals[32];
                    SPARSEC_UNROLL(32)
                    for (int64_t l1 = 0; l1 < 32; l1++) {
                        tile_vals[l1] = 0.0;
                    }
                    for (int64_t pB3 = B3_pos[p]; pB3 < B3_pos[p + 1]; pB3++) {
                        int64_t k = B3_crd[pB3];
                        SPARSEC_UNROLL(32)
                        for (int64_t l1 = 0; l1 < 32; l1++) {
                            int64_t l = l0 * 32 + l1;
                            tile_vals[l1] += B_vals[pB3] * C_vals[k * L + l];
                        }
                    }
                    SPARSEC_UNROLL(32)
                    for (int64_t l1 = 0; l1 < 32; l1++) {
                        int64_t l = l0 * 32 + l1;
                        A_vals[p * L + l] = tile_vals[l1];
                    }
                }
                if (l0_full * 32 < L) {
                    int64_t l0 = l0_full;
                    double tile_vals[32];
                    for (int64_t l1 = 0; l1 < sparsec_min_int64(32, L - l0 * 32); l1++) {
                        tile_vals[l1] = 0.0;
                    }
                    for (int64_t pB3 = B3_pos[p]; pB3 < B3_pos[p + 1]; pB3++) {
                        SPARSEC_NO_JAM();
                        int64_t k = B3_crd[pB3];
                        for (int64_t l1 = 0; l1 < sparsec_min_int64(32, L - l0 * 32); l1++) {
                            int64_t l = l0 * 32 + l1;
                            tile_vals[l1] += B_vals[pB3] * C_vals[k * L + l];
                        }
                    }
                    for (int64_t l1 = 0; l1 < sparsec_min_int64(32, L - l0 * 32); l1++) {
                        int64_t l = l0 * 32 + l1;
                        A_vals[p * L + l] = tile_vals[l1];
                    }
                }
            }
        }
    }
    *A1_pos_out = A1_pos;
    *A1_crd_out = A1_crd;
    *A2_pos_out = A2_pos;
    *A2_crd_out = A2_crd;
    *A_vals_out = A_vals;
    return SPARSEC_OK;
fail:
    sparsec_release(A1_pos);
    *A1_pos_out = NULL;
    sparsec_release(A1_crd);
    *A1_crd_out = NULL;
    sparsec_release(A2_pos);
    *A2_pos_out = NULL;
    sparsec_release(A2_crd);
    *A2_crd_out = NULL;
    sparsec_release(A_vals);
    *A_vals_out = NULL;
    return error;
}

static const sparsec_level_spec ttm_B_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}, {SPARSEC_COMPRESSED, 0, 2}};
static const sparsec_spec ttm_B_spec = {"B", SPARSEC_FLOAT64, 3, 32, ttm_B_levels, NULL};
static const sparsec_level_spec ttm_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec ttm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, ttm_C_levels, NULL};
static const sparsec_level_spec ttm_A_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec ttm_A_spec = {"A", SPARSEC_FLOAT64, 3, 32, ttm_A_levels, NULL};

int ttm(const sparsec_tensor *B, const sparsec_tensor *C, sparsec_tensor *A) {
    int error;
    error = sparsec_check(B, &ttm_B_spec);
    if (error) return error;
    error = sparsec_check(C, &ttm_C_spec);
    if (error) return error;
    if (!A) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "A: no tensor given");
    int64_t I = B->dims[0];
    int64_t J = B->dims[1];
    int64_t K = B->dims[2];
    int64_t L = C->dims[1];
    error = sparsec_same_size("K", "C", C->dims[0], "B", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {B, C, A};
    error = sparsec_apart(A, "A", tensors, 3);
    if (error) return error;
    int64_t A_dims[] = {I, J, L};
    error = sparsec_shape(A, &ttm_A_spec, A_dims);
    if (error) return error;
    int32_t *A1_pos = (int32_t *)sparsec_take(&A->levels[0].pos);
    int32_t *A1_crd = (int32_t *)sparsec_take(&A->levels[0].crd);
    int32_t *A2_pos = (int32_t *)sparsec_take(&A->levels[1].pos);
    int32_t *A2_crd = (int32_t *)sparsec_take(&A->levels[1].crd);
    double *A_vals = (double *)sparsec_take(&A->vals);
    error = ttm_raw(I, J, K, L, (const int32_t *)B->levels[0].pos, (const int32_t *)B->levels[0].crd,
        (const int32_t *)B->levels[1].pos, (const int32_t *)B->levels[1].crd,
        (const int32_t *)B->levels[2].pos, (const int32_t *)B->levels[2].crd, (const double *)B->vals,
        (const double *)C->vals, &A1_pos, &A1_crd, &A2_pos, &A2_crd, &A_vals);
    if (error) return sparsec_fail_code(error);
    int64_t A_positions = 1;
    sparsec_set_level(A, 0, A1_pos, A1_crd, A_positions);
    A_positions = sparsec_positions(A, 0, A_positions);
    sparsec_set_level(A, 1, A2_pos, A2_crd, A_positions);
    A_positions = sparsec_positions(A, 1, A_positions);
    A_positions = sparsec_positions(A, 2, A_positions);
    A->vals = A_vals;
    A->vals_len = A->vals_cap = A_positions;
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

static int smoke_ttm(int64_t n, int rounds) {
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n, n};
    sparsec_tensor C = {0};
    const int64_t C_dims[] = {n, n};
    sparsec_tensor A = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&B, &ttm_B_spec, B_dims, 1);
    error |= smoke_fill(&C, &ttm_C_spec, C_dims, 2);
    if (!error) error = ttm(&B, &C, &A);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = ttm(&B, &C, &A);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("ttm", error, best);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    sparsec_free_tensor(&A);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_ttm(n, rounds);
    return failed;
}
#endif
