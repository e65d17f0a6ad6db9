/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "mttkrp_32.h"

/* mttkrp_32
 *   A(i, j) +=! B(i, k, l) * C(k, j) * D(l, j)
 *   B: {compressed, compressed, compressed}
 *   reorder(i, k, l, j)
 *   fuse(k, l, kl)
 *   fuse(i, kl, f)
 *   pos(f, fpos, B(i,k,l))
 *   split(fpos, block, fpos1, 32)
 *   starts(block, before)
 *   split(j, jo, ji, 4)
 *   bound(jo, warp, 8, MaxExact)
 *   reorder(block, warp, fpos1, ji)
 *   parallelize(block, GPUBlock, IgnoreRaces)
 *   parallelize(warp, GPUWarp, IgnoreRaces)
 *   parallelize(fpos1, GPUGroup(16), Segment)
 */
static __global__ void __launch_bounds__(256, 4) mttkrp_32_kernel1(int64_t block_count,
    int64_t B2_count, const int32_t *SPARSEC_RESTRICT B3_pos, int64_t *B2_starts) {
    int64_t block = blockIdx.x;
    int64_t tile = block * 256 + threadIdx.x;
    if (tile < block_count + 1) {
        int64_t B2_start = sparsec_lower_bound_int32(B3_pos, 0, B2_count, tile * 32 + 1);
        B2_starts[tile] = B2_start;
    }
}

static __global__ void __launch_bounds__(256, 4) mttkrp_32_kernel2(int64_t block_count,
    int64_t B1_count, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int64_t *SPARSEC_RESTRICT B2_starts, int64_t *B1_starts) {
    int64_t block = blockIdx.x;
    int64_t tile = block * 256 + threadIdx.x;
    if (tile < block_count + 1) {
        int64_t B1_start = sparsec_lower_bound_int32(B2_pos, 0, B1_count,
            sparsec_max_int64(B2_starts[tile] - 1, 0) + 1);
        B1_starts[tile] = B1_start;
    }
}

static __global__ void __launch_bounds__(256, 4) mttkrp_32_kernel3(int64_t B3_count,
    const int32_t *SPARSEC_RESTRICT B1_crd, const int32_t *SPARSEC_RESTRICT B2_pos,
    const int32_t *SPARSEC_RESTRICT B2_crd, const int32_t *SPARSEC_RESTRICT B3_pos,
    const int32_t *SPARSEC_RESTRICT B3_crd, const double *SPARSEC_RESTRICT B_vals,
    const double *SPARSEC_RESTRICT C_vals, const double *SPARSEC_RESTRICT D_vals, double *A_vals,
    const int64_t *SPARSEC_RESTRICT B2_starts, const int64_t *SPARSEC_RESTRICT B1_starts) {
    int64_t block = blockIdx.x;
    int64_t warp = threadIdx.x / 32;
    if (0 < sparsec_min_int64(32, B3_count - block * 32)) {
        int64_t fpos1_own = threadIdx.x % 32;
        int64_t fpos1 = sparsec_min_int64(fpos1_own,
            sparsec_min_int64(32, B3_count - block * 32) - 1);
        int64_t fpos = block * 32 + fpos1;
        int64_t B2_from = B2_starts[block];
        int64_t B2_to = B2_starts[block + 1];
        int64_t pB2_next = sparsec_lower_bound_int32(B3_pos, B2_from, B2_to, fpos + 1);
        int64_t pB2 = pB2_next - 1;
        int64_t l = B3_crd[fpos];
        int64_t B1_from = B1_starts[block];
        int64_t B1_to = B1_starts[block + 1];
        int64_t pB1_next = sparsec_lower_bound_int32(B2_pos, B1_from, B1_to, pB2 + 1);
        int64_t pB1 = pB1_next - 1;
        int64_t k = B2_crd[pB2];
        int64_t i = B1_crd[pB1];
        for (int64_t ji = 0; ji < 4; ji++) {
            int64_t j = warp * 4 + ji;
            sparsec_segment<16>(A_vals, i * 32 + j,
                fpos1_own < sparsec_min_int64(32, B3_count - block * 32) ?
                B_vals[fpos] * C_vals[k * 32 + j] * D_vals[l * 32 + j] : 0.0, sparsec_add());
        }
    }
}

size_t mttkrp_32_workspace(int64_t I, int64_t K, int64_t L, int64_t B1_count, int64_t B2_count,
    int64_t B3_count) {
    (void)I; (void)K; (void)L; (void)B1_count; (void)B2_count; (void)B3_count;
    size_t bytes = 0;
    int64_t block_count = sparsec_floordiv(B3_count + 31, 32);
    bytes += sparsec_bytes(block_count + 1, sizeof(int64_t));
    bytes += sparsec_bytes(block_count + 1, sizeof(int64_t));
    return bytes;
}

