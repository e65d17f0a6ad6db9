/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "once.h"

/* galerkin_values
 *   C(i, j) +=! A(i, k) * P(k, j)
 *   A: {dense, compressed}
 *   P: {dense, compressed}
 *   C: {dense, compressed}
 *   assemble(C, once)
 *   parallelize(i, GPUBlock, NoRaces)
 */
static __global__ void __launch_bounds__(1, 16) galerkin_values_kernel1(int64_t M, int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const int32_t *SPARSEC_RESTRICT P2_pos,
    const int32_t *SPARSEC_RESTRICT P2_crd, const double *SPARSEC_RESTRICT P_vals,
    const int32_t *SPARSEC_RESTRICT C2_pos, const int32_t *SPARSEC_RESTRICT C2_crd, double *C_vals,
    int32_t *C_row_places_all, bool *changed) {
    bool changed2 = false;
    for (int64_t i = blockIdx.x; i < M; i += 1024) {
        int64_t pC2_begin = C2_pos[i];
        int64_t pC2_end = C2_pos[i + 1];
        int32_t *C_row_places = C_row_places_all + blockIdx.x * N;
        for (int64_t pC2 = pC2_begin; pC2 < pC2_end; pC2++) {
            C_row_places[C2_crd[pC2]] = (int32_t)(pC2 + 1);
            C_vals[pC2] = 0.0;
        }
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t k = A2_crd[pA2];
            for (int64_t pP2 = P2_pos[k]; pP2 < P2_pos[k + 1]; pP2++) {
                int64_t j = P2_crd[pP2];
                int64_t pC_row = C_row_places[j];
                if (pC_row == 0) {
                    changed2 = true;
                } else {
                    C_vals[pC_row - 1] += A_vals[pA2] * P_vals[pP2];
                }
            }
        }
        for (int64_t pC2 = pC2_begin; pC2 < pC2_end; pC2++) {
            C_row_places[C2_crd[pC2]] = 0;
        }
    }
    sparsec_atomic(&changed[0], changed2, sparsec_or());
}

static __global__ void __launch_bounds__(1, 16) galerkin_values_kernel2(const bool *SPARSEC_RESTRICT changed,
    int64_t *needs) {
    needs[0] = 0;
    if (changed[0]) {
        needs[0] = 7;
    }
}

size_t galerkin_values_workspace(int64_t M, int64_t K, int64_t N) {
    (void)M; (void)K; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(1, sizeof(bool));
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024), N), sizeof(int32_t));
    return bytes;
}

int galerkin_values_device(int64_t M, int64_t K, int64_t N, const int32_t *A2_pos,
    const int32_t *A2_crd, const double *A_vals, const int32_t *P2_pos, const int32_t *P2_crd,
    const double *P_vals, const int32_t *C2_pos, const int32_t *C2_crd, double *C_vals,
    int64_t *status, void *workspace, cudaStream_t stream) {
    (void)K;
    char *room = (char *)workspace;
    bool *changed = (bool *)sparsec_take(&room, 1, sizeof(bool));
    int32_t *C_row_places_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), N),
        sizeof(int32_t));
    SPARSEC_TRY(sparsec_clear(C_row_places_all, sparsec_times(sparsec_min_int64(M, 1024), N),
        sizeof *C_row_places_all, stream));
    SPARSEC_TRY(sparsec_clear(changed, 1, sizeof *changed, stream));
    SPARSEC_TRY(sparsec_launch(galerkin_values_kernel1, sparsec_min_int64(M, 1024), 1, 1, dim3(1, 1, 1),
        stream, M, N, A2_pos, A2_crd, A_vals, P2_pos, P2_crd, P_vals, C2_pos, C2_crd, C_vals,
        C_row_places_all, changed));
    SPARSEC_TRY(sparsec_launch(galerkin_values_kernel2, 1, 1, 1, dim3(1, 1, 1), stream, changed,
        status));
    return SPARSEC_OK;
}

static const sparsec_level_spec galerkin_values_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec galerkin_values_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, galerkin_values_A_levels, NULL};
static const sparsec_level_spec galerkin_values_P_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec galerkin_values_P_spec = {"P", SPARSEC_FLOAT64, 2, 32, galerkin_values_P_levels, NULL};
static const sparsec_level_spec galerkin_values_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec galerkin_values_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, galerkin_values_C_levels, NULL};

