//! What stands in a kernel for a GPU beyond plain loops.

use crate::loops::ir::{ArrayId, Expr, ReduceOp, Room, Stmt, VarId};

/// Statements of a GPU's program.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    /// Runs `body` once for each thread. On the host.
    Launch {
        /// Blocks along each axis; nothing runs where one of them is 0.
        grid: [Expr; 3],
        /// Threads of a block along each axis.
        block: [u32; 3],
        body: Vec<Stmt>,
    },
    /// Runs `body`, launches that fill arrays up to their capacity and count beyond,
    /// until the room suffices: at most twice. On the host.
    Retry(Retry),
    /// See [`Stmt::Scan`]. On the host.
    Scan(Scan),
    /// Waits for the device and declares `vars`, the elements of `totals`, which the device has
    /// counted. On the host.
    Fetch { totals: ArrayId, vars: Vec<VarId> },
    /// Promises that the array begins at a multiple of so many bytes; the host checks it
    /// before the launch.
    Aligned { array: ArrayId, bytes: u32 },
    /// No thread of the scope goes on before all have come here.
    Barrier(Scope),
    /// `var` becomes the reduction of its values in the threads of the scope.
    Reduce {
        var: VarId,
        op: ReduceOp,
        scope: ReduceScope,
    },
    /// Declares `var` (`I64`): the slot that holds the key, of a table in which threads of a block enter keys at
    /// once. The one that takes a slot gets the next number from `count`, which has one element, and sets that
    /// element of each list. Free slots hold -1; there are enough of them, or as many as keys may be.
    Claim(Claim),
    /// [`Stmt::Sort`] by all threads of the block together, which come to it at once. What fits is sorted in
    /// `scratch`, which is shared.
    Sort {
        coordinates: Vec<ArrayId>,
        values: ArrayId,
        count: Expr,
        scratch: ArrayId,
    },
    /// `array[index] op= value` for all lanes of a segment group: consecutive lanes
    /// with one index add up first, and one of them writes, atomically (001, 5.3). A
    /// lane without work gives the operator's neutral element (zero extension, 5.2).
    SegmentStore {
        array: ArrayId,
        index: Expr,
        op: ReduceOp,
        value: Expr,
        lanes: u32,
    },
}

/// Threads that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Block,
    /// Aligned groups of so many consecutive threads.
    Lanes(u32),
}

/// Threads that reduce together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceScope {
    /// Aligned groups of so many consecutive threads, no more than exchange values without memory.
    Lanes(u32),
    /// Every `stride`th thread, `count` of them; all threads of the block take part.
    /// `scratch` is shared and has an element for each thread.
    Strided {
        scratch: ArrayId,
        count: u32,
        stride: u32,
    },
}

/// See [`Device::Claim`].
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Nobody asks where there is none.
    pub var: Option<VarId>,
    pub table: ArrayId,
    pub slots: Expr,
    /// What no key reaches: a table with as many slots has each key at its own.
    pub extent: Expr,
    pub key: Expr,
    pub count: ArrayId,
    /// Gets the keys.
    pub keys: ArrayId,
    /// Gets the slots, if anyone asks.
    pub places: Option<ArrayId>,
}

/// Elements of which launches of the runtime make running sums or maxima.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    pub array: ArrayId,
    /// The last of them.
    pub count: Expr,
    pub op: ReduceOp,
    /// Has an element for each tile.
    pub sums: ArrayId,
    /// Receives the sum of all at this place.
    pub total: Option<(ArrayId, usize)>,
}

impl Scan {
    /// Elements of a tile, as the runtime's header has it.
    pub const TILE: i64 = 2048;
}

/// See [`Device::Retry`].
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// What grows; the capacities are the host's.
    pub rooms: Vec<Room>,
    /// Receives what each room needs, then an error code. Of `int64`.
    pub needs: ArrayId,
    pub body: Vec<Stmt>,
}
