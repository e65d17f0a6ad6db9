/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "mlp3.h"

/* MLP3
 *   O2(b, o) = B2(o)
 *   O2(b, o) += O1(b, n) * W2(o, n)
 *   O2(b, o) = fmaxf(O2(b, o), 0)
 *   O3(b, p) = B3(p)
 *   O3(b, p) += O2(b, o) * W3(p, o)
 *   O3(b, p) = fmaxf(O3(b, p), 0)
 *   O4(b, q) = B4(q)
 *   O4(b, q) += O3(b, p) * W4(q, p)
 *   O4(b, q) = fmaxf(O4(b, q), 0)
 *   join(S0, S1, b, o)
 *   join(S1, S2, b, o)
 *   join(S2, S3, b)
 *   join(S3, S4, b, p)
 *   join(S4, S5, b, p)
 *   join(S5, S6, b)
 *   join(S6, S7, b, q)
 *   join(S7, S8, b, q)
 *   split(S0.o, o0, o1, 128)
 *   split(S3.p, p0, p1, 128)
 *   split(S6.q, q0, q1, 128)
 *   parallelize(S0.b, GPUBlock, NoRaces)
 *   parallelize(o1, GPUThread, NoRaces)
 *   parallelize(p1, GPUThread, NoRaces)
 *   parallelize(q1, GPUThread, NoRaces)
 */
static __global__ void __launch_bounds__(128, 8) MLP3_kernel(int64_t N, int64_t O, int64_t P,
    int64_t Q, const float *SPARSEC_RESTRICT O1_vals, const float *SPARSEC_RESTRICT W2_vals,
    const float *SPARSEC_RESTRICT B2_vals, const float *SPARSEC_RESTRICT W3_vals,
    const float *SPARSEC_RESTRICT B3_vals, const float *SPARSEC_RESTRICT W4_vals,
    const float *SPARSEC_RESTRICT B4_vals, float *O2_vals, float *O3_vals, float *O4_vals) {
    int64_t b = blockIdx.x;
    for (int64_t o0 = 0; o0 < (O + 127) / 128; o0++) {
        int64_t o1 = threadIdx.x;
        if (o1 < sparsec_min_int64(128, O - o0 * 128)) {
            int64_t o = o0 * 128 + o1;
            O2_vals[b * O + o] = B2_vals[o];
            float sum = 0.0f;
            for (int64_t n = 0; n < N; n++) {
                sum += O1_vals[b * N + n] * W2_vals[o * N + n];
            }
            O2_vals[b * O + o] += sum;
            O2_vals[b * O + o] = fmaxf(O2_vals[b * O + o], 0.0f);
        }
    }
    __syncthreads();
    for (int64_t p0 = 0; p0 < (P + 127) / 128; p0++) {
        int64_t p1 = threadIdx.x;
        if (p1 < sparsec_min_int64(128, P - p0 * 128)) {
            int64_t p = p0 * 128 + p1;
            O3_vals[b * P + p] = B3_vals[p];
            float sum = 0.0f;
            for (int64_t o = 0; o < O; o++) {
                sum += O2_vals[b * O + o] * W3_vals[p * O + o];
            }
            O3_vals[b * P + p] += sum;
            O3_vals[b * P + p] = fmaxf(O3_vals[b * P + p], 0.0f);
        }
    }
    __syncthreads();
    for (int64_t q0 = 0; q0 < (Q + 127) / 128; q0++) {
        int64_t q1 = threadIdx.x;
        if (q1 < sparsec_min_int64(128, Q - q0 * 128)) {
            int64_t q = q0 * 128 + q1;
            O4_vals[b * Q + q] = B4_vals[q];
            float sum = 0.0f;
            for (int64_t p = 0; p < P; p++) {
                sum += O3_vals[b * P + p] * W4_vals[q * P + p];
            }
            O4_vals[b * Q + q] += sum;
            O4_vals[b * Q + q] = fmaxf(O4_vals[b * Q + q], 0.0f);
        }
    }
}

size_t MLP3_workspace(int64_t B, int64_t N, int64_t O, int64_t P, int64_t Q) {
    (void)B; (void)N; (void)O; (void)P; (void)Q;
    return 0;
}

