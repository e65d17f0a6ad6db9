//! Comparing a kernel's result with the judge's.

use super::Expected;
use crate::data::values::{Number, literal};
use crate::data::{Coo, Tensor};
use crate::scalar::Literal;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The element that is off the most.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("at ({}): {got}, but the reference says {want} (tolerance {tolerance:e}); {wrong} elements differ", 
    coordinate.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
pub struct Mismatch {
    pub coordinate: Vec<u64>,
    pub got: String,
    pub want: String,
    pub tolerance: f64,
    /// How many elements are off.
    pub wrong: usize,
}

/// Compares element by element; what one side does not store is `fill`. Integers must be
/// equal unless rounded numbers decided them, not-a-number equals itself, infinities must agree; of complex ones
/// what C says of them.
///
/// # Errors
/// The worst element.
pub fn compare(got: &Tensor, want: &Expected, fill: Literal) -> Result<(), Mismatch> {
    let mut worst: Option<(f64, Mismatch)> = None;
    let mut wrong = 0;
    let mut check = |coordinate: Vec<u64>, a: Number, b: Number, tolerance: f64| {
        let off = distance(a, b, tolerance);
        if off <= 1.0 {
            return;
        }
        wrong += 1;
        if worst.as_ref().is_none_or(|(w, _)| off > *w) {
            worst = Some((
                off,
                Mismatch {
                    coordinate,
                    got: show(a),
                    want: show(b),
                    tolerance,
                    wrong: 0,
                },
            ));
        }
    };
    if got.dims() != want.tensor.dims() {
        return Err(Mismatch {
            coordinate: vec![],
            got: format!("shape {:?}", got.dims()),
            want: format!("shape {:?}", want.tensor.dims()),
            tolerance: 0.0,
            wrong: 1,
        });
    }
    match (got, &want.tensor) {
        (Tensor::Dense(a), Tensor::Dense(b)) => {
            for at in 0..a.values.len().min(b.values.len()) {
                let tolerance = want.tolerance.get(at).copied().unwrap_or(0.0);
                let (x, y) = (a.values.get(at), b.values.get(at));
                if distance(x, y, tolerance) > 1.0 {
                    check(coordinate(at, &a.dims), x, y, tolerance);
                }
            }
        }
        (Tensor::Sparse(a), Tensor::Sparse(b)) => {
            let (ours, theirs) = (in_order(a), in_order(b));
            let of = |at: usize| want.tolerance.get(at).copied().unwrap_or(0.0);
            let (mut k, mut n) = (0, 0);
            loop {
                let order = match (ours.get(k), theirs.get(n)) {
                    (None, None) => break,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some(&x), Some(&y)) => along((a, x), (b, y)),
                };
                // What only one of them stores, the other has as the fill.
                let (x, (y, tolerance), at) = match order {
                    Ordering::Less => (a.values.get(ours[k]), (literal(fill), 0.0), (a, ours[k])),
                    Ordering::Equal => {
                        let wanted = (b.values.get(theirs[n]), of(theirs[n]));
                        (a.values.get(ours[k]), wanted, (a, ours[k]))
                    }
                    Ordering::Greater => {
                        let wanted = (b.values.get(theirs[n]), of(theirs[n]));
                        (literal(fill), wanted, (b, theirs[n]))
                    }
                };
                if distance(x, y, tolerance) > 1.0 {
                    let (of, at) = at;
                    let key = of.coords.iter().map(|c| c[at]).collect();
                    check(key, x, y, tolerance);
                }
                k += usize::from(order != Ordering::Greater);
                n += usize::from(order != Ordering::Less);
            }
        }
        (Tensor::Dense(_), Tensor::Sparse(_)) | (Tensor::Sparse(_), Tensor::Dense(_)) => {
            let mut wanted = elements(&want.tensor, &want.tolerance);
            for (key, (x, _)) in elements(got, &[]) {
                let (y, tolerance) = wanted.remove(&key).unwrap_or((literal(fill), 0.0));
                check(key, x, y, tolerance);
            }
            for (key, (y, tolerance)) in wanted {
                check(key, literal(fill), y, tolerance);
            }
        }
    }
    match worst {
        None => Ok(()),
        Some((_, mismatch)) => Err(Mismatch { wrong, ..mismatch }),
    }
}

