//! Serial loops and conditions, whose bodies some or all threads of the place run.

use super::super::barriers::Pending;
use super::super::{Refusal, inlined};
use super::{Site, Spmd};
use crate::loops::build as b;
use crate::loops::effects::Around;
use crate::loops::ir::{Expr, LoopTag, Stmt, VarId};
use crate::loops::trips::Bounds;
use crate::loops::uniform::Units;
use crate::loops::visit;
use std::collections::BTreeSet;

impl Spmd<'_> {
    /// A loop over numbers, which each of the threads runs.
    pub(super) fn serial(
        &mut self,
        (var, bounds, step): (VarId, Bounds, i64),
        tag: LoopTag,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
    ) -> Result<Stmt, Refusal> {
        let ends = [&bounds.lo, &bounds.hi];
        let mut site = self.diverging(place, &ends);
        site.around.push(Around {
            var,
            lo: inlined(&bounds.lo, &self.known),
            step,
            most: bounds.most,
            unit: None,
            tells: true,
        });
        self.note(&ends, place, pending);
        let without = pending.clone();
        let body = self.inner(body, Some(var), &site, pending)?;
        pending.join(without);
        Ok(bounds.every(step, var, tag, body))
    }

    /// A loop that runs while the condition holds.
    pub(super) fn repeated(
        &mut self,
        cond: Expr,
        body: Vec<Stmt>,
        place: &Site,
        pending: &mut Pending,
    ) -> Result<Stmt, Refusal> {
        let site = self.diverging(place, &[&cond]);
        self.note(&[&cond], place, pending);
        let without = pending.clone();
        let body = self.inner(body, None, &site, pending)?;
        pending.join(without);
        Ok(Stmt::While { cond, body })
    }

    /// Both branches of a condition.
    pub(super) fn branches(
        &mut self,
        cond: Expr,
        (then, otherwise): (Vec<Stmt>, Vec<Stmt>),
        place: &Site,
        pending: &mut Pending,
    ) -> Result<Stmt, Refusal> {
        // Some may still read what others overwrite inside.
        self.note(&[&cond], place, pending);
        let mut other = pending.clone();
        let inside = |var: &VarId| then.iter().chain(&otherwise).any(|s| assigns(s, *var));
        self.fresh.retain(|var| !inside(var));
        let site = self.diverging(place, &[&cond]);
        let then = self.list(then, &site, pending)?;
        let otherwise = self.list(otherwise, &site, &mut other)?;
        pending.join(other);
        Ok(b::if_else(cond, then, otherwise))
    }

    /// The place inside of conditions or bounds: only some of the threads may be there if these depend
    /// on the iteration of a loop over units.
    pub(in crate::loops::device) fn diverging(&self, place: &Site, conditions: &[&Expr]) -> Site {
        let mut site = place.clone();
        let varies = |e: &&Expr| self.uniform.units(e, place.entered).meets(Units::THREADS);
        site.partial |= conditions.iter().any(varies);
        site
    }

    /// The body of a loop, over `var` if it counts, that all threads at the place run.
    pub(in crate::loops::device) fn inner(
        &mut self,
        body: Vec<Stmt>,
        var: Option<VarId>,
        place: &Site,
        pending: &mut Pending,
    ) -> Result<Vec<Stmt>, Refusal> {
        // The iteration before may have set them.
        self.fresh
            .retain(|var| !body.iter().any(|stmt| assigns(stmt, *var)));
        if self.alike(place) > 1 {
            let accesses = |s| pending.accesses(self.launch(), &place.around, s);
            let all = body.iter().flat_map(accesses).collect();
            pending.add_earlier(all, &inside(&body, var));
        }
        self.list(body, place, pending)
    }
}

/// The variables that have other values in the next iteration of a loop over `var`.
pub(in crate::loops::device) fn inside(body: &[Stmt], var: Option<VarId>) -> BTreeSet<VarId> {
    let mut found = visit::declared(body);
    found.extend(var);
    found
}

/// Whether the variable changes inside.
fn assigns(stmt: &Stmt, var: VarId) -> bool {
    visit::changed(std::slice::from_ref(stmt)).contains(&var)
}
