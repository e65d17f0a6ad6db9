//! The loops of small programs, and what lowering refuses.

use super::lower;
use crate::diagnostic::{Sources, render};
use crate::graph::Graph;
use crate::loops::{simplify, text};
use crate::schedule::{Settings, Target, apply};
use crate::{program, syntax};
use std::rc::Rc;

/// The loop IR of a program, or the diagnostics.
fn loops(text: &str, commands: &str) -> String {
    let mut sources = Sources::default();
    let file = sources.add("f.tc", text);
    let script = sources.add("f.sched", commands);
    let result = syntax::parse(file, text)
        .and_then(|ast| program::resolve(&[ast], &program::Options::default()))
        .and_then(|resolved| Graph::build(&Rc::new(resolved.program.functions[0].clone())))
        .and_then(|graph| {
            let commands = syntax::parse_schedule(script, commands)?;
            let settings = Settings {
                defines: vec![],
                target: Target::C,
            };
            apply(graph, &commands, &settings)
        })
        .and_then(|graph| lower(&graph));
    match result {
        Ok(lowered) => text::print(&simplify(lowered.kernel)),
        Err(errors) => errors
            .iter()
            .map(|e| render::text(e, &sources, false))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

macro_rules! snapshot {
    ($name:ident, $text:expr, $commands:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(loops($text, $commands));
        }
    };
}

snapshot!(
    one_sparse_level_is_walked,
    "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) }\nformat f { A: csr }",
    ""
);
snapshot!(
    an_intersection_has_one_point,
    "def f(double(N) a, double(N) b) -> (c) { c(i) = a(i) * b(i) }\n\
     format f { a: sparse_vector, b: sparse_vector, c: sparse_vector }",
    ""
);
snapshot!(
    a_union_has_three,
    "def f(double(N) a, double(N) b) -> (c) { c(i) = a(i) - b(i) }\n\
     format f { a: sparse_vector, b: sparse_vector, c: sparse_vector }",
    ""
);
snapshot!(
    a_dense_operand_of_a_sum_visits_everything,
    "def f(double(N) a, double(N) b) -> (c) { c(i) = a(i) + b(i) }\nformat f { a: sparse_vector }",
    ""
);
snapshot!(
    infinity_intersects_under_plus_and_min,
    "def f(double(N) a, double(N) b) -> (s) { s min=! a(i) + b(i) }\n\
     format f { a: sparse_vector fill inf, b: sparse_vector fill inf }",
    ""
);
snapshot!(
    infinity_is_neutral_among_whole_numbers_too,
    "def f(double(M,N) D, double(N) d, int(M) y, long(N) z) -> (y, z) {\n\
     y(i) min= D(i,j)  z(j) min= d(j) }\n\
     format f { D: dcsr fill inf, d: sparse_vector fill inf }",
    ""
);
snapshot!(
    whole_numbers_are_gathered_in_the_type_that_is_there,
    "def f(long(M,N) A, int8(N) y) -> (y) { y(j) max= A(i,j) }",
    "reorder(i, j) parallelize(i, CPUThread, Temporary)"
);
snapshot!(
    a_tile_of_a_sparse_dimension_starts_at_a_search,
    "def f(double(N) a, double(N) b) -> (s) { s = a(i) * b(i) }\n\
     format f { a: sparse_vector, b: sparse_vector }",
    "split(i, i0, i1, 4)"
);
snapshot!(
    nested_splits_bound_each_other,
    "def f(double(N) a) -> (b) { b(j) = a(j) }",
    "split(j, j0, j1, 4) split(j1, j2, j3, 3)"
);
snapshot!(
    repeated_coordinates_make_runs,
    "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) }\nformat f { A: coo }",
    ""
);
snapshot!(
    gathers_are_checked,
    "def f(double(N) x, int(K) I) -> (y) { y(k) = x(I(k)) }",
    ""
);
snapshot!(
    a_coiterated_loop_cannot_be_parallel,
    "def f(double(N) a, double(N) b) -> (c) { c(i) = a(i) * b(i) }\n\
     format f { a: sparse_vector, b: sparse_vector }",
    "parallelize(i, CPUThread, NoRaces)"
);
snapshot!(
    a_transposed_term_of_a_sparse_sum_is_refused,
    "def f(double(N,N) A) -> (C) { C(i,j) = A(i,j) + A(j,i) }\nformat f { A: csr, C: csr }",
    ""
);
const SPMV: &str =
    "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) }\nformat f { A: csr }";

snapshot!(
    a_result_with_the_pattern_of_an_operand_has_its_arrays_at_once,
    "def f(double(M,N) A, double(N) x) -> (C) { C(i,j) = A(i,j) * x(j) }\n\
     format f { A: csr, C: csr }",
    "split(i, a, b, 8) parallelize(a, CPUThread, NoRaces)"
);
snapshot!(
    partial_sums_are_kept_over_a_part_of_a_sum,
    SPMV,
    "pos(j, p, A(i,j)) split(p, p0, p1, 4) reorder(p1, p0) \
     precompute(A(i,j) * x(j), p1, lane, w) reorder(p0, lane)"
);
snapshot!(
    an_intersection_may_leap,
    "def f(double(N) a, double(N) b, double(N) c) -> (s) { s = a(i) * b(i) * c(i) }\n\
     format f { a: sparse_vector, b: sparse_vector, c: sparse_vector }",
    "mergeby(i, gallop)"
);
snapshot!(
    coordinates_that_are_there_are_not_made,
    "def f(double(M,N) A, double(N) x) -> (C) { C(i,j) = A(i,j) * x(j) }\n\
     format f { A: csr, C: csr }",
    "assemble(C, once)"
);
snapshot!(
    tiles_of_positions_end_at_coordinates,
    "def f(double(M,N) A, double(M,N) B) -> (y) { y(i) +=! A(i,j) * B(i,j) }\n\
     format f { A: csr, B: csr }",
    "pos(j, p, A(i,j)) split(p, a, b, 8) split(b, b0, b1, 4) coord(b1, c)"
);
snapshot!(
    positions_of_dense_levels_are_as_many_as_coordinates,
    "def f(double(M,12) A, double(12) x) -> (y) { y(i) +=! A(i,j) * x(j) }",
    "pos(j, p, A(i,j)) parallelize(p, CPUThread, Atomics)"
);
snapshot!(
    rows_of_tiles_are_found_before,
    SPMV,
    "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 64) split(b, c, d, 8) starts(a, before)"
);
snapshot!(
    rows_to_come_are_fetched,
    SPMV,
    "split(i, i0, i1, 32) prefetch(A, i1, 512)"
);
snapshot!(
    rows_behind_a_loop_are_not_fetched,
    SPMV,
    "split(i, i0, i1, 32) prefetch(A, i0, 512)"
);
snapshot!(
    lanes_do_not_fetch,
    SPMV,
    "pos(j, p, A(i,j)) prefetch(A, p, 512) parallelize(p, CPUVector, ParallelReduction)"
);
snapshot!(
    a_union_may_not_leap,
    "def f(double(N) a, double(N) b) -> (c) { c(i) = a(i) + b(i) }\n\
     format f { a: sparse_vector, b: sparse_vector }",
    "mergeby(i, gallop)"
);
snapshot!(
    tiles_of_positions_are_walked_row_by_row,
    SPMV,
    "fuse(i, j, f) pos(f, p, A(i,j)) split(p, a, b, 64) parallelize(a, CPUThread, Atomics)"
);
snapshot!(
    shared_positions_find_their_rows,
    SPMV,
    "fuse(i, j, f) pos(f, p, A(i,j)) parallelize(p, CPUThread, Temporary)"
);
snapshot!(
    tiles_of_a_row_are_windows,
    SPMV,
    "pos(j, p, A(i,j)) split(p, p0, p1, 16)"
);
snapshot!(
    fused_coordinates_fall_apart_again,
    "def f(double(M,N) A, double(M,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }\n\
     format f { A: csr, B: csr }",
    "fuse(i, j, f) split(f, a, b, 8)"
);
snapshot!(
    a_workspace_of_constant_size_is_an_array_of_its_block,
    "def f(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }\nformat f { A: csr }",
    "split(j, j0, j1, 8) reorder(i, j0, k, j1) precompute(A(i,k) * B(k,j), j1, j1, w) unroll(j1, 8)"
);
snapshot!(
    a_counted_loop_outside_its_range_is_left_where_that_is_known,
    "def f(int(R) len, double(R,K) val) -> (y) { y(i) +=! val(i,k) where k in 0:len(i) }",
    "inspect(k, u) reorder(k, i)"
);
snapshot!(
    joined_statements_share_a_loop,
    "def f(double(B,M) I, double(N,M) W) -> (O) {\n\
     S1: O(b,n) +=! I(b,m) * W(n,m)  S2: O(b,n) = fmaxf(O(b,n), 0) }",
    "join(S1, S2, b, n)"
);

/// Loops over fibres of B, which the sparse A follows.
const FIBRES: &str = "def f(double(I,J,K) B, double(K,L) C) -> (A) { A(i,j,l) = B(i,j,k) * C(k,l) }\n\
     format f { B: csf, A: {compressed, compressed, dense} }";
snapshot!(
    blocks_are_set_up_where_their_positions_are_known,
    FIBRES,
    ""
);
snapshot!(
    threads_set_up_the_blocks_of_their_iterations,
    FIBRES,
    "parallelize(i, CPUThread(static), NoRaces)"
);
snapshot!(
    blocks_that_several_iterations_add_to_are_set_up_before,
    FIBRES,
    "split(k, k0, k1, 8) reorder(k0, i, j, k1, l)"
);
snapshot!(
    blocks_at_counted_positions_are_set_up_before,
    FIBRES,
    "fuse(i, j, f) pos(f, p, B(i,j,k)) split(p, p0, p1, 8)"
);
snapshot!(
    blocks_of_joined_statements_are_set_up_before,
    "def f(double(I,J,K) B, double(K,L) C) -> (A, E) {\n\
     S1: A(i,j,l) = B(i,j,k) * C(k,l)  S2: E(i,j,l) = B(i,j,k) * C(k,l) * 2 }\n\
     format f { B: csf, A: {compressed, compressed, dense}, E: {compressed, compressed, dense} }",
    "join(S1, S2, i)"
);
snapshot!(
    blocks_that_threads_of_an_inner_loop_fill_are_set_up_before,
    FIBRES,
    "parallelize(l, CPUThread(static), NoRaces)"
);
