/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "spgemm.h"

/* spgemm
 *   C(i, j) +=! A(i, k) * B(k, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   C: {dense, compressed}
 *   parallelize(i, GPUBlock, NoRaces)
 *   parallelize(k, GPUWarp, Atomics)
 *   parallelize(j, GPUThread, Atomics)
 */
static __global__ void __launch_bounds__(256, 4) spgemm_kernel1(int64_t M, int64_t N,
    int64_t C_row_most, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, int32_t *C2_pos, int32_t *C_row1_crd_all,
    int32_t *C_row_table_all) {
    __shared__ int64_t scratch[256];
    for (int64_t i = blockIdx.x; i < M; i += 1024) {
        int64_t pC2 = 0;
        int32_t *C_row1_crd = C_row1_crd_all + blockIdx.x * C_row_most;
        int32_t *C_row_table = C_row_table_all + blockIdx.x * sparsec_min_int64(2 * C_row_most, N);
        __shared__ int32_t C_row_met[1];
        int64_t C_row_trips = 0;
        for (int64_t pA2 = A2_pos[i] + threadIdx.x / 32; pA2 < A2_pos[i + 1]; pA2 += 8) {
            int64_t k = A2_crd[pA2];
            C_row_trips += sparsec_max_int64(B2_pos[k + 1] - B2_pos[k], 0);
        }
        C_row_trips = sparsec_reduce_strided<8, 32>(C_row_trips, sparsec_add(), scratch);
        int64_t C_row_slots = sparsec_min_int64(2 * C_row_trips,
            sparsec_min_int64(2 * C_row_most, N));
        __syncthreads();
        for (int64_t k = threadIdx.x; k < C_row_slots; k += 256) {
            C_row_table[k] = -1;
        }
        if (threadIdx.x == 0) {
            C_row_met[0] = 0;
        }
        __syncthreads();
        for (int64_t pA2 = A2_pos[i] + threadIdx.x / 32; pA2 < A2_pos[i + 1]; pA2 += 8) {
            int64_t k = A2_crd[pA2];
            for (int64_t pB2 = B2_pos[k] + threadIdx.x % 32; pB2 < B2_pos[k + 1]; pB2 += 32) {
                int64_t j = B2_crd[pB2];
                sparsec_claim<int32_t>(C_row_table, C_row_slots, N, j, C_row_met, C_row1_crd, NULL);
            }
        }
        __syncthreads();
        int64_t C_row_count = C_row_met[0];
        pC2 += C_row_count;
        if (threadIdx.x == 0) {
            C2_pos[i + 1] = (int32_t)pC2;
        }
    }
}

static __global__ void __launch_bounds__(256, 4) spgemm_kernel2(int64_t M, int64_t N,
    int64_t C_row_most, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, const int32_t *SPARSEC_RESTRICT C2_pos, int32_t *C2_crd,
    double *C_vals, int32_t *C_row1_crd_all, int32_t *C_row_places_all, int32_t *C_row_table_all,
    double *C_row_vals_all) {
    __shared__ uint64_t sorting[2048];
    for (int64_t i = blockIdx.x; i < M; i += 1024) {
        int64_t pC2 = C2_pos[i];
        int64_t C2_end = C2_pos[i + 1];
        int32_t *C_row1_crd = C_row1_crd_all + blockIdx.x * C_row_most;
        int32_t *C_row_places = C_row_places_all + blockIdx.x * C_row_most;
        int32_t *C_row_table = C_row_table_all + blockIdx.x * sparsec_min_int64(2 * C_row_most, N);
        double *C_row_vals = C_row_vals_all + blockIdx.x * sparsec_min_int64(2 * C_row_most, N);
        __shared__ int32_t C_row_met[1];
        int64_t C_row_slots = sparsec_min_int64(2 * (C2_end - pC2),
            sparsec_min_int64(2 * C_row_most, N));
        __syncthreads();
        for (int64_t k = threadIdx.x; k < C_row_slots; k += 256) {
            C_row_table[k] = -1;
        }
        for (int64_t k = threadIdx.x; k < C_row_slots; k += 256) {
            C_row_vals[k] = 0.0;
        }
        if (threadIdx.x == 0) {
            C_row_met[0] = 0;
        }
        __syncthreads();
        for (int64_t pA2 = A2_pos[i] + threadIdx.x / 32; pA2 < A2_pos[i + 1]; pA2 += 8) {
            int64_t k = A2_crd[pA2];
            for (int64_t pB2 = B2_pos[k] + threadIdx.x % 32; pB2 < B2_pos[k + 1]; pB2 += 32) {
                int64_t j = B2_crd[pB2];
                int64_t slot = sparsec_claim<int32_t>(C_row_table, C_row_slots, N, j, C_row_met,
                    C_row1_crd, C_row_places);
                sparsec_atomic(&C_row_vals[slot], A_vals[pA2] * B_vals[pB2], sparsec_add());
            }
        }
        __syncthreads();
        int64_t C_row_count = C_row_met[0];
        {
            int32_t *const sparsec_by[] = {C_row1_crd};
            sparsec_sort_together(C_row_count, 1, sparsec_by, C_row_places, sorting,
                sizeof sorting);
        }
        __syncthreads();
        for (int64_t pC_row1 = threadIdx.x; pC_row1 < C_row_count; pC_row1 += 256) {
            int64_t j = C_row1_crd[pC_row1];
            C_vals[pC2 + pC_row1] = C_row_vals[C_row_places[pC_row1]];
            C2_crd[pC2 + pC_row1] = (int32_t)j;
        }
        pC2 += C_row_count;
    }
}

