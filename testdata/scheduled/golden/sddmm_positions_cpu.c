/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "sddmm.h"

/* sddmm
 *   C(i, j) +=! A(i, j) * B(i, k) * D(j, k)
 *   A: {dense, compressed}
 *   C: {dense, compressed}
 *   fuse(i, j, f)
 *   pos(f, p, A(i,j))
 *   split(p, p0, p1, 256)
 *   parallelize(p0, CPUThread(dynamic, 16), NoRaces)
 *   parallelize(k, CPUVector, ParallelReduction)
 */
/* An iteration of the loop over p0. */
static void sddmm_loop(int64_t p0, int64_t M, int64_t K, int64_t p_begin, int64_t p_end,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT B_vals,
    const double *SPARSEC_RESTRICT D_vals, double *SPARSEC_RESTRICT C_vals) {
    int64_t p1_begin = p_begin + p0 * 256;
    int64_t p1_end = sparsec_min_int64(p1_begin + 256, p_end);
    int64_t A1_first = sparsec_lower_bound_int32(A2_pos, 0, M, p1_begin + 1);
    int64_t A1_last = sparsec_gallop_int32(A2_pos, A1_first, M, p1_end);
    for (int64_t i = sparsec_max_int64(A1_first - 1, 0); i < A1_last; i++) {
        int64_t pA2_begin = sparsec_max_int64(A2_pos[i], p1_begin);
        int64_t pA2_end = sparsec_min_int64(A2_pos[i + 1], p1_end);
        for (int64_t p = pA2_begin; p < pA2_end; p++) {
            int64_t j = A2_crd[p];
            double sum = 0.0;
#ifdef _OPENMP
            #pragma omp simd reduction(+:sum)
#endif
            for (int64_t k = 0; k < K; k++) {
                sum += A_vals[p] * B_vals[i * K + k] * D_vals[j * K + k];
            }
            C_vals[p] = sum;
        }
    }
}

int sddmm_raw(int64_t M, int64_t N, int64_t K, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, const double *SPARSEC_RESTRICT D_vals,
    int32_t **C2_pos_out, int32_t **C2_crd_out, double **C_vals_out) {
    (void)N;
    int32_t *C2_pos = *C2_pos_out;
    int32_t *C2_crd = *C2_crd_out;
    double *C_vals = *C_vals_out;
    int error;
    SPARSEC_RESIZE(C2_pos, M + 1);
    sparsec_copy(C2_pos, A2_pos, M + 1, sizeof *C2_pos);
    int64_t C_stored = A2_pos[M];
    SPARSEC_RESIZE(C2_crd, C_stored);
    sparsec_copy(C2_crd, A2_crd, C_stored, sizeof *C2_crd);
    SPARSEC_RESIZE(C_vals, C_stored);
    int64_t p_begin = A2_pos[0];
    int64_t p_end = A2_pos[M];
#ifdef _OPENMP
    #pragma omp parallel for schedule(dynamic, 16)
#endif
    for (int64_t p0 = 0; p0 < (p_end - p_begin + 255) / 256; p0++) {
        sddmm_loop(p0, M, K, p_begin, p_end, A2_pos, A2_crd, A_vals, B_vals, D_vals, C_vals);
    }
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
    return error;
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
    int32_t *C2_pos = (int32_t *)sparsec_take(&C->levels[1].pos);
    int32_t *C2_crd = (int32_t *)sparsec_take(&C->levels[1].crd);
    double *C_vals = (double *)sparsec_take(&C->vals);
    error = sddmm_raw(M, N, K, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, (const double *)B->vals, (const double *)D->vals, &C2_pos, &C2_crd,
        &C_vals);
    if (error) return sparsec_fail_code(error);
    int64_t C_positions = 1;
    C_positions = sparsec_positions(C, 0, C_positions);
    sparsec_set_level(C, 1, C2_pos, C2_crd, C_positions);
    C_positions = sparsec_positions(C, 1, C_positions);
    C->vals = C_vals;
    C->vals_len = C->vals_cap = C_positions;
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
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor D = {0};
    const int64_t D_dims[] = {n, n};
    sparsec_tensor C = {0};
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
