/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "hashed.h"

/* masked
 *   C(i, j) = A(i, j) * H(i, j)
 *   A: {dense, compressed}
 *   H: {dense, hashed}
 *   C: {dense, compressed}
 *   assemble(C, append)
 */
int masked_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const float *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    const int32_t *SPARSEC_RESTRICT H2_table, const float *SPARSEC_RESTRICT H_vals,
    int32_t **C2_pos_out, int32_t **C2_crd_out, float **C_vals_out, int64_t C2_capacity) {
    (void)N;
    int32_t *C2_pos = *C2_pos_out;
    int32_t *C2_crd = *C2_crd_out;
    float *C_vals = *C_vals_out;
    int error;
    SPARSEC_RESIZE(C2_pos, M + 1);
    C2_pos[0] = 0;
    int64_t C_most = A2_pos[M];
    C2_capacity = sparsec_max_int64(C2_capacity, C_most);
    SPARSEC_RESIZE(C2_crd, C2_capacity);
    SPARSEC_RESIZE(C_vals, C2_capacity);
    int64_t pC2 = 0;
    for (int64_t i = 0; i < M; i++) {
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            int64_t pH2_end = H2_pos[i + 1];
            int64_t pH2 = sparsec_look_up_int32(H2_table, H2_crd, H2_pos[i], pH2_end, j);
            bool has_H = pH2 < pH2_end;
            if (has_H) {
                C_vals[pC2] = A_vals[pA2] * H_vals[pH2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            }
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

static const sparsec_level_spec masked_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec masked_A_spec = {"A", SPARSEC_FLOAT32, 2, 32, masked_A_levels, NULL};
static const sparsec_level_spec masked_H_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_HASHED, SPARSEC_UNORDERED, 1}};
static const sparsec_spec masked_H_spec = {"H", SPARSEC_FLOAT32, 2, 32, masked_H_levels, NULL};
static const sparsec_level_spec masked_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec masked_C_spec = {"C", SPARSEC_FLOAT32, 2, 32, masked_C_levels, NULL};

int masked(const sparsec_tensor *A, const sparsec_tensor *H, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &masked_A_spec);
    if (error) return error;
    error = sparsec_check(H, &masked_H_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("M", "H", H->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "H", H->dims[1], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, H, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape(C, &masked_C_spec, C_dims);
    if (error) return error;
    int32_t *C2_pos = (int32_t *)sparsec_take(&C->levels[1].pos);
    int32_t *C2_crd = (int32_t *)sparsec_take(&C->levels[1].crd);
    float *C_vals = (float *)sparsec_take(&C->vals);
    error = masked_raw(M, N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const float *)A->vals, (const int32_t *)H->levels[1].pos, (const int32_t *)H->levels[1].crd,
        (const int32_t *)H->levels[1].table, (const float *)H->vals, &C2_pos, &C2_crd, &C_vals,
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

/* entered
 *   H(i, j) = A(i, j)
 *   A: {dense, compressed}
 *   H: {dense, hashed}
 *   assemble(H, two_phase)
 *   parallelize(i, CPUThread, NoRaces)
 */
/* An iteration of the loop over i. */
static void entered_loop(int64_t i, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT H2_pos, int32_t *SPARSEC_RESTRICT H2_crd,
    double *SPARSEC_RESTRICT H_vals) {
    int64_t pH2 = H2_pos[i];
    for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
        int64_t j = A2_crd[pA2];
        H_vals[pH2] = A_vals[pA2];
        H2_crd[pH2] = (int32_t)j;
        pH2++;
    }
}

int entered_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    int32_t **H2_pos_out, int32_t **H2_crd_out, int32_t **H2_table_out, double **H_vals_out,
    int64_t H2_table_capacity, int64_t H2_capacity) {
    (void)N;
    int32_t *H2_pos = *H2_pos_out;
    int32_t *H2_crd = *H2_crd_out;
    int32_t *H2_table = *H2_table_out;
    double *H_vals = *H_vals_out;
    int error;
    SPARSEC_RESIZE(H2_pos, M + 1);
    H2_pos[0] = 0;
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i = 0; i < M; i++) {
        int64_t pH2 = 0;
        pH2 += A2_pos[i + 1] - A2_pos[i];
        H2_pos[i + 1] = (int32_t)pH2;
    }
    int64_t H2_count = 0;
    for (int64_t k = 0; k < M; k++) {
        H2_count += H2_pos[k + 1];
        H2_pos[k + 1] = (int32_t)H2_count;
    }
    if (H2_count > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    H2_capacity = sparsec_max_int64(H2_capacity, H2_count);
    SPARSEC_RESIZE(H2_crd, H2_capacity);
    SPARSEC_RESIZE(H_vals, H2_capacity);
    H2_table_capacity = sparsec_max_int64(H2_table_capacity, 2 * H2_count);
    SPARSEC_RESIZE(H2_table, H2_table_capacity);
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i = 0; i < M; i++) {
        entered_loop(i, A2_pos, A2_crd, A_vals, H2_pos, H2_crd, H_vals);
    }
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t k = 0; k < M; k++) {
        sparsec_enter_int32(H2_table, H2_crd, H2_pos[k], H2_pos[k + 1]);
    }
    *H2_pos_out = H2_pos;
    *H2_crd_out = H2_crd;
    *H2_table_out = H2_table;
    *H_vals_out = H_vals;
    return SPARSEC_OK;
