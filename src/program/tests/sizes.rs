//! One size name means one size: what is unified, warned of and refused.

use super::outcome_with;
use crate::diagnostic::Severity;
use crate::diagnostic::codes::program as codes;
use crate::program::Options;

/// The codes of what is said of a program, errors marked.
fn said(text: &str, sizes: &[(&str, u64)]) -> Vec<String> {
    let options = Options {
        sizes: sizes.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        ..Options::default()
    };
    let file = crate::syntax::parse(crate::diagnostic::FileId(0), text).expect("a program");
    let found = match crate::program::resolve(&[file], &options) {
        Ok(resolved) => resolved.remarks,
        Err(errors) => errors,
    };
    let text = |d: &crate::diagnostic::Diagnostic| {
        let error = if d.severity == Severity::Error {
            "!"
        } else {
            ""
        };
        format!("{}{error}", d.code.id)
    };
    found.iter().map(text).collect()
}

fn listing(text: &str) -> String {
    outcome_with(text, &Options::default()).unwrap_or_default()
}

const SCALED: &str = "def f(double(M,N) A, double(N) x) -> (y) { y(i,j) = A(i,j) * x(i) }";
const MIRRORED: &str = "def f(double(M,N) A) -> (y) { y(i,j) = A(i,j) + A(j,i) }";
const BESIDE_32: &str = "def f(double(N) a, double(32) b) -> (y) { y(i) = a(i) * b(i) }";

#[test]
fn names_that_stand_once_are_one_size() {
    assert_eq!(said(MIRRORED, &[]), ["E0232"]);
    let text = listing(MIRRORED);
    assert!(text.contains("size N is M"), "{text}");
    assert!(text.contains("result y: double(M, M)"), "{text}");
    assert_eq!(said(MIRRORED, &[("N", 4)]), ["E0232"]);
    assert_eq!(said(MIRRORED, &[("M", 4), ("N", 4)]), ["E0232"]);
    assert_eq!(said(MIRRORED, &[("M", 4), ("N", 5)]), ["E0232!"]);
    // A chain, through a temporary whose shape follows from the first two.
    let chain = "def f(double(M) a, double(N) b, double(P) c) -> (y) {
                   t(i) = a(i) * b(i)
                   y(i) = t(i) * c(i)
                 }";
    assert_eq!(said(chain, &[]), ["E0232", "E0232"]);
    let text = listing(chain);
    assert!(text.contains("input c: double(M)"), "{text}");
    // Also in bounds that name them, and in what a called function is given.
    let named = "def f(double(M) a, double(N) b, double(L) c) -> (y) {
                   t(i) = a(i) * b(i)
                   y(k) = c(k) * t(i) where k in 0:N, i in 0:N
                 }";
    let text = listing(named);
    assert!(text.contains("k in 0:M"), "{text}");
}

#[test]
fn names_that_stand_elsewhere_are_ambiguous() {
    assert_eq!(said(SCALED, &[]), ["E0216!"]);
    let product = "def f(double(M,K) A, double(K,N) B) -> (y) { y(i,j) +=! A(i,k) * B(j,k) }";
    assert_eq!(said(product, &[]), ["E0216!"]);
    // Equal values do not tell that they are meant to be equal.
    assert_eq!(said(SCALED, &[("M", 4), ("N", 4)]), ["E0216!"]);
    let meant = SCALED.replace(" }", " where i in 0:M }");
    assert_eq!(said(&meant, &[]), [""; 0]);
    let through_temporary = "def f(double(M,N) A, double(N) x) -> (y) {
                               t(i) = A(i,j)
                               y(i) = t(i) * x(i)
                             }";
    assert_eq!(said(through_temporary, &[]), ["E0216!"]);
}

#[test]
fn constants_fix_names() {
    assert_eq!(said(BESIDE_32, &[]), [""; 0]);
    let text = listing(BESIDE_32);
    assert!(text.contains("size N is 32"), "{text}");
    assert!(text.contains("input a: double(32)"), "{text}");
    assert_eq!(said(BESIDE_32, &[("N", 32)]), [""; 0]);
    assert_eq!(said(BESIDE_32, &[("N", 16)]), ["E0232!"]);
    let two = "def f(double(16) a, double(32) b) -> (y) { y(i) = a(i) * b(i) }";
    assert_eq!(said(two, &[]), ["E0216!"]);
    let through_name = "def f(double(16) a, double(32) b, double(N) c) -> (y, z) {
                          y(i) = a(i) * c(i)
                          z(i) = b(i) * c(i)
                        }";
    assert_eq!(said(through_name, &[]), ["E0216!"]);
}

