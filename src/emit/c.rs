//! The C target: C11 with OpenMP pragmas.

use super::kernel::{Part, Printer};
use super::names::function;
use super::types::c_type;
use super::{File, RUNTIME_HEADER, Unit, entry, makefile, memory, smoke};
use crate::loops::interface::{Arg, Direction, TensorArg};
use crate::loops::ir::Kernel;
use crate::scalar::ScalarType;
use crate::target::Target;
use std::fmt::Write as _;

/// Complex products as CUDA and the reference have them. C's own look for infinities where a product is NaN, by a
/// call that keeps loops from becoming vectors (a matrix product took ten times as long). Quotients do not overflow.
const COMPLEX: &str =
    "/* Products of complex numbers are four products and no search for infinities. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize(\"cx-fortran-rules\")
#endif
";

/// The names of the files that [`emit`] gives, in its order.
#[must_use]
pub fn file_names(stem: &str) -> Vec<String> {
    vec![
        format!("{stem}.c"),
        format!("{stem}.h"),
        "sparsec.h".to_string(),
        "Makefile".to_string(),
    ]
}

/// All files of a unit.
#[must_use]
pub fn emit(unit: &Unit) -> Vec<File> {
    let contents = [
        kernel_text(unit),
        header(unit),
        RUNTIME_HEADER.to_string(),
        makefile::C.to_string(),
    ];
    file_names(&unit.name)
        .into_iter()
        .zip(contents)
        .map(|(name, content)| File { name, content })
        .collect()
}

/// The text of `NAME.c`.
#[must_use]
pub fn kernel_text(unit: &Unit) -> String {
    text_with(unit, &mut |kernel, name| {
        Printer::new(kernel).function(name, "", Part::Body)
    })
}

/// The text of `NAME.c` with the raw functions that `raw` writes for a kernel and its name.
pub(super) fn text_with(unit: &Unit, raw: &mut impl FnMut(&Kernel, &str) -> String) -> String {
    let mut out = String::from("/* Written by sparsec. */\n");
    if unit.all().any(has_complex) {
        out.push_str(COMPLEX);
    }
    let _ = writeln!(
        out,
        "#define SPARSEC_IMPLEMENTATION\n#include \"{}.h\"",
        unit.name
    );
    out.push_str(&super::operators::definitions(unit, Target::C));
    for kernel in unit.all() {
        out.push('\n');
        out.push_str(&comment(kernel));
        let name = function(&kernel.name, Target::C);
        out.push_str(&raw(kernel, &format!("{name}_raw")));
        if !kernel.checks.is_empty() {
            out.push_str(
                "\n/* Data-dependent subscripts and bounds stay inside their tensors. */\n",
            );
            out.push_str(&Printer::new(kernel).function(
                &format!("{name}_check"),
                "static ",
                Part::Checks,
            ));
        }
        out.push('\n');
        out.push_str(&super::specs::specs(kernel, Target::C));
        out.push('\n');
        out.push_str(&entry::definition(kernel));
    }
    out.push_str(&smoke::text(unit, Target::C));
    out
}

fn has_complex(kernel: &Kernel) -> bool {
    let vars = kernel.vars.iter().map(|var| var.ty);
    let mut types = vars.chain(kernel.arrays.iter().map(|array| array.elem));
    types.any(ScalarType::is_complex)
}

pub(super) fn comment(kernel: &Kernel) -> String {
    let mut out = format!("/* {}\n", kernel.name);
    for line in kernel.comment.iter().flat_map(|c| c.lines()) {
        let line = line.trim_end().replace("*/", "* /");
        let _ = writeln!(out, " *   {line}");
    }
    out.push_str(" */\n");
    out
}

/// Whether the function reads and writes the tensor in the arrays that it has.
fn is_updated(kernel: &Kernel, tensor: &TensorArg) -> bool {
    tensor.direction == Direction::InOut && !entry::is_kept(kernel, tensor)
}

/// A comment that says what each tensor of the checked function is, and which sizes are fixed.
fn arguments(kernel: &Kernel, target: Target) -> String {
    let shapes = entry::Entry::new(kernel, target);
    let mut lines: Vec<String> = Vec::new();
    for (_, arg) in kernel.interface.checked() {
        let Arg::Tensor(tensor) = arg else { continue };
        let dims: Vec<String> = tensor.dims.iter().map(|d| shapes.dim_text(d)).collect();
        let mut line = format!("{}: {}", tensor.name, c_type(tensor.ty));
        match dims.as_slice() {
            [] => line.push_str(", a scalar"),
            dims => {
                let _ = write!(line, "({})", dims.join(", "));
            }
        }
        if tensor.levels.iter().any(|level| !level.arrays.is_empty()) {
            let _ = write!(line, ", int{}_t coordinates", tensor.index_bits);
        }
        let way = match tensor.direction {
            Direction::In => "",
            Direction::Out if kernel.interface.is_renewed(&tensor.name) => ", in and out",
            Direction::Out => ", out",
            Direction::InOut if is_updated(kernel, tensor) => ", in and out",
            Direction::InOut => ", values out",
        };
        lines.push(line + way);
    }
    if lines.is_empty() {
        return String::new();
    }
    let sizes = kernel.interface.sizes.iter();
    let fixed: Vec<String> = sizes
        .filter_map(|size| Some(format!("{} = {}", size.name, size.fixed?)))
        .collect();
    let mut out = String::from("/* Tensors, by elements and dimensions:\n");
    for line in lines {
        let _ = writeln!(out, " *   {line}");
    }
    if !fixed.is_empty() {
        let _ = writeln!(
            out,
            " * Compiled for {}: tensors of other sizes are refused.",
            fixed.join(", ")
        );
    }
    out.push_str(" */\n");
    out
}

