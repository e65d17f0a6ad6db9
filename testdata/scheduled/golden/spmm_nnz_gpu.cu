/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "spmm_4.h"

/* spmm_4
 *   C(i, k) +=! A(i, j) * B(j, k)
 *   A: {dense, compressed}
 *   reorder(i, j, k)
 *   fuse(i, j, f)
 *   pos(f, fpos, A(i,j))
 *   split(fpos, block, fpos1, 4096)
 *   starts(block, before)
 *   split(fpos1, thread, nnz, 16)
 *   split(k, ko, ki, 4)
 *   bound(ko, warp, 1, MaxExact)
 *   reorder(block, warp, thread, ki, nnz)
 *   parallelize(block, GPUBlock, IgnoreRaces)
 *   parallelize(warp, GPUWarp, IgnoreRaces)
 *   parallelize(thread, GPUThread, Atomics)
 */
static __global__ void __launch_bounds__(256, 4) spmm_4_kernel1(int64_t M, int64_t block_count,
    const int32_t *SPARSEC_RESTRICT A2_pos, int64_t *A1_starts) {
    int64_t block = blockIdx.x;
    int64_t tile = block * 256 + threadIdx.x;
    if (tile < block_count + 1) {
        int64_t A1_start = sparsec_lower_bound_int32(A2_pos, 0, M, tile * 4096 + 1);
        A1_starts[tile] = A1_start;
    }
}

static __global__ void __launch_bounds__(256, 4) spmm_4_kernel2(int64_t A2_count,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const float *SPARSEC_RESTRICT A_vals, const float *SPARSEC_RESTRICT B_vals, float *C_vals,
    const int64_t *SPARSEC_RESTRICT A1_starts) {
    int64_t block = blockIdx.x;
    int64_t warp = threadIdx.x / 256;
    int64_t thread = threadIdx.x;
    for (int64_t ki = 0; ki < 4; ki++) {
        int64_t k = warp * 4 + ki;
        int64_t nnz_begin = block * 4096 + thread * 16;
        int64_t nnz_end = sparsec_min_int64(nnz_begin + 16, A2_count);
        if (nnz_begin < nnz_end) {
            int64_t A1_from = A1_starts[block];
            int64_t A1_to = A1_starts[block + 1];
            int64_t A1_first = sparsec_lower_bound_int32(A2_pos, A1_from, A1_to, nnz_begin + 1);
            int64_t A1_last = sparsec_gallop_int32(A2_pos, A1_first, A1_to, nnz_end);
            for (int64_t i = sparsec_max_int64(A1_first - 1, 0); i < A1_last; i++) {
                float sum = 0.0f;
                int64_t pA2_begin = sparsec_max_int64(A2_pos[i], nnz_begin);
                int64_t pA2_end = sparsec_min_int64(A2_pos[i + 1], nnz_end);
                for (int64_t fpos = pA2_begin; fpos < pA2_end; fpos++) {
                    int64_t j = A2_crd[fpos];
                    sum += A_vals[fpos] * B_vals[j * 4 + k];
                }
                if (A2_pos[i] >= nnz_begin && A2_pos[i + 1] <= nnz_end) {
                    C_vals[i * 4 + k] += sum;
                } else {
                    sparsec_atomic(&C_vals[i * 4 + k], sum, sparsec_add());
                }
            }
        }
    }
}

size_t spmm_4_workspace(int64_t M, int64_t N, int64_t A2_count) {
    (void)M; (void)N; (void)A2_count;
    size_t bytes = 0;
    int64_t block_count = sparsec_floordiv(A2_count + 4095, 4096);
    bytes += sparsec_bytes(block_count + 1, sizeof(int64_t));
    return bytes;
}

int spmm_4_device(int64_t M, int64_t N, int64_t A2_count, const int32_t *A2_pos,
    const int32_t *A2_crd, const float *A_vals, const float *B_vals, float *C_vals, void *workspace,
    cudaStream_t stream) {
    (void)N;
    char *room = (char *)workspace;
    int64_t block_count = sparsec_floordiv(A2_count + 4095, 4096);
    int64_t *A1_starts = (int64_t *)sparsec_take(&room, block_count + 1, sizeof(int64_t));
    SPARSEC_TRY(sparsec_launch(spmm_4_kernel1, sparsec_floordiv(block_count + 256, 256), 1, 1,
        dim3(256, 1, 1), stream, M, block_count, A2_pos, A1_starts));
    SPARSEC_TRY(sparsec_clear(C_vals, M * 4, sizeof *C_vals, stream));
    SPARSEC_TRY(sparsec_launch(spmm_4_kernel2, sparsec_floordiv(A2_count + 4095, 4096), 1, 1,
        dim3(256, 1, 1), stream, A2_count, A2_pos, A2_crd, A_vals, B_vals, C_vals, A1_starts));
    return SPARSEC_OK;
}

static const sparsec_level_spec spmm_4_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spmm_4_A_spec = {"A", SPARSEC_FLOAT32, 2, 32, spmm_4_A_levels, NULL};
static const sparsec_level_spec spmm_4_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec spmm_4_B_spec = {"B", SPARSEC_FLOAT32, 2, 32, spmm_4_B_levels, NULL};
static const sparsec_level_spec spmm_4_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec spmm_4_C_spec = {"C", SPARSEC_FLOAT32, 2, 32, spmm_4_C_levels, NULL};

int spmm_4(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &spmm_4_A_spec);
    if (error) return error;
    error = sparsec_check(B, &spmm_4_B_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("N", "B", B->dims[0], "A", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "B", B->dims[1], "the program", 4);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, 4};
    error = sparsec_shape_dense(C, &spmm_4_C_spec, C_dims);
    if (error) return error;
    int64_t A2_count = sparsec_parents(A, 2);
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const float *A_vals = (const float *)sparsec_upload_vals(&memory, A);
    const float *B_vals = (const float *)sparsec_upload_vals(&memory, B);
    float *C_vals = (float *)sparsec_room_vals(&memory, C);
    void *workspace = memory.room((int64_t)spmm_4_workspace(M, N, A2_count), 1);
    if (memory.error) return memory.error;
    error = spmm_4_device(M, N, A2_count, A2_pos, A2_crd, A_vals, B_vals, C_vals, workspace, 0);
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

static int smoke_spmm_4(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, 4};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &spmm_4_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &spmm_4_B_spec, B_dims, 2);
    if (!error) error = spmm_4(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = spmm_4(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("spmm_4", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_spmm_4(n, rounds);
    return failed;
}
#endif
