//! The graph into loop IR.
//!
//! At each `forall v` lowering answers the questions of `src/README.md`, one file
//! each: which iteration ([`lattice`], [`iterate`], [`coiterate`]), from where to where
//! ([`recover`]), which coordinates are known now ([`recover`]), where operands stand
//! ([`locate`]), where the result goes ([`assemble`]). [`fold`] says what is left of a
//! statement when operands are absent; everything else follows from it.

pub mod access;
pub mod assemble;
pub mod checks;
pub mod coiterate;
mod collect;
pub mod conditions;
mod copies;
mod cuts;
mod distance;
pub mod emit;
mod exits;
mod extents;
mod full;
mod hashed;
mod here;
mod implied;
pub mod iterate;
mod kept;
pub mod lattice;
pub mod locate;
mod memory;
mod names;
mod nest;
mod open;
mod overflow;
mod partition;
pub mod pattern;
mod phases;
pub mod positions;
mod prefetch;
mod present;
mod promises;
mod put;
pub mod race;
pub mod recover;
mod remarks;
mod room;
mod scattered;
mod shared;
pub mod signature;
mod spread;
mod starts;
mod table;
#[cfg(test)]
mod tests;
mod turns;
mod walk;
pub mod workspace;

use crate::diagnostic::{Diagnosed, Diagnostic, Span};
use crate::graph::Graph;
use crate::graph::relation::Cut;
use crate::level::{ArrayRole, InKernel};
use crate::loops::build as b;
use crate::loops::interface::Interface;
use crate::loops::ir::{self, ArrayId, Expr, Kernel, ScalarType, Storage};
use crate::loops::trips::Bounds;
use crate::plan::{self, Tree};
use crate::program::ir::{Literal, ReduceOp, Role, SizeExpr, SizeId, Tensor, TensorId, VarId};
use access::{AccessId, Cursor};
use memory::Memory;
use names::{Arrays, Names};
use remarks::Remarks;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A kernel with what is to be said of it.
#[derive(Clone, Debug)]
pub struct Lowered {
    pub kernel: Kernel,
    pub remarks: Vec<Diagnostic>,
    /// The merge lattices of its loops, in the order they were met.
    pub lattices: Vec<lattice::Report>,
}

/// Lowers a graph; where the first call of the function makes coordinates, with the kernel that later
/// ones run.
///
/// # Errors
/// What is not built yet, with the place of the statement or the command.
pub fn lower(graph: &Graph) -> Diagnosed<Lowered> {
    let mut lowered = lower_one(graph)?;
    if let Some(keeping) = graph.keeping() {
        let name = lowered.kernel.name.clone();
        lowered.kernel.keeping = Some(Box::new(lower_one(&keeping)?.kernel));
        lowered.kernel = lowered.kernel.called(&name);
    }
    Ok(lowered)
}

