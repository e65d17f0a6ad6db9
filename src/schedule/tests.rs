//! What each command makes of a graph, and what it refuses.

use super::{Settings, Target, apply};
use crate::diagnostic::{Sources, render};
use crate::graph::{Graph, print};
use crate::program;
use crate::syntax;
use std::rc::Rc;

const SPMV: &str =
    "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) }\nformat f { A: csr }";
const GEMM: &str = "def f(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }";
const ADD: &str = "def f(double(M,N) A, double(M,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }\n\
    format f { A: csr, B: csr, C: csr }";
const TWO: &str = "def f(double(N) x) -> (y, z) { S1: y(i) = x(i)  S2: z(i) = y(i) * 2 }";
const MTTKRP: &str = "def f(double(I,K,L) B, double(K,J) C, double(L,J) D) -> (A) {\n\
    A(i,j) +=! B(i,k,l) * D(l,j) * C(k,j) }\nformat f { B: csf }";
const UNION: &str = "def f(double(M,N) A, double(M,N) B, double(N) x) -> (y) { y(i) = (A(i,j) + B(i,j)) * x(j) }\n\
    format f { A: csr, B: csr }";
/// A sum of a constant number of products.
const SHORT: &str =
    "def f(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) where k in 0:8 }";
/// What is read is converted.
const CONVERTED: &str =
    "def f(int(M,K) A, double(K) x) -> (y) { y(i) = A(i,k) * x(k) where k in 0:129 }";
/// A sum that does not begin at zero.
const LATE: &str =
    "def f(double(M,K) A, double(K) x) -> (y) { y(i) = A(i,k) * x(k) where k in 100:129 }";
/// A column whose number is a size.
const COLUMN: &str = "def f(double(M,N) A) -> (y) { y(i) = A(i,N-1) * 2 }";
/// Joined statements share all loops over what they read.
const BOTH: &str = "def f(double(M,K) A) -> (C, D) {\n\
    S1: C(i,k) = A(i,k) * 2 where k in 0:4  S2: D(i,k) = A(i,k) * 3 where k in 0:4 }";
const COUNTED: &str = "def f(int(R) pos, double(Z) val) -> (y) {\n\
    y(i) +=! val(p) where i in 0:R-1, p in pos(i):pos(i+1) }";
const CHAIN: &str = "def f(double(N) x) -> (t, y) {\n\
    S1: t(i) = x(i) * 2 where i in 0:8  S2: y(i) = t(7 - i) where i in 0:8 }";
/// The third statement needs the last row of what the first writes.
const THREE: &str = "def f(double(5,5) A) -> (C, D, E) {
  S1: C(i,j) = A(i,j) * 2
  S2: E(i,j) = A(i,j) * 3
  S3: D(i,j) = C(4,j) + A(i,j)
}";

/// Overlapping windows, read behind a test where they are staged.
const WINDOWS: &str = "def f(double(N) x) -> (y) { y(i) = x(i + k) where k in 0:3 }";

/// The elements of y are appended, and set up before they are added to.
const SET_UP: &str =
    "def f(double(J,I,K) T, double(I,L,K,J) U) -> (y) { y(k,j) min=! T(j,i,k) * U(i,l,k,j) }
format f { U: {dense, compressed, dense, dense}, y: {compressed, dense} order (1,0) }";

const APPENDED: &str = "def f(double(M,N) A, double(M,N) B) -> (C, y) {
  S1: C(i,j) = A(i,j) + B(i,j)
  S2: y(i) = C(i,j)
}
format f { A: csr, B: csr, C: csr }";

/// Which elements are read is checked before the loops.
const DECIDED: &str = "def f(int(M,N) A, double(K) x) -> (c, y) {
  S1: c(i) +=! A(i,j)
  S2: y(i) +=! x(p) where p in 0:c(i)
}";

/// Whether a row of C is there is known only when it is complete.
const APPENDED_ROWS: &str = "def f(double(M,N) A, double(M,N) B) -> (C, y) {
  S1: C(i,j) = A(i,j) + B(i,j)
  S2: y(i) = C(i,j)
}
format f { A: dcsr, B: dcsr, C: dcsr }";

