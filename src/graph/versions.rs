//! Sparse results that several statements write: their stored elements cannot grow where they
//! stand, so each statement but the last makes a version of the result, a temporary tensor, which
//! those behind read. `C(i,j) += e` becomes `C(i,j) = C1(i,j) + e`. What the caller has is the
//! first version, an operand. A statement that leaves elements as they were makes a tensor of those
//! that it writes, which is put into the version before: `C(i,j) += e where i in 0:4` becomes
//! `P(i,j) = e where i in 0:4` and `C(i,j) = C1(i,j) + P(i,j)`, and so does `H(bin(i),j) += e`.

use super::Graph;
use super::build::Piece;
use super::collect::sorted_by;
use super::order::{all_range_vars, range_vars, sparse_accesses};
use super::terms::{binary, converted_sum, index, rename_expr, renew, replace};
use crate::diagnostic::Span;
use crate::operators::Func;
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, Function, IndexVar, Range, ReduceOp, Role, Shared,
    SizeExpr, Statement, Tensor, TensorId, VarId,
};
use crate::scalar::ScalarType;
use std::collections::BTreeMap;

/// Which tensor holds the content of a sparse tensor that several statements write, or of which the
/// caller gives what is there before.
#[derive(Default)]
pub(super) struct Versions(BTreeMap<TensorId, TensorId>);

impl Versions {
    /// Those before the first statement: an operand for each sparse in-out tensor that is written,
    /// which the function makes from there on.
    pub fn given(graph: &mut Graph, function: &Function) -> Self {
        let mut held = BTreeMap::new();
        for stmt in &function.stmts {
            let tensor = graph.tensor(stmt.tensor).clone();
            if !tensor.is_sparse() || tensor.role != Role::InOut {
                continue;
            }
            let name = graph.fresh_name(&format!("{}_in", tensor.name));
            let before = graph.add_tensor(Tensor {
                name,
                role: Role::Input,
                ..tensor
            });
            graph.tensors[stmt.tensor.index()].role = Role::Result;
            graph.renewed.push((stmt.tensor, before));
            held.insert(stmt.tensor, before);
        }
        Versions(held)
    }

    /// What statement number `at` writes, with the newest versions of what it reads, its own
    /// result's too where it adds to that: one piece, or two where it leaves elements as they were.
    /// The first then makes the part that it writes, the second puts it into the rest.
    pub fn next(
        &mut self,
        graph: &mut Graph,
        function: &Function,
        at: usize,
    ) -> Vec<(Piece, Statement)> {
        let stmt = self.with_newest(graph, &function.stmts[at]);
        let tensor = graph.tensor(stmt.tensor).clone();
        let piece = Piece {
            stmt: at,
            tensor: stmt.tensor,
            lhs: stmt.lhs.clone(),
            op: stmt.op,
            rhs: stmt.rhs.clone(),
        };
        let others = function.stmts.iter().enumerate();
        let mut others = others.filter(|(n, other)| *n != at && other.tensor == stmt.tensor);
        let before = self.0.get(&stmt.tensor).copied();
        if !tensor.is_sparse()
            || (before.is_none() && stmt.op.is_none() && others.clone().next().is_none())
        {
            return vec![(piece, stmt)];
        }
        let target = match others.any(|(other, _)| other > at) {
            false => stmt.tensor,
            true => graph.add_tensor(Tensor {
                name: format!("{}_{}", tensor.name, at + 1),
                role: Role::Temporary,
                ..tensor.clone()
            }),
        };
        self.0.insert(stmt.tensor, target);
        // What is not there yet is absent.
        let content = |lhs: &[VarId]| {
            let kind = match before {
                None => ExprKind::Literal(tensor.fill),
                Some(tensor) => ExprKind::Access(Access {
                    tensor,
                    subscripts: lhs.iter().map(|&var| index(var, &stmt.rhs)).collect(),
                }),
            };
            Expr {
                kind,
                ty: tensor.ty.compute(),
                span: stmt.rhs.span,
            }
        };
        let target = |lhs: Vec<VarId>, rhs| Piece {
            stmt: at,
            tensor: target,
            lhs,
            op: None,
            rhs,
        };
        if graph.covers_all(&stmt.lhs, &tensor.dims) {
            let rhs = match stmt.op {
                None => stmt.rhs.clone(),
                Some(op) => combined(op, content(&stmt.lhs), stmt.rhs.clone()),
            };
            return vec![(target(stmt.lhs.clone(), rhs), stmt)];
        }
        let scatters = stmt.lhs.iter().any(|&var| {
            let told = range_vars(graph, var);
            told.iter().any(|v| !stmt.lhs.contains(v))
        });
        // What is added up is converted behind it.
        let terms = Statement {
            rhs: match converted_sum(&stmt.rhs) {
                Some(sum) if scatters => sum.clone(),
                Some(_) | None => stmt.rhs.clone(),
            },
            ..stmt.clone()
        };
        let part = part_of(graph, (at, &terms, scatters), &tensor);
        let whole = graph.whole_vars(&stmt.lhs, &tensor.dims);
        let element = Expr {
            kind: ExprKind::Access(Access {
                tensor: part.tensor,
                subscripts: whole.iter().map(|&var| index(var, &stmt.rhs)).collect(),
            }),
            ty: terms.rhs.ty,
            span: stmt.rhs.span,
        };
        let mut new = stmt.rhs.clone();
        replace(&mut new, &terms.rhs, &element);
        let rhs = match stmt.op {
            Some(op) => combined(op, content(&whole), new),
            None => chosen(inside(graph, &stmt, &tensor, &whole), new, content(&whole)),
        };
        let all = Statement {
            lhs: whole.clone(),
            vars: whole.clone(),
            ..stmt.clone()
        };
        vec![(part, terms), (target(whole, rhs), all)]
    }

