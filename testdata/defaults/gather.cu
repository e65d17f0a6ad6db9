/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "gather.h"

/* gather
 *   Z(i, j) = X(I(i, j))
 *   split(j, tile, thread, 64)
 *   reorder(i, tile, thread)
 *   parallelize(i, GPUBlock, NoRaces)
 *   parallelize(tile, GPUBlockY, NoRaces)
 *   parallelize(thread, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(64, 16) gather_kernel(int64_t B,
    const float *SPARSEC_RESTRICT X_vals, const int32_t *SPARSEC_RESTRICT I_vals, float *Z_vals) {
    int64_t i = blockIdx.x;
    for (int64_t tile = blockIdx.y; tile < sparsec_floordiv(B + 63, 64); tile += 65535) {
        int64_t thread = threadIdx.x;
        if (thread < sparsec_min_int64(64, B - tile * 64)) {
            int64_t j = tile * 64 + thread;
            Z_vals[i * B + j] = X_vals[I_vals[i * B + j]];
        }
    }
}

size_t gather_workspace(int64_t N, int64_t A, int64_t B) {
    (void)N; (void)A; (void)B;
    return 0;
}

int gather_device(int64_t N, int64_t A, int64_t B, const float *X_vals, const int32_t *I_vals,
    float *Z_vals, void *workspace, cudaStream_t stream) {
    (void)N; (void)workspace;
    SPARSEC_TRY(sparsec_launch(gather_kernel, A, sparsec_min_int64(sparsec_floordiv(B + 63, 64), 65535),
        1, dim3(64, 1, 1), stream, B, X_vals, I_vals, Z_vals));
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int gather_check(int64_t N, int64_t A, int64_t B, const float *SPARSEC_RESTRICT X_vals,
    const int32_t *SPARSEC_RESTRICT I_vals) {
    (void)X_vals;
    bool out_of_range = false;
    for (int64_t i = 0; i < A; i++) {
        for (int64_t j = 0; j < B; j++) {
            out_of_range |= (I_vals[i * B + j] < 0) | (I_vals[i * B + j] >= N);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec gather_X_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec gather_X_spec = {"X", SPARSEC_FLOAT32, 1, 32, gather_X_levels, NULL};
static const sparsec_level_spec gather_I_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gather_I_spec = {"I", SPARSEC_INT32, 2, 32, gather_I_levels, NULL};
static const sparsec_level_spec gather_Z_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gather_Z_spec = {"Z", SPARSEC_FLOAT32, 2, 32, gather_Z_levels, NULL};

int gather(const sparsec_tensor *X, const sparsec_tensor *I, sparsec_tensor *Z) {
    int error;
    error = sparsec_check(X, &gather_X_spec);
    if (error) return error;
    error = sparsec_check(I, &gather_I_spec);
    if (error) return error;
    if (!Z) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "Z: no tensor given");
    int64_t N = X->dims[0];
    int64_t A = I->dims[0];
    int64_t B = I->dims[1];
    const sparsec_tensor *const tensors[] = {X, I, Z};
    error = sparsec_apart(Z, "Z", tensors, 3);
    if (error) return error;
    int64_t Z_dims[] = {A, B};
    error = sparsec_shape_dense(Z, &gather_Z_spec, Z_dims);
    if (error) return error;
    error = gather_check(N, A, B, (const float *)X->vals, (const int32_t *)I->vals);
    if (error) return sparsec_fail_code(error);
    sparsec_memory memory;
    const float *X_vals = (const float *)sparsec_upload_vals(&memory, X);
    const int32_t *I_vals = (const int32_t *)sparsec_upload_vals(&memory, I);
    float *Z_vals = (float *)sparsec_room_vals(&memory, Z);
    void *workspace = memory.room((int64_t)gather_workspace(N, A, B), 1);
    if (memory.error) return memory.error;
    error = gather_device(N, A, B, X_vals, I_vals, Z_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(Z, Z_vals);
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

static int smoke_gather(int64_t n, int rounds) {
    sparsec_tensor X = {};
    const int64_t X_dims[] = {n};
    sparsec_tensor I = {};
    const int64_t I_dims[] = {n, n};
    sparsec_tensor Z = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&X, &gather_X_spec, X_dims, 1);
    error |= smoke_fill(&I, &gather_I_spec, I_dims, 2);
    if (!error) error = gather(&X, &I, &Z);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = gather(&X, &I, &Z);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("gather", error, best);
    sparsec_free_tensor(&X);
    sparsec_free_tensor(&I);
    sparsec_free_tensor(&Z);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_gather(n, rounds);
    return failed;
}
#endif
