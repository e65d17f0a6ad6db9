//! The system's C compiler: kernels into a library that this process loads.

use super::Failure;
use super::tools::{CC, no_room, not_loaded, words};
use crate::cleanup;
use crate::diagnostic::Sources;
use crate::emit::names::function;
use crate::emit::types::c_type;
use crate::emit::{self, Unit};
use crate::loops::interface::Arg;
use crate::loops::ir::Kernel;
use crate::schedule::auto::Model;
use crate::target::Target;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Write as _;

/// Flags of `sparsec run`; `SPARSEC_CFLAGS` replaces them.
/// (ISO C mode alone would keep gcc from fusing products into sums, and `sqrt` from being an
/// instruction: it would say in `errno` what nobody reads.)
const FLAGS: &str = "-O3 -march=native -ffp-contract=fast -fno-math-errno";

/// The library in the folder that it is compiled in.
pub(super) const LIBRARY: &str = "kernels.so";

/// A loaded library of kernels.
pub struct Library {
    // Never unloaded: the threads of an OpenMP runtime that came with it live on.
    library: std::mem::ManuallyDrop<libloading::Library>,
    _folder: Option<cleanup::Folder>,
}

/// What is checked while kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The arrays of inputs, element by element, and what schedules promise.
    Nothing,
    /// Promises are believed.
    Promises,
    /// Timed runs: the inputs were packed, and so checked, by us.
    Inputs,
}

impl Trust {
    /// What the runtime header is told.
    pub(super) fn flags(self) -> &'static [&'static str] {
        match self {
            Trust::Nothing => &["-DSPARSEC_DEBUG"],
            Trust::Promises => &[],
            Trust::Inputs => &["-DSPARSEC_TRUST_INPUT"],
        }
    }
}

/// What runs the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The processor, by the C compiler.
    C,
    /// The processor, by the emulator of CUDA; with all accesses checked, or fast.
    Emulator { checked: bool },
    /// A GPU, by nvcc.
    Gpu,
    /// The processor, by the emulator, which counts what this GPU would do: its times are cycles
    /// of a model ([`super::model`]).
    Model(Model),
}

impl Backend {
    /// What runs the kernels, in a word.
    #[must_use]
    pub fn device(self) -> &'static str {
        match self {
            Backend::C => "cpu",
            Backend::Emulator { .. } => "emulator",
            Backend::Gpu => "gpu",
            Backend::Model(_) => "model",
        }
    }

    pub(super) fn target(self) -> Target {
        match self {
            Backend::C => Target::C,
            Backend::Emulator { .. } | Backend::Gpu | Backend::Model(_) => Target::Cuda,
        }
    }
}

/// Work of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceTime {
    pub seconds: f64,
    /// How often it went on after the host had waited.
    pub intervals: u32,
}

/// The functions of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `NAME`
    Whole,
    /// `NAME_values`, of results that are assembled once.
    Values,
}

impl Entry {
    /// What the trampoline is called.
    fn word(self) -> &'static str {
        match self {
            Entry::Whole => "call",
            Entry::Values => "values",
        }
    }
}

type Call = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

impl Library {
    /// Compiles the kernels, all into one translation unit, and loads the result.
    ///
    /// # Errors
    /// No compiler, or it refuses the text.
    pub fn build(
        kernels: &[Kernel],
        backend: Backend,
        trust: Trust,
        sources: &mut Sources,
    ) -> Result<Self, Failure> {
        let files = emit::emit(&unit(kernels), backend.target());
        Self::of_files(&files, kernels, backend, trust, &flags(), sources)
    }

    /// As [`Library::build`], of files that were emitted for [`unit`], with these flags.
    pub(super) fn of_files(
        files: &[emit::File],
        kernels: &[Kernel],
        backend: Backend,
        trust: Trust,
        flags: &str,
        sources: &mut Sources,
    ) -> Result<Self, Failure> {
        let folder = compiled(files, kernels, backend, trust, flags, sources)?;
        Self::in_folder(folder, backend, sources)
    }

