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
    call_with(folder, program, caller, &[]);
}

fn call_with(folder: &Path, program: &str, caller: &str, flags: &[&str]) {
    let path = |name: &str| folder.join(name);
    std::fs::write(path("kernels.tc"), program).unwrap();
    std::fs::write(path("main.c"), caller).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    run(sparsec.arg(path("kernels.tc")).arg("-o").arg(folder));
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Werror"]);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    cc.args(flags).arg("-o").arg(path("main"));
    run(cc.arg(path("main.c")).arg(path("kernels.c")).arg("-lm"));
    run(Command::new(path("main")).env("OMP_NUM_THREADS", "3"));
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
    CHECK(strstr(sparsec_error(), "they have an extent of 3 in dimension 0, not 4; give a zeroed tensor"));
    CHECK(y.vals == lent && y.dims == &three && lent[0] == 2);
    y = vector(&four, lent);
    y.type = SPARSEC_FLOAT32;
    CHECK(twice(&A, &y) == SPARSEC_BAD_ARGUMENT && y.vals == lent);
    CHECK(strstr(sparsec_error(), "they have element type 11, not 12;"));
    y = vector(&four, lent);
    y.vals_len = 5;
    CHECK(twice(&A, &y) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "they have 5 values, not 4;"));
    y = vector(&four, NULL);
    CHECK(twice(&A, &y) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "they have 0 values, not 4;"));
    y = vector(&four, lent);
    y.order = 0;
    CHECK(twice(&A, &y) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "they have order 0, not 1;"));
    double sum = 0;
    s.type = SPARSEC_FLOAT64;
    s.vals = &sum;
    s.vals_len = 1;
    CHECK(!total(&A, &s) && sum == 11 && s.vals == &sum);
    /* A number of elements is none below zero. */
    const sparsec_level_spec level = {SPARSEC_DENSE, 0, 0};
    const sparsec_spec spec = {"p", SPARSEC_FLOAT64, 1, 32, &level, NULL};
    sparsec_tensor p = {0};
    CHECK(sparsec_pack(&p, &spec, &four, -1, NULL, NULL) == SPARSEC_BAD_ARGUMENT && !p.vals);
    CHECK(strstr(sparsec_error(), "p: -1 elements"));
    /* What is not there is refused as kernels do. */
    CHECK(sparsec_pack(NULL, &spec, &four, 0, NULL, NULL) == SPARSEC_BAD_ARGUMENT &&
          strstr(sparsec_error(), "p: no tensor given"));
    CHECK(sparsec_pack(&p, NULL, &four, 0, NULL, NULL) == SPARSEC_BAD_ARGUMENT && !p.vals);
    CHECK(sparsec_pack(&p, &spec, NULL, 0, NULL, NULL) == SPARSEC_BAD_ARGUMENT && !p.vals);
    CHECK(sparsec_pack(&p, &spec, &four, 1, &two, NULL) == SPARSEC_BAD_ARGUMENT && !p.vals);
    CHECK(sparsec_pack(&p, &spec, &four, 1, NULL, a) == SPARSEC_BAD_ARGUMENT && !p.vals);
    A.vals = NULL;
    CHECK(twice(&A, &y) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "A: no values, not 4: vals is NULL"));
    A.vals = a;
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

/// Two threads call at once, one of them with what breaks a promise.
const AT_ONCE: &str = r#"
#include <pthread.h>
#define ROUNDS 2000
#define ROWS 500
struct given { int first, status, wrong; };
static pthread_barrier_t begin;
static void *calls(void *at) {
    struct given *given = (struct given *)at;
    int64_t rows = ROWS, four = 4;
    int32_t len[ROWS];
    double x[] = {1, 2, 3, 4}, z[ROWS];
    sparsec_tensor X = vector(&four, x), Z = vector(&rows, z), L = {.type = SPARSEC_INT32, .order = 1,
        .index_bits = 32, .dims = &rows, .levels = dense1, .vals = len, .vals_len = ROWS};
    /* What the first row breaks is known for the rest of the call. */
    for (int k = 0; k < ROWS; k++) len[k] = k ? 2 : given->first;
    pthread_barrier_wait(&begin);
    for (int k = 0; k < ROUNDS; k++) {
        const int status = f(&X, &L, &Z);
        given->wrong += status != given->status;
        if (status) given->wrong += !strstr(sparsec_error(), "but j has this many values: 3");
    }
    return NULL;
}
int main(void) {
    struct given kept = {2, SPARSEC_OK, 0}, broken = {3, SPARSEC_PROMISE_BROKEN, 0};
    pthread_t other;
    CHECK(!pthread_barrier_init(&begin, NULL, 2));
    CHECK(!pthread_create(&other, NULL, calls, &broken));
    calls(&kept);
    CHECK(!pthread_join(other, NULL));
    if (kept.wrong || broken.wrong) fprintf(stderr, "%d and %d of %d\n", kept.wrong, broken.wrong, ROUNDS);
    return kept.wrong || broken.wrong;
}
"#;

