//! One program at least for each code, with what is said of it.

mod formats;

use super::{listing, outcome, outcome_with, refused};
use crate::diagnostic::codes::{format, program};
use crate::program::Options;

/// Named by the code that they are for; those of formats stand in a list of their own.
const REFUSALS: &[(&str, &str)] = &[
    (
        "E0201_misspelt",
        "def f(double alpha, double(N) x) -> (y) { y(i) = alhpa * x(i) }",
    ),
    (
        "E0201_member",
        "def f(double(N) x) -> (y) { y(i) = x(i) * S1.i }",
    ),
    (
        "E0202_function",
        "def f(double(N) x) -> (y) { y(i) = expp(x(i)) }",
    ),
    (
        "E0202_tensor",
        "def f(double(N) weights) -> (y) { y(i) = wieghts(i) }",
    ),
    (
        "E0203_parameter",
        "def f(double(N) x, double(M) x) -> (y) { y(i) = x(i) }",
    ),
    (
        "E0203_scalar_and_size",
        "def f(int N, double(N) x) -> (y) { y(i) = x(i) }",
    ),
    (
        "E0203_function",
        "def f(double x) -> (y) { y = x } def f(double x) -> (y) { y = x }",
    ),
    ("E0203_result", "def f(double x) -> (y, y) { y = x }"),
    (
        "E0203_range",
        "def f(double(N) x) -> (y) { y(i) = x(i) where i in 0:2, i in 0:3 }",
    ),
    (
        "E0203_label",
        "def f(double x) -> (y) { S1: y = x  S1: y += x }",
    ),
    (
        "E0228_type",
        "def f(int8(N) x) -> (y) { y(i) = 300 * x(i) + -128 }",
    ),
    ("E0204", "def f(dobule(N) x) -> (y) { y(i) = x(i) }"),
    ("E0205_few", "def f(double(M,N) A) -> (y) { y(i) = A(i) }"),
    ("E0205_none", "def f(double(M,N) A) -> (y) { y = A + 1 }"),
    (
        "E0205_scalar",
        "def f(double a, double(N) x) -> (y) { y(i) = a(i) * x(i) }",
    ),
    (
        "E0205_left",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j)  y(i,j) = A(i,j) }",
    ),
    (
        "E0205_extent",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) / A.2 }",
    ),
    (
        "E0206",
        "def f(double(N) x) -> (y) { y(i) = pow(x(i)) + max(x(i)) }",
    ),
    (
        "E0207_affine",
        "def f(double(N) x) -> (y) { y(i + 1) = x(i) }",
    ),
    (
        "E0207_constant",
        "def f(double(N) x) -> (y) { y(0) = x(i) }",
    ),
    (
        "E0207_diagonal",
        "def f(double(N) x) -> (y) { y(i,i) = x(i) }",
    ),
    ("E0207_size", "def f(double(N) x) -> (y) { y(N) = x(N) }"),
    (
        "E0208_square",
        "def f(double(N) x) -> (y) { y(i) = x(i * i) where i in 0:3 }",
    ),
    (
        "E0208_division",
        "def f(double(N) x) -> (y) { y(i) = x(i / 2) where i in 0:3 }",
    ),
    (
        "E0209_gather",
        "def f(double(N) p, double(M) x) -> (y) { y(i) = x(p(i)) }",
    ),
    (
        "E0209_bound",
        "def f(double(N) x) -> (y) { y(i) = x(i) where i in 0:1.5 }",
    ),
    (
        "E0210_compare",
        "def f(complex64(N) z) -> (m) { m(i) = z(i) < 1 ? 0 : z(i) % 2 }",
    ),
    ("E0210_max", "def f(complex64(N) z) -> (m) { m max=! z(i) }"),
    (
        "E0210_bool_sum",
        "def f(bool(N) z, bool(N) m) -> (m) { m(i) += z(i) }",
    ),
    ("E0210_or", "def f(int(N) z, int y) -> (y) { y ||= z(i) }"),
    (
        "E0210_half",
        "def f(double(N) x) -> (y) { y(i) = x(i) * half(x(i)) }",
    ),
    (
        "E0210_imaginary",
        "def f(complex64(N) z, double(N) y) -> (y) { y(i) = z(i) }",
    ),
    ("E0211", "def f() -> (y) { y = y * y }"),
    (
        "E0212",
        "def f(double(N) x) -> (y) { x(i) = 2 * x(i)  y(i) = x(i) }",
    ),
    ("E0213", "def f(double(N) x) -> (y, z) { y(i) = x(i) }"),
    ("E0213_nothing", "def f(double(N) x) -> () { y(i) = x(i) }"),
    (
        "E0214",
        "def f(double(M,N) A) -> (y) { t(i) += A(i,j)  y(i) = t(i) }",
    ),
    (
        "E0214_partly",
        "def f(double(N) x) -> (y) { t(i) = x(i) where i in 1:N  y(i) = t(i) }",
    ),
    (
        "E0215_transposition",
        "def f(double(N,N) a) -> (a) { a(i,j) = a(j,i) }",
    ),
    (
        "E0215_row",
        "def f(float(B,N) O, float(N,N) W) -> (O) { O(b,n) = O(b,m) * W(n,m) }",
    ),
    (
        "E0216_pool",
        "def f(float(H) in) -> (out) { out(i) max=! in(2*i + k) }",
    ),
    ("E0216_conv", "def f(float(M) I) -> (O) { O(i) = I(i + x) }"),
    (
        "E0217_value",
        "def f(int(N) I) -> (y) { y(i,k) = I(i) + k }",
    ),
    (
        "E0216_misspelt",
        "def f(int stride, float(N) x) -> (y) { y(i) = x(i + strid) }",
    ),
    ("E0217_literal", "def f() -> (y) { y(i) = 0 }"),
    (
        "E0218",
        "def f(double(M) a, double(N) b) -> (y) { y(i) = a(i)  y(i) += b(i) }",
    ),
    (
        "E0219_before",
        "def f(double(N) x) -> (y) { y(i) = x(i + 1) - x(i - 1) }",
    ),
    ("E0219_constant", "def f(double(3) x) -> (y) { y = x(3) }"),
    (
        "E0219_where",
        "def f(double(4,N) x) -> (y) { y(j) = x(i,j) where i in 1:5 }",
    ),
    (
        "E0220_circle",
        "def f(int(N) a, double(M) v) -> (y) {
        y +=! v(p) * v(q) where p in a(q):a(q+1), q in a(p):a(p+1) }",
    ),
    (
        "E0220_left",
        "def f(int(N) a, double(M) v, double(M) y) -> (y) {
        y(p) = v(p) * a(q) where p in 0:a(q) }",
    ),
    (
        "E0221",
        "def f(double(N) x) -> (y) { y = g(x) } def g(double(N) x) -> (y) { y = f(x) }",
    ),
    (
        "E0222_count",
        "def g(double a, double(N) x) -> (y) { y(i) = a * x(i) }
        def f(double(N) x) -> (z) { z = g(x) }",
    ),
    (
        "E0210_sum",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) > 2 }",
    ),
    (
        "E0222_number",
        "def g(uint8(N) x, uint8 k) -> (y) { y(i) = x(i) * k } def f(uint8(N) x) -> (y) { (y) = g(x, 300) }",
    ),
    (
        "E0222_fraction",
        "def g(uint8(N) x, uint8 k) -> (y) { y(i) = x(i) * k } def h(uint8(N) x, double k) -> (y) { (y) = g(x, k) } def f(uint8(N) x) -> (y) { (y) = h(x, -1.5) }",
    ),
    (
        "E0222_bool",
        "def g(bool(N) x, bool k) -> (y) { y(i) = x(i) && k } def f(bool(N) x) -> (y) { (y) = g(x, 2) }",
    ),
    (
        "E0228_int",
        "def f(int(N) x) -> (y) { y(i) = x(i) + 3000000000 }",
    ),
    (
        "E0222_results",
        "def g(double(N) x) -> (y) { y(i) = x(i) }
        def f(double(N) x) -> (a, b) { (a, b) = g(x) }",
    ),
    (
        "E0222_order",
        "def g(double(M,N) x) -> (y) { y(i) = x(i,j) }
        def f(double(N) x) -> (z) { z = g(x) }",
    ),
    (
        "E0222_type",
        "def g(float(N) x) -> (y) { y(i) = x(i) }
        def f(double(N) x) -> (z) { z = g(x) }",
    ),
    (
        "E0222_size",
        "def g(double(N) x, double(N) y) -> (z) { z(i) = x(i) + y(i) }
        def f(double(M) x, double(N) y) -> (z) { z = g(x, y) }",
    ),
    (
        "E0222_expression",
        "def g(double(N) x) -> (y) { y(i) = x(i) }
        def f(double(N) x) -> (z) { z = g(2 * x) }",
    ),
    (
        "E0222_alias",
        "def g(double(N) x) -> (y) { y(i) = x(i) }
        def f(double(N) x) -> (x) { x = g(x) }",
    ),
    (
        "E0223",
        "def f(int(R) n, double(N) x) -> (y) { y(i,p) = x(p) where p in 0:n(i) }",
    ),
    (
        "E0224",
        "def f(double(N) x) -> (y) { y(i) = x(i) where k in 0:3 }",
    ),
    (
        "E0225_format",
        "def spmv(double(N) x) -> (y) { y(i) = x(i) } format spmm { x: csr }",
    ),
    (
        "E0225_schedule",
        "def spmv(double(N) x) -> (y) { y(i) = x(i) }
        schedule spmw { unroll(i, 2) }",
    ),
    ("E0225_call", "def f(double(N) x) -> (y) { (y) = g(x) }"),
    (
        "E0225_none",
        "format csr2 = (i,j) -> (i: dense, j: compressed)",
    ),
    (
        "E0227",
        "def g(double(N) x) -> (y) { y(i) = x(i) }
        def f(double(N) x) -> (z) { z(i) = 2 * g(x) }",
    ),
    (
        "E0208_sum",
        "def f(double(N) x, double j) -> (y) { y = sum(j, x(i)) }",
    ),
    (
        "E0233",
        "def f(double(M,N) A) -> (y) { y = square(sum(j, A(i,j))) }",
    ),
    (
        "E0228",
        "def f(double(N) x) -> (y) { y(i) = 10000000000000000000 * x(i) }",
    ),
];

