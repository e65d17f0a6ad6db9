//! Memory of callers and of kernels that runs out: at every allocation in turn, and counts that
//! pass the width of an index.

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

/// Compiles the kernels and a caller of them with the sanitizers, and runs them.
fn call(folder: &Path, program: &str, caller: &str, flags: &[&str]) {
    let path = |name: &str| folder.join(name);
    std::fs::write(path("kernels.tc"), program).unwrap();
    std::fs::write(path("main.c"), caller).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    sparsec.args(["-W", "no-performance"]);
    run(sparsec.arg(path("kernels.tc")).arg("-o").arg(folder));
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-g", "-O1", "-fopenmp"]);
    cc.args(["-Wall", "-Wextra", "-Werror"]);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    cc.args(flags).arg("-o").arg(path("main"));
    run(cc.arg(path("main.c")).arg(path("kernels.c")).arg("-lm"));
    run(Command::new(path("main")).env("OMP_NUM_THREADS", "3"));
}

/// Results of every kind: appended, counted first (by one thread and by several), sorted as a
/// whole, with an operand's coordinates, dense, with workspaces, in several formats, several of
/// them.
const KERNELS: &str = "def add(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def add_counted(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def add_shared(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def add_once(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def turned_once(double(N,N) A, double(N,N) B) -> (C) { C(j,i) = A(i,j) + B(i,j) }
def mul_counted(double(N,N) A, double(N,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
def mul_shared(double(N,N) A, double(N,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
def mul(double(N,N) A, double(N,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
def transposed(double(N,N) A, double(N,N) B) -> (C) { C(j,i) = A(i,j) + B(i,j) }
def summed(double(N,N) A, double(N,N) B) -> (C) { C(j) +=! A(i,j) * B(i,j) }
def once(double(N,N) A) -> (C) { C(i,j) = A(i,j) * 3 }
def dense(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def some(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def elements(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def doubly(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
def total(double(N,N) A, double(N,N) B) -> (C) { C +=! A(i,j) * B(i,j) }
def update(double(N,N) A, double(N,N) C) -> (C) { C(i,j) += A(i,j) }
def update_rows(double(N,N) A, double(N,N) C) -> (C) { C(i,j) = A(i,j) * 2 where i in 3:50 }
def wide(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }
format wide { A: csr index 64, B: csr index 64, C: csr index 64 }
format add { A: csr, B: csr, C: csr }
format add_counted { A: csr, B: csr, C: csr }
format add_shared { A: csr, B: csr, C: csr }
format add_once { A: csr, B: csr, C: csr }
format turned_once { A: csr, B: csr, C: csr }
format mul_counted { A: csr, B: csr, C: csr }
format mul_shared { A: csr, B: csr, C: csr }
format mul { A: csr, B: csr, C: csr }
format transposed { A: csr, B: csr, C: csr }
format summed { A: csr, B: csr, C: sparse_vector }
format once { A: csr, C: csr }
format dense { A: csr, B: csr }
format some { A: csr, B: csr, C: {dense, bitmap} }
format elements { A: csr, B: csr, C: coo }
format doubly { A: csr, B: csr, C: dcsr }
format total { A: csr, B: csr }
format update { A: csr, C: csr }
format update_rows { A: csr, C: csr }
";

const FOR_CPUS: &str = "
schedule add for c { assemble(C, append) }
schedule add_counted for c { assemble(C, two_phase) }
schedule add_shared for c { parallelize(i, CPUThread, NoRaces) }
schedule add_once for c { assemble(C, once) parallelize(i, CPUThread, NoRaces) }
schedule turned_once for c { assemble(C, once) }
schedule mul_counted for c { assemble(C, two_phase) }
schedule mul_shared for c { parallelize(i, CPUThread, NoRaces) }
schedule wide for c { parallelize(i, CPUThread, NoRaces) }
schedule mul for c { assemble(C, append) }
schedule once for c { assemble(C, once) }
";

const FOR_GPUS: &str = "
schedule add_once for cuda {
  assemble(C, once) split(i, b, t, 32) parallelize(b, GPUBlock, NoRaces) parallelize(t, GPUThread, NoRaces)
}
schedule once for cuda { assemble(C, once) }
";

/// An allocator that counts what is alive, and fails once where it is told to.
const ALLOCATOR: &str = r#"
#define SPARSEC_IMPLEMENTATION
#include "kernels.h"
#include <stdatomic.h>
#define CHECK(cond) do { if (!(cond)) return fprintf(stderr, "line %d: %s: %s\n", __LINE__, name, sparsec_error()), 1; } while (0)
static atomic_int alive, calls, failing;
static void *resize(void *old, size_t size) {
    if (++calls == failing) return NULL;
    if (!old) alive++;
    void *own = malloc(size ? size : 1);
    if (old) {
        /* What was lent to the kernel is moved every time. */
        void *moved = realloc(old, size ? size : 1);
        free(own);
        return moved;
    }
    memset(own, 0x5a, size);
    return own;
}
static void release(void *old) {
    if (old) alive--;
    free(old);
}
static const sparsec_level_spec rows[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
static const sparsec_spec csr = {"A", SPARSEC_FLOAT64, 2, 32, rows, NULL};
typedef int kernel(const sparsec_tensor *, const sparsec_tensor *, sparsec_tensor *);
"#;

const EXHAUSTED: &str = r#"
static uint64_t state = 1;
static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}
static bool same_array(const void *a, int64_t an, const void *b, int64_t bn, size_t size) {
    return an == bn && (an == 0 || !memcmp(a, b, (size_t)an * size));
}
static bool same(const sparsec_tensor *a, const sparsec_tensor *b) {
    bool is = a->order == b->order && a->type == b->type &&
              same_array(a->dims, a->order, b->dims, b->order, 8);
    for (int l = 0; is && l < a->order; l++) {
        const sparsec_level *x = &a->levels[l], *y = &b->levels[l];
        const size_t size = x->kind == SPARSEC_BITMAP ? 1 : 4;
        is = x->kind == y->kind && same_array(x->pos, x->pos_len, y->pos, y->pos_len, 4) &&
             same_array(x->crd, x->crd_len, y->crd, y->crd_len, size);
    }
    if (!is || a->vals_len != b->vals_len) return false;
    for (int64_t k = 0; k < a->vals_len; k++) {
        const bool there = a->order != 2 || a->levels[1].kind != SPARSEC_BITMAP || ((uint8_t *)a->levels[1].crd)[k];
        if (there && ((double *)a->vals)[k] != ((double *)b->vals)[k]) return false;
    }
    return true;
}
enum { N = 70, STORED = 1200, MANY = 70000 };
static int64_t dims[] = {N, N}, coords[2 * MANY];
static double vals[MANY];
static int64_t packed = STORED;
static int pack(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    (void)A, (void)B;
    return sparsec_pack(C, &csr, dims, packed, coords, vals);
}
static int scaled(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C) {
    (void)B;
    return once(A, C);
}
static int make(sparsec_tensor *t, int64_t n) {
    for (int64_t k = 0; k < MANY; k++) {
        coords[2 * k] = below(N);
        coords[2 * k + 1] = below(N);
        vals[k] = (double)(1 + below(9));
    }
    return sparsec_pack(t, &csr, dims, n, coords, vals);
}
/* Calls a kernel that is refused each allocation in turn, with a result that is new or that of an earlier call;
   what is left is freed or used again. */
static int walk(const char *name, kernel *f, int64_t least) {
    sparsec_tensor A = {0}, B = {0}, few = {0}, none = {0}, A2 = {0}, B2 = {0}, want = {0}, other = {0};
    const int before = alive;
    int64_t failed = 0;
    failing = 0;
    packed = STORED;
    CHECK(!make(&few, 40) && !make(&none, 0) && !make(&A, STORED) && !make(&B, STORED));
    CHECK(!sparsec_pack(&B2, &csr, dims, STORED, coords, vals) && same(&B, &B2));
    CHECK(!f(&A, &B, &want) && !sparsec_check(&A, &csr));
    CHECK(!f(&few, &none, &other));
    for (int mode = 0; mode < 6; mode++) {
        for (int at = 1;; at++) {
            sparsec_tensor C = {0};
            int status, base = alive;
            if (mode % 3 == 1) CHECK(!f(&few, &none, &C));
            if (mode % 3 == 2) CHECK(!f(&A, &B, &C));
            calls = 0;
            failing = at;
            status = f(&A, &B, &C);
            failing = 0;
            if (calls < at) {
                CHECK(!status && same(&C, &want));
                sparsec_free_tensor(&C);
                CHECK(alive == base);
                break;
            }
            failed++;
            /* What is sorted in place without memory is right, too. */
            CHECK(status == SPARSEC_OUT_OF_MEMORY ? strstr(sparsec_error(), "memory") != NULL : !status && same(&C, &want));
            CHECK(same(&B, &B2));
            if (mode >= 3) {
                CHECK(!f(&few, &none, &C) && same(&C, &other));
                CHECK(!f(&A, &B, &C) && same(&C, &want));
            }
            sparsec_free_tensor(&C);
            CHECK(alive == base && !C.vals && !C.levels);
        }
    }
    CHECK(failed >= least);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&B2);
    sparsec_free_tensor(&few);
    sparsec_free_tensor(&none);
    sparsec_free_tensor(&A2);
    sparsec_free_tensor(&want);
    sparsec_free_tensor(&other);
    CHECK(alive == before);
    return 0;
}
/* Calls a kernel that replaces what its result has, which stays where it fails. */
static int renew(const char *name, int (*f)(const sparsec_tensor *, sparsec_tensor *), int64_t least) {
    sparsec_tensor A = {0}, old = {0}, want = {0};
    const int before = alive;
    failing = 0;
    packed = STORED;
    CHECK(!make(&A, STORED) && !make(&old, STORED) && !sparsec_pack(&want, &csr, dims, STORED, coords, vals));
    CHECK(same(&old, &want) && !f(&A, &want) && !same(&old, &want));
    for (int lent = 0; lent < 2; lent++) {
        for (int at = 1;; at++) {
            const int base = alive;
            sparsec_tensor C = {0};
            if (lent) {
                C = old;
                C.flags = 0;
            } else {
                CHECK(!sparsec_pack(&C, &csr, dims, STORED, coords, vals));
            }
            calls = 0;
            failing = at;
            const int status = f(&A, &C);
            failing = 0;
            const bool done = calls < at;
            CHECK(done ? !status && same(&C, &want) && C.flags == 1
                       : status == SPARSEC_OUT_OF_MEMORY && same(&C, &old) && C.flags == 1u - (uint32_t)lent);
            sparsec_free_tensor(&C);
            CHECK(alive == base);
            if (done) {
                CHECK(at > least);
                break;
            }
        }
    }
    /* The same tensor, or one that shares its arrays, is no operand beside it. */
    CHECK(f(&old, &old) == SPARSEC_BAD_ARGUMENT && strstr(sparsec_error(), "C: shares memory"));
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&old);
    sparsec_free_tensor(&want);
    CHECK(alive == before);
    return 0;
}
#define WALK(f, least) wrong |= walk(#f, f, least)
int main(void) {
    sparsec_set_allocator(resize, release);
    int wrong = 0;
    wrong |= renew("update", update, 5);
    wrong |= renew("update_rows", update_rows, 8);
    WALK(add, 20);
    WALK(add_counted, 20);
    WALK(add_shared, 20);
    WALK(add_once, 12);
    WALK(turned_once, 20);
    WALK(mul_counted, 20);
    WALK(mul_shared, 20);
    WALK(mul, 30);
    WALK(transposed, 20);
    WALK(summed, 6);
    WALK(scaled, 10);
    WALK(dense, 6);
    WALK(some, 6);
    WALK(elements, 20);
    WALK(doubly, 20);
    WALK(total, 6);
    WALK(pack, 30);
    /* By several threads. */
    for (int at = 1;; at++) {
        const char *name = "many";
        sparsec_tensor t = {0};
        const int base = alive;
        packed = MANY;
        calls = 0;
        failing = at;
        const int status = pack(NULL, NULL, &t);
        failing = 0;
        if (calls < at) {
            CHECK(!status && at > 8);
            sparsec_free_tensor(&t);
            break;
        }
        CHECK(status == SPARSEC_OUT_OF_MEMORY && alive == base && !t.vals && !t.levels);
    }
    /* A row for each thread, whose number of elements is 2^64. */
    const char *name = "wide";
    const int64_t small[] = {2, 2}, far[] = {2, (int64_t)1 << 60}, last[] = {0, far[1] - 1}, first[] = {0, 0};
    sparsec_spec wider = csr;
    sparsec_tensor A = {0}, B = {0}, C = {0};
    wider.index_bits = 64;
    CHECK(!sparsec_pack(&A, &wider, small, 1, first, vals) && !sparsec_pack(&B, &wider, far, 1, last, vals));
    omp_set_num_threads(16);
    CHECK(wide(&A, &B, &C) == SPARSEC_OUT_OF_MEMORY);
    sparsec_free_tensor(&A);
    sparsec_free_tensor(&B);
    sparsec_free_tensor(&C);
    return wrong;
}
"#;

#[test]
fn every_allocation_may_fail() {
    let out = tempfile::tempdir().unwrap();
    call(
        out.path(),
        &format!("{KERNELS}{FOR_CPUS}"),
        &format!("{ALLOCATOR}{EXHAUSTED}"),
        &[],
    );
}

/// Allocations on the device count among those of [`ALLOCATOR`], which is told of them by these.
const DEVICE: &str = r#"
#include "cuda_runtime.h"
extern "C" bool refused(void);
extern "C" void lent(int arrays);
cudaError_t counted_malloc(void **array, size_t bytes) {
    if (refused()) return cudaErrorMemoryAllocation;
    lent(1);
    return cudaMalloc(array, bytes);
}
cudaError_t counted_free(void *array) {
    if (array) lent(-1);
    return cudaFree(array);
}
"#;

const ON_DEVICE: &str = r#"
bool refused(void) { return ++calls == failing; }
void lent(int arrays) { alive += arrays; }
int main(void) {
    sparsec_set_allocator(resize, release);
    int wrong = 0;
    wrong |= renew("update", update, 8);
    WALK(add, 60);
    WALK(add_once, 60);
    WALK(mul, 60);
    WALK(transposed, 60);
    WALK(summed, 40);
    WALK(scaled, 40);
    WALK(dense, 40);
    WALK(some, 40);
    WALK(elements, 60);
    WALK(total, 40);
    return wrong;
}
"#;

/// As [`every_allocation_may_fail`], on the emulator of GPUs: those of the host and those of the device.
#[test]
fn every_allocation_of_a_device_may_fail() {
    let out = tempfile::tempdir().unwrap();
    let path = |name: &str| out.path().join(name);
    std::fs::write(path("kernels.tc"), [KERNELS, FOR_GPUS].concat()).unwrap();
    let (functions, _) = EXHAUSTED.split_once("int main(void)").unwrap();
    std::fs::write(path("main.c"), [ALLOCATOR, functions, ON_DEVICE].concat()).unwrap();
    std::fs::write(path("device.cpp"), DEVICE).unwrap();
    let mut sparsec = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    sparsec.args(["--target", "cuda", "-W", "no-performance"]);
    run(sparsec.arg(path("kernels.tc")).arg("-o").arg(out.path()));
    let compile = |args: &[&str]| {
        let mut command = Command::new(args[0]);
        run(command.current_dir(out.path()).args(&args[1..]));
    };
    let emulated = [
        "c++",
        "-std=c++17",
        "-O1",
        "-w",
        "-DSPARSEC_EMULATED",
        "-Iemulator",
        "-c",
    ];
    let counted = ["-DcudaMalloc=counted_malloc", "-DcudaFree=counted_free"];
    compile(&[&emulated[..], &counted, &["-x", "c++", "kernels.cu"]].concat());
    compile(&[&emulated[..], &["device.cpp", "emulator/emulator.cpp"]].concat());
    compile(&["cc", "-std=c11", "-O1", "-c", "main.c"]);
    let objects = ["main.o", "kernels.o", "device.o", "emulator.o"];
    compile(&[&["c++", "-o", "main"], &objects[..], &["-ldl", "-lpthread"]].concat());
    run(&mut Command::new(path("main")));
}

/// With indices that end at 100: results of as many elements are made, of more are refused, and so
/// are coordinates that do not fit.
const COUNTED: &str = r#"
static int64_t dims[] = {101, 101}, broad[] = {3, 102}, coords[2 * 101], spread[2 * 101];
static double vals[101];
/* What a kernel makes of elements at places apart. */
static int check(const char *name, kernel *f, bool fits) {
    for (int more = 0; more < 2; more++) {
        sparsec_tensor A = {0}, B = {0}, C = {0};
        const int64_t all = 100 + more, n = all / 2;
        CHECK(!sparsec_pack(&A, &csr, dims, n, coords, vals));
        CHECK(!sparsec_pack(&B, &csr, dims, all - n, spread, vals));
        const int status = f(&A, &B, &C);
        CHECK(status == (more && !fits ? SPARSEC_INDEX_OVERFLOW : SPARSEC_OK));
        if (status) CHECK(strstr(sparsec_error(), "index width"));
        else CHECK(fits || C.vals_len == all);
        sparsec_free_tensor(&A);
        sparsec_free_tensor(&B);
        sparsec_free_tensor(&C);
    }
    return 0;
}
static int product(const char *name, kernel *f) {
    /* A column by a row: as many elements as both have, multiplied. */
    for (int more = 0; more < 2; more++) {
        sparsec_tensor A = {0}, B = {0}, C = {0};
        int64_t column[2 * 101], row[2 * 101];
        for (int64_t k = 0; k < 101; k++) {
            column[2 * k] = k;
            column[2 * k + 1] = row[2 * k] = 0;
            row[2 * k + 1] = k;
        }
        CHECK(!sparsec_pack(&A, &csr, dims, 10, column, vals) && !sparsec_pack(&B, &csr, dims, 10 + more, row, vals));
        const int status = f(&A, &B, &C);
        CHECK(status == (more ? SPARSEC_INDEX_OVERFLOW : SPARSEC_OK));
        if (status) CHECK(strstr(sparsec_error(), "index width"));
        sparsec_free_tensor(&A);
        sparsec_free_tensor(&B);
        sparsec_free_tensor(&C);
    }
    return 0;
}
int main(void) {
    const char *name = "pack";
    sparsec_tensor t = {0};
    int wrong = 0;
    sparsec_set_allocator(resize, release);
    for (int64_t k = 0; k < 101; k++) {
        coords[2 * k] = spread[2 * k + 1] = k;
        coords[2 * k + 1] = 3;
        spread[2 * k] = 100;
        vals[k] = 1;
    }
    CHECK(!sparsec_pack(&t, &csr, dims, 100, coords, vals));
    CHECK(sparsec_pack(&t, &csr, dims, 101, coords, vals) == SPARSEC_INDEX_OVERFLOW && !t.vals);
    CHECK(sparsec_pack(&t, &csr, broad, 1, coords, vals) == SPARSEC_INDEX_OVERFLOW);
    CHECK(strstr(sparsec_error(), "A: coordinates of dimension 1, which has the extent 102, take 64 bits"));
    /* Extents whose product is no number. */
    const int64_t tall[] = {INT64_MAX / 4, 101};
    CHECK(sparsec_pack(&t, &csr, tall, 0, coords, vals) == SPARSEC_OUT_OF_MEMORY);
    const sparsec_level_spec both[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_BITMAP, 0, 1}};
    const sparsec_spec places = {"P", SPARSEC_FLOAT64, 2, 32, both, NULL};
    CHECK(sparsec_pack(&t, &places, tall, 0, coords, vals) == SPARSEC_BAD_ARGUMENT);
    CHECK(sparsec_shape_dense(&t, &places, tall) == SPARSEC_OUT_OF_MEMORY && !t.vals);
    wrong |= check("add", add, false);
    wrong |= check("add_counted", add_counted, false);
    wrong |= check("add_shared", add_shared, false);
    wrong |= check("elements", elements, false);
    wrong |= check("doubly", doubly, false);
    wrong |= check("dense", dense, true);
    wrong |= product("mul", mul);
    wrong |= product("mul_counted", mul_counted);
    wrong |= product("mul_shared", mul_shared);
    CHECK(alive == 0);
    return wrong;
}
"#;

#[test]
fn counts_that_no_index_holds_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let caller = format!("{ALLOCATOR}{COUNTED}");
    call(out.path(), KERNELS, &caller, &["-DSPARSEC_INDEX_MAX=100"]);
}
