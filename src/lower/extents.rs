//! The ranges of variables and of the parts that commands made of them.

use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::lower as codes;
use crate::graph::Guard;
use crate::graph::relation::Values;
use crate::loops::build as b;
use crate::loops::ir::Expr;
use crate::program::ir::{Bound, VarId};

impl Lowerer<'_> {
    /// The bounds of a variable of the program.
    pub(super) fn range(&self, var: VarId, scope: &Scope) -> Lower<(Expr, Expr)> {
        let range = self.graph.var(var).range.clone();
        Ok((self.bound(&range.lo, scope)?, self.bound(&range.hi, scope)?))
    }

    fn bound(&self, bound: &Bound, scope: &Scope) -> Lower<Expr> {
        match bound {
            Bound::Static(e) => Ok(self.size_expr(e)),
            Bound::Dynamic(e) => self.value(e, scope),
        }
    }

    /// What holds where values of shared loops are a statement's own.
    pub(super) fn guards(&self, guards: &[Guard], scope: &Scope) -> Lower<Vec<Expr>> {
        let mut all = Vec::new();
        for guard in guards {
            let value = self.coordinate(guard.var, scope);
            let value = value.ok_or_else(|| self.unknown_extent(guard.var))?;
            if let Some(lo) = &guard.lo {
                all.push(b::le(self.bound(lo, scope)?, value.clone()));
            }
            if let Some(hi) = &guard.hi {
                all.push(b::lt(value, self.bound(hi, scope)?));
            }
        }
        Ok(all)
    }

    /// Whether the loops outside determine what the bounds of a variable read.
    pub(super) fn range_is_known(&self, var: VarId, scope: &Scope) -> bool {
        self.graph.provenance.roots(var).into_iter().all(|root| {
            let range = self.graph.var(root).range.clone();
            [range.lo, range.hi].iter().all(|bound| match bound {
                Bound::Static(_) => true,
                Bound::Dynamic(e) => self.is_known(e, scope),
            })
        })
    }

    /// Where the bounds of dynamic counted loops that run outside become known: what
    /// tells that they have ended (003's exit predicate), and their variables.
    pub(super) fn complete_pending(
        &self,
        scope: &mut Scope,
        out: &mut Vec<crate::loops::ir::Stmt>,
    ) -> Lower<Vec<Expr>> {
        let mut guards = Vec::new();
        let stmts: Vec<usize> = self.tree.nests.iter().map(|nest| nest.stmt).collect();
        for at in 0..self.graph.vars.len() {
            let var = VarId::at(at);
            let dynamic = stmts.contains(&self.graph.var(var).stmt)
                && self.graph.provenance.producer(var).is_none()
                && self.graph.static_range(var).is_none();
            let mut consumers = self.graph.provenance.consumers(var);
            let skewed = consumers.any(|r| r.skews() == Some(var));
            if !(dynamic || skewed) || scope.coords.contains_key(&var) {
                continue;
            }
            self.locate_bounds(scope)?;
            let Some(offset) = self.here(scope).by_parts(var) else {
                continue;
            };
            if !self.range_is_known(var, scope) {
                continue;
            }
            if dynamic {
                guards.push(b::lt(offset.clone(), self.own_extent(var, scope)?));
            }
            let (lo, _) = self.range(var, scope)?;
            let value = self.named(&self.graph.var(var).name.clone(), b::add(lo, offset), out);
            scope.coords.insert(var, value);
        }
        self.dynamic_promises(scope, out)?;
        Ok(guards)
    }

    /// Whether the loops outside determine how many values a variable has.
    pub(super) fn extent_is_known(&self, var: VarId, scope: &Scope) -> bool {
        self.here(scope).extent(var).is_some()
    }

    /// The variable whose positions `pos` counts, or counts a part of.
    pub(super) fn stored_parent(&self, pos: VarId) -> VarId {
        self.graph.provenance.stored_parent(pos).unwrap_or(pos)
    }

    /// What the number of values of a variable does not exceed, if constants say so.
    pub(super) fn most_extent(&self, var: VarId, scope: &Scope) -> Option<i64> {
        let provenance = &self.graph.provenance;
        let Some(relation) = provenance.producer(var) else {
            return self.graph.most_extent(var);
        };
        if relation.counts().is_some() {
            return scope.segments.get(&var)?.last()?.most;
        }
        let same = relation.is_renaming(provenance) && relation.coordinates().is_none();
        let of = relation.part_of(var, provenance).filter(|_| same)?;
        self.most_extent(of, scope)
    }

    /// The number of values of a variable, as far as its own relation says.
    pub(super) fn own_extent(&self, var: VarId, scope: &Scope) -> Lower<Expr> {
        match self.here(scope).extent(var) {
            Some(extent) => Ok(extent),
            None => Err(self.unknown_extent(var)),
        }
    }

    pub(super) fn unknown_extent(&self, var: VarId) -> Diagnostic {
        let name = &self.graph.var(var).name;
        let error = self.error(
            codes::UNKNOWN_COORDINATE,
            format!("how many values `{name}` has cannot be told here: not supported yet"),
            "in this statement",
        );
        let provenance = &self.graph.provenance;
        let late = provenance.relations.iter().find_map(|relation| {
            let parent = relation.promise()?.parent;
            provenance.producer(parent).map(|_| parent)
        });
        let late = late.map(|parent| &self.graph.var(parent).name);
        match late {
            Some(parent) => error.with_help(format!(
                "bound `{parent}` before the commands that it comes from, not behind them"
            )),
            None => error,
        }
    }
}
