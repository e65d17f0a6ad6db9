//! A file of one function as TACO notation says it: `-e` for each statement, `-f`, `-t`, sizes by
//! `-d` or `--size`, `-s`. The bits of a spelling choose among the ways to say the same.

use crate::program::{Expr, File, Format, Program, Stmt, extents, words};
use sparsec::diagnostic::Sources;
use sparsec::driver::{bind, run};
use sparsec::program::ir::Function;
use sparsec::program::{Options, resolve};
use sparsec::reference;
use sparsec::syntax::ast::{Dim, Item};
use sparsec::syntax::taco::TacoArgs;
use sparsec::syntax::{self, taco};

/// The options of one program.
#[derive(Default)]
struct Spelled {
    taco: TacoArgs,
    /// What `-d` leaves open.
    sizes: Vec<(String, u64)>,
}

impl Program {
    /// Leaves out what TACO notation has no words for.
    pub fn leave_out_for_taco(&mut self) {
        let own = self.params.iter_mut().filter_map(|p| p.format.as_mut());
        for format in own.chain(self.formats.iter_mut().map(|(_, format)| format)) {
            format.fill = None;
            format.typical = None;
            format.wide = false;
        }
        // There a variable is no value.
        let tensors: Vec<String> = (self.params.iter().map(|p| p.name.clone()))
            .chain(self.stmts.iter().map(|stmt| stmt.target.clone()))
            .collect();
        for stmt in &mut self.stmts {
            unconditional(&mut stmt.right, &tensors);
        }
        // A tensor that bounds a range is nowhere mentioned else.
        for stmt in &mut self.stmts {
            stmt.ranges.retain(|(_, range)| !range.contains('('));
        }
        // What has a type by `-t` has its own sizes; without it, neither is said.
        for param in &mut self.params {
            param.declared |= self.stmts.iter().any(|s| s.target == param.name);
        }
        self.prune();
    }
}

fn asks_variables(condition: &Expr, tensors: &[String]) -> bool {
    match condition {
        Expr::Access(name, subscripts) => subscripts.is_empty() && !tensors.contains(name),
        Expr::Binary(_, a, b) => asks_variables(a, tensors) || asks_variables(b, tensors),
        Expr::Number(_) | Expr::Unary(..) | Expr::Call(..) | Expr::Choice(..) => false,
    }
}

/// What conditions on variables choose where they do not hold, in their place.
fn unconditional(e: &mut Expr, tensors: &[String]) {
    if let Expr::Choice(condition, _, otherwise) = e
        && asks_variables(condition, tensors)
    {
        *e = otherwise.as_ref().clone();
    }
    for child in e.children_mut() {
        unconditional(child, tensors);
    }
}

impl File {
    /// The arguments of `sparsec` that say in TACO notation what the file says.
    pub fn taco_args(&self, spelling: u64) -> Vec<String> {
        let spelled = self.spelled(spelling);
        let mut args = Vec::new();
        let mut option = |name: &str, values: Vec<String>| {
            for value in values {
                args.extend([name.to_string(), value]);
            }
        };
        option("-e", spelled.taco.exprs);
        option("-f", spelled.taco.formats);
        option("-t", spelled.taco.types);
        option("-d", spelled.taco.dims);
        option("-s", spelled.taco.schedules);
        let sizes = spelled.sizes.iter();
        option("--size", sizes.map(|(n, v)| format!("{n}={v}")).collect());
        let function = &self.functions[0];
        if function.schedule.is_empty() && !function.automatic {
            args.push("--no-schedule".to_string());
        }
        args
    }

    /// A line of a file of cases, as a comment.
    pub fn taco_line(&self, spelling: u64, prefix: &str) -> String {
        let args = [self.taco_args(spelling), self.bindings(0, prefix)].concat();
        let quoted = args.iter().map(|a| match a.contains([' ', '(', '|']) {
            true => format!("'{a}'"),
            false => a.clone(),
        });
        format!("# {}\n", quoted.collect::<Vec<_>>().join(" "))
    }