int mttkrp_32_device(int64_t I, int64_t K, int64_t L, int64_t B1_count, int64_t B2_count,
    int64_t B3_count, const int32_t *B1_pos, const int32_t *B1_crd, const int32_t *B2_pos,
    const int32_t *B2_crd, const int32_t *B3_pos, const int32_t *B3_crd, const double *B_vals,
    const double *C_vals, const double *D_vals, double *A_vals, void *workspace,
    cudaStream_t stream) {
    (void)K; (void)L; (void)B1_pos;
    char *room = (char *)workspace;
    int64_t block_count = sparsec_floordiv(B3_count + 31, 32);
    int64_t *B2_starts = (int64_t *)sparsec_take(&room, block_count + 1, sizeof(int64_t));
    SPARSEC_TRY(sparsec_launch(mttkrp_32_kernel1, sparsec_floordiv(block_count + 256, 256), 1, 1,
        dim3(256, 1, 1), stream, block_count, B2_count, B3_pos, B2_starts));
    int64_t *B1_starts = (int64_t *)sparsec_take(&room, block_count + 1, sizeof(int64_t));
    SPARSEC_TRY(sparsec_launch(mttkrp_32_kernel2, sparsec_floordiv(block_count + 256, 256), 1, 1,
        dim3(256, 1, 1), stream, block_count, B1_count, B2_pos, B2_starts, B1_starts));
    SPARSEC_TRY(sparsec_clear(A_vals, I * 32, sizeof *A_vals, stream));
    SPARSEC_TRY(sparsec_launch(mttkrp_32_kernel3, sparsec_floordiv(B3_count + 31, 32), 1, 1,
        dim3(256, 1, 1), stream, B3_count, B1_crd, B2_pos, B2_crd, B3_pos, B3_crd, B_vals, C_vals,
        D_vals, A_vals, B2_starts, B1_starts));
    return SPARSEC_OK;
}

static const sparsec_level_spec mttkrp_32_B_levels[] =
    {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}, {SPARSEC_COMPRESSED, 0, 2}};
static const sparsec_spec mttkrp_32_B_spec = {"B", SPARSEC_FLOAT64, 3, 32, mttkrp_32_B_levels, NULL};
static const sparsec_level_spec mttkrp_32_C_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp_32_C_spec = {"C", SPARSEC_FLOAT64, 2, 32, mttkrp_32_C_levels, NULL};
static const sparsec_level_spec mttkrp_32_D_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp_32_D_spec = {"D", SPARSEC_FLOAT64, 2, 32, mttkrp_32_D_levels, NULL};
static const sparsec_level_spec mttkrp_32_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec mttkrp_32_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, mttkrp_32_A_levels, NULL};

int mttkrp_32(const sparsec_tensor *B, const sparsec_tensor *C, const sparsec_tensor *D,
    sparsec_tensor *A) {
    int error;
    error = sparsec_check(B, &mttkrp_32_B_spec);
    if (error) return error;
    error = sparsec_check(C, &mttkrp_32_C_spec);
    if (error) return error;
    error = sparsec_check(D, &mttkrp_32_D_spec);
    if (error) return error;
    if (!A) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "A: no tensor given");
    int64_t I = B->dims[0];
    int64_t K = B->dims[1];
    int64_t L = B->dims[2];
    error = sparsec_same_size("K", "C", C->dims[0], "B", K);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "C", C->dims[1], "the program", 32);
    if (error) return error;
    error = sparsec_same_size("L", "D", D->dims[0], "B", L);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "D", D->dims[1], "the program", 32);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {B, C, D, A};
    error = sparsec_apart(A, "A", tensors, 4);
    if (error) return error;
    int64_t A_dims[] = {I, 32};
    error = sparsec_shape_dense(A, &mttkrp_32_A_spec, A_dims);
    if (error) return error;
    int64_t B1_count = sparsec_parents(B, 1);
    int64_t B2_count = sparsec_parents(B, 2);
    int64_t B3_count = sparsec_parents(B, 3);
    sparsec_memory memory;
    const int32_t *B1_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 0);
    const int32_t *B1_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 0);
    const int32_t *B2_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 1);
    const int32_t *B2_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 1);
    const int32_t *B3_pos = (const int32_t *)sparsec_upload_pos(&memory, B, 2);
    const int32_t *B3_crd = (const int32_t *)sparsec_upload_crd(&memory, B, 2);
    const double *B_vals = (const double *)sparsec_upload_vals(&memory, B);
    const double *C_vals = (const double *)sparsec_upload_vals(&memory, C);
    const double *D_vals = (const double *)sparsec_upload_vals(&memory, D);
    double *A_vals = (double *)sparsec_room_vals(&memory, A);
    void *workspace = memory.room((int64_t)mttkrp_32_workspace(I, K, L, B1_count, B2_count,
        B3_count), 1);
    if (memory.error) return memory.error;
    error = mttkrp_32_device(I, K, L, B1_count, B2_count, B3_count, B1_pos, B1_crd, B2_pos, B2_crd,
        B3_pos, B3_crd, B_vals, C_vals, D_vals, A_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(A, A_vals);
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

static int smoke_mttkrp_32(int64_t n, int rounds) {
    sparsec_tensor B = {};
    const int64_t B_dims[] = {n, n, n};
    sparsec_tensor C = {};
    const int64_t C_dims[] = {n, 32};
    sparsec_tensor D = {};
    const int64_t D_dims[] = {n, 32};
    sparsec_tensor A = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&B, &mttkrp_32_B_spec, B_dims, 1);
    error |= smoke_fill(&C, &mttkrp_32_C_spec, C_dims, 2);
    error |= smoke_fill(&D, &mttkrp_32_D_spec, D_dims, 3);
    if (!error) error = mttkrp_32(&B, &C, &D, &A);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = mttkrp_32(&B, &C, &D, &A);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("mttkrp_32", error, best);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    sparsec_free_tensor(&D);
    sparsec_free_tensor(&A);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_mttkrp_32(n, rounds);
    return failed;
}
#endif
