//! The CUDA target: kernels with the host functions that launch them, in CUDA C++17.

use super::gpu::{self, Api};
use super::{File, RUNTIME_HEADER, Unit, makefile};
use crate::target::Target;

/// What CUDA calls things.
const API: Api = Api {
    target: Target::Cuda,
    stream: "cudaStream_t",
    stream_struct: "CUstream_st",
    bounds,
};

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
        gpu::header(unit, &API),
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

/// How many threads a kernel has, and so many blocks that a multiprocessor has 1024: ptxas, told of the threads
/// alone, holds most kernels at 32 registers for the sake of 2048, and spills.
/// No architecture since sm_75 runs fewer than 16 blocks at once; beyond that ptxas refuses.
fn bounds(threads: u32) -> String {
    let blocks = (1024 / threads.max(1)).clamp(1, 16);
    format!("__launch_bounds__({threads}, {blocks})")
}

/// The text of `NAME.cu`.
#[must_use]
pub fn kernel_text(unit: &Unit) -> String {
    gpu::kernel_text(unit, &API)
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
