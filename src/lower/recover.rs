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
use crate::graph::Relation;
use crate::loops::build as b;
use crate::loops::ir::Expr;
use crate::program::ir::{Bound, VarId};

/// What a loop over a variable is.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The loop's own bounds, from 0 for derived variables.
    pub lo: Expr,
    pub hi: Expr,
    /// The variable of the program that becomes known inside the loop.
    pub root: Option<Root>,
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
    pub lo: Expr,
    pub hi: Expr,
    /// The window is a variable's whole range.
    pub whole: bool,
}

/// A variable's offset as `base + stride * v` for the loop variable v at hand.
struct Affine {
    base: Expr,
    stride: i64,
}

impl Lowerer<'_> {
    /// What the loop over `var` determines, given the loops outside.
    pub(super) fn step(&mut self, var: VarId, scope: &Scope) -> Lower<Step> {
        if self.graph.provenance.producer(var).is_none() {
            let (lo, hi) = self.range(var, scope)?;
            let window = Window {
                lo: lo.clone(),
                hi: hi.clone(),
                whole: true,
            };
            return Ok(Step {
                lo,
                hi,
                root: Some(Root {
                    var,
                    window: Some(window),
                }),
            });
        }
        // Every variable that this loop completes bounds it.
        let mut hi = self.own_extent(var, scope)?;
        let mut known = var;
        let mut affine = Affine {
            base: b::int(0),
            stride: 1,
        };
        while let Some(relation) = self.graph.provenance.producer(known).cloned() {
            let Relation::Split {
                parent,
                outer,
                inner,
                factor,
            } = relation;
            let other = if known == outer { inner } else { outer };
            let Some(rest) = self.offset(other, scope) else {
                return Ok(Step {
                    lo: b::int(0),
                    hi,
                    root: None,
                });
            };
            affine = if known == inner {
                Affine {
                    base: b::add(b::mul(rest, b::int(factor)), affine.base),
                    stride: affine.stride,
                }
            } else {
                Affine {
                    base: b::add(b::mul(affine.base, b::int(factor)), rest),
                    stride: affine.stride.saturating_mul(factor),
                }
            };
            let left = b::sub(self.own_extent(parent, scope)?, affine.base.clone());
            hi = b::min(hi, b::ceil_div(left, affine.stride));
            known = parent;
        }
        let window = if affine.stride == 1 {
            let (start, _) = self.range(known, scope)?;
            let lo = b::add(start, affine.base);
            Some(Window {
                hi: b::add(lo.clone(), hi.clone()),
                lo,
                whole: false,
            })
        } else {
            None
        };
        Ok(Step {
            lo: b::int(0),
            hi,
            root: Some(Root { var: known, window }),
        })
    }

    /// The bounds of a variable of the program.
    pub(super) fn range(&mut self, var: VarId, scope: &Scope) -> Lower<(Expr, Expr)> {
        let range = self.graph.var(var).range.clone();
        Ok((self.bound(&range.lo, scope)?, self.bound(&range.hi, scope)?))
    }

    fn bound(&mut self, bound: &Bound, scope: &Scope) -> Lower<Expr> {
        match bound {
            Bound::Static(e) => Ok(self.size_expr(e)),
            Bound::Dynamic(e) => self.value(e, scope),
        }
    }

    /// The number of values of a variable, as far as its own relation says.
    fn own_extent(&mut self, var: VarId, scope: &Scope) -> Lower<Expr> {
        match self.graph.provenance.producer(var).cloned() {
            None => {
                let (lo, hi) = self.range(var, scope)?;
                Ok(b::sub(hi, lo))
            }
            Some(Relation::Split {
                parent,
                outer,
                factor,
                ..
            }) => {
                if var == outer {
                    let extent = self.own_extent(parent, scope)?;
                    Ok(b::ceil_div(extent, factor))
                } else {
                    Ok(b::int(factor))
                }
            }
        }
    }

    /// The offset of a variable, if the loops outside determine it.
    fn offset(&self, var: VarId, scope: &Scope) -> Option<Expr> {
        if let Some(value) = scope.coords.get(&var) {
            return Some(value.clone());
        }
        match self.graph.provenance.consumer(var)? {
            Relation::Split {
                outer,
                inner,
                factor,
                ..
            } => Some(b::add(
                b::mul(self.offset(*outer, scope)?, b::int(*factor)),
                self.offset(*inner, scope)?,
            )),
        }
    }

    /// The value of a variable of the program once all its parts are known.
    pub(super) fn root_value(&mut self, root: VarId, scope: &Scope) -> Lower<Option<Expr>> {
        match self.offset(root, scope) {
            None => Ok(None),
            Some(offset) => {
                let (lo, _) = self.range(root, scope)?;
                Ok(Some(b::add(lo, offset)))
            }
        }
    }
}
