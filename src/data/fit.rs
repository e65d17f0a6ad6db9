//! Numbers in a type that holds them: what it cannot hold is refused, where `as` and C would
//! convert in silence. Floating-point numbers are rounded, as any decimal number is.

use super::pack::order_of;
use super::tensor::Coo;
use super::values::{Number, Values};
use crate::scalar::ScalarType;

/// From here on not every whole number is a double: this one is also what the next one is rounded to.
pub const SKIPPING: f64 = 9_007_199_254_740_992.0;

/// Beyond this no integer type has a number that a double may be rounded from: 2^64.
pub const BEYOND: f64 = 18_446_744_073_709_551_616.0;

/// Whether `ty` holds `n`; if not, why, to follow the number.
///
/// # Errors
/// Why not.
pub fn fits(n: Number, ty: ScalarType) -> Result<(), String> {
    if let Number::Complex(z) = n
        && !ty.is_complex()
    {
        return if z.im == 0.0 {
            fits(Number::Real(z.re), ty)
        } else {
            Err(format!("is complex, which {ty} does not hold"))
        };
    }
    if ty == ScalarType::Bool {
        return match n {
            Number::Int(0 | 1) => Ok(()),
            Number::Real(x) if x == 0.0 || x == 1.0 => Ok(()),
            Number::Int(_) | Number::Real(_) | Number::Complex(_) => {
                Err("is neither 0 nor 1, false nor true".to_string())
            }
        };
    }
    if ty.is_integer() {
        if let Number::Real(x) = n {
            if x.fract() != 0.0 {
                return Err("is no whole number".to_string());
            }
            if (SKIPPING..=BEYOND).contains(&x.abs()) {
                return Err("is a floating-point number from 2^53 on, which may be rounded".into());
            }
        }
        let (lo, hi) = range(ty);
        return if (lo..=hi).contains(&n.int()) {
            Ok(())
        } else {
            Err(format!("does not fit {ty}: {lo} to {hi}"))
        };
    }
    let parts = n.complex();
    if [parts.re, parts.im].into_iter().all(|x| finite(x, ty)) {
        Ok(())
    } else {
        Err(format!("is too large for {ty}"))
    }
}

/// Whether a finite number stays finite.
fn finite(x: f64, ty: ScalarType) -> bool {
    ty.stored(x).is_finite() || !x.is_finite()
}

/// The smallest and the largest whole number of an integer type.
#[must_use]
pub fn range(ty: ScalarType) -> (i128, i128) {
    let bits = 8 * ty.size();
    if ty.is_unsigned() {
        (0, (1i128 << bits) - 1)
    } else {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    }
}

/// The same elements in another type.
///
/// # Errors
/// The first element that does not fit: its position, itself, and why not.
pub fn convert(values: &Values, ty: ScalarType) -> Result<Values, (usize, Number, String)> {
    let from = values.ty();
    let always = from == ty
        || ty == ScalarType::C128
        || (ty == ScalarType::F64 && !from.is_complex())
        || (ty == ScalarType::F32 && !from.is_complex() && from != ScalarType::F64);
    if !always {
        for at in 0..values.len() {
            let n = values.get(at);
            fits(n, ty).map_err(|reason| (at, n, reason))?;
        }
    }
    Ok(values.convert(ty))
}

/// Entries of one element that add up to what their type does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Summed {
    /// The last one.
    pub last: usize,
    pub count: usize,
    /// Of all of them.
    pub sum: Number,
    pub reason: String,
}

/// Whether the type of the values holds the sums of entries with the same coordinates, which packing adds up.
///
/// # Errors
/// The first element, in the order of coordinates, of which it does not.
pub fn sums(coo: &Coo) -> Result<(), Summed> {
    let values = &coo.values;
    let ty = values.ty();
    let count = values.len();
    if ty == ScalarType::Bool || all_fit(values) {
        return Ok(());
    }
    let columns: Vec<&[u64]> = coo.coords.iter().map(Vec::as_slice).collect();
    let order = order_of(&columns, count);
    let entry = |k: usize| order.as_ref().map_or(k, |order| order[k]);
    let same = |a: usize, b: usize| columns.iter().all(|c| c[a] == c[b]);
    let mut first = 0;
    while first < count {
        let mut end = first + 1;
        while end < count && same(entry(first), entry(end)) {
            end += 1;
        }
        if end > first + 1 {
            let entries = || (first..end).map(entry);
            let sum = added(values, entries());
            if let Err(reason) = sum.1 {
                return Err(Summed {
                    last: entries().max().unwrap_or(first),
                    count: end - first,
                    sum: sum.0,
                    reason,
                });
            }
        }
        first = end;
    }
    Ok(())
}

/// Whether the sum of all values fits, whatever their signs are: most files are done with that.
#[expect(clippy::cast_precision_loss)]
fn all_fit(values: &Values) -> bool {
    let ty = values.ty();
    let most = (0..values.len()).fold(0.0, |most: f64, at| most.max(values.get(at).abs()));
    // Half of it: sums are rounded on their way.
    let sum = Number::Real((2.0 * most * values.len() as f64).floor());
    match ty.is_integer() {
        true => sum.real() <= SKIPPING && fits(sum, ty).is_ok(),
        false => sum.real().is_finite() && fits(sum, ty).is_ok(),
    }
}

