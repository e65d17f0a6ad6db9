//! Who runs the iterations of a loop, and what is said of writes that several do: the vocabulary of
//! schedules, graphs and loops.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    CpuThread(OmpSchedule),
    /// The lanes of a vector register.
    CpuVector,
    Gpu(GpuUnit),
}

/// What the user says of writes by several units (000, figure 7-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Race {
    /// There are none; checked.
    NoRaces,
    /// There are none; taken on the user's word.
    IgnoreRaces,
    /// Writes that race are atomic.
    Atomics,
    /// Each thread writes a copy of its own; the copies are reduced afterwards.
    Temporary,
    /// A reduction across the unit's lanes or threads.
    ParallelReduction,
    /// As the unit's segment group says (001, 5.1).
    Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmpSchedule {
    /// Whatever the implementation does by default: no clause.
    Default,
    Static(Option<u32>),
    Dynamic(Option<u32>),
    Guided(Option<u32>),
}

/// A dimension of a grid or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    pub const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];
}

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

/// A segment group: `size` threads (2, 4, 8 and so on, up to a target's lanes) that reduce together (001, 4).
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

/// The unit as a schedule writes it.
#[must_use]
pub fn unit_text(unit: Unit) -> String {
    let schedule = match unit {
        Unit::CpuThread(schedule) => schedule,
        Unit::CpuVector => return "CPUVector".to_string(),
        Unit::Gpu(unit) => {
            if let Some(group) = unit.group {
                return format!("GPUGroup({})", group.size);
            }
            let level = match unit.level {
                GpuLevel::Block => "GPUBlock",
                GpuLevel::Warp => "GPUWarp",
                GpuLevel::Thread => "GPUThread",
            };
            let axis = match unit.axis {
                Axis::X => "",
                Axis::Y => "Y",
                Axis::Z => "Z",
            };
            return format!("{level}{axis}");
        }
    };
    let with = |kind: &str, chunk: Option<u32>| match chunk {
        Some(chunk) => format!("CPUThread({kind}, {chunk})"),
        None => format!("CPUThread({kind})"),
    };
    match schedule {
        OmpSchedule::Default => "CPUThread".to_string(),
        OmpSchedule::Static(chunk) => with("static", chunk),
        OmpSchedule::Dynamic(chunk) => with("dynamic", chunk),
        OmpSchedule::Guided(chunk) => with("guided", chunk),
    }
}

/// The race strategy as a schedule writes it.
#[must_use]
pub fn race_text(race: Race) -> &'static str {
    match race {
        Race::NoRaces => "NoRaces",
        Race::IgnoreRaces => "IgnoreRaces",
        Race::Atomics => "Atomics",
        Race::Temporary => "Temporary",
        Race::ParallelReduction => "ParallelReduction",
        Race::Group => "Segment",
    }
}
