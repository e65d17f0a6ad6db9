//! The programs of `testdata` as cases.

use super::{Case, compile, data_folder, parse, root, run_all, words};
use std::path::{Path, PathBuf};

pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = std::fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    list.sort();
    assert!(!list.is_empty(), "{folder} is empty");
    list
}

/// The `# run:` lines of a program. `--size` and `--def` are options, the rest is data.
pub fn program_cases(path: &Path, target: &[&str]) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases = Vec::new();
    let refused = text.lines().find_map(|l| l.strip_prefix("# refuse:"));
    for line in text.lines().filter_map(|l| l.strip_prefix("# run:")) {
        let mut args = vec![path.display().to_string()];
        args.extend(words(line));
        if let Some(code) = refused {
            match compile(&parse(&args)) {
                Ok(_) => panic!("{} is not refused", path.display()),
                Err(reason) => assert!(reason.contains(code.trim()), "{reason}"),
            }
            return Vec::new();
        }
        cases.extend(case(&args, target, |bindings| vec![bindings]));
    }
    assert!(!cases.is_empty(), "{} has no run line", path.display());
    let several = text.contains("# run: --def ");
    for def in text.lines().filter_map(|l| l.strip_prefix("def ")) {
        let name = def.split('(').next().unwrap_or(def);
        let called = text.matches(&format!("{name}(")).count() > 1;
        assert!(
            !several || called || text.contains(&format!("# run: --def {name} ")),
            "{}: `{name}` has no run line",
            path.display()
        );
    }
    cases
}

pub fn case(
    args: &[String],
    target: &[&str],
    runs: impl Fn(Vec<String>) -> Vec<Vec<String>>,
) -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(one(args, target, &runs));
    // Where sparsec has chosen the schedule, the plain loops are another kernel.
    let is_found = cases.iter().any(|case| case.compiled.is_automatic);
    if is_found && target.is_empty() && is_in_share(&args.join(" ")) {
        cases.extend(one(args, &["--no-schedule"], &runs));
    }
    cases
}

/// Whether this run takes a case that says little which others do not: all of them, unless
/// `SPARSEC_SHARE=n` asks for one of n, others by each `SPARSEC_TABLE_SEED`.
pub fn is_in_share(case: &str) -> bool {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seed = number("SPARSEC_TABLE_SEED").unwrap_or(1);
    // FNV-1a: the same on all machines.
    let bytes = case.bytes().chain(seed.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    number("SPARSEC_SHARE").is_none_or(|n| (hash >> 16) % n.max(1) == 0)
}

fn one(
    args: &[String],
    target: &[&str],
    runs: &impl Fn(Vec<String>) -> Vec<Vec<String>>,
) -> Option<Case> {
    let all: Vec<String> = args
        .iter()
        .cloned()
        .chain(target.iter().map(ToString::to_string))
        .collect();
    let run = parse(&all);
    let bindings: Vec<String> = run
        .operands
        .iter()
        .filter(|o| o.contains('='))
        .cloned()
        .collect();
    match compile(&run) {
        Ok(compiled) => Some(Case {
            runs: runs(bindings),
            ..Case::new(all.join(" "), compiled)
        }),
        // A schedule on the command line is for one target.
        Err(reason) if !target.is_empty() && reason.contains("the target is a GPU") => None,
        Err(reason) => panic!("{}\n{reason}", all.join(" ")),
    }
}

/// Files for a placeholder of a case: small ones of the repository, more where the data
/// folder is there.
fn placeholder(name: &str) -> Vec<PathBuf> {
    let own = root().join("testdata/data");
    let (mine, more): (&[&str], &[&str]) = match name {
        "{matrix}" => (
            &["cage5.mtx", "airfoil.mtx"],
            &[
                "LFAT5_hypersparse.mtx",
                "empty.mtx",
                "n3c4-b4.mtx",
                "bad/zero_extent.mtx",
                "lp_afiro.mtx",
            ],
        ),
        "{square}" => (&["cage5.mtx", "airfoil.mtx"], &["LFAT5_hypersparse.mtx"]),
        "{complex}" => (&["odd/complex.mtx"], &["GD99_cc.mtx"]),
        "{small}" => (
            &["cage5.mtx"],
            &["n3c4-b4.mtx", "empty.mtx", "lp_afiro.mtx"],
        ),
        "{tensor3}" => (&["umls.tns"], &[]),
        other => panic!("unknown placeholder {other}"),
    };
    let mut list: Vec<PathBuf> = mine.iter().map(|f| own.join(f)).collect();
    if let Some(folder) = data_folder() {
        list.extend(more.iter().map(|f| folder.join(f)));
    }
    list
}

pub fn expand(bindings: &[String]) -> Vec<Vec<String>> {
    let Some((at, name)) = bindings.iter().enumerate().find_map(|(at, b)| {
        let open = b.find('{')?;
        Some((at, b[open..].to_string()))
    }) else {
        return vec![bindings.to_vec()];
    };
    placeholder(&name)
        .into_iter()
        .map(|file| {
            let mut filled = bindings.to_vec();
            filled[at] = bindings[at].replace(&name, &file.display().to_string());
            filled
        })
        .collect()
}

/// The programs in a folder of `testdata`.
pub fn programs(folder: &str, target: &[&str]) -> Vec<Case> {
    files(folder, "tc")
        .iter()
        .flat_map(|path| program_cases(path, target))
        .collect()
}

/// The lines of the `.cases` files of the corpus.
pub fn listed(target: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for path in files("testdata/corpus", "cases") {
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                cases.extend(case(&words(line), target, |bindings| expand(&bindings)));
            }
        }
    }
    cases
}

pub fn check(cases: &[Case]) {
    // Hundreds of small kernels: compiling them takes longer than running them, and optimising them four times as
    // long: where there is little time, generated programs alone are optimised.
    let is_short = std::env::var_os("SPARSEC_SHARE").is_some();
    let level = if is_short { "-O0" } else { "-O1" };
    // SAFETY: set before any thread of this test reads it; all tests set the same.
    unsafe {
        std::env::set_var(
            "SPARSEC_CFLAGS",
            format!("{level} {}", crate::support::poison()),
        )
    };
    let wrong = run_all(cases);
    let runs: usize = cases.iter().map(|c| c.runs.len()).sum();
    println!("{} programs, {runs} runs", cases.len());
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}
