//! Where operands stand: positions of levels whose coordinates are known, found as the plan says
//! (`plan/locate.rs`).

use super::access::AccessId;
use super::{Lower, Lowerer, Scope};
use crate::graph::access::may_lie_outside;
use crate::graph::order::vars_in;
use crate::graph::spans;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, ScalarType};
use crate::loops::trips::Bounds;
use crate::plan::{Absent, By, Found, Inside, Then};
use crate::program::ir::{Access, VarId};

/// The positions of one level below a parent position.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub begin: Expr,
    pub end: Expr,
    /// What `end - begin` does not exceed, if a constant says so.
    pub most: Option<i64>,
    /// A run of equal coordinates, which ends where the loop around stopped looking: the next
    /// position may have the same coordinate.
    pub run: bool,
}

impl Segment {
    pub(super) fn bounds(self) -> Bounds {
        Bounds::of(self.begin, self.end).at_most(self.most)
    }
}

impl Lowerer<'_> {
    /// Lowers what is done where new coordinates became known, `root` among them: finds the levels
    /// that the plan says, opens those of appended results, then lowers the statement.
    pub(super) fn inside(
        &self,
        inside: &Inside,
        mut scope: Scope,
        root: Option<VarId>,
    ) -> Lower<Vec<ir::Stmt>> {
        self.found(&inside.found, inside, &mut scope, root)
    }

    fn found(
        &self,
        levels: &[Found],
        inside: &Inside,
        scope: &mut Scope,
        root: Option<VarId>,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        for (at, level) in levels.iter().enumerate() {
            let id = level.access;
            // Where bounds had to be known, what they read has been located.
            if self.cursor(scope, id).level > level.level {
                continue;
            }
            let access = self.tree.table.get(id).access.clone();
            let mode = self.tensor(access.tensor).format.modes[level.level];
            let key = self.value(&access.subscripts[mode], scope)?;
            let (found, absent) = match level.by {
                By::Search(absent) => {
                    let (stmts, found) = self.search(id, key, scope)?;
                    out.extend(stmts);
                    (found, absent)
                }
                By::Arithmetic => {
                    self.compute(id, (key, None), scope);
                    continue;
                }
                By::Probe(absent) => match self.probe(id, key, scope, &mut out) {
                    Some(present) => (present, absent),
                    None => continue,
                },
            };
            if absent == Absent::Skip {
                let then = self.found(&levels[at + 1..], inside, scope, root)?;
                out.push(b::if_then(found, then));
                return Ok(out);
            }
            let found = self.named_flag(id, found, &mut out);
            scope.cursors[id.0].present = Some(found);
        }
        out.extend(self.note_rows(&inside.left, scope));
        out.extend(match &inside.then {
            Then::One(node) => self.open_result((inside, node), scope.clone())?,
            Then::Apart(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.inside(part, scope.clone(), root)?);
                }
                all
            }
        });
        Ok(out)
    }

    /// Moves the cursor to the position that arithmetic tells; whether there is an element, if it
    /// has to be asked.
    fn compute(
        &self,
        id: AccessId,
        (key, inside): (Expr, Option<Expr>),
        scope: &mut Scope,
    ) -> Option<Expr> {
        let level = scope.cursors[id.0].level;
        let stored = self.level(self.tree.table.get(id).access.tensor, level);
        let cursor = &mut scope.cursors[id.0];
        let pos = stored.locate(cursor.pos.clone(), key)?;
        cursor.advance(pos.clone());
        let noted = stored.present(pos);
        let present = inside.into_iter().chain(noted).reduce(b::and)?;
        // Of an absent parent the position is no position.
        Some(match cursor.present.take() {
            Some(parent) => b::and(parent, present),
            None => present,
        })
    }

    /// [`Self::compute`] where there may be no element: none is noted, or none can be at a coordinate
    /// outside of the level's.
    fn probe(
        &self,
        id: AccessId,
        key: Expr,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Option<Expr> {
        let entry = self.tree.table.get(id);
        let tensor = entry.access.tensor;
        let level = scope.cursors[id.0].level;
        if !may_lie_outside(self.graph, &self.tensors, entry, level) {
            return self.compute(id, (key, None), scope);
        }
        let name = &self.tensor(tensor).name;
        let key = self.named(&format!("at_{name}{}", level + 1), key, out);
        let mode = self.tensor(tensor).format.modes[level];
        let (subscript, extent) = (
            &entry.access.subscripts[mode],
            &self.tensor(tensor).dims[mode],
        );
        let first = (!spans::is_natural(self.graph, subscript))
            .then(|| b::binary(ir::BinaryOp::Ge, key.clone(), b::int(0)));
        let last = (!spans::ends_in(self.graph, subscript, extent))
            .then(|| b::lt(key.clone(), self.extent(tensor, level)));
        let inside = first.into_iter().chain(last).reduce(b::and);
        self.compute(id, (key, inside), scope)
    }

    /// Whether an element is there, as a variable that is asked more than once.
    fn named_flag(&self, id: AccessId, found: Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        if matches!(found.kind, ir::ExprKind::Var(_)) {
            return found;
        }
        let name = &self.tensor(self.tree.table.get(id).access.tensor).name;
        let var = self.fresh(&format!("has_{name}"), ScalarType::Bool, false);
        out.push(b::bind(var, found));
        b::var(var, ScalarType::Bool)
    }

    /// Locates what data-dependent bounds read, as far as arithmetic does.
    pub(super) fn locate_bounds(&self, scope: &mut Scope) -> Lower<()> {
        for at in 0..self.tree.table.entries.len() {
            let id = AccessId(at);
            while self.tree.table.get(id).nested && self.next_is_known(id, scope) {
                let access = self.tree.table.get(id).access.clone();
                let format = self.tensor(access.tensor).format.clone();
                let level = scope.cursors[at].level;
                if !format.levels[level].is_full() {
                    break;
                }
                let key = self.value(&access.subscripts[format.modes[level]], scope)?;
                let stored = self.level(access.tensor, level);
                let cursor = &mut scope.cursors[at];
                if let Some(pos) = stored.locate(cursor.pos.clone(), key) {
                    cursor.advance(pos);
                }
            }
        }
        Ok(())
    }

    /// Whether the access's next level has a coordinate that is known.
    fn next_is_known(&self, id: AccessId, scope: &Scope) -> bool {
        let access = &self.tree.table.get(id).access;
        let format = &self.tensor(access.tensor).format;
        let level = self.cursor(scope, id).level;
        if level >= format.order() {
            return false;
        }
        let subscript = access.subscripts[format.modes[level]].clone();
        self.is_known(&subscript, scope)
    }

    /// Whether every variable and access of a subscript is resolved.
    pub(super) fn is_known(&self, e: &crate::program::ir::Expr, scope: &Scope) -> bool {
        let is_found = |access: &Access| {
            let order = self.tensor(access.tensor).format.order();
            let id = self.tree.table.find(access);
            id.is_none_or(|id| self.cursor(scope, id).level == order)
        };
        let mut vars = vars_in(e).into_iter();
        e.accesses().into_iter().all(is_found)
            && vars.all(|var| self.coordinate(var, scope).is_some())
    }

    /// The positions below the cursor's position at its next, sparse level.
    pub(super) fn segment(&self, id: AccessId, scope: &Scope) -> Lower<Segment> {
        let entry = self.tree.table.get(id);
        let cursor = self.cursor(scope, id);
        let tensor = entry.access.tensor;
        let level = self.tensor(tensor).format.levels[cursor.level];
        let next = || b::add(cursor.pos.clone(), b::int(1));
        let end = cursor.end.clone().unwrap_or_else(next);
        let stored = self.level(tensor, cursor.level);
        let positions = stored.below(cursor.pos.clone()..end);
        // Where the parent is absent there is none, and nothing may be read by its number.
        let (begin, end) = match &cursor.present {
            None => (positions.start, positions.end),
            Some(present) => {
                let guard = |e: Expr, none: Expr| b::select(present.clone(), e, none);
                if level.is_branchless() {
                    let none = positions.start.clone();
                    (positions.start, guard(positions.end, none))
                } else {
                    let none = || b::int(0);
                    (guard(positions.start, none()), guard(positions.end, none()))
                }
            }
        };
        Ok(Segment {
            begin,
            end,
            most: None,
            run: cursor.end.is_some(),
        })
    }

    /// Finds `key` in the next level by binary search; the cursor moves there.
    /// Returns the statements and the condition that it was found.
    fn search(&self, id: AccessId, key: Expr, scope: &mut Scope) -> Lower<(Vec<ir::Stmt>, Expr)> {
        let tensor = self.tree.table.get(id).access.tensor;
        let level = self.cursor(scope, id).level;
        let segment = self.segment(id, scope)?;
        let name = &self.tensor(tensor).name;
        let base = format!("p{name}{}", level + 1);
        let found_name = format!("has_{name}");
        let unique = self.tensor(tensor).format.levels[level].unique;
        let Some(crd) = self.level(tensor, level).array(ArrayRole::Coordinates) else {
            // The one coordinate is zero.
            let there = b::lt(segment.begin.clone(), segment.end);
            let cursor = &mut scope.cursors[id.0];
            cursor.advance(segment.begin);
            cursor.present = None;
            let here = if let ir::ExprKind::Binary(ir::BinaryOp::Sub, at, from) = key.kind {
                b::eq(*at, *from)
            } else {
                b::eq(key, b::int(0))
            };
            return Ok((Vec::new(), b::and(there, here)));
        };
        let mut out = Vec::new();
        let table = self.level(tensor, level).array(ArrayRole::Table);
        let by = table.map_or(ir::Look::Bisect, ir::Look::Table);
        let end = self.bind(&format!("{base}_end"), segment.end, &mut out);
        let (p, pos) = self.fresh_index(&base, false);
        out.push(ir::Stmt::Search {
            var: p,
            array: crd,
            lo: segment.begin,
            hi: end.clone(),
            key: key.clone(),
            by,
        });
        let found = self.fresh(&found_name, ScalarType::Bool, false);
        let inside = b::lt(pos.clone(), end.clone());
        out.push(b::bind(
            found,
            match table {
                Some(_) => inside,
                None => {
                    let same = b::eq(self.load_index(crd, pos.clone()), key.clone());
                    b::and(inside, same)
                }
            },
        ));
        let run_end = if unique {
            None
        } else {
            let (last, last_value) = self.fresh_index(&format!("{base}_last"), false);
            out.push(ir::Stmt::Search {
                var: last,
                array: crd,
                lo: pos.clone(),
                hi: end,
                key: b::add(key, b::int(1)),
                by: ir::Look::Bisect,
            });
            Some(last_value)
        };
        let cursor = &mut scope.cursors[id.0];
        cursor.advance(pos);
        cursor.end = run_end;
        // The search ran on an empty segment where the parent is absent.
        cursor.present = None;
        Ok((out, b::var(found, ScalarType::Bool)))
    }
}
