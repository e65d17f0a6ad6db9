/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "convert.h"

/* convert
 *   B(i, j) = A(i, j)
 *   A: {dense, compressed}
 *   B: (i,j) -> (i/3: dense, j/3: compressed, i%3: dense, j%3: dense)
 *   split(i_o_all, s0_1_tile, s0_1_own, 32)
 *   split(s0_1_tile, s0_1_block, s0_1_thread, 128)
 *   parallelize(s0_1_block, GPUBlock, NoRaces)
 *   parallelize(s0_1_thread, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(1, 16) convert_kernel1(int64_t M, int64_t B_met1_capacity,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, int32_t *B_met1_pos, int32_t *B_met1_crd,
    int32_t *B_met2_crd, int32_t *B_met3_crd, int32_t *B_met4_crd, double *B_met_vals,
    int64_t *needs) {
    needs[0] = 0;
    needs[1] = 0;
    int64_t pB_met1 = 0;
    for (int64_t i = 0; i < M; i++) {
        for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
            int64_t j = A2_crd[pA2];
            int64_t i_o = i / 3;
            int64_t j_o = j / 3;
            int64_t i_i = i % 3;
            int64_t j_i = j % 3;
            needs[0] = sparsec_max_int64(needs[0], pB_met1 + 1);
            if (pB_met1 < B_met1_capacity) {
                B_met_vals[pB_met1] = A_vals[pA2];
            }
            if (pB_met1 < B_met1_capacity) {
                B_met1_crd[pB_met1] = (int32_t)i_o;
            }
            if (pB_met1 < B_met1_capacity) {
                B_met2_crd[pB_met1] = (int32_t)j_o;
            }
            if (pB_met1 < B_met1_capacity) {
                B_met3_crd[pB_met1] = (int32_t)i_i;
            }
            if (pB_met1 < B_met1_capacity) {
                B_met4_crd[pB_met1] = (int32_t)j_i;
            }
            pB_met1++;
        }
    }
    if (2147483647 < pB_met1) {
        needs[1] = 3;
    }
    B_met1_pos[1] = (int32_t)pB_met1;
}

static __global__ void __launch_bounds__(1, 16) convert_kernel2(int32_t *B_met1_pos,
    int32_t *B_met1_crd, int32_t *B_met2_crd, int32_t *B_met3_crd, int32_t *B_met4_crd,
    double *B_met_vals) {
    int64_t B_met_all = B_met1_pos[1];
    {
        int32_t *const sparsec_by[] = {B_met1_crd, B_met2_crd, B_met3_crd, B_met4_crd};
        sparsec_sort_in_place(B_met_all, 4, sparsec_by, B_met_vals);
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
}

static __global__ void __launch_bounds__(128, 8) convert_kernel3(int64_t M,
    const int32_t *SPARSEC_RESTRICT B_met1_pos, const int32_t *SPARSEC_RESTRICT B_met1_crd,
    const int32_t *SPARSEC_RESTRICT B_met2_crd, int64_t *B2_begins) {
    int64_t s0_1_block = blockIdx.x;
    int64_t s0_1_thread = threadIdx.x;
    if (s0_1_thread < sparsec_min_int64(128,
            sparsec_floordiv(sparsec_floordiv(M + 2, 3) + 31, 32) - s0_1_block * 128)) {
        int64_t pB2 = 0;
        int64_t pB_met1_begin =
            sparsec_lower_bound_int32(B_met1_crd, B_met1_pos[0], B_met1_pos[1],
            (s0_1_block * 128 + s0_1_thread) * 32);
        int64_t pB_met1_end = sparsec_lower_bound_int32(B_met1_crd, pB_met1_begin, B_met1_pos[1],
            (s0_1_block * 128 + s0_1_thread) * 32 +
            sparsec_min_int64(32, sparsec_floordiv(M + 2, 3) -
            (s0_1_block * 128 + s0_1_thread) * 32));
        int64_t pB_met1 = pB_met1_begin;
        while (pB_met1 < pB_met1_end) {
            int64_t i_o_all = B_met1_crd[pB_met1];
            int64_t pB_met1_last = pB_met1 + 1;
            while (pB_met1_last < pB_met1_end && B_met1_crd[pB_met1_last] == i_o_all) {
                pB_met1_last++;
            }
            int64_t pB_met2 = pB_met1;
            int64_t pB_met2_end = pB_met1_last;
            while (pB_met2 < pB_met2_end) {
                int64_t j_o_all = B_met2_crd[pB_met2];
                int64_t pB_met2_last = pB_met2 + 1;
                while (pB_met2_last < pB_met2_end && B_met2_crd[pB_met2_last] == j_o_all) {
                    pB_met2_last++;
                }
                pB2++;
                pB_met2 = pB_met2_last;
            }
            pB_met1 = pB_met1_last;
        }
        B2_begins[s0_1_block * 128 + s0_1_thread + 1] = pB2;
    }
}

static __global__ void __launch_bounds__(128, 8) convert_kernel4(int64_t M, int32_t *B2_pos,
    int32_t *B2_crd, double *B_vals, const int32_t *SPARSEC_RESTRICT B_met1_pos,
    const int32_t *SPARSEC_RESTRICT B_met1_crd, const int32_t *SPARSEC_RESTRICT B_met2_crd,
    const int32_t *SPARSEC_RESTRICT B_met3_crd, const int32_t *SPARSEC_RESTRICT B_met4_crd,
    const double *SPARSEC_RESTRICT B_met_vals, const int64_t *SPARSEC_RESTRICT B2_begins) {
    int64_t s0_1_block = blockIdx.x;
    int64_t s0_1_thread = threadIdx.x;
    if (s0_1_thread < sparsec_min_int64(128,
            sparsec_floordiv(sparsec_floordiv(M + 2, 3) + 31, 32) - s0_1_block * 128)) {
        int64_t pB2 = B2_begins[s0_1_block * 128 + s0_1_thread];
        int64_t pB_met1_begin =
            sparsec_lower_bound_int32(B_met1_crd, B_met1_pos[0], B_met1_pos[1],
            (s0_1_block * 128 + s0_1_thread) * 32);
        int64_t pB_met1_end = sparsec_lower_bound_int32(B_met1_crd, pB_met1_begin, B_met1_pos[1],
            (s0_1_block * 128 + s0_1_thread) * 32 +
            sparsec_min_int64(32, sparsec_floordiv(M + 2, 3) -
            (s0_1_block * 128 + s0_1_thread) * 32));
        int64_t pB_met1 = pB_met1_begin;
        while (pB_met1 < pB_met1_end) {
            int64_t i_o_all = B_met1_crd[pB_met1];
            int64_t pB_met1_last = pB_met1 + 1;
            while (pB_met1_last < pB_met1_end && B_met1_crd[pB_met1_last] == i_o_all) {
                pB_met1_last++;
            }
            int64_t pB_met2 = pB_met1;
            int64_t pB_met2_end = pB_met1_last;
            while (pB_met2 < pB_met2_end) {
                int64_t j_o_all = B_met2_crd[pB_met2];
                int64_t pB_met2_last = pB_met2 + 1;
                while (pB_met2_last < pB_met2_end && B_met2_crd[pB_met2_last] == j_o_all) {
                    pB_met2_last++;
                }
                for (int64_t k = 0; k < 9; k++) {
                    B_vals[pB2 * 9 + k] = 0.0;
                }
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
            pB_met1 = pB_met1_last;
        }
    }
}

static int convert_run(int64_t M, int64_t N, int64_t A2_count, const int32_t *A2_pos,
    const int32_t *A2_crd, const double *A_vals, int32_t *B2_pos, int32_t **B2_crd_out,
    double **B_vals_out, sparsec_memory *memory, cudaStream_t stream) {
    (void)N; (void)A2_count;
    int32_t *B_met1_crd = NULL;
    int32_t *B_met2_crd = NULL;
    int32_t *B_met3_crd = NULL;
    int32_t *B_met4_crd = NULL;
    double *B_met_vals = NULL;
    int32_t *B2_crd = NULL;
    double *B_vals = NULL;
    int64_t *totals = (int64_t *)memory->room(1, sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    int32_t *B_met1_pos = (int32_t *)memory->room(2, sizeof(int32_t));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_clear(B_met1_pos, 2, sizeof *B_met1_pos, stream));
    int64_t *needs = (int64_t *)memory->room(2, sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    int64_t B_met1_capacity = 1024;
    for (;;) {
        SPARSEC_TRY(memory->resize((void **)&B_met1_crd, B_met1_capacity, sizeof *B_met1_crd));
        SPARSEC_TRY(memory->resize((void **)&B_met2_crd, B_met1_capacity, sizeof *B_met2_crd));
        SPARSEC_TRY(memory->resize((void **)&B_met3_crd, B_met1_capacity, sizeof *B_met3_crd));
        SPARSEC_TRY(memory->resize((void **)&B_met4_crd, B_met1_capacity, sizeof *B_met4_crd));
        SPARSEC_TRY(memory->resize((void **)&B_met_vals, B_met1_capacity, sizeof *B_met_vals));
        SPARSEC_TRY(sparsec_launch(convert_kernel1, 1, 1, 1, dim3(1, 1, 1), stream, M, B_met1_capacity,
            A2_pos, A2_crd, A_vals, B_met1_pos, B_met1_crd, B_met2_crd, B_met3_crd, B_met4_crd, B_met_vals,
            needs));
        int64_t needed[2];
        SPARSEC_TRY(sparsec_fetch(needed, needs, 2, sizeof *needed, stream));
        if (needed[1]) return (int)needed[1];
        if (needed[0] <= B_met1_capacity) break;
        B_met1_capacity = sparsec_max_int64(B_met1_capacity, needed[0]);
    }
    SPARSEC_TRY(sparsec_clear(B2_pos, sparsec_floordiv(M + 2, 3) + 1, sizeof *B2_pos, stream));
    SPARSEC_TRY(sparsec_launch(convert_kernel2, 1, 1, 1, dim3(1, 1, 1), stream, B_met1_pos, B_met1_crd,
        B_met2_crd, B_met3_crd, B_met4_crd, B_met_vals));
    int64_t *B2_begins =
        (int64_t *)memory->room(sparsec_plus(sparsec_times(sparsec_floordiv(sparsec_floordiv(sparsec_floordiv(M +
        2, 3) + 31, 32) + 127, 128), 128), 1), sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_clear(B2_begins,
        sparsec_plus(sparsec_times(sparsec_floordiv(sparsec_floordiv(sparsec_floordiv(M + 2, 3) +
        31, 32) + 127, 128), 128), 1), sizeof *B2_begins, stream));
    SPARSEC_TRY(sparsec_launch(convert_kernel3,
        sparsec_floordiv(sparsec_floordiv(sparsec_floordiv(M + 2, 3) + 31, 32) + 127, 128), 1, 1,
        dim3(128, 1, 1), stream, M, B_met1_pos, B_met1_crd, B_met2_crd, B2_begins));
    int64_t *sums =
        (int64_t *)memory->room(sparsec_floordiv(sparsec_floordiv(sparsec_floordiv(sparsec_floordiv(M +
        2, 3) + 31, 32) + 127, 128) * 128 + 2048, 2048), sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_running_sums(B2_begins + 1,
        sparsec_floordiv(sparsec_floordiv(sparsec_floordiv(M + 2, 3) + 31, 32) + 127, 128) * 128,
        sums, totals, stream));
    int64_t counted[1];
    SPARSEC_TRY(sparsec_fetch(counted, totals, 1, sizeof *counted, stream));
    int64_t B2_count = counted[0];
    if (2147483647 < B2_count) return SPARSEC_INDEX_OVERFLOW;
    SPARSEC_TRY(memory->resize((void **)&B2_crd, B2_count, sizeof *B2_crd));
    SPARSEC_TRY(memory->resize((void **)&B_vals, sparsec_times(B2_count, 9), sizeof *B_vals));
    SPARSEC_TRY(sparsec_launch(convert_kernel4,
        sparsec_floordiv(sparsec_floordiv(sparsec_floordiv(M + 2, 3) + 31, 32) + 127, 128), 1, 1,
        dim3(128, 1, 1), stream, M, B2_pos, B2_crd, B_vals, B_met1_pos, B_met1_crd, B_met2_crd,
        B_met3_crd, B_met4_crd, B_met_vals, B2_begins));
    int64_t *sums2 = (int64_t *)memory->room(sparsec_floordiv(sparsec_floordiv(M + 2, 3) + 2048,
        2048), sizeof(int64_t));
    SPARSEC_TRY(memory->error);
    SPARSEC_TRY(sparsec_running_maxima(B2_pos, sparsec_floordiv(M + 2, 3) + 1, sums2, stream));
    *B2_crd_out = B2_crd;
    *B_vals_out = B_vals;
    return SPARSEC_OK;
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
    int64_t A2_count = sparsec_parents(A, 2);
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    int32_t *B2_pos = (int32_t *)memory.room(sparsec_floordiv(M + 2, 3) + 1, sizeof(int32_t));
    int32_t *B2_crd = NULL;
    double *B_vals = NULL;
    if (memory.error) return memory.error;
    error = convert_run(M, N, A2_count, A2_pos, A2_crd, A_vals, B2_pos, &B2_crd, &B_vals,
        &memory, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_level(B, 1, B2_pos, B2_crd);
    if (error) return error;
    error = sparsec_download_result(B, B_vals);
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

static int smoke_convert(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor B = {};
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
