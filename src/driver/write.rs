//! Files out: written only where they change, or compared.

use crate::emit::File;
use crate::files::{MadeFolders, Staged, stage};
use std::path::{Path, PathBuf};

/// Writes each file whose content differs; others keep their time stamp. Either all are
/// written or none is. `rule` is one more file, with its content, which names the others and so is placed behind them.
///
/// # Errors
/// The folder or a file cannot be written: with its path.
pub fn write(
    folder: &Path,
    files: &[File],
    rule: Option<(&Path, &str)>,
) -> Result<(), (PathBuf, std::io::Error)> {
    let mut folders = MadeFolders::default();
    let mut staged = Vec::new();
    let in_folder = |error| (folder.to_path_buf(), error);
    folders.make(folder).map_err(in_folder)?;
    for file in files {
        let path = folder.join(&file.name);
        if let Some(inside) = path.parent() {
            folders.make(inside).map_err(in_folder)?;
        }
        let new = stage_if_changed(&path, &file.content).map_err(in_folder)?;
        staged.extend(new.map(|new| (new, folder)));
    }
    if let Some((path, content)) = rule {
        let new = stage_if_changed(path, content).map_err(|error| (path.to_path_buf(), error))?;
        staged.extend(new.map(|new| (new, path)));
    }
    for (file, path) in staged {
        file.place().map_err(|error| (path.to_path_buf(), error))?;
    }
    folders.keep();
    Ok(())
}

/// Writes a file unless it has this content already.
///
/// # Errors
/// The file cannot be written.
pub fn write_if_changed(path: &Path, content: &str) -> std::io::Result<()> {
    stage_if_changed(path, content)?.map_or(Ok(()), Staged::place)
}

fn stage_if_changed(path: &Path, content: &str) -> std::io::Result<Option<Staged>> {
    // Only files have content: whoever reads a pipe waits for it.
    let same = path.is_file() && std::fs::read(path).is_ok_and(|old| old == content.as_bytes());
    if same {
        return Ok(None);
    }
    stage(path, |file| file.write_all(content.as_bytes()))
}

/// A unified diff from what is on disk to what would be written; empty if nothing
/// differs.
///
/// # Errors
/// Something is in the place of a file, and cannot be read.
pub fn diff(folder: &Path, files: &[File]) -> Result<String, (PathBuf, std::io::Error)> {
    let mut out = String::new();
    for file in files {
        let path = folder.join(&file.name);
        let (old, missing) = match std::fs::read(&path) {
            Ok(old) => (String::from_utf8_lossy(&old).into_owned(), false),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (String::new(), true),
            Err(error) => return Err((path, error)),
        };
        if old == file.content && !missing {
            continue;
        }
        let from = if missing {
            "/dev/null".to_string()
        } else {
            path.display().to_string()
        };
        let to = format!("{} (would be written)", path.display());
        out += &unified(&from, &to, &old, &file.content);
    }
    Ok(out)
}

/// A unified diff of two texts, under these names.
#[must_use]
pub fn unified(from: &str, to: &str, old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new)
        .unified_diff()
        .header(from, to)
        .to_string()
}

/// A make rule: the outputs depend on the inputs. Inputs get empty rules of their own,
/// so that one that was deleted does not break make. A name with `=` stands there by a variable: make would take the
/// rule for an assignment.
///
/// # Errors
/// A name that make cannot be told.
pub fn depfile(outputs: &[PathBuf], inputs: &[PathBuf]) -> Result<String, PathBuf> {
    let all = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|path| for_make(path))
            .collect::<Result<_, _>>()
    };
    let (outs, ins): (Vec<String>, Vec<String>) = (all(outputs)?, all(inputs)?);
    // Of a target a percent sign would stand for anything.
    let target = |name: &String| name.replace('%', "\\%");
    let targets: Vec<String> = outs.iter().map(target).collect();
    let mut out = format!("{}: {}\n", targets.join(" "), ins.join(" "));
    for input in &ins {
        out += &format!("{}:\n", target(input));
    }
    if out.contains(EQUALS) {
        out.insert_str(0, "sparsec_equals := =\n");
    }
    Ok(out)
}

/// What stands for `=` in names of a rule.
const EQUALS: &str = "$(sparsec_equals)";

/// A name in a rule of make.
fn for_make(path: &Path) -> Result<String, PathBuf> {
    // Ends of rules, other words, patterns of names, members of archives, and what stands before these.
    const TAKEN_APART: [char; 11] = [';', '|', '\n', '\r', '\t', '[', '*', '?', '(', ')', '\\'];
    let name = path.to_str().filter(|name| !name.contains(TAKEN_APART));
    let Some(name) = name else {
        return Err(path.to_path_buf());
    };
    let name = name
        .replace('$', "$$")
        .replace(' ', "\\ ")
        .replace('#', "\\#");
    Ok(name.replace(':', "\\:").replace('=', EQUALS))
}
