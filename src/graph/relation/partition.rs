//! `partition(i, b, ib, P, nnz | merge_path | bins(..))`: the range of i in P parts in which an operand
//! stores equally much, or of rows that are of similar lengths (000, chapter 10).

use super::{Affine, Lift, Quantity, Relation, RelationType, Values, Vars, names};
use crate::graph::{Graph, Provenance};
use crate::program::ir::{TensorId, VarId};
use std::rc::Rc;

/// `parent = begin(part) + inner`, where inner runs up to the next part's begin; in bins the parent is what
/// stands at that place of a list. Where parts begin, and that list, are found before the loops.
#[derive(Clone, Debug)]
pub struct Partition {
    pub parent: VarId,
    pub part: VarId,
    pub inner: VarId,
    pub parts: i64,
    pub by: By,
}

/// What decides which part a value lies in.
#[derive(Clone, Debug)]
pub enum By {
    /// Parts have equally many elements that this operand stores below the values of the parent, which are
    /// its rows.
    Stored(TensorId),
    /// They have equally many elements and rows together, where the parent counts the positions of elements: the path
    /// along which a merge of the ends of rows with the positions goes, in equal lengths (Odeh,
    /// Green, Mwassi, Shmueli, Birk 2012; for sparse rows Merrill and Garland 2016).
    Path,
    /// Rows of this operand lie in the first part whose number here they do not exceed in elements, or
    /// in the last one, each part in their own order.
    Lengths(TensorId, Rc<[i64]>),
}

impl By {
    fn text(&self) -> String {
        match self {
            By::Stored(_) => "nnz".to_string(),
            By::Path => "merge_path".to_string(),
            By::Lengths(_, most) => {
                let most: Vec<String> = most.iter().map(ToString::to_string).collect();
                format!("bins({})", most.join(", "))
            }
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

    /// Whether parts have neighbouring values of the parent, one part behind the other.
    fn ascends(&self) -> bool {
        match self.by {
            By::Stored(_) | By::Path => true,
            By::Lengths(..) => false,
        }
    }

    /// Where the part at hand begins and ends among all values in the order of parts.
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
        format!("{vars}, {}, {}", self.parts, self.by.text())
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
        let at = self.ends(v)?.0.add(inner);
        match self.ascends() {
            true => Some(at),
            false => v.value_at(self, at),
        }
    }

    /// Which part a value lies in would have to be searched, and where in a part that has any values.
    fn child_offset<'g, V: Values<'g> + ?Sized>(
        &self,
        child: VarId,
        v: &mut V,
    ) -> Option<V::Quantity> {
        if child == self.part || !self.ascends() {
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
        if !self.ascends() {
            // Which part it is must be known all the same.
            self.ends(v)?;
            return Some(Lift::Scattered(self.parent));
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
        (child == self.inner && self.ascends()).then_some(self.parent)
    }

    fn ascends(&self) -> bool {
        Partition::ascends(self)
    }

    fn partition(&self) -> Option<&Partition> {
        Some(self)
    }
}