    fn spelled(&self, spelling: u64) -> Spelled {
        let function = &self.functions[0];
        let bit = |at: usize| spelling >> (at % 64) & 1 == 1;
        let labels = function.schedule.iter().any(|c| c.contains('S'));
        let mut out = Spelled::default();
        for (n, stmt) in function.stmts.iter().enumerate() {
            let mut text = stmt.to_string();
            if bit(0) && stmt.ranges.is_empty() {
                // `u max= x` needs its first blank.
                let words = stmt.op.starts_with(char::is_alphabetic);
                let (left, right) = text.split_once(' ').unwrap_or((&text, ""));
                let between = if words { " " } else { "" };
                text = format!("{left}{between}{}", right.replace(' ', ""));
            }
            if labels || bit(1) {
                text = format!("S{n}: {text}");
            }
            out.taco.exprs.push(text);
        }
        let own = function
            .params
            .iter()
            .filter_map(|p| Some((&p.name, p.format.as_ref()?)));
        let results = function.formats.iter().map(|(name, f)| (name, f));
        for (name, format) in own.chain(results) {
            out.taco.formats.push(format!("{name}:{}", letters(format)));
        }
        for (at, param) in function.params.iter().enumerate() {
            let given = function.formats.iter().any(|(name, _)| *name == param.name);
            if param.format.is_none() && !given && !param.dims.is_empty() && bit(8 + at) {
                let dense = "d".repeat(param.dims.len());
                out.taco.formats.push(format!("{}:{dense}", param.name));
            }
        }
        for (at, (name, ty)) in self.types().into_iter().enumerate() {
            // What nobody says is double.
            let mut params = function.params.iter();
            let declared = params.any(|p| p.declared && p.name == name);
            if ty != "double" || declared || bit(16 + at) {
                out.taco.types.push(format!("{name}:{ty}"));
            }
        }
        for (at, (size, extent)) in self.sizes.iter().enumerate() {
            let variable = size.to_lowercase();
            if bit(24 + at) && function.stmts.iter().all(|s| s.has_all_of(&variable)) {
                let mut stmts = function.stmts.iter();
                if stmts.any(|s| s.mentions(&variable)) {
                    out.taco.dims.push(format!("{variable}:{extent}"));
                }
            }
        }
        if !function.schedule.is_empty() {
            let commands = function.schedule.iter();
            let commands = commands.map(|c| spelled_command(c, function, &bit));
            out.taco.schedules = if bit(2) {
                commands.collect()
            } else {
                vec![commands.collect::<Vec<_>>().join(",")]
            };
        }
        out.sizes = self.named_sizes(&out.taco);
        out
    }

    /// The types of parameters and results, as the function in the file's own words has them.
    fn types(&self) -> Vec<(String, &'static str)> {
        match self.resolved() {
            Some(function) => {
                let tensors = function.tensors.iter();
                let names = tensors.map(|t| (t.name.clone(), t.ty.name()));
                names.collect()
            }
            None => {
                let params = self.functions[0].params.iter();
                params.map(|p| (p.name.clone(), p.ty)).collect()
            }
        }
    }

    /// The function of the file's text.
    fn resolved(&self) -> Option<Function> {
        let mut sources = Sources::default();
        let text = self.text();
        let id = sources.add("case.tc", &text);
        let ast = syntax::parse(id, &text).ok()?;
        let used = |(name, _): &&(String, u64)| self.functions[0].has_size(name);
        let options = Options {
            sizes: self.sizes.iter().filter(used).cloned().collect(),
            ..Options::default()
        };
        let mut resolved = resolve(&[ast], &options).ok()?;
        resolved.program.functions.pop()
    }

    /// The sizes of TACO's parameters, whose names nobody has chosen, and their extents.
    fn named_sizes(&self, args: &TacoArgs) -> Vec<(String, u64)> {
        let mut out: Vec<(String, u64)> = Vec::new();
        let Ok(program) = taco::parse(&mut Sources::default(), args) else {
            return out;
        };
        for item in &program.file.items {
            let Item::Def(def) = item else {
                continue;
            };
            for param in &def.params {
                let own = self.functions[0].params.iter();
                let Some(own) = own.into_iter().find(|p| p.name == param.name.name) else {
                    continue;
                };
                for (dim, extent) in param.dims.iter().zip(extents(&own.dims, &self.sizes)) {
                    if let Dim::Name(name) = dim
                        && out.iter().all(|(known, _)| *known != name.name)
                    {
                        out.push((name.name.clone(), extent));
                    }
                }
            }
        }
        out
    }

