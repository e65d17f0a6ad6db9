//! Draws random functions.

use crate::conversions::Theme;
use crate::operands::{MIXED, WIDE};
use crate::program::{Call, Data, Expr, Format, Param, Program, Stmt};
use sparsec::data::generate::Random;
use std::collections::BTreeMap;

/// The type of most parameters of a program, the more frequent the more often it stands here.
const TYPES: [&str; 17] = [
    "double",
    "double",
    "double",
    "double",
    "double",
    "float",
    "float",
    "int",
    "int",
    "int64",
    "uint8",
    "int16",
    "complex128",
    "complex64",
    "half",
    "bfloat16",
    "bool",
];

pub struct Maker {
    random: Random,
    /// The element type of most parameters of the program at hand.
    pub(crate) ty: &'static str,
    /// Most parameters have types of their own.
    pub(crate) mixed: bool,
    /// What it is full of.
    pub(crate) theme: Option<Theme>,
    /// In TACO notation.
    pub(crate) taco: bool,
    /// Data decide many ranges.
    pub(crate) ranged: bool,
    /// Its file holds no other function.
    pub(crate) alone: bool,
    /// The fill value of a statement over the tropical semiring.
    pub(crate) tropical: Option<&'static str>,
    pub(crate) sizes: Vec<(String, u64)>,
    pub(crate) variables: Vec<String>,
    pub(crate) params: Vec<Param>,
    /// Targets so far: name, subscripts.
    pub(crate) computed: Vec<(String, Vec<String>)>,
    /// Programs for a GPU.
    pub(crate) cuda: bool,
    /// The last schedule that was refused, of which function of its file.
    pub refused: Option<(usize, Vec<String>)>,
    /// How often each of the rarer kinds was drawn.
    pub drawn: BTreeMap<&'static str, usize>,
    /// How often each function.
    pub calls: BTreeMap<&'static str, usize>,
}

