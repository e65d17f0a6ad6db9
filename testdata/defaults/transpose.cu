/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "transpose.h"

/* transpose
 *   B(j, i) = A(i, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   split(i, s0_block, s0_thread, 256)
 *   parallelize(s0_block, GPUBlock, NoRaces)
 *   parallelize(s0_thread, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) transpose_kernel1(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    int32_t *B2_pos) {
    int64_t s0_block = blockIdx.x;
    int64_t s0_thread = threadIdx.x;
    if (s0_thread < sparsec_min_int64(256, M - s0_block * 256)) {
        int64_t i = s0_block * 256 + s0_thread;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            sparsec_atomic(&B2_pos[j + 1], 1, sparsec_add());
        }
    }
}

static __global__ void __launch_bounds__(256, 4) transpose_kernel2(int64_t N,
    const int32_t *SPARSEC_RESTRICT B2_pos, int32_t *B2_next) {
    int64_t block = blockIdx.x;
    int64_t k = block * 256 + threadIdx.x;
    if (k < N) {
        B2_next[k] = (int32_t)B2_pos[k];
    }
}

static __global__ void __launch_bounds__(256, 4) transpose_kernel3(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, int32_t *B2_crd, double *B_vals, int32_t *B2_next) {
    int64_t s0_block = blockIdx.x;
    int64_t s0_thread = threadIdx.x;
    if (s0_thread < sparsec_min_int64(256, M - s0_block * 256)) {
        int64_t i = s0_block * 256 + s0_thread;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            int64_t pB2 = sparsec_next(&B2_next[j]);
            B_vals[pB2] = A_vals[pA2];
            B2_crd[pB2] = (int32_t)i;
        }
    }
}

static __global__ void __launch_bounds__(256, 4) transpose_kernel4(const int32_t *SPARSEC_RESTRICT B2_pos,
    int32_t *B2_crd, double *B_vals) {
    __shared__ int64_t scratch[256];
    __shared__ uint64_t sorting[2048];
    int64_t k = blockIdx.x;
    int64_t pB2_begin = B2_pos[k];
    int64_t B2_length = B2_pos[k + 1] - pB2_begin;
    int32_t *B2_row = B2_crd + pB2_begin;
    double *B_row = B_vals + pB2_begin;
    int64_t late = 0;
    int64_t late_before = late;
    late = INT64_MIN;
    for (int64_t e = 1 + threadIdx.x; e < B2_length; e += 256) {
        late = sparsec_max_int64(late, B2_row[e] < B2_row[e - 1] ? 1 : 0);
    }
    late = sparsec_reduce_lanes<32>(late, sparsec_max());
    late = sparsec_reduce_strided<8, 32>(late, sparsec_max(), scratch);
    late = sparsec_max_int64(late, late_before);
    __syncthreads();
    if (0 < late) {
        {
            int32_t *const sparsec_by[] = {B2_row};
            sparsec_sort_together(B2_length, 1, sparsec_by, B_row, sorting, sizeof sorting);
        }
    }
}

size_t transpose_workspace(int64_t M, int64_t N) {
    (void)M; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(N, sizeof(int32_t));
    bytes += sparsec_bytes(sparsec_floordiv(N + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int transpose_count_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, int32_t *B2_pos, int64_t *totals, void *workspace, cudaStream_t stream) {
    (void)A_vals;
    char *room = (char *)workspace;
    sparsec_take(&room, N, sizeof(int32_t));
    SPARSEC_TRY(sparsec_clear(B2_pos, N + 1, sizeof *B2_pos, stream));
    SPARSEC_TRY(sparsec_launch(transpose_kernel1, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, A2_crd, B2_pos));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(N + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(B2_pos + 1, N, sums, totals, stream));
    return SPARSEC_OK;
}

int transpose_fill_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, int32_t *B2_pos, int32_t *B2_crd, double *B_vals, int64_t B2_count,
    void *workspace, cudaStream_t stream) {
    char *room = (char *)workspace;
    int32_t *B2_next = (int32_t *)sparsec_take(&room, N, sizeof(int32_t));
    if (2147483647 < B2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(sparsec_launch(transpose_kernel2, sparsec_floordiv(N + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, N, B2_pos, B2_next));
    SPARSEC_TRY(sparsec_launch(transpose_kernel3, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, A2_crd, A_vals, B2_crd, B_vals, B2_next));
    SPARSEC_TRY(sparsec_launch(transpose_kernel4, N, 1, 1, dim3(256, 1, 1), stream, B2_pos, B2_crd,
        B_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec transpose_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec transpose_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, transpose_A_levels, NULL};
static const sparsec_level_spec transpose_B_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec transpose_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, transpose_B_levels, NULL};

int transpose(const sparsec_tensor *A, sparsec_tensor *B) {
    int error;
    error = sparsec_check(A, &transpose_A_spec);
    if (error) return error;
    if (!B) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "B: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    const sparsec_tensor *const tensors[] = {A, B};
    error = sparsec_apart(B, "B", tensors, 2);
    if (error) return error;
    int64_t B_dims[] = {N, M};
    error = sparsec_shape(B, &transpose_B_spec, B_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    int32_t *B2_pos = (int32_t *)memory.room(N + 1, sizeof(int32_t));
    void *workspace = memory.room((int64_t)transpose_workspace(M, N), 1);
    int64_t *totals = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = transpose_count_device(M, N, A2_pos, A2_crd, A_vals, B2_pos, totals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[1];
    error = sparsec_fetch(counted, totals, 1, sizeof *counted, 0);
    if (error) return error;
    int64_t B2_count = counted[0];
    if (2147483647 < B2_count) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    int32_t *B2_crd = (int32_t *)memory.room(B2_count, sizeof(int32_t));
    double *B_vals = (double *)memory.room(B2_count, sizeof(double));
    if (memory.error) return memory.error;
    error = transpose_fill_device(M, N, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, B2_count,
        workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_level(B, 1, B2_pos, B2_crd);
    if (error) return error;
    error = sparsec_download_result(B, B_vals);
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

static int smoke_transpose(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &transpose_A_spec, A_dims, 1);
    if (!error) error = transpose(&A, &B);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = transpose(&A, &B);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("transpose", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_transpose(n, rounds);
    return failed;
}
#endif
