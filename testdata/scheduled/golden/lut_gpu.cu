/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "lut.h"

/* lut
 *   O(b, d) +=! LUT(I(b, r), d)
 *   split(d, d0, d1, 32)
 *   split(r, r0, r1, 8)
 *   reorder(b, d0, r0, d1, r1)
 *   precompute(LUT(int64(I(b,r)),d), {r1, d1}, {r1_LUT_tile, d1_LUT_tile}, LUT_tile)
 *   reorder(r1_LUT_tile, d1_LUT_tile)
 *   parallelize(b, GPUBlock, NoRaces)
 *   parallelize(d1, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(32, 16) lut_kernel(int64_t D, int64_t R,
    const float *SPARSEC_RESTRICT LUT_vals, const int32_t *SPARSEC_RESTRICT I_vals, float *O_vals) {
    int64_t b = blockIdx.x;
    for (int64_t d0 = 0; d0 < (D + 31) / 32; d0++) {
        int64_t d1 = threadIdx.x;
        if (d1 < sparsec_min_int64(32, D - d0 * 32)) {
            int64_t d = d0 * 32 + d1;
            O_vals[b * D + d] = 0.0f;
        }
        for (int64_t r0 = 0; r0 < (R + 7) / 8; r0++) {
            __shared__ float LUT_tile_vals[256];
            for (int64_t r1_LUT_tile = 0; r1_LUT_tile < sparsec_min_int64(8, R - r0 * 8);
                    r1_LUT_tile++) {
                int64_t r = r0 * 8 + r1_LUT_tile;
                int64_t d1_LUT_tile = threadIdx.x;
                if (d1_LUT_tile < sparsec_min_int64(32, D - d0 * 32)) {
                    int64_t d = d0 * 32 + d1_LUT_tile;
                    LUT_tile_vals[r1_LUT_tile * 32 + d1_LUT_tile] =
                        LUT_vals[I_vals[b * R + r] * D + d];
                }
            }
            int64_t d1_2 = threadIdx.x;
            if (d1_2 < sparsec_min_int64(32, D - d0 * 32)) {
                int64_t d = d0 * 32 + d1_2;
                float sum = 0.0f;
                for (int64_t r1 = 0; r1 < sparsec_min_int64(8, R - r0 * 8); r1++) {
                    sum += LUT_tile_vals[r1 * 32 + d1_2];
                }
                O_vals[b * D + d] += sum;
            }
        }
    }
}

size_t lut_workspace(int64_t E, int64_t D, int64_t B, int64_t R) {
    (void)E; (void)D; (void)B; (void)R;
    return 0;
}

int lut_device(int64_t E, int64_t D, int64_t B, int64_t R, const float *LUT_vals,
    const int32_t *I_vals, float *O_vals, void *workspace, cudaStream_t stream) {
    (void)E; (void)workspace;
    SPARSEC_TRY(sparsec_launch(lut_kernel, B, 1, 1, dim3(32, 1, 1), stream, D, R, LUT_vals, I_vals,
        O_vals));
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int lut_check(int64_t E, int64_t D, int64_t B, int64_t R,
    const float *SPARSEC_RESTRICT LUT_vals, const int32_t *SPARSEC_RESTRICT I_vals) {
    (void)D; (void)LUT_vals;
    bool out_of_range = false;
    for (int64_t b = 0; b < B; b++) {
        for (int64_t r = 0; r < R; r++) {
            out_of_range |= (I_vals[b * R + r] < 0) | (I_vals[b * R + r] >= E);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec lut_LUT_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec lut_LUT_spec = {"LUT", SPARSEC_FLOAT32, 2, 32, lut_LUT_levels, NULL};
static const sparsec_level_spec lut_I_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec lut_I_spec = {"I", SPARSEC_INT32, 2, 32, lut_I_levels, NULL};
static const sparsec_level_spec lut_O_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec lut_O_spec = {"O", SPARSEC_FLOAT32, 2, 32, lut_O_levels, NULL};

int lut(const sparsec_tensor *LUT, const sparsec_tensor *I, sparsec_tensor *O) {
    int error;
    error = sparsec_check(LUT, &lut_LUT_spec);
    if (error) return error;
    error = sparsec_check(I, &lut_I_spec);
    if (error) return error;
    if (!O) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O: no tensor given");
    int64_t E = LUT->dims[0];
    int64_t D = LUT->dims[1];
    int64_t B = I->dims[0];
    int64_t R = I->dims[1];
    const sparsec_tensor *const tensors[] = {LUT, I, O};
    error = sparsec_apart(O, "O", tensors, 3);
    if (error) return error;
    int64_t O_dims[] = {B, D};
    error = sparsec_shape_dense(O, &lut_O_spec, O_dims);
    if (error) return error;
    error = lut_check(E, D, B, R, (const float *)LUT->vals, (const int32_t *)I->vals);
    if (error) return sparsec_fail_code(error);
    sparsec_memory memory;
    const float *LUT_vals = (const float *)sparsec_upload_vals(&memory, LUT);
    const int32_t *I_vals = (const int32_t *)sparsec_upload_vals(&memory, I);
    float *O_vals = (float *)sparsec_room_vals(&memory, O);
    void *workspace = memory.room((int64_t)lut_workspace(E, D, B, R), 1);
    if (memory.error) return memory.error;
    error = lut_device(E, D, B, R, LUT_vals, I_vals, O_vals, workspace, 0);
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

static int smoke_lut(int64_t n, int rounds) {
    if (n > 304) n = 304;
    sparsec_tensor LUT = {};
    const int64_t LUT_dims[] = {n, n};
    sparsec_tensor I = {};
    const int64_t I_dims[] = {n, n};
    sparsec_tensor O = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&LUT, &lut_LUT_spec, LUT_dims, 1);
    error |= smoke_fill(&I, &lut_I_spec, I_dims, 2);
    if (!error) error = lut(&LUT, &I, &O);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = lut(&LUT, &I, &O);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("lut", error, best);
    sparsec_free_tensor(&LUT);
    sparsec_free_tensor(&I);
    sparsec_free_tensor(&O);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_lut(n, rounds);
    return failed;
}
#endif
