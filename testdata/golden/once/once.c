/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "once.h"

/* galerkin_values
 *   C(i, j) +=! A(i, k) * P(k, j)
 *   A: {dense, compressed}
 *   P: {dense, compressed}
 *   C: {dense, compressed}
 *   assemble(C, once)
 *   parallelize(i, CPUThread, NoRaces)
 */
/* An iteration of the loop over i. */
static bool galerkin_values_loop(int64_t i, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT P2_pos, const int32_t *SPARSEC_RESTRICT P2_crd,
    const double *SPARSEC_RESTRICT P_vals, const int32_t *SPARSEC_RESTRICT C2_pos,
    const int32_t *SPARSEC_RESTRICT C2_crd, double *SPARSEC_RESTRICT C_vals,
    int32_t *SPARSEC_RESTRICT C_row_places_all) {
    bool changed = false;
    int64_t pC2_begin = C2_pos[i];
    int64_t pC2_end = C2_pos[i + 1];
    int32_t *SPARSEC_RESTRICT C_row_places = C_row_places_all + sparsec_thread_index() * N;
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
                changed = true;
            } else {
                C_vals[pC_row - 1] += A_vals[pA2] * P_vals[pP2];
            }
        }
    }
    for (int64_t pC2 = pC2_begin; pC2 < pC2_end; pC2++) {
        C_row_places[C2_crd[pC2]] = 0;
    }
    return changed;
}

int galerkin_values_raw(int64_t M, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT P2_pos, const int32_t *SPARSEC_RESTRICT P2_crd,
    const double *SPARSEC_RESTRICT P_vals, const int32_t *SPARSEC_RESTRICT C2_pos,
    const int32_t *SPARSEC_RESTRICT C2_crd, double *SPARSEC_RESTRICT C_vals) {
    (void)K;
    int32_t *C_row_places_all = NULL;
    int error;
    C_row_places_all = sparsec_zeroed(sparsec_times(sparsec_thread_count(), N),
        sizeof *C_row_places_all);
    SPARSEC_NEED(C_row_places_all);
    bool changed = false;
#ifdef _OPENMP
    #pragma omp parallel for reduction(||:changed)
#endif
    for (int64_t i = 0; i < M; i++) {
        changed |= galerkin_values_loop(i, N, A2_pos, A2_crd, A_vals, P2_pos, P2_crd, P_vals,
            C2_pos, C2_crd, C_vals, C_row_places_all);
    }
    if (changed) {
        error = SPARSEC_CHANGED;
        goto fail;
    }
    sparsec_release(C_row_places_all);
    return SPARSEC_OK;
fail:
    sparsec_release(C_row_places_all);
    return error;
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
    error = galerkin_values_raw(M, K, N, (const int32_t *)A->levels[1].pos,
        (const int32_t *)A->levels[1].crd, (const double *)A->vals, (const int32_t *)P->levels[1].pos,
        (const int32_t *)P->levels[1].crd, (const double *)P->vals, (const int32_t *)C->levels[1].pos,
        (const int32_t *)C->levels[1].crd, (double *)C->vals);
    if (error) return sparsec_fail_code(error);
    return SPARSEC_OK;
}

/* galerkin
 *   C(i, j) +=! A(i, k) * P(k, j)
 *   A: {dense, compressed}
 *   P: {dense, compressed}
 *   C: {dense, compressed}
 *   assemble(C, once)
 *   parallelize(i, CPUThread, NoRaces)
 */
