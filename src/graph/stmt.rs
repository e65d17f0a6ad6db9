//! The tree that lowering walks, derived from the nests of a graph (see [`super::concretize`]).

use super::{Guard, Tag};
use crate::program::ir::{Expr, ReduceOp, TensorId, VarId};
use std::collections::BTreeSet;

/// The tree that lowering walks.
#[derive(Clone, Debug)]
pub enum Stmt {
    Forall {
        var: VarId,
        tag: Tag,
        body: Box<Stmt>,
    },
    /// `body` runs over the consecutive positions that the loop `var` stands for, as
    /// loops over the variables of the levels they lie in; the first `skipped` of
    /// those variables have no loop because nothing needs them.
    Within {
        var: VarId,
        skipped: usize,
        body: Box<Stmt>,
    },
    /// `producer` computes the workspace `temp`, then `consumer` reads it. A scalar
    /// starts at `init`'s neutral element; an array is set up by its producer.
    Where {
        consumer: Box<Stmt>,
        producer: Box<Stmt>,
        temp: TensorId,
        init: Option<ReduceOp>,
    },
    Sequence(Vec<Stmt>),
    /// Done only where all of `guards` hold.
    Guarded {
        guards: Vec<Guard>,
        body: Box<Stmt>,
    },
    Assign(Assign),
}

/// `tensor(lhs) = rhs` or `tensor(lhs) op= rhs`; the right side holds no `Reduce`.
#[derive(Clone, Debug)]
pub struct Assign {
    pub tensor: TensorId,
    pub lhs: Vec<VarId>,
    pub op: Option<ReduceOp>,
    pub rhs: Expr,
}

impl Stmt {
    /// The statements right inside, in the order in which they run.
    #[must_use]
    pub fn parts(&self) -> Vec<&Stmt> {
        match self {
            Stmt::Forall { body, .. } | Stmt::Within { body, .. } | Stmt::Guarded { body, .. } => {
                vec![body]
            }
            Stmt::Where {
                consumer, producer, ..
            } => vec![producer, consumer],
            Stmt::Sequence(stmts) => stmts.iter().collect(),
            Stmt::Assign(_) => Vec::new(),
        }
    }

    /// As [`Stmt::parts`], to change them.
    pub fn parts_mut(&mut self) -> Vec<&mut Stmt> {
        match self {
            Stmt::Forall { body, .. } | Stmt::Within { body, .. } | Stmt::Guarded { body, .. } => {
                vec![body]
            }
            Stmt::Where {
                consumer, producer, ..
            } => vec![producer, consumer],
            Stmt::Sequence(stmts) => stmts.iter_mut().collect(),
            Stmt::Assign(_) => Vec::new(),
        }
    }

    /// The statement with what `f` leaves of its parts; `None` where it leaves nothing of a part that the
    /// others need.
    #[must_use]
    pub fn with_parts(&self, f: &mut dyn FnMut(&Stmt) -> Option<Stmt>) -> Option<Stmt> {
        Some(match self {
            Stmt::Forall { var, tag, body } => Stmt::Forall {
                var: *var,
                tag: tag.clone(),
                body: Box::new(f(body)?),
            },
            Stmt::Within { var, skipped, body } => Stmt::Within {
                var: *var,
                skipped: *skipped,
                body: Box::new(f(body)?),
            },
            Stmt::Guarded { guards, body } => Stmt::Guarded {
                guards: guards.clone(),
                body: Box::new(f(body)?),
            },
            Stmt::Where {
                consumer,
                producer,
                temp,
                init,
            } => Stmt::Where {
                producer: Box::new(f(producer)?),
                consumer: Box::new(f(consumer)?),
                temp: *temp,
                init: *init,
            },
            Stmt::Sequence(stmts) => {
                let mut left: Vec<Stmt> = stmts.iter().filter_map(f).collect();
                match left.len() {
                    0 | 1 => return left.pop(),
                    _ => Stmt::Sequence(left),
                }
            }
            Stmt::Assign(assign) => Stmt::Assign(assign.clone()),
        })
    }

    /// This statement and all inside, outer ones first.
    pub fn visit<'s>(&'s self, f: &mut impl FnMut(&'s Stmt)) {
        f(self);
        for part in self.parts() {
            part.visit(f);
        }
    }

    /// The assignments of a tree, in their order.
    #[must_use]
    pub fn assigns(&self) -> Vec<&Assign> {
        let mut found = Vec::new();
        self.visit(&mut |stmt| {
            if let Stmt::Assign(assign) = stmt {
                found.push(assign);
            }
        });
        found
    }

    /// The workspaces that stand inside.
    #[must_use]
    pub fn workspaces(&self) -> BTreeSet<TensorId> {
        let mut found = BTreeSet::new();
        self.visit(&mut |stmt| {
            if let Stmt::Where { temp, .. } = stmt {
                found.insert(*temp);
            }
        });
        found
    }
}
