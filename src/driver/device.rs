//! CUDA files into a library: by nvcc where a GPU is, or with the emulator.

use super::build::{Backend, Trust};
use super::tools::{CC, CXX, NVCC, no_room, words};
use super::{Failure, argument};
use crate::cleanup;
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity, Sources};
use crate::emit::cuda::{CLOCK, EMULATOR, MODEL};
use crate::target::Target;
use std::path::Path;
use std::sync::OnceLock;

/// Flags of the emulator's kernels: with checks, every access is a call anyway.
/// A load that gcc brings in front of a loop, and of the test of which thread it is, would
/// be seen as every thread's.
const CHECKED: &[&str] = &[
    "-O1",
    // Lines and names of functions are all that is asked for.
    "-g1",
    "-fsanitize=thread,bounds",
    "--param=tsan-distinguish-volatile=1",
    "-fno-tree-loop-im",
    "-ftrivial-auto-var-init=pattern",
    "-fno-threadsafe-statics",
];
const FAST: &[&str] = &["-O2"];
/// Accesses are calls here, too: they are counted.
const COUNTED: &[&str] = &[
    "-O1",
    "-include",
    "costs.h",
    "-fsanitize=thread",
    "--param=tsan-distinguish-volatile=1",
    "-fno-threadsafe-statics",
];

/// What runs the kernels of a target on this machine; where that is the emulator, with all accesses checked or fast.
#[must_use]
pub fn backend(target: Target, checked: bool) -> Backend {
    match target {
        Target::C => Backend::C,
        Target::Cuda => of_cuda(checked),
    }
}

/// A GPU if there is one and nvcc, else the emulator.
fn of_cuda(checked: bool) -> Backend {
    let gpu = Path::new("/dev/nvidiactl").exists() && !is_asked_for();
    let nvcc = || {
        let version = NVCC.command(&mut Sources::default()).ok();
        version.is_some_and(|mut nvcc| {
            let output = nvcc.arg("--version").output();
            output.is_ok_and(|output| output.status.success())
        })
    };
    if gpu && nvcc() {
        Backend::Gpu
    } else {
        Backend::Emulator { checked }
    }
}

/// Whether the emulator is to run what a GPU could.
#[must_use]
pub fn is_asked_for() -> bool {
    std::env::var_os("SPARSEC_EMULATOR").is_some()
}

/// What is to be said where the emulator runs the kernels.
pub fn emulated(sources: &mut Sources) -> Diagnostic {
    let (message, help) = if is_asked_for() {
        (
            "SPARSEC_EMULATOR is set: running on the emulator",
            "times are not those of a GPU",
        )
    } else {
        (
            "no GPU with nvcc found: running on the emulator",
            "times are not those of a GPU; set NVCC to CUDA's nvcc where there is one",
        )
    };
    let span = argument(sources, "command line", "--target cuda");
    let (severity, label) = (Severity::Note, "runs on the processor");
    Diagnostic::new(severity, codes::EMULATED, span, message, label).with_help(help)
}

