//! Draws random schedules, without knowing what is legal: a command that the compiler
//! refuses is left out and counted, one that it takes must not change the result.

use crate::late::{Late, Refusal};
use crate::maker::Maker;
use crate::program::{File, Program, Stmt};
use sparsec::diagnostic::Sources;
use sparsec::graph::{Graph, Nest};
use sparsec::loops::device;
use sparsec::schedule::{Settings, Target, apply, scheduled};
use sparsec::{lower, program, syntax};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

/// Commands of a schedule at most.
const MOST: usize = 12;

/// How often each command was tried, and how often taken.
#[derive(Default)]
pub struct Rates {
    commands: BTreeMap<&'static str, (usize, usize)>,
    /// What `schedule` took and lowering did not.
    pub late: Late,
}

impl Rates {
    fn note(&mut self, command: &'static str, taken: bool) {
        let (tried, accepted) = self.commands.entry(command).or_default();
        *tried += 1;
        *accepted += usize::from(taken);
    }

    /// How many commands were tried, and how many taken.
    pub fn total(&self) -> (usize, usize) {
        self.commands
            .values()
            .fold((0, 0), |sum, rate| (sum.0 + rate.0, sum.1 + rate.1))
    }

    /// `split 20/31 ...`
    pub fn text(&self) -> String {
        let parts: Vec<String> = self
            .commands
            .iter()
            .map(|(command, (tried, taken))| format!("{command} {taken}/{tried}"))
            .collect();
        parts.join(", ")
    }
}

/// The graph of a function before any schedule.
fn graph(file: &File, name: &str, sizes: &[(String, u64)]) -> Option<Graph> {
    let mut sources = Sources::default();
    let text = file.text();
    let _drawn = Drawn(&text);
    let file = sources.add("case.tc", &text);
    let ast = syntax::parse(file, &text).ok()?;
    let options = program::Options {
        def: Some(name.to_string()),
        sizes: sizes.to_vec(),
        ..program::Options::default()
    };
    let resolved = program::resolve(&[ast], &options).ok()?;
    Graph::build(&Rc::new(resolved.program.functions[0].clone())).ok()
}

/// The program that is drawn, which a panic of the compiler is of.
struct Drawn<'a>(&'a str);

impl Drop for Drawn<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("while this is drawn:\n{}", self.0);
        }
    }
}

/// What a compiler does with one more command.
pub enum Tried {
    Taken(Box<Graph>),
    /// By `schedule`: the command is refused where it stands.
    Refused,
    /// `schedule` takes it, a later stage refuses what it leads to.
    Late(Refusal),
}

/// The graph of a function before any schedule, and what lowering has against it already.
pub fn unscheduled(file: &File, name: &str) -> Option<(Graph, Option<Refusal>)> {
    let graph = graph(file, name, &[])?;
    let refusal = lowered(&graph, file.cuda).err();
    Some((graph, refusal))
}

/// The graph after one more command, if the compiler takes it and lowers the result.
pub fn after(graph: &Graph, command: &str, cuda: bool) -> Tried {
    let mut sources = Sources::default();
    let file = sources.add("case.sched", command);
    let Ok(commands) = syntax::parse_schedule(file, command) else {
        return Tried::Refused;
    };
    let settings = Settings {
        defines: vec![],
        target: if cuda { Target::Cuda } else { Target::C },
    };
    let next = apply(graph.clone(), &commands, &settings).or_else(|refused| {
        // Results may be collected as a whole for it, which their statements know from the start.
        let orders = ["reorder", "tile"]
            .iter()
            .any(|name| command.starts_with(name));
        let all = format!("{}\n{command}", graph.script.join("\n"));
        match syntax::parse_schedule(file, &all) {
            Ok(all) if orders => scheduled(&graph.function, &all, &settings),
            _ => Err(refused),
        }
    });
    let Ok(next) = next else {
        return Tried::Refused;
    };
    match lowered(&next, cuda) {
        Ok(()) => Tried::Taken(Box::new(next)),
        Err(refusal) => Tried::Late(refusal),
    }
}

/// Whether all stages behind `schedule` take the graph.
fn lowered(graph: &Graph, cuda: bool) -> Result<(), Refusal> {
    let lowered = lower::lower(graph).map_err(|errors| Refusal::of_lowering(&errors))?;
    if cuda {
        let lanes = Target::Cuda.properties().lanes;
        device::place(lowered.kernel, lanes).map_err(|refusal| Refusal::of_placing(&refusal))?;
    }
    Ok(())
}

