//! What stands in a kernel for a GPU beyond plain loops.

use crate::loops::ir::{ArrayId, Axis, Expr, ReduceOp, Stmt, VarId};

/// How a loop is shared out to the units of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuUnit {
    pub level: GpuLevel,
    pub axis: Axis,
    /// How the threads of the loop reduce, if a schedule says so (001, 5.1).
    pub group: Option<Group>,
}

/// Outer levels first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GpuLevel {
    Block,
    /// Threads of a block that stand together: a tile of threads, no more (001, 5.1).
    Warp,
    Thread,
}

/// A segment group: `size` threads (2, 4, 8, 16 or 32) that reduce together (001, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub size: u32,
    pub strategy: Strategy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// To as many results as the group holds different indices.
    Segment,
    /// To one result.
    Parallel,
}

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
    /// Runs `body`, launches that fill `arrays` up to their capacity and count beyond,
    /// until the room suffices: at most twice. On the host.
    Retry(Retry),
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
    /// Aligned groups of so many consecutive threads, at most 32.
    Lanes(u32),
    /// Every `stride`th thread, `count` of them; all threads of the block take part.
    /// `scratch` is shared and has an element for each thread.
    Strided {
        scratch: ArrayId,
        count: u32,
        stride: u32,
    },
}

/// See [`Device::Retry`].
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Arrays with a common capacity, a host variable.
    pub groups: Vec<(VarId, Vec<ArrayId>)>,
    /// Receives what each group needs, then an error code. Of `int64`.
    pub needs: ArrayId,
    pub body: Vec<Stmt>,
}

impl Device {
    /// The statements inside.
    #[must_use]
    pub fn body(&self) -> Option<&[Stmt]> {
        match self {
            Device::Launch { body, .. } | Device::Retry(Retry { body, .. }) => Some(body),
            Device::Aligned { .. }
            | Device::Barrier(_)
            | Device::Reduce { .. }
            | Device::SegmentStore { .. } => None,
        }
    }

    /// The statements inside, to be changed.
    pub fn body_mut(&mut self) -> Option<&mut Vec<Stmt>> {
        match self {
            Device::Launch { body, .. } | Device::Retry(Retry { body, .. }) => Some(body),
            Device::Aligned { .. }
            | Device::Barrier(_)
            | Device::Reduce { .. }
            | Device::SegmentStore { .. } => None,
        }
    }

    /// Gives the variables and arrays that it names itself other names.
    pub fn rename(&mut self, var: &impl Fn(VarId) -> VarId, array: &impl Fn(ArrayId) -> ArrayId) {
        match self {
            Device::Retry(retry) => {
                for (capacity, arrays) in &mut retry.groups {
                    *capacity = var(*capacity);
                    arrays.iter_mut().for_each(|a| *a = array(*a));
                }
                retry.needs = array(retry.needs);
            }
            Device::Aligned { array: a, .. } | Device::SegmentStore { array: a, .. } => {
                *a = array(*a);
            }
            Device::Reduce { var: v, scope, .. } => {
                *v = var(*v);
                match scope {
                    ReduceScope::Lanes(_) => {}
                    ReduceScope::Strided { scratch, .. } => *scratch = array(*scratch),
                }
            }
            Device::Launch { .. } | Device::Barrier(_) => {}
        }
    }

    /// The expressions that stand directly in it.
    #[must_use]
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Device::Launch { grid, .. } => grid.iter().collect(),
            Device::SegmentStore { index, value, .. } => vec![index, value],
            Device::Retry(_)
            | Device::Aligned { .. }
            | Device::Barrier(_)
            | Device::Reduce { .. } => Vec::new(),
        }
    }

    /// The expressions that stand directly in it, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Device::Launch { grid, .. } => grid.iter_mut().collect(),
            Device::SegmentStore { index, value, .. } => vec![index, value],
            Device::Retry(_)
            | Device::Aligned { .. }
            | Device::Barrier(_)
            | Device::Reduce { .. } => Vec::new(),
        }
    }

    /// The arrays it names itself.
    #[must_use]
    pub fn arrays(&self) -> Vec<ArrayId> {
        match self {
            Device::SegmentStore { array, .. } => vec![*array],
            Device::Reduce {
                scope: ReduceScope::Strided { scratch, .. },
                ..
            } => vec![*scratch],
            Device::Retry(retry) => {
                let grown = retry.groups.iter().flat_map(|(_, arrays)| arrays);
                grown.copied().chain([retry.needs]).collect()
            }
            Device::Aligned { array, .. } => vec![*array],
            Device::Launch { .. } | Device::Barrier(_) | Device::Reduce { .. } => Vec::new(),
        }
    }
}
