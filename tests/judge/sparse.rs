//! What is absent, fill values, which elements sparse results store.

use crate::support::{attempt, dense, judged, matrix, outcome, sample, values};
use sparsec::data::{Coo, Tensor};
use sparsec::reference::compare;
use sparsec::scalar::Literal;

#[test]
fn a_fill_is_what_absent_elements_are() {
    let paths = judged(
        "def f(double(N,N) D) -> (P) { P(i,j) min=! D(i,k) + D(k,j) } format f { D: csr fill inf }",
        &[(
            "D",
            matrix([3, 3], &[(0, 1, 1.0), (1, 2, 4.0), (1, 1, 0.5)]),
        )],
    );
    let none = f64::INFINITY;
    assert_eq!(paths, [none, 1.5, 5.0, none, 1.0, 4.5, none, none, none]);
}

#[test]
fn a_sparse_result_may_store_zeros_but_must_not_lack_elements() {
    let program = "def f(double(M,N) A) -> (B) { B(i,j) = A(i,j) } format f { A: csr, B: csr }";
    let want = outcome(program, &[("A", sample())]);
    let more = matrix(
        [3, 3],
        &[(0, 0, 5.0), (0, 2, 7.0), (1, 1, 0.0), (2, 1, 2.0)],
    );
    assert_eq!(compare(&more, &want, Literal::ZERO), Ok(()));
    let fewer = matrix([3, 3], &[(0, 0, 5.0), (0, 2, 7.0)]);
    assert!(compare(&fewer, &want, Literal::ZERO).is_err());
}

/// Not stored.
const NONE: f64 = f64::NAN;

/// Equal, and absent where the other is.
fn same(got: &[f64], want: &[f64]) {
    let agree = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    assert!(
        got.len() == want.len() && got.iter().zip(want).all(agree),
        "{got:?} is not {want:?}"
    );
}

#[test]
fn a_union_stores_what_either_stores() {
    let sum = judged(
        "def f(double(M,N) A, double(M,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
         format f { A: csr, B: csr, C: csr }",
        &[
            ("A", matrix([2, 2], &[(0, 0, 1.0), (1, 1, 2.0)])),
            ("B", matrix([2, 2], &[(0, 1, 3.0), (1, 1, -2.0)])),
        ],
    );
    // A sum that happens to be zero is stored.
    same(&sum, &[1.0, 3.0, NONE, 0.0]);
}

#[test]
fn an_intersection_stores_what_both_store() {
    let product = judged(
        "def f(double(M,N) A, double(M,N) B) -> (C) { C(i,j) = A(i,j) * B(i,j) }
         format f { A: csr, B: csr, C: csr }",
        &[
            ("A", matrix([2, 2], &[(0, 0, 1.0), (1, 1, 2.0)])),
            ("B", matrix([2, 2], &[(0, 1, 3.0), (1, 1, -2.0)])),
        ],
    );
    same(&product, &[NONE, NONE, NONE, -4.0]);
}

#[test]
fn a_result_with_a_fill_of_its_own() {
    let nearest = judged(
        "def f(double(M,N) A, double(M,N) B) -> (C) { C(i,j) = min(A(i,j), B(i,j)) }
         format f { A: csr fill inf, B: csr fill inf, C: csr fill inf }",
        &[
            ("A", matrix([2, 2], &[(0, 0, 1.0), (1, 1, 2.0)])),
            ("B", matrix([2, 2], &[(0, 1, 3.0), (1, 1, -2.0)])),
        ],
    );
    same(&nearest, &[1.0, 3.0, NONE, -2.0]);
}

#[test]
fn a_fill_other_than_zero_takes_part_in_sums() {
    // [[5, 2, 7], [2, 2, 2], [2, 4, 2]]
    let a = matrix([3, 3], &[(0, 0, 5.0), (0, 2, 7.0), (2, 1, 4.0)]);
    let y = judged(
        "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) }
         format f { A: csr fill 2 }",
        &[("A", a), ("x", dense(&[3], &[1.0, 10.0, 100.0]))],
    );
    assert_eq!(y, [725.0, 222.0, 242.0]);
}

