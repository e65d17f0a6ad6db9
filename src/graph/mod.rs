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

pub mod access;
pub mod blocks;
pub mod build;
mod collect;
pub mod concretize;
pub mod diagonals;
pub mod distance;
pub mod equal;
pub mod exact;
pub mod fold;
mod initial;
mod kept;
pub mod known;
pub mod lattice;
pub mod order;
pub mod pattern;
pub mod points;
pub mod print;
pub mod producers;
pub mod provenance;
pub mod race;
mod rearranged;
pub mod relation;
pub mod simplify;
mod slots;
pub mod spans;
pub mod stmt;
mod temporaries;
pub mod terms;
pub mod tree;
mod unordered;
mod versions;
pub mod within;

pub use provenance::Provenance;
pub use relation::{BoundKind, Relation};
pub use stmt::{Assign, Stmt};

use crate::diagnostic::{Diagnostic, Span};
use crate::program::ir::{
    Access, Bound, Expr, ExprKind, Function, IndexVar, ReduceOp, Role, SizeExpr, Statement, Tensor,
    TensorId, VarId,
};
pub use crate::units::{Race, Unit};
use relation::Values;
use std::rc::Rc;

/// The iteration graph of one function.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The function as the program stage gave it.
    pub function: Rc<Function>,
    /// The statements whose sparse results no workspace collects row by row: a schedule is such that none can.
    pub whole: Vec<usize>,
    /// Workspaces that sums read have a place for each coordinate: a schedule is such that none can be a list.
    pub arrays: bool,
    /// The function's tensors, then the workspaces that the graph added.
    pub tensors: Vec<Tensor>,
    /// The function's variables, then those that run over all of a result of which a statement
    /// writes a part, and the derived ones. These have no range of their own; see [`Provenance`].
    pub vars: Vec<IndexVar>,
    pub provenance: Provenance,
    pub nests: Vec<Nest>,
    /// Tensors whose elements come in any order, several times perhaps: they are sorted, and what
    /// is of one place combined, behind the loops that make them.
    pub collected: Vec<TensorId>,
    /// Those of them that are rows for which no array as long as a row can be had: their elements are
    /// found by hashing.
    pub hashed: Vec<TensorId>,
    /// Sparse results of which the caller gives the content: each with the operand that holds it.
    pub renewed: Vec<(TensorId, TensorId)>,
    /// Operands in another order, which statements read in place of them: each copy with what it is one of.
    pub copies: Vec<(TensorId, TensorId)>,
    /// The conditions that are read as operands.
    pub points: points::Points,
    /// The tensors that `precompute` introduced.
    pub workspaces: Vec<TensorId>,
    /// Workspaces that `promote` wants in a certain memory.
    pub spaces: Vec<(TensorId, Space)>,
    /// How sparse results are built, where a schedule says so.
    pub assembled: Vec<Assembled>,
    /// Whether a result may follow one that the kernel appends: its size is known only then.
    pub follows_appended: bool,
    /// Tiles of positions whose rows are found before the loops: `starts(v, before)`.
    pub starts: Vec<Starts>,
    /// Variables that `join` gave to loops of later statements, each with the one that it stands
    /// for.
    pub renamed: Vec<(VarId, VarId)>,
    /// The commands that were applied, as text, for the comment above the kernel.
    pub script: Vec<String>,
    pub remarks: Vec<Diagnostic>,
}

/// `assemble(C, how)`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assembled {
    pub tensor: TensorId,
    pub how: Assembly,
    /// The command.
    pub span: Span,
}

/// How a sparse result is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assembly {
    /// In order, with room that grows.
    Append,
    /// Counted, then filled.
    TwoPhase,
    /// Its coordinates are made by the first call, and there when later ones run.
    Once,
    /// They are there: see [`Graph::keeping`].
    Kept,
}

/// `starts(v, before)`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starts {
    /// The positions, and the outer part of them.
    pub pos: VarId,
    pub tile: VarId,
    /// The command, for remarks of lowering.
    pub span: Span,
}

/// Where a tile is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Memory that the threads of a block share.
    Shared,
    /// A thread's own.
    Local,
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
    /// The nests of the workspaces that the right side reads. Their loops are only
    /// those of their own; where they stand among this nest's loops follows from what
    /// they read (see [`concretize`]).
    pub producers: Vec<Nest>,
    /// How many outer loops it shares with the nest before it.
    pub joined: usize,
    /// Which values of shared loops are its own, where the other statements have more.
    pub guards: Vec<Guard>,
    pub span: Span,
}

