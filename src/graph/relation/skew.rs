//! `skew(i, j, f)`: the loop over j + f * i (002, 5.2; 003).

use super::{Affine, Left, Lift, Quantity, Relation, RelationType, Values, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::VarId;

/// `skewed = inner + factor * outer`, and `kept = outer`.
///
/// The skewed variable has the values that this has for any values of the two. Whichever loop
/// comes second, over one of them or a part of it, is left those that belong to values of both.
#[derive(Clone, Copy, Debug)]
pub struct Skew {
    pub outer: VarId,
    pub inner: VarId,
    pub kept: VarId,
    pub skewed: VarId,
    pub factor: i64,
    /// Whether the skewed variable counts from zero: it is what levels store.
    pub from_zero: bool,
}

impl Skew {
    /// Whether one variable can be skewed along another: neither was fused, they are no parts of
    /// the same, and no other part of what the inner one is a part of was skewed: a single loop
    /// would tell both, and neither ends it for the other. Nor is the outer one skewed along the inner one
    /// elsewhere: each would be told by the other.
    #[must_use]
    pub fn is_between(provenance: &Provenance, outer: VarId, inner: VarId) -> bool {
        let along = provenance.told_by(outer);
        let from = provenance.told_by(inner);
        let part = |of: VarId| {
            let others = provenance.told_by(of);
            !from.contains(&of) && from.iter().any(|v| others.contains(v))
        };
        let mut skewed = provenance.relations.iter().filter_map(Relation::skews);
        let fused = provenance.is_fused(outer) || provenance.is_fused(inner);
        let back = Self::leads(provenance, outer, inner);
        !fused && !back && !from.iter().any(|v| along.contains(v)) && !skewed.any(part)
    }

    /// Whether one variable is skewed along another, or along what is.
    fn leads(provenance: &Provenance, from: VarId, to: VarId) -> bool {
        let meets = |a: VarId, b: VarId| {
            let others = provenance.roots(b);
            provenance.roots(a).iter().any(|v| others.contains(v))
        };
        let skews = |relation: &Relation| {
            if let Relation::Skew(skew) = relation {
                Some(*skew)
            } else {
                None
            }
        };
        let mut along = provenance.relations.iter().filter_map(skews);
        along.any(|skew| {
            let on = meets(skew.inner, from) && skew.outer != from;
            on && (meets(skew.outer, to) || Self::leads(provenance, skew.outer, to))
        })
    }

    fn steepness<Q: Quantity>(&self) -> Q {
        Q::int(self.factor.abs())
    }

    /// The skewed offset of the first inner value, for an offset of the outer variable: from where
    /// it is least.
    fn lead<'g, V: Values<'g> + ?Sized>(
        &self,
        outer: V::Quantity,
        v: &mut V,
    ) -> Option<V::Quantity> {
        if self.factor >= 0 {
            return Some(outer.mul(self.steepness()));
        }
        let last = v.extent(self.outer)?.sub(V::Quantity::int(1));
        Some(last.sub(outer).mul(self.steepness()))
    }

    /// The offsets of the outer variable for which a skewed one has an inner value, as far as the
    /// loops around tell those.
    fn left<'g, V: Values<'g> + ?Sized>(
        &self,
        skewed: V::Quantity,
        v: &mut V,
    ) -> Option<Left<V::Quantity>> {
        let climb = v.climb(self.inner)?;
        let mut inner_ends = climb.ends;
        inner_ends.push(v.extent(self.inner)?);
        let mut inner_begins = climb.begins;
        inner_begins.push(V::Quantity::int(0));
        // Past the last step along the outer variable that leaves an inner value `at` or more.
        let past = |at: V::Quantity| {
            let steps = skewed.clone().sub(at).floor_div(self.steepness());
            steps.add(V::Quantity::int(1))
        };
        let first = inner_ends.into_iter().map(past);
        let end = inner_begins.into_iter().map(past);
        let (begins, ends) = if self.factor > 0 {
            (first.collect(), end.collect())
        } else {
            // Steps are counted from the last value.
            let outer = v.extent(self.outer)?;
            let back = |steps: V::Quantity| outer.clone().sub(steps);
            (end.map(back).collect(), first.map(back).collect())
        };
        Some(Left {
            begins,
            ends,
            all: false,
        })
    }
}

impl RelationType for Skew {
    fn name(&self) -> &'static str {
        "skew"
    }

    fn parents(&self) -> Vars {
        Vars::two(self.outer, self.inner)
    }

    fn children(&self) -> Vars {
        Vars::two(self.kept, self.skewed)
    }

    fn parts(&self, parent: VarId) -> Vars {
        if parent == self.outer {
            Vars::one(self.kept)
        } else {
            Vars::two(self.kept, self.skewed)
        }
    }

    fn made_of(&self, child: VarId) -> Vars {
        Vars::one(if child == self.kept {
            self.outer
        } else {
            self.inner
        })
    }

    fn told_by(&self, child: VarId) -> Vars {
        if child == self.kept {
            Vars::one(self.outer)
        } else {
            self.parents()
        }
    }

    fn arguments(&self, graph: &Graph) -> String {
        let vars = names(graph, &[self.outer, self.inner]);
        format!("{vars}, {}", self.factor)
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, child: VarId, v: &mut V) -> Option<V::Quantity> {
        let outer = v.extent(self.outer)?;
        if child == self.kept {
            return Some(outer);
        }
        let steps = outer.sub(V::Quantity::int(1)).at_least(V::Quantity::int(0));
        Some(v.extent(self.inner)?.add(steps.mul(self.steepness())))
    }

    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        parent: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        if parent == self.outer {
            return v.by_parts(self.kept);
        }
        // Where the outer one walks what is stored, its coordinate is known, not the loop's variable.
        let outer = v.by_parts(self.outer)?;
        let skewed = v.by_parts(self.skewed)?;
        Some(skewed.sub(self.lead(outer, v)?))
    }

    fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        let outer = v.offset(self.outer)?;
        if child == self.kept {
            return Some(outer);
        }
        let inner = v.offset(self.inner)?;
        Some(inner.add(self.lead(outer, v)?))
    }

    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        Affine { base, stride }: Affine<V::Quantity>,
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        if child == self.kept {
            let left = match v.by_parts(self.skewed) {
                Some(skewed) if self.factor != 0 => Some(self.left(skewed, v)?),
                Some(_) | None => None,
            };
            return Some(Lift::Whole {
                whole: self.outer,
                affine: Affine { base, stride },
                overshoots: false,
                left,
            });
        }
        let Some(outer) = v.by_parts(self.outer) else {
            return Some(Lift::Open { end: None });
        };
        let lead = self.lead(outer, v)?;
        Some(Lift::Whole {
            whole: self.inner,
            affine: Affine {
                base: base.sub(lead),
                stride,
            },
            overshoots: false,
            left: Some(Left {
                begins: vec![V::Quantity::int(0)],
                ends: vec![v.extent(self.inner)?],
                all: true,
            }),
        })
    }

    fn origin<'g, V: Values<'g> + ?Sized>(&self, child: VarId, v: &mut V) -> Option<V::Quantity> {
        let outer = v.origin(self.outer)?;
        if child == self.kept {
            return Some(outer);
        }
        if self.from_zero {
            return Some(V::Quantity::int(0));
        }
        let least = if self.factor >= 0 {
            outer
        } else {
            let steps = v.extent(self.outer)?.sub(V::Quantity::int(1));
            outer.add(steps)
        };
        let lead = least.mul(V::Quantity::int(self.factor));
        Some(v.origin(self.inner)?.add(lead))
    }

    fn measures(&self) -> bool {
        true
    }

    fn skews(&self) -> Option<VarId> {
        Some(self.inner)
    }

    fn part_of(&self, child: VarId, _: &Provenance) -> Option<VarId> {
        Some(if child == self.kept {
            self.outer
        } else {
            self.inner
        })
    }

    fn consecutive_in(&self, child: VarId, _: &Provenance) -> Option<VarId> {
        (child == self.kept).then_some(self.outer)
    }
}