int galerkin_values(const sparsec_tensor *A, const sparsec_tensor *P, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &galerkin_values_A_spec);
    if (error) return error;
    error = sparsec_check(P, &galerkin_values_P_spec);
    if (error) return error;
    error = sparsec_check(C, &galerkin_values_C_spec);
    if (error) return error;
    int64_t M = A->dims[0];
    int64_t K = A->dims[1];
    int64_t N = P->dims[1];
    error = sparsec_same_size("K", "P", P->dims[0], "A", K);
    if (error) return error;
    error = sparsec_same_size("M", "C", C->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "C", C->dims[1], "P", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, P, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const int32_t *P2_pos = (const int32_t *)sparsec_upload_pos(&memory, P, 1);
    const int32_t *P2_crd = (const int32_t *)sparsec_upload_crd(&memory, P, 1);
    const double *P_vals = (const double *)sparsec_upload_vals(&memory, P);
    const int32_t *C2_pos = (const int32_t *)sparsec_upload_pos(&memory, C, 1);
    const int32_t *C2_crd = (const int32_t *)sparsec_upload_crd(&memory, C, 1);
    double *C_vals = (double *)sparsec_room_vals(&memory, C);
    void *workspace = memory.room((int64_t)galerkin_values_workspace(M, K, N), 1);
    int64_t *status = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = galerkin_values_device(M, K, N, A2_pos, A2_crd, A_vals, P2_pos, P2_crd, P_vals, C2_pos,
        C2_crd, C_vals, status, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t told[1];
    error = sparsec_fetch(told, status, 1, sizeof *told, 0);
    if (error) return error;
    if (told[0]) return sparsec_fail_code((int)told[0]);
    error = sparsec_download_vals(C, C_vals);
    if (error) return error;
    return SPARSEC_OK;
}

/* galerkin
 *   C(i, j) +=! A(i, k) * P(k, j)
 *   A: {dense, compressed}
 *   P: {dense, compressed}
 *   C: {dense, compressed}
 *   assemble(C, once)
 *   parallelize(i, GPUBlock, NoRaces)
 */
static __global__ void __launch_bounds__(1, 16) galerkin_kernel1(int64_t M, int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const int32_t *SPARSEC_RESTRICT P2_pos, const int32_t *SPARSEC_RESTRICT P2_crd, int32_t *C2_pos,
    int32_t *C_row1_crd_all, int32_t *C_row_places_all) {
    for (int64_t i = blockIdx.x; i < M; i += 1024) {
        int64_t pC2 = 0;
        int32_t *C_row1_crd = C_row1_crd_all + blockIdx.x * N;
        int32_t *C_row_places = C_row_places_all + blockIdx.x * N;
        int64_t C_row_count = 0;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t k = A2_crd[pA2];
            for (int64_t pP2 = P2_pos[k]; pP2 < P2_pos[k + 1]; pP2++) {
                int64_t j = P2_crd[pP2];
                if (C_row_places[j] == 0) {
                    C_row1_crd[C_row_count] = (int32_t)j;
                    C_row_count++;
                    C_row_places[j] = (int32_t)C_row_count;
                }
            }
        }
        for (int64_t p = 0; p < C_row_count; p++) {
            C_row_places[C_row1_crd[p]] = 0;
        }
        pC2 += C_row_count;
        C2_pos[i + 1] = (int32_t)pC2;
    }
}