/* An iteration of the loop over i. */
static void galerkin_loop(int64_t i, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT P2_pos, const int32_t *SPARSEC_RESTRICT P2_crd,
    const double *SPARSEC_RESTRICT P_vals, const int32_t *SPARSEC_RESTRICT C2_pos,
    int32_t *SPARSEC_RESTRICT C2_crd, double *SPARSEC_RESTRICT C_vals,
    int32_t *SPARSEC_RESTRICT C_row1_crd_all, double *SPARSEC_RESTRICT C_row_vals_all,
    int32_t *SPARSEC_RESTRICT C_row_places_all) {
    int64_t pC2 = C2_pos[i];
    int32_t *SPARSEC_RESTRICT C_row1_crd = C_row1_crd_all + sparsec_thread_index() * N;
    double *SPARSEC_RESTRICT C_row_vals = C_row_vals_all + sparsec_thread_index() * N;
    int32_t *SPARSEC_RESTRICT C_row_places = C_row_places_all + sparsec_thread_index() * N;
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
        void *const sparsec_by[] = {C_row1_crd};
        sparsec_sort_distinct(C_row_count, 1, sparsec_by, sizeof *C_row1_crd, C_row_vals,
            sizeof *C_row_vals);
    }
    for (int64_t pC_row1 = 0; pC_row1 < C_row_count; pC_row1++) {
        int64_t j = C_row1_crd[pC_row1];
        C_vals[pC2] = C_row_vals[pC_row1];
        C2_crd[pC2] = (int32_t)j;
        pC2++;
    }
}

int galerkin_raw(int64_t M, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT P2_pos, const int32_t *SPARSEC_RESTRICT P2_crd,
    const double *SPARSEC_RESTRICT P_vals, int32_t **C2_pos_out, int32_t **C2_crd_out,
    double **C_vals_out, int64_t C2_capacity) {
    (void)K;
    int32_t *C2_pos = *C2_pos_out;
    int32_t *C2_crd = *C2_crd_out;
    double *C_vals = *C_vals_out;
    int32_t *C_row1_crd_all = NULL;
    double *C_row_vals_all = NULL;
    int32_t *C_row_places_all = NULL;
    int error;
    C_row1_crd_all = sparsec_resize(NULL, sparsec_times(sparsec_thread_count(), N),
        sizeof *C_row1_crd_all);
    SPARSEC_NEED(C_row1_crd_all);
    C_row_vals_all = sparsec_resize(NULL, sparsec_times(sparsec_thread_count(), N),
        sizeof *C_row_vals_all);
    SPARSEC_NEED(C_row_vals_all);
    C_row_places_all = sparsec_zeroed(sparsec_times(sparsec_thread_count(), N),
        sizeof *C_row_places_all);
    SPARSEC_NEED(C_row_places_all);
    SPARSEC_RESIZE(C2_pos, M + 1);
    C2_pos[0] = 0;
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i = 0; i < M; i++) {
        int64_t pC2 = 0;
        int32_t *SPARSEC_RESTRICT C_row1_crd = C_row1_crd_all + sparsec_thread_index() * N;
        int32_t *SPARSEC_RESTRICT C_row_places = C_row_places_all + sparsec_thread_index() * N;
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
    int64_t C2_count = 0;
    for (int64_t k = 0; k < M; k++) {
        C2_count += C2_pos[k + 1];
        C2_pos[k + 1] = (int32_t)C2_count;
    }
    if (C2_count > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    C2_capacity = sparsec_max_int64(C2_capacity, C2_count);
    SPARSEC_RESIZE(C2_crd, C2_capacity);
    SPARSEC_RESIZE(C_vals, C2_capacity);
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i = 0; i < M; i++) {
        galerkin_loop(i, N, A2_pos, A2_crd, A_vals, P2_pos, P2_crd, P_vals, C2_pos, C2_crd, C_vals,
            C_row1_crd_all, C_row_vals_all, C_row_places_all);
    }
    sparsec_release(C_row1_crd_all);
    sparsec_release(C_row_vals_all);
    sparsec_release(C_row_places_all);
    *C2_pos_out = C2_pos;
    *C2_crd_out = C2_crd;
    *C_vals_out = C_vals;
    return SPARSEC_OK;
fail:
    sparsec_release(C2_pos);
    *C2_pos_out = NULL;
    sparsec_release(C2_crd);
    *C2_crd_out = NULL;
    sparsec_release(C_vals);
    *C_vals_out = NULL;
    sparsec_release(C_row1_crd_all);
    sparsec_release(C_row_vals_all);
    sparsec_release(C_row_places_all);
    return error;
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
    int32_t *C2_pos = (int32_t *)sparsec_take(&C->levels[1].pos);
    int32_t *C2_crd = (int32_t *)sparsec_take(&C->levels[1].crd);
    double *C_vals = (double *)sparsec_take(&C->vals);
    error = galerkin_raw(M, K, N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, (const int32_t *)P->levels[1].pos, (const int32_t *)P->levels[1].crd,
        (const double *)P->vals, &C2_pos, &C2_crd, &C_vals,
        sparsec_min_int64(C->levels[1].crd_cap, C->vals_cap));
    if (error) return sparsec_fail_code(error);
    int64_t C_positions = 1;
    C_positions = sparsec_positions(C, 0, C_positions);
    sparsec_set_level(C, 1, C2_pos, C2_crd, C_positions);
    C_positions = sparsec_positions(C, 1, C_positions);
    C->vals = C_vals;
    C->vals_len = C->vals_cap = C_positions;
    return SPARSEC_OK;
}

