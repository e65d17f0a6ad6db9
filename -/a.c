/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "a.h"

/* f
 *   T(i, j) = A(i, j) + B(i, j)
 *   C(i, j) = T(i, j) * 2
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   C: {dense, compressed}
 *   T: {compressed(nonunique), singleton}
 */
int f_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, int32_t **C2_pos_out, int32_t **C2_crd_out,
    double **C_vals_out, int64_t C2_capacity) {
    (void)N;
    int32_t *C2_pos = *C2_pos_out;
    int32_t *C2_crd = *C2_crd_out;
    double *C_vals = *C_vals_out;
    int32_t *T1_pos = NULL;
    int32_t *T1_crd = NULL;
    int32_t *T2_crd = NULL;
    double *T_vals = NULL;
    int error;
    T1_pos = sparsec_zeroed(2, sizeof *T1_pos);
    SPARSEC_NEED(T1_pos);
    int64_t T1_capacity = 16;
    T1_crd = sparsec_resize(NULL, T1_capacity, sizeof *T1_crd);
    SPARSEC_NEED(T1_crd);
    T2_crd = sparsec_resize(NULL, T1_capacity, sizeof *T2_crd);
    SPARSEC_NEED(T2_crd);
    T_vals = sparsec_resize(NULL, T1_capacity, sizeof *T_vals);
    SPARSEC_NEED(T_vals);
    int64_t pT1 = 0;
    for (int64_t i = 0; i < M; i++) {
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pB2 = B2_pos[i];
        int64_t pB2_end = B2_pos[i + 1];
        while (pA2 < pA2_end && pB2 < pB2_end) {
            int64_t jA = A2_crd[pA2];
            int64_t jB = B2_crd[pB2];
            int64_t j = sparsec_min_int64(jA, jB);
            if (jA == j && jB == j) {
                if (pT1 >= T1_capacity) {
                    T1_capacity = sparsec_next_capacity(T1_capacity, pT1 + 1);
                    SPARSEC_RESIZE(T1_crd, T1_capacity);
                    SPARSEC_RESIZE(T2_crd, T1_capacity);
                    SPARSEC_RESIZE(T_vals, T1_capacity);
                }
                T_vals[pT1] = A_vals[pA2] + B_vals[pB2];
                T1_crd[pT1] = (int32_t)i;
                T2_crd[pT1] = (int32_t)j;
                pT1++;
            } else if (jA == j) {
                if (pT1 >= T1_capacity) {
                    T1_capacity = sparsec_next_capacity(T1_capacity, pT1 + 1);
                    SPARSEC_RESIZE(T1_crd, T1_capacity);
                    SPARSEC_RESIZE(T2_crd, T1_capacity);
                    SPARSEC_RESIZE(T_vals, T1_capacity);
                }
                T_vals[pT1] = A_vals[pA2];
                T1_crd[pT1] = (int32_t)i;
                T2_crd[pT1] = (int32_t)j;
                pT1++;
            } else {
                if (pT1 >= T1_capacity) {
                    T1_capacity = sparsec_next_capacity(T1_capacity, pT1 + 1);
                    SPARSEC_RESIZE(T1_crd, T1_capacity);
                    SPARSEC_RESIZE(T2_crd, T1_capacity);
                    SPARSEC_RESIZE(T_vals, T1_capacity);
                }
                T_vals[pT1] = B_vals[pB2];
                T1_crd[pT1] = (int32_t)i;
                T2_crd[pT1] = (int32_t)j;
                pT1++;
            }
            pA2 += jA == j;
            pB2 += jB == j;
        }
        while (pA2 < pA2_end) {
            int64_t j = A2_crd[pA2];
            if (pT1 >= T1_capacity) {
                T1_capacity = sparsec_next_capacity(T1_capacity, pT1 + 1);
                SPARSEC_RESIZE(T1_crd, T1_capacity);
                SPARSEC_RESIZE(T2_crd, T1_capacity);
                SPARSEC_RESIZE(T_vals, T1_capacity);
            }
            T_vals[pT1] = A_vals[pA2];
            T1_crd[pT1] = (int32_t)i;
            T2_crd[pT1] = (int32_t)j;
            pT1++;
            pA2++;
        }
        while (pB2 < pB2_end) {
            int64_t j = B2_crd[pB2];
            if (pT1 >= T1_capacity) {
                T1_capacity = sparsec_next_capacity(T1_capacity, pT1 + 1);
                SPARSEC_RESIZE(T1_crd, T1_capacity);
                SPARSEC_RESIZE(T2_crd, T1_capacity);
                SPARSEC_RESIZE(T_vals, T1_capacity);
            }
            T_vals[pT1] = B_vals[pB2];
            T1_crd[pT1] = (int32_t)i;
            T2_crd[pT1] = (int32_t)j;
            pT1++;
            pB2++;
        }
    }
    T1_pos[1] = (int32_t)pT1;
    if (2147483647 < pT1) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    SPARSEC_RESIZE(C2_pos, M + 1);
    memset(C2_pos, 0, (size_t)(M + 1) * sizeof *C2_pos);
    C2_capacity = sparsec_max_int64(C2_capacity, 16);
    SPARSEC_RESIZE(C2_crd, C2_capacity);
    SPARSEC_RESIZE(C_vals, C2_capacity);
    int64_t pC2 = 0;
    int64_t pT1_2 = T1_pos[0];
    int64_t pT1_end = T1_pos[1];
    while (pT1_2 < pT1_end) {
        int64_t i = T1_crd[pT1_2];
        int64_t pT1_last = pT1_2 + 1;
        while (pT1_last < pT1_end && T1_crd[pT1_last] == i) {
            pT1_last++;
        }
        for (int64_t pT2 = pT1_2; pT2 < pT1_last; pT2++) {
            int64_t j = T2_crd[pT2];
            if (pC2 >= C2_capacity) {
                C2_capacity = sparsec_next_capacity(C2_capacity, pC2 + 1);
                SPARSEC_RESIZE(C2_crd, C2_capacity);
                SPARSEC_RESIZE(C_vals, C2_capacity);
            }
            C_vals[pC2] = T_vals[pT2] * 2.0;
            C2_crd[pC2] = (int32_t)j;
            pC2++;
        }
        C2_pos[i + 1] = (int32_t)pC2;
        pT1_2 = pT1_last;
    }
    if (2147483647 < pC2) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    for (int64_t k = 0; k < M; k++) {
        if (C2_pos[k + 1] < C2_pos[k]) {
            C2_pos[k + 1] = (int32_t)C2_pos[k];
        }
    }
    sparsec_release(T1_pos);
    T1_pos = NULL;
    sparsec_release(T1_crd);
    T1_crd = NULL;
    sparsec_release(T2_crd);
    T2_crd = NULL;
    sparsec_release(T_vals);
    T_vals = NULL;
    *C2_pos_out = C2_pos;
    *C2_crd_out = C2_crd;
    *C_vals_out = C_vals;
    return SPARSEC_OK;
fail:
    sparsec_release(C2_pos);
    sparsec_release(C2_crd);
    sparsec_release(C_vals);
    sparsec_release(T1_pos);
    sparsec_release(T1_crd);
    sparsec_release(T2_crd);
    sparsec_release(T_vals);
    return error;
}

static const sparsec_level_spec f_A_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec f_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, f_A_levels, 0.0};
static const sparsec_level_spec f_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec f_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, f_B_levels, 0.0};
static const sparsec_level_spec f_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec f_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, f_C_levels, 0.0};

int f(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &f_A_spec);
    if (error) return error;
    error = sparsec_check(B, &f_B_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "B", B->dims[1], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape(C, &f_C_spec, C_dims);
    if (error) return error;
    int32_t *C2_pos = (int32_t *)sparsec_take(&C->levels[1].pos);
    int32_t *C2_crd = (int32_t *)sparsec_take(&C->levels[1].crd);
    double *C_vals = (double *)sparsec_take(&C->vals);
    error = f_raw(M, N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
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

static int smoke_f(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &f_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &f_B_spec, B_dims, 2);
    if (!error) error = f(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = f(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("f", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_f(n, rounds);
    return failed;
}
#endif