#[test]
fn callers_at_once_have_reports_of_their_own() {
    let program =
        "def f(double(N) x, int(M) len) -> (z) { z(k) = x(j) where k in 0:M, j in 0:len(k) }
schedule f { bound(j, jb, 2, MaxConstraint) }
";
    let threads =
        "def f(double(N) x, int(M) len) -> (z) { z(k) = x(j) where k in 0:M, j in 0:len(k) }
schedule f { bound(j, jb, 2, MaxConstraint) parallelize(k, CPUThread, NoRaces) }
";
    let caller = format!("#define _POSIX_C_SOURCE 200809L\n{COMMON}{AT_ONCE}");
    for (program, flags) in [
        (program, &["-DSPARSEC_DEBUG", "-pthread"][..]),
        (threads, &["-DSPARSEC_DEBUG", "-pthread", "-fopenmp"][..]),
    ] {
        let out = tempfile::tempdir().unwrap();
        call_with(out.path(), program, &caller, flags);
    }
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
    /* Each array of the result is asked for once, with room for all that there may be, and the tensor's own. */
    CHECK(calls <= 6);
    /* Again: nothing grows. */
    calls = 0;
    CHECK(!add(&A, &A, &C) && C.vals_len == N && ((int32_t *)C.levels[1].crd)[N - 1] == N - 1);
    CHECK(calls == 3);
    /* What is stored no longer is gone: fewer elements, then none, then all again. */
    CHECK(!add(&B, &B, &C) && C.vals_len == 0 && ((int32_t *)C.levels[1].pos)[N] == 0);
    CHECK(!add(&A, &B, &C) && C.vals_len == N && ((double *)C.vals)[N - 1] == N - 1);
    /* Lent arrays cannot be made larger. */
    sparsec_tensor lent = C;
    lent.flags = 0;
    CHECK(add(&A, &A, &lent) == SPARSEC_BAD_ARGUMENT && lent.vals == C.vals);
    CHECK(strstr(sparsec_error(), "C: its arrays are the caller's, but those of a sparse"));
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

/// Results that are assembled once, of operands that store something else from call to call: they are
/// those of a first call, and what stores the same is not assembled again.
const CHANGED: &str = r#"
typedef int kernel(const sparsec_tensor *, const sparsec_tensor *, sparsec_tensor *);
static const struct {
    kernel *whole, *values;
    int (*expand)(const sparsec_tensor *, sparsec_tensor *);
} kernels[] = {
    {gemm, gemm_values, of_rows},       {gemm_shared, gemm_shared_values, of_rows},
    {merged, merged_values, of_rows},   {merged_shared, merged_shared_values, of_found},
    {dots, dots_values, of_found},      {turned, turned_values, of_rows},
    {listed, listed_values, of_list},   {tiled, tiled_values, of_rows},
};
enum { KERNELS = sizeof kernels / sizeof *kernels, DRAWN = 5, N = 7 };
static uint64_t state = 1;
static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}
int main(void) {
    const sparsec_level_spec rows[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
    const sparsec_spec csr = {"A", SPARSEC_FLOAT64, 2, 32, rows, NULL};
    const int64_t dims[] = {N, N};
    sparsec_tensor drawn[2][DRAWN] = {{{0}}};
    int again = 0, changed = 0;
    for (int side = 0; side < 2; side++)
        for (int s = 0; s < DRAWN; s++) {
            int64_t coords[2 * N * N], n = 0;
            double vals[N * N];
            for (int64_t at = 0; at < N * N; at++)
                if (below(10) < 2 * s && (s != 3 || at / N != 2)) {
                    coords[2 * n] = at / N, coords[2 * n + 1] = at % N;
                    vals[n++] = (double)(1 + below(9));
                }
            CHECK(!sparsec_pack(&drawn[side][s], &csr, dims, n, coords, vals));
        }
    for (int k = 0; k < KERNELS; k++) {
        sparsec_tensor C = {0}, D = {0}, E = {0};
        int s = 0, t = 0, last = -1;
        for (int round = 0; round < 120; round++) {
            if (below(3)) s = (int)below(DRAWN), t = (int)below(DRAWN);
            const sparsec_tensor *A = &drawn[0][s], *B = &drawn[1][t];
            sparsec_tensor fresh = {0};
            if (last >= 0) {
                const int status = kernels[k].values(A, B, &C);
                CHECK(status == SPARSEC_OK || (status == SPARSEC_CHANGED && last != s * DRAWN + t));
                again += status == SPARSEC_OK, changed += status == SPARSEC_CHANGED;
            }
            for (int64_t p = 0; p < C.vals_len; p++) ((double *)C.vals)[p] = 1e300;
            CHECK(!kernels[k].whole(A, B, &C) && !kernels[k].whole(A, B, &fresh));
            CHECK(!kernels[k].expand(&C, &D) && !kernels[k].expand(&fresh, &E));
            for (int64_t at = 0; at < N * N; at++) CHECK(((double *)D.vals)[at] == ((double *)E.vals)[at]);
            sparsec_free_tensor(&fresh);
            last = s * DRAWN + t;
        }
        sparsec_free_tensor(&C), sparsec_free_tensor(&D), sparsec_free_tensor(&E);
    }
    CHECK(again > 100 && changed > 100);
    for (int s = 0; s < DRAWN; s++) sparsec_free_tensor(&drawn[0][s]), sparsec_free_tensor(&drawn[1][s]);
    return 0;
}
"#;

#[test]
fn what_is_assembled_once_follows_its_operands() {
    let kernels = [
        ("gemm", "C(i,j) +=! A(i,k) * B(k,j)", "csr", ""),
        ("gemm_shared", "C(i,j) +=! A(i,k) * B(k,j)", "csr", SHARED),
        ("merged", "C(i,j) = A(i,j) + B(i,j)", "csr", ""),
        ("merged_shared", "C(i,j) = A(i,j) + B(i,j)", "dcsr", SHARED),
        ("dots", "C(i,j) = A(i,k) * B(j,k)", "dcsr", SHARED),
        ("turned", "C(j,i) = A(i,j) + B(i,j)", "csr", ""),
        ("listed", "C(i,j) = A(i,j) + B(i,j)", "coo", SHARED),
        (
            "tiled",
            "C(i,j) = A(i,j) * B(i,j) + A(i,j)",
            "csr",
            "split(i, i0, i1, 3)",
        ),
    ];
    let mut program = String::new();
    for (name, stmt, format, schedule) in kernels {
        program += &format!(
            "def {name}(double(N,N) A, double(N,N) B) -> (C) {{ {stmt} }}
format {name} {{ A: csr, B: csr, C: {format} }}
schedule {name} for c {{ assemble(C, once) {schedule} }}
"
        );
    }
    for (name, format) in [("of_rows", "csr"), ("of_found", "dcsr"), ("of_list", "coo")] {
        program += &format!(
            "def {name}(double(N,N) C) -> (D) {{ D(i,j) = C(i,j) }}
format {name} {{ C: {format} }}
"
        );
    }
    let out = tempfile::tempdir().unwrap();
    call_with(
        out.path(),
        &program,
        &format!("{COMMON}{CHANGED}"),
        &["-O1", "-fopenmp"],
    );
}

const SHARED: &str = "parallelize(i, CPUThread, NoRaces)";

/// Packs elements into drawn formats: in any order and in several that are known, some twice, with
/// small and large extents, for one and for several threads. The arrays are those of the
/// definition: sorted by comparisons, then one level after the other.
const PACKED: &str = r#"
#define SPARSEC_IMPLEMENTATION
#include "kernels.h"
enum { MOST = 80000, ORDER = 5 };
static int64_t coords[ORDER * MOST], at[MOST], items[MOST];
static double vals[MOST];
static uint64_t state = 1;
static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 11) % n;
}
static const sparsec_spec *sorted_by;
static bool backwards;
/* By the levels, from the outermost or the innermost on; then as they came. */
static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b, order = sorted_by->order;
    for (int64_t k = 0; k < order; k++) {
        const int64_t mode = sparsec_dimension(sorted_by->levels[backwards ? order - 1 - k : k].mode);
        if (coords[x * order + mode] != coords[y * order + mode])
            return coords[x * order + mode] < coords[y * order + mode] ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}
