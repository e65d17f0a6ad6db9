/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "symmetric.h"

/* symmetric
 *   C(i, j) = A(i, j) + A(j, i)
 *   A: {dense, compressed}
 *   C: {dense, compressed}
 *   split(j_all, s0_block, s0_thread, 256)
 *   parallelize(s0_block, GPUBlock, NoRaces)
 *   parallelize(s0_thread, GPUThread, NoRaces)
 *   split(i, s0_2_block, s0_2_thread, 256)
 *   parallelize(s0_2_block, GPUBlock, NoRaces)
 *   parallelize(s0_2_thread, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) symmetric_kernel1(int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    int32_t *A_sorted_rows2_pos) {
    int64_t s0_block = blockIdx.x;
    int64_t s0_thread = threadIdx.x;
    if (s0_thread < sparsec_min_int64(256, N - s0_block * 256)) {
        int64_t j_all = s0_block * 256 + s0_thread;
        for (int64_t pA2 = A2_pos[j_all]; pA2 < A2_pos[j_all + 1]; pA2++) {
            int64_t i_all = A2_crd[pA2];
            sparsec_atomic(&A_sorted_rows2_pos[i_all + 1], 1, sparsec_add());
        }
    }
}

static __global__ void __launch_bounds__(256, 4) symmetric_kernel2(int64_t N,
    const int32_t *SPARSEC_RESTRICT A_sorted_rows2_pos, int32_t *A_sorted_rows2_next) {
    int64_t block = blockIdx.x;
    int64_t k = block * 256 + threadIdx.x;
    if (k < N) {
        A_sorted_rows2_next[k] = (int32_t)A_sorted_rows2_pos[k];
    }
}

static __global__ void __launch_bounds__(256, 4) symmetric_kernel3(int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, int32_t *A_sorted_rows2_crd, double *A_sorted_rows_vals,
    int32_t *A_sorted_rows2_next) {
    int64_t s0_block = blockIdx.x;
    int64_t s0_thread = threadIdx.x;
    if (s0_thread < sparsec_min_int64(256, N - s0_block * 256)) {
        int64_t j_all = s0_block * 256 + s0_thread;
        for (int64_t pA2 = A2_pos[j_all]; pA2 < A2_pos[j_all + 1]; pA2++) {
            int64_t i_all = A2_crd[pA2];
            int64_t pA_sorted_rows2 = sparsec_next(&A_sorted_rows2_next[i_all]);
            A_sorted_rows_vals[pA_sorted_rows2] = A_vals[pA2];
            A_sorted_rows2_crd[pA_sorted_rows2] = (int32_t)j_all;
        }
    }
}

static __global__ void __launch_bounds__(256, 4) symmetric_kernel4(const int32_t *SPARSEC_RESTRICT A_sorted_rows2_pos,
    int32_t *A_sorted_rows2_crd, double *A_sorted_rows_vals) {
    __shared__ int64_t scratch[256];
    __shared__ uint64_t sorting[2048];
    int64_t k = blockIdx.x;
    int64_t pA_sorted_rows2_begin = A_sorted_rows2_pos[k];
    int64_t A_sorted_rows2_length = A_sorted_rows2_pos[k + 1] - pA_sorted_rows2_begin;
    int32_t *A_sorted_rows2_row = A_sorted_rows2_crd + pA_sorted_rows2_begin;
    double *A_sorted_rows_row = A_sorted_rows_vals + pA_sorted_rows2_begin;
    int64_t late = 0;
    int64_t late_before = late;
    late = INT64_MIN;
    for (int64_t e = 1 + threadIdx.x; e < A_sorted_rows2_length; e += 256) {
        late = sparsec_max_int64(late, A_sorted_rows2_row[e] < A_sorted_rows2_row[e - 1] ? 1 : 0);
    }
    late = sparsec_reduce_lanes<32>(late, sparsec_max());
    late = sparsec_reduce_strided<8, 32>(late, sparsec_max(), scratch);
    late = sparsec_max_int64(late, late_before);
    __syncthreads();
    if (0 < late) {
        {
            int32_t *const sparsec_by[] = {A_sorted_rows2_row};
            sparsec_sort_together(A_sorted_rows2_length, 1, sparsec_by, A_sorted_rows_row, sorting,
                sizeof sorting);
        }
    }
}

static __global__ void __launch_bounds__(256, 4) symmetric_kernel5(int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd, int32_t *C2_pos,
    const int32_t *SPARSEC_RESTRICT A_sorted_rows2_pos,
    const int32_t *SPARSEC_RESTRICT A_sorted_rows2_crd) {
    int64_t s0_2_block = blockIdx.x;
    int64_t s0_2_thread = threadIdx.x;
    if (s0_2_thread < sparsec_min_int64(256, N - s0_2_block * 256)) {
        int64_t pC2 = 0;
        int64_t i = s0_2_block * 256 + s0_2_thread;
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pA_sorted_rows2 = A_sorted_rows2_pos[i];
        int64_t pA_sorted_rows2_end = A_sorted_rows2_pos[i + 1];
        while (pA2 < pA2_end && pA_sorted_rows2 < pA_sorted_rows2_end) {
            int64_t jA = A2_crd[pA2];
            int64_t jA_sorted_rows = A_sorted_rows2_crd[pA_sorted_rows2];
            int64_t j = sparsec_min_int64(jA, jA_sorted_rows);
            pC2++;
            pA2 += jA == j;
            pA_sorted_rows2 += jA_sorted_rows == j;
        }
        while (pA2 < pA2_end) {
            pC2++;
            pA2++;
        }
        while (pA_sorted_rows2 < pA_sorted_rows2_end) {
            pC2++;
            pA_sorted_rows2++;
        }
        C2_pos[s0_2_block * 256 + s0_2_thread + 1] = (int32_t)pC2;
    }
}

static __global__ void __launch_bounds__(256, 4) symmetric_kernel6(int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const int32_t *SPARSEC_RESTRICT C2_pos, int32_t *C2_crd,
    double *C_vals, const int32_t *SPARSEC_RESTRICT A_sorted_rows2_pos,
    const int32_t *SPARSEC_RESTRICT A_sorted_rows2_crd,
    const double *SPARSEC_RESTRICT A_sorted_rows_vals) {
    int64_t s0_2_block = blockIdx.x;
    int64_t s0_2_thread = threadIdx.x;
    if (s0_2_thread < sparsec_min_int64(256, N - s0_2_block * 256)) {
        int64_t pC2 = C2_pos[s0_2_block * 256 + s0_2_thread];
        int64_t i = s0_2_block * 256 + s0_2_thread;
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pA_sorted_rows2 = A_sorted_rows2_pos[i];
        int64_t pA_sorted_rows2_end = A_sorted_rows2_pos[i + 1];
        while (pA2 < pA2_end && pA_sorted_rows2 < pA_sorted_rows2_end) {
            int64_t jA = A2_crd[pA2];
            int64_t jA_sorted_rows = A_sorted_rows2_crd[pA_sorted_rows2];
            int64_t j = sparsec_min_int64(jA, jA_sorted_rows);
            if (jA == j && jA_sorted_rows == j) {
                C_vals[pC2] = A_vals[pA2] + A_sorted_rows_vals[pA_sorted_rows2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            } else if (jA == j) {
                C_vals[pC2] = A_vals[pA2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            } else {
                C_vals[pC2] = A_sorted_rows_vals[pA_sorted_rows2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            }
            pA2 += jA == j;
            pA_sorted_rows2 += jA_sorted_rows == j;
        }
        while (pA2 < pA2_end) {
            int64_t j = A2_crd[pA2];
            C_vals[pC2] = A_vals[pA2];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
            pA2++;
        }
        while (pA_sorted_rows2 < pA_sorted_rows2_end) {
            int64_t j = A_sorted_rows2_crd[pA_sorted_rows2];
            C_vals[pC2] = A_sorted_rows_vals[pA_sorted_rows2];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
            pA_sorted_rows2++;
        }
    }
}

static int symmetric_run(int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, int32_t **C2_pos_out, int32_t **C2_crd_out, double **C_vals_out,
    sparsec_memory *memory, cudaStream_t stream) {
    int32_t *C2_pos = NULL;
    int32_t *C2_crd = NULL;
    double *C_vals = NULL;
    int64_t *totals = (int64_t *)memory->room(1, sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    int64_t *totals2 = (int64_t *)memory->room(1, sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    int32_t *A_sorted_rows2_next = (int32_t *)memory->room(N, sizeof(int32_t));
    SPARSEC_TRY(memory->error);
    int32_t *A_sorted_rows2_pos = (int32_t *)memory->room(N + 1, sizeof(int32_t));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_clear(A_sorted_rows2_pos, N + 1, sizeof *A_sorted_rows2_pos, stream));
    SPARSEC_TRY(sparsec_launch(symmetric_kernel1, sparsec_floordiv(N + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, N, A2_pos, A2_crd, A_sorted_rows2_pos));
    int64_t *sums = (int64_t *)memory->room(sparsec_floordiv(N + 2048, 2048), sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_running_sums(A_sorted_rows2_pos + 1, N, sums, totals, stream));
    int64_t counted[1];
    SPARSEC_TRY(sparsec_fetch(counted, totals, 1, sizeof *counted, stream));
    int64_t A_sorted_rows2_count = counted[0];
    if (2147483647 < A_sorted_rows2_count) return SPARSEC_INDEX_OVERFLOW;
    int32_t *A_sorted_rows2_crd = (int32_t *)memory->room(A_sorted_rows2_count, sizeof(int32_t));
    SPARSEC_TRY(memory->error);
    double *A_sorted_rows_vals = (double *)memory->room(A_sorted_rows2_count, sizeof(double));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_launch(symmetric_kernel2, sparsec_floordiv(N + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, N, A_sorted_rows2_pos, A_sorted_rows2_next));
    SPARSEC_TRY(sparsec_launch(symmetric_kernel3, sparsec_floordiv(N + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, N, A2_pos, A2_crd, A_vals, A_sorted_rows2_crd, A_sorted_rows_vals,
        A_sorted_rows2_next));
    SPARSEC_TRY(sparsec_launch(symmetric_kernel4, N, 1, 1, dim3(256, 1, 1), stream, A_sorted_rows2_pos,
        A_sorted_rows2_crd, A_sorted_rows_vals));
    SPARSEC_TRY(memory->resize((void **)&C2_pos, N + 1, sizeof *C2_pos));
    SPARSEC_TRY(sparsec_clear(C2_pos, N + 1, sizeof *C2_pos, stream));
    SPARSEC_TRY(sparsec_launch(symmetric_kernel5, sparsec_floordiv(N + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, N, A2_pos, A2_crd, C2_pos, A_sorted_rows2_pos, A_sorted_rows2_crd));
    int64_t *sums2 = (int64_t *)memory->room(sparsec_floordiv(N + 2048, 2048), sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_running_sums(C2_pos + 1, N, sums2, totals2, stream));
    int64_t counted2[1];
    SPARSEC_TRY(sparsec_fetch(counted2, totals2, 1, sizeof *counted2, stream));
    int64_t C2_count = counted2[0];
    if (2147483647 < C2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(memory->resize((void **)&C2_crd, C2_count, sizeof *C2_crd));
    SPARSEC_TRY(memory->resize((void **)&C_vals, C2_count, sizeof *C_vals));
    SPARSEC_TRY(sparsec_launch(symmetric_kernel6, sparsec_floordiv(N + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, N, A2_pos, A2_crd, A_vals, C2_pos, C2_crd, C_vals, A_sorted_rows2_pos,
        A_sorted_rows2_crd, A_sorted_rows_vals));
    *C2_pos_out = C2_pos;
    *C2_crd_out = C2_crd;
    *C_vals_out = C_vals;
    return SPARSEC_OK;
}

static const sparsec_level_spec symmetric_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec symmetric_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, symmetric_A_levels, NULL};
static const sparsec_level_spec symmetric_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec symmetric_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, symmetric_C_levels, NULL};

int symmetric(const sparsec_tensor *A, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &symmetric_A_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t N = A->dims[0];
    error = sparsec_same_size("N", "A", A->dims[1], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, C};
    error = sparsec_apart(C, "C", tensors, 2);
    if (error) return error;
    int64_t C_dims[] = {N, N};
    error = sparsec_shape(C, &symmetric_C_spec, C_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    int32_t *C2_pos = NULL;
    int32_t *C2_crd = NULL;
    double *C_vals = NULL;
    if (memory.error) return memory.error;
    error = symmetric_run(N, A2_pos, A2_crd, A_vals, &C2_pos, &C2_crd, &C_vals, &memory, 0);
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

static int smoke_symmetric(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &symmetric_A_spec, A_dims, 1);
    if (!error) error = symmetric(&A, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = symmetric(&A, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("symmetric", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_symmetric(n, rounds);
    return failed;
}
#endif
