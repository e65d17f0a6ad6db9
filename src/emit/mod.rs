//! Loop IR into files: kernels, header, makefile, and the runtime header.
//!
//! Nothing is decided here: what runs where, what is guarded and what is atomic
//! stands in the IR. Knows of tensors only what a kernel's interface says.

pub mod c;
pub mod clashes;
pub mod cuda;
mod device;
mod eager;
pub mod entry;
pub mod expr;
mod gpu;
mod host;
pub mod kernel;
mod literal;
mod loops;
pub mod makefile;
mod memory;
pub mod names;
mod operators;
mod phases;
mod regions;
mod shares;
pub mod smoke;
pub mod specs;
mod status;
mod stmt;
pub mod taken;
mod transfer;
pub mod types;
pub mod watch;
mod width;
mod workspace;
mod wrap;

use crate::loops::ir::Kernel;
use crate::target::Target;

/// What goes into one set of files.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The stem of the files' names.
    pub name: String,
    pub kernels: Vec<Kernel>,
}

impl Unit {
    /// Whether the kernel is one that another one calls first.
    fn is_keeping(&self, kernel: &Kernel) -> bool {
        let mut keeping = self.kernels.iter().filter_map(|k| k.keeping.as_deref());
        keeping.any(|keeping| std::ptr::eq(keeping, kernel))
    }

    /// Every kernel, each behind the one that it calls.
    pub fn all(&self) -> impl Iterator<Item = &Kernel> {
        let kernels = self.kernels.iter();
        kernels.flat_map(|kernel| kernel.keeping.as_deref().into_iter().chain([kernel]))
    }
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub content: String,
}

/// The runtime header, as it is emitted for C.
pub const RUNTIME_HEADER: &str = include_str!("runtime/sparsec.h");

/// The names of the files of a target.
#[must_use]
pub fn file_names(stem: &str, target: Target) -> Vec<String> {
    match target {
        Target::C => c::file_names(stem),
        Target::Cuda => cuda::file_names(stem),
    }
}

/// All files of a unit.
#[must_use]
pub fn emit(unit: &Unit, target: Target) -> Vec<File> {
    match target {
        Target::C => c::emit(unit),
        Target::Cuda => cuda::emit(unit),
    }
}

/// The kernels' text alone.
#[must_use]
pub fn kernel_text(unit: &Unit, target: Target) -> String {
    match target {
        Target::C => c::kernel_text(unit),
        Target::Cuda => cuda::kernel_text(unit),
    }
}
