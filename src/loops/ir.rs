//! The loop IR: typed and explicit, close to C.
//!
//! Rules that passes may rely on: integers of type `I64` do not overflow;
//! expressions have no side effects and may be duplicated or moved as long as no
//! store to an array they load from is passed; a variable is declared once
//! (`Let` or `For`) before its uses and only changes when it is `mutable`; arrays
//! do not alias. `F16` and `BF16` occur only as element types of arrays: a load
//! has the type `F32`, a store rounds what it combined in `F32`.

pub use super::device::ir::Device;
pub use super::interface::Interface;
pub use super::tag::{Jam, LoopTag, Piece, Reductions, Run};
use crate::ids::id;
use crate::operators;
pub use crate::operators::{Func, ReduceOp, is_atomic};
pub use crate::scalar::{Literal, ScalarType};
pub use crate::units::{Axis, GpuLevel, GpuUnit, Group, OmpSchedule, Strategy};

id!(
    /// A scalar variable of a [`Kernel`].
    VarId
);
id!(
    /// An array of a [`Kernel`].
    ArrayId
);

/// One function to be emitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The `def`'s name; the emitter makes it a C identifier.
    pub name: String,
    /// What stands above the kernel: statements, formats, schedule.
    pub comment: Vec<String>,
    pub interface: Interface,
    pub vars: Vec<Var>,
    pub arrays: Vec<Array>,
    /// What the checked entry point verifies before the body runs: data-dependent
    /// subscripts and bounds of the inputs. Reads inputs only; the raw function
    /// leaves it out.
    pub checks: Vec<Stmt>,
    pub body: Vec<Stmt>,
    /// A kernel of its own, `NAME_values`, that computes the values of results whose coordinates a
    /// call of this one has made. The checked entry point tries it first.
    pub keeping: Option<Box<Kernel>>,
}

impl Kernel {
    /// The kernel under another name.
    #[must_use]
    pub fn called(self, name: &str) -> Self {
        let keeping = self.keeping.map(|own| {
            let own = own.called(&format!("{name}_values"));
            Box::new(own)
        });
        Kernel {
            name: name.to_string(),
            keeping,
            ..self
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// The preferred name; the emitter's namer makes it unique.
    pub name: String,
    pub ty: ScalarType,
    pub mutable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The preferred name (`A2_pos`, `y_vals`).
    pub name: String,
    pub elem: ScalarType,
    pub storage: Storage,
}

/// Who owns an array, and how the raw function receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A parameter that is only read (`const T *restrict`).
    Input,
    /// A parameter of known size that is written (`T *restrict`).
    Output,
    /// Allocated by the kernel and handed to the caller (`T **`): a sparse result's arrays.
    Returned,
    /// Allocated and freed by the kernel: temporaries and workspaces.
    Local,
    /// Declared in a launch and shared by the threads of a block.
    Shared,
}

impl Kernel {
    #[must_use]
    pub fn var(&self, id: VarId) -> &Var {
        &self.vars[id.index()]
    }

    #[must_use]
    pub fn array(&self, id: ArrayId) -> &Array {
        &self.arrays[id.index()]
    }

    pub fn add_var(&mut self, var: Var) -> VarId {
        self.vars.push(var);
        VarId::at(self.vars.len() - 1)
    }

    pub fn add_array(&mut self, array: Array) -> ArrayId {
        self.arrays.push(array);
        ArrayId::at(self.arrays.len() - 1)
    }

    /// A variable of its own; emitters tell names apart.
    pub fn fresh_var(&mut self, name: &str, ty: ScalarType, mutable: bool) -> VarId {
        let name = name.to_string();
        self.add_var(Var { name, ty, mutable })
    }

    /// An array of its own.
    pub fn fresh_array(&mut self, name: &str, elem: ScalarType, storage: Storage) -> ArrayId {
        let name = name.to_string();
        self.add_array(Array {
            name,
            elem,
            storage,
        })
    }