static void sort(const sparsec_spec *spec, int64_t n, bool reversed) {
    sorted_by = spec;
    backwards = reversed;
    for (int64_t k = 0; k < n; k++) items[k] = k;
    qsort(items, (size_t)n, sizeof *items, compare);
}
/* In the coordinates of a level and of the singletons right below it. */
static bool agree(const sparsec_spec *spec, int l, int64_t a, int64_t b) {
    const int64_t order = spec->order, mode = sparsec_dimension(spec->levels[l].mode);
    if (coords[a * order + mode] != coords[b * order + mode]) return false;
    return l + 1 == order || spec->levels[l + 1].kind != SPARSEC_SINGLETON || agree(spec, l + 1, a, b);
}
static bool is(const sparsec_tensor *t, const void *array, int64_t k, int64_t value) {
    return sparsec_index_at(t, array, k) == value;
}
/* The line where t is not what its elements make, or 0. */
static int differs(const sparsec_tensor *t, const sparsec_spec *spec, int64_t n) {
    int64_t parents = 1, order = spec->order;
    sort(spec, n, false);
    memset(at, 0, sizeof at);
    for (int l = 0; l < order; l++) {
        const sparsec_level *level = &t->levels[l];
        const int64_t mode = sparsec_dimension(level->mode), dim = t->dims[mode];
        const int64_t block = level->mode >> 32 ? level->mode >> 32 : 1, extent = (dim + block - 1) / block;
        int64_t count = 0, before = -1, last = -1, parent = -1;
        if (level->kind == SPARSEC_DENSE || level->kind == SPARSEC_BITMAP) {
            parents *= extent;
            for (int64_t k = 0; k < n; k++) {
                at[k] = at[k] * extent + coords[items[k] * order + mode];
                count += k == 0 || at[k] != at[k - 1];
                if (level->kind == SPARSEC_BITMAP && ((uint8_t *)level->crd)[at[k]] != 1) return __LINE__;
            }
            if (level->kind != SPARSEC_BITMAP) continue;
            if (level->crd_len != parents) return __LINE__;
            for (int64_t p = 0; p < parents; p++) count -= ((uint8_t *)level->crd)[p];
            if (count != 0) return __LINE__;
            continue;
        }
        if (level->kind == SPARSEC_SINGLETON) {
            if (level->crd_len != parents) return __LINE__;
            for (int64_t k = 0; k < n; k++)
                if (!is(t, level->crd, at[k], coords[items[k] * order + mode])) return __LINE__;
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            const int64_t c = coords[items[k] * order + mode];
            bool same = k > 0 && at[k] == before && c == last;
            if (level->flags & SPARSEC_NONUNIQUE) same = same && agree(spec, l, items[k - 1], items[k]);
            before = at[k];
            last = c;
            if (!same) {
                for (; parent < at[k]; parent++)
                    if (!is(t, level->pos, parent + 1, count)) return __LINE__;
                if (!is(t, level->crd, count, c)) return __LINE__;
                count++;
            }
            at[k] = count - 1;
        }
        for (; parent < parents; parent++)
            if (!is(t, level->pos, parent + 1, count)) return __LINE__;
        if (level->pos_len != parents + 1 || level->crd_len != count) return __LINE__;
        parents = count;
    }
    if (t->vals_len != parents) return __LINE__;
    for (int64_t k = 0, p = 0; k < n; p++) {
        const double own = ((double *)t->vals)[p];
        if (p >= parents) return __LINE__;
        if (p < at[k]) {
            if (own != 0) return __LINE__;
            continue;
        }
        double sum = vals[items[k++]];
        while (k < n && at[k] == p) sum += vals[items[k++]];
        if (own != sum) return __LINE__;
    }
    return 0;
}
/* Puts the elements in the order of the items. */
static void arrange(int64_t n, int64_t order) {
    static int64_t moved[ORDER * MOST];
    for (int64_t k = 0; k < n; k++) memcpy(moved + k * order, coords + items[k] * order, 8 * (size_t)order);
    memcpy(coords, moved, 8 * (size_t)(n * order));
}
/* `turned`: of rows with a place each, in order by the coordinate inside a row. */
static int check(int64_t n, bool turned) {
    const int64_t twins = turned && below(2) ? 0 : 1;
    sparsec_level_spec levels[ORDER] = {{0}};
    int64_t dims[ORDER], extents[ORDER], used[ORDER], places = 1;
    sparsec_spec spec = {"A", SPARSEC_FLOAT64, turned ? 2 : (int32_t)below(ORDER + 1), 0, levels, 0};
    sparsec_tensor t = {0};
    bool narrow = true, nonunique = false;
    for (int m = 0; m < spec.order; m++) levels[m].mode = m;
    for (int m = 0; m < spec.order; m++) {
        const int64_t other = below(spec.order), swap = levels[m].mode;
        levels[m].mode = levels[other].mode;
        levels[other].mode = swap;
    }
    for (int l = 0; l < spec.order; l++) {
        const int64_t mode = levels[l].mode;
        dims[mode] = below(3) == 0 ? 1 + below(4) : below(2) ? 1 + below(300) : (int64_t)1 << (20 + below(40));
        if (turned && l == 0) dims[mode] = 1 + below(300);
        const int64_t block = below(4) ? 0 : 1 + below(5);
        levels[l].mode |= SPARSEC_BLOCKS(block);
        extents[mode] = block ? (dims[mode] + block - 1) / block : dims[mode];
        used[mode] = below(2) ? extents[mode] : 1 + below(extents[mode]);
        narrow = narrow && dims[mode] <= INT32_MAX;
        if (turned ? l == 0 : dims[mode] < 1000000 / places && below(2)) {
            levels[l].kind = turned || below(2) ? SPARSEC_DENSE : SPARSEC_BITMAP;
            places *= dims[mode];
            nonunique = false;
        } else if (nonunique && below(3)) {
            levels[l].kind = SPARSEC_SINGLETON;
        } else {
            levels[l].kind = SPARSEC_COMPRESSED;
            nonunique = below(2);
            levels[l].flags = nonunique ? SPARSEC_NONUNIQUE : 0;
            places = n + 1;
        }
    }
    spec.index_bits = narrow && below(2) ? 32 : 64;
    for (int64_t k = 0; k < n; k++) {
        const int64_t twin = k && twins && below(8) == 0 ? below(k) : -1;
        for (int m = 0; m < spec.order; m++)
            coords[k * spec.order + m] = twin < 0 ? below(used[m]) : coords[twin * spec.order + m];
        vals[k] = 1.0 / (double)(k + 1);
    }
    if (turned || below(3) == 0) {
        sort(&spec, n, turned || below(2));
        arrange(n, spec.order);
    }
    /* Twice: the second time into the arrays of the first one. */
    for (int again = 0; again < 2; again++) {
        if (sparsec_pack(&t, &spec, dims, n, coords, vals)) return fprintf(stderr, "%s\n", sparsec_error()), __LINE__;
        const int line = differs(&t, &spec, n);
        if (line) return line;
    }
    sparsec_free_tensor(&t);
    if (n && spec.order) {
        const int64_t wrong = below(n), m = below(spec.order);
        coords[wrong * spec.order + m] = below(2) ? extents[m] : -1;
        if (sparsec_pack(&t, &spec, dims, n, coords, vals) != SPARSEC_BAD_ARGUMENT || t.dims || t.levels) return __LINE__;
    }
    return 0;
}
int main(void) {
    const int64_t counts[] = {0, 1, 2, 31, 33, 512, 513, 514, 2048, 3000, 9000};
    for (int round = 0; round < 800; round++) {
        const int64_t n = round % 60 == 59 ? MOST : counts[round % 11];
        const int line = check(n, round >= 600);
        if (line) return fprintf(stderr, "line %d: round %d, %d elements\n", line, round, (int)n), 1;
    }
    return 0;
}
"#;

