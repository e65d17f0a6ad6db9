// Checks candidates against what the host computes, times them in turn, and tells what came out
// as soon as it is known.
#pragma once
#include "glue.h"
#include "inputs.hpp"
#include "memory.hpp"
#include <atomic>

struct Settings {
    int rounds = 21;
    int64_t most = 100000000;
    /* No further input is begun after so long. */
    double minutes = 1e9;
    bool peers = true;
    std::string json = "bench-gpu.jsonl";
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

/* What the host computes: a sum of products, and the sum of their sizes, which says how far a
   result may be off. */
struct Sum {
    double value = 0, size = 0;
    void add(double product) { value += product, size += std::fabs(product); }
};

/* Elements of a result as the host computes them: all of them, or every few where that would be
   more products than it has time for. */
class Wanted {
    size_t step;
    std::vector<Sum> sums;

  public:
    Wanted(size_t count, double products, const std::function<Sum(size_t)> &element)
        : step(1 + (size_t)(products / (4e8 * (double)threads()))) {
        if (step > 1) step |= 1; /* no multiple of a row's length */
        sums.resize((count + step - 1) / step);
        in_parallel((int64_t)sums.size(), [&](int64_t from, int64_t to) {
            for (size_t n = (size_t)from; n < (size_t)to; n++) sums[n] = element(n * step);
        });
    }
    /* How many of the elements looked at are wrong. */
    template <class T> size_t wrong(const std::vector<T> &got) const {
        const double unit = sizeof(T) == 4 ? 1e-5 : 1e-13;
        std::atomic<size_t> bad{0};
        in_parallel((int64_t)sums.size(), [&](int64_t from, int64_t to) {
            size_t here = 0;
            for (size_t n = (size_t)from; n < (size_t)to; n++)
                here += !(std::fabs((double)got[n * step] - sums[n].value) <= unit * 64 * (sums[n].size + 1e-30));
            bad += here;
        });
        return bad;
    }
    size_t looked_at() const { return sums.size(); }
};

class Bench {
    const Settings &settings;
    const size_t flush = 256u << 20;
    Room flushed;
    Clock clock;
    FILE *json;
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
    void tell(const Result &r, double bytes, const std::vector<Candidate> &all) {
        printf("| %s | %s | %lld |", r.operation.c_str(), r.input.c_str(), (long long)r.stored);
        for (const Candidate &candidate : all) printf(" %s %.1f", candidate.name.c_str(), candidate.median());
        if (r.best_peer > 0) printf(" | %.2f", r.best_peer / r.ours);
        else printf(" | -");
        printf(" | %.2f |\n", r.share);
        fflush(stdout);
        fprintf(json, "{\"operation\": \"%s\", \"input\": \"%s\", \"stored\": %lld, \"bytes\": %.0f, \"copy_gbs\": %.0f, \"us\": {",
                r.operation.c_str(), r.input.c_str(), (long long)r.stored, bytes, bandwidth / 1000);
        for (size_t n = 0; n < all.size(); n++) fprintf(json, "%s\"%s\": %.2f", n ? ", " : "", all[n].name.c_str(), all[n].median());
        fprintf(json, "}}\n");
        fflush(json);
    }

  public:
    std::vector<Result> results;
    int wrong = 0, captured = 0;

    explicit Bench(const Settings &s) : settings(s), flushed(s.most ? flush : 1), json(fopen(s.json.c_str(), "w")) {
        must(json, "cannot write " + s.json);
        bandwidth = median_of_copies();
        printf("device copy: %.0f GB/s, read and written\n", bandwidth / 1000);
    }
    Bench(const Bench &) = delete;
    Bench &operator=(const Bench &) = delete;
    ~Bench() { fclose(json); }

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

    /* Checks all candidates, then times them in turn. `bytes` must move at least. */
    template <class T>
    void measure(const std::string &operation, const std::string &input, int64_t stored, double bytes,
                 std::vector<Candidate> &all, const Room &result, size_t count, const Wanted &wanted) {
        std::vector<T> got;
        auto check = [&](const std::string &name, const std::function<void()> &run) {
            cuda(cudaMemset(result.at(), 0xff, count * sizeof(T)));
            run();
            cuda(cudaDeviceSynchronize());
            result.read(got, count);
            if (const size_t bad = wanted.wrong(got)) {
                printf("WRONG: %s %s on %s: %zu of %zu elements\n", operation.c_str(), name.c_str(),
                       input.c_str(), bad, wanted.looked_at());
                fflush(stdout);
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
        for (const Candidate &candidate : all) {
            const double time = candidate.median();
            double &best = candidate.peer ? r.best_peer : r.ours;
            if (best == 0 || time < best) best = time, (candidate.peer ? r.peer : r.fastest) = candidate.name;
        }
        r.share = bytes / bandwidth / r.ours;
        tell(r, bytes, all);
        results.push_back(r);
    }

    /* Geometric means of best peer / sparsec over inputs of at least a million elements. */
    void means() const {
        std::vector<std::string> done;
        for (const Result &first : results) {
            if (std::find(done.begin(), done.end(), first.operation) != done.end()) continue;
            done.push_back(first.operation);
            double sum = 0, share = 0;
            int count = 0, large = 0;
            for (const Result &r : results) {
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
};
