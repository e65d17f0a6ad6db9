//! Loop IR into files: kernels, header, makefile, and the runtime header.
//!
//! Nothing is decided here: what runs where, what is guarded and what is atomic
//! stands in the IR. Knows of tensors only what a kernel's interface says.

pub mod c;
pub mod entry;
pub mod expr;
pub mod kernel;
pub mod makefile;
pub mod names;
pub mod smoke;
pub mod types;

use crate::loops::ir::Kernel;

/// What goes into one set of files.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The stem of the files' names.
    pub name: String,
    pub kernels: Vec<Kernel>,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub content: String,
}

/// The runtime header, as it is emitted.
pub const RUNTIME_HEADER: &str = include_str!("runtime/sparsec.h");
