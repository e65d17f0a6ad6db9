/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "hog.h"

/* hog
 *   sum(x, y) +=! g(r, c) where r in 0:rows(x, y), c in 0:cols(x, y)
 *   inspect(r, rows_most)
 *   inspect(c, cols_most)
 *   split(r, r0, r1, 8)
 *   split(c, c0, c1, 8)
 *   reorder(x, y, r0, c0, r1, c1)
 *   parallelize(x, CPUThread(dynamic), NoRaces)
 *   parallelize(x_rows_most, CPUThread, ParallelReduction)
 *   parallelize(x_cols_most, CPUThread, ParallelReduction)
 */
int hog_raw(int64_t BX, int64_t BY, int64_t H, int64_t W, const int32_t *SPARSEC_RESTRICT rows_vals,
    const int32_t *SPARSEC_RESTRICT cols_vals, const double *SPARSEC_RESTRICT g_vals,
    double *SPARSEC_RESTRICT sum_vals) {
    (void)H;
#ifdef _OPENMP
    #pragma omp parallel for schedule(dynamic)
#endif
    for (int64_t x = 0; x < BX; x++) {
        for (int64_t y = 0; y < BY; y++) {
            double sum = 0.0;
            for (int64_t r0 = 0; r0 < (rows_vals[x * BY + y] + 7) / 8; r0++) {
                for (int64_t c0 = 0; c0 < (cols_vals[x * BY + y] + 7) / 8; c0++) {
                    for (int64_t r1 = 0; r1 < sparsec_min_int64(8, rows_vals[x * BY + y] - r0 * 8); r1++) {
                        int64_t r = r0 * 8 + r1;
                        for (int64_t c1 = 0; c1 < sparsec_min_int64(8, cols_vals[x * BY + y] - c0 * 8); c1++) {
                            int64_t c = c0 * 8 + c1;
                            sum += g_vals[r * W + c];
                        }
                    }
                }
            }
            sum_vals[x * BY + y] = sum;
        }
    }
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int hog_check(int64_t BX, int64_t BY, int64_t H, int64_t W,
    const int32_t *SPARSEC_RESTRICT rows_vals, const int32_t *SPARSEC_RESTRICT cols_vals,
    const double *SPARSEC_RESTRICT g_vals) {
    (void)g_vals;
    bool out_of_range = false;
    for (int64_t x = 0; x < BX; x++) {
        for (int64_t y = 0; y < BY; y++) {
            out_of_range = out_of_range || (0 < rows_vals[x * BY + y] && H < rows_vals[x * BY + y]);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    bool out_of_range2 = false;
    for (int64_t x = 0; x < BX; x++) {
        for (int64_t y = 0; y < BY; y++) {
            out_of_range2 = out_of_range2 || (0 < cols_vals[x * BY + y] && W < cols_vals[x * BY + y]);
        }
    }
    if (out_of_range2) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec hog_rows_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec hog_rows_spec = {"rows", SPARSEC_INT32, 2, 32, hog_rows_levels, NULL};
static const sparsec_level_spec hog_cols_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec hog_cols_spec = {"cols", SPARSEC_INT32, 2, 32, hog_cols_levels, NULL};
static const sparsec_level_spec hog_g_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec hog_g_spec = {"g", SPARSEC_FLOAT64, 2, 32, hog_g_levels, NULL};
static const sparsec_level_spec hog_sum_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec hog_sum_spec = {"sum", SPARSEC_FLOAT64, 2, 32, hog_sum_levels, NULL};

int hog(const sparsec_tensor *rows, const sparsec_tensor *cols, const sparsec_tensor *g,
    sparsec_tensor *sum) {
    int error;
    error = sparsec_check(rows, &hog_rows_spec);
    if (error) return error;
    error = sparsec_check(cols, &hog_cols_spec);
    if (error) return error;
    error = sparsec_check(g, &hog_g_spec);
    if (error) return error;
    if (!sum) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "sum: no tensor given");
    int64_t BX = rows->dims[0];
    int64_t BY = rows->dims[1];
    int64_t H = g->dims[0];
    int64_t W = g->dims[1];
    error = sparsec_same_size("BX", "cols", cols->dims[0], "rows", BX);
    if (error) return error;
    error = sparsec_same_size("BY", "cols", cols->dims[1], "rows", BY);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {rows, cols, g, sum};
    error = sparsec_apart(sum, "sum", tensors, 4);
    if (error) return error;
    int64_t sum_dims[] = {BX, BY};
    error = sparsec_shape_dense(sum, &hog_sum_spec, sum_dims);
    if (error) return error;
    error = hog_check(BX, BY, H, W, (const int32_t *)rows->vals, (const int32_t *)cols->vals,
        (const double *)g->vals);
    if (error) return sparsec_fail_code(error);
    error = hog_raw(BX, BY, H, W, (const int32_t *)rows->vals, (const int32_t *)cols->vals,
        (const double *)g->vals, (double *)sum->vals);
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

static int smoke_hog(int64_t n, int rounds) {
    sparsec_tensor rows = {0};
    const int64_t rows_dims[] = {n, n};
    sparsec_tensor cols = {0};
    const int64_t cols_dims[] = {n, n};
    sparsec_tensor g = {0};
    const int64_t g_dims[] = {n, n};
    sparsec_tensor sum = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&rows, &hog_rows_spec, rows_dims, 1);
    error |= smoke_fill(&cols, &hog_cols_spec, cols_dims, 2);
    error |= smoke_fill(&g, &hog_g_spec, g_dims, 3);
    if (!error) error = hog(&rows, &cols, &g, &sum);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = hog(&rows, &cols, &g, &sum);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("hog", error, best);
    sparsec_free_tensor(&rows);
    sparsec_free_tensor(&cols);
    sparsec_free_tensor(&g);
    sparsec_free_tensor(&sum);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_hog(n, rounds);
    return failed;
}
#endif
