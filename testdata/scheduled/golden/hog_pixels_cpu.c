/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "histogram.h"

/* histogram
 *   hist(l, cy, cx, at_bin) = 0
 *   hist(l, cy, cx, bin(y, x, k)) += part(y, x, k) * exp(-((x + 1 - location(l, 0)) * (x + 1 - location(l, 0)) * 2 / (size(l, 0) * size(l, 0)) + (y + 1 - location(l, 1)) * (y + 1 - location(l, 1)) * 2 / (size(l, 1) * size(l, 1)))) * (1 - abs((x + 1 - lo(l, 0)) * C / size(l, 0) - 0.5 - cx)) * (1 - abs((y + 1 - lo(l, 1)) * C / size(l, 1) - 0.5 - cy)) where y in first(l, 1):last(l, 1), x in first(l, 0):last(l, 0), k in 0:2, cy in max(int(floor((y + 1 - lo(l, 1)) * C / size(l, 1) - 0.5)), 0):min(int(floor((y + 1 - lo(l, 1)) * C / size(l, 1) - 0.5)) + 2, C), cx in max(int(floor((x + 1 - lo(l, 0)) * C / size(l, 0) - 0.5)), 0):min(int(floor((x + 1 - lo(l, 0)) * C / size(l, 0) - 0.5)) + 2, C)
 *   inspect(x, cols_most)
 *   split(x, x0, x1, 16)
 *   reorder(S1.l, y, x0, S1.cy, x1, S1.cx, k, S1.at_bin)
 *   precompute(exp(-((float(x + 1) - location(l,0)) * (float(x + 1) - location(l,0)) * 2.0 / (size(l,0) * size(l,0)) + (float(y + 1) - location(l,1)) * (float(y + 1) - location(l,1)) * 2.0 / (size(l,1) * size(l,1)))), x1, xw, weight)
 *   parallelize(y, CPUThread, Temporary)
 *   parallelize(l_cols_most, CPUThread, ParallelReduction)
 */
/* An iteration of the loop over e0. */
static void histogram_loop(int64_t e0, int64_t L, int64_t C, int64_t B, int64_t hist_threads,
    float *SPARSEC_RESTRICT hist_vals, const float *SPARSEC_RESTRICT hist_copies) {
    for (int64_t t = 0; t < hist_threads; t++) {
        for (int64_t e1 = 0; e1 < sparsec_min_int64(1024, L * C * C * B - e0 * 1024); e1++) {
            hist_vals[e0 * 1024 + e1] += hist_copies[t * (L * C * C * B) + (e0 * 1024 + e1)];
        }
    }
}

