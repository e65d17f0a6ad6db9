//! The ranges of variables and of the parts that commands made of them.

use super::cuts::{Guards, add_guard, innermost};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::lower as codes;
use crate::graph::Guard;
use crate::graph::order::range_vars;
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
    /// tells that they have ended (003's exit predicate), and their variables. A range may depend on the value of
    /// another variable, which is one only where that one's loop has not ended: what is read for it, and what is
    /// promised of it, stands behind that guard.
    pub(super) fn complete_pending(
        &self,
        scope: &mut Scope,
        out: &mut Vec<crate::loops::ir::Stmt>,
    ) -> Lower<Guards> {
        let mut guards = Guards::new();
        loop {
            let place = innermost(&mut *out, &mut guards);
            self.dynamic_promises(scope, place)?;
            let Some((var, offset)) = self.next_pending(scope)? else {
                return Ok(guards);
            };
            if self.is_pending(var) {
                let within = b::lt(offset.clone(), self.own_extent(var, scope)?);
                add_guard(&mut guards, within);
            }
            let (lo, _) = self.range(var, scope)?;
            let place = innermost(&mut *out, &mut guards);
            let value = self.named(&self.graph.var(var).name.clone(), b::add(lo, offset), place);
            scope.coords.insert(var, value);
        }
    }

    /// A variable of ours whose value is not known yet although the loops tell it, and how far it is from where
    /// its range begins.
    fn next_pending(&self, scope: &mut Scope) -> Lower<Option<(VarId, Expr)>> {
        for at in 0..self.graph.vars.len() {
            let var = VarId::at(at);
            let mut consumers = self.graph.provenance.consumers(var);
            let skewed = consumers.any(|r| r.skews() == Some(var));
            if !(self.is_pending(var) || skewed)
                || scope.coords.contains_key(&var)
                || !self.has_deciding(var, scope)
            {
                continue;
            }
            self.locate_bounds(scope)?;
            let Some(offset) = self.here(scope).by_parts(var) else {
                continue;
            };
            if self.range_is_known(var, scope) {
                return Ok(Some((var, offset)));
            }
        }
        Ok(None)
    }

    /// Whether the variables that a range depends on have values of theirs: parts of a loop that has ended, before
    /// that is asked, tell numbers that are none.
    pub(super) fn has_deciding(&self, var: VarId, scope: &Scope) -> bool {
        let mut decide = range_vars(self.graph, var).into_iter();
        decide.all(|v| !self.is_pending(v) || scope.coords.contains_key(&v))
    }

    /// Whether data decide the range of a variable of our statements.
    fn is_pending(&self, var: VarId) -> bool {
        let graph = self.graph;
        let mut stmts = self.tree.nests.iter().map(|nest| nest.stmt);
        stmts.any(|stmt| stmt == graph.var(var).stmt)
            && graph.provenance.producer(var).is_none()
            && graph.static_range(var).is_none()
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
        // An element that may be nowhere is found by a search, which only a loop around it can do.
        let roots = provenance.roots(var).into_iter();
        let reads = roots.flat_map(|root| self.graph.var(root).range.reads());
        let mut read = reads
            .flat_map(|e| e.accesses())
            .map(|access| self.tensor(access.tensor));
        let sparse = read.find(|tensor| tensor.is_sparse());
        match (late, sparse) {
            (Some(parent), _) => error.with_help(format!(
                "bound `{parent}` before the commands that it comes from, not behind them"
            )),
            (None, Some(tensor)) => error.with_help(format!(
                "store `{}` dense: where its elements are has to be known in any order of the loops",
                tensor.name
            )),
            (None, None) => error,
        }
    }
}
