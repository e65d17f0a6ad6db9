//! Walking consecutive positions level by level: the loops over the levels that a window of
//! positions lies in, clipped to it (000, 6.2 and 6.4).

use super::positions::{Clip, Counted};
use super::recover::{Root, Step, Top, Visit};
use super::{Lower, Lowerer, Scope};
use crate::graph::Tag;
use crate::level::Parents;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr};
use crate::loops::linear;
use crate::loops::trips::{self, Bounds};
use crate::plan::{Inside, Node};
use crate::program::ir::VarId;

impl Step {
    /// `start + hi`, where what is constant counts from `begin`, the name of `start`.
    pub(super) fn tile_end(&self, start: &Expr, begin: Option<&Expr>) -> Expr {
        let from = |end: &Expr| match b::as_int(end) {
            Some(_) => b::add(begin.unwrap_or(start).clone(), end.clone()),
            None => linear::add(start, end),
        };
        let ends = self.ends.iter().map(from);
        ends.reduce(b::min).unwrap_or_else(|| start.clone())
    }
}

impl Lowerer<'_> {
    /// Lowers `within(var, body)`: the loops of `body` over the variables of the levels
    /// (or over the fused variables) stay within what `var` spans.
    pub(super) fn within(
        &self,
        var: VarId,
        skipped: usize,
        body: &Node,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut scope = scope.clone();
        let mut out = Vec::new();
        let cut = self.enter_cuts(var, &mut scope, &mut out)?;
        let mut inside = self.prepare(var, &mut scope)?;
        self.walk(var, skipped, body, scope, &mut inside)?;
        out.extend(super::cuts::guarded(cut, inside));
        Ok(out)
    }

    /// [`Self::within`], once the positions are prepared.
    fn walk(
        &self,
        var: VarId,
        skipped: usize,
        body: &Node,
        mut scope: Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let step = self.step(var, &scope)?;
        let Bounds { lo, hi, most } = step.bounds();
        let name = self.graph.var(var).name.clone();
        match step.top.clone() {
            Top::Position { pos, base } => {
                let count = self.position_count(pos, &scope);
                let whole = base == b::int(0)
                    && lo == b::int(0)
                    && Some(&hi) == count.as_ref()
                    && self.part(pos).is_none();
                let begin = scope.segments[&pos].last().map(|s| s.lo.clone());
                let start = b::add(begin.unwrap_or_else(|| b::int(0)), base);
                if whole {
                    self.enter((pos, var), skipped, None, &mut scope, out);
                } else {
                    let full = lo == b::int(0);
                    let named = self.named(&format!("{name}_begin"), linear::add(&start, &lo), out);
                    // Of one level, the loop itself ends at `min(begin + 32, end)`.
                    let single = self.counted(pos).is_some_and(|c| c.roots.len() == 1);
                    let hi = step.tile_end(&start, full.then_some(&named));
                    let hi = if single {
                        hi
                    } else {
                        self.named(&format!("{name}_end"), hi, out)
                    };
                    let lo = named;
                    let window = Bounds::of(lo.clone(), hi.clone()).at_most(most);
                    if let Some(counted) = self.counted(pos) {
                        let span = (counted.id, counted.last(), lo.clone());
                        scope.spans.insert(var, span);
                    }
                    // Tiles inside tiles may begin behind the end.
                    let dead = !single && !self.is_first_tile(var, pos);
                    let alive = b::lt(lo.clone(), hi.clone());
                    if dead {
                        let mut then = Vec::new();
                        self.enter((pos, var), skipped, Some(window), &mut scope, &mut then);
                        then.extend(self.stmt(body, &scope)?);
                        out.push(b::if_then(alive, then));
                        return Ok(());
                    }
                    self.enter((pos, var), skipped, Some(window), &mut scope, out);
                }
            }
            Top::Fused { fused, base } => {
                let extent = self.own_extent(fused, &scope)?;
                if base != b::int(0) || lo != b::int(0) || hi != extent {
                    let lo = self.named(&format!("{name}_begin"), b::add(base.clone(), lo), out);
                    let hi = self.named(&format!("{name}_end"), b::add(base, hi), out);
                    scope.clips.insert(fused, Bounds::of(lo, hi).at_most(most));
                }
            }
            Top::Nothing | Top::Root(_) => {}
        }
        out.extend(self.stmt(body, &scope)?);
        Ok(())
    }

    /// Whether `var` runs over tiles of all positions, each of which has one.
    pub(super) fn is_first_tile(&self, var: VarId, pos: VarId) -> bool {
        let tiles = self.graph.provenance.tiles(var);
        tiles.is_some_and(|tiles| tiles.whole == pos && tiles.inhabited)
    }

    /// Makes loops over the levels' variables walk the access, within the `window` of `var`.
    fn enter(
        &self,
        (pos, var): (VarId, VarId),
        skipped: usize,
        window: Option<Bounds>,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) {
        let Some(counted) = self.counted(pos) else {
            return;
        };
        let segments = scope.segments[&pos].clone();
        for &root in &counted.roots {
            scope.walked.insert(root, (counted.id, pos));
        }
        let from = counted.first + skipped;
        if skipped > 0 {
            let cursor = &mut scope.cursors[counted.id.0];
            cursor.level = from;
            cursor.end = None;
            cursor.present = None;
        }
        let last = counted.last();
        let clip = |bounds: Bounds, level: usize| Clip {
            bounds,
            absolute: level == from && (skipped > 0 || from == last),
        };
        let Some(mut window) = window else {
            if skipped > 0 {
                let clip = clip(segments[skipped].clone(), from);
                scope.windows.insert((counted.id, from), clip);
            }
            return;
        };
        for level in (from..=last).rev() {
            let clip = clip(window.clone(), level);
            scope.windows.insert((counted.id, level), clip);
            if level > from {
                let above = &segments[level - 1 - counted.first];
                let part = (window.lo, window.hi);
                let (lo, hi) = self.parents(&counted, level, part, (pos, var, above), scope, out);
                window = Bounds::of(lo, hi);
            }
        }
    }

    /// The positions of the level above `level`, among `all`, below which `lo..hi` lie.
    fn parents(
        &self,
        counted: &Counted,
        level: usize,
        (lo, hi): (Expr, Expr),
        (pos, var, all): (VarId, VarId, &Bounds),
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> (Expr, Expr) {
        let tensor = self.tree.table.get(counted.id).access.tensor;
        let name = format!("{}{}", self.tensor(tensor).name, level);
        let array = match self.level(tensor, level).parents(lo.clone()..hi.clone()) {
            Parents::Known(parents) => return (parents.start, parents.end),
            Parents::Searched(array) => array,
        };
        let between = self.between(pos, level, all, scope, out);
        let (first, after) = self.fresh_index(&format!("{name}_first"), false);
        out.push(if self.is_whole_tile(pos, var, scope) {
            b::bind(first, between.0.clone())
        } else {
            ir::Stmt::Search {
                var: first,
                array,
                lo: between.0.clone(),
                hi: between.1.clone(),
                key: b::add(lo, b::int(1)),
                by: ir::Look::Bisect,
            }
        });
        let (last, end) = self.fresh_index(&format!("{name}_last"), false);
        // A tile ends a few rows behind where it begins.
        out.push(ir::Stmt::Search {
            var: last,
            array,
            lo: after.clone(),
            hi: between.1,
            key: hi,
            by: ir::Look::Gallop,
        });
        (b::max(b::sub(after, b::int(1)), all.lo.clone()), end)
    }

    /// The loop over a variable whose level is walked because its positions are counted.
    pub(super) fn walked_loop(
        &self,
        root: &Root,
        tag: &Tag,
        body: &Inside,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let Some(&(id, pos)) = scope.walked.get(&root.var) else {
            return Err(self.unknown_tile(root.var));
        };
        let level = self.cursor(scope, id).level;
        let tensor = self.tree.table.get(id).access.tensor;
        let Some(window) = &root.window else {
            return Err(self.unknown_tile(root.var));
        };
        if !self.tensor(tensor).format.levels[level].is_walked() {
            let extent = self.extent(tensor, level);
            let Bounds {
                mut lo,
                mut hi,
                mut most,
            } = window.bounds.clone();
            let start = b::mul(self.cursor(scope, id).pos.clone(), extent);
            if let Some(clip) = scope.windows.get(&(id, level)) {
                let clip = clip.bounds.clone();
                let at = |e: Expr| b::sub(e, start.clone());
                (lo, hi, most) = if start == b::int(0) {
                    (clip.lo, clip.hi, clip.most)
                } else {
                    let most = trips::fewer(most, clip.most);
                    (b::max(lo, at(clip.lo)), b::min(hi, at(clip.hi)), most)
                };
            }
            let step = Step {
                lo,
                ends: vec![hi],
                most,
                top: Top::Root(Root {
                    var: root.var,
                    window: None,
                }),
            };
            return self.range_loop(root.var, &step, self.loop_tag(tag, scope), body, scope);
        }
        let visit = Visit {
            root: root.var,
            window,
            scope,
        };
        let unique = self.tensor(tensor).format.levels[level].unique;
        let out = if unique {
            let innermost = self.counted(pos).is_some_and(|c| c.last() == level);
            let name = if innermost {
                self.graph.var(pos).name.clone()
            } else {
                format!("p{}", self.level_name(id, scope))
            };
            self.position_loop((id, &name), body, visit, tag)?
        } else {
            self.run_loop(id, body, visit)?
        };
        Ok(self.close_result(root.var, scope, out))
    }
}
