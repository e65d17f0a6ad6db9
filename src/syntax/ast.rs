//! The abstract syntax tree: what was written, with the place of every part.
//!
//! Names are not resolved: `A(i,j)` and `exp(x)` are both [`ExprKind::Apply`],
//! and whether `M` is a size, a scalar or an index variable is for `program/`.

use crate::diagnostic::Span;
use crate::operators::ReduceOp;
pub use crate::operators::{BinaryOp, UnaryOp};

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    pub name: String,
    pub span: Span,
}

/// A `.tc` file (or a formats file, or a `.sched` file, which only hold some of the items).
#[derive(Clone, Debug, Default)]
pub struct File {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug)]
pub enum Item {
    Def(Def),
    FormatDecl(FormatDecl),
    FormatUse(FormatUse),
    Operator(OperatorDecl),
    Schedule(Schedule),
}

/// `op NAME(x, y) = expr identity v annihilator v commutes`
#[derive(Clone, Debug)]
pub struct OperatorDecl {
    pub name: Ident,
    pub operands: [Ident; 2],
    pub body: Expr,
    pub claims: Vec<(Claim, Span)>,
    pub span: Span,
}

/// What is said of an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// `x op v` and `v op x` are x.
    Identity(FillValue),
    /// `x op v` and `v op x` are v.
    Annihilator(FillValue),
    /// `x op y` is `y op x`.
    Commutes,
}

/// What a function is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// A `.tc` file.
    Program,
    /// TACO's, on the command line.
    Taco,
}

impl Notation {
    /// What is to be typed for something, in each notation.
    #[must_use]
    pub fn pick<T>(self, program: T, taco: T) -> T {
        match self {
            Notation::Program => program,
            Notation::Taco => taco,
        }
    }
}

/// `def NAME(params) -> (returns) { statements }`
#[derive(Clone, Debug)]
pub struct Def {
    pub notation: Notation,
    pub name: Ident,
    pub params: Vec<Param>,
    pub returns: Vec<Ident>,
    /// Types of what is assigned and no parameter declares, where the notation gives them
    /// (TACO's does).
    pub types: Vec<(Ident, Ident)>,
    pub stmts: Vec<Stmt>,
    pub span: Span,
}

/// `double(M,N) A`; without dimensions a scalar parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The type's name as written (`double`, `int`, ...).
    pub ty: Ident,
    pub dims: Vec<Dim>,
    pub name: Ident,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Dim {
    Name(Ident),
    Const(u64, Span),
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Assign(Assign),
    Call(Call),
}

/// `LABEL: T(i,j) op expr where ...`
#[derive(Clone, Debug)]
pub struct Assign {
    pub label: Option<Ident>,
    pub tensor: Ident,
    /// Subscripts as written; index notation allows index variables here, and
    /// `program/` refuses the rest with a reason.
    pub subscripts: Vec<Expr>,
    pub op: AssignOp,
    pub rhs: Expr,
    pub ranges: Vec<RangeClause>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignOp {
    /// `=`
    Set,
    /// `+=` and, with `init`, `+=!`
    Reduce { op: Reduction, init: bool },
}

/// What an assignment reduces by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reduction {
    Builtin(ReduceOp),
    /// By an operator of this name: `y(i) minplus= x(i)`.
    Named(Ident),
}

/// `v in lo:hi`, half-open: lo <= v < hi.
#[derive(Clone, Debug)]
pub struct RangeClause {
    pub var: Ident,
    pub lo: Expr,
    pub hi: Expr,
    pub span: Span,
}

/// `(O1, O2) = f(A, B)`, or `O = f(A)` where f is a `def` (decided by `program/`:
/// the parser makes a `Call` only when the left side is parenthesised).
#[derive(Clone, Debug)]
pub struct Call {
    pub label: Option<Ident>,
    pub results: Vec<Ident>,
    pub callee: Ident,
    pub args: Vec<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Number(Number),
    Name(String),
    /// An access `A(i,j)`, a function call `exp(x)` or a cast `float(x)`.
    Apply {
        callee: Ident,
        args: Vec<Expr>,
    },
    /// `T.0`: the extent of a dimension.
    Extent {
        tensor: Ident,
        dim: u32,
    },
    /// `S1.i`: a variable of a labelled statement (schedules only).
    Member {
        base: Ident,
        member: Ident,
    },
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// What the expression is made of, in the order in which it is written.
    #[must_use]
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Number(_)
            | ExprKind::Name(_)
            | ExprKind::Extent { .. }
            | ExprKind::Member { .. } => Vec::new(),
            ExprKind::Apply { args, .. } => args.iter().collect(),
            ExprKind::Unary(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Select(c, a, b) => vec![c, a, b],
        }
    }

    /// The name, if the expression is one.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        let ExprKind::Name(name) = &self.kind else {
            return None;
        };
        Some(name)
    }

    /// As [`Expr::parts`], to change them.
    pub fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Number(_)
            | ExprKind::Name(_)
            | ExprKind::Extent { .. }
            | ExprKind::Member { .. } => Vec::new(),
            ExprKind::Apply { args, .. } => args.iter_mut().collect(),
            ExprKind::Unary(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Select(c, a, b) => vec![c, a, b],
        }
    }
}

