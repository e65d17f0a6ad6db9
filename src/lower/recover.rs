//! Which variables a loop determines, and from where to where it runs
//! (000, 6.2 and 6.3).
//!
//! A variable of the program counts from its range's lower bound: its *offset*
//! is what `split` and the like take apart. `split(i, i0, i1, n)` gives
//! `i = lo + i0 * n + i1`; i0 runs to ceil(extent / n), i1 to n. What may overshoot,
//! derived variables too, bounds the loop that completes it: with
//! `split(j, j0, j1, 4)` and `split(j1, j2, j3, 3)` the loop of j3 ends where j1 would
//! reach 4 and where j would reach its extent, whichever comes first.

use super::{Lower, Lowerer, Scope};
use crate::graph::{BoundKind, Relation};
use crate::loops::build as b;
use crate::loops::ir::{BinaryOp, Expr};
use crate::loops::trips::{self, Bounds};
use crate::program::ir::VarId;

/// What a loop over a variable is.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Where the loop begins: at 0 for derived variables.
    pub lo: Expr,
    /// Its ends, of which the first to come counts.
    pub ends: Vec<Expr>,
    /// The most iterations that a tile around leaves it, if a constant says so.
    pub most: Option<i64>,
    /// What becomes known inside the loop.
    pub top: Top,
}

impl Step {
    pub(super) fn hi(&self) -> Expr {
        let ends = self.ends.iter().cloned();
        ends.reduce(b::min).unwrap_or_else(|| self.lo.clone())
    }

    pub(super) fn bounds(&self) -> Bounds {
        let ends = self.ends.iter();
        let most = ends.filter_map(|end| trips::constant(&self.lo, end)).min();
        Bounds::of(self.lo.clone(), self.hi()).at_most(trips::fewer(self.most, most))
    }
}

/// The variable furthest up in provenance that a loop determines.
#[derive(Clone, Debug)]
pub(super) enum Top {
    /// None: other parts of its variable are still to come.
    Nothing,
    /// A variable of the program.
    Root(Root),
    /// A position: the offset `base + stride * v` from the first one.
    Position { pos: VarId, base: Expr },
    /// The offset of a fused variable.
    Fused { fused: VarId, base: Expr },
}

#[derive(Clone, Debug)]
pub(super) struct Root {
    pub var: VarId,
    /// Its value where the loop's variable is `lo`, and the end of the values.
    /// `None` if the loop does not visit consecutive values.
    pub window: Option<Window>,
}

/// The values `lo <= v < hi` that a loop visits in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub bounds: Bounds,
    /// The window is a variable's whole range.
    pub whole: bool,
}

/// A variable's offset as `base + stride * v` for the loop variable v at hand.
struct Affine {
    base: Expr,
    stride: Expr,
}

impl Affine {
    /// The offset of the whole whose inner or outer part this is: `outer * size + inner`.
    fn part(self, is_inner: bool, other: Expr, size: Expr) -> Affine {
        if is_inner {
            Affine {
                base: b::add(b::mul(other, size), self.base),
                stride: self.stride,
            }
        } else {
            Affine {
                base: b::add(b::mul(self.base, size.clone()), other),
                stride: b::mul(self.stride, size),
            }
        }
    }
}

/// How many iterations of a part of a range may be empty: no more than a block of a GPU has
/// threads, so that numbers of units stay what the schedule says. A loop over more of them (the
/// parts that `divide` makes, the places in the parts of `split` outside of these) ends at the
/// number of values, which none of them reaches.
const FEW_PARTS: i64 = 1024;

