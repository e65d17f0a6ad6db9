//! The makefile that stands beside the kernels.

/// Its text for files named `stem`.
#[must_use]
pub fn text(stem: &str) -> String {
    const TEMPLATE: &str = include_str!("runtime/Makefile.template");
    TEMPLATE.replace("@NAME@", stem)
}

/// The makefile of files for CUDA.
#[must_use]
pub fn cuda_text(stem: &str) -> String {
    const TEMPLATE: &str = include_str!("runtime/Makefile.cuda");
    TEMPLATE.replace("@NAME@", stem)
}
