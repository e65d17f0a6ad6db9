/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "c3.h"

/* C3
 *   C3(b, wy) +=! I3(b, wxx) * W(wy, wxx)
 *   split(b, b0, b1, 32)
 *   split(wy, y0, y1, 32)
 *   split(wxx, x0, x1, 32)
 *   split(b1, r, ty, 4)
 *   reorder(b0, y0, ty, y1, r, x0, x1)
 *   precompute(I3(b,wxx) * W(wy,wxx), {ty, y1, r}, {ty2, y2, r2}, sums)
 *   reorder(x0, ty2, y2, x1, r2)
 *   promote(I3, shared, x0)
 *   precompute(W(wy,wxx), {y2, x1}, {y2_W_tile, x1_W_tile}, W_tile)
 *   reorder(y2_W_tile, x1_W_tile)
 *   unroll(x1, 16)
 *   parallelize(b0, GPUBlockY, NoRaces)
 *   parallelize(y0, GPUBlock, NoRaces)
 *   parallelize(ty, GPUThreadY, NoRaces)
 *   parallelize(y1, GPUThread, NoRaces)
 *   parallelize(ty2, GPUThreadY, NoRaces)
 *   parallelize(y2, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(128, 8) C3_kernel(int64_t B, int64_t WX, int64_t WY,
    const float *SPARSEC_RESTRICT I3_vals, const float *SPARSEC_RESTRICT W_vals, float *C3_vals) {
    for (int64_t b0 = blockIdx.y; b0 < sparsec_floordiv(B + 31, 32); b0 += 65535) {
        int64_t y0 = blockIdx.x;
        float sums_vals[8];
        SPARSEC_UNROLL(8)
        for (int64_t e = 0; e < 8; e++) {
            sums_vals[e] = 0.0f;
        }
        for (int64_t x0 = 0; x0 < (WX + 31) / 32; x0++) {
            __shared__ float W_tile_vals[1056];
            __syncthreads();
            for (int64_t y2_W_tile = threadIdx.y; y2_W_tile < sparsec_min_int64(32, WY - y0 * 32);
                    y2_W_tile += 4) {
                int64_t wy = y0 * 32 + y2_W_tile;
                int64_t x1_W_tile = threadIdx.x;
                if (x1_W_tile < sparsec_min_int64(32, WX - x0 * 32)) {
                    int64_t wxx = x0 * 32 + x1_W_tile;
                    W_tile_vals[y2_W_tile * 33 + x1_W_tile] = W_vals[wy * WX + wxx];
                }
            }
            __shared__ float I3_tile_vals[1024];
            for (int64_t r2_I3_tile = threadIdx.y; r2_I3_tile < 32; r2_I3_tile += 4) {
                int64_t x1_I3_tile = threadIdx.x;
                I3_tile_vals[r2_I3_tile * 32 + x1_I3_tile] =
                    b0 * 32 + r2_I3_tile < B && x0 * 32 + x1_I3_tile < WX ?
                    I3_vals[(b0 * 32 + r2_I3_tile) * WX + (x0 * 32 + x1_I3_tile)] : 0.0f;
            }
            __syncthreads();
            if (WX - x0 * 32 >= 32) {
                int64_t ty2 = threadIdx.y;
                int64_t y2 = threadIdx.x;
                if (y2 < sparsec_min_int64(32, WY - y0 * 32)) {
                    SPARSEC_UNROLL(16)
                    for (int64_t x1 = 0; x1 < 32; x1++) {
                        SPARSEC_UNROLL(8)
                        for (int64_t r2 = 0; r2 < 8; r2++) {
                            if (r2 * 4 < B - b0 * 32 - ty2) {
                                sums_vals[r2] += I3_tile_vals[(r2 * 4 + ty2) * 32 + x1] *
                                    W_tile_vals[y2 * 33 + x1];
                            }
                        }
                    }
                }
            } else {
                int64_t ty2 = threadIdx.y;
                int64_t y2 = threadIdx.x;
                if (y2 < sparsec_min_int64(32, WY - y0 * 32)) {
                    SPARSEC_UNROLL(16)
                    for (int64_t x1 = 0; x1 < sparsec_min_int64(32, WX - x0 * 32); x1++) {
                        SPARSEC_UNROLL(8)
                        for (int64_t r2 = 0; r2 < 8; r2++) {
                            if (r2 * 4 < B - b0 * 32 - ty2) {
                                sums_vals[r2] += I3_tile_vals[(r2 * 4 + ty2) * 32 + x1] *
                                    W_tile_vals[y2 * 33 + x1];
                            }
                        }
                    }
                }
            }
        }
        int64_t ty = threadIdx.y;
        int64_t y1 = threadIdx.x;
        if (y1 < sparsec_min_int64(32, WY - y0 * 32)) {
            int64_t wy = y0 * 32 + y1;
            SPARSEC_UNROLL(8)
            for (int64_t r = 0; r < 8; r++) {
                if (r * 4 < B - b0 * 32 - ty) {
                    int64_t b = b0 * 32 + (r * 4 + ty);
                    C3_vals[b * WY + wy] = sums_vals[r];
                }
            }
        }
    }
}

size_t C3_workspace(int64_t B, int64_t WX, int64_t WY) {
    (void)B; (void)WX; (void)WY;
    return 0;
}

int C3_device(int64_t B, int64_t WX, int64_t WY, const float *I3_vals, const float *W_vals,
    float *C3_vals, void *workspace, cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(C3_kernel, sparsec_floordiv(WY + 31, 32),
        sparsec_min_int64(sparsec_floordiv(B + 31, 32), 65535), 1, dim3(32, 4, 1), stream, B, WX, WY,
        I3_vals, W_vals, C3_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec C3_I3_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec C3_I3_spec = {"I3", SPARSEC_FLOAT32, 2, 32, C3_I3_levels, NULL};
static const sparsec_level_spec C3_W_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec C3_W_spec = {"W", SPARSEC_FLOAT32, 2, 32, C3_W_levels, NULL};
static const sparsec_level_spec C3_C3_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec C3_C3_spec = {"C3", SPARSEC_FLOAT32, 2, 32, C3_C3_levels, NULL};

int C3(const sparsec_tensor *I3, const sparsec_tensor *W, sparsec_tensor *C3) {
    int error;
    error = sparsec_check(I3, &C3_I3_spec);
    if (error) return error;
    error = sparsec_check(W, &C3_W_spec);
    if (error) return error;
    if (!C3) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C3: no tensor given");
    int64_t B = I3->dims[0];
    int64_t WX = I3->dims[1];
    int64_t WY = W->dims[0];
    error = sparsec_same_size("WX", "W", W->dims[1], "I3", WX);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {I3, W, C3};
    error = sparsec_apart(C3, "C3", tensors, 3);
    if (error) return error;
    int64_t C3_dims[] = {B, WY};
    error = sparsec_shape_dense(C3, &C3_C3_spec, C3_dims);
    if (error) return error;
    sparsec_memory memory;
    const float *I3_vals = (const float *)sparsec_upload_vals(&memory, I3);
    const float *W_vals = (const float *)sparsec_upload_vals(&memory, W);
    float *C3_vals = (float *)sparsec_room_vals(&memory, C3);
    void *workspace = memory.room((int64_t)C3_workspace(B, WX, WY), 1);
    if (memory.error) return memory.error;
    error = C3_device(B, WX, WY, I3_vals, W_vals, C3_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(C3, C3_vals);
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

static int smoke_C3(int64_t n, int rounds) {
    sparsec_tensor I3 = {};
    const int64_t I3_dims[] = {n, n};
    sparsec_tensor W = {};
    const int64_t W_dims[] = {n, n};
    sparsec_tensor C3_2 = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&I3, &C3_I3_spec, I3_dims, 1);
    error |= smoke_fill(&W, &C3_W_spec, W_dims, 2);
    if (!error) error = C3(&I3, &W, &C3_2);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = C3(&I3, &W, &C3_2);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("C3", error, best);
    sparsec_free_tensor(&I3);
    sparsec_free_tensor(&W);
    sparsec_free_tensor(&C3_2);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_C3(n, rounds);
    return failed;
}
#endif
