//! Where elements are read: shifts, strides, gathers, ranges.

use crate::support::{attempt, dense, judged, matrix, sample, whole};
use sparsec::reference::EvalError;

#[test]
fn subscripts_shift_gather_and_follow_data() {
    let x = dense(&[5], &[1.0, 2.0, 4.0, 8.0, 16.0]);
    let sums = judged(
        "def f(double(N) x, double(K) w) -> (y) { y(i) = x(i + k) * w(k) }",
        &[("x", x.clone()), ("w", dense(&[2], &[1.0, 10.0]))],
    );
    assert_eq!(sums, [21.0, 42.0, 84.0, 168.0]);
    let gathered = judged(
        "def f(double(N) x, int(K) I) -> (y) { y(i) = x(I(i)) }",
        &[("x", x.clone()), ("I", whole(&[4, 0, 0]))],
    );
    assert_eq!(gathered, [16.0, 1.0, 1.0]);
    let rows = judged(
        "def f(double(N) x, int(K) pos) -> (y) {
           y(i) +=! x(p) where i in 0:K-1, p in pos(i):pos(i+1)
         }",
        &[("x", x), ("pos", whole(&[0, 2, 2, 5]))],
    );
    assert_eq!(rows, [3.0, 0.0, 28.0]);
}

#[test]
fn ranges_are_half_open() {
    let x = dense(&[5], &[1.0, 2.0, 4.0, 8.0, 16.0]);
    for (range, want) in [("0:5", 31.0), ("1:3", 6.0), ("3:3", 0.0), ("4:2", 0.0)] {
        let program = format!("def f(double(N) x) -> (y) {{ y +=! x(i) where i in {range} }}");
        assert_eq!(judged(&program, &[("x", x.clone())]), [want], "{range}");
    }
}

#[test]
fn strides_and_windows() {
    let x = dense(&[6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let pooled = judged(
        "def f(double(N) x) -> (y) { y(i) max=! x(2*i + k) where i in 0:3, k in 0:2 }",
        &[("x", x.clone())],
    );
    assert_eq!(pooled, [2.0, 4.0, 6.0]);
    let reversed = judged(
        "def f(double(N) x) -> (y) { y(i) = x(N - 1 - i) where i in 0:N }",
        &[("x", x)],
    );
    assert_eq!(reversed, [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
}

#[test]
fn variables_and_extents_are_numbers() {
    let y = judged(
        "def f(double(N) x) -> (y) { y(i) = x(i) * i + x.0 }",
        &[("x", dense(&[3], &[1.0, 1.0, 2.0]))],
    );
    assert_eq!(y, [3.0, 4.0, 7.0]);
}

#[test]
fn sparse_operands_shift() {
    // Rows 1 and 2 of [[5, ., 7], [., ., .], [., 2, .]].
    let y = judged(
        "def f(double(M,N) A, double(N) x) -> (y) {
           y(i) = A(i+1,j) * x(j) where i in 0:2
         } format f { A: csr }",
        &[("A", sample()), ("x", dense(&[3], &[1.0, 10.0, 100.0]))],
    );
    assert_eq!(y, [0.0, 20.0]);
    // Diagonals of a shifted matrix: A(i, i+1).
    let above = judged(
        "def f(double(N,N) A) -> (y) { y(i) = A(i,i+1) where i in 0:2 } format f { A: csr }",
        &[(
            "A",
            matrix([3, 3], &[(0, 1, 3.0), (1, 1, 9.0), (1, 2, 4.0)]),
        )],
    );
    assert_eq!(above, [3.0, 4.0]);
}

#[test]
fn sparse_operands_are_gathered_from() {
    let y = judged(
        "def f(double(M,N) A, int(K) I, double(N) x) -> (y) { y(i) = A(I(i),j) * x(j) }
         format f { A: csr }",
        &[
            ("A", sample()),
            ("I", whole(&[2, 0, 2, 1])),
            ("x", dense(&[3], &[1.0, 10.0, 100.0])),
        ],
    );
    assert_eq!(y, [20.0, 705.0, 20.0, 0.0]);
}

#[test]
fn a_range_of_the_left_side_limits_sparse_operands() {
    let y = judged(
        "def f(double(M,N) A, double(N) x) -> (y) {
           y(i) +=! A(i,j) * x(j) where j in 1:3
         } format f { A: csr }",
        &[("A", sample()), ("x", dense(&[3], &[1.0, 10.0, 100.0]))],
    );
    assert_eq!(y, [700.0, 0.0, 20.0]);
}

#[test]
fn a_gather_outside_is_an_error() {
    let program = "def f(double(N) x, int(K) I) -> (y) { y(i) = x(I(i)) }";
    let x = dense(&[2], &[1.0, 2.0]);
    for place in [-1, 2] {
        let got = attempt(program, &[("x", x.clone()), ("I", whole(&[0, place]))]);
        let want = EvalError::OutOfRange {
            tensor: "x".into(),
            value: place.into(),
            extent: 2,
        };
        assert_eq!(got.unwrap_err(), want);
    }
}

#[test]
fn data_decide_ranges() {
    // The lower triangle, by a bound that is a variable.
    let y = judged(
        "def f(double(N,N) A, int(N) n) -> (y) { y(i) +=! A(i,k) where i in 0:N, k in 0:n(i) }",
        &[
            ("A", dense(&[2, 2], &[1.0, 2.0, 3.0, 4.0])),
            ("n", whole(&[1, 2])),
        ],
    );
    assert_eq!(y, [1.0, 7.0]);
}
