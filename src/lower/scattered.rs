//! Loops over single positions or fused values that do not fall apart into the loops they
//! came from: the rows of each are searched, the values taken apart again.

use super::cuts::guarded;
use super::positions::Counted;
use super::recover::Step;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::Tag;
use crate::graph::relation::Values;
use crate::level::Parents;
use crate::loops::build as b;
use crate::loops::ir::{self, BinaryOp, Expr};
use crate::loops::trips::Bounds;
use crate::plan::Inside;
use crate::program::ir::VarId;
use std::collections::BTreeSet;

/// What fused values come to, taken apart.
#[derive(Default)]
struct Unfused {
    stmts: Vec<ir::Stmt>,
    /// What holds where none of the parts is beyond its end.
    guards: Vec<Expr>,
    done: BTreeSet<VarId>,
}

impl Unfused {
    fn guard(&mut self, cond: Expr) {
        if !self.guards.contains(&cond) {
            self.guards.push(cond);
        }
    }
}

impl Lowerer<'_> {
    /// A loop over single positions: shared out to threads, or not consecutive. The
    /// coordinates of outer levels are searched at each.
    pub(super) fn scattered_positions(
        &self,
        var: VarId,
        pos: VarId,
        step: &Step,
        tag: &Tag,
        body: &Inside,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let Some(counted) = self.counted(pos) else {
            return Err(self.unknown_tile(var));
        };
        let name = self.graph.var(var).name.clone();
        let (v, value) = self.fresh_index(&name, false);
        let mut inner = scope.clone();
        inner.coords.insert(var, value);
        let segments = scope.segments[&pos].clone();
        let begin = segments.last().map_or_else(|| b::int(0), |s| s.lo.clone());
        let Some(offset) = self.offset(pos, &inner) else {
            return Err(self.unknown_tile(var));
        };
        let mut stmts = Vec::new();
        let at = self.named(
            &self.graph.var(pos).name.clone(),
            b::add(begin, offset),
            &mut stmts,
        );
        let rows = self.resolve((&counted, pos), &segments, (at, ""), &mut inner, &mut stmts);
        let remark = Diagnostic::performance(
            performance::SEARCH,
            self.span,
            format!("the row of each position is searched in the loop over `{name}`"),
            "its positions do not follow one another, or are shared out one by one",
        )
        .with_help(format!(
            "`split` {name} and share out the outer part: rows are found once a tile"
        ));
        // Between the starts of a tile there is little to search.
        if !self.graph.starts.iter().any(|starts| starts.pos == pos) {
            self.remarks.say_if_searched(rows, remark);
        }
        let present = inner.cursors[counted.id.0].present.take();
        let then = self.until_ends(body, inner)?;
        stmts.extend(b::when(present.into_iter().collect(), then));
        let tag = self.loop_tag(tag, scope);
        Ok(vec![
            self.loop_bounds(var, step, scope)?.each(v, tag, stmts),
        ])
    }

    /// The body where dynamic counted loops outside, whose ends the coordinates at hand tell, have
    /// not ended.
    fn until_ends(&self, body: &Inside, mut scope: Scope) -> Lower<Vec<ir::Stmt>> {
        let mut stmts = Vec::new();
        let guards = self.complete_pending(&mut scope, &mut stmts)?;
        let then = self.inside(body, scope, None)?;
        stmts.extend(guarded(guards, then));
        Ok(stmts)
    }

    /// The coordinates of a position and of the levels above it, and whether there is an element;
    /// returns what is searched.
    /// `which` tells the names apart where several are resolved.
    pub(super) fn resolve(
        &self,
        (counted, pos): (&Counted, VarId),
        segments: &[Bounds],
        (at, which): (Expr, &str),
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Vec<ir::VarId> {
        let mut searched = Vec::new();
        let tensor = self.tree.table.get(counted.id).access.tensor;
        let top = scope.cursors[counted.id.0].pos.clone();
        let mut position = at.clone();
        // Whether there are elements at the positions of the levels, innermost first.
        let mut present = Vec::new();
        for (n, &root) in counted.roots.iter().enumerate().rev() {
            let level = counted.first + n;
            let stored = self.level(tensor, level);
            present.extend(stored.present(position.clone()));
            let above = if n == 0 {
                Parents::Known(top.clone())
            } else {
                stored.parent(position.clone())
            };
            let parent = match above {
                Parents::Known(parent) => parent,
                Parents::Searched(array) => {
                    let (lo, hi) = self.between(pos, level, &segments[n - 1], scope, out);
                    let name = format!("p{}{}", self.tensor(tensor).name, level);
                    let (found, after) = self.fresh_index(&format!("{name}_next"), false);
                    out.push(ir::Stmt::Search {
                        var: found,
                        array,
                        lo,
                        hi,
                        key: b::add(position.clone(), b::int(1)),
                        by: ir::Look::Bisect,
                    });
                    searched.push(found);
                    self.bind(&name, b::sub(after, b::int(1)), out)
                }
            };
            let coordinate = stored.coordinate(parent.clone(), position.clone());
            let mut name = self.graph.var(root).name.clone();
            if !which.is_empty() {
                name = format!("{name}_{which}");
            }
            let value = self.bind(&name, coordinate, out);
            scope.coords.insert(root, value);
            let passed = &mut scope.cursors[counted.id.0].passed;
            passed.insert(level, position);
            position = parent;
        }
        let cursor = &mut scope.cursors[counted.id.0];
        cursor.level = counted.last();
        cursor.advance(at);
        cursor.end = None;
        cursor.present = present
            .into_iter()
            .reduce(|inner, outer| b::and(outer, inner));
        searched
    }

    /// A loop over fused values that does not fall apart into those of its variables.
    pub(super) fn scattered_fused(
        &self,
        var: VarId,
        fused: VarId,
        step: &Step,
        tag: &Tag,
        body: &Inside,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let name = self.graph.var(var).name.clone();
        let (v, value) = self.fresh_index(&name, false);
        let mut inner = scope.clone();
        inner.coords.insert(var, value);
        let mut unfused = Unfused::default();
        let Some(offset) = self.offset(fused, &inner) else {
            return Err(self.unknown_tile(var));
        };
        self.unfuse(fused, offset, &mut inner, &mut unfused)?;
        let body = self.until_ends(body, inner)?;
        let mut stmts = unfused.stmts;
        stmts.extend(b::when(unfused.guards, body));
        let tag = self.loop_tag(tag, scope);
        Ok(vec![
            self.loop_bounds(var, step, scope)?.each(v, tag, stmts),
        ])
    }

    /// Declares the variables that were fused, and what they complete; what may
    /// overshoot is guarded.
    fn unfuse(
        &self,
        fused: VarId,
        offset: Expr,
        scope: &mut Scope,
        unfused: &mut Unfused,
    ) -> Lower<()> {
        let Some((outer, inner)) = self.graph.provenance.fused_from(fused) else {
            return Ok(());
        };
        // Each of its parts may tell it.
        if !unfused.done.insert(fused) {
            return Ok(());
        }
        let out = &mut unfused.stmts;
        let extent = self.own_extent(inner, scope)?;
        let offset = self.named(&self.graph.var(fused).name.clone(), offset, out);
        scope.coords.insert(fused, offset.clone());
        // An overshoot is guarded only behind the coordinates.
        let some = b::max(extent.clone(), b::int(1));
        let first = b::binary(BinaryOp::FloorDiv, offset.clone(), some);
        let first = self.named(&self.graph.var(outer).name.clone(), first, out);
        let second = b::sub(offset, b::mul(first.clone(), extent));
        for (part, value) in [(outer, first), (inner, second)] {
            if self.graph.provenance.fused_from(part).is_some() {
                self.unfuse(part, value, scope, unfused)?;
                continue;
            }
            let name = self.graph.var(part).name.clone();
            let value = self.named(&name, value, &mut unfused.stmts);
            let origin = self.here(scope).origin(part).unwrap_or_else(|| b::int(0));
            scope.coords.insert(part, b::add(origin, value));
            self.locate_bounds(scope)?;
            let graph = self.graph;
            // What the part tells: what it is a part of, and what is skewed along that.
            let mut told = vec![part];
            while let Some(known) = told.pop() {
                let Some(relation) = graph.provenance.producer(known) else {
                    continue;
                };
                if relation.fuses().is_some() {
                    if let Some(offset) = self.here(scope).by_parts(known) {
                        self.unfuse(known, offset, scope, unfused)?;
                    }
                    continue;
                }
                let mut here = self.here(scope);
                if let Some(skewed) = relation.skews()
                    && let (Some(at), Some(extent)) = (here.offset(skewed), here.extent(skewed))
                {
                    unfused.guard(b::lt(b::int(-1), at.clone()));
                    unfused.guard(b::lt(at, extent));
                    told.push(skewed);
                }
                let Some(whole) = relation.part_of(known, &graph.provenance) else {
                    continue;
                };
                let Some(offset) = here.offset(whole) else {
                    continue;
                };
                if relation.overshoots(&mut here) {
                    match here.extent(whole) {
                        Some(extent) => unfused.guard(b::lt(offset, extent)),
                        // What the body waits for, see `until_ends`.
                        None if graph.is_dynamic(whole) => {}
                        None => return Err(self.unknown_extent(whole)),
                    }
                }
                if !told.contains(&whole) {
                    told.push(whole);
                }
            }
        }
        Ok(())
    }
}
