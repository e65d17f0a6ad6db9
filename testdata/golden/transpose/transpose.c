/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "transpose.h"

/* transpose
 *   B(j, i) = A(i, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   parallelize(i, CPUThread(static), NoRaces)
 */
/* An iteration of the loop over chunk. */
static void transpose_loop(int64_t chunk, int64_t N, int64_t B2_parts,
    int32_t *SPARSEC_RESTRICT B2_all_next) {
    int64_t k_begin = sparsec_floordiv(N * chunk, B2_parts);
    int64_t k_end = sparsec_floordiv(N * (chunk + 1), B2_parts);
    for (int64_t part = 1; part < B2_parts; part++) {
        for (int64_t k = k_begin; k < k_end; k++) {
            B2_all_next[part * N + k] += B2_all_next[(part - 1) * N + k];
        }
    }
}

/* An iteration of the loop over chunk. */
static void transpose_loop2(int64_t chunk, int64_t N, int64_t B2_parts,
    const int32_t *SPARSEC_RESTRICT B2_pos, int32_t *SPARSEC_RESTRICT B2_all_next) {
    int64_t k_begin = sparsec_floordiv(N * chunk, B2_parts);
    int64_t k_end = sparsec_floordiv(N * (chunk + 1), B2_parts);
    for (int64_t turn = 1; turn < B2_parts; turn++) {
        int64_t part = B2_parts - turn;
        for (int64_t k = k_begin; k < k_end; k++) {
            B2_all_next[part * N + k] =
                (int32_t)((int64_t)B2_pos[k] + B2_all_next[(part - 1) * N + k]);
        }
    }
    for (int64_t k = k_begin; k < k_end; k++) {
        B2_all_next[k] = (int32_t)B2_pos[k];
    }
}

/* An iteration of the loop over part. */
static void transpose_loop3(int64_t part, int64_t M, int64_t N, int64_t B2_parts,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, int32_t *SPARSEC_RESTRICT B2_crd,
    double *SPARSEC_RESTRICT B_vals, int32_t *SPARSEC_RESTRICT B2_all_next) {
    int32_t *SPARSEC_RESTRICT B2_next = B2_all_next + part * N;
    int64_t i_begin = sparsec_lower_bound_int32(A2_pos, 0, M,
        A2_pos[0] + sparsec_floordiv((A2_pos[M] - A2_pos[0]) * part, B2_parts));
    int64_t i_end = sparsec_lower_bound_int32(A2_pos, 0, M,
        A2_pos[0] + sparsec_floordiv((A2_pos[M] - A2_pos[0]) * (part + 1), B2_parts));
    for (int64_t i = i_begin; i < i_end; i++) {
        int64_t pA2_end = A2_pos[i + 1];
        for (int64_t pA2 = A2_pos[i]; pA2 < pA2_end; pA2++) {
            int64_t j = A2_crd[pA2];
            int64_t pB2 = B2_next[j];
            B_vals[pB2] = A_vals[pA2];
            B2_crd[pB2] = (int32_t)i;
            B2_next[j] = (int32_t)(pB2 + 1);
        }
    }
}

