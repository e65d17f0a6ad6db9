/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "equake.h"

/* equake
 *   next(i, a) = 0
 *   next(i, a) += K(e, a, b) * now(col(e), b) where i in 0:R - 1, e in first(i):first(i + 1)
 *   next(col(e), b) += K(e, a, b) * now(i, a) where i in 0:R - 1, e in first(i) + 1:first(i + 1)
 *   next(i, a) = next(i, a) * -(dt * dt)
 *   next(i, a) = next(i, a) + 2 * M(i, a) * now(i, a) - (M(i, a) - dt / 2 * C(i, a)) * before(i, a) - dt * dt * (M23(i, a) * phi(2) / 2 + C23(i, a) * phi(1) / 2 + V23(i, a) * phi(0) / 2)
 *   next(i, a) = next(i, a) / (M(i, a) + dt / 2 * C(i, a))
 *   velocity(i, a) = 0.5 / dt * (next(i, a) - before(i, a))
 *   precompute(K(e,a,b) * now(int64(col(e)),b), S1.a, aw, sums)
 *   reorder(S1.e, aw, S1.b)
 *   join(S1, S2, i)
 *   unroll(aw, 3)
 *   unroll(S1.b, 3)
 *   unroll(S2.b, 3)
 *   unroll(S2.a, 3)
 *   split(S1.i, i0, i1, 64)
 *   parallelize(i0, CPUThread, Temporary)
 *   join(S3, S4, i, a)
 *   join(S4, S5, i, a)
 *   join(S5, S6, i, a)
 *   parallelize(S3.i, CPUThread, NoRaces)
 */
/* An iteration of the loop over e0. */
static void equake_loop(int64_t e0, int64_t N, int64_t next_threads,
    double *SPARSEC_RESTRICT next_vals, const double *SPARSEC_RESTRICT next_copies) {
    for (int64_t t = 0; t < next_threads; t++) {
        for (int64_t e1 = 0; e1 < sparsec_min_int64(1024, N * 3 - e0 * 1024); e1++) {
            next_vals[e0 * 1024 + e1] += next_copies[t * (N * 3) + (e0 * 1024 + e1)];
        }
    }
}

/* An iteration of the loop over i. */
static void equake_loop2(int64_t i, double dt, const double *SPARSEC_RESTRICT now_vals,
    const double *SPARSEC_RESTRICT before_vals, const double *SPARSEC_RESTRICT M_vals,
    const double *SPARSEC_RESTRICT C_vals, const double *SPARSEC_RESTRICT M23_vals,
    const double *SPARSEC_RESTRICT C23_vals, const double *SPARSEC_RESTRICT V23_vals,
    const double *SPARSEC_RESTRICT phi_vals, double *SPARSEC_RESTRICT next_vals,
    double *SPARSEC_RESTRICT velocity_vals) {
    for (int64_t a = 0; a < 3; a++) {
        next_vals[i * 3 + a] = next_vals[i * 3 + a] * -(dt * dt);
        next_vals[i * 3 + a] = next_vals[i * 3 + a] +
            2.0 * M_vals[i * 3 + a] * now_vals[i * 3 + a] -
            (M_vals[i * 3 + a] - dt / 2.0 * C_vals[i * 3 + a]) * before_vals[i * 3 + a] -
            dt * dt * (M23_vals[i * 3 + a] * phi_vals[2] / 2.0 +
            C23_vals[i * 3 + a] * phi_vals[1] / 2.0 + V23_vals[i * 3 + a] * phi_vals[0] / 2.0);
        next_vals[i * 3 + a] = next_vals[i * 3 + a] /
            (M_vals[i * 3 + a] + dt / 2.0 * C_vals[i * 3 + a]);
        velocity_vals[i * 3 + a] = 0.5 / dt * (next_vals[i * 3 + a] - before_vals[i * 3 + a]);
    }
}