/* assembled_values
 *   S(i, j) = K(i, j) + 0.5 * B(i, j)
 *   K: {dense, compressed}
 *   B: {compressed, compressed}
 *   S: {compressed, compressed}
 *   assemble(S, once)
 */
int assembled_values_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT K2_pos,
    const int32_t *SPARSEC_RESTRICT K2_crd, const double *SPARSEC_RESTRICT K_vals,
    const int32_t *SPARSEC_RESTRICT B1_pos, const int32_t *SPARSEC_RESTRICT B1_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, const int32_t *SPARSEC_RESTRICT S1_pos,
    const int32_t *SPARSEC_RESTRICT S1_crd, const int32_t *SPARSEC_RESTRICT S2_pos,
    const int32_t *SPARSEC_RESTRICT S2_crd, double *SPARSEC_RESTRICT S_vals) {
    (void)N;
    int error;
    bool changed = false;
    int64_t pS1 = S1_pos[0];
    int64_t pS1_end = S1_pos[1];
    int64_t pB1 = B1_pos[0];
    int64_t pB1_end = B1_pos[1];
    for (int64_t i = 0; i < M; i++) {
        bool has_B = pB1 < pB1_end && B1_crd[pB1] == i;
        if (has_B) {
            bool S1_there = pS1 < pS1_end && S1_crd[pS1] == i;
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
            bool S1_there = pS1 < pS1_end && S1_crd[pS1] == i;
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
    changed |= pS1 != pS1_end;
    if (changed) {
        error = SPARSEC_CHANGED;
        goto fail;
    }
    return SPARSEC_OK;
fail:
    return error;
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
    error = assembled_values_raw(M, N, (const int32_t *)K->levels[1].pos,
        (const int32_t *)K->levels[1].crd, (const double *)K->vals, (const int32_t *)B->levels[0].pos,
        (const int32_t *)B->levels[0].crd, (const int32_t *)B->levels[1].pos,
        (const int32_t *)B->levels[1].crd, (const double *)B->vals, (const int32_t *)S->levels[0].pos,
        (const int32_t *)S->levels[0].crd, (const int32_t *)S->levels[1].pos,
        (const int32_t *)S->levels[1].crd, (double *)S->vals);
    if (error) return sparsec_fail_code(error);
    return SPARSEC_OK;
}

/* assembled
 *   S(i, j) = K(i, j) + 0.5 * B(i, j)
 *   K: {dense, compressed}
 *   B: {compressed, compressed}
 *   S: {compressed, compressed}
 *   assemble(S, once)
 */
int assembled_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT K2_pos,
    const int32_t *SPARSEC_RESTRICT K2_crd, const double *SPARSEC_RESTRICT K_vals,
    const int32_t *SPARSEC_RESTRICT B1_pos, const int32_t *SPARSEC_RESTRICT B1_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, int32_t **S1_pos_out, int32_t **S1_crd_out,
    int32_t **S2_pos_out, int32_t **S2_crd_out, double **S_vals_out, int64_t S1_capacity,
    int64_t S2_pos_capacity, int64_t S2_capacity) {
    (void)N;
    int32_t *S1_pos = *S1_pos_out;
    int32_t *S1_crd = *S1_crd_out;
    int32_t *S2_pos = *S2_pos_out;
    int32_t *S2_crd = *S2_crd_out;
    double *S_vals = *S_vals_out;
    int error;
    SPARSEC_RESIZE(S1_pos, 2);
    memset(S1_pos, 0, (size_t)2 * sizeof *S1_pos);
    int64_t S1_most = B1_pos[1] + M + 1;
    int64_t S_most = (int64_t)K2_pos[M] + B2_pos[B1_pos[1]];
    S1_capacity = sparsec_max_int64(S1_capacity, S1_most);
    SPARSEC_RESIZE(S1_crd, S1_capacity);
    S2_pos_capacity = sparsec_max_int64(S2_pos_capacity, S1_most + 1);
    SPARSEC_RESIZE(S2_pos, S2_pos_capacity);
    S2_capacity = sparsec_max_int64(S2_capacity, S_most);
    SPARSEC_RESIZE(S2_crd, S2_capacity);
    SPARSEC_RESIZE(S_vals, S2_capacity);
    int64_t pS1 = 0;
    S2_pos[0] = 0;
    int64_t pS2 = 0;
    int64_t pB1 = B1_pos[0];
    int64_t pB1_end = B1_pos[1];
    for (int64_t i = 0; i < M; i++) {
        bool has_B = pB1 < pB1_end && B1_crd[pB1] == i;
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
    if (pS1 > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    if (pS2 > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    if (pS1 < S1_capacity / 2) {
        SPARSEC_TRIM(S1_crd, pS1);
    }
    if (pS2 < S2_capacity / 2) {
        SPARSEC_TRIM(S2_crd, pS2);
        SPARSEC_TRIM(S_vals, pS2);
    }
    *S1_pos_out = S1_pos;
    *S1_crd_out = S1_crd;
    *S2_pos_out = S2_pos;
    *S2_crd_out = S2_crd;
    *S_vals_out = S_vals;
    return SPARSEC_OK;
fail:
    sparsec_release(S1_pos);
    *S1_pos_out = NULL;
    sparsec_release(S1_crd);
    *S1_crd_out = NULL;
    sparsec_release(S2_pos);
    *S2_pos_out = NULL;
    sparsec_release(S2_crd);
    *S2_crd_out = NULL;
    sparsec_release(S_vals);
    *S_vals_out = NULL;
    return error;
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
    int32_t *S1_pos = (int32_t *)sparsec_take(&S->levels[0].pos);
    int32_t *S1_crd = (int32_t *)sparsec_take(&S->levels[0].crd);
    int32_t *S2_pos = (int32_t *)sparsec_take(&S->levels[1].pos);
    int32_t *S2_crd = (int32_t *)sparsec_take(&S->levels[1].crd);
    double *S_vals = (double *)sparsec_take(&S->vals);
    error = assembled_raw(M, N, (const int32_t *)K->levels[1].pos, (const int32_t *)K->levels[1].crd,
        (const double *)K->vals, (const int32_t *)B->levels[0].pos, (const int32_t *)B->levels[0].crd,
        (const int32_t *)B->levels[1].pos, (const int32_t *)B->levels[1].crd, (const double *)B->vals,
        &S1_pos, &S1_crd, &S2_pos, &S2_crd, &S_vals, S->levels[0].crd_cap, S->levels[1].pos_cap,
        sparsec_min_int64(S->levels[1].crd_cap, S->vals_cap));
    if (error) return sparsec_fail_code(error);
    int64_t S_positions = 1;
    sparsec_set_level(S, 0, S1_pos, S1_crd, S_positions);
    S_positions = sparsec_positions(S, 0, S_positions);
    sparsec_set_level(S, 1, S2_pos, S2_crd, S_positions);
    S_positions = sparsec_positions(S, 1, S_positions);
    S->vals = S_vals;
    S->vals_len = S->vals_cap = S_positions;
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
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor P = {0};
    const int64_t P_dims[] = {n, n};
    sparsec_tensor C = {0};
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
    sparsec_tensor K = {0};
    const int64_t K_dims[] = {n, n};
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor S = {0};
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