int histogram_raw(int64_t Y, int64_t X, int64_t L, int64_t C, int64_t B,
    const int32_t *SPARSEC_RESTRICT bin_vals, const float *SPARSEC_RESTRICT part_vals,
    const float *SPARSEC_RESTRICT lo_vals, const int32_t *SPARSEC_RESTRICT first_vals,
    const int32_t *SPARSEC_RESTRICT last_vals, const float *SPARSEC_RESTRICT location_vals,
    const float *SPARSEC_RESTRICT size_vals, float *SPARSEC_RESTRICT hist_vals) {
    (void)Y;
    float *hist_copies = NULL;
    int error;
    hist_copies = sparsec_resize(NULL,
        sparsec_times(sparsec_thread_count(),
        sparsec_times(sparsec_times(sparsec_times(L, C), C), B)), sizeof *hist_copies);
    SPARSEC_NEED(hist_copies);
    sparsec_clear(hist_vals, L * C * C * B, sizeof *hist_vals);
    for (int64_t l = 0; l < L; l++) {
        memset(hist_copies, 0, (size_t)(sparsec_thread_count() * (L * C * C * B)) *
            sizeof *hist_copies);
#ifdef _OPENMP
        #pragma omp parallel for
#endif
        for (int64_t y = first_vals[l * 2 + 1]; y < last_vals[l * 2 + 1]; y++) {
            float *SPARSEC_RESTRICT hist_own =
                hist_copies + sparsec_thread_index() * (L * C * C * B);
            for (int64_t x0 = 0; x0 <
                    ((int64_t)last_vals[l * 2] - first_vals[l * 2] + 15) / 16; x0++) {
                float weight_vals[16];
                for (int64_t xw = 0; xw <
                        sparsec_min_int64(16,
                        (int64_t)last_vals[l * 2] - first_vals[l * 2] - x0 * 16); xw++) {
                    int64_t x = first_vals[l * 2] + (x0 * 16 + xw);
                    weight_vals[xw] = expf(-(((float)(x + 1) - location_vals[l * 2]) *
                        ((float)(x + 1) - location_vals[l * 2]) * 2.0f /
                        (size_vals[l * 2] * size_vals[l * 2]) +
                        ((float)(y + 1) - location_vals[l * 2 + 1]) *
                        ((float)(y + 1) - location_vals[l * 2 + 1]) * 2.0f /
                        (size_vals[l * 2 + 1] * size_vals[l * 2 + 1])));
                }
                for (int64_t cy =
                        (int64_t)sparsec_max_int32((int32_t)sparsec_to_int64(floorf(((float)(y +
                        1) - lo_vals[l * 2 + 1]) * (float)C / size_vals[l * 2 + 1] - 0.5f)), 0);
                        cy <
                        sparsec_min_int64((int64_t)((int32_t)sparsec_to_int64(floorf(((float)(y +
                        1) - lo_vals[l * 2 + 1]) * (float)C / size_vals[l * 2 + 1] - 0.5f)) +
                        2), C); cy++) {
                    for (int64_t x1 = 0;
                            x1 < sparsec_min_int64(16,
                            (int64_t)last_vals[l * 2] - first_vals[l * 2] - x0 * 16); x1++) {
                        int64_t x = first_vals[l * 2] + (x0 * 16 + x1);
                        for (int64_t cx =
                                (int64_t)sparsec_max_int32((int32_t)sparsec_to_int64(floorf(((float)(x +
                                1) - lo_vals[l * 2]) * (float)C / size_vals[l * 2] - 0.5f)), 0);
                                cx <
                                sparsec_min_int64((int64_t)((int32_t)sparsec_to_int64(floorf(((float)(x +
                                1) - lo_vals[l * 2]) * (float)C / size_vals[l * 2] - 0.5f)) +
                                2), C); cx++) {
                            for (int64_t k = 0; k < 2; k++) {
                                int64_t at_bin = bin_vals[(y * X + x) * 2 + k];
                                hist_own[((l * C + cy) * C + cx) * B + at_bin] +=
                                    part_vals[(y * X + x) * 2 + k] *
                                    (1.0f - fabsf(((float)(x + 1) - lo_vals[l * 2]) * (float)C /
                                    size_vals[l * 2] - 0.5f -
                                    (float)cx)) * (1.0f -
                                    fabsf(((float)(y + 1) - lo_vals[l * 2 + 1]) * (float)C /
                                    size_vals[l * 2 + 1] - 0.5f - (float)cy)) * weight_vals[x1];
                            }
                        }
                    }
                }
            }
        }
        int64_t hist_threads = sparsec_thread_count();
#ifdef _OPENMP
        #pragma omp parallel for schedule(static)
#endif
        for (int64_t e0 = 0; e0 < (L * C * C * B + 1023) / 1024; e0++) {
            histogram_loop(e0, L, C, B, hist_threads, hist_vals, hist_copies);
        }
    }
    sparsec_release(hist_copies);
    return SPARSEC_OK;
fail:
    sparsec_release(hist_copies);
    return error;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int histogram_check(int64_t Y, int64_t X, int64_t L, int64_t C, int64_t B,
    const int32_t *SPARSEC_RESTRICT bin_vals, const float *SPARSEC_RESTRICT part_vals,
    const float *SPARSEC_RESTRICT lo_vals, const int32_t *SPARSEC_RESTRICT first_vals,
    const int32_t *SPARSEC_RESTRICT last_vals, const float *SPARSEC_RESTRICT location_vals,
    const float *SPARSEC_RESTRICT size_vals) {
    (void)part_vals; (void)location_vals;
    bool out_of_range = false;
    for (int64_t l = 0; l < L; l++) {
        out_of_range |= (first_vals[l * 2 + 1] < last_vals[l * 2 + 1]) &
            ((first_vals[l * 2 + 1] < 0) | (Y < last_vals[l * 2 + 1]));
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t l = 0; l < L; l++) {
        out_of_range |= (first_vals[l * 2] < last_vals[l * 2]) &
            ((first_vals[l * 2] < 0) | (X < last_vals[l * 2]));
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t l = 0; l < L; l++) {
        for (int64_t y = first_vals[l * 2 + 1]; y < last_vals[l * 2 + 1]; y++) {
            out_of_range = out_of_range ||
                (2147483647 < (int64_t)(int32_t)sparsec_to_int64(floorf(((float)(y + 1) -
                lo_vals[l * 2 + 1]) * (float)C / size_vals[l * 2 + 1] - 0.5f)) + 2 ||
                ((int64_t)sparsec_max_int32((int32_t)sparsec_to_int64(floorf(((float)(y + 1) -
                lo_vals[l * 2 + 1]) * (float)C / size_vals[l * 2 + 1] - 0.5f)),
                0) <
                sparsec_min_int64((int64_t)(int32_t)((uint32_t)(int32_t)sparsec_to_int64(floorf(((float)(y +
                1) - lo_vals[l * 2 + 1]) * (float)C / size_vals[l * 2 + 1] - 0.5f)) + 2u),
                C) && ((int64_t)sparsec_max_int32((int32_t)sparsec_to_int64(floorf(((float)(y + 1) -
                lo_vals[l * 2 + 1]) * (float)C / size_vals[l * 2 + 1] - 0.5f)),
                0) < 0 ||
                C <
                sparsec_min_int64((int64_t)(int32_t)((uint32_t)(int32_t)sparsec_to_int64(floorf(((float)(y +
                1) - lo_vals[l * 2 + 1]) * (float)C / size_vals[l * 2 + 1] - 0.5f)) + 2u), C))));
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t l = 0; l < L; l++) {
        for (int64_t x = first_vals[l * 2]; x < last_vals[l * 2]; x++) {
            out_of_range = out_of_range ||
                (2147483647 < (int64_t)(int32_t)sparsec_to_int64(floorf(((float)(x + 1) -
                lo_vals[l * 2]) * (float)C / size_vals[l * 2] - 0.5f)) + 2 ||
                ((int64_t)sparsec_max_int32((int32_t)sparsec_to_int64(floorf(((float)(x + 1) -
                lo_vals[l * 2]) * (float)C / size_vals[l * 2] - 0.5f)),
                0) <
                sparsec_min_int64((int64_t)(int32_t)((uint32_t)(int32_t)sparsec_to_int64(floorf(((float)(x +
                1) - lo_vals[l * 2]) * (float)C / size_vals[l * 2] - 0.5f)) + 2u),
                C) && ((int64_t)sparsec_max_int32((int32_t)sparsec_to_int64(floorf(((float)(x + 1) -
                lo_vals[l * 2]) * (float)C / size_vals[l * 2] - 0.5f)),
                0) < 0 ||
                C <
                sparsec_min_int64((int64_t)(int32_t)((uint32_t)(int32_t)sparsec_to_int64(floorf(((float)(x +
                1) - lo_vals[l * 2]) * (float)C / size_vals[l * 2] - 0.5f)) + 2u), C))));
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t l = 0; l < L; l++) {
        for (int64_t y = first_vals[l * 2 + 1]; y < last_vals[l * 2 + 1]; y++) {
            for (int64_t x = first_vals[l * 2]; x < last_vals[l * 2]; x++) {
                for (int64_t k = 0; k < 2; k++) {
                    out_of_range |= (bin_vals[(y * X + x) * 2 + k] < 0) |
                        (bin_vals[(y * X + x) * 2 + k] >= B);
                }
            }
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec histogram_bin_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec histogram_bin_spec = {"bin", SPARSEC_INT32, 3, 32, histogram_bin_levels, NULL};
static const sparsec_level_spec histogram_part_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec histogram_part_spec = {"part", SPARSEC_FLOAT32, 3, 32, histogram_part_levels, NULL};
static const sparsec_level_spec histogram_lo_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec histogram_lo_spec = {"lo", SPARSEC_FLOAT32, 2, 32, histogram_lo_levels, NULL};
static const sparsec_level_spec histogram_first_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec histogram_first_spec = {"first", SPARSEC_INT32, 2, 32, histogram_first_levels, NULL};
static const sparsec_level_spec histogram_last_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec histogram_last_spec = {"last", SPARSEC_INT32, 2, 32, histogram_last_levels, NULL};
static const sparsec_level_spec histogram_location_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec histogram_location_spec = {"location", SPARSEC_FLOAT32, 2, 32, histogram_location_levels, NULL};
static const sparsec_level_spec histogram_size_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec histogram_size_spec = {"size", SPARSEC_FLOAT32, 2, 32, histogram_size_levels, NULL};
static const sparsec_level_spec histogram_hist_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3}};
static const sparsec_spec histogram_hist_spec = {"hist", SPARSEC_FLOAT32, 4, 32, histogram_hist_levels, NULL};

int histogram(const sparsec_tensor *bin, const sparsec_tensor *part, const sparsec_tensor *lo,
    const sparsec_tensor *first, const sparsec_tensor *last, const sparsec_tensor *location,
    const sparsec_tensor *size, sparsec_tensor *hist) {
    int error;
    error = sparsec_check(bin, &histogram_bin_spec);
    if (error) return error;
    error = sparsec_check(part, &histogram_part_spec);
    if (error) return error;
    error = sparsec_check(lo, &histogram_lo_spec);
    if (error) return error;
    error = sparsec_check(first, &histogram_first_spec);
    if (error) return error;
    error = sparsec_check(last, &histogram_last_spec);
    if (error) return error;
    error = sparsec_check(location, &histogram_location_spec);
    if (error) return error;
    error = sparsec_check(size, &histogram_size_spec);
    if (error) return error;
    error = sparsec_check(hist, &histogram_hist_spec);
    if (error) return error;
    int64_t Y = bin->dims[0];
    int64_t X = bin->dims[1];
    int64_t L = lo->dims[0];
    int64_t C = hist->dims[1];
    int64_t B = hist->dims[3];
    error = sparsec_same_size("of dimension 2", "bin", bin->dims[2], "the program", 2);
    if (error) return error;
    error = sparsec_same_size("Y", "part", part->dims[0], "bin", Y);
    if (error) return error;
    error = sparsec_same_size("X", "part", part->dims[1], "bin", X);
    if (error) return error;
    error = sparsec_same_size("of dimension 2", "part", part->dims[2], "the program", 2);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "lo", lo->dims[1], "the program", 2);
    if (error) return error;
    error = sparsec_same_size("L", "first", first->dims[0], "lo", L);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "first", first->dims[1], "the program", 2);
    if (error) return error;
    error = sparsec_same_size("L", "last", last->dims[0], "lo", L);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "last", last->dims[1], "the program", 2);
    if (error) return error;
    error = sparsec_same_size("L", "location", location->dims[0], "lo", L);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "location", location->dims[1], "the program", 2);
    if (error) return error;
    error = sparsec_same_size("L", "size", size->dims[0], "lo", L);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "size", size->dims[1], "the program", 2);
    if (error) return error;
    error = sparsec_same_size("L", "hist", hist->dims[0], "lo", L);
    if (error) return error;
    error = sparsec_same_size("C", "hist", hist->dims[2], "hist", C);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {bin, part, lo, first, last, location, size, hist};
    error = sparsec_apart(hist, "hist", tensors, 8);
    if (error) return error;
    error = histogram_check(Y, X, L, C, B, (const int32_t *)bin->vals, (const float *)part->vals,
        (const float *)lo->vals, (const int32_t *)first->vals, (const int32_t *)last->vals,
        (const float *)location->vals, (const float *)size->vals);
    if (error) return sparsec_fail_code(error);
    error = histogram_raw(Y, X, L, C, B, (const int32_t *)bin->vals, (const float *)part->vals,
        (const float *)lo->vals, (const int32_t *)first->vals, (const int32_t *)last->vals,
        (const float *)location->vals, (const float *)size->vals, (float *)hist->vals);
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