#[test]
fn infinities_meet_what_is_absent() {
    // Absent times infinity is nothing; a stored zero times infinity is no number.
    let x = dense(&[3], &[1.0, f64::INFINITY, 1.0]);
    let program =
        "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) } format f { A: csr }";
    let absent = matrix([1, 3], &[(0, 0, 2.0)]);
    assert_eq!(judged(program, &[("A", absent), ("x", x.clone())]), [2.0]);
    let stored = matrix([1, 3], &[(0, 0, 2.0), (0, 1, 0.0)]);
    assert!(judged(program, &[("A", stored), ("x", x)])[0].is_nan());
}

#[test]
fn repeated_coordinates_add() {
    let twice = matrix([2, 2], &[(0, 1, 1.0), (0, 1, 4.0)]);
    let y = judged(
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: coo }",
        &[("A", twice)],
    );
    assert_eq!(y, [5.0, 0.0]);
}

#[test]
fn a_function_that_keeps_zero_keeps_the_pattern() {
    let roots = judged(
        "def f(double(M,N) A) -> (B) { B(i,j) = sqrt(A(i,j)) } format f { A: csr, B: csr }",
        &[("A", matrix([2, 2], &[(0, 1, 9.0), (1, 0, 0.0)]))],
    );
    same(&roots, &[NONE, 3.0, 0.0, NONE]);
}

#[test]
fn a_transposed_copy() {
    let copy = judged(
        "def f(double(M,N) A) -> (B) { B(j,i) = A(i,j) } format f { A: csr, B: csr }",
        &[("A", sample())],
    );
    same(&copy, &[5.0, NONE, NONE, NONE, NONE, 2.0, 7.0, NONE, NONE]);
}

/// Elements are told apart in all of their dimensions, however many there are.
#[test]
fn elements_of_many_dimensions_are_told_apart() {
    for (order, extent) in [(31, 2), (32, 2), (33, 2), (40, 1 << 20), (128, 2)] {
        let join = |name: &str| -> String {
            let all: Vec<String> = (0..order).map(|mode| format!("{name}{mode}")).collect();
            all.join(",")
        };
        let (dims, vars) = (join("N"), join("i"));
        let levels = vec!["compressed"; order].join(", ");
        let program = format!(
            "def f(double({dims}) A, double({dims}) B) -> (s) {{ s +=! A({vars}) * B({vars}) }}\n\
             format f {{ A: {{{levels}}}, B: {{{levels}}} }}"
        );
        let tensor = |elements: &[(usize, f64)]| {
            // Each is at the origin but for one dimension.
            let coords = (0..order).map(|mode| {
                let at = elements.iter().map(|(one, _)| u64::from(*one == mode));
                at.collect()
            });
            Tensor::Sparse(Coo {
                dims: vec![extent; order],
                coords: coords.collect(),
                values: values(&elements.iter().map(|(_, x)| *x).collect::<Vec<_>>()),
            })
        };
        let last = order - 1;
        let a = tensor(&[(0, 3.0), (last, 5.0)]);
        let b = tensor(&[(last, 7.0), (last - 1, 11.0), (1, 13.0)]);
        assert_eq!(judged(&program, &[("A", a), ("B", b)]), [35.0], "{order}");
    }
}

#[test]
fn more_dimensions_than_are_looked_up_are_refused() {
    let order = 129;
    let all = |name: &str| (0..order).map(|n| format!("{name}{n}")).collect::<Vec<_>>();
    let (dims, vars) = (all("N").join(","), all("i").join(","));
    let levels = vec!["compressed"; order].join(", ");
    let program = format!(
        "def f(double({dims}) A) -> (s) {{ s +=! A({vars}) }} format f {{ A: {{{levels}}} }}"
    );
    let one = Tensor::Sparse(Coo {
        dims: vec![1; order],
        coords: vec![vec![0]; order],
        values: values(&[1.0]),
    });
    assert!(attempt(&program, &[("A", one)]).is_err());
}