int MLP3_device(int64_t B, int64_t N, int64_t O, int64_t P, int64_t Q, const float *O1_vals,
    const float *W2_vals, const float *B2_vals, const float *W3_vals, const float *B3_vals,
    const float *W4_vals, const float *B4_vals, float *O2_vals, float *O3_vals, float *O4_vals,
    void *workspace, cudaStream_t stream) {
    (void)workspace;
    SPARSEC_TRY(sparsec_launch(MLP3_kernel, B, 1, 1, dim3(128, 1, 1), stream, N, O, P, Q, O1_vals,
        W2_vals, B2_vals, W3_vals, B3_vals, W4_vals, B4_vals, O2_vals, O3_vals, O4_vals));
    return SPARSEC_OK;
}

static const sparsec_level_spec MLP3_O1_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP3_O1_spec = {"O1", SPARSEC_FLOAT32, 2, 32, MLP3_O1_levels, NULL};
static const sparsec_level_spec MLP3_W2_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP3_W2_spec = {"W2", SPARSEC_FLOAT32, 2, 32, MLP3_W2_levels, NULL};
static const sparsec_level_spec MLP3_B2_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec MLP3_B2_spec = {"B2", SPARSEC_FLOAT32, 1, 32, MLP3_B2_levels, NULL};
static const sparsec_level_spec MLP3_W3_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP3_W3_spec = {"W3", SPARSEC_FLOAT32, 2, 32, MLP3_W3_levels, NULL};
static const sparsec_level_spec MLP3_B3_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec MLP3_B3_spec = {"B3", SPARSEC_FLOAT32, 1, 32, MLP3_B3_levels, NULL};
static const sparsec_level_spec MLP3_W4_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP3_W4_spec = {"W4", SPARSEC_FLOAT32, 2, 32, MLP3_W4_levels, NULL};
static const sparsec_level_spec MLP3_B4_levels[] = {{SPARSEC_DENSE, 0, 0}};
static const sparsec_spec MLP3_B4_spec = {"B4", SPARSEC_FLOAT32, 1, 32, MLP3_B4_levels, NULL};
static const sparsec_level_spec MLP3_O2_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP3_O2_spec = {"O2", SPARSEC_FLOAT32, 2, 32, MLP3_O2_levels, NULL};
static const sparsec_level_spec MLP3_O3_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP3_O3_spec = {"O3", SPARSEC_FLOAT32, 2, 32, MLP3_O3_levels, NULL};
static const sparsec_level_spec MLP3_O4_levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec MLP3_O4_spec = {"O4", SPARSEC_FLOAT32, 2, 32, MLP3_O4_levels, NULL};

