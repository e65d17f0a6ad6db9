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

    /// What its values are, times a factor.
    #[must_use]
    pub fn scaled(self, by: i64) -> Range {
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

    /// What a value of this range and one of the other add up to.
    #[must_use]
    pub fn plus(self, other: Range) -> Range {
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

/// `c1 * x1 + c2 * x2 + ... + constant`: no unknown twice, none with the factor zero, in the order
/// they came. Operations are `None` where a number leaves 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum<T> {
    terms: Vec<(T, i64)>,
    constant: i64,
}

impl<T> Default for Sum<T> {
    fn default() -> Self {
        Sum::number(0)
    }
}

impl<T> Sum<T> {
    /// A constant.
    #[must_use]
    pub fn number(constant: i64) -> Sum<T> {
        Sum {
            terms: Vec::new(),
            constant,
        }
    }

    /// The unknowns with their factors.
    #[must_use]
    pub fn terms(&self) -> &[(T, i64)] {
        &self.terms
    }

    #[must_use]
    pub fn constant(&self) -> i64 {
        self.constant
    }

    /// Its value, if no unknown is in it.
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Whether it is a multiple of `n` whatever its unknowns are.
    #[must_use]
    pub fn is_multiple_of(&self, n: i64) -> bool {
        self.constant % n == 0 && self.terms.iter().all(|(_, factor)| factor % n == 0)
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, by: i64) -> Option<()> {
        self.constant = self.constant.checked_add(by)?;
        Some(())
    }

    /// Takes out the terms that are so.
    pub fn take(&mut self, is: impl Fn(&T) -> bool) -> Vec<(T, i64)> {
        let (taken, kept) = std::mem::take(&mut self.terms)
            .into_iter()
            .partition(|(x, _)| is(x));
        self.terms = kept;
        taken
    }
}

impl<T: PartialEq> Sum<T> {
    /// Adds `by * unknown`.
    pub fn add(&mut self, unknown: T, by: i64) -> Option<()> {
        match self.terms.iter().position(|(known, _)| *known == unknown) {
            Some(at) => {
                let factor = &mut self.terms[at].1;
                *factor = factor.checked_add(by)?;
                if *factor == 0 {
                    self.terms.remove(at);
                }
            }
            None if by != 0 => self.terms.push((unknown, by)),
            None => {}
        }
        Some(())
    }

    /// Adds `by * other`.
    pub fn add_sum(&mut self, other: Sum<T>, by: i64) -> Option<()> {
        self.add_constant(other.constant.checked_mul(by)?)?;
        for (unknown, factor) in other.terms {
            self.add(unknown, factor.checked_mul(by)?)?;
        }
        Some(())
    }
}

/// A sum over unknowns that have numbers.
pub type Equation = Sum<usize>;

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
pub fn solve(equations: &[Equation], ranges: &[Range]) -> Solution {
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
fn substituted(equation: &Equation, values: &BTreeMap<usize, i64>) -> Option<Equation> {
    let mut rest = Sum::number(equation.constant);
    for &(unknown, factor) in &equation.terms {
        match values.get(&unknown) {
            Some(value) => rest.add_constant(value.checked_mul(factor)?)?,
            None => rest.add(unknown, factor)?,
        }
    }
    Some(rest)
}

/// The values that the sum of terms, without its constant, can have.
fn reach(terms: &[(usize, i64)], ranges: &[Range]) -> Range {
    terms
        .iter()
        .map(|&(unknown, factor)| ranges[unknown].scaled(factor))
        .fold(Range::of(0, 0), Range::plus)
}

/// Takes an equation apart and notes the values that follow.
fn separate(
    equation: &Equation,
    ranges: &[Range],
    values: &mut BTreeMap<usize, i64>,
) -> Result<(), Unsolvable> {
    let Some(wanted) = equation.constant.checked_neg() else {
        return Ok(());
    };
    let &[(unknown, factor)] = equation.terms.as_slice() else {
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
    equation: &Equation,
    wanted: i64,
    ranges: &[Range],
    values: &mut BTreeMap<usize, i64>,
) -> Result<(), Unsolvable> {
    if !reach(&equation.terms, ranges).contains(wanted) {
        return Err(Unsolvable);
    }
    let mut sizes: Vec<i64> = equation
        .terms
        .iter()
        .map(|(_, factor)| factor.saturating_abs())
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    for &size in sizes.iter().rev() {
        let (large, small): (Vec<_>, Vec<_>) = equation
            .terms
            .iter()
            .partition(|(_, factor)| factor % size == 0);
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

    fn equation(terms: &[i64], constant: i64) -> Equation {
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
    fn check(sum: &Equation, spans: &[(i64, i64); 3]) -> bool {
        let mut solutions = Vec::new();
        for x in spans[0].0..=spans[0].1 {
            for y in spans[1].0..=spans[1].1 {
                for z in spans[2].0..=spans[2].1 {
                    let at = [x, y, z];
                    let total: i64 = sum.terms.iter().map(|&(u, f)| at[u] * f).sum();
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
