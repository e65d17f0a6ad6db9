//! Compiled kernels that `sparsec run` keeps: a second run of the same command finds its library.
//!
//! A file is a line that says what it is, and the library behind it. What is loaded are bytes whose
//! hash was checked, from a place of this process's own.

use super::key::build;
use super::{Cache, Ignored, Kind, hash};
use crate::cleanup;
use crate::diagnostic::Sources;
use crate::driver::build::{Backend, LIBRARY, Library, Trust, compiled, flags, trampolines, unit};
use crate::driver::tools::{CC, CXX, NVCC, Tool, no_room};
use crate::driver::{Failure, device};
use crate::emit;
use crate::loops::ir::Kernel;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "sparsec-kernel-1";

/// The line in front of a library.
#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    key: String,
    /// SHA-256 of the library.
    checksum: String,
}

/// What compilers read besides their arguments.
const ENVIRONMENT: &[&str] = &[
    "NVCC_CCBIN",
    "CPLUS_INCLUDE_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
];

/// A library of kernels, from the cache if it is there, and put there if it is not. What is not used is
/// told.
///
/// # Errors
/// As [`Library::build`].
pub fn library(
    kernels: &[Kernel],
    (backend, trust): (Backend, Trust),
    cache: &Cache,
    ignored: &mut Vec<Ignored>,
    sources: &mut Sources,
) -> Result<Library, Failure> {
    let files = emit::emit(&unit(kernels), backend.target());
    library_of(&files, kernels, (backend, trust), cache, ignored, sources)
}

/// As [`library`], of files that were emitted for [`unit`] in another way.
///
/// # Errors
/// As [`Library::build`].
pub fn library_of(
    files: &[emit::File],
    kernels: &[Kernel],
    (backend, trust): (Backend, Trust),
    cache: &Cache,
    ignored: &mut Vec<Ignored>,
    sources: &mut Sources,
) -> Result<Library, Failure> {
    let calls = trampolines(kernels, backend.target());
    let Some(key) = key(files, &calls, (backend, trust), sources) else {
        return Library::of_files(files, kernels, backend, trust, &flags(), sources);
    };
    match cache.read(Kind::Kernel, &key) {
        Ok(Some(content)) => match checked(&content, &key) {
            Ok(bytes) => {
                let folder = cleanup::Folder::new().map_err(|e| no_room(sources, &e))?;
                let place = folder.path().join(LIBRARY);
                std::fs::write(&place, bytes).map_err(|e| no_room(sources, &e))?;
                return Library::in_folder(folder, backend, sources);
            }
            Err(reason) => ignored.push(Ignored {
                path: cache.path(Kind::Kernel, &key),
                reason,
            }),
        },
        Ok(None) => {}
        Err(reason) => ignored.push(reason),
    }
    let folder = compiled(files, kernels, backend, trust, &flags(), sources)?;
    let bytes = std::fs::read(folder.path().join(LIBRARY));
    let library = Library::in_folder(folder, backend, sources)?;
    // Where it cannot be kept, the next run compiles it again.
    if let Ok(bytes) = bytes {
        let _ = cache.write(Kind::Kernel, &key, &content(&key, &bytes));
    }
    Ok(library)
}

/// What compiles a backend's kernels, and what says for which processor or device and how; `None` where that is
/// not known.
fn tools(backend: Backend) -> Option<(&'static [&'static Tool], Vec<String>)> {
    let mut options = vec![backend.device().to_string(), processor()];
    let tools: &[&Tool] = match backend {
        Backend::C => {
            options.push(flags());
            &[&CC]
        }
        Backend::Emulator { .. } => {
            // Its runtime is a part of sparsec.
            options.extend([format!("{backend:?}"), build()]);
            &[&CC, &CXX]
        }
        Backend::Gpu => {
            options.extend([device::flags(), build(), devices()?]);
            &[&CC, &NVCC]
        }
        Backend::Model(_) => return None,
    };
    Some((tools, options))
}

