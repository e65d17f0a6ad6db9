//! What a command writes takes the place of nothing that it reads, nor of anything else that it writes.

use super::Reporter;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::environment as codes;
use crate::driver::{Failure, argument};
use std::path::{Path, PathBuf};

/// A file that is to be written, and what names it on the command line.
pub(super) struct Place<'p> {
    pub option: &'static str,
    pub path: &'p Path,
}

/// Refuses what would be lost, before anything is written.
///
/// # Errors
/// A place is that of a file that is read, or of another place.
pub(super) fn check<'r>(
    places: &[Place],
    read: impl IntoIterator<Item = &'r Path>,
    reporter: &mut Reporter,
) -> Result<(), Failure> {
    let read: Vec<PathBuf> = read.into_iter().map(file).collect();
    let mut written: Vec<PathBuf> = Vec::new();
    for place in places.iter().filter(|place| is_replaced(place.path)) {
        let own = file(place.path);
        let (kept, label) = if read.contains(&own) {
            ("that is read", "read and written")
        } else if written.contains(&own) {
            ("that is written, too", "written twice")
        } else {
            written.push(own);
            continue;
        };
        let path = place.path.display().to_string();
        let span = argument(&mut reporter.sources, place.option, &path);
        let message = format!("{path} would take the place of a file {kept}");
        let error = Diagnostic::error(codes::COMMAND_LINE, span, message, label);
        return Err(error.with_help(help(place.option)).into());
    }
    Ok(())
}

/// The option of files whose names follow from the program's.
pub(super) const FOLDER: &str = "-o DIR";

fn help(option: &str) -> &'static str {
    match option == FOLDER {
        true => "write into another folder with `-o`, or give what is read another name",
        false => "give each file a name of its own",
    }
}

/// The files that bindings of the command line name.
pub(super) fn data(bindings: &[String]) -> impl Iterator<Item = &Path> {
    let named = bindings.iter().filter_map(|text| text.split_once('='));
    named.map(|(_, what)| Path::new(what))
}

/// Pipes and devices take what is written to them, and keep nothing.
fn is_replaced(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |old| old.is_file())
}

/// The file that a path leads to, be it there or not.
fn file(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let above = match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        Some(_) | None => Path::new("."),
    };
    if above == path {
        return path.to_path_buf();
    }
    let mut folder = file(above);
    match path.file_name() {
        Some(name) => folder.push(name),
        None => {
            folder.pop();
        }
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| file(&folder.path().join(path));
        std::fs::write(folder.path().join("a"), "").unwrap();
        for other in ["./a", "gone/../a", "./gone/./../a"] {
            assert_eq!(at("a"), at(other), "{other}");
        }
        for other in ["new/./b", "new/c/../b", "gone/../new/b"] {
            assert_eq!(at("new/b"), at(other), "{other}");
        }
        assert_ne!(at("a"), at("new/a"));
    }

    #[test]
    #[cfg(unix)]
    fn links_lead_to_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::write(at("a"), "").unwrap();
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        assert_eq!(file(&at("a")), file(&at("link")));
        assert!(!is_replaced(Path::new("/dev/null")));
    }
}
