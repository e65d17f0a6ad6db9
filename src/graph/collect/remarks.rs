//! What is said of elements that are collected and sorted, and what would spare it.

use super::Piece;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::Graph;
use crate::graph::equal::same;
use crate::graph::order::{is_concordant, sparse_accesses};
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, Role, Statement, VarId};

/// The remark with what spares all of it: a dense result takes its elements in any order.
pub(in crate::graph) fn unless_dense(
    remark: Diagnostic,
    graph: &Graph,
    stmt: &Statement,
) -> Diagnostic {
    match stored_dense(graph, stmt) {
        Some(help) => remark.with_help(help),
        None => remark,
    }
}

fn stored_dense(graph: &Graph, stmt: &Statement) -> Option<String> {
    let result = graph.tensor(stmt.tensor);
    let name = &result.name;
    let is_told = result.role != Role::Temporary && result.is_sparse();
    is_told.then(|| format!("store `{name}` dense, which takes its elements in any order"))
}

/// Whether a sum is one of the terms that an expression adds up.
pub(super) fn is_term(sum: &Expr, of: &Expr) -> bool {
    if let ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) = &of.kind {
        return is_term(sum, a) || is_term(sum, b);
    }
    same(sum, of)
}

/// An operand that is brought into the order of loops.
pub(super) struct Sorted<'s> {
    pub access: &'s Access,
    pub order: &'s [VarId],
    /// Its dimensions in that order; none if subscripts compute with variables.
    pub modes: &'s [usize],
}

impl Sorted<'_> {
    pub fn remark(&self, graph: &Graph, piece: &Piece, stmt: &Statement) -> Diagnostic {
        let name = &graph.tensor(graph.original(self.access.tensor)).name;
        let unordered = is_concordant(graph, self.access, self.order);
        let remark = Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            format!("`{name}` is brought into another order first"),
            match unordered {
                true => "its coordinates are stored in no order".to_string(),
                false => format!(
                    "it cannot be walked in the order in which `{}` is appended",
                    graph.tensor(piece.tensor).name
                ),
            },
        );
        match self.help(graph, (piece, stmt), unordered) {
            Some(help) => remark.with_help(help),
            None => remark,
        }
    }

    fn help(
        &self,
        graph: &Graph,
        (piece, stmt): (&Piece, &Statement),
        unordered: bool,
    ) -> Option<String> {
        let operand = graph.tensor(self.access.tensor);
        let name = &operand.name;
        if operand.role == Role::Temporary {
            let is_copy = graph.copied(self.access.tensor).is_some();
            return stored_dense(graph, stmt).filter(|_| is_copy);
        }
        if unordered {
            return Some(format!("store the coordinates of `{name}` in order"));
        }
        // Whoever reads it in two orders has one of them to sort.
        let all = sparse_accesses(graph, &piece.rhs);
        let same = all.iter().filter(|a| a.tensor == self.access.tensor);
        // Graphs know matrices in blocks as the tensors of their blocks.
        let declared = graph.function.tensors.get(self.access.tensor.index());
        let has_modes =
            !self.modes.is_empty() && declared.is_some_and(|t| !t.format.is_rearranged());
        if same.count() == 1 && has_modes && *self.modes != operand.format.modes {
            let modes: Vec<String> = self.modes.iter().map(ToString::to_string).collect();
            let modes = modes.join(",");
            return Some(format!(
                "store `{name}` with its levels in `order ({modes})`; beside `-e`: `-f {name}:LEVELS:{modes}`"
            ));
        }
        stored_dense(graph, stmt)
    }
}
