/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "hashed.h"

/* masked
 *   C(i, j) = A(i, j) * H(i, j)
 *   A: {dense, compressed}
 *   H: {dense, hashed}
 *   C: {dense, compressed}
 *   split(i, i0, i1, 256)
 *   parallelize(i0, GPUBlock, NoRaces)
 *   parallelize(i1, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) masked_kernel1(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    const int32_t *SPARSEC_RESTRICT H2_table, int32_t *C2_pos) {
    int64_t i0 = blockIdx.x;
    int64_t i1 = threadIdx.x;
    if (i1 < sparsec_min_int64(256, M - i0 * 256)) {
        int64_t pC2 = 0;
        int64_t i = i0 * 256 + i1;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            int64_t pH2_end = H2_pos[i + 1];
            int64_t pH2 = sparsec_look_up_int32(H2_table, H2_crd, H2_pos[i], pH2_end, j);
            bool has_H = pH2 < pH2_end;
            if (has_H) {
                pC2++;
            }
        }
        C2_pos[i0 * 256 + i1 + 1] = (int32_t)pC2;
    }
}

static __global__ void __launch_bounds__(256, 4) masked_kernel2(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const float *SPARSEC_RESTRICT A_vals, const int32_t *SPARSEC_RESTRICT H2_pos,
    const int32_t *SPARSEC_RESTRICT H2_crd, const int32_t *SPARSEC_RESTRICT H2_table,
    const float *SPARSEC_RESTRICT H_vals, const int32_t *SPARSEC_RESTRICT C2_pos, int32_t *C2_crd,
    float *C_vals) {
    int64_t i0 = blockIdx.x;
    int64_t i1 = threadIdx.x;
    if (i1 < sparsec_min_int64(256, M - i0 * 256)) {
        int64_t pC2 = C2_pos[i0 * 256 + i1];
        int64_t i = i0 * 256 + i1;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            int64_t pH2_end = H2_pos[i + 1];
            int64_t pH2 = sparsec_look_up_int32(H2_table, H2_crd, H2_pos[i], pH2_end, j);
            bool has_H = pH2 < pH2_end;
            if (has_H) {
                C_vals[pC2] = A_vals[pA2] * H_vals[pH2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            }
        }
    }
}

size_t masked_workspace(int64_t M, int64_t N) {
    (void)M; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(sparsec_floordiv(M + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int masked_count_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const float *A_vals, const int32_t *H2_pos, const int32_t *H2_crd, const int32_t *H2_table,
    const float *H_vals, int32_t *C2_pos, int64_t *totals, void *workspace, cudaStream_t stream) {
    (void)N; (void)A_vals; (void)H_vals;
    char *room = (char *)workspace;
    SPARSEC_TRY(sparsec_clear(C2_pos, M + 1, sizeof *C2_pos, stream));
    SPARSEC_TRY(sparsec_launch(masked_kernel1, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, A2_crd, H2_pos, H2_crd, H2_table, C2_pos));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(M + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(C2_pos + 1, M, sums, totals, stream));
    return SPARSEC_OK;
}

int masked_fill_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const float *A_vals, const int32_t *H2_pos, const int32_t *H2_crd, const int32_t *H2_table,
    const float *H_vals, int32_t *C2_pos, int32_t *C2_crd, float *C_vals, int64_t C2_count,
    void *workspace, cudaStream_t stream) {
    (void)N; (void)workspace;
    if (2147483647 < C2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(sparsec_launch(masked_kernel2, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, A2_crd, A_vals, H2_pos, H2_crd, H2_table, H_vals, C2_pos, C2_crd, C_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec masked_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec masked_A_spec = {"A", SPARSEC_FLOAT32, 2, 32, masked_A_levels, NULL};
static const sparsec_level_spec masked_H_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_HASHED, SPARSEC_UNORDERED, 1}};
static const sparsec_spec masked_H_spec = {"H", SPARSEC_FLOAT32, 2, 32, masked_H_levels, NULL};
static const sparsec_level_spec masked_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec masked_C_spec = {"C", SPARSEC_FLOAT32, 2, 32, masked_C_levels, NULL};

int masked(const sparsec_tensor *A, const sparsec_tensor *H, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &masked_A_spec);
    if (error) return error;
    error = sparsec_check(H, &masked_H_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("M", "H", H->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "H", H->dims[1], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, H, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape(C, &masked_C_spec, C_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const float *A_vals = (const float *)sparsec_upload_vals(&memory, A);
    const int32_t *H2_pos = (const int32_t *)sparsec_upload_pos(&memory, H, 1);
    const int32_t *H2_crd = (const int32_t *)sparsec_upload_crd(&memory, H, 1);
    const int32_t *H2_table = (const int32_t *)sparsec_upload_table(&memory, H, 1);
    const float *H_vals = (const float *)sparsec_upload_vals(&memory, H);
    int32_t *C2_pos = (int32_t *)memory.room(M + 1, sizeof(int32_t));
    void *workspace = memory.room((int64_t)masked_workspace(M, N), 1);
    int64_t *totals = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = masked_count_device(M, N, A2_pos, A2_crd, A_vals, H2_pos, H2_crd, H2_table, H_vals, C2_pos,
        totals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[1];
    error = sparsec_fetch(counted, totals, 1, sizeof *counted, 0);
    if (error) return error;
    int64_t C2_count = counted[0];
    if (2147483647 < C2_count) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    int32_t *C2_crd = (int32_t *)memory.room(C2_count, sizeof(int32_t));
    float *C_vals = (float *)memory.room(C2_count, sizeof(float));
    if (memory.error) return memory.error;
    error = masked_fill_device(M, N, A2_pos, A2_crd, A_vals, H2_pos, H2_crd, H2_table, H_vals, C2_pos,
        C2_crd, C_vals, C2_count, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_level(C, 1, C2_pos, C2_crd);
    if (error) return error;
    error = sparsec_download_result(C, C_vals);
    if (error) return error;
    return SPARSEC_OK;
}

/* entered
 *   H(i, j) = A(i, j)
 *   A: {dense, compressed}
 *   H: {dense, hashed}
 *   assemble(H, two_phase)
 *   parallelize(i, GPUBlock, NoRaces)
 */
