/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "likely.h"

/* op either(x, y) = x + y - x * y identity 0 annihilator 1 commutes */
static SPARSEC_DEVICE inline double sparsec_op_either_double(double x, double y) {
    return x + y - x * y;
}
struct sparsec_op_either {
    SPARSEC_DEVICE double operator()(double x, double y) const { return sparsec_op_either_double(x, y); }
};

/* likely
 *   q(i) either=! A(i, j) * p(j)
 *   s either=! q(i)
 *   A: {dense, compressed}
 *   split(S0.i, s0_block, s0_warp, 16)
 *   pos(j, s0_p, A(i,j))
 *   split(s0_p, s0_turn, s0_thread, 16)
 *   reorder(s0_block, s0_warp, s0_thread, s0_turn)
 *   parallelize(s0_block, GPUBlock, NoRaces)
 *   parallelize(s0_warp, GPUWarp, NoRaces)
 *   parallelize(s0_thread, GPUThread, Temporary)
 *   split(S1.i, s1_block, s1_part, 4096)
 *   split(s1_part, s1_turn, s1_thread, 256)
 *   reorder(s1_block, s1_thread, s1_turn)
 *   parallelize(s1_block, GPUBlock, Temporary)
 *   parallelize(s1_thread, GPUThread, Temporary)
 */
static __global__ void __launch_bounds__(256, 4) likely_kernel1(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT p_vals, double *q_vals) {
    int64_t s0_block = blockIdx.x;
    int64_t s0_warp = threadIdx.x / 16;
    if (s0_warp < sparsec_min_int64(16, M - s0_block * 16)) {
        int64_t i = s0_block * 16 + s0_warp;
        double either = 0.0;
        int64_t s0_p_begin = A2_pos[i];
        int64_t s0_p_end = A2_pos[i + 1];
        int64_t s0_thread = threadIdx.x % 16;
        for (int64_t s0_turn = 0; s0_turn < (s0_p_end - s0_p_begin - s0_thread + 15) / 16;
                s0_turn++) {
            int64_t s0_p = s0_p_begin + (s0_turn * 16 + s0_thread);
            int64_t j = A2_crd[s0_p];
            either = sparsec_op_either_double(either, A_vals[s0_p] * p_vals[j]);
        }
        either = sparsec_reduce_lanes<16>(either, sparsec_op_either());
        if (threadIdx.x % 16 == 0) {
            q_vals[i] = either;
        }
    }
}

static __global__ void __launch_bounds__(256, 4) likely_kernel2(int64_t M,
    const double *SPARSEC_RESTRICT q_vals, double *s_vals) {
    __shared__ double scratch[256];
    double either = 0.0;
    int64_t s1_block = blockIdx.x;
    int64_t s1_thread = threadIdx.x;
    for (int64_t s1_turn = 0;
            s1_turn < sparsec_min_int64(16, (M - (s1_block * 4096 + s1_thread) + 255) / 256);
            s1_turn++) {
        int64_t i = s1_block * 4096 + (s1_turn * 256 + s1_thread);
        either = sparsec_op_either_double(either, q_vals[i]);
    }
    either = sparsec_reduce_lanes<32>(either, sparsec_op_either());
    either = sparsec_reduce_strided<8, 32>(either, sparsec_op_either(), scratch);
    if (threadIdx.x == 0) {
        sparsec_atomic(&s_vals[0], either, sparsec_op_either());
    }
}

size_t likely_workspace(int64_t M, int64_t N) {
    (void)M; (void)N;
    return 0;
}

int likely_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, const double *p_vals, double *q_vals, double *s_vals, void *workspace,
    cudaStream_t stream) {
    (void)N; (void)workspace;
    SPARSEC_TRY(sparsec_launch(likely_kernel1, sparsec_floordiv(M + 15, 16), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, A2_crd, A_vals, p_vals, q_vals));
    SPARSEC_TRY(sparsec_clear(s_vals, 1, sizeof *s_vals, stream));
    SPARSEC_TRY(sparsec_launch(likely_kernel2, sparsec_floordiv(M + 4095, 4096), 1, 1, dim3(256, 1, 1),
        stream, M, q_vals, s_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec likely_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec likely_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, likely_A_levels, NULL};
static const sparsec_level_spec likely_p_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec likely_p_spec = {"p", SPARSEC_FLOAT64, 1, 32, likely_p_levels, NULL};
static const sparsec_level_spec likely_q_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec likely_q_spec = {"q", SPARSEC_FLOAT64, 1, 32, likely_q_levels, NULL};
static const sparsec_spec likely_s_spec = {"s", SPARSEC_FLOAT64, 0, 32, NULL, NULL};

int likely(const sparsec_tensor *A, const sparsec_tensor *p, sparsec_tensor *q, sparsec_tensor *s) {
    int error;
    error = sparsec_check(A, &likely_A_spec);
    if (error) return error;
    error = sparsec_check(p, &likely_p_spec);
    if (error) return error;
    if (!q) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "q: no tensor given");
    if (!s) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "s: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("N", "p", p->dims[0], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, p, q, s};
    error = sparsec_apart(q, "q", tensors, 4);
    if (error) return error;
    error = sparsec_apart(s, "s", tensors, 4);
    if (error) return error;
    int64_t q_dims[] = {M};
    error = sparsec_shape_dense(q, &likely_q_spec, q_dims);
    if (error) return error;
    error = sparsec_shape_dense(s, &likely_s_spec, NULL);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const double *p_vals = (const double *)sparsec_upload_vals(&memory, p);
    double *q_vals = (double *)sparsec_room_vals(&memory, q);
    double *s_vals = (double *)sparsec_room_vals(&memory, s);
    void *workspace = memory.room((int64_t)likely_workspace(M, N), 1);
    if (memory.error) return memory.error;
    error = likely_device(M, N, A2_pos, A2_crd, A_vals, p_vals, q_vals, s_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(q, q_vals);
    if (error) return error;
    error = sparsec_download_vals(s, s_vals);
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

static int smoke_likely(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor p = {};
    const int64_t p_dims[] = {n};
    sparsec_tensor q = {};
    sparsec_tensor s = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &likely_A_spec, A_dims, 1);
    error |= smoke_fill(&p, &likely_p_spec, p_dims, 2);
    if (!error) error = likely(&A, &p, &q, &s);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = likely(&A, &p, &q, &s);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("likely", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&p);
    sparsec_free_tensor(&q);
    sparsec_free_tensor(&s);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_likely(n, rounds);
    return failed;
}
#endif
