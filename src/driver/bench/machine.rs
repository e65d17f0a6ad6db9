//! The machine that measurements are of: what it is, and what it can do, measured by loops that the
//! same compiler compiles (`machine.c`).

use super::report::{Limit, Measured};
use crate::diagnostic::Sources;
use crate::driver::Failure;
use crate::driver::build::{Backend, Library, flags};
use crate::driver::tools::{CC, CXX, NVCC};
use crate::program::ir::Function;
use crate::scalar::ScalarType;
use std::ffi::c_int;
use std::process::Command;

/// Loops that say what is possible.
pub struct Machine(Library);

/// Working sets beyond this are in memory, whatever the caches.
const LARGEST: f64 = 512.0 * 1024.0 * 1024.0;

impl Machine {
    /// # Errors
    /// No compiler, or it refuses the text.
    pub fn new(sources: &mut Sources) -> Result<Self, Failure> {
        Library::of_text(include_str!("machine.c"), sources).map(Machine)
    }

    /// How many threads loops get if nobody says.
    #[must_use]
    pub fn threads(&self) -> u32 {
        type Threads = unsafe extern "C" fn() -> c_int;
        // SAFETY: the type is that in `machine.c`.
        let threads = unsafe {
            self.0
                .function::<Threads>("sparsec_max_threads")
                .map(|f| f())
        };
        threads
            .ok()
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(1)
    }

    /// What the machine can do with each number of threads that was measured, for a working set of
    /// so many bytes.
    #[must_use]
    pub fn limits(&self, function: &Function, bytes: f64, measured: &[Measured]) -> Vec<Limit> {
        let mut threads: Vec<u32> = measured.iter().map(|m| m.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        let limit = |&threads: &u32| Limit {
            threads,
            bytes_per_second: self.bandwidth(bytes, threads),
            operations_per_second: peak(function).and_then(|name| self.peak(name, threads)),
        };
        threads.iter().map(limit).collect()
    }

    fn bandwidth(&self, bytes: f64, threads: u32) -> f64 {
        type Bandwidth = unsafe extern "C" fn(i64, c_int) -> f64;
        #[expect(clippy::cast_possible_truncation)]
        let bytes = bytes.min(LARGEST) as i64;
        let threads = c_int::try_from(threads).unwrap_or(1);
        // SAFETY: the type is that in `machine.c`.
        let rate = unsafe {
            let f = self.0.function::<Bandwidth>("sparsec_bandwidth");
            f.map(|f| f(bytes, threads))
        };
        rate.unwrap_or(0.0)
    }

    fn peak(&self, name: &str, threads: u32) -> Option<f64> {
        type Peak = unsafe extern "C" fn(c_int) -> f64;
        let threads = c_int::try_from(threads).unwrap_or(1);
        // SAFETY: the type is that in `machine.c`.
        unsafe { self.0.function::<Peak>(name).ok().map(|f| f(threads)) }
    }
}

/// The loop whose operations are those of the function; none for whole and complex numbers.
fn peak(function: &Function) -> Option<&'static str> {
    let types = function.tensors.iter().map(|tensor| tensor.ty.compute());
    let types: Vec<ScalarType> = types.collect();
    if types.iter().any(|ty| ty.is_complex()) {
        None
    } else if types.contains(&ScalarType::F64) {
        Some("sparsec_peak_double")
    } else if types.contains(&ScalarType::F32) {
        Some("sparsec_peak_float")
    } else {
        None
    }
}

/// What ran, in words.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Description {
    pub cpu: String,
    pub cores: usize,
    /// How many programs ran at once, in the last minute on average: times of a busy machine are
    /// noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Of the CUDA target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// How the compiler is called, its version, and the flags.
    pub compiler: String,
    pub version: String,
    pub flags: String,
}

impl Description {
    /// Of this machine, and of the compiler that this backend uses.
    #[must_use]
    pub fn of(backend: Backend) -> Self {
        let (tool, flags) = match backend {
            Backend::C => (&CC, flags()),
            Backend::Emulator { .. } => (&CXX, String::new()),
            Backend::Gpu => (&NVCC, crate::driver::device::flags()),
            Backend::Model(model) => (&NVCC, crate::driver::model::flags(&model)),
        };
        let (compiler, version) = tool.version();
        let cores = std::thread::available_parallelism();
        Description {
            cpu: cpu().unwrap_or_else(|| std::env::consts::ARCH.to_string()),
            cores: cores.map_or(1, std::num::NonZeroUsize::get),
            load: load(),
            gpu: (backend == Backend::Gpu).then(gpu).flatten(),
            compiler,
            version,
            flags,
        }
    }
}

fn cpu() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn gpu() -> Option<String> {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=name", "--format=csv,noheader"]);
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(|line| line.trim().to_string())
}