int transpose_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    int32_t **B2_pos_out, int32_t **B2_crd_out, double **B_vals_out, int64_t B2_capacity) {
    int32_t *B2_pos = *B2_pos_out;
    int32_t *B2_crd = *B2_crd_out;
    double *B_vals = *B_vals_out;
    int32_t *B2_all_next = NULL;
    int error;
    int64_t B2_parts = sparsec_max_int64(sparsec_min_int64(sparsec_thread_count(),
        sparsec_floordiv(A2_pos[M], sparsec_max_int64(N, 1))), 1);
    B2_all_next = sparsec_zeroed(sparsec_times(B2_parts, N), sizeof *B2_all_next);
    SPARSEC_NEED(B2_all_next);
    SPARSEC_RESIZE(B2_pos, N + 1);
    B2_pos[0] = 0;
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t part = 0; part < B2_parts; part++) {
        int32_t *SPARSEC_RESTRICT B2_next = B2_all_next + part * N;
        int64_t i_begin = sparsec_lower_bound_int32(A2_pos, 0, M,
            A2_pos[0] + sparsec_floordiv((A2_pos[M] - A2_pos[0]) * part, B2_parts));
        int64_t i_end = sparsec_lower_bound_int32(A2_pos, 0, M,
            A2_pos[0] + sparsec_floordiv((A2_pos[M] - A2_pos[0]) * (part + 1), B2_parts));
        for (int64_t i = i_begin; i < i_end; i++) {
            int64_t pA2_end = A2_pos[i + 1];
            for (int64_t pA2 = A2_pos[i]; pA2 < pA2_end; pA2++) {
                int64_t j = A2_crd[pA2];
                B2_next[j] += 1;
            }
        }
    }
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t chunk = 0; chunk < B2_parts; chunk++) {
        transpose_loop(chunk, N, B2_parts, B2_all_next);
    }
    int64_t B2_count = 0;
    for (int64_t k = 0; k < N; k++) {
        B2_count += B2_all_next[(B2_parts - 1) * N + k];
        B2_pos[k + 1] = (int32_t)B2_count;
    }
    if (B2_count > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    B2_capacity = sparsec_max_int64(B2_capacity, B2_count);
    SPARSEC_RESIZE(B2_crd, B2_capacity);
    SPARSEC_RESIZE(B_vals, B2_capacity);
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t chunk = 0; chunk < B2_parts; chunk++) {
        transpose_loop2(chunk, N, B2_parts, B2_pos, B2_all_next);
    }
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t part = 0; part < B2_parts; part++) {
        transpose_loop3(part, M, N, B2_parts, A2_pos, A2_crd, A_vals, B2_crd, B_vals, B2_all_next);
    }
    sparsec_release(B2_all_next);
    *B2_pos_out = B2_pos;
    *B2_crd_out = B2_crd;
    *B_vals_out = B_vals;
    return SPARSEC_OK;
fail:
    sparsec_release(B2_pos);
    *B2_pos_out = NULL;
    sparsec_release(B2_crd);
    *B2_crd_out = NULL;
    sparsec_release(B_vals);
    *B_vals_out = NULL;
    sparsec_release(B2_all_next);
    return error;
}

static const sparsec_level_spec transpose_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec transpose_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, transpose_A_levels, NULL};
static const sparsec_level_spec transpose_B_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec transpose_B_spec = {"B", SPARSEC_FLOAT64, 2, 32, transpose_B_levels, NULL};

int transpose(const sparsec_tensor *A, sparsec_tensor *B) {
    int error;
    error = sparsec_check(A, &transpose_A_spec);
    if (error) return error;
    if (!B) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "B: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    const sparsec_tensor *const tensors[] = {A, B};
    error = sparsec_apart(B, "B", tensors, 2);
    if (error) return error;
    int64_t B_dims[] = {N, M};
    error = sparsec_shape(B, &transpose_B_spec, B_dims);
    if (error) return error;
    int32_t *B2_pos = (int32_t *)sparsec_take(&B->levels[1].pos);
    int32_t *B2_crd = (int32_t *)sparsec_take(&B->levels[1].crd);
    double *B_vals = (double *)sparsec_take(&B->vals);
    error = transpose_raw(M, N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, &B2_pos, &B2_crd, &B_vals,
        sparsec_min_int64(B->levels[1].crd_cap, B->vals_cap));
    if (error) return sparsec_fail_code(error);
    int64_t B_positions = 1;
    B_positions = sparsec_positions(B, 0, B_positions);
    sparsec_set_level(B, 1, B2_pos, B2_crd, B_positions);
    B_positions = sparsec_positions(B, 1, B_positions);
    B->vals = B_vals;
    B->vals_len = B->vals_cap = B_positions;
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

static int smoke_transpose(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &transpose_A_spec, A_dims, 1);
    if (!error) error = transpose(&A, &B);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = transpose(&A, &B);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("transpose", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_transpose(n, rounds);
    return failed;
}
#endif