fn refusals() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    REFUSALS.iter().chain(formats::REFUSALS)
}

#[test]
fn refused_programs() {
    for (name, text) in refusals() {
        let listing = refused(text);
        assert!(listing.contains(&name[..5]), "{name}:\n{listing}");
        insta::assert_snapshot!(*name, listing);
    }
}

/// Codes that need more than a source text have tests of their own below.
#[test]
fn every_code_has_a_refusal() {
    // E0231 is a warning, E0232 mostly.
    let elsewhere = ["E0226", "E0229", "E0230", "E0231", "E0232"];
    for code in program::ALL.iter().chain(format::ALL) {
        let tested = refusals().any(|(name, _)| name.starts_with(code.id));
        assert!(
            tested || elsewhere.contains(&code.id),
            "{} is untested",
            code.id
        );
    }
}

#[test]
fn several_errors_in_one_run() {
    let text = "def f(double(M,N) A, double(N) x) -> (y) {
                  t(i) = alpha * A(i,j)
                  y(i) = A(i) * xx(j)
                  z(i+1) = x(i)
                }";
    insta::assert_snapshot!(refused(text));
}

#[test]
fn sizes_that_do_not_exist() {
    let options = Options {
        sizes: vec![("K".to_owned(), 3)],
        ..Options::default()
    };
    let text = "def f(double(N) x) -> (y) { y(i) = x(i) }";
    let Err((sources, errors)) = outcome_with(text, &options) else {
        panic!("accepted");
    };
    insta::assert_snapshot!(listing(&sources, &errors));
}

