/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "spmm.h"

/* spmm
 *   C(i, k) +=! A(i, j) * B(j, k)
 *   A: {dense, compressed}
 *   split(i, i0, i1, 32)
 *   split(k, k0, k1, 32)
 *   reorder(i0, i1, k0, j, k1)
 *   precompute(A(i,j) * B(j,k), k1, k1, tile)
 *   unroll(k1, 32)
 *   parallelize(i0, CPUThread(static), NoRaces)
 */
int spmm_raw(int64_t M, int64_t N, int64_t K, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, double *SPARSEC_RESTRICT C_vals) {
    (void)N;
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t i0 = 0; i0 < (M + 31) / 32; i0++) {
        for (int64_t i1 = 0; i1 < sparsec_min_int64(32, M - i0 * 32); i1++) {
            int64_t i = i0 * 32 + i1;
            int64_t k0_full = K / 32;
            for (int64_t k0 = 0; k0 < k0_full; k0++) {
                double tile_vals[32];
                SPARSEC_UNROLL(32)
                for (int64_t k1 = 0; k1 < 32; k1++) {
                    tile_vals[k1] = 0.0;
                }
                for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                    int64_t j = A2_crd[pA2];
                    SPARSEC_UNROLL(32)
                    for (int64_t k1 = 0; k1 < 32; k1++) {
                        int64_t k = k0 * 32 + k1;
                        tile_vals[k1] += A_vals[pA2] * B_vals[j * K + k];
                    }
                }
                SPARSEC_UNROLL(32)
                for (int64_t k1 = 0; k1 < 32; k1++) {
                    int64_t k = k0 * 32 + k1;
                    C_vals[i * K + k] = tile_vals[k1];
                }
            }
            if (k0_full * 32 < K) {
                int64_t k0 = k0_full;
                double tile_vals[32];
                for (int64_t k1 = 0; k1 < sparsec_min_int64(32, K - k0 * 32); k1++) {
                    tile_vals[k1] = 0.0;
                }
                for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                    SPARSEC_NO_JAM();
                    int64_t j = A2_crd[pA2];
                    for (int64_t k1 = 0; k1 < sparsec_min_int64(32, K - k0 * 32); k1++) {
                        int64_t k = k0 * 32 + k1;
                        tile_vals[k1] += A_vals[pA2] * B_vals[j * K + k];
                    }
                }
                for (int64_t k1 = 0; k1 < sparsec_min_int64(32, K - k0 * 32); k1++) {
                    int64_t k = k0 * 32 + k1;
                    C_vals[i * K + k] = tile_vals[k1];
                }
            }
        }
    }
    return SPARSEC_OK;
}

static const sparsec_level_spec spmm_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spmm_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, spmm_A_levels, NULL};
static const sparsec_level_spec spmm_B_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec spmm_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, spmm_B_levels, NULL};
static const sparsec_level_spec spmm_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec spmm_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, spmm_C_levels, NULL};

int spmm(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    int error;
    error = sparsec_check(A, &spmm_A_spec);
    if (error) return error;
    error = sparsec_check(B, &spmm_B_spec);
    if (error) return error;
    if (!C) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "C: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    int64_t K = B->dims[1];
    error = sparsec_same_size("N", "B", B->dims[0], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, B, C};
    error = sparsec_apart(C, "C", tensors, 3);
    if (error) return error;
    int64_t C_dims[] = {M, K};
    error = sparsec_shape_dense(C, &spmm_C_spec, C_dims);
    if (error) return error;
    error = spmm_raw(M, N, K, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, (const double *)B->vals, (double *)C->vals);
    if (error) return sparsec_fail_code(error);
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

static int smoke_spmm(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    const int64_t B_dims[] = {n, n};
    sparsec_tensor C = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &spmm_A_spec, A_dims, 1);
    error |= smoke_fill(&B, &spmm_B_spec, B_dims, 2);
    if (!error) error = spmm(&A, &B, &C);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = spmm(&A, &B, &C);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("spmm", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_spmm(n, rounds);
    return failed;
}
#endif
