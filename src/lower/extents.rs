//! The ranges of variables and of the parts that commands made of them.

use super::{Lower, Lowerer, Scope};
use crate::graph::{BoundKind, Relation};
use crate::loops::build as b;
use crate::loops::ir::Expr;
use crate::program::ir::{Bound, SizeExpr, VarId};

impl Lowerer<'_> {
    /// The bounds of a variable of the program.
    pub(super) fn range(&mut self, var: VarId, scope: &Scope) -> Lower<(Expr, Expr)> {
        let range = self.graph.var(var).range.clone();
        Ok((self.bound(&range.lo, scope)?, self.bound(&range.hi, scope)?))
    }

    fn bound(&mut self, bound: &Bound, scope: &Scope) -> Lower<Expr> {
        match bound {
            Bound::Static(e) => Ok(self.size_expr(e)),
            Bound::Dynamic(e) => self.value(e, scope),
        }
    }

    /// Whether the loops outside determine what the bounds of a variable read.
    pub(super) fn range_is_known(&mut self, var: VarId, scope: &Scope) -> bool {
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
        &mut self,
        scope: &mut Scope,
        out: &mut Vec<crate::loops::ir::Stmt>,
    ) -> Lower<Vec<Expr>> {
        let mut guards = Vec::new();
        let stmts: Vec<usize> = self.nests.iter().map(|nest| nest.stmt).collect();
        for at in 0..self.graph.vars.len() {
            let var = VarId(u32::try_from(at).unwrap_or(u32::MAX));
            let dynamic = stmts.contains(&self.graph.var(var).stmt)
                && self.graph.provenance.producer(var).is_none()
                && self.graph.static_range(var).is_none();
            if !dynamic || scope.coords.contains_key(&var) {
                continue;
            }
            self.locate_bounds(scope)?;
            let Some(offset) = self.offset_down(var, scope) else {
                continue;
            };
            if !self.range_is_known(var, scope) {
                continue;
            }
            guards.push(b::lt(offset.clone(), self.own_extent(var, scope)?));
            let (lo, _) = self.range(var, scope)?;
            let value = self.named(&self.graph.var(var).name.clone(), b::add(lo, offset), out);
            scope.coords.insert(var, value);
        }
        self.dynamic_promises(scope, out)?;
        Ok(guards)
    }

    /// Whether data decide how many values the variable has.
    pub(super) fn has_dynamic_range(&self, var: VarId) -> bool {
        let roots = self.graph.provenance.roots(var);
        let dynamic = |&root: &VarId| self.graph.static_range(root).is_none();
        roots.iter().any(dynamic) || self.graph.provenance.is_cut(var)
    }

    /// Whether the number of values of a variable follows from data, not from sizes alone: a
    /// data-dependent range, positions, and parts of them of no constant size.
    pub(super) fn data_decides(&self, var: VarId) -> bool {
        let derived = self.graph.provenance.producer(var).is_some();
        self.has_dynamic_range(var) || (derived && self.graph.extent(var).is_none())
    }

    /// Whether the loops outside determine how many values a variable has.
    pub(super) fn extent_is_known(&mut self, var: VarId, scope: &Scope) -> bool {
        match self.graph.provenance.producer(var).cloned() {
            None => self.range_is_known(var, scope),
            Some(Relation::Pos { .. }) => scope.segments.contains_key(&var),
            Some(Relation::Coord { parent, .. }) => {
                scope.cuts.contains_key(&var)
                    || (!self.graph.provenance.is_cut(var)
                        && self.extent_is_known(self.stored_parent(parent), scope))
            }
            Some(relation) => relation
                .parents()
                .into_iter()
                .all(|parent| self.extent_is_known(parent, scope)),
        }
    }

    /// The variable whose positions `pos` counts, or counts a part of.
    pub(super) fn stored_parent(&self, pos: VarId) -> VarId {
        self.graph.provenance.stored_parent(pos).unwrap_or(pos)
    }

    /// Whether the parts of a split make up exactly the values of its parent.
    pub(super) fn divides(&mut self, relation: &Relation, scope: &Scope) -> Lower<bool> {
        let Relation::Split { parent, factor, .. } = relation else {
            return Ok(false);
        };
        if let Some(Relation::Bound {
            value,
            kind: BoundKind::Multiple,
            ..
        }) = self.graph.provenance.producer(*parent)
            && value % factor == 0
        {
            return Ok(true);
        }
        let extent = self.own_extent(*parent, scope)?;
        Ok(b::as_int(&extent).is_some_and(|n| n % factor == 0))
    }

    /// The number of values of the inner part of a split or divided variable.
    pub(super) fn part_size(&mut self, relation: &Relation, scope: &Scope) -> Lower<Expr> {
        match relation {
            Relation::Split { factor, .. } => Ok(b::int(*factor)),
            Relation::Divide { parent, parts, .. } => {
                let extent = self.own_extent(*parent, scope)?;
                // At least 1, so that an empty range can be divided by it.
                Ok(b::max(b::ceil_div(extent, *parts), b::int(1)))
            }
            Relation::Fuse { .. }
            | Relation::Pos { .. }
            | Relation::Coord { .. }
            | Relation::Bound { .. }
            | Relation::Inspect { .. }
            | Relation::Precompute { .. } => Ok(b::int(1)),
        }
    }

    /// What the number of values of a variable does not exceed, if constants say so.
    pub(super) fn most_extent(&self, var: VarId, scope: &Scope) -> Option<i64> {
        match self.graph.provenance.producer(var) {
            None => self.graph.most_extent(var),
            Some(Relation::Precompute { parent, .. }) => self.most_extent(*parent, scope),
            Some(
                Relation::Bound { .. }
                | Relation::Inspect { .. }
                | Relation::Split { .. }
                | Relation::Divide { .. }
                | Relation::Fuse { .. }
                | Relation::Coord { .. },
            ) => None,
            Some(Relation::Pos { .. }) => scope.segments.get(&var)?.last()?.most,
        }
    }

    /// The number of values of a variable, as far as its own relation says.
    pub(super) fn own_extent(&mut self, var: VarId, scope: &Scope) -> Lower<Expr> {
        match self.graph.provenance.producer(var).cloned() {
            None => {
                let (lo, hi) = self.range(var, scope)?;
                Ok(b::sub(hi, lo))
            }
            Some(Relation::Split {
                parent,
                outer,
                factor,
                ..
            }) => {
                if var == outer {
                    let extent = self.own_extent(parent, scope)?;
                    Ok(b::ceil_div(extent, factor))
                } else {
                    Ok(b::int(factor))
                }
            }
            Some(ref relation @ Relation::Divide { outer, parts, .. }) => {
                if var == outer {
                    Ok(b::int(parts))
                } else {
                    self.part_size(relation, scope)
                }
            }
            Some(Relation::Fuse { outer, inner, .. }) => Ok(b::mul(
                self.own_extent(outer, scope)?,
                self.own_extent(inner, scope)?,
            )),
            Some(Relation::Pos { .. }) => Ok(self.position_count(var, scope)),
            Some(Relation::Coord { parent, .. }) => match scope.cuts.get(&var) {
                Some(cut) => Ok(cut.count.clone()),
                None => self.own_extent(self.stored_parent(parent), scope),
            },
            Some(Relation::Bound {
                parent,
                value,
                kind,
                ..
            }) => match kind {
                BoundKind::MaxExact | BoundKind::MaxConstraint => {
                    // Of a range that data decide it bounds the number of values.
                    match self.graph.static_range(parent) {
                        Some((lo, _)) if self.graph.provenance.producer(parent).is_none() => {
                            Ok(b::sub(b::int(value), self.size_expr(lo)))
                        }
                        Some(_) | None => Ok(b::int(value)),
                    }
                }
                BoundKind::MinExact | BoundKind::MinConstraint | BoundKind::Multiple => {
                    self.own_extent(parent, scope)
                }
            },
            Some(Relation::Inspect { bound, .. }) => Ok(self.size_expr(&SizeExpr::Param(bound))),
            Some(Relation::Precompute { parent, .. }) => self.own_extent(parent, scope),
        }
    }
}
