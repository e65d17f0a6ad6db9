/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "tbmm.h"

/* tbmm
 *   Z(b, n, k) +=! X(b, n, m) * Y(b, k, m)
 *   split(n, n0, n1, 32)
 *   split(k, k0, k1, 32)
 *   split(m, m0, m1, 24)
 *   split(n1, r, ty, 8)
 *   reorder(b, n0, k0, ty, k1, r, m0, m1)
 *   precompute(X(b,n,m) * Y(b,k,m), {ty, k1, r}, {ty2, k2, r2}, sums)
 *   reorder(m0, ty2, k2, m1, r2)
 *   promote(X, shared, m0)
 *   precompute(Y(b,k,m), {k2, m1}, {k2_Y_tile, m1_Y_tile}, Y_tile)
 *   reorder(k2_Y_tile, m1_Y_tile)
 *   unroll(m1, 8)
 *   unroll(r2, 4)
 *   parallelize(b, GPUBlockZ, NoRaces)
 *   parallelize(n0, GPUBlockY, NoRaces)
 *   parallelize(k0, GPUBlock, NoRaces)
 *   parallelize(ty, GPUThreadY, NoRaces)
 *   parallelize(k1, GPUThread, NoRaces)
 *   parallelize(ty2, GPUThreadY, NoRaces)
 *   parallelize(k2, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) tbmm_kernel(int64_t B, int64_t N, int64_t M,
    int64_t K, const float *SPARSEC_RESTRICT X_vals, const float *SPARSEC_RESTRICT Y_vals,
    float *Z_vals) {
    for (int64_t b = blockIdx.z; b < B; b += 65535) {
        for (int64_t n0 = blockIdx.y; n0 < sparsec_floordiv(N + 31, 32); n0 += 65535) {
            int64_t k0 = blockIdx.x;
            float sums_vals[4];
            SPARSEC_UNROLL(4)
            for (int64_t e = 0; e < 4; e++) {
                sums_vals[e] = 0.0f;
            }
            for (int64_t m0 = 0; m0 < (M + 23) / 24; m0++) {
                __shared__ float Y_tile_vals[800];
                __syncthreads();
                for (int64_t k2_Y_tile = threadIdx.y;
                        k2_Y_tile < sparsec_min_int64(32, K - k0 * 32); k2_Y_tile += 8) {
                    int64_t k = k0 * 32 + k2_Y_tile;
                    int64_t m1_Y_tile = threadIdx.x;
                    if (m1_Y_tile < sparsec_min_int64(24, M - m0 * 24)) {
                        int64_t m = m0 * 24 + m1_Y_tile;
                        Y_tile_vals[k2_Y_tile * 25 + m1_Y_tile] = Y_vals[(b * K + k) * M + m];
                    }
                }
                __shared__ float X_tile_vals[768];
                for (int64_t r2_X_tile = threadIdx.y; r2_X_tile < 32; r2_X_tile += 8) {
                    int64_t m1_X_tile = threadIdx.x;
                    if (m1_X_tile < 24) {
                        X_tile_vals[r2_X_tile * 24 + m1_X_tile] =
                            n0 * 32 + r2_X_tile < N && m0 * 24 + m1_X_tile < M ?
                            X_vals[(b * N + (n0 * 32 + r2_X_tile)) * M + (m0 * 24 + m1_X_tile)] :
                            0.0f;
                    }
                }
                __syncthreads();
                if (M - m0 * 24 >= 24) {
                    int64_t ty2 = threadIdx.y;
                    if (sparsec_floordiv(N - (n0 * 32 + ty2) + 7, 8) >= 4) {
                        int64_t k2 = threadIdx.x;
                        if (k2 < sparsec_min_int64(32, K - k0 * 32)) {
                            SPARSEC_UNROLL(8)
                            for (int64_t m1 = 0; m1 < 24; m1++) {
                                SPARSEC_UNROLL(4)
                                for (int64_t r2 = 0; r2 < 4; r2++) {
                                    sums_vals[r2] +=
                                        X_tile_vals[(r2 * 8 + ty2) * 24 + m1] *
                                        Y_tile_vals[k2 * 25 + m1];
                                }
                            }
                        }
                    } else {
                        int64_t k2 = threadIdx.x;
                        if (k2 < sparsec_min_int64(32, K - k0 * 32)) {
                            SPARSEC_UNROLL(8)
                            for (int64_t m1 = 0; m1 < 24; m1++) {
                                SPARSEC_UNROLL(4)
                                for (int64_t r2 = 0; r2 < 4; r2++) {
                                    if (r2 < (N - (n0 * 32 + ty2) + 7) / 8) {
                                        sums_vals[r2] +=
                                            X_tile_vals[(r2 * 8 + ty2) * 24 + m1] *
                                            Y_tile_vals[k2 * 25 + m1];
                                    }
                                }
                            }
                        }
                    }
                } else {
                    int64_t ty2 = threadIdx.y;
                    int64_t k2 = threadIdx.x;
                    if (k2 < sparsec_min_int64(32, K - k0 * 32)) {
                        SPARSEC_UNROLL(8)
                        for (int64_t m1 = 0; m1 < sparsec_min_int64(24, M - m0 * 24); m1++) {
                            SPARSEC_UNROLL(4)
                            for (int64_t r2 = 0; r2 < 4; r2++) {
                                if (r2 < (N - (n0 * 32 + ty2) + 7) / 8) {
                                    sums_vals[r2] +=
                                        X_tile_vals[(r2 * 8 + ty2) * 24 + m1] *
                                        Y_tile_vals[k2 * 25 + m1];
                                }
                            }
                        }
                    }
                }
            }
            int64_t ty = threadIdx.y;
            int64_t k1 = threadIdx.x;
            if (k1 < sparsec_min_int64(32, K - k0 * 32)) {
                int64_t k = k0 * 32 + k1;
                SPARSEC_UNROLL(4)
                for (int64_t r = 0; r < 4; r++) {
                    if (r * 8 < N - n0 * 32 - ty) {
                        int64_t n = n0 * 32 + (r * 8 + ty);
                        Z_vals[(b * N + n) * K + k] = sums_vals[r];
                    }
                }
            }
        }
    }
}

size_t tbmm_workspace(int64_t B, int64_t N, int64_t M, int64_t K) {
    (void)B; (void)N; (void)M; (void)K;
    return 0;
}

int tbmm_device(int64_t B, int64_t N, int64_t M, int64_t K, const float *X_vals,
    const float *Y_vals, float *Z_vals, void *workspace, cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(tbmm_kernel, sparsec_floordiv(K + 31, 32),
        sparsec_min_int64(sparsec_floordiv(N + 31, 32), 65535), sparsec_min_int64(B, 65535),
        dim3(32, 8, 1), stream, B, N, M, K, X_vals, Y_vals, Z_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec tbmm_X_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec tbmm_X_spec = {"X", SPARSEC_FLOAT32, 3, 32, tbmm_X_levels, NULL};
static const sparsec_level_spec tbmm_Y_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec tbmm_Y_spec = {"Y", SPARSEC_FLOAT32, 3, 32, tbmm_Y_levels, NULL};
static const sparsec_level_spec tbmm_Z_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec tbmm_Z_spec = {"Z", SPARSEC_FLOAT32, 3, 32, tbmm_Z_levels, NULL};

int tbmm(const sparsec_tensor *X, const sparsec_tensor *Y, sparsec_tensor *Z) {
    int error;
    error = sparsec_check(X, &tbmm_X_spec);
    if (error) return error;
    error = sparsec_check(Y, &tbmm_Y_spec);
    if (error) return error;
    if (!Z) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "Z: no tensor given");
    int64_t B = X->dims[0];
    int64_t N = X->dims[1];
    int64_t M = X->dims[2];
    int64_t K = Y->dims[1];
    error = sparsec_same_size("B", "Y", Y->dims[0], "X", B);
    if (error) return error;
    error = sparsec_same_size("M", "Y", Y->dims[2], "X", M);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {X, Y, Z};
    error = sparsec_apart(Z, "Z", tensors, 3);
    if (error) return error;
    int64_t Z_dims[] = {B, N, K};
    error = sparsec_shape_dense(Z, &tbmm_Z_spec, Z_dims);
    if (error) return error;
    sparsec_memory memory;
    const float *X_vals = (const float *)sparsec_upload_vals(&memory, X);
    const float *Y_vals = (const float *)sparsec_upload_vals(&memory, Y);
    float *Z_vals = (float *)sparsec_room_vals(&memory, Z);
    void *workspace = memory.room((int64_t)tbmm_workspace(B, N, M, K), 1);
    if (memory.error) return memory.error;
    error = tbmm_device(B, N, M, K, X_vals, Y_vals, Z_vals, workspace, 0);
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

static int smoke_tbmm(int64_t n, int rounds) {
    if (n > 304) n = 304;
    sparsec_tensor X = {};
    const int64_t X_dims[] = {n, n, n};
    sparsec_tensor Y = {};
    const int64_t Y_dims[] = {n, n, n};
    sparsec_tensor Z = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&X, &tbmm_X_spec, X_dims, 1);
    error |= smoke_fill(&Y, &tbmm_Y_spec, Y_dims, 2);
    if (!error) error = tbmm(&X, &Y, &Z);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = tbmm(&X, &Y, &Z);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("tbmm", error, best);
    sparsec_free_tensor(&X);
    sparsec_free_tensor(&Y);
    sparsec_free_tensor(&Z);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_tbmm(n, rounds);
    return failed;
}
#endif
