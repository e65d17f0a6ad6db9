//! How far a kernel may differ, and what is found when it differs more.

use crate::support::{dense, outcome, sample, scalar, typed};
use num_complex::Complex;
use sparsec::data::Tensor;
use sparsec::data::values::Number;
use sparsec::reference::compare;
use sparsec::scalar::{Literal, ScalarType};

#[test]
fn differences_are_found() {
    let program =
        "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) * x(j) } format f { A: csr }";
    let inputs = [("A", sample()), ("x", dense(&[3], &[1.0, 2.0, 3.0]))];
    let want = outcome(program, &inputs);
    let judge = |list: &[f64]| compare(&dense(&[list.len() as u64], list), &want, Literal::ZERO);
    assert_eq!(judge(&[26.0, 0.0, 4.0]), Ok(()));
    assert_eq!(judge(&[26.0 + 1e-14, 0.0, 4.0]), Ok(()));
    let wrong = judge(&[26.0, 0.0, 4.001]).unwrap_err();
    assert_eq!((wrong.coordinate, wrong.wrong), (vec![2], 1));
    assert!(judge(&[26.0, 1e-9, 4.0]).is_err());
    assert!(judge(&[26.0, f64::NAN, 4.0]).is_err());
    assert!(judge(&[26.0, 0.0]).is_err());
}

#[test]
fn narrow_types_get_wide_tolerances() {
    let tolerance = |ty: &str| {
        let program = format!("def f({ty}(N) x, {ty}(N) z) -> (y) {{ y(i) = x(i) * z(i) }}");
        let x = dense(&[1], &[0.5]);
        outcome(&program, &[("x", x.clone()), ("z", x)]).tolerance[0]
    };
    // The product is 0.25: half a unit in the last place is 2.8e-17 and 1.5e-8.
    assert!((2.8e-17..1e-15).contains(&tolerance("double")));
    assert!((1.5e-8..1e-6).contains(&tolerance("float")));
    // Computed in float although the result is a double.
    let mixed = "def f(float(N) x, float(N) z) -> (y) { y(i) = double(x(i) + z(i)) }";
    let x = dense(&[1], &[0.5]);
    let mixed = outcome(mixed, &[("x", x.clone()), ("z", x)]).tolerance[0];
    assert!((6e-8..1e-6).contains(&mixed));
}

/// Whether a kernel may give `got` for `y(i) = e` of two vectors of type `ty`.
fn allowed(ty: &str, e: &str, a: f64, b: f64, got: f64) -> bool {
    let program = format!("def f({ty}(N) a, {ty}(N) b) -> (y) {{ y(i) = {e} }}");
    let kind = ScalarType::from_name(ty).unwrap();
    let data = |x: f64| typed(kind, &[Number::Real(x)]);
    let want = outcome(&program, &[("a", data(a)), ("b", data(b))]);
    compare(
        &typed(kind_of(&want.tensor), &[Number::Real(got)]),
        &want,
        Literal::ZERO,
    )
    .is_ok()
}

fn kind_of(tensor: &Tensor) -> ScalarType {
    match tensor {
        Tensor::Dense(dense) => dense.values.ty(),
        Tensor::Sparse(coo) => coo.values.ty(),
    }
}

#[test]
fn small_results_have_small_tolerances() {
    for e in ["a(i) * b(i)", "sin(a(i)) * b(i)", "a(i) / (1.0 / b(i))"] {
        assert!(allowed("double", e, 1e-20, 1e-20, 1e-40), "{e}");
        assert!(!allowed("double", e, 1e-20, 1e-20, 0.0), "{e}");
        assert!(!allowed("double", e, 1e-20, 1e-20, 1.001e-40), "{e}");
    }
    assert!(!allowed("float", "a(i) * b(i)", 1e-10, 1e-10, 0.0));
    let program = "def f(double(N) x, double(N) z) -> (y) { y = x(i) * z(i) }";
    let x = dense(&[2], &[1e-20, 1e-20]);
    let want = outcome(program, &[("x", x.clone()), ("z", x)]);
    assert!(compare(&scalar(0.0), &want, Literal::ZERO).is_err());
    assert!(compare(&scalar(2e-40), &want, Literal::ZERO).is_ok());
}

#[test]
fn what_cancels_may_differ_by_what_was_rounded() {
    // (a - b) * c, or a * c - b * c: each product is rounded at the size of 1e8 * c.
    let (a, b) = (1e8 + 0.1, 1e8);
    let distributed = a * 0.3 - b * 0.3;
    assert!(allowed("double", "(a(i) - b(i)) * 0.3", a, b, distributed));
    assert!(!allowed(
        "double",
        "(a(i) - b(i)) * 0.3",
        a,
        b,
        distributed * 1.001
    ));
    // One over what has cancelled is as uncertain as that.
    let e = "1.0 / (a(i) * 3.0 - b(i))";
    let third = 1.0 / 3.0;
    assert!(allowed(
        "double",
        e,
        third,
        1.0 - 1e-15,
        1.0 / (third * 3.0 - (1.0 - 1e-15)) * 1.2
    ));
    assert!(!allowed("double", e, third, 0.5, 2.001));
}

