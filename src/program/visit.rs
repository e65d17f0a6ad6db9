//! Walks over resolved expressions.

use super::ir::{Access, BinaryOp, Expr, ExprKind};

impl Expr {
    /// What the expression is made of, in the order in which it is written.
    #[must_use]
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) => Vec::new(),
            ExprKind::Access(access) => access.subscripts.iter().collect(),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Select(c, a, b) => vec![c, a, b],
            ExprKind::Call(_, args) => args.iter().collect(),
            ExprKind::Reduce { body, .. } => vec![body],
        }
    }

    /// As [`Expr::parts`], to change them.
    pub fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) => Vec::new(),
            ExprKind::Access(access) => access.subscripts.iter_mut().collect(),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Select(c, a, b) => vec![c, a, b],
            ExprKind::Call(_, args) => args.iter_mut().collect(),
            ExprKind::Reduce { body, .. } => vec![body],
        }
    }

    /// The parts whose values the expression combines: all but subscripts.
    #[must_use]
    pub fn operands(&self) -> Vec<&Expr> {
        if let ExprKind::Access(_) = self.kind {
            return Vec::new();
        }
        self.parts()
    }

    /// Whether all parts but the first are evaluated under a condition.
    #[must_use]
    pub fn is_lazy(&self) -> bool {
        matches!(
            self.kind,
            ExprKind::Select(..) | ExprKind::Binary(BinaryOp::And | BinaryOp::Or, ..)
        )
    }

    /// The parts, each with the condition that it is evaluated under and what that has to be.
    #[must_use]
    pub fn parts_under(&self) -> Vec<(&Expr, Option<(&Expr, bool)>)> {
        if let ExprKind::Select(c, a, b) = &self.kind {
            return vec![(c, None), (a, Some((c, true))), (b, Some((c, false)))];
        }
        if let ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) = &self.kind {
            return vec![(a, None), (b, Some((a, *op == BinaryOp::And)))];
        }
        self.parts().into_iter().map(|part| (part, None)).collect()
    }

    /// Calls `visit` with the expression and all its parts, outer ones first.
    pub fn walk<'e>(&'e self, visit: &mut impl FnMut(&'e Expr)) {
        visit(self);
        for part in self.parts() {
            part.walk(visit);
        }
    }

    /// As [`Expr::walk`], with leave to change each node.
    pub fn walk_mut(&mut self, visit: &mut impl FnMut(&mut Expr)) {
        visit(self);
        for part in self.parts_mut() {
            part.walk_mut(visit);
        }
    }

    /// All that the expression reads, in subscripts too.
    #[must_use]
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        self.walk(&mut |e| {
            if let ExprKind::Access(access) = &e.kind {
                found.push(access);
            }
        });
        found
    }

    /// Whether the test holds for the expression or for something in it.
    #[must_use]
    pub fn any(&self, test: &impl Fn(&Expr) -> bool) -> bool {
        test(self) || self.parts().into_iter().any(|part| part.any(test))
    }
}