/// Values of a shared loop's variable that are a statement's own (the predicates of 003's fused loops): from `lo` on
/// and below `hi`, as far as the loop has others.
#[derive(Clone, Debug)]
pub struct Guard {
    pub var: VarId,
    pub lo: Option<Bound>,
    pub hi: Option<Bound>,
}

impl Nest {
    /// This nest and the nests of its workspaces, all the way down.
    pub fn visit<'n>(&'n self, f: &mut impl FnMut(&'n Nest)) {
        f(self);
        for producer in &self.producers {
            producer.visit(f);
        }
    }

    /// As [`Nest::visit`], to change them.
    pub fn visit_mut(&mut self, f: &mut impl FnMut(&mut Nest)) {
        f(self);
        for producer in &mut self.producers {
            producer.visit_mut(f);
        }
    }

    /// Whether the nest, or one of a workspace of it, reads the tensor.
    #[must_use]
    pub fn reads(&self, tensor: TensorId) -> bool {
        let mut read = false;
        self.visit(&mut |part| read |= terms::reads(&part.rhs, tensor));
        read
    }

    /// The variables of its own loops, outermost first.
    #[must_use]
    pub fn loop_vars(&self) -> Vec<VarId> {
        self.loops.iter().map(|l| l.var).collect()
    }
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

impl Guard {
    /// What its bounds read.
    pub fn reads(&self) -> impl Iterator<Item = &Expr> {
        self.lo.iter().chain(&self.hi).filter_map(Bound::read)
    }
}

/// How a loop runs. Without anything it is serial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    pub parallel: Option<Parallel>,
    /// `unroll(v, n)`
    pub unroll: Option<u32>,
    /// `mergeby(v, gallop)`
    pub gallop: bool,
    /// `prefetch(A, v, n)`
    pub fetches: Vec<Fetch>,
}

/// `prefetch(A, v, n)`: what lies `ahead` elements behind the first one of the tensor that
/// an iteration reads is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    pub tensor: TensorId,
    pub ahead: i64,
    /// The command, for diagnostics of lowering.
    pub span: Span,
}

impl Tag {
    /// How one loop runs that takes the place of two, or does the work of both.
    #[must_use]
    pub fn with(&self, inner: &Tag) -> Tag {
        let mut fetches = self.fetches.clone();
        let new = inner.fetches.iter().filter(|f| !self.fetches.contains(f));
        fetches.extend(new.cloned());
        Tag {
            parallel: inner.parallel.clone().or_else(|| self.parallel.clone()),
            unroll: inner.unroll.or(self.unroll),
            gallop: inner.gallop || self.gallop,
            fetches,
        }
    }
}

/// `parallelize(v, unit, race)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parallel {
    pub unit: Unit,
    pub race: Race,
    /// The command, for diagnostics of lowering.
    pub span: Span,
}

impl Graph {
    /// How a schedule wants a sparse result to be built, if it says.
    #[must_use]
    pub fn assembly(&self, id: TensorId) -> Option<Assembly> {
        let said = self.assembled.iter().find(|said| said.tensor == id);
        said.map(|said| said.how)
    }

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

    /// The level that stores the variable alone.
    #[must_use]
    pub fn level_of(&self, access: &Access, var: VarId) -> Option<usize> {
        let mut modes = self.tensor(access.tensor).format.modes.iter();
        modes.position(|&mode| access.subscripts.get(mode).and_then(Expr::as_var) == Some(var))
    }

    /// Whether the nest stages the box under windows: it reads its operand behind a test that
    /// the element is there, so nothing may be moved out of it.
    #[must_use]
    pub fn is_guarded(&self, nest: &Nest) -> bool {
        matches!(nest.rhs.kind, ExprKind::Select(..))
            && self.spaces.iter().any(|(tile, _)| *tile == nest.tensor)
    }

    /// Whether a kernel keeps the tensor of a tree in a variable. One is as wide as computations
    /// are: what rounds where it is stored is an array, of one element.
    #[must_use]
    pub fn is_variable(&self, id: TensorId, tensor: &Tensor) -> bool {
        let rounds = tensor.ty != tensor.ty.compute();
        let made = self.is_added(id);
        tensor.dims.is_empty()
            && match tensor.role {
                Role::Input => true,
                Role::Temporary => !rounds || made,
                Role::InOut | Role::Result => false,
            }
    }

    /// Whether the tensor is none of the function's.
    #[must_use]
    pub fn is_added(&self, id: TensorId) -> bool {
        id.index() >= self.function.tensors.len()
    }