    /// The statement, and the ranges of its variables, with the newest versions of what they read.
    fn with_newest(&self, graph: &mut Graph, stmt: &Statement) -> Statement {
        let mut stmt = stmt.clone();
        for (&tensor, &version) in &self.0 {
            renew(&mut stmt.rhs, tensor, version);
            for var in &stmt.vars {
                let range = &mut graph.vars[var.index()].range;
                for e in range.reads_mut() {
                    renew(e, tensor, version);
                }
            }
        }
        stmt
    }
}

/// A tensor for the elements that a statement writes, in the order of the result's levels. Where
/// data decide which they are, and no loops come to them in this order, they come in any.
fn part_of(
    graph: &mut Graph,
    (at, stmt, scatters): (usize, &Statement, bool),
    result: &Tensor,
) -> Piece {
    let ty = stmt.rhs.ty;
    let tensor = graph.add_tensor(Tensor {
        name: format!("{}_part", result.name),
        role: Role::Temporary,
        ty,
        format: sorted_by(result.format.modes.clone(), result.format.index_bits),
        fill: match stmt.op {
            Some(op) => op.neutral(ty),
            None => result.fill,
        },
        ..result.clone()
    });
    let dynamic = stmt.lhs.iter().any(|&v| graph.static_range(v).is_none());
    let part = Piece {
        stmt: at,
        tensor,
        lhs: stmt.lhs.clone(),
        op: None,
        rhs: stmt.rhs.clone(),
    };
    let vars = part.vars(graph, stmt);
    // How slots are walked is decided behind this.
    let sparse = sparse_accesses(graph, &part.rhs);
    let in_slots = sparse.iter().any(|access| graph.is_in_slots(access));
    if scatters || (dynamic && (in_slots || !graph.is_in_order(&part, &vars))) {
        graph.collected.push(tensor);
    }
    part
}

impl Graph {
    /// Variables that run over all of the dimensions: those of `lhs` that do, others in place of
    /// the rest.
    pub(super) fn whole_vars(&mut self, lhs: &[VarId], dims: &[SizeExpr]) -> Vec<VarId> {
        let mut whole = Vec::new();
        for (&var, dim) in lhs.iter().zip(dims) {
            if self.covers(var, dim) {
                whole.push(var);
                continue;
            }
            let IndexVar {
                name, span, stmt, ..
            } = self.var(var).clone();
            whole.push(self.whole_var(&name, dim, (span, stmt)));
        }
        whole
    }