/// Every loop as a command names it.
fn loops(graph: &Graph) -> Vec<String> {
    let mut found: Vec<(String, String, u32)> = Vec::new();
    for nest in &graph.nests {
        let label = &graph.statement(nest).label;
        nest.visit(&mut |part| {
            for l in &part.loops {
                let name = graph.var(l.var).name.clone();
                if !found.iter().any(|f| f.2 == l.var.0) {
                    found.push((label.clone(), name, l.var.0));
                }
            }
        });
    }
    let several = |name: &str| found.iter().filter(|f| f.1 == name).count() > 1;
    found
        .iter()
        .map(|(label, name, _)| {
            if several(name) {
                format!("{label}.{name}")
            } else {
                name.clone()
            }
        })
        .collect()
}

impl Maker {
    /// Commands for a function that the compiler takes one after another.
    pub fn schedule(&mut self, file: &File, at: usize, rates: &mut Rates) -> Vec<String> {
        let program = &file.functions[at];
        let Some((mut graph, before)) = unscheduled(file, &program.name) else {
            return Vec::new();
        };
        let mut known = Vec::new();
        for stmt in &program.stmts {
            stmt.right.accesses(&mut known);
        }
        for call in &program.calls {
            let callee = file.functions.iter().find(|f| f.name == call.callee);
            if let Some(callee) = callee {
                let mut inner = Vec::new();
                for stmt in &callee.stmts {
                    stmt.right.accesses(&mut inner);
                }
                for (param, arg) in callee.formals().zip(&call.args) {
                    let read = inner.iter().filter(|(name, _)| *name == param.name);
                    known.extend(read.map(|(_, subscripts)| (arg.clone(), subscripts.clone())));
                }
            }
        }
        let mut out = Vec::new();
        // There the names of sizes are not the program's.
        if !self.taco && self.chance(8) {
            let own: Vec<&(String, u64)> = file
                .sizes
                .iter()
                .filter(|(size, _)| program.has_size(size))
                .collect();
            if !own.is_empty() {
                let (name, value) = own[self.below(own.len())].clone();
                let command = format!("size {name} = {value}");
                let next = self::graph(file, &program.name, &[(name, value)]);
                rates.note("size", next.is_some());
                if let Some(next) = next {
                    graph = next;
                    out.push(command);
                }
            }
        }
        let cuda = file.cuda;
        // Statements of called functions come first.
        let first = graph.function.stmts.len() - program.stmts.len();
        // Rows that threads may collect together.
        let row = |own: &Nest| graph.collected.contains(&own.tensor);
        let mut nests = graph.nests.iter();
        let rows = cuda && nests.any(|nest| nest.producers.iter().any(row)) && self.chance(60);
        let tries = match rows {
            true => self.pick(&[0, 0, 2]),
            false => self.pick(&[0, 2, 4, 8, 16, 24]),
        };
        // Units for all loops: blocks in blocks, beside each other, around threads.
        let shared_out = rows || self.chance(30);
        for n in 0..tries {
            let loops = loops(&graph);
            if loops.is_empty() || out.len() == MOST {
                break;
            }
            let parallel = n * 3 > tries * 2;
            let (name, command) = self.command(n, &loops, &known, program, first, parallel);
            // Loops that run to a far promise take minutes inside one another.
            let is_far = |command: &String| command.contains("20000, MaxConstraint");
            if is_far(&command) && out.iter().any(is_far) {
                continue;
            }
            let next = std::panic::catch_unwind(|| after(&graph, &command, cuda));
            let Ok(next) = next else {
                // Compiling it will show the fault.
                out.push(command);
                break;
            };
            rates.note(name, matches!(next, Tried::Taken(_)));
            if let Tried::Taken(next) = next {
                graph = *next;
                out.push(command);
                continue;
            }
            let all = [out.as_slice(), &[command]].concat();
            if let (Tried::Late(refusal), None) = (next, &before) {
                rates.late.note(refusal, file, at, &all);
            }
            self.refused = Some((at, all));
        }
        if shared_out {
            // Blocks of warps of threads, as for rows that threads collect together; or any unit for each loop.
            let nested = rows || (cuda && self.chance(40));
            for (depth, name) in loops(&graph).into_iter().enumerate() {
                let unit = if nested {
                    let units = ["GPUBlock", "GPUWarp", "GPUThread"];
                    units[depth.min(self.pick(&[1, 2, 2]))]
                } else if cuda {
                    self.pick(&[
                        "GPUBlock",
                        "GPUBlockY",
                        "GPUBlockZ",
                        "GPUThread",
                        "GPUThreadY",
                        "GPUWarp",
                    ])
                } else {
                    self.pick(&["CPUThread", "CPUThread(static, 1)", "CPUVector"])
                };
                let race = match nested && depth > 0 {
                    true => "Atomics",
                    false => self.pick(&["NoRaces", "NoRaces", "Atomics"]),
                };
                let command = format!("parallelize({name}, {unit}, {race})");
                let next = std::panic::catch_unwind(|| after(&graph, &command, cuda));
                rates.note("units", matches!(next, Ok(Tried::Taken(_))));
                match next {
                    Ok(Tried::Taken(next)) => {
                        graph = *next;
                        out.push(command);
                    }
                    Ok(Tried::Refused) => {}
                    Ok(Tried::Late(refusal)) => {
                        if before.is_none() {
                            let all = [out.as_slice(), &[command]].concat();
                            rates.late.note(refusal, file, at, &all);
                        }
                    }
                    Err(_) => {
                        out.push(command);
                        break;
                    }
                }
            }
        }
        if !self.taco
            && self.chance(6)
            && !out.is_empty()
            && !out.iter().any(|c| c.starts_with("size"))
        {
            return self.choice(program, out);
        }
        out
    }

