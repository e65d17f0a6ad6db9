/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "sddmm.h"

/* sddmm
 *   C(i, j) +=! A(i, j) * B(i, k) * D(j, k)
 *   A: {dense, compressed}
 *   C: {dense, compressed}
 *   fuse(i, j, f)
 *   pos(f, fpos, A(i,j))
 *   split(fpos, block, warp, 32)
 *   starts(block, before)
 *   split(k, k0, k1, 8)
 *   reorder(block, warp, k1, k0)
 *   parallelize(block, GPUBlock, NoRaces)
 *   parallelize(warp, GPUWarp, NoRaces)
 *   parallelize(k1, GPUGroup(8), ParallelReduction)
 */
static __global__ void __launch_bounds__(256, 4) sddmm_kernel1(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, int32_t *C2_pos) {
    int64_t block = blockIdx.x;
    int64_t k = block * 256 + threadIdx.x;
    if (k < M + 1) {
        C2_pos[k] = A2_pos[k];
    }
}

static __global__ void __launch_bounds__(256, 4) sddmm_kernel2(int64_t A2_count,
    const int32_t *SPARSEC_RESTRICT A2_crd, int32_t *C2_crd) {
    int64_t block = blockIdx.x;
    int64_t k = block * 256 + threadIdx.x;
    if (k < A2_count) {
        C2_crd[k] = A2_crd[k];
    }
}

static __global__ void __launch_bounds__(256, 4) sddmm_kernel3(int64_t M, int64_t block_count,
    const int32_t *SPARSEC_RESTRICT A2_pos, int64_t *A1_starts) {
    int64_t block = blockIdx.x;
    int64_t tile = block * 256 + threadIdx.x;
    if (tile < block_count + 1) {
        int64_t A1_start = sparsec_lower_bound_int32(A2_pos, 0, M, tile * 32 + 1);
        A1_starts[tile] = A1_start;
    }
}

static __global__ void __launch_bounds__(256, 4) sddmm_kernel4(int64_t K, int64_t A2_count,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT B_vals,
    const double *SPARSEC_RESTRICT D_vals, double *C_vals,
    const int64_t *SPARSEC_RESTRICT A1_starts) {
    int64_t block = blockIdx.x;
    int64_t warp = threadIdx.x / 8;
    if (warp < sparsec_min_int64(32, A2_count - block * 32)) {
        int64_t fpos = block * 32 + warp;
        int64_t A1_from = A1_starts[block];
        int64_t A1_to = A1_starts[block + 1];
        int64_t pA1_next = sparsec_lower_bound_int32(A2_pos, A1_from, A1_to, fpos + 1);
        int64_t pA1 = pA1_next - 1;
        int64_t j = A2_crd[fpos];
        double sum = 0.0;
        int64_t k1 = threadIdx.x % 8;
        for (int64_t k0 = 0; k0 < (K - k1 + 7) / 8; k0++) {
            int64_t k = k0 * 8 + k1;
            sum += A_vals[fpos] * B_vals[pA1 * K + k] * D_vals[j * K + k];
        }
        sum = sparsec_reduce_lanes<8>(sum, sparsec_add());
        if (threadIdx.x % 8 == 0) {
            C_vals[fpos] = sum;
        }
    }
}

size_t sddmm_workspace(int64_t M, int64_t N, int64_t K, int64_t A2_count) {
    (void)M; (void)N; (void)K; (void)A2_count;
    size_t bytes = 0;
    int64_t block_count = sparsec_floordiv(A2_count + 31, 32);
    bytes += sparsec_bytes(block_count + 1, sizeof(int64_t));
    return bytes;
}

int sddmm_device(int64_t M, int64_t N, int64_t K, int64_t A2_count, const int32_t *A2_pos,
    const int32_t *A2_crd, const double *A_vals, const double *B_vals, const double *D_vals,
    int32_t *C2_pos, int32_t *C2_crd, double *C_vals, void *workspace, cudaStream_t stream) {
    (void)N;
    char *room = (char *)workspace;
    SPARSEC_TRY(sparsec_launch(sddmm_kernel1, sparsec_floordiv(M + 256, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, C2_pos));
    SPARSEC_TRY(sparsec_launch(sddmm_kernel2, sparsec_floordiv(A2_count + 255, 256), 1, 1,
        dim3(256, 1, 1), stream, A2_count, A2_crd, C2_crd));
    int64_t block_count = sparsec_floordiv(A2_count + 31, 32);
    int64_t *A1_starts = (int64_t *)sparsec_take(&room, block_count + 1, sizeof(int64_t));
    SPARSEC_TRY(sparsec_launch(sddmm_kernel3, sparsec_floordiv(block_count + 256, 256), 1, 1,
        dim3(256, 1, 1), stream, M, block_count, A2_pos, A1_starts));
    SPARSEC_TRY(sparsec_launch(sddmm_kernel4, sparsec_floordiv(A2_count + 31, 32), 1, 1,
        dim3(256, 1, 1), stream, K, A2_count, A2_pos, A2_crd, A_vals, B_vals, D_vals, C_vals,
        A1_starts));
    return SPARSEC_OK;
}

static const sparsec_level_spec sddmm_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec sddmm_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, sddmm_A_levels, NULL};
static const sparsec_level_spec sddmm_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec sddmm_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, sddmm_B_levels, NULL};
static const sparsec_level_spec sddmm_D_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec sddmm_D_spec = {"D", SPARSEC_FLOAT64, 2, 32, sddmm_D_levels, NULL};
static const sparsec_level_spec sddmm_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec sddmm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, sddmm_C_levels, NULL};

int sddmm(const sparsec_tensor *A, const sparsec_tensor *B, const sparsec_tensor *D,
    sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &sddmm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &sddmm_B_spec);
    if (error) return error;
    error = sparsec_check(D, &sddmm_D_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    int64_t K = B->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "D", D->dims[0], "A", N);
    if (error) return error;
    error = sparsec_same_size("K", "D", D->dims[1], "B", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, D, C};
    error = sparsec_apart(C, "C", tensors, 4);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape(C, &sddmm_C_spec, C_dims);
    if (error) return error;
    int64_t A2_count = sparsec_parents(A, 2);
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    const double *D_vals = (const double *)sparsec_upload_vals(&memory, D);
    int32_t *C2_pos = (int32_t *)memory.room(M + 1, sizeof(int32_t));
    int32_t *C2_crd = (int32_t *)memory.room(A2_count, sizeof(int32_t));
    double *C_vals = (double *)memory.room(A2_count, sizeof(double));
    void *workspace = memory.room((int64_t)sddmm_workspace(M, N, K, A2_count), 1);
    if (memory.error) return memory.error;
    error = sddmm_device(M, N, K, A2_count, A2_pos, A2_crd, A_vals, B_vals, D_vals, C2_pos, C2_crd,
        C_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_level(C, 1, C2_pos, C2_crd);
    if (error) return error;
    error = sparsec_download_result(C, C_vals);
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

static int smoke_sddmm(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor D = {};
    const int64_t D_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &sddmm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &sddmm_B_spec, B_dims, 2);
    error |= smoke_fill(&D, &sddmm_D_spec, D_dims, 3);
    if (!error) error = sddmm(&A, &B, &D, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = sddmm(&A, &B, &D, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("sddmm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&D);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_sddmm(n, rounds);
    return failed;
}
#endif
