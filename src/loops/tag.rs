//! How a loop runs: by whom, and what a compiler is told of it.

use super::ir::{ArrayId, VarId};
use crate::operators::ReduceOp;
use crate::units::{GpuLevel, GpuUnit, OmpSchedule};

/// Whether a compiler may run several iterations of a loop at once and their inner loops as one;
/// see [`super::jammed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jam {
    #[default]
    Free,
    /// It would spoil the loop.
    Never,
    /// It would, but cannot where threads run the loop around.
    Threads,
}

/// What a thread runs of a loop as a function; see [`super::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    Iteration,
    /// All of its iterations, neighbours: as the loop's positions of rows share them out, or equally many.
    Share,
}

/// How a loop runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopTag {
    pub run: Run,
    pub unroll: Option<u32>,
    /// Adds up elements in falling order; see [`super::reversed`].
    pub reversed: bool,
    pub jam: Jam,
    /// What a thread runs of it is a function.
    pub function: Option<Piece>,
    /// Whoever asked for it answers for races of its iterations: the user (`IgnoreRaces`), or lowering,
    /// which has numbered the places that they set.
    pub races_ignored: bool,
}

/// Who runs the iterations of a loop. Whoever share them combine `reductions`, variables of
/// outside, each in its own copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// One after the other.
    #[default]
    Serial,
    /// Threads of a CPU. Of a loop over rows with `shares`, an operand's positions of rows, each
    /// thread gets neighbouring ones with equally many elements and rows.
    Threads {
        schedule: OmpSchedule,
        shares: Option<ArrayId>,
        reductions: Reductions,
    },
    /// Lanes of a vector: so many at a time, as values of a vector type (see
    /// [`super::widen`]), or as a compiler likes.
    Lanes {
        count: Option<u32>,
        reductions: Reductions,
    },
    /// Units of a GPU; placed by [`super::device`].
    Unit {
        unit: GpuUnit,
        reductions: Reductions,
    },
}

/// Variables that the iterations of a loop combine.
pub type Reductions = Vec<(ReduceOp, VarId)>;

impl LoopTag {
    /// A loop that nobody shares.
    #[must_use]
    pub fn unrolled(n: Option<u32>) -> Self {
        LoopTag {
            unroll: n,
            ..LoopTag::default()
        }
    }

    /// A loop over units of a GPU.
    #[must_use]
    pub fn over(unit: GpuUnit) -> Self {
        LoopTag {
            run: Run::Unit {
                unit,
                reductions: Vec::new(),
            },
            ..LoopTag::default()
        }
    }

    #[must_use]
    pub fn gpu(&self) -> Option<GpuUnit> {
        match self.run {
            Run::Unit { unit, .. } => Some(unit),
            Run::Serial | Run::Threads { .. } | Run::Lanes { .. } => None,
        }
    }

    #[must_use]
    pub fn is_serial(&self) -> bool {
        self.run == Run::Serial
    }

    #[must_use]
    pub fn is_vector(&self) -> bool {
        matches!(self.run, Run::Lanes { .. })
    }

    /// Whether iterations run on several threads, of a CPU or a GPU.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.run, Run::Threads { .. } | Run::Unit { .. })
    }

    /// Whether one thread runs it, or units inside of a block that combine nothing behind it: no kernel is
    /// made of it.
    #[must_use]
    pub fn is_inside_block(&self) -> bool {
        match &self.run {
            Run::Serial => true,
            Run::Unit { unit, reductions } => {
                unit.level != GpuLevel::Block && reductions.is_empty()
            }
            Run::Threads { .. } | Run::Lanes { .. } => false,
        }
    }

    /// The positions by which rows are shared out to threads.
    #[must_use]
    pub fn shares(&self) -> Option<ArrayId> {
        match self.run {
            Run::Threads { shares, .. } => shares,
            Run::Serial | Run::Lanes { .. } | Run::Unit { .. } => None,
        }
    }

    /// How many iterations run at a time, as values of a vector type.
    #[must_use]
    pub fn lanes(&self) -> Option<u32> {
        match self.run {
            Run::Lanes { count, .. } => count,
            Run::Serial | Run::Threads { .. } | Run::Unit { .. } => None,
        }
    }

    /// The variables of outside that iterations combine.
    #[must_use]
    pub fn reductions(&self) -> &[(ReduceOp, VarId)] {
        match &self.run {
            Run::Serial => &[],
            Run::Threads { reductions, .. }
            | Run::Lanes { reductions, .. }
            | Run::Unit { reductions, .. } => reductions,
        }
    }

    /// Forgets the reductions of variables for which the test does not hold.
    pub fn retain_reductions(&mut self, test: impl Fn(VarId) -> bool) {
        if let Run::Threads { reductions, .. }
        | Run::Lanes { reductions, .. }
        | Run::Unit { reductions, .. } = &mut self.run
        {
            reductions.retain(|(_, var)| test(*var));
        }
    }
}
