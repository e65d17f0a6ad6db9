//! Tells sparsec which build it is: a hash of all that its code is made of. What the cache
//! holds is used by the build that made it alone.

use std::path::Path;
use std::{fs, io};

/// What the compiler is made of.
const SOURCES: &[&str] = &[
    "src",
    "grammar",
    "schedules",
    "testdata/scheduled",
    "Cargo.lock",
];

fn main() -> io::Result<()> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        add(Path::new(source), &mut hash)?;
    }
    println!("cargo:rustc-env=SPARSEC_BUILD={hash:016x}");
    Ok(())
}

/// FNV-1a (Fowler, Noll and Vo) of names and contents, in the order of names.
fn add(path: &Path, hash: &mut u64) -> io::Result<()> {
    let mut over = |bytes: &[u8]| {
        for &byte in bytes {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    over(path.to_string_lossy().as_bytes());
    if path.is_dir() {
        let entries = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        entries.iter().try_for_each(|entry| add(entry, hash))
    } else {
        over(&fs::read(path)?);
        Ok(())
    }
}
