//! A random program as data: what the maker draws, the shrinker takes apart, and the
//! compiler reads as text.

use crate::datafile::DataFile;
use std::fmt::{self, Write as _};

/// One file: functions, the called ones first, and the sizes that all have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub functions: Vec<Program>,
    pub sizes: Vec<(String, u64)>,
    /// For a GPU.
    pub cuda: bool,
    /// Given in TACO notation, in this spelling.
    pub taco: Option<u64>,
}

/// One function with its formats, its schedule and the data it runs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub name: String,
    pub params: Vec<Param>,
    /// They stand before the statements.
    pub calls: Vec<Call>,
    pub stmts: Vec<Stmt>,
    /// Formats of results and temporaries.
    pub formats: Vec<(String, Format)>,
    /// Names of `stmts` that are returned.
    pub returned: Vec<String>,
    pub schedule: Vec<String>,
    /// Without commands, as sparsec schedules by itself; otherwise plain loops.
    pub automatic: bool,
}

/// `(c0, c1) = g(X0, X1)`
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub callee: String,
    pub args: Vec<String>,
    pub results: Vec<String>,
    /// The variables of each result.
    pub lefts: Vec<Vec<String>>,
}

/// A parameter; an in-out one has the name of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub ty: &'static str,
    pub name: String,
    /// Size names or constants.
    pub dims: Vec<String>,
    pub format: Option<Format>,
    pub data: Data,
    /// An in-out one whose type is said; otherwise it follows from the statements.
    pub declared: bool,
}

/// What a parameter runs on.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// What stands behind `NAME=` on the command line.
    Text(String),
    /// A file that the generator writes.
    File(Box<DataFile>),
}

/// The last levels as singletons, and a level of slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// Behind so many levels, if there are as many.
    pub behind: usize,
    pub level: &'static str,
    pub singletons: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    pub levels: Vec<&'static str>,
    /// Mode order, where it is not the identity.
    pub modes: Vec<usize>,
    /// Of modes that are stored in blocks: their size, and how the places in them are stored, behind
    /// all other levels.
    pub blocks: Vec<(usize, u32, &'static str)>,
    pub slots: Option<Slots>,
    /// Of levels at this place and the next one: the diagonals of their modes, as a level of this type.
    pub diagonals: Option<(usize, &'static str)>,
    pub fill: Option<String>,
    /// What it says is stored as a rule, which may be wrong.
    pub typical: Option<&'static str>,
    pub wide: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    pub target: String,
    pub left: Vec<String>,
    pub op: &'static str,
    pub right: Expr,
    /// Variable, range.
    pub ranges: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Tensor, subscripts.
    Access(String, Vec<String>),
    Number(&'static str),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A prefix operator or a function of one argument.
    Unary(&'static str, Box<Expr>),
    /// A function of two arguments.
    Call(&'static str, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Access(..) | Expr::Number(_) => Vec::new(),
            Expr::Unary(_, a) => vec![a],
            Expr::Binary(_, a, b) | Expr::Call(_, a, b) => vec![a, b],
            Expr::Choice(c, a, b) => vec![c, a, b],
        }
    }

    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Access(..) | Expr::Number(_) => Vec::new(),
            Expr::Unary(_, a) => vec![a],
            Expr::Binary(_, a, b) | Expr::Call(_, a, b) => vec![a, b],
            Expr::Choice(c, a, b) => vec![c, a, b],
        }
    }

    /// The tensors that it reads, with their subscripts; scalars are none.
    pub fn accesses(&self, found: &mut Vec<(String, Vec<String>)>) {
        if let Expr::Access(name, subscripts) = self
            && !subscripts.is_empty()
        {
            found.push((name.clone(), subscripts.clone()));
        }
        for child in self.children() {
            child.accesses(found);
        }
    }

    /// The names in it: tensors, variables, and tensors inside subscripts.
    pub fn names(&self) -> Vec<String> {
        words(&self.to_string()).map(str::to_string).collect()
    }
}

/// The names in a text, numbers left out.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.contains(|c: char| c.is_alphabetic() || c == '_'))
}