size_t spgemm_workspace(int64_t M, int64_t K, int64_t N, int64_t B2_count) {
    (void)M; (void)K; (void)N; (void)B2_count;
    size_t bytes = 0;
    int64_t C_row_most = sparsec_min_int64(B2_count, N);
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024), C_row_most), sizeof(int32_t));
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024), C_row_most), sizeof(int32_t));
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024),
        sparsec_min_int64(2 * C_row_most, N)), sizeof(int32_t));
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024),
        sparsec_min_int64(2 * C_row_most, N)), sizeof(double));
    bytes += sparsec_bytes(sparsec_floordiv(M + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int spgemm_count_device(int64_t M, int64_t K, int64_t N, int64_t B2_count, const int32_t *A2_pos,
    const int32_t *A2_crd, const double *A_vals, const int32_t *B2_pos, const int32_t *B2_crd,
    const double *B_vals, int32_t *C2_pos, int64_t *totals, void *workspace, cudaStream_t stream) {
    (void)K; (void)A_vals; (void)B_vals;
    char *room = (char *)workspace;
    int64_t C_row_most = sparsec_min_int64(B2_count, N);
    int32_t *C_row1_crd_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), C_row_most),
        sizeof(int32_t));
    sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), C_row_most), sizeof(int32_t));
    int32_t *C_row_table_all =
        (int32_t *)sparsec_take(&room,
        sparsec_times(sparsec_min_int64(M, 1024), sparsec_min_int64(2 * C_row_most, N)),
        sizeof(int32_t));
    sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024),
        sparsec_min_int64(2 * C_row_most, N)), sizeof(double));
    SPARSEC_TRY(sparsec_clear(C2_pos, M + 1, sizeof *C2_pos, stream));
    SPARSEC_TRY(sparsec_launch(spgemm_kernel1, sparsec_min_int64(M, 1024), 1, 1, dim3(256, 1, 1),
        stream, M, N, C_row_most, A2_pos, A2_crd, B2_pos, B2_crd, C2_pos, C_row1_crd_all,
        C_row_table_all));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(M + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(C2_pos + 1, M, sums, totals, stream));
    return SPARSEC_OK;
}

int spgemm_fill_device(int64_t M, int64_t K, int64_t N, int64_t B2_count, const int32_t *A2_pos,
    const int32_t *A2_crd, const double *A_vals, const int32_t *B2_pos, const int32_t *B2_crd,
    const double *B_vals, int32_t *C2_pos, int32_t *C2_crd, double *C_vals, int64_t C2_count,
    void *workspace, cudaStream_t stream) {
    (void)K;
    char *room = (char *)workspace;
    int64_t C_row_most = sparsec_min_int64(B2_count, N);
    int32_t *C_row1_crd_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), C_row_most),
        sizeof(int32_t));
    int32_t *C_row_places_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), C_row_most),
        sizeof(int32_t));
    int32_t *C_row_table_all =
        (int32_t *)sparsec_take(&room,
        sparsec_times(sparsec_min_int64(M, 1024), sparsec_min_int64(2 * C_row_most, N)),
        sizeof(int32_t));
    double *C_row_vals_all =
        (double *)sparsec_take(&room,
        sparsec_times(sparsec_min_int64(M, 1024), sparsec_min_int64(2 * C_row_most, N)),
        sizeof(double));
    if (2147483647 < C2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(sparsec_launch(spgemm_kernel2, sparsec_min_int64(M, 1024), 1, 1, dim3(256, 1, 1),
        stream, M, N, C_row_most, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, C2_crd,
        C_vals, C_row1_crd_all, C_row_places_all, C_row_table_all, C_row_vals_all));
    return SPARSEC_OK;
}

static const sparsec_level_spec spgemm_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spgemm_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, spgemm_A_levels, NULL};
static const sparsec_level_spec spgemm_B_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spgemm_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, spgemm_B_levels, NULL};
static const sparsec_level_spec spgemm_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spgemm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, spgemm_C_levels, NULL};

int spgemm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &spgemm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &spgemm_B_spec);
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
    error = sparsec_shape(C, &spgemm_C_spec, C_dims);
    if (error) return error;
    int64_t B2_count = sparsec_parents(B, 2);
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const int32_t *B2_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 1);
    const int32_t *B2_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 1);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    int32_t *C2_pos = (int32_t *)memory.room(M + 1, sizeof(int32_t));
    void *workspace = memory.room((int64_t)spgemm_workspace(M, K, N, B2_count), 1);
    int64_t *totals = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = spgemm_count_device(M, K, N, B2_count, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals,
        C2_pos, totals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[1];
    error = sparsec_fetch(counted, totals, 1, sizeof *counted, 0);
    if (error) return error;
    int64_t C2_count = counted[0];
    if (2147483647 < C2_count) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    int32_t *C2_crd = (int32_t *)memory.room(C2_count, sizeof(int32_t));
    double *C_vals = (double *)memory.room(C2_count, sizeof(double));
    if (memory.error) return memory.error;
    error = spgemm_fill_device(M, K, N, B2_count, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals,
        C2_pos, C2_crd, C_vals, C2_count, workspace, 0);
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

static int smoke_spgemm(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &spgemm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &spgemm_B_spec, B_dims, 2);
    if (!error) error = spgemm(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = spgemm(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("spgemm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_spgemm(n, rounds);
    return failed;
}
#endif
