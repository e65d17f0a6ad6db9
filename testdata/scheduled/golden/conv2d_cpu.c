/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "conv2d.h"

/* conv2d
 *   out(b, op, h, w) +=! in(b, ip, h + kh, w + kw) * weight(op, ip, kh, kw)
 *   split(op, op0, op1, 8)
 *   split(w, w0, w1, 16)
 *   reorder(b, op0, h, w0, ip, kh, kw, op1, w1)
 *   precompute(in(b,ip,h + kh,w + kw) * weight(op,ip,kh,kw), {op1, w1}, {op1, w1}, tile)
 *   unroll(op1, 8)
 *   parallelize(w1, CPUVector, NoRaces)
 *   parallelize(op0, CPUThread, NoRaces)
 */
/* An iteration of the loop over op0. */
static void conv2d_loop(int64_t op0, int64_t B, int64_t IP, int64_t H, int64_t W, int64_t OP,
    int64_t KH, int64_t KW, int64_t b, const double *SPARSEC_RESTRICT in_vals,
    const double *SPARSEC_RESTRICT weight_vals, double *SPARSEC_RESTRICT out_vals) {
    if (OP - op0 * 8 >= 8) {
        for (int64_t h = 0; h < H - KH + 1; h++) {
            int64_t w0_full = sparsec_max_int64(0, W - KW + 1) / 16;
            for (int64_t w0 = 0; w0 < w0_full; w0++) {
                double tile_vals[128];
                SPARSEC_UNROLL(8)
                for (int64_t op1 = 0; op1 < 8; op1++) {
                    SPARSEC_UNROLL(2)
                    for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                        *(sparsec_double8 *)&tile_vals[op1 * 16 + w1] = (sparsec_double8){0};
                    }
                }
                for (int64_t ip = 0; ip < IP; ip++) {
                    for (int64_t kh = 0; kh < KH; kh++) {
                        for (int64_t kw = 0; kw < KW; kw++) {
                            SPARSEC_UNROLL(8)
                            for (int64_t op1 = 0; op1 < 8; op1++) {
                                int64_t op = op0 * 8 + op1;
                                SPARSEC_UNROLL(2)
                                for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                                    int64_t w = w0 * 16 + w1;
                                    *(sparsec_double8 *)&tile_vals[op1 * 16 + w1] +=
                                        *(const sparsec_double8 *)&in_vals[((b * IP + ip) * H + (h + kh)) * W + (w + kw)] *
                                        weight_vals[((op * IP + ip) * KH + kh) * KW + kw];
                                }
                            }
                        }
                    }
                }
                SPARSEC_UNROLL(8)
                for (int64_t op1 = 0; op1 < 8; op1++) {
                    int64_t op = op0 * 8 + op1;
                    SPARSEC_UNROLL(2)
                    for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                        int64_t w = w0 * 16 + w1;
                        *(sparsec_double8 *)&out_vals[((b * OP + op) * (H - KH + 1) + h) * (W - KW + 1) + w] =
                            *(const sparsec_double8 *)&tile_vals[op1 * 16 + w1];
                    }
                }
            }
            if (w0_full * 16 < W - KW + 1) {
                int64_t w0 = w0_full;
                int64_t in_count = B * IP * H * W;
                if (0 < W - KW + 1 - w0 * 16) {
                    double tile_vals[128];
                    SPARSEC_UNROLL(8)
                    for (int64_t op1 = 0; op1 < 8; op1++) {
                        SPARSEC_UNROLL(2)
                        for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                            *(sparsec_double8 *)&tile_vals[op1 * 16 + w1] = (sparsec_double8){0};
                        }
                    }
                    for (int64_t ip = 0; ip < IP; ip++) {
                        for (int64_t kh = 0; kh < KH; kh++) {
                            for (int64_t kw = 0; kw < KW; kw++) {
                                double in_vals_part[16];
                                SPARSEC_UNROLL(2)
                                for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                                    *(sparsec_double8 *)&in_vals_part[w1] =
                                        SPARSEC_LANES_BEFORE(sparsec_double8, in_vals,
                                        ((b * IP + ip) * H + (h + kh)) * W +
                                        (w0 * 16 + w1 + kw), in_count);
                                }
                                SPARSEC_UNROLL(8)
                                for (int64_t op1 = 0; op1 < 8; op1++) {
                                    int64_t op = op0 * 8 + op1;
                                    SPARSEC_UNROLL(2)
                                    for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                                        *(sparsec_double8 *)&tile_vals[op1 * 16 + w1] +=
                                            *(const sparsec_double8 *)&in_vals_part[w1] *
                                            weight_vals[((op * IP + ip) * KH + kh) * KW + kw];
                                    }
                                }
                            }
                        }
                    }
                    SPARSEC_UNROLL(8)
                    for (int64_t op1 = 0; op1 < 8; op1++) {
                        int64_t op = op0 * 8 + op1;
                        SPARSEC_UNROLL(2)
                        for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                            int64_t w = w0 * 16 + w1;
                            SPARSEC_LANES_STORE(sparsec_double8, out_vals,
                                ((b * OP + op) * (H - KH + 1) + h) * (W - KW + 1) + w, w1,
                                W - KW + 1 - w0 * 16,
                                *(const sparsec_double8 *)&tile_vals[op1 * 16 + w1]);
                        }
                    }
                }
            }
        }
    } else {
        for (int64_t h = 0; h < H - KH + 1; h++) {
            for (int64_t w0 = 0; w0 < (W - KW + 16) / 16; w0++) {
                int64_t in_count = B * IP * H * W;
                if (0 < W - KW + 1 - w0 * 16) {
                    double tile_vals[128];
                    for (int64_t op1 = 0; op1 < sparsec_min_int64(8, OP - op0 * 8); op1++) {
                        SPARSEC_UNROLL(2)
                        for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                            *(sparsec_double8 *)&tile_vals[op1 * 16 + w1] = (sparsec_double8){0};
                        }
                    }
                    for (int64_t ip = 0; ip < IP; ip++) {
                        for (int64_t kh = 0; kh < KH; kh++) {
                            for (int64_t kw = 0; kw < KW; kw++) {
                                for (int64_t op1 = 0;
                                        op1 < sparsec_min_int64(8, OP - op0 * 8); op1++) {
                                    int64_t op = op0 * 8 + op1;
                                    SPARSEC_UNROLL(2)
                                    for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                                        *(sparsec_double8 *)&tile_vals[op1 * 16 + w1] +=
                                            SPARSEC_LANES_BEFORE(sparsec_double8, in_vals,
                                            ((b * IP + ip) * H + (h + kh)) * W +
                                            (w0 * 16 + w1 + kw),
                                            in_count) *
                                            weight_vals[((op * IP + ip) * KH + kh) * KW + kw];
                                    }
                                }
                            }
                        }
                    }
                    for (int64_t op1 = 0; op1 < sparsec_min_int64(8, OP - op0 * 8); op1++) {
                        int64_t op = op0 * 8 + op1;
                        SPARSEC_UNROLL(2)
                        for (int64_t w1 = 0; w1 < 16; w1 += 8) {
                            int64_t w = w0 * 16 + w1;
                            SPARSEC_LANES_STORE(sparsec_double8, out_vals,
                                ((b * OP + op) * (H - KH + 1) + h) * (W - KW + 1) + w, w1,
                                W - KW + 1 - w0 * 16,
                                *(const sparsec_double8 *)&tile_vals[op1 * 16 + w1]);
                        }
                    }
                }
            }
        }
    }
}

