//! The program: index notation with every name resolved, every type explicit
//! and every range known.
//!
//! Meaning does not depend on formats, with one reading that they all share:
//! an absent element (one that a sparse format does not store) annihilates.
//! `absent * e`, `absent / e` and `absent % e` are absent with fill 0 whatever
//! `e` is, also where `e` is infinite or not a number.

use crate::diagnostic::Span;
use crate::format::TensorFormat;
use crate::ids::id;
pub use crate::operators::{Func, Own, ReduceOp};
pub use crate::scalar::{Literal, ScalarType};
use crate::syntax::ast::Typical;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

id!(
    /// A tensor or scalar of one [`Function`]: an index into `Function::tensors`.
    TensorId
);
id!(
    /// A size name of one [`Function`]: an index into `Function::sizes`.
    SizeId
);
id!(
    /// An index variable of one [`Function`]: an index into `Function::vars`.
    /// Variables of different statements have different ids even if they share a name.
    VarId
);

/// All functions of a file that were asked for, in the order of the file.
#[derive(Clone, Debug)]
pub struct Program {
    pub functions: Vec<Function>,
}

/// One `def`, with calls inlined.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub span: Span,
    /// Size names in the order of their first appearance.
    pub sizes: Vec<Size>,
    /// Names that the declarations have and the function does not: each is one size with
    /// another one, or a constant.
    pub synonyms: Vec<Synonym>,
    /// Dimensions (tensor and mode) that are a size which has a value, and stand there as this
    /// value.
    pub fixed_dims: Vec<(TensorId, usize, SizeId)>,
    pub tensors: Vec<Tensor>,
    /// How much some of them store as a rule, as their formats say.
    pub typical: BTreeMap<TensorId, Typical>,
    /// How many slots those have that are stored in slots: sizes that data tell.
    pub slots: BTreeMap<TensorId, SizeId>,
    /// The declared parameters in order (an in-out one that is also declared stands here too).
    pub params: Vec<TensorId>,
    /// The returned tensors in order.
    pub results: Vec<TensorId>,
    pub vars: Vec<IndexVar>,
    pub stmts: Vec<Statement>,
    /// What the sizes must satisfy so that nothing is accessed out of bounds; what holds
    /// for all sizes is left out.
    pub requirements: Vec<Requirement>,
    /// Tensors of which something may be read that only the condition of the read keeps in bounds: it is read under
    /// that condition, whatever the schedule is.
    pub conditional: BTreeSet<TensorId>,
}

/// A condition on sizes and parameters that a call must meet: checked on entry.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// Must not be negative ...
    pub slack: SizeExpr,
    /// ... unless the range of one of these variables is empty.
    pub vars: Vec<VarId>,
    /// The message for a call that does not meet it, without a full stop.
    pub text: String,
    pub span: Span,
}

impl Function {
    #[must_use]
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    #[must_use]
    pub fn var(&self, id: VarId) -> &IndexVar {
        &self.vars[id.index()]
    }

    #[must_use]
    pub fn size(&self, id: SizeId) -> &Size {
        &self.sizes[id.index()]
    }

    /// What a size expression is, if fixed sizes and constants alone tell it.
    #[must_use]
    pub fn constant(&self, e: &SizeExpr) -> Option<i64> {
        e.eval(&|size| self.size(size).constant(), &|_| None)
    }

    /// What it does not exceed, if they tell that.
    #[must_use]
    pub fn at_most(&self, e: &SizeExpr) -> Option<i64> {
        e.most(&|size| self.size(size).constant())
    }

    /// The operators of one's own that it uses, by their texts.
    #[must_use]
    pub fn operators(&self) -> BTreeSet<Own> {
        let mut found = BTreeSet::new();
        let mut reduces = |op: ReduceOp| {
            if let ReduceOp::Own(own) = op {
                found.insert(own);
            }
        };
        for stmt in &self.stmts {
            stmt.op.into_iter().for_each(&mut reduces);
            stmt.rhs.walk(&mut |e| {
                if let ExprKind::Reduce { op, .. } = &e.kind {
                    reduces(*op);
                }
                if let ExprKind::Call(Func::Own(own), _) = &e.kind {
                    reduces(ReduceOp::Own(*own));
                }
            });
        }
        found
    }

    /// The tensor of this name.
    #[must_use]
    pub fn tensor_named(&self, name: &str) -> Option<TensorId> {
        let at = self.tensors.iter().position(|t| t.name == name)?;
        Some(TensorId(u32::try_from(at).ok()?))
    }
}

/// A size name such as `M`.
#[derive(Clone, Debug)]
pub struct Size {
    pub name: String,
    pub span: Span,
    /// Fixed by `--size M=1000`.
    pub value: Option<u64>,
}

impl Size {
    /// Its value, if it is fixed.
    #[must_use]
    pub fn constant(&self) -> Option<i64> {
        i64::try_from(self.value?).ok()
    }
}