/// The third statement needs the first row of what the first writes.
const FIRST: &str = "def f(double(5,5) A) -> (C, D, E) {
  S1: C(i,j) = A(i,j) * 2
  S2: E(i,j) = A(i,j) * 3
  S3: D(i,j) = C(0,j) + A(i,j)
}";

/// The third statement overwrites what the second reads in its last iteration.
const LAST: &str = "def f(double(5,5) A) -> (C, D) {
  S1: C(i,j) = A(i,j) * 2
  S2: D(i,j) = C(4,j) + A(i,j)
  S3: C(i,j) = A(i,j) * 3
}";

const FCRELU: &str = "def f(double(B,M) I, double(N,M) W) -> (O) {\n\
    S1: O(b,n) +=! I(b,m) * W(n,m)  S2: O(b,n) = fmaxf(O(b,n), 0) }";
const INNER: &str = "def f(double(N) a, double(N) b) -> (s) { s = a(i) * b(i) }\n\
    format f { a: sparse_vector, b: sparse_vector }";
const PART: &str = "def f(double(M,N) A) -> (y) { y = A(i,j) where j in 0:2 }\nformat f { A: csr }";
const TERMS: &str =
    "def f(double(M,N) A, double(M,N,K) B) -> (y) { y(k) = B(i,j,k) - A(i,j) where k in 0:4 }";
const SCALED: &str = "def f(double(M,N) A, double(N) x) -> (C) { C(i,j) = A(i,j) * x(j) }\n\
    format f { A: csr, C: csr }";
const FIBRES: &str = "def f(double(I,J,K) B, double(K) x) -> (y) { y(i) +=! B(i,j,k) * x(k) }\n\
    format f { B: csf }";
const ROOT: &str =
    "def f(double(M,N) A) -> (y) { y(i) = sqrt(A(i,j) * A(i,j)) }\nformat f { A: csr }";

/// The graph after the commands, or the diagnostics.
fn after(program: &str, commands: &str) -> String {
    after_for(Target::C, program, commands)
}