impl Lowerer<'_> {
    /// What the loop over `var` determines, given the loops outside.
    pub(super) fn step(&mut self, var: VarId, scope: &Scope) -> Lower<Step> {
        let clip = self.clip(var, scope)?;
        if self.graph.provenance.producer(var).is_none() {
            let (lo, hi) = self.range(var, scope)?;
            let whole = clip.is_none();
            let bounds = match clip {
                None => Bounds::of(lo, hi).at_most(self.most_extent(var, scope)),
                Some(clip) => {
                    Bounds::of(b::add(lo.clone(), clip.lo), b::add(lo, clip.hi)).at_most(clip.most)
                }
            };
            let window = Window {
                bounds: bounds.clone(),
                whole,
            };
            return Ok(Step {
                lo: bounds.lo,
                ends: vec![bounds.hi],
                most: bounds.most,
                top: Top::Root(Root {
                    var,
                    window: Some(window),
                }),
            });
        }
        let clip = match clip {
            None => Bounds::of(b::int(0), self.own_extent(var, scope)?)
                .at_most(self.most_extent(var, scope)),
            Some(clip) => clip,
        };
        let step = |ends: Vec<Expr>, top: Top| Step {
            lo: clip.lo.clone(),
            ends,
            most: clip.most,
            top,
        };
        let mut ends = vec![clip.hi.clone()];
        // Every variable that this loop completes bounds it.
        let mut known = var;
        let mut affine = Affine {
            base: b::int(0),
            stride: b::int(1),
        };
        while let Some(relation) = self.graph.provenance.producer(known).cloned() {
            let parent = match relation {
                Relation::Split {
                    parent,
                    outer,
                    inner,
                    ..
                }
                | Relation::Divide {
                    parent,
                    outer,
                    inner,
                    ..
                } => {
                    let other = if known == outer { inner } else { outer };
                    let Some(rest) = self.offset_down(other, scope) else {
                        let many = if let Relation::Divide { parts, .. } = relation {
                            known == outer && parts > FEW_PARTS
                        } else if let Relation::Split { factor, .. } = relation {
                            known == inner && factor > FEW_PARTS
                        } else {
                            false
                        };
                        if many && self.extent_is_known(parent, scope) {
                            let left = b::sub(self.own_extent(parent, scope)?, affine.base.clone());
                            ends.push(b::ceil_div_by(left, &affine.stride));
                        }
                        return Ok(step(ends, Top::Nothing));
                    };
                    let size = self.part_size(&relation, scope)?;
                    let exact = self.divides(&relation, scope)?;
                    affine = affine.part(known == inner, rest, size);
                    if exact {
                        known = parent;
                        continue;
                    }
                    let left = b::sub(self.own_extent(parent, scope)?, affine.base.clone());
                    ends.push(b::ceil_div_by(left, &affine.stride));
                    parent
                }
                Relation::Bound { parent, kind, .. } => {
                    let data = self.data_decides(parent);
                    let cut = match kind {
                        BoundKind::MaxExact | BoundKind::MaxConstraint => true,
                        BoundKind::MinExact | BoundKind::MinConstraint | BoundKind::Multiple => {
                            false
                        }
                    };
                    if cut && data && !self.range_is_known(parent, scope) {
                        return Ok(step(ends, Top::Nothing));
                    }
                    let shorter = match kind {
                        BoundKind::MaxExact => data,
                        BoundKind::MaxConstraint => true,
                        BoundKind::MinExact | BoundKind::MinConstraint | BoundKind::Multiple => {
                            false
                        }
                    };
                    if shorter {
                        let left = b::sub(self.own_extent(parent, scope)?, affine.base.clone());
                        ends.push(b::ceil_div_by(left, &affine.stride));
                    }
                    parent
                }
                Relation::Inspect { parent, .. } => {
                    if !self.range_is_known(parent, scope) {
                        return Ok(step(ends, Top::Nothing));
                    }
                    let left = b::sub(self.own_extent(parent, scope)?, affine.base.clone());
                    ends.push(b::ceil_div_by(left, &affine.stride));
                    parent
                }
                Relation::Precompute { parent, .. } => parent,
                Relation::Coord { parent, coord } => {
                    match scope.cuts.get(&coord) {
                        Some(cut) => affine.base = b::add(cut.first.clone(), affine.base),
                        None if self
                            .graph
                            .provenance
                            .cuts(coord)
                            .iter()
                            .any(|c| c.0 == coord) =>
                        {
                            return Ok(step(ends, Top::Nothing));
                        }
                        None => {}
                    }
                    self.stored_parent(parent)
                }
                Relation::Pos { pos, .. } => {
                    return Ok(step(
                        ends,
                        Top::Position {
                            pos,
                            base: affine.base,
                        },
                    ));
                }
                Relation::Fuse { fused, .. } => {
                    return Ok(step(
                        ends,
                        Top::Fused {
                            fused,
                            base: affine.base,
                        },
                    ));
                }
            };
            known = parent;
        }
        let mut step = step(ends, Top::Nothing);
        let window = if affine.stride == b::int(1) {
            let (start, _) = self.range(known, scope)?;
            let start = b::add(start, affine.base);
            let Bounds { lo, hi, most } = step.bounds();
            let bounds = Bounds::of(b::add(start.clone(), lo), b::add(start, hi)).at_most(most);
            Some(Window {
                bounds,
                whole: false,
            })
        } else {
            None
        };
        step.top = Top::Root(Root { var: known, window });
        Ok(step)
    }

    /// The part of a variable's offsets that an enclosing window of fused values leaves.
    fn clip(&mut self, var: VarId, scope: &Scope) -> Lower<Option<Bounds>> {
        if let Some(clip) = scope.clips.get(&var) {
            return Ok(Some(clip.clone()));
        }
        // The variable may be fused in another way in another nest, whose loops are not here.
        let graph = self.graph;
        let mut found = None;
        for relation in graph.provenance.consumers(var) {
            if let Relation::Fuse {
                outer,
                inner,
                fused,
            } = relation
                && let Some(clip) = self.clip(*fused, scope)?
            {
                found = Some((*outer, *inner, clip));
                break;
            }
        }
        let Some((outer, inner, Bounds { lo, hi, most })) = found else {
            return Ok(None);
        };
        let extent = self.own_extent(inner, scope)?;
        if var == outer {
            let one = b::max(extent, b::int(1));
            let first = b::binary(BinaryOp::FloorDiv, lo, one.clone());
            // A window that begins and ends inside of rows.
            let rows = most.zip(b::as_int(&one)).and_then(|(most, n)| {
                let ends = n.checked_sub(1)?.checked_mul(2)?;
                Some(most.checked_add(ends)? / n)
            });
            return Ok(Some(
                Bounds::of(first, b::ceil_div_by(hi, &one)).at_most(rows),
            ));
        }
        let Some(row) = self.offset(outer, scope) else {
            return Ok(None);
        };
        let start = b::mul(row, extent.clone());
        let most = trips::fewer(most, b::as_int(&extent));
        let lo = b::max(b::sub(lo, start.clone()), b::int(0));
        let hi = b::min(b::sub(hi, start), extent);
        Ok(Some(Bounds::of(lo, hi).at_most(most)))
    }

    /// The offset of a variable, if the loops outside determine it.
    pub(super) fn offset(&mut self, var: VarId, scope: &Scope) -> Option<Expr> {
        self.offset_down(var, scope)
            .or_else(|| self.offset_up(var, scope))
    }

    /// From its own value or the parts it was taken apart into.
    pub(super) fn offset_down(&mut self, var: VarId, scope: &Scope) -> Option<Expr> {
        let graph = self.graph;
        if let Some((id, level, begin)) = scope.spans.get(&var)
            && let Some(at) = self.cursor(scope, *id).passed.get(level)
        {
            return Some(b::sub(at.clone(), begin.clone()));
        }
        if let Some(value) = scope.coords.get(&var) {
            let value = value.clone();
            if graph.provenance.producer(var).is_some() {
                return Some(value);
            }
            let (lo, _) = self.range(var, scope).ok()?;
            return Some(b::sub(value, lo));
        }
        graph
            .provenance
            .consumers(var)
            .find_map(|relation| match relation {
                Relation::Split { outer, inner, .. } | Relation::Divide { outer, inner, .. } => {
                    let outer = self.offset_down(*outer, scope)?;
                    let inner = self.offset_down(*inner, scope)?;
                    let size = self.part_size(relation, scope).ok()?;
                    Some(b::add(b::mul(outer, size), inner))
                }
                Relation::Bound { child, .. }
                | Relation::Inspect { child, .. }
                | Relation::Precompute { child, .. } => self.offset_down(*child, scope),
                Relation::Pos { pos, .. } => self.offset_of_coordinates(*pos, scope),
                Relation::Fuse { .. } | Relation::Coord { .. } => None,
            })
    }

    /// From the variable that it is a part of.
    fn offset_up(&mut self, var: VarId, scope: &Scope) -> Option<Expr> {
        let relation = self.graph.provenance.producer(var)?.clone();
        let floor = |a, n| b::binary(BinaryOp::FloorDiv, a, n);
        match &relation {
            Relation::Split {
                parent,
                outer,
                inner,
                ..
            }
            | Relation::Divide {
                parent,
                outer,
                inner,
                ..
            } => {
                let whole = self
                    .offset_down(*parent, scope)
                    .or_else(|| self.offset_up(*parent, scope))?;
                let size = self.part_size(&relation, scope).ok()?;
                if var == *outer {
                    return Some(floor(whole, size));
                }
                debug_assert_eq!(var, *inner);
                let outer = match self.offset_down(*outer, scope) {
                    Some(outer) => outer,
                    None => floor(whole.clone(), size.clone()),
                };
                Some(b::sub(whole, b::mul(outer, size)))
            }
            Relation::Bound { parent, .. }
            | Relation::Inspect { parent, .. }
            | Relation::Precompute { parent, .. } => self
                .offset_down(*parent, scope)
                .or_else(|| self.offset_up(*parent, scope)),
            Relation::Fuse { outer, inner, .. } => {
                let extent = self.own_extent(*inner, scope).ok()?;
                let outer = self.offset(*outer, scope)?;
                let inner = self.offset(*inner, scope)?;
                Some(b::add(b::mul(outer, extent), inner))
            }
            Relation::Pos { pos, .. } => self.position_offset(*pos, scope),
            Relation::Coord { parent, coord } => {
                let stored = self.stored_parent(*parent);
                let Some(cut) = scope.cuts.get(coord) else {
                    return self.offset(stored, scope);
                };
                let first = cut.first.clone();
                Some(b::sub(self.offset(stored, scope)?, first))
            }
        }
    }

    /// The value of an index variable: what subscripts mean by it.
    pub(super) fn coordinate(&mut self, var: VarId, scope: &Scope) -> Option<Expr> {
        if let Some(value) = scope.coords.get(&var) {
            return Some(value.clone());
        }
        let offset = self.offset(var, scope)?;
        if self.graph.provenance.producer(var).is_some() {
            return Some(offset);
        }
        if !self.range_is_known(var, scope) {
            return None;
        }
        let (lo, _) = self.range(var, scope).ok()?;
        Some(b::add(lo, offset))
    }

    /// The value of a variable that the place at hand needs.
    ///
    /// # Errors
    /// The loops around do not give it in this order of commands.
    pub(super) fn known(&mut self, var: VarId, scope: &Scope) -> super::Lower<Expr> {
        match self.coordinate(var, scope) {
            Some(value) => Ok(value),
            None => {
                let name = self.graph.var(var).name.clone();
                Err(self
                    .error(
                        crate::diagnostic::codes::lower::UNKNOWN_COORDINATE,
                        format!(
                            "the value of `{name}` cannot be recovered here: not supported yet"
                        ),
                        "in this statement",
                    )
                    .with_help(format!("leave out the command that made `{name}`")))
            }
        }
    }
}