/// A size name that stands for another size, or for a constant.
#[derive(Clone, Debug)]
pub struct Synonym {
    pub name: String,
    pub means: SizeExpr,
}

/// What a tensor is to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A parameter that is only read.
    Input,
    /// Returned, and wholly written before it is read.
    Result,
    /// Returned, and its content is read first: the caller gives it.
    InOut,
    /// Neither parameter nor returned.
    Temporary,
}

/// A tensor; a scalar has no dimensions.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    pub span: Span,
    pub role: Role,
    pub ty: ScalarType,
    /// The extent of each mode.
    pub dims: Vec<SizeExpr>,
    pub format: TensorFormat,
    /// The value of elements that are not stored.
    pub fill: Literal,
}

impl Tensor {
    #[must_use]
    pub fn order(&self) -> usize {
        self.dims.len()
    }

    #[must_use]
    pub fn is_sparse(&self) -> bool {
        !self.format.is_dense()
    }

    /// Whether elements of a result are made one after another, in the order of its levels.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        !self.format.levels.iter().all(|level| level.is_placed())
    }
}

/// A whole-number expression over size names and scalar integer parameters:
/// extents and static bounds. Divisions round towards minus infinity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeExpr {
    Const(i64),
    Size(SizeId),
    /// A scalar integer parameter.
    Param(TensorId),
    Add(Box<SizeExpr>, Box<SizeExpr>),
    Sub(Box<SizeExpr>, Box<SizeExpr>),
    Mul(Box<SizeExpr>, Box<SizeExpr>),
    FloorDiv(Box<SizeExpr>, Box<SizeExpr>),
    Min(Box<SizeExpr>, Box<SizeExpr>),
    Max(Box<SizeExpr>, Box<SizeExpr>),
}

impl SizeExpr {
    /// The operands, if it has any.
    #[must_use]
    pub fn parts(&self) -> Vec<&SizeExpr> {
        match self {
            Self::Const(_) | Self::Size(_) | Self::Param(_) => Vec::new(),
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::FloorDiv(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b) => vec![a, b],
        }
    }

    /// Whether it depends on a number that a scalar holds.
    #[must_use]
    pub fn has_param(&self) -> bool {
        matches!(self, Self::Param(_)) || self.parts().into_iter().any(Self::has_param)
    }

    /// The value, where every size and parameter is known to `size` and `param`.
    /// `None` on an unknown leaf, an overflow or a division by zero.
    pub fn eval(
        &self,
        size: &impl Fn(SizeId) -> Option<i64>,
        param: &impl Fn(TensorId) -> Option<i64>,
    ) -> Option<i64> {
        let two = |a: &SizeExpr, b: &SizeExpr| Some((a.eval(size, param)?, b.eval(size, param)?));
        match self {
            Self::Const(c) => Some(*c),
            Self::Size(s) => size(*s),
            Self::Param(p) => param(*p),
            Self::Add(a, b) => two(a, b).and_then(|(a, b)| a.checked_add(b)),
            Self::Sub(a, b) => two(a, b).and_then(|(a, b)| a.checked_sub(b)),
            Self::Mul(a, b) => two(a, b).and_then(|(a, b)| a.checked_mul(b)),
            Self::FloorDiv(a, b) => two(a, b).and_then(|(a, b)| {
                let quotient = a.checked_div(b)?;
                let inexact = quotient.checked_mul(b)? != a;
                Some(if inexact && ((a < 0) != (b < 0)) {
                    quotient - 1
                } else {
                    quotient
                })
            }),
            Self::Min(a, b) => two(a, b).map(|(a, b)| a.min(b)),
            Self::Max(a, b) => two(a, b).map(|(a, b)| a.max(b)),
        }
    }

    /// With every size replaced.
    #[must_use]
    pub fn with_sizes(&self, to: &impl Fn(SizeId) -> SizeExpr) -> Self {
        let two = |make: fn(Box<Self>, Box<Self>) -> Self, a: &Self, b: &Self| {
            make(Box::new(a.with_sizes(to)), Box::new(b.with_sizes(to)))
        };
        match self {
            Self::Const(_) | Self::Param(_) => self.clone(),
            Self::Size(id) => to(*id),
            Self::Add(a, b) => two(Self::Add, a, b),
            Self::Sub(a, b) => two(Self::Sub, a, b),
            Self::Mul(a, b) => two(Self::Mul, a, b),
            Self::FloorDiv(a, b) => two(Self::FloorDiv, a, b),
            Self::Min(a, b) => two(Self::Min, a, b),
            Self::Max(a, b) => two(Self::Max, a, b),
        }
    }

    /// What the value does not exceed, where some sizes are known to `size`.
    pub fn most(&self, size: &impl Fn(SizeId) -> Option<i64>) -> Option<i64> {
        if let Self::Min(a, b) = self {
            return a.most(size).into_iter().chain(b.most(size)).min();
        }
        self.eval(size, &|_| None)
    }
}

