//! Files of the cache: where they are, whose they are, and how many there may be.

use crate::cleanup::Temporary;
use crate::diagnostic::codes::environment as codes;
use crate::diagnostic::{Diagnostic, Sources};
use crate::driver::{Failure, argument};
use std::fs::{self, File, FileTimes};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes that the cache may hold, if `SPARSEC_CACHE_SIZE` does not say.
const ROOM: u64 = 1 << 30;
/// How files begin that are being written.
const UNDER_WAY: &str = ".new-";
/// Nobody writes a file for so long: its writer was killed.
const STALE: Duration = Duration::from_secs(3600);

/// What is kept, each kind in a folder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What tuning found ([`super::entry`]).
    Schedule,
    /// A library of kernels.
    Kernel,
    /// What a tuning that is under way has measured.
    Tuning,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Schedule, Kind::Kernel, Kind::Tuning];

    fn folder(self) -> &'static str {
        match self {
            Kind::Schedule => "schedules",
            Kind::Kernel => "kernels",
            Kind::Tuning => "tunings",
        }
    }
}

/// A folder of kept files.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    room: u64,
}

/// A file, or the whole folder, that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    pub path: PathBuf,
    pub reason: String,
}

/// A file that is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
    /// When it was written last.
    pub written: SystemTime,
    /// When it was written or read last.
    pub used: SystemTime,
}

/// What the files of one kind take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub files: usize,
    pub bytes: u64,
}

impl Cache {
    /// The cache of this environment: `SPARSEC_CACHE` names its folder or says `off`, else it lies
    /// where the XDG base directory specification puts it. `None` if there is none.
    ///
    /// # Errors
    /// `SPARSEC_CACHE_SIZE` is no size.
    pub fn of_environment(sources: &mut Sources) -> Result<Option<Self>, Failure> {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let root = match folder("SPARSEC_CACHE") {
            Some(off) if off == "off" => None,
            Some(named) => Some(PathBuf::from(named)),
            None => {
                // A relative path is none, says the specification.
                let xdg = folder("XDG_CACHE_HOME").map(PathBuf::from);
                let home = || folder("HOME").map(|home| Path::new(&home).join(".cache"));
                let above = xdg.filter(|path| path.is_absolute()).or_else(home);
                above.map(|above| above.join("sparsec"))
            }
        };
        let Some(root) = root else {
            return Ok(None);
        };
        let room = match folder("SPARSEC_CACHE_SIZE") {
            None => ROOM,
            Some(text) => {
                let text = text.to_string_lossy();
                size(&text).ok_or_else(|| no_size(&text, sources))?
            }
        };
        Ok(Some(Cache { root, room }))
    }

