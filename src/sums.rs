//! Sums of bounded whole numbers: what values they have, and what follows where they are zero.
//!
//! Who asks how far apart two iterations are takes the [`Range`] of a sum; who asks which ones come
//! to one element solves it: two accesses meet where their subscripts are equal, so the difference
//! of the subscripts is zero. The difference is a sum `c1 * x1 + c2 * x2 + ... + k` over unknowns
//! with ranges. A sum of which the small terms cannot reach from one multiple of a large
//! coefficient to the next falls apart into two, as the digits of a number do. What is left in the
//! end is single unknowns, whose values are then known, and sums of which nothing is known.

use std::collections::BTreeMap;

/// The least and the greatest value of an unknown; `None` where nothing bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub least: Option<i64>,
    pub most: Option<i64>,
}

impl Range {
    pub const ANY: Range = Range {
        least: None,
        most: None,
    };

    /// Between the two, both included.
    #[must_use]
    pub fn of(least: i64, most: i64) -> Range {
        Range {
            least: Some(least),
            most: Some(most),
        }
    }

    fn scaled(self, by: i64) -> Range {
        let times = |end: Option<i64>| end.and_then(|e| e.checked_mul(by));
        let (least, most) = (times(self.least), times(self.most));
        if by < 0 {
            Range {
                least: most,
                most: least,
            }
        } else {
            Range { least, most }
        }
    }

    /// What is left of a value of this range without one of the other.
    #[must_use]
    pub fn less(self, other: Range) -> Range {
        self.plus(other.scaled(-1))
    }

    fn plus(self, other: Range) -> Range {
        let both = |a: Option<i64>, b: Option<i64>| a.and_then(|a| a.checked_add(b?));
        Range {
            least: both(self.least, other.least),
            most: both(self.most, other.most),
        }
    }

    fn contains(self, value: i64) -> bool {
        self.least.is_none_or(|l| l <= value) && self.most.is_none_or(|m| value <= m)
    }
}

/// A sum over unknowns, by their numbers, with a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    terms: BTreeMap<usize, i64>,
    constant: i64,
}

impl Sum {
    /// Adds `by * unknown`; `None` if the factor leaves 64 bits.
    pub fn add(&mut self, unknown: usize, by: i64) -> Option<()> {
        let factor = self.terms.entry(unknown).or_default();
        *factor = factor.checked_add(by)?;
        if *factor == 0 {
            self.terms.remove(&unknown);
        }
        Some(())
    }

    /// The values that it can have; `ranges` has one for each unknown.
    #[must_use]
    pub fn range(&self, ranges: &[Range]) -> Range {
        reach(&self.terms, ranges).plus(Range::of(self.constant, self.constant))
    }

    /// Its value, if no unknown is in it.
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, by: i64) -> Option<()> {
        self.constant = self.constant.checked_add(by)?;
        Some(())
    }
}

/// What equations say of their unknowns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Solution {
    /// No values of the unknowns solve them.
    None,
    /// All solutions have these values; of unknowns that are not named, nothing is known.
    Values(BTreeMap<usize, i64>),
}

/// What follows where all of the sums are zero; `ranges` has one for each unknown. Never says what
/// does not follow.
#[must_use]
pub fn solve(equations: &[Sum], ranges: &[Range]) -> Solution {
    let mut values: BTreeMap<usize, i64> = BTreeMap::new();
    for (unknown, range) in ranges.iter().enumerate() {
        if range.least.is_some() && range.least == range.most {
            values.extend(range.least.map(|value| (unknown, value)));
        }
    }
    loop {
        let before = values.len();
        for equation in equations {
            let Some(rest) = substituted(equation, &values) else {
                continue;
            };
            if separate(&rest, ranges, &mut values).is_err() {
                return Solution::None;
            }
        }
        if values.len() == before {
            return Solution::Values(values);
        }
    }
}

/// No values solve an equation.
struct Unsolvable;

/// The equation over the unknowns whose values are not known; `None` beyond 64 bits.
fn substituted(equation: &Sum, values: &BTreeMap<usize, i64>) -> Option<Sum> {
    let mut rest = Sum {
        terms: BTreeMap::new(),
        constant: equation.constant,
    };
    for (&unknown, &factor) in &equation.terms {
        match values.get(&unknown) {
            Some(value) => rest.add_constant(value.checked_mul(factor)?)?,
            None => rest.add(unknown, factor)?,
        }
    }
    Some(rest)
}

/// The values that the sum of terms, without its constant, can have.
fn reach(terms: &BTreeMap<usize, i64>, ranges: &[Range]) -> Range {
    terms
        .iter()
        .map(|(&unknown, &factor)| ranges[unknown].scaled(factor))
        .fold(Range::of(0, 0), Range::plus)
}

/// Takes an equation apart and notes the values that follow.
fn separate(
    equation: &Sum,
    ranges: &[Range],
    values: &mut BTreeMap<usize, i64>,
) -> Result<(), Unsolvable> {
    let Some(wanted) = equation.constant.checked_neg() else {
        return Ok(());
    };
    let mut factors = equation.terms.iter();
    let (Some((&unknown, &factor)), None) = (factors.next(), factors.next()) else {
        return separate_terms(equation, wanted, ranges, values);
    };
    // factor * unknown = wanted
    let exact = wanted.checked_rem(factor) == Some(0);
    match wanted.checked_div(factor) {
        Some(value) if exact && ranges[unknown].contains(value) => {
            values.insert(unknown, value);
            Ok(())
        }
        Some(_) => Err(Unsolvable),
        None => Ok(()),
    }
}

