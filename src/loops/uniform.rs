//! Which values are the same for all threads of a block, of a warp, for all blocks.
//!
//! A value varies with a unit if the number of the unit reaches it: through the variable of a
//! loop over units, through what is computed from one, or because only some units come to
//! where it is assigned. The answer for what is not known is that it varies.

use super::ir::{ArrayId, Expr, ExprKind, GpuLevel, GpuUnit, Kernel, Place, Stmt, Storage, VarId};
use super::visit;
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
    pub fn of(kernel: &Kernel, own: &BTreeSet<ArrayId>, body: &[Stmt]) -> Uniform {
        let mut found = Uniform::default();
        for array in own {
            found.arrays.insert(*array, Units::THREADS);
        }
        found.learn(kernel, body)
    }

    /// As [`Uniform::of`], where a variable of outside is [`Units::ITERATION`].
    #[must_use]
    pub fn with(kernel: &Kernel, body: &[Stmt], var: VarId) -> Uniform {
        let mut found = Uniform::default();
        let varies = found.vars.entry(var).or_default();
        varies.everywhere = Units::ITERATION;
        found.learn(kernel, body)
    }

    fn learn(mut self, kernel: &Kernel, body: &[Stmt]) -> Uniform {
        let found = &mut self;
        // What iterations hand on to the next ones comes round again.
        loop {
            let before = found.vars.clone();
            let mut walk = Walk {
                kernel,
                found: &mut *found,
                declared: BTreeMap::new(),
                reduced: Vec::new(),
            };
            walk.list(body, Context::default());
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

/// What decides whether a statement runs.
#[derive(Clone, Copy, Default)]
struct Context {
    /// Loops over these are around.
    entered: Units,
    /// Only some of these come here.
    some: Units,
}

struct Walk<'a> {
    kernel: &'a Kernel,
    found: &'a mut Uniform,
    /// The context that variables are declared in.
    declared: BTreeMap<VarId, Context>,
    /// What loops over units around reduce.
    reduced: Vec<(VarId, Units)>,
}

impl Walk<'_> {
    fn list(&mut self, body: &[Stmt], at: Context) {
        for stmt in body {
            self.stmt(stmt, at);
        }
    }

    fn add(&mut self, var: VarId, units: Units) {
        let varies = self.found.vars.entry(var).or_default();
        varies.everywhere = varies.everywhere.and(units);
    }

    fn stmt(&mut self, stmt: &Stmt, at: Context) {
        let mut own = Units::NONE;
        visit::own_exprs(stmt, &mut |e| {
            own = own.and(self.found.units(e, at.entered))
        });
        let mut inside = at;
        if let Stmt::Let { var, .. } = stmt {
            self.declared.insert(*var, at);
            self.add(*var, own);
        } else if let Stmt::Search { var, array, .. } = stmt {
            let array = self.found.arrays.get(array).copied().unwrap_or_default();
            self.add(*var, own.and(array));
        } else if let Stmt::Assign { var, .. } = stmt {
            self.assign(*var, own, at);
        } else if let Stmt::Declare { array, .. } | Stmt::Slice { array, .. } = stmt {
            let shared = self.kernel.array(*array).storage == Storage::Shared;
            let units = if shared { Units::BLOCKS } else { at.entered };
            // What is a thread's own may be declared as if it were the block's.
            let known = self.found.arrays.entry(*array).or_default();
            *known = known.and(units);
        } else if let Stmt::For { var, lo, tag, .. } = stmt {
            let lo = self.found.units(lo, at.entered);
            let unit = tag.gpu().map(Units::of).unwrap_or_default();
            self.add(*var, lo.and(unit));
            inside.entered = at.entered.and(unit);
            inside.some = at.some.and(own).and(unit);
            for (_, var) in tag.reductions() {
                self.reduced.push((*var, unit));
            }
        } else {
            // Only what contains statements decides who comes to them.
            inside.some = at.some.and(own);
        }
        let outer = self.reduced.len();
        for inner in visit::bodies(stmt) {
            self.list(inner, inside);
        }
        if let Stmt::For { tag, .. } = stmt {
            self.reduced.truncate(outer - tag.reductions().len());
        }
    }

    /// Units that come to the assignment get the value, others keep what they have.
    fn assign(&mut self, var: VarId, value: Units, at: Context) {
        let before = self.declared.get(&var).copied().unwrap_or_default();
        let units = value.and(at.some.without(before.some));
        let summed = self.reduced.iter().filter(|(v, _)| *v == var);
        let summed = summed.fold(Units::NONE, |all, (_, units)| all.and(*units));
        let varies = self.found.vars.entry(var).or_default();
        varies.everywhere = varies.everywhere.and(units.without(summed));
        varies.inside = varies.inside.and(units.within(summed));
    }
}
