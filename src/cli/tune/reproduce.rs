//! A folder that shows a fault of the compiler: the program, the schedule, and the command.

use super::Tuning;
use crate::driver::build::Backend;
use crate::driver::tune::race::Fault;
use crate::driver::{Request, Source};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Writes it beside what the tuning writes; its path.
///
/// # Errors
/// What cannot be written.
pub(super) fn write(
    request: &Request,
    tuning: &Tuning,
    fault: &Fault,
    reason: &str,
) -> Result<PathBuf, (PathBuf, io::Error)> {
    let above = tuning.args.output.as_deref().and_then(Path::parent);
    let above = above.filter(|path| !path.as_os_str().is_empty());
    let above = above.unwrap_or(Path::new("."));
    let text = fault.script.join("\n") + "\n";
    // The same fault has the same folder.
    let name = crate::driver::cache::short_hash(&text);
    let folder = above.join(format!("{}-wrong-{name}", tuning.function.name));
    let failed = |path: &Path, error: io::Error| (path.to_path_buf(), error);
    std::fs::create_dir_all(&folder).map_err(|e| failed(&folder, e))?;
    let put = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(|e| failed(&path, e))
    };
    put("wrong.sched", text.as_bytes())?;
    let mut command = String::from("sparsec run");
    match &request.source {
        Source::File(path) => {
            let program = std::fs::read(path).map_err(|e| failed(path, e))?;
            put("program.tc", &program)?;
            command += &format!(" {}", quoted(folder.join("program.tc")));
        }
        Source::Text { .. } | Source::Taco(_) => {
            for expr in &tuning.args.program.exprs {
                command += &format!(" -e {}", quoted(expr));
            }
            for (option, values) in [
                ("-f", &tuning.args.program.formats_of),
                ("-t", &tuning.args.program.types),
                ("-d", &tuning.args.program.dims),
            ] {
                for value in values {
                    command += &format!(" {option} {}", quoted(value));
                }
            }
        }
    }
    for (option, value) in [
        (
            "--formats",
            request
                .formats
                .as_ref()
                .map(|path| path.display().to_string()),
        ),
        ("--def", request.def.clone()),
        ("--index", request.index_bits.map(|bits| bits.to_string())),
    ] {
        if let Some(value) = value {
            command += &format!(" {option} {}", quoted(value));
        }
    }
    for (name, value) in &request.sizes {
        command += &format!(" --size {name}={value}");
    }
    command += &format!(" --schedule {}", quoted(folder.join("wrong.sched")));
    for binding in tuning.sets.get(fault.set).into_iter().flatten() {
        command += &format!(" {}", quoted(binding));
    }
    match tuning.backend {
        Backend::C => command += &format!(" --threads {}", tuning.threads),
        Backend::Emulator { .. } | Backend::Gpu | Backend::Model(_) => command += " --target cuda",
    }
    let machine = &tuning.machine;
    let text = format!(
        "{reason}\n\n{command} --verify\n\nsparsec {}; {} ({}), {}; {}, {} cores\n",
        crate::driver::cache::key::build(),
        machine.version,
        machine.compiler,
        machine.flags,
        machine.cpu,
        machine.cores,
    );
    put("README", text.as_bytes())?;
    Ok(folder)
}

/// A word as shells take it.
fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
