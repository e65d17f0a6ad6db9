//! Random programs x formats x schedules x data, compared with the reference evaluator.
//!
//! `SPARSEC_CASES` says how many (1,000 by default), `SPARSEC_SEED` repeats a run. A
//! failure is shrunk and written to `target/generator/`, ready for `testdata/corpus`.

mod support;

use sparsec::data::generate::Random;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use support::{Case, compile, parse, root, run_all};

/// One random program.
#[derive(Clone, Debug)]
struct Program {
    sizes: Vec<(String, u64)>,
    params: Vec<Param>,
    /// Name, format.
    results: Vec<(String, Option<String>)>,
    stmts: Vec<String>,
    schedule: Vec<String>,
}

#[derive(Clone, Debug)]
struct Param {
    ty: &'static str,
    name: String,
    dims: Vec<String>,
    format: Option<String>,
    data: String,
}

impl Program {
    fn text(&self) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .filter(|p| !self.results.iter().any(|(r, _)| *r == p.name))
            .map(|p| {
                if p.dims.is_empty() {
                    format!("{} {}", p.ty, p.name)
                } else {
                    format!("{}({}) {}", p.ty, p.dims.join(","), p.name)
                }
            })
            .collect();
        let results: Vec<&str> = self.results.iter().map(|(r, _)| r.as_str()).collect();
        let mut out = format!(
            "def f({}) -> ({}) {{\n",
            params.join(", "),
            results.join(", ")
        );
        for stmt in &self.stmts {
            let _ = writeln!(out, "  {stmt}");
        }
        out.push_str("}\n");
        let formats: Vec<String> = self
            .params
            .iter()
            .map(|p| (&p.name, &p.format))
            .chain(self.results.iter().map(|(r, f)| (r, f)))
            .filter_map(|(name, format)| format.as_ref().map(|f| format!("{name}: {f}")))
            .collect();
        if !formats.is_empty() {
            let _ = writeln!(out, "format f {{ {} }}", formats.join(", "));
        }
        if !self.schedule.is_empty() {
            let _ = writeln!(out, "schedule f for c {{ {} }}", self.schedule.join("  "));
        }
        out
    }

    fn args(&self, file: &str) -> Vec<String> {
        let mut args = vec![file.to_string()];
        for p in &self.params {
            args.push(format!("{}={}", p.name, p.data));
        }
        for (name, value) in &self.sizes {
            // A size that nothing has cannot be fixed.
            if !self.params.iter().any(|p| p.dims.contains(name)) {
                continue;
            }
            args.push("--size".to_string());
            args.push(format!("{name}={value}"));
        }
        args
    }
}

struct Maker {
    random: Random,
}