fail:
    sparsec_release(H2_pos);
    *H2_pos_out = NULL;
    sparsec_release(H2_crd);
    *H2_crd_out = NULL;
    sparsec_release(H2_table);
    *H2_table_out = NULL;
    sparsec_release(H_vals);
    *H_vals_out = NULL;
    return error;
}

static const sparsec_level_spec entered_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec entered_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, entered_A_levels, NULL};
static const sparsec_level_spec entered_H_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_HASHED, SPARSEC_UNORDERED, 1}};
static const sparsec_spec entered_H_spec = {"H", SPARSEC_FLOAT64, 2, 32, entered_H_levels, NULL};

int entered(const sparsec_tensor *A, sparsec_tensor *H) {
    int error;
    error = sparsec_check(A, &entered_A_spec);
    if (error) return error;
    if (!H) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "H: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    const sparsec_tensor *const tensors[] = {A, H};
    error = sparsec_apart(H, "H", tensors, 2);
    if (error) return error;
    int64_t H_dims[] = {M, N};
    error = sparsec_shape(H, &entered_H_spec, H_dims);
    if (error) return error;
    int32_t *H2_pos = (int32_t *)sparsec_take(&H->levels[1].pos);
    int32_t *H2_crd = (int32_t *)sparsec_take(&H->levels[1].crd);
    int32_t *H2_table = (int32_t *)sparsec_take(&H->levels[1].table);
    double *H_vals = (double *)sparsec_take(&H->vals);
    error = entered_raw(M, N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, &H2_pos, &H2_crd, &H2_table, &H_vals, H->levels[1].table_cap,
        sparsec_min_int64(H->levels[1].crd_cap, H->vals_cap));
    if (error) return sparsec_fail_code(error);
    int64_t H_positions = 1;
    H_positions = sparsec_positions(H, 0, H_positions);
    sparsec_set_level(H, 1, H2_pos, H2_crd, H_positions);
    sparsec_set_table(H, 1, H2_table);
    H_positions = sparsec_positions(H, 1, H_positions);
    H->vals = H_vals;
    H->vals_len = H->vals_cap = H_positions;
    return SPARSEC_OK;
}

/* table_of_rows
 *   y(k) = H(r(k), c(k))
 *   H: {hashed, hashed}
 *   parallelize(k, CPUThread, NoRaces)
 */
