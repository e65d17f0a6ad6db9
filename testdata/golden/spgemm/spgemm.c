/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "spgemm.h"

/* spgemm
 *   C(i, j) = A(i, k) * B(k, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   C: {dense, compressed}
 */
int spgemm_raw(int64_t M, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, int32_t **C2_pos_out, int32_t **C2_crd_out,
    double **C_vals_out, int64_t C2_capacity) {
    int32_t *C2_pos = *C2_pos_out;
    int32_t *C2_crd = *C2_crd_out;
    double *C_vals = *C_vals_out;
    int32_t *C_row1_crd = NULL;
    double *C_row_vals = NULL;
    int32_t *C_row_places = NULL;
    int error;
    C_row1_crd = sparsec_resize(NULL, N, sizeof *C_row1_crd);
    SPARSEC_NEED(C_row1_crd);
    C_row_vals = sparsec_resize(NULL, N, sizeof *C_row_vals);
    SPARSEC_NEED(C_row_vals);
    C_row_places = sparsec_zeroed(N, sizeof *C_row_places);
    SPARSEC_NEED(C_row_places);
    SPARSEC_RESIZE(C2_pos, M + 1);
    C2_pos[0] = 0;
    C2_capacity = sparsec_max_int64(C2_capacity, (int64_t)A2_pos[M] + B2_pos[K]);
    SPARSEC_RESIZE(C2_crd, C2_capacity);
    SPARSEC_RESIZE(C_vals, C2_capacity);
    int64_t pC2 = 0;
    for (int64_t i = 0; i < M; i++) {
        int64_t C_row_count = 0;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t k = A2_crd[pA2];
            for (int64_t pB2 = B2_pos[k]; pB2 < B2_pos[k + 1]; pB2++) {
                int64_t j = B2_crd[pB2];
                int64_t pC_row = C_row_places[j];
                if (pC_row == 0) {
                    C_row1_crd[C_row_count] = (int32_t)j;
                    C_row_vals[C_row_count] = A_vals[pA2] * B_vals[pB2];
                    C_row_count++;
                    C_row_places[j] = (int32_t)C_row_count;
                } else {
                    C_row_vals[pC_row - 1] += A_vals[pA2] * B_vals[pB2];
                }
            }
        }
        for (int64_t p = 0; p < C_row_count; p++) {
            C_row_places[C_row1_crd[p]] = 0;
        }
        {
            void *const sparsec_by[] = {C_row1_crd};
            sparsec_sort_distinct(C_row_count, 1, sparsec_by, sizeof *C_row1_crd, C_row_vals,
                sizeof *C_row_vals);
        }
        if (pC2 + C_row_count > C2_capacity) {
            C2_capacity = sparsec_next_capacity(C2_capacity, pC2 + C_row_count);
            SPARSEC_RESIZE(C2_crd, C2_capacity);
            SPARSEC_RESIZE(C_vals, C2_capacity);
        }
        for (int64_t pC_row1 = 0; pC_row1 < C_row_count; pC_row1++) {
            int64_t j = C_row1_crd[pC_row1];
            C_vals[pC2] = C_row_vals[pC_row1];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
        }
        C2_pos[i + 1] = (int32_t)pC2;
    }
    if (pC2 > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    if (pC2 < C2_capacity / 2) {
        SPARSEC_TRIM(C2_crd, pC2);
        SPARSEC_TRIM(C_vals, pC2);
    }
    sparsec_release(C_row1_crd);
    sparsec_release(C_row_vals);
    sparsec_release(C_row_places);
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
    sparsec_release(C_row1_crd);
    sparsec_release(C_row_vals);
    sparsec_release(C_row_places);
    return error;
}

static const sparsec_level_spec spgemm_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spgemm_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, spgemm_A_levels, NULL};
static const sparsec_level_spec spgemm_B_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spgemm_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, spgemm_B_levels, NULL};
static const sparsec_level_spec spgemm_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spgemm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, spgemm_C_levels, NULL};

int spgemm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &spgemm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &spgemm_B_spec);
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
    error = sparsec_shape(C, &spgemm_C_spec, C_dims);
    if (error) return error;
    int32_t *C2_pos = (int32_t *)sparsec_take(&C->levels[1].pos);
    int32_t *C2_crd = (int32_t *)sparsec_take(&C->levels[1].crd);
    double *C_vals = (double *)sparsec_take(&C->vals);
    error = spgemm_raw(M, K, N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, (const int32_t *)B->levels[1].pos, (const int32_t *)B->levels[1].crd,
        (const double *)B->vals, &C2_pos, &C2_crd, &C_vals,
        sparsec_min_int64(C->levels[1].crd_cap, C->vals_cap));
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

static int smoke_spgemm(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &spgemm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &spgemm_B_spec, B_dims, 2);
    if (!error) error = spgemm(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = spgemm(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("spgemm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_spgemm(n, rounds);
    return failed;
}
#endif
