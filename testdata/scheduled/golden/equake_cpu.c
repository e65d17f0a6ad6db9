/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "equake.h"

/* equake
 *   w(i, a) +=! K(e, a, b) * v(col(e), b) where i in 0:N - 1, e in first(i):first(i + 1)
 *   split(i, i0, i1, 32)
 *   parallelize(i0, CPUThread, NoRaces)
 */
int equake_raw(int64_t N, int64_t E, int64_t M, const int32_t *SPARSEC_RESTRICT first_vals,
    const int32_t *SPARSEC_RESTRICT col_vals, const double *SPARSEC_RESTRICT K_vals,
    const double *SPARSEC_RESTRICT v_vals, double *SPARSEC_RESTRICT w_vals) {
    (void)E; (void)M;
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i0 = 0; i0 < (N + 30) / 32; i0++) {
        for (int64_t i1 = 0; i1 < sparsec_min_int64(32, N - 1 - i0 * 32); i1++) {
            int64_t i = i0 * 32 + i1;
            for (int64_t a = 0; a < 3; a++) {
                double sum = 0.0;
                for (int64_t e = first_vals[i]; e < first_vals[i + 1]; e++) {
                    for (int64_t b = 0; b < 3; b++) {
                        sum += K_vals[(e * 3 + a) * 3 + b] * v_vals[col_vals[e] * 3 + b];
                    }
                }
                w_vals[i * 3 + a] = sum;
            }
        }
    }
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int equake_check(int64_t N, int64_t E, int64_t M, const int32_t *SPARSEC_RESTRICT first_vals,
    const int32_t *SPARSEC_RESTRICT col_vals, const double *SPARSEC_RESTRICT K_vals,
    const double *SPARSEC_RESTRICT v_vals) {
    (void)K_vals; (void)v_vals;
    bool out_of_range = false;
    for (int64_t i = 0; i < N - 1; i++) {
        out_of_range = out_of_range || (first_vals[i] < first_vals[i + 1] && (first_vals[i] < 0 || E < first_vals[i + 1]));
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    bool out_of_range2 = false;
    for (int64_t i = 0; i < N - 1; i++) {
        for (int64_t e = first_vals[i]; e < first_vals[i + 1]; e++) {
            out_of_range2 = out_of_range2 || (col_vals[e] < 0 || col_vals[e] >= M);
        }
    }
    if (out_of_range2) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec equake_first_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec equake_first_spec = {"first", SPARSEC_INT32, 1, 32, equake_first_levels, NULL};
static const sparsec_level_spec equake_col_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec equake_col_spec = {"col", SPARSEC_INT32, 1, 32, equake_col_levels, NULL};
static const sparsec_level_spec equake_K_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec equake_K_spec = {"K", SPARSEC_FLOAT64, 3, 32, equake_K_levels, NULL};
static const sparsec_level_spec equake_v_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_v_spec = {"v", SPARSEC_FLOAT64, 2, 32, equake_v_levels, NULL};
static const sparsec_level_spec equake_w_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_w_spec = {"w", SPARSEC_FLOAT64, 2, 32, equake_w_levels, NULL};

int equake(const sparsec_tensor *first, const sparsec_tensor *col, const sparsec_tensor *K,
    const sparsec_tensor *v, sparsec_tensor *w) {
    int error;
    error = sparsec_check(first, &equake_first_spec);
    if (error) return error;
    error = sparsec_check(col, &equake_col_spec);
    if (error) return error;
    error = sparsec_check(K, &equake_K_spec);
    if (error) return error;
    error = sparsec_check(v, &equake_v_spec);
    if (error) return error;
    if (!w) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "w: no tensor given");
    int64_t N = first->dims[0];
    int64_t E = col->dims[0];
    int64_t M = v->dims[0];
    error = sparsec_same_size("E", "K", K->dims[0], "col", E);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "K", K->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 2", "K", K->dims[2], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "v", v->dims[1], "the program", 3);
    if (error) return error;
    if (N - 1 < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "dimension 0 of `w` would be negative");
    const sparsec_tensor *const tensors[] = {first, col, K, v, w};
    error = sparsec_apart(w, "w", tensors, 5);
    if (error) return error;
    int64_t w_dims[] = {N - 1, 3};
    error = sparsec_shape_dense(w, &equake_w_spec, w_dims);
    if (error) return error;
    error = equake_check(N, E, M, (const int32_t *)first->vals, (const int32_t *)col->vals,
        (const double *)K->vals, (const double *)v->vals);
    if (error) return sparsec_fail_code(error);
    error = equake_raw(N, E, M, (const int32_t *)first->vals, (const int32_t *)col->vals,
        (const double *)K->vals, (const double *)v->vals, (double *)w->vals);
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

static int smoke_equake(int64_t n, int rounds) {
    sparsec_tensor first = {0};
    const int64_t first_dims[] = {n};
    sparsec_tensor col = {0};
    const int64_t col_dims[] = {n};
    sparsec_tensor K = {0};
    const int64_t K_dims[] = {n, 3, 3};
    sparsec_tensor v = {0};
    const int64_t v_dims[] = {n, 3};
    sparsec_tensor w = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&first, &equake_first_spec, first_dims, 1);
    error |= smoke_fill(&col, &equake_col_spec, col_dims, 2);
    error |= smoke_fill(&K, &equake_K_spec, K_dims, 3);
    error |= smoke_fill(&v, &equake_v_spec, v_dims, 4);
    if (!error) error = equake(&first, &col, &K, &v, &w);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = equake(&first, &col, &K, &v, &w);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("equake", error, best);
    sparsec_free_tensor(&first);
    sparsec_free_tensor(&col);
    sparsec_free_tensor(&K);
    sparsec_free_tensor(&v);
    sparsec_free_tensor(&w);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_equake(n, rounds);
    return failed;
}
#endif
