// What a careful user would call or write instead of a scheduled kernel: libraries, and the
// plain OpenMP loop. Each peer works on the arrays that the kernel gets; what a library
// prepares beforehand (an inspector, a converted matrix) is not timed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>
#ifdef HAVE_MKL
#include <mkl_cblas.h>
#include <mkl_service.h>
#include <mkl_spblas.h>
#endif
#ifdef HAVE_EIGEN
#include <Eigen/Sparse>
#endif
#ifdef HAVE_DNNL
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace {

// Extents d, operand arrays a (levels outermost first, values, then dense operands).
struct Case {
    const int64_t *d;
    void *const *a;
    void *out;
    int threads;
    const int32_t *index(int k) const { return static_cast<const int32_t *>(a[k]); }
    const double *dense(int k) const { return static_cast<const double *>(a[k]); }
    double *result() const { return static_cast<double *>(out); }
};

struct Peer {
    const char *op, *name;
    void (*prepare)(const Case &);
    void (*run)(const Case &);
    void (*done)();
};

void nothing(const Case &) {}
void no_end() {}

// The plain loops.

void plain_spmv(const Case &c) {
    const int32_t *pos = c.index(0), *crd = c.index(1);
    const double *v = c.dense(2), *x = c.dense(3);
    double *y = c.result();
#pragma omp parallel for
    for (int64_t i = 0; i < c.d[0]; i++) {
        double s = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++) s += v[p] * x[crd[p]];
        y[i] = s;
    }
}

void plain_spmm(const Case &c) {
    const int32_t *pos = c.index(0), *crd = c.index(1);
    const double *v = c.dense(2), *b = c.dense(3);
    double *r = c.result();
    int64_t n = c.d[2];
#pragma omp parallel for
    for (int64_t i = 0; i < c.d[0]; i++) {
        for (int64_t k = 0; k < n; k++) r[i * n + k] = 0;
        for (int32_t p = pos[i]; p < pos[i + 1]; p++)
            for (int64_t k = 0; k < n; k++) r[i * n + k] += v[p] * b[crd[p] * n + k];
    }
}

void plain_sddmm(const Case &c) {
    const int32_t *pos = c.index(0), *crd = c.index(1);
    const double *v = c.dense(2), *b = c.dense(3), *e = c.dense(4);
    double *r = c.result();
    int64_t n = c.d[2];
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t i = 0; i < c.d[0]; i++)
        for (int32_t p = pos[i]; p < pos[i + 1]; p++) {
            double s = 0;
            for (int64_t k = 0; k < n; k++) s += b[i * n + k] * e[crd[p] * n + k];
            r[p] = v[p] * s;
        }
}

void plain_mttkrp3(const Case &c) {
    const int32_t *p1 = c.index(0), *c1 = c.index(1), *p2 = c.index(2), *c2 = c.index(3),
                  *p3 = c.index(4), *c3 = c.index(5);
    const double *v = c.dense(6), *f = c.dense(7), *g = c.dense(8);
    double *r = c.result();
    int64_t n = c.d[3];
    memset(r, 0, (size_t)(c.d[0] * n) * 8);
#pragma omp parallel for schedule(dynamic, 16)
    for (int32_t x = p1[0]; x < p1[1]; x++)
        for (int32_t y = p2[x]; y < p2[x + 1]; y++)
            for (int32_t z = p3[y]; z < p3[y + 1]; z++)
                for (int64_t j = 0; j < n; j++)
                    r[c1[x] * n + j] += v[z] * f[c2[y] * n + j] * g[c3[z] * n + j];
}

void plain_mttkrp4(const Case &c) {
    const int32_t *p1 = c.index(0), *c1 = c.index(1), *p2 = c.index(2), *c2 = c.index(3),
                  *p3 = c.index(4), *c3 = c.index(5), *p4 = c.index(6), *c4 = c.index(7);
    const double *v = c.dense(8), *f = c.dense(9), *g = c.dense(10), *h = c.dense(11);
    double *r = c.result();
    int64_t n = c.d[4];
    memset(r, 0, (size_t)(c.d[0] * n) * 8);
#pragma omp parallel for schedule(dynamic, 16)
    for (int32_t x = p1[0]; x < p1[1]; x++)
        for (int32_t y = p2[x]; y < p2[x + 1]; y++)
            for (int32_t z = p3[y]; z < p3[y + 1]; z++)
                for (int32_t w = p4[z]; w < p4[z + 1]; w++)
                    for (int64_t j = 0; j < n; j++)
                        r[c1[x] * n + j] += v[w] * f[c2[y] * n + j] * g[c3[z] * n + j] * h[c4[w] * n + j];
}

