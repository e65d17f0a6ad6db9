//! Tensors of callers. What a checked function does with that of a result: memory that it has is
//! used again, memory that the caller lent is written in place or not at all. How elements
//! are packed, and their rows shared out.

mod support;

use std::path::Path;
use std::process::Command;

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}\n{:?}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compiles a program and a caller of it with the sanitizers, and runs them.
fn call(folder: &Path, program: &str, caller: &str) {
    let path = |name: &str| folder.join(name);
    std::fs::write(path("kernels.tc"), program).unwrap();
    std::fs::write(path("main.c"), caller).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    run(sparsec.arg(path("kernels.tc")).arg("-o").arg(folder));
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Werror"]);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    cc.arg("-o").arg(path("main"));
    run(cc.arg(path("main.c")).arg(path("kernels.c")).arg("-lm"));
    run(&mut Command::new(path("main")));
}

/// Tensors for callers. `CHECK` says on which line something is not so.
const COMMON: &str = r#"
#define SPARSEC_IMPLEMENTATION
#include "kernels.h"
#define CHECK(cond) do { if (!(cond)) return fprintf(stderr, "line %d: %s\n", __LINE__, sparsec_error()), 1; } while (0)
__attribute__((unused)) static sparsec_level dense1[] = {{.kind = SPARSEC_DENSE, .mode = 0}};
static inline sparsec_tensor vector(int64_t *n, double *vals) {
    sparsec_tensor t = {.type = SPARSEC_FLOAT64, .order = 1, .index_bits = 32, .dims = n,
        .levels = dense1, .vals = vals, .vals_len = *n};
    return t;
}
"#;

const DENSE: &str = r#"
int main(void) {
    int64_t four = 4, two = 2, three = 3;
    double a[] = {1, 2, 3, 4}, lent[] = {7, 7, 7, 7, 7};
    sparsec_tensor A = vector(&four, a), y = {0}, s = {0};
    CHECK(!twice(&A, &y));
    void *vals = y.vals;
    CHECK(((double *)vals)[3] == 8 && y.dims[0] == 4);
    /* The same shape, a smaller one, and the larger one again: all in the same memory. */
    a[3] = 5;
    CHECK(!twice(&A, &y) && y.vals == vals && ((double *)vals)[3] == 10);
    A.dims = &two;
    CHECK(!twice(&A, &y) && y.vals == vals && y.dims[0] == 2 && y.vals_len == 2 && y.vals_cap == 4);
    A.dims = &four;
    CHECK(!twice(&A, &y) && y.vals == vals && y.vals_len == 4);
    /* A tensor of another kind loses what it had. */
    CHECK(!total(&A, &y) && y.order == 0 && *(double *)y.vals == 11);
    CHECK(!twice(&A, &y) && y.order == 1 && ((double *)y.vals)[0] == 2);
    sparsec_free_tensor(&y);
    /* Lent memory is written in place where it fits, and stays the caller's. */
    y = vector(&four, lent);
    CHECK(!twice(&A, &y) && y.vals == lent && y.dims == &four && lent[3] == 10 && lent[4] == 7);
    sparsec_free_tensor(&y);
    CHECK(lent[0] == 2 && !y.vals);
    y = vector(&three, lent);
    CHECK(twice(&A, &y) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "y: its arrays are the caller's"));
    CHECK(y.vals == lent && y.dims == &three && lent[0] == 2);
    y = vector(&four, lent);
    y.type = SPARSEC_FLOAT32;
    CHECK(twice(&A, &y) == SPARSEC_BAD_ARGUMENT && y.vals == lent);
    double sum = 0;
    s.type = SPARSEC_FLOAT64;
    s.vals = &sum;
    s.vals_len = 1;
    CHECK(!total(&A, &s) && sum == 11 && s.vals == &sum);
    return 0;
}
"#;

#[test]
fn dense_results_are_written_where_they_are() {
    let program = "def twice(double(N) A) -> (y) { y(i) = 2 * A(i) }
def total(double(N) A) -> (s) { s +=! A(i) }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, &format!("{COMMON}{DENSE}"));
}