/// A product that overflows before it meets a zero is no number, and zero in another order.
#[test]
fn a_product_that_overflows_beside_a_zero_is_open() {
    let program = "def f(float(N) x) -> (y) { y *=! x(i) }";
    for x in [[1e30, 1e30, 0.0], [0.0, 1e30, 1e30]] {
        let open = outcome(program, &[("x", dense(&[3], &x))]).tolerance[0];
        assert!(open.is_infinite(), "{x:?}: {open}");
    }
    let grows = outcome(program, &[("x", dense(&[3], &[1e30, 1e30, 2.0]))]).tolerance[0];
    assert_eq!(grows, 0.0);
}

#[test]
fn an_operator_that_overflows_is_open() {
    let either = "op either(x, y) = x + y - x * y identity 0 commutes\n";
    let least = "op least(x, y) = x < y ? x : y identity inf commutes\n";
    let tolerance = |declared: &str, op: &str, x: &[f64]| {
        let program = format!("{declared}def f(float(N) x) -> (y) {{ y {op} x(i) }}");
        let x = dense(&[x.len() as u64], x);
        outcome(&program, &[("x", x)]).tolerance[0]
    };
    assert!(tolerance(either, "either=!", &[-1e30, 1e30, 3.0]).is_infinite());
    assert!((1e-7..1e-5).contains(&tolerance(either, "either=!", &[0.5, 0.25])));
    let infinite = f64::INFINITY;
    for x in [&[][..], &[infinite, infinite], &[infinite, 2.0]] {
        assert_eq!(tolerance(least, "least=!", x), 0.0, "{x:?}");
    }
}

#[test]
fn a_sum_may_be_added_to_what_is_there() {
    // y = z, then y += x(i) a thousand times: each step rounds at the size of z.
    let x = dense(&[1000], &[0.3; 1000]);
    let in_place = (0..1000).fold(1e15, |y: f64, _| y + 0.3);
    let program = "def f(double(N) x, double z) -> (y) { y = z + x(i) }";
    let want = outcome(program, &[("x", x.clone()), ("z", scalar(1e15))]);
    assert_eq!(compare(&scalar(in_place), &want, Literal::ZERO), Ok(()));
    let program = "def f(double(N) x) -> (y) { y += x(i) }";
    let want = outcome(program, &[("x", x), ("y", scalar(1e15))]);
    assert_eq!(compare(&scalar(in_place), &want, Literal::ZERO), Ok(()));
}

#[test]
fn a_jump_within_the_error_is_open() {
    let third = 1.0 / 3.0;
    for e in ["floor(a(i) * b(i))", "a(i) * b(i) >= 1.0 ? 1.0 : 0.0"] {
        for got in [0.0, 1.0] {
            assert!(allowed("double", e, third, 3.0, got), "{e}");
            assert_eq!(allowed("double", e, third, 3.1, got), got == 1.0, "{e}");
        }
        // A bound has the same width on both sides.
        assert!(!allowed("double", e, third, 3.0, 3.0), "{e}");
    }
    // What was only read is compared as it is.
    assert!(!allowed(
        "double",
        "a(i) >= b(i) ? 1.0 : 0.0",
        1.0,
        1.0,
        0.0
    ));
    assert!(!allowed(
        "double",
        "a(i) * b(i) > 0.0 ? 1.0 : 0.0",
        0.0,
        2.0,
        1.0
    ));
}

/// What a kernel may give for a complex number that is not finite.
#[test]
fn complex_infinities_are_neither_finite_nor_opposite() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let z = |(re, im)| typed(ScalarType::C128, &[Number::Complex(Complex::new(re, im))]);
    let program = "def f(complex128(N) x) -> (y) { y(i) = x(i) }";
    let same = |got, want| {
        let want = outcome(program, &[("x", z(want))]);
        compare(&z(got), &want, Literal::ZERO).is_ok()
    };
    for (got, want) in [
        ((nan, 0.0), (inf, 0.0)),
        ((-inf, 0.0), (inf, 0.0)),
        ((0.0, inf), (inf, 0.0)),
        ((inf, -inf), (inf, inf)),
        ((nan, inf), (inf, -inf)),
        ((1.0, 0.0), (inf, 0.0)),
        ((inf, 0.0), (1.0, 0.0)),
        ((nan, 0.0), (1.0, 0.0)),
        ((inf, 0.0), (0.0, nan)),
    ] {
        assert!(!same(got, want), "{got:?} for {want:?}");
    }
    for (got, want) in [
        ((inf, -inf), (inf, -inf)),
        ((nan, nan), (nan, nan)),
        // The root of an infinity, and a product of infinities.
        ((0.0, inf), (inf, inf)),
        ((-inf, nan), (nan, inf)),
        ((nan, nan), (nan, -inf)),
    ] {
        assert!(same(got, want), "{got:?} for {want:?}");
    }
}
