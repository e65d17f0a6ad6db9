//! Loops: a range, the positions of one sparse level, or a coiteration of several.

use super::access::AccessId;
use super::lattice::{Lattice, Point, Shape, point_at};
use super::recover::{Root, Step, Top, Window};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::codes::lower as codes;
use crate::graph::{Stmt, Tag};
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, LoopTag, ScalarType};
use crate::program::ir::VarId;
use std::collections::BTreeSet;

/// One sparse level being walked.
struct Walker {
    id: AccessId,
    /// The position, a mutable variable.
    p: ir::VarId,
    pos: Expr,
    end: Expr,
    crd: ArrayId,
    unique: bool,
    name: String,
    level: usize,
}

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
        let mut out = self.prepare(var, &mut scope)?;
        let after = self.enter_race(var, tag, body, &mut scope, &mut out)?;
        let prologue = std::mem::take(&mut scope.prologue);
        let mut loops = self.loop_of(var, tag, body, &scope)?;
        begin_parallel(&mut loops, prologue);
        out.append(&mut loops);
        out.extend(after);
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
            return self.range_loop(var, &step, tag, body, scope);
        }
        iterators.sort_unstable();
        let mut lattice = self.lattice(body, iterators);
        self.report(root.var, &lattice);
        self.prefill.append(&mut lattice.dropped);
        let Some(window) = root.window.clone() else {
            return self.range_loop(var, &step, tag, body, scope);
        };
        self.refuse_parallel(tag, &lattice, scope)?;
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
                } else {
                    let points = points.clone();
                    self.coiterate(&points, &root, &window, scope)?
                }
            }
            Shape::Full { points, rest } => {
                self.refuse_dense_blowup(rest, root.var, scope)?;
                let (points, rest) = (points.clone(), rest.clone());
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

    /// The only operand, if the loop walks one unique level and nothing else.
    fn single_walk(&self, points: &[Point], scope: &Scope) -> Option<AccessId> {
        let [point] = points else { return None };
        let mut present = point.present.iter();
        let (Some(&id), None) = (present.next(), present.next()) else {
            return None;
        };
        let format = &self.tensor(self.table.get(id).access.tensor).format;
        format.levels[self.cursor(scope, id).level]
            .unique
            .then_some(id)
    }

    fn refuse_parallel(&self, tag: &Tag, lattice: &Lattice, scope: &Scope) -> Lower<()> {
        let Some(parallel) = &tag.parallel else {
            return Ok(());
        };
        let single = match &lattice.shape {
            Shape::Nothing => true,
            Shape::Sparse(points) => self.single_walk(points, scope).is_some(),
            Shape::Full { .. } | Shape::Wide { .. } => false,
        };
        if single {
            return Ok(());
        }
        Err(crate::diagnostic::Diagnostic::error(
            codes::COITERATED_PARALLEL,
            parallel.span,
            "a coiterated loop cannot be parallel",
            "several sparse levels are merged in this loop",
        )
        .with_help("`split` the variable and parallelize the outer part"))
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
        if guards.is_empty() {
            stmts.extend(then);
        } else {
            stmts.push(ir::Stmt::If {
                cond: b::all(guards),
                then,
                otherwise: vec![],
            });
        }
        let out = vec![ir::Stmt::For {
            var: v,
            lo: step.lo.clone(),
            hi: step.hi.clone(),
            step: 1,
            tag: self.loop_tag(tag, scope),
            body: stmts,
        }];
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
        out.push(ir::Stmt::For {
            var: p,
            lo: segment.begin,
            hi: segment.end,
            step: 1,
            tag: self.loop_tag(tag, scope),
            body,
        });
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
        let Some(crd) = self.storage[&tensor].levels[level].1 else {
            return Err(self.error(
                codes::NONUNIQUE_CHILD,
                "a level without coordinates cannot be walked".to_string(),
                "read here",
            ));
        };
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
                key: window.lo.clone(),
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
                key: window.hi.clone(),
            });
            segment.end = end_value;
        }
        match scope.windows.get(&(id, level)) {
            Some(clip) if clip.absolute => {
                segment.begin = clip.lo.clone();
                segment.end = clip.hi.clone();
            }
            Some(clip) => {
                let begin = b::max(segment.begin, clip.lo.clone());
                let end = b::min(segment.end, clip.hi.clone());
                segment.begin = self.named(&format!("p{name}_begin"), begin, out);
                segment.end = self.named(&format!("p{name}_end"), end, out);
            }
            None => {}
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
    fn advance(&self, scope: &mut Scope, id: AccessId, pos: Expr, end: Option<Expr>) {
        let cursor = &mut scope.cursors[id.0];
        cursor.advance(pos);
        cursor.end = end;
        cursor.present = None;
    }

    fn walkers(
        &mut self,
        ids: &[AccessId],
        root: &Root,
        window: &Window,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<Vec<Walker>> {
        let mut walkers = Vec::new();
        for &id in ids {
            let (segment, crd) = self.windowed(id, root, window, scope, out)?;
            let name = self.level_name(id, scope);
            let (p, pos) = self.fresh_index(&format!("p{name}"), true);
            out.push(ir::Stmt::Let {
                var: p,
                init: segment.begin,
            });
            let (end_var, end) = self.fresh_index(&format!("p{name}_end"), false);
            out.push(ir::Stmt::Let {
                var: end_var,
                init: segment.end,
            });
            let tensor = self.table.get(id).access.tensor;
            let level = scope.cursors[id.0].level;
            walkers.push(Walker {
                id,
                p,
                pos,
                end,
                crd,
                unique: self.tensor(tensor).format.levels[level].unique,
                name: self.tensor(tensor).name.clone(),
                level,
            });
        }
        Ok(walkers)
    }

    /// The end of the run of positions with the coordinate at hand: `p + 1`, or found
    /// by walking on where coordinates repeat.
    fn run_end(&mut self, w: &Walker, coordinate: &Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        let next = b::add(w.pos.clone(), b::int(1));
        if w.unique {
            return next;
        }
        let (last, last_value) =
            self.fresh_index(&format!("p{}{}_last", w.name, w.level + 1), true);
        out.push(ir::Stmt::Let {
            var: last,
            init: next,
        });
        out.push(ir::Stmt::While {
            cond: b::and(
                b::lt(last_value.clone(), w.end.clone()),
                b::eq(
                    self.load_index(w.crd, last_value.clone()),
                    coordinate.clone(),
                ),
            ),
            body: vec![ir::Stmt::Assign {
                var: last,
                op: None,
                value: b::add(last_value.clone(), b::int(1)),
            }],
        });
        last_value
    }

    /// `p = end of run`, or `p++`.
    fn move_on(&self, w: &Walker, run_end: Option<&Expr>) -> ir::Stmt {
        ir::Stmt::Assign {
            var: w.p,
            op: None,
            value: run_end
                .cloned()
                .unwrap_or_else(|| b::add(w.pos.clone(), b::int(1))),
        }
    }

    /// A walk of one level in which coordinates repeat.
    pub(super) fn run_loop(
        &mut self,
        id: AccessId,
        stmt: &Stmt,
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let point = Point {
            present: BTreeSet::from([id]),
            stmt: stmt.clone(),
        };
        self.coiterate(&[point], root, window, scope)
    }

    /// The classical sequence of loops, one a point, with a case for each smaller point.
    fn coiterate(
        &mut self,
        points: &[Point],
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let ids: BTreeSet<AccessId> = points.iter().flat_map(|p| p.present.clone()).collect();
        let ids: Vec<AccessId> = ids.into_iter().collect();
        let mut out = Vec::new();
        let walkers = self.walkers(&ids, root, window, scope, &mut out)?;
        for point in points {
            let active: Vec<&Walker> = walkers
                .iter()
                .filter(|w| point.present.contains(&w.id))
                .collect();
            let cases: Vec<&Point> = points
                .iter()
                .filter(|p| p.present.is_subset(&point.present))
                .collect();
            out.push(self.point_loop(&active, &cases, points, root, scope)?);
        }
        Ok(out)
    }

    fn point_loop(
        &mut self,
        active: &[&Walker],
        cases: &[&Point],
        points: &[Point],
        root: &Root,
        scope: &Scope,
    ) -> Lower<ir::Stmt> {
        let var_name = self.graph.var(root.var).name.clone();
        let cond = b::all(active.iter().map(|w| b::lt(w.pos.clone(), w.end.clone())));
        let mut body = Vec::new();
        // The coordinates where each operand stands, and the smallest.
        let mut at: Vec<Expr> = Vec::new();
        for w in active {
            let name = if active.len() == 1 {
                var_name.clone()
            } else {
                format!("{var_name}{}", w.name)
            };
            let (c, value) = self.fresh_index(&name, false);
            body.push(ir::Stmt::Let {
                var: c,
                init: self.load_index(w.crd, w.pos.clone()),
            });
            at.push(value);
        }
        let coordinate = if let [only] = at.as_slice() {
            only.clone()
        } else {
            let least = at[1..].iter().cloned().fold(at[0].clone(), b::min);
            let (c, value) = self.fresh_index(&var_name, false);
            body.push(ir::Stmt::Let {
                var: c,
                init: least,
            });
            value
        };
        let mut runs: Vec<Option<Expr>> = Vec::new();
        for w in active {
            runs.push(if w.unique {
                None
            } else if active.len() == 1 {
                Some(self.run_end(w, &coordinate, &mut body))
            } else {
                // Only the run at the smallest coordinate is walked to its end.
                let (last, value) =
                    self.fresh_index(&format!("p{}{}_last", w.name, w.level + 1), true);
                body.push(ir::Stmt::Let {
                    var: last,
                    init: w.pos.clone(),
                });
                body.push(ir::Stmt::While {
                    cond: b::and(
                        b::lt(value.clone(), w.end.clone()),
                        b::eq(self.load_index(w.crd, value.clone()), coordinate.clone()),
                    ),
                    body: vec![ir::Stmt::Assign {
                        var: last,
                        op: None,
                        value: b::add(value.clone(), b::int(1)),
                    }],
                });
                Some(value)
            });
        }
        let here = |w: usize| b::eq(at[w].clone(), coordinate.clone());
        let covered = all_covered(active, points);
        let mut chain: Vec<(Expr, Vec<ir::Stmt>)> = Vec::new();
        for (n, case) in cases.iter().enumerate() {
            let mut inner = scope.clone();
            inner.coords.insert(root.var, coordinate.clone());
            let mut conditions = Vec::new();
            for (k, w) in active.iter().enumerate() {
                if case.present.contains(&w.id) {
                    if active.len() > 1 {
                        conditions.push(here(k));
                    }
                    let end = if w.unique { None } else { runs[k].clone() };
                    self.advance(&mut inner, w.id, w.pos.clone(), end);
                }
            }
            let last_of_all = covered && n + 1 == cases.len();
            let cond = if last_of_all {
                b::boolean(true)
            } else {
                b::all(conditions)
            };
            chain.push((cond, self.inside(&case.stmt, inner, Some(root.var))?));
        }
        body.extend(if_chain(chain));
        for (k, w) in active.iter().enumerate() {
            body.push(match (&runs[k], active.len()) {
                (Some(end), _) => self.move_on(w, Some(end)),
                (None, 1) => self.move_on(w, None),
                (None, _) => ir::Stmt::Assign {
                    var: w.p,
                    op: None,
                    value: b::add(w.pos.clone(), b::cast(ScalarType::I64, here(k))),
                },
            });
        }
        Ok(ir::Stmt::While { cond, body })
    }

    /// Every coordinate of the range, with the sparse operands walked along.
    fn full_loop(
        &mut self,
        points: &[Point],
        rest: &Stmt,
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let ids: BTreeSet<AccessId> = points.iter().flat_map(|p| p.present.clone()).collect();
        let ids: Vec<AccessId> = ids.into_iter().collect();
        let mut out = Vec::new();
        let walkers = self.walkers(&ids, root, window, scope, &mut out)?;
        let (v, coordinate) = self.fresh_index(&self.graph.var(root.var).name.clone(), false);
        let (mut body, flags, runs) = self.standing(&walkers, &coordinate);
        let mut chain = Vec::new();
        for point in points {
            let mut inner = scope.clone();
            inner.coords.insert(root.var, coordinate.clone());
            let mut conditions = Vec::new();
            for (k, w) in walkers.iter().enumerate() {
                if point.present.contains(&w.id) {
                    conditions.push(flags[k].clone());
                    self.advance(&mut inner, w.id, w.pos.clone(), runs[k].clone());
                }
            }
            chain.push((
                b::all(conditions),
                self.inside(&point.stmt, inner, Some(root.var))?,
            ));
        }
        let mut inner = scope.clone();
        inner.coords.insert(root.var, coordinate.clone());
        chain.push((b::boolean(true), self.inside(rest, inner, Some(root.var))?));
        body.extend(if_chain(chain));
        self.step_standing(&walkers, &flags, &runs, &mut body);
        out.push(ir::Stmt::For {
            var: v,
            lo: window.lo.clone(),
            hi: window.hi.clone(),
            step: 1,
            tag: LoopTag::default(),
            body,
        });
        Ok(out)
    }

    /// Declares for each operand whether it stands at the coordinate, and the end of
    /// its run where coordinates repeat.
    fn standing(
        &mut self,
        walkers: &[Walker],
        coordinate: &Expr,
    ) -> (Vec<ir::Stmt>, Vec<Expr>, Vec<Option<Expr>>) {
        let mut body = Vec::new();
        let mut flags = Vec::new();
        let mut runs = Vec::new();
        for w in walkers {
            let here = b::and(
                b::lt(w.pos.clone(), w.end.clone()),
                b::eq(self.load_index(w.crd, w.pos.clone()), coordinate.clone()),
            );
            let flag = self.fresh(&format!("has_{}", w.name), ScalarType::Bool, false);
            body.push(ir::Stmt::Let {
                var: flag,
                init: here,
            });
            flags.push(b::var(flag, ScalarType::Bool));
            if w.unique {
                runs.push(None);
                continue;
            }
            let (last, value) = self.fresh_index(&format!("p{}{}_last", w.name, w.level + 1), true);
            body.push(ir::Stmt::Let {
                var: last,
                init: w.pos.clone(),
            });
            body.push(ir::Stmt::While {
                cond: b::and(
                    b::lt(value.clone(), w.end.clone()),
                    b::eq(self.load_index(w.crd, value.clone()), coordinate.clone()),
                ),
                body: vec![ir::Stmt::Assign {
                    var: last,
                    op: None,
                    value: b::add(value.clone(), b::int(1)),
                }],
            });
            runs.push(Some(value));
        }
        (body, flags, runs)
    }

    fn step_standing(
        &self,
        walkers: &[Walker],
        flags: &[Expr],
        runs: &[Option<Expr>],
        body: &mut Vec<ir::Stmt>,
    ) {
        for (k, w) in walkers.iter().enumerate() {
            let value = match &runs[k] {
                Some(end) => end.clone(),
                None => b::add(w.pos.clone(), b::cast(ScalarType::I64, flags[k].clone())),
            };
            body.push(ir::Stmt::Assign {
                var: w.p,
                op: None,
                value,
            });
        }
    }

    /// One loop over the smallest current coordinate, in which every operand
    /// contributes its value where it stands and its fill otherwise.
    #[expect(clippy::too_many_arguments)]
    fn wide_loop(
        &mut self,
        ids: &[AccessId],
        stmt: &Stmt,
        required: &BTreeSet<AccessId>,
        full: bool,
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let walkers = self.walkers(ids, root, window, scope, &mut out)?;
        let name = self.graph.var(root.var).name.clone();
        let (v, coordinate) = self.fresh_index(&name, !full);
        let mut body = Vec::new();
        let active = |w: &Walker| b::lt(w.pos.clone(), w.end.clone());
        let going = if required.is_empty() {
            walkers.iter().map(active).fold(b::boolean(false), b::or)
        } else {
            b::all(
                walkers
                    .iter()
                    .filter(|w| required.contains(&w.id))
                    .map(active),
            )
        };
        if !full {
            body.push(ir::Stmt::Let {
                var: v,
                init: window.hi.clone(),
            });
            for w in &walkers {
                let (_, crd_here) = (w.id, self.load_index(w.crd, w.pos.clone()));
                body.push(ir::Stmt::If {
                    cond: b::and(active(w), b::lt(crd_here.clone(), coordinate.clone())),
                    then: vec![ir::Stmt::Assign {
                        var: v,
                        op: None,
                        value: crd_here,
                    }],
                    otherwise: vec![],
                });
            }
        }
        let (standing, flags, runs) = self.standing(&walkers, &coordinate);
        body.extend(standing);
        let mut inner = scope.clone();
        inner.coords.insert(root.var, coordinate.clone());
        let mut needed = Vec::new();
        for (k, w) in walkers.iter().enumerate() {
            self.advance(&mut inner, w.id, w.pos.clone(), runs[k].clone());
            if required.contains(&w.id) {
                needed.push(flags[k].clone());
            } else {
                inner.cursors[w.id.0].present = Some(flags[k].clone());
            }
        }
        let then = self.inside(stmt, inner, Some(root.var))?;
        body.extend(if_chain(vec![(b::all(needed), then)]));
        self.step_standing(&walkers, &flags, &runs, &mut body);
        out.push(if full {
            ir::Stmt::For {
                var: v,
                lo: window.lo.clone(),
                hi: window.hi.clone(),
                step: 1,
                tag: LoopTag::default(),
                body,
            }
        } else {
            ir::Stmt::While { cond: going, body }
        });
        Ok(out)
    }
}

/// Puts statements at the start of the parallel loop's body.
fn begin_parallel(loops: &mut [ir::Stmt], mut prologue: Vec<ir::Stmt>) {
    for stmt in loops {
        if let ir::Stmt::For { tag, body, .. } = stmt
            && tag.parallel.is_some()
        {
            prologue.append(body);
            *body = prologue;
            return;
        }
    }
}

/// Whether some case holds at every coordinate where one of `active` stands.
fn all_covered(active: &[&Walker], points: &[Point]) -> bool {
    let n = active.len();
    (1u32..(1 << n)).all(|mask| {
        let here: BTreeSet<AccessId> = (0..n)
            .filter(|k| mask & (1 << k) != 0)
            .map(|k| active[k].id)
            .collect();
        point_at(points, &here).is_some()
    })
}

/// `if .. else if .. else`; a condition that is true ends the chain.
fn if_chain(chain: Vec<(Expr, Vec<ir::Stmt>)>) -> Vec<ir::Stmt> {
    let mut out: Vec<ir::Stmt> = Vec::new();
    for (cond, then) in chain.into_iter().rev() {
        if cond == b::boolean(true) {
            out = then;
        } else {
            out = vec![ir::Stmt::If {
                cond,
                then,
                otherwise: out,
            }];
        }
    }
    out
}
