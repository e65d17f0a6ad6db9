//! Coordinates at which a sparse result may have no element: which loops try them all, and
//! what that costs.

use super::access::AccessId;
use super::assemble::{Assembly, ResultCursor};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{lower as codes, performance};
use crate::graph::Stmt;
use crate::program::ir::{ExprKind, TensorId, VarId};
use std::collections::BTreeSet;

impl Lowerer<'_> {
    /// The loops over `root` may skip coordinates of a dense level of the result.
    pub(super) fn note_gaps(&mut self, root: VarId) {
        self.note_gaps_in(root, |_| true);
    }

    /// Some iterations of a loop over `root` do nothing for one of the results that share it.
    pub(super) fn note_missing(&mut self, root: VarId, stmts: &[&Stmt]) {
        let made: Vec<BTreeSet<TensorId>> = stmts.iter().map(|stmt| assigned(stmt)).collect();
        self.note_gaps_in(root, |tensor| {
            made.iter().any(|made| !made.contains(&tensor))
        });
    }

    fn note_gaps_in(&mut self, root: VarId, concerns: impl Fn(TensorId) -> bool) {
        let mut assemblies = std::mem::take(&mut self.assemblies);
        for assembly in assemblies.iter_mut().filter(|a| concerns(a.tensor)) {
            let format = &self.tensor(assembly.tensor).format;
            let last = assembly.groups.last().map_or(0, |g| g.last);
            assembly.gaps |= (0..last).any(|level| {
                format.levels[level].is_placed() && assembly.lhs[format.modes[level]] == root
            });
        }
        self.assemblies = assemblies;
    }

    /// A joined statement reads rows as they are appended: none may be skipped, for where a
    /// skipped one ends is filled in behind the loops.
    pub(super) fn refuse_skipped_rows(&self, assemblies: &[Assembly]) -> Lower<()> {
        for assembly in assemblies.iter().filter(|assembly| assembly.gaps) {
            if self.is_read(assembly.tensor) {
                let name = &self.tensor(assembly.tensor).name;
                return Err(self
                    .error(
                        crate::diagnostic::codes::schedule::NOT_NESTED,
                        format!("rows of `{name}` may be skipped that a joined statement reads"),
                        "where they end is not known inside the shared loops",
                    )
                    .with_help(format!(
                        "leave the statements apart, or store `{name}` dense"
                    )));
            }
        }
        Ok(())
    }

    /// Whether the variable's range is the whole dimension that the level stores.
    pub(super) fn covers(&self, root: VarId, tensor: TensorId, level: usize) -> bool {
        let tensor = self.tensor(tensor);
        let dim = &tensor.dims[tensor.format.modes[level]];
        self.graph.covers(root, dim)
    }

    /// Whether the element may have been reached without any operand: its sums run
    /// over sparse levels that may be empty, and without them nothing is stored.
    pub(super) fn may_be_vacuous(&self, stmt: &Stmt, scope: &Scope) -> bool {
        let absent = |producer: &Stmt| self.walked_sparse(producer, scope);
        let mut any = false;
        note_where(stmt, &mut |producer| {
            any |= self.walks_sparse(producer, scope)
        });
        any && self.operands().without_reductions(stmt, &absent).is_none()
    }

    /// Whether a loop of `stmt` walks a sparse level.
    pub(super) fn walks_sparse(&self, stmt: &Stmt, scope: &Scope) -> bool {
        !self.walked_sparse(stmt, scope).is_empty()
    }

    /// The accesses of which loops of `stmt` walk a sparse level.
    fn walked_sparse(&self, stmt: &Stmt, scope: &Scope) -> BTreeSet<AccessId> {
        let mut roots = Vec::new();
        collect_loops(stmt, &mut roots);
        let roots: Vec<VarId> = roots
            .into_iter()
            .flat_map(|var| self.graph.provenance.roots(var))
            .collect();
        self.table
            .in_stmt(self.graph, stmt, false)
            .into_iter()
            .filter(|&id| {
                let entry = self.table.get(id);
                let format = &self.tensor(entry.access.tensor).format;
                (self.cursor(scope, id).level..format.order()).any(|level| {
                    let subscript = &entry.access.subscripts[format.modes[level]];
                    let on_loop = match subscript.kind {
                        ExprKind::Index(var) => roots.contains(&var),
                        ExprKind::Literal(_)
                        | ExprKind::Access(_)
                        | ExprKind::Size(_)
                        | ExprKind::Unary(..)
                        | ExprKind::Binary(..)
                        | ExprKind::Select(..)
                        | ExprKind::Call(..)
                        | ExprKind::Cast(_)
                        | ExprKind::Reduce { .. } => false,
                    };
                    !format.levels[level].is_full() && on_loop
                })
            })
            .collect()
    }

    /// A level that appends is visited at every coordinate only because an operand
    /// can be found by search alone: refused, since the result would be tried at every
    /// coordinate there is.
    pub(super) fn refuse_dense_blowup(&self, stmt: &Stmt, root: VarId, scope: &Scope) -> Lower<()> {
        for (assembly, cursor) in self.assemblies.iter().zip(&scope.results) {
            self.refuse_dense_blowup_of((assembly, cursor), stmt, root, scope)?;
        }
        Ok(())
    }

    fn refuse_dense_blowup_of(
        &self,
        (assembly, cursor): (&Assembly, &ResultCursor),
        stmt: &Stmt,
        root: VarId,
        scope: &Scope,
    ) -> Lower<()> {
        let format = &self.tensor(assembly.tensor).format;
        let appends = assembly.group_of(cursor.level).is_some()
            && assembly.lhs[format.modes[cursor.level]] == root;
        if !appends {
            return Ok(());
        }
        let searched = self
            .table
            .in_stmt(self.graph, stmt, false)
            .into_iter()
            .find(|&id| self.is_searched_at(id, root, scope));
        match searched {
            None => Ok(()),
            Some(id) => {
                let operand = &self.tensor(self.table.get(id).access.tensor).name;
                let result = &self.tensor(assembly.tensor).name;
                Err(self
                    .error(
                        codes::DENSE_RESULT,
                        format!(
                            "every coordinate of the sparse result `{result}` would be tried: \
                             not supported yet"
                        ),
                        &format!("`{operand}` cannot be walked in the order of the loops"),
                    )
                    .with_help(format!(
                        "store `{operand}` with its levels in the order of `{result}`, or `{result}` dense"
                    )))
            }
        }
    }

    /// Says where a loop over all of `root` is owed to an operand that stores few of its
    /// coordinates, at a level that the order of the loops does not reach yet. A result with a
    /// place for each coordinate needs the loop anyway.
    pub(super) fn note_every_coordinate(&mut self, stmt: &Stmt, root: VarId, scope: &Scope) {
        let has_places = self.nests.iter().any(|nest| {
            let format = &self.tensor(nest.tensor).format;
            let modes = format.levels.iter().zip(&format.modes);
            modes
                .filter(|(level, _)| level.is_placed())
                .any(|(_, &mode)| nest.lhs.get(mode) == Some(&root))
        });
        if has_places {
            return;
        }
        let found = self
            .table
            .in_stmt(self.graph, stmt, false)
            .into_iter()
            .find(|&id| {
                let access = &self.table.get(id).access;
                let format = &self.tensor(access.tensor).format;
                let first = self.cursor(scope, id).level;
                (first + 1..format.order()).any(|level| {
                    let subscript = &access.subscripts[format.modes[level]];
                    format.levels[level].is_walked() && subscript.as_var() == Some(root)
                })
            });
        let Some(id) = found else {
            return;
        };
        let operand = &self.tensor(self.table.get(id).access.tensor).name;
        let name = &self.graph.var(root).name;
        let remark = Diagnostic::performance(
            performance::EVERY,
            self.span,
            format!("the loop over `{name}` tries every coordinate there is"),
            format!("`{operand}` cannot be walked in the order of the loops"),
        )
        .with_help(format!(
            "store `{operand}`, or a copy of it, with `{name}` in an outer level"
        ));
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Whether a loop over all of `root` lets the access be searched at coordinates
    /// that outer loops fixed: each outer iteration would try the whole range.
    fn is_searched_at(&self, id: super::access::AccessId, root: VarId, scope: &Scope) -> bool {
        let entry = self.table.get(id);
        let format = &self.tensor(entry.access.tensor).format;
        let mut meets_root = false;
        for level in self.cursor(scope, id).level..format.order() {
            let subscript = &entry.access.subscripts[format.modes[level]];
            let vars = crate::graph::order::vars_in(subscript);
            let known = vars
                .iter()
                .all(|v| *v == root || scope.coords.contains_key(v));
            if !known {
                return false;
            }
            if format.levels[level].is_walked() && meets_root && !vars.contains(&root) {
                return true;
            }
            meets_root |= vars.contains(&root);
        }
        false
    }
}

/// The tensors that a statement assigns.
pub(super) fn assigned(stmt: &Stmt) -> BTreeSet<TensorId> {
    stmt.assigns().iter().map(|assign| assign.tensor).collect()
}

fn note_where(stmt: &Stmt, f: &mut impl FnMut(&Stmt)) {
    match stmt {
        Stmt::Forall { body, .. } | Stmt::Within { body, .. } => note_where(body, f),
        Stmt::Where {
            consumer, producer, ..
        } => {
            f(producer);
            note_where(consumer, f);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|s| note_where(s, f)),
        Stmt::Assign(_) => {}
    }
}

fn collect_loops(stmt: &Stmt, vars: &mut Vec<VarId>) {
    match stmt {
        Stmt::Forall { var, body, .. } => {
            vars.push(*var);
            collect_loops(body, vars);
        }
        Stmt::Within { body, .. } => collect_loops(body, vars),
        Stmt::Where {
            consumer, producer, ..
        } => {
            collect_loops(producer, vars);
            collect_loops(consumer, vars);
        }
        Stmt::Sequence(stmts) => stmts.iter().for_each(|s| collect_loops(s, vars)),
        Stmt::Assign(_) => {}
    }
}
