/* Written by sparsec. */
#define SPARSEC_IMPLEMENTATION
#include "assembly.h"

/* assembly
 *   K(at_node, a, at_node2, b) = 0
 *   K(node(t, v), a, node(t, w), b) += k(t, v, w, a, b)
 *   parallelize(t, CPUThread, Temporary)
 */
/* An iteration of the loop over e0. */
static void assembly_loop(int64_t e0, int64_t N, int64_t K_threads, double *SPARSEC_RESTRICT K_vals,
    const double *SPARSEC_RESTRICT K_copies) {
    for (int64_t t = 0; t < K_threads; t++) {
        for (int64_t e1 = 0; e1 < sparsec_min_int64(1024, N * 3 * N * 3 - e0 * 1024); e1++) {
            K_vals[e0 * 1024 + e1] += K_copies[t * (N * 3 * N * 3) + (e0 * 1024 + e1)];
        }
    }
}

int assembly_raw(int64_t T, int64_t N, const int32_t *SPARSEC_RESTRICT node_vals,
    const double *SPARSEC_RESTRICT k_vals, double *SPARSEC_RESTRICT K_vals) {
    double *K_copies = NULL;
    int error;
    K_copies = sparsec_resize(NULL,
        sparsec_times(sparsec_thread_count(),
        sparsec_times(sparsec_times(sparsec_times(N, 3), N), 3)), sizeof *K_copies);
    SPARSEC_NEED(K_copies);
    sparsec_clear(K_vals, N * 3 * N * 3, sizeof *K_vals);
    sparsec_clear(K_copies, sparsec_thread_count() * (N * 3 * N * 3), sizeof *K_copies);
#ifdef _OPENMP
    #pragma omp parallel for
#endif
    for (int64_t t = 0; t < T; t++) {
        double *SPARSEC_RESTRICT K_own = K_copies + sparsec_thread_index() * (N * 3 * N * 3);
        for (int64_t v = 0; v < 4; v++) {
            int64_t at_node = node_vals[t * 4 + v];
            for (int64_t w = 0; w < 4; w++) {
                int64_t at_node2 = node_vals[t * 4 + w];
                for (int64_t a = 0; a < 3; a++) {
                    for (int64_t b = 0; b < 3; b++) {
                        K_own[((at_node * 3 + a) * N + at_node2) * 3 + b] +=
                            k_vals[(((t * 4 + v) * 4 + w) * 3 + a) * 3 + b];
                    }
                }
            }
        }
    }
    int64_t K_threads = sparsec_thread_count();
#ifdef _OPENMP
    #pragma omp parallel for schedule(static)
#endif
    for (int64_t e0 = 0; e0 < (N * 3 * N * 3 + 1023) / 1024; e0++) {
        assembly_loop(e0, N, K_threads, K_vals, K_copies);
    }
    sparsec_release(K_copies);
    return SPARSEC_OK;
fail:
    sparsec_release(K_copies);
    return error;
}

/* Data-dependent subscripts and bounds stay inside their tensors. */
static int assembly_check(int64_t T, int64_t N, const int32_t *SPARSEC_RESTRICT node_vals,
    const double *SPARSEC_RESTRICT k_vals) {
    (void)k_vals;
    bool out_of_range = false;
    for (int64_t t = 0; t < T; t++) {
        for (int64_t v = 0; v < 4; v++) {
            out_of_range |= (node_vals[t * 4 + v] < 0) | (node_vals[t * 4 + v] >= N);
        }
    }
    if (out_of_range) return SPARSEC_INDEX_OUT_OF_RANGE;
    return SPARSEC_OK;
}

static const sparsec_level_spec assembly_node_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}};
static const sparsec_spec assembly_node_spec = {"node", SPARSEC_INT32, 2, 32, assembly_node_levels, NULL};
static const sparsec_level_spec assembly_k_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3},
    {SPARSEC_DENSE, 0, 4}};
static const sparsec_spec assembly_k_spec = {"k", SPARSEC_FLOAT64, 5, 32, assembly_k_levels, NULL};
static const sparsec_level_spec assembly_K_levels[] =
    {{SPARSEC_DENSE, 0, 0}, {SPARSEC_DENSE, 0, 1}, {SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 3}};
static const sparsec_spec assembly_K_spec = {"K", SPARSEC_FLOAT64, 4, 32, assembly_K_levels, NULL};

int assembly(const sparsec_tensor *node, const sparsec_tensor *k, sparsec_tensor *K) {
    int error;
    error = sparsec_check(node, &assembly_node_spec);
    if (error) return error;
    error = sparsec_check(k, &assembly_k_spec);
    if (error) return error;
    error = sparsec_check(K, &assembly_K_spec);
    if (error) return error;
    int64_t T = node->dims[0];
    int64_t N = K->dims[0];
    error = sparsec_same_size("of dimension 1", "node", node->dims[1], "the program", 4);
    if (error) return error;
    error = sparsec_same_size("T", "k", k->dims[0], "node", T);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "k", k->dims[1], "the program", 4);
    if (error) return error;
    error = sparsec_same_size("of dimension 2", "k", k->dims[2], "the program", 4);
    if (error) return error;
    error = sparsec_same_size("of dimension 3", "k", k->dims[3], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 4", "k", k->dims[4], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("of dimension 1", "K", K->dims[1], "the program", 3);
    if (error) return error;
    error = sparsec_same_size("N", "K", K->dims[2], "K", N);
    if (error) return error;
    error = sparsec_same_size("of dimension 3", "K", K->dims[3], "the program", 3);
    if (error) return error;
    const sparsec_tensor *const tensors[] = {node, k, K};
    error = sparsec_apart(K, "K", tensors, 3);
    if (error) return error;
    error = assembly_check(T, N, (const int32_t *)node->vals, (const double *)k->vals);
    if (error) return sparsec_fail_code(error);
    error = assembly_raw(T, N, (const int32_t *)node->vals, (const double *)k->vals,
        (double *)K->vals);
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

static int smoke_assembly(int64_t n, int rounds) {
    sparsec_tensor node = {0};
    const int64_t node_dims[] = {n, 4};
    sparsec_tensor k = {0};
    const int64_t k_dims[] = {n, 4, 4, 3, 3};
    sparsec_tensor K = {0};
    const int64_t K_dims[] = {n, 3, n, 3};
    int error = 0;
    double best = INFINITY;
    error |= smoke_fill(&node, &assembly_node_spec, node_dims, 1);
    error |= smoke_fill(&k, &assembly_k_spec, k_dims, 2);
    error |= smoke_fill(&K, &assembly_K_spec, K_dims, 3);
    if (!error) error = assembly(&node, &k, &K);
    for (int round = 0; !error && round < rounds; round++) {
        double start = smoke_seconds();
        error = assembly(&node, &k, &K);
        best = fmin(best, smoke_seconds() - start);
    }
    smoke_report("assembly", error, best);
    sparsec_free_tensor(&node);
    sparsec_free_tensor(&k);
    sparsec_free_tensor(&K);
    return error;
}

int main(int argc, char **argv) {
    int64_t n = argc > 1 ? atoll(argv[1]) : 24;
    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;
    failed |= smoke_assembly(n, rounds);
    return failed;
}
#endif