#[test]
fn elements_are_packed_as_they_are_defined() {
    let program = "def sum(double(L,M,N) A) -> (y) { y = A(i,j,k) }
format sum { A: csf }
";
    let out = tempfile::tempdir().unwrap();
    call_with(out.path(), program, PACKED, &["-O1", "-fopenmp"]);
}

/// Fills of types that no double holds, and what packing leaves where nothing is stored.
const FILLED: &str = r#"
int main(void) {
    int64_t dims[] = {6}, coords[] = {4};
    const int64_t seven = 7, far = 9007199254740993;
    const double pair[] = {1, -1}, one[] = {1, 0};
    const sparsec_level_spec list[] = {{SPARSEC_COMPRESSED, 0, 0}};
    sparsec_spec spec = {"A", SPARSEC_INT64, 1, 32, list, &far};
    sparsec_tensor A = {0}, y = {0};
    CHECK(!sparsec_pack(&A, &spec, dims, 1, coords, &seven) && A.fill.int64 == far);
    CHECK(!whole(&A, &y) && *(int64_t *)y.vals == 7);
    A.fill.int64 = far - 1;
    CHECK(whole(&A, &y) == SPARSEC_BAD_ARGUMENT);
    CHECK(strstr(sparsec_error(), "its fill value is 9007199254740992, not 9007199254740993"));
    sparsec_free_tensor(&A);
    /* Both parts of complex ones. */
    spec.type = SPARSEC_COMPLEX128;
    spec.fill = one;
    CHECK(!sparsec_pack(&A, &spec, dims, 1, coords, pair) && !pairs(&A, &y));
    CHECK(((double *)y.vals)[0] == 6 && ((double *)y.vals)[1] == -1);
    A.fill.complex128[1] = 3;
    CHECK(pairs(&A, &y) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "its fill value is 1+3i, not 1+0i"));
    sparsec_free_tensor(&A);
    /* Halves are what kernels round to. */
    const sparsec_half tenth = sparsec_float_to_half(0.1f);
    spec.type = SPARSEC_HALF;
    spec.fill = &tenth;
    CHECK(!sparsec_pack(&A, &spec, dims, 0, coords, pair) && !halves(&A, &y));
    A.fill.half++;
    CHECK(halves(&A, &y) == SPARSEC_BAD_ARGUMENT);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&y);
    /* Of a block with one element the others are the fill. */
    const sparsec_level_spec blocks[] = {{SPARSEC_COMPRESSED, 0, 0}, {SPARSEC_DENSE, 0, 1}};
    const sparsec_spec blocked = {"B", SPARSEC_INT64, 2, 32, blocks, &far};
    int64_t both[] = {6, 3}, place[] = {4, 1};
    CHECK(!sparsec_pack(&A, &blocked, both, 1, place, &seven) && A.vals_len == 3);
    const int64_t *vals = A.vals;
    CHECK(vals[0] == far && vals[1] == 7 && vals[2] == far);
    sparsec_free_tensor(&A);
    return 0;
}
"#;