    /// Whether the program calls the tensor so: what a result has before the call goes by the
    /// result's name, an operand in another order by the operand's.
    #[must_use]
    pub fn is_called(&self, id: TensorId, name: &str) -> bool {
        let mut renewed = self.renewed.iter();
        let result = renewed.find_map(|&(result, before)| (before == id).then_some(result));
        if self.points.is(id) {
            return false;
        }
        self.tensor(id).name == name
            || result.is_some_and(|result| self.tensor(result).name == name)
            || self
                .copied(id)
                .is_some_and(|operand| self.is_called(operand, name))
    }

    /// Whether the program reads something of the tensor, or of what it is a copy of, that only a condition keeps in
    /// bounds.
    #[must_use]
    pub fn is_conditional(&self, id: TensorId) -> bool {
        let conditional = &self.function.conditional;
        conditional.contains(&id) || self.copied(id).is_some_and(|id| self.is_conditional(id))
    }

    /// What a tensor is a copy of in another order.
    #[must_use]
    pub fn copied(&self, id: TensorId) -> Option<TensorId> {
        let mut copies = self.copies.iter();
        copies.find_map(|&(copy, operand)| (copy == id).then_some(operand))
    }

    /// Whether a nest brings an operand into another order: a command that names the operand means it only if no
    /// statement reads the copy.
    #[must_use]
    pub fn makes_copy(&self, nest: &Nest) -> bool {
        self.copied(nest.tensor).is_some()
    }

    /// The operand that a tensor is a copy of, or a copy of a copy; or itself.
    #[must_use]
    pub fn original(&self, id: TensorId) -> TensorId {
        self.copied(id).map_or(id, |operand| self.original(operand))
    }

    /// Whether the program or a command calls a tensor so.
    #[must_use]
    pub fn has_tensor(&self, name: &str) -> bool {
        let mut tensors = self.tensors.iter().enumerate();
        tensors.any(|(at, t)| t.name == name && !self.points.is(TensorId::at(at)))
    }

    /// Adds a tensor that the function does not have.
    pub fn add_tensor(&mut self, tensor: Tensor) -> TensorId {
        self.tensors.push(tensor);
        TensorId::at(self.tensors.len() - 1)
    }

    /// A name like this one that no tensor, size or variable has.
    #[must_use]
    pub fn fresh_name(&self, like: &str) -> String {
        let taken = |name: &str| {
            self.tensors.iter().any(|t| t.name == name)
                || self.vars.iter().any(|v| v.name == name)
                || self.function.sizes.iter().any(|s| s.name == name)
        };
        let others = (2..).map(|n| format!("{like}{n}"));
        let mut names = std::iter::once(like.to_string()).chain(others);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    /// Adds a variable.
    pub fn add_var(&mut self, var: IndexVar) -> VarId {
        self.vars.push(var);
        VarId::at(self.vars.len() - 1)
    }
}

impl Graph {
    /// Adds a relation, and the command that makes it to the script.
    pub fn relate(&mut self, relation: Relation) {
        self.script.push(relation.text(self));
        self.provenance.relations.push(relation);
    }

    /// Every nest, those of workspaces after the one that reads them.
    pub fn visit_nests<'g>(&'g self, f: &mut impl FnMut(&'g Nest)) {
        for nest in &self.nests {
            nest.visit(f);
        }
    }

    /// The number of values of a variable, if data do not decide it. A loop over the
    /// inner part of a split may stop earlier; it never has more.
    #[must_use]
    pub fn extent(&self, var: VarId) -> Option<SizeExpr> {
        relation::Sizes(self).extent(var)
    }

    /// Whether the variable is one of the program whose range data decide.
    #[must_use]
    pub fn is_dynamic(&self, var: VarId) -> bool {
        self.provenance.producer(var).is_none() && self.static_range(var).is_none()
    }

    /// Whether data decide where the range of the variable begins or ends.
    #[must_use]
    pub fn has_dynamic_range(&self, var: VarId) -> bool {
        let roots = self.provenance.roots(var);
        let dynamic = |&root: &VarId| self.static_range(root).is_none();
        roots.iter().any(dynamic) || self.provenance.is_cut(var)
    }

    /// Whether the number of values of a variable follows from data, not from sizes alone: a
    /// data-dependent range, positions, and parts of them of no constant size.
    #[must_use]
    pub fn data_decides(&self, var: VarId) -> bool {
        let derived = self.provenance.producer(var).is_some();
        self.has_dynamic_range(var) || (derived && self.extent(var).is_none())
    }
}
