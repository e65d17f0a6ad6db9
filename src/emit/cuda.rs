//! The CUDA target: kernels with the host functions that launch them, in CUDA C++17.

use super::c::{comment, header_with};
use super::host::{Form, Host};
use super::kernel::{Part, Printer};
use super::names::function;
use super::{File, RUNTIME_HEADER, Unit, makefile, smoke, transfer};
use crate::loops::ir::{Device, Kernel, Stmt};
use crate::loops::visit;
use crate::target::Target;
use std::fmt::Write as _;

/// The CUDA runtime for machines without a GPU: names of files and what they hold.
pub const EMULATOR: &[(&str, &str)] = &[
    (
        "cuda_runtime.h",
        include_str!("runtime/emulator/cuda_runtime.h"),
    ),
    (
        "emulator.cpp",
        include_str!("runtime/emulator/emulator.cpp"),
    ),
    ("fibres.h", include_str!("runtime/emulator/fibres.h")),
    ("findings.h", include_str!("runtime/emulator/findings.h")),
    ("order.h", include_str!("runtime/emulator/order.h")),
    ("blocks.h", include_str!("runtime/emulator/blocks.h")),
    ("memory.h", include_str!("runtime/emulator/memory.h")),
    ("shadow.h", include_str!("runtime/emulator/shadow.h")),
];

/// What the emulator counts with, in place of its checks (`driver::model`).
pub const MODEL: &[(&str, &str)] = &[
    ("costs.h", include_str!("runtime/model/costs.h")),
    ("counted.h", include_str!("runtime/model/counted.h")),
    ("model.h", include_str!("runtime/model/model.h")),
];

/// What times the device's work: included ahead of the runtime header (`clock.h`), in timed runs.
pub const CLOCK: &str = include_str!("runtime/clock.h");

/// The names of the files that [`emit`] gives, in its order.
#[must_use]
pub fn file_names(stem: &str) -> Vec<String> {
    let own = ["{stem}.cu", "{stem}.h", "sparsec.h", "Makefile"];
    let own = own.iter().map(|name| name.replace("{stem}", stem));
    let emulator = EMULATOR.iter().map(|(name, _)| format!("emulator/{name}"));
    own.chain(emulator).collect()
}

/// All files of a unit.
#[must_use]
pub fn emit(unit: &Unit) -> Vec<File> {
    let own = [
        kernel_text(unit),
        header(unit),
        runtime_header(),
        makefile::CUDA.to_string(),
    ];
    let emulator = EMULATOR.iter().map(|(_, text)| (*text).to_string());
    file_names(&unit.name)
        .into_iter()
        .zip(own.into_iter().chain(emulator))
        .map(|(name, content)| File { name, content })
        .collect()
}

/// What the runtime header has of complex numbers in C++, and its last line: where CUDA's parts go.
const COMPLEX: &str = "#include <complex>\n\
    typedef std::complex<float> sparsec_complex64;\n\
    typedef std::complex<double> sparsec_complex128;\n";
const END: &str = "#endif /* SPARSEC_H */";

/// The runtime header with its part for CUDA.
#[must_use]
pub fn runtime_header() -> String {
    let prelude = include_str!("runtime/prelude.h");
    let own = include_str!("runtime/complex.h");
    let complex = format!("{prelude}\n{own}#else\n{COMPLEX}#endif\n");
    let cuda = include_str!("runtime/cuda.h");
    RUNTIME_HEADER
        .replacen(COMPLEX, &complex, 1)
        .replacen(END, &format!("\n{cuda}\n{END}"), 1)
}

/// The text of `NAME.cu`.
#[must_use]
pub fn kernel_text(unit: &Unit) -> String {
    let mut out = String::from("/* Written by sparsec. */\n");
    let _ = writeln!(
        out,
        "#define SPARSEC_IMPLEMENTATION\n{}#include \"{}.h\"",
        if scans(unit) {
            "#define SPARSEC_SCANS\n"
        } else {
            ""
        },
        unit.name
    );
    out.push_str(&super::operators::definitions(unit, Target::Cuda));
    for kernel in unit.all() {
        out.push('\n');
        out.push_str(&comment(kernel));
        out.push_str(&device_text(kernel));
        if !kernel.checks.is_empty() {
            let name = function(&kernel.name, Target::Cuda);
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
        out.push_str(&super::specs::specs(kernel, Target::Cuda));
        out.push('\n');
        out.push_str(&transfer::cuda_definition(kernel));
    }
    out.push_str(&smoke::text(unit, Target::Cuda));
    out
}

/// Whether a kernel needs the runtime's scans.
fn scans(unit: &Unit) -> bool {
    let scan = |stmt: &Stmt| matches!(stmt, Stmt::Device(Device::Scan(_)));
    unit.all().any(|kernel| visit::any(&kernel.body, &scan))
}

/// The text of `NAME.h`.
#[must_use]
pub fn header(unit: &Unit) -> String {
    header_with(
        unit,
        Target::Cuda,
        "typedef struct CUstream_st *cudaStream_t;\n",
        |kernel| {
            let host = Host::new(kernel);
            if let Some(phases) = &host.phases {
                let both = super::phases::prototypes(kernel, phases);
                return format!("{both}{};\n", host.workspace_signature());
            }
            if host.form == Form::Run {
                return "/* The host asks how launches went while it runs: there is no function on device arrays. */\n"
                .to_string();
            }
            let status = match host.status {
                Some(_) => "\n * Behind the stream, status[0] is a status.",
                None => "",
            };
            format!(
                "/* On arrays of the device, which the caller allocates; starts everything on the stream and\n \
             * returns. Takes workspace of as many bytes as {}_workspace says.{status} */\n{};\n{};\n",
                host.name,
                host.device_signature(),
                host.workspace_signature()
            )
        },
    )
}

/// Kernels, and the function that launches them.
fn device_text(kernel: &Kernel) -> String {
    let mut host = Host::new(kernel);
    host.number(&kernel.body);
    let mut out = String::new();
    for launch in &host.launches {
        out.push_str(&launch.text);
        out.push('\n');
    }
    if host.form == Form::Device || host.phases.is_some() {
        out.push_str(&host.workspace_function());
        out.push('\n');
    }
    out.push_str(&host.launching_functions());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::device::ir::Scan;

    #[test]
    fn tiles_of_scans_are_as_large_as_workspaces_expect() {
        let tile = format!("SPARSEC_SCAN_TILE = {} ", Scan::TILE);
        assert!(runtime_header().contains(&tile), "{tile}");
    }

    #[test]
    fn the_header_has_the_places_of_cudas_parts_once() {
        for place in [COMPLEX, END] {
            assert_eq!(RUNTIME_HEADER.matches(place).count(), 1, "{place}");
        }
    }
}
