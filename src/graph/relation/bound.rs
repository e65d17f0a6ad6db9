//! `bound(i, b, n, kind)`: what is known of a range (000, 5.8).

use super::{Quantity, RelationType, Values, Vars, names};
use crate::diagnostic::Span;
use crate::graph::{Graph, Provenance, print};
use crate::program::ir::{SizeExpr, VarId};

/// `child` is `parent` with something known of its range.
#[derive(Clone, Debug)]
pub struct Bound {
    pub parent: VarId,
    pub child: VarId,
    pub value: SizeExpr,
    pub kind: BoundKind,
    /// The command, for diagnostics of lowering.
    pub span: Span,
}

/// What `bound` says of a range `lo <= i < hi` (000, 5.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// lo = value
    MinExact,
    /// lo >= value
    MinConstraint,
    /// hi = value
    MaxExact,
    /// hi <= value
    MaxConstraint,
    /// hi - lo is divisible by value
    Multiple,
}

impl BoundKind {
    pub const ALL: [BoundKind; 5] = [
        BoundKind::MinExact,
        BoundKind::MinConstraint,
        BoundKind::MaxExact,
        BoundKind::MaxConstraint,
        BoundKind::Multiple,
    ];

    /// As schedules write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BoundKind::MinExact => "MinExact",
            BoundKind::MinConstraint => "MinConstraint",
            BoundKind::MaxExact => "MaxExact",
            BoundKind::MaxConstraint => "MaxConstraint",
            BoundKind::Multiple => "Multiple",
        }
    }

    /// Whether it says where the range ends.
    #[must_use]
    pub fn is_upper(self) -> bool {
        match self {
            BoundKind::MaxExact | BoundKind::MaxConstraint => true,
            BoundKind::MinExact | BoundKind::MinConstraint | BoundKind::Multiple => false,
        }
    }
}

impl RelationType for Bound {
    fn name(&self) -> &'static str {
        "bound"
    }

    fn parents(&self) -> Vars {
        Vars::one(self.parent)
    }

    fn children(&self) -> Vars {
        Vars::one(self.child)
    }

    fn arguments(&self, graph: &Graph) -> String {
        let vars = names(graph, &[self.parent, self.child]);
        let value = print::size_text(graph, &self.value);
        format!("{vars}, {value}, {}", self.kind.name())
    }

    fn extent<'g, V: Values<'g> + ?Sized>(&self, _: VarId, v: &mut V) -> Option<V::Quantity> {
        if !self.kind.is_upper() {
            return v.extent(self.parent);
        }
        let end = v.size(&self.value)?;
        // Of a range that data decide it bounds the number of values.
        if !v.graph().has_dynamic_range(self.parent) {
            return Some(end.sub(v.origin(self.parent)?));
        }
        Some(end)
    }

    fn overshoots<'g, V: Values<'g> + ?Sized>(&self, v: &mut V) -> bool {
        match self.kind {
            BoundKind::MaxExact => v.graph().data_decides(self.parent),
            BoundKind::MaxConstraint => true,
            BoundKind::MinExact | BoundKind::MinConstraint | BoundKind::Multiple => false,
        }
    }

    /// What it says of where the range begins, or of what divides it, leaves all values.
    fn is_renaming(&self, _: &Provenance) -> bool {
        !self.kind.is_upper()
    }

    fn promise(&self) -> Option<&Bound> {
        Some(self)
    }

    fn is_bounded(&self) -> bool {
        self.kind.is_upper()
    }
}