int conv2d_raw(int64_t B, int64_t IP, int64_t H, int64_t W, int64_t OP, int64_t KH, int64_t KW,
    const double *SPARSEC_RESTRICT in_vals, const double *SPARSEC_RESTRICT weight_vals,
    double *SPARSEC_RESTRICT out_vals) {
    for (int64_t b = 0; b < B; b++) {
#ifdef _OPENMP
        #pragma omp parallel for
#endif
        for (int64_t op0 = 0; op0 < (OP + 7) / 8; op0++) {
            conv2d_loop(op0, B, IP, H, W, OP, KH, KW, b, in_vals, weight_vals, out_vals);
        }
    }
    return SPARSEC_OK;
}

static const sparsec_level_spec conv2d_in_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3}};
static const sparsec_spec conv2d_in_spec = {"in", SPARSEC_FLOAT64, 4, 32, conv2d_in_levels, NULL};
static const sparsec_level_spec conv2d_weight_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3}};
static const sparsec_spec conv2d_weight_spec = {"weight", SPARSEC_FLOAT64, 4, 32, conv2d_weight_levels, NULL};
static const sparsec_level_spec conv2d_out_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3}};
static const sparsec_spec conv2d_out_spec = {"out", SPARSEC_FLOAT64, 4, 32, conv2d_out_levels, NULL};

int conv2d(const sparsec_tensor *in, const sparsec_tensor *weight, sparsec_tensor *out) {
    int error;
    error = sparsec_check(in, &conv2d_in_spec);
    if (error) return error;
    error = sparsec_check(weight, &conv2d_weight_spec);
    if (error) return error;
    if (!out) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "out: no tensor given");
    int64_t B = in->dims[0];
    int64_t IP = in->dims[1];
    int64_t H = in->dims[2];
    int64_t W = in->dims[3];
    int64_t OP = weight->dims[0];
    int64_t KH = weight->dims[2];
    int64_t KW = weight->dims[3];
    error = sparsec_same_size("IP", "weight", weight->dims[1], "in", IP);
    if (error) return error;
    if (H - KH + 1 < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT,
        "dimension 2 of `out` would be negative");
    if (W - KW + 1 < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT,
        "dimension 3 of `out` would be negative");
    const sparsec_tensor *const tensors[] = {in, weight, out};
    error = sparsec_apart(out, "out", tensors, 3);
    if (error) return error;
    int64_t out_dims[] = {B, OP, H - KH + 1, W - KW + 1};
    error = sparsec_shape_dense(out, &conv2d_out_spec, out_dims);
    if (error) return error;
    error = conv2d_raw(B, IP, H, W, OP, KH, KW, (const double *)in->vals, (const double *)weight->vals,
        (double *)out->vals);
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

static int smoke_conv2d(int64_t n, int rounds) {
    if (n > 26) n = 26;
    sparsec_tensor in = {0};
    const int64_t in_dims[] = {n, n, n, n};
    sparsec_tensor weight = {0};
    const int64_t weight_dims[] = {n, n, n, n};
    sparsec_tensor out = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&in, &conv2d_in_spec, in_dims, 1);
    error |= smoke_fill(&weight, &conv2d_weight_spec, weight_dims, 2);
    if (!error) error = conv2d(&in, &weight, &out);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = conv2d(&in, &weight, &out);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("conv2d", error, best);
    sparsec_free_tensor(&in);
    sparsec_free_tensor(&weight);
    sparsec_free_tensor(&out);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_conv2d(n, rounds);
    return failed;
}
#endif