static __global__ void __launch_bounds__(1, 16) galerkin_kernel2(int64_t M, int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const int32_t *SPARSEC_RESTRICT P2_pos,
    const int32_t *SPARSEC_RESTRICT P2_crd, const double *SPARSEC_RESTRICT P_vals,
    const int32_t *SPARSEC_RESTRICT C2_pos, int32_t *C2_crd, double *C_vals,
    int32_t *C_row1_crd_all, double *C_row_vals_all, int32_t *C_row_places_all) {
    for (int64_t i = blockIdx.x; i < M; i += 1024) {
        int64_t pC2 = C2_pos[i];
        int32_t *C_row1_crd = C_row1_crd_all + blockIdx.x * N;
        double *C_row_vals = C_row_vals_all + blockIdx.x * N;
        int32_t *C_row_places = C_row_places_all + blockIdx.x * N;
        int64_t C_row_count = 0;
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t k = A2_crd[pA2];
            for (int64_t pP2 = P2_pos[k]; pP2 < P2_pos[k + 1]; pP2++) {
                int64_t j = P2_crd[pP2];
                int64_t pC_row = C_row_places[j];
                if (pC_row == 0) {
                    C_row1_crd[C_row_count] = (int32_t)j;
                    C_row_vals[C_row_count] = A_vals[pA2] * P_vals[pP2];
                    C_row_count++;
                    C_row_places[j] = (int32_t)C_row_count;
                } else {
                    C_row_vals[pC_row - 1] += A_vals[pA2] * P_vals[pP2];
                }
            }
        }
        for (int64_t p = 0; p < C_row_count; p++) {
            C_row_places[C_row1_crd[p]] = 0;
        }
        {
            int32_t *const sparsec_by[] = {C_row1_crd};
            sparsec_sort_in_place(C_row_count, 1, sparsec_by, C_row_vals);
        }
        for (int64_t pC_row1 = 0; pC_row1 < C_row_count; pC_row1++) {
            int64_t j = C_row1_crd[pC_row1];
            C_vals[pC2] = C_row_vals[pC_row1];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
        }
    }
}

size_t galerkin_workspace(int64_t M, int64_t K, int64_t N) {
    (void)M; (void)K; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024), N), sizeof(int32_t));
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024), N), sizeof(double));
    bytes += sparsec_bytes(sparsec_times(sparsec_min_int64(M, 1024), N), sizeof(int32_t));
    bytes += sparsec_bytes(sparsec_floordiv(M + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int galerkin_count_device(int64_t M, int64_t K, int64_t N, const int32_t *A2_pos,
    const int32_t *A2_crd, const double *A_vals, const int32_t *P2_pos, const int32_t *P2_crd,
    const double *P_vals, int32_t *C2_pos, int64_t *totals, void *workspace, cudaStream_t stream) {
    (void)K; (void)A_vals; (void)P_vals;
    char *room = (char *)workspace;
    int32_t *C_row1_crd_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), N),
        sizeof(int32_t));
    sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), N), sizeof(double));
    int32_t *C_row_places_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), N),
        sizeof(int32_t));
    SPARSEC_TRY(sparsec_clear(C_row_places_all, sparsec_times(sparsec_min_int64(M, 1024), N),
        sizeof *C_row_places_all, stream));
    SPARSEC_TRY(sparsec_clear(C2_pos, M + 1, sizeof *C2_pos, stream));
    SPARSEC_TRY(sparsec_launch(galerkin_kernel1, sparsec_min_int64(M, 1024), 1, 1, dim3(1, 1, 1),
        stream, M, N, A2_pos, A2_crd, P2_pos, P2_crd, C2_pos, C_row1_crd_all, C_row_places_all));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(M + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(C2_pos + 1, M, sums, totals, stream));
    return SPARSEC_OK;
}

int galerkin_fill_device(int64_t M, int64_t K, int64_t N, const int32_t *A2_pos,
    const int32_t *A2_crd, const double *A_vals, const int32_t *P2_pos, const int32_t *P2_crd,
    const double *P_vals, int32_t *C2_pos, int32_t *C2_crd, double *C_vals, int64_t C2_count,
    void *workspace, cudaStream_t stream) {
    (void)K;
    char *room = (char *)workspace;
    int32_t *C_row1_crd_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), N),
        sizeof(int32_t));
    double *C_row_vals_all =
        (double *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), N), sizeof(double));
    int32_t *C_row_places_all =
        (int32_t *)sparsec_take(&room, sparsec_times(sparsec_min_int64(M, 1024), N),
        sizeof(int32_t));
    if (2147483647 < C2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(sparsec_launch(galerkin_kernel2, sparsec_min_int64(M, 1024), 1, 1, dim3(1, 1, 1),
        stream, M, N, A2_pos, A2_crd, A_vals, P2_pos, P2_crd, P_vals, C2_pos, C2_crd, C_vals,
        C_row1_crd_all, C_row_vals_all, C_row_places_all));
    return SPARSEC_OK;
}

static const sparsec_level_spec galerkin_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec galerkin_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, galerkin_A_levels, NULL};
static const sparsec_level_spec galerkin_P_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec galerkin_P_spec = {"P", SPARSEC_FLOAT64, 2, 32, galerkin_P_levels, NULL};
static const sparsec_level_spec galerkin_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec galerkin_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, galerkin_C_levels, NULL};