void plain_ttv(const Case &c) {
    const int32_t *p1 = c.index(0), *p2 = c.index(2), *p3 = c.index(4), *c3 = c.index(5);
    const double *v = c.dense(6), *x = c.dense(7);
    double *r = c.result();
#pragma omp parallel for
    for (int32_t y = 0; y < p2[p1[1]]; y++) {
        double s = 0;
        for (int32_t z = p3[y]; z < p3[y + 1]; z++) s += v[z] * x[c3[z]];
        r[y] = s;
    }
}

void plain_ttm(const Case &c) {
    const int32_t *p1 = c.index(0), *p2 = c.index(2), *p3 = c.index(4), *c3 = c.index(5);
    const double *v = c.dense(6), *b = c.dense(7);
    double *r = c.result();
    int64_t n = c.d[3];
#pragma omp parallel for
    for (int32_t y = 0; y < p2[p1[1]]; y++) {
        for (int64_t k = 0; k < n; k++) r[y * n + k] = 0;
        for (int32_t z = p3[y]; z < p3[y + 1]; z++)
            for (int64_t k = 0; k < n; k++) r[y * n + k] += v[z] * b[c3[z] * n + k];
    }
}

void plain_gemm(const Case &c) {
    const double *a = c.dense(0), *b = c.dense(1);
    double *r = c.result();
    int64_t m = c.d[0], k = c.d[1], n = c.d[2];
    memset(r, 0, (size_t)(m * n) * 8);
#pragma omp parallel for
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) r[i * n + j] += a[i * k + p] * b[p * n + j];
}

#ifdef HAVE_MKL
// Optimized for many products, and as it was made.
sparse_matrix_t handle, bare;
matrix_descr kind;

void mkl_matrix(const Case &c, MKL_INT rows, MKL_INT cols, int at, sparse_matrix_t *made = &handle) {
    mkl_set_num_threads(c.threads);
    kind.type = SPARSE_MATRIX_TYPE_GENERAL;
    auto pos = const_cast<int32_t *>(c.index(at)), crd = const_cast<int32_t *>(c.index(at + 1));
    mkl_sparse_d_create_csr(made, SPARSE_INDEX_BASE_ZERO, rows, cols, pos, pos + 1, crd,
                            const_cast<double *>(c.dense(at + 2)));
}
void mkl_done() { mkl_sparse_destroy(handle); }
void mkl_bare_done() { mkl_sparse_destroy(bare); }
// The unfolded tensor has a row for each fibre.
MKL_INT fibres(const Case &c) { return c.index(2)[c.index(0)[1]]; }

