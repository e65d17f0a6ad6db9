//! Nests into trees: where each reduction accumulates, given the order of loops.
//!
//! * All loops of the left side outside: the reduction goes into a scalar
//!   workspace, `where(y(i) = sum, forall(j, sum += ...))`, and the result is
//!   written once.
//! * A reduction loop outside a loop of the left side: the result itself
//!   accumulates, after it was set to the neutral element; loops of the reduction
//!   that are innermost still use a scalar.
//!
//! A reduction stays with its own term: `y(i) = A(i,j)*x(j) + z(i)` is one j loop
//! for the first term and one store.

use super::build::{reduces, replace, root_reduction};
use super::order::{appended_vars, is_sparse_driven};
use super::{Assign, Graph, Loop, Nest, Stmt};
use crate::program::ir::{Access, Expr, ExprKind, ReduceOp, Role, Tensor, TensorId, VarId};
use crate::scalar::Literal;

/// The trees of all nests, and the graph's tensors with the scalar workspaces.
#[derive(Clone, Debug)]
pub struct Tree {
    pub tensors: Vec<Tensor>,
    /// One for each nest.
    pub stmts: Vec<Stmt>,
}

/// Derives the tree. `None` if some reduction cannot accumulate in the order of
/// its nest's loops (`reorder` refuses those).
#[must_use]
pub fn concretize(graph: &Graph) -> Option<Tree> {
    let mut tensors = graph.tensors.clone();
    let mut stmts = Vec::new();
    for nest in &graph.nests {
        stmts.push(concretize_nest(graph, nest, &mut tensors)?);
    }
    Some(Tree { tensors, stmts })
}

/// The tree of one nest; scalar workspaces are added to `tensors`.
#[must_use]
pub fn concretize_nest(graph: &Graph, nest: &Nest, tensors: &mut Vec<Tensor>) -> Option<Stmt> {
    Concretizer {
        graph,
        nest,
        tensors,
    }
    .run()
}

struct Concretizer<'a> {
    graph: &'a Graph,
    nest: &'a Nest,
    tensors: &'a mut Vec<Tensor>,
}