/// One of its kernels.
fn lower_one(graph: &Graph) -> Diagnosed<Lowered> {
    let planned = plan::plan(graph, graph.function.span).map_err(|error| vec![error])?;
    let Some(plan) = planned else {
        // `schedule` refuses such orders before they get here.
        return Err(vec![Diagnostic::error(
            crate::diagnostic::codes::lower::ORDER,
            graph.function.span,
            "a reduction cannot accumulate in this order of loops",
            "in this function",
        )]);
    };
    let books = Books::default();
    let lowerer = Lowerer::new(graph, plan.tensors, &books);
    let mut errors = Vec::new();
    let mut body = Vec::new();
    match lowerer.static_promises() {
        Ok(promises) => body = promises,
        Err(error) => errors.push(error),
    }
    body.extend(lowerer.clear_presence());
    let (mut checks, mut known) = (Vec::new(), checks::Known::default());
    let mut checked = None;
    for tree in plan.trees {
        errors.extend(tree.refused.clone());
        for nest in &tree.nests {
            if checked == Some(nest.stmt) {
                continue;
            }
            checked = Some(nest.stmt);
            let found = lowerer.check_subscripts(nest.stmt, &mut known, &mut checks, &mut body);
            errors.extend(found.err());
        }
        match lowerer.nest(Rc::new(tree)) {
            Ok(mut lowered) => body.append(&mut lowered),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    lowerer.note_unfetched();
    let shell = lowerer.shell();
    Ok(finish(graph, books, shell, (checks, body)))
}

/// What lowering writes down on its way, from wherever it is. Each book is a file, and is only added
/// to; all else that lowering knows is a value that it hands on.
#[derive(Debug, Default)]
struct Books {
    names: Names,
    memory: Memory,
    remarks: Remarks,
}

/// What is around the loops of a kernel.
struct Shell {
    comment: Vec<String>,
    interface: Interface,
    /// What makes room for temporaries, and frees it.
    allocated: Vec<ir::Stmt>,
    freed: Vec<ir::Stmt>,
}

/// The kernel of all that was lowered.
fn finish(
    graph: &Graph,
    books: Books,
    shell: Shell,
    (checks, loops): (Vec<ir::Stmt>, Vec<ir::Stmt>),
) -> Lowered {
    let (vars, arrays) = books.names.finish();
    let (prelude, postlude) = books.memory.finish();
    let parts = [shell.allocated, prelude, loops, postlude, shell.freed];
    let kernel = crate::loops::simplify(Kernel {
        name: graph.function.name.clone(),
        comment: shell.comment,
        interface: shell.interface,
        vars,
        arrays,
        checks,
        body: parts.into_iter().flatten().collect(),
        keeping: None,
    });
    let (said, lattices) = books.remarks.finish(&kernel);
    let mut remarks = graph.remarks.clone();
    remarks.extend(said);
    Lowered {
        kernel,
        remarks,
        lattices,
    }
}

/// What is known at a place in the loops. Cheap to clone; branches get copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Values of loop variables and of the variables recovered from them.
    coords: BTreeMap<VarId, Expr>,
    /// The loads that gave coordinates, for subscripts of results that accumulate.
    loads: BTreeMap<VarId, Expr>,
    /// One for each access of the nest.
    cursors: Vec<Cursor>,
    /// Where the current paths of results that are appended stand.
    results: Vec<assemble::ResultCursor>,
    /// Set to true by each step of a reduction that may be empty.
    touched: Option<ir::VarId>,
    /// For each variable that counts positions, where they begin and end at each level.
    segments: BTreeMap<VarId, Vec<Bounds>>,
    /// Positions that a walk of a level must not leave.
    windows: BTreeMap<(AccessId, usize), positions::Clip>,
    /// Offsets of a fused variable that its parts must not leave.
    clips: BTreeMap<VarId, Bounds>,
    /// Variables whose loops walk the level of one access, and what counts its positions.
    walked: BTreeMap<VarId, (AccessId, VarId)>,
    /// Variables that span consecutive positions of a walked level, and the first one.
    spans: BTreeMap<VarId, (AccessId, usize, Expr)>,
    /// The loops around that are shared out, outermost first.
    units: Vec<VarId>,
    /// Scalars that the innermost parallel loop reduces.
    reductions: Vec<(ReduceOp, ir::VarId)>,
    /// Each thread's own copies of results.
    copies: BTreeMap<TensorId, ArrayId>,
    /// For each variable that counts positions, where the rows of its tiles were found.
    tiles: BTreeMap<VarId, starts::Tiles>,
    /// Where the parts of partitions begin, by the variables of these.
    begins: BTreeMap<VarId, ArrayId>,
    /// The values of what they take apart, part by part, by the same variables.
    listed: BTreeMap<VarId, ArrayId>,
    /// Where the coordinates of tiles of positions begin, and how many they span.
    cuts: BTreeMap<VarId, Cut<Expr>>,
    /// The most values that bounded variables have in the tile at hand.
    most: BTreeMap<VarId, Expr>,
    /// Loops of which only those iterations are gone through that a list holds.
    live: BTreeMap<VarId, exits::List>,
    /// Bounded variables whose promises have been stated.
    promised: BTreeSet<VarId>,
    /// Levels of results at which it is noted already that the elements at hand are there.
    noted: BTreeSet<(TensorId, usize)>,
    /// Statements with which the body of the next parallel loop begins.
    prologue: Vec<ir::Stmt>,
}

pub(crate) type Lower<T> = Result<T, Diagnostic>;

/// A place from which to lower: a nest with what was decided of it, and the kernel's books.
pub(crate) struct Lowerer<'g> {
    graph: &'g Graph,
    names: &'g Names,
    memory: &'g Memory,
    remarks: &'g Remarks,
    /// The variables of the function's sizes.
    sizes: Rc<[ir::VarId]>,
    /// The graph's tensors with the scalar workspaces.
    tensors: Rc<[Tensor]>,
    // Of the nest at hand:
    span: Span,
    /// Whether it checks data instead of computing.
    checks: bool,
    /// What was decided of it.
    tree: Rc<Tree>,
    /// Its results that are appended.
    assemblies: Vec<assemble::Assembly>,
}

