//! How far a kernel may differ, and what is found when it differs more.

use crate::support::{dense, outcome, sample};
use sparsec::reference::compare;
use sparsec::scalar::Literal;

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
    assert!(tolerance("double") < 1e-13);
    assert!((1e-7..1e-4).contains(&tolerance("float")));
    // Computed in float although the result is a double.
    let mixed = "def f(float(N) x, float(N) z) -> (y) { y(i) = double(x(i) + z(i)) }";
    let x = dense(&[1], &[0.5]);
    let mixed = outcome(mixed, &[("x", x.clone()), ("z", x)]).tolerance[0];
    assert!((1e-7..1e-4).contains(&mixed));
}