impl Maker {
    pub fn new(seed: u64, cuda: bool) -> Self {
        Maker {
            random: Random::new(seed),
            ty: "double",
            mixed: false,
            theme: None,
            taco: false,
            ranged: false,
            alone: true,
            tropical: None,
            sizes: Vec::new(),
            variables: Vec::new(),
            params: Vec::new(),
            computed: Vec::new(),
            cuda,
            refused: None,
            drawn: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    pub(crate) fn note(&mut self, kind: &'static str) {
        *self.drawn.entry(kind).or_default() += 1;
    }

    pub(crate) fn called(&mut self, function: &'static str) {
        *self.calls.entry(function).or_default() += 1;
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.random.bits()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.random.below(n as u64)).unwrap()
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub(crate) fn subset<T: Clone>(&mut self, all: &[T], count: usize) -> Vec<T> {
        let mut left = all.to_vec();
        let mut out = Vec::new();
        while out.len() < count && !left.is_empty() {
            let at = self.below(left.len());
            out.push(left.remove(at));
        }
        out
    }

    /// Whether two expressions are of whole numbers for sure.
    pub(crate) fn whole(&self, a: &Expr, b: &Expr) -> bool {
        let whole = |ty: &str| ty.contains("int");
        let cast = |e: &Expr| e.to_string().contains("double");
        whole(self.ty)
            && self.params.iter().all(|p| whole(p.ty))
            && self.computed.is_empty()
            && !cast(a)
            && !cast(b)
    }

    pub(crate) fn float(&self) -> bool {
        matches!(self.ty, "double" | "float" | "half" | "bfloat16")
    }

    /// A function, which may call `others`.
    pub(crate) fn program(&mut self, name: &str, others: &[Program]) -> Program {
        self.ty = self.pick(&TYPES);
        self.mixed = self.chance(6);
        self.theme = self.theme();
        match self.theme {
            Some(Theme::Extremes) => self.mixed = true,
            Some(Theme::Casts) => self.mixed |= self.chance(50),
            // Of real numbers.
            Some(Theme::Functions) => self.mixed = false,
            None => {}
        }
        if self.mixed {
            self.note("mixed types");
        }
        self.params.clear();
        self.computed.clear();
        let mut calls: Vec<Call> = Vec::new();
        let mut returned = Vec::new();
        while !others.is_empty() && calls.len() < 2 && self.chance(60) {
            let at = self.below(others.len());
            let results = self.computed.len();
            calls.push(self.call(&others[at], results));
        }
        for result in calls.iter().flat_map(|c| &c.results) {
            let given = self.params.iter().any(|p| p.name == *result);
            if given || self.chance(40) {
                returned.push(result.clone());
            }
        }
        let mut stmts = Vec::new();
        let mut formats = Vec::new();
        let statements = self.pick(&[1, 1, 1, 1, 1, 2, 2, 3]);
        for n in 0..statements {
            let name = ["t", "u", "y"][n + 3 - statements].to_string();
            let mut stmt = self.statement(&name, 1 + 3 / statements);
            let scatters = stmt.left.iter().any(|v| v.contains('('));
            let set = scatters && !self.params.iter().any(|p| p.name == name);
            if !scatters
                && self.chance(15)
                && let Some(mut format) = self.following(&mut stmt)
            {
                if n + 1 < statements {
                    format.blocks.clear();
                    format.diagonals = None;
                }
                formats.push((name.clone(), format));
            } else if self.chance(40)
                && let Some(mut format) = self.format(stmt.left.len(), self.ty)
            {
                // Temporaries have none, nor has what is updated.
                if n + 1 == statements && !is_update(stmt.op) && !scatters {
                    format = self.in_blocks(format);
                    format = self.on_diagonals(format);
                }
                if format.is_declared() {
                    self.note("rearranged result");
                }
                if is_update(stmt.op) || scatters {
                    self.note("sparse update");
                }
                formats.push((name.clone(), format));
            }
            if n + 1 == statements || is_update(stmt.op) || self.chance(40) {
                returned.push(name.clone());
            }
            // The maximum of no numbers is infinite; see [`Maker::format`] for why that is not
            // read.
            let may_be_infinite = self.float() || self.mixed || self.theme.is_some();
            let unread = may_be_infinite
                && matches!(stmt.op, "max=!" | "min=!" | "most=!" | "least=!")
                || (scatters && !set);
            if !unread {
                self.computed.push((name, stmt.left.clone()));
            }
            stmts.push(stmt);
        }
        let mut program = Program {
            name: name.to_string(),
            params: std::mem::take(&mut self.params),
            calls,
            stmts,
            formats,
            returned,
            schedule: Vec::new(),
            automatic: true,
        };
        program.prune();
        program
    }

    fn statement(&mut self, name: &str, most: usize) -> Stmt {
        self.tropical = None;
        let extremes = self.theme == Some(Theme::Extremes);
        if (self.float() && self.chance(4)) || (extremes && self.chance(35)) {
            self.tropical = Some(self.pick(&["inf", "-inf"]));
            self.note("tropical");
        }
        let operands = 1 + self.below(most);
        let mut terms: Vec<Expr> = Vec::new();
        for _ in 0..operands {
            let term = if !self.computed.is_empty() && self.chance(50) {
                let at = self.below(self.computed.len());
                let (name, left) = self.computed[at].clone();
                Expr::Access(name, left)
            } else {
                let operand = self.operand();
                self.leaf(operand)
            };
            terms.push(term);
        }
        let mut right = self.expression(terms);
        let names = right.names();
        let used: Vec<String> = self
            .variables
            .iter()
            .filter(|v| names.contains(v))
            .cloned()
            .collect();
        let most = self.below(used.len() + 1);
        let mut left = self.subset(&used, most);
        let op = match self.tropical {
            Some("inf") => self.pick(&["min=!", "min=!", "min=", "="]),
            Some(_) => self.pick(&["max=!", "max=!", "max=", "="]),
            None if extremes => self.pick(&["min=", "max=", "min=!", "max=!", "="]),
            None => self.reduction(),
        };
        // What is infinite may meet its opposite in a sum.
        let sums = self.tropical.is_none() && self.theme.is_none() && self.ty != "bool";
        if sums
            && op
                .trim_end_matches(['=', '!'])
                .trim_end_matches('+')
                .is_empty()
        {
            let often = if self.taco { 35 } else { 3 };
            if self.chance(often) {
                right = self.with_sums(right, &left);
            }
        }
        let mut ranges = Vec::new();
        let often = if is_update(op) { 40 } else { 12 };
        let op = self.with_operators(op, &mut right);
        let may_scatter = self.alone && !self.taco && !left.is_empty() && op != "=";
        let at = (may_scatter && self.chance(often)).then(|| self.scattered(&mut left));
        if is_update(op) || (at.is_some() && self.chance(30)) {
            self.content(name, &left, at);
        } else if let Some(at) = at {
            self.note("scatter into what is set");
            let tensor = left[at].split('(').next().unwrap_or_default();
            ranges.push((format!("at_{tensor}"), format!("0:{WIDE}")));
        }
        for variable in used.iter().filter(|v| !left.contains(v)) {
            if self.chance(if self.ranged { 60 } else { 7 }) {
                let range = self.range(variable);
                ranges.push((variable.clone(), range));
            }
        }
        for variable in used.iter().filter(|v| is_update(op) && left.contains(v)) {
            if self.chance(15) {
                self.note("part of a result");
                let range = format!("{}:{}", self.below(2), 1 + self.below(2));
                ranges.push((variable.clone(), range));
            }
        }
        Stmt {
            target: name.to_string(),
            left,
            op,
            right,
            ranges,
        }
    }

    /// Replaces a subscript on the left by one that data decide; which one.
    fn scattered(&mut self, left: &mut [String]) -> usize {
        self.note("scatter");
        let at = self.below(left.len());
        let other = self.below(self.variables.len());
        let other = self.variables[other].clone();
        let name = self.index_tensor("uint8", &other);
        left[at] = format!("{name}({other})");
        at
    }

    /// What the left side of an update holds before; data decide the subscript `scattered`.
    fn content(&mut self, name: &str, left: &[String], scattered: Option<usize>) {
        let mut dims: Vec<String> = left.iter().map(|v| v.to_uppercase()).collect();
        if let Some(at) = scattered {
            dims[at] = WIDE.to_string();
        }
        // A function that others call has no such parameter.
        let extremes = self.theme == Some(Theme::Extremes);
        let often = if extremes { 85 } else { 50 };
        let declared = scattered.is_some() || (self.alone && self.chance(often));
        let ty = if declared && self.mixed {
            self.pick(&MIXED)
        } else {
            self.ty
        };
        let mut data = self.data(ty, &dims);
        if !declared && matches!(data, Data::File(_)) {
            // Its type is not known here.
            data = Data::Text("random:1".to_string());
        }
        self.params.push(Param {
            ty,
            name: name.to_string(),
            dims,
            format: None,
            data,
            declared,
        });
    }

    fn reduction(&mut self) -> &'static str {
        match self.below(40) {
            0..=23 => "=",
            24..=30 if self.ty == "bool" => self.pick(&["||=!", "&&=!"]),
            24..=27 => "+=!",
            28..=30 => "+=",
            31 => {
                self.note("in-out");
                if self.ty == "bool" {
                    self.pick(&["||=", "&&="])
                } else if self.ty.starts_with("complex") {
                    "*="
                } else {
                    self.pick(&["max=", "min=", "*="])
                }
            }
            32..=35 if self.ty.starts_with("complex") => "+=!",
            32 | 33 => "max=!",
            34 | 35 => "min=!",
            36 | 37 => "*=!",
            _ => self.pick(&["||=!", "&&=!"]),
        }
    }

    /// Makes the result store what one operand stores, in its format.
    fn following(&mut self, stmt: &mut Stmt) -> Option<Format> {
        let mut accesses = Vec::new();
        stmt.right.accesses(&mut accesses);
        let candidates: Vec<(Expr, Vec<String>, Format)> = accesses
            .into_iter()
            .filter_map(|(name, subscripts)| {
                let param = self.params.iter().find(|p| p.name == name)?;
                let format = param.format.clone().filter(|f| f.fill.is_none())?;
                // Results have no slots.
                let format = Format {
                    slots: None,
                    ..format
                };
                let plain = subscripts
                    .iter()
                    .enumerate()
                    .all(|(at, s)| self.variables.contains(s) && !subscripts[..at].contains(s));
                plain.then(|| (Expr::Access(name, subscripts.clone()), subscripts, format))
            })
            .collect();
        if candidates.is_empty() || is_update(stmt.op) {
            return None;
        }
        let at = self.below(candidates.len());
        let (access, subscripts, format) = candidates[at].clone();
        let mut right = stmt.right.clone();
        if self.chance(15) {
            right = self.folding(right);
        }
        stmt.right = Expr::Binary("*", Box::new(access), Box::new(right));
        stmt.ranges.retain(|(v, _)| !subscripts.contains(v));
        stmt.left = subscripts;
        stmt.op = "=";
        Some(format)
    }

    /// A part of a variable's extent, by constants, by data or by another variable.
    fn range(&mut self, variable: &str) -> String {
        let others: Vec<String> = self.variables.clone();
        let other = self.below(others.len());
        if self.chance(65) && others[other] != variable {
            let other = &others[other];
            // Up to 3; what leaves a dimension is refused.
            let most = 1 + self.below(3);
            return match self.below(8) {
                // Triangles, and bands beside the diagonal.
                0 => format!("0:{other} + 1"),
                1 => format!("{other}:{most} + {other}"),
                // Both ends by data, the second one behind the first or not.
                2 => {
                    let name = self.index_tensor("bool", other);
                    format!("{name}({other}):{name}({other}) + {most}")
                }
                3 => {
                    let (lo, hi) = (
                        self.index_tensor("bool", other),
                        self.index_tensor("bool", other),
                    );
                    format!("{lo}({other}):{most} * {hi}({other})")
                }
                _ => {
                    let name = self.index_tensor("bool", other);
                    format!("0:{most} * {name}({other})")
                }
            };
        }
        format!("{}:{}", self.below(2), 1 + self.below(2))
    }
}

/// Whether the left side's content comes from outside.
pub fn is_update(op: &str) -> bool {
    op != "=" && op.ends_with('=')
}