int galerkin(const sparsec_tensor *A, const sparsec_tensor *P, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &galerkin_A_spec);
    if (error) return error;
    error = sparsec_check(P, &galerkin_P_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t K = A->dims[1];
    int64_t N = P->dims[1];
    error = sparsec_same_size("K", "P", P->dims[0], "A", K);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, P, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    if (sparsec_is_made(C, &galerkin_C_spec, C_dims)) {
        error = galerkin_values(A, P, C);
        if (error != SPARSEC_CHANGED) return error;
    }
    error = sparsec_shape(C, &galerkin_C_spec, C_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const int32_t *P2_pos = (const int32_t *)sparsec_upload_pos(&memory, P, 1);
    const int32_t *P2_crd = (const int32_t *)sparsec_upload_crd(&memory, P, 1);
    const double *P_vals = (const double *)sparsec_upload_vals(&memory, P);
    int32_t *C2_pos = (int32_t *)memory.room(M + 1, sizeof(int32_t));
    void *workspace = memory.room((int64_t)galerkin_workspace(M, K, N), 1);
    int64_t *totals = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = galerkin_count_device(M, K, N, A2_pos, A2_crd, A_vals, P2_pos, P2_crd, P_vals, C2_pos,
        totals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[1];
    error = sparsec_fetch(counted, totals, 1, sizeof *counted, 0);
    if (error) return error;
    int64_t C2_count = counted[0];
    if (2147483647 < C2_count) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    int32_t *C2_crd = (int32_t *)memory.room(C2_count, sizeof(int32_t));
    double *C_vals = (double *)memory.room(C2_count, sizeof(double));
    if (memory.error) return memory.error;
    error = galerkin_fill_device(M, K, N, A2_pos, A2_crd, A_vals, P2_pos, P2_crd, P_vals, C2_pos,
        C2_crd, C_vals, C2_count, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_level(C, 1, C2_pos, C2_crd);
    if (error) return error;
    error = sparsec_download_result(C, C_vals);
    if (error) return error;
    return SPARSEC_OK;
}

/* assembled_values
 *   S(i, j) = K(i, j) + 0.5 * B(i, j)
 *   K: {dense, compressed}
 *   B: {compressed, compressed}
 *   S: {compressed, compressed}
 *   assemble(S, once)
 */
static __global__ void __launch_bounds__(1, 16) assembled_values_kernel(int64_t M, int64_t B1_count,
    int64_t S1_count, const int32_t *SPARSEC_RESTRICT K2_pos,
    const int32_t *SPARSEC_RESTRICT K2_crd, const double *SPARSEC_RESTRICT K_vals,
    const int32_t *SPARSEC_RESTRICT B1_crd, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const double *SPARSEC_RESTRICT B_vals,
    const int32_t *SPARSEC_RESTRICT S1_crd, const int32_t *SPARSEC_RESTRICT S2_pos,
    const int32_t *SPARSEC_RESTRICT S2_crd, double *S_vals, int64_t *needs) {
    needs[0] = 0;
    bool changed = false;
    int64_t pS1 = 0;
    int64_t pB1 = 0;
    for (int64_t i = 0; i < M; i++) {
        bool has_B = pB1 < B1_count && B1_crd[pB1] == i;
        if (has_B) {
            bool S1_there = pS1 < S1_count && S1_crd[pS1] == i;
            int64_t pS2 = S1_there ? S2_pos[pS1] : 0;
            int64_t pS2_end = S1_there ? S2_pos[pS1 + 1] : 0;
            int64_t pK2 = K2_pos[i];
            int64_t pK2_end = K2_pos[i + 1];
            int64_t pB2 = B2_pos[pB1];
            int64_t pB2_end = B2_pos[pB1 + 1];
            while (pK2 < pK2_end && pB2 < pB2_end) {
                int64_t jK = K2_crd[pK2];
                int64_t jB = B2_crd[pB2];
                int64_t j = sparsec_min_int64(jK, jB);
                if (jK == j && jB == j) {
                    if (pS2 < pS2_end && S2_crd[pS2] == j) {
                        S_vals[pS2] = K_vals[pK2] + 0.5 * B_vals[pB2];
                        pS2++;
                    } else {
                        changed = true;
                    }
                } else if (jK == j) {
                    if (pS2 < pS2_end && S2_crd[pS2] == j) {
                        S_vals[pS2] = K_vals[pK2];
                        pS2++;
                    } else {
                        changed = true;
                    }
                } else if (pS2 < pS2_end && S2_crd[pS2] == j) {
                    S_vals[pS2] = 0.5 * B_vals[pB2];
                    pS2++;
                } else {
                    changed = true;
                }
                pK2 += jK == j;
                pB2 += jB == j;
            }
            while (pK2 < pK2_end) {
                int64_t j = K2_crd[pK2];
                if (pS2 < pS2_end && S2_crd[pS2] == j) {
                    S_vals[pS2] = K_vals[pK2];
                    pS2++;
                } else {
                    changed = true;
                }
                pK2++;
            }
            while (pB2 < pB2_end) {
                int64_t j = B2_crd[pB2];
                if (pS2 < pS2_end && S2_crd[pS2] == j) {
                    S_vals[pS2] = 0.5 * B_vals[pB2];
                    pS2++;
                } else {
                    changed = true;
                }
                pB2++;
            }
            changed |= pS2 != pS2_end;
            if (S1_there) {
                pS1++;
            }
        } else {
            bool S1_there = pS1 < S1_count && S1_crd[pS1] == i;
            int64_t pS2 = S1_there ? S2_pos[pS1] : 0;
            int64_t pS2_end = S1_there ? S2_pos[pS1 + 1] : 0;
            for (int64_t pK2 = K2_pos[i]; pK2 < K2_pos[i + 1]; pK2++) {
                int64_t j = K2_crd[pK2];
                if (pS2 < pS2_end && S2_crd[pS2] == j) {
                    S_vals[pS2] = K_vals[pK2];
                    pS2++;
                } else {
                    changed = true;
                }
            }
            changed |= pS2 != pS2_end;
            if (S1_there) {
                pS1++;
            }
        }
        pB1 += has_B;
    }
    changed |= pS1 != S1_count;
    if (changed) {
        needs[0] = 7;
    }
}

size_t assembled_values_workspace(int64_t M, int64_t N, int64_t B1_count, int64_t S1_count) {
    (void)M; (void)N; (void)B1_count; (void)S1_count;
    return 0;
}

int assembled_values_device(int64_t M, int64_t N, int64_t B1_count, int64_t S1_count,
    const int32_t *K2_pos, const int32_t *K2_crd, const double *K_vals, const int32_t *B1_pos,
    const int32_t *B1_crd, const int32_t *B2_pos, const int32_t *B2_crd, const double *B_vals,
    const int32_t *S1_pos, const int32_t *S1_crd, const int32_t *S2_pos, const int32_t *S2_crd,
    double *S_vals, int64_t *status, void *workspace, cudaStream_t stream) {
    (void)N; (void)B1_pos; (void)S1_pos; (void)workspace;
    SPARSEC_TRY(sparsec_launch(assembled_values_kernel, 1, 1, 1, dim3(1, 1, 1), stream, M, B1_count,
        S1_count, K2_pos, K2_crd, K_vals, B1_crd, B2_pos, B2_crd, B_vals, S1_crd, S2_pos, S2_crd,
        S_vals, status));
    return SPARSEC_OK;
}

static const sparsec_level_spec assembled_values_K_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec assembled_values_K_spec = {"K", SPARSEC_FLOAT64, 2, 32, assembled_values_K_levels, NULL};
static const sparsec_level_spec assembled_values_B_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec assembled_values_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, assembled_values_B_levels, NULL};
static const sparsec_level_spec assembled_values_S_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec assembled_values_S_spec = {"S", SPARSEC_FLOAT64, 2, 32, assembled_values_S_levels, NULL};

int assembled_values(const sparsec_tensor *K, const sparsec_tensor *B, sparsec_tensor *S) {
    int error;
    error = sparsec_check(K, &assembled_values_K_spec);
    if (error) return error;
    error = sparsec_check(B, &assembled_values_B_spec);
    if (error) return error;
    error = sparsec_check(S, &assembled_values_S_spec);
    if (error) return error;
    int64_t M = K->dims[0];
    int64_t N = K->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "K", M);
    if (error) return error;
    error = sparsec_same_size("N", "B", B->dims[1], "K", N);
    if (error) return error;
    error = sparsec_same_size("M", "S", S->dims[0], "K", M);
    if (error) return error;
    error = sparsec_same_size("N", "S", S->dims[1], "K", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {K, B, S};
    error = sparsec_apart(S, "S", tensors, 3);
    if (error) return error;
    int64_t B1_count = sparsec_parents(B, 1);
    int64_t S1_count = sparsec_parents(S, 1);
    sparsec_memory memory;
    const int32_t *K2_pos = (const int32_t *)sparsec_upload_pos(&memory, K, 1);
    const int32_t *K2_crd = (const int32_t *)sparsec_upload_crd(&memory, K, 1);
    const double *K_vals = (const double *)sparsec_upload_vals(&memory, K);
    const int32_t *B1_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 0);
    const int32_t *B1_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 0);
    const int32_t *B2_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 1);
    const int32_t *B2_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 1);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    const int32_t *S1_pos = (const int32_t *)sparsec_upload_pos(&memory, S, 0);
    const int32_t *S1_crd = (const int32_t *)sparsec_upload_crd(&memory, S, 0);
    const int32_t *S2_pos = (const int32_t *)sparsec_upload_pos(&memory, S, 1);
    const int32_t *S2_crd = (const int32_t *)sparsec_upload_crd(&memory, S, 1);
    double *S_vals = (double *)sparsec_room_vals(&memory, S);
    void *workspace = memory.room((int64_t)assembled_values_workspace(M, N, B1_count, S1_count), 1);
    int64_t *status = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = assembled_values_device(M, N, B1_count, S1_count, K2_pos, K2_crd, K_vals, B1_pos, B1_crd,
        B2_pos, B2_crd, B_vals, S1_pos, S1_crd, S2_pos, S2_crd, S_vals, status, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t told[1];
    error = sparsec_fetch(told, status, 1, sizeof *told, 0);
    if (error) return error;
    if (told[0]) return sparsec_fail_code((int)told[0]);
    error = sparsec_download_vals(S, S_vals);
    if (error) return error;
    return SPARSEC_OK;
}