impl Maker {
    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        let at = usize::try_from(self.below(list.len() as u64)).unwrap();
        list[at]
    }

    fn index(&mut self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).unwrap()
    }

    fn subset(&mut self, all: &[String], count: usize) -> Vec<String> {
        let mut left = all.to_vec();
        let mut out = Vec::new();
        while out.len() < count && !left.is_empty() {
            let at = self.index(left.len());
            out.push(left.remove(at));
        }
        out
    }

    fn format(&mut self, order: usize) -> Option<String> {
        if order == 0 || self.chance(35) {
            return None;
        }
        let levels: Vec<&str> = if order > 1 && self.chance(25) {
            let mut levels = vec!["singleton(nonunique)"; order];
            levels[0] = "compressed(nonunique)";
            levels[order - 1] = "singleton";
            levels
        } else {
            (0..order)
                .map(|_| {
                    if self.chance(60) {
                        "compressed"
                    } else {
                        "dense"
                    }
                })
                .collect()
        };
        let mut text = format!("{{{}}}", levels.join(", "));
        if self.chance(30) {
            let modes: Vec<String> = (0..order).map(|m| m.to_string()).collect();
            text += &format!(" order ({})", self.subset(&modes, order).join(","));
        }
        if self.chance(10) {
            text += " index 64";
        }
        Some(text)
    }

    fn data(&mut self, order: usize) -> String {
        if order == 0 {
            return self.pick(&["2", "-0.5", "0", "1"]).to_string();
        }
        let density = self.pick(&["0", "0.1", "0.3", "0.6", "1"]);
        format!("random:{}:{density}", self.below(1000))
    }

    fn program(&mut self) -> Program {
        let count = 1 + self.index(4);
        let vars: Vec<String> = (0..count)
            .map(|v| ["i", "j", "k", "l", "m"][v].to_string())
            .collect();
        let sizes: Vec<(String, u64)> = vars
            .iter()
            .map(|v| {
                let extent = if self.chance(6) { 0 } else { 1 + self.below(7) };
                (v.to_uppercase(), extent)
            })
            .collect();
        let ty: &'static str = self.pick(&[
            "double",
            "double",
            "double",
            "double",
            "float",
            "int",
            "int64",
            "uint8",
            "complex128",
            "half",
        ]);
        let operands = 1 + self.index(4);
        let mut params = Vec::new();
        let mut accesses = Vec::new();
        for n in 0..operands {
            let order = self.index(count.min(4) + 1);
            let mut subscripts = self.subset(&vars, order);
            if order > 1 && self.chance(8) {
                subscripts[1] = subscripts[0].clone();
            }
            let name = format!("T{n}");
            params.push(Param {
                ty,
                dims: subscripts.iter().map(|s| s.to_uppercase()).collect(),
                format: self.format(order),
                data: self.data(order),
                name: name.clone(),
            });
            accesses.push(if subscripts.is_empty() {
                name
            } else {
                format!("{name}({})", subscripts.join(","))
            });
        }
        let rhs = self.expr(&accesses, ty);
        let used: Vec<String> = vars
            .iter()
            .filter(|v| {
                rhs.split(|c: char| !c.is_alphanumeric())
                    .any(|word| word == v.as_str())
            })
            .cloned()
            .collect();
        let left_count = self.index(used.len() + 1);
        let left = self.subset(&used, left_count);
        let complex = ty == "complex128";
        let op = match self.below(10) {
            0..=5 => "=",
            6 => "+=!",
            7 => "+=",
            8 if !complex => self.pick(&["max=!", "min=!"]),
            _ => self.pick(&["*=!", "="]),
        };
        let target = if left.is_empty() {
            "y".to_string()
        } else {
            format!("y({})", left.join(","))
        };
        let mut results = vec![("y".to_string(), None)];
        if op == "+=" {
            params.push(Param {
                ty,
                name: "y".to_string(),
                dims: left.iter().map(|v| v.to_uppercase()).collect(),
                format: None,
                data: self.data(left.len()),
            });
        } else if self.chance(45) {
            results[0].1 = self.format(left.len());
        }
        let mut stmts = vec![format!("{target} {op} {rhs}")];
        if self.chance(15) {
            stmts.push(format!("z = {target} * {target}"));
            results.push(("z".to_string(), None));
        }
        let schedule = self.schedule(&left, &vars, stmts.len() > 1);
        Program {
            sizes,
            params,
            results,
            stmts,
            schedule,
        }
    }

    fn schedule(&mut self, left: &[String], vars: &[String], several: bool) -> Vec<String> {
        if several || !self.chance(40) {
            return Vec::new();
        }
        let mut out = Vec::new();
        let var = vars[self.index(vars.len())].clone();
        let factor = 1 + self.below(4);
        out.push(format!("split({var}, a, b, {factor})"));
        if self.chance(30) {
            out.push(format!("split(b, c, d, {})", 1 + self.below(3)));
        }
        if self.chance(30) {
            out.push(
                self.pick(&["reorder(b, a)", "reorder(a, d, c)", "reorder(c, a)"])
                    .to_string(),
            );
        }
        if left.contains(&var) && self.chance(50) {
            out.push("parallelize(a, CPUThread, NoRaces)".to_string());
        }
        out
    }

    fn expr(&mut self, accesses: &[String], ty: &str) -> String {
        let mut terms: Vec<String> = accesses.to_vec();
        let float = matches!(ty, "double" | "float" | "half");
        while terms.len() > 1 {
            let b = terms.remove(self.index(terms.len()));
            let a = terms.remove(self.index(terms.len()));
            let joined = match self.below(20) {
                0..=7 => format!("{a} * {b}"),
                8..=12 => format!("({a} + {b})"),
                13..=15 => format!("({a} - {b})"),
                16 if float => format!("max({a}, {b})"),
                17 if float => format!("min({a}, {b})"),
                18 if float => format!("({} > 0 ? {a} : {b})", accesses[0]),
                19 if float => format!("({a}) / (2 + abs({}))", accesses[accesses.len() - 1]),
                _ => format!("{a} * ({b})"),
            };
            terms.push(joined);
        }
        let e = terms.remove(0);
        match self.below(14) {
            0 if float => format!("abs({e})"),
            1 => format!("-({e})"),
            2 => format!("2 * ({e})"),
            3 if float => format!("sqrt(abs({e}))"),
            4 if float => format!("exp({e})"),
            _ => e,
        }
    }
}

enum Outcome {
    Ready(Box<Case>),
    Refused(String),
}

