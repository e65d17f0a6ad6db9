//! Coordinates at which a sparse result may have no element: which loops try them all, and
//! what that costs.

use super::assemble::{Assembly, ResultCursor};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{lower as codes, performance};
use crate::graph::Stmt;
use crate::program::ir::VarId;

impl Lowerer<'_> {
    /// A joined statement reads rows as they are appended: none may be skipped, for where a
    /// skipped one ends is filled in behind the loops.
    pub(super) fn refuse_skipped_rows(&self, assemblies: &[Assembly]) -> Lower<()> {
        for assembly in assemblies {
            if self.tree.gaps.contains(&assembly.tensor) && self.is_read(assembly.tensor) {
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
            .tree
            .table
            .in_stmt(self.graph, stmt, false)
            .into_iter()
            .find(|&id| self.is_searched_at(id, root, scope));
        match searched {
            None => Ok(()),
            Some(id) => {
                let operand = &self.tensor(self.tree.table.get(id).access.tensor).name;
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
        let has_places = self.tree.nests.iter().any(|nest| {
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
            .tree
            .table
            .in_stmt(self.graph, stmt, false)
            .into_iter()
            .find(|&id| {
                let access = &self.tree.table.get(id).access;
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
        let operand = &self.tensor(self.tree.table.get(id).access.tensor).name;
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
        let entry = self.tree.table.get(id);
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
