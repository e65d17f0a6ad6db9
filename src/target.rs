//! What code is written for.

/// A target of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// C11 with OpenMP.
    C,
    /// CUDA C++17.
    Cuda,
}