impl<'g> Lowerer<'g> {
    /// Before any nest: everything that the function names has its variables and arrays.
    fn new(graph: &'g Graph, tensors: Vec<Tensor>, books: &'g Books) -> Self {
        let sizes = graph.function.sizes.iter();
        let sizes = sizes.map(|size| books.names.fresh(&size.name, ScalarType::I64, false));
        let lowerer = Lowerer {
            graph,
            names: &books.names,
            memory: &books.memory,
            remarks: &books.remarks,
            sizes: sizes.collect(),
            tensors: tensors.into(),
            span: graph.function.span,
            checks: false,
            tree: Rc::default(),
            assemblies: Vec::new(),
        };
        lowerer.declare();
        lowerer
    }

    /// The same for another tree, of which these results are appended.
    fn of(&self, tree: Rc<Tree>, assemblies: Vec<assemble::Assembly>) -> Self {
        Lowerer {
            sizes: Rc::clone(&self.sizes),
            tensors: Rc::clone(&self.tensors),
            span: tree.nests.first().map_or(self.span, |nest| nest.span),
            tree,
            assemblies,
            ..*self
        }
    }

    /// The same for a nest that checks data, with these tensors.
    fn checking(&self, tensors: Vec<Tensor>) -> Self {
        Lowerer {
            tensors: tensors.into(),
            checks: true,
            ..self.of(Rc::clone(&self.tree), Vec::new())
        }
    }

    /// Variables and arrays of all tensors.
    fn declare(&self) {
        for (at, tensor) in self.tensors.iter().enumerate() {
            let id = TensorId::at(at);
            if self.graph.is_variable(id, tensor) {
                let mutable = tensor.role == Role::Temporary;
                let var = self.fresh(&tensor.name, tensor.ty.compute(), mutable);
                self.names.set_scalar(id, var);
                continue;
            }
            let arrays = self.declare_arrays(id, tensor);
            self.names.set_arrays(id, arrays);
        }
    }

    fn declare_arrays(&self, id: TensorId, tensor: &Tensor) -> Arrays {
        let storage = match tensor.role {
            Role::Input => Storage::Input,
            Role::Temporary => Storage::Local,
            Role::InOut => Storage::Output,
            Role::Result => match tensor.is_appended() && !self.is_there(id) {
                true => Storage::Returned,
                false => Storage::Output,
            },
        };
        // Coordinates that are there are read alone.
        let indices = match self.is_there(id) {
            true => Storage::Input,
            false => storage,
        };
        let mut levels = Vec::new();
        for (at, level) in tensor.format.levels.iter().enumerate() {
            let mut own = Vec::new();
            for &role in level.ty().roles() {
                let name = format!("{}{}_{}", tensor.name, at + 1, role.word());
                let elem = role.width(tensor.format.index_bits).scalar();
                let storage = match role {
                    ArrayRole::Presence => storage,
                    ArrayRole::Positions | ArrayRole::Coordinates | ArrayRole::Table => indices,
                };
                own.push((role, self.array(&name, elem, storage)));
            }
            levels.push(own);
        }
        let values = self.array(&format!("{}_vals", tensor.name), tensor.ty, storage);
        Arrays { levels, values }
    }

    /// Whether the tensor's coordinates are made before the kernel runs.
    fn is_there(&self, id: TensorId) -> bool {
        self.graph.is_given(id) || self.graph.is_kept(id)
    }

    fn fresh(&self, name: &str, ty: ScalarType, mutable: bool) -> ir::VarId {
        self.names.fresh(name, ty, mutable)
    }