/* assembled
 *   S(i, j) = K(i, j) + 0.5 * B(i, j)
 *   K: {dense, compressed}
 *   B: {compressed, compressed}
 *   S: {compressed, compressed}
 *   assemble(S, once)
 */
static __global__ void __launch_bounds__(1, 16) assembled_kernel(int64_t M, int64_t B1_count,
    const int32_t *SPARSEC_RESTRICT K2_pos, const int32_t *SPARSEC_RESTRICT K2_crd,
    const double *SPARSEC_RESTRICT K_vals, const int32_t *SPARSEC_RESTRICT B1_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, int32_t *S1_pos, int32_t *S1_crd, int32_t *S2_pos,
    int32_t *S2_crd, double *S_vals, int64_t *totals) {
    int64_t pS1 = 0;
    S2_pos[0] = 0;
    int64_t pS2 = 0;
    int64_t pB1 = 0;
    for (int64_t i = 0; i < M; i++) {
        bool has_B = pB1 < B1_count && B1_crd[pB1] == i;
        if (has_B) {
            int64_t pS2_begin = pS2;
            int64_t pK2 = K2_pos[i];
            int64_t pK2_end = K2_pos[i + 1];
            int64_t pB2 = B2_pos[pB1];
            int64_t pB2_end = B2_pos[pB1 + 1];
            while (pK2 < pK2_end && pB2 < pB2_end) {
                int64_t jK = K2_crd[pK2];
                int64_t jB = B2_crd[pB2];
                int64_t j = sparsec_min_int64(jK, jB);
                if (jK == j && jB == j) {
                    S_vals[pS2] = K_vals[pK2] + 0.5 * B_vals[pB2];
                    S2_crd[pS2] = (int32_t)j;
                    pS2++;
                } else if (jK == j) {
                    S_vals[pS2] = K_vals[pK2];
                    S2_crd[pS2] = (int32_t)j;
                    pS2++;
                } else {
                    S_vals[pS2] = 0.5 * B_vals[pB2];
                    S2_crd[pS2] = (int32_t)j;
                    pS2++;
                }
                pK2 += jK == j;
                pB2 += jB == j;
            }
            while (pK2 < pK2_end) {
                int64_t j = K2_crd[pK2];
                S_vals[pS2] = K_vals[pK2];
                S2_crd[pS2] = (int32_t)j;
                pS2++;
                pK2++;
            }
            while (pB2 < pB2_end) {
                int64_t j = B2_crd[pB2];
                S_vals[pS2] = 0.5 * B_vals[pB2];
                S2_crd[pS2] = (int32_t)j;
                pS2++;
                pB2++;
            }
            S2_pos[pS1 + 1] = (int32_t)pS2;
            if (pS2_begin < pS2) {
                S1_crd[pS1] = (int32_t)i;
                pS1++;
            }
        } else {
            int64_t pS2_begin = pS2;
            for (int64_t pK2 = K2_pos[i]; pK2 < K2_pos[i + 1]; pK2++) {
                int64_t j = K2_crd[pK2];
                S_vals[pS2] = K_vals[pK2];
                S2_crd[pS2] = (int32_t)j;
                pS2++;
            }
            S2_pos[pS1 + 1] = (int32_t)pS2;
            if (pS2_begin < pS2) {
                S1_crd[pS1] = (int32_t)i;
                pS1++;
            }
        }
        pB1 += has_B;
    }
    S1_pos[1] = (int32_t)pS1;
    totals[0] = pS1;
    totals[1] = pS2;
}

