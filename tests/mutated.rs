//! Mutated programs: never a panic, never an error without a place. Also a bounded run of
//! the same idea on data files.

mod support;

use sparsec::data::generate::Random;
use sparsec::data::{self, FileKind};
use sparsec::diagnostic::{Sources, codes, render};
use sparsec::driver::{self, Failure, Request, Source};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use support::root;

fn programs() -> Vec<String> {
    let mut out = Vec::new();
    for folder in [
        "testdata/programs",
        "testdata/corpus",
        "testdata/golden",
        "testdata",
    ] {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(root().join(folder))
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "tc"))
            .collect();
        paths.sort();
        out.extend(paths.iter().map(|p| std::fs::read_to_string(p).unwrap()));
    }
    out
}

/// One to four random edits: bytes dropped, doubled, swapped, or replaced by pieces of
/// the language.
fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "(",
        ")",
        "{",
        "}",
        ",",
        ":",
        "=",
        "+=!",
        "max=",
        "where",
        "in",
        "def",
        "format",
        "->",
        "A",
        "i",
        "1e999",
        "99999999999999999999",
        "0",
        "-",
        "*",
        "?",
        "#",
        "\n",
        "\0",
        "é",
        "->()",
        "schedule",
        "split(i,i0,i1,0)",
        "csr",
        "fill inf",
        "order (9)",
        "index 7",
        ".0",
        "%",
        "||",
    ];
    let mut out = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = usize::try_from(random.below(out.len() as u64 + 1)).unwrap();
        let end = (at + usize::try_from(random.below(12)).unwrap()).min(out.len());
        match random.below(4) {
            0 => {
                out.drain(at..end);
            }
            1 => {
                let piece = out[at..end].to_vec();
                out.splice(at..at, piece);
            }
            2 => {
                let other = usize::try_from(random.below(out.len().max(1) as u64)).unwrap();
                if at < out.len() && other < out.len() {
                    out.swap(at, other);
                }
            }
            _ => {
                let piece = PIECES[usize::try_from(random.below(PIECES.len() as u64)).unwrap()];
                out.splice(at..end, piece.bytes());
            }
        }
    }
    out
}

/// `SPARSEC_MUTATIONS` makes a long run.
fn rounds(default: usize) -> usize {
    std::env::var("SPARSEC_MUTATIONS")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

#[test]
fn mutated_programs_are_refused_with_a_place() {
    let programs = programs();
    let mut random = Random::new(7);
    let mut accepted = 0;
    // The pipeline recurses over expressions: as `main` does, give it room.
    let worker = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(move || {
            for n in 0..rounds(2000) {
                let original = &programs[n % programs.len()];
                let text =
                    String::from_utf8_lossy(&mutate(original.as_bytes(), &mut random)).into_owned();
                let request = Request::new(Source::Text {
                    name: "mutated.tc".to_string(),
                    text: text.clone(),
                });
                let mut sources = Sources::default();
                let result =
                    catch_unwind(AssertUnwindSafe(|| driver::compile(&request, &mut sources)));
                match result {
                    Err(_) => panic!("a panic on:\n{text}"),
                    Ok(Ok(compiled)) => {
                        accepted += 1;
                        for remark in &compiled.remarks {
                            let _ = render::text(remark, &sources, false);
                        }
                    }
                    Ok(Err(Failure::Program(diagnostics))) => {
                        assert!(!diagnostics.is_empty(), "no reason for:\n{text}");
                        for d in &diagnostics {
                            assert!(!d.labels.is_empty(), "no place: {d:?}\n{text}");
                            assert!(
                                codes::find(d.code.id).is_some(),
                                "unknown code {}",
                                d.code.id
                            );
                            let shown = render::text(d, &sources, false);
                            assert!(shown.contains("-->"), "{shown}");
                            let _ = render::json(d, &sources);
                        }
                    }
                    Ok(Err(other)) => panic!("{other:?}\n{text}"),
                }
            }
            accepted
        });
    let accepted = worker.unwrap().join().unwrap();
    println!("{accepted} mutated programs still compile");
}

#[test]
fn mutated_data_is_read_or_refused() {
    let folder = root().join("testdata/data");
    let mut random = Random::new(8);
    let dense = data::random(1, 1.0, &[3, 4], sparsec::scalar::ScalarType::F64);
    let temporary = tempfile::tempdir().unwrap();
    let npy = temporary.path().join("a.npy");
    let content = data::content(&npy, &dense, sparsec::scalar::Literal::ZERO).unwrap();
    std::fs::write(&npy, content).unwrap();
    let seeds = [
        (
            FileKind::MatrixMarket,
            std::fs::read(folder.join("cage5.mtx")).unwrap(),
        ),
        (
            FileKind::Frostt,
            std::fs::read(folder.join("umls.tns")).unwrap()[..400].to_vec(),
        ),
        (FileKind::Numpy, std::fs::read(npy).unwrap()),
    ];
    for n in 0..rounds(6000) {
        let (kind, bytes) = &seeds[n % seeds.len()];
        let mutated = mutate(bytes, &mut random);
        let result = catch_unwind(|| data::parse(*kind, &mutated));
        assert!(
            result.is_ok(),
            "a panic on {:?}",
            String::from_utf8_lossy(&mutated)
        );
    }
}

#[test]
fn the_catalogue_is_complete() {
    let mut ids = Vec::new();
    for code in codes::all() {
        assert!(!ids.contains(&code.id), "{} twice", code.id);
        assert!(
            !code.title.is_empty() && code.explanation.len() > 40,
            "{}",
            code.id
        );
        ids.push(code.id);
    }
    assert!(ids.len() > 60);
}
