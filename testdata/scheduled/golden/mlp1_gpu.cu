/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "mlp1.h"

/* MLP1
 *   O1(b, n) = B1(n)
 *   O1(b, n) += I(b, m) * W1(n, m)
 *   O1(b, n) = fmaxf(O1(b, n), 0)
 *   join(S0, S1, b, n)
 *   join(S1, S2, b, n)
 *   split(S0.b, b0, b1, 16)
 *   split(S0.n, n0, n1, 16)
 *   split(m, m0, m1, 128)
 *   reorder(b0, n0, b1, n1)
 *   precompute(I(b,m) * W1(n,m), {b1, n1}, {b2, n2}, sums)
 *   reorder(m0, b2, n2, m1)
 *   precompute(I(b,m), {b2, m1}, {b2_I_tile, m1_I_tile}, I_tile)
 *   reorder(b2_I_tile, m1_I_tile)
 *   precompute(W1(n,m), {n2, m1}, {n2_W1_tile, m1_W1_tile}, W1_tile)
 *   reorder(n2_W1_tile, m1_W1_tile)
 *   parallelize(b0, GPUBlockY, NoRaces)
 *   parallelize(n0, GPUBlock, NoRaces)
 *   parallelize(b1, GPUThreadY, NoRaces)
 *   parallelize(n1, GPUThread, NoRaces)
 *   parallelize(b2, GPUThreadY, NoRaces)
 *   parallelize(n2, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) MLP1_kernel(int64_t B, int64_t M, int64_t O,
    const float *SPARSEC_RESTRICT I_vals, const float *SPARSEC_RESTRICT W1_vals,
    const float *SPARSEC_RESTRICT B1_vals, float *O1_vals) {
    for (int64_t b0 = blockIdx.y; b0 < sparsec_floordiv(B + 15, 16); b0 += 65535) {
        int64_t n0 = blockIdx.x;
        int64_t b1 = threadIdx.y;
        if (b1 < sparsec_min_int64(16, B - b0 * 16)) {
            int64_t b = b0 * 16 + b1;
            int64_t n1 = threadIdx.x;
            if (n1 < sparsec_min_int64(16, O - n0 * 16)) {
                int64_t n = n0 * 16 + n1;
                O1_vals[b * O + n] = B1_vals[n];
            }
        }
        float sums = 0.0f;
        for (int64_t m0 = 0; m0 < (M + 127) / 128; m0++) {
            __shared__ float W1_tile_vals[2064];
            __syncthreads();
            int64_t n2_W1_tile = threadIdx.y;
            if (n2_W1_tile < sparsec_min_int64(16, O - n0 * 16)) {
                int64_t n = n0 * 16 + n2_W1_tile;
                for (int64_t m1_W1_tile = threadIdx.x;
                        m1_W1_tile < sparsec_min_int64(128, M - m0 * 128); m1_W1_tile += 16) {
                    int64_t m = m0 * 128 + m1_W1_tile;
                    W1_tile_vals[n2_W1_tile * 129 + m1_W1_tile] = W1_vals[n * M + m];
                }
            }
            __shared__ float I_tile_vals[2048];
            int64_t b2_I_tile = threadIdx.y;
            if (b2_I_tile < sparsec_min_int64(16, B - b0 * 16)) {
                int64_t b = b0 * 16 + b2_I_tile;
                for (int64_t m1_I_tile = threadIdx.x;
                        m1_I_tile < sparsec_min_int64(128, M - m0 * 128); m1_I_tile += 16) {
                    int64_t m = m0 * 128 + m1_I_tile;
                    I_tile_vals[b2_I_tile * 128 + m1_I_tile] = I_vals[b * M + m];
                }
            }
            __syncthreads();
            int64_t b2 = threadIdx.y;
            if (b2 < sparsec_min_int64(16, B - b0 * 16)) {
                int64_t n2 = threadIdx.x;
                if (n2 < sparsec_min_int64(16, O - n0 * 16)) {
                    float sum = 0.0f;
                    for (int64_t m1 = 0; m1 < sparsec_min_int64(128, M - m0 * 128); m1++) {
                        sum += I_tile_vals[b2 * 128 + m1] * W1_tile_vals[n2 * 129 + m1];
                    }
                    sums += sum;
                }
            }
        }
        int64_t b1_2 = threadIdx.y;
        if (b1_2 < sparsec_min_int64(16, B - b0 * 16)) {
            int64_t b = b0 * 16 + b1_2;
            int64_t n1 = threadIdx.x;
            if (n1 < sparsec_min_int64(16, O - n0 * 16)) {
                int64_t n = n0 * 16 + n1;
                O1_vals[b * O + n] += sums;
            }
        }
        int64_t b1_3 = threadIdx.y;
        if (b1_3 < sparsec_min_int64(16, B - b0 * 16)) {
            int64_t b = b0 * 16 + b1_3;
            int64_t n1 = threadIdx.x;
            if (n1 < sparsec_min_int64(16, O - n0 * 16)) {
                int64_t n = n0 * 16 + n1;
                O1_vals[b * O + n] = fmaxf(O1_vals[b * O + n], 0.0f);
            }
        }
    }
}

size_t MLP1_workspace(int64_t B, int64_t M, int64_t O) {
    (void)B; (void)M; (void)O;
    return 0;
}

int MLP1_device(int64_t B, int64_t M, int64_t O, const float *I_vals, const float *W1_vals,
    const float *B1_vals, float *O1_vals, void *workspace, cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(MLP1_kernel, sparsec_floordiv(O + 15, 16),
        sparsec_min_int64(sparsec_floordiv(B + 15, 16), 65535), 1, dim3(16, 16, 1), stream, B, M, O,
        I_vals, W1_vals, B1_vals, O1_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec MLP1_I_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP1_I_spec = {"I", SPARSEC_FLOAT32, 2, 32, MLP1_I_levels, NULL};
static const sparsec_level_spec MLP1_W1_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP1_W1_spec = {"W1", SPARSEC_FLOAT32, 2, 32, MLP1_W1_levels, NULL};
static const sparsec_level_spec MLP1_B1_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec MLP1_B1_spec = {"B1", SPARSEC_FLOAT32, 1, 32, MLP1_B1_levels, NULL};
static const sparsec_level_spec MLP1_O1_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP1_O1_spec = {"O1", SPARSEC_FLOAT32, 2, 32, MLP1_O1_levels, NULL};

int MLP1(const sparsec_tensor *I, const sparsec_tensor *W1, const sparsec_tensor *B1,
    sparsec_tensor *O1) {
    int error;
    error = sparsec_check(I, &MLP1_I_spec);
    if (error) return error;
    error = sparsec_check(W1, &MLP1_W1_spec);
    if (error) return error;
    error = sparsec_check(B1, &MLP1_B1_spec);
    if (error) return error;
    if (!O1) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O1: no tensor given");
    int64_t B = I->dims[0];
    int64_t M = I->dims[1];
    int64_t O = W1->dims[0];
    error = sparsec_same_size("M", "W1", W1->dims[1], "I", M);
    if (error) return error;
    error = sparsec_same_size("O", "B1", B1->dims[0], "W1", O);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {I, W1, B1, O1};
    error = sparsec_apart(O1, "O1", tensors, 4);
    if (error) return error;
    int64_t O1_dims[] = {B, O};
    error = sparsec_shape_dense(O1, &MLP1_O1_spec, O1_dims);
    if (error) return error;
    sparsec_memory memory;
    const float *I_vals = (const float *)sparsec_upload_vals(&memory, I);
    const float *W1_vals = (const float *)sparsec_upload_vals(&memory, W1);
    const float *B1_vals = (const float *)sparsec_upload_vals(&memory, B1);
    float *O1_vals = (float *)sparsec_room_vals(&memory, O1);
    void *workspace = memory.room((int64_t)MLP1_workspace(B, M, O), 1);
    if (memory.error) return memory.error;
    error = MLP1_device(B, M, O, I_vals, W1_vals, B1_vals, O1_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(O1, O1_vals);
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

static int smoke_MLP1(int64_t n, int rounds) {
    sparsec_tensor I = {};
    const int64_t I_dims[] = {n, n};
    sparsec_tensor W1 = {};
    const int64_t W1_dims[] = {n, n};
    sparsec_tensor B1 = {};
    const int64_t B1_dims[] = {n};
    sparsec_tensor O1 = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&I, &MLP1_I_spec, I_dims, 1);
    error |= smoke_fill(&W1, &MLP1_W1_spec, W1_dims, 2);
    error |= smoke_fill(&B1, &MLP1_B1_spec, B1_dims, 3);
    if (!error) error = MLP1(&I, &W1, &B1, &O1);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = MLP1(&I, &W1, &B1, &O1);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("MLP1", error, best);
    sparsec_free_tensor(&I);
    sparsec_free_tensor(&W1);
    sparsec_free_tensor(&B1);
    sparsec_free_tensor(&O1);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_MLP1(n, rounds);
    return failed;
}
#endif