int equake_raw(int64_t R, int64_t E, int64_t N, const int32_t *SPARSEC_RESTRICT first_vals,
    const int32_t *SPARSEC_RESTRICT col_vals, const double *SPARSEC_RESTRICT K_vals,
    const double *SPARSEC_RESTRICT now_vals, const double *SPARSEC_RESTRICT before_vals,
    const double *SPARSEC_RESTRICT M_vals, const double *SPARSEC_RESTRICT C_vals,
    const double *SPARSEC_RESTRICT M23_vals, const double *SPARSEC_RESTRICT C23_vals,
    const double *SPARSEC_RESTRICT V23_vals, const double *SPARSEC_RESTRICT phi_vals, double dt,
    double *SPARSEC_RESTRICT next_vals, double *SPARSEC_RESTRICT velocity_vals) {
    (void)E;
    double *next_copies = NULL;
    int error;
    next_copies = sparsec_resize(NULL, sparsec_times(sparsec_thread_count(), sparsec_times(N, 3)),
        sizeof *next_copies);
    SPARSEC_NEED(next_copies);
    sparsec_clear(next_vals, N * 3, sizeof *next_vals);
    sparsec_clear(next_copies, sparsec_thread_count() * (N * 3), sizeof *next_copies);
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i0 = 0; i0 < (R + 62) / 64; i0++) {
        double *SPARSEC_RESTRICT next_own = next_copies + sparsec_thread_index() * (N * 3);
        for (int64_t i1 = 0; i1 < sparsec_min_int64(64, R - 1 - i0 * 64); i1++) {
            int64_t i = i0 * 64 + i1;
            double sums_vals[3];
            for (int64_t a = 0; a < 3; a++) {
                sums_vals[a] = 0.0;
            }
            for (int64_t e = first_vals[i]; e < first_vals[i + 1]; e++) {
                SPARSEC_UNROLL(3)
                for (int64_t aw = 0; aw < 3; aw++) {
                    double sum = 0.0;
                    SPARSEC_UNROLL(3)
                    for (int64_t b = 0; b < 3; b++) {
                        sum += K_vals[(e * 3 + aw) * 3 + b] *
                            now_vals[(int64_t)col_vals[e] * 3 + b];
                    }
                    sums_vals[aw] += sum;
                }
            }
            for (int64_t a = 0; a < 3; a++) {
                next_own[i * 3 + a] += sums_vals[a];
            }
            for (int64_t e = (int64_t)first_vals[i] + 1; e < first_vals[i + 1]; e++) {
                int64_t at_col = col_vals[e];
                SPARSEC_UNROLL(3)
                for (int64_t b = 0; b < 3; b++) {
                    double sum = 0.0;
                    SPARSEC_UNROLL(3)
                    for (int64_t a = 0; a < 3; a++) {
                        sum += K_vals[(e * 3 + a) * 3 + b] * now_vals[i * 3 + a];
                    }
                    next_own[at_col * 3 + b] += sum;
                }
            }
        }
    }
    int64_t next_threads = sparsec_thread_count();
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t e0 = 0; e0 < (N * 3 + 1023) / 1024; e0++) {
        equake_loop(e0, N, next_threads, next_vals, next_copies);
    }
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t i = 0; i < N; i++) {
        equake_loop2(i, dt, now_vals, before_vals, M_vals, C_vals, M23_vals, C23_vals, V23_vals,
            phi_vals, next_vals, velocity_vals);
    }
    sparsec_release(next_copies);
    return SPARSEC_OK;
