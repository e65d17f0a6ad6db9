/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "convert.h"

/* convert
 *   B(i, j) = A(i, j)
 *   A: {dense, compressed}
 *   B: (i,j) -> (i/3: dense, j/3: compressed, i%3: dense, j%3: dense)
 */
int convert_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    int32_t **B2_pos_out, int32_t **B2_crd_out, double **B_vals_out, int64_t B_vals_capacity,
    int64_t B2_capacity) {
    (void)N;
    int32_t *B2_pos = *B2_pos_out;
    int32_t *B2_crd = *B2_crd_out;
    double *B_vals = *B_vals_out;
    int32_t *B_met1_pos = NULL;
    int32_t *B_met1_crd = NULL;
    int32_t *B_met2_crd = NULL;
    int32_t *B_met3_crd = NULL;
    int32_t *B_met4_crd = NULL;
    double *B_met_vals = NULL;
    int error;
    B_met1_pos = sparsec_zeroed(2, sizeof *B_met1_pos);
    SPARSEC_NEED(B_met1_pos);
    int64_t B_met1_capacity = A2_pos[M];
    B_met1_crd = sparsec_resize(NULL, B_met1_capacity, sizeof *B_met1_crd);
    SPARSEC_NEED(B_met1_crd);
    B_met2_crd = sparsec_resize(NULL, B_met1_capacity, sizeof *B_met2_crd);
    SPARSEC_NEED(B_met2_crd);
    B_met3_crd = sparsec_resize(NULL, B_met1_capacity, sizeof *B_met3_crd);
    SPARSEC_NEED(B_met3_crd);
    B_met4_crd = sparsec_resize(NULL, B_met1_capacity, sizeof *B_met4_crd);
    SPARSEC_NEED(B_met4_crd);
    B_met_vals = sparsec_resize(NULL, B_met1_capacity, sizeof *B_met_vals);
    SPARSEC_NEED(B_met_vals);
    int64_t pB_met1 = 0;
    for (int64_t i = 0; i < M; i++) {
        if (pB_met1 + (A2_pos[i + 1] - A2_pos[i]) > B_met1_capacity) {
            B_met1_capacity = sparsec_next_capacity(B_met1_capacity,
                pB_met1 + (A2_pos[i + 1] - A2_pos[i]));
            SPARSEC_RESIZE(B_met1_crd, B_met1_capacity);
            SPARSEC_RESIZE(B_met2_crd, B_met1_capacity);
            SPARSEC_RESIZE(B_met3_crd, B_met1_capacity);
            SPARSEC_RESIZE(B_met4_crd, B_met1_capacity);
            SPARSEC_RESIZE(B_met_vals, B_met1_capacity);
        }
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            int64_t i_o = i / 3;
            int64_t j_o = j / 3;
            int64_t i_i = i % 3;
            int64_t j_i = j % 3;
            B_met_vals[pB_met1] = A_vals[pA2];
            B_met1_crd[pB_met1] = (int32_t)i_o;
            B_met2_crd[pB_met1] = (int32_t)j_o;
            B_met3_crd[pB_met1] = (int32_t)i_i;
            B_met4_crd[pB_met1] = (int32_t)j_i;
            pB_met1++;
        }
    }
    if (pB_met1 > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    B_met1_pos[1] = (int32_t)pB_met1;
    int64_t B_met_all = B_met1_pos[1];
    {
        void *const sparsec_by[] = {B_met1_crd, B_met2_crd, B_met3_crd, B_met4_crd};
        const bool sorted = sparsec_sort_elements(B_met_all, 4, sparsec_by, sizeof *B_met1_crd,
            B_met_vals, sizeof *B_met_vals);
        SPARSEC_NEED(sorted);
    }
    int64_t B_met_kept = sparsec_min_int64(B_met_all, 1);
    for (int64_t p = 1; p < B_met_all; p++) {
        if (B_met1_crd[B_met_kept - 1] == B_met1_crd[p] &&
                B_met2_crd[B_met_kept - 1] == B_met2_crd[p] &&
                B_met3_crd[B_met_kept - 1] == B_met3_crd[p] &&
                B_met4_crd[B_met_kept - 1] == B_met4_crd[p]) {
            B_met_vals[B_met_kept - 1] = B_met_vals[B_met_kept - 1] + B_met_vals[p];
        } else {
            B_met1_crd[B_met_kept] = B_met1_crd[p];
            B_met2_crd[B_met_kept] = B_met2_crd[p];
            B_met3_crd[B_met_kept] = B_met3_crd[p];
            B_met4_crd[B_met_kept] = B_met4_crd[p];
            B_met_vals[B_met_kept] = B_met_vals[p];
            B_met_kept++;
        }
    }
    B_met1_pos[1] = (int32_t)B_met_kept;
    SPARSEC_RESIZE(B2_pos, sparsec_floordiv(M + 2, 3) + 1);
    memset(B2_pos, 0, (size_t)(sparsec_floordiv(M + 2, 3) + 1) * sizeof *B2_pos);
    B_vals_capacity = sparsec_max_int64(B_vals_capacity, 16);
    SPARSEC_RESIZE(B_vals, B_vals_capacity);
    B2_capacity = sparsec_max_int64(B2_capacity, B_met1_pos[1]);
    SPARSEC_RESIZE(B2_crd, B2_capacity);
    int64_t pB2 = 0;
    int64_t pB_met1_2 = B_met1_pos[0];
    int64_t pB_met1_end = B_met1_pos[1];
    while (pB_met1_2 < pB_met1_end) {
        int64_t i_o_all = B_met1_crd[pB_met1_2];
        int64_t pB_met1_last = pB_met1_2 + 1;
        while (pB_met1_last < pB_met1_end && B_met1_crd[pB_met1_last] == i_o_all) {
            pB_met1_last++;
        }
        int64_t pB_met2 = pB_met1_2;
        int64_t pB_met2_end = pB_met1_last;
        while (pB_met2 < pB_met2_end) {
            int64_t j_o_all = B_met2_crd[pB_met2];
            int64_t pB_met2_last = pB_met2 + 1;
            while (pB_met2_last < pB_met2_end && B_met2_crd[pB_met2_last] == j_o_all) {
                pB_met2_last++;
            }
            if (pB2 >= B2_capacity) {
                B2_capacity = sparsec_next_capacity(B2_capacity, pB2 + 1);
                SPARSEC_RESIZE(B2_crd, B2_capacity);
            }
            if ((pB2 + 1) * 9 > B_vals_capacity) {
                B_vals_capacity = sparsec_next_capacity(B_vals_capacity, (pB2 + 1) * 9);
                SPARSEC_RESIZE(B_vals, B_vals_capacity);
            }
            memset(B_vals + pB2 * 9, 0, (size_t)9 * sizeof *B_vals);
            int64_t pB_met3 = pB_met2;
            int64_t pB_met3_end = pB_met2_last;
            while (pB_met3 < pB_met3_end) {
                int64_t i_i_all = B_met3_crd[pB_met3];
                int64_t pB_met3_last = pB_met3 + 1;
                while (pB_met3_last < pB_met3_end && B_met3_crd[pB_met3_last] == i_i_all) {
                    pB_met3_last++;
                }
                for (int64_t pB_met4 = pB_met3; pB_met4 < pB_met3_last; pB_met4++) {
                    int64_t j_i_all = B_met4_crd[pB_met4];
                    B_vals[(pB2 * 3 + i_i_all) * 3 + j_i_all] = B_met_vals[pB_met4];
                }
                pB_met3 = pB_met3_last;
            }
            B2_crd[pB2] = (int32_t)j_o_all;
            pB2++;
            pB_met2 = pB_met2_last;
        }
        B2_pos[i_o_all + 1] = (int32_t)pB2;
        pB_met1_2 = pB_met1_last;
    }
    if (pB2 > SPARSEC_INDEX_MAX) {
        error = SPARSEC_INDEX_OVERFLOW;
        goto fail;
    }
    for (int64_t k = 0; k < (M + 2) / 3; k++) {
        if (B2_pos[k + 1] < B2_pos[k]) {
            B2_pos[k + 1] = B2_pos[k];
        }
    }
    if (pB2 < B2_capacity / 2) {
        SPARSEC_TRIM(B2_crd, pB2);
    }
    sparsec_release(B_met1_pos);
    sparsec_release(B_met1_crd);
    sparsec_release(B_met2_crd);
    sparsec_release(B_met3_crd);
    sparsec_release(B_met4_crd);
    sparsec_release(B_met_vals);
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
    sparsec_release(B_met1_pos);
    sparsec_release(B_met1_crd);
    sparsec_release(B_met2_crd);
    sparsec_release(B_met3_crd);
    sparsec_release(B_met4_crd);
    sparsec_release(B_met_vals);
    return error;
}