/// Results of more and more elements, in memory that grows.
const GROWING: &str = r#"
int main(void) {
    static double a[2000];
    static int32_t crd[2000], pos[2];
    int64_t dims[] = {2000};
    for (int k = 0; k < 2000; k++) crd[k] = k;
    sparsec_level stored[] = {{.kind = SPARSEC_COMPRESSED, .mode = 0, .pos = pos, .pos_len = 2, .crd = crd}};
    sparsec_tensor A = {.type = SPARSEC_FLOAT64, .order = 1, .index_bits = 32, .dims = dims,
        .levels = stored, .vals = a};
    sparsec_tensor y = {0};
    for (int n = 1; n < 2000; n += n < 8 ? 1 : 97) {
        pos[1] = n;
        stored[0].crd_len = A.vals_len = n;
        CHECK(!twice(&A, &y) && y.vals_len == n && (uintptr_t)y.vals % 64 == 0);
    }
    sparsec_free_tensor(&y);
    return 0;
}
"#;

#[test]
fn results_begin_at_cache_lines() {
    let program = "def twice(double(N) A) -> (y) { y(i) = 2 * A(i) }
format twice { A: {compressed}, y: {compressed} }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, &format!("{COMMON}{GROWING}"));
}

const APPENDED: &str = r#"
static void *(*resize)(void *, size_t) = realloc;
static int calls;
static void *counted(void *old, size_t size) {
    calls++;
    return resize(old, size);
}
int main(void) {
    enum { N = 2000 };
    static int32_t pos[N + 1], crd[N], none[N + 1];
    static double a[N];
    int64_t dims[] = {N, N};
    for (int k = 0; k < N; k++) {
        pos[k + 1] = k + 1;
        crd[k] = k;
        a[k] = k;
    }
    sparsec_level rows[] = {{.kind = SPARSEC_DENSE, .mode = 0},
        {.kind = SPARSEC_COMPRESSED, .mode = 1, .pos = pos, .pos_len = N + 1, .crd = crd, .crd_len = N}};
    sparsec_level empty[] = {{.kind = SPARSEC_DENSE, .mode = 0},
        {.kind = SPARSEC_COMPRESSED, .mode = 1, .pos = none, .pos_len = N + 1, .crd = crd}};
    sparsec_tensor A = {.type = SPARSEC_FLOAT64, .order = 2, .index_bits = 32, .dims = dims,
        .levels = rows, .vals = a, .vals_len = N};
    sparsec_tensor B = A, C = {0};
    B.levels = empty;
    sparsec_set_allocator(counted, free);
    CHECK(!add(&A, &A, &C) && C.vals_len == N && ((double *)C.vals)[N - 1] == 2 * (N - 1));
    int grown = calls;
    /* Again: nothing grows. Each array of the result is asked for once. */
    calls = 0;
    CHECK(!add(&A, &A, &C) && C.vals_len == N && ((int32_t *)C.levels[1].crd)[N - 1] == N - 1);
    CHECK(calls == 3 && calls < grown);
    /* What is stored no longer is gone: fewer elements, then none, then all again. */
    CHECK(!add(&B, &B, &C) && C.vals_len == 0 && ((int32_t *)C.levels[1].pos)[N] == 0);
    CHECK(!add(&A, &B, &C) && C.vals_len == N && ((double *)C.vals)[N - 1] == N - 1);
    /* Lent arrays cannot be made larger. */
    sparsec_tensor lent = C;
    lent.flags = 0;
    CHECK(add(&A, &A, &lent) == SPARSEC_BAD_ARGUMENT && lent.vals == C.vals);
    CHECK(((double *)C.vals)[N - 1] == N - 1);
    sparsec_free_tensor(&C);
    /* The raw function makes arrays, or takes the room that there is. */
    int32_t *C2_pos = NULL, *C2_crd = NULL;
    double *C_vals = NULL;
    CHECK(!add_raw(N, N, pos, crd, a, pos, crd, a, &C2_pos, &C2_crd, &C_vals, 0) && C2_pos[N] == N);
    calls = 0;
    CHECK(!add_raw(N, N, pos, crd, a, none, crd, a, &C2_pos, &C2_crd, &C_vals, N) && C_vals[N - 1] == N - 1);
    CHECK(calls == 3);
    free(C2_pos);
    free(C2_crd);
    free(C_vals);
    return 0;
}
"#;

