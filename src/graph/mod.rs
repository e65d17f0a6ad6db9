//! The iteration graph: which loops run in which order, over which statements.
//!
//! A [`Graph`] is a list of [`Nest`]s that run one after another. A nest keeps one
//! assignment, its sums still inside the right side, and the *order* of its
//! loops; [`concretize`] derives the tree of `forall`, `where` and assignments from
//! them. Keeping order and tree apart makes `reorder` a permutation and puts the
//! one decision that depends on the order, where a reduction accumulates, in one
//! place (after the concrete index notation of 000, chapter 3).
//!
//! Graphs are values: a command takes one and returns another or a diagnostic.

pub mod build;
pub mod concretize;
pub mod equal;
pub mod order;
pub mod print;
pub mod provenance;

pub use provenance::{Provenance, Relation};

use crate::diagnostic::{Diagnostic, Span};
use crate::loops::ir::OmpSchedule;
use crate::program::ir::{
    Expr, ExprKind, Function, IndexVar, ReduceOp, Statement, Tensor, TensorId, VarId,
};
use std::rc::Rc;

/// The iteration graph of one function.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The function as the program stage gave it.
    pub function: Rc<Function>,
    /// The function's tensors, then the workspaces that the graph added.
    pub tensors: Vec<Tensor>,
    /// The function's variables, then the derived ones. Only variables of the
    /// function have a range of their own; see [`Provenance`] for the others.
    pub vars: Vec<IndexVar>,
    pub provenance: Provenance,
    pub nests: Vec<Nest>,
    /// The commands that were applied, as text, for the comment above the kernel.
    pub script: Vec<String>,
    pub remarks: Vec<Diagnostic>,
}

/// One assignment and the order of its loops.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The statement of the function that it comes from.
    pub stmt: usize,
    pub tensor: TensorId,
    /// The variables of the left side, one for each mode.
    pub lhs: Vec<VarId>,
    pub op: Option<ReduceOp>,
    /// With `Reduce` nodes, whose variables all have a loop in `loops`.
    pub rhs: Expr,
    /// Outermost first.
    pub loops: Vec<Loop>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Loop {
    pub var: VarId,
    pub tag: Tag,
}

impl Loop {
    #[must_use]
    pub fn serial(var: VarId) -> Self {
        Loop {
            var,
            tag: Tag::default(),
        }
    }
}

/// How a loop runs. Without anything it is serial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    pub parallel: Option<Parallel>,
}

/// `parallelize(v, unit, race)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parallel {
    pub unit: Unit,
    pub race: Race,
    /// The command, for diagnostics of lowering.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    CpuThread(OmpSchedule),
}

/// What the user says of writes by several units (000, figure 7-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Race {
    /// There are none; checked.
    NoRaces,
    /// There are none; taken on the user's word.
    IgnoreRaces,
}

/// The tree that lowering walks.
#[derive(Clone, Debug)]
pub enum Stmt {
    Forall {
        var: VarId,
        tag: Tag,
        body: Box<Stmt>,
    },
    /// `producer` computes the scalar workspace `temp`, which starts at `init`'s
    /// neutral element, then `consumer` reads it.
    Where {
        consumer: Box<Stmt>,
        producer: Box<Stmt>,
        temp: TensorId,
        init: ReduceOp,
    },
    Sequence(Vec<Stmt>),
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

impl Graph {
    #[must_use]
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    #[must_use]
    pub fn var(&self, id: VarId) -> &IndexVar {
        &self.vars[id.index()]
    }

    #[must_use]
    pub fn statement(&self, nest: &Nest) -> &Statement {
        &self.function.stmts[nest.stmt]
    }

    /// Adds a tensor that the function does not have.
    pub fn add_tensor(&mut self, tensor: Tensor) -> TensorId {
        self.tensors.push(tensor);
        TensorId(u32::try_from(self.tensors.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a derived variable.
    pub fn add_var(&mut self, var: IndexVar) -> VarId {
        self.vars.push(var);
        VarId(u32::try_from(self.vars.len() - 1).unwrap_or(u32::MAX))
    }
}

impl ReduceOp {
    /// The value that changes nothing: what a reduction over nothing gives.
    /// For `min` and `max` of integers it is the type's largest or smallest value.
    #[must_use]
    pub fn neutral(self, ty: crate::scalar::ScalarType) -> crate::scalar::Literal {
        use crate::scalar::{Literal, ScalarType};
        let float = ty.is_float();
        match self {
            ReduceOp::Add => Literal::Int(0),
            ReduceOp::Mul => Literal::Int(1),
            ReduceOp::And => Literal::Bool(true),
            ReduceOp::Or => Literal::Bool(false),
            ReduceOp::Min if float => Literal::Float(f64::INFINITY),
            ReduceOp::Max if float => Literal::Float(f64::NEG_INFINITY),
            ReduceOp::Min => match ty {
                ScalarType::Bool => Literal::Bool(true),
                ScalarType::I8 => Literal::Int(i64::from(i8::MAX)),
                ScalarType::I16 => Literal::Int(i64::from(i16::MAX)),
                ScalarType::I32 => Literal::Int(i64::from(i32::MAX)),
                ScalarType::U8 => Literal::Int(i64::from(u8::MAX)),
                ScalarType::U16 => Literal::Int(i64::from(u16::MAX)),
                ScalarType::U32 => Literal::Int(i64::from(u32::MAX)),
                // All ones, as a 64-bit pattern.
                ScalarType::U64 => Literal::Int(-1),
                ScalarType::I64
                | ScalarType::F16
                | ScalarType::BF16
                | ScalarType::F32
                | ScalarType::F64
                | ScalarType::C64
                | ScalarType::C128 => Literal::Int(i64::MAX),
            },
            ReduceOp::Max => match ty {
                ScalarType::Bool => Literal::Bool(false),
                ScalarType::I8 => Literal::Int(i64::from(i8::MIN)),
                ScalarType::I16 => Literal::Int(i64::from(i16::MIN)),
                ScalarType::I32 => Literal::Int(i64::from(i32::MIN)),
                ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => {
                    Literal::Int(0)
                }
                ScalarType::I64
                | ScalarType::F16
                | ScalarType::BF16
                | ScalarType::F32
                | ScalarType::F64
                | ScalarType::C64
                | ScalarType::C128 => Literal::Int(i64::MIN),
            },
        }
    }
}

/// Calls `f` on `e` and everything below it, outer nodes first.
pub fn visit<'a>(e: &'a Expr, f: &mut impl FnMut(&'a Expr)) {
    f(e);
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) => {}
        ExprKind::Access(access) => access.subscripts.iter().for_each(|s| visit(s, f)),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => visit(a, f),
        ExprKind::Binary(_, a, b) => {
            visit(a, f);
            visit(b, f);
        }
        ExprKind::Select(c, a, b) => {
            visit(c, f);
            visit(a, f);
            visit(b, f);
        }
        ExprKind::Call(_, args) => args.iter().for_each(|a| visit(a, f)),
        ExprKind::Reduce { body, .. } => visit(body, f),
    }
}
