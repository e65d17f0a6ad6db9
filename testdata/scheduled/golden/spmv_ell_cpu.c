/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "spmv_ell.h"

/* spmv_ell
 *   y(i) +=! val(i, k) * x(crd(i, k)) where k in 0:len(i)
 *   inspect(k, longest)
 *   split(i, i0, i1, 32)
 *   reorder(i0, k, i1)
 *   parallelize(i0, CPUThread, NoRaces)
 *   parallelize(i_longest, CPUThread, ParallelReduction)
 */
/* An iteration of the loop over i0. */
static void spmv_ell_loop(int64_t i0, int64_t R, int64_t K,
    const int32_t *SPARSEC_RESTRICT len_vals, const int32_t *SPARSEC_RESTRICT crd_vals,
    const double *SPARSEC_RESTRICT val_vals, const double *SPARSEC_RESTRICT x_vals,
    double *SPARSEC_RESTRICT y_vals) {
    for (int64_t i1 = 0; i1 < sparsec_min_int64(32, R - i0 * 32); i1++) {
        int64_t i = i0 * 32 + i1;
        y_vals[i] = 0.0;
    }
    int64_t most = 0;
    int32_t i1_live[32];
    int64_t i1_count = 0;
    for (int64_t i1 = 0; i1 < sparsec_min_int64(32, R - i0 * 32); i1++) {
        int64_t i = i0 * 32 + i1;
        if (0 < len_vals[i]) {
            y_vals[i] += val_vals[i * K] * x_vals[crd_vals[i * K]];
            int64_t length = len_vals[i];
            if (1 < length) {
                most = sparsec_max_int64(most, length);
                i1_live[i1_count] = (int32_t)i1;
                i1_count += 1;
            }
        }
    }
    int64_t k_most = most;
    for (int64_t k = 1; k < k_most; k++) {
        int64_t i1_listed = i1_count;
        i1_count = 0;
        for (int64_t at = 0; at < i1_listed; at++) {
            int64_t i1 = i1_live[at];
            int64_t i = i0 * 32 + i1;
            if (k < len_vals[i]) {
                y_vals[i] += val_vals[i * K + k] * x_vals[crd_vals[i * K + k]];
                if (k + 1 < len_vals[i]) {
                    i1_live[i1_count] = (int32_t)i1;
                    i1_count += 1;
                }
            }
        }
    }
}

int spmv_ell_raw(int64_t R, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT len_vals,
    const int32_t *SPARSEC_RESTRICT crd_vals, const double *SPARSEC_RESTRICT val_vals,
    const double *SPARSEC_RESTRICT x_vals, double *SPARSEC_RESTRICT y_vals) {
    (void)N;
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i0 = 0; i0 < (R + 31) / 32; i0++) {
        spmv_ell_loop(i0, R, K, len_vals, crd_vals, val_vals, x_vals, y_vals);
    }
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int spmv_ell_check(int64_t R, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT len_vals,
    const int32_t *SPARSEC_RESTRICT crd_vals, const double *SPARSEC_RESTRICT val_vals,
    const double *SPARSEC_RESTRICT x_vals) {
    (void)val_vals; (void)x_vals;
    bool out_of_range = false;
    for (int64_t i = 0; i < R; i++) {
        out_of_range |= (0 < len_vals[i]) & (K < len_vals[i]);
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t i = 0; i < R; i++) {
        for (int64_t k = 0; k < len_vals[i]; k++) {
            out_of_range |= (crd_vals[i * K + k] < 0) | (crd_vals[i * K + k] >= N);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec spmv_ell_len_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec spmv_ell_len_spec = {"len", SPARSEC_INT32, 1, 32, spmv_ell_len_levels, NULL};
static const sparsec_level_spec spmv_ell_crd_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec spmv_ell_crd_spec = {"crd", SPARSEC_INT32, 2, 32, spmv_ell_crd_levels, NULL};
static const sparsec_level_spec spmv_ell_val_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec spmv_ell_val_spec = {"val", SPARSEC_FLOAT64, 2, 32, spmv_ell_val_levels, NULL};
static const sparsec_level_spec spmv_ell_x_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec spmv_ell_x_spec = {"x", SPARSEC_FLOAT64, 1, 32, spmv_ell_x_levels, NULL};
static const sparsec_level_spec spmv_ell_y_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec spmv_ell_y_spec = {"y", SPARSEC_FLOAT64, 1, 32, spmv_ell_y_levels, NULL};

int spmv_ell(const sparsec_tensor *len, const sparsec_tensor *crd, const sparsec_tensor *val,
    const sparsec_tensor *x, sparsec_tensor *y) {
    int error;
    error = sparsec_check(len, &spmv_ell_len_spec);
    if (error) return error;
    error = sparsec_check(crd, &spmv_ell_crd_spec);
    if (error) return error;
    error = sparsec_check(val, &spmv_ell_val_spec);
    if (error) return error;
    error = sparsec_check(x, &spmv_ell_x_spec);
    if (error) return error;
    if (!y) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "y: no tensor given");
    int64_t R = len->dims[0];
    int64_t K = crd->dims[1];
    int64_t N = x->dims[0];
    error = sparsec_same_size("R", "crd", crd->dims[0], "len", R);
    if (error) return error;
    error = sparsec_same_size("R", "val", val->dims[0], "len", R);
    if (error) return error;
    error = sparsec_same_size("K", "val", val->dims[1], "crd", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {len, crd, val, x, y};
    error = sparsec_apart(y, "y", tensors, 5);
    if (error) return error;
    int64_t y_dims[] = {R};
    error = sparsec_shape_dense(y, &spmv_ell_y_spec, y_dims);
    if (error) return error;
    error = spmv_ell_check(R, K, N, (const int32_t *)len->vals, (const int32_t *)crd->vals,
        (const double *)val->vals, (const double *)x->vals);
    if (error) return sparsec_fail_code(error);
    error = spmv_ell_raw(R, K, N, (const int32_t *)len->vals, (const int32_t *)crd->vals,
        (const double *)val->vals, (const double *)x->vals, (double *)y->vals);
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

static int smoke_spmv_ell(int64_t n, int rounds) {
    sparsec_tensor len = {0};
    const int64_t len_dims[] = {n};
    sparsec_tensor crd = {0};
    const int64_t crd_dims[] = {n, n};
    sparsec_tensor val = {0};
    const int64_t val_dims[] = {n, n};
    sparsec_tensor x = {0};
    const int64_t x_dims[] = {n};
    sparsec_tensor y = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&len, &spmv_ell_len_spec, len_dims, 1);
    error |= smoke_fill(&crd, &spmv_ell_crd_spec, crd_dims, 2);
    error |= smoke_fill(&val, &spmv_ell_val_spec, val_dims, 3);
    error |= smoke_fill(&x, &spmv_ell_x_spec, x_dims, 4);
    if (!error) error = spmv_ell(&len, &crd, &val, &x, &y);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = spmv_ell(&len, &crd, &val, &x, &y);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("spmv_ell", error, best);
    sparsec_free_tensor(&len);
    sparsec_free_tensor(&crd);
    sparsec_free_tensor(&val);
    sparsec_free_tensor(&x);
    sparsec_free_tensor(&y);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_spmv_ell(n, rounds);
    return failed;
}
#endif