void mkl_bare(const Case &c) { mkl_matrix(c, c.d[0], c.d[1], 0, &bare); }
void mkl_spmv_bare(const Case &c) {
    mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, bare, kind, c.dense(3), 0.0, c.result());
}
void mkl_spmv_hint(const Case &c) {
    mkl_matrix(c, c.d[0], c.d[1], 0);
    mkl_sparse_set_mv_hint(handle, SPARSE_OPERATION_NON_TRANSPOSE, kind, 1000);
    mkl_sparse_optimize(handle);
}
void mkl_spmv(const Case &c) {
    mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, handle, kind, c.dense(3), 0.0, c.result());
}
void mkl_spmm_hint(const Case &c) {
    mkl_matrix(c, c.d[0], c.d[1], 0);
    mkl_sparse_set_mm_hint(handle, SPARSE_OPERATION_NON_TRANSPOSE, kind, SPARSE_LAYOUT_ROW_MAJOR,
                           c.d[2], 1000);
    mkl_sparse_optimize(handle);
}
void mkl_spmm(const Case &c) {
    MKL_INT n = c.d[2];
    mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, handle, kind, SPARSE_LAYOUT_ROW_MAJOR,
                    c.dense(3), n, n, 0.0, c.result(), n);
}
void mkl_ttv_hint(const Case &c) {
    mkl_matrix(c, fibres(c), c.d[2], 4);
    mkl_sparse_set_mv_hint(handle, SPARSE_OPERATION_NON_TRANSPOSE, kind, 1000);
    mkl_sparse_optimize(handle);
}
void mkl_ttv(const Case &c) {
    mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, handle, kind, c.dense(7), 0.0, c.result());
}
void mkl_ttm_hint(const Case &c) {
    mkl_matrix(c, fibres(c), c.d[2], 4);
    mkl_sparse_set_mm_hint(handle, SPARSE_OPERATION_NON_TRANSPOSE, kind, SPARSE_LAYOUT_ROW_MAJOR,
                           c.d[3], 1000);
    mkl_sparse_optimize(handle);
}
void mkl_ttm(const Case &c) {
    MKL_INT n = c.d[3];
    mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, handle, kind, SPARSE_LAYOUT_ROW_MAJOR,
                    c.dense(7), n, n, 0.0, c.result(), n);
}
void mkl_threads(const Case &c) { mkl_set_num_threads(c.threads); }
void mkl_gemm(const Case &c) {
    MKL_INT m = c.d[0], k = c.d[1], n = c.d[2];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, c.dense(0), k, c.dense(1), n,
                0.0, c.result(), n);
}
#endif

#ifdef HAVE_EIGEN
using Sparse = Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor, int32_t>>;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Sparse eigen_matrix(const Case &c) {
    return Sparse(c.d[0], c.d[1], c.index(0)[c.d[0]], c.index(0), c.index(1), c.dense(2));
}
void eigen_threads(const Case &c) { Eigen::setNbThreads(c.threads); }
void eigen_spmv(const Case &c) {
    Eigen::Map<Eigen::VectorXd>(c.result(), c.d[0]).noalias() =
        eigen_matrix(c) * Eigen::Map<const Eigen::VectorXd>(c.dense(3), c.d[1]);
}
void eigen_spmm(const Case &c) {
    Eigen::Map<Rows>(c.result(), c.d[0], c.d[2]).noalias() =
        eigen_matrix(c) * Eigen::Map<const Rows>(c.dense(3), c.d[1], c.d[2]);
}
void eigen_sddmm(const Case &c) {
    const int32_t *pos = c.index(0), *crd = c.index(1);
    Eigen::Map<const Rows> b(c.dense(3), c.d[0], c.d[2]), e(c.dense(4), c.d[1], c.d[2]);
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t i = 0; i < c.d[0]; i++)
        for (int32_t p = pos[i]; p < pos[i + 1]; p++)
            c.result()[p] = c.dense(2)[p] * b.row(i).dot(e.row(crd[p]));
}
#endif

#ifdef HAVE_OPENBLAS
extern "C" void scipy_openblas_set_num_threads(int);
extern "C" void scipy_cblas_dgemm(int, int, int, int, int, int, double, const double *, int,
                                  const double *, int, double, double *, int);
void openblas_threads(const Case &c) { scipy_openblas_set_num_threads(c.threads); }
void openblas_gemm(const Case &c) {
    int m = c.d[0], k = c.d[1], n = c.d[2];
    scipy_cblas_dgemm(101, 111, 111, m, n, k, 1.0, c.dense(0), k, c.dense(1), n, 0.0, c.result(), n);
}
#endif

#ifdef OPENBLAS_OPENMP
// The build with OpenMP's threads, apart from the other: both have the same names.
using Dgemm = void(int, int, int, int, int, int, double, const double *, int, const double *, int,
                   double, double *, int);
