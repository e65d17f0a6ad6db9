//! Which values are the same for all threads of a block, of a warp, for all blocks.
//!
//! A value varies with a unit if the number of the unit reaches it: through the variable of a
//! loop over units, through what is computed from one, or because only some units come to
//! where it is assigned. The answer for what is not known is that it varies.

#[cfg(test)]
mod lockstep;
#[cfg(test)]
mod tests;

use super::device::ir::Claim;
use super::ir::{ArrayId, Device, Expr, ExprKind, Look, Place, Stmt, VarId};
use super::visit;
use crate::units::{GpuLevel, GpuUnit};
use std::collections::{BTreeMap, BTreeSet};

/// Units that a value may differ between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units(u8);

impl Units {
    pub const NONE: Units = Units(0);
    pub const ALL: Units = Units(0b111_1111);
    /// Who runs the iterations of one loop: see [`Uniform::with`].
    pub const ITERATION: Units = Units(1 << 7);
    pub const BLOCKS: Units = Units(0b111);
    /// Warps, and threads along all axes.
    pub const THREADS: Units = Units(0b111_1000);

    #[must_use]
    pub fn of(unit: GpuUnit) -> Units {
        let axis = unit.axis as u8;
        Units(match unit.level {
            GpuLevel::Block => 1 << axis,
            GpuLevel::Warp => 1 << 3,
            GpuLevel::Thread => 1 << (4 + axis),
        })
    }

    #[must_use]
    pub fn and(self, other: Units) -> Units {
        Units(self.0 | other.0)
    }

    #[must_use]
    pub fn meets(self, other: Units) -> bool {
        self.0 & other.0 != 0
    }

    fn within(self, other: Units) -> Units {
        Units(self.0 & other.0)
    }

    fn without(self, other: Units) -> Units {
        Units(self.0 & !other.0)
    }
}

/// What each variable of some statements varies with.
#[derive(Clone, Debug, Default)]
pub struct Uniform {
    vars: BTreeMap<VarId, Varies>,
    arrays: BTreeMap<ArrayId, Units>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Varies {
    everywhere: Units,
    /// Only inside a loop over them, which reduces the variable: behind it, all know the sum.
    inside: Units,
}

impl Uniform {
    /// Of what `body` declares, where each thread has its `own` of some arrays; variables of
    /// outside are the same for all units.
    #[must_use]
    pub fn of(own: &BTreeSet<ArrayId>, body: &[Stmt]) -> Uniform {
        let mut found = Uniform::default();
        for array in own {
            found.arrays.insert(*array, Units::ALL);
        }
        found.learn(body)
    }

    /// As [`Uniform::of`], where a variable of outside is [`Units::ITERATION`].
    #[must_use]
    pub fn with(body: &[Stmt], var: VarId) -> Uniform {
        let mut found = Uniform::default();
        let varies = found.vars.entry(var).or_default();
        varies.everywhere = Units::ITERATION;
        found.learn(body)
    }

    fn learn(mut self, body: &[Stmt]) -> Uniform {
        let found = &mut self;
        // What iterations hand on to the next ones comes round again.
        loop {
            let before = found.vars.clone();
            let mut walk = Walk {
                found: &mut *found,
                some: Vec::new(),
                declared: BTreeMap::new(),
                reduced: Vec::new(),
            };
            walk.list(body, Units::NONE);
            if found.vars == before {
                return self;
            }
        }
    }