size_t assembled_workspace(int64_t M, int64_t N, int64_t K2_count, int64_t B1_count,
    int64_t B2_count) {
    (void)M; (void)N; (void)K2_count; (void)B1_count; (void)B2_count;
    return 0;
}

int assembled_count_device(int64_t M, int64_t N, int64_t K2_count, int64_t B1_count,
    int64_t B2_count, const int32_t *K2_pos, const int32_t *K2_crd, const double *K_vals,
    const int32_t *B1_pos, const int32_t *B1_crd, const int32_t *B2_pos, const int32_t *B2_crd,
    const double *B_vals, int32_t *S1_pos, int32_t *S1_crd, int32_t *S2_pos, int32_t *S2_crd,
    double *S_vals, int64_t *totals, void *workspace, cudaStream_t stream) {
    (void)N; (void)K2_count; (void)B2_count; (void)B1_pos; (void)workspace;
    SPARSEC_TRY(sparsec_clear(S1_pos, 2, sizeof *S1_pos, stream));
    SPARSEC_TRY(sparsec_launch(assembled_kernel, 1, 1, 1, dim3(1, 1, 1), stream, M, B1_count, K2_pos,
        K2_crd, K_vals, B1_crd, B2_pos, B2_crd, B_vals, S1_pos, S1_crd, S2_pos, S2_crd, S_vals,
        totals));
    return SPARSEC_OK;
}

