/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "gconv.h"

/* gconv
 *   O(n, g, o, h, w) +=! I(n, g, c, h + kh, w + kw) * W1(g, o, c, kh, kw)
 *   O(n, g, o, h, w) = O(n, g, o, h, w) + M(n, g, o)
 *   join(S0, S1, n, g, o, h, w)
 *   split(S0.o, o0, o1, 8)
 *   split(S0.h, h0, h1, 8)
 *   split(S0.w, w0, w1, 32)
 *   split(c, c0, c1, 8)
 *   reorder(S0.n, S0.g, o0, h0, w0, h1, w1, o1)
 *   precompute(I(n,g,c,h + kh,w + kw) * W1(g,o,c,kh,kw), {h1, w1, o1}, {h2, w2, o2}, sums)
 *   reorder(c0, h2, w2, c1, kh, kw, o2)
 *   precompute(W1(g,o,c,kh,kw), {o2, c1, kh, kw}, {o2_W1_tile, c1_W1_tile, kh_W1_tile, kw_W1_tile}, W1_tile)
 *   reorder(o2_W1_tile, c1_W1_tile, kh_W1_tile, kw_W1_tile)
 *   promote(I, shared, c0)
 *   parallelize(S0.n, GPUBlockZ, NoRaces)
 *   parallelize(S0.g, GPUBlockY, NoRaces)
 *   parallelize(o0, GPUBlock, NoRaces)
 *   parallelize(h1, GPUThreadY, NoRaces)
 *   parallelize(w1, GPUThread, NoRaces)
 *   parallelize(h2, GPUThreadY, NoRaces)
 *   parallelize(w2, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) gconv_kernel(int64_t N, int64_t G, int64_t C,
    int64_t H, int64_t W, int64_t F, const float *SPARSEC_RESTRICT I_vals,
    const float *SPARSEC_RESTRICT W1_vals, const float *SPARSEC_RESTRICT M_vals, float *O_vals) {
    for (int64_t n = blockIdx.z; n < N; n += 65535) {
        for (int64_t g = blockIdx.y; g < G; g += 65535) {
            int64_t o0 = blockIdx.x;
            for (int64_t h0 = 0; h0 < (H + 5) / 8; h0++) {
                for (int64_t w0 = 0; w0 < (W + 29) / 32; w0++) {
                    float sums_vals[8];
                    SPARSEC_UNROLL(8)
                    for (int64_t e = 0; e < 8; e++) {
                        sums_vals[e] = 0.0f;
                    }
                    for (int64_t c0 = 0; c0 < (C + 7) / 8; c0++) {
                        __shared__ float I_tile_vals[2720];
                        __syncthreads();
                        for (int64_t c1_I_tile = 0; c1_I_tile < 8; c1_I_tile++) {
                            for (int64_t h2_I_tile = threadIdx.y; h2_I_tile < 10; h2_I_tile += 8) {
                                for (int64_t w2_I_tile = threadIdx.x; w2_I_tile < 34;
                                        w2_I_tile += 32) {
                                    I_tile_vals[(c1_I_tile * 10 + h2_I_tile) * 34 + w2_I_tile] =
                                        c0 * 8 + c1_I_tile < C && h0 * 8 + h2_I_tile < H &&
                                        w0 * 32 + w2_I_tile < W ?
                                        I_vals[(((n * G + g) * C + (c0 * 8 + c1_I_tile)) * H + (h0 * 8 + h2_I_tile)) * W + (w0 * 32 + w2_I_tile)] :
                                        0.0f;
                                }
                            }
                        }
                        __shared__ float W1_tile_vals[576];
                        for (int64_t o2_W1_tile = 0; o2_W1_tile < sparsec_min_int64(8, F - o0 * 8);
                                o2_W1_tile++) {
                            int64_t o = o0 * 8 + o2_W1_tile;
                            int64_t c1_W1_tile = threadIdx.y;
                            if (c1_W1_tile < sparsec_min_int64(8, C - c0 * 8)) {
                                int64_t c = c0 * 8 + c1_W1_tile;
                                for (int64_t kh_W1_tile = 0; kh_W1_tile < 3; kh_W1_tile++) {
                                    int64_t kw_W1_tile = threadIdx.x;
                                    if (kw_W1_tile < 3) {
                                        W1_tile_vals[((o2_W1_tile * 8 + c1_W1_tile) * 3 + kh_W1_tile) * 3 + kw_W1_tile] =
                                            W1_vals[(((g * F + o) * C + c) * 3 + kh_W1_tile) * 3 + kw_W1_tile];
                                    }
                                }
                            }
                        }
                        __syncthreads();
                        int64_t h2 = threadIdx.y;
                        if (h2 < sparsec_min_int64(8, H - 2 - h0 * 8)) {
                            int64_t w2 = threadIdx.x;
                            if (w2 < sparsec_min_int64(32, W - 2 - w0 * 32)) {
                                for (int64_t c1 = 0; c1 < sparsec_min_int64(8, C - c0 * 8); c1++) {
                                    for (int64_t kh = 0; kh < 3; kh++) {
                                        for (int64_t kw = 0; kw < 3; kw++) {
                                            SPARSEC_UNROLL(8)
                                            for (int64_t o2 = 0; o2 < 8; o2++) {
                                                if (o2 < F - o0 * 8) {
                                                    sums_vals[o2] +=
                                                        I_tile_vals[(c1 * 10 + (h2 + kh)) * 34 + (w2 + kw)] *
                                                        W1_tile_vals[((o2 * 8 + c1) * 3 + kh) * 3 + kw];
                                                }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                    int64_t h1 = threadIdx.y;
                    if (h1 < sparsec_min_int64(8, H - 2 - h0 * 8)) {
                        int64_t h = h0 * 8 + h1;
                        int64_t w1 = threadIdx.x;
                        if (w1 < sparsec_min_int64(32, W - 2 - w0 * 32)) {
                            int64_t w = w0 * 32 + w1;
                            SPARSEC_UNROLL(8)
                            for (int64_t o1 = 0; o1 < 8; o1++) {
                                if (o1 < F - o0 * 8) {
                                    int64_t o = o0 * 8 + o1;
                                    O_vals[(((n * G + g) * F + o) * (H - 2) + h) * (W - 2) + w] =
                                        sums_vals[o1];
                                }
                            }
                        }
                    }
                    int64_t h1_2 = threadIdx.y;
                    if (h1_2 < sparsec_min_int64(8, H - 2 - h0 * 8)) {
                        int64_t h = h0 * 8 + h1_2;
                        int64_t w1 = threadIdx.x;
                        if (w1 < sparsec_min_int64(32, W - 2 - w0 * 32)) {
                            int64_t w = w0 * 32 + w1;
                            for (int64_t o1 = 0; o1 < sparsec_min_int64(8, F - o0 * 8); o1++) {
                                int64_t o = o0 * 8 + o1;
                                O_vals[(((n * G + g) * F + o) * (H - 2) + h) * (W - 2) + w] =
                                    O_vals[(((n * G + g) * F + o) * (H - 2) + h) * (W - 2) + w] +
                                    M_vals[(n * G + g) * F + o];
                            }
                        }
                    }
                }
            }
        }
    }
}

size_t gconv_workspace(int64_t N, int64_t G, int64_t C, int64_t H, int64_t W, int64_t F) {
    (void)N; (void)G; (void)C; (void)H; (void)W; (void)F;
    return 0;
}

int gconv_device(int64_t N, int64_t G, int64_t C, int64_t H, int64_t W, int64_t F,
    const float *I_vals, const float *W1_vals, const float *M_vals, float *O_vals, void *workspace,
    cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(gconv_kernel, sparsec_floordiv(F + 7, 8), sparsec_min_int64(G, 65535),
        sparsec_min_int64(N, 65535), dim3(32, 8, 1), stream, N, G, C, H, W, F, I_vals, W1_vals, M_vals,
        O_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec gconv_I_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3},
    {SPARSEC_DENSE, 0, 4}};
static const sparsec_spec gconv_I_spec = {"I", SPARSEC_FLOAT32, 5, 32, gconv_I_levels, NULL};
static const sparsec_level_spec gconv_W1_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3},
    {SPARSEC_DENSE, 0, 4}};
static const sparsec_spec gconv_W1_spec = {"W1", SPARSEC_FLOAT32, 5, 32, gconv_W1_levels, NULL};
static const sparsec_level_spec gconv_M_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec gconv_M_spec = {"M", SPARSEC_FLOAT32, 3, 32, gconv_M_levels, NULL};
static const sparsec_level_spec gconv_O_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3},
    {SPARSEC_DENSE, 0, 4}};
static const sparsec_spec gconv_O_spec = {"O", SPARSEC_FLOAT32, 5, 32, gconv_O_levels, NULL};

int gconv(const sparsec_tensor *I, const sparsec_tensor *W1, const sparsec_tensor *M,
    sparsec_tensor *O) {
    int error;
    error = sparsec_check(I, &gconv_I_spec);
    if (error) return error;
    error = sparsec_check(W1, &gconv_W1_spec);
    if (error) return error;
    error = sparsec_check(M, &gconv_M_spec);
    if (error) return error;
    if (!O) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O: no tensor given");
    int64_t N = I->dims[0];
    int64_t G = I->dims[1];
    int64_t C = I->dims[2];
    int64_t H = I->dims[3];
    int64_t W = I->dims[4];
    int64_t F = W1->dims[1];
    error = sparsec_same_size("G", "W1", W1->dims[0], "I", G);
    if (error) return error;
    error = sparsec_same_size("C", "W1", W1->dims[2], "I", C);
    if (error) return error;
    error = sparsec_same_size("of dimension 3", "W1", W1->dims[3], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 4", "W1", W1->dims[4], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "M", M->dims[0], "I", N);
    if (error) return error;
    error = sparsec_same_size("G", "M", M->dims[1], "I", G);
    if (error) return error;
    error = sparsec_same_size("F", "M", M->dims[2], "W1", F);
    if (error) return error;
    if (H - 2 < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT,
        "dimension 3 of `O` would be negative");
    if (W - 2 < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT,
        "dimension 4 of `O` would be negative");
    const sparsec_tensor *const tensors[] = {I, W1, M, O};
    error = sparsec_apart(O, "O", tensors, 4);
    if (error) return error;
    int64_t O_dims[] = {N, G, F, H - 2, W - 2};
    error = sparsec_shape_dense(O, &gconv_O_spec, O_dims);
    if (error) return error;
    sparsec_memory memory;
    const float *I_vals = (const float *)sparsec_upload_vals(&memory, I);
    const float *W1_vals = (const float *)sparsec_upload_vals(&memory, W1);
    const float *M_vals = (const float *)sparsec_upload_vals(&memory, M);
    float *O_vals = (float *)sparsec_room_vals(&memory, O);
    void *workspace = memory.room((int64_t)gconv_workspace(N, G, C, H, W, F), 1);
    if (memory.error) return memory.error;
    error = gconv_device(N, G, C, H, W, F, I_vals, W1_vals, M_vals, O_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(O, O_vals);
    if (error) return error;
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

static int smoke_gconv(int64_t n, int rounds) {
    if (n > 36) n = 36;
    sparsec_tensor I = {};
    const int64_t I_dims[] = {n, n, n, n, n};
    sparsec_tensor W1 = {};
    const int64_t W1_dims[] = {n, n, n, 3, 3};
    sparsec_tensor M = {};
    const int64_t M_dims[] = {n, n, n};
    sparsec_tensor O = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&I, &gconv_I_spec, I_dims, 1);
    error |= smoke_fill(&W1, &gconv_W1_spec, W1_dims, 2);
    error |= smoke_fill(&M, &gconv_M_spec, M_dims, 3);
    if (!error) error = gconv(&I, &W1, &M, &O);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = gconv(&I, &W1, &M, &O);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("gconv", error, best);
    sparsec_free_tensor(&I);
    sparsec_free_tensor(&W1);
    sparsec_free_tensor(&M);
    sparsec_free_tensor(&O);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_gconv(n, rounds);
    return failed;
}
#endif
