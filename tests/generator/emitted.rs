//! The files that a user gets, compiled as they are: all functions together, under their own
//! names, with warnings, and the header as C++.

use crate::program::File;
use std::path::Path;
use std::process::Command;

/// Compiles what sparsec writes for a file that it accepts.
///
/// # Errors
/// What the compiler says.
pub fn compile(file: &File, path: &Path) -> Result<(), String> {
    if file.cuda {
        return Ok(());
    }
    std::fs::write(path, file.text()).unwrap();
    let out = path.with_extension("out");
    let written = Command::new(env!("CARGO_BIN_EXE_sparsec"))
        .args(file.args(&path.display().to_string()))
        .arg("-o")
        .arg(&out)
        .output()
        .unwrap();
    assert!(written.status.success(), "it was compiled before");
    // What a program says, the compiler says again; none is about what the emitter adds.
    let allowed = [
        // An index variable in a tile, `int64_t i = i_o * 2 + i_i;`, whose only readers are
        // subscripts that `--size J=0` folds: `(i * J + j)`.
        "-Wno-unused-variable",
        // Data that bound a range are checked against the extents: `0 < n[i] && 1 < n[i]`, which
        // no bool `n` can be, nor can a `uint8` be below 0.
        "-Wno-type-limits",
        // A bool compared with a number that none is: `bool(x) < 2`, and the assertion of
        // `bound(i, ib, 64, MaxConstraint)` where a bool counts the values of `i`.
        "-Wno-bool-compare",
        // An element compared with itself: `s == s` of a scalar.
        "-Wno-tautological-compare",
    ];
    let compiler = |name: &str, usual: &str| {
        let mut command = Command::new(std::env::var_os(name).unwrap_or_else(|| usual.into()));
        command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]);
        command.args(allowed);
        command
    };
    let name = match file.taco {
        Some(_) => Path::new(sparsec::syntax::taco::FUNCTION),
        None => Path::new(path.file_name().unwrap()),
    };
    let mut c = compiler("CC", "cc");
    c.args(["-std=c11", "-fopenmp"]);
    c.arg(out.join(name.with_extension("c")));
    let mut cpp = compiler("CXX", "c++");
    cpp.args(["-std=c++11", "-x", "c++"]);
    cpp.arg(out.join(name.with_extension("h")));
    for mut command in [c, cpp] {
        let output = command.output().unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    Ok(())
}
