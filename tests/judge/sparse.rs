//! What is absent, fill values, which elements sparse results store.

use crate::support::{dense, judged, matrix, outcome, sample};
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