/// As [`separate`], of none or several terms.
fn separate_terms(
    equation: &Sum,
    wanted: i64,
    ranges: &[Range],
    values: &mut BTreeMap<usize, i64>,
) -> Result<(), Unsolvable> {
    if !reach(&equation.terms, ranges).contains(wanted) {
        return Err(Unsolvable);
    }
    let mut sizes: Vec<i64> = equation
        .terms
        .values()
        .map(|f| f.saturating_abs())
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    for &size in sizes.iter().rev() {
        let (large, small): (BTreeMap<usize, i64>, BTreeMap<usize, i64>) = equation
            .terms
            .iter()
            .partition(|(_, factor)| **factor % size == 0);
        // small + constant = -large is a multiple of the size.
        let (Some(least), Some(most)) = (
            reach(&small, ranges)
                .least
                .and_then(|l| l.checked_add(equation.constant)),
            reach(&small, ranges)
                .most
                .and_then(|m| m.checked_add(equation.constant)),
        ) else {
            continue;
        };
        let Some(first) = least
            .checked_add(size - 1)
            .map(|end| end.div_euclid(size) * size)
        else {
            continue;
        };
        if first > most {
            return Err(Unsolvable);
        }
        if small.is_empty() || most.checked_sub(first).is_none_or(|left| left >= size) {
            continue;
        }
        let Some(constant) = equation.constant.checked_sub(first) else {
            continue;
        };
        let low = Sum {
            terms: small,
            constant,
        };
        let high = Sum {
            terms: large,
            constant: first,
        };
        separate(&low, ranges, values)?;
        return separate(&high, ranges, values);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equation(terms: &[i64], constant: i64) -> Sum {
        let mut sum = Sum::default();
        for (unknown, &factor) in terms.iter().enumerate() {
            sum.add(unknown, factor).expect("small");
        }
        sum.add_constant(constant).expect("small");
        sum
    }

    #[test]
    fn digits_are_known_one_by_one() {
        let ranges = [Range::of(-3, 3), Range::of(-3, 3), Range::ANY];
        let all_zero = Solution::Values(BTreeMap::from([(0, 0), (1, 0), (2, 0)]));
        assert_eq!(solve(&[equation(&[1, 4, 16], 0)], &ranges), all_zero);
        // Windows overlap: 4 * x + k with k < 6.
        let ranges = [Range::of(-5, 5), Range::of(-3, 3)];
        let nothing = Solution::Values(BTreeMap::new());
        assert_eq!(solve(&[equation(&[1, 4], 0)], &ranges), nothing);
    }

    #[test]
    fn what_follows_from_one_is_used_in_others() {
        let ranges = [Range::ANY, Range::ANY];
        let both = [equation(&[1, 1], -3), equation(&[2, 0], -2)];
        let values = BTreeMap::from([(0, 1), (1, 2)]);
        assert_eq!(solve(&both, &ranges), Solution::Values(values));
        assert_eq!(solve(&[equation(&[2, 4], 1)], &ranges), Solution::None);
    }

    /// All sums of three terms with small factors and ranges: what is said holds for each
    /// solution, and "none" is said of no sum that has one.
    #[test]
    fn nothing_is_said_that_does_not_follow() {
        let factors = [-4, -3, -2, -1, 0, 1, 2, 3, 4];
        let spans = [(0, 0), (0, 1), (0, 3), (-1, 1), (-3, 3), (1, 2)];
        let (mut decided, mut all) = (0, 0);
        for &a in &factors {
            for &b in &factors {
                for &c in &factors {
                    for constant in -3..=3 {
                        for &x in &spans {
                            for &y in &spans {
                                let sum = equation(&[a, b, c], constant);
                                let ranges = [x, y, (-2, 2)];
                                all += 1;
                                decided += usize::from(check(&sum, &ranges));
                            }
                        }
                    }
                }
            }
        }
        assert!(decided * 2 > all, "{decided} of {all} decided");
    }

    /// Compares with all values; whether all that holds was said.
    fn check(sum: &Sum, spans: &[(i64, i64); 3]) -> bool {
        let mut solutions = Vec::new();
        for x in spans[0].0..=spans[0].1 {
            for y in spans[1].0..=spans[1].1 {
                for z in spans[2].0..=spans[2].1 {
                    let at = [x, y, z];
                    let total: i64 = sum.terms.iter().map(|(&u, &f)| at[u] * f).sum();
                    if total + sum.constant == 0 {
                        solutions.push(at);
                    }
                }
            }
        }
        let ranges: Vec<Range> = spans.iter().map(|s| Range::of(s.0, s.1)).collect();
        match solve(std::slice::from_ref(sum), &ranges) {
            Solution::None => {
                assert!(solutions.is_empty(), "{sum:?} {spans:?}: {solutions:?}");
                true
            }
            Solution::Values(values) => {
                for (&unknown, &value) in &values {
                    let good = solutions.iter().all(|s| s[unknown] == value);
                    assert!(good, "{sum:?} {spans:?} {values:?}: {solutions:?}");
                }
                let known = |u: usize| solutions.iter().all(|s| s[u] == solutions[0][u]);
                !solutions.is_empty() && (0..3).all(|u| values.contains_key(&u) || !known(u))
            }
        }
    }
}
