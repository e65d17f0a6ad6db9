//! Names that the headers of C, C++ and POSIX take: macros, which no name of a kernel may be, and functions, types
//! and variables, which a function of the user must not declare again. These are the headers that a program may
//! include beside a kernel's, not only those that the kernel includes. `taken/words.list` has the names.

use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Each name of a kernel is looked up, so the lists are split once.
type Words = LazyLock<BTreeSet<&'static str>>;

static FAMILIES: Words = LazyLock::new(|| words(&["families"]));
static LIMITED: Words = LazyLock::new(|| words(&["limited"]));
static MACROS: Words = LazyLock::new(|| words(&["macros"]));
static FUNCTIONS: Words = LazyLock::new(|| words(&["functions", "gnu", "posix", "types"]));
static APIS: LazyLock<BTreeMap<&'static str, BTreeSet<&'static str>>> = LazyLock::new(|| {
    let apis = Target::ALL
        .into_iter()
        .filter_map(|target| target.properties().api);
    apis.map(|api| (api, words(&[api]))).collect()
});

/// The words under these headings.
fn words(headings: &[&str]) -> BTreeSet<&'static str> {
    let parts = include_str!("taken/words.list").split("\n[").skip(1);
    let parts = parts.filter_map(|part| part.split_once("]\n"));
    let asked = parts.filter(|(heading, _)| headings.contains(heading));
    let lines = asked.flat_map(|(_, part)| part.lines().filter(|line| !line.starts_with('#')));
    lines.flat_map(str::split_whitespace).collect()
}

/// Whether a header has a macro of this name that stands for something without arguments.
#[must_use]
pub fn is_macro(name: &str) -> bool {
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    // `M_PIf128` is of a family, too: what widths add is cut off.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    let stem = stem.strip_suffix(['f', 'l']).unwrap_or(name);
    let family = FAMILIES.iter().any(|family| {
        let rest = stem.strip_prefix(family);
        rest.is_some_and(|rest| rest.chars().all(capital))
    });
    let capitals = name.chars().all(capital);
    let limit = capitals
        && LIMITED.iter().any(|first| name.starts_with(first))
        && ["_MAX", "_MIN", "_WIDTH"]
            .iter()
            .any(|last| name.ends_with(last));
    // C keeps E and capitals for numbers of errors.
    let error = capitals && name.starts_with('E') && name.len() > 2 && !name.contains('_');
    family || limit || error || MACROS.contains(name)
}

/// Beginnings of whole families of functions.
const CALLED_FAMILIES: [&str; 7] = [
    "atomic_", "cnd_", "mtx_", "omp_", "pthread_", "thrd_", "tss_",
];

/// Whether a header of C, C++ or POSIX declares a function, a type or a variable of this name.
#[must_use]
pub fn is_of_library(name: &str) -> bool {
    let known = |name: &str| FUNCTIONS.contains(name);
    let variant = name.strip_suffix(['f', 'l']);
    // `lgammaf32x_r`, `strtof64_l`, `f32addf64`
    let end = name.strip_suffix("_r").or(name.strip_suffix("_l"));
    let of_width = WIDTHS.iter().any(|width| {
        let stem = |name: &str| {
            name.strip_suffix(width)
                .is_some_and(|stem| known(stem) || is_narrow(stem))
        };
        stem(name) || end.is_some_and(stem)
    });
    let family = CALLED_FAMILIES.iter().any(|first| name.starts_with(first));
    known(name) || family || variant.is_some_and(known) || of_width
}

/// What the widths of floats add to the names of functions.
const WIDTHS: [&str; 5] = ["f32", "f32x", "f64", "f64x", "f128"];

/// `f32add`: what adds, rounded to that width.
fn is_narrow(stem: &str) -> bool {
    let operations = ["add", "div", "fma", "mul", "sqrt", "sub"];
    let mut widths = WIDTHS.iter().filter_map(|width| stem.strip_prefix(width));
    widths.any(|operation| operations.contains(&operation))
}

