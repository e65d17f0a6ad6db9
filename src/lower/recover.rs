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
use crate::graph::relation::{self, Affine, Values};
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

    /// The variable of the program that becomes known inside the loop.
    pub(super) fn root(&self) -> Option<VarId> {
        match &self.top {
            Top::Root(root) => Some(root.var),
            Top::Nothing | Top::Position { .. } | Top::Fused { .. } => None,
        }
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

/// The loop that visits these values of `root`, with what is known outside of it.
#[derive(Clone, Copy)]
pub(super) struct Visit<'a> {
    pub root: VarId,
    pub window: &'a Window,
    pub scope: &'a Scope,
}

impl Lowerer<'_> {
    /// What the loop over `var` determines, given the loops outside.
    pub(super) fn step(&self, var: VarId, scope: &Scope) -> Lower<Step> {
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
        let whole = clip.is_none();
        let clip = match clip {
            None => Bounds::of(b::int(0), self.own_extent(var, scope)?)
                .at_most(self.most_extent(var, scope)),
            Some(clip) => clip,
        };
        let Some(climb) = self.here(scope).climb(var) else {
            return Err(self.unknown_extent(var));
        };
        let own = climb.own || !whole;
        let begins = own.then_some(clip.lo).into_iter().chain(climb.begins);
        let lo = begins.reduce(b::max).unwrap_or_else(|| b::int(0));
        let mut ends: Vec<Expr> = own.then_some(clip.hi).into_iter().collect();
        for end in climb.ends {
            if !ends.contains(&end) {
                ends.push(end);
            }
        }
        let mut step = Step {
            lo,
            ends,
            most: clip.most,
            top: Top::Nothing,
        };
        step.top = match (climb.top, climb.affine) {
            (relation::Top::Nothing, _) => Top::Nothing,
            (relation::Top::Position(pos), Some(Affine { base, .. })) => {
                Top::Position { pos, base }
            }
            (relation::Top::Fused(fused), Some(Affine { base, .. })) => Top::Fused { fused, base },
            (relation::Top::Root(root), Some(Affine { base, stride })) if stride == b::int(1) => {
                let start = b::add(self.range(root, scope)?.0, base);
                let Bounds { lo, hi, most } = step.bounds();
                let bounds = Bounds::of(b::add(start.clone(), lo), b::add(start, hi));
                Top::Root(Root {
                    var: root,
                    window: Some(Window {
                        bounds: bounds.at_most(most),
                        whole: whole && climb.whole,
                    }),
                })
            }
            (relation::Top::Root(var), _) => Top::Root(Root { var, window: None }),
            // Positions and fused values are always counted from somewhere.
            (relation::Top::Position(_) | relation::Top::Fused(_), None) => Top::Nothing,
        };
        Ok(step)
    }

    /// The values over which the loop of `step` runs: a variable of the program has them in its
    /// step, others count from their origin.
    pub(super) fn loop_bounds(&self, var: VarId, step: &Step, scope: &Scope) -> Lower<Bounds> {
        let bounds = step.bounds();
        if self.graph.provenance.producer(var).is_none() {
            return Ok(bounds);
        }
        let Some(origin) = self.here(scope).origin(var) else {
            return Err(self.unknown_extent(var));
        };
        let from = |end: &Expr| b::add(origin.clone(), end.clone());
        let hi = step.ends.iter().map(from).reduce(b::min);
        let lo = from(&bounds.lo);
        let hi = hi.unwrap_or_else(|| lo.clone());
        Ok(Bounds::of(lo, hi).at_most(bounds.most))
    }

    /// The part of a variable's offsets that an enclosing window of fused values leaves.
    fn clip(&self, var: VarId, scope: &Scope) -> Lower<Option<Bounds>> {
        if let Some(clip) = scope.clips.get(&var) {
            return Ok(Some(clip.clone()));
        }
        // The variable may be fused in another way in another nest, whose loops are not here.
        let graph = self.graph;
        let mut found = None;
        for relation in graph.provenance.consumers(var) {
            if let Some((outer, inner)) = relation.fuses()
                && let Some(clip) = self.clip(relation.children().0, scope)?
            {
                found = Some((outer, inner, clip));
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
    pub(super) fn offset(&self, var: VarId, scope: &Scope) -> Option<Expr> {
        self.here(scope).offset(var)
    }

    /// The value of an index variable: what subscripts mean by it.
    pub(super) fn coordinate(&self, var: VarId, scope: &Scope) -> Option<Expr> {
        // Workspaces have an element for each offset of a derived one.
        if self.graph.provenance.producer(var).is_some() {
            return self.offset(var, scope);
        }
        if let Some(value) = scope.coords.get(&var) {
            return Some(value.clone());
        }
        let offset = self.offset(var, scope)?;
        let (lo, _) = self.here(scope).range(var)?;
        Some(b::add(lo, offset))
    }

    /// The value of a variable that the place at hand needs.
    ///
    /// # Errors
    /// The loops around do not give it in this order of commands.
    pub(super) fn known(&self, var: VarId, scope: &Scope) -> super::Lower<Expr> {
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
                    .with_help(match self.graph.provenance.producer(var) {
                        Some(_) => format!("leave out the command that made `{name}`"),
                        None => format!("keep the loops that tell `{name}` outside"),
                    }))
            }
        }
    }
}