fail:
    sparsec_release(next_copies);
    return error;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int equake_check(int64_t R, int64_t E, int64_t N, const int32_t *SPARSEC_RESTRICT first_vals,
    const int32_t *SPARSEC_RESTRICT col_vals, const double *SPARSEC_RESTRICT K_vals,
    const double *SPARSEC_RESTRICT now_vals, const double *SPARSEC_RESTRICT before_vals,
    const double *SPARSEC_RESTRICT M_vals, const double *SPARSEC_RESTRICT C_vals,
    const double *SPARSEC_RESTRICT M23_vals, const double *SPARSEC_RESTRICT C23_vals,
    const double *SPARSEC_RESTRICT V23_vals, const double *SPARSEC_RESTRICT phi_vals, double dt) {
    (void)K_vals; (void)now_vals; (void)before_vals; (void)M_vals; (void)C_vals; (void)M23_vals;
        (void)C23_vals; (void)V23_vals; (void)phi_vals; (void)dt;
    bool out_of_range = false;
    for (int64_t i = 0; i < R - 1; i++) {
        out_of_range |= (first_vals[i] < first_vals[i + 1]) &
            ((first_vals[i] < 0) | (E < first_vals[i + 1]));
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    for (int64_t i = 0; i < R - 1; i++) {
        for (int64_t e = first_vals[i]; e < first_vals[i + 1]; e++) {
            out_of_range |= (col_vals[e] < 0) | (col_vals[e] >= N);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec equake_first_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec equake_first_spec = {"first", SPARSEC_INT32, 1, 32, equake_first_levels, NULL};
static const sparsec_level_spec equake_col_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec equake_col_spec = {"col", SPARSEC_INT32, 1, 32, equake_col_levels, NULL};
static const sparsec_level_spec equake_K_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}};
static const sparsec_spec equake_K_spec = {"K", SPARSEC_FLOAT64, 3, 32, equake_K_levels, NULL};
static const sparsec_level_spec equake_now_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_now_spec = {"now", SPARSEC_FLOAT64, 2, 32, equake_now_levels, NULL};
static const sparsec_level_spec equake_before_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_before_spec = {"before", SPARSEC_FLOAT64, 2, 32, equake_before_levels, NULL};
static const sparsec_level_spec equake_M_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_M_spec = {"M", SPARSEC_FLOAT64, 2, 32, equake_M_levels, NULL};
static const sparsec_level_spec equake_C_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, equake_C_levels, NULL};
static const sparsec_level_spec equake_M23_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_M23_spec = {"M23", SPARSEC_FLOAT64, 2, 32, equake_M23_levels, NULL};
static const sparsec_level_spec equake_C23_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_C23_spec = {"C23", SPARSEC_FLOAT64, 2, 32, equake_C23_levels, NULL};
static const sparsec_level_spec equake_V23_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_V23_spec = {"V23", SPARSEC_FLOAT64, 2, 32, equake_V23_levels, NULL};
static const sparsec_level_spec equake_phi_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec equake_phi_spec = {"phi", SPARSEC_FLOAT64, 1, 32, equake_phi_levels, NULL};
static const sparsec_level_spec equake_next_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_next_spec = {"next", SPARSEC_FLOAT64, 2, 32, equake_next_levels, NULL};
static const sparsec_level_spec equake_velocity_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec equake_velocity_spec = {"velocity", SPARSEC_FLOAT64, 2, 32, equake_velocity_levels, NULL};

int equake(const sparsec_tensor *first, const sparsec_tensor *col, const sparsec_tensor *K,
    const sparsec_tensor *now, const sparsec_tensor *before, const sparsec_tensor *M,
    const sparsec_tensor *C, const sparsec_tensor *M23, const sparsec_tensor *C23,
    const sparsec_tensor *V23, const sparsec_tensor *phi, double dt, sparsec_tensor *next,
    sparsec_tensor *velocity) {
    int error;
    error = sparsec_check(first, &equake_first_spec);
    if (error) return error;
    error = sparsec_check(col, &equake_col_spec);
    if (error) return error;
    error = sparsec_check(K, &equake_K_spec);
    if (error) return error;
    error = sparsec_check(now, &equake_now_spec);
    if (error) return error;
    error = sparsec_check(before, &equake_before_spec);
    if (error) return error;
    error = sparsec_check(M, &equake_M_spec);
    if (error) return error;
    error = sparsec_check(C, &equake_C_spec);
    if (error) return error;
    error = sparsec_check(M23, &equake_M23_spec);
    if (error) return error;
    error = sparsec_check(C23, &equake_C23_spec);
    if (error) return error;
    error = sparsec_check(V23, &equake_V23_spec);
    if (error) return error;
    error = sparsec_check(phi, &equake_phi_spec);
    if (error) return error;
    error = sparsec_check(next, &equake_next_spec);
    if (error) return error;
    if (!velocity) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "velocity: no tensor given");
    int64_t R = first->dims[0];
    int64_t E = col->dims[0];
    int64_t N = now->dims[0];
    error = sparsec_same_size("E", "K", K->dims[0], "col", E);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "K", K->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 2", "K", K->dims[2], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "now", now->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "before", before->dims[0], "now", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "before", before->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "M", M->dims[0], "now", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "M", M->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "C", C->dims[0], "now", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "C", C->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "M23", M23->dims[0], "now", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "M23", M23->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "C23", C23->dims[0], "now", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "C23", C23->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "V23", V23->dims[0], "now", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "V23", V23->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 0", "phi", phi->dims[0], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "next", next->dims[0], "now", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "next", next->dims[1], "the program", 3);
    if (error) return error;
    if (N - R + 1 < 0 && 0 < R - 1)
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "dimension 0 of `next` is accessed past its end");
    if (N - R + 1 < 0 && 0 < R - 1)
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "dimension 0 of `now` is accessed past its end");
    const sparsec_tensor *const tensors[] =
        {first, col, K, now, before, M, C, M23, C23, V23, phi, next, velocity};
    error = sparsec_apart(next, "next", tensors, 13);
    if (error) return error;
    error = sparsec_apart(velocity, "velocity", tensors, 13);
    if (error) return error;
    int64_t velocity_dims[] = {N, 3};
    error = sparsec_shape_dense(velocity, &equake_velocity_spec, velocity_dims);
    if (error) return error;
    error = equake_check(R, E, N, (const int32_t *)first->vals, (const int32_t *)col->vals,
        (const double *)K->vals, (const double *)now->vals, (const double *)before->vals,
        (const double *)M->vals, (const double *)C->vals, (const double *)M23->vals,
        (const double *)C23->vals, (const double *)V23->vals, (const double *)phi->vals, dt);
    if (error) return sparsec_fail_code(error);
    error = equake_raw(R, E, N, (const int32_t *)first->vals, (const int32_t *)col->vals,
        (const double *)K->vals, (const double *)now->vals, (const double *)before->vals,
        (const double *)M->vals, (const double *)C->vals, (const double *)M23->vals,
        (const double *)C23->vals, (const double *)V23->vals, (const double *)phi->vals, dt,
        (double *)next->vals, (double *)velocity->vals);
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

