//! Tests of passes: files of `testdata/loops`.
//!
//! ```text
//! pass: tiles widen           the passes of all cases, in order; `verify` lists violations
//! size N                      declarations that all cases share
//!
//! ; a rule, in a sentence     a case
//! var i: int64                declarations of its own
//! for i in 0..N
//!   ...
//! =>
//! ...                         new declarations and the statements, or `error: ...`
//! ```

use sparsec::loops::{passes, text, verify};

pub struct File {
    pub passes: Vec<String>,
    pub shared: Vec<String>,
    pub cases: Vec<Case>,
}

#[derive(Default)]
pub struct Case {
    pub rule: String,
    lines: Vec<String>,
    pub expected: String,
}

const DECLARATIONS: [&str; 7] = [
    "var", "array", "size", "count", "scalar", "tensor", "require",
];

impl File {
    pub fn read(text: &str) -> File {
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
        assert!(!file.passes.is_empty(), "no pass is named");
        file
    }

    pub fn text(&self) -> String {
        let mut out = format!("pass: {}\n", self.passes.join(" "));
        for line in &self.shared {
            out += &format!("{line}\n");
        }
        for case in &self.cases {
            let given = case.lines.join("\n");
            out += &format!("\n; {}\n{given}\n=>\n{}", case.rule, case.expected);
        }
        out
    }
}

impl Case {
    /// What the passes make of the case.
    ///
    /// # Errors
    /// The case is no kernel.
    pub fn run(&self, names: &[String], shared: &[String]) -> Result<String, String> {
        let declares = |line: &&String| {
            let first = line.split(' ').next().unwrap_or_default();
            DECLARATIONS.contains(&first)
        };
        let (own, statements): (Vec<&String>, Vec<&String>) = self.lines.iter().partition(declares);
        let mut whole = String::from("kernel k\n");
        for line in shared.iter().chain(own) {
            whole += &format!("  {line}\n");
        }
        whole += "body\n";
        for line in statements {
            whole += &format!("  {line}\n");
        }
        let before = text::read(&whole).map_err(|e| format!("{e}\n{whole}"))?;
        let found = verify::verify(&before);
        if names == ["verify"] {
            return Ok(found.iter().map(|line| format!("{line}\n")).collect());
        }
        if !found.is_empty() {
            return Err(found.join("\n"));
        }
        let list: Vec<passes::Pass> = names.iter().map(|name| pass(name)).collect();
        Ok(match passes::run(before.clone(), &list) {
            Ok(after) => {
                let printed = text::print(&after);
                assert_eq!(text::print(&text::read(&printed).unwrap()), printed);
                text::print_change(&before, &after)
            }
            Err(refusal) => format!("error: {}\nhelp: {}\n", refusal.message, refusal.help),
        })
    }
}

fn pass(name: &str) -> passes::Pass {
    let found = passes::ALL.into_iter().find(|pass| pass.name == name);
    found.unwrap_or_else(|| panic!("no pass is called {name}"))
}
