//! Every operator and function, elementwise.

use crate::support::{dense, judged, matrix, typed, whole};
use sparsec::data::values::Number;
use sparsec::scalar::ScalarType;

#[test]
fn integers_wrap() {
    let x = typed(ScalarType::U8, &[200, 100].map(Number::Int));
    let y = judged(
        "def f(uint8(N) x) -> (y) { y(i) = x(i) + x(i) }",
        &[("x", x)],
    );
    assert_eq!(y, [144.0, 200.0]);
}

/// `y(i) = e` of two vectors `a` and `b`.
fn real(e: &str, a: &[f64], b: &[f64]) -> Vec<f64> {
    let program = format!("def f(double(N) a, double(N) b) -> (y) {{ y(i) = {e} }}");
    let (a, b) = (dense(&[a.len() as u64], a), dense(&[b.len() as u64], b));
    judged(&program, &[("a", a), ("b", b)])
}

/// The same of whole numbers.
fn integer(e: &str, a: &[i64], b: &[i64]) -> Vec<f64> {
    let program = format!("def f(int(N) a, int(N) b) -> (y) {{ y(i) = {e} }}");
    judged(&program, &[("a", whole(a)), ("b", whole(b))])
}

#[test]
fn arithmetic() {
    let (a, b) = ([6.0, -7.0], [4.0, 2.0]);
    for (e, want) in [
        ("a(i) + b(i)", [10.0, -5.0]),
        ("a(i) - b(i)", [2.0, -9.0]),
        ("a(i) * b(i)", [24.0, -14.0]),
        ("a(i) / b(i)", [1.5, -3.5]),
        ("a(i) % b(i)", [2.0, -1.0]),
        ("-a(i)", [-6.0, 7.0]),
        ("a(i) > 0.0 ? a(i) : b(i)", [6.0, 2.0]),
    ] {
        assert_eq!(real(e, &a, &b), want, "{e}");
    }
}

#[test]
fn comparisons_and_logic() {
    let (a, b) = ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]);
    for (e, want) in [
        ("a(i) < b(i)", [1.0, 0.0, 0.0]),
        ("a(i) <= b(i)", [1.0, 1.0, 0.0]),
        ("a(i) > b(i)", [0.0, 0.0, 1.0]),
        ("a(i) >= b(i)", [0.0, 1.0, 1.0]),
        ("a(i) == b(i)", [0.0, 1.0, 0.0]),
        ("a(i) != b(i)", [1.0, 0.0, 1.0]),
        ("a(i) < 3.0 && a(i) > 1.0", [0.0, 1.0, 0.0]),
        ("a(i) < 2.0 || a(i) > 2.0", [1.0, 0.0, 1.0]),
        ("!(a(i) == b(i))", [1.0, 0.0, 1.0]),
    ] {
        assert_eq!(real(e, &a, &b), want, "{e}");
    }
}

#[test]
fn nothing_compares_with_what_is_no_number() {
    let (a, b) = ([f64::NAN], [1.0]);
    for e in [
        "a(i) < b(i)",
        "a(i) <= b(i)",
        "a(i) > b(i)",
        "a(i) >= b(i)",
        "a(i) == b(i)",
        "a(i) == a(i)",
    ] {
        assert_eq!(real(e, &a, &b), [0.0], "{e}");
    }
    assert_eq!(real("a(i) != a(i)", &a, &b), [1.0]);
}

#[test]
fn functions() {
    let (a, b) = ([4.0, -2.5], [3.0, 2.0]);
    for (e, want) in [
        ("abs(a(i))", [4.0, 2.5]),
        ("min(a(i), b(i))", [3.0, -2.5]),
        ("max(a(i), b(i))", [4.0, 2.0]),
        ("floor(a(i))", [4.0, -3.0]),
        ("ceil(a(i))", [4.0, -2.0]),
        // Halves away from zero, as C's `round`.
        ("round(a(i))", [4.0, -3.0]),
        ("pow(a(i), b(i))", [64.0, 6.25]),
        ("fma(a(i), b(i), a(i))", [16.0, -7.5]),
        ("sqrt(abs(b(i) + 1.0) * 4.0)", [4.0, 12f64.sqrt()]),
    ] {
        assert_eq!(real(e, &a, &b), want, "{e}");
    }
    for (e, want) in [
        ("exp(a(i))", 1.0),
        ("expm1(a(i))", 0.0),
        ("log1p(a(i))", 0.0),
        ("log(b(i))", 0.0),
        ("sin(a(i))", 0.0),
        ("cos(a(i))", 1.0),
        ("tan(a(i))", 0.0),
        ("tanh(a(i))", 0.0),
        ("sigmoid(a(i))", 0.5),
    ] {
        assert_eq!(real(e, &[0.0], &[1.0]), [want], "{e}");
    }
}

