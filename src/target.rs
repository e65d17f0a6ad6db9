//! What code is written for.

/// A target of the compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// C11 with OpenMP.
    #[default]
    C,
    /// CUDA C++17.
    Cuda,
}

/// What holds for programs of a target. Stages ask for properties, never which target it is; only
/// emitters, and what builds and runs their text, are of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// What the command line and headers of schedules call it.
    pub word: &'static str,
    /// Loops are shared out to blocks, warps and threads of a GPU; where not, to threads of a CPU
    /// and lanes of its vectors.
    pub has_blocks: bool,
    /// Kernels may ask for memory while they run.
    pub allocates: bool,
    /// There are instructions that fetch ahead.
    pub fetches: bool,
    /// The text is C++, in which operators are values; where not, it is C.
    pub is_cpp: bool,
    /// What functions of its runtime begin with; also the heading of the words that its headers take
    /// (`emit/taken/words.list`).
    pub api: Option<&'static str>,
    /// Threads that follow one another and exchange values without memory, a power of two: those of
    /// a warp of the hardware.
    pub lanes: u32,
}

impl Target {
    pub const ALL: [Target; 2] = [Target::C, Target::Cuda];

    /// The target that the command line and headers of schedules call so.
    #[must_use]
    pub fn named(word: &str) -> Option<Target> {
        let is_so = |target: &Target| target.properties().word == word;
        Self::ALL.into_iter().find(is_so)
    }

    #[must_use]
    pub fn properties(self) -> Properties {
        match self {
            Target::C => Properties {
                word: "c",
                has_blocks: false,
                allocates: true,
                fetches: true,
                is_cpp: false,
                api: None,
                lanes: 1,
            },
            Target::Cuda => Properties {
                word: "cuda",
                has_blocks: true,
                allocates: false,
                fetches: false,
                is_cpp: true,
                api: Some("cuda"),
                lanes: 32,
            },
        }
    }
}
