/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "slots.h"

/* sliced_spmv
 *   y(i) +=! A(i, j) * x(j)
 *   A: (i,j) -> (i/8: dense, slot: compressed, i%8: dense, j: singleton)
 *   reorder(i_o, slot, i_i)
 *   parallelize(i_o, CPUThread(static), NoRaces)
 *   parallelize(i_i, CPUVector, NoRaces)
 */
int sliced_spmv_raw(int64_t M, int64_t N, int64_t A_slots, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const int32_t *SPARSEC_RESTRICT A4_crd,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT x_vals,
    double *SPARSEC_RESTRICT y_vals) {
    (void)N; (void)A_slots; (void)A2_crd;
    const int64_t shares = sparsec_thread_count();
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t share = 0; share < shares; share++) {
        const int64_t i_o_end = sparsec_share_int32(A2_pos, 0, (M + 7) / 8, share + 1, shares);
        for (int64_t i_o = sparsec_share_int32(A2_pos, 0, (M + 7) / 8, share, shares);
                i_o < i_o_end; i_o++) {
            if (M - i_o * 8 >= 8) {
#ifdef _OPENMP
                #pragma omp simd
#endif
                for (int64_t i_i = 0; i_i < 8; i_i++) {
                    int64_t i = i_o * 8 + i_i;
                    y_vals[i] = 0.0;
                }
                for (int64_t pA2 = A2_pos[i_o]; pA2 < A2_pos[i_o + 1]; pA2++) {
#ifdef _OPENMP
                    #pragma omp simd
#endif
                    for (int64_t i_i = 0; i_i < 8; i_i++) {
                        int64_t i = i_o * 8 + i_i;
                        double sum = 0.0;
                        int64_t pA4 = pA2 * 8 + i_i;
                        int64_t j = A4_crd[pA4];
                        sum += A_vals[pA4] * x_vals[j];
                        y_vals[i] += sum;
                    }
                }
            } else {
                SPARSEC_UNROLL(8)
                for (int64_t i_i = 0; i_i < 8; i_i++) {
                    if (i_i < M - i_o * 8) {
                        int64_t i = i_o * 8 + i_i;
                        y_vals[i] = 0.0;
                    }
                }
                for (int64_t pA2 = A2_pos[i_o]; pA2 < A2_pos[i_o + 1]; pA2++) {
                    SPARSEC_UNROLL(8)
                    for (int64_t i_i = 0; i_i < 8; i_i++) {
                        if (i_i < M - i_o * 8) {
                            int64_t i = i_o * 8 + i_i;
                            double sum = 0.0;
                            int64_t pA4 = pA2 * 8 + i_i;
                            int64_t j = A4_crd[pA4];
                            sum += A_vals[pA4] * x_vals[j];
                            y_vals[i] += sum;
                        }
                    }
                }
            }
        }
    }
    return SPARSEC_OK;
}

static const sparsec_level_spec sliced_spmv_A_levels[] =
    {{SPARSEC_DENSE, 0, SPARSEC_BLOCKS(8) | 0}, {SPARSEC_COMPRESSED, 0, 2}, {SPARSEC_DENSE, 0, 3},
    {SPARSEC_SINGLETON, 0, 1}};
static const sparsec_spec sliced_spmv_A_spec = {"A", SPARSEC_FLOAT64, 4, 32, sliced_spmv_A_levels, NULL};
static const sparsec_level_spec sliced_spmv_x_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec sliced_spmv_x_spec = {"x", SPARSEC_FLOAT64, 1, 32, sliced_spmv_x_levels, NULL};
static const sparsec_level_spec sliced_spmv_y_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec sliced_spmv_y_spec = {"y", SPARSEC_FLOAT64, 1, 32, sliced_spmv_y_levels, NULL};

int sliced_spmv(const sparsec_tensor *A, const sparsec_tensor *x, sparsec_tensor *y) {
    int error;
    error = sparsec_check(A, &sliced_spmv_A_spec);
    if (error) return error;
    error = sparsec_check(x, &sliced_spmv_x_spec);
    if (error) return error;
    if (!y) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "y: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    int64_t A_slots = A->dims[2];
    error = sparsec_same_size("of dimension 3", "A", A->dims[3], "the program", 8);
    if (error) return error;
    error = sparsec_same_size("N", "x", x->dims[0], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, x, y};
    error = sparsec_apart(y, "y", tensors, 3);
    if (error) return error;
    int64_t y_dims[] = {M};
    error = sparsec_shape_dense(y, &sliced_spmv_y_spec, y_dims);
    if (error) return error;
    error = sliced_spmv_raw(M, N, A_slots, (const int32_t *)A->levels[1].pos,
        (const int32_t *)A->levels[1].crd, (const int32_t *)A->levels[3].crd, (const double *)A->vals,
        (const double *)x->vals, (double *)y->vals);
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

static int smoke_sliced_spmv(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n, n, 8};
    sparsec_tensor x = {0};
    const int64_t x_dims[] = {n};
    sparsec_tensor y = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &sliced_spmv_A_spec, A_dims, 1);
    error |= smoke_fill(&x, &sliced_spmv_x_spec, x_dims, 2);
    if (!error) error = sliced_spmv(&A, &x, &y);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = sliced_spmv(&A, &x, &y);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("sliced_spmv", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&x);
    sparsec_free_tensor(&y);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_sliced_spmv(n, rounds);
    return failed;
}
#endif