fn after_for(target: Target, program: &str, commands: &str) -> String {
    let mut sources = Sources::default();
    let file = sources.add("f.tc", program);
    let script = sources.add("f.sched", commands);
    let result = syntax::parse(file, program)
        .and_then(|ast| program::resolve(&[ast], &program::Options::default()))
        .and_then(|resolved| Graph::build(&Rc::new(resolved.program.functions[0].clone())))
        .and_then(|graph| {
            let commands = syntax::parse_schedule(script, commands)?;
            let settings = Settings {
                defines: vec![],
                target,
            };
            apply(graph, &commands, &settings)
        });
    match result {
        Ok(graph) => print::print(&graph),
        Err(errors) => errors
            .iter()
            .map(|e| render::text(e, &sources, false))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

#[test]
fn accepted() {
    let cases = [
        (SPMV, ""),
        (SPMV, "split(i, i0, i1, 32)"),
        (SPMV, "let N = 4  split(j, j0, j1, N * 2)"),
        (
            SPMV,
            "split(i, a, b, 4) split(b, c, d, 3) parallelize(a, CPUThread, NoRaces)",
        ),
        (SPMV, "parallelize(i, CPUThread(dynamic, 8), NoRaces)"),
        (GEMM, ""),
        (GEMM, "reorder(i, k, j)"),
        (GEMM, "order(k, i, j)"),
        // A loop's tag is the innermost part's, or that of the loop it is fused into.
        (GEMM, "unroll(j, 4) split(j, j0, j1, 8)"),
        (GEMM, "unroll(j, 4) fuse(i, j, f)"),
        (UNION, "mergeby(j, gallop) split(j, j0, j1, 8)"),
        (
            SCALED,
            "assemble(C, append) assemble(C, once) split(i, i0, i1, 8)",
        ),
        (SPMV, "prefetch(A, i, 512) split(i, i0, i1, 8)"),
        (
            TWO,
            "prefetch(x, S1.i, 8) join(S1, S2, i) unroll(S2.i, 2) prefetch(y, S1.i, 4)",
        ),
        (GEMM, "split(k, k0, k1, 8) reorder(k0, i, j, k1)"),
        (ADD, "split(j, j0, j1, 8)"),
        (TWO, "split(S1.i, a, b, 4)"),
        (ROOT, "split(j, a, b, 4)"),
        (GEMM, "divide(i, a, b, 3)"),
        (GEMM, "fuse(i, j, f) split(f, a, b, 8)"),
        (GEMM, "tile(i, k, 4, 8)"),
        (
            GEMM,
            "bound(i, ib, 64, MaxExact) bound(ib, ic, 4, Multiple)",
        ),
        (GEMM, "unroll(j, 4)"),
        (GEMM, "parallelize(k, CPUThread, Temporary)"),
        (SPMV, "pos(j, p, A(i,j)) split(p, p0, p1, 16)"),
        (SPMV, "pos(j, p, A)"),
        (SPMV, "pos(j, p, A(i,j)) coord(p, c)"),
        (
            SPMV,
            "pos(j, p, A(i,j)) split(p, a, b, 8) coord(b, c) split(c, c0, c1, 4)",
        ),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 8) coord(b, c)",
        ),
        (
            SPMV,
            "split(j, a, b, 64) reorder(a, i, b) pos(b, p, A(i,j)) split(p, p0, p1, 4)",
        ),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 64) parallelize(a, CPUThread, Atomics)",
        ),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) parallelize(p, CPUThread, Atomics)",
        ),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 8) precompute(x(j) * A(i,j), b, c, w)",
        ),
        (SPMV, "precompute(x(j), j, jw, w)"),
        (SPMV, "parallelize(j, CPUVector, ParallelReduction)"),
        (
            MTTKRP,
            "reorder(i, k, l, j) precompute(B(i,k,l) * D(l,j), j, j, w)",
        ),
        (
            GEMM,
            "split(i, i0, i1, 4) split(j, j0, j1, 8) reorder(j0, i0, k, i1, j1) \
             precompute(B(k,j), {k, j1}, {k2, j2}, panel) \
             precompute(A(i,k) * panel(k,j1), {i1, j1}, {i1, j1}, tile)",
        ),
        (
            COUNTED,
            "bound(p, b, 8, MaxConstraint) split(b, p0, p1, 2) reorder(p0, i, p1)",
        ),
        (COUNTED, "inspect(p, u) reorder(p, i)"),
        (INNER, "mergeby(i, two_finger)"),
        (INNER, "split(i, i0, i1, 8) mergeby(i1, gallop)"),
        (
            SPMV,
            "split(j, j0, j1, 4) reorder(j1, j0) precompute(A(i,j) * x(j), j1, lane, w)",
        ),
        (
            SCALED,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 64) parallelize(a, CPUThread, NoRaces)",
        ),
        (
            FCRELU,
            "join(S1, S2, b, n) parallelize(b, CPUThread, NoRaces)",
        ),
        (FIRST, "join(S2, S3, i) join(S1, S2, i)"),
        (APPENDED, "join(S1, S2, i)"),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 64) starts(a, inside) starts(a, Before)",
        ),
        (
            GEMM,
            "tile(i, j, 4, 4) split(k, k0, k1, 8) reorder(i_o, j_o, k0, i_i, j_i, k1) \
             promote(A, shared, k0) promote(B, shared, k0)",
        ),
        (COLUMN, "split(i, i0, i1, 4) promote(A, local, i0)"),
        (BOTH, "join(S1, S2, i, k) promote(A, local, i)"),
    ];
    let text: Vec<String> = cases
        .iter()
        .map(|(program, commands)| format!("{commands}\n{}", after(program, commands)))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn refused() {
    let cases = [
        (SPMV, "frobnicate(i)"),
        (SPMV, "fuse(i, j, f)"),
        (SPMV, "split(i, i0, i1)"),
        (SPMV, "split(i, i0, i1, 0)"),
        (SPMV, "split(i, i0, i1, 2.5)"),
        (SPMV, "split(i, i0, i1, N0)"),
        (SPMV, "split(k, k0, k1, 2)"),
        (SPMV, "split(i, j, i1, 2)"),
        (SPMV, "split(i, a, b, 2) split(i, c, d, 2)"),
        (SPMV, "split({i, j}, a, b, 2)"),
        (SPMV, "let N0 = 4 let N0 = 5"),
        (SPMV, "param N0 in {1, 2} = 3"),
        (SPMV, "reorder(j, i)"),
        (SPMV, "reorder(i)"),
        (SPMV, "reorder(i, i)"),
        (SPMV, "parallelize(j, CPUThread, NoRaces)"),
        (SPMV, "parallelize(i, CPUThread, Atomics)"),
        (SPMV, "parallelize(i, CPUVector, NoRaces)"),
        (SPMV, "parallelize(i, GPUBlock, NoRaces)"),
        (SPMV, "parallelize(i, CPUThread(static, 0), NoRaces)"),
        (SPMV, "parallelize(i, CPUThread, NoRaces) split(i, a, b, 2)"),
        (ADD, "parallelize(i, CPUThread, NoRaces)"),
        (ADD, "reorder(j, i)"),
        (ADD, "split(i, a, b, 2) reorder(b, a)"),
        (TWO, "split(i, a, b, 2)"),
        (TWO, "reorder(S1.i, S2.i)"),
        (ROOT, "reorder(j, i)"),
        (SPMV, "divide(i, a, b, 0)"),
        (SPMV, "fuse(j, i, f)"),
        (SPMV, "pos(j, p, A(i,j)) fuse(i, p, f)"),
        (SPMV, "pos(j, p, B(i,j))"),
        (SPMV, "pos(i, p, x(j))"),
        (SPMV, "pos(j, p, A(i,j)) pos(p, q, A(i,j))"),
        (SPMV, "split(j, a, b, 2) pos(a, p, A(i,j))"),
        (SPMV, "split(j, a, b, 2) pos(b, p, A(i,j)) reorder(p, a)"),
        (SPMV, "split(j, a, b, 2) reorder(b, a) pos(b, p, A(i,j))"),
        (SPMV, "pos(j, p, A(i,j)) split(p, a, b, 2) reorder(a, i)"),
        (SPMV, "coord(j, c)"),
        (SPMV, "pos(j, p, A(i,j)) split(p, a, b, 8) coord(a, c)"),
        (
            SPMV,
            "pos(j, p, A(i,j)) split(p, a, b, 8) coord(b, c) reorder(c, a)",
        ),
        (
            SPMV,
            "pos(j, p, A(i,j)) split(p, a, b, 8) coord(b, c) reorder(c, i)",
        ),
        (
            SPMV,
            "pos(j, p, A(i,j)) split(p, a, b, 8) reorder(b, a) coord(b, c)",
        ),
        (UNION, "pos(j, p, A(i,j))"),
        (SPMV, "bound(i, b, 3, Largest)"),
        (SPMV, "split(i, a, b, 8) bound(b, c, 4, MaxExact)"),
        (SPMV, "unroll(j)"),
        (SPMV, "unroll(i, 100000)"),
        (SPMV, "precompute(A(j,i), j, jw, w)"),
        (SPMV, "precompute(x(j), {j}, {a, b}, w)"),
        (SPMV, "precompute(x(j), j, jw, A)"),
        (SPMV, "pos(j, p, A(i,j)) precompute(A(i,j), p, q, w)"),
        (GEMM, "precompute(A(i,k), i, iw, w)"),
        (SPMV, "tile(i, j, 4)"),
        (SPMV, "parallelize(i, CPUVector, Atomics)"),
        (
            GEMM,
            "parallelize(i, CPUThread, NoRaces) parallelize(k, CPUThread, Atomics)",
        ),
        (ADD, "fuse(i, j, f)"),
        (SPMV, "inspect(j, u)"),
        (COUNTED, "reorder(p, i)"),
        (CHAIN, "join(S1, S2, i)"),
        (TWO, "join(S2, S1, i)"),
        (TWO, "join(S1, S3, i)"),
        (TWO, "unroll(S1.i, 2) unroll(S2.i, 4) join(S1, S2, i)"),
        (FCRELU, "split(S1.b, a, c, 2) join(S1, S2, b)"),
        (APPENDED_ROWS, "join(S1, S2, i)"),
        (
            APPENDED,
            "join(S1, S2, i) parallelize(i, CPUThread, NoRaces)",
        ),
        (DECIDED, "join(S1, S2, i)"),
        (FCRELU, "join(S1, S2, b) join(S1, S2, b)"),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 8) \
             parallelize(a, CPUThread, Atomics) starts(a, before)",
        ),
        (SET_UP, "pos(j, p, T(j,i,k))"),
        (
            WINDOWS,
            "split(i, i0, i1, 8) promote(x, shared, i0) split(i1_x_tile, a, b, 2) promote(x, local, a)",
        ),
        (THREE, "join(S1, S2, i) join(S2, S3, i)"),
        (THREE, "join(S1, S2, i) fuse(S1.i, S1.j, f)"),
        (THREE, "join(S2, S3, i) join(S1, S2, i)"),
        (LAST, "join(S2, S3, i) split(S2.i, a, b, 3) reorder(b, a)"),
        (
            FIRST,
            "join(S1, S2, i) join(S2, S3, i) parallelize(S1.i, CPUThread, Atomics)",
        ),
        (PART, "fuse(i, j, f) pos(f, p, A(i,j))"),
        (TERMS, "fuse(i, j, f) pos(f, p, B(i,j,k))"),
        (SPMV, "mergeby(j, gallop)"),
        (INNER, "mergeby(i, sometimes)"),
        (SPMV, "promote(A, shared, i)"),
        (
            SHORT,
            "split(i, i0, i1, 4) precompute(A(i,k) * B(k,j), j, jw, w) promote(A, local, i0)",
        ),
        (SHORT, "split(j, j0, k_A_tile, 4) promote(A, local, i)"),
        (CONVERTED, "promote(A, local, i)"),
        (LATE, "promote(A, local, i)"),
        (SPMV, "assemble(y, once)"),
        (SCALED, "assemble(C, two_phase)"),
        (SCALED, "assemble(A, once)"),
        (SCALED, "assemble(C, sometimes)"),
        (ADD, "assemble(C, once)"),
        (SPMV, "starts(i, before)"),
        (
            SPMV,
            "pos(j, p, A(i,j)) split(p, a, b, 8) starts(a, before)",
        ),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 8) starts(b, before)",
        ),
        (
            SPMV,
            "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 8) starts(a, sometimes)",
        ),
        (
            FIBRES,
            "fuse(j, k, f) pos(f, p, B(i,j,k)) split(p, a, b, 8) starts(a, before)",
        ),
        (SPMV, "prefetch(A, i)"),
        (SPMV, "prefetch(A, i, 0)"),
        (SPMV, "prefetch(y, i, 512)"),
        (
            SPMV,
            "parallelize(i, CPUThread, NoRaces) prefetch(A, i, 512)",
        ),
    ];
    let text: Vec<String> = cases
        .iter()
        .map(|(program, commands)| format!("{commands}\n{}\n", after(program, commands)))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}

/// What only CPUs have.
#[test]
fn refused_on_gpus() {
    let cases = [
        (APPENDED, "join(S1, S2, i)"),
        (SPMV, "prefetch(A, i, 512)"),
        (SCALED, "assemble(C, once)"),
        (SPMV, "parallelize(i, CPUThread, NoRaces)"),
    ];
    let text: Vec<String> = cases
        .iter()
        .map(|(program, commands)| {
            let after = after_for(Target::Cuda, program, commands);
            format!("{commands}\n{after}\n")
        })
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}
