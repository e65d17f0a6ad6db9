//! The tensors that TACO's expressions mention: nothing declares them.

use super::functions::is_function;
use crate::diagnostic::Span;
use crate::syntax::ast::{Assign, AssignOp, Expr, ExprKind, Ident};
use std::collections::BTreeMap;

/// A tensor that the expressions mention.
#[derive(Clone, Debug)]
pub(super) struct Mentioned {
    /// The subscripts of its first access, and how often it is read before it is written.
    pub(super) subscripts: Vec<Expr>,
    pub(super) name: Ident,
    pub(super) ty: Option<Ident>,
    pub(super) read_first: bool,
    pub(super) written: bool,
}

/// Tensors in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Tensors {
    pub(super) all: Vec<Mentioned>,
    /// Variables with a fixed extent, and where it was given.
    pub(super) fixed: BTreeMap<String, (u64, Span)>,
}

impl Tensors {
    pub(super) fn get(&mut self, name: &str) -> Option<&mut Mentioned> {
        self.all.iter_mut().find(|t| t.name.name == name)
    }

    pub(super) fn statement(&mut self, stmt: &Assign) {
        self.read(&stmt.rhs);
        let reads_left = matches!(stmt.op, AssignOp::Reduce { init: false, .. });
        self.mention(&stmt.tensor, &stmt.subscripts, !reads_left);
    }

    fn mention(&mut self, name: &Ident, subscripts: &[Expr], write: bool) {
        if let Some(known) = self.get(&name.name) {
            known.written |= write;
            return;
        }
        self.all.push(Mentioned {
            subscripts: subscripts.to_vec(),
            name: name.clone(),
            ty: None,
            read_first: !write,
            written: write,
        });
    }

    fn read(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Number(_) | ExprKind::Extent { .. } | ExprKind::Member { .. } => {}
            ExprKind::Name(name) => {
                let ident = Ident {
                    name: name.clone(),
                    span: e.span,
                };
                self.mention(&ident, &[], false);
            }
            ExprKind::Apply { callee, args } => {
                if self.get(&callee.name).is_none() && is_function(&callee.name) {
                    // The first argument of `sum` is an index variable.
                    let first = usize::from(callee.name == "sum");
                    args.iter().skip(first).for_each(|a| self.read(a));
                } else {
                    self.mention(callee, args, false);
                    // Subscripts of subscripts are tensors too.
                    for arg in args {
                        self.read_subscript(arg);
                    }
                }
            }
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Select(..) => {
                e.parts().into_iter().for_each(|part| self.read(part));
            }
        }
    }

    fn read_subscript(&mut self, e: &Expr) {
        if let ExprKind::Apply { callee, args } = &e.kind {
            self.mention(callee, args, false);
        }
        if !matches!(e.kind, ExprKind::Select(..)) {
            for part in e.parts() {
                self.read_subscript(part);
            }
        }
    }
}
