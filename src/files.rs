//! Files that are written whole or not at all.

use crate::cleanup::Temporary;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is complete, beside its place.
pub struct Staged {
    beside: Temporary<tempfile::NamedTempFile>,
    place: PathBuf,
}

impl Staged {
    /// Moves the file to its place. Nothing is left to do that takes room.
    ///
    /// # Errors
    /// The place may not be written.
    pub fn place(self) -> io::Result<()> {
        let (file, note) = self.beside.into_parts();
        file.persist(&self.place).map_err(|e| e.error)?;
        drop(note);
        Ok(())
    }
}

/// Writes a file beside its place, to be moved there once it and all that belongs to it are
/// complete: who is interrupted leaves the old content or the new, and who reads meanwhile sees
/// one of them. What is no file, and what standard output or error goes to, as `/dev/stdout`, is written to: there is
/// nothing to place.
///
/// # Errors
/// The file cannot be written.
pub fn stage(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Option<Staged>> {
    if let Some(mut stream) = stream(path) {
        write(&mut stream)?;
        stream.flush()?;
        return Ok(None);
    }
    // A link stays one: what it points to is replaced.
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| {
        let last = links(path).last();
        last.unwrap_or_else(|| path.to_path_buf())
    });
    let old = std::fs::metadata(&place).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
        write(&mut file)?;
        file.flush()?;
        return Ok(None);
    }
    let folder = place.parent().filter(|f| !f.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut beside = Temporary::make(|| {
        let mut beside = tempfile::Builder::new();
        beside.prefix(".sparsec-");
        // An error speaks of the path that the caller named, and is the same each time: none of the name drawn here.
        let mut refused = None;
        let made = beside.make_in(folder, |path| {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o666);
            options.open(path).inspect_err(|error| {
                refused = error.raw_os_error();
            })
        });
        made.map_err(|error| refused.map_or(error, io::Error::from_raw_os_error))
    })?;
    let file = beside.made();
    write(file)?;
    file.flush()?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(Some(Staged { beside, place }))
}

/// The stream that a name of the system's stands for, as `/dev/stdout`, or a link to one: opened anew the file behind it
/// would be written from its beginning.
#[cfg(unix)]
fn stream(path: &Path) -> Option<Box<dyn Write>> {
    use std::os::unix::fs::MetadataExt;
    let is_system = |place: &PathBuf| place.starts_with("/dev") || place.starts_with("/proc");
    links(path).find(is_system)?;
    let own = std::fs::metadata(path).ok()?;
    let is = |fd: i32| {
        let other = std::fs::metadata(format!("/dev/fd/{fd}"));
        other.is_ok_and(|other| (own.dev(), own.ino()) == (other.dev(), other.ino()))
    };
    if is(1) {
        return Some(Box::new(io::stdout()));
    }
    is(2).then(|| Box::new(io::stderr()) as Box<dyn Write>)
}

#[cfg(not(unix))]
fn stream(_: &Path) -> Option<Box<dyn Write>> {
    None
}

/// A path, and what it points to as a link, through others.
fn links(path: &Path) -> impl Iterator<Item = PathBuf> {
    const MOST: usize = 40;
    let next = |place: &PathBuf| {
        let next = std::fs::read_link(place).ok()?;
        Some(
            place
                .parent()
                .map_or_else(|| next.clone(), |folder| folder.join(&next)),
        )
    };
    std::iter::successors(Some(path.to_path_buf()), next).take(MOST)
}

/// Whether [`stage`] will find a place to write to; nothing stays behind, and what is there is as
/// it was. Pipes and devices are not opened: whoever reads there would find an end.
///
/// # Errors
/// As [`stage`], as far as that is known without a content.
pub fn check(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(old) if !old.is_file() && !old.is_dir() => Ok(()),
        Ok(_) if stream(path).is_some() => Ok(()),
        Ok(_) | Err(_) => stage(path, |_| Ok(())).map(drop),
    }
}

/// Folders that were made for files to come; removed again unless they are kept.
#[derive(Default)]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// One cannot be made.
    pub fn make(&mut self, folder: &Path) -> io::Result<()> {
        let missing = folder.ancestors().take_while(|above| {
            !above.as_os_str().is_empty() && std::fs::symlink_metadata(above).is_err()
        });
        let missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        let made = std::fs::create_dir_all(folder);
        self.0.extend(missing.into_iter().rev());
        made
    }

    /// The files are there.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.0.drain(..).rev() {
            // Only an empty one: others may have put something there.
            let _ = std::fs::remove_dir(folder);
        }
    }
}