    /// A fresh variable of type `I64`.
    fn fresh_index(&self, name: &str, mutable: bool) -> (ir::VarId, Expr) {
        let id = self.fresh(name, ScalarType::I64, mutable);
        (id, b::var(id, ScalarType::I64))
    }

    fn array(&self, name: &str, elem: ScalarType, storage: Storage) -> ArrayId {
        self.names.array(name, elem, storage)
    }

    fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// `array[index]` as an expression.
    fn load(&self, array: ArrayId, index: Expr) -> Expr {
        self.names.load(array, index)
    }

    /// A position or coordinate, widened to `I64`.
    fn load_index(&self, array: ArrayId, index: Expr) -> Expr {
        b::cast(ScalarType::I64, self.load(array, index))
    }

    fn size(&self, id: SizeId) -> Expr {
        match self.graph.function.size(id).value {
            Some(value) => b::int(i64::try_from(value).unwrap_or(i64::MAX)),
            None => b::var(self.sizes[id.index()], ScalarType::I64),
        }
    }

    fn size_expr(&self, e: &SizeExpr) -> Expr {
        let two = |x: &SizeExpr, y: &SizeExpr, op: ir::BinaryOp| {
            b::binary(op, self.size_expr(x), self.size_expr(y))
        };
        match e {
            SizeExpr::Const(c) => b::int(*c),
            SizeExpr::Size(s) => self.size(*s),
            SizeExpr::Param(p) => match self.names.scalar(*p) {
                Some(var) => b::cast(ScalarType::I64, b::var(var, self.tensor(*p).ty.compute())),
                // An in-out scalar: its content when the kernel is called.
                None => match self.names.arrays(*p) {
                    Some(arrays) => self.load_index(arrays.values, b::int(0)),
                    None => b::int(0),
                },
            },
            SizeExpr::Add(x, y) => two(x, y, ir::BinaryOp::Add),
            SizeExpr::Sub(x, y) => two(x, y, ir::BinaryOp::Sub),
            SizeExpr::Mul(x, y) => two(x, y, ir::BinaryOp::Mul),
            SizeExpr::FloorDiv(x, y) => two(x, y, ir::BinaryOp::FloorDiv),
            SizeExpr::Min(x, y) => two(x, y, ir::BinaryOp::Min),
            SizeExpr::Max(x, y) => two(x, y, ir::BinaryOp::Max),
        }
    }

    /// The extent of the mode that `level` stores.
    fn extent(&self, tensor: TensorId, level: usize) -> Expr {
        let tensor = self.tensor(tensor);
        let mode = tensor.format.modes[level];
        self.size_expr(&tensor.dims[mode])
    }

    /// A level of a tensor: what its type says, with the arrays that it has here.
    fn level(&self, tensor: TensorId, level: usize) -> InKernel {
        let own = self.names.arrays(tensor);
        let own = own.and_then(|arrays| arrays.levels.into_iter().nth(level));
        let arrays = own.into_iter().flatten();
        let arrays = arrays.map(|(role, id)| (role, id, self.names.elem(id)));
        let ty = self.tensor(tensor).format.levels[level].ty();
        InKernel::new(ty, arrays.collect(), self.extent(tensor, level))
    }

    /// The number of elements of a dense tensor.
    fn element_count(&self, id: TensorId) -> Expr {
        let tensor = self.tensor(id);
        tensor
            .dims
            .iter()
            .map(|d| self.size_expr(d))
            .fold(b::int(1), b::mul)
    }

    fn error(&self, code: crate::diagnostic::Code, message: String, label: &str) -> Diagnostic {
        Diagnostic::error(code, self.span, message, label)
    }

    /// What is around all loops.
    fn shell(&self) -> Shell {
        Shell {
            comment: self.comment(),
            interface: self.interface(),
            allocated: self.allocate_temporaries(),
            freed: self.free_temporaries(),
        }
    }

    fn literal(&self, value: Literal, ty: ScalarType) -> Expr {
        b::literal(value, ty)
    }

    fn cursor<'s>(&self, scope: &'s Scope, id: AccessId) -> &'s Cursor {
        &scope.cursors[id.0]
    }
}