    /// Loads the library of a folder that [`compiled`] made, which goes where it is not needed any more.
    ///
    /// # Errors
    /// It cannot be loaded.
    pub(super) fn in_folder(
        folder: cleanup::Folder,
        backend: Backend,
        sources: &mut Sources,
    ) -> Result<Self, Failure> {
        let opened = Self::open(&folder.path().join(LIBRARY), sources)?;
        Ok(Library {
            _folder: still_needed(folder, backend),
            ..opened
        })
    }

    /// Loads a library of kernels that [`compiled`] made.
    ///
    /// # Errors
    /// It cannot be loaded.
    pub(super) fn open(path: &std::path::Path, sources: &mut Sources) -> Result<Self, Failure> {
        // SAFETY: the library was built from our own text and runs no initialisers beyond those
        // of the C runtime.
        let library =
            unsafe { libloading::Library::new(path) }.map_err(|e| not_loaded(sources, &e))?;
        // A compiler of another language (`CC=g++`) calls functions otherwise.
        let first = format!("sparsec_{}_0", Entry::Whole.word());
        // SAFETY: nothing is called.
        unsafe { library.get::<Call>(first.as_bytes()) }.map_err(|e| not_loaded(sources, &e))?;
        Ok(Library {
            library: std::mem::ManuallyDrop::new(library),
            _folder: None,
        })
    }

    /// Compiles a text in C that is none of a kernel's, with the flags of kernels.
    ///
    /// # Errors
    /// No compiler, or it refuses the text.
    pub(super) fn of_text(text: &str, sources: &mut Sources) -> Result<Self, Failure> {
        let folder = cleanup::Folder::new().map_err(|e| no_room(sources, &e))?;
        std::fs::write(folder.path().join("text.c"), text).map_err(|e| no_room(sources, &e))?;
        compile(folder.path(), &["text.c"], Trust::Inputs, &flags(), sources)?;
        // SAFETY: our own text, which runs no initialisers.
        let library = unsafe { libloading::Library::new(folder.path().join("kernels.so")) }
            .map_err(|e| not_loaded(sources, &e))?;
        Ok(Library {
            library: std::mem::ManuallyDrop::new(library),
            _folder: still_needed(folder, Backend::C),
        })
    }

    /// Calls a checked entry point of the kernel at `at` with the addresses of its
    /// arguments. Returns its status and, where that is not 0, its reason.
    ///
    /// # Errors
    /// The status and reason.
    ///
    /// # Safety
    /// `args` must hold what the kernel's interface says, in its order.
    pub unsafe fn call(
        &self,
        (at, entry): (usize, Entry),
        args: &mut [*mut c_void],
    ) -> Result<(), (i32, String)> {
        // SAFETY: the trampoline's type is fixed; the arguments are the caller's promise.
        unsafe {
            let name = format!("sparsec_{}_{at}", entry.word());
            let call = self
                .library
                .get::<Call>(name.as_bytes())
                .map_err(|e| (-1, e.to_string()))?;
            let status = call(args.as_mut_ptr());
            if status == 0 {
                return Ok(());
            }
            let reason = self
                .library
                .get::<unsafe extern "C" fn() -> *const c_char>(b"sparsec_last_error")
                .map(|f| CStr::from_ptr(f()).to_string_lossy().into_owned())
                .unwrap_or_default();
            Err((status, reason))
        }
    }

    /// What the device did since the last call, where the library has a clock of it
    /// (`clock.h`), and something was done.
    #[must_use]
    pub fn device_time(&self) -> Option<DeviceTime> {
        let mut seconds = 0.0;
        // SAFETY: the type is that in `clock.h`.
        let intervals = unsafe {
            let clock = self
                .library
                .get::<unsafe extern "C" fn(*mut f64) -> c_int>(b"sparsec_device_time");
            clock.ok()?(&raw mut seconds)
        };
        let intervals = u32::try_from(intervals).ok().filter(|&n| n > 0)?;
        (seconds > 0.0).then_some(DeviceTime { seconds, intervals })
    }