#[test]
fn sums_bound_with_a_warning() {
    let mixed = "def f(double(M) a, double(N) b) -> (y) { y(i) = a(i + 1) * b(i) }";
    assert_eq!(said(mixed, &[]), ["E0216"]);
    // With the sizes known, nothing is left to say.
    assert_eq!(said(mixed, &[("M", 4), ("N", 5)]), [""; 0]);
    let stencil = "def f(double(N) a) -> (y) { y(i) = a(i + 1) - a(i) }";
    assert_eq!(said(stencil, &[]), [""; 0]);
    let cropped = "def f(double(N) a, double(K) w) -> (y) {
                     t(i) +=! a(i + k) * w(k)
                     y(i) = t(i) + a(i)
                   }";
    assert_eq!(said(cropped, &[]), ["E0216"]);
}

/// A range that is the smaller of two dimensions is chosen in silence nowhere, be it by
/// extents that are known for these sizes.
#[test]
fn dimensions_of_computed_extents_are_compared() {
    let beside = "def f(double(N) x, double(K) w, double(M) u) -> (y) {
                    t(i) +=! x(i + k) * w(k)
                    y(i) = t(i) * u(i)
                  }";
    assert_eq!(said(beside, &[]), ["E0216"]);
    let smaller = [("N", 10), ("K", 3), ("M", 5)];
    assert_eq!(said(beside, &smaller), ["E0216"]);
    let meant = beside.replace("u(i)", "u(i) where i in 0:M");
    assert_eq!(said(&meant, &smaller), [""; 0]);
}

#[test]
fn a_call_that_needs_one_size_gets_one() {
    let two = "def g(double(N) x, double(N) y) -> (z) { z(i) = x(i) + y(i) }
               def f(double(M) x, double(N) y) -> (z) { z = g(x, y) }";
    assert_eq!(said(two, &[]), ["E0232"]);
    let text = listing(two);
    assert!(text.contains("size N is M"), "{text}");
    assert_eq!(said(two, &[("M", 4), ("N", 4)]), ["E0232"]);
    assert_eq!(said(two, &[("M", 4), ("N", 5)]), ["E0232!"]);
    let constant = two.replace("double(M) x, double(N)", "double(5) x, double(N)");
    assert_eq!(said(&constant, &[]), [""; 0]);
    let text = listing(&constant);
    assert!(text.contains("size N is 5"), "{text}");
    assert_eq!(said(&constant, &[("N", 4)]), ["E0232!"]);
    let mismatch = [format!("{}!", codes::CALL_MISMATCH.id)];
    let constants = two.replace("double(M) x, double(N)", "double(5) x, double(6)");
    assert_eq!(said(&constants, &[]), mismatch);
    // As an inlined statement, which would not say of which call it is.
    let elsewhere = two.replace("double(M) x", "double(M,N) A, double(M) x");
    assert_eq!(said(&elsewhere, &[]), mismatch);
    assert_eq!(said(&elsewhere, &[("M", 4), ("N", 5)]), mismatch);
}

/// What no subscript tells of sizes that a call makes equal is checked when the function is called.
#[test]
fn what_a_call_promises_is_required() {
    let ranged = "def g(double(N) x, double(N) y) -> (z) { z(i) = x(i) + y(i) where i in 0:N }
                  def f(double(M,N) A, double(M) x, double(N) y) -> (z, w) {
                    z = g(x, y)
                    w(i) = A(i,j)
                  }";
    assert_eq!(said(ranged, &[]), [""; 0]);
    let text = listing(ranged);
    let needs = "`g` needs dimension 0 of `y` to be dimension 0 of `x`";
    assert!(
        text.contains(&format!("requires N - M >= 0: {needs}")),
        "{text}"
    );
    assert!(
        text.contains(&format!("requires M - N >= 0: {needs}")),
        "{text}"
    );
    let mismatch = [format!("{}!", codes::CALL_MISMATCH.id)];
    assert_eq!(said(ranged, &[("M", 4), ("N", 5)]), mismatch);
    assert_eq!(said(ranged, &[("M", 4), ("N", 4)]), [""; 0]);
    let computed = "def g(double(N) x, double(N) y) -> (z) { z(i) = x(i) + y(i) where i in 0:N }
                    def f(double(N) x, double(K) w, double(M) u) -> (z) {
                      t(i) +=! x(i + k) * w(k)
                      z = g(t, u)
                    }";
    assert_eq!(said(computed, &[]), [""; 0]);
    let never = "def g(double(N) x, double(N) y) -> (z) { z(i) = x(i) + y(i) where i in 0:2 }
                 def f(double(N) x) -> (z) { t(i) = x(i + 1) z = g(t, x) }";
    assert_eq!(said(never, &[]), mismatch);
}