int assembled_fill_device(int64_t M, int64_t N, int64_t K2_count, int64_t B1_count,
    int64_t B2_count, const int32_t *K2_pos, const int32_t *K2_crd, const double *K_vals,
    const int32_t *B1_pos, const int32_t *B1_crd, const int32_t *B2_pos, const int32_t *B2_crd,
    const double *B_vals, int32_t *S1_pos, int32_t *S1_crd, int32_t *S2_pos, int32_t *S2_crd,
    double *S_vals, int64_t pS1, int64_t pS2, void *workspace, cudaStream_t stream) {
    (void)M; (void)N; (void)K2_count; (void)B1_count; (void)B2_count; (void)K2_pos; (void)K2_crd;
        (void)K_vals; (void)B1_pos; (void)B1_crd; (void)B2_pos; (void)B2_crd; (void)B_vals;
        (void)S1_pos; (void)S1_crd; (void)S2_pos; (void)S2_crd; (void)S_vals; (void)stream;
        (void)workspace;
    if (2147483647 < pS1) return SPARSEC_INDEX_OVERFLOW;
    if (2147483647 < pS2) return SPARSEC_INDEX_OVERFLOW;
    return SPARSEC_OK;
}

static const sparsec_level_spec assembled_K_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec assembled_K_spec = {"K", SPARSEC_FLOAT64, 2, 32, assembled_K_levels, NULL};
static const sparsec_level_spec assembled_B_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec assembled_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, assembled_B_levels, NULL};
static const sparsec_level_spec assembled_S_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec assembled_S_spec = {"S", SPARSEC_FLOAT64, 2, 32, assembled_S_levels, NULL};

