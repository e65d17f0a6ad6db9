//! Sums of products, and reductions by every operator.

use crate::support::{dense, judged, matrix, sample, scalar, typed};
use sparsec::data::values::Number;
use sparsec::scalar::ScalarType;

#[test]
fn each_product_is_summed_by_itself() {
    let x = dense(&[3], &[1.0, 2.0, 3.0]);
    let z = dense(&[3], &[10.0, 20.0, 30.0]);
    for format in ["dense", "csr", "csc", "coo"] {
        let y = judged(
            &format!(
                "def f(double(M,N) A, double(N) x, double(M) z) -> (y) {{ y(i) = A(i,j)*x(j) + z(i) }}
                 format f {{ A: {format} }}"
            ),
            &[("A", sample()), ("x", x.clone()), ("z", z.clone())],
        );
        assert_eq!(y, [36.0, 20.0, 34.0], "{format}");
    }
}

#[test]
fn a_reduction_takes_the_whole_right_side() {
    let y = judged(
        "def f(double(M,N) A, double(M) z) -> (y) { y(i) +=! A(i,j) + z(i) }
         format f { A: csr }",
        &[("A", sample()), ("z", dense(&[3], &[10.0, 20.0, 30.0]))],
    );
    assert_eq!(y, [42.0, 60.0, 92.0]);
}

#[test]
fn absent_zeros_count() {
    let reduced = |op: &str| {
        judged(
            &format!("def f(double(M,N) A) -> (y) {{ y(i) {op} A(i,j) }} format f {{ A: csr }}"),
            &[(
                "A",
                matrix([3, 2], &[(0, 0, -4.0), (0, 1, -1.0), (1, 1, 3.0)]),
            )],
        )
    };
    assert_eq!(reduced("max=!"), [-1.0, 3.0, 0.0]);
    assert_eq!(reduced("min=!"), [-4.0, 0.0, 0.0]);
    assert_eq!(reduced("*=!"), [4.0, 0.0, 0.0]);
}

#[test]
fn functions_are_indivisible() {
    let y = judged(
        "def f(double(M,N) A) -> (y) { y(i) = sqrt(A(i,j)) } format f { A: csr }",
        &[("A", matrix([2, 2], &[(0, 0, 9.0), (0, 1, 16.0)]))],
    );
    assert_eq!(y, [7.0, 0.0]);
    let y = judged(
        "def f(double(M,N) A) -> (y) { y = sqrt(A(i,j) * A(i,j)) }",
        &[("A", dense(&[1, 2], &[3.0, 4.0]))],
    );
    assert_eq!(y, [7.0]);
}

#[test]
fn a_repeated_variable_is_a_diagonal() {
    let a = matrix([3, 3], &[(0, 0, 5.0), (0, 2, 7.0), (2, 2, 2.0)]);
    let diagonal = judged(
        "def f(double(N,N) A) -> (y) { y(i) = A(i,i) } format f { A: csr }",
        &[("A", a.clone())],
    );
    assert_eq!(diagonal, [5.0, 0.0, 2.0]);
    let trace = judged(
        "def f(double(N,N) A) -> (y) { y = A(i,i) } format f { A: coo }",
        &[("A", a)],
    );
    assert_eq!(trace, [7.0]);
}

#[test]
fn every_reduction() {
    let a = dense(&[2, 3], &[2.0, -3.0, 4.0, 1.0, 0.0, 5.0]);
    for (op, want) in [
        ("+=!", [3.0, 6.0]),
        ("*=!", [-24.0, 0.0]),
        ("min=!", [-3.0, 0.0]),
        ("max=!", [4.0, 5.0]),
    ] {
        let program = format!("def f(double(M,N) A) -> (y) {{ y(i) {op} A(i,j) }}");
        assert_eq!(judged(&program, &[("A", a.clone())]), want, "{op}");
    }
    for (op, want) in [("&&=!", [1.0, 0.0]), ("||=!", [1.0, 1.0])] {
        let program = format!("def f(double(M,N) A) -> (y) {{ y(i) {op} A(i,j) != 0.0 }}");
        assert_eq!(judged(&program, &[("A", a.clone())]), want, "{op}");
    }
}

#[test]
fn every_reduction_over_nothing() {
    let empty = dense(&[2, 0], &[]);
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    for (op, want) in [
        ("+=!", 0.0),
        ("*=!", 1.0),
        ("min=!", most),
        ("max=!", least),
    ] {
        let program = format!("def f(double(M,N) A) -> (y) {{ y(i) {op} A(i,j) }}");
        assert_eq!(judged(&program, &[("A", empty.clone())]), [want; 2], "{op}");
    }
    for (op, want) in [("&&=!", 1.0), ("||=!", 0.0)] {
        let program = format!("def f(double(M,N) A) -> (y) {{ y(i) {op} A(i,j) != 0.0 }}");
        assert_eq!(judged(&program, &[("A", empty.clone())]), [want; 2], "{op}");
    }
}

