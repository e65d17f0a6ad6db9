//! Draws random functions.

use crate::program::{Call, Expr, Format, Param, Program, Stmt};
use sparsec::data::generate::Random;

/// Extents of dimensions that an affine or gathered subscript reads: large enough for
/// whole numbers of `uint8` data (0 to 9) and for `2 * i + j + 2` with i, j below 8.
const WIDE: u64 = 24;

pub struct Maker {
    random: Random,
    /// The element type of most parameters of the program at hand.
    ty: &'static str,
    pub(crate) variables: Vec<String>,
    pub(crate) params: Vec<Param>,
    /// Targets so far: name, subscripts.
    pub(crate) computed: Vec<(String, Vec<String>)>,
    /// Programs for a GPU.
    pub(crate) cuda: bool,
    /// The last schedule that was refused, of which function of its file.
    pub refused: Option<(usize, Vec<String>)>,
}

impl Maker {
    pub fn new(seed: u64, cuda: bool) -> Self {
        Maker {
            random: Random::new(seed),
            ty: "double",
            variables: Vec::new(),
            params: Vec::new(),
            computed: Vec::new(),
            cuda,
            refused: None,
        }
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
    fn whole(&self, a: &Expr, b: &Expr) -> bool {
        let whole = |ty: &str| ty.contains("int");
        let cast = |e: &Expr| e.to_string().contains("double");
        whole(self.ty)
            && self.params.iter().all(|p| whole(p.ty))
            && self.computed.is_empty()
            && !cast(a)
            && !cast(b)
    }

    fn float(&self) -> bool {
        matches!(self.ty, "double" | "float" | "half" | "bfloat16")
    }

    /// A function, which may call `others`.
    pub(crate) fn program(&mut self, name: &str, others: &[Program]) -> Program {
        self.ty = self.pick(&[
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
        ]);
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
            if self.chance(15)
                && let Some(format) = self.following(&mut stmt)
            {
                formats.push((name.clone(), format));
            } else if self.chance(40)
                && stmt.op != "+="
                && let Some(format) = self.format(stmt.left.len())
            {
                formats.push((name.clone(), format));
            }
            if n + 1 == statements || stmt.op == "+=" || self.chance(40) {
                returned.push(name.clone());
            }
            // The maximum of no numbers is infinite; see [`Maker::format`] for why that is not read.
            if !(self.float() && matches!(stmt.op, "max=!" | "min=!")) {
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
        let operands = 1 + self.below(most);
        let mut terms: Vec<Expr> = Vec::new();
        for _ in 0..operands {
            let term = if !self.computed.is_empty() && self.chance(50) {
                let at = self.below(self.computed.len());
                let (name, left) = self.computed[at].clone();
                Expr::Access(name, left)
            } else {
                self.operand()
            };
            terms.push(term);
        }
        let right = self.expression(terms);
        let names = right.names();
        let used: Vec<String> = self
            .variables
            .iter()
            .filter(|v| names.contains(v))
            .cloned()
            .collect();
        let most = self.below(used.len() + 1);
        let left = self.subset(&used, most);
        let op = match self.below(20) {
            0..=11 => "=",
            12 | 13 => "+=!",
            14 | 15 => "+=",
            16 => "max=!",
            17 => "min=!",
            18 => "*=!",
            _ => self.pick(&["||=!", "&&=!"]),
        };
        if op == "+=" {
            let dims = left.iter().map(|v| v.to_uppercase()).collect();
            let data = self.data(left.len());
            self.params.push(Param {
                ty: self.ty,
                name: name.to_string(),
                dims,
                format: None,
                data,
            });
        }
        let mut ranges = Vec::new();
        for variable in used.iter().filter(|v| !left.contains(v)) {
            if self.chance(9) {
                let range = self.range(variable);
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

    /// Makes the result store what one operand stores, in its format.
    fn following(&mut self, stmt: &mut Stmt) -> Option<Format> {
        let mut accesses = Vec::new();
        stmt.right.accesses(&mut accesses);
        let candidates: Vec<(Expr, Vec<String>, Format)> = accesses
            .into_iter()
            .filter_map(|(name, subscripts)| {
                let param = self.params.iter().find(|p| p.name == name)?;
                let format = param.format.clone().filter(|f| f.fill.is_none())?;
                let plain = subscripts
                    .iter()
                    .enumerate()
                    .all(|(at, s)| self.variables.contains(s) && !subscripts[..at].contains(s));
                plain.then(|| (Expr::Access(name, subscripts.clone()), subscripts, format))
            })
            .collect();
        if candidates.is_empty() || stmt.op == "+=" {
            return None;
        }
        let at = self.below(candidates.len());
        let (access, subscripts, format) = candidates[at].clone();
        let right = Box::new(stmt.right.clone());
        stmt.right = Expr::Binary("*", Box::new(access), right);
        stmt.ranges.retain(|(v, _)| !subscripts.contains(v));
        stmt.left = subscripts;
        stmt.op = "=";
        Some(format)
    }

    /// A part of a variable's extent, by constants or by data.
    fn range(&mut self, variable: &str) -> String {
        let others: Vec<String> = self.variables.clone();
        let other = self.below(others.len());
        if self.chance(65) && others[other] != variable {
            let name = self.index_tensor("bool", &others[other]);
            // A count from 0 to 3; data that leaves a dimension is refused.
            let most = 1 + self.below(3);
            return format!("0:{most} * {name}({})", others[other]);
        }
        format!("{}:{}", self.below(2), 1 + self.below(2))
    }

    fn operand(&mut self) -> Expr {
        let order = self.below(self.variables.len().min(5) + 1);
        let variables = self.variables.clone();
        let mut subscripts = self.subset(&variables, order);
        if order > 1 && self.chance(8) {
            subscripts[1] = subscripts[0].clone();
        }
        let mut dims: Vec<String> = subscripts.iter().map(|s| s.to_uppercase()).collect();
        if order > 0 && self.chance(12) {
            let at = self.below(order);
            subscripts[at] = self.subscript(&subscripts[at].clone());
            dims[at] = WIDE.to_string();
        }
        let name = format!("T{}", self.params.len());
        let ty = if self.chance(10) {
            self.pick(&["double", "float", "int", "int8", "uint32"])
        } else {
            self.ty
        };
        let format = self.format(order);
        let data = self.data(order);
        self.params.push(Param {
            ty,
            name: name.clone(),
            dims,
            format,
            data,
        });
        Expr::Access(name, subscripts)
    }

    /// A subscript other than a variable: affine, or read from an index tensor.
    fn subscript(&mut self, variable: &str) -> String {
        let at = self.below(self.variables.len());
        let other = self.variables[at].clone();
        match self.below(6) {
            0 => format!("{variable} + {}", self.below(4)),
            1 => format!("2 * {variable} + 1"),
            2 => format!("{variable} + {other}"),
            3 => format!("2 * {variable} + {other} + 2"),
            4 => format!("{} - {variable}", 6 + self.below(3)),
            _ => {
                let name = self.index_tensor("uint8", &other);
                format!("{name}({other})")
            }
        }
    }

    /// A full tensor over one variable, with whole numbers.
    fn index_tensor(&mut self, ty: &'static str, variable: &str) -> String {
        let name = format!("G{}", self.params.len());
        let data = format!("random:{}:1", self.below(1000));
        self.params.push(Param {
            ty,
            name: name.clone(),
            dims: vec![variable.to_uppercase()],
            format: None,
            data,
        });
        name
    }

    pub(crate) fn format(&mut self, order: usize) -> Option<Format> {
        if order == 0 || self.chance(35) {
            return None;
        }
        let mut levels: Vec<&'static str> = (0..order)
            .map(|_| self.pick(&["compressed", "compressed", "compressed", "dense", "dense"]))
            .collect();
        if order > 1 && self.chance(25) {
            // Coordinates from some level on: all of COO, or its inner part.
            let first = if self.chance(75) {
                0
            } else {
                self.below(order - 1)
            };
            levels[first] = "compressed(nonunique)";
            for level in &mut levels[first + 1..order - 1] {
                *level = "singleton(nonunique)";
            }
            levels[order - 1] = "singleton";
        }
        let modes = if order > 1 && self.chance(30) {
            let modes: Vec<usize> = (0..order).collect();
            self.subset(&modes, order)
        } else {
            Vec::new()
        };
        // No infinities: whether an absent zero meets one as a number depends on the way it
        // is found. Min-plus programs stand in the corpus.
        let fill = if self.chance(7) {
            Some(match (self.ty, self.float()) {
                ("bool", _) => "1",
                (_, true) => self.pick(&["1", "0.5", "-2"]),
                (_, false) => self.pick(&["1", "2"]),
            })
        } else {
            None
        };
        Some(Format {
            levels,
            modes,
            fill,
            wide: self.chance(10),
        })
    }

    fn data(&mut self, order: usize) -> String {
        if order == 0 {
            return self.pick(&["2", "1", "0", "3"]).to_string();
        }
        let density = self.pick(&["0", "0.1", "0.3", "0.3", "0.6", "1"]);
        format!("random:{}:{density}", self.below(1000))
    }

    /// Joins the terms in random pairs until one expression is left.
    fn expression(&mut self, mut terms: Vec<Expr>) -> Expr {
        let condition = terms[0].clone();
        while terms.len() > 1 {
            let at = self.below(terms.len());
            let b = Box::new(terms.remove(at));
            let at = self.below(terms.len());
            let a = Box::new(terms.remove(at));
            terms.push(self.join(a, b, &condition));
        }
        let e = terms.remove(0);
        let unary = |op: &'static str, e: Expr| Expr::Unary(op, Box::new(e));
        match self.below(20) {
            0 if self.float() => unary("abs", e),
            1 if self.float() => unary("sqrt", unary("abs", e)),
            2 if self.float() => unary("exp", e),
            3 if self.float() => unary("tanh", e),
            4 | 5 => unary("-", e),
            6 | 7 => Expr::Binary("*", Box::new(Expr::Number("2")), Box::new(e)),
            8 => Expr::Binary("+", Box::new(e), Box::new(Expr::Number("1"))),
            9 => unary("double", e),
            10 if self.ty == "bool" => unary("!", e),
            _ => e,
        }
    }

    fn join(&mut self, a: Box<Expr>, b: Box<Expr>, condition: &Expr) -> Expr {
        if self.ty == "bool" && self.chance(70) {
            return Expr::Binary(self.pick(&["&&", "||"]), a, b);
        }
        match self.below(24) {
            0..=7 => Expr::Binary("*", a, b),
            8..=12 => Expr::Binary("+", a, b),
            13..=15 => Expr::Binary("-", a, b),
            16 => Expr::Call("max", a, b),
            17 => Expr::Call("min", a, b),
            18 => Expr::Choice(Box::new(condition.clone()), a, b),
            19 => {
                let positive = Expr::Unary("abs", b);
                let two = Box::new(Expr::Number("2"));
                Expr::Binary("/", a, Box::new(Expr::Binary("+", two, Box::new(positive))))
            }
            20 => Expr::Binary(self.pick(&["<", ">", "<=", ">=", "==", "!="]), a, b),
            21 => Expr::Binary(self.pick(&["&&", "||"]), a, b),
            // Integers have a quotient by zero; of floats it depends on what is skipped.
            22 if self.whole(&a, &b) => Expr::Binary(self.pick(&["%", "/"]), a, b),
            _ => Expr::Binary("*", a, b),
        }
    }
}