/// Extents that are given by name or number.
pub fn extents(dims: &[String], sizes: &[(String, u64)]) -> Vec<u64> {
    let extent = |dim: &String| {
        let known = sizes.iter().find(|(name, _)| name == dim);
        known.map_or_else(|| dim.parse().unwrap(), |(_, value)| *value)
    };
    dims.iter().map(extent).collect()
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Access(name, subscripts) if subscripts.is_empty() => f.write_str(name),
            Expr::Access(name, subscripts) => write!(f, "{name}({})", subscripts.join(",")),
            Expr::Number(n) => f.write_str(n),
            Expr::Unary(op, a) => write!(f, "{op}({a})"),
            Expr::Binary(op, a, b) => write!(f, "({a} {op} {b})"),
            Expr::Call(name, a, b) => write!(f, "{name}({a}, {b})"),
            Expr::Choice(c, a, b) => {
                let compares = matches!(c.as_ref(), Expr::Binary("==" | "<" | ">=", ..));
                let positive = if compares { "" } else { " > 0" };
                write!(f, "({c}{positive} ? {a} : {b})")
            }
        }
    }
}

impl Format {
    /// Whether it stores anything but the modes themselves.
    pub fn is_declared(&self) -> bool {
        !self.blocks.is_empty() || self.slots.is_some() || self.diagonals.is_some()
    }

    /// What stores a mode in blocks, or slots, is declared.
    fn declaration(&self, name: &str) -> String {
        let letter = |mode: usize| ["a", "b", "c", "d", "e"][mode];
        let letters: Vec<&str> = (0..self.levels.len()).map(letter).collect();
        let mut levels = Vec::new();
        let mut singletons = Vec::new();
        let rows = self.slots.map_or(self.levels.len(), |slots| {
            self.levels.len().saturating_sub(slots.singletons)
        });
        let mut in_rows = Vec::new();
        for (at, level) in self.levels.iter().enumerate() {
            let mode = self.modes.get(at).copied().unwrap_or(at);
            if at >= rows {
                singletons.push(format!("{}: singleton", letter(mode)));
                continue;
            }
            in_rows.push(mode);
            if let Some((first, kind)) = self.diagonals {
                let other = |at: usize| self.modes.get(at).copied().unwrap_or(at);
                if at == first {
                    let (across, along) = (letter(mode), letter(other(at + 1)));
                    levels.push(format!("{across}-{along}: {kind}"));
                    continue;
                } else if at == first + 1 {
                    levels.push(format!("{}: range", letter(mode)));
                    continue;
                }
            }
            let block = self.blocks.iter().find(|block| block.0 == mode);
            let size = block.map_or(String::new(), |block| format!("/{}", block.1));
            levels.push(format!("{}{size}: {level}", letter(mode)));
        }
        for (mode, size, level) in self
            .blocks
            .iter()
            .filter(|block| in_rows.contains(&block.0))
        {
            levels.push(format!("{}%{size}: {level}", letter(*mode)));
        }
        if let Some(Slots { behind, level, .. }) = self.slots {
            levels.insert(behind.min(levels.len()), format!("slot: {level}"));
        }
        levels.append(&mut singletons);
        let (letters, levels) = (letters.join(","), levels.join(", "));
        format!("format {name} = ({letters}) -> ({levels})\n")
    }

    /// How it is used: by the name of its declaration if it has one.
    fn used(&self, declared: Option<&str>) -> String {
        let mut text = match declared {
            Some(name) => name.to_string(),
            None => format!("{{{}}}", self.levels.join(", ")),
        };
        if !self.modes.is_empty() && declared.is_none() {
            let modes: Vec<String> = self.modes.iter().map(usize::to_string).collect();
            text += &format!(" order ({})", modes.join(","));
        }
        if self.wide {
            text += " index 64";
        }
        if let Some(fill) = &self.fill {
            text += &format!(" fill {fill}");
        }
        if let Some(typical) = self.typical {
            text += &format!(" {typical}");
        }
        text
    }
}

impl fmt::Display for Stmt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.target)?;
        if !self.left.is_empty() {
            write!(f, "({})", self.left.join(","))?;
        }
        write!(f, " {} {}", self.op, self.right)?;
        for (n, (variable, range)) in self.ranges.iter().enumerate() {
            let before = if n == 0 { " where" } else { "," };
            write!(f, "{before} {variable} in {range}")?;
        }
        Ok(())
    }
}