/// An index variable of one statement.
#[derive(Clone, Debug)]
pub struct IndexVar {
    pub name: String,
    pub span: Span,
    /// The statement it stands in.
    pub stmt: usize,
    pub range: Range,
}

/// lo <= v < hi. An empty range (hi <= lo) is legal.
#[derive(Clone, Debug)]
pub struct Range {
    pub lo: Bound,
    pub hi: Bound,
}

impl Range {
    /// What its ends read where data or other variables decide them.
    pub fn reads(&self) -> impl Iterator<Item = &Expr> {
        [&self.lo, &self.hi].into_iter().filter_map(Bound::read)
    }

    /// As [`Range::reads`], to change it.
    pub fn reads_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let ends = [&mut self.lo, &mut self.hi].into_iter();
        ends.filter_map(|bound| match bound {
            Bound::Static(_) => None,
            Bound::Dynamic(e) => Some(e),
        })
    }
}

#[derive(Clone, Debug)]
pub enum Bound {
    Static(SizeExpr),
    /// A value that depends on data and on variables outside (paper 003): an
    /// integer expression of type `I64`.
    Dynamic(Expr),
}

impl Bound {
    /// What it reads, unless sizes tell it.
    #[must_use]
    pub fn read(&self) -> Option<&Expr> {
        match self {
            Bound::Static(_) => None,
            Bound::Dynamic(e) => Some(e),
        }
    }
}

/// `lhs = rhs` or, with an operator, `lhs = lhs op rhs`.
///
/// All sums are explicit: `y(i) = A(i,j)*x(j) + z(i)` has the right side
/// `Reduce(+, [j], A*x) + z`, `y(i) +=! e` is `Set` with `Reduce(+, .., e)`, and
/// `y(i) += e` has `op: Some(Add)` with `Reduce(+, .., e)`. A reduction over an
/// empty range gives the operator's neutral element.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The label, or `S0`, `S1`, ... by position.
    pub label: String,
    pub tensor: TensorId,
    /// One distinct variable for each mode of `tensor`.
    pub lhs: Vec<VarId>,
    pub op: Option<ReduceOp>,
    /// Its type is the compute type of the tensor's element type.
    pub rhs: Expr,
    /// Every variable: those of the left side in order, then the others in the
    /// order of their first appearance. A variable with dynamic bounds comes
    /// after those its bounds use.
    pub vars: Vec<VarId>,
    pub span: Span,
    /// The statement as the user wrote it, for comments in emitted code.
    pub text: String,
}

/// An expression with its type. Operands of arithmetic and comparisons have
/// equal types (casts are explicit). `F16` and `BF16` occur only as the type of an
/// access's tensor: the access itself has the type `F32`.
#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: ScalarType,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Literal(Literal),
    /// A tensor's element; a scalar has no subscripts.
    Access(Access),
    /// The value of an index variable (type `I64`).
    Index(VarId),
    /// A size or extent (type `I64`).
    Size(SizeExpr),
    Unary(UnaryOp, Shared),
    Binary(BinaryOp, Shared, Shared),
    /// condition (Bool), then, else
    Select(Shared, Shared, Shared),
    Call(Func, Vec<Expr>),
    /// Converts to the node's type, as C does.
    Cast(Shared),
    Reduce {
        op: ReduceOp,
        vars: Vec<VarId>,
        body: Shared,
    },
}

/// An expression inside another. Copies of a tree share what is below: graphs are copied by every command,
/// and statements by every case of a merge. What is changed becomes a copy of its own.
#[derive(Clone, Debug)]
pub struct Shared(Rc<Expr>);

impl Shared {
    #[must_use]
    pub fn new(e: Expr) -> Self {
        Shared(Rc::new(e))
    }

    /// The expression itself.
    #[must_use]
    pub fn take(self) -> Expr {
        Rc::unwrap_or_clone(self.0)
    }
}

impl Deref for Shared {
    type Target = Expr;

    fn deref(&self) -> &Expr {
        &self.0
    }
}

impl DerefMut for Shared {
    fn deref_mut(&mut self) -> &mut Expr {
        Rc::make_mut(&mut self.0)
    }
}

#[derive(Clone, Debug)]
pub struct Access {
    pub tensor: TensorId,
    /// One integer expression (type `I64`) for each mode: affine in variables,
    /// sizes and integer parameters, or with accesses inside (gathers).
    pub subscripts: Vec<Expr>,
}

impl Expr {
    /// The variable, if the expression is one.
    #[must_use]
    pub fn as_var(&self) -> Option<VarId> {
        if let ExprKind::Index(var) = self.kind {
            Some(var)
        } else {
            None
        }
    }
}

pub use crate::syntax::ast::{BinaryOp, UnaryOp};
