//! The compilers of this machine, named by `CC`, `CXX` and `NVCC`: commands with arguments,
//! taken apart as make's shell does (`gcc -m64`, `ccache gcc`, `"/opt/my tools/cc"`).

use super::{Failure, argument};
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Code, Diagnostic, Sources};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

/// A program that the environment may name.
pub(in crate::driver) struct Tool {
    variable: &'static str,
    default: &'static str,
    /// The variable of a program beside which it may stand.
    beside: Option<&'static str>,
    /// In a sentence.
    pub what: &'static str,
    help: &'static str,
}

pub(super) const CC: Tool = Tool {
    variable: "CC",
    default: "cc",
    beside: None,
    what: "the C compiler",
    help: "set CC to a C compiler, or install one (Debian: apt-get install gcc)",
};

pub(super) const CXX: Tool = Tool {
    variable: "CXX",
    default: "c++",
    beside: None,
    what: "the C++ compiler",
    help: "set CXX to a C++ compiler, or install one (Debian: apt-get install g++)",
};

pub(super) const NVCC: Tool = Tool {
    variable: "NVCC",
    default: "nvcc",
    beside: None,
    what: "the CUDA compiler",
    help: "set NVCC to CUDA's nvcc, or SPARSEC_EMULATOR=1 to run without a GPU",
};

/// For machine code, which the emulator has none of.
pub(super) const LISTED_NVCC: Tool = Tool {
    help: "set NVCC to CUDA's nvcc: `--model` reads its machine code, for which no GPU is needed",
    ..NVCC
};

/// Found beside nvcc where the environment names neither.
pub(super) const NVDISASM: Tool = Tool {
    variable: "NVDISASM",
    default: "nvdisasm",
    beside: Some("NVCC"),
    what: "the CUDA disassembler",
    help: "set NVDISASM to CUDA's nvdisasm, which comes with its toolkit beside nvcc (and as the Python package \
           nvidia-cuda-nvdisasm)",
};

/// Seconds of the processor that a compiler may take; 0 for as many as it wants. Tuning compiles
/// what nobody would write.
pub(super) static COMPILER_SECONDS: AtomicU64 = AtomicU64::new(0);

/// Bytes of address space that it may then have.
pub(super) const COMPILER_MEMORY: u64 = 16 << 30;

