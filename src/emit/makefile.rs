//! The makefile that stands beside the kernels.

/// Its text for files named `stem`.
#[must_use]
pub fn text(stem: &str) -> String {
    const TEMPLATE: &str = include_str!("runtime/Makefile.template");
    filled(TEMPLATE, stem)
}

/// The makefile of files for CUDA.
#[must_use]
pub fn cuda_text(stem: &str) -> String {
    const TEMPLATE: &str = include_str!("runtime/Makefile.cuda");
    filled(TEMPLATE, stem)
}

fn filled(template: &str, stem: &str) -> String {
    let mut text = template.replace("@NAME@", stem);
    if stem == "Makefile" {
        text.push_str("\n# make would link itself a makefile from the program of this name.\n");
        text.push_str("Makefile: ;\n");
    }
    text
}