template <class F> F *of_openmp_build(const char *name) {
    static void *library = dlopen(OPENBLAS_OPENMP, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void *at = library ? dlsym(library, name) : nullptr;
    if (!at) throw std::runtime_error(std::string(OPENBLAS_OPENMP) + ": no " + name);
    return reinterpret_cast<F *>(at);
}
void openmp_threads(const Case &c) { of_openmp_build<void(int)>("openblas_set_num_threads")(c.threads); }
void openmp_gemm(const Case &c) {
    static Dgemm *const dgemm = of_openmp_build<Dgemm>("cblas_dgemm");
    int m = c.d[0], k = c.d[1], n = c.d[2];
    dgemm(101, 111, 111, m, n, k, 1.0, c.dense(0), k, c.dense(1), n, 0.0, c.result(), n);
}
#endif

#ifdef HAVE_DNNL
// A direct convolution on layouts of oneDNN's own choice; the operands are reordered before.
struct Convolution {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    dnnl::convolution_forward forward;
    dnnl::memory in, weight, out, plain;
    dnnl::reorder back;
};
Convolution *convolution;

// d: batch, input channels, output channels, output rows and columns, kernel size.
void dnnl_prepare(const Case &c) {
    using dnnl::memory;
    omp_set_num_threads(c.threads);
    auto *v = new Convolution;
    auto size = [&](int k) { return c.d[k]; };
    memory::dims in = {size(0), size(1), size(3) + size(5) - 1, size(4) + size(5) - 1},
                 weight = {size(2), size(1), size(5), size(5)}, out = {size(0), size(2), size(3), size(4)};
    auto any = [&](const memory::dims &d) { return memory::desc(d, memory::data_type::f32, memory::format_tag::any); };
    auto flat = [&](const memory::dims &d, memory::format_tag t) { return memory::desc(d, memory::data_type::f32, t); };
    dnnl::convolution_forward::primitive_desc plan(
        v->engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any(in),
        any(weight), any(out), {1, 1}, {0, 0}, {0, 0});
    memory given_in(flat(in, memory::format_tag::nchw), v->engine, c.a[0]);
    memory given_weight(flat(weight, memory::format_tag::oihw), v->engine, c.a[1]);
    v->plain = memory(flat(out, memory::format_tag::nchw), v->engine, c.out);
    v->in = memory(plan.src_desc(), v->engine);
    v->weight = memory(plan.weights_desc(), v->engine);
    v->out = memory(plan.dst_desc(), v->engine);
    dnnl::reorder(given_in, v->in).execute(v->stream, given_in, v->in);
    dnnl::reorder(given_weight, v->weight).execute(v->stream, given_weight, v->weight);
    v->forward = dnnl::convolution_forward(plan);
    v->back = dnnl::reorder(v->out, v->plain);
    convolution = v;
}
void dnnl_run(const Case &) {
    auto &v = *convolution;
    v.forward.execute(v.stream, {{DNNL_ARG_SRC, v.in}, {DNNL_ARG_WEIGHTS, v.weight}, {DNNL_ARG_DST, v.out}});
    v.stream.wait();
}
void dnnl_done() { delete convolution; }
#endif

const Peer peers[] = {
    {"spmv", "plain", nothing, plain_spmv, no_end},
    {"spmm", "plain", nothing, plain_spmm, no_end},
    {"sddmm", "plain", nothing, plain_sddmm, no_end},
    {"mttkrp3", "plain", nothing, plain_mttkrp3, no_end},
    {"mttkrp4", "plain", nothing, plain_mttkrp4, no_end},
    {"ttv", "plain", nothing, plain_ttv, no_end},
    {"ttm", "plain", nothing, plain_ttm, no_end},
    {"gemm", "plain", nothing, plain_gemm, no_end},
#ifdef HAVE_MKL
    {"spmv", "MKL", mkl_spmv_hint, mkl_spmv, mkl_done},
    {"spmv", "MKL as is", mkl_bare, mkl_spmv_bare, mkl_bare_done},
    {"spmm", "MKL", mkl_spmm_hint, mkl_spmm, mkl_done},
    {"ttv", "MKL", mkl_ttv_hint, mkl_ttv, mkl_done},
    {"ttm", "MKL", mkl_ttm_hint, mkl_ttm, mkl_done},
    {"gemm", "MKL", mkl_threads, mkl_gemm, no_end},
#endif
#ifdef HAVE_EIGEN
    {"spmv", "Eigen", eigen_threads, eigen_spmv, no_end},
    {"spmm", "Eigen", eigen_threads, eigen_spmm, no_end},
    {"sddmm", "Eigen", eigen_threads, eigen_sddmm, no_end},
#endif
#ifdef HAVE_OPENBLAS
    {"gemm", "OpenBLAS", openblas_threads, openblas_gemm, no_end},
#endif
#ifdef OPENBLAS_OPENMP
    {"gemm", "OpenBLAS, OpenMP", openmp_threads, openmp_gemm, no_end},
#endif
#ifdef HAVE_DNNL
    {"conv2d", "oneDNN", dnnl_prepare, dnnl_run, dnnl_done},
#endif
};

std::vector<const Peer *> of(const char *op) {
    std::vector<const Peer *> found;
    for (const Peer &peer : peers)
        if (!strcmp(peer.op, op)) found.push_back(&peer);
    return found;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

// The names of an operation's peers, "" after the last.
extern "C" const char *peer_name(const char *op, int k) {
    auto list = of(op);
    return k < (int)list.size() ? list[k]->name : "";
}

using Ours = void(const int64_t *, void *const *, void **);

// Runs `ours` and every peer in turn, `rounds` times after two for warming up; times are
// written contestant by contestant. Returns the largest relative difference of results in
// double precision (of conv2d, in another layout, none is compared).
/* A result that begins at a cache line, and holds what the caller's does. */
struct Result {
    void *at;
    Result(const void *from, int64_t bytes) : at(aligned_alloc(64, (bytes + 64) / 64 * 64)) {
        memcpy(at, from, bytes);
    }
    Result(const Result &) = delete;
    Result(Result &&other) : at(other.at) { other.at = nullptr; }
    ~Result() { free(at); }
};

extern "C" double measure(const char *op, Ours *const *ours, int mine, const int64_t *d,
                          void *const *a, void *out, int64_t n, int64_t bytes, int rounds,
                          int threads, double *times) {
    omp_set_num_threads(threads);
    auto list = of(op);
    double worst = 0;
    bool compared = strcmp(op, "conv2d") != 0;
    size_t all = mine + list.size();
    // Each has a result of its own, as kernels have that make theirs: of one that two write, the
    // second finds more in its cache.
    std::vector<Result> results;
    std::vector<Case> cases;
    for (size_t k = 0; k < all; k++) {
        results.emplace_back(out, bytes);
        cases.push_back(Case{d, a, results.back().at, threads});
    }
    std::vector<double> want(n);
    for (size_t k = mine; k < all; k++) list[k - mine]->prepare(cases[k]);
    for (int r = -2; r < rounds; r++)
        for (size_t turn = 0; turn < all; turn++) {
            // Each follows another in turn: what ran before leaves the caches warm or cold.
            size_t k = r < 0 ? turn : (turn + r) % all;
            void *made = results[k].at;
            double t = now();
            if (k < (size_t)mine) ours[k](d, a, &made);
            else list[k - mine]->run(cases[k]);
            t = now() - t;
            if (r >= 0) times[k * rounds + r] = t;
            if (r != -2 || !compared) continue;
            const double *got = static_cast<const double *>(made);
            if (k == 0) std::copy(got, got + n, want.begin());
            else
                for (int64_t e = 0; e < n; e++)
                    worst = std::max(worst, std::fabs(got[e] - want[e]) / (1 + std::fabs(want[e])));
        }
    for (const Peer *peer : list) peer->done();
    return worst;
}

extern "C" void use_threads(int threads) { omp_set_num_threads(threads); }

// Bytes a second that the threads read from a working set of that size, best of ten.
extern "C" double bandwidth(int64_t bytes, int threads) {
    omp_set_num_threads(threads);
    int64_t n = std::max<int64_t>(bytes / 8, 4096), repeat = std::max<int64_t>(1, (1 << 22) / n);
    std::vector<double> v(n, 1.0);
    // Under a name of its own, so that the loop need not read where the data is.
    const double *from = v.data();
    double best = 0, sink = 0;
    for (int round = 0; round < 12; round++) {
        double t = now(), sum = 0;
        for (int64_t r = 0; r < repeat; r++) {
#pragma omp parallel for simd reduction(+ : sum)
            for (int64_t k = 0; k < n; k++) sum += from[k];
            asm volatile("" : : "r"(from) : "memory");
        }
        t = now() - t;
        sink += sum;
        if (round >= 2) best = std::max(best, 8.0 * n * repeat / t);
    }
    return sink < 0 ? 0 : best;
}