/// How many tolerances a number is apart from the one that is wanted.
fn distance(a: Number, b: Number, tolerance: f64) -> f64 {
    if tolerance.is_infinite() {
        return 0.0;
    }
    if let (Number::Int(x), Number::Int(y)) = (a, b) {
        #[expect(clippy::cast_precision_loss)]
        let apart = x.abs_diff(y) as f64;
        return ratio(apart, tolerance);
    }
    let (x, y) = (a.complex(), b.complex());
    let part = |x: f64, y: f64| {
        if x == y || (x.is_nan() && y.is_nan()) {
            0.0
        } else if x.is_finite() && y.is_finite() {
            ratio((x - y).abs(), tolerance)
        } else {
            f64::INFINITY
        }
    };
    let parts = [(x.re, y.re), (x.im, y.im)];
    if matches!((a, b), (Number::Complex(_), Number::Complex(_)))
        && parts.iter().any(|(x, _)| !x.is_finite())
        && parts.iter().any(|(_, y)| !y.is_finite())
    {
        return match are_alike(parts) {
            true => 0.0,
            false => f64::INFINITY,
        };
    }
    parts
        .iter()
        .fold(0.0, |most, (x, y)| f64::max(most, part(*x, *y)))
}

/// Whether complex numbers beyond the finite ones agree, given the parts of both. C says little of them: what one
/// part makes of the other is open, as in the root of an infinity, and so is what follows from a part that is not
/// a number. But what is wanted to be infinite has to be infinite, where it may be, and infinities have a sign.
fn are_alike(parts: [(f64, f64); 2]) -> bool {
    let wanted =
        parts.iter().any(|(_, y)| y.is_infinite()) && parts.iter().all(|(_, y)| !y.is_nan());
    let is_infinite = parts.iter().any(|(x, _)| x.is_infinite());
    let may_be = |(x, y): &(f64, f64)| !x.is_infinite() || y.is_nan() || x == y;
    (is_infinite || !wanted) && parts.iter().all(may_be)
}

/// Nothing apart is within any tolerance, anything apart is beyond none.
fn ratio(apart: f64, tolerance: f64) -> f64 {
    if apart == 0.0 { 0.0 } else { apart / tolerance }
}

fn show(n: Number) -> String {
    match n {
        Number::Int(i) => i.to_string(),
        Number::Real(x) => format!("{x:?}"),
        Number::Complex(z) => format!("{:?}{:+?}i", z.re, z.im),
    }
}

fn coordinate(mut at: usize, dims: &[u64]) -> Vec<u64> {
    let mut out = vec![0; dims.len()];
    for (c, d) in out.iter_mut().zip(dims).rev() {
        let d = usize::try_from(*d).unwrap_or(1).max(1);
        *c = (at % d) as u64;
        at /= d;
    }
    out
}

/// The elements of two lists by their coordinates.
fn along((a, x): (&Coo, usize), (b, y): (&Coo, usize)) -> Ordering {
    let modes = a.coords.iter().zip(&b.coords);
    modes.fold(Ordering::Equal, |order, (a, b)| {
        order.then_with(|| a[x].cmp(&b[y]))
    })
}

/// The places of the elements, by their coordinates; of those that are there several times, the last one.
fn in_order(coo: &Coo) -> Vec<usize> {
    let mut places: Vec<usize> = (0..coo.values.len()).collect();
    let compare = |x: &usize, y: &usize| along((coo, *x), (coo, *y));
    if !places.is_sorted_by(|x, y| compare(x, y).is_lt()) {
        places.sort_by(compare);
        // (What is dropped stands behind what is kept.)
        places.reverse();
        places.dedup_by(|x, y| compare(x, y).is_eq());
        places.reverse();
    }
    places
}

fn elements(tensor: &Tensor, tolerance: &[f64]) -> BTreeMap<Vec<u64>, (Number, f64)> {
    let of = |at: usize| tolerance.get(at).copied().unwrap_or(0.0);
    match tensor {
        Tensor::Sparse(coo) => (0..coo.values.len())
            .map(|k| {
                let key = coo.coords.iter().map(|c| c[k]).collect();
                (key, (coo.values.get(k), of(k)))
            })
            .collect(),
        Tensor::Dense(dense) => (0..dense.values.len())
            .map(|k| (coordinate(k, &dense.dims), (dense.values.get(k), of(k))))
            .collect(),
    }
}