    /// The commands as one of two alternatives, of which the data choose.
    fn choice(&mut self, program: &Program, commands: Vec<String>) -> Vec<String> {
        let operands = program.formals().filter(|param| !param.dims.is_empty());
        let operands: Vec<(String, usize)> = operands
            .map(|param| (param.name.clone(), param.dims.len()))
            .collect();
        // Results that grow are chosen from on CPUs, if none keeps its coordinates.
        let grows = !program.formats.is_empty();
        let has = |word: &str| commands.iter().any(|command| command.contains(word));
        let refused = grows && (has("GPU") || has("once"));
        if operands.is_empty() || refused || !program.calls.is_empty() {
            return commands;
        }
        let (name, order) = operands[self.below(operands.len())].clone();
        let mut questions = vec!["nnz", "rows", "mean_row"];
        if order > 1 {
            questions.push("cols");
        }
        if !has("GPU") {
            questions.push("threads");
        }
        let (question, limit) = (self.pick(&questions), self.below(8));
        let compare = self.pick(&["<", "<=", ">", "==", "!="]);
        // How results are assembled is the callers' business: it is the same in both.
        let assembled = commands
            .iter()
            .filter(|command| command.starts_with("assemble"));
        let assembled: Vec<&str> = assembled.map(String::as_str).collect();
        let (one, other) = (commands.join("\n"), assembled.join("\n"));
        let (one, other) = if self.chance(50) {
            (one, other)
        } else {
            (other, one)
        };
        let asked = match question {
            "threads" => question.to_string(),
            of_tensor => format!("{of_tensor}({name})"),
        };
        vec![format!(
            "choose {{\nwhen {asked} {compare} {limit}: {{\n{one}\n}}\notherwise: {{\n{other}\n}}\n}}"
        )]
    }

