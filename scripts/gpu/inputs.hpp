// Matrices and tensors for scripts/bench-gpu: read from files, or generated.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int threads() { return std::max(1, (int)std::thread::hardware_concurrency()); }

/* Calls work(from, to) for pieces of 0:count on all cores. */
static void in_parallel(int64_t count, const std::function<void(int64_t, int64_t)> &work) {
    const int64_t pieces = count < 4096 ? 1 : threads();
    std::vector<std::thread> all;
    for (int64_t n = 1; n < pieces; n++) all.emplace_back(work, count * n / pieces, count * (n + 1) / pieces);
    work(0, count / pieces);
    for (std::thread &thread : all) thread.join();
}

/* A number for a number: what is drawn depends on where it stands, not on who draws it. */
static uint64_t drawn(uint64_t seed, uint64_t at) { /* splitmix64 */
    uint64_t z = (seed << 40) + (at + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* From 0 to 1. */
static double unit(uint64_t seed, uint64_t at) { return (double)(drawn(seed, at) >> 11) / 9007199254740992.0; }

/* `count` numbers between -1 and 1. */
template <class T = double> static std::vector<T> numbers(size_t count, uint64_t seed) {
    std::vector<T> out(count);
    in_parallel((int64_t)count, [&](int64_t from, int64_t to) {
        for (int64_t n = from; n < to; n++) out[(size_t)n] = (T)(2 * unit(seed, (uint64_t)n) - 1);
    });
    return out;
}

struct Matrix {
    std::string name;
    int64_t rows = 0, columns = 0;
    std::vector<int32_t> pos, crd;
    std::vector<double> vals;
    int64_t stored() const { return (int64_t)crd.size(); }
};

/* Three modes as compressed levels, outermost first. */
struct Tensor {
    std::string name;
    int64_t dims[3] = {0, 0, 0};
    std::vector<int32_t> pos[3], crd[3];
    std::vector<double> vals;
};

struct Element {
    int32_t at[3];
    double value;
    bool operator<(const Element &other) const {
        return std::lexicographical_compare(at, at + 3, other.at, other.at + 3);
    }
};

/* The lines of a file, unpacked if its name ends in .gz, or of what a command prints. */
class Lines {
    FILE *file;
    bool packed;
    char *line = nullptr;
    size_t room = 0;

  public:
    enum Source { FILE_OF_LINES, COMMAND };
    explicit Lines(const std::string &path, Source source = FILE_OF_LINES) {
        const bool zipped = path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
        packed = zipped || source == COMMAND;
        const std::string command = source == COMMAND ? path : "gzip -dc '" + path + "'";
        file = packed ? popen(command.c_str(), "r") : fopen(path.c_str(), "r");
        if (!file) throw std::runtime_error("cannot read " + path);
    }
    Lines(const Lines &) = delete;
    Lines &operator=(const Lines &) = delete;
    ~Lines() {
        free(line);
        packed ? pclose(file) : fclose(file);
    }
    char *next() { return getline(&line, &room, file) < 0 ? nullptr : line; }
};

static std::string base_name(const std::string &path) {
    return path.substr(path.find_last_of('/') + 1);
}

static Matrix to_csr(std::string name, int64_t rows, int64_t columns, std::vector<Element> &all) {
    std::sort(all.begin(), all.end());
    Matrix m;
    m.name = std::move(name), m.rows = rows, m.columns = columns;
    m.pos.assign((size_t)rows + 1, 0);
    for (size_t e = 0; e < all.size(); e++) {
        if (e && !(all[e - 1] < all[e])) continue;
        m.pos[(size_t)all[e].at[0] + 1]++;
        m.crd.push_back(all[e].at[1]);
        m.vals.push_back(all[e].value);
    }
    std::partial_sum(m.pos.begin(), m.pos.end(), m.pos.begin());
    return m;
}

/* A Matrix Market file of coordinates with real, integer or pattern entries. */
static Matrix read_matrix(const std::string &path) {
    Lines lines(path);
    char *line = lines.next();
    if (!line || strncmp(line, "%%MatrixMarket matrix coordinate", 32) || strstr(line, "complex"))
        throw std::runtime_error(path + ": no real coordinate matrix");
    const bool pattern = strstr(line, "pattern");
    const bool skew = strstr(line, "skew");
    const bool symmetric = strstr(line, "symmetric");
    while ((line = lines.next()) && line[0] == '%') {}
    long long rows, columns, stored;
    if (!line || sscanf(line, "%lld %lld %lld", &rows, &columns, &stored) != 3)
        throw std::runtime_error(path + ": no sizes");
    std::vector<Element> all;
    while ((line = lines.next())) {
        char *end;
        const long long i = strtoll(line, &end, 10), j = strtoll(end, &end, 10);
        if (!i || !j) continue;
        const double value = pattern ? 1.0 : strtod(end, &end);
        all.push_back({{(int32_t)(i - 1), (int32_t)(j - 1), 0}, value});
        if (symmetric && i != j)
            all.push_back({{(int32_t)(j - 1), (int32_t)(i - 1), 0}, skew ? -value : value});
    }
    return to_csr(base_name(path), rows, columns, all);
}

static void to_csf(Tensor &t, std::vector<Element> &all) {
    std::sort(all.begin(), all.end());
    for (size_t e = 0; e < all.size(); e++) {
        int same = 0;
        while (e && same < 3 && all[e - 1].at[same] == all[e].at[same]) same++;
        if (same == 3) continue;
        for (int n = same; n < 3; n++) {
            if (n < 2) t.pos[n + 1].push_back((int32_t)t.crd[n + 1].size());
            t.crd[n].push_back(all[e].at[n]);
        }
        t.vals.push_back(all[e].value);
    }
    t.pos[0] = {0, (int32_t)t.crd[0].size()};
    for (int n = 1; n < 3; n++) t.pos[n].push_back((int32_t)t.crd[n].size());
}

/* A FROSTT file of three modes. */
static Tensor read_tensor(const std::string &path) {
    Lines lines(path);
    std::vector<Element> all;
    Tensor t;
    t.name = base_name(path);
    while (char *line = lines.next()) {
        if (line[0] == '#') continue;
        Element e;
        char *end = line;
        for (int32_t &c : e.at) c = (int32_t)strtoll(end, &end, 10) - 1;
        char *before = end;
        e.value = strtod(end, &end);
        char *more;
        if (before == end || (strtod(end, &more), more != end)) continue;
        for (int n = 0; n < 3; n++) t.dims[n] = std::max<int64_t>(t.dims[n], e.at[n] + 1);
        all.push_back(e);
    }
    if (all.empty()) throw std::runtime_error(path + ": no tensor of three modes");
    to_csf(t, all);
    return t;
}

/* Rows of `lengths` elements at the columns that `column(row, number)` says. */
template <class Column>
static Matrix generate(std::string name, int64_t columns, const std::vector<int32_t> &lengths, Column column) {
    Matrix m;
    m.name = std::move(name), m.rows = (int64_t)lengths.size(), m.columns = columns;
    std::vector<std::vector<int32_t>> rows(lengths.size());
    in_parallel(m.rows, [&](int64_t from, int64_t to) {
        for (size_t i = (size_t)from; i < (size_t)to; i++) {
            std::vector<int32_t> &row = rows[i];
            for (int32_t n = 0; n < lengths[i]; n++) row.push_back((int32_t)column(i, n));
            std::sort(row.begin(), row.end());
            row.erase(std::unique(row.begin(), row.end()), row.end());
        }
    });
    m.pos.push_back(0);
    for (const std::vector<int32_t> &row : rows) {
        m.crd.insert(m.crd.end(), row.begin(), row.end());
        m.pos.push_back((int32_t)m.crd.size());
    }
    m.vals.resize(m.crd.size());
    for (size_t e = 0; e < m.vals.size(); e++) m.vals[e] = 1.0 + (double)(e % 7);
    return m;
}

static std::string short_number(int64_t n) {
    return n % 1000000 == 0 ? std::to_string(n / 1000000) + "M" : std::to_string(n / 1000) + "k";
}

/* A matrix of about `stored` elements: uniform, power-law, banded or short and wide. */
enum { UNIFORM, POWER_LAW, BANDED, SHORT_WIDE, GENERATED };
static Matrix generated(int64_t stored, int which) {
    const std::string size = "_" + short_number(stored);
    const int64_t n = std::max<int64_t>(stored / 16, 64);
    const int64_t few = 256, wide = std::max<int64_t>(stored / 64, 1024);
    auto anywhere = [](int64_t columns) {
        return [columns](size_t i, int32_t k) {
            return (int64_t)(drawn(17, ((uint64_t)i << 32) + (uint64_t)k) % (uint64_t)columns);
        };
    };
    std::vector<int32_t> lengths((size_t)n, 16);
    if (which == UNIFORM) return generate("uniform" + size, n, lengths, anywhere(n));
    if (which == BANDED)
        return generate("banded" + size, n, lengths, [n](size_t i, int32_t k) {
            return std::min<int64_t>(std::max<int64_t>((int64_t)i + k - 8, 0), n - 1);
        });
    if (which == SHORT_WIDE)
        return generate("short_wide" + size, wide, std::vector<int32_t>((size_t)few, (int32_t)(stored / few)), anywhere(wide));
    for (int64_t i = 0; i < n; i++) {
        const double length = 6.4 * std::pow(unit(18, (uint64_t)i) + 1e-9, -1 / 1.6);
        lengths[(size_t)i] = (int32_t)std::min(length, (double)n / 4);
    }
    return generate("powerlaw" + size, n, lengths, anywhere(n));
}

/* A tensor of about `stored` elements: four fibres of 16 in each slice, anywhere. */
static Tensor generated_tensor(int64_t stored) {
    Tensor t;
    t.name = "fibres_" + short_number(stored);
    const int64_t side = std::max<int64_t>(stored / 64, 64);
    for (int64_t &extent : t.dims) extent = side;
    std::vector<Element> all((size_t)stored);
    in_parallel(stored, [&](int64_t from, int64_t to) {
        for (int64_t e = from; e < to; e++) {
            const uint64_t fibre = (uint64_t)(e / 16);
            all[(size_t)e] = {{(int32_t)(e / 64 % side), (int32_t)(drawn(19, fibre) % (uint64_t)side),
                               (int32_t)(drawn(20, (uint64_t)e) % (uint64_t)side)},
                              1.0 + (double)(e % 7)};
        }
    });
    to_csf(t, all);
    return t;
}