/// The sum of some elements, and whether their type holds it. What was infinite may stay it.
fn added(
    values: &Values,
    entries: impl Iterator<Item = usize> + Clone,
) -> (Number, Result<(), String>) {
    let ty = values.ty();
    if ty.is_integer() {
        let sum = Number::Int(entries.map(|k| values.get(k).int()).sum());
        return (sum, fits(sum, ty));
    }
    let finite = |n: Number| n.complex().re.is_finite() && n.complex().im.is_finite();
    let mut sum = values.zeros(1);
    let was_finite = entries.clone().all(|k| finite(values.get(k)));
    entries.for_each(|k| sum.add_from(0, values, k));
    let sum = sum.get(0);
    match was_finite && !finite(sum) {
        true => (sum, Err(format!("is too large for {ty}"))),
        false => (sum, Ok(())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    #[test]
    fn what_a_type_holds_is_converted() {
        let complex = |re, im| Number::Complex(Complex::new(re, im));
        for (n, ty) in [
            (Number::Real(3.0), ScalarType::I8),
            (Number::Real(-128.0), ScalarType::I8),
            (Number::Real(1.0 - SKIPPING), ScalarType::I64),
            (Number::Int(i128::from(u64::MAX)), ScalarType::U64),
            (Number::Int(i128::from(i64::MIN)), ScalarType::I64),
            (Number::Real(1.0), ScalarType::Bool),
            (Number::Real(0.1), ScalarType::F16),
            (Number::Real(f64::INFINITY), ScalarType::F32),
            (Number::Real(f64::NAN), ScalarType::F16),
            (Number::Real(3e38), ScalarType::BF16),
            (complex(2.0, 0.0), ScalarType::F64),
            (complex(2.0, 1e38), ScalarType::C64),
        ] {
            assert_eq!(fits(n, ty), Ok(()), "{n:?} {ty}");
        }
    }

    #[test]
    fn what_a_type_does_not_hold_is_refused() {
        let complex = |re, im| Number::Complex(Complex::new(re, im));
        for (n, ty) in [
            (Number::Real(1.5), ScalarType::I32),
            (Number::Real(f64::NAN), ScalarType::I32),
            (Number::Real(f64::INFINITY), ScalarType::I64),
            (Number::Real(300.0), ScalarType::U8),
            (Number::Int(-1), ScalarType::U64),
            (Number::Int(1 << 63), ScalarType::I64),
            (Number::Real(SKIPPING), ScalarType::I64),
            (Number::Real(-SKIPPING), ScalarType::I64),
            (Number::Real(2.0 * SKIPPING), ScalarType::I64),
            (Number::Real(1.844_674_407_370_955e19), ScalarType::U64),
            (complex(SKIPPING, 0.0), ScalarType::I64),
            (Number::Real(1e30), ScalarType::U64),
            (Number::Real(0.5), ScalarType::Bool),
            (Number::Int(2), ScalarType::Bool),
            (Number::Real(1e6), ScalarType::F16),
            (Number::Real(1e39), ScalarType::F32),
            (complex(1.0, 2.0), ScalarType::F64),
            (complex(1.5, 0.0), ScalarType::I32),
            (complex(0.0, 1e39), ScalarType::C64),
        ] {
            assert!(fits(n, ty).is_err(), "{n:?} {ty}");
        }
        let (_, _, reason) =
            convert(&Values::F64(vec![u64::MAX as f64]), ScalarType::U64).unwrap_err();
        assert!(reason.ends_with("may be rounded"), "{reason}");
        let values = Values::F64(vec![1.0, 2.5]);
        let (at, n, _) = convert(&values, ScalarType::I32).unwrap_err();
        assert_eq!((at, n), (1, Number::Real(2.5)));
    }

    #[test]
    fn sums_of_entries_fit_their_type() {
        // Entries 0, 2 and 3 are of one element.
        let of = |values: Values| {
            let coords = vec![vec![4, 1, 4, 4]];
            let dims = vec![5];
            sums(&Coo {
                dims,
                coords,
                values,
            })
        };
        for fit in [
            Values::I8(vec![100, 100, 100, -100]),
            Values::I64(vec![i64::MAX, 1, 1, -1]),
            Values::U64(vec![1 << 63, 1 << 63, 1, 1]),
            Values::F32(vec![3e38, 3e38, -3e38, 3e38]),
            Values::F64(vec![f64::INFINITY, 1e308, 1e308, 1e307]),
            Values::Bool(vec![true; 4]),
        ] {
            assert_eq!(of(fit.clone()), Ok(()), "{fit:?}");
        }
        for unfit in [
            Values::I8(vec![100, 1, 28, 0]),
            Values::I64(vec![i64::MAX, 0, 1, 0]),
            Values::U64(vec![1 << 63, 1, 1 << 63, 0]),
            Values::F32(vec![3e38, 1.0, 3e38, 0.0]),
            Values::F64(vec![-1e308, 1.0, -1e308, 0.0]),
            Values::C64(vec![Complex::new(0.0, 3e38); 4]),
        ] {
            let found = of(unfit.clone()).unwrap_err();
            assert_eq!((found.last, found.count), (3, 3), "{unfit:?}");
        }
    }
}