#[test]
fn whole_numbers() {
    let (a, b) = ([7, -7, 7, -7], [2, 2, -2, -2]);
    assert_eq!(integer("a(i) / b(i)", &a, &b), [3.0, -3.0, -3.0, 3.0]);
    assert_eq!(integer("a(i) % b(i)", &a, &b), [1.0, -1.0, 1.0, -1.0]);
    assert_eq!(integer("min(a(i), b(i))", &a, &b), [2.0, -7.0, -2.0, -7.0]);
    assert_eq!(integer("max(a(i), b(i))", &a, &b), [7.0, 2.0, 7.0, -2.0]);
    assert_eq!(integer("abs(a(i))", &a, &b), [7.0; 4]);
    // By zero: 0, whatever is divided.
    assert_eq!(integer("a(i) / b(i)", &[5, 0], &[0, 0]), [0.0, 0.0]);
    assert_eq!(integer("a(i) % b(i)", &[5, 0], &[0, 0]), [0.0, 0.0]);
}

#[test]
fn reals_divide_by_zero() {
    let y = real("a(i) / b(i)", &[1.0, -1.0, 0.0], &[0.0; 3]);
    assert_eq!(y[..2], [f64::INFINITY, f64::NEG_INFINITY]);
    assert!(y[2].is_nan());
}

#[test]
fn what_is_absent_divides_to_nothing() {
    // Absent over zero is 0; a stored zero over zero is no number.
    let y = judged(
        "def f(double(M,N) A, double(N) x) -> (y) { y(i) = A(i,j) / x(j) } format f { A: csr }",
        &[
            ("A", matrix([2, 2], &[(0, 0, 6.0), (1, 1, 0.0)])),
            ("x", dense(&[2], &[2.0, 0.0])),
        ],
    );
    assert_eq!(y[0], 3.0);
    assert!(y[1].is_nan());
}

#[test]
fn the_ends_of_a_type_wrap() {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let low_real = f64::from(i32::MIN);
    assert_eq!(integer("a(i) + b(i)", &[high], &[1]), [low_real]);
    assert_eq!(integer("a(i) / b(i)", &[low], &[-1]), [low_real]);
    assert_eq!(integer("-a(i)", &[low], &[0]), [low_real]);
    assert_eq!(integer("a(i) * b(i)", &[65536], &[65536]), [0.0]);
}

#[test]
fn casts_convert_as_c_does() {
    assert_eq!(real("int(a(i))", &[2.9, -2.9], &[0.0; 2]), [2.0, -2.0]);
    let (large, largest) = (2f64.powi(63), 2f64.powi(64));
    assert_eq!(
        real("long(a(i))", &[1e300, large, -2.5, -1e300], &[0.0; 4]),
        [large, large, -2.0, -large]
    );
    assert_eq!(
        real("uint64(a(i))", &[1e300, large, -1.0, -1e300], &[0.0; 4]),
        [largest, large, largest, large]
    );
    assert_eq!(integer("int8(a(i))", &[200, -129], &[0; 2]), [-56.0, 127.0]);
    assert_eq!(integer("double(a(i)) / 2.0", &[7], &[0]), [3.5]);
    assert_eq!(real("bool(a(i))", &[0.5, 0.0], &[0.0; 2]), [1.0, 0.0]);
}

#[test]
fn types_meet_in_the_wider() {
    let y = judged(
        "def f(int(N) a, double(N) b) -> (y) { y(i) = a(i) / b(i) }",
        &[("a", whole(&[7])), ("b", dense(&[1], &[2.0]))],
    );
    assert_eq!(y, [3.5]);
    let x = typed(ScalarType::I8, &[100, -100].map(Number::Int));
    let y = judged(
        "def f(int8(N) x) -> (y) { y(i) = int(x(i)) * 2 }",
        &[("x", x)],
    );
    assert_eq!(y, [200.0, -200.0]);
}

#[test]
fn complex_numbers_multiply() {
    let z = |re: f64, im: f64| Number::Complex(num_complex::Complex::new(re, im));
    let x = typed(ScalarType::C128, &[z(1.0, 2.0), z(0.0, 1.0)]);
    let program = "def f(complex128(N) x) -> (y) { y(i) = x(i) * x(i) }";
    // (1 + 2i)^2 = -3 + 4i, i^2 = -1: the real parts.
    assert_eq!(judged(program, &[("x", x.clone())]), [-3.0, -1.0]);
    let size = judged(
        "def f(complex128(N) x) -> (y) { y(i) = abs(x(i) * x(i)) }",
        &[("x", x)],
    );
    assert_eq!(size, [5.0, 1.0]);
}
