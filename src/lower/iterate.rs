//! Loops: a range, the positions of one sparse level, or a coiteration of several.

use super::access::AccessId;
use super::lattice::{Point, Shape};
use super::recover::{Root, Step, Top, Window};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::codes::lower as codes;
use crate::graph::{Stmt, Tag};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr};
use crate::loops::trips::{self, Bounds};
use crate::program::ir::VarId;

impl Lowerer<'_> {
    /// Lowers `forall(var, body)`.
    pub(super) fn forall(
        &mut self,
        var: VarId,
        tag: &Tag,
        body: &Stmt,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut scope = scope.clone();
        let mut out = Vec::new();
        let cut = self.enter_cuts(var, body, &mut scope, &mut out)?;
        let mut inside = self.prepare(var, &mut scope)?;
        self.dynamic_promises(&mut scope, &mut inside)?;
        let after = self.enter_race(var, tag, body, &mut scope, &mut inside)?;
        let prologue = std::mem::take(&mut scope.prologue);
        let mut loops = self.loop_of(var, tag, body, &scope)?;
        self.prefetch(tag, &mut loops);
        begin_parallel(&mut loops, prologue);
        inside.append(&mut loops);
        inside.extend(after);
        out.extend(super::cuts::guarded(cut, inside));
        out.extend(self.close_tiles(var, &scope));
        Ok(out)
    }

    fn loop_of(
        &mut self,
        var: VarId,
        tag: &Tag,
        body: &Stmt,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let step = self.step(var, scope)?;
        let root = match &step.top {
            Top::Nothing => return self.range_loop(var, &step, tag, body, scope),
            Top::Position { pos, .. } => {
                return self.scattered_positions(var, *pos, &step, tag, body, scope);
            }
            Top::Fused { fused, .. } => {
                return self.scattered_fused(var, *fused, &step, tag, body, scope);
            }
            Top::Root(root) => root.clone(),
        };
        if let Some(&walked) = scope.walked.get(&root.var) {
            return self.walked_loop(walked, &root, tag, body, scope);
        }
        let mut iterators = match &root.window {
            Some(_) => self.iterators(body, root.var, scope),
            None => Vec::new(),
        };
        if iterators.is_empty() {
            self.refuse_dense_blowup(body, root.var, scope)?;
            self.note_every_coordinate(body, root.var, scope);
            return self.range_loop(var, &step, tag, body, scope);
        }
        iterators.sort_unstable();
        let mut lattice = self.lattice(body, iterators, scope);
        self.report(root.var, &lattice);
        self.prefill.append(&mut lattice.dropped);
        let Some(window) = root.window.clone() else {
            return self.range_loop(var, &step, tag, body, scope);
        };
        let level = |id| self.cursor(scope, id).level;
        let counted = self.operands().counts(&lattice, &level);
        let leaps = self.operands().leaps(&lattice, &level);
        if (tag.parallel.is_some() && !counted) || (tag.gallop && !leaps) {
            // `schedule/tree.rs` refuses it with more words; nothing is dropped silently here.
            return Err(self.error(
                codes::COITERATED_PARALLEL,
                format!("`{}` merges several operands", self.graph.var(var).name),
                "cannot be shared out, or leap",
            ));
        }
        if !counted {
            self.note_unroll(var, tag, "it merges several sparse operands");
        }
        let out = match &lattice.shape {
            Shape::Nothing => {
                self.note_gaps(root.var);
                Vec::new()
            }
            Shape::Sparse(points) => {
                self.note_gaps(root.var);
                let single = self.single_walk(points, scope);
                if let Some(id) = single {
                    let stmt = points[0].stmt.clone();
                    let name = format!("p{}", self.level_name(id, scope));
                    self.position_loop((id, &name), &stmt, &root, &window, tag, scope)?
                } else if tag.gallop {
                    let point = points[0].clone();
                    self.gallop(&point, &root, &window, scope)?
                } else {
                    let points = points.clone();
                    self.coiterate(&points, &root, &window, scope)?
                }
            }
            Shape::Full { points, rest } => {
                let (points, rest) = (points.clone(), rest.clone());
                self.refuse_dense_blowup(&rest, root.var, scope)?;
                self.note_every_coordinate(&rest, root.var, scope);
                let stmts: Vec<&Stmt> = points.iter().map(|p| &p.stmt).chain([&rest]).collect();
                self.note_missing(root.var, &stmts);
                self.full_loop(&points, &rest, &root, &window, scope)?
            }
            Shape::Wide {
                stmt,
                required,
                full,
            } => {
                if !full {
                    self.note_gaps(root.var);
                }
                let (stmt, required, full) = (stmt.clone(), required.clone(), *full);
                let ids = lattice.iterators.clone();
                self.wide_loop(&ids, &stmt, &required, full, &root, &window, scope)?
            }
        };
        Ok(self.close_result(root.var, scope, out))
    }

    /// See [`crate::graph::simplify::Operands::single_walk`].
    fn single_walk(&self, points: &[Point], scope: &Scope) -> Option<AccessId> {
        let level = |id| self.cursor(scope, id).level;
        self.operands().single_walk(points, &level)
    }

    /// `for (v = lo; v < hi; v++)`, recovering what v completes.
    pub(super) fn range_loop(
        &mut self,
        var: VarId,
        step: &Step,
        tag: &Tag,
        body: &Stmt,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let name = self.graph.var(var).name.clone();
        let (v, value) = self.fresh_index(&name, false);
        let mut inner = scope.clone();
        inner.coords.insert(var, value);
        let mut stmts = Vec::new();
        let root = match &step.top {
            Top::Root(root) if root.var != var => {
                if let Some(init) = self.coordinate(root.var, &inner) {
                    let name = self.graph.var(root.var).name.clone();
                    let (r, value) = self.fresh_index(&name, false);
                    stmts.push(ir::Stmt::Let { var: r, init });
                    inner.coords.insert(root.var, value);
                }
                Some(root.var)
            }
            Top::Root(root) => Some(root.var),
            Top::Nothing | Top::Position { .. } | Top::Fused { .. } => None,
        };
        let guards = match root {
            Some(_) => self.complete_pending(&mut inner, &mut stmts)?,
            None => Vec::new(),
        };
        let then = self.inside(body, inner, root)?;
        stmts.extend(b::when(guards, then));
        let tag = self.loop_tag(tag, scope);
        let out = vec![self.loop_bounds(var, step, scope)?.each(v, tag, stmts)];
        Ok(match root {
            Some(root) => self.close_result(root, scope, out),
            None => out,
        })
    }

    /// `for (p = pos[..]; p < pos[.. + 1]; p++)`
    pub(super) fn position_loop(
        &mut self,
        (id, name): (AccessId, &str),
        stmt: &Stmt,
        root: &Root,
        window: &Window,
        tag: &Tag,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let (segment, crd) = self.windowed(id, root, window, scope, &mut out)?;
        let (p, pos) = self.fresh_index(name, false);
        let mut inner = scope.clone();
        self.advance(&mut inner, id, pos.clone(), None);
        let (coordinate, value) = self.fresh_index(&self.graph.var(root.var).name.clone(), false);
        let load = self.load_index(crd, pos);
        let mut body = vec![ir::Stmt::Let {
            var: coordinate,
            init: load.clone(),
        }];
        inner.loads.insert(root.var, load);
        inner.coords.insert(root.var, value);
        body.extend(self.inside(stmt, inner, Some(root.var))?);
        let tag = self.loop_tag(tag, scope);
        out.push(segment.bounds().each(p, tag, body));
        Ok(out)
    }

    /// The positions of a level within the window: searched, not scanned.
    pub(super) fn windowed(
        &mut self,
        id: AccessId,
        root: &Root,
        window: &Window,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<(super::locate::Segment, ArrayId)> {
        let mut segment = self.segment(id, scope)?;
        let tensor = self.table.get(id).access.tensor;
        let level = scope.cursors[id.0].level;
        let Some(crd) = self.level(tensor, level).array(ArrayRole::Coordinates) else {
            return Err(self.error(
                codes::NONUNIQUE_CHILD,
                "a level without coordinates cannot be walked".to_string(),
                "read here",
            ));
        };
        if let Some(clip) = scope.windows.get(&(id, level)).filter(|clip| clip.absolute) {
            let Bounds { lo, hi, most } = clip.bounds.clone();
            (segment.begin, segment.end, segment.most) = (lo, hi, most);
            return Ok((segment, crd));
        }
        let name = self.level_name(id, scope);
        let whole_lo = window.whole
            && self
                .graph
                .static_range(root.var)
                .is_some_and(|(lo, _)| *lo == crate::program::ir::SizeExpr::Const(0));
        let mode = self.tensor(tensor).format.modes[level];
        let dim = self.tensor(tensor).dims[mode].clone();
        let whole_hi = window.whole
            && self
                .graph
                .static_range(root.var)
                .is_some_and(|(_, hi)| *hi == dim);
        if !whole_lo {
            let (begin, begin_value) = self.fresh_index(&format!("p{name}_begin"), false);
            out.push(ir::Stmt::Search {
                var: begin,
                array: crd,
                lo: segment.begin,
                hi: segment.end.clone(),
                key: window.bounds.lo.clone(),
                gallop: false,
            });
            segment.begin = begin_value;
        }
        if !whole_hi {
            let (end, end_value) = self.fresh_index(&format!("p{name}_end"), false);
            out.push(ir::Stmt::Search {
                var: end,
                array: crd,
                lo: segment.begin.clone(),
                hi: segment.end,
                key: window.bounds.hi.clone(),
                gallop: false,
            });
            segment.end = end_value;
        }
        if let Some(clip) = scope.windows.get(&(id, level)) {
            let own = trips::constant(&segment.begin, &segment.end);
            segment.most = trips::fewer(own, clip.bounds.most);
            let begin = b::max(segment.begin, clip.bounds.lo.clone());
            let end = b::min(segment.end, clip.bounds.hi.clone());
            segment.begin = self.named(&format!("p{name}_begin"), begin, out);
            segment.end = self.named(&format!("p{name}_end"), end, out);
        }
        Ok((segment, crd))
    }

    /// `A2` for the second level of A.
    pub(super) fn level_name(&self, id: AccessId, scope: &Scope) -> String {
        let tensor = self.table.get(id).access.tensor;
        format!(
            "{}{}",
            self.tensor(tensor).name,
            scope.cursors[id.0].level + 1
        )
    }

    /// Moves a cursor one level in.
    pub(super) fn advance(&self, scope: &mut Scope, id: AccessId, pos: Expr, end: Option<Expr>) {
        let cursor = &mut scope.cursors[id.0];
        cursor.advance(pos);
        cursor.end = end;
        cursor.present = None;
    }
}

/// Puts statements at the start of the parallel loop's body.
fn begin_parallel(loops: &mut [ir::Stmt], mut prologue: Vec<ir::Stmt>) {
    for stmt in loops {
        if let ir::Stmt::For { tag, body, .. } = stmt
            && tag.is_shared()
        {
            prologue.append(body);
            *body = prologue;
            return;
        }
    }
}
