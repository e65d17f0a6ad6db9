//! The rules of passes, text in, text out: the files of `testdata/loops`, each
//!
//! ```text
//! pass: tiles widen           the passes of all cases, in order
//! size N                      declarations that all cases share
//!
//! ; a rule, in a sentence     a case
//! var i: int64                declarations of its own
//! for i in 0..N
//!   ...
//! =>
//! ...                         new declarations and the statements, or `error: ...`
//! ```
//!
//! A refusal stands behind `=>`: it comes from statements that earlier steps have made of those
//! of the case. With `pass: verify` nothing is made: what is wrong stands behind its statement,
//!
//! ```text
//! ; a variable is declared once
//! for i in 0..N
//!   let i = 0 ; error: `i` is declared twice
//! ```

use sparsec::loops::{device, passes, text, verify};
use sparsec::target::Target;
use std::path::{Path, PathBuf};

/// The files, in order.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/loops");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut list: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    list.retain(|path| path.extension().is_some_and(|e| e == "loops"));
    list.sort();
    list
}

struct File {
    passes: Vec<String>,
    shared: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Default)]
struct Case {
    rule: String,
    lines: Vec<String>,
    expected: String,
}

/// What stands behind a statement that is wrong, before the reason.
const ERROR: &str = " ; error: ";

const DECLARATIONS: [&str; 7] = [
    "var", "array", "size", "count", "scalar", "tensor", "require",
];

impl File {
    fn read(text: &str) -> File {
        let mut file = File {
            passes: Vec::new(),
            shared: Vec::new(),
            cases: Vec::new(),
        };
        let mut expected = false;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(rule) = line.strip_prefix("; ") {
                expected = false;
                file.cases.push(Case {
                    rule: rule.to_string(),
                    ..Case::default()
                });
                continue;
            }
            match (file.cases.last_mut(), line.strip_prefix("pass: ")) {
                (None, Some(names)) => {
                    file.passes = names.split_whitespace().map(String::from).collect();
                }
                (None, None) => file.shared.push(line.to_string()),
                (Some(_), _) if line == "=>" => expected = true,
                (Some(case), _) if expected => case.expected += &format!("{line}\n"),
                (Some(case), _) => case.lines.push(line.to_string()),
            }
        }
        if file.verifies() {
            for case in &mut file.cases {
                case.expected = case.lines.iter().map(|line| format!("{line}\n")).collect();
                for line in &mut case.lines {
                    line.truncate(line.find(ERROR).unwrap_or(line.len()));
                }
            }
        }
        assert!(!file.passes.is_empty(), "no pass is named");
        file
    }

    fn verifies(&self) -> bool {
        self.passes == ["verify"]
    }

    fn text(&self) -> String {
        let mut out = format!("pass: {}\n", self.passes.join(" "));
        for line in &self.shared {
            out += &format!("{line}\n");
        }
        for case in &self.cases {
            out += &format!("\n; {}\n", case.rule);
            if !self.verifies() {
                out += &format!("{}\n=>\n", case.lines.join("\n"));
            }
            out += &case.expected;
        }
        out
    }
}

impl Case {
    /// What the passes make of the case.
    ///
    /// # Errors
    /// The case is no kernel.
    fn run(&self, names: &[String], shared: &[String]) -> Result<String, String> {
        let (own, statements): (Vec<&String>, Vec<&String>) =
            self.lines.iter().partition(|line| declares(line));
        let mut whole = String::from("kernel k\n");
        for line in shared.iter().chain(own) {
            whole += &format!("  {line}\n");
        }
        whole += "body\n";
        for line in statements {
            whole += &format!("  {line}\n");
        }
        let before = text::read(&whole).map_err(|e| format!("{e}\n{whole}"))?;
        if names == ["verify"] {
            return Ok(self.with_errors(&verify::violations(&before)));
        }
        let found = verify::verify(&before);
        if !found.is_empty() {
            return Err(found.join("\n"));
        }
        let list: Vec<passes::Pass> = names.iter().map(|name| pass(name)).collect();
        Ok(match passes::run(before.clone(), &list, Target::Cuda) {
            Ok(after) => {
                let printed = text::print(&after);
                assert_eq!(text::print(&text::read(&printed).unwrap()), printed);
                text::print_change(&before, &after)
            }
            Err(refusal) => format!("error: {}\nhelp: {}\n", refusal.message, refusal.help),
        })
    }
}