/// A number as written: a whole number has no point, exponent or suffix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(u64),
    Float(f64),
}

/// The value of absent elements as written, with its sign: whole numbers are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FillValue {
    Int(i128),
    Float(f64),
}

/// `format csr = (i,j) -> (i: dense, j: compressed) index 64`
#[derive(Clone, Debug)]
pub struct FormatDecl {
    pub name: Ident,
    /// Parameters, as in `format bcsr(R,C) = ...`.
    pub params: Vec<Ident>,
    /// The tensor's dimensions; empty in `format csf = each level compressed, in order`.
    pub vars: Vec<Ident>,
    pub body: FormatBody,
    pub index: Option<(u64, Span)>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum FormatBody {
    /// `(i/4: dense, j: compressed(nonunique), ...)`
    Levels(Vec<LevelDecl>),
    /// `each level KIND, in order`: sized by the tensor it is used for.
    Each(LevelType),
}

/// One storage level: which coordinate expression it stores, and how.
#[derive(Clone, Debug)]
pub struct LevelDecl {
    pub coordinate: Expr,
    pub level: LevelType,
    pub span: Span,
}

/// `compressed(nonunique, unordered)`
#[derive(Clone, Debug)]
pub struct LevelType {
    pub kind: Ident,
    pub properties: Vec<Ident>,
    pub span: Span,
}

/// `format spmv { A: csr  B: {dense, compressed} order (1,0) fill inf index 64 }`
#[derive(Clone, Debug)]
pub struct FormatUse {
    pub def: Ident,
    pub entries: Vec<FormatEntry>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct FormatEntry {
    pub tensor: Ident,
    pub spec: FormatSpec,
    /// `order (1,0)`: the mode that each level stores, outermost level first.
    pub order: Option<Vec<(u64, Span)>>,
    /// `fill inf`, `fill -1.5`: the value of absent elements.
    pub fill: Option<(FillValue, Span)>,
    /// `density 0.001`, `row_length 8`
    pub typical: Option<(Typical, Span)>,
    /// `index 64`
    pub index: Option<(u64, Span)>,
    pub span: Span,
}

/// How much a tensor stores as a rule: meaning does not depend on it, schedules that are found do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Typical {
    /// The share of its elements, above 0 and up to 1.
    Density(f64),
    /// Elements of the innermost sparse level below each stored coordinate above it.
    RowLength(f64),
}

#[derive(Clone, Debug)]
pub enum FormatSpec {
    /// `csr`, `bcsr(2,2)`
    Named { name: Ident, args: Vec<(u64, Span)> },
    /// `{dense, compressed}`
    Levels(Vec<LevelType>),
}

/// `schedule DEF [for TARGET] [named NAME] { commands }`
#[derive(Clone, Debug)]
pub struct Schedule {
    /// `None` in a `.sched` file, whose commands apply to the function they are used for.
    pub def: Option<Ident>,
    pub target: Option<Ident>,
    pub name: Option<Ident>,
    pub commands: Vec<Command>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Command {
    /// `let NAME = constant expression`
    Let {
        name: Ident,
        value: Expr,
        span: Span,
    },
    /// `param NAME in {8, 16} = 16`
    Param {
        name: Ident,
        values: Vec<Expr>,
        default: Expr,
        span: Span,
    },
    /// `size NAME = constant expression`
    Size {
        name: Ident,
        value: Expr,
        span: Span,
    },
    /// `choose { when nnz(A) < 20000: { ... } otherwise: NAME }`
    Choose { arms: Vec<Arm>, span: Span },
    /// `split(i, i0, i1, 32)`; command names keep the case they were written in.
    Call {
        name: Ident,
        args: Vec<Arg>,
        span: Span,
    },
}

impl Command {
    /// Where it stands.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Command::Let { span, .. }
            | Command::Param { span, .. }
            | Command::Size { span, .. }
            | Command::Choose { span, .. }
            | Command::Call { span, .. } => *span,
        }
    }
}

/// One of several schedules, of which the data decide.
#[derive(Clone, Debug)]
pub struct Arm {
    /// `None` for `otherwise`.
    pub condition: Option<Expr>,
    pub branch: Branch,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Branch {
    Commands(Vec<Command>),
    /// A named schedule of the same function.
    Named(Ident),
}

/// An argument of a command. Units such as `CPUThread(dynamic, 4)`, accesses such
/// as `A(i,j)`, numbers and index variables are all expressions.
#[derive(Clone, Debug)]
pub enum Arg {
    Expr(Expr),
    /// `{i, j}`
    Vars(Vec<Expr>, Span),
}
