//! Do they meet? What statements touch, and whether two units can come to one element.
//!
//! This is the only place that decides it. The answer is "they meet" unless the subscripts
//! *with the extents of their loops* prove that whoever comes to an element is the same unit:
//! the difference of the subscripts is zero, and from that follows that the difference of the
//! units is ([`crate::sums`]). Barriers, the independence of blocks, what is shared out to threads
//! and what is private to them, and the races of loops all ask here.

#[cfg(test)]
mod tests;
mod touch;

pub use touch::{Around, Homes, Touch, touches};

use super::ir::{ArrayId, Expr, ExprKind, Place, VarId};
use super::linear::Linear;
use super::visit;
use crate::sums::{Equation, Range, Solution, solve};
use crate::units::{Axis, GpuLevel, GpuUnit};

/// The units of which two may meet.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// Threads of one block.
    Thread(Threads),
    /// Blocks of a launch.
    Block,
    /// Iterations of the loop over a variable, whoever runs them.
    Iteration(VarId),
}

/// The threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// How many there are along each axis.
    pub along: [u32; 3],
    /// Threads of a warp, and warps along x, if loops run over warps.
    pub warps: Option<(u32, u32)>,
}

/// What is known of two accesses beyond themselves.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// Whether a variable that no loop around the accesses declares has one value for both.
    pub same: &'a dyn Fn(VarId) -> bool,
    /// Whether nothing writes to the array meanwhile.
    pub fixed: &'a dyn Fn(ArrayId) -> bool,
    /// So many of the outer loops are around both, in one iteration of each.
    pub together: usize,
}

/// One coordinate of a unit: which loop over it tells the units apart, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Rank {
    unit: Option<(GpuLevel, Axis)>,
    var: Option<VarId>,
    count: Option<i64>,
}

impl Rank {
    fn is(self, around: &Around) -> bool {
        let unit = |u: &GpuUnit| self.unit == Some((u.level, u.axis));
        self.var == Some(around.var) || around.unit.as_ref().is_some_and(unit)
    }

    /// The loop of the touch that shares out to these units, unless it does not tell which.
    fn of(self, touch: &Touch) -> Option<usize> {
        touch.around.iter().position(|around| self.is(around))
    }
}

impl Who {
    /// What tells the units of both touches apart; `None` where they cannot be compared.
    fn ranks(&self, a: &Touch, b: &Touch) -> Option<Vec<Rank>> {
        let unit = |level, axis, count| Rank {
            unit: Some((level, axis)),
            var: None,
            count,
        };
        Some(match *self {
            Who::Iteration(var) => vec![Rank {
                unit: None,
                var: Some(var),
                count: None,
            }],
            Who::Block => {
                let named = |axis: &Axis| {
                    let rank = unit(GpuLevel::Block, *axis, None);
                    rank.of(a).is_some() || rank.of(b).is_some()
                };
                let axes = Axis::ALL.into_iter().filter(named);
                let ranks: Vec<Rank> = axes.map(|axis| unit(GpuLevel::Block, axis, None)).collect();
                // What no loop shares out, all blocks do.
                (!ranks.is_empty()).then_some(())?;
                ranks
            }
            Who::Thread(threads) => {
                let warp = unit(GpuLevel::Warp, Axis::X, None);
                let warped = |touch: &Touch| warp.of(touch).is_some();
                let mut along = threads.along.map(i64::from);
                let mut ranks = Vec::new();
                if let Some((lanes, warps)) = threads.warps
                    && (warped(a) || warped(b))
                {
                    // Threads of the whole block, and of warps: no loop says which is which.
                    if warped(a) != warped(b) {
                        return None;
                    }
                    along[0] = i64::from(lanes);
                    ranks.push(unit(GpuLevel::Warp, Axis::X, Some(i64::from(warps))));
                }
                for axis in Axis::ALL {
                    let count = along[axis as usize];
                    if count > 1 {
                        ranks.push(unit(GpuLevel::Thread, axis, Some(count)));
                    }
                }
                ranks
            }
        })
    }
}

/// Whether one unit may come to an element by `a` and another one by `b`, at least one of them
/// to write it and not both atomically.
#[must_use]
pub fn meet(a: &Touch, b: &Touch, who: &Who, facts: Facts) -> bool {
    if a.array != b.array || !(a.write || b.write) || (a.atomic && b.atomic) {
        return false;
    }
    let Some(ranks) = who.ranks(a, b) else {
        return true;
    };
    let Some((equations, ranges)) = Differences::of(a, b, &ranks, facts) else {
        return true;
    };
    match solve(&equations, &ranges) {
        Solution::None => false,
        Solution::Values(values) => !(0..ranks.len()).all(|rank| values.get(&rank) == Some(&0)),
    }
}

/// The difference of two subscripts as equations. The unknowns are, for each rank, how far the
/// units are apart, then, for each rank, the unit of `b`, then all else.
struct Differences<'a> {
    sides: [&'a Touch; 2],
    ranks: &'a [Rank],
    facts: Facts<'a>,
    ranges: Vec<Range>,
    /// What the unknowns behind the units are: of one side, or of both.
    others: Vec<(Option<usize>, Expr)>,
}

/// What comes to the subscript: with which factor, of which side.
type Part = (i64, usize);