    /// Whether the judge finds the same of what TACO notation made.
    ///
    /// # Errors
    /// What differs.
    pub fn compare_with(&self, taco: &Function, prefix: &str) -> Result<(), String> {
        let Some(own) = self.resolved() else {
            return Ok(());
        };
        let bindings = self.bindings(0, prefix);
        let expected = |function: &Function| {
            let bound = bind::bind(function, &bindings, &mut Sources::default()).ok()?;
            run::expected(function, &bound).ok()
        };
        let (Some(wanted), Some(found)) = (expected(&own), expected(taco)) else {
            // Data that a program refuses are the run's to judge.
            return Ok(());
        };
        for (id, wanted) in &wanted.results {
            let tensor = own.tensor(*id);
            let mut results = found.results.iter();
            let found = results.find(|(id, _)| taco.tensor(**id).name == tensor.name);
            let Some((_, found)) = found else {
                return Err(format!("TACO notation has no result `{}`", tensor.name));
            };
            reference::compare(&found.tensor, wanted, tensor.fill)
                .map_err(|e| format!("in TACO notation `{}` {e}", tensor.name))?;
        }
        Ok(())
    }

    /// Whether the program has a meaning in the file's own words.
    pub fn is_sound(&self) -> bool {
        self.resolved().is_some()
    }
}

impl Stmt {
    /// Whether a variable that stands in it runs through all of a dimension, and nothing else
    /// says how far: as far as `-d` says.
    fn has_all_of(&self, variable: &str) -> bool {
        let mut accesses = Vec::new();
        self.right.accesses(&mut accesses);
        let subscripts = || accesses.iter().flat_map(|(_, s)| s);
        // `x(6 - i)` ends where x begins, however far `x(i)` goes.
        let falls = subscripts().any(|s| s.contains(&format!("- {variable}")));
        !self.mentions(variable)
            || (!falls
                && subscripts().any(|s| s == variable)
                && self.ranges.iter().all(|(name, _)| name != variable))
    }
}

fn letters(format: &Format) -> String {
    let letter = |level: &&str| match *level {
        "dense" => 'd',
        "compressed" => 's',
        "compressed(nonunique)" => 'u',
        "singleton" => 'q',
        "singleton(nonunique)" => 'c',
        other => panic!("TACO has no {other}"),
    };
    let levels: String = format.levels.iter().map(letter).collect();
    if format.modes.is_empty() {
        return levels;
    }
    let modes: Vec<String> = format.modes.iter().map(usize::to_string).collect();
    format!("{levels}:{}", modes.join(","))
}

/// A command in one of TACO's spellings.
fn spelled_command(command: &str, function: &Program, bit: &dyn Fn(usize) -> bool) -> String {
    let mut text = command.to_string();
    let accesses: Vec<(String, Vec<String>)> =
        function.stmts.iter().fold(Vec::new(), |mut all, s| {
            s.right.accesses(&mut all);
            all
        });
    for (name, subscripts) in &accesses {
        let access = Expr::Access(name.clone(), subscripts.clone());
        let once = accesses.iter().filter(|(n, _)| n == name).count() == 1;
        if bit(3) && once && text.starts_with("pos(") {
            text = text.replace(&format!(", {access})"), &format!(", {name})"));
        }
    }
    if bit(4) {
        text = text.replace(", gallop)", ", Gallop)");
    }
    // The workspace of its own name, if nobody speaks of it.
    if bit(5)
        && text.starts_with("precompute(")
        && !text.contains('{')
        && let Some((before, workspace)) = text.trim_end_matches(')').rsplit_once(", ")
    {
        let workspace = workspace.to_string();
        let mut commands = function.schedule.iter();
        if commands.all(|c| c == command || words(c).all(|w| w != workspace)) {
            text = format!("{before})");
        }
    }
    if let Some((name, rest)) = text.split_once('(')
        && bit(6)
    {
        text = if bit(7) {
            format!("{}({rest}", name.to_uppercase())
        } else {
            let (first, others) = name.split_at(1);
            format!("{}{others}({rest}", first.to_uppercase())
        };
    }
    text
}
