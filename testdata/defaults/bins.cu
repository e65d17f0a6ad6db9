/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#define SPARSEC_SCANS
#include "bins.h"

/* spmv_bins
 *   y(i) +=! A(i, j) * x(j)
 *   A: {dense, compressed}
 *   partition(i, bin, ib, 3, bins(4, 32))
 *   split(ib, block, thread, 128)
 *   parallelize(block, GPUBlock, NoRaces)
 *   parallelize(thread, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(256, 4) spmv_bins_kernel1(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, int64_t *bin_before) {
    int64_t block = blockIdx.x;
    int64_t i = block * 256 + threadIdx.x;
    if (i < M) {
        int64_t length = A2_pos[i + 1] - A2_pos[i];
        int64_t part = (length > 4 ? 1 : 0) + (length > 32 ? 1 : 0);
        bin_before[part * M + i + 1] = 1;
    }
}

static __global__ void __launch_bounds__(256, 4) spmv_bins_kernel2(int64_t M, int64_t *bin_begins,
    const int64_t *SPARSEC_RESTRICT bin_before) {
    int64_t block = blockIdx.x;
    int64_t bin = block * 256 + threadIdx.x;
    if (bin < 4) {
        bin_begins[bin] = bin_before[bin * M];
    }
}

static __global__ void __launch_bounds__(256, 4) spmv_bins_kernel3(int64_t M,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int64_t *SPARSEC_RESTRICT bin_before,
    int64_t *bin_list) {
    int64_t block = blockIdx.x;
    int64_t i = block * 256 + threadIdx.x;
    if (i < M) {
        int64_t length = A2_pos[i + 1] - A2_pos[i];
        int64_t part = (length > 4 ? 1 : 0) + (length > 32 ? 1 : 0);
        bin_list[bin_before[part * M + i]] = i;
    }
}

static __global__ void __launch_bounds__(128, 8) spmv_bins_kernel4(int64_t bin,
    const int32_t *SPARSEC_RESTRICT A2_pos, const int32_t *SPARSEC_RESTRICT A2_crd,
    const double *SPARSEC_RESTRICT A_vals, const double *SPARSEC_RESTRICT x_vals, double *y_vals,
    const int64_t *SPARSEC_RESTRICT bin_begins, const int64_t *SPARSEC_RESTRICT bin_list) {
    for (int64_t block = blockIdx.x;
            block < sparsec_floordiv(bin_begins[bin + 1] - bin_begins[bin] + 127, 128);
            block += 1024) {
        __syncthreads();
        int64_t thread = threadIdx.x;
        if (thread < sparsec_min_int64(128, bin_begins[bin + 1] - bin_begins[bin] - block * 128)) {
            int64_t i = bin_list[bin_begins[bin] + (block * 128 + thread)];
            double sum = 0.0;
            for (int64_t pA2 = A2_pos[i]; pA2 < A2_pos[i + 1]; pA2++) {
                int64_t j = A2_crd[pA2];
                sum += A_vals[pA2] * x_vals[j];
            }
            y_vals[i] = sum;
        }
    }
}

size_t spmv_bins_workspace(int64_t M, int64_t N) {
    (void)M; (void)N;
    size_t bytes = 0;
    bytes += sparsec_bytes(4, sizeof(int64_t));
    bytes += sparsec_bytes(sparsec_plus(sparsec_times(3, M), 1), sizeof(int64_t));
    bytes += sparsec_bytes(M, sizeof(int64_t));
    bytes += sparsec_bytes(sparsec_floordiv(3 * M + 2048, 2048), sizeof(int64_t));
    return bytes;
}

int spmv_bins_device(int64_t M, int64_t N, const int32_t *A2_pos, const int32_t *A2_crd,
    const double *A_vals, const double *x_vals, double *y_vals, void *workspace,
    cudaStream_t stream) {
    (void)N;
    char *room = (char *)workspace;
    int64_t *bin_begins = (int64_t *)sparsec_take(&room, 4, sizeof(int64_t));
    int64_t *bin_before = (int64_t *)sparsec_take(&room, sparsec_plus(sparsec_times(3, M), 1),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_clear(bin_before, sparsec_plus(sparsec_times(3, M), 1),
        sizeof *bin_before, stream));
    int64_t *bin_list = (int64_t *)sparsec_take(&room, M, sizeof(int64_t));
    SPARSEC_TRY(sparsec_launch(spmv_bins_kernel1, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, bin_before));
    int64_t *sums = (int64_t *)sparsec_take(&room, sparsec_floordiv(3 * M + 2048, 2048),
        sizeof(int64_t));
    SPARSEC_TRY(sparsec_running_sums(bin_before + 1, 3 * M, sums, NULL, stream));
    SPARSEC_TRY(sparsec_launch(spmv_bins_kernel2, 1, 1, 1, dim3(256, 1, 1), stream, M, bin_begins,
        bin_before));
    SPARSEC_TRY(sparsec_launch(spmv_bins_kernel3, sparsec_floordiv(M + 255, 256), 1, 1, dim3(256, 1, 1),
        stream, M, A2_pos, bin_before, bin_list));
    for (int64_t bin = 0; bin < 3; bin++) {
        SPARSEC_TRY(sparsec_launch(spmv_bins_kernel4, 1024, 1, 1, dim3(128, 1, 1), stream, bin, A2_pos,
            A2_crd, A_vals, x_vals, y_vals, bin_begins, bin_list));
    }
    return SPARSEC_OK;
}

static const sparsec_level_spec spmv_bins_A_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec spmv_bins_A_spec = {"A", SPARSEC_FLOAT64, 2, 32, spmv_bins_A_levels, NULL};
static const sparsec_level_spec spmv_bins_x_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec spmv_bins_x_spec = {"x", SPARSEC_FLOAT64, 1, 32, spmv_bins_x_levels, NULL};
static const sparsec_level_spec spmv_bins_y_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec spmv_bins_y_spec = {"y", SPARSEC_FLOAT64, 1, 32, spmv_bins_y_levels, NULL};

int spmv_bins(const sparsec_tensor *A, const sparsec_tensor *x, sparsec_tensor *y) {
    int error;
    error = sparsec_check(A, &spmv_bins_A_spec);
    if (error) return error;
    error = sparsec_check(x, &spmv_bins_x_spec);
    if (error) return error;
    if (!y) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "y: no tensor given");
    int64_t M = A->dims[0];
    int64_t N = A->dims[1];
    error = sparsec_same_size("N", "x", x->dims[0], "A", N);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {A, x, y};
    error = sparsec_apart(y, "y", tensors, 3);
    if (error) return error;
    int64_t y_dims[] = {M};
    error = sparsec_shape_dense(y, &spmv_bins_y_spec, y_dims);
    if (error) return error;
    sparsec_memory memory;
    const int32_t *A2_pos = (const int32_t *)sparsec_upload_pos(&memory, A, 1);
    const int32_t *A2_crd = (const int32_t *)sparsec_upload_crd(&memory, A, 1);
    const double *A_vals = (const double *)sparsec_upload_vals(&memory, A);
    const double *x_vals = (const double *)sparsec_upload_vals(&memory, x);
    double *y_vals = (double *)sparsec_room_vals(&memory, y);
    void *workspace = memory.room((int64_t)spmv_bins_workspace(M, N), 1);
    if (memory.error) return memory.error;
    error = spmv_bins_device(M, N, A2_pos, A2_crd, A_vals, x_vals, y_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(y, y_vals);
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

static int smoke_spmv_bins(int64_t n, int rounds) {
    sparsec_tensor A = {};
    const int64_t A_dims[] = {n, n};
    sparsec_tensor x = {};
    const int64_t x_dims[] = {n};
    sparsec_tensor y = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&A, &spmv_bins_A_spec, A_dims, 1);
    error |= smoke_fill(&x, &spmv_bins_x_spec, x_dims, 2);
    if (!error) error = spmv_bins(&A, &x, &y);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = spmv_bins(&A, &x, &y);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("spmv_bins", error, best);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&x);
    sparsec_free_tensor(&y);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_spmv_bins(n, rounds);
    return failed;
}
#endif
