// scripts/bench-gpu's program: checks emitted kernels and times them against cuSPARSE and
// cuBLAS, with the caches flushed before each run. Arguments: --json FILE, --rounds N, --most N
// (elements of generated matrices, 0 for small ones), --minutes N, --without-peers, then files.
#include "measure.hpp"
#include "peers.hpp"
#include <chrono>
#include <memory>

/* Operands of an operation on a sparse matrix. */
struct Stored {
    Room pos, crd, vals;
    Operands operands;
    template <class T> static Stored of(const Matrix &m) {
        Stored s{Room(m.pos), Room(m.crd), Room(std::vector<T>(m.vals.begin(), m.vals.end())), {}};
        s.operands.M = m.rows, s.operands.N = m.columns, s.operands.A2_count = m.stored();
        s.operands.A2_pos = s.pos.address(), s.operands.A2_crd = s.crd.address(), s.operands.A_vals = s.vals.address();
        return s;
    }
};

/* Runs cuSPARSE's algorithm if it takes these operands: a buffer, a preparation, a call. */
template <class Size, class Prepare, class Call>
static void add_peer(std::vector<Candidate> &all, Described &described, const char *name, Size size, Prepare prepare, Call call, bool apart = false) {
    size_t bytes = 0;
    if (size(&bytes) != 0) return;
    void *room = described.room(bytes);
    if (prepare(room) != 0) return;
    all.push_back({name, true, [=] { peer(call(room), name); }, apart});
}

static void spmv(Bench &bench, const Peers *peers, const Matrix &m) {
    Stored a = Stored::of<double>(m);
    const std::vector<double> x = numbers((size_t)m.columns, 1);
    Room on_x(x), on_y((size_t)m.rows * 8);
    a.operands.x_vals = on_x.address(), a.operands.y_vals = on_y.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted("spmv", a.operands, rooms);
    std::unique_ptr<Described> described;
    if (peers) {
        const CuSparse *s = &peers->sparse;
        described.reset(new Described(*s));
        void *d = described->csr(m, a.pos.at(), a.crd.at(), a.vals.at(), REAL_64);
        void *in = described->vector(m.columns, on_x.at()), *out = described->vector(m.rows, on_y.at());
        for (const Algorithm &algorithm : SPMV_ALGORITHMS) {
            const int alg = algorithm.number;
            add_peer(all, *described, algorithm.name,
                     [=](size_t *bytes) { return s->SpMV_bufferSize(s->handle, AS_IS, &one<double>, d, in, &zero<double>, out, REAL_64, alg, bytes); },
                     [=](void *room) { return s->SpMV_preprocess(s->handle, AS_IS, &one<double>, d, in, &zero<double>, out, REAL_64, alg, room); },
                     [=](void *room) { return s->SpMV(s->handle, AS_IS, &one<double>, d, in, &zero<double>, out, REAL_64, alg, room); });
        }
    }
    const Wanted y((size_t)m.rows, (double)m.stored(), [&](size_t i) {
        Sum sum;
        for (size_t p = (size_t)m.pos[i]; p < (size_t)m.pos[i + 1]; p++) sum.add(m.vals[p] * x[(size_t)m.crd[p]]);
        return sum;
    });
    const double bytes = 12.0 * (double)m.stored() + 12.0 * (double)m.rows + 8.0 * (double)m.columns;
    bench.measure<double>("spmv", m.name, m.stored(), bytes, all, on_y, (size_t)m.rows, y);
}

template <class T> static void spmm(Bench &bench, const Peers *peers, const Matrix &m, int64_t columns) {
    const std::string operation = "spmm_" + std::to_string(columns);
    const double dense = (double)sizeof(T) * (double)columns;
    if ((double)(m.rows + m.columns) * dense > 40e9) return;
    Stored a = Stored::of<T>(m);
    const size_t width = (size_t)columns, count = (size_t)m.rows * width;
    const std::vector<T> b = numbers<T>((size_t)m.columns * width, 1);
    Room on_b(b), on_c(count * sizeof(T));
    a.operands.B_vals = on_b.address(), a.operands.C_vals = on_c.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted(operation, a.operands, rooms);
    std::unique_ptr<Described> described;
    if (peers) {
        const int type = sizeof(T) == 4 ? REAL_32 : REAL_64;
        const CuSparse *s = &peers->sparse;
        described.reset(new Described(*s));
        void *d = described->csr(m, a.pos.at(), a.crd.at(), a.vals.at(), type);
        void *in = described->matrix(m.columns, columns, on_b.at(), type), *out = described->matrix(m.rows, columns, on_c.at(), type);
        for (const Algorithm &algorithm : SPMM_ALGORITHMS) {
            const int alg = algorithm.number;
            add_peer(all, *described, algorithm.name,
                     [=](size_t *bytes) { return s->SpMM_bufferSize(s->handle, AS_IS, AS_IS, &one<T>, d, in, &zero<T>, out, type, alg, bytes); },
                     [=](void *room) { return s->SpMM_preprocess(s->handle, AS_IS, AS_IS, &one<T>, d, in, &zero<T>, out, type, alg, room); },
                     [=](void *room) { return s->SpMM(s->handle, AS_IS, AS_IS, &one<T>, d, in, &zero<T>, out, type, alg, room); });
        }
    }
    const Wanted c(count, (double)m.stored() * (double)columns, [&](size_t e) {
        const size_t i = e / width, k = e % width;
        Sum sum;
        for (size_t p = (size_t)m.pos[i]; p < (size_t)m.pos[i + 1]; p++)
            sum.add(m.vals[p] * (double)b[(size_t)m.crd[p] * width + k]);
        return sum;
    });
    const double bytes = (4.0 + sizeof(T)) * (double)m.stored() + 4.0 * (double)m.rows + dense * (double)(m.rows + m.columns);
    bench.measure<T>(operation, m.name, m.stored(), bytes, all, on_c, count, c);
}

