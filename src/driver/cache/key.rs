//! What tells entries apart: everything that reaches the code.

use super::hash;
use crate::data::{self};
use crate::driver::bench::machine::Description;
use crate::driver::bind::Bound;
use crate::driver::build::Backend;
use crate::program::ir::Function;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Of which program on which machine a schedule is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The function with numbers for names ([`Canonical`]).
    pub program: String,
    pub target: String,
    /// The processor with its cores, or the GPU.
    pub device: String,
    /// The build of sparsec.
    pub sparsec: String,
    /// The compiler's version, and its flags.
    pub compiler: String,
    pub flags: String,
}

/// The version of sparsec, with a hash of what it is made of.
#[must_use]
pub fn build() -> String {
    format!("{} {}", env!("CARGO_PKG_VERSION"), env!("SPARSEC_BUILD"))
}

/// What ran, as keys say it.
#[must_use]
pub fn device(machine: &Description) -> String {
    match &machine.gpu {
        Some(gpu) => gpu.clone(),
        None => format!("{}, {} cores", machine.cpu, machine.cores),
    }
}

impl Key {
    /// Of a function on this machine.
    #[must_use]
    pub fn of(canonical: &Canonical, backend: Backend, machine: &Description) -> Self {
        Key {
            program: canonical.text.clone(),
            target: backend.target().properties().word.to_string(),
            device: device(machine),
            sparsec: build(),
            compiler: machine.version.clone(),
            flags: machine.flags.clone(),
        }
    }

    /// Whose files these are: the beginning of their names.
    #[must_use]
    pub fn program_hash(&self) -> String {
        hash(&[self.program.as_bytes(), self.target.as_bytes()])[..16].to_string()
    }

    /// In what it differs from what is asked for, in words; `None` if in nothing.
    #[must_use]
    pub fn differs(&self, asked: &Key) -> Option<&'static str> {
        let all = [
            (&self.program, &asked.program, "another program"),
            (&self.target, &asked.target, "another target"),
            (&self.device, &asked.device, "another device"),
            (&self.sparsec, &asked.sparsec, "another build of sparsec"),
            (&self.compiler, &asked.compiler, "another compiler"),
            (&self.flags, &asked.flags, "other flags"),
        ];
        all.iter()
            .find(|(a, b, _)| a != b)
            .map(|(_, _, what)| *what)
    }
}

/// A function up to the names that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// As `show --stage program` prints it, with numbers for names.
    pub text: String,
    /// Its own names, in the order of those numbers: statements, tensors, variables.
    pub names: Vec<String>,
    /// Those of its sizes, and other names of these.
    pub sizes: Vec<String>,
}

impl Canonical {
    #[must_use]
    pub fn of(function: &Function) -> Self {
        let mut plain = function.clone();
        plain.name = "f".to_string();
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        for (at, stmt) in plain.stmts.iter_mut().enumerate() {
            names.push(std::mem::replace(&mut stmt.label, format!("S{at}")));
        }
        for (at, tensor) in plain.tensors.iter_mut().enumerate() {
            names.push(std::mem::replace(&mut tensor.name, format!("T{at}")));
        }
        for (at, var) in plain.vars.iter_mut().enumerate() {
            names.push(std::mem::replace(&mut var.name, format!("v{at}")));
        }
        for (at, size) in plain.sizes.iter_mut().enumerate() {
            sizes.push(std::mem::replace(&mut size.name, format!("N{at}")));
        }
        for (at, synonym) in plain.synonyms.iter_mut().enumerate() {
            sizes.push(std::mem::replace(&mut synonym.name, format!("M{at}")));
        }
        for requirement in &mut plain.requirements {
            // The names again; what it says stands in front of it.
            requirement.text = String::new();
        }
        Canonical {
            text: plain.to_string(),
            names,
            sizes,
        }
    }

    /// All names that commands may use.
    #[must_use]
    pub fn all_names(&self) -> Vec<String> {
        [&self.names[..], &self.sizes].concat()
    }
}

/// What lines begin with that is no command.
const WORDS: &[&str] = &["choose", "let", "otherwise", "param", "size", "when"];

