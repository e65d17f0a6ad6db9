//! Every program of `testdata/programs` and every case of `testdata/corpus` runs and is
//! compared with the reference evaluator.

mod support;

use std::path::{Path, PathBuf};
use support::{Case, compile, data_folder, parse, root, run_all, words};

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
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
fn program_cases(path: &Path) -> Vec<Case> {
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
        cases.push(case(&args, |bindings| vec![bindings]));
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

fn case(args: &[String], runs: impl Fn(Vec<String>) -> Vec<Vec<String>>) -> Case {
    let run = parse(args);
    let bindings: Vec<String> = run
        .operands
        .iter()
        .filter(|o| o.contains('='))
        .cloned()
        .collect();
    match compile(&run) {
        Ok(compiled) => Case {
            text: args.join(" "),
            compiled,
            runs: runs(bindings),
        },
        Err(reason) => panic!("{}\n{reason}", args.join(" ")),
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
        "{square}" => (
            &["cage5.mtx", "airfoil.mtx"],
            &["LFAT5_hypersparse.mtx", "GD99_cc.mtx"],
        ),
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

fn expand(bindings: &[String]) -> Vec<Vec<String>> {
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

fn check(cases: &[Case]) {
    // Hundreds of small kernels: compiling them takes longer than running them.
    // SAFETY: set before any thread of this test reads it; all tests set the same.
    unsafe { std::env::set_var("SPARSEC_CFLAGS", "-O1") };
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

#[test]
fn programs_of_the_papers() {
    let cases: Vec<Case> = files("testdata/programs", "tc")
        .iter()
        .flat_map(|path| program_cases(path))
        .collect();
    check(&cases);
}

#[test]
fn readings_that_peers_get_wrong() {
    let cases: Vec<Case> = files("testdata/corpus", "tc")
        .iter()
        .flat_map(|path| program_cases(path))
        .collect();
    check(&cases);
}

#[test]
fn sparse_corpus() {
    let mut cases = Vec::new();
    for path in files("testdata/corpus", "cases") {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            if !line.trim().is_empty() && !line.starts_with('#') {
                cases.push(case(&words(line), |bindings| expand(&bindings)));
            }
        }
    }
    check(&cases);
}

#[test]
fn what_is_refused_says_why() {
    let path = root().join("testdata/corpus/refusals.list");
    let text = std::fs::read_to_string(path).unwrap();
    let mut wrong = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let (code, args) = line.split_once(' ').unwrap();
        let run = parse(&words(args));
        let data = run.operands.iter().filter(|o| o.contains('='));
        let outcome = compile(&run).and_then(|compiled| {
            let runs = vec![data.cloned().collect()];
            let text = String::new();
            let case = Case {
                text,
                compiled,
                runs,
            };
            run_all(&[case]).pop().map_or(Ok(()), Err)
        });
        match outcome {
            Ok(()) => wrong.push(format!("not refused: {line}")),
            Err(reason) if reason.contains(code) => {}
            Err(reason) => wrong.push(format!("{line}\n{reason}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