static void sddmm(Bench &bench, const Peers *peers, const Matrix &m, int64_t k) {
    if ((double)(m.rows + m.columns) * 8.0 * (double)k > 40e9) return;
    Stored a = Stored::of<double>(m);
    const size_t width = (size_t)k;
    const std::vector<double> b = numbers((size_t)m.rows * width, 1), d = numbers((size_t)m.columns * width, 2);
    Room on_b(b), on_d(d), on_c((size_t)m.stored() * 8);
    Room pos(m.pos.size() * 4), crd(m.crd.size() * 4);
    a.operands.K = k;
    a.operands.C2_pos = pos.address(), a.operands.C2_crd = crd.address();
    a.operands.B_vals = on_b.address(), a.operands.D_vals = on_d.address(), a.operands.C_vals = on_c.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted("sddmm", a.operands, rooms);
    const double bytes = 20.0 * (double)m.stored() + 4.0 * (double)m.rows + 8.0 * (double)k * (double)(m.rows + m.columns);
    const Wanted c((size_t)m.stored(), (double)m.stored() * (double)k, [&](size_t p) {
        const size_t i = (size_t)(std::upper_bound(m.pos.begin(), m.pos.end(), (int32_t)p) - m.pos.begin()) - 1;
        Sum sum;
        for (size_t n = 0; n < width; n++)
            sum.add(m.vals[p] * b[i * width + n] * d[(size_t)m.crd[p] * width + n]);
        return sum;
    });
    // cuSPARSE does not multiply by the matrix: it has less to do, and another result.
    std::unique_ptr<Described> described;
    Room other((size_t)m.stored() * 8);
    if (peers) {
        const CuSparse *s = &peers->sparse;
        described.reset(new Described(*s));
        void *out = described->csr(m, a.pos.at(), a.crd.at(), other.at(), REAL_64);
        void *left = described->matrix(m.rows, k, on_b.at(), REAL_64), *right = described->matrix(m.columns, k, on_d.at(), REAL_64);
        add_peer(all, *described, "cusparse",
                 [=](size_t *room) { return s->SDDMM_bufferSize(s->handle, AS_IS, FLIPPED, &one<double>, left, right, &zero<double>, out, REAL_64, 0, room); },
                 [=](void *room) { return s->SDDMM_preprocess(s->handle, AS_IS, FLIPPED, &one<double>, left, right, &zero<double>, out, REAL_64, 0, room); },
                 [=](void *room) { return s->SDDMM(s->handle, AS_IS, FLIPPED, &one<double>, left, right, &zero<double>, out, REAL_64, 0, room); }, true);
    }
    bench.measure<double>("sddmm_" + std::to_string(k), m.name, m.stored(), bytes, all, on_c, (size_t)m.stored(), c);
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
    const Wanted a(count, (double)stored * (double)rank, [&](size_t e) {
        const size_t j = e % rank;
        const auto slice = std::lower_bound(t.crd[0].begin(), t.crd[0].end(), (int32_t)(e / rank));
        Sum sum;
        if (slice == t.crd[0].end() || (size_t)*slice != e / rank) return sum;
        const size_t p = (size_t)(slice - t.crd[0].begin());
        for (size_t q = (size_t)t.pos[1][p]; q < (size_t)t.pos[1][p + 1]; q++)
            for (size_t r = (size_t)t.pos[2][q]; r < (size_t)t.pos[2][q + 1]; r++)
                sum.add(t.vals[r] * c[(size_t)t.crd[1][q] * rank + j] * d[(size_t)t.crd[2][r] * rank + j]);
        return sum;
    });
    const double dense = 8.0 * (double)rank * (double)(t.dims[0] + t.dims[1] + t.dims[2]);
    const double bytes = 12.0 * (double)stored + 8.0 * (double)(t.crd[0].size() + t.crd[1].size()) + dense;
    bench.measure<double>("mttkrp", t.name, (int64_t)stored, bytes, all, on_a, count, a);
}