static const sparsec_level_spec convert_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec convert_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, convert_A_levels, NULL};
static const sparsec_level_spec convert_B_levels[] =
    {{SPARSEC_DENSE, 0, SPARSEC_BLOCKS(3) | 0}, {SPARSEC_COMPRESSED, 0, SPARSEC_BLOCKS(3) | 1},
    {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3}};
static const sparsec_spec convert_B_spec = {"B", SPARSEC_FLOAT64, 4, 32, convert_B_levels, NULL};

int convert(const sparsec_tensor *A, sparsec_tensor *B) {
    int error;
    error = sparsec_check(A, &convert_A_spec);
    if (error) return error;
    if (!B) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "B: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    const sparsec_tensor *const tensors[] = {A, B};
    error = sparsec_apart(B, "B", tensors, 2);
    if (error) return error;
    int64_t B_dims[] = {M, N, 3, 3};
    error = sparsec_shape(B, &convert_B_spec, B_dims);
    if (error) return error;
    int32_t *B2_pos = (int32_t *)sparsec_take(&B->levels[1].pos);
    int32_t *B2_crd = (int32_t *)sparsec_take(&B->levels[1].crd);
    double *B_vals = (double *)sparsec_take(&B->vals);
    error = convert_raw(M, N, (const int32_t *)A->levels[1].pos, (const int32_t *)A->levels[1].crd,
        (const double *)A->vals, &B2_pos, &B2_crd, &B_vals, B->vals_cap, B->levels[1].crd_cap);
    if (error) return sparsec_fail_code(error);
    int64_t B_positions = 1;
    B_positions = sparsec_positions(B, 0, B_positions);
    sparsec_set_level(B, 1, B2_pos, B2_crd, B_positions);
    B_positions = sparsec_positions(B, 1, B_positions);
    B_positions = sparsec_positions(B, 2, B_positions);
    B_positions = sparsec_positions(B, 3, B_positions);
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

static int smoke_convert(int64_t n, int rounds) {
    sparsec_tensor A = {0};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {0};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &convert_A_spec, A_dims, 1);
    if (!error) error = convert(&A, &B);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = convert(&A, &B);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("convert", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_convert(n, rounds);
    return failed;
}
#endif