/// A matrix of 4 by 6 by diagonals and in slots: what callers give, and what is refused.
const REARRANGED: &str = r#"
int main(void) {
    const double five[] = {5, 7};
    const double x[] = {1, 10, 100, 1000, 10000, 100000};
    sparsec_tensor A = {0}, X = {0}, y = {0};
    const int64_t length[] = {6}, at[] = {0, 1, 2, 3, 4, 5};
    const sparsec_level_spec row[] = {{SPARSEC_DENSE, 0, 0}};
    const sparsec_spec vector = {"x", SPARSEC_FLOAT64, 1, 32, row, NULL};
    CHECK(!sparsec_pack(&X, &vector, length, 6, at, x));
    /* Given by their coordinates: (1,4) is on the diagonal 4 - 1 + 4 - 1, (3,0) on the lowest one. */
    const sparsec_level_spec across[] = {{SPARSEC_COMPRESSED, 0, SPARSEC_DIAGONALS(0) | 1}, {SPARSEC_DENSE, 0, 0}};
    const sparsec_spec diagonals = {"A", SPARSEC_FLOAT64, 2, 32, across, NULL};
    const int64_t sides[] = {4, 6};
    int64_t on[] = {1, 4, 3, 0};
    CHECK(!sparsec_pack(&A, &diagonals, sides, 2, on, five) && A.vals_len == 8);
    const int32_t *crd = A.levels[0].crd;
    CHECK(crd[0] == 0 && crd[1] == 6 && !banded(&A, &X, &y));
    const double *sums = y.vals;
    CHECK(sums[0] == 0 && sums[1] == 50000 && sums[2] == 0 && sums[3] == 7);
    /* There are nine of them. */
    ((int32_t *)A.levels[0].crd)[1] = 9;
    CHECK(banded(&A, &X, &y) == SPARSEC_BAD_ARGUMENT);
    sparsec_free_tensor(&A);
    on[1] = 6;
    CHECK(sparsec_pack(&A, &diagonals, sides, 2, on, five) == SPARSEC_BAD_ARGUMENT);
    /* Two slots, of which rows fill one, two or none. */
    const sparsec_level_spec slots[] = {{SPARSEC_DENSE, 0, 2}, {SPARSEC_DENSE, 0, 0}, {SPARSEC_SINGLETON, 0, 1}};
    const sparsec_spec padded = {"A", SPARSEC_FLOAT64, 3, 32, slots, NULL};
    const int64_t numbered[] = {4, 6, 2}, in[] = {1, 4, 0, 1, 2, 1};
    CHECK(!sparsec_pack(&A, &padded, numbered, 2, in, five) && A.vals_len == 8);
    CHECK(!slotted(&A, &X, &y));
    sums = y.vals;
    CHECK(sums[0] == 0 && sums[1] == 50700 && sums[2] == 0 && sums[3] == 0);
    A.dims[2] = 3;
    CHECK(slotted(&A, &X, &y) == SPARSEC_BAD_ARGUMENT);
    A.dims[2] = 2;
    ((int32_t *)A.levels[2].crd)[1] = 6;
    CHECK(slotted(&A, &X, &y) == SPARSEC_BAD_ARGUMENT);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&X);
    sparsec_free_tensor(&y);
    return 0;
}
"#;