impl Stmt {
    /// Whether `name` stands anywhere in it.
    pub fn mentions(&self, name: &str) -> bool {
        self.target == name
            || self.left.iter().any(|s| words(s).any(|n| n == name))
            || self.right.names().iter().any(|n| n == name)
            || self
                .ranges
                .iter()
                .any(|(_, range)| words(range).any(|n| n == name))
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.results.as_slice() {
            [one] => f.write_str(one)?,
            several => write!(f, "({})", several.join(", "))?,
        }
        write!(f, " = {}({})", self.callee, self.args.join(", "))
    }
}

impl File {
    /// The file's text.
    pub fn text(&self) -> String {
        let target = if self.cuda { "cuda" } else { "c" };
        // A function that is called twice would give its labels twice.
        let labels = self.functions.len() == 1;
        let text = |f: &Program| f.text(target, labels);
        let functions: String = self.functions.iter().map(text).collect();
        self.operators(&functions) + &functions
    }
}

impl Program {
    /// The function with its formats and its schedule.
    fn text(&self, target: &str, labels: bool) -> String {
        let params: Vec<String> = self
            .formals()
            .map(|p| {
                if p.dims.is_empty() {
                    format!("{} {}", p.ty, p.name)
                } else {
                    format!("{}({}) {}", p.ty, p.dims.join(","), p.name)
                }
            })
            .collect();
        let mut out = format!(
            "def {}({}) -> ({}) {{\n",
            self.name,
            params.join(", "),
            self.returned.join(", ")
        );
        for call in &self.calls {
            let _ = writeln!(out, "  {call}");
        }
        for (n, stmt) in self.stmts.iter().enumerate() {
            let label = if labels {
                format!("S{n}: ")
            } else {
                String::new()
            };
            let _ = writeln!(out, "  {label}{stmt}");
        }
        out.push_str("}\n");
        let own = self
            .params
            .iter()
            .filter_map(|p| Some((&p.name, p.format.as_ref()?)));
        let mut formats: Vec<String> = Vec::new();
        for (name, format) in own.chain(self.formats.iter().map(|(name, format)| (name, format))) {
            let declared = format!("blocks{}_of_{}", formats.len(), self.name);
            let declared = format.is_declared().then_some(declared);
            if let Some(declared) = &declared {
                out.push_str(&format.declaration(declared));
            }
            formats.push(format!("  {name}: {}", format.used(declared.as_deref())));
        }
        if !formats.is_empty() {
            let _ = writeln!(out, "format {} {{\n{}\n}}", self.name, formats.join(",\n"));
        }
        if !self.schedule.is_empty() || !self.automatic {
            let commands = self.schedule.join("  ");
            let name = &self.name;
            let _ = writeln!(out, "schedule {name} for {target} {{ {commands} }}");
        }
        out
    }

    /// The parameters that a call of it names.
    pub fn formals(&self) -> impl Iterator<Item = &Param> {
        let formal = |p: &&Param| p.declared || !self.returned.contains(&p.name);
        self.params.iter().filter(formal)
    }

    /// The variables of a result, made here or by what it calls.
    pub fn left_of(&self, result: &str) -> Vec<String> {
        let made = self.stmts.iter().map(|s| (&s.target, &s.left));
        let mut all = made.chain(
            self.calls
                .iter()
                .flat_map(|c| c.results.iter().zip(&c.lefts)),
        );
        let found = all.find(|(name, _)| *name == result);
        found.map(|(_, left)| left.clone()).unwrap_or_default()
    }

    pub fn has_size(&self, name: &str) -> bool {
        let mut dims = self.formals().flat_map(|p| &p.dims);
        dims.any(|dim| dim == name)
    }

    /// Drops what no statement mentions.
    pub fn prune(&mut self) {
        let (stmts, calls) = (&self.stmts, &self.calls);
        let called = |name: &String| {
            let mut all = calls.iter().flat_map(|c| c.args.iter().chain(&c.results));
            all.any(|n| n == name)
        };
        let mentioned = |name: &String| called(name) || stmts.iter().any(|s| s.mentions(name));
        self.params.retain(|p| mentioned(&p.name));
        self.formats.retain(|(name, _)| mentioned(name));
        let made = |name: &String| {
            let given = calls.iter().any(|c| c.results.contains(name));
            given || stmts.iter().any(|s| s.target == *name)
        };
        self.returned.retain(made);
    }
}