#[test]
fn appended_results_grow_once() {
    let program = "def add(double(M,N) A, double(M,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
format add { A: csr  B: csr  C: csr }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, &format!("{COMMON}{APPENDED}"));
}

/// Calls a kernel of `assemble(C, once)` on one pattern, again with other values, then on
/// another pattern of as many elements.
const ONCE: &str = r#"
#define SPARSEC_IMPLEMENTATION
#include "kernels.h"
int main(void) {
    int32_t pos[] = {0, 2, 3}, first[] = {0, 2, 1}, other[] = {0, 1, 2};
    int64_t dims[] = {2, 3}, three[] = {3};
    double a[] = {1, 2, 3}, x[] = {10, 20, 30};
    sparsec_level rows[] = {{.kind = SPARSEC_DENSE, .mode = 0},
        {.kind = SPARSEC_COMPRESSED, .mode = 1, .pos = pos, .pos_len = 3, .crd = first, .crd_len = 3}};
    sparsec_level all[] = {{.kind = SPARSEC_DENSE, .mode = 0}};
    sparsec_tensor A = {.type = SPARSEC_FLOAT64, .order = 2, .index_bits = 32, .dims = dims,
        .levels = rows, .vals = a, .vals_len = 3};
    sparsec_tensor X = {.type = SPARSEC_FLOAT64, .order = 1, .index_bits = 32, .dims = three,
        .levels = all, .vals = x, .vals_len = 3};
    sparsec_tensor C = {0};
    if (scale(&A, &X, &C)) return fprintf(stderr, "%s\n", sparsec_error()), 1;
    const double *vals = C.vals;
    if (vals[0] != 10 || vals[1] != 60 || vals[2] != 60) return 2;
    a[0] = 5;
    if (scale(&A, &X, &C) || C.vals != (void *)vals || vals[0] != 50) return 3;
    rows[1].crd = other;
    if (scale(&A, &X, &C)) return 4;
    vals = C.vals;
    const int32_t *crd = C.levels[1].crd;
    if (crd[1] != 1 || crd[2] != 2 || vals[1] != 40 || vals[2] != 90) return 5;
    /* Lent: the values are written where the coordinates are those of A. */
    sparsec_tensor lent = C;
    lent.flags = 0;
    a[1] = 7;
    if (scale(&A, &X, &lent) || lent.vals != C.vals || vals[1] != 140) return 6;
    rows[1].crd = first;
    if (scale(&A, &X, &lent) != SPARSEC_BAD_ARGUMENT || crd[1] != 1 || vals[1] != 140) return 7;
    /* Room that is there is used for another pattern. */
    if (scale(&A, &X, &C) || C.vals != (void *)vals || crd[1] != 2 || vals[1] != 210) return 8;
    sparsec_free_tensor(&C);
    return 0;
}
"#;

#[test]
fn coordinates_are_made_once_for_each_pattern() {
    let program = "def scale(double(M,N) A, double(N) x) -> (C) { C(i,j) = A(i,j) * x(j) }
format scale { A: csr, C: csr }
schedule scale for c { assemble(C, once) }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, ONCE);
}

