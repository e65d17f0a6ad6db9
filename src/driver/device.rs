//! CUDA files into a library: by nvcc where a GPU is, or with the emulator.

use super::Failure;
use super::build::{Backend, Trust, compiler, environment};
use crate::diagnostic::Sources;
use crate::diagnostic::codes::environment as codes;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// Flags of the emulator's kernels: with checks, every access is a call anyway.
/// A load that gcc brings in front of a loop, and of the test of which thread it is, would
/// be seen as every thread's.
const CHECKED: &[&str] = &[
    "-O1",
    "-g",
    "-fsanitize=thread,bounds",
    "--param=tsan-distinguish-volatile=1",
    "-fno-tree-loop-im",
    "-ftrivial-auto-var-init=pattern",
    "-fno-threadsafe-statics",
];
const FAST: &[&str] = &["-O2"];

/// The backend of this machine: a GPU if there is one and nvcc, else the emulator.
#[must_use]
pub fn backend(checked: bool) -> Backend {
    let gpu =
        Path::new("/dev/nvidiactl").exists() && std::env::var_os("SPARSEC_EMULATOR").is_none();
    let nvcc = || {
        let version = Command::new(nvcc()).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    if gpu && nvcc() {
        Backend::Gpu
    } else {
        Backend::Emulator { checked }
    }
}

fn nvcc() -> OsString {
    variable("NVCC", "nvcc")
}

fn variable(name: &str, default: &str) -> OsString {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .unwrap_or_else(|| OsString::from(default))
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
    let trusted: &[&str] = match trust {
        Trust::Nothing => &[],
        Trust::Inputs => &["-DSPARSEC_TRUST_INPUT"],
    };
    let checked = match backend {
        Backend::Emulator { checked } => checked,
        Backend::C => false,
        Backend::Gpu => return with_nvcc(folder, trusted, sources),
    };
    let mut kernels = Command::new(variable("CXX", "c++"));
    kernels
        .current_dir(folder)
        .args(["-std=c++17", "-fPIC", "-w"]);
    kernels
        .args(["-DSPARSEC_EMULATED", "-Iemulator"])
        .args(trusted);
    kernels.args(if checked { CHECKED } else { FAST });
    kernels.args(["-x", "c++", "-c", "kernels.cu", "-o", "kernels.o"]);
    let mut calls = Command::new(compiler());
    calls
        .current_dir(folder)
        .args(["-std=c11", "-O1", "-fPIC", "-c", "calls.c"]);
    // The emulator is the same for all kernels: built once, while they are compiled.
    kernels.stderr(Stdio::piped()).stdout(Stdio::piped());
    let kernels = kernels.spawn();
    let emulator = emulator();
    let kernels = kernels.and_then(std::process::Child::wait_with_output);
    done(kernels, sources)?;
    done(calls.output(), sources)?;
    let emulator = match emulator {
        Ok(object) => std::fs::write(folder.join("emulator.o"), object).map_err(|e| e.to_string()),
        Err(reason) => Err(reason.to_string()),
    };
    if let Err(reason) = emulator {
        return Err(environment(sources, codes::COMPILER_FAILED, &reason));
    }
    let mut link = Command::new(variable("CXX", "c++"));
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
    done(link.output(), sources)
}

fn with_nvcc(folder: &Path, trusted: &[&str], sources: &mut Sources) -> Result<(), Failure> {
    let mut calls = Command::new(compiler());
    calls
        .current_dir(folder)
        .args(["-std=c11", "-O1", "-fPIC", "-c", "calls.c"]);
    done(calls.output(), sources)?;
    let mut command = Command::new(nvcc());
    command.current_dir(folder);
    let flags =
        std::env::var("SPARSEC_NVCCFLAGS").unwrap_or_else(|_| "-O3 -arch=native".to_string());
    command
        .arg("-std=c++17")
        .args(flags.split_whitespace())
        .args(trusted);
    command.args([
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-o",
        "kernels.so",
        "kernels.cu",
        "calls.o",
    ]);
    done(command.output(), sources)
}

/// The emulator's object file, compiled at the first call of the process. It is kept in memory:
/// a folder would outlive the process, which does not drop what is static.
fn emulator() -> Result<&'static [u8], &'static str> {
    static BUILT: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        for (name, text) in crate::emit::cuda::EMULATOR {
            put(name, text).map_err(|e| e.to_string())?;
        }
        let output = Command::new(variable("CXX", "c++"))
            .current_dir(folder.path())
            .args(["-std=c++17", "-O2", "-fPIC", "-DSPARSEC_EMULATED", "-I."])
            .args(["-c", "emulator.cpp", "-o", "emulator.o"])
            .output()
            .map_err(|e| format!("cannot run the C++ compiler: {e}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        std::fs::read(folder.path().join("emulator.o")).map_err(|e| e.to_string())
    });
    match built {
        Ok(object) => Ok(object),
        Err(reason) => Err(reason),
    }
}

fn done(output: std::io::Result<Output>, sources: &mut Sources) -> Result<(), Failure> {
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            let reason = format!("cannot run the C++ compiler: {error}");
            return Err(environment(sources, codes::NO_COMPILER, &reason));
        }
    };
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let messages: String = messages.chars().take(4000).collect();
    let reason = format!("the C++ compiler failed:\n{messages}");
    Err(environment(sources, codes::COMPILER_FAILED, &reason))
}