static __global__ void __launch_bounds__(1, 16) entered_kernel1(const int32_t *SPARSEC_RESTRICT A2_pos,
    int32_t *H2_pos) {
    int64_t i = blockIdx.x;
    int64_t pH2 = 0;
    pH2 += A2_pos[i + 1] - A2_pos[i];
    H2_pos[i + 1] = (int32_t)pH2;
}

static __global__ void __launch_bounds__(1, 16) entered_kernel2(const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT H2_pos, int32_t *H2_crd, double *H_vals) {
    int64_t i = blockIdx.x;
    int64_t pH2 = H2_pos[i];
    for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
        int64_t j = A2_crd[pA2];
        H_vals[pH2] = A_vals[pA2];
        H2_crd[pH2] = (int32_t)j;
        pH2++;
    }
}

static __global__ void __launch_bounds__(256, 4) entered_kernel3(int64_t M,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    int32_t *H2_table) {
    int64_t block = blockIdx.x;
    int64_t k = block * 256 + threadIdx.x;
    if (k < M) {
        sparsec_enter_int32(H2_table, H2_crd, H2_pos[k], H2_pos[k + 1]);
    }
}

size_t entered_workspace(int64_t M, int64_t N) {
    (void)M; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(sparsec_floordiv(M + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int entered_count_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, int32_t *H2_pos, int64_t *totals, void *workspace, cudaStream_t stream) {
    (void)N; (void)A2_crd; (void)A_vals;
    char *room = (char *)workspace;
    SPARSEC_TRY(sparsec_clear(H2_pos, M + 1, sizeof *H2_pos, stream));
    SPARSEC_TRY(sparsec_launch(entered_kernel1, M, 1, 1, dim3(1, 1, 1), stream, A2_pos, H2_pos));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(M + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(H2_pos + 1, M, sums, totals, stream));
    return SPARSEC_OK;
}

int entered_fill_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, int32_t *H2_pos, int32_t *H2_crd, int32_t *H2_table, double *H_vals,
    int64_t H2_count, void *workspace, cudaStream_t stream) {
    (void)N; (void)workspace;
    if (2147483647 < H2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(sparsec_launch(entered_kernel2, M, 1, 1, dim3(1, 1, 1), stream, A2_pos, A2_crd, A_vals,
        H2_pos, H2_crd, H_vals));
    SPARSEC_TRY(sparsec_launch(entered_kernel3, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, H2_pos, H2_crd, H2_table));
    return SPARSEC_OK;
}

static const sparsec_level_spec entered_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec entered_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, entered_A_levels, NULL};
static const sparsec_level_spec entered_H_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_HASHED, SPARSEC_UNORDERED, 1}};
static const sparsec_spec entered_H_spec = {"H", SPARSEC_FLOAT64, 2, 32, entered_H_levels, NULL};