static void tmm(Bench &bench, const Peers *peers, int64_t n) {
    const size_t side = (size_t)n;
    const std::vector<float> a = numbers<float>(side * side, 1), b = numbers<float>(side * side, 2);
    Room on_a(a), on_b(b), on_c(side * side * 4);
    Operands o;
    o.M = o.N = o.K = n;
    o.A_vals = on_a.address(), o.B_vals = on_b.address(), o.C_vals = on_c.address();
    std::vector<Room> rooms;
    std::vector<Candidate> all = bench.emitted("tmm", o, rooms);
    if (peers) {
        const float *left = on_a.address(), *right = on_b.address();
        float *out = on_c.address();
        const CuBlas *blas = &peers->blas;
        all.insert(all.begin(), {"cublas", true, [=] { /* columns first there: C' = B A' */
                       peer(blas->Sgemm(blas->handle, FLIPPED, AS_IS, (int)n, (int)n, (int)n, &one<float>, right, (int)n, left, (int)n, &zero<float>, out, (int)n), "cublasSgemm");
                   }});
    }
    const Wanted c(side * side, (double)n * (double)n * (double)n, [&](size_t e) {
        Sum sum;
        for (size_t k = 0; k < side; k++) sum.add((double)a[e / side * side + k] * (double)b[e % side * side + k]);
        return sum;
    });
    bench.measure<float>("tmm", std::to_string(n), n * n, 12.0 * (double)n * (double)n, all, on_c, side * side, c);
}

static void on_matrix(Bench &bench, const Peers *peers, const Matrix &m) {
    spmv(bench, peers, m);
    spmm<float>(bench, peers, m, 4);
    spmm<double>(bench, peers, m, 32);
    spmm<double>(bench, peers, m, 128);
    sddmm(bench, peers, m, 32);
    sddmm(bench, peers, m, 128);
}

int main(int argc, char **argv) try {
    Settings settings;
    std::vector<std::string> files;
    for (int n = 1; n < argc; n++) {
        const std::string word = argv[n];
        if (word == "--json" && n + 1 < argc) settings.json = argv[++n];
        else if (word == "--rounds" && n + 1 < argc) settings.rounds = atoi(argv[++n]);
        else if (word == "--most" && n + 1 < argc) settings.most = atoll(argv[++n]);
        else if (word == "--minutes" && n + 1 < argc) settings.minutes = atof(argv[++n]);
        else if (word == "--without-peers") settings.peers = false;
        else files.push_back(word);
    }
    std::unique_ptr<Peers> library(settings.peers ? new Peers : nullptr);
    const Peers *peers = library.get();
    Bench bench(settings);
    printf("\n| operation | input | stored | microseconds, medians of %d rounds | best peer / sparsec | bytes / copy bandwidth / sparsec |\n"
           "|---|---|---:|---|---:|---:|\n", settings.rounds);
    const auto begun = std::chrono::steady_clock::now();
    auto late = [&] {
        const double minutes = std::chrono::duration<double, std::ratio<60>>(std::chrono::steady_clock::now() - begun).count();
        return minutes >= settings.minutes;
    };
    auto on_generated = [&](int64_t stored) {
        for (int which = 0; which < GENERATED && !late(); which++) on_matrix(bench, peers, generated(stored, which));
        if (!late()) mttkrp(bench, generated_tensor(stored));
    };
    // What tells most comes first: matrices that no cache holds, as far as time allows.
    const int64_t telling = std::min<int64_t>(settings.most, 10000000);
    on_generated(settings.most ? telling : 2000);
    if (settings.most == 0) tmm(bench, peers, 70);
    for (int64_t n = 4096; n >= 512 && settings.most && !late(); n /= 2) tmm(bench, peers, n);
    for (const std::string &file : files) {
        if (late()) break;
        if (file.find(".tns") != std::string::npos) mttkrp(bench, read_tensor(file));
        else on_matrix(bench, peers, read_matrix(file));
    }
    for (int64_t stored = 1000000; stored <= settings.most && !late(); stored *= 10)
        if (stored != telling) on_generated(stored);
    bench.means();
    if (late()) printf("stopped after %.1f minutes: not all inputs were measured\n", settings.minutes);
    if (bench.wrong) printf("some results are WRONG\n");
    else printf("all results checked, %d of sparsec's also as graphs\n", bench.captured);
    return bench.wrong ? 1 : 0;
} catch (const std::exception &error) {
    fprintf(stderr, "bench-gpu: %s\n", error.what());
    return 4;
}