/// Everything that reaches the library; `None` if it cannot be told what the compilers are.
fn key(
    files: &[emit::File],
    calls: &str,
    (backend, trust): (Backend, Trust),
    sources: &mut Sources,
) -> Option<String> {
    let (tools, options) = tools(backend)?;
    let mut compilers = Vec::new();
    for tool in tools {
        let (named, version) = tool.version();
        let program = tool.command(sources).ok()?;
        let program = resolved(Path::new(program.get_program()))?;
        let status = std::fs::metadata(&program).ok()?;
        let changed = format!("{:?}", status.modified().ok()?);
        let place = program.to_string_lossy().into_owned();
        compilers.extend([named, version, place, changed, status.len().to_string()]);
    }
    let mut parts = vec![SCHEMA, calls];
    parts.extend(compilers.iter().chain(&options).map(String::as_str));
    parts.extend(trust.flags());
    for file in files {
        parts.extend([file.name.as_str(), file.content.as_str()]);
    }
    let value = |name: &&str| {
        let value = std::env::var_os(name).unwrap_or_default();
        format!("{name}={}", value.to_string_lossy())
    };
    let environment: Vec<String> = ENVIRONMENT.iter().map(value).collect();
    parts.extend(environment.iter().map(String::as_str));
    let parts: Vec<&[u8]> = parts.into_iter().map(str::as_bytes).collect();
    Some(hash(&parts)[..32].to_string())
}

/// Where a program is that a command names.
fn resolved(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return std::fs::canonicalize(program).ok();
    }
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find_map(|place| std::fs::canonicalize(place).ok().filter(|p| p.is_file()))
}

/// What `-march=native` goes by.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let tells = |line: &&str| {
        ["model name", "flags", "Features", "CPU part"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let mut lines: Vec<&str> = info.lines().filter(tells).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.join("\n") + std::env::consts::ARCH
}

/// What `-arch=native` goes by: the devices that the driver has found, and which driver it is; `None` where it does
/// not tell.
fn devices() -> Option<String> {
    let folder = std::fs::read_dir("/proc/driver/nvidia/gpus");
    let files = folder.into_iter().flatten().flatten();
    let mut all: Vec<String> = files
        .filter_map(|device| std::fs::read_to_string(device.path().join("information")).ok())
        .collect();
    all.sort_unstable();
    all.extend(std::fs::read_to_string("/proc/driver/nvidia/version"));
    (!all.is_empty()).then(|| all.concat())
}

fn content(key: &str, library: &[u8]) -> Vec<u8> {
    let header = Header {
        schema: SCHEMA.to_string(),
        key: key.to_string(),
        checksum: hash(&[library]),
    };
    let mut content = serde_json::to_vec(&header).unwrap_or_default();
    content.push(b'\n');
    content.extend(library);
    content
}

/// The library in a file.
fn checked<'c>(content: &'c [u8], key: &str) -> Result<&'c [u8], String> {
    let end = content.iter().position(|&byte| byte == b'\n');
    let end = end.ok_or_else(|| "it is no kept kernel".to_string())?;
    let (line, library) = (&content[..end], &content[end + 1..]);
    let header: Header = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    if header.schema != SCHEMA {
        return Err(format!("its form is `{}`, not `{SCHEMA}`", header.schema));
    }
    if header.key != key {
        return Err("it is another kernel's".to_string());
    }
    if header.checksum != hash(&[library]) {
        return Err("its checksum does not fit: it was changed".to_string());
    }
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_library_of_this_kernel_is_loaded() {
        let file = content("k", b"library\nof two lines");
        assert_eq!(checked(&file, "k"), Ok(&b"library\nof two lines"[..]));
        let refused = |file: &[u8], key: &str| checked(file, key).unwrap_err();
        assert!(refused(&file, "other").contains("another"));
        assert!(refused(&file[..file.len() - 1], "k").contains("checksum"));
        assert!(refused(&file[..5], "k").contains("no kept kernel"));
        let mut changed = file.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(refused(&changed, "k").contains("checksum"));
        let newer = String::from_utf8(file)
            .unwrap()
            .replace("kernel-1", "kernel-2");
        assert!(refused(newer.as_bytes(), "k").contains("kernel-2"));
    }
}
