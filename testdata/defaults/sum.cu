/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "sum.h"

/* sum
 *   s = A(i, j) * A(i, j)
 *   A: {dense, compressed}
 *   fuse(i, j, f1)
 *   pos(f1, p, A(i,j))
 *   split(p, block, part, 4096)
 *   split(part, turn, thread, 256)
 *   reorder(block, thread, turn)
 *   parallelize(block, GPUBlock, Temporary)
 *   parallelize(thread, GPUThread, Temporary)
 */
static __global__ void __launch_bounds__(256, 4) sum_kernel(int64_t A2_count,
    const double *SPARSEC_RESTRICT A_vals, double *s_vals) {
    __shared__ double scratch[256];
    double sum = 0.0;
    int64_t block = blockIdx.x;
    int64_t thread = threadIdx.x;
    for (int64_t turn = 0; turn <
            sparsec_min_int64(16, (A2_count - (block * 4096 + thread) + 255) / 256); turn++) {
        int64_t p = block * 4096 + (turn * 256 + thread);
        sum += A_vals[p] * A_vals[p];
    }
    sum = sparsec_reduce_lanes<32>(sum, sparsec_add());
    sum = sparsec_reduce_strided<8, 32>(sum, sparsec_add(), scratch);
    if (threadIdx.x == 0) {
        sparsec_atomic(&s_vals[0], sum, sparsec_add());
    }
}

size_t sum_workspace(int64_t M, int64_t N, int64_t A2_count) {
    (void)M; (void)N; (void)A2_count;
    return 0;
}

int sum_device(int64_t M, int64_t N, int64_t A2_count, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, double *s_vals, void *workspace, cudaStream_t stream) {
    (void)M; (void)N; (void)A2_pos; (void)A2_crd; (void)workspace;
    SPARSEC_TRY(sparsec_clear(s_vals, 1, sizeof *s_vals, stream));
    SPARSEC_TRY(sparsec_launch(sum_kernel, sparsec_floordiv(A2_count + 4095, 4096), 1, 1,
        dim3(256, 1, 1), stream, A2_count, A_vals, s_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec sum_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec sum_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, sum_A_levels, NULL};
static const sparsec_spec sum_s_spec = {"s", SPARSEC_FLOAT64, 0, 32, NULL, NULL};

int sum(const sparsec_tensor *A, sparsec_tensor *s) {
    int error;
    error = sparsec_check(A, &sum_A_spec);
    if (error) return error;
    if (!s) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "s: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    const sparsec_tensor *const tensors[] = {A, s};
    error = sparsec_apart(s, "s", tensors, 2);
    if (error) return error;
    error = sparsec_shape_dense(s, &sum_s_spec, NULL);
    if (error) return error;
    int64_t A2_count = sparsec_parents(A, 2);
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    double *s_vals = (double *)sparsec_room_vals(&memory, s);
    void *workspace = memory.room((int64_t)sum_workspace(M, N, A2_count), 1);
    if (memory.error) return memory.error;
    error = sum_device(M, N, A2_count, A2_pos, A2_crd, A_vals, s_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
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

static int smoke_sum(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor s = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &sum_A_spec, A_dims, 1);
    if (!error) error = sum(&A, &s);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = sum(&A, &s);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("sum", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&s);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_sum(n, rounds);
    return failed;
}
#endif