    /// What the value varies with where loops over the units `entered` are around.
    #[must_use]
    pub fn units(&self, e: &Expr, entered: Units) -> Units {
        let mut units = Units::NONE;
        visit::expr(e, &mut |node| match &node.kind {
            ExprKind::Var(v) => units = units.and(self.of_var(*v, entered)),
            ExprKind::Load { array, .. } => {
                units = units.and(self.arrays.get(array).copied().unwrap_or_default());
            }
            ExprKind::Place(Place::Threads | Place::Blocks(_)) => {}
            ExprKind::Place(Place::BlockIndex(_)) => units = units.and(Units::BLOCKS),
            ExprKind::Place(Place::Thread | Place::ThreadIndex(_)) => units = Units::ALL,
            ExprKind::Literal(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Call(..)
            | ExprKind::Cast(_)
            | ExprKind::Locate(..)
            | ExprKind::Select(..) => {}
        });
        units
    }

    /// As [`Uniform::units`], of a variable.
    #[must_use]
    pub fn of_var(&self, var: VarId, entered: Units) -> Units {
        let varies = self.vars.get(&var).copied().unwrap_or_default();
        varies.everywhere.and(varies.inside.within(entered))
    }
}

struct Walk<'a> {
    found: &'a mut Uniform,
    /// What decides whether the statements at hand run: of each statement around, outer ones
    /// first, which units it lets in only some of.
    some: Vec<Units>,
    /// Inside how many of them a variable is declared.
    declared: BTreeMap<VarId, usize>,
    /// What loops over units around reduce, for all units of which.
    reduced: Vec<(VarId, Units)>,
}

impl Walk<'_> {
    fn list(&mut self, body: &[Stmt], entered: Units) {
        for stmt in body {
            self.stmt(stmt, entered);
        }
    }

    fn add(&mut self, var: VarId, units: Units) {
        let varies = self.found.vars.entry(var).or_default();
        varies.everywhere = varies.everywhere.and(units);
    }

    /// Only some of these units come from `depth` statements further outside to the one at hand.
    fn some(&self, depth: usize) -> Units {
        let inside = self.some[depth..].iter();
        inside.fold(Units::NONE, |all, units| all.and(*units))
    }

    fn stmt(&mut self, stmt: &Stmt, entered: Units) {
        let mut own = Units::NONE;
        visit::own_exprs(stmt, &mut |e| own = own.and(self.found.units(e, entered)));
        let mut unit = Units::NONE;
        if let Stmt::Let { var, .. } = stmt {
            self.declared.insert(*var, self.some.len());
            self.add(*var, own);
        } else if let Stmt::Search { var, array, by, .. } = stmt {
            let known = |array| self.found.arrays.get(array).copied().unwrap_or_default();
            let mut units = own.and(known(array));
            if let Look::Table(table) | Look::Slot(table) = by {
                units = units.and(known(table));
            }
            self.add(*var, units);
        } else if let Stmt::Take { var, .. }
        | Stmt::Device(Device::Claim(Claim { var: Some(var), .. })) = stmt
        {
            self.add(*var, Units::ALL.and(own));
        } else if let Stmt::Assign { var, .. } = stmt {
            self.assign(*var, own);
        } else if let Stmt::Declare { array, .. } | Stmt::Slice { array, .. } = stmt {
            // Units of loops around have their own, as blocks have; what is a thread's own may
            // be declared as if it were the block's.
            let known = self.found.arrays.entry(*array).or_default();
            *known = known.and(entered).and(Units::BLOCKS);
        } else if let Stmt::For { var, lo, tag, .. } = stmt {
            let lo = self.found.units(lo, entered);
            unit = tag.gpu().map(Units::of).unwrap_or_default();
            self.add(*var, lo.and(unit));
            // Where only some come to the loop, the others do not learn what it reduces.
            let all = unit.without(self.some(0));
            for (_, var) in tag.reductions() {
                self.reduced.push((*var, all));
            }
        }
        let outer = self.reduced.len();
        self.some.push(own.and(unit));
        for inner in visit::bodies(stmt) {
            self.list(inner, entered.and(unit));
        }
        self.some.pop();
        if let Stmt::For { tag, .. } = stmt {
            self.reduced.truncate(outer - tag.reductions().len());
        }
    }

    /// Units that come to the assignment get the value, others keep what they have.
    fn assign(&mut self, var: VarId, value: Units) {
        let depth = self.declared.get(&var).copied().unwrap_or_default();
        let units = value.and(self.some(depth));
        let summed = self.reduced.iter().filter(|(v, _)| *v == var);
        let summed = summed.fold(Units::NONE, |all, (_, units)| all.and(*units));
        let varies = self.found.vars.entry(var).or_default();
        varies.everywhere = varies.everywhere.and(units.without(summed));
        varies.inside = varies.inside.and(units.within(summed));
    }
}