/// Whether the runtime whose functions begin with `api` takes this name beyond what C does.
#[must_use]
pub fn is_of_api(name: &str, api: &str) -> bool {
    let known = |name: &str| APIS.get(api).is_some_and(|words| words.contains(name));
    let rest = name.strip_prefix(api).unwrap_or_default();
    let is_call = rest.starts_with(|c: char| c.is_ascii_uppercase());
    known(name) || name.strip_suffix('f').is_some_and(known) || is_call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::{RUNTIME_HEADER, cuda, names};
    use std::process::Command;

    /// What programs may include beside a kernel's header, and what C++ has no more.
    const BESIDE: &str = "assert ctype dirent errno fcntl fenv float inttypes iso646 limits locale math
        poll pthread sched semaphore setjmp signal stdarg stddef stdint stdio stdlib string strings
        sys/mman sys/select sys/socket sys/stat sys/time sys/types sys/wait termios time unistd wchar wctype";
    const OF_C: &str = "stdalign stdatomic stdbool stdnoreturn threads";

    /// What a compiler prints for a header and those beside it.
    fn printed(compiler: &str, header: &str, args: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparsec.h");
        let include =
            |name| format!("#if __has_include(<{name}.h>)\n#include <{name}.h>\n#endif\n");
        let all: String = BESIDE.split_whitespace().map(include).collect();
        let of_c: String = OF_C.split_whitespace().map(include).collect();
        let text = format!("{header}\n{all}#ifndef __cplusplus\n{of_c}#endif\n");
        std::fs::write(&path, text).unwrap();
        let mut command = Command::new(compiler);
        command.arg("-DSPARSEC_IMPLEMENTATION").args(args).arg(path);
        let output = command.output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// With everything that this machine's headers define or declare.
    #[test]
    fn what_headers_have_taken_is_known() {
        let cuda = cuda::runtime_header();
        let c = ["-std=gnu17", "-fopenmp", "-dM", "-E", "-xc"];
        let cpp = ["-std=gnu++17", "-fopenmp", "-dM", "-E", "-xc++"];
        let mut text = String::new();
        for (compiler, header, args) in [
            ("cc", RUNTIME_HEADER, c),
            ("clang", RUNTIME_HEADER, c),
            ("c++", RUNTIME_HEADER, cpp),
            ("c++", &cuda, cpp),
            ("clang++", RUNTIME_HEADER, cpp),
        ] {
            text += &printed(compiler, header, &args).unwrap_or_default();
        }
        assert!(text.contains("M_PI"), "no compiler prints macros");
        let mut missing = Vec::new();
        let defines = text.lines().filter_map(|l| l.strip_prefix("#define "));
        for define in defines {
            let name = define.split(' ').next().unwrap_or_default();
            let taken = match name.split_once('(') {
                Some((name, _)) => names::function(name, Target::Cuda) != name,
                None => names::identifier(name) != name,
            };
            if !taken {
                missing.push(name);
            }
        }
        missing.sort_unstable();
        missing.dedup();
        assert!(missing.is_empty(), "macros: {}", missing.join(" "));
    }

    /// GCC lists what its headers declare.
    #[test]
    fn functions_of_headers_are_known() {
        let list = [
            "-std=gnu17",
            "-fopenmp",
            "-fsyntax-only",
            "-aux-info",
            "/dev/stdout",
            "-xc",
        ];
        let Some(text) = printed("gcc", RUNTIME_HEADER, &list) else {
            println!("skipped: no gcc");
            return;
        };
        assert!(text.contains("random"));
        let names = text.lines().filter_map(|line| {
            let (declared, _) = line.split_once(" (")?;
            declared.rsplit([' ', '*']).next()
        });
        let missing: Vec<&str> = names
            .filter(|name| names::function(name, Target::C) == **name)
            .collect();
        assert!(missing.is_empty(), "functions: {}", missing.join(" "));
    }

    /// Those of POSIX, whatever headers this machine has.
    #[test]
    fn names_of_other_headers_are_known() {
        let parameters =
            "SIGINT B0 st_mtime PRId64 SCNxPTR S_IFMT O_RDONLY AF_INET DBL_MAX PATH_MAX noreturn
            ECHO VMIN si_pid R_OK co_await co_yield co_return char8_t STDIN_FILENO";
        for name in parameters.split_whitespace() {
            assert_eq!(names::identifier(name), format!("{name}_"));
        }
        let functions =
            "send bind raise nice sync assert environ stat connect listen mmap poll sigaction
            tcgetattr imaxabs pthread_join atomic_load optarg signgam FILE ssize_t isatty";
        for name in functions.split_whitespace() {
            assert_eq!(names::function(name, Target::C), format!("{name}_"));
        }
    }

    #[test]
    fn names_that_only_look_like_them_are_free() {
        for name in ["M", "E1", "EI", "M_rows", "MODE", "INT", "N_MAX", "total"] {
            assert!(!is_macro(name), "{name}");
        }
        for name in ["norm", "normf", "max", "cudaMalloc"] {
            assert!(is_of_api(name, "cuda") && !is_of_library(name), "{name}");
        }
        for name in [
            "fadd",
            "faddl",
            "f32addf64",
            "tanhf32x",
            "lgammaf64_r",
            "strtof32_l",
        ] {
            assert!(is_of_library(name), "{name}");
        }
        for name in ["normal", "cudaf", "cuda", "add", "f32add", "x_r"] {
            assert!(!is_of_library(name) && !is_of_api(name, "cuda"), "{name}");
        }
        for name in [
            "total", "cell", "conv2d", "spmv", "elf", "B1", "SIGMA", "spmv_t", "step", "sends",
        ] {
            assert!(!is_macro(name), "{name}");
            assert!(!is_of_library(name), "{name}");
        }
    }
}
