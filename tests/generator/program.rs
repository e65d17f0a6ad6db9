//! A random program as data: what the maker draws, the shrinker takes apart, and the
//! compiler reads as text.

use std::fmt::{self, Write as _};

/// One function with its formats, its schedule and the data it runs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub sizes: Vec<(String, u64)>,
    pub params: Vec<Param>,
    pub stmts: Vec<Stmt>,
    /// Formats of results and temporaries.
    pub formats: Vec<(String, Format)>,
    /// Names of `stmts` that are returned.
    pub returned: Vec<String>,
    pub schedule: Vec<String>,
    /// For a GPU; without commands sparsec schedules by itself.
    pub cuda: bool,
}

/// A parameter; an in-out one has the name of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub ty: &'static str,
    pub name: String,
    /// Size names or constants.
    pub dims: Vec<String>,
    pub format: Option<Format>,
    /// What stands behind `NAME=` on the command line.
    pub data: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    pub levels: Vec<&'static str>,
    /// Mode order, where it is not the identity.
    pub modes: Vec<usize>,
    pub fill: Option<&'static str>,
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
        self.to_string()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.starts_with(|c: char| c.is_alphabetic()))
            .map(str::to_string)
            .collect()
    }
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
            Expr::Choice(c, a, b) => write!(f, "({c} > 0 ? {a} : {b})"),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.levels.join(", "))?;
        if !self.modes.is_empty() {
            let modes: Vec<String> = self.modes.iter().map(usize::to_string).collect();
            write!(f, " order ({})", modes.join(","))?;
        }
        if self.wide {
            f.write_str(" index 64")?;
        }
        if let Some(fill) = self.fill {
            write!(f, " fill {fill}")?;
        }
        Ok(())
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
            || self.right.names().iter().any(|n| n == name)
            || self.ranges.iter().any(|(_, range)| range.contains(name))
    }
}

impl Program {
    /// The program text.
    pub fn text(&self) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .filter(|p| !self.returned.contains(&p.name))
            .map(|p| {
                if p.dims.is_empty() {
                    format!("{} {}", p.ty, p.name)
                } else {
                    format!("{}({}) {}", p.ty, p.dims.join(","), p.name)
                }
            })
            .collect();
        let mut out = format!(
            "def f({}) -> ({}) {{\n",
            params.join(", "),
            self.returned.join(", ")
        );
        for (n, stmt) in self.stmts.iter().enumerate() {
            let _ = writeln!(out, "  S{n}: {stmt}");
        }
        out.push_str("}\n");
        let own = self
            .params
            .iter()
            .filter_map(|p| Some((&p.name, p.format.as_ref()?)));
        let formats: Vec<String> = own
            .chain(self.formats.iter().map(|(name, format)| (name, format)))
            .map(|(name, format)| format!("  {name}: {format}"))
            .collect();
        if !formats.is_empty() {
            let _ = writeln!(out, "format f {{\n{}\n}}", formats.join(",\n"));
        }
        if !self.schedule.is_empty() {
            let target = if self.cuda { "cuda" } else { "c" };
            let commands = self.schedule.join("  ");
            let _ = writeln!(out, "schedule f for {target} {{ {commands} }}");
        }
        out
    }

    /// The arguments of `sparsec run` for it.
    pub fn args(&self, file: &str) -> Vec<String> {
        let mut args = vec![file.to_string()];
        for p in &self.params {
            args.push(format!("{}={}", p.name, p.data));
        }
        for (name, value) in &self.sizes {
            // A size that nothing has cannot be fixed.
            if self.params.iter().any(|p| p.dims.contains(name)) {
                args.push("--size".to_string());
                args.push(format!("{name}={value}"));
            }
        }
        if self.cuda {
            args.extend(["--target".to_string(), "cuda".to_string()]);
        }
        args
    }

    /// The program as a file of the corpus.
    pub fn corpus_file(&self) -> String {
        let args = self.args("");
        format!("# run: {}\n{}", args[1..].join(" "), self.text())
    }

    /// Drops what no statement mentions.
    pub fn prune(&mut self) {
        let stmts = &self.stmts;
        let mentioned = |name: &String| stmts.iter().any(|s| s.mentions(name));
        self.params.retain(|p| mentioned(&p.name));
        self.formats.retain(|(name, _)| mentioned(name));
        self.returned
            .retain(|name| stmts.iter().any(|s| s.target == *name));
    }
}
