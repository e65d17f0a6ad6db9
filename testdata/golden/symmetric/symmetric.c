/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "symmetric.h"

/* symmetric
 *   C(i, j) = A(i, j) + A(j, i)
 *   A: {dense, compressed}
 *   C: {dense, compressed}
 */
int symmetric_raw(int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    int32_t **C2_pos_out, int32_t **C2_crd_out, double **C_vals_out, int64_t C2_capacity) {
    int32_t *C2_pos = *C2_pos_out;
    int32_t *C2_crd = *C2_crd_out;
    double *C_vals = *C_vals_out;
    int32_t *A_sorted_rows2_pos = NULL;
    int32_t *A_sorted_rows2_crd = NULL;
    double *A_sorted_rows_vals = NULL;
    int32_t *A_sorted_rows2_next = NULL;
    int error;
    A_sorted_rows2_next = sparsec_resize(NULL, N, sizeof *A_sorted_rows2_next);
    SPARSEC_NEED(A_sorted_rows2_next);
    A_sorted_rows2_pos = sparsec_zeroed(N + 1, sizeof *A_sorted_rows2_pos);
    SPARSEC_NEED(A_sorted_rows2_pos);
    for (int64_t pA2 = A2_pos[0]; pA2 < A2_pos[N]; pA2++) {
        int64_t i_all = A2_crd[pA2];
        A_sorted_rows2_pos[i_all + 1] += 1;
    }
    int64_t A_sorted_rows2_count = 0;
    for (int64_t k = 0; k < N; k++) {
        A_sorted_rows2_count += A_sorted_rows2_pos[k + 1];
        A_sorted_rows2_pos[k + 1] = (int32_t)A_sorted_rows2_count;
    }
    if (A_sorted_rows2_count > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    int64_t A_sorted_rows2_capacity = A_sorted_rows2_count;
    A_sorted_rows2_crd = sparsec_resize(NULL, A_sorted_rows2_capacity, sizeof *A_sorted_rows2_crd);
    SPARSEC_NEED(A_sorted_rows2_crd);
    A_sorted_rows_vals = sparsec_resize(NULL, A_sorted_rows2_capacity, sizeof *A_sorted_rows_vals);
    SPARSEC_NEED(A_sorted_rows_vals);
    for (int64_t k = 0; k < N; k++) {
        A_sorted_rows2_next[k] = (int32_t)A_sorted_rows2_pos[k];
    }
    for (int64_t j_all = 0; j_all < N; j_all++) {
        for (int64_t pA2 = A2_pos[j_all]; pA2 < A2_pos[j_all + 1]; pA2++) {
            int64_t i_all = A2_crd[pA2];
            int64_t pA_sorted_rows2 = A_sorted_rows2_next[i_all];
            A_sorted_rows_vals[pA_sorted_rows2] = A_vals[pA2];
            A_sorted_rows2_crd[pA_sorted_rows2] = (int32_t)j_all;
            A_sorted_rows2_next[i_all] = (int32_t)(pA_sorted_rows2 + 1);
        }
    }
    SPARSEC_RESIZE(C2_pos, N + 1);
    C2_pos[0] = 0;
    int64_t C_most = (int64_t)A2_pos[N] + A_sorted_rows2_pos[N];
    C2_capacity = sparsec_max_int64(C2_capacity, C_most);
    SPARSEC_RESIZE(C2_crd, C2_capacity);
    SPARSEC_RESIZE(C_vals, C2_capacity);
    int64_t pC2 = 0;
    for (int64_t i = 0; i < N; i++) {
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pA_sorted_rows2 = A_sorted_rows2_pos[i];
        int64_t pA_sorted_rows2_end = A_sorted_rows2_pos[i + 1];
        while (pA2 < pA2_end && pA_sorted_rows2 < pA_sorted_rows2_end) {
            int64_t jA = A2_crd[pA2];
            int64_t jA_sorted_rows = A_sorted_rows2_crd[pA_sorted_rows2];
            int64_t j = sparsec_min_int64(jA, jA_sorted_rows);
            if (jA == j && jA_sorted_rows == j) {
                C_vals[pC2] = A_vals[pA2] + A_sorted_rows_vals[pA_sorted_rows2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            } else if (jA == j) {
                C_vals[pC2] = A_vals[pA2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            } else {
                C_vals[pC2] = A_sorted_rows_vals[pA_sorted_rows2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            }
            pA2 += jA == j;
            pA_sorted_rows2 += jA_sorted_rows == j;
        }
        while (pA2 < pA2_end) {
            int64_t j = A2_crd[pA2];
            C_vals[pC2] = A_vals[pA2];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
            pA2++;
        }
        while (pA_sorted_rows2 < pA_sorted_rows2_end) {
            int64_t j = A_sorted_rows2_crd[pA_sorted_rows2];
            C_vals[pC2] = A_sorted_rows_vals[pA_sorted_rows2];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
            pA_sorted_rows2++;
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
    sparsec_release(A_sorted_rows2_next);
    sparsec_release(A_sorted_rows2_pos);
    sparsec_release(A_sorted_rows2_crd);
    sparsec_release(A_sorted_rows_vals);
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
    sparsec_release(A_sorted_rows2_pos);
    sparsec_release(A_sorted_rows2_crd);
    sparsec_release(A_sorted_rows_vals);
    sparsec_release(A_sorted_rows2_next);
    return error;
}

static const sparsec_level_spec symmetric_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec symmetric_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, symmetric_A_levels, NULL};
static const sparsec_level_spec symmetric_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec symmetric_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, symmetric_C_levels, NULL};

int symmetric(const sparsec_tensor *A, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &symmetric_A_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t N = A->dims[0];
    error = sparsec_same_size("N", "A", A->dims[1], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, C};
    error = sparsec_apart(C, "C", tensors, 2);
    if (error) return error;
    int64_t C_dims[] = {N, N};
    error = sparsec_shape(C, &symmetric_C_spec, C_dims);
    if (error) return error;
    int32_t *C2_pos = (int32_t *)sparsec_take(&C->levels[1].pos);
    int32_t *C2_crd = (int32_t *)sparsec_take(&C->levels[1].crd);
    double *C_vals = (double *)sparsec_take(&C->vals);
    error = symmetric_raw(N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, &C2_pos, &C2_crd, &C_vals,
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

static int smoke_symmetric(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor C = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &symmetric_A_spec, A_dims, 1);
    if (!error) error = symmetric(&A, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = symmetric(&A, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("symmetric", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_symmetric(n, rounds);
    return failed;
}
#endif
