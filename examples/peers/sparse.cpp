// What a careful user would call instead of a kernel whose result is sparse: MKL, Eigen and
// SuiteSparse:GraphBLAS, each with a new result for each call, which is freed outside of the time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <omp.h>
#include <vector>
#ifdef HAVE_MKL
#include <mkl_service.h>
#include <mkl_spblas.h>
#endif
#ifdef HAVE_EIGEN
#include <Eigen/Sparse>
#endif

namespace {

struct Element {
    int64_t row, col;
    double value;
    bool operator<(const Element &o) const { return row != o.row ? row < o.row : col < o.col; }
};
using Elements = std::vector<Element>;

// d: rows and columns of A, elements to pack. a: three matrices in CSR (pos, crd, values; the second
// and third as large as the first), then coordinates to pack (64-bit pairs, 32-bit rows, 32-bit
// columns) and their values.
struct Case {
    const int64_t *d;
    void *const *a;
    int threads;
    int64_t rows() const { return d[0]; }
    int64_t cols() const { return d[1]; }
    int32_t *pos(int m) const { return static_cast<int32_t *>(a[3 * m]); }
    int32_t *crd(int m) const { return static_cast<int32_t *>(a[3 * m + 1]); }
    double *vals(int m) const { return static_cast<double *>(a[3 * m + 2]); }
    int64_t stored(int m) const { return pos(m)[rows()]; }
    int64_t packed() const { return d[2]; }
    int32_t *packed_rows() const { return static_cast<int32_t *>(a[10]); }
    int32_t *packed_cols() const { return static_cast<int32_t *>(a[11]); }
    double *packed_vals() const { return static_cast<double *>(a[12]); }
};

struct Peer {
    const char *op, *name;
    void (*prepare)(const Case &);
    void (*run)(const Case &);
    // The result's elements, and whether those of a row are in order.
    bool (*result)(Elements &);
    void (*drop)();
    void (*done)();
};

// A peer that cannot do it for an input is left out of its row.
struct Unable {};
[[noreturn]] void failed(const char *library, int status) {
    fprintf(stderr, "%s says %d\n", library, status);
    throw Unable();
}

void csr_elements(int64_t rows, const int32_t *from, const int32_t *to, const int32_t *crd,
                  const double *vals, Elements &out) {
    for (int64_t i = 0; i < rows; i++)
        for (int32_t p = from[i]; p < to[i]; p++) out.push_back({i, crd[p], vals[p]});
}

#ifdef HAVE_MKL
sparse_matrix_t left, middle, right, made;
const matrix_descr general = {SPARSE_MATRIX_TYPE_GENERAL};

void mkl_must(sparse_status_t status) {
    if (status != SPARSE_STATUS_SUCCESS) failed("MKL", status);
}
sparse_matrix_t mkl_matrix(const Case &c, int m) {
    sparse_matrix_t handle;
    mkl_must(mkl_sparse_d_create_csr(&handle, SPARSE_INDEX_BASE_ZERO, c.rows(), c.cols(), c.pos(m),
                                     c.pos(m) + 1, c.crd(m), c.vals(m)));
    return handle;
}
void mkl_prepare(const Case &c) {
    mkl_set_num_threads(c.threads);
    left = mkl_matrix(c, 0);
    middle = mkl_matrix(c, 1);
    right = mkl_matrix(c, 2);
}
void mkl_prepare_coo(const Case &c) {
    mkl_set_num_threads(c.threads);
    mkl_must(mkl_sparse_d_create_coo(&left, SPARSE_INDEX_BASE_ZERO, c.rows(), c.cols(), c.packed(),
                                     c.packed_rows(), c.packed_cols(), c.packed_vals()));
}
void mkl_done() {
    for (sparse_matrix_t *handle : {&left, &middle, &right}) {
        if (*handle) mkl_sparse_destroy(*handle);
        *handle = nullptr;
    }
}
void mkl_drop() { mkl_sparse_destroy(made); }
bool mkl_result(Elements &out) {
    sparse_index_base_t base;
    MKL_INT rows, cols, *from, *to, *crd;
    double *vals;
    mkl_must(mkl_sparse_d_export_csr(made, &base, &rows, &cols, &from, &to, &crd, &vals));
    csr_elements(rows, from, to, crd, vals, out);
    return true;
}
bool mkl_result_coo(Elements &out) {
    sparse_index_base_t base;
    MKL_INT rows, cols, n, *row, *col;
    double *vals;
    mkl_must(mkl_sparse_d_export_coo(made, &base, &rows, &cols, &n, &row, &col, &vals));
    for (MKL_INT p = 0; p < n; p++) out.push_back({row[p], col[p], vals[p]});
    return true;
}
bool mkl_unsorted(Elements &out) {
    mkl_result(out);
    return false;
}
void mkl_product(const Case &) {
    mkl_must(mkl_sparse_spmm(SPARSE_OPERATION_NON_TRANSPOSE, left, left, &made));
}
// The first call finds the coordinates, later ones compute values.
void mkl_prepare_kept(const Case &c) {
    mkl_prepare(c);
    mkl_must(mkl_sparse_sp2m(SPARSE_OPERATION_NON_TRANSPOSE, general, left, SPARSE_OPERATION_NON_TRANSPOSE, general,
                             left, SPARSE_STAGE_FULL_MULT_NO_VAL, &made));
}
void mkl_kept_product(const Case &) {
    mkl_must(mkl_sparse_sp2m(SPARSE_OPERATION_NON_TRANSPOSE, general, left, SPARSE_OPERATION_NON_TRANSPOSE, general,
                             left, SPARSE_STAGE_FINALIZE_MULT, &made));
}
void mkl_keep() {}
void mkl_kept_done() {
    mkl_drop();
    mkl_done();
}
void mkl_sorted_product(const Case &c) {
    mkl_product(c);
    mkl_must(mkl_sparse_order(made));
}
void mkl_product_transposed(const Case &) {
    mkl_must(mkl_sparse_sp2m(SPARSE_OPERATION_NON_TRANSPOSE, general, left, SPARSE_OPERATION_TRANSPOSE,
                             general, left, SPARSE_STAGE_FULL_MULT, &made));
}
void mkl_sorted_product_transposed(const Case &c) {
    mkl_product_transposed(c);
    mkl_must(mkl_sparse_order(made));
}
void mkl_add(const Case &) {
    mkl_must(mkl_sparse_d_add(SPARSE_OPERATION_NON_TRANSPOSE, left, 1.0, middle, &made));
}
void mkl_add_three(const Case &) {
    sparse_matrix_t two;
    mkl_must(mkl_sparse_d_add(SPARSE_OPERATION_NON_TRANSPOSE, left, 1.0, middle, &two));
    mkl_must(mkl_sparse_d_add(SPARSE_OPERATION_NON_TRANSPOSE, two, 1.0, right, &made));
    mkl_sparse_destroy(two);
}
void mkl_transpose(const Case &) {
    mkl_must(mkl_sparse_convert_csr(left, SPARSE_OPERATION_TRANSPOSE, &made));
}
void mkl_to_coo(const Case &) {
    mkl_must(mkl_sparse_convert_coo(left, SPARSE_OPERATION_NON_TRANSPOSE, &made));
}
void mkl_pack(const Case &) {
    mkl_must(mkl_sparse_convert_csr(left, SPARSE_OPERATION_NON_TRANSPOSE, &made));
    mkl_must(mkl_sparse_order(made));
}
#endif

#ifdef HAVE_EIGEN
using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, int32_t>;
using Given = Eigen::Map<const Sparse>;
Sparse *eigen_made;
std::vector<Eigen::Triplet<double, int32_t>> triplets;

Given eigen_matrix(const Case &c, int m) {
    return Given(c.rows(), c.cols(), c.stored(m), c.pos(m), c.crd(m), c.vals(m));
}
void eigen_prepare(const Case &c) { Eigen::setNbThreads(c.threads); }
void eigen_prepare_coo(const Case &c) {
    eigen_prepare(c);
    for (int64_t p = 0; p < c.packed(); p++)
        triplets.emplace_back(c.packed_rows()[p], c.packed_cols()[p], c.packed_vals()[p]);
}
void eigen_done() { triplets.clear(); }
bool eigen_result(Elements &out) {
    csr_elements(eigen_made->rows(), eigen_made->outerIndexPtr(), eigen_made->outerIndexPtr() + 1,
                 eigen_made->innerIndexPtr(), eigen_made->valuePtr(), out);
    return true;
}
void eigen_drop() { delete eigen_made; }
void eigen_product(const Case &c) { eigen_made = new Sparse(eigen_matrix(c, 0) * eigen_matrix(c, 0)); }
void eigen_product_transposed(const Case &c) {
    const Sparse other(eigen_matrix(c, 0).transpose());
    eigen_made = new Sparse(eigen_matrix(c, 0) * other);
}
void eigen_add(const Case &c) { eigen_made = new Sparse(eigen_matrix(c, 0) + eigen_matrix(c, 1)); }
void eigen_add_three(const Case &c) {
    eigen_made = new Sparse(eigen_matrix(c, 0) + eigen_matrix(c, 1) + eigen_matrix(c, 2));
}
void eigen_transpose(const Case &c) { eigen_made = new Sparse(eigen_matrix(c, 0).transpose()); }
void eigen_pack(const Case &c) {
    eigen_made = new Sparse(c.rows(), c.cols());
    eigen_made->setFromTriplets(triplets.begin(), triplets.end());
}
#endif

#ifdef HAVE_GRAPHBLAS
// The wheel brings no header: what is used of GraphBLAS.h (API of 2.1).
extern "C" {
typedef struct GB_Matrix_opaque *GrB_Matrix;
typedef struct GB_any_opaque *GrB_Any;
extern GrB_Any GrB_FP64, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, GrB_DESC_T0, GrB_DESC_T1;
int GrB_init(int mode);
int GrB_Matrix_new(GrB_Matrix *, GrB_Any type, uint64_t rows, uint64_t cols);
int GrB_Matrix_free(GrB_Matrix *);
int GrB_Matrix_build_FP64(GrB_Matrix, const uint64_t *, const uint64_t *, const double *, uint64_t, GrB_Any dup);
int GrB_Matrix_extractTuples_FP64(uint64_t *, uint64_t *, double *, uint64_t *n, GrB_Matrix);
int GrB_Matrix_nvals(uint64_t *, GrB_Matrix);
int GrB_Matrix_wait(GrB_Matrix, int mode);
int GrB_mxm(GrB_Matrix, GrB_Matrix mask, GrB_Any accum, GrB_Any semiring, GrB_Matrix, GrB_Matrix, GrB_Any desc);
int GrB_transpose(GrB_Matrix, GrB_Matrix mask, GrB_Any accum, GrB_Matrix, GrB_Any desc);
int GrB_Matrix_eWiseAdd_BinaryOp(GrB_Matrix, GrB_Matrix mask, GrB_Any accum, GrB_Any op, GrB_Matrix, GrB_Matrix,
                                 GrB_Any desc);
int GxB_Global_Option_set_INT32(int option, int32_t value);
}
constexpr int GXB_NTHREADS = 7086, MATERIALIZE = 1;
GrB_Matrix operand[3], graph_made;
std::vector<uint64_t> graph_rows, graph_cols;

void graph_must(int info) {
    if (info != 0) failed("GraphBLAS", info);
}
void graph_threads(const Case &c) {
    static const int begun = GrB_init(0);
    graph_must(begun);
    graph_must(GxB_Global_Option_set_INT32(GXB_NTHREADS, c.threads));
}
void graph_prepare(const Case &c) {
    graph_threads(c);
    for (int m = 0; m < 3; m++) {
        Elements elements;
        csr_elements(c.rows(), c.pos(m), c.pos(m) + 1, c.crd(m), c.vals(m), elements);
        std::vector<uint64_t> rows, cols;
        std::vector<double> vals;
        for (const Element &e : elements) {
            rows.push_back(e.row);
            cols.push_back(e.col);
            vals.push_back(e.value);
        }
        graph_must(GrB_Matrix_new(&operand[m], GrB_FP64, c.rows(), c.cols()));
        graph_must(GrB_Matrix_build_FP64(operand[m], rows.data(), cols.data(), vals.data(), rows.size(),
                                         GrB_PLUS_FP64));
        graph_must(GrB_Matrix_wait(operand[m], MATERIALIZE));
    }
}
void graph_prepare_coo(const Case &c) {
    graph_threads(c);
    graph_rows.assign(c.packed_rows(), c.packed_rows() + c.packed());
    graph_cols.assign(c.packed_cols(), c.packed_cols() + c.packed());
}
void graph_done() {
    for (GrB_Matrix &m : operand) GrB_Matrix_free(&m);
}
void graph_drop() { GrB_Matrix_free(&graph_made); }
bool graph_result(Elements &out) {
    uint64_t n;
    graph_must(GrB_Matrix_nvals(&n, graph_made));
    std::vector<uint64_t> rows(n), cols(n);
    std::vector<double> vals(n);
    graph_must(GrB_Matrix_extractTuples_FP64(rows.data(), cols.data(), vals.data(), &n, graph_made));
    for (uint64_t k = 0; k < n; k++) out.push_back({(int64_t)rows[k], (int64_t)cols[k], vals[k]});
    return true;
}
bool graph_unsorted(Elements &out) {
    graph_result(out);
    return false;
}
void graph_new(uint64_t rows, uint64_t cols) { graph_must(GrB_Matrix_new(&graph_made, GrB_FP64, rows, cols)); }
// What GraphBLAS has not put in order stays so until it is asked for.
void graph_in_order() { graph_must(GrB_Matrix_wait(graph_made, MATERIALIZE)); }
void graph_product(const Case &c) {
    graph_new(c.rows(), c.cols());
    graph_must(GrB_mxm(graph_made, nullptr, nullptr, GrB_PLUS_TIMES_SEMIRING_FP64, operand[0], operand[0], nullptr));
}
void graph_sorted_product(const Case &c) {
    graph_product(c);
    graph_in_order();
}
void graph_product_transposed(const Case &c) {
    graph_new(c.rows(), c.rows());
    graph_must(GrB_mxm(graph_made, nullptr, nullptr, GrB_PLUS_TIMES_SEMIRING_FP64, operand[0], operand[0], GrB_DESC_T1));
}
void graph_sorted_product_transposed(const Case &c) {
    graph_product_transposed(c);
    graph_in_order();
}
void graph_add(const Case &c) {
    graph_new(c.rows(), c.cols());
    graph_must(GrB_Matrix_eWiseAdd_BinaryOp(graph_made, nullptr, nullptr, GrB_PLUS_FP64, operand[0], operand[1], nullptr));
    graph_in_order();
}
void graph_add_three(const Case &c) {
    GrB_Matrix two;
    graph_must(GrB_Matrix_new(&two, GrB_FP64, c.rows(), c.cols()));
    graph_must(GrB_Matrix_eWiseAdd_BinaryOp(two, nullptr, nullptr, GrB_PLUS_FP64, operand[0], operand[1], nullptr));
    graph_new(c.rows(), c.cols());
    graph_must(GrB_Matrix_eWiseAdd_BinaryOp(graph_made, nullptr, nullptr, GrB_PLUS_FP64, two, operand[2], nullptr));
    graph_in_order();
    GrB_Matrix_free(&two);
}
void graph_transpose(const Case &c) {
    graph_new(c.cols(), c.rows());
    graph_must(GrB_transpose(graph_made, nullptr, nullptr, operand[0], nullptr));
    graph_in_order();
}
void graph_pack(const Case &c) {
    graph_new(c.rows(), c.cols());
    graph_must(GrB_Matrix_build_FP64(graph_made, graph_rows.data(), graph_cols.data(), c.packed_vals(),
                                     c.packed(), GrB_PLUS_FP64));
    graph_in_order();
}
#endif

const Peer peers[] = {
#ifdef HAVE_MKL
    {"product, unsorted", "MKL", mkl_prepare, mkl_product, mkl_unsorted, mkl_drop, mkl_done},
    {"product, kept", "MKL", mkl_prepare_kept, mkl_kept_product, mkl_unsorted, mkl_keep, mkl_kept_done},
    {"product", "MKL", mkl_prepare, mkl_sorted_product, mkl_result, mkl_drop, mkl_done},
    {"product A^T, unsorted", "MKL", mkl_prepare, mkl_product_transposed, mkl_unsorted, mkl_drop, mkl_done},
    {"product A^T", "MKL", mkl_prepare, mkl_sorted_product_transposed, mkl_result, mkl_drop, mkl_done},
    {"add", "MKL", mkl_prepare, mkl_add, mkl_result, mkl_drop, mkl_done},
    {"add three", "MKL", mkl_prepare, mkl_add_three, mkl_result, mkl_drop, mkl_done},
    {"transpose", "MKL", mkl_prepare, mkl_transpose, mkl_result, mkl_drop, mkl_done},
    {"to COO", "MKL", mkl_prepare, mkl_to_coo, mkl_result_coo, mkl_drop, mkl_done},
    {"pack", "MKL", mkl_prepare_coo, mkl_pack, mkl_result, mkl_drop, mkl_done},
#endif
#ifdef HAVE_EIGEN
    {"product", "Eigen", eigen_prepare, eigen_product, eigen_result, eigen_drop, eigen_done},
    {"product A^T", "Eigen", eigen_prepare, eigen_product_transposed, eigen_result, eigen_drop, eigen_done},
    {"add", "Eigen", eigen_prepare, eigen_add, eigen_result, eigen_drop, eigen_done},
    {"add three", "Eigen", eigen_prepare, eigen_add_three, eigen_result, eigen_drop, eigen_done},
    {"transpose", "Eigen", eigen_prepare, eigen_transpose, eigen_result, eigen_drop, eigen_done},
    {"pack", "Eigen", eigen_prepare_coo, eigen_pack, eigen_result, eigen_drop, eigen_done},
#endif
#ifdef HAVE_GRAPHBLAS
    {"product, unsorted", "GraphBLAS", graph_prepare, graph_product, graph_unsorted, graph_drop, graph_done},
    {"product", "GraphBLAS", graph_prepare, graph_sorted_product, graph_result, graph_drop, graph_done},
    {"product A^T, unsorted", "GraphBLAS", graph_prepare, graph_product_transposed, graph_unsorted, graph_drop,
     graph_done},
    {"product A^T", "GraphBLAS", graph_prepare, graph_sorted_product_transposed, graph_result, graph_drop, graph_done},
    {"add", "GraphBLAS", graph_prepare, graph_add, graph_result, graph_drop, graph_done},
    {"add three", "GraphBLAS", graph_prepare, graph_add_three, graph_result, graph_drop, graph_done},
    {"transpose", "GraphBLAS", graph_prepare, graph_transpose, graph_result, graph_drop, graph_done},
    {"pack", "GraphBLAS", graph_prepare_coo, graph_pack, graph_result, graph_drop, graph_done},
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

// A result of ours: pos, crd and values of CSR, or, where the fourth is there, rows, columns,
// values and the position after the last.
struct Made {
    void *array[4] = {};
    int64_t room = 0;
    void free_all() {
        for (void *&a : array) {
            free(a);
            a = nullptr;
        }
        room = 0;
    }
    bool elements(int64_t rows, Elements &out) const {
        auto index = [&](int k) { return static_cast<const int32_t *>(array[k]); };
        auto vals = static_cast<const double *>(array[2]);
        if (!array[3]) csr_elements(rows, index(0), index(0) + 1, index(1), vals, out);
        else
            for (int32_t p = 0; p < index(3)[1]; p++) out.push_back({index(0)[p], index(1)[p], vals[p]});
        return true;
    }
};

// The largest relative difference of the values; where other elements are stored it is infinite.
double difference(Elements &a, Elements &b) {
    for (Elements *e : {&a, &b}) std::sort(e->begin(), e->end());
    double worst = a.size() == b.size() ? 0 : INFINITY;
    for (size_t k = 0; k < std::min(a.size(), b.size()); k++) {
        if (a[k].row != b[k].row || a[k].col != b[k].col) return INFINITY;
        worst = std::max(worst, std::fabs(a[k].value - b[k].value) / (1 + std::fabs(a[k].value)));
    }
    return worst;
}

} // namespace

// The names of an operation's peers, "" after the last.
extern "C" const char *sparse_peer_name(const char *op, int k) {
    auto list = of(op);
    return k < (int)list.size() ? list[k]->name : "";
}

// Called with the result of the call before, or with nothing; `room` is how many elements its
// arrays hold.
using Ours = int(const int64_t *d, void *const *a, void **made, int64_t *room);

// As `measure`, with the extent of the result's first dimension. Of ours those with `again` are
// called with the arrays of the call before; all others make new ones, like the peers. Returns the
// largest relative difference of results; `stored` is how many elements they have.
extern "C" double measure_sparse(const char *op, Ours *const *ours, const bool *again, int mine,
                                 const int64_t *d, void *const *a, int64_t result_rows, int rounds,
                                 int threads, double *times, int64_t *stored) {
    omp_set_num_threads(threads);
    auto list = of(op);
    size_t all = mine + list.size();
    const Case c{d, a, threads};
    std::vector<Made> made(mine);
    std::vector<bool> unable(all);
    Elements want;
    double worst = 0;
    for (const Peer *peer : list) peer->prepare(c);
    for (int r = -2; r < rounds; r++)
        for (size_t turn = 0; turn < all; turn++) {
            size_t k = r < 0 ? turn : (turn + r) % all;
            const bool own = k < (size_t)mine;
            if (unable[k]) continue;
            if (own && !again[k]) made[k].free_all();
            double t = now();
            int error = 0;
            if (own) error = ours[k](d, a, made[k].array, &made[k].room);
            else try {
                    list[k - mine]->run(c);
                } catch (const Unable &) {
                    unable[k] = true;
                    continue;
                }
            t = now() - t;
            if (error) return INFINITY;
            if (r >= 0) times[k * rounds + r] = t;
            if (r == -2) {
                Elements got;
                bool sorted = own ? made[k].elements(result_rows, got) : list[k - mine]->result(got);
                if (sorted && !strstr(op, "unsorted") && !std::is_sorted(got.begin(), got.end())) worst = INFINITY;
                if (k == 0) {
                    want = std::move(got);
                    *stored = want.size();
                } else worst = std::max(worst, difference(want, got));
            }
            if (own && !again[k]) made[k].free_all();
            if (!own) list[k - mine]->drop();
        }
    for (const Peer *peer : list) peer->done();
    for (Made &m : made) m.free_all();
    return worst;
}