static int smoke_equake(int64_t n, int rounds) {
    sparsec_tensor first = {0};
    const int64_t first_dims[] = {n};
    sparsec_tensor col = {0};
    const int64_t col_dims[] = {n};
    sparsec_tensor K = {0};
    const int64_t K_dims[] = {n, 3, 3};
    sparsec_tensor now = {0};
    const int64_t now_dims[] = {n, 3};
    sparsec_tensor before = {0};
    const int64_t before_dims[] = {n, 3};
    sparsec_tensor M = {0};
    const int64_t M_dims[] = {n, 3};
    sparsec_tensor C = {0};
    const int64_t C_dims[] = {n, 3};
    sparsec_tensor M23 = {0};
    const int64_t M23_dims[] = {n, 3};
    sparsec_tensor C23 = {0};
    const int64_t C23_dims[] = {n, 3};
    sparsec_tensor V23 = {0};
    const int64_t V23_dims[] = {n, 3};
    sparsec_tensor phi = {0};
    const int64_t phi_dims[] = {3};
    double dt = 0.5f;
    sparsec_tensor next = {0};
    const int64_t next_dims[] = {n, 3};
    sparsec_tensor velocity = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&first, &equake_first_spec, first_dims, 1);
    error |= smoke_fill(&col, &equake_col_spec, col_dims, 2);
    error |= smoke_fill(&K, &equake_K_spec, K_dims, 3);
    error |= smoke_fill(&now, &equake_now_spec, now_dims, 4);
    error |= smoke_fill(&before, &equake_before_spec, before_dims, 5);
    error |= smoke_fill(&M, &equake_M_spec, M_dims, 6);
    error |= smoke_fill(&C, &equake_C_spec, C_dims, 7);
    error |= smoke_fill(&M23, &equake_M23_spec, M23_dims, 8);
    error |= smoke_fill(&C23, &equake_C23_spec, C23_dims, 9);
    error |= smoke_fill(&V23, &equake_V23_spec, V23_dims, 10);
    error |= smoke_fill(&phi, &equake_phi_spec, phi_dims, 11);
    error |= smoke_fill(&next, &equake_next_spec, next_dims, 13);
    if (!error) error = equake(&first, &col, &K, &now, &before, &M, &C, &M23, &C23, &V23, &phi, dt, &next, &velocity);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = equake(&first, &col, &K, &now, &before, &M, &C, &M23, &C23, &V23, &phi, dt, &next, &velocity);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("equake", error, best);
    sparsec_free_tensor(&first);
    sparsec_free_tensor(&col);
    sparsec_free_tensor(&K);
    sparsec_free_tensor(&now);
    sparsec_free_tensor(&before);
    sparsec_free_tensor(&M);
    sparsec_free_tensor(&C);
    sparsec_free_tensor(&M23);
    sparsec_free_tensor(&C23);
    sparsec_free_tensor(&V23);
    sparsec_free_tensor(&phi);
    sparsec_free_tensor(&next);
    sparsec_free_tensor(&velocity);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_equake(n, rounds);
    return failed;
}
#endif