#[test]
fn functions_that_do_not_exist() {
    let options = Options {
        def: Some("spvm".to_owned()),
        ..Options::default()
    };
    let text = "def spmv(double(N) x) -> (y) { y(i) = x(i) }";
    let Err((sources, errors)) = outcome_with(text, &options) else {
        panic!("accepted");
    };
    insta::assert_snapshot!(listing(&sources, &errors));
}

#[test]
fn deep_expressions_are_refused() {
    let text = format!(
        "def f(double(N) x) -> (y) {{ y(i) = x(i){} }}",
        " + x(i)".repeat(600)
    );
    let Err((_, errors)) = outcome(&text) else {
        panic!("accepted");
    };
    assert_eq!(errors[0].code, program::TOO_DEEP);
}

#[test]
fn large_expansions_are_refused() {
    let names: Vec<String> = (0..9).map(|n| format!("(a(i,j{n}) + b(i))")).collect();
    let text = format!(
        "def f(double(M,N) a, double(M) b) -> (y) {{ y(i) = {} }}",
        names.join(" * ")
    );
    let Err((_, errors)) = outcome(&text) else {
        panic!("accepted");
    };
    assert_eq!(errors[0].code, program::TOO_MANY_TERMS);
}

/// Each of `calls` functions calls the one before it twice.
fn doubling(calls: usize) -> String {
    let first = "def f0(double(N) x) -> (y) { y(i) = x(i) + 1 }\n".to_string();
    let others = (1..=calls).map(|k| {
        let before = k - 1;
        format!("def f{k}(double(N) x) -> (y) {{ t = f{before}(x) y = f{before}(t) }}\n")
    });
    first + &others.collect::<String>()
}

/// Inlined statements are counted, and what is too much is said once.
#[test]
fn calls_may_double() {
    let options = |last: usize| Options {
        def: Some(format!("f{last}")),
        ..Options::default()
    };
    let listing = outcome_with(&doubling(13), &options(13)).unwrap_or_default();
    assert_eq!(listing.matches("\n  S").count(), 1 << 13);
    let Err((_, errors)) = outcome_with(&doubling(14), &options(14)) else {
        panic!("accepted");
    };
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].code, program::TOO_DEEP);
}
