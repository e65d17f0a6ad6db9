//! Coordinates of tiles of positions (000, 5.2): `pos(j, p, A(i,j)) split(p, p0, p1, 64)
//! coord(p1, c)` cuts where A has stored 64 elements, and runs over the coordinates between.

use super::positions::Clip;
use super::recover::Top;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::graph::relation::Cut;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr};
use crate::loops::linear;
use crate::loops::trips::Bounds;
use crate::program::ir::VarId;

/// What holds where there is something to do, outermost first, and what is declared behind each.
pub(super) type Guards = Vec<(Expr, Vec<ir::Stmt>)>;

/// One more guard behind the others: together with the last where nothing stands between.
pub(super) fn add_guard(guards: &mut Guards, cond: Expr) {
    match guards.last_mut() {
        Some((last, then)) if then.is_empty() => *last = b::and(last.clone(), cond),
        Some(_) | None => guards.push((cond, Vec::new())),
    }
}

/// Where statements stand that need all of the guards.
pub(super) fn innermost<'s>(
    out: &'s mut Vec<ir::Stmt>,
    guards: &'s mut Guards,
) -> &'s mut Vec<ir::Stmt> {
    guards.last_mut().map_or(out, |(_, then)| then)
}

/// Statements inside guards, the first one outermost.
pub(super) fn guarded(guards: Guards, body: Vec<ir::Stmt>) -> Vec<ir::Stmt> {
    guards
        .into_iter()
        .rev()
        .fold(body, |inside, (cond, mut then)| {
            then.extend(inside);
            vec![b::if_then(cond, then)]
        })
}

impl Lowerer<'_> {
    /// Finds the coordinates of the tiles that the loop over `var` runs over, or over a part of.
    pub(super) fn enter_cuts(
        &self,
        var: VarId,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<Guards> {
        let mut guards = Guards::new();
        for (coord, part) in self.graph.provenance.cuts(var) {
            if scope.cuts.contains_key(&coord) {
                continue;
            }
            let place = innermost(&mut *out, &mut guards);
            place.extend(self.prepare(part, scope)?);
            let step = self.step(part, scope)?;
            let Bounds { lo, most, .. } = step.bounds();
            let Top::Position { pos, base } = step.top.clone() else {
                return Err(self.unknown_tile(part));
            };
            let (Some(counted), Some(segments)) =
                (self.counted(pos), scope.segments.get(&pos).cloned())
            else {
                continue;
            };
            let begin = segments.last().map_or_else(|| b::int(0), |s| s.lo.clone());
            let start = b::add(begin, base);
            let name = self.graph.var(part).name.clone();
            let place = innermost(&mut *out, &mut guards);
            let lo = self.named(&format!("{name}_begin"), linear::add(&start, &lo), place);
            let hi = step.tile_end(&start, Some(&lo));
            let hi = self.named(&format!("{name}_end"), hi, place);
            let stored = self.stored_parent(part);
            let mut then = Vec::new();
            let mut ends = Vec::new();
            let last = b::sub(hi.clone(), b::int(1));
            for (which, at) in [("first", lo.clone()), ("last", last)] {
                let mut there = scope.clone();
                self.resolve(
                    (&counted, pos),
                    &segments,
                    (at, which),
                    &mut there,
                    &mut then,
                );
                let Some(offset) = self.offset(stored, &there) else {
                    return Err(self.unknown_tile(part));
                };
                let name = format!("{}_{which}", self.graph.var(coord).name);
                ends.push(self.named(&name, offset, &mut then));
            }
            let count = b::sub(b::add(ends[1].clone(), b::int(1)), ends[0].clone());
            let count_name = format!("{}_count", self.graph.var(coord).name);
            let count = self.named(&count_name, count, &mut then);
            if coord == var && counted.roots.len() == 1 {
                // The tile's elements are known: none is searched.
                let clip = Clip {
                    bounds: Bounds::of(lo.clone(), hi.clone()).at_most(most),
                    absolute: true,
                };
                scope.windows.insert((counted.id, counted.last()), clip);
            }
            let first = ends[0].clone();
            scope.cuts.insert(coord, Cut { first, count });
            // The first tiles have an element each; those inside of tiles may begin behind the end.
            if self.is_first_tile(part, pos) {
                place.append(&mut then);
            } else {
                guards.push((b::lt(lo, hi), then));
            }
        }
        Ok(guards)
    }

    pub(super) fn unknown_tile(&self, part: VarId) -> Diagnostic {
        let name = &self.graph.var(part).name;
        self.error(
            crate::diagnostic::codes::lower::UNKNOWN_COORDINATE,
            format!("which tile of `{name}` it is cannot be told here: not supported yet"),
            "in this statement",
        )
    }
}