impl<'a> Differences<'a> {
    fn of(
        a: &'a Touch,
        b: &'a Touch,
        ranks: &'a [Rank],
        facts: Facts<'a>,
    ) -> Option<(Vec<Equation>, Vec<Range>)> {
        let mut own = Differences {
            sides: [a, b],
            ranks,
            facts,
            ranges: Vec::new(),
            others: Vec::new(),
        };
        let units: Vec<[Range; 2]> = ranks
            .iter()
            .map(|rank| [a, b].map(|touch| unit_range(*rank, touch)))
            .collect();
        for (rank, [of_a, of_b]) in ranks.iter().zip(&units) {
            // An array that is declared inside a loop over units is another one in each.
            let homes = [a, b].map(|touch| {
                touch.around[..touch.home]
                    .iter()
                    .any(|around| rank.is(around))
            });
            let together = rank.of(a).is_some_and(|at| at < facts.together);
            own.ranges.push(if together || homes == [true, true] {
                Range::of(0, 0)
            } else {
                of_a.less(*of_b)
            });
        }
        own.ranges.extend(units.iter().map(|[_, of_b]| *of_b));
        let mut equations = Vec::new();
        if let (Some(x), Some(y)) = (&a.index, &b.index) {
            own.digits(x, y, &mut equations)?;
        }
        Some((equations, own.ranges))
    }

    /// An equation for each pair of digits, or one for what is no such digits.
    fn digits(&mut self, x: &Expr, y: &Expr, equations: &mut Vec<Equation>) -> Option<()> {
        if [x, y]
            .iter()
            .all(|e| e.kind == ExprKind::Place(Place::Thread))
        {
            // The number of a unit: who has the same is the same.
            self.ranges[..self.ranks.len()].fill(Range::of(0, 0));
            return Some(());
        }
        if let (ExprKind::Locate(p, n, c), ExprKind::Locate(q, m, d)) = (&x.kind, &y.kind)
            && n == m
            && self.is_same(n)
        {
            self.digits(p, q, equations)?;
            return self.digits(c, d, equations);
        }
        let mut sum = Equation::default();
        self.add(x, (1, 0), &mut sum)?;
        self.add(y, (-1, 1), &mut sum)?;
        equations.push(sum);
        Some(())
    }

    /// Adds index arithmetic of a side to the equation.
    fn add(&mut self, e: &Expr, (by, side): Part, sum: &mut Equation) -> Option<()> {
        let linear = Linear::of(e)?;
        sum.add_constant(linear.constant().checked_mul(by)?)?;
        for (term, factor) in linear.terms() {
            self.term(term, (by.checked_mul(*factor)?, side), sum)?;
        }
        Some(())
    }

    fn term(&mut self, e: &Expr, (by, side): Part, sum: &mut Equation) -> Option<()> {
        let touch = self.sides[side];
        let of = |around: &Around| e.kind == ExprKind::Var(around.var);
        let Some(at) = touch.around.iter().rposition(of) else {
            let of = (!self.is_same(e)).then_some(side);
            let unknown = self.unknown(of, e, Range::ANY);
            return sum.add(unknown, by);
        };
        // lo + step * (iterations before)
        let around = &touch.around[at];
        self.add(&around.lo, (by, side), sum)?;
        let by = by.checked_mul(around.step)?;
        let rank = self
            .ranks
            .iter()
            .position(|rank| rank.of(touch) == Some(at));
        match rank {
            Some(rank) if around.tells => {
                sum.add(self.ranks.len() + rank, by)?;
                if side == 0 {
                    sum.add(rank, by)?;
                }
                Some(())
            }
            Some(_) | None => {
                let of = (at >= self.facts.together).then_some(side);
                let unknown = self.unknown(of, e, around.iterations());
                sum.add(unknown, by)
            }
        }
    }

    fn unknown(&mut self, side: Option<usize>, e: &Expr, range: Range) -> usize {
        let known = self
            .others
            .iter()
            .position(|(s, other)| *s == side && other == e);
        let first = 2 * self.ranks.len();
        first
            + known.unwrap_or_else(|| {
                self.others.push((side, e.clone()));
                self.ranges.push(range);
                self.others.len() - 1
            })
    }

    /// Whether the value is the same for both sides.
    fn is_same(&self, e: &Expr) -> bool {
        let mut same = true;
        visit::expr(e, &mut |node| match &node.kind {
            ExprKind::Var(v) => {
                let inside = |touch: &Touch| touch.around.iter().position(|a| a.var == *v);
                let mut inside = self
                    .sides
                    .iter()
                    .filter_map(|touch| inside(touch))
                    .peekable();
                same &= match inside.peek() {
                    Some(_) => inside.all(|at| at < self.facts.together),
                    None => (self.facts.same)(*v),
                };
            }
            ExprKind::Load { array, .. } => same &= (self.facts.fixed)(*array),
            ExprKind::Place(place) => same &= *place == Place::Threads,
            ExprKind::Literal(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Call(..)
            | ExprKind::Cast(_)
            | ExprKind::Locate(..)
            | ExprKind::Select(..) => {}
        });
        same
    }
}

/// Which of the units come to the touch.
fn unit_range(rank: Rank, touch: &Touch) -> Range {
    match rank.of(touch) {
        Some(at) if touch.around[at].tells => touch.around[at].iterations(),
        // One thread stores for all that are alike.
        None if touch.write && rank.count.is_some() => Range::of(0, 0),
        Some(_) | None => Range {
            least: Some(0),
            most: rank.count.map(|n| n - 1),
        },
    }
}