int assembled(const sparsec_tensor *K, const sparsec_tensor *B, sparsec_tensor *S) {
    int error;
    error = sparsec_check(K, &assembled_K_spec);
    if (error) return error;
    error = sparsec_check(B, &assembled_B_spec);
    if (error) return error;
    if (!S) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "S: no tensor given");
    int64_t M = K->dims[0];
    int64_t N = K->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "K", M);
    if (error) return error;
    error = sparsec_same_size("N", "B", B->dims[1], "K", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {K, B, S};
    error = sparsec_apart(S, "S", tensors, 3);
    if (error) return error;
    int64_t S_dims[] = {M, N};
    if (sparsec_is_made(S, &assembled_S_spec, S_dims)) {
        error = assembled_values(K, B, S);
        if (error != SPARSEC_CHANGED) return error;
    }
    error = sparsec_shape(S, &assembled_S_spec, S_dims);
    if (error) return error;
    int64_t K2_count = sparsec_parents(K, 2);
    int64_t B1_count = sparsec_parents(B, 1);
    int64_t B2_count = sparsec_parents(B, 2);
    sparsec_memory memory;
    const int32_t *K2_pos = (const int32_t *)sparsec_upload_pos(&memory, K, 1);
    const int32_t *K2_crd = (const int32_t *)sparsec_upload_crd(&memory, K, 1);
    const double *K_vals = (const double *)sparsec_upload_vals(&memory, K);
    const int32_t *B1_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 0);
    const int32_t *B1_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 0);
    const int32_t *B2_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 1);
    const int32_t *B2_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 1);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    int32_t *S1_pos = (int32_t *)memory.room(2, sizeof(int32_t));
    int32_t *S1_crd = (int32_t *)memory.room(B1_count + M + 1, sizeof(int32_t));
    int32_t *S2_pos = (int32_t *)memory.room(B1_count + M + 1 + 1, sizeof(int32_t));
    int32_t *S2_crd = (int32_t *)memory.room(K2_count + B2_count, sizeof(int32_t));
    double *S_vals = (double *)memory.room(K2_count + B2_count, sizeof(double));
    void *workspace = memory.room((int64_t)assembled_workspace(M, N, K2_count, B1_count,
        B2_count), 1);
    int64_t *totals = (int64_t *)memory.room(2, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = assembled_count_device(M, N, K2_count, B1_count, B2_count, K2_pos, K2_crd, K_vals, B1_pos,
        B1_crd, B2_pos, B2_crd, B_vals, S1_pos, S1_crd, S2_pos, S2_crd, S_vals, totals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[2];
    error = sparsec_fetch(counted, totals, 2, sizeof *counted, 0);
    if (error) return error;
    int64_t pS1 = counted[0];
    int64_t pS2 = counted[1];
    if (2147483647 < pS1) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    if (2147483647 < pS2) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    if (memory.error) return memory.error;
    error = assembled_fill_device(M, N, K2_count, B1_count, B2_count, K2_pos, K2_crd, K_vals, B1_pos,
        B1_crd, B2_pos, B2_crd, B_vals, S1_pos, S1_crd, S2_pos, S2_crd, S_vals, pS1, pS2, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_level(S, 0, S1_pos, S1_crd);
    if (error) return error;
    error = sparsec_download_level(S, 1, S2_pos, S2_crd);
    if (error) return error;
    error = sparsec_download_result(S, S_vals);
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

static int smoke_galerkin(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor P = {};
    const int64_t P_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &galerkin_A_spec, A_dims, 1);
    error |= smoke_fill(&P, &galerkin_P_spec, P_dims, 2);
    if (!error) error = galerkin(&A, &P, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = galerkin(&A, &P, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("galerkin", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&P);
    sparsec_free_tensor(&C);
    return error;
}

static int smoke_assembled(int64_t n, int rounds) {
    sparsec_tensor K = {};
    const int64_t K_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor S = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&K, &assembled_K_spec, K_dims, 1);
    error |= smoke_fill(&B, &assembled_B_spec, B_dims, 2);
    if (!error) error = assembled(&K, &B, &S);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = assembled(&K, &B, &S);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("assembled", error, best);
    sparsec_free_tensor(&K);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&S);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_galerkin(n, rounds);
    failed |= smoke_assembled(n, rounds);
    return failed;
}
#endif
