//! Loops: a range, the positions of one sparse level, or a coiteration of several.

use super::access::AccessId;
use super::coiterate::points_of;
use super::cuts::{Guards, guarded};
use super::distance::Coordinates;
use super::recover::{Root, Step, Top, Visit};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::Tag;
use crate::graph::distance::stride;
use crate::graph::order::vars_in;
use crate::graph::terms::root_reduction;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr};
use crate::loops::linear;
use crate::loops::trips::{self, Bounds};
use crate::plan::{Inside, Loop, Merge, Over, Phase, Walk};
use crate::program::ir::{self as program, ReduceOp, VarId};
use std::collections::BTreeSet;

impl Lowerer<'_> {
    /// Lowers a loop.
    pub(super) fn forall(&self, l: &Loop, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let mut scope = scope.clone();
        let mut out = l
            .completes
            .map_or_else(Vec::new, |row| self.begin_full(row));
        if l.completes.is_some() && self.tree.phase == Phase::Counting {
            return Ok(out);
        }
        let cut = self.enter_cuts(l.var, &mut scope, &mut out)?;
        let mut inside = self.prepare(l.var, &mut scope)?;
        self.dynamic_promises(&mut scope, &mut inside)?;
        if let Some(exit) = l.exit.as_ref().filter(|exit| exit.live.is_none()) {
            self.enter_exit(exit, &mut scope, &mut inside)?;
        }
        let after = self.enter_race(l, &mut scope, &mut inside);
        let prologue = std::mem::take(&mut scope.prologue);
        let mut loops = self.loop_of(l, &scope)?;
        self.prefetch(&l.tag, &mut loops);
        begin_parallel(&mut loops, prologue);
        inside.append(&mut loops);
        inside.extend(after);
        out.extend(guarded(cut, inside));
        Ok(self.close_tiles(l.var, &scope, out))
    }

    fn loop_of(&self, l: &Loop, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let (var, tag) = (l.var, &l.tag);
        if let (Over::Every { body, .. }, Some(exit)) = (&l.over, &l.exit)
            && let Some(live) = &exit.live
        {
            return self.shrinking_loop((exit, live), body, scope);
        }
        let step = self.step(var, scope)?;
        let step = self.ended(l.parts.as_ref(), (var, step), scope);
        if let (Some(operand), Top::Root(root)) = (l.tried, &step.top) {
            self.note_every_coordinate(operand, root.var);
        }
        match (&l.over, &step.top) {
            // `stmt` has made one fill of it.
            (Over::Constant(..), _) => Ok(Vec::new()),
            (Over::Every { body, .. }, _) => {
                self.range_loop(var, &step, self.shared_tag(l, scope), body, scope)
            }
            (Over::Positions { body, .. }, Top::Position { pos, .. }) => {
                self.scattered_positions(var, *pos, &step, tag, body, scope)
            }
            (Over::Fused(body), Top::Fused { fused, .. }) => {
                self.scattered_fused(var, *fused, &step, tag, body, scope)
            }
            (Over::Stored { body, .. }, Top::Root(root)) => {
                self.walked_loop(root, tag, body, scope)
            }
            (Over::Merge(merge), Top::Root(root)) => self.merged(l, merge, root, scope),
            (
                Over::Positions { .. } | Over::Fused(_) | Over::Stored { .. } | Over::Merge(_),
                Top::Nothing | Top::Root(_) | Top::Position { .. } | Top::Fused { .. },
            ) => Err(self.unknown_tile(var)),
        }
    }

    /// Says for whose sake a loop over all of `root` tries every coordinate.
    fn note_every_coordinate(&self, id: AccessId, root: VarId) {
        let access = &self.tree.table.get(id).access;
        // A condition costs what a comparison does.
        if self.graph.points.is(access.tensor) {
            return;
        }
        let operand = &self.tensor(access.tensor).name;
        let name = &self.graph.var(root).name;
        let reads = |e: &&program::Expr| vars_in(e).contains(&root);
        let mut own = access.subscripts.iter().filter(reads);
        let is_plain = own.next().is_some_and(|e| e.as_var().is_some()) && own.next().is_none();
        // Another variable of the subscript may walk the level, each time where this one has led it.
        let moves = access.subscripts.iter().filter(reads).all(|e| {
            let mut others = vars_in(e).into_iter().filter(|var| *var != root);
            others.any(|var| stride(e, var).is_some())
        });
        let why = match is_plain {
            true => format!("`{operand}` cannot be walked in the order of the loops"),
            false if moves => format!("`{operand}` is walked anew at each of them"),
            false => format!("`{operand}` is searched at each of them"),
        };
        let remark = Diagnostic::performance(
            performance::EVERY,
            self.span,
            format!("the loop over `{name}` tries every coordinate there is"),
            why,
        );
        self.remarks.say(match is_plain {
            true => remark.with_help(format!(
                "store `{operand}`, or a copy of it, with `{name}` in an outer level"
            )),
            false => remark,
        });
    }

    /// Says of a loop over `root` that it comes to coordinates at which its operands store nothing: what a sum adds there,
    /// or a sparse result stores.
    fn note_absent(&self, root: VarId, merge: &Merge, scope: &Scope) {
        let every = match &merge.walk {
            Walk::Full { .. } => true,
            Walk::Wide { full, .. } => *full,
            Walk::Nothing
            | Walk::One(..)
            | Walk::OneAndRest { .. }
            | Walk::Leap(_)
            | Walk::Cases(_) => false,
        };
        // What is checked of data is no sum of the program's.
        if !every || self.checks {
            return;
        }
        let mut written: BTreeSet<VarId> = BTreeSet::new();
        let mut sums = None;
        for nest in &self.tree.nests {
            nest.visit(&mut |part| {
                written.extend(&part.lhs);
                let op = root_reduction(&part.rhs, part.op).map(|(op, ..)| op);
                sums = sums.or(op).or(part.op);
            });
        }
        let known = self.graph.function.vars.len();
        let is_told = |var: &&VarId| var.index() < known && !written.contains(var);
        let is_summed = !written.contains(&root) || scope.coords.keys().any(|var| is_told(&var));
        let stored = self.tree.nests.iter().find_map(|nest| {
            let result = self.tensor(nest.tensor);
            let mode = nest.lhs.iter().position(|var| *var == root)?;
            let format = &result.format;
            let level = format.modes.iter().position(|own| *own == mode)?;
            let walked = result.is_appended() && format.levels[level].is_walked();
            walked.then(|| result.name.clone())
        });
        let (what, help) = match stored {
            _ if is_summed => (
                "its fill counts, too".to_string(),
                match sums {
                    Some(ReduceOp::Min) => "say `fill inf` if absent elements are to count for nothing",
                    Some(ReduceOp::Max) => "say `fill -inf` if absent elements are to count for nothing",
                    Some(ReduceOp::Mul) => "say `fill 1` if absent elements are to count for nothing",
                    Some(ReduceOp::Add | ReduceOp::And | ReduceOp::Or | ReduceOp::Own(_)) | None => {
                        "multiply by what is absent there, too, if such terms are to count for nothing"
                    }
                }
                .to_string(),
            ),
            Some(name) => (
                format!("`{name}` stores one all the same"),
                format!("store `{name}` in a dense format, which holds all values in less memory"),
            ),
            None => return,
        };
        let operand = |id: AccessId| self.tree.table.get(id).access.tensor;
        let mut operands: Vec<String> = Vec::new();
        for (id, _) in &merge.levels {
            let name = format!("`{}`", self.tensor(operand(*id)).name);
            if !operands.contains(&name) && !self.graph.points.is(operand(*id)) {
                operands.push(name);
            }
        }
        let absent = match operands.as_slice() {
            [] => "where no condition holds".to_string(),
            [one] => format!("where {one} has no element"),
            all => format!("where {} have no element", all.join(" and ")),
        };
        let name = &self.graph.var(root).name;
        let remark = Diagnostic::performance(
            performance::EVERY,
            self.span,
            format!("the loop over `{name}` tries every coordinate there is"),
            format!("{absent}, {what}"),
        )
        .with_help(help);
        self.remarks.say(remark);
    }

    /// A loop over what sparse levels store, together.
    fn merged(&self, l: &Loop, merge: &Merge, root: &Root, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let (var, tag) = (l.var, &l.tag);
        self.report(root.var, &merge.walk);
        if l.tried.is_none() {
            self.note_absent(root.var, merge, scope);
        }
        let Some(window) = &root.window else {
            return Err(self.unknown_tile(var));
        };
        let visit = Visit {
            root: root.var,
            window,
            scope,
        };
        match &merge.walk {
            Walk::Nothing | Walk::One(..) | Walk::OneAndRest { .. } => {}
            Walk::Leap(_) | Walk::Cases(_) | Walk::Full { .. } | Walk::Wide { .. } => {
                self.note_unroll(var, tag, "it merges several sparse operands");
            }
        }
        let out = match &merge.walk {
            Walk::Nothing => Vec::new(),
            // Nothing is leapt over by units that share the positions.
            Walk::One(id, body) if self.is_far(*id, visit) && tag.parallel.is_none() => {
                self.run_loop(*id, body, visit)?
            }
            Walk::One(id, body) => {
                let name = format!("p{}", self.level_name(*id, scope));
                self.position_loop((*id, &name), body, visit, tag)?
            }
            Walk::OneAndRest { id, body, rest } => {
                let name = format!("p{}", self.level_name(*id, scope));
                let (mut out, stored) = self.walked_positions((*id, &name), body, visit, tag)?;
                let Bounds { lo, hi, .. } = window.bounds.clone();
                let rest = self.inside(rest, scope.clone(), Some(root.var))?;
                out.push(b::if_then(b::lt(stored, linear::sub(&hi, &lo)), rest));
                out
            }
            Walk::Leap(case) => self.gallop(case, visit)?,
            Walk::Cases(cases) => self.coiterate(&points_of(cases), visit)?,
            Walk::Full { cases, rest } => self.full_loop(cases, rest, visit)?,
            Walk::Wide {
                required,
                full,
                body,
            } => {
                let ids: Vec<AccessId> = merge.levels.iter().map(|(id, _)| *id).collect();
                self.wide_loop(&ids, (body, required, *full), visit)?
            }
        };
        Ok(self.close_result(root.var, scope, out))
    }

    /// `for (v = lo; v < hi; v++)`, recovering what v completes.
    pub(super) fn range_loop(
        &self,
        var: VarId,
        step: &Step,
        tag: ir::LoopTag,
        body: &Inside,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let name = self.graph.var(var).name.clone();
        let (v, value) = self.fresh_index(&name, false);
        let stmts = self.iteration((var, value), step, body, scope)?;
        let bounds = self.loop_bounds(var, step, scope)?;
        let out = match scope.live.get(&var) {
            Some(list) => list.each(self, bounds, v, stmts),
            None => vec![bounds.each(v, tag, stmts)],
        };
        Ok(self.close_step(step, scope, out))
    }

    /// What an iteration does, in which `var` is `value`.
    pub(super) fn iteration(
        &self,
        (var, value): (VarId, Expr),
        step: &Step,
        body: &Inside,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut inner = scope.clone();
        inner.coords.insert(var, value.clone());
        let mut stmts = Vec::new();
        let root = step.root();
        if let Some(root) = root.filter(|root| *root != var)
            && let Some(init) = self.coordinate(root, &inner)
        {
            let of_root = if value == init {
                init
            } else {
                let name = self.graph.var(root).name.clone();
                self.bind(&name, init, &mut stmts)
            };
            inner.coords.insert(root, of_root);
        }
        let guards = match root {
            Some(_) => self.complete_pending(&mut inner, &mut stmts)?,
            None => Guards::new(),
        };
        let known = inner.clone();
        let mut then = self.inside(body, inner, root)?;
        if let Some(list) = scope.live.get(&var).cloned() {
            then.extend(self.list_again(&list, value, known)?);
        }
        stmts.extend(guarded(guards, then));
        Ok(stmts)
    }

    /// Closes what a loop appends to, if it is one over a variable of the program.
    pub(super) fn close_step(
        &self,
        step: &Step,
        scope: &Scope,
        out: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        match step.root() {
            Some(root) => self.close_result(root, scope, out),
            None => out,
        }
    }

    /// `for (p = pos[..]; p < pos[.. + 1]; p++)`
    pub(super) fn position_loop(
        &self,
        level: (AccessId, &str),
        inside: &Inside,
        visit: Visit,
        tag: &Tag,
    ) -> Lower<Vec<ir::Stmt>> {
        let (out, _) = self.walked_positions(level, inside, visit, tag)?;
        Ok(out)
    }

    /// The same, and how many positions there are.
    fn walked_positions(
        &self,
        (id, name): (AccessId, &str),
        inside: &Inside,
        visit: Visit,
        tag: &Tag,
    ) -> Lower<(Vec<ir::Stmt>, Expr)> {
        let mut out = Vec::new();
        let (segment, coordinates) = self.windowed(id, visit, &mut out)?;
        let stored = b::sub(segment.end.clone(), segment.begin.clone());
        let (p, pos) = self.fresh_index(name, false);
        let mut inner = visit.scope.clone();
        self.advance(&mut inner, id, pos.clone(), None);
        let (coordinate, value) = self.fresh_index(&self.graph.var(visit.root).name, false);
        let has_value = self.has_value(&coordinates, pos.clone());
        let load = self.value_at(&coordinates, pos);
        let mut body = vec![b::bind(coordinate, load.clone())];
        if coordinates.are_values() {
            inner.loads.insert(visit.root, load);
        }
        inner.coords.insert(visit.root, value);
        body.extend(self.inside(inside, inner, Some(visit.root))?);
        let body = b::when(has_value.into_iter().collect(), body);
        let tag = self.loop_tag(tag, visit.scope);
        out.push(segment.bounds().each(p, tag, body));
        Ok((out, stored))
    }

    /// The positions of a level within the window: searched, not scanned.
    pub(super) fn windowed(
        &self,
        id: AccessId,
        visit: Visit,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<(super::locate::Segment, Coordinates)> {
        let Visit { window, scope, .. } = visit;
        let mut segment = self.segment(id, scope)?;
        let tensor = self.tree.table.get(id).access.tensor;
        let level = scope.cursors[id.0].level;
        let crd = self.level(tensor, level).array(ArrayRole::Coordinates);
        let coordinates = self.coordinates_in((id, crd), visit, out)?;
        if let Some(clip) = scope.windows.get(&(id, level)).filter(|clip| clip.absolute) {
            let Bounds { lo, hi, most } = clip.bounds.clone();
            (segment.begin, segment.end, segment.most) = (lo, hi, most);
            return Ok((segment, coordinates));
        }
        let name = self.level_name(id, scope);
        // Each end that the variable has of the level needs no search.
        let ends = self.are_ends(id, visit);
        let (whole_lo, whole_hi) = (window.whole && ends.0, window.whole && ends.1);
        if !whole_lo {
            let (begin, begin_value) = self.fresh_index(&format!("p{name}_begin"), false);
            let among = (segment.begin, segment.end.clone());
            let first = &window.bounds.lo;
            out.push(coordinates.search(begin, among, first, ir::Look::Bisect));
            segment.begin = begin_value;
        }
        if !whole_hi {
            let (end, end_value) = self.fresh_index(&format!("p{name}_end"), false);
            let among = (segment.begin.clone(), segment.end);
            let behind = &window.bounds.hi;
            out.push(coordinates.search(end, among, behind, ir::Look::Bisect));
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
        Ok((segment, coordinates))
    }

    /// `A2` for the second level of A.
    pub(super) fn level_name(&self, id: AccessId, scope: &Scope) -> String {
        let tensor = self.tree.table.get(id).access.tensor;
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