impl Case {
    /// The lines, each statement with what is wrong with it.
    fn with_errors(&self, found: &[verify::Violation]) -> String {
        let mut out = String::new();
        let mut statement = 0;
        for line in &self.lines {
            out += line;
            if !declares(line) && line.trim() != "else" {
                for violation in found.iter().filter(|v| v.statement == statement) {
                    out += &format!("{ERROR}{}", violation.what);
                }
                statement += 1;
            }
            out += "\n";
        }
        assert!(found.iter().all(|v| v.statement < statement), "{found:?}");
        out
    }
}

/// Whether a line declares what the statements name.
fn declares(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    DECLARATIONS.contains(&first)
}

fn pass(name: &str) -> passes::Pass {
    let found = passes::ALL.into_iter().find(|pass| pass.name == name);
    found.unwrap_or_else(|| panic!("no pass is called {name}"))
}

/// `BLESS=1` writes what passes make as what is expected.
#[test]
fn passes_keep_their_rules() {
    let bless = std::env::var_os("BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/loops");
    let list = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let (mut wrong, mut malformed) = (Vec::new(), Vec::new());
    let mut count = 0;
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut file = File::read(&text);
        for case in &file.cases {
            let listed = list.contains(&format!("\n- {}\n", case.rule));
            assert!(listed, "README.md does not list `{}`", case.rule);
        }
        for case in &mut file.cases {
            count += 1;
            let made = match case.run(&file.passes, &file.shared) {
                Ok(made) => made,
                Err(reason) => {
                    malformed.push(format!("{}: {}: {reason}", path.display(), case.rule));
                    continue;
                }
            };
            if made != case.expected {
                wrong.push(format!(
                    "{}: {}\nexpected:\n{}made:\n{made}",
                    path.display(),
                    case.rule,
                    case.expected
                ));
                case.expected = made;
            }
        }
        if bless {
            std::fs::write(&path, file.text()).unwrap();
        }
    }
    println!("{count} cases");
    assert!(malformed.is_empty(), "{}", malformed.join("\n\n"));
    assert!(bless || wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// `scripts/rules` finds each rule that it switches off; it takes too long to run with all tests.
#[test]
fn rules_that_are_switched_off_stand_in_their_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let list = std::fs::read_to_string(root.join("testdata/loops/mutations.list")).unwrap();
    let (mut file, mut text) = (String::new(), String::new());
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        if let Some(rule) = line.strip_prefix("  ") {
            let (expression, _) = rule.split_once(" ~> ").unwrap();
            assert!(
                text.contains(&plain(expression)),
                "`{expression}` stands no more in {file}: change testdata/loops/mutations.list"
            );
        } else if !line.trim().is_empty() {
            file = line.trim().to_string();
            text = plain(&std::fs::read_to_string(root.join(&file)).unwrap());
        }
    }
}

/// Threads that exchange values without memory reduce so, however many a target has.
#[test]
fn reductions_take_as_many_lanes_as_there_are() {
    let lines = "kernel k\n  var t: int64\n  var s: double mut\n  array x: double input\n  array y: double output\n\
                 body\n  let s = 0.0\n  for t in 0..64 thread.x reduce(+ s)\n    s += x[t]\n  y[0] = s\n";
    let kernel = text::read(lines).unwrap();
    for (lanes, last) in [(32, "over 2 by 32 in scratch"), (64, "over lanes(64)")] {
        let placed = text::print(&device::place(kernel.clone(), lanes).unwrap());
        let mut reductions = placed.lines().filter(|line| line.contains("reduce("));
        assert!(reductions.next_back().unwrap().ends_with(last), "{placed}");
    }
}