#[test]
fn rearranged_operands_are_as_callers_give_them() {
    let program = "def banded(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }
format banded { A: dia }
def slotted(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }
format slotted { A: ell }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, &format!("{COMMON}{REARRANGED}"));
}

const BLOCKS: &str = r#"
int main(void) {
    const double some[] = {5, 7, 9};
    sparsec_tensor A = {0}, B = {0}, D = {0};
    const sparsec_level_spec rows[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
    const sparsec_spec csr = {"A", SPARSEC_FLOAT64, 2, 32, rows, NULL};
    const int64_t sides[] = {5, 4}, at[] = {1, 3, 4, 0, 0, 2};
    CHECK(!sparsec_pack(&A, &csr, sides, 3, at, some));
    /* Two blocks of 2 times 2, of which the last one reaches beyond the last row. */
    for (int again = 0; again < 2; again++) {
        CHECK(!in_blocks(&A, &B) && B.order == 4 && B.vals_len == 8);
        CHECK(B.dims[0] == 5 && B.dims[1] == 4 && B.dims[2] == 2 && B.dims[3] == 2);
        CHECK(B.levels[0].mode == (SPARSEC_BLOCKS(2) | 0) && B.levels[1].mode == (SPARSEC_BLOCKS(2) | 1));
        const int32_t *pos = B.levels[1].pos, *crd = B.levels[1].crd;
        const double *vals = B.vals;
        CHECK(pos[0] == 0 && pos[1] == 1 && pos[2] == 1 && pos[3] == 2 && crd[0] == 1 && crd[1] == 0);
        CHECK(vals[0] == 9 && vals[1] == 0 && vals[2] == 0 && vals[3] == 5);
        CHECK(vals[4] == 7 && vals[5] == 0 && vals[6] == 0 && vals[7] == 0);
    }
    /* What it made it takes, with all that blocks have. */
    CHECK(!by_diagonals(&B, &D) && D.order == 2 && D.vals_len == 25);
    const int32_t *diagonals = D.levels[0].crd;
    const double *on = D.vals;
    CHECK(diagonals[0] == 0 && diagonals[1] == 1 && diagonals[3] == 6 && on[4] == 7 && on[15] == 9 && on[16] == 5);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&D);
    return 0;
}
"#;

