//! [`crate::syntax::ast`] into [`ir::Program`]: names, types, einsum terms, range
//! inference, formats attached, calls inlined, and every semantic error.

pub mod ir;
