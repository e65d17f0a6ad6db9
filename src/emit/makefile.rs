//! The makefile that stands beside the kernels.
//!
//! It names none of them: it makes all programs that sparsec wrote into its folder, so that it is the same for each,
//! and writing one more takes nothing from those that are there.

/// Its text for C.
pub const C: &str = include_str!("runtime/Makefile.template");

/// Its text for CUDA.
pub const CUDA: &str = include_str!("runtime/Makefile.cuda");