#[test]
fn results_in_blocks_and_by_diagonals_are_as_operands_are() {
    let program = "def in_blocks(double(M,N) A) -> (B) { B(i,j) = A(i,j) }
format in_blocks { A: csr, B: bcsr(2,2) }
def by_diagonals(double(M,N) B) -> (D) { D(i,j) = B(i,j) }
format by_diagonals { B: bcsr(2,2), D: dia }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, &format!("{COMMON}{BLOCKS}"));
}

#[test]
fn fills_have_the_type_of_values() {
    let program = "def whole(int64(N) A) -> (y) { y min=! A(i) }
def pairs(complex128(N) A) -> (y) { y +=! A(i) }
def halves(half(N) A) -> (y) { y min=! A(i) }
format whole { A: sparse_vector fill 9007199254740993 }
format pairs { A: sparse_vector fill 1 }
format halves { A: sparse_vector fill 0.1 }
";
    let out = tempfile::tempdir().unwrap();
    call(out.path(), program, &format!("{COMMON}{FILLED}"));
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

const OTHERS: &str = r#"
static sparsec_tensor packed(int64_t m, int64_t n, double fill) {
    sparsec_level_spec levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
    int64_t dims[] = {m, n}, coordinates[2 * 81];
    double values[81];
    int64_t count = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i % 3; j < n; j += 3, count++) {
            coordinates[2 * count] = i;
            coordinates[2 * count + 1] = j;
            values[count] = (double)(i + j + 1);
        }
    sparsec_spec spec = {"packed", SPARSEC_FLOAT64, 2, 32, levels, &fill};
    sparsec_tensor t = {0};
    if (sparsec_pack(&t, &spec, dims, count, coordinates, values)) abort();
    return t;
}
int main(void) {
    /* What another function made with the same levels says what this one's result is. */
    sparsec_tensor A = packed(9, 8, 0), B = packed(8, 9, 0), C = {0}, D = {0};
    sparsec_tensor far = packed(9, 8, INFINITY), farther = packed(8, 9, INFINITY);
    CHECK(!scaled_far(&far, &C) && C.fill.float64 > 1e300);
    CHECK(!scaled(&A, &C) && C.fill.float64 == 0 && !scaled(&C, &D));
    CHECK(!noted_far(&far, &C) && !noted(&A, &C) && C.fill.float64 == 0);
    CHECK(!unordered(&A, &B, &C) && C.levels[1].flags);
    CHECK(!once(&A, &B, &C) && !C.levels[1].flags && !scaled(&C, &D));
    CHECK(!shortest(&far, &farther, &C) && C.fill.float64 > 1e300);
    CHECK(!once(&A, &B, &C) && C.fill.float64 == 0 && !scaled(&C, &D));
    void *pos = C.levels[1].pos;
    CHECK(!once(&A, &B, &C) && C.levels[1].pos == pos);
    /* Lists of coordinates ascend as one. */
    int32_t ends[] = {0, 3}, rows[] = {0, 0, 2}, columns[] = {1, 4, 0};
    double values[] = {1, 2, 3};
    int64_t dims[] = {3, 5};
    sparsec_level levels[] = {
        {.kind = SPARSEC_COMPRESSED, .flags = SPARSEC_NONUNIQUE, .mode = 0, .pos = ends, .pos_len = 2, .crd = rows, .crd_len = 3},
        {.kind = SPARSEC_SINGLETON, .mode = 1, .crd = columns, .crd_len = 3}};
    sparsec_tensor list = {.type = SPARSEC_FLOAT64, .order = 2, .index_bits = 32, .dims = dims, .levels = levels,
        .vals = values, .vals_len = 3};
    CHECK(!sums(&list, &D) && ((double *)D.vals)[0] == 3 && ((double *)D.vals)[2] == 3);
    columns[1] = 1;
    CHECK(sums(&list, &D) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "crd of level 1 is not sorted at 1"));
    columns[1] = 0;
    CHECK(sums(&list, &D) == SPARSEC_BAD_ARGUMENT);
    columns[1] = 4;
    rows[1] = 2;
    CHECK(sums(&list, &D) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "crd of level 1 is not sorted at 2"));
    /* An extent that no tensor has. */
    int64_t large = (int64_t)1 << 40;
    int32_t one[] = {0, 1}, at[] = {1};
    sparsec_level alone = {.kind = SPARSEC_COMPRESSED, .pos = one, .pos_len = 2, .crd = at, .crd_len = 1};
    sparsec_tensor a = {.type = SPARSEC_FLOAT64, .order = 1, .index_bits = 32, .dims = &large, .levels = &alone,
        .vals = values, .vals_len = 1};
    CHECK(product(&a, &a, &D) == SPARSEC_BAD_ARGUMENT);
    sparsec_tensor *all[] = {&A, &B, &C, &D, &far, &farther};
    for (int k = 0; k < 6; k++) sparsec_free_tensor(all[k]);
    return 0;
}
"#;