    /// A cache in a folder, of at most so many bytes.
    #[must_use]
    pub fn new(root: PathBuf, room: u64) -> Self {
        Cache { root, room }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a file is, or would be.
    #[must_use]
    pub fn path(&self, kind: Kind, name: &str) -> PathBuf {
        self.root.join(kind.folder()).join(name)
    }

    /// The content of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// The file, or a folder above it, is somebody else's, or cannot be read.
    pub fn read(&self, kind: Kind, name: &str) -> Result<Option<Vec<u8>>, Ignored> {
        let path = self.path(kind, name);
        if !self.is_trusted(kind)? {
            return Ok(None);
        }
        let ignored = |reason: String| Ignored {
            path: path.clone(),
            reason,
        };
        let mut file = match open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ignored(error.to_string())),
        };
        let status = file.metadata().map_err(|e| ignored(e.to_string()))?;
        if !status.is_file() {
            return Err(ignored("it is no file".to_string()));
        }
        whose(&status).map_err(&ignored)?;
        if status.len() > self.room {
            return Err(ignored(format!("it has {} bytes", status.len())));
        }
        let mut content = Vec::new();
        let read = file.read_to_end(&mut content);
        read.map_err(|e| ignored(e.to_string()))?;
        // What is used stays. Where that cannot be noted, it is as old as it was. The time of
        // writing tells which of several was found last.
        let _ = file.set_times(FileTimes::new().set_accessed(SystemTime::now()));
        Ok(Some(content))
    }

    /// Writes a file, whole or not at all, and removes the oldest ones where there are too many.
    ///
    /// # Errors
    /// It cannot be written, or is larger than the cache; the folder is somebody else's.
    pub fn write(&self, kind: Kind, name: &str, content: &[u8]) -> io::Result<()> {
        if content.len() as u64 > self.room {
            return Err(io::Error::other("it is larger than the cache may be"));
        }
        let folder = self.prepare(kind)?;
        let mut beside = Temporary::make(|| {
            // Its permissions are the owner's alone.
            let mut beside = tempfile::Builder::new();
            beside.prefix(UNDER_WAY).tempfile_in(&folder)
        })?;
        beside.made().write_all(content)?;
        beside.made().flush()?;
        let (file, note) = beside.into_parts();
        file.persist(folder.join(name)).map_err(|e| e.error)?;
        drop(note);
        remove_stale(&folder);
        self.make_room(&self.path(kind, name));
        Ok(())
    }

    /// The folder of a kind, made if it is not there.
    ///
    /// # Errors
    /// It cannot be made, or is somebody else's.
    pub fn prepare(&self, kind: Kind) -> io::Result<PathBuf> {
        let folder = self.root.join(kind.folder());
        let trusted = || {
            let trusted = self.is_trusted(kind);
            trusted.map_err(|ignored| io::Error::other(ignored.reason))
        };
        // Nothing is made in a folder of somebody else's.
        if !trusted()? {
            make_own(&folder)?;
            trusted()?;
        }
        Ok(folder)
    }

    /// The files of a kind, the one that was written last first.
    ///
    /// # Errors
    /// A folder is somebody else's, or cannot be read.
    pub fn list(&self, kind: Kind) -> Result<Vec<Kept>, Ignored> {
        let folder = self.root.join(kind.folder());
        if !self.is_trusted(kind)? {
            return Ok(Vec::new());
        }
        let ignored = |error: io::Error| Ignored {
            path: folder.clone(),
            reason: error.to_string(),
        };
        let mut all = Vec::new();
        for entry in fs::read_dir(&folder).map_err(ignored)? {
            let entry = entry.map_err(ignored)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // It may be gone by now; what begins with a point is being written.
            let Ok(status) = fs::symlink_metadata(entry.path()) else {
                continue;
            };
            if name.starts_with('.') || !status.is_file() {
                continue;
            }
            let written = status.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            all.push(Kept {
                name,
                path: entry.path(),
                bytes: status.len(),
                written,
                used: status.accessed().map_or(written, |read| read.max(written)),
            });
        }
        all.sort_by(|a, b| (b.written, &a.name).cmp(&(a.written, &b.name)));
        Ok(all)
    }

    /// What the files of a kind take.
    ///
    /// # Errors
    /// As [`Cache::list`].
    pub fn usage(&self, kind: Kind) -> Result<Usage, Ignored> {
        let all = self.list(kind)?;
        Ok(Usage {
            files: all.len(),
            bytes: all.iter().map(|kept| kept.bytes).sum(),
        })
    }

    /// Removes a file.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, kept: &Kept) -> io::Result<()> {
        match fs::remove_file(&kept.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes what was not used for longest until the rest fits; never the file `kept`.
    fn make_room(&self, newest: &Path) {
        let each = Kind::ALL.map(|kind| self.list(kind).unwrap_or_default());
        let mut all: Vec<Kept> = each.into_iter().flatten().collect();
        all.sort_by_key(|kept| kept.used);
        let mut bytes: u64 = all.iter().map(|kept| kept.bytes).sum();
        for kept in all.iter().filter(|kept| kept.path != newest) {
            if bytes <= self.room {
                break;
            }
            // Another process may have removed it; what cannot be removed stays.
            if self.remove(kept).is_ok() {
                bytes -= kept.bytes;
            }
        }
    }

    /// Whether the folder of a kind is there.
    ///
    /// # Errors
    /// It, or the cache's own folder, is somebody else's.
    fn is_trusted(&self, kind: Kind) -> Result<bool, Ignored> {
        for folder in [self.root.clone(), self.root.join(kind.folder())] {
            let ignored = |reason: String| Ignored {
                path: folder.clone(),
                reason,
            };
            match fs::metadata(&folder) {
                Ok(status) if status.is_dir() => whose(&status).map_err(ignored)?,
                Ok(_) => return Err(ignored("it is no folder".to_string())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(ignored(error.to_string())),
            }
        }
        Ok(true)
    }
}

/// Removes what writers that were killed left half done.
fn remove_stale(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_new = entry.file_name().to_string_lossy().starts_with(UNDER_WAY);
        let written = entry.metadata().and_then(|status| status.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if is_new && age.is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes a folder and those above it, for the owner alone.
fn make_own(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file to be read, links not followed.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        // A pipe in the file's place is opened, not waited for.
        libc::O_NOFOLLOW | libc::O_NONBLOCK,
    );
    options.open(path)
}

/// Whether nobody but the user can have written it.
#[cfg(unix)]
fn whose(status: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    if status.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to somebody else".to_string());
    }
    if status.mode() & 0o022 != 0 {
        return Err("others may write to it".to_string());
    }
    Ok(())
}

#[cfg(not(unix))]
fn whose(_: &fs::Metadata) -> Result<(), String> {
    Ok(())
}

/// Bytes, perhaps in `K`, `M` or `G`, which are powers of 1024.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn no_size(text: &str, sources: &mut Sources) -> Failure {
    let span = argument(sources, "environment", text);
    Diagnostic::error(
        codes::COMMAND_LINE,
        span,
        "SPARSEC_CACHE_SIZE is no size",
        "no number of bytes",
    )
    .with_help("write bytes, or 500M or 2G")
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(room: u64) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"), room);
        (folder, cache)
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("17"), Some(17));
        assert_eq!(size("3k"), Some(3 << 10));
        assert_eq!(size(" 2 G "), Some(2 << 30));
        assert_eq!(size("x"), None);
        assert_eq!(size(""), None);
        assert_eq!(size("99999999999G"), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let (_folder, cache) = cache(100);
        assert_eq!(cache.read(Kind::Kernel, "a"), Ok(None));
        cache.write(Kind::Kernel, "a", b"one").unwrap();
        cache.write(Kind::Kernel, "a", b"two").unwrap();
        assert_eq!(cache.read(Kind::Kernel, "a"), Ok(Some(b"two".to_vec())));
        assert_eq!(cache.read(Kind::Schedule, "a"), Ok(None));
        let usage = cache.usage(Kind::Kernel).unwrap();
        assert_eq!((usage.files, usage.bytes), (1, 3));
    }

    #[test]
    fn the_oldest_goes() {
        let (_folder, cache) = cache(10);
        let age = |name: &str, seconds: u64| {
            let file = File::open(cache.path(Kind::Kernel, name)).unwrap();
            let then = SystemTime::now() - Duration::from_secs(seconds);
            let times = FileTimes::new().set_accessed(then).set_modified(then);
            file.set_times(times).unwrap();
        };
        cache.write(Kind::Kernel, "a", &[0; 4]).unwrap();
        cache.write(Kind::Kernel, "b", &[0; 4]).unwrap();
        age("a", 20);
        age("b", 30);
        cache.write(Kind::Schedule, "c", &[0; 4]).unwrap();
        assert_eq!(cache.read(Kind::Kernel, "b"), Ok(None));
        assert!(cache.read(Kind::Kernel, "a").unwrap().is_some());
        // One that is larger than all room pushes nothing out.
        assert!(cache.write(Kind::Kernel, "d", &[0; 11]).is_err());
        assert!(!cache.path(Kind::Kernel, "d").exists());
        assert!(cache.path(Kind::Kernel, "a").exists());
        // What was read stays; what was written last is listed first all the same.
        cache.write(Kind::Kernel, "e", &[0; 1]).unwrap();
        age("a", 40);
        age("e", 20);
        cache.read(Kind::Kernel, "a").unwrap();
        let names = |cache: &Cache| {
            let all = cache.list(Kind::Kernel).unwrap();
            all.into_iter().map(|kept| kept.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&cache), ["e", "a"]);
        cache.write(Kind::Schedule, "f", &[0; 2]).unwrap();
        assert_eq!(names(&cache), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_write_is_not_read() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, cache) = cache(100);
        cache.write(Kind::Kernel, "a", b"one").unwrap();
        let mode = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let own = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = cache.path(Kind::Kernel, "a");
        assert_eq!((own(cache.root()), own(&file)), (0o700, 0o600));
        let refused = || cache.read(Kind::Kernel, "a").unwrap_err();
        mode(&file, 0o620);
        assert_eq!(refused().path, file);
        mode(&file, 0o600);
        mode(cache.root(), 0o777);
        assert_eq!(refused().path, cache.root());
        assert!(cache.write(Kind::Kernel, "b", b"two").is_err());
        assert!(cache.list(Kind::Kernel).is_err());
        mode(cache.root(), 0o700);
        // A link leads where somebody else writes.
        let link = cache.path(Kind::Kernel, "l");
        std::os::unix::fs::symlink(&file, link).unwrap();
        assert!(cache.read(Kind::Kernel, "l").is_err());
    }

    /// Each file is one of those that were written, at any time.
    #[test]
    fn writers_at_once_lose_nothing() {
        let (_folder, cache) = cache(1 << 20);
        std::thread::scope(|scope| {
            for writer in 0..4u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for n in 0..20 {
                        let own = format!("{writer}-{n}");
                        cache.write(Kind::Schedule, &own, own.as_bytes()).unwrap();
                        let shared = [writer; 1000];
                        cache.write(Kind::Schedule, "shared", &shared).unwrap();
                        let read = cache.read(Kind::Schedule, "shared").unwrap().unwrap();
                        assert!(read.len() == 1000 && read.iter().all(|b| *b == read[0]));
                    }
                });
            }
        });
        let names = cache.list(Kind::Schedule).unwrap();
        assert_eq!(names.len(), 81);
    }
}