    /// A command over some of the loops, right or wrong. The function's own statements are
    /// called S and their number from `first` on.
    fn command(
        &mut self,
        n: usize,
        loops: &[String],
        accesses: &[(String, Vec<String>)],
        program: &Program,
        first: usize,
        parallel: bool,
    ) -> (&'static str, String) {
        let any = |maker: &mut Maker| loops[maker.below(loops.len())].clone();
        let i = any(self);
        let factor = 1 + self.below(5);
        let neighbours = |maker: &mut Maker| {
            let at = maker.below(loops.len());
            let next = (at + 1).min(loops.len() - 1);
            (loops[at].clone(), loops[next].clone())
        };
        let access = |maker: &mut Maker| match accesses.len() {
            0 => "T0(i)".to_string(),
            count => {
                let (name, subscripts) = &accesses[maker.below(count)];
                format!("{name}({})", subscripts.join(","))
            }
        };
        let dynamic = program.stmts.iter().enumerate().find_map(|(at, stmt)| {
            let (var, _) = stmt.ranges.iter().find(|r| r.1.contains('('))?;
            let labelled = format!("S{}.{var}", first + at);
            [labelled, var.clone()]
                .into_iter()
                .find(|name| loops.contains(name))
        });
        let follows = program.formats.iter().find(|(_, format)| {
            let mut params = program.params.iter();
            params.any(|p| p.format.as_ref() == Some(format))
        });
        if let Some((result, _)) = follows
            && n == 0
            && self.chance(40)
        {
            return ("assemble", format!("assemble({result}, once)"));
        }
        let stored = program.formats.iter().find(|(name, _)| {
            let mut statements = program.stmts.iter();
            statements.any(|statement| statement.target == *name)
        });
        if let Some((result, _)) = stored
            && n == 0
            && self.chance(40)
        {
            let how = self.pick(&["once", "two_phase"]);
            return ("assemble", format!("assemble({result}, {how})"));
        }
        let kind = if n == 0 && dynamic.is_some() && self.chance(50) {
            0
        } else if n == 0 && self.chance(8) {
            88
        } else if n == 0 && program.stmts.len() > 1 && self.chance(30) {
            90
        } else if parallel {
            90 + self.below(20)
        } else {
            self.below(100)
        };
        match kind {
            0..=12 if dynamic.is_some() => {
                let var = dynamic.unwrap_or_default();
                ("inspect", format!("inspect({var}, u{n})"))
            }
            0..=17 => ("split", format!("split({i}, a{n}, b{n}, {factor})")),
            18..=20 => ("divide", format!("divide({i}, a{n}, b{n}, {factor})")),
            21..=23 => {
                // Rows are outermost, as a rule.
                let row = match loops.first() {
                    Some(first) if self.chance(70) => first.clone(),
                    Some(_) | None => i,
                };
                let kinds = [
                    "nnz",
                    "nnz",
                    "merge_path",
                    "merge_path",
                    "bins",
                    "bins",
                    "rows",
                ];
                let (count, by) = match self.pick(&kinds) {
                    "bins" => (3, "bins(1, 3)"),
                    by => (factor, by),
                };
                let parts = format!("partition({row}, a{n}, b{n}, {count}, {by})");
                ("partition", parts)
            }
            24..=37 => {
                let (i, j) = neighbours(self);
                ("fuse", format!("fuse({i}, {j}, f{n})"))
            }
            38..=53 => {
                let a = access(self);
                let Some((tensor, vars)) = accesses.get(self.below(accesses.len().max(1))) else {
                    return ("pos", format!("pos({i}, p{n}, {a})"));
                };
                if vars.len() < 2 || self.chance(60) {
                    return ("pos", format!("pos({i}, p{n}, {a})"));
                }
                let last = vars.len() - 1;
                let mut fused = vars[last].clone();
                let mut fuses = String::new();
                for (at, var) in vars[..last].iter().enumerate().rev() {
                    fuses += &format!("fuse({var}, {fused}, f{n}_{at}) ");
                    fused = format!("f{n}_{at}");
                }
                let a = format!("{tensor}({})", vars.join(","));
                // Tiles whose ends rows cross, whoever has them.
                let race = self.pick(&["Atomics", "Temporary"]);
                let unit = if self.cuda { "GPUThread" } else { "CPUThread" };
                let cut = if self.chance(25) {
                    format!("partition(p{n}, a{n}, b{n}, {factor}, merge_path)")
                } else {
                    format!("split(p{n}, a{n}, b{n}, {factor})")
                };
                let tiles = format!(
                    "{fuses}pos({fused}, p{n}, {a}) {cut} parallelize(a{n}, {unit}, {race})"
                );
                ("tiles", tiles)
            }
            54..=56 => {
                // Positions are named p and a number, inner parts (of them, perhaps) b.
                let counts = |name: &&String| {
                    let last = name.rsplit('.').next();
                    let rest = last.and_then(|n| n.strip_prefix(['p', 'b']));
                    rest.is_some_and(|n| n.parse::<usize>().is_ok())
                };
                let found: Vec<&String> = loops.iter().filter(counts).collect();
                let p = match found.len() {
                    0 => &i,
                    count => found[self.below(count)],
                };
                if self.chance(25) {
                    let tile = format!("split({p}, a{n}, b{n}, {factor}) coord(b{n}, c{n})");
                    return ("coord", tile);
                }
                ("coord", format!("coord({p}, c{n})"))
            }
            57 if self.chance(50) => ("inspect", format!("inspect({i}, u{n})")),
            57 => {
                let by = self.pick(&[-2, 1, 3]);
                ("shift", format!("shift({i}, {by})"))
            }
            62 | 63 => {
                let by = self.pick(&[-2, 1, 1, 3]);
                ("skew", format!("skew({i}, {}, {by})", any(self)))
            }
            58..=61 => {
                // Promises must be true: no variable of a program has more than 64 values, and
                // skewed along some others it keeps its name.
                let root = !i.ends_with(|c: char| c.is_ascii_digit());
                let (value, kind) = match self.below(3) {
                    0 | 1 if root => (20_000, "MaxConstraint"),
                    0 => (-64, "MinConstraint"),
                    _ => (1, "Multiple"),
                };
                ("bound", format!("bound({i}, d{n}, {value}, {kind})"))
            }
            64..=73 => {
                let count = 2.min(loops.len()) + self.below(loops.len().saturating_sub(1));
                let order = self.subset(loops, count);
                ("reorder", format!("reorder({})", order.join(", ")))
            }
            74..=84 => {
                let mut e = access(self);
                if self.chance(50) {
                    e = format!("{e} * {}", access(self));
                }
                let j = any(self);
                if self.chance(25) && i != j {
                    let vars = format!("{{{i}, {j}}}, {{v{n}, w{n}}}");
                    ("precompute", format!("precompute({e}, {vars}, x{n})"))
                } else if self.chance(20) && !i.contains('.') {
                    ("precompute", format!("precompute({e}, {i}, {i}, x{n})"))
                } else if self.chance(20) {
                    ("precompute", format!("precompute({e}, {{}}, {{}}, x{n})"))
                } else {
                    ("precompute", format!("precompute({e}, {i}, v{n}, x{n})"))
                }
            }
            87 if self.chance(50) => {
                let stored: Vec<&String> = program.formats.iter().map(|(name, _)| name).collect();
                let result = match stored.len() {
                    0 => &program.stmts[0].target,
                    count => stored[self.below(count)],
                };
                let how = self.pick(&["once", "two_phase"]);
                ("assemble", format!("assemble({result}, {how})"))
            }
            86..=87 if !self.cuda => {
                let tensor = access(self).split('(').next().unwrap_or("T0").to_string();
                let ahead = self.pick(&[1, 8, 512]);
                ("prefetch", format!("prefetch({tensor}, {i}, {ahead})"))
            }
            88 => {
                // Outer parts are named a and a number.
                let is_tile = |name: &&String| {
                    let rest = name.rsplit('.').next().and_then(|n| n.strip_prefix('a'));
                    rest.is_some_and(|n| n.parse::<usize>().is_ok())
                };
                let tiles: Vec<&String> = loops.iter().filter(is_tile).collect();
                if !tiles.is_empty() && self.chance(50) {
                    let tile = tiles[self.below(tiles.len())];
                    return ("starts", format!("starts({tile}, before)"));
                }
                // Tiles of an operand's positions, of all its levels.
                let is_searched = |name: &str| {
                    let param = program.params.iter().find(|p| p.name == name);
                    let format = param.and_then(|p| p.format.as_ref());
                    format.is_some_and(|f| f.levels[1..].contains(&"compressed"))
                };
                let deep: Vec<_> = accesses.iter().filter(|a| is_searched(&a.0)).collect();
                let Some(&(name, subscripts)) = deep.get(self.below(deep.len().max(1))) else {
                    return ("starts", format!("starts({i}, before)"));
                };
                let own = |v: &String| {
                    let labelled = loops.iter().find(|l| l.ends_with(&format!(".{v}")));
                    labelled.unwrap_or(v).clone()
                };
                let mut made = String::new();
                let mut fused = own(&subscripts[0]);
                for (at, v) in subscripts.iter().enumerate().skip(1) {
                    let _ = write!(made, "fuse({fused}, {}, f{n}_{at}) ", own(v));
                    fused = format!("f{n}_{at}");
                }
                let _ = write!(
                    made,
                    "pos({fused}, p{n}, {name}({})) split(p{n}, a{n}, b{n}, {factor}) \
                     starts(a{n}, before)",
                    subscripts.join(",")
                );
                ("starts", made)
            }
            85..=87 => ("mergeby", format!("mergeby({i}, gallop)")),
            89 => {
                let (i, j) = neighbours(self);
                ("tile", format!("tile({i}, {j}, {factor}, 2)"))
            }
            90..=91 if program.stmts.len() > 1 => {
                let range = |stmt: &Stmt, variable: &String| {
                    let own = stmt.ranges.iter().find(|(name, _)| name == variable);
                    own.map(|(_, range)| range.clone())
                };
                let pair = |at: usize| (&program.stmts[at], &program.stmts[at + 1]);
                let differ = |at: &usize| {
                    let (one, other) = pair(*at);
                    let mut both = one.left.iter().filter(|v| other.left.contains(v));
                    both.any(|v| range(one, v) != range(other, v))
                };
                let last = program.stmts.len() - 1;
                let different: Vec<usize> = (0..last).filter(differ).collect();
                let at = if !different.is_empty() && self.chance(60) {
                    different[self.below(different.len())]
                } else {
                    self.below(last)
                };
                let (one, other) = pair(at);
                let common = one.left.iter().find(|v| other.left.contains(v));
                let any = i.rsplit('.').next().unwrap_or(&i).to_string();
                let same = one.left.iter().zip(&other.left);
                let mut prefix: Vec<String> = same
                    .take_while(|(a, b)| a == b)
                    .map(|(a, _)| a.clone())
                    .collect();
                // A sum of both, whose range data may decide.
                let summed = one.ranges.iter().map(|(name, _)| name);
                let mut summed = summed.filter(|name| range(other, name).is_some());
                if prefix.len() == one.left.len()
                    && one.left == other.left
                    && let Some(name) = summed.find(|name| !one.left.contains(name))
                    && self.chance(60)
                {
                    prefix.push(name.clone());
                }
                let vars = if prefix.len() > 1 && self.chance(50) {
                    prefix.join(", ")
                } else {
                    common.cloned().unwrap_or(any)
                };
                let at = first + at;
                ("join", format!("join(S{at}, S{}, {vars})", at + 1))
            }
            90..=91 => {
                let tensor = access(self).split('(').next().unwrap_or("T0").to_string();
                let space = self.pick(&["shared", "local"]);
                let (first, second) = neighbours(self);
                if self.chance(50) || first == second {
                    return ("promote", format!("promote({tensor}, {space}, {i})"));
                }
                // Loops of constant length inside, whose windows overlap where subscripts
                // add them up.
                let tiled = format!(
                    "split({first}, a{n}, b{n}, {factor}) split({second}, c{n}, d{n}, 2) \
                     reorder(a{n}, c{n}, b{n}, d{n}) promote({tensor}, {space}, c{n})"
                );
                if self.chance(50) {
                    return ("promote", tiled);
                }
                // Other threads stage an element than those that read it.
                let piece = 2 + self.below(4);
                let shared = if self.cuda {
                    format!(
                        " parallelize(x{n}, GPUThread, NoRaces) parallelize(b{n}, GPUThread, NoRaces)"
                    )
                } else {
                    String::new()
                };
                let pieces =
                    format!("{tiled} split(b{n}_{tensor}_tile, x{n}, y{n}, {piece}){shared}");
                ("stage", pieces)
            }
            92..=95 => ("unroll", format!("unroll({i}, {factor})")),
            _ => {
                let (unit, race) = if self.cuda {
                    self.pick(&[
                        ("GPUBlock", "NoRaces"),
                        ("GPUBlock", "Atomics"),
                        ("GPUBlock", "Temporary"),
                        ("GPUBlockY", "NoRaces"),
                        ("GPUWarp", "NoRaces"),
                        ("GPUWarp", "Atomics"),
                        ("GPUThread", "NoRaces"),
                        ("GPUThread", "Atomics"),
                        ("GPUThread", "Temporary"),
                        ("GPUThreadY", "NoRaces"),
                        ("GPUThreadY", "Atomics"),
                        ("GPUGroup(2)", "ParallelReduction"),
                        ("GPUGroup(4)", "ParallelReduction"),
                        ("GPUGroup(4)", "Segment"),
                        ("GPUGroup(32)", "Segment"),
                    ])
                } else {
                    self.pick(&[
                        ("CPUThread", "NoRaces"),
                        ("CPUThread(dynamic)", "NoRaces"),
                        ("CPUThread(static, 2)", "Atomics"),
                        ("CPUThread", "Atomics"),
                        ("CPUThread", "Temporary"),
                        ("CPUThread", "ParallelReduction"),
                        ("CPUVector", "NoRaces"),
                        ("CPUVector", "ParallelReduction"),
                    ])
                };
                // What a parallel loop is taken apart into runs inside as it did.
                let cut = self.pick(&["", "", "", "split", "divide"]);
                let apart = match cut {
                    "" => String::new(),
                    _ => format!(" {cut}({i}, a{n}, b{n}, {factor})"),
                };
                (
                    "parallelize",
                    format!("parallelize({i}, {unit}, {race}){apart}"),
                )
            }
        }
    }
}
