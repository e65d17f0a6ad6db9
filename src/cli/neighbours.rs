//! Programs of another target in the folder that a program is written into.

use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Severity, Sources};
use crate::driver::argument;
use crate::emit::{self, File};
use crate::target::Target;
use std::path::Path;

/// What every file with kernels begins with.
const WRITTEN: &[u8] = b"/* Written by sparsec. */\n";

/// The runtime's header, which every target has under this name.
const HEADER: &str = "sparsec.h";

/// Says that programs of another target lose the header that they need, if files of the program `name` take its place.
pub(super) fn warning(
    folder: &Path,
    (name, target): (&str, Target),
    files: &[File],
    sources: &mut Sources,
) -> Option<Diagnostic> {
    let old = std::fs::read(folder.join(HEADER)).ok()?;
    let own = files.iter().find(|file| file.name == HEADER)?;
    if old == own.content.as_bytes() {
        return None;
    }
    let other = other(folder, name, target)?;
    let path = folder.display().to_string();
    let span = argument(sources, "command line", &path);
    let word = target.properties().word;
    let message =
        format!("{other} in {path} is not for {word}, and needs another {HEADER} and Makefile");
    let label = format!("has those for {word} now");
    let warning = Diagnostic::new(Severity::Warning, codes::TWO_TARGETS, span, message, label);
    Some(warning.with_help("write programs of each target into a folder of their own with `-o`"))
}

/// The first file with kernels for another target, of another program.
fn other(folder: &Path, name: &str, target: Target) -> Option<String> {
    let others = Target::ALL.into_iter().filter(|other| *other != target);
    let targets: Vec<Target> = others.collect();
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names.into_iter().find(|file| {
        let Some(stem) = Path::new(file).file_stem().and_then(|stem| stem.to_str()) else {
            return false;
        };
        let of_kernels = |target: &Target| emit::file_names(stem, *target).first() == Some(file);
        stem != name
            && targets.iter().any(of_kernels)
            && folder.join(file).is_file()
            && std::fs::read(folder.join(file)).is_ok_and(|text| text.starts_with(WRITTEN))
    })
}