int table_of_rows_raw(int64_t M, int64_t N, int64_t K, const int32_t *SPARSEC_RESTRICT H1_pos,
    const int32_t *SPARSEC_RESTRICT H1_crd, const int32_t *SPARSEC_RESTRICT H1_table,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    const int32_t *SPARSEC_RESTRICT H2_table, const double *SPARSEC_RESTRICT H_vals,
    const int32_t *SPARSEC_RESTRICT r_vals, const int32_t *SPARSEC_RESTRICT c_vals,
    double *SPARSEC_RESTRICT y_vals) {
    (void)M; (void)N;
    sparsec_clear(y_vals, K, sizeof *y_vals);
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t k = 0; k < K; k++) {
        int64_t pH1_end = H1_pos[1];
        int64_t pH1 = sparsec_look_up_int32(H1_table, H1_crd, H1_pos[0], pH1_end, r_vals[k]);
        bool has_H = pH1 < pH1_end;
        if (has_H) {
            int64_t pH2_end = H2_pos[pH1 + 1];
            int64_t pH2 = sparsec_look_up_int32(H2_table, H2_crd, H2_pos[pH1], pH2_end, c_vals[k]);
            bool has_H2 = pH2 < pH2_end;
            if (has_H2) {
                y_vals[k] = H_vals[pH2];
            }
        }
    }
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int table_of_rows_check(int64_t M, int64_t N, int64_t K,
    const int32_t *SPARSEC_RESTRICT H1_pos, const int32_t *SPARSEC_RESTRICT H1_crd,
    const int32_t *SPARSEC_RESTRICT H1_table, const int32_t *SPARSEC_RESTRICT H2_pos,
    const int32_t *SPARSEC_RESTRICT H2_crd, const int32_t *SPARSEC_RESTRICT H2_table,
    const double *SPARSEC_RESTRICT H_vals, const int32_t *SPARSEC_RESTRICT r_vals,
    const int32_t *SPARSEC_RESTRICT c_vals) {
    (void)H1_pos; (void)H1_crd; (void)H1_table; (void)H2_pos; (void)H2_crd; (void)H2_table;
        (void)H_vals;
    bool out_of_range = false;
    for (int64_t k = 0; k < K; k++) {
        out_of_range |= (r_vals[k] < 0) | (r_vals[k] >= M);
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t k = 0; k < K; k++) {
        out_of_range |= (c_vals[k] < 0) | (c_vals[k] >= N);
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec table_of_rows_H_levels[] =
    {{SPARSEC_HASHED, SPARSEC_UNORDERED, 0}, {SPARSEC_HASHED, SPARSEC_UNORDERED, 1}};
static const sparsec_spec table_of_rows_H_spec = {"H", SPARSEC_FLOAT64, 2, 32, table_of_rows_H_levels, NULL};
static const sparsec_level_spec table_of_rows_r_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec table_of_rows_r_spec = {"r", SPARSEC_INT32, 1, 32, table_of_rows_r_levels, NULL};
static const sparsec_level_spec table_of_rows_c_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec table_of_rows_c_spec = {"c", SPARSEC_INT32, 1, 32, table_of_rows_c_levels, NULL};
static const sparsec_level_spec table_of_rows_y_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec table_of_rows_y_spec = {"y", SPARSEC_FLOAT64, 1, 32, table_of_rows_y_levels, NULL};

int table_of_rows(const sparsec_tensor *H, const sparsec_tensor *r, const sparsec_tensor *c,
    sparsec_tensor *y) {
    int error;
    error = sparsec_check(H, &table_of_rows_H_spec);
    if (error) return error;
    error = sparsec_check(r, &table_of_rows_r_spec);
    if (error) return error;
    error = sparsec_check(c, &table_of_rows_c_spec);
    if (error) return error;
    if (!y) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "y: no tensor given");
    int64_t M = H->dims[0];
    int64_t N = H->dims[1];
    int64_t K = r->dims[0];
    error = sparsec_same_size("K", "c", c->dims[0], "r", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {H, r, c, y};
    error = sparsec_apart(y, "y", tensors, 4);
    if (error) return error;
    int64_t y_dims[] = {K};
    error = sparsec_shape_dense(y, &table_of_rows_y_spec, y_dims);
    if (error) return error;
    error = table_of_rows_check(M, N, K, (const int32_t *)H->levels[0].pos,
        (const int32_t *)H->levels[0].crd, (const int32_t *)H->levels[0].table,
        (const int32_t *)H->levels[1].pos, (const int32_t *)H->levels[1].crd,
        (const int32_t *)H->levels[1].table, (const double *)H->vals, (const int32_t *)r->vals,
        (const int32_t *)c->vals);
    if (error) return sparsec_fail_code(error);
    error = table_of_rows_raw(M, N, K, (const int32_t *)H->levels[0].pos,
        (const int32_t *)H->levels[0].crd, (const int32_t *)H->levels[0].table,
        (const int32_t *)H->levels[1].pos, (const int32_t *)H->levels[1].crd,
        (const int32_t *)H->levels[1].table, (const double *)H->vals, (const int32_t *)r->vals,
        (const int32_t *)c->vals, (double *)y->vals);
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

static int smoke_masked(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor H = {0};
    const int64_t H_dims[] = {n, n};
    sparsec_tensor C = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &masked_A_spec, A_dims, 1);
    error |= smoke_fill(&H, &masked_H_spec, H_dims, 2);
    if (!error) error = masked(&A, &H, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = masked(&A, &H, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("masked", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&H);
    sparsec_free_tensor(&C);
    return error;
}

static int smoke_entered(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor H = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &entered_A_spec, A_dims, 1);
    if (!error) error = entered(&A, &H);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = entered(&A, &H);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("entered", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&H);
    return error;
}

static int smoke_table_of_rows(int64_t n, int rounds) {
    sparsec_tensor H = {0};
    const int64_t H_dims[] = {n, n};
    sparsec_tensor r = {0};
    const int64_t r_dims[] = {n};
    sparsec_tensor c = {0};
    const int64_t c_dims[] = {n};
    sparsec_tensor y = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&H, &table_of_rows_H_spec, H_dims, 1);
    error |= smoke_fill(&r, &table_of_rows_r_spec, r_dims, 2);
    error |= smoke_fill(&c, &table_of_rows_c_spec, c_dims, 3);
    if (!error) error = table_of_rows(&H, &r, &c, &y);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = table_of_rows(&H, &r, &c, &y);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("table_of_rows", error, best);
    sparsec_free_tensor(&H);
    sparsec_free_tensor(&r);
    sparsec_free_tensor(&c);
    sparsec_free_tensor(&y);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_masked(n, rounds);
    failed |= smoke_entered(n, rounds);
    failed |= smoke_table_of_rows(n, rounds);
    return failed;
}
#endif
