//! Loops over positions (000, 5.1 and 6.2): where the positions of a level begin and end.

use super::access::AccessId;
use super::recover::{Root, Top, Visit, Window};
use super::{Lower, Lowerer, Scope};
use crate::graph::relation::Pos;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr};
use crate::loops::trips::Bounds;
use crate::program::ir::{Access, VarId};

/// Positions that a walk of a level must not leave.
#[derive(Clone, Debug)]
pub(crate) struct Clip {
    pub bounds: Bounds,
    /// The positions are given by the clip alone: the levels above are not walked.
    pub absolute: bool,
}

/// The levels whose positions a variable counts.
pub(super) struct Counted {
    pub id: AccessId,
    pub first: usize,
    /// The variables of the levels from `first` on.
    pub roots: Vec<VarId>,
}

impl Counted {
    pub(super) fn last(&self) -> usize {
        self.first + self.roots.len() - 1
    }
}

impl Lowerer<'_> {
    pub(super) fn counted(&self, pos: VarId) -> Option<Counted> {
        let Pos { parent, access, .. } = self.graph.provenance.producer(pos)?.counts()?;
        let roots = self.graph.provenance.coordinates(*parent);
        Some(Counted {
            id: self.tree.table.find(access)?,
            first: self.graph.level_of(access, *roots.first()?)?,
            roots,
        })
    }

    /// Where the positions that `var` is a part of begin and end, level by level;
    /// declared once, at the outermost loop that needs them.
    pub(super) fn prepare(&self, var: VarId, scope: &mut Scope) -> Lower<Vec<ir::Stmt>> {
        let Some(&Pos { pos, .. }) = self.graph.provenance.position_of(var) else {
            return Ok(Vec::new());
        };
        if scope.segments.contains_key(&pos) {
            return Ok(Vec::new());
        }
        let Some(counted) = self.counted(pos) else {
            return Ok(Vec::new());
        };
        let mut out = Vec::new();
        let mut segments: Vec<Bounds> = Vec::new();
        for level in counted.first..=counted.last() {
            let segment = match segments.last().cloned() {
                None => {
                    let (root, window) = &self.coordinates(pos, &counted, scope)?;
                    let visit = Visit {
                        root: *root,
                        window,
                        scope,
                    };
                    self.first_segment(counted.id, visit, &mut out)?
                }
                Some(above) => self.below(counted.id, level, above),
            };
            segments.push(segment);
        }
        if let Some(Bounds { lo, hi, most }) = segments.pop() {
            let name = self.graph.var(pos).name.clone();
            let lo = self.named(&format!("{name}_begin"), lo, &mut out);
            let hi = self.named(&format!("{name}_end"), hi, &mut out);
            segments.push(Bounds::of(lo, hi).at_most(most));
        }
        scope.segments.insert(pos, segments);
        Ok(out)
    }

    /// Declares a variable, unless the expression is short enough to stand for itself.
    pub(super) fn named(&self, name: &str, e: Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        if matches!(e.kind, ir::ExprKind::Literal(_) | ir::ExprKind::Var(_)) {
            return e;
        }
        self.bind(name, e, out)
    }

    /// Declares a variable.
    pub(super) fn bind(&self, name: &str, e: Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        let (var, value) = self.fresh_index(name, false);
        out.push(b::bind(var, e));
        value
    }

    fn first_segment(&self, id: AccessId, visit: Visit, out: &mut Vec<ir::Stmt>) -> Lower<Bounds> {
        let tensor = self.tree.table.get(id).access.tensor;
        let cursor = self.cursor(visit.scope, id).clone();
        let Bounds { lo, hi, most } = visit.window.bounds.clone();
        if !self.tensor(tensor).format.levels[cursor.level].is_walked() {
            let extent = self.extent(tensor, cursor.level);
            let (lo, hi) = self.within_level((id, visit.root), (lo, hi), &extent, out);
            let start = b::mul(cursor.pos, extent);
            let hi = match cursor.present {
                Some(present) => b::select(present, hi, lo.clone()),
                None => hi,
            };
            return Ok(Bounds::of(b::add(start.clone(), lo), b::add(start, hi)).at_most(most));
        }
        let (segment, _) = self.windowed(id, visit, out)?;
        Ok(segment.bounds())
    }

    /// Coordinates of a dense level from `lo` on and before `hi`. A range that is no operand's may be
    /// empty, and lie outside of all of the level's `extent`: it is an empty one inside then.
    fn within_level(
        &self,
        (id, var): (AccessId, VarId),
        (lo, hi): (Expr, Expr),
        extent: &Expr,
        out: &mut Vec<ir::Stmt>,
    ) -> (Expr, Expr) {
        let Access { tensor, subscripts } = &self.tree.table.get(id).access;
        let mode = subscripts.iter().position(|s| s.as_var() == Some(var));
        if mode.is_none_or(|mode| self.graph.covers(var, &self.tensor(*tensor).dims[mode])) {
            return (lo, hi);
        }
        let name = &self.graph.var(var).name;
        let lo = b::min(b::max(lo, b::int(0)), extent.clone());
        let lo = self.named(&format!("{name}_from"), lo, out);
        let hi = b::max(b::min(hi, extent.clone()), lo.clone());
        let hi = self.named(&format!("{name}_to"), hi, out);
        (lo, hi)
    }

    /// The coordinates whose positions `pos` counts: of a whole range, or of the tile that
    /// the loops outside have reached.
    fn coordinates(&self, pos: VarId, counted: &Counted, scope: &Scope) -> Lower<(VarId, Window)> {
        if let Some(parent) = self.part(pos)
            && let Top::Root(Root {
                var,
                window: Some(window),
            }) = self.step(parent, scope)?.top
        {
            return Ok((var, window));
        }
        let var = counted.roots[0];
        let (lo, hi) = self.range(var, scope)?;
        let window = Window {
            bounds: Bounds::of(lo, hi).at_most(self.most_extent(var, scope)),
            whole: true,
        };
        Ok((var, window))
    }

    /// The part of a range whose positions `pos` counts, if it is no whole one.
    pub(super) fn part(&self, pos: VarId) -> Option<VarId> {
        let parent = self.graph.provenance.producer(pos)?.counts()?.parent;
        self.graph
            .provenance
            .is_inner_part(parent)
            .then_some(parent)
    }

    /// The positions of `level` below the positions `lo..hi` of the level above.
    fn below(&self, id: AccessId, level: usize, above: Bounds) -> Bounds {
        let tensor = self.tree.table.get(id).access.tensor;
        let own = self.tensor(tensor).format.levels[level];
        let stored = self.level(tensor, level);
        let most = if own.is_branchless() {
            above.most
        } else if !own.is_walked() {
            let most = above.most.zip(b::as_int(&stored.extent()));
            most.and_then(|(most, extent)| most.checked_mul(extent))
        } else {
            None
        };
        let positions = stored.below(above.lo..above.hi);
        Bounds::of(positions.start, positions.end).at_most(most)
    }

    /// How many positions a `pos` variable counts, once it is known where they begin and end.
    pub(super) fn position_count(&self, pos: VarId, scope: &Scope) -> Option<Expr> {
        let all = scope.segments.get(&pos)?.last()?;
        Some(b::sub(all.hi.clone(), all.lo.clone()))
    }

    /// The offset of the position at hand, where the loops have reached one.
    pub(super) fn position_offset(&self, pos: VarId, scope: &Scope) -> Option<Expr> {
        let counted = self.counted(pos)?;
        let cursor = self.cursor(scope, counted.id);
        let begin = &scope.segments.get(&pos)?.last()?.lo;
        let at = cursor.passed.get(&counted.last())?;
        Some(b::sub(at.clone(), begin.clone()))
    }
}
