//! Every program of `testdata/programs` and every case of `testdata/corpus` runs and is
//! compared with the reference evaluator.

mod support;

use support::corpus::{check, listed, programs};
use support::{Case, compile, parse, root, run_all, words};

#[test]
fn programs_of_the_papers() {
    check(&programs("testdata/programs", &[]));
}

#[test]
fn readings_that_peers_get_wrong() {
    check(&programs("testdata/corpus", &[]));
}

#[test]
fn sparse_corpus() {
    check(&listed(&[]));
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
            let case = Case {
                runs: vec![data.cloned().collect()],
                ..Case::new(String::new(), compiled)
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