/// Packs elements in any order, some twice, where extents let them be counted and where they are too
/// large for that: the same arrays.
const PACKED: &str = r#"
#define SPARSEC_IMPLEMENTATION
#include "kernels.h"
enum { N = 3000 };
static int64_t coords[3 * N];
static double vals[N];
static uint32_t state = 1;
static int64_t below(uint32_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; }
static int check(const int32_t *modes, uint32_t flags, int64_t n, const int64_t *extents) {
    sparsec_level_spec levels[3];
    for (int l = 0; l < 3; l++)
        levels[l] = (sparsec_level_spec){SPARSEC_COMPRESSED, l == 2 ? 0 : flags, modes[l]};
    sparsec_spec spec = {"A", SPARSEC_FLOAT64, 3, 64, levels, 0.0};
    const int64_t large[] = {(int64_t)1 << 40, (int64_t)1 << 41, (int64_t)1 << 42};
    sparsec_tensor counted = {0}, compared = {0};
    for (int64_t k = 0; k < n; k++) {
        for (int m = 0; m < 3; m++) coords[3 * k + m] = below((uint32_t)extents[m]);
        vals[k] = 1.0 / (double)(k + 1);
    }
    if (sparsec_pack(&counted, &spec, extents, n, coords, vals)) return __LINE__;
    if (sparsec_pack(&compared, &spec, large, n, coords, vals)) return __LINE__;
    for (int l = 0; l < 3; l++) {
        sparsec_level *a = &counted.levels[l], *b = &compared.levels[l];
        if (a->crd_len != b->crd_len || a->pos_len != b->pos_len) return __LINE__;
        if (n && memcmp(a->crd, b->crd, (size_t)a->crd_len * 8)) return __LINE__;
        if (memcmp(a->pos, b->pos, (size_t)a->pos_len * 8)) return __LINE__;
    }
    const int64_t *first = counted.levels[0].crd;
    for (int64_t p = 1; p < counted.levels[0].crd_len; p++)
        if (flags ? first[p - 1] > first[p] : first[p - 1] >= first[p]) return __LINE__;
    double sum = 0, all = 0;
    if (counted.vals_len != compared.vals_len) return __LINE__;
    if (n && memcmp(counted.vals, compared.vals, (size_t)counted.vals_len * 8)) return __LINE__;
    for (int64_t p = 0; p < counted.vals_len; p++) sum += ((double *)counted.vals)[p];
    for (int64_t k = 0; k < n; k++) all += vals[k];
    if (sum < all - 1e-9 || sum > all + 1e-9) return __LINE__;
    sparsec_free_tensor(&counted);
    sparsec_free_tensor(&compared);
    return 0;
}
int main(void) {
    const int32_t orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};
    const int64_t extents[][3] = {{20, 30, 40}, {1, 2000, 7}, {12000, 3, 3}, {12004, 3, 3}, {5, 5, 5}};
    for (int o = 0; o < 3; o++)
        for (int e = 0; e < 5; e++)
            for (int64_t n = 0; n <= N; n += n < 3 ? 1 : N - 3) {
                int line = check(orders[o], (uint32_t)e % 2 * SPARSEC_NONUNIQUE, n, extents[e]);
                if (line) return fprintf(stderr, "line %d: order %d, extents %d, %d elements\n", line, o, e, (int)n), 1;
            }
    return 0;
}
"#;

#[test]
fn elements_are_packed_by_counting_as_by_comparing() {
    let program = "def sum(double(L,M,N) A) -> (y) { y = A(i,j,k) }
format sum { A: csf }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, PACKED);
}

const SHARES: &str = r#"
/* Rows of all lengths from 0 to 3, in all orders, and one long one in each place. */
static void rows(int64_t which, int32_t *pos, int64_t n) {
    for (int64_t i = 0; i < n; i++, which /= 5) {
        int32_t length = (int32_t)(which % 5);
        pos[i + 1] = pos[i] + (length == 4 ? 100 : length);
    }
}
int main(void) {
    int32_t pos[6] = {3};
    for (int64_t n = 0; n <= 5; n++)
        for (int64_t which = 0; which < 3125; which++)
            for (int threads = 1; threads <= 4; threads++) {
                rows(which, pos, n);
                                for (int64_t lo = 0; lo <= n; lo++) {
                    /* Each row in one share, in order. */
                    CHECK(sparsec_share_int32(pos, lo, n, 0, threads) == lo);
                    CHECK(sparsec_share_int32(pos, lo, n, threads, threads) == n);
                    for (int64_t share = 0; share < threads; share++) {
                        int64_t first = sparsec_share_int32(pos, lo, n, share, threads);
                        int64_t end = sparsec_share_int32(pos, lo, n, share + 1, threads);
                        CHECK(lo <= first && first <= end && end <= n);
                        /* No more than its part and a row. */
                        int64_t all = n - lo + pos[n] - pos[lo], most = 0;
                        for (int64_t i = first; i < end; i++)
                            if (pos[i + 1] - pos[i] >= most) most = 1 + pos[i + 1] - pos[i];
                        CHECK(end - first + pos[end] - pos[first] <= all / threads + 1 + most);
                    }
                }
                CHECK(sparsec_share_int32(pos, 0, -1, 0, 2) >= -1);
            }
    return 0;
}
"#;

#[test]
fn shares_of_rows_are_a_partition() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def twice(double(N) x) -> (y) { y(i) = 2 * x(i) }\n";
    call(folder.path(), program, &format!("{COMMON}{SHARES}"));
}