static int smoke_histogram(int64_t n, int rounds) {
    if (n > 90) n = 90;
    sparsec_tensor bin = {0};
    const int64_t bin_dims[] = {n, n, 2};
    sparsec_tensor part = {0};
    const int64_t part_dims[] = {n, n, 2};
    sparsec_tensor lo = {0};
    const int64_t lo_dims[] = {n, 2};
    sparsec_tensor first = {0};
    const int64_t first_dims[] = {n, 2};
    sparsec_tensor last = {0};
    const int64_t last_dims[] = {n, 2};
    sparsec_tensor location = {0};
    const int64_t location_dims[] = {n, 2};
    sparsec_tensor size = {0};
    const int64_t size_dims[] = {n, 2};
    sparsec_tensor hist = {0};
    const int64_t hist_dims[] = {n, n, n, n};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&bin, &histogram_bin_spec, bin_dims, 1);
    error |= smoke_fill(&part, &histogram_part_spec, part_dims, 2);
    error |= smoke_fill(&lo, &histogram_lo_spec, lo_dims, 3);
    error |= smoke_fill(&first, &histogram_first_spec, first_dims, 4);
    error |= smoke_fill(&last, &histogram_last_spec, last_dims, 5);
    error |= smoke_fill(&location, &histogram_location_spec, location_dims, 6);
    error |= smoke_fill(&size, &histogram_size_spec, size_dims, 7);
    error |= smoke_fill(&hist, &histogram_hist_spec, hist_dims, 8);
    if (!error) error = histogram(&bin, &part, &lo, &first, &last, &location, &size, &hist);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = histogram(&bin, &part, &lo, &first, &last, &location, &size, &hist);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("histogram", error, best);
    sparsec_free_tensor(&bin);
    sparsec_free_tensor(&part);
    sparsec_free_tensor(&lo);
    sparsec_free_tensor(&first);
    sparsec_free_tensor(&last);
    sparsec_free_tensor(&location);
    sparsec_free_tensor(&size);
    sparsec_free_tensor(&hist);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_histogram(n, rounds);
    return failed;
}
#endif
