/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "add.h"

/* add
 *   C(i, j) = A(i, j) + B(i, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   C: {dense, compressed}
 *   split(i, io, ii, 256)
 *   parallelize(io, GPUBlock, NoRaces)
 *   parallelize(ii, GPUThread, NoRaces)
 *   assemble(C, two_phase)
 */
static __global__ void __launch_bounds__(256, 4) add_kernel1(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    int32_t *C2_pos) {
    int64_t io = blockIdx.x;
    int64_t ii = threadIdx.x;
    if (ii < sparsec_min_int64(256, M - io * 256)) {
        int64_t pC2 = 0;
        int64_t i = io * 256 + ii;
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pB2 = B2_pos[i];
        int64_t pB2_end = B2_pos[i + 1];
        while (pA2 < pA2_end && pB2 < pB2_end) {
            int64_t jA = A2_crd[pA2];
            int64_t jB = B2_crd[pB2];
            int64_t j = sparsec_min_int64(jA, jB);
            pC2++;
            pA2 += jA == j;
            pB2 += jB == j;
        }
        while (pA2 < pA2_end) {
            pC2++;
            pA2++;
        }
        while (pB2 < pB2_end) {
            pC2++;
            pB2++;
        }
        C2_pos[io * 256 + ii + 1] = (int32_t)pC2;
    }
}

static __global__ void __launch_bounds__(256, 4) add_kernel2(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const double *SPARSEC_RESTRICT B_vals,
    const int32_t *SPARSEC_RESTRICT C2_pos, int32_t *C2_crd, double *C_vals) {
    int64_t io = blockIdx.x;
    int64_t ii = threadIdx.x;
    if (ii < sparsec_min_int64(256, M - io * 256)) {
        int64_t pC2 = C2_pos[io * 256 + ii];
        int64_t i = io * 256 + ii;
        int64_t pA2 = A2_pos[i];
        int64_t pA2_end = A2_pos[i + 1];
        int64_t pB2 = B2_pos[i];
        int64_t pB2_end = B2_pos[i + 1];
        while (pA2 < pA2_end && pB2 < pB2_end) {
            int64_t jA = A2_crd[pA2];
            int64_t jB = B2_crd[pB2];
            int64_t j = sparsec_min_int64(jA, jB);
            if (jA == j && jB == j) {
                C_vals[pC2] = A_vals[pA2] + B_vals[pB2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            } else if (jA == j) {
                C_vals[pC2] = A_vals[pA2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            } else {
                C_vals[pC2] = B_vals[pB2];
                C2_crd[pC2] = (int32_t)j;
                pC2++;
            }
            pA2 += jA == j;
            pB2 += jB == j;
        }
        while (pA2 < pA2_end) {
            int64_t j = A2_crd[pA2];
            C_vals[pC2] = A_vals[pA2];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
            pA2++;
        }
        while (pB2 < pB2_end) {
            int64_t j = B2_crd[pB2];
            C_vals[pC2] = B_vals[pB2];
            C2_crd[pC2] = (int32_t)j;
            pC2++;
            pB2++;
        }
    }
}

size_t add_workspace(int64_t M, int64_t N) {
    (void)M; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(sparsec_floordiv(M + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int add_count_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, const int32_t *B2_pos, const int32_t *B2_crd, const double *B_vals,
    int32_t *C2_pos, int64_t *totals, void *workspace, cudaStream_t stream) {
    (void)N; (void)A_vals; (void)B_vals;
    char *room = (char *)workspace;
    SPARSEC_TRY(sparsec_clear(C2_pos, M + 1, sizeof *C2_pos, stream));
    SPARSEC_TRY(sparsec_launch(add_kernel1, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, A2_crd, B2_pos, B2_crd, C2_pos));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(M + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(C2_pos + 1, M, sums, totals, stream));
    return SPARSEC_OK;
}

int add_fill_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, const int32_t *B2_pos, const int32_t *B2_crd, const double *B_vals,
    int32_t *C2_pos, int32_t *C2_crd, double *C_vals, int64_t C2_count, void *workspace,
    cudaStream_t stream) {
    (void)N; (void)workspace;
    if (2147483647 < C2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(sparsec_launch(add_kernel2, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, C2_crd, C_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec add_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, add_A_levels, NULL};
static const sparsec_level_spec add_B_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, add_B_levels, NULL};
static const sparsec_level_spec add_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec add_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, add_C_levels, NULL};

int add(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &add_A_spec);
    if (error) return error;
    error = sparsec_check(B, &add_B_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("M", "B", B->dims[0], "A", M);
    if (error) return error;
    error = sparsec_same_size("N", "B", B->dims[1], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, N};
    error = sparsec_shape(C, &add_C_spec, C_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const int32_t *B2_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 1);
    const int32_t *B2_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 1);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    int32_t *C2_pos = (int32_t *)memory.room(M + 1, sizeof(int32_t));
    void *workspace = memory.room((int64_t)add_workspace(M, N), 1);
    int64_t *totals = (int64_t *)memory.room(1, sizeof(int64_t));
    if (memory.error) return memory.error;
    error = add_count_device(M, N, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, totals,
        workspace, 0);
    if (error) return sparsec_fail_code(error);
    int64_t counted[1];
    error = sparsec_fetch(counted, totals, 1, sizeof *counted, 0);
    if (error) return error;
    int64_t C2_count = counted[0];
    if (2147483647 < C2_count) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
    int32_t *C2_crd = (int32_t *)memory.room(C2_count, sizeof(int32_t));
    double *C_vals = (double *)memory.room(C2_count, sizeof(double));
    if (memory.error) return memory.error;
    error = add_fill_device(M, N, A2_pos, A2_crd, A_vals, B2_pos, B2_crd, B_vals, C2_pos, C2_crd,
        C_vals, C2_count, workspace, 0);
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

static int smoke_add(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &add_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &add_B_spec, B_dims, 2);
    if (!error) error = add(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = add(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("add", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_add(n, rounds);
    return failed;
}
#endif