/// Has a program end where it takes longer, or more memory, than compilers may.
fn limit(command: &mut Command) {
    let seconds = COMPILER_SECONDS.load(Ordering::Relaxed);
    #[cfg(unix)]
    if seconds > 0 {
        let limit = |soft, hard| libc::rlimit {
            rlim_cur: soft,
            rlim_max: hard,
        };
        let limits = [
            (libc::RLIMIT_CPU, limit(seconds, seconds + 1)),
            (libc::RLIMIT_AS, limit(COMPILER_MEMORY, COMPILER_MEMORY)),
        ];
        // SAFETY: calls that take numbers, which are allowed between fork and exec.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(command, move || {
                for (what, limits) in &limits {
                    if libc::setrlimit(*what, limits) != 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
    }
}

impl Tool {
    /// What the environment says, or the default.
    fn named(&self) -> String {
        let said = |variable| {
            let value = std::env::var_os(variable)?.to_string_lossy().into_owned();
            (!value.trim().is_empty()).then_some(value)
        };
        let beside = || {
            let own = Path::new(&said(self.beside?)?).with_file_name(self.default);
            own.is_file().then(|| own.to_string_lossy().into_owned())
        };
        said(self.variable)
            .or_else(beside)
            .unwrap_or_else(|| self.default.to_string())
    }

    /// The program with the arguments that the environment gives it.
    ///
    /// # Errors
    /// A quote is left open.
    pub fn command(&self, sources: &mut Sources) -> Result<Command, Failure> {
        let named = self.named();
        // A path with blanks need not be quoted; one from here is run in another folder.
        if Path::new(&named).is_file() {
            let path = std::path::absolute(&named);
            let mut command = Command::new(path.unwrap_or_else(|_| named.into()));
            limit(&mut command);
            return Ok(command);
        }
        let words = shlex::split(&named).unwrap_or_default();
        let Some((program, args)) = words.split_first() else {
            let reason = format!("{} is no command: a quote is left open", self.variable);
            return Err(self.failure(sources, codes::NO_COMPILER, &reason));
        };
        let mut command = Command::new(program);
        command.args(args);
        limit(&mut command);
        Ok(command)
    }

    /// What the environment calls it, and the first line that it says of its version.
    pub fn version(&self) -> (String, String) {
        let command = self.command(&mut Sources::default()).ok();
        let output = command.and_then(|mut tool| tool.arg("--version").output().ok());
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let lines = text.as_deref().unwrap_or_default().trim().lines();
        // nvcc begins with its name and a copyright, and ends with its build.
        let line = match self.variable {
            "NVCC" => lines.last(),
            _ => { lines }.next(),
        };
        (self.named(), line.unwrap_or("unknown").to_string())
    }

    /// Takes what the program gave.
    ///
    /// # Errors
    /// It did not start, or failed: with what it said.
    pub fn done(
        &self,
        output: std::io::Result<Output>,
        sources: &mut Sources,
    ) -> Result<(), Failure> {
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(self.refused(sources, &output)),
            Err(error) => {
                let reason = format!("cannot run {}: {error}", self.what);
                Err(self.failure(sources, codes::NO_COMPILER, &reason))
            }
        }
    }

    /// It ran, and failed.
    pub fn refused(&self, sources: &mut Sources, output: &Output) -> Failure {
        let messages = String::from_utf8_lossy(&output.stderr);
        let messages: String = messages.chars().take(4000).collect();
        let reason = match (output.status.code(), messages.trim()) {
            (Some(_), "") => format!("{} failed without a word: {}", self.what, output.status),
            (Some(_), _) => format!("{} failed:\n{messages}", self.what),
            (None, _) => format!("{} was ended: {}\n{messages}", self.what, output.status),
        };
        self.failure(sources, codes::COMPILER_FAILED, &reason)
    }

    fn failure(&self, sources: &mut Sources, code: Code, reason: &str) -> Failure {
        let span = argument(sources, "environment", &self.named());
        Failure::Environment(
            Diagnostic::error(code, span, reason.to_string(), self.what).with_help(self.help),
        )
    }
}

/// Flags in one string, as a shell takes them apart.
pub(super) fn words(flags: &str) -> Vec<String> {
    shlex::split(flags)
        .unwrap_or_else(|| flags.split_whitespace().map(ToString::to_string).collect())
}

/// The folder for temporary files cannot be used.
pub(super) fn no_room(sources: &mut Sources, error: &std::io::Error) -> Failure {
    let folder = std::env::temp_dir();
    let span = argument(sources, "environment", &folder.display().to_string());
    Failure::Environment(
        Diagnostic::error(
            codes::UNWRITABLE,
            span,
            format!("cannot write temporary files: {error}"),
            "the folder for temporary files",
        )
        .with_help("set TMPDIR to a folder that exists, may be written and has room"),
    )
}

/// What was built cannot be loaded into this process.
pub(super) fn not_loaded(sources: &mut Sources, error: &libloading::Error) -> Failure {
    let folder = std::env::temp_dir();
    let span = argument(sources, "environment", &folder.display().to_string());
    Failure::Environment(
        Diagnostic::error(
            codes::COMPILER_FAILED,
            span,
            // The folder's name is another one each time.
            format!(
                "cannot load the compiled kernel: {}",
                without_folder(&error.to_string())
            ),
            "it stands in this folder",
        )
        .with_help(
            "the compiler must build for this process (see CC), and files in TMPDIR must be \
             allowed to be executed",
        ),
    )
}

/// What the loader says of a library, from the file's name on.
fn without_folder(said: &str) -> &str {
    said.find(super::build::LIBRARY)
        .map_or(said, |at| &said[at..])
}