/// Commands of a schedule with other names: those at the same places of both lists are the same
/// things. Names that the schedule makes stay, or get an underscore where a name of the program is
/// the same now. `None` if one name stands for two things.
#[must_use]
pub fn renamed(commands: &[String], from: &[String], to: &[String]) -> Option<Vec<String>> {
    if from.len() != to.len() {
        return None;
    }
    let mut map: BTreeMap<&str, &str> = BTreeMap::new();
    for (old, new) in from.iter().zip(to) {
        if *map.entry(old).or_insert(new) != new {
            return None;
        }
    }
    let taken: BTreeSet<&str> = to.iter().map(String::as_str).collect();
    let mut all = Vec::new();
    // Of brackets: commands and conditions may have several lines.
    let (mut depth, mut asks) = (0_usize, false);
    for command in commands {
        let (mut out, mut rest) = (String::new(), command.as_str());
        while let Some(first) = rest.chars().next() {
            let is_letter = |c: char| c.is_alphanumeric() || c == '_';
            let length = if is_letter(first) {
                rest.find(|c| !is_letter(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (word, after) = rest.split_at(length);
            match first {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            // The words of commands, of `choose`, and what its conditions ask tensors for.
            let is_called = after.starts_with('(');
            let begins = out.trim().is_empty() && WORDS.contains(&word);
            match word {
                "when" if begins => asks = true,
                ":" if depth == 0 => asks = false,
                _ => {}
            }
            if begins || (is_called && (asks || depth == 0)) {
                out += word;
            } else {
                out += map.get(word).copied().unwrap_or(word);
                if !map.contains_key(word) && taken.contains(word) {
                    out.push('_');
                }
            }
            rest = after;
        }
        all.push(out);
    }
    Some(all)
}

/// What data is like: the logarithms, to base 2, of the function's sizes and of how many elements
/// each sparse input stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likeness(pub Vec<f64>);

/// Data within this factor of each other's numbers is alike (Finch reuses plans as long).
const ALIKE: f64 = 2.0;

impl Likeness {
    #[must_use]
    pub fn of(function: &Function, bound: &Bound) -> Self {
        #[expect(clippy::cast_precision_loss)]
        let log = |n: u64| ((n.max(1) as f64).log2() * 16.0).round() / 16.0;
        let sizes = bound.sizes.values();
        let sizes = sizes.map(|&n| log(u64::try_from(n).unwrap_or(0)));
        let sparse = (bound.tensors.iter()).filter(|(id, _)| function.tensor(**id).is_sparse());
        let stored = sparse.map(|(_, tensor)| log(data::summarize(tensor).stored as u64));
        Likeness(sizes.chain(stored).collect())
    }

    /// The largest difference; `None` between data of different programs.
    #[must_use]
    pub fn distance(&self, other: &Likeness) -> Option<f64> {
        let pairs = self.0.iter().zip(&other.0);
        let largest = pairs.fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        (self.0.len() == other.0.len() && largest.is_finite()).then_some(largest)
    }

    #[must_use]
    pub fn is_alike(distance: f64) -> bool {
        distance <= ALIKE.log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::driver::{Request, Source, compile};

    fn canonical(text: &str) -> Canonical {
        let request = Request::new(Source::Text {
            name: "f".to_string(),
            text: text.to_string(),
        });
        let compiled = compile(&request, &mut Sources::default()).unwrap();
        Canonical::of(&compiled.program.functions[0])
    }

    #[test]
    fn names_do_not_count() {
        let one = canonical(
            "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\n\
             format spmv { A: csr }",
        );
        let other = canonical(
            "def f(double(R,C) i, double(C) A) -> (t) { t(x) +=! i(x,k) * A(k) }\n\
             format f { i: csr }",
        );
        assert_eq!(one.text, other.text);
        let commands = ["split(i, t, i1, 32)", "parallelize(t, CPUThread, NoRaces)"];
        let commands = commands.map(str::to_string);
        let renamed = |from: &Canonical, to: &Canonical, commands: &[String]| {
            renamed(commands, &from.all_names(), &to.all_names()).unwrap()
        };
        let there = renamed(&one, &other, &commands);
        assert_eq!(
            there,
            [
                "split(x, t_, i1, 32)",
                "parallelize(t_, CPUThread, NoRaces)"
            ]
        );
        let product = ["precompute(A(i,j) * x(j), j, jj, w)".to_string()];
        let there = renamed(&one, &other, &product);
        assert_eq!(there, ["precompute(i(x,k) * A(k), k, jj, w)"]);
        assert_eq!(renamed(&other, &one, &there), product);
        // What conditions ask, words of commands, and sizes, which conditions know.
        let choice = [
            "let C = 5",
            "choose {",
            "  when nnz(A) < 20 &&",
            "    M > C: { split(i, i0, i1, 4) unroll(i1) }",
            "  when !(rows(A) < N): {",
            "    precompute(A(i,j)",
            "      * x(j), j, jj, w)",
            "  }",
            "  otherwise: { unroll(j, 4) }",
            "}",
        ]
        .map(str::to_string);
        let there = renamed(&one, &other, &choice);
        let wanted = [
            "let C_ = 5",
            "choose {",
            "  when nnz(i) < 20 &&",
            "    R > C_: { split(x, i0, i1, 4) unroll(i1) }",
            "  when !(rows(i) < C): {",
            "    precompute(i(x,k)",
            "      * A(k), k, jj, w)",
            "  }",
            "  otherwise: { unroll(k, 4) }",
            "}",
        ];
        assert_eq!(there, wanted);
    }

    /// Formats, types, sizes and operators do.
    #[test]
    fn everything_else_counts() {
        let text = |ty: &str, op: &str, format: &str| {
            canonical(&format!(
                "def f({ty}(M,N) A, double(N) x) -> (y) {{ y(i) +=! A(i,j) {op} x(j) }}\n\
                 format f {{ A: {format} }}"
            ))
            .text
        };
        let first = text("double", "*", "csr");
        for other in [
            text("float", "*", "csr"),
            text("double", "-", "csr"),
            text("double", "*", "csc"),
            text("double", "*", "dense"),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn data_is_alike_within_a_factor_of_two() {
        let of = |n: f64, z: f64| Likeness(vec![n.log2(), z.log2()]);
        let near = |a: &Likeness, b: &Likeness| a.distance(b).is_some_and(Likeness::is_alike);
        assert!(near(&of(1000.0, 5000.0), &of(1900.0, 2600.0)));
        assert!(!near(&of(1000.0, 5000.0), &of(1000.0, 11000.0)));
        assert_eq!(of(1.0, 2.0).distance(&Likeness(vec![1.0])), None);
    }
}