/// Compiles `kernels.cu` and `calls.c` in `folder` into `kernels.so`.
///
/// # Errors
/// No compiler, or it refuses the text.
pub(super) fn compile(
    folder: &Path,
    backend: Backend,
    trust: Trust,
    sources: &mut Sources,
) -> Result<(), Failure> {
    let mut trusted = trust.flags().to_vec();
    let counts = matches!(backend, Backend::Model(_));
    if trust == Trust::Inputs && !counts {
        std::fs::write(folder.join("clock.h"), CLOCK).map_err(|e| no_room(sources, &e))?;
        trusted.extend(["-include", "clock.h"]);
    }
    let flags = match backend {
        Backend::Emulator { checked: true } => CHECKED,
        Backend::Emulator { checked: false } | Backend::C => FAST,
        Backend::Gpu => return with_nvcc(folder, &trusted, sources),
        Backend::Model(model) => {
            super::model::prepare(folder, &model, &trusted, sources)?;
            COUNTED
        }
    };
    let mut kernels = CXX.command(sources)?;
    kernels
        .current_dir(folder)
        // Integers wrap on GPUs.
        .args(["-std=c++17", "-fPIC", "-w", "-fwrapv"]);
    kernels
        .args(["-DSPARSEC_EMULATED", "-Iemulator"])
        .args(&trusted);
    kernels.args(flags);
    kernels.args(["-x", "c++", "-c", "kernels.cu", "-o", "kernels.o"]);
    let mut calls = CC.command(sources)?;
    calls.current_dir(folder);
    // The host's calls are not counted.
    calls.args(counts.then_some("-Demu_region(number)=(void)0"));
    calls.args(["-std=c11", "-O1", "-fPIC", "-c", "calls.c"]);
    // The emulator is the same for all kernels: built once, while they are compiled.
    let kernels = cleanup::Running::start(&mut kernels);
    let emulator = emulator(counts, sources);
    let kernels = kernels.and_then(cleanup::Running::output);
    CXX.done(kernels, sources)?;
    CC.done(cleanup::output(&mut calls), sources)?;
    std::fs::write(folder.join("emulator.o"), emulator?).map_err(|e| no_room(sources, &e))?;
    let mut link = CXX.command(sources)?;
    link.current_dir(folder);
    link.args([
        "-shared",
        "-Wl,-Bsymbolic",
        "-o",
        "kernels.so",
        "kernels.o",
        "calls.o",
        "emulator.o",
    ]);
    link.args(["-ldl", "-lpthread", "-lm"]);
    CXX.done(cleanup::output(&mut link), sources)
}

/// The flags of nvcc.
pub(super) fn flags() -> String {
    std::env::var("SPARSEC_NVCCFLAGS").unwrap_or_else(|_| "-O3 -arch=native".to_string())
}

fn with_nvcc(folder: &Path, trusted: &[&str], sources: &mut Sources) -> Result<(), Failure> {
    let mut calls = CC.command(sources)?;
    calls
        .current_dir(folder)
        .args(["-std=c11", "-O1", "-fPIC", "-c", "calls.c"]);
    CC.done(cleanup::output(&mut calls), sources)?;
    let mut command = NVCC.command(sources)?;
    command.current_dir(folder);
    command.arg("-std=c++17");
    command.args(words(&flags())).args(trusted);
    command.args([
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-o",
        "kernels.so",
        "kernels.cu",
        "calls.o",
    ]);
    NVCC.done(cleanup::output(&mut command), sources)
}

/// The emulator's object file, which checks or counts, compiled at the first call of the process. It is kept in
/// memory: a folder would outlive the process, which does not drop what is static.
fn emulator(counts: bool, sources: &mut Sources) -> Result<&'static [u8], Failure> {
    static CHECKS: OnceLock<Result<Vec<u8>, Failure>> = OnceLock::new();
    static COUNTS: OnceLock<Result<Vec<u8>, Failure>> = OnceLock::new();
    let built = if counts { &COUNTS } else { &CHECKS };
    let built = built.get_or_init(|| {
        let folder = cleanup::Folder::new().map_err(|e| no_room(sources, &e))?;
        let model = MODEL.iter().filter(|_| counts);
        for (name, text) in EMULATOR.iter().chain(model) {
            std::fs::write(folder.path().join(name), text).map_err(|e| no_room(sources, &e))?;
        }
        let mut command = CXX.command(sources)?;
        command
            .current_dir(folder.path())
            .args(["-std=c++17", "-O2", "-fPIC", "-DSPARSEC_EMULATED", "-I."])
            .args(counts.then_some("-DEMU_MODEL"))
            .args(["-c", "emulator.cpp", "-o", "emulator.o"]);
        CXX.done(cleanup::output(&mut command), sources)?;
        std::fs::read(folder.path().join("emulator.o")).map_err(|e| no_room(sources, &e))
    });
    match built {
        Ok(object) => Ok(object),
        Err(failure) => Err(failure.clone()),
    }
}
