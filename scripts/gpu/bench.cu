// scripts/bench-gpu's program: checks emitted kernels and times them against cuSPARSE and
// cuBLAS, with the caches flushed before each run. Arguments: --json FILE, --rounds N, --most N
// (elements of generated matrices, 0 for none), then files.
#include "glue.h"
#include "inputs.hpp"
#include <chrono>
#include <functional>
#ifdef HAVE_PEERS
#include <cublas_v2.h>
#include <cusparse.h>
#endif

static void must(bool good, const std::string &what) {
    if (!good) throw std::runtime_error(what);
}
static void cuda(cudaError_t status) { must(status == cudaSuccess, cudaGetErrorString(status)); }

/* Memory of the device. */
class Room {
    void *memory = nullptr;

  public:
    Room() = default;
    explicit Room(size_t bytes) { cuda(cudaMalloc(&memory, bytes ? bytes : 1)); }
    template <class T> explicit Room(const std::vector<T> &from) : Room(from.size() * sizeof(T)) {
        if (!from.empty()) cuda(cudaMemcpy(memory, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    Room(Room &&other) noexcept : memory(other.memory) { other.memory = nullptr; }
    Room &operator=(Room &&other) noexcept {
        std::swap(memory, other.memory);
        return *this;
    }
    ~Room() { cudaFree(memory); }
    void *at() const { return memory; }
    Address address() const { return Address{memory}; }
    template <class T> std::vector<T> read(size_t count) const {
        std::vector<T> out(count);
        if (count) cuda(cudaMemcpy(out.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
};

#ifdef SPARSEC_EMULATED
class Clock {
    std::chrono::steady_clock::time_point from;

  public:
    void start() { from = std::chrono::steady_clock::now(); }
    double stop() {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
    }
};
#else
class Clock {
    cudaEvent_t from, to;

  public:
    Clock() { cuda(cudaEventCreate(&from)), cuda(cudaEventCreate(&to)); }
    ~Clock() { cudaEventDestroy(from), cudaEventDestroy(to); }
    void start() { cuda(cudaEventRecord(from)); }
    double stop() { /* microseconds */
        float ms = 0;
        cuda(cudaEventRecord(to)), cuda(cudaEventSynchronize(to)), cuda(cudaEventElapsedTime(&ms, from, to));
        return 1000.0 * ms;
    }
};
#endif

struct Settings {
    int rounds = 21;
    int64_t most = 100000000;
    std::string json = "bench-gpu.json";
};

/* Something to be timed: it writes the operation's result, unless `apart` says that it writes
   something else, which is not checked. */
struct Candidate {
    std::string name;
    bool peer;
    std::function<void()> run;
    bool apart = false;
    /* The same on a stream, for what can be captured in a graph. */
    std::function<void(cudaStream_t)> on = {};
    std::vector<double> times = {};
    double median() const {
        std::vector<double> sorted = times;
        std::sort(sorted.begin(), sorted.end());
        return sorted[sorted.size() / 2];
    }
};

struct Result {
    std::string operation, input, fastest, peer;
    int64_t stored;
    double ours, best_peer, share;
};

/* Work of a stream, recorded once and run as a graph. */
class Graph {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;

  public:
    explicit Graph(const std::function<void(cudaStream_t)> &work) {
        cuda(cudaStreamCreate(&stream));
        cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        work(stream);
        cuda(cudaStreamEndCapture(stream, &graph));
        cuda(cudaGraphInstantiate(&executable, graph, 0));
    }
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
    ~Graph() {
        cudaGraphExecDestroy(executable);
        cudaGraphDestroy(graph);
        cudaStreamDestroy(stream);
    }
    void run() {
        cuda(cudaGraphLaunch(executable, stream));
        cuda(cudaStreamSynchronize(stream));
    }
};

class Bench {
    const Settings &settings;
    const size_t flush = 256u << 20;
    Room flushed;
    Clock clock;
    double bandwidth = 0; /* bytes a microsecond */

    double median_of_copies() {
        const size_t bytes = settings.most ? (size_t)1 << 30 : (size_t)1 << 24;
        Room from(bytes), to(bytes);
        cuda(cudaMemset(from.at(), 1, bytes));
        std::vector<double> times;
        for (int n = 0; n < 9; n++) {
            clock.start();
            cuda(cudaMemcpy(to.at(), from.at(), bytes, cudaMemcpyDeviceToDevice));
            times.push_back(clock.stop());
        }
        std::sort(times.begin(), times.end());
        return 2.0 * (double)bytes / times[times.size() / 2];
    }

  public:
    std::vector<Result> results;
    int wrong = 0, captured = 0;

    explicit Bench(const Settings &s) : settings(s), flushed(s.most ? flush : 1) {
        bandwidth = median_of_copies();
        printf("device copy: %.0f GB/s, read and written\n", bandwidth / 1000);
    }

    /* The emitted kernels of an operation. */
    std::vector<Candidate> emitted(const std::string &operation, const Operands &operands, std::vector<Room> &rooms) {
        std::vector<Candidate> all;
        for (const Kernel &kernel : kernels) {
            if (operation != kernel.operation) continue;
            rooms.emplace_back(kernel.room(operands));
            void *room = rooms.back().at();
            auto on = [&kernel, operands, room](cudaStream_t stream) {
                must(kernel.call(operands, room, stream) == 0, kernel.schedule);
            };
            all.push_back({kernel.schedule, false, [on] { on(nullptr); }, false, on});
        }
        return all;
    }

    /* Checks all candidates, then times them in turn. `bytes` must move at least. `wanted` is
       the result, and how far each element may be off; without it the first candidate's is. */
    template <class T>
    void measure(const std::string &operation, const std::string &input, int64_t stored, double bytes,
                 std::vector<Candidate> &all, const Room &result, size_t count, std::vector<double> wanted,
                 std::vector<double> sums) {
        const double unit = sizeof(T) == 4 ? 1e-5 : 1e-13;
        auto check = [&](const std::string &name, const std::function<void()> &run) {
            cuda(cudaMemset(result.at(), 0xff, count * sizeof(T)));
            run();
            cuda(cudaDeviceSynchronize());
            const std::vector<T> got = result.read<T>(count);
            if (wanted.empty()) {
                wanted.assign(got.begin(), got.end());
                for (double value : wanted) sums.push_back(std::fabs(value));
                return;
            }
            size_t bad = 0;
            for (size_t e = 0; e < count; e++)
                bad += !(std::fabs((double)got[e] - wanted[e]) <= unit * 64 * (sums[e] + 1e-30));
            if (bad) {
                printf("WRONG: %s %s on %s: %zu of %zu elements\n", operation.c_str(), name.c_str(),
                       input.c_str(), bad, count);
                wrong++;
            }
        };
        for (Candidate &candidate : all) {
            if (candidate.apart) continue;
            check(candidate.name, candidate.run);
            if (!candidate.on) continue;
            /* A graph runs again and again: twice shows that it clears what it adds to. */
            Graph graph(candidate.on);
            check(candidate.name + " as a graph", [&] { graph.run(); });
            check(candidate.name + " as a graph, again", [&] { graph.run(); });
            captured++;
        }
        for (int round = -3; round < settings.rounds; round++) {
            for (Candidate &candidate : all) {
                if (settings.most) cuda(cudaMemset(flushed.at(), round, flush));
                clock.start();
                candidate.run();
                const double time = clock.stop();
                if (round >= 0) candidate.times.push_back(time);
            }
        }
        Result r{operation, input, "", "", stored, 0, 0, 0};
        printf("| %s | %s | %lld |", operation.c_str(), input.c_str(), (long long)stored);
        for (const Candidate &candidate : all) {
            const double time = candidate.median();
            printf(" %s %.1f", candidate.name.c_str(), time);
            double &best = candidate.peer ? r.best_peer : r.ours;
            if (best == 0 || time < best) best = time, (candidate.peer ? r.peer : r.fastest) = candidate.name;
        }
        r.share = bytes / bandwidth / r.ours;
        if (r.best_peer > 0) printf(" | %.2f", r.best_peer / r.ours);
        else printf(" | -");
        printf(" | %.2f |\n", r.share);
        fflush(stdout);
        results.push_back(r);
    }
};

static std::vector<double> numbers(size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit(-1, 1);
    std::vector<double> out(count);
    for (double &x : out) x = unit(random);
    return out;
}

template <class T> static std::vector<T> as(const std::vector<double> &from) {
    return std::vector<T>(from.begin(), from.end());
}

/* More products than this are not checked by the host, but against a peer. */
static const double MOST_PRODUCTS = 4e8;

#ifdef HAVE_PEERS
static void sparse(cusparseStatus_t status) { must(status == CUSPARSE_STATUS_SUCCESS, cusparseGetErrorString(status)); }

/* Handles of cuSPARSE's, kept as long as the candidates that use them. */
struct Peers {
    cusparseHandle_t handle;
    std::vector<Room> rooms;
    std::vector<cusparseSpMatDescr_t> matrices;
    std::vector<cusparseDnMatDescr_t> dense;
    std::vector<cusparseDnVecDescr_t> vectors;
    Peers() { sparse(cusparseCreate(&handle)); }
    ~Peers() {
        for (auto d : matrices) cusparseDestroySpMat(d);
        for (auto d : dense) cusparseDestroyDnMat(d);
        for (auto d : vectors) cusparseDestroyDnVec(d);
        cusparseDestroy(handle);
    }
    cusparseSpMatDescr_t csr(const Matrix &m, const Operands &o, void *vals, cudaDataType type) {
        cusparseSpMatDescr_t d;
        sparse(cusparseCreateCsr(&d, m.rows, m.columns, m.stored(), o.A2_pos.at, o.A2_crd.at, vals,
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
        matrices.push_back(d);
        return d;
    }
    cusparseDnMatDescr_t rows(int64_t rows, int64_t columns, const Address &at, cudaDataType type) {
        cusparseDnMatDescr_t d;
        sparse(cusparseCreateDnMat(&d, rows, columns, columns, at.at, type, CUSPARSE_ORDER_ROW));
        dense.push_back(d);
        return d;
    }
    cusparseDnVecDescr_t vector(int64_t count, const Address &at) {
        cusparseDnVecDescr_t d;
        sparse(cusparseCreateDnVec(&d, count, at.at, CUDA_R_64F));
        vectors.push_back(d);
        return d;
    }
    void *room(size_t bytes) {
        rooms.emplace_back(bytes);
        return rooms.back().at();
    }
};
template <class T> static const T zero = 0;
template <class T> static const T one = 1;
static const cusparseOperation_t AS_IS = CUSPARSE_OPERATION_NON_TRANSPOSE, FLIPPED = CUSPARSE_OPERATION_TRANSPOSE;
#endif

/* Operands of an operation on a sparse matrix. */
struct Stored {
    Room pos, crd, vals;
    Operands operands;
    template <class T> static Stored of(const Matrix &m) {
        Stored s{Room(m.pos), Room(m.crd), Room(as<T>(m.vals)), {}};
        s.operands.M = m.rows, s.operands.N = m.columns, s.operands.A2_count = m.stored();
        s.operands.A2_pos = s.pos.address(), s.operands.A2_crd = s.crd.address(), s.operands.A_vals = s.vals.address();
        return s;
    }
};

static void spmv(Bench &bench, const Matrix &m) {
    Stored a = Stored::of<double>(m);
    const std::vector<double> x = numbers((size_t)m.columns, 1);
    Room on_x(x), on_y((size_t)m.rows * 8);
    a.operands.x_vals = on_x.address(), a.operands.y_vals = on_y.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted("spmv", a.operands, rooms);
#ifdef HAVE_PEERS
    Peers peers;
    auto d = peers.csr(m, a.operands, a.vals.at(), CUDA_R_64F);
    auto in = peers.vector(m.columns, a.operands.x_vals), out = peers.vector(m.rows, a.operands.y_vals);
    const std::pair<const char *, cusparseSpMVAlg_t> algorithms[] = {
        {"cusparse_default", CUSPARSE_SPMV_ALG_DEFAULT}, {"cusparse_csr1", CUSPARSE_SPMV_CSR_ALG1}, {"cusparse_csr2", CUSPARSE_SPMV_CSR_ALG2}};
    for (auto &algorithm : algorithms) {
        auto alg = algorithm.second;
        size_t bytes = 0;
        sparse(cusparseSpMV_bufferSize(peers.handle, AS_IS, &one<double>, d, in, &zero<double>, out, CUDA_R_64F, alg, &bytes));
        void *room = peers.room(bytes);
        sparse(cusparseSpMV_preprocess(peers.handle, AS_IS, &one<double>, d, in, &zero<double>, out, CUDA_R_64F, alg, room));
        auto handle = peers.handle;
        all.push_back({algorithm.first, true, [=] {
                           sparse(cusparseSpMV(handle, AS_IS, &one<double>, d, in, &zero<double>, out, CUDA_R_64F, alg, room));
                       }});
    }
#endif
    std::vector<double> y((size_t)m.rows), sums((size_t)m.rows);
    for (size_t i = 0; i < y.size(); i++)
        for (int32_t p = m.pos[i]; p < m.pos[i + 1]; p++) {
            const double product = m.vals[(size_t)p] * x[(size_t)m.crd[(size_t)p]];
            y[i] += product, sums[i] += std::fabs(product);
        }
    const double bytes = 12.0 * (double)m.stored() + 12.0 * (double)m.rows + 8.0 * (double)m.columns;
    bench.measure<double>("spmv", m.name, m.stored(), bytes, all, on_y, y.size(), y, sums);
}

template <class T> static void spmm(Bench &bench, const Matrix &m, int64_t columns) {
    const std::string operation = "spmm_" + std::to_string(columns);
    const double dense = (double)sizeof(T) * (double)columns;
    if ((double)(m.rows + m.columns) * dense > 40e9) return;
    Stored a = Stored::of<T>(m);
    const std::vector<double> b = numbers((size_t)(m.columns * columns), 1);
    const size_t count = (size_t)(m.rows * columns);
    Room on_b(as<T>(b)), on_c(count * sizeof(T));
    a.operands.B_vals = on_b.address(), a.operands.C_vals = on_c.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted(operation, a.operands, rooms);
#ifdef HAVE_PEERS
    const cudaDataType type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
    Peers peers;
    auto d = peers.csr(m, a.operands, a.vals.at(), type);
    auto in = peers.rows(m.columns, columns, a.operands.B_vals, type), out = peers.rows(m.rows, columns, a.operands.C_vals, type);
    const std::pair<const char *, cusparseSpMMAlg_t> algorithms[] = {
        {"cusparse_default", CUSPARSE_SPMM_ALG_DEFAULT}, {"cusparse_csr2", CUSPARSE_SPMM_CSR_ALG2}, {"cusparse_csr3", CUSPARSE_SPMM_CSR_ALG3}};
    for (auto &algorithm : algorithms) {
        auto alg = algorithm.second;
        size_t bytes = 0;
        if (cusparseSpMM_bufferSize(peers.handle, AS_IS, AS_IS, &one<T>, d, in, &zero<T>, out, type, alg, &bytes) != CUSPARSE_STATUS_SUCCESS) continue;
        void *room = peers.room(bytes);
        if (cusparseSpMM_preprocess(peers.handle, AS_IS, AS_IS, &one<T>, d, in, &zero<T>, out, type, alg, room) != CUSPARSE_STATUS_SUCCESS) continue;
        auto handle = peers.handle;
        all.push_back({algorithm.first, true, [=] {
                           sparse(cusparseSpMM(handle, AS_IS, AS_IS, &one<T>, d, in, &zero<T>, out, type, alg, room));
                       }});
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate &x, const Candidate &y) { return x.peer > y.peer; });
#endif
    std::vector<double> c, sums;
    if ((double)m.stored() * (double)columns <= MOST_PRODUCTS) {
        c.resize(count), sums.resize(count);
        for (size_t i = 0; i < (size_t)m.rows; i++)
            for (int32_t p = m.pos[i]; p < m.pos[i + 1]; p++)
                for (size_t k = 0; k < (size_t)columns; k++) {
                    const double product = m.vals[(size_t)p] * (double)(T)b[(size_t)m.crd[(size_t)p] * (size_t)columns + k];
                    c[i * (size_t)columns + k] += product, sums[i * (size_t)columns + k] += std::fabs(product);
                }
    }
    const double bytes = (4.0 + sizeof(T)) * (double)m.stored() + 4.0 * (double)m.rows + dense * (double)(m.rows + m.columns);
    bench.measure<T>(operation, m.name, m.stored(), bytes, all, on_c, count, c, sums);
}

static void sddmm(Bench &bench, const Matrix &m, int64_t k) {
    if ((double)(m.rows + m.columns) * 8.0 * (double)k > 40e9) return;
    Stored a = Stored::of<double>(m);
    const std::vector<double> b = numbers((size_t)(m.rows * k), 1), d = numbers((size_t)(m.columns * k), 2);
    Room on_b(b), on_d(d), on_c((size_t)m.stored() * 8);
    Room pos(m.pos.size() * 4), crd(m.crd.size() * 4);
    a.operands.K = k;
    a.operands.C2_pos = pos.address(), a.operands.C2_crd = crd.address();
    a.operands.B_vals = on_b.address(), a.operands.D_vals = on_d.address(), a.operands.C_vals = on_c.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted("sddmm", a.operands, rooms);
    const double bytes = 20.0 * (double)m.stored() + 4.0 * (double)m.rows + 8.0 * (double)k * (double)(m.rows + m.columns);
    std::vector<double> c, sums;
    if ((double)m.stored() * (double)k <= MOST_PRODUCTS)
        for (size_t i = 0; i < (size_t)m.rows; i++)
            for (int32_t p = m.pos[i]; p < m.pos[i + 1]; p++) {
                double sum = 0, size = 0;
                for (size_t n = 0; n < (size_t)k; n++) {
                    const double product = b[i * (size_t)k + n] * d[(size_t)m.crd[(size_t)p] * (size_t)k + n];
                    sum += product, size += std::fabs(product);
                }
                c.push_back(m.vals[(size_t)p] * sum), sums.push_back(std::fabs(m.vals[(size_t)p]) * size);
            }
#ifdef HAVE_PEERS
    // cuSPARSE does not multiply by the matrix: it has less to do, and another result.
    Peers peers;
    Room other((size_t)m.stored() * 8);
    auto out = peers.csr(m, a.operands, other.at(), CUDA_R_64F);
    auto left = peers.rows(m.rows, k, a.operands.B_vals, CUDA_R_64F), right = peers.rows(m.columns, k, a.operands.D_vals, CUDA_R_64F);
    size_t room_bytes = 0;
    sparse(cusparseSDDMM_bufferSize(peers.handle, AS_IS, FLIPPED, &one<double>, left, right, &zero<double>, out, CUDA_R_64F, CUSPARSE_SDDMM_ALG_DEFAULT, &room_bytes));
    void *room = peers.room(room_bytes);
    sparse(cusparseSDDMM_preprocess(peers.handle, AS_IS, FLIPPED, &one<double>, left, right, &zero<double>, out, CUDA_R_64F, CUSPARSE_SDDMM_ALG_DEFAULT, room));
    auto handle = peers.handle;
    all.push_back({"cusparse", true, [=] {
                       sparse(cusparseSDDMM(handle, AS_IS, FLIPPED, &one<double>, left, right, &zero<double>, out, CUDA_R_64F, CUSPARSE_SDDMM_ALG_DEFAULT, room));
                   }, true});
#endif
    bench.measure<double>("sddmm_" + std::to_string(k), m.name, m.stored(), bytes, all, on_c, (size_t)m.stored(), c, sums);
}

static void mttkrp(Bench &bench, const Tensor &t) {
    const size_t rank = 32, stored = t.vals.size();
    Room pos[3] = {Room(t.pos[0]), Room(t.pos[1]), Room(t.pos[2])};
    Room crd[3] = {Room(t.crd[0]), Room(t.crd[1]), Room(t.crd[2])};
    Room vals(t.vals);
    const std::vector<double> c = numbers((size_t)t.dims[1] * rank, 1), d = numbers((size_t)t.dims[2] * rank, 2);
    const size_t count = (size_t)t.dims[0] * rank;
    Room on_c(c), on_d(d), on_a(count * 8);
    Operands o;
    o.I = t.dims[0], o.K = t.dims[1], o.L = t.dims[2];
    o.B1_count = (int64_t)t.crd[0].size(), o.B2_count = (int64_t)t.crd[1].size(), o.B3_count = (int64_t)stored;
    o.B1_pos = pos[0].address(), o.B2_pos = pos[1].address(), o.B3_pos = pos[2].address();
    o.B1_crd = crd[0].address(), o.B2_crd = crd[1].address(), o.B3_crd = crd[2].address();
    o.B_vals = vals.address(), o.C_vals = on_c.address(), o.D_vals = on_d.address(), o.A_vals = on_a.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted("mttkrp", o, rooms);
    std::vector<double> a(count), sums(count);
    for (size_t p = 0; p < t.crd[0].size(); p++)
        for (int32_t q = t.pos[1][p]; q < t.pos[1][p + 1]; q++)
            for (int32_t r = t.pos[2][(size_t)q]; r < t.pos[2][(size_t)q + 1]; r++)
                for (size_t j = 0; j < rank; j++) {
                    const double product = t.vals[(size_t)r] * c[(size_t)t.crd[1][(size_t)q] * rank + j] * d[(size_t)t.crd[2][(size_t)r] * rank + j];
                    a[(size_t)t.crd[0][p] * rank + j] += product, sums[(size_t)t.crd[0][p] * rank + j] += std::fabs(product);
                }
    const double dense = 8.0 * (double)rank * (double)(t.dims[0] + t.dims[1] + t.dims[2]);
    const double bytes = 12.0 * (double)stored + 8.0 * (double)(t.crd[0].size() + t.crd[1].size()) + dense;
    bench.measure<double>("mttkrp", t.name, (int64_t)stored, bytes, all, on_a, count, a, sums);
}

static void tmm(Bench &bench, int64_t n) {
    const std::vector<float> a = as<float>(numbers((size_t)(n * n), 1)), b = as<float>(numbers((size_t)(n * n), 2));
    Room on_a(a), on_b(b), on_c((size_t)(n * n) * 4);
    Operands o;
    o.M = o.N = o.K = n;
    o.A_vals = on_a.address(), o.B_vals = on_b.address(), o.C_vals = on_c.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted("tmm", o, rooms);
#ifdef HAVE_PEERS
    cublasHandle_t handle;
    must(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cuBLAS");
    const float *left = on_a.address(), *right = on_b.address();
    float *out = on_c.address();
    all.insert(all.begin(), {"cublas", true, [=] { /* columns first there: C' = B A' */
                   must(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)n, (int)n, &one<float>, right, (int)n, left, (int)n, &zero<float>, out, (int)n) == CUBLAS_STATUS_SUCCESS, "cublasSgemm");
               }});
#endif
    std::vector<double> c, sums;
    if ((double)n * (double)n * (double)n <= MOST_PRODUCTS)
        for (size_t i = 0; i < (size_t)n; i++)
            for (size_t j = 0; j < (size_t)n; j++) {
                double sum = 0, size = 0;
                for (size_t k = 0; k < (size_t)n; k++) {
                    const double product = (double)a[i * (size_t)n + k] * (double)b[j * (size_t)n + k];
                    sum += product, size += std::fabs(product);
                }
                c.push_back(sum), sums.push_back(size);
            }
    bench.measure<float>("tmm", std::to_string(n), n * n, 12.0 * (double)n * (double)n, all, on_c, (size_t)(n * n), c, sums);
#ifdef HAVE_PEERS
    cublasDestroy(handle);
#endif
}

static void write_json(const Bench &bench, const std::string &path) {
    FILE *out = fopen(path.c_str(), "w");
    must(out, "cannot write " + path);
    fprintf(out, "[");
    for (size_t n = 0; n < bench.results.size(); n++) {
        const Result &r = bench.results[n];
        fprintf(out,
                "%s\n  {\"operation\": \"%s\", \"input\": \"%s\", \"stored\": %lld, \"schedule\": \"%s\", \"us\": %.2f, "
                "\"peer\": \"%s\", \"peer_us\": %.2f, \"share_of_copy_bandwidth\": %.3f}",
                n ? "," : "", r.operation.c_str(), r.input.c_str(), (long long)r.stored, r.fastest.c_str(), r.ours,
                r.peer.c_str(), r.best_peer, r.share);
    }
    fprintf(out, "\n]\n");
    fclose(out);
}

/* Geometric means of best peer / sparsec over inputs of at least a million elements. */
static void means(const Bench &bench) {
    std::vector<std::string> done;
    for (const Result &first : bench.results) {
        if (std::find(done.begin(), done.end(), first.operation) != done.end()) continue;
        done.push_back(first.operation);
        double sum = 0, share = 0;
        int count = 0, large = 0;
        for (const Result &r : bench.results) {
            if (r.operation != first.operation || r.stored < 1000000) continue;
            large++, share += std::log(r.share);
            if (r.best_peer > 0) count++, sum += std::log(r.best_peer / r.ours);
        }
        if (!large) continue;
        printf("| %s | geometric mean of %d | |", first.operation.c_str(), large);
        if (count) printf(" | %.2f |", std::exp(sum / count));
        else printf(" | - |");
        printf(" %.2f |\n", std::exp(share / large));
    }
}

static void on_matrix(Bench &bench, const Matrix &m) {
    spmv(bench, m);
    spmm<float>(bench, m, 4);
    spmm<double>(bench, m, 32);
    spmm<double>(bench, m, 128);
    sddmm(bench, m, 32);
    sddmm(bench, m, 128);
}

int main(int argc, char **argv) try {
    Settings settings;
    std::vector<std::string> files;
    for (int n = 1; n < argc; n++) {
        const std::string word = argv[n];
        if (word == "--json" && n + 1 < argc) settings.json = argv[++n];
        else if (word == "--rounds" && n + 1 < argc) settings.rounds = atoi(argv[++n]);
        else if (word == "--most" && n + 1 < argc) settings.most = atoll(argv[++n]);
        else files.push_back(word);
    }
    Bench bench(settings);
    printf("\n| operation | input | stored | microseconds, medians of %d rounds | best peer / sparsec | bytes / copy bandwidth / sparsec |\n"
           "|---|---|---:|---|---:|---:|\n", settings.rounds);
    for (const std::string &file : files) {
        if (file.find(".tns") != std::string::npos) mttkrp(bench, read_tensor(file));
        else on_matrix(bench, read_matrix(file));
    }
    if (settings.most == 0) for (const Matrix &m : generated(2000)) on_matrix(bench, m);
    for (int64_t stored = 1000000; stored <= settings.most; stored *= 10)
        for (const Matrix &m : generated(stored)) on_matrix(bench, m);
    if (settings.most == 0) tmm(bench, 70);
    for (int64_t n = 512; n <= 4096 && settings.most; n *= 2) tmm(bench, n);
    means(bench);
    write_json(bench, settings.json);
    if (bench.wrong) printf("some results are WRONG\n");
    else printf("all results checked, %d of sparsec's also as graphs\n", bench.captured);
    return bench.wrong ? 1 : 0;
} catch (const std::exception &error) {
    fprintf(stderr, "bench-gpu: %s\n", error.what());
    return 4;
}
