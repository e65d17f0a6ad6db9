//! The loop IR, its verifier, simplifier and printer. Knows nothing of tensors
//! or formats beyond the plain description of a kernel's arguments.

pub mod interface;
pub mod ir;