int MLP3(const sparsec_tensor *O1, const sparsec_tensor *W2, const sparsec_tensor *B2,
    const sparsec_tensor *W3, const sparsec_tensor *B3, const sparsec_tensor *W4,
    const sparsec_tensor *B4, sparsec_tensor *O2, sparsec_tensor *O3, sparsec_tensor *O4) {
    int error;
    error = sparsec_check(O1, &MLP3_O1_spec);
    if (error) return error;
    error = sparsec_check(W2, &MLP3_W2_spec);
    if (error) return error;
    error = sparsec_check(B2, &MLP3_B2_spec);
    if (error) return error;
    error = sparsec_check(W3, &MLP3_W3_spec);
    if (error) return error;
    error = sparsec_check(B3, &MLP3_B3_spec);
    if (error) return error;
    error = sparsec_check(W4, &MLP3_W4_spec);
    if (error) return error;
    error = sparsec_check(B4, &MLP3_B4_spec);
    if (error) return error;
    if (!O2) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O2: no tensor given");
    if (!O3) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O3: no tensor given");
    if (!O4) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "O4: no tensor given");
    int64_t B = O1->dims[0];
    int64_t N = O1->dims[1];
    int64_t O = W2->dims[0];
    int64_t P = W3->dims[0];
    int64_t Q = W4->dims[0];
    error = sparsec_same_size("N", "W2", W2->dims[1], "O1", N);
    if (error) return error;
    error = sparsec_same_size("O", "B2", B2->dims[0], "W2", O);
    if (error) return error;
    error = sparsec_same_size("O", "W3", W3->dims[1], "W2", O);
    if (error) return error;
    error = sparsec_same_size("P", "B3", B3->dims[0], "W3", P);
    if (error) return error;
    error = sparsec_same_size("P", "W4", W4->dims[1], "W3", P);
    if (error) return error;
    error = sparsec_same_size("Q", "B4", B4->dims[0], "W4", Q);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {O1, W2, B2, W3, B3, W4, B4, O2, O3, O4};
    error = sparsec_apart(O2, "O2", tensors, 10);
    if (error) return error;
    error = sparsec_apart(O3, "O3", tensors, 10);
    if (error) return error;
    error = sparsec_apart(O4, "O4", tensors, 10);
    if (error) return error;
    int64_t O2_dims[] = {B, O};
    error = sparsec_shape_dense(O2, &MLP3_O2_spec, O2_dims);
    if (error) return error;
    int64_t O3_dims[] = {B, P};
    error = sparsec_shape_dense(O3, &MLP3_O3_spec, O3_dims);
    if (error) return error;
    int64_t O4_dims[] = {B, Q};
    error = sparsec_shape_dense(O4, &MLP3_O4_spec, O4_dims);
    if (error) return error;
    sparsec_memory memory;
    const float *O1_vals = (const float *)sparsec_upload_vals(&memory, O1);
    const float *W2_vals = (const float *)sparsec_upload_vals(&memory, W2);
    const float *B2_vals = (const float *)sparsec_upload_vals(&memory, B2);
    const float *W3_vals = (const float *)sparsec_upload_vals(&memory, W3);
    const float *B3_vals = (const float *)sparsec_upload_vals(&memory, B3);
    const float *W4_vals = (const float *)sparsec_upload_vals(&memory, W4);
    const float *B4_vals = (const float *)sparsec_upload_vals(&memory, B4);
    float *O2_vals = (float *)sparsec_room_vals(&memory, O2);
    float *O3_vals = (float *)sparsec_room_vals(&memory, O3);
    float *O4_vals = (float *)sparsec_room_vals(&memory, O4);
    void *workspace = memory.room((int64_t)MLP3_workspace(B, N, O, P, Q), 1);
    if (memory.error) return memory.error;
    error = MLP3_device(B, N, O, P, Q, O1_vals, W2_vals, B2_vals, W3_vals, B3_vals, W4_vals, B4_vals,
        O2_vals, O3_vals, O4_vals, workspace, 0);
    if (error) return sparsec_fail_code(error);
    error = sparsec_download_vals(O2, O2_vals);
    if (error) return error;
    error = sparsec_download_vals(O3, O3_vals);
    if (error) return error;
    error = sparsec_download_vals(O4, O4_vals);
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

static int smoke_MLP3(int64_t n, int rounds) {
    if (n > 97) n = 97;
    sparsec_tensor O1 = {};
    const int64_t O1_dims[] = {n, n};
    sparsec_tensor W2 = {};
    const int64_t W2_dims[] = {n, n};
    sparsec_tensor B2 = {};
    const int64_t B2_dims[] = {n};
    sparsec_tensor W3 = {};
    const int64_t W3_dims[] = {n, n};
    sparsec_tensor B3 = {};
    const int64_t B3_dims[] = {n};
    sparsec_tensor W4 = {};
    const int64_t W4_dims[] = {n, n};
    sparsec_tensor B4 = {};
    const int64_t B4_dims[] = {n};
    sparsec_tensor O2 = {};
    sparsec_tensor O3 = {};
    sparsec_tensor O4 = {};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&O1, &MLP3_O1_spec, O1_dims, 1);
    error |= smoke_fill(&W2, &MLP3_W2_spec, W2_dims, 2);
    error |= smoke_fill(&B2, &MLP3_B2_spec, B2_dims, 3);
    error |= smoke_fill(&W3, &MLP3_W3_spec, W3_dims, 4);
    error |= smoke_fill(&B3, &MLP3_B3_spec, B3_dims, 5);
    error |= smoke_fill(&W4, &MLP3_W4_spec, W4_dims, 6);
    error |= smoke_fill(&B4, &MLP3_B4_spec, B4_dims, 7);
    if (!error) error = MLP3(&O1, &W2, &B2, &W3, &B3, &W4, &B4, &O2, &O3, &O4);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = MLP3(&O1, &W2, &B2, &W3, &B3, &W4, &B4, &O2, &O3, &O4);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("MLP3", error, best);
    sparsec_free_tensor(&O1);
    sparsec_free_tensor(&W2);
    sparsec_free_tensor(&B2);
    sparsec_free_tensor(&W3);
    sparsec_free_tensor(&B3);
    sparsec_free_tensor(&W4);
    sparsec_free_tensor(&B4);
    sparsec_free_tensor(&O2);
    sparsec_free_tensor(&O3);
    sparsec_free_tensor(&O4);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_MLP3(n, rounds);
    return failed;
}
#endif
