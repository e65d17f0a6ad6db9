//! What is too much, and that each code has a case.

use super::{outcome, outcome_with};
use crate::cases::Case;
use crate::diagnostic::codes::{format, program};
use crate::program::Options;

/// Each code has a case in `testdata/stages/program`, or a test of its own.
pub(super) fn check_codes(cases: &[Case]) {
    // Below, and in `sizes.rs`; E0231 and E0232 are warnings, mostly.
    let elsewhere = ["E0226", "E0230", "E0231", "E0232"];
    for code in program::ALL.iter().chain(format::ALL) {
        let said = format!("{}: ", code.id);
        let tested = cases.iter().any(|c| c.expected.starts_with(&said));
        let listed = elsewhere.contains(&code.id);
        assert!(tested || listed, "{} is untested", code.id);
    }
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
