//! Expressions with sizes evaluated, accesses numbered and reductions taken out.

use super::value::convert;
use super::{EvalError, Inputs};
use crate::data::values::{Number, literal};
use crate::program::ir::{
    BinaryOp, Expr, ExprKind, Func, ReduceOp, SizeExpr, TensorId, UnaryOp, VarId,
};
use crate::scalar::ScalarType;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: Kind,
    /// Half-width floats are computed as `F32`.
    pub ty: ScalarType,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Literal(Number),
    Size(Number),
    Index(VarId),
    Access {
        /// The number of this occurrence in the expression.
        id: usize,
        tensor: TensorId,
        subscripts: Vec<Node>,
    },
    /// A reduction of the statement, computed before.
    Table(usize),
    Unary(UnaryOp, Box<Node>),
    Binary(BinaryOp, Box<Node>, Box<Node>),
    Select(Box<Node>, Box<Node>, Box<Node>),
    Call(Func, Vec<Node>),
    Cast(Box<Node>),
}

/// A reduction that was taken out of an expression.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    pub op: ReduceOp,
    pub vars: Vec<VarId>,
    pub body: Expr,
    pub ty: ScalarType,
}

/// Translates one expression.
pub(super) struct Translator<'i> {
    pub inputs: &'i Inputs,
    pub accesses: usize,
    pub reductions: Vec<Reduction>,
}

impl<'i> Translator<'i> {
    pub fn new(inputs: &'i Inputs) -> Self {
        Translator {
            inputs,
            accesses: 0,
            reductions: Vec::new(),
        }
    }

    pub fn node(&mut self, e: &Expr) -> Result<Node, EvalError> {
        let ty = e.ty.compute();
        let kind = match &e.kind {
            ExprKind::Literal(l) => Kind::Literal(convert(literal(*l), ty)),
            ExprKind::Index(var) => Kind::Index(*var),
            ExprKind::Size(size) => {
                Kind::Size(Number::Int(i128::from(eval_size(size, self.inputs)?)))
            }
            ExprKind::Access(access) => {
                let id = self.accesses;
                self.accesses += 1;
                let mut subscripts = Vec::new();
                for s in &access.subscripts {
                    subscripts.push(self.node(s)?);
                }
                Kind::Access {
                    id,
                    tensor: access.tensor,
                    subscripts,
                }
            }
            ExprKind::Unary(op, a) => Kind::Unary(*op, Box::new(self.node(a)?)),
            ExprKind::Binary(op, a, b) => {
                Kind::Binary(*op, Box::new(self.node(a)?), Box::new(self.node(b)?))
            }
            ExprKind::Select(c, a, b) => Kind::Select(
                Box::new(self.node(c)?),
                Box::new(self.node(a)?),
                Box::new(self.node(b)?),
            ),
            ExprKind::Call(func, args) => {
                let mut nodes = Vec::new();
                for arg in args {
                    nodes.push(self.node(arg)?);
                }
                Kind::Call(*func, nodes)
            }
            ExprKind::Cast(a) => Kind::Cast(Box::new(self.node(a)?)),
            ExprKind::Reduce { op, vars, body } => {
                self.reductions.push(Reduction {
                    op: *op,
                    vars: vars.clone(),
                    body: (**body).clone(),
                    ty,
                });
                Kind::Table(self.reductions.len() - 1)
            }
        };
        Ok(Node { kind, ty })
    }
}

/// The value of an extent.
pub(super) fn eval_size(size: &SizeExpr, inputs: &Inputs) -> Result<i64, EvalError> {
    let param = |id: TensorId| match inputs.tensors.get(&id)? {
        crate::data::Tensor::Dense(dense) if !dense.values.is_empty() => {
            i64::try_from(dense.values.get(0).int()).ok()
        }
        crate::data::Tensor::Dense(_) | crate::data::Tensor::Sparse(_) => None,
    };
    size.eval(&|s| inputs.sizes.get(&s).copied(), &param)
        .ok_or(EvalError::UnknownSize)
}

/// Calls `f` on each node.
pub(super) fn walk<'n>(node: &'n Node, f: &mut impl FnMut(&'n Node)) {
    f(node);
    match &node.kind {
        Kind::Literal(_) | Kind::Size(_) | Kind::Index(_) | Kind::Table(_) => {}
        Kind::Access { subscripts, .. } => subscripts.iter().for_each(|s| walk(s, f)),
        Kind::Unary(_, a) | Kind::Cast(a) => walk(a, f),
        Kind::Binary(_, a, b) => {
            walk(a, f);
            walk(b, f);
        }
        Kind::Select(c, a, b) => {
            walk(c, f);
            walk(a, f);
            walk(b, f);
        }
        Kind::Call(_, args) => args.iter().for_each(|a| walk(a, f)),
    }
}