    /// A function of the library.
    ///
    /// # Errors
    /// There is none of this name.
    ///
    /// # Safety
    /// `F` must be its type.
    pub(super) unsafe fn function<F>(
        &self,
        name: &str,
    ) -> Result<libloading::Symbol<'_, F>, libloading::Error> {
        // SAFETY: as promised.
        unsafe { self.library.get(name.as_bytes()) }
    }

    /// Frees the arrays of a result.
    ///
    /// # Safety
    /// `tensor` must be a result of one of this library's kernels.
    pub unsafe fn free(&self, tensor: *mut c_void) {
        // SAFETY: as promised.
        unsafe {
            if let Ok(f) = self
                .library
                .get::<unsafe extern "C" fn(*mut c_void)>(b"sparsec_release_tensor")
            {
                f(tensor);
            }
        }
    }

    /// Has the emulator, if it runs the kernels, print its findings as lines of JSON.
    pub fn findings_as_json(&self) {
        // SAFETY: the type is that in `findings.h`.
        unsafe {
            if let Ok(json) = self.library.get::<*mut bool>(b"sparsec_findings_json") {
                **json = true;
            }
        }
    }

    /// Sets the number of OpenMP threads.
    pub fn set_threads(&self, threads: u32) {
        // SAFETY: the function takes one int.
        unsafe {
            if let Ok(f) = self
                .library
                .get::<unsafe extern "C" fn(c_int)>(b"sparsec_threads")
            {
                f(c_int::try_from(threads).unwrap_or(1));
            }
        }
    }
}

/// Removes what a library was built in and of, once it is loaded: it needs its file no more, and
/// however the process ends, by a kernel that crashes for instance, nothing is left behind. The
/// emulator asks the file for lines and names when it reports something. `SPARSEC_KEEP` keeps it,
/// for debuggers and sanitizers.
fn still_needed(folder: cleanup::Folder, backend: Backend) -> Option<cleanup::Folder> {
    if std::env::var_os("SPARSEC_KEEP").is_some() {
        let (folder, _note) = folder.into_parts();
        let _ = folder.keep();
        return None;
    }
    match backend {
        Backend::C | Backend::Gpu => None,
        Backend::Emulator { .. } | Backend::Model(_) => Some(folder),
    }
}

/// The kernels under the name that [`Library`] compiles.
pub(super) fn unit(kernels: &[Kernel]) -> Unit {
    Unit {
        name: "kernels".to_string(),
        kernels: kernels.to_vec(),
    }
}

/// Compiles files that were emitted for [`unit`] into [`LIBRARY`] of a folder.
///
/// # Errors
/// No compiler, or it refuses the text.
pub(super) fn compiled(
    files: &[emit::File],
    kernels: &[Kernel],
    backend: Backend,
    trust: Trust,
    flags: &str,
    sources: &mut Sources,
) -> Result<cleanup::Folder, Failure> {
    let folder = cleanup::Folder::new().map_err(|e| no_room(sources, &e))?;
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    let mut written = Ok(());
    for file in files {
        if let Some(inside) = folder.path().join(&file.name).parent() {
            written = written.and_then(|()| std::fs::create_dir_all(inside));
        }
        written = written.and_then(|()| put(&file.name, &file.content));
    }
    written
        .and_then(|()| put("calls.c", &trampolines(kernels, backend.target())))
        .map_err(|e| no_room(sources, &e))?;
    match backend {
        Backend::C => compile(
            folder.path(),
            &["kernels.c", "calls.c"],
            trust,
            flags,
            sources,
        )?,
        Backend::Emulator { .. } | Backend::Gpu | Backend::Model(_) => {
            super::device::compile(folder.path(), backend, trust, sources)?;
        }
    }
    Ok(folder)
}