int entered(const sparsec_tensor *A, sparsec_tensor *H) {
    int error;
    error = sparsec_check(A, &entered_A_spec);
    if (error) return error;
    if (!H) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "H: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    const sparsec_tensor *const tensors[] = {A, H};
    error = sparsec_apart(H, "H", tensors, 2);
    if (error) return error;
    int64_t H_dims[] = {M, N};
    error = sparsec_shape(H, &entered_H_spec, H_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    int32_t *H2_pos = (int32_t *)memory.room(M + 1, sizeof(int32_t));
    void *workspace = memory.room((int64_t)entered_workspace(M, N), 1);
    int64_t *totals = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = entered_count_device(M, N, A2_pos, A2_crd, A_vals, H2_pos, totals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[1];
    error = sparsec_fetch(counted, totals, 1, sizeof *counted, 0);
    if (error) return error;
    int64_t H2_count = counted[0];
    if (2147483647 < H2_count) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    int32_t *H2_crd = (int32_t *)memory.room(H2_count, sizeof(int32_t));
    int32_t *H2_table = (int32_t *)memory.room(2 * H2_count, sizeof(int32_t));
    double *H_vals = (double *)memory.room(H2_count, sizeof(double));
    if (memory.error) return memory.error;
    error = entered_fill_device(M, N, A2_pos, A2_crd, A_vals, H2_pos, H2_crd, H2_table, H_vals,
        H2_count, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_level(H, 1, H2_pos, H2_crd);
    if (error) return error;
    error = sparsec_download_table(H, 1, H2_table);
    if (error) return error;
    error = sparsec_download_result(H, H_vals);
    if (error) return error;
    return SPARSEC_OK;
}

/* table_of_rows
 *   y(k) = H(r(k), c(k))
 *   H: {hashed, hashed}
 *   split(k, k0, k1, 256)
 *   parallelize(k0, GPUBlock, NoRaces)
 *   parallelize(k1, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) table_of_rows_kernel(int64_t K, int64_t H1_count,
    const int32_t *SPARSEC_RESTRICT H1_crd, const int32_t *SPARSEC_RESTRICT H1_table,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    const int32_t *SPARSEC_RESTRICT H2_table, const double *SPARSEC_RESTRICT H_vals,
    const int32_t *SPARSEC_RESTRICT r_vals, const int32_t *SPARSEC_RESTRICT c_vals,
    double *y_vals) {
    int64_t k0 = blockIdx.x;
    int64_t k1 = threadIdx.x;
    if (k1 < sparsec_min_int64(256, K - k0 * 256)) {
        int64_t k = k0 * 256 + k1;
        int64_t pH1 = sparsec_look_up_int32(H1_table, H1_crd, 0, H1_count, r_vals[k]);
        bool has_H = pH1 < H1_count;
        if (has_H) {
            int64_t pH2_end = H2_pos[pH1 + 1];
            int64_t pH2 = sparsec_look_up_int32(H2_table, H2_crd, H2_pos[pH1], pH2_end, c_vals[k]);
            bool has_H2 = pH2 < pH2_end;
            if (has_H2) {
                y_vals[k] = H_vals[pH2];
            }
        }
    }
}

size_t table_of_rows_workspace(int64_t M, int64_t N, int64_t K, int64_t H1_count) {
    (void)M; (void)N; (void)K; (void)H1_count;
    return 0;
}

int table_of_rows_device(int64_t M, int64_t N, int64_t K, int64_t H1_count, const int32_t *H1_pos,
    const int32_t *H1_crd, const int32_t *H1_table, const int32_t *H2_pos, const int32_t *H2_crd,
    const int32_t *H2_table, const double *H_vals, const int32_t *r_vals, const int32_t *c_vals,
    double *y_vals, void *workspace, cudaStream_t stream) {
    (void)M; (void)N; (void)H1_pos; (void)workspace;
    SPARSEC_TRY(sparsec_clear(y_vals, K, sizeof *y_vals, stream));
    SPARSEC_TRY(sparsec_launch(table_of_rows_kernel, sparsec_floordiv(K + 255, 256), 1, 1,
        dim3(256, 1, 1), stream, K, H1_count, H1_crd, H1_table, H2_pos, H2_crd, H2_table, H_vals,
        r_vals, c_vals, y_vals));
    return SPARSEC_OK;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int table_of_rows_check(int64_t M, int64_t N, int64_t K,
    const int32_t *SPARSEC_RESTRICT H1_pos, const int32_t *SPARSEC_RESTRICT H1_crd,
    const int32_t *SPARSEC_RESTRICT H1_table, const int32_t *SPARSEC_RESTRICT H2_pos,
    const int32_t *SPARSEC_RESTRICT H2_crd, const int32_t *SPARSEC_RESTRICT H2_table,
    const double *SPARSEC_RESTRICT H_vals, const int32_t *SPARSEC_RESTRICT r_vals,
    const int32_t *SPARSEC_RESTRICT c_vals) {
    (void)H1_pos; (void)H1_crd; (void)H1_table; (void)H2_pos; (void)H2_crd; (void)H2_table;
        (void)H_vals;
    bool out_of_range = false;
    for (int64_t k = 0; k < K; k++) {
        out_of_range |= (r_vals[k] < 0) | (r_vals[k] >= M);
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t k = 0; k < K; k++) {
        out_of_range |= (c_vals[k] < 0) | (c_vals[k] >= N);
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec table_of_rows_H_levels[] =
    {{SPARSEC_HASHED, SPARSEC_UNORDERED, 0}, {SPARSEC_HASHED, SPARSEC_UNORDERED, 1}};
static const sparsec_spec table_of_rows_H_spec = {"H", SPARSEC_FLOAT64, 2, 32, table_of_rows_H_levels, NULL};
static const sparsec_level_spec table_of_rows_r_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec table_of_rows_r_spec = {"r", SPARSEC_INT32, 1, 32, table_of_rows_r_levels, NULL};
static const sparsec_level_spec table_of_rows_c_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec table_of_rows_c_spec = {"c", SPARSEC_INT32, 1, 32, table_of_rows_c_levels, NULL};
static const sparsec_level_spec table_of_rows_y_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec table_of_rows_y_spec = {"y", SPARSEC_FLOAT64, 1, 32, table_of_rows_y_levels, NULL};

int table_of_rows(const sparsec_tensor *H, const sparsec_tensor *r, const sparsec_tensor *c,
    sparsec_tensor *y) {
    int error;
    error = sparsec_check(H, &table_of_rows_H_spec);
    if (error) return error;
    error = sparsec_check(r, &table_of_rows_r_spec);
    if (error) return error;
    error = sparsec_check(c, &table_of_rows_c_spec);
    if (error) return error;
    if (!y) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "y: no tensor given");
    int64_t M = H->dims[0];
    int64_t N = H->dims[1];
    int64_t K = r->dims[0];
    error = sparsec_same_size("K", "c", c->dims[0], "r", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {H, r, c, y};
    error = sparsec_apart(y, "y", tensors, 4);
    if (error) return error;
    int64_t y_dims[] = {K};
    error = sparsec_shape_dense(y, &table_of_rows_y_spec, y_dims);
    if (error) return error;
    error = table_of_rows_check(M, N, K, (const int32_t *)H->levels[0].pos,
        (const int32_t *)H->levels[0].crd, (const int32_t *)H->levels[0].table,
        (const int32_t *)H->levels[1].pos, (const int32_t *)H->levels[1].crd,
        (const int32_t *)H->levels[1].table, (const double *)H->vals, (const int32_t *)r->vals,
        (const int32_t *)c->vals);
    if (error) return sparsec_fail_code(error);
    int64_t H1_count = sparsec_parents(H, 1);
    sparsec_memory memory;
    const int32_t *H1_pos = (const int32_t *)sparsec_upload_pos(&memory, H, 0);
    const int32_t *H1_crd = (const int32_t *)sparsec_upload_crd(&memory, H, 0);
    const int32_t *H1_table = (const int32_t *)sparsec_upload_table(&memory, H, 0);
    const int32_t *H2_pos = (const int32_t *)sparsec_upload_pos(&memory, H, 1);
    const int32_t *H2_crd = (const int32_t *)sparsec_upload_crd(&memory, H, 1);
    const int32_t *H2_table = (const int32_t *)sparsec_upload_table(&memory, H, 1);
    const double *H_vals = (const double *)sparsec_upload_vals(&memory, H);
    const int32_t *r_vals = (const int32_t *)sparsec_upload_vals(&memory, r);
    const int32_t *c_vals = (const int32_t *)sparsec_upload_vals(&memory, c);
    double *y_vals = (double *)sparsec_room_vals(&memory, y);
    void *workspace = memory.room((int64_t)table_of_rows_workspace(M, N, K, H1_count), 1);
    if (memory.error) return memory.error;
    error = table_of_rows_device(M, N, K, H1_count, H1_pos, H1_crd, H1_table, H2_pos, H2_crd, H2_table,
        H_vals, r_vals, c_vals, y_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(y, y_vals);
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

static int smoke_masked(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor H = {};
    const int64_t H_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &masked_A_spec, A_dims, 1);
    error |= smoke_fill(&H, &masked_H_spec, H_dims, 2);
    if (!error) error = masked(&A, &H, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = masked(&A, &H, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("masked", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&H);
    sparsec_free_tensor(&C);
    return error;
}

static int smoke_entered(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor H = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &entered_A_spec, A_dims, 1);
    if (!error) error = entered(&A, &H);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = entered(&A, &H);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("entered", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&H);
    return error;
}

static int smoke_table_of_rows(int64_t n, int rounds) {
    sparsec_tensor H = {};
    const int64_t H_dims[] = {n, n};
    sparsec_tensor r = {};
    const int64_t r_dims[] = {n};
    sparsec_tensor c = {};
    const int64_t c_dims[] = {n};
    sparsec_tensor y = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&H, &table_of_rows_H_spec, H_dims, 1);
    error |= smoke_fill(&r, &table_of_rows_r_spec, r_dims, 2);
    error |= smoke_fill(&c, &table_of_rows_c_spec, c_dims, 3);
    if (!error) error = table_of_rows(&H, &r, &c, &y);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = table_of_rows(&H, &r, &c, &y);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("table_of_rows", error, best);
    sparsec_free_tensor(&H);
    sparsec_free_tensor(&r);
    sparsec_free_tensor(&c);
    sparsec_free_tensor(&y);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_masked(n, rounds);
    failed |= smoke_entered(n, rounds);
    failed |= smoke_table_of_rows(n, rounds);
    return failed;
}
#endif