/// The text of `NAME.h`.
#[must_use]
pub fn header(unit: &Unit) -> String {
    header_with(unit, Target::C, "", |kernel| {
        let name = function(&kernel.name, Target::C);
        let raw = Printer::new(kernel).signature(&format!("{name}_raw"), Part::Body);
        let given = memory::given_rooms(kernel);
        let rooms = match given.as_slice() {
            [] => "",
            _ => {
                " Arrays passed as T ** are the results': NULL,\n \
                 * or from sparsec's allocator and with room for so many elements as the last arguments say; they\n \
                 * are made larger where needed, and freed on failure."
            }
        };
        format!("/* Unchecked, on plain arrays.{rooms} */\n{raw};\n")
    })
}

/// What the comment above a checked function says of the results.
fn checked(unit: &Unit, kernel: &Kernel) -> String {
    let mut text = String::new();
    let mut allocated: Vec<&str> = Vec::new();
    let (renewed, results): (Vec<&str>, Vec<&str>) = kernel
        .interface
        .args
        .iter()
        .filter_map(|arg| match arg {
            Arg::Tensor(t) if t.direction == Direction::Out => {
                if entry::returned(kernel, t) {
                    allocated.push(t.name.as_str());
                }
                Some(t.name.as_str())
            }
            Arg::Tensor(_) | Arg::Scalar { .. } => None,
        })
        .partition(|name| kernel.interface.is_renewed(name));
    if !renewed.is_empty() {
        let _ = writeln!(
            text,
            "/* Checked; replaces {}, which it takes with the old content: a call that fails leaves it as it\n \
             * was. Free what is there with sparsec_free_tensor. Arrays of your own are read and not freed. */",
            renewed.join(", ")
        );
    }
    let updated: Vec<&str> = entry::tensors(kernel)
        .filter(|t| is_updated(kernel, t))
        .map(|t| t.name.as_str())
        .collect();
    if !updated.is_empty() {
        let _ = writeln!(
            text,
            "/* Checked; updates {} in place: a tensor with the content before the call, of the shape above. */",
            updated.join(", ")
        );
    }
    if unit.is_keeping(kernel) {
        text.push_str(
            "/* Checked; computes values where the coordinates are there, as the function below does where it\n \
             * can. SPARSEC_CHANGED if others would be stored; the values are not those of a result then. */\n",
        );
    }
    if !results.is_empty() {
        allocated.retain(|name| results.contains(name));
        let lent = if allocated.is_empty() {
            "Arrays of your own are written in place\n * if they fit the result, and refused if not."
                .to_string()
        } else if allocated.len() == results.len() {
            "Arrays of your own are refused: it\n * allocates those of sparse results.".to_string()
        } else {
            format!(
                "Arrays of your own are written in place\n * if they fit the result, and refused if not, \
                 and for {}, whose arrays it allocates.",
                allocated.join(", ")
            )
        };
        let _ = writeln!(
            text,
            "/* Checked; makes {}: give a zeroed sparsec_tensor, or that of a call before, whose memory\n \
             * is used again; free it with sparsec_free_tensor. {lent} */",
            results.join(", ")
        );
    }
    text
}

/// A header with the checked functions and others.
pub(super) fn header_with(
    unit: &Unit,
    target: Target,
    types: &str,
    others: impl Fn(&Kernel) -> String,
) -> String {
    let guard: String = unit
        .name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    let mut out = format!(
        "/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its\n \
         * reason in sparsec_error(). */\n#ifndef SPARSEC_KERNELS_{guard}_H\n#define SPARSEC_KERNELS_{guard}_H\n\n\
         #include \"sparsec.h\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
    );
    if !types.is_empty() {
        let _ = write!(out, "\n{types}");
    }
    let mut functions = String::new();
    for kernel in unit.all() {
        functions.push('\n');
        functions.push_str(&comment(kernel));
        functions.push_str(&arguments(kernel, target));
        functions.push_str(&checked(unit, kernel));
        let _ = writeln!(functions, "{};\n", entry::signature(kernel, target));
        functions.push_str(&others(kernel));
    }
    // Index tensors are often called I, which is a macro of <complex.h>.
    let mut words = functions.split(|c: char| !c.is_alphanumeric() && c != '_');
    if words.any(|word| word == "I") {
        out.push_str("\n/* <complex.h> has a macro of this name. */\n");
        out.push_str("#pragma push_macro(\"I\")\n#undef I\n");
        functions.push_str("\n#pragma pop_macro(\"I\")\n");
    }
    out.push_str(&functions);
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    out
}
