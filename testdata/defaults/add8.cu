/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "add8.h"

/* add8
 *   S(i, j) = A(i, j) + B(i, j) + C(i, j) + D(i, j) + E(i, j) + F(i, j) + G(i, j) + H(i, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   C: {dense, compressed}
 *   D: {dense, compressed}
 *   E: {dense, compressed}
 *   F: {dense, compressed}
 *   G: {dense, compressed}
 *   H: {dense, compressed}
 *   S: {dense, compressed}
 *   split(i, block, thread, 256)
 *   parallelize(block, GPUBlock, NoRaces)
 *   parallelize(thread, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) add8_kernel1(int64_t M, int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const int32_t *SPARSEC_RESTRICT C2_pos, const int32_t *SPARSEC_RESTRICT C2_crd,
    const int32_t *SPARSEC_RESTRICT D2_pos, const int32_t *SPARSEC_RESTRICT D2_crd,
    const int32_t *SPARSEC_RESTRICT E2_pos, const int32_t *SPARSEC_RESTRICT E2_crd,
    const int32_t *SPARSEC_RESTRICT F2_pos, const int32_t *SPARSEC_RESTRICT F2_crd,
    const int32_t *SPARSEC_RESTRICT G2_pos, const int32_t *SPARSEC_RESTRICT G2_crd,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    int32_t *S2_pos) {
    int64_t block = blockIdx.x;
    int64_t thread = threadIdx.x;
    if (thread < sparsec_min_int64(256, M - block * 256)) {
        int64_t pS2 = 0;
        int64_t i = block * 256 + thread;
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pB2 = B2_pos[i];
        int64_t pB2_end = B2_pos[i + 1];
        int64_t pC2 = C2_pos[i];
        int64_t pC2_end = C2_pos[i + 1];
        int64_t pD2 = D2_pos[i];
        int64_t pD2_end = D2_pos[i + 1];
        int64_t pE2 = E2_pos[i];
        int64_t pE2_end = E2_pos[i + 1];
        int64_t pF2 = F2_pos[i];
        int64_t pF2_end = F2_pos[i + 1];
        int64_t pG2 = G2_pos[i];
        int64_t pG2_end = G2_pos[i + 1];
        int64_t pH2 = H2_pos[i];
        int64_t pH2_end = H2_pos[i + 1];
        while (pA2 < pA2_end || pB2 < pB2_end || pC2 < pC2_end || pD2 < pD2_end || pE2 < pE2_end ||
                pF2 < pF2_end || pG2 < pG2_end || pH2 < pH2_end) {
            int64_t j = N;
            if (pA2 < pA2_end && A2_crd[pA2] < j) {
                j = A2_crd[pA2];
            }
            if (pB2 < pB2_end && B2_crd[pB2] < j) {
                j = B2_crd[pB2];
            }
            if (pC2 < pC2_end && C2_crd[pC2] < j) {
                j = C2_crd[pC2];
            }
            if (pD2 < pD2_end && D2_crd[pD2] < j) {
                j = D2_crd[pD2];
            }
            if (pE2 < pE2_end && E2_crd[pE2] < j) {
                j = E2_crd[pE2];
            }
            if (pF2 < pF2_end && F2_crd[pF2] < j) {
                j = F2_crd[pF2];
            }
            if (pG2 < pG2_end && G2_crd[pG2] < j) {
                j = G2_crd[pG2];
            }
            if (pH2 < pH2_end && H2_crd[pH2] < j) {
                j = H2_crd[pH2];
            }
            bool has_A = pA2 < pA2_end && A2_crd[pA2] == j;
            bool has_B = pB2 < pB2_end && B2_crd[pB2] == j;
            bool has_C = pC2 < pC2_end && C2_crd[pC2] == j;
            bool has_D = pD2 < pD2_end && D2_crd[pD2] == j;
            bool has_E = pE2 < pE2_end && E2_crd[pE2] == j;
            bool has_F = pF2 < pF2_end && F2_crd[pF2] == j;
            bool has_G = pG2 < pG2_end && G2_crd[pG2] == j;
            bool has_H = pH2 < pH2_end && H2_crd[pH2] == j;
            pS2++;
            pA2 += has_A;
            pB2 += has_B;
            pC2 += has_C;
            pD2 += has_D;
            pE2 += has_E;
            pF2 += has_F;
            pG2 += has_G;
            pH2 += has_H;
        }
        S2_pos[block * 256 + thread + 1] = (int32_t)pS2;
    }
}

static __global__ void __launch_bounds__(256, 4) add8_kernel2(int64_t M, int64_t N,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const double *SPARSEC_RESTRICT B_vals,
    const int32_t *SPARSEC_RESTRICT C2_pos, const int32_t *SPARSEC_RESTRICT C2_crd,
    const double *SPARSEC_RESTRICT C_vals, const int32_t *SPARSEC_RESTRICT D2_pos,
    const int32_t *SPARSEC_RESTRICT D2_crd, const double *SPARSEC_RESTRICT D_vals,
    const int32_t *SPARSEC_RESTRICT E2_pos, const int32_t *SPARSEC_RESTRICT E2_crd,
    const double *SPARSEC_RESTRICT E_vals, const int32_t *SPARSEC_RESTRICT F2_pos,
    const int32_t *SPARSEC_RESTRICT F2_crd, const double *SPARSEC_RESTRICT F_vals,
    const int32_t *SPARSEC_RESTRICT G2_pos, const int32_t *SPARSEC_RESTRICT G2_crd,
    const double *SPARSEC_RESTRICT G_vals, const int32_t *SPARSEC_RESTRICT H2_pos,
    const int32_t *SPARSEC_RESTRICT H2_crd, const double *SPARSEC_RESTRICT H_vals,
    const int32_t *SPARSEC_RESTRICT S2_pos, int32_t *S2_crd, double *S_vals) {
    int64_t block = blockIdx.x;
    int64_t thread = threadIdx.x;
    if (thread < sparsec_min_int64(256, M - block * 256)) {
        int64_t pS2 = S2_pos[block * 256 + thread];
        int64_t i = block * 256 + thread;
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pB2 = B2_pos[i];
        int64_t pB2_end = B2_pos[i + 1];
        int64_t pC2 = C2_pos[i];
        int64_t pC2_end = C2_pos[i + 1];
        int64_t pD2 = D2_pos[i];
        int64_t pD2_end = D2_pos[i + 1];
        int64_t pE2 = E2_pos[i];
        int64_t pE2_end = E2_pos[i + 1];
        int64_t pF2 = F2_pos[i];
        int64_t pF2_end = F2_pos[i + 1];
        int64_t pG2 = G2_pos[i];
        int64_t pG2_end = G2_pos[i + 1];
        int64_t pH2 = H2_pos[i];
        int64_t pH2_end = H2_pos[i + 1];
        while (pA2 < pA2_end || pB2 < pB2_end || pC2 < pC2_end || pD2 < pD2_end || pE2 < pE2_end ||
                pF2 < pF2_end || pG2 < pG2_end || pH2 < pH2_end) {
            int64_t j = N;
            if (pA2 < pA2_end && A2_crd[pA2] < j) {
                j = A2_crd[pA2];
            }
            if (pB2 < pB2_end && B2_crd[pB2] < j) {
                j = B2_crd[pB2];
            }
            if (pC2 < pC2_end && C2_crd[pC2] < j) {
                j = C2_crd[pC2];
            }
            if (pD2 < pD2_end && D2_crd[pD2] < j) {
                j = D2_crd[pD2];
            }
            if (pE2 < pE2_end && E2_crd[pE2] < j) {
                j = E2_crd[pE2];
            }
            if (pF2 < pF2_end && F2_crd[pF2] < j) {
                j = F2_crd[pF2];
            }
            if (pG2 < pG2_end && G2_crd[pG2] < j) {
                j = G2_crd[pG2];
            }
            if (pH2 < pH2_end && H2_crd[pH2] < j) {
                j = H2_crd[pH2];
            }
            bool has_A = pA2 < pA2_end && A2_crd[pA2] == j;
            bool has_B = pB2 < pB2_end && B2_crd[pB2] == j;
            bool has_C = pC2 < pC2_end && C2_crd[pC2] == j;
            bool has_D = pD2 < pD2_end && D2_crd[pD2] == j;
            bool has_E = pE2 < pE2_end && E2_crd[pE2] == j;
            bool has_F = pF2 < pF2_end && F2_crd[pF2] == j;
            bool has_G = pG2 < pG2_end && G2_crd[pG2] == j;
            bool has_H = pH2 < pH2_end && H2_crd[pH2] == j;
            S_vals[pS2] = (has_A ? A_vals[pA2] : 0.0) + (has_B ? B_vals[pB2] : 0.0) +
                (has_C ? C_vals[pC2] : 0.0) + (has_D ? D_vals[pD2] : 0.0) +
                (has_E ? E_vals[pE2] : 0.0) + (has_F ? F_vals[pF2] : 0.0) +
                (has_G ? G_vals[pG2] : 0.0) + (has_H ? H_vals[pH2] : 0.0);
            S2_crd[pS2] = (int32_t)j;
            pS2++;
            pA2 += has_A;
            pB2 += has_B;
            pC2 += has_C;
            pD2 += has_D;
            pE2 += has_E;
            pF2 += has_F;
            pG2 += has_G;
            pH2 += has_H;
        }
    }
}

size_t add8_workspace(int64_t M, int64_t N) {
    (void)M; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(sparsec_floordiv(M + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int add8_count_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, const int32_t *B2_pos, const int32_t *B2_crd, const double *B_vals,
    const int32_t *C2_pos, const int32_t *C2_crd, const double *C_vals, const int32_t *D2_pos,
    const int32_t *D2_crd, const double *D_vals, const int32_t *E2_pos, const int32_t *E2_crd,
    const double *E_vals, const int32_t *F2_pos, const int32_t *F2_crd, const double *F_vals,
    const int32_t *G2_pos, const int32_t *G2_crd, const double *G_vals, const int32_t *H2_pos,
    const int32_t *H2_crd, const double *H_vals, int32_t *S2_pos, int64_t *totals, void *workspace,
    cudaStream_t stream) {
    (void)A_vals; (void)B_vals; (void)C_vals; (void)D_vals; (void)E_vals; (void)F_vals;
        (void)G_vals; (void)H_vals;
    char *room = (char *)workspace;
    SPARSEC_TRY(sparsec_clear(S2_pos, M + 1, sizeof *S2_pos, stream));
    SPARSEC_TRY(sparsec_launch(add8_kernel1, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, N, A2_pos, A2_crd, B2_pos, B2_crd, C2_pos, C2_crd, D2_pos, D2_crd, E2_pos, E2_crd,
        F2_pos, F2_crd, G2_pos, G2_crd, H2_pos, H2_crd, S2_pos));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(M + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(S2_pos + 1, M, sums, totals, stream));
    return SPARSEC_OK;
}

int add8_fill_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, const int32_t *B2_pos, const int32_t *B2_crd, const double *B_vals,
    const int32_t *C2_pos, const int32_t *C2_crd, const double *C_vals, const int32_t *D2_pos,
    const int32_t *D2_crd, const double *D_vals, const int32_t *E2_pos, const int32_t *E2_crd,
    const double *E_vals, const int32_t *F2_pos, const int32_t *F2_crd, const double *F_vals,
    const int32_t *G2_pos, const int32_t *G2_crd, const double *G_vals, const int32_t *H2_pos,
    const int32_t *H2_crd, const double *H_vals, int32_t *S2_pos, int32_t *S2_crd, double *S_vals,
    int64_t S2_count, void *workspace, cudaStream_t stream) {
    (void)workspace;
    if (2147483647 < S2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(sparsec_launch(add8_kernel2, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, N, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, C2_crd, C_vals, D2_pos,
        D2_crd, D_vals, E2_pos, E2_crd, E_vals, F2_pos, F2_crd, F_vals, G2_pos, G2_crd, G_vals, H2_pos,
        H2_crd, H_vals, S2_pos, S2_crd, S_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec add8_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, add8_A_levels, NULL};
static const sparsec_level_spec add8_B_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, add8_B_levels, NULL};
static const sparsec_level_spec add8_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, add8_C_levels, NULL};
static const sparsec_level_spec add8_D_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_D_spec = {"D", SPARSEC_FLOAT64, 2, 32, add8_D_levels, NULL};
static const sparsec_level_spec add8_E_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_E_spec = {"E", SPARSEC_FLOAT64, 2, 32, add8_E_levels, NULL};
static const sparsec_level_spec add8_F_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_F_spec = {"F", SPARSEC_FLOAT64, 2, 32, add8_F_levels, NULL};
static const sparsec_level_spec add8_G_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_G_spec = {"G", SPARSEC_FLOAT64, 2, 32, add8_G_levels, NULL};
static const sparsec_level_spec add8_H_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_H_spec = {"H", SPARSEC_FLOAT64, 2, 32, add8_H_levels, NULL};
static const sparsec_level_spec add8_S_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add8_S_spec = {"S", SPARSEC_FLOAT64, 2, 32, add8_S_levels, NULL};

int add8(const sparsec_tensor *A, const sparsec_tensor *B, const sparsec_tensor *C,
    const sparsec_tensor *D, const sparsec_tensor *E, const sparsec_tensor *F,
    const sparsec_tensor *G, const sparsec_tensor *H, sparsec_tensor *S) {
    int error;
    error = sparsec_check(A, &add8_A_spec);
    if (error) return error;
    error = sparsec_check(B, &add8_B_spec);
    if (error) return error;
    error = sparsec_check(C, &add8_C_spec);
    if (error) return error;
    error = sparsec_check(D, &add8_D_spec);
    if (error) return error;
    error = sparsec_check(E, &add8_E_spec);
    if (error) return error;
    error = sparsec_check(F, &add8_F_spec);
    if (error) return error;
    error = sparsec_check(G, &add8_G_spec);
    if (error) return error;
    error = sparsec_check(H, &add8_H_spec);
    if (error) return error;
    if (!S) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "S: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "B", B->dims[1], "A", N);
    if (error) return error;
    error = sparsec_same_size("M", "C", C->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "C", C->dims[1], "A", N);
    if (error) return error;
    error = sparsec_same_size("M", "D", D->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "D", D->dims[1], "A", N);
    if (error) return error;
    error = sparsec_same_size("M", "E", E->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "E", E->dims[1], "A", N);
    if (error) return error;
    error = sparsec_same_size("M", "F", F->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "F", F->dims[1], "A", N);
    if (error) return error;
    error = sparsec_same_size("M", "G", G->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "G", G->dims[1], "A", N);
    if (error) return error;
    error = sparsec_same_size("M", "H", H->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "H", H->dims[1], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C, D, E, F, G, H, S};
    error = sparsec_apart(S, "S", tensors, 9);
    if (error) return error;
    int64_t S_dims[] = {M, N};
    error = sparsec_shape(S, &add8_S_spec, S_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const int32_t *B2_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 1);
    const int32_t *B2_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 1);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    const int32_t *C2_pos = (const int32_t *)sparsec_upload_pos(&memory, C, 1);
    const int32_t *C2_crd = (const int32_t *)sparsec_upload_crd(&memory, C, 1);
    const double *C_vals = (const double *)sparsec_upload_vals(&memory, C);
    const int32_t *D2_pos = (const int32_t *)sparsec_upload_pos(&memory, D, 1);
    const int32_t *D2_crd = (const int32_t *)sparsec_upload_crd(&memory, D, 1);
    const double *D_vals = (const double *)sparsec_upload_vals(&memory, D);
    const int32_t *E2_pos = (const int32_t *)sparsec_upload_pos(&memory, E, 1);
    const int32_t *E2_crd = (const int32_t *)sparsec_upload_crd(&memory, E, 1);
    const double *E_vals = (const double *)sparsec_upload_vals(&memory, E);
    const int32_t *F2_pos = (const int32_t *)sparsec_upload_pos(&memory, F, 1);
    const int32_t *F2_crd = (const int32_t *)sparsec_upload_crd(&memory, F, 1);
    const double *F_vals = (const double *)sparsec_upload_vals(&memory, F);
    const int32_t *G2_pos = (const int32_t *)sparsec_upload_pos(&memory, G, 1);
    const int32_t *G2_crd = (const int32_t *)sparsec_upload_crd(&memory, G, 1);
    const double *G_vals = (const double *)sparsec_upload_vals(&memory, G);
    const int32_t *H2_pos = (const int32_t *)sparsec_upload_pos(&memory, H, 1);
    const int32_t *H2_crd = (const int32_t *)sparsec_upload_crd(&memory, H, 1);
    const double *H_vals = (const double *)sparsec_upload_vals(&memory, H);
    int32_t *S2_pos = (int32_t *)memory.room(M + 1, sizeof(int32_t));
    void *workspace = memory.room((int64_t)add8_workspace(M, N), 1);
    int64_t *totals = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = add8_count_device(M, N, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, C2_crd,
        C_vals, D2_pos, D2_crd, D_vals, E2_pos, E2_crd, E_vals, F2_pos, F2_crd, F_vals, G2_pos, G2_crd,
        G_vals, H2_pos, H2_crd, H_vals, S2_pos, totals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[1];
    error = sparsec_fetch(counted, totals, 1, sizeof *counted, 0);
    if (error) return error;
    int64_t S2_count = counted[0];
    if (2147483647 < S2_count) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    int32_t *S2_crd = (int32_t *)memory.room(S2_count, sizeof(int32_t));
    double *S_vals = (double *)memory.room(S2_count, sizeof(double));
    if (memory.error) return memory.error;
    error = add8_fill_device(M, N, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, C2_crd,
        C_vals, D2_pos, D2_crd, D_vals, E2_pos, E2_crd, E_vals, F2_pos, F2_crd, F_vals, G2_pos, G2_crd,
        G_vals, H2_pos, H2_crd, H_vals, S2_pos, S2_crd, S_vals, S2_count, workspace, 0);
    if (error) return sparsec_fail_code(error);
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

static int smoke_add8(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {};
    const int64_t C_dims[] = {n, n};
    sparsec_tensor D = {};
    const int64_t D_dims[] = {n, n};
    sparsec_tensor E = {};
    const int64_t E_dims[] = {n, n};
    sparsec_tensor F = {};
    const int64_t F_dims[] = {n, n};
    sparsec_tensor G = {};
    const int64_t G_dims[] = {n, n};
    sparsec_tensor H = {};
    const int64_t H_dims[] = {n, n};
    sparsec_tensor S = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &add8_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &add8_B_spec, B_dims, 2);
    error |= smoke_fill(&C, &add8_C_spec, C_dims, 3);
    error |= smoke_fill(&D, &add8_D_spec, D_dims, 4);
    error |= smoke_fill(&E, &add8_E_spec, E_dims, 5);
    error |= smoke_fill(&F, &add8_F_spec, F_dims, 6);
    error |= smoke_fill(&G, &add8_G_spec, G_dims, 7);
    error |= smoke_fill(&H, &add8_H_spec, H_dims, 8);
    if (!error) error = add8(&A, &B, &C, &D, &E, &F, &G, &H, &S);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = add8(&A, &B, &C, &D, &E, &F, &G, &H, &S);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("add8", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    sparsec_free_tensor(&D);
    sparsec_free_tensor(&E);
    sparsec_free_tensor(&F);
    sparsec_free_tensor(&G);
    sparsec_free_tensor(&H);
    sparsec_free_tensor(&S);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_add8(n, rounds);
    return failed;
}
#endif
