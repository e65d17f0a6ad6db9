//! Files that are written whole or not at all.

use crate::cleanup::Registered;
use std::io::Write;
use std::path::Path;

/// Writes a file beside its place and moves it there once it is complete: who is interrupted
/// leaves the old content or the new, and who reads meanwhile sees one of them. What is no
/// file, as `/dev/stdout`, is written to.
///
/// # Errors
/// The file cannot be written or moved.
pub fn whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    // A link stays one: what it points to is replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = std::fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
        write(&mut file)?;
        return file.flush();
    }
    let folder = target.parent().filter(|f| !f.as_os_str().is_empty());
    let mut beside = tempfile::Builder::new();
    beside.prefix(".sparsec-");
    #[cfg(unix)]
    let everyone: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    beside.permissions(everyone);
    let mut file = beside.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    let _registered = Registered::new(file.path());
    write(&mut file)?;
    file.flush()?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.persist(&target).map_err(|e| e.error)?;
    Ok(())
}
