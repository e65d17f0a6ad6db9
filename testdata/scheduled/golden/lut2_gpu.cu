/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "lut2.h"

/* 2LUT
 *   O1(i, j) +=! LUT1(I1(i, k), j)
 *   O2(i, j) +=! LUT2(I2(i, k), j)
 *   join(S0, S1, i)
 *   split(S0.i, i0, i1, 4)
 *   split(S0.j, j0, j1, 32)
 *   split(S0.k, k0, k1, 8)
 *   reorder(j0, j1, k0, k1)
 *   precompute(LUT1(int64(I1(i,k)),j), j1, j2, sums1)
 *   reorder(k0, j2, k1)
 *   precompute(LUT1(int64(I1(i,k)),j), {k1, j2}, {k1_LUT1_tile, j2_LUT1_tile}, LUT1_tile)
 *   reorder(k1_LUT1_tile, j2_LUT1_tile)
 *   split(S1.j, j3, j4, 32)
 *   split(S1.k, k3, k4, 8)
 *   reorder(j3, j4, k3, k4)
 *   precompute(LUT2(int64(I2(i,k)),j), j4, j5, sums2)
 *   reorder(k3, j5, k4)
 *   precompute(LUT2(int64(I2(i,k)),j), {k4, j5}, {k4_LUT2_tile, j5_LUT2_tile}, LUT2_tile)
 *   reorder(k4_LUT2_tile, j5_LUT2_tile)
 *   parallelize(i0, GPUBlock, NoRaces)
 *   parallelize(j1, GPUThread, NoRaces)
 *   parallelize(j2, GPUThread, NoRaces)
 *   parallelize(j4, GPUThread, NoRaces)
 *   parallelize(j5, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(32, 16) k2LUT_kernel(int64_t D, int64_t B, int64_t L1,
    int64_t L2, const float *SPARSEC_RESTRICT LUT1_vals, const int32_t *SPARSEC_RESTRICT I1_vals,
    const float *SPARSEC_RESTRICT LUT2_vals, const int32_t *SPARSEC_RESTRICT I2_vals,
    float *O1_vals, float *O2_vals) {
    int64_t i0 = blockIdx.x;
    for (int64_t i1 = 0; i1 < sparsec_min_int64(4, B - i0 * 4); i1++) {
        int64_t i = i0 * 4 + i1;
        for (int64_t j0 = 0; j0 < (D + 31) / 32; j0++) {
            float sums1 = 0.0f;
            for (int64_t k0 = 0; k0 < (L1 + 7) / 8; k0++) {
                __shared__ float LUT1_tile_vals[256];
                for (int64_t k1_LUT1_tile = 0; k1_LUT1_tile < sparsec_min_int64(8, L1 - k0 * 8);
                        k1_LUT1_tile++) {
                    int64_t k = k0 * 8 + k1_LUT1_tile;
                    int64_t j2_LUT1_tile = threadIdx.x;
                    if (j2_LUT1_tile < sparsec_min_int64(32, D - j0 * 32)) {
                        int64_t j = j0 * 32 + j2_LUT1_tile;
                        LUT1_tile_vals[k1_LUT1_tile * 32 + j2_LUT1_tile] =
                            LUT1_vals[I1_vals[i * L1 + k] * D + j];
                    }
                }
                int64_t j2 = threadIdx.x;
                if (j2 < sparsec_min_int64(32, D - j0 * 32)) {
                    float sum = 0.0f;
                    for (int64_t k1 = 0; k1 < sparsec_min_int64(8, L1 - k0 * 8); k1++) {
                        sum += LUT1_tile_vals[k1 * 32 + j2];
                    }
                    sums1 += sum;
                }
            }
            int64_t j1 = threadIdx.x;
            if (j1 < sparsec_min_int64(32, D - j0 * 32)) {
                int64_t j = j0 * 32 + j1;
                O1_vals[i * D + j] = sums1;
            }
        }
        for (int64_t j3 = 0; j3 < (D + 31) / 32; j3++) {
            float sums2 = 0.0f;
            for (int64_t k3 = 0; k3 < (L2 + 7) / 8; k3++) {
                __shared__ float LUT2_tile_vals[256];
                for (int64_t k4_LUT2_tile = 0; k4_LUT2_tile < sparsec_min_int64(8, L2 - k3 * 8);
                        k4_LUT2_tile++) {
                    int64_t k = k3 * 8 + k4_LUT2_tile;
                    int64_t j5_LUT2_tile = threadIdx.x;
                    if (j5_LUT2_tile < sparsec_min_int64(32, D - j3 * 32)) {
                        int64_t j = j3 * 32 + j5_LUT2_tile;
                        LUT2_tile_vals[k4_LUT2_tile * 32 + j5_LUT2_tile] =
                            LUT2_vals[I2_vals[i * L2 + k] * D + j];
                    }
                }
                int64_t j5 = threadIdx.x;
                if (j5 < sparsec_min_int64(32, D - j3 * 32)) {
                    float sum = 0.0f;
                    for (int64_t k4 = 0; k4 < sparsec_min_int64(8, L2 - k3 * 8); k4++) {
                        sum += LUT2_tile_vals[k4 * 32 + j5];
                    }
                    sums2 += sum;
                }
            }
            int64_t j4 = threadIdx.x;
            if (j4 < sparsec_min_int64(32, D - j3 * 32)) {
                int64_t j = j3 * 32 + j4;
                O2_vals[i * D + j] = sums2;
            }
        }
    }
}

size_t k2LUT_workspace(int64_t E1, int64_t D, int64_t B, int64_t L1, int64_t E2, int64_t L2) {
    (void)E1; (void)D; (void)B; (void)L1; (void)E2; (void)L2;
    return 0;
}

int k2LUT_device(int64_t E1, int64_t D, int64_t B, int64_t L1, int64_t E2, int64_t L2,
    const float *LUT1_vals, const int32_t *I1_vals, const float *LUT2_vals, const int32_t *I2_vals,
    float *O1_vals, float *O2_vals, void *workspace, cudaStream_t stream) {
    (void)E1; (void)E2; (void)workspace;
    SPARSEC_TRY(sparsec_launch(k2LUT_kernel, sparsec_floordiv(B + 3, 4), 1, 1, dim3(32, 1, 1), stream,
        D, B, L1, L2, LUT1_vals, I1_vals, LUT2_vals, I2_vals, O1_vals, O2_vals));
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int k2LUT_check(int64_t E1, int64_t D, int64_t B, int64_t L1, int64_t E2, int64_t L2,
    const float *SPARSEC_RESTRICT LUT1_vals, const int32_t *SPARSEC_RESTRICT I1_vals,
    const float *SPARSEC_RESTRICT LUT2_vals, const int32_t *SPARSEC_RESTRICT I2_vals) {
    (void)D; (void)LUT1_vals; (void)LUT2_vals;
    bool out_of_range = false;
    for (int64_t i = 0; i < B; i++) {
        for (int64_t k = 0; k < L1; k++) {
            out_of_range |= (I1_vals[i * L1 + k] < 0) | (I1_vals[i * L1 + k] >= E1);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t i = 0; i < B; i++) {
        for (int64_t k = 0; k < L2; k++) {
            out_of_range |= (I2_vals[i * L2 + k] < 0) | (I2_vals[i * L2 + k] >= E2);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec k2LUT_LUT1_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec k2LUT_LUT1_spec = {"LUT1", SPARSEC_FLOAT32, 2, 32, k2LUT_LUT1_levels, NULL};
static const sparsec_level_spec k2LUT_I1_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec k2LUT_I1_spec = {"I1", SPARSEC_INT32, 2, 32, k2LUT_I1_levels, NULL};
static const sparsec_level_spec k2LUT_LUT2_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec k2LUT_LUT2_spec = {"LUT2", SPARSEC_FLOAT32, 2, 32, k2LUT_LUT2_levels, NULL};
static const sparsec_level_spec k2LUT_I2_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec k2LUT_I2_spec = {"I2", SPARSEC_INT32, 2, 32, k2LUT_I2_levels, NULL};
static const sparsec_level_spec k2LUT_O1_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec k2LUT_O1_spec = {"O1", SPARSEC_FLOAT32, 2, 32, k2LUT_O1_levels, NULL};
static const sparsec_level_spec k2LUT_O2_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec k2LUT_O2_spec = {"O2", SPARSEC_FLOAT32, 2, 32, k2LUT_O2_levels, NULL};

int k2LUT(const sparsec_tensor *LUT1, const sparsec_tensor *I1, const sparsec_tensor *LUT2,
    const sparsec_tensor *I2, sparsec_tensor *O1, sparsec_tensor *O2) {
    int error;
    error = sparsec_check(LUT1, &k2LUT_LUT1_spec);
    if (error) return error;
    error = sparsec_check(I1, &k2LUT_I1_spec);
    if (error) return error;
    error = sparsec_check(LUT2, &k2LUT_LUT2_spec);
    if (error) return error;
    error = sparsec_check(I2, &k2LUT_I2_spec);
    if (error) return error;
    if (!O1) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O1: no tensor given");
    if (!O2) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O2: no tensor given");
    int64_t E1 = LUT1->dims[0];
    int64_t D = LUT1->dims[1];
    int64_t B = I1->dims[0];
    int64_t L1 = I1->dims[1];
    int64_t E2 = LUT2->dims[0];
    int64_t L2 = I2->dims[1];
    error = sparsec_same_size("D", "LUT2", LUT2->dims[1], "LUT1", D);
    if (error) return error;
    error = sparsec_same_size("B", "I2", I2->dims[0], "I1", B);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {LUT1, I1, LUT2, I2, O1, O2};
    error = sparsec_apart(O1, "O1", tensors, 6);
    if (error) return error;
    error = sparsec_apart(O2, "O2", tensors, 6);
    if (error) return error;
    int64_t O1_dims[] = {B, D};
    error = sparsec_shape_dense(O1, &k2LUT_O1_spec, O1_dims);
    if (error) return error;
    int64_t O2_dims[] = {B, D};
    error = sparsec_shape_dense(O2, &k2LUT_O2_spec, O2_dims);
    if (error) return error;
    error = k2LUT_check(E1, D, B, L1, E2, L2, (const float *)LUT1->vals, (const int32_t *)I1->vals,
        (const float *)LUT2->vals, (const int32_t *)I2->vals);
    if (error) return sparsec_fail_code(error);
    sparsec_memory memory;
    const float *LUT1_vals = (const float *)sparsec_upload_vals(&memory, LUT1);
    const int32_t *I1_vals = (const int32_t *)sparsec_upload_vals(&memory, I1);
    const float *LUT2_vals = (const float *)sparsec_upload_vals(&memory, LUT2);
    const int32_t *I2_vals = (const int32_t *)sparsec_upload_vals(&memory, I2);
    float *O1_vals = (float *)sparsec_room_vals(&memory, O1);
    float *O2_vals = (float *)sparsec_room_vals(&memory, O2);
    void *workspace = memory.room((int64_t)k2LUT_workspace(E1, D, B, L1, E2, L2), 1);
    if (memory.error) return memory.error;
    error = k2LUT_device(E1, D, B, L1, E2, L2, LUT1_vals, I1_vals, LUT2_vals, I2_vals, O1_vals, O2_vals,
        workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(O1, O1_vals);
    if (error) return error;
    error = sparsec_download_vals(O2, O2_vals);
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

static int smoke_k2LUT(int64_t n, int rounds) {
    if (n > 45) n = 45;
    sparsec_tensor LUT1 = {};
    const int64_t LUT1_dims[] = {n, n};
    sparsec_tensor I1 = {};
    const int64_t I1_dims[] = {n, n};
    sparsec_tensor LUT2 = {};
    const int64_t LUT2_dims[] = {n, n};
    sparsec_tensor I2 = {};
    const int64_t I2_dims[] = {n, n};
    sparsec_tensor O1 = {};
    sparsec_tensor O2 = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&LUT1, &k2LUT_LUT1_spec, LUT1_dims, 1);
    error |= smoke_fill(&I1, &k2LUT_I1_spec, I1_dims, 2);
    error |= smoke_fill(&LUT2, &k2LUT_LUT2_spec, LUT2_dims, 3);
    error |= smoke_fill(&I2, &k2LUT_I2_spec, I2_dims, 4);
    if (!error) error = k2LUT(&LUT1, &I1, &LUT2, &I2, &O1, &O2);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = k2LUT(&LUT1, &I1, &LUT2, &I2, &O1, &O2);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("2LUT", error, best);
    sparsec_free_tensor(&LUT1);
    sparsec_free_tensor(&I1);
    sparsec_free_tensor(&LUT2);
    sparsec_free_tensor(&I2);
    sparsec_free_tensor(&O1);
    sparsec_free_tensor(&O2);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_k2LUT(n, rounds);
    return failed;
}
#endif