impl Concretizer<'_> {
    fn run(mut self) -> Option<Stmt> {
        let nest = self.nest;
        if let Some((op, _, body)) = root_reduction(&nest.rhs, nest.op) {
            return Some(self.accumulate(op, body));
        }
        let split = nest
            .loops
            .iter()
            .position(|l| !self.is_left(l))
            .unwrap_or(nest.loops.len());
        let (outer, inner) = nest.loops.split_at(split);
        if inner.iter().any(|l| self.is_left(l)) {
            return None;
        }
        let mut rhs = nest.rhs.clone();
        let mut producers = Vec::new();
        for sum in reduces(&nest.rhs) {
            let ExprKind::Reduce { op, vars, body } = &sum.kind else {
                continue;
            };
            let loops: Vec<Loop> = inner
                .iter()
                .filter(|l| {
                    let roots = self.graph.provenance.roots(l.var);
                    roots.iter().any(|root| vars.contains(root))
                })
                .cloned()
                .collect();
            let temp = self.workspace(*op, &sum);
            let read = scalar(temp, &sum);
            replace(&mut rhs, &sum, &read);
            let update = Stmt::Assign(Assign {
                tensor: temp,
                lhs: vec![],
                op: Some(*op),
                rhs: (**body).clone(),
            });
            producers.push((temp, *op, foralls(&loops, update)));
        }
        let mut body = self.write(nest.op, rhs);
        for (temp, init, producer) in producers.into_iter().rev() {
            body = Stmt::Where {
                consumer: Box::new(body),
                producer: Box::new(producer),
                temp,
                init,
            };
        }
        Some(foralls(outer, body))
    }

    fn accumulate(&mut self, op: ReduceOp, body: &Expr) -> Stmt {
        let nest = self.nest;
        let loops = &nest.loops;
        let left = loops.iter().rposition(|l| self.is_left(l));
        let (prefix, suffix) = loops.split_at(left.map_or(0, |last| last + 1));
        let in_place = prefix.iter().any(|l| !self.is_left(l));
        let store_op = if in_place { Some(op) } else { nest.op };
        let core = if suffix.is_empty() && (in_place || nest.op.is_some()) {
            self.write(Some(op), body.clone())
        } else if suffix.is_empty() {
            self.write(None, body.clone())
        } else {
            let temp = self.workspace(op, &nest.rhs);
            let update = Stmt::Assign(Assign {
                tensor: temp,
                lhs: vec![],
                op: Some(op),
                rhs: body.clone(),
            });
            Stmt::Where {
                consumer: Box::new(self.write(store_op, scalar(temp, &nest.rhs))),
                producer: Box::new(foralls(suffix, update)),
                temp,
                init: op,
            }
        };
        if !in_place || nest.op.is_some() {
            return foralls(prefix, core);
        }
        let depth = self.init_depth(prefix);
        let rest: Vec<Loop> = prefix[depth..]
            .iter()
            .filter(|l| self.is_left(l))
            .map(|l| Loop::serial(l.var))
            .collect();
        let neutral = Expr {
            kind: ExprKind::Literal(op.neutral(nest.rhs.ty)),
            ty: nest.rhs.ty,
            span: nest.rhs.span,
        };
        let init = foralls(&rest, self.write(None, neutral));
        foralls(
            &prefix[..depth],
            Stmt::Sequence(vec![init, foralls(&prefix[depth..], core)]),
        )
    }

    /// How many outer loops the initialisation shares with the accumulation: those
    /// of the left side that visit every coordinate anyway, or that append.
    fn init_depth(&self, prefix: &[Loop]) -> usize {
        let nest = self.nest;
        let result = self.graph.tensor(nest.tensor);
        let appended = appended_vars(&result.format, &nest.lhs);
        prefix
            .iter()
            .take_while(|l| {
                self.is_left(l)
                    && self.graph.provenance.roots(l.var).iter().all(|&root| {
                        appended.contains(&root)
                            || (appended.is_empty()
                                && !is_sparse_driven(self.graph, &nest.rhs, root))
                    })
            })
            .count()
    }

    fn is_left(&self, l: &Loop) -> bool {
        let roots = self.graph.provenance.roots(l.var);
        roots.iter().any(|root| self.nest.lhs.contains(root))
    }

    fn write(&self, op: Option<ReduceOp>, rhs: Expr) -> Stmt {
        Stmt::Assign(Assign {
            tensor: self.nest.tensor,
            lhs: self.nest.lhs.clone(),
            op,
            rhs,
        })
    }

    fn workspace(&mut self, op: ReduceOp, like: &Expr) -> TensorId {
        let name = match op {
            ReduceOp::Add => "sum",
            ReduceOp::Mul => "product",
            ReduceOp::Min => "least",
            ReduceOp::Max => "most",
            ReduceOp::And => "all",
            ReduceOp::Or => "any",
        };
        self.tensors.push(Tensor {
            name: name.to_string(),
            span: like.span,
            role: Role::Temporary,
            ty: like.ty,
            dims: vec![],
            format: crate::format::TensorFormat::dense(0),
            fill: Literal::ZERO,
        });
        TensorId(u32::try_from(self.tensors.len() - 1).unwrap_or(u32::MAX))
    }
}

fn scalar(tensor: TensorId, like: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Access(Access {
            tensor,
            subscripts: vec![],
        }),
        ty: like.ty,
        span: like.span,
    }
}

/// `forall(l0, forall(l1, ... body))`
fn foralls(loops: &[Loop], body: Stmt) -> Stmt {
    loops.iter().rev().fold(body, |body, l| Stmt::Forall {
        var: l.var,
        tag: l.tag.clone(),
        body: Box::new(body),
    })
}

/// Whether the reductions of `nest` could accumulate with its loops in `order`.
#[must_use]
pub fn accumulates(graph: &Graph, nest: &Nest, order: &[VarId]) -> bool {
    let mut trial = nest.clone();
    trial.loops = order.iter().map(|&v| Loop::serial(v)).collect();
    concretize_nest(graph, &trial, &mut graph.tensors.clone()).is_some()
}
