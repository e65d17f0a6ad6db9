//! How many values variables have: of a range that data decide, what it has on average.

use crate::data::Tensor;
use crate::data::values::Number;
use crate::driver::bind::Bound;
use crate::graph::order::vars_in;
use crate::operators::constants;
use crate::program::ir::{Access, Bound as RangeBound, Expr, ExprKind, Function, VarId};
use crate::scalar::Literal;
use std::collections::BTreeMap;

/// No more ranges than this are looked at, of which there may be one for each element: some of many stand for all.
const MOST_LOOKED_AT: i64 = 1 << 16;

/// How many values a variable has; on average, if its range depends on others.
#[expect(clippy::cast_precision_loss)]
pub fn extent(function: &Function, bound: &Bound, var: VarId) -> f64 {
    let ranges = Ranges { function, bound };
    let mut around = Vec::new();
    ranges.drivers(var, &mut around);
    if around.is_empty() {
        return ranges.length(var, &BTreeMap::new()).unwrap_or(1) as f64;
    }
    let mut sum = Sum {
        var,
        total: 0.0,
        count: 0.0,
    };
    let looked_at = ranges.add(&around, MOST_LOOKED_AT, &mut BTreeMap::new(), &mut sum);
    match looked_at {
        Some(()) if sum.count > 0.0 => sum.total / sum.count,
        Some(()) | None => 1.0,
    }
}

struct Ranges<'a> {
    function: &'a Function,
    bound: &'a Bound,
}

/// The extents of a variable so far.
struct Sum {
    var: VarId,
    total: f64,
    count: f64,
}

impl Ranges<'_> {
    /// The variables that a range depends on, each behind those that its own depends on.
    fn drivers(&self, var: VarId, found: &mut Vec<VarId>) {
        let range = &self.function.var(var).range;
        for end in [&range.lo, &range.hi] {
            let RangeBound::Dynamic(e) = end else {
                continue;
            };
            for other in vars_in(e) {
                if !found.contains(&other) {
                    self.drivers(other, found);
                    found.push(other);
                }
            }
        }
    }

    /// Adds up the extents under values of the variables around that are not fixed yet: `most`, spread over all.
    #[expect(clippy::cast_precision_loss)]
    fn add(
        &self,
        around: &[VarId],
        most: i64,
        at: &mut BTreeMap<VarId, i64>,
        sum: &mut Sum,
    ) -> Option<()> {
        let Some((&var, inner)) = around.split_first() else {
            sum.total += self.length(sum.var, at)? as f64;
            sum.count += 1.0;
            return Some(());
        };
        let (lo, length) = (self.end(var, false, at)?, self.length(var, at)?);
        let step = length / most.max(1) + 1;
        let rounds = length / step + i64::from(length % step > 0);
        for round in 0..rounds {
            at.insert(var, lo.checked_add(round * step)?);
            self.add(inner, most / rounds, at, sum)?;
        }
        at.remove(&var);
        Some(())
    }

    fn length(&self, var: VarId, at: &BTreeMap<VarId, i64>) -> Option<i64> {
        let [lo, hi] = [self.end(var, false, at)?, self.end(var, true, at)?];
        Some(hi.saturating_sub(lo).max(0))
    }

    fn end(&self, var: VarId, upper: bool, at: &BTreeMap<VarId, i64>) -> Option<i64> {
        let range = &self.function.var(var).range;
        match if upper { &range.hi } else { &range.lo } {
            RangeBound::Static(size) => self.bound.eval(size),
            RangeBound::Dynamic(e) => match self.value(e, at)? {
                Literal::Int(value) => Some(value),
                Literal::Bool(_) | Literal::Float(_) => None,
            },
        }
    }

    /// The value of an expression over dense operands.
    fn value(&self, e: &Expr, at: &BTreeMap<VarId, i64>) -> Option<Literal> {
        let of = |e: &Expr| self.value(e, at);
        match &e.kind {
            ExprKind::Literal(value) => Some(*value),
            ExprKind::Index(var) => at.get(var).copied().map(Literal::Int),
            ExprKind::Size(size) => self.bound.eval(size).map(Literal::Int),
            ExprKind::Access(access) => self.element(access, at),
            ExprKind::Unary(op, a) => Some(constants::unary(*op, of(a)?, a.ty)),
            ExprKind::Binary(op, a, b) => Some(constants::binary(*op, of(a)?, of(b)?, a.ty)),
            ExprKind::Select(c, a, b) => of(if of(c)?.is_zero() { b } else { a }),
            ExprKind::Call(func, args) => {
                let args: Option<Vec<Literal>> = args.iter().map(of).collect();
                constants::call(*func, &args?, e.ty)
            }
            ExprKind::Cast(a) => Some(constants::converted(of(a)?, a.ty, e.ty)),
            ExprKind::Reduce { .. } => None,
        }
    }

    fn element(&self, access: &Access, at: &BTreeMap<VarId, i64>) -> Option<Literal> {
        let Tensor::Dense(dense) = self.bound.tensors.get(&access.tensor)? else {
            return None;
        };
        let mut place = 0_u64;
        for (subscript, extent) in access.subscripts.iter().zip(&dense.dims) {
            let Literal::Int(index) = self.value(subscript, at)? else {
                return None;
            };
            let index = u64::try_from(index).ok().filter(|index| index < extent)?;
            place = place * extent + index;
        }
        let place = usize::try_from(place).ok()?;
        match (place < dense.values.len()).then(|| dense.values.get(place))? {
            Number::Int(whole) => i64::try_from(whole).ok().map(Literal::Int),
            Number::Real(x) => Some(Literal::Float(x)),
            Number::Complex(_) => None,
        }
    }
}
