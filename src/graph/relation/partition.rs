//! `partition(i, b, ib, P, nnz | merge_path)`: the range of i in P parts in which an operand stores
//! equally much (000, chapter 10).

use super::{Affine, Lift, Quantity, Relation, RelationType, Values, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::{TensorId, VarId};

/// `parent = begin(part) + inner`, where inner runs up to the next part's begin. Where parts begin
/// is found before the loops.
#[derive(Clone, Copy, Debug)]
pub struct Partition {
    pub parent: VarId,
    pub part: VarId,
    pub inner: VarId,
    pub parts: i64,
    pub by: By,
}

/// What parts have equally much of.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// Elements that this operand stores below the values of the parent, which are its rows.
    Stored(TensorId),
    /// Elements and rows together, where the parent counts the positions of elements: the path
    /// along which a merge of the ends of rows with the positions goes, in equal lengths (Odeh,
    /// Green, Mwassi, Shmueli, Birk 2012; for sparse rows Merrill and Garland 2016).
    Path,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            By::Stored(_) => "nnz",
            By::Path => "merge_path",
        }
    }
}

impl Partition {
    /// Whether a loop made of these two could not be taken apart: how long the inner one is depends on
    /// the outer one. Both derive from this partition, the outer one from the part's number.
    #[must_use]
    pub fn ties(provenance: &Provenance, outer: VarId, inner: VarId) -> bool {
        let (above, below) = (provenance.ancestors(outer), provenance.ancestors(inner));
        let mut all = provenance.relations.iter().filter_map(Relation::partition);
        all.any(|own| above.contains(&own.part) && below.contains(&own.inner))
    }

    /// The offsets of the parent at which the part at hand begins and ends.
    fn ends<'g, V: Values<'g> + ?Sized>(&self, v: &mut V) -> Option<(V::Quantity, V::Quantity)> {
        let part = v.by_parts(self.part)?;
        let next = part.clone().add(V::Quantity::int(1));
        Some((v.begin(self, part)?, v.begin(self, next)?))
    }
}

impl RelationType for Partition {
    fn name(&self) -> &'static str {
        "partition"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::two(self.part, self.inner)
    }

    fn arguments(&self, graph: &Graph) -> String {
        let vars = names(graph, &[self.parent, self.part, self.inner]);
        format!("{vars}, {}, {}", self.parts, self.by.word())
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, child: VarId, v: &mut V) -> Option<V::Quantity> {
        if child == self.part {
            return Some(V::Quantity::int(self.parts));
        }
        let (begin, end) = self.ends(v)?;
        Some(end.sub(begin))
    }

    fn parent_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        _: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        let inner = v.by_parts(self.inner)?;
        Some(self.ends(v)?.0.add(inner))
    }

    /// Which part a value lies in would have to be searched.
    fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        if child == self.part {
            return None;
        }
        let begin = self.ends(v)?.0;
        Some(v.offset(self.parent)?.sub(begin))
    }

    fn lift<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        affine: Affine<V::Quantity>,
        v: &mut V,
    ) -> Option<Lift<V::Quantity>> {
        if child == self.part {
            return Some(Lift::Open { end: None });
        }
        let begin = self.ends(v)?.0;
        Some(Lift::Whole {
            whole: self.parent,
            affine: Affine {
                base: begin.add(affine.base),
                stride: affine.stride,
            },
            overshoots: false,
            left: None,
        })
    }

    fn consecutive_in(&self, child: VarId, _: &Provenance) -> Option<VarId> {
        (child == self.inner).then_some(self.parent)
    }

    fn partition(&self) -> Option<&Partition> {
        Some(self)
    }
}
