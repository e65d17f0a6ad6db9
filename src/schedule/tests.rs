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
const ROOT: &str =
    "def f(double(M,N) A) -> (y) { y(i) = sqrt(A(i,j) * A(i,j)) }\nformat f { A: csr }";

/// The graph after the commands, or the diagnostics.
fn after(program: &str, commands: &str) -> String {
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
                target: Target::C,
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
        (GEMM, "split(k, k0, k1, 8) reorder(k0, i, j, k1)"),
        (ADD, "split(j, j0, j1, 8)"),
        (TWO, "split(S1.i, a, b, 4)"),
        (ROOT, "split(j, a, b, 4)"),
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
    ];
    let text: Vec<String> = cases
        .iter()
        .map(|(program, commands)| format!("{commands}\n{}\n", after(program, commands)))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}