/// Operators of a program's own, by hand.
#[test]
fn operators_of_one_s_own() {
    let either = "op either(x, y) = x + y - x * y identity 0 annihilator 1 commutes\n";
    let least = "op least(x, y) = x < y ? x : y identity inf commutes\n";
    let odd = "op odd(x, y) = x != y identity 0 commutes\n";
    let a = dense(&[2, 3], &[0.5, 0.5, 0.5, 0.25, 0.0, 1.0]);
    let empty = dense(&[2, 0], &[]);
    for (declared, op, want, nothing) in [
        (either, "either=!", [0.875, 1.0], 0.0),
        (least, "least=!", [0.5, 0.0], f64::INFINITY),
    ] {
        let program = format!("{declared}def f(double(M,N) A) -> (y) {{ y(i) {op} A(i,j) }}");
        assert_eq!(judged(&program, &[("A", a.clone())]), want, "{op}");
        assert_eq!(
            judged(&program, &[("A", empty.clone())]),
            [nothing; 2],
            "{op}"
        );
    }
    let program = format!("{odd}def f(double(M,N) A) -> (y) {{ y(i) odd=! A(i,j) > 0.3 }}");
    assert_eq!(judged(&program, &[("A", a.clone())]), [1.0, 1.0]);
    // As a function, at values and into what is there.
    let program = format!(
        "{least}def f(double(M,N) A, double(M) y) -> (y) {{ y(i) least= least(2 * A(i,j), 0.75) }}"
    );
    let y = dense(&[2], &[0.6, -1.0]);
    assert_eq!(judged(&program, &[("A", a), ("y", y)]), [0.6, -1.0]);
    // What a reduction of whole numbers starts from.
    let program = format!("{least}def f(int8(N) x) -> (y) {{ y least=! x(i) }}");
    assert_eq!(
        judged(&program, &[("x", typed(ScalarType::I8, &[]))]),
        [127.0]
    );
}

#[test]
fn whole_numbers_reduce_over_nothing_to_their_ends() {
    for (ty, kind, least, most) in [
        ("int8", ScalarType::I8, -128.0, 127.0),
        ("uint8", ScalarType::U8, 0.0, 255.0),
        ("int16", ScalarType::I16, -32768.0, 32767.0),
        ("uint16", ScalarType::U16, 0.0, 65535.0),
        ("int32", ScalarType::I32, -2_147_483_648.0, 2_147_483_647.0),
        ("uint32", ScalarType::U32, 0.0, 4_294_967_295.0),
        ("int64", ScalarType::I64, -(2f64.powi(63)), 2f64.powi(63)),
        ("uint64", ScalarType::U64, 0.0, 2f64.powi(64)),
    ] {
        for (op, want) in [("min=!", most), ("max=!", least)] {
            let program = format!("def f({ty}(N) x) -> (y) {{ y {op} x(i) }}");
            assert_eq!(
                judged(&program, &[("x", typed(kind, &[]))]),
                [want],
                "{ty} {op}"
            );
        }
    }
}

#[test]
fn a_choice_of_the_least_skips_what_is_no_number() {
    let x = dense(&[3], &[f64::NAN, 2.0, 3.0]);
    let least = judged("def f(double(N) x) -> (y) { y min=! x(i) }", &[("x", x)]);
    assert_eq!(least, [2.0]);
}

#[test]
fn a_sum_stands_in_the_term_that_needs_it() {
    // 2 * (sum A*x + z): z once.
    let y = judged(
        "def f(double(M,N) A, double(N) x, double(M) z, double a) -> (y) {
           y(i) = a * (A(i,j)*x(j) + z(i))
         } format f { A: csr }",
        &[
            ("A", sample()),
            ("x", dense(&[3], &[1.0, 2.0, 3.0])),
            ("z", dense(&[3], &[10.0, 20.0, 30.0])),
            ("a", scalar(2.0)),
        ],
    );
    assert_eq!(y, [72.0, 40.0, 68.0]);
    // (A + B) * x is summed as a whole.
    let y = judged(
        "def f(double(M,N) A, double(M,N) B, double(N) x) -> (y) {
           y(i) = (A(i,j) + B(i,j)) * x(j)
         } format f { A: csr, B: csc }",
        &[
            ("A", sample()),
            ("B", matrix([3, 3], &[(0, 0, 1.0), (1, 1, 4.0)])),
            ("x", dense(&[3], &[1.0, 2.0, 3.0])),
        ],
    );
    assert_eq!(y, [27.0, 8.0, 4.0]);
}

#[test]
fn matrix_products() {
    let b = matrix(
        [3, 3],
        &[(0, 1, 1.0), (1, 0, 3.0), (2, 1, 10.0), (2, 2, 4.0)],
    );
    let product = judged(
        "def f(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }
         format f { A: csr, B: csr }",
        &[("A", sample()), ("B", b)],
    );
    assert_eq!(product, [0.0, 75.0, 28.0, 0.0, 0.0, 0.0, 6.0, 0.0, 0.0]);
}

#[test]
fn bools_add_to_whole_numbers() {
    let x = typed(ScalarType::Bool, &[1, 0, 1, 1].map(Number::Int));
    let count = judged("def f(bool(N) x) -> (y) { y = int(x(i)) }", &[("x", x)]);
    assert_eq!(count, [3.0]);
}