    /// Whether its schedule promises something of the data or sizes.
    #[must_use]
    pub fn promises(&self) -> bool {
        super::visit::any(&self.body, &|stmt| matches!(stmt, Stmt::Assume { .. }))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: ScalarType,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    Var(VarId),
    Load {
        array: ArrayId,
        index: Box<Expr>,
    },
    Unary(UnaryOp, Box<Expr>),
    /// Operands have one type; it is the node's type, except in comparisons (`Bool`).
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Call(Func, Vec<Expr>),
    Cast(Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The position of a coordinate in a dense level: `parent * extent + coordinate`, with
    /// 0 <= coordinate < extent. Positions stay such digits of a mixed radix until they are
    /// emitted: two of them are the same if and only if their digits are.
    Locate(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Where in the machine the statement runs (`I64`).
    Place(Place),
}

/// A number that says where a statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The thread, block or lane that runs a parallel loop's iteration, from 0.
    Thread,
    /// How many of them the parallel loop may have.
    Threads,
    /// CUDA's `blockIdx`, `threadIdx`, `gridDim`.
    BlockIndex(Axis),
    ThreadIndex(Axis),
    Blocks(Axis),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnaryOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// C's division (towards zero for integers).
    Div,
    /// C's remainder; `fmod` for floats.
    Rem,
    /// Rounds towards minus infinity (`I64` only).
    FloorDiv,
    /// The smaller; for floats as `fmin`.
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Short-circuit, on `Bool`.
    And,
    Or,
}

impl From<operators::BinaryOp> for BinaryOp {
    fn from(op: operators::BinaryOp) -> Self {
        match op {
            operators::BinaryOp::Add => BinaryOp::Add,
            operators::BinaryOp::Sub => BinaryOp::Sub,
            operators::BinaryOp::Mul => BinaryOp::Mul,
            operators::BinaryOp::Div => BinaryOp::Div,
            operators::BinaryOp::Rem => BinaryOp::Rem,
            operators::BinaryOp::Eq => BinaryOp::Eq,
            operators::BinaryOp::Ne => BinaryOp::Ne,
            operators::BinaryOp::Lt => BinaryOp::Lt,
            operators::BinaryOp::Le => BinaryOp::Le,
            operators::BinaryOp::Gt => BinaryOp::Gt,
            operators::BinaryOp::Ge => BinaryOp::Ge,
            operators::BinaryOp::And => BinaryOp::And,
            operators::BinaryOp::Or => BinaryOp::Or,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Declares `var`.
    Let {
        var: VarId,
        init: Expr,
    },
    /// `var = value`, or `var = var op value`.
    Assign {
        var: VarId,
        op: Option<ReduceOp>,
        value: Expr,
    },
    /// `array[index] = value`, or with the operator; atomically if said.
    Store {
        array: ArrayId,
        index: Expr,
        op: Option<ReduceOp>,
        value: Expr,
        atomic: bool,
    },
    /// `for (var = lo; var < hi; var += step)`; `lo` and `hi` are evaluated once, step > 0.
    For {
        var: VarId,
        lo: Expr,
        hi: Expr,
        /// What `hi - lo` does not exceed, as whoever made the loop knows it.
        most: Option<i64>,
        step: i64,
        tag: LoopTag,
        body: Vec<Stmt>,
    },
    While {
        cond: Expr,
        body: Vec<Stmt>,
    },
    If {
        cond: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// Allocates a `Local` or `Returned` array of `count` elements, zeroed if said.
    /// On failure the kernel frees everything and returns an error code.
    Alloc {
        array: ArrayId,
        count: Expr,
        zeroed: bool,
    },
    /// The statements of `body` append to results, which are whole behind it. It stands in no
    /// loop, and in no test but those that choose one of several kernels, of which each has its own.
    /// Whoever runs it decides how there is room: C allocates while it goes on, a GPU runs it again
    /// where room was too small.
    Append {
        rooms: Vec<Room>,
        body: Vec<Stmt>,
    },
    /// Inside of an [`Stmt::Append`]: the arrays of the room with this capacity have room for
    /// `needed` elements from here on.
    Grow {
        capacity: VarId,
        needed: Expr,
    },
    /// At the end of an [`Stmt::Append`]: the arrays of the room with this capacity hold `count`
    /// elements. What else they have room for can be given back.
    Trim {
        capacity: VarId,
        count: Expr,
    },
    /// Declares a `Local` array of constant size in the block at hand, not initialised.
    Declare {
        array: ArrayId,
        count: u64,
    },
    /// Declares a `Local` array that is the part of another from `offset` on.
    Slice {
        array: ArrayId,
        of: ArrayId,
        offset: Expr,
    },
    /// What the user promised; checked in a debug build, which says the text and then the number
    /// that is found instead.
    Assume {
        cond: Expr,
        text: String,
        found: Expr,
    },
    /// Frees a `Local` array.
    Free {
        array: ArrayId,
    },
    /// `array[start .. start + count] = value`
    Fill {
        array: ArrayId,
        start: Expr,
        count: Expr,
        value: Expr,
    },
    /// Declares `var` (`I64`): the first p in lo..hi with array[p] >= key, or hi,
    /// where array[lo..hi] ascends; where it is in a table, the p with array[p] = key, or hi. By
    /// [`Look::Slot`] it is a slot of the table's lo..hi.
    Search {
        var: VarId,
        array: ArrayId,
        lo: Expr,
        hi: Expr,
        key: Expr,
        by: Look,
    },
    /// Makes the table of a level for the positions lo..hi, those below one parent (see
    /// `level/hashed.rs`). Iterations of a loop have positions of their own.
    Enter {
        table: ArrayId,
        coordinates: ArrayId,
        lo: Expr,
        hi: Expr,
    },
    /// Declares `var` (`I64`) and counts on, atomically: it becomes `array[index]`, which is one more
    /// then, so that everyone who takes gets a number of their own.
    Take {
        var: VarId,
        array: ArrayId,
        index: Expr,
    },
    /// Brings the first `count` elements of arrays into the ascending order of their coordinates,
    /// the outermost first.
    Sort {
        coordinates: Vec<ArrayId>,
        values: ArrayId,
        count: Expr,
        /// No two elements are of one place, so that they may be sorted where they stand: what else
        /// may lack the memory stands in no shared loop.
        distinct: bool,
    },
    /// Each of the elements 1 to `count` of an array of whole numbers, none below 0, becomes what
    /// it and those before it combine to: running sums, with element 0 left out, or running maxima,
    /// which begin with it. It stands in no loop. Whoever runs it decides how: C goes through the
    /// elements, a GPU takes tiles of them at once.
    Scan {
        array: ArrayId,
        count: Expr,
        /// `Add` or `Max`.
        op: ReduceOp,
        /// Declared: the sum of all (`I64`), also where the elements' type is too narrow for it.
        total: Option<VarId>,
    },
    /// Returns the error code if the condition holds (checks of data-dependent
    /// subscripts; never inside a parallel loop).
    FailIf {
        cond: Expr,
        code: ErrorCode,
    },
    /// Says that `array[index]` is read soon. The index may lie outside of the array.
    Prefetch {
        array: ArrayId,
        index: Expr,
    },
    /// What only a GPU's program has.
    Device(Device),
    Comment(String),
}

/// How coordinates are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// By halving the range.
    Bisect,
    /// In steps that double, for what is expected near its beginning.
    Gallop,
    /// In the table of all positions of the range.
    Table(ArrayId),
    /// For the slot, among those of the range, that has the number of the element of this coordinate,
    /// counted from 1, or a 0 where it belongs: in a table that gets elements one by one. Some slot of
    /// the range holds 0.
    Slot(ArrayId),
}

/// Arrays that grow together.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// How many elements they have room for: a mutable variable, declared by the region.
    pub capacity: VarId,
    pub arrays: Vec<ArrayId>,
    /// For how many elements there may be room at first: more or fewer may come.
    pub first: Option<Expr>,
}

/// Codes a kernel can return; the runtime header names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    OutOfMemory,
    /// A data-dependent subscript or bound lies outside its tensor.
    IndexOutOfRange,
    /// A count does not fit the index width.
    IndexOverflow,
    /// A result whose coordinates are there would store others.
    Changed,
}

impl ErrorCode {
    /// Its number in the runtime header.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            ErrorCode::OutOfMemory => 1,
            ErrorCode::IndexOutOfRange => 2,
            ErrorCode::IndexOverflow => 3,
            ErrorCode::Changed => 7,
        }
    }
}
