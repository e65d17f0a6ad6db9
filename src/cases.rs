//! Cases of a stage, text in, text out: the files of `testdata/stages/STAGE`, each
//!
//! ```text
//! def spmv(...) ...           programs that its cases share, if any
//!
//! ; a rule, in a sentence     a case
//! schedule spmv { ... }       what goes in
//! =>
//! ...                         what comes out: what was made, or what is said instead
//! ```
//!
//! A new case is a new block without anything behind `=>`; `BLESS=1 cargo test --lib cases`
//! writes what comes out of all of them, to be looked at in the diff.

use crate::diagnostic::{Diagnosed, Diagnostic, FileId, Sources, render};
use crate::graph::Graph;
use crate::schedule::{self, Settings, Target, size};
use crate::syntax::ast::{File, Item};
use crate::{program, syntax};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A rule with what shows it.
pub struct Case {
    pub rule: String,
    pub given: String,
    pub expected: String,
}

struct CaseFile {
    path: PathBuf,
    shared: String,
    cases: Vec<Case>,
}

impl CaseFile {
    fn read(path: PathBuf) -> CaseFile {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut file = CaseFile {
            path,
            shared: String::new(),
            cases: Vec::new(),
        };
        let mut made = false;
        for line in text.lines() {
            if let Some(rule) = line.strip_prefix("; ") {
                made = false;
                file.cases.push(Case {
                    rule: rule.to_string(),
                    given: String::new(),
                    expected: String::new(),
                });
                continue;
            }
            let part = match file.cases.last_mut() {
                None => &mut file.shared,
                Some(_) if line == "=>" && !made => {
                    made = true;
                    continue;
                }
                Some(case) if made => &mut case.expected,
                Some(case) => &mut case.given,
            };
            writeln!(part, "{line}").unwrap();
        }
        file.shared = file.shared.trim().to_string();
        for case in &mut file.cases {
            case.given = case.given.trim().to_string();
            case.expected = case.expected.trim_end().to_string();
        }
        file
    }

    fn text(&self) -> String {
        let mut blocks = Vec::new();
        if !self.shared.is_empty() {
            blocks.push(format!("{}\n", self.shared));
        }
        for case in &self.cases {
            blocks.push(format!(
                "; {}\n{}\n=>\n{}\n",
                case.rule, case.given, case.expected
            ));
        }
        blocks.join("\n")
    }
}

/// Checks what a stage makes of each case, given what its file shares and what is its own.
/// One test a stage calls it, since `BLESS=1` writes the files.
pub fn check(stage: &str, made: impl Fn(&str, &str) -> String) -> Vec<Case> {
    let bless = std::env::var_os("BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/stages");
    let entries = std::fs::read_dir(folder.join(stage)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut wrong = Vec::new();
    let mut all: Vec<Case> = Vec::new();
    for path in paths {
        let mut file = CaseFile::read(path);
        for case in &mut file.cases {
            let (rule, given) = (&case.rule, &case.given);
            assert!(all.iter().all(|c| c.rule != *rule), "`{rule}` stands twice");
            let own = made(&file.shared, given).trim_end().to_string();
            if own != case.expected {
                wrong.push(format!(
                    "{}: {rule}\n{given}\nexpected:\n{}\nmade:\n{own}",
                    file.path.display(),
                    case.expected
                ));
                case.expected = own;
            }
        }
        if bless {
            std::fs::write(&file.path, file.text()).unwrap();
        }
        all.append(&mut file.cases);
    }
    println!("{} cases", all.len());
    assert!(bless || wrong.is_empty(), "{}", wrong.join("\n\n"));
    all
}

/// The graph of the function that the case has a schedule for, or else of its last one, after
/// the schedule.
pub fn scheduled(sources: &mut Sources, shared: &str, given: &str) -> Diagnosed<Graph> {
    let mut read = |name: &str, text: &str| {
        let file: FileId = sources.add(name, text);
        syntax::parse(file, text)
    };
    let files = [read("shared.tc", shared)?, read("case.tc", given)?];
    let options = program::Options::default();
    let resolved = program::resolve(&files, &options)?;
    let mut name = None;
    let mut commands = Vec::new();
    let mut target = Target::C;
    for item in files.iter().flat_map(|file: &File| &file.items) {
        match item {
            Item::Def(def) => name = Some(&def.name.name),
            Item::Schedule(schedule) => {
                name = schedule.def.as_ref().map(|def| &def.name);
                commands.clone_from(&schedule.commands);
                let named = schedule.target.as_ref().map(|t| Target::named(&t.name));
                target = named.flatten().unwrap_or(target);
            }
            Item::FormatDecl(_) | Item::FormatUse(_) | Item::Operator(_) => {}
        }
    }
    let mut functions = resolved.program.functions.into_iter();
    let function = functions.rfind(|f| Some(&f.name) == name);
    let mut function = function.expect("a function");
    if let Some(specialised) = size::specialised(&function, &commands, &[], (&files, &options))? {
        function = specialised;
    }
    let settings = Settings {
        defines: vec![],
        target,
    };
    schedule::scheduled(&Rc::new(function), &commands, &settings)
}

/// Diagnostics as users see them.
pub fn rendered(errors: &[Diagnostic], sources: &Sources) -> String {
    let texts: Vec<String> = errors
        .iter()
        .map(|e| render::text(e, sources, false))
        .collect();
    texts.join("\n")
}