#[test]
fn results_say_what_they_are_whatever_they_were() {
    let program = "def scaled(double(M,N) A) -> (C) { C(i,j) = 2 * A(i,j) }
        format scaled { A: csr, C: csr }
        def scaled_far(double(M,N) A) -> (C) { C(i,j) = 2 * A(i,j) }
        format scaled_far { A: csr fill inf, C: csr fill inf }
        def noted(double(M,N) A) -> (C) { C(i,j) = 2 * A(i,j) }
        format noted { A: csr, C: {dense, bitmap} }
        def noted_far(double(M,N) A) -> (C) { C(i,j) = 2 * A(i,j) }
        format noted_far { A: csr fill inf, C: {dense, bitmap} fill inf }
        def unordered(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
        format unordered { A: csr, B: csr, C: {dense, compressed(unordered)} }
        def once(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
        format once { A: csr, B: csr, C: csr }
        schedule once for c { assemble(C, once) }
        def shortest(double(M,K) A, double(K,N) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }
        format shortest { A: csr fill inf, B: csr fill inf, C: csr fill inf }
        def sums(double(M,N) A) -> (y) { y(i) +=! A(i,j) }
        format sums { A: coo }
        def product(double(M) a, double(N) b) -> (y) { y(k) = a(k / N) * b(k % N) where k in 0:M*N }
        format product { a: sparse_vector, b: sparse_vector, y: sparse_vector }";
    let folder = tempfile::tempdir().unwrap();
    call(folder.path(), program, &format!("{COMMON}{OTHERS}"));
}

#[test]
fn shares_of_rows_are_a_partition() {
    let folder = tempfile::tempdir().unwrap();
    let program = "def twice(double(N) x) -> (y) { y(i) = 2 * x(i) }\n";
    call(folder.path(), program, &format!("{COMMON}{SHARES}"));
}

/// What `precompute` keeps of a sparse result is listed: the result stores what it stores without a schedule.
#[test]
fn named_rows_store_no_more() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus/named_rows.tc");
    let text = std::fs::read_to_string(&file).unwrap();
    let runs = text.lines().filter_map(|line| line.strip_prefix("# run: "));
    for arguments in runs {
        let stored = |plain: &[&str]| {
            let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
            sparsec.arg("run").arg(&file).args(arguments.split(' '));
            let output = sparsec.args(plain).output().unwrap();
            let lines = String::from_utf8(output.stdout).unwrap();
            let first = lines.lines().next().unwrap_or_default();
            assert!(first.contains(" stored"), "{arguments}: {lines}");
            first.to_string()
        };
        assert_eq!(stored(&[]), stored(&["--no-schedule"]), "{arguments}");
    }
}
