//! Updates, several statements, calls.

use crate::support::{dense, judged, matrix, sample, scalar};

#[test]
fn updates_keep_what_is_there() {
    let y = judged(
        "def f(double(M,N) A, double a) -> (y) { y(i) = a * y(i)  y(i) += A(i,j) }
         format f { A: csr }",
        &[
            ("A", sample()),
            ("a", dense(&[], &[2.0])),
            ("y", dense(&[3], &[1.0, 2.0, 3.0])),
        ],
    );
    assert_eq!(y, [14.0, 4.0, 8.0]);
}

#[test]
fn every_update() {
    let a = dense(&[2, 2], &[2.0, 3.0, -4.0, 5.0]);
    let y = dense(&[2], &[10.0, -20.0]);
    for (op, want) in [
        ("+=", [15.0, -19.0]),
        ("*=", [60.0, 400.0]),
        ("min=", [2.0, -20.0]),
        ("max=", [10.0, 5.0]),
    ] {
        let program = format!("def f(double(M,N) A) -> (y) {{ y(i) {op} A(i,j) }}");
        let inputs = [("A", a.clone()), ("y", y.clone())];
        assert_eq!(judged(&program, &inputs), want, "{op}");
    }
}

#[test]
fn statements_run_in_order() {
    let y = judged(
        "def f(double(M,K) A, double(K,N) B, double(N) x) -> (y) {
           t(k) = B(k,j) * x(j)
           y(i) = A(i,k) * t(k)
           y(i) = y(i) + 1.0
         } format f { A: csr, B: csr }",
        &[
            ("A", sample()),
            ("B", matrix([3, 3], &[(0, 0, 1.0), (2, 1, 3.0)])),
            ("x", dense(&[3], &[1.0, 2.0, 3.0])),
        ],
    );
    // t = [1, 0, 6]
    assert_eq!(y, [48.0, 1.0, 1.0]);
}

#[test]
fn the_right_side_is_read_before_anything_is_written() {
    let y = judged(
        "def f(double(N) x) -> (y) { y(i) = x(i)  y(i) = y(i) * y(i) + y(i) }",
        &[("x", dense(&[2], &[2.0, 3.0]))],
    );
    assert_eq!(y, [6.0, 12.0]);
}

#[test]
fn a_called_function_stands_for_its_body() {
    let y = judged(
        "def f(double(N) x) -> (y) { (t) = double_of(x)  y(i) = t(i) + 1.0 }
         def double_of(double(N) x) -> (y) { y(i) = 2.0 * x(i) }",
        &[("x", dense(&[2], &[2.0, 3.0]))],
    );
    assert_eq!(y, [5.0, 7.0]);
}

#[test]
fn general_matrix_product_in_place() {
    let c = judged(
        "def sgemm(double a, double b, double(N,M) A, double(M,K) B) -> (C) {
           C(i,j) = b * C(i,j)
           C(i,j) += a * A(i,k) * B(k,j)
         }",
        &[
            ("a", scalar(2.0)),
            ("b", scalar(10.0)),
            ("A", dense(&[1, 2], &[3.0, 4.0])),
            ("B", dense(&[2, 2], &[1.0, 2.0, 5.0, 6.0])),
            ("C", dense(&[1, 2], &[100.0, 200.0])),
        ],
    );
    assert_eq!(c, [1046.0, 2060.0]);
}