/// Compiles a program; refusals are counted by their code.
fn prepare(program: &Program, file: &std::path::Path) -> Outcome {
    std::fs::write(file, program.text()).unwrap();
    let args = program.args(&file.display().to_string());
    let run = parse(&args);
    match compile(&run) {
        Ok(compiled) => Outcome::Ready(Box::new(Case {
            text: program.text(),
            compiled,
            runs: vec![
                run.operands
                    .into_iter()
                    .filter(|o| o.contains('='))
                    .collect(),
            ],
        })),
        Err(reason) => {
            let code = reason
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'))
                .map_or("?", |(code, _)| code);
            Outcome::Refused(code.to_string())
        }
    }
}

fn fails(program: &Program, folder: &std::path::Path) -> Option<String> {
    match prepare(program, &folder.join("shrink.tc")) {
        Outcome::Ready(case) => run_all(&[*case]).pop(),
        Outcome::Refused(_) => None,
    }
}

/// Smaller programs that may still fail.
fn smaller(program: &Program) -> Vec<Program> {
    let mut out = Vec::new();
    let mut push = |change: &dyn Fn(&mut Program)| {
        let mut next = program.clone();
        change(&mut next);
        if next.text() != program.text() || next.args("") != program.args("") {
            out.push(next);
        }
    };
    push(&|p| p.schedule.clear());
    push(&|p| {
        p.schedule.pop();
    });
    push(&|p| {
        p.stmts.truncate(1);
        p.results.truncate(1);
    });
    for at in 0..program.params.len() {
        push(&|p| p.params[at].format = None);
        push(&|p| {
            if let Some(format) = &mut p.params[at].format {
                *format = format.replace(" index 64", "");
            }
        });
    }
    push(&|p| p.results[0].1 = None);
    for at in 0..program.sizes.len() {
        push(&|p| p.sizes[at].1 = p.sizes[at].1.min(1));
        push(&|p| p.sizes[at].1 = p.sizes[at].1.saturating_sub(1));
    }
    out
}

fn shrink(program: &Program, folder: &std::path::Path) -> (Program, String) {
    let mut best = program.clone();
    let mut reason = fails(&best, folder).unwrap_or_default();
    let mut tries = 0;
    'again: while tries < 60 {
        for next in smaller(&best) {
            tries += 1;
            if let Some(why) = fails(&next, folder) {
                best = next;
                reason = why;
                continue 'again;
            }
        }
        break;
    }
    (best, reason)
}

#[test]
fn random_programs_agree_with_the_judge() {
    // SAFETY: nothing else runs in this process yet.
    unsafe {
        if std::env::var_os("SPARSEC_CFLAGS").is_none() {
            std::env::set_var(
                "SPARSEC_CFLAGS",
                "-O1 -fsanitize=undefined \
                         -fno-sanitize=signed-integer-overflow -fno-sanitize-recover=all",
            );
        }
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let cases = number("SPARSEC_CASES").unwrap_or(1000);
    let seed = number("SPARSEC_SEED").unwrap_or_else(|| {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |d| d.as_secs())
    });
    println!("seed {seed}, {cases} cases (repeat with SPARSEC_SEED={seed})");
    let folder = root().join("target/generator");
    std::fs::create_dir_all(&folder).unwrap();
    let mut maker = Maker {
        random: Random::new(seed),
    };
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut ran = 0;
    let mut done = 0;
    while done < cases {
        let mut programs = Vec::new();
        let mut batch = Vec::new();
        while batch.len() < 100 && done < cases {
            done += 1;
            let program = maker.program();
            match prepare(&program, &folder.join("case.tc")) {
                Outcome::Ready(case) => {
                    batch.push(*case);
                    programs.push(program);
                }
                Outcome::Refused(code) => *refused.entry(code).or_default() += 1,
            }
        }
        ran += batch.len();
        let wrong = run_all(&batch);
        if wrong.is_empty() {
            continue;
        }
        for program in &programs {
            if wrong.iter().any(|w| w.starts_with(&program.text())) {
                let (small, reason) = shrink(program, &folder);
                let file = folder.join("failure.tc");
                let args = small.args("failure.tc");
                let text = format!("# run: {}\n{}", args[1..].join(" "), small.text());
                std::fs::write(&file, &text).unwrap();
                panic!(
                    "seed {seed}: {reason}\n\n{text}\nwritten to {}",
                    file.display()
                );
            }
        }
        panic!("seed {seed}: only together: {}", wrong.join("\n"));
    }
    println!("{ran} ran and agree; refused: {refused:?}");
    assert!(
        ran * 2 > usize::try_from(cases).unwrap(),
        "most programs are refused"
    );
}
