/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "gemm.h"

/* gemm
 *   C(i, j) +=! A(i, k) * B(k, j)
 *   split(i, i0, i1, 16)
 *   split(j, j0, j1, 16)
 *   split(k, k0, k1, 16)
 *   reorder(i0, j0, k0, i1, j1, k1)
 *   precompute(A(i,k), {i1, k1}, {i1_A_tile, k1_A_tile}, A_tile)
 *   reorder(i1_A_tile, k1_A_tile)
 *   precompute(B(k,j), {k1, j1}, {k1_B_tile, j1_B_tile}, B_tile)
 *   reorder(k1_B_tile, j1_B_tile)
 *   parallelize(i0, GPUBlockY, NoRaces)
 *   parallelize(j0, GPUBlock, NoRaces)
 *   parallelize(i1, GPUThreadY, NoRaces)
 *   parallelize(j1, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) gemm_kernel(int64_t M, int64_t K, int64_t N,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT B_vals, double *C_vals) {
    for (int64_t i0 = blockIdx.y; i0 < sparsec_floordiv(M + 15, 16); i0 += 65535) {
        int64_t j0 = blockIdx.x;
        int64_t i1 = threadIdx.y;
        if (i1 < sparsec_min_int64(16, M - i0 * 16)) {
            int64_t i = i0 * 16 + i1;
            int64_t j1 = threadIdx.x;
            if (j1 < sparsec_min_int64(16, N - j0 * 16)) {
                int64_t j = j0 * 16 + j1;
                C_vals[i * N + j] = 0.0;
            }
        }
        for (int64_t k0 = 0; k0 < (K + 15) / 16; k0++) {
            __shared__ double B_tile_vals[256];
            __syncthreads();
            int64_t k1_B_tile = threadIdx.y;
            if (k1_B_tile < sparsec_min_int64(16, K - k0 * 16)) {
                int64_t k = k0 * 16 + k1_B_tile;
                int64_t j1_B_tile = threadIdx.x;
                if (j1_B_tile < sparsec_min_int64(16, N - j0 * 16)) {
                    int64_t j = j0 * 16 + j1_B_tile;
                    B_tile_vals[k1_B_tile * 16 + j1_B_tile] = B_vals[k * N + j];
                }
            }
            __shared__ double A_tile_vals[256];
            int64_t i1_A_tile = threadIdx.y;
            if (i1_A_tile < sparsec_min_int64(16, M - i0 * 16)) {
                int64_t i = i0 * 16 + i1_A_tile;
                int64_t k1_A_tile = threadIdx.x;
                if (k1_A_tile < sparsec_min_int64(16, K - k0 * 16)) {
                    int64_t k = k0 * 16 + k1_A_tile;
                    A_tile_vals[i1_A_tile * 16 + k1_A_tile] = A_vals[i * K + k];
                }
            }
            __syncthreads();
            int64_t i1_2 = threadIdx.y;
            if (i1_2 < sparsec_min_int64(16, M - i0 * 16)) {
                int64_t i = i0 * 16 + i1_2;
                int64_t j1 = threadIdx.x;
                if (j1 < sparsec_min_int64(16, N - j0 * 16)) {
                    int64_t j = j0 * 16 + j1;
                    double sum = 0.0;
                    for (int64_t k1 = 0; k1 < sparsec_min_int64(16, K - k0 * 16); k1++) {
                        sum += A_tile_vals[i1_2 * 16 + k1] * B_tile_vals[k1 * 16 + j1];
                    }
                    C_vals[i * N + j] += sum;
                }
            }
        }
    }
}

size_t gemm_workspace(int64_t M, int64_t K, int64_t N) {
    (void)M; (void)K; (void)N;
    return 0;
}

int gemm_device(int64_t M, int64_t K, int64_t N, const double *A_vals, const double *B_vals,
    double *C_vals, void *workspace, cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(gemm_kernel, sparsec_floordiv(N + 15, 16),
        sparsec_min_int64(sparsec_floordiv(M + 15, 16), 65535), 1, dim3(16, 16, 1), stream, M, K, N,
        A_vals, B_vals, C_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec gemm_A_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gemm_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, gemm_A_levels, NULL};
static const sparsec_level_spec gemm_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gemm_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, gemm_B_levels, NULL};
static const sparsec_level_spec gemm_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec gemm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, gemm_C_levels, NULL};

int gemm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &gemm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &gemm_B_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t K = A->dims[1];
    int64_t N = B->dims[1];
    error = sparsec_same_size("K", "B", B->dims[0], "A", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape_dense(C, &gemm_C_spec, C_dims);
    if (error) return error;
    sparsec_memory memory;
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    double *C_vals = (double *)sparsec_room_vals(&memory, C);
    void *workspace = memory.room((int64_t)gemm_workspace(M, K, N), 1);
    if (memory.error) return memory.error;
    error = gemm_device(M, K, N, A_vals, B_vals, C_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(C, C_vals);
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

static int smoke_gemm(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &gemm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &gemm_B_spec, B_dims, 2);
    if (!error) error = gemm(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = gemm(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("gemm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_gemm(n, rounds);
    return failed;
}
#endif