    /// A variable that runs over all of a dimension, with a name like `near`.
    pub(super) fn whole_var(
        &mut self,
        near: &str,
        dim: &SizeExpr,
        (span, stmt): (Span, usize),
    ) -> VarId {
        let name = self.fresh_name(&format!("{near}_all"));
        self.add_var(IndexVar {
            name,
            span,
            stmt,
            range: Range {
                lo: Bound::Static(SizeExpr::Const(0)),
                hi: Bound::Static(dim.clone()),
            },
        })
    }
}

/// Whether the statement writes the element at the coordinates `whole`.
fn inside(graph: &Graph, stmt: &Statement, result: &Tensor, whole: &[VarId]) -> Option<Expr> {
    let there = |var: VarId| {
        let at = stmt.lhs.iter().position(|&own| own == var);
        at.map_or(var, |at| whole[at])
    };
    // What a range reads may be there only where the variables are inside that it depends on.
    let depth = |var: VarId| all_range_vars(graph, var).len();
    let mut modes: Vec<usize> = (0..stmt.lhs.len()).collect();
    modes.sort_by_key(|&mode| depth(stmt.lhs[mode]));
    let mut tests = Vec::new();
    for mode in modes {
        let (var, own, dim) = (stmt.lhs[mode], whole[mode], &result.dims[mode]);
        if graph.covers(var, dim) {
            continue;
        }
        let range = &graph.var(var).range;
        for (op, bound) in [(BinaryOp::Ge, &range.lo), (BinaryOp::Lt, &range.hi)] {
            let needless = match (op, bound) {
                (BinaryOp::Ge, Bound::Static(lo)) => *lo == SizeExpr::Const(0),
                (_, Bound::Static(hi)) => hi == dim,
                (_, Bound::Dynamic(_)) => false,
            };
            if needless {
                continue;
            }
            let bound = match bound {
                Bound::Static(size) => Expr {
                    kind: ExprKind::Size(size.clone()),
                    ty: ScalarType::I64,
                    span: stmt.span,
                },
                Bound::Dynamic(e) => {
                    let mut e = e.clone();
                    rename_expr(&mut e, &there);
                    e
                }
            };
            let test = binary(op, index(own, &stmt.rhs), bound);
            tests.push(Expr {
                ty: ScalarType::Bool,
                ..test
            });
        }
    }
    tests.into_iter().reduce(|a, b| binary(BinaryOp::And, a, b))
}

/// `test ? new : old`
fn chosen(test: Option<Expr>, new: Expr, old: Expr) -> Expr {
    match test {
        None => new,
        Some(test) => Expr {
            ty: new.ty,
            span: new.span,
            kind: ExprKind::Select(Shared::new(test), Shared::new(new), Shared::new(old)),
        },
    }
}

/// `a op b`, as values of the type of `a`.
fn combined(op: ReduceOp, a: Expr, b: Expr) -> Expr {
    let (ty, span) = (a.ty, a.span);
    let b = match b.ty == ty {
        true => b,
        false => Expr {
            kind: ExprKind::Cast(Shared::new(b)),
            ty,
            span,
        },
    };
    let call = |func, a, b| Expr {
        kind: ExprKind::Call(func, vec![a, b]),
        ty,
        span,
    };
    match op {
        ReduceOp::Add => binary(BinaryOp::Add, a, b),
        ReduceOp::Mul => binary(BinaryOp::Mul, a, b),
        ReduceOp::And => binary(BinaryOp::And, a, b),
        ReduceOp::Or => binary(BinaryOp::Or, a, b),
        ReduceOp::Min => call(Func::Min, a, b),
        ReduceOp::Max => call(Func::Max, a, b),
        ReduceOp::Own(own) => call(Func::Own(own), a, b),
    }
}