/// Functions of one signature, whatever the kernels take.
pub(super) fn trampolines(kernels: &[Kernel], target: Target) -> String {
    let mut out = String::from(
        "#include \"kernels.h\"\n\
         #ifdef _OPENMP\n#include <omp.h>\n#endif\n\
         void sparsec_threads(int n);\n\
         /* Starts them, too: the next call finds them waiting. */\n\
         void sparsec_threads(int n) {\n#ifdef _OPENMP\n    omp_set_num_threads(n);\n#pragma omp parallel\n    {\n    }\n#else\n    (void)n;\n#endif\n}\n\
         const char *sparsec_last_error(void);\n\
         const char *sparsec_last_error(void) { return sparsec_error(); }\n\
         void sparsec_release_tensor(sparsec_tensor *t);\n\
         void sparsec_release_tensor(sparsec_tensor *t) { sparsec_free_tensor(t); }\n",
    );
    let kept = |kernel: &Kernel| kernel.keeping.clone();
    let all = kernels.iter().enumerate().flat_map(|(at, kernel)| {
        let values = kept(kernel).map(|own| (at, Entry::Values, *own));
        [(at, Entry::Whole, kernel.clone())]
            .into_iter()
            .chain(values)
    });
    for (at, entry, kernel) in all {
        let args: Vec<String> = kernel
            .interface
            .checked()
            .enumerate()
            .map(|(n, (_, arg))| match arg {
                Arg::Scalar { ty, .. } => format!("*({} *)sparsec_args[{n}]", c_type(ty.compute())),
                Arg::Tensor(_) => format!("(sparsec_tensor *)sparsec_args[{n}]"),
            })
            .collect();
        let unused = if args.is_empty() {
            "(void)sparsec_args; "
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "int sparsec_{0}_{at}(void **sparsec_args);\n\
             int sparsec_{0}_{at}(void **sparsec_args) {{ {unused}return {1}({2}); }}",
            entry.word(),
            function(&kernel.name, target),
            args.join(", ")
        );
    }
    out
}

/// The flags of the C compiler.
#[must_use]
pub fn flags() -> String {
    std::env::var("SPARSEC_CFLAGS").unwrap_or_else(|_| FLAGS.to_string())
}

/// Compiles files of the folder into `kernels.so`.
fn compile(
    folder: &std::path::Path,
    files: &[&str],
    trust: Trust,
    flags: &str,
    sources: &mut Sources,
) -> Result<(), Failure> {
    let run = |openmp: bool, sources: &mut Sources| {
        let mut command = CC.command(sources)?;
        command.current_dir(folder).arg("-std=c11");
        command.args(words(flags));
        if openmp {
            command.arg("-fopenmp");
        }
        command.args(trust.flags());
        command.args(["-shared", "-fPIC", "-o", "kernels.so"]);
        // What a program calls `times` or `read` is no function of the C library's.
        if cfg!(target_os = "linux") {
            command.arg("-Wl,-Bsymbolic");
        }
        command.args(files).arg("-lm");
        Ok::<_, Failure>(cleanup::output(&mut command))
    };
    let mut output = run(true, sources)?;
    if output.as_ref().is_ok_and(|first| !first.status.success()) && !has_openmp(folder, sources)? {
        // Parallel loops run serially.
        output = run(false, sources)?;
    }
    CC.done(output, sources)
}

/// Whether the compiler builds a program with OpenMP: if it does, what it says of a kernel
/// is the kernel's fault.
fn has_openmp(folder: &std::path::Path, sources: &mut Sources) -> Result<bool, Failure> {
    let program =
        "#include <omp.h>\nint probe(void);\nint probe(void) { return omp_get_max_threads(); }\n";
    let written = std::fs::write(folder.join("probe.c"), program);
    written.map_err(|e| no_room(sources, &e))?;
    let mut command = CC.command(sources)?;
    command.current_dir(folder);
    command.args(["-fopenmp", "-shared", "-fPIC", "-o", "probe.so", "probe.c"]);
    Ok(cleanup::output(&mut command).is_ok_and(|output| output.status.success()))
}
