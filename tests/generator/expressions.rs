//! Draws expressions: terms joined by operators, functions of terms, and constants that fold.

use crate::maker::Maker;
use crate::program::Expr;

/// Functions of one argument of whole numbers, too.
const WHOLE: [&str; 4] = ["square", "cube", "abs", "not"];

/// Of real numbers, finite wherever they are; those that jump stand on elements alone, whose values
/// are exact.
const REAL: [&str; 19] = [
    "square", "cube", "cbrt", "sin", "cos", "atan", "tanh", "asinh", "sigmoid", "expm1", "floor",
    "ceil", "round", "not", "fabs", "sinhf", "expf", "cosh", "tanf",
];

/// Of real numbers within bounds; see `within`.
const BOUNDED: [&str; 8] = [
    "asin", "acos", "log", "log10", "acosh", "atanh", "log1p", "sqrt",
];

/// Of two real numbers.
const REAL_OF_TWO: [&str; 12] = [
    "heaviside",
    "gt",
    "lt",
    "gte",
    "lte",
    "eq",
    "neq",
    "atan2",
    "fmax",
    "fmin",
    "mod",
    "pow",
];

impl Maker {
    /// An element, perhaps converted, under a function or in something that folds.
    pub(crate) fn leaf(&mut self, e: Expr) -> Expr {
        if let Some(theme) = self.theme {
            return self.themed(theme, e);
        }
        let casts = if self.mixed { 25 } else { 2 };
        if self.chance(casts) && !self.ty.starts_with("complex") {
            self.note("cast");
            let ty = self.pick(&[
                "float", "double", "half", "int", "int8", "uint8", "int64", "bool",
            ]);
            return Expr::Unary(ty, Box::new(e));
        }
        match self.below(100) {
            0..=3 => self.folding(e),
            4..=8 => self.function(e),
            9..=12 => self.guarded(e),
            13..=15 => self.at_one(e),
            _ => e,
        }
    }

    /// The element before, where there is one: only the condition keeps it in bounds.
    fn guarded(&mut self, e: Expr) -> Expr {
        let Expr::Access(name, subscripts) = &e else {
            return e;
        };
        let plain = |at: &usize| self.variables.contains(&subscripts[*at]);
        let plain: Vec<usize> = (0..subscripts.len()).filter(plain).collect();
        if plain.is_empty() {
            return e;
        }
        let at = self.pick(&plain);
        let var = subscripts[at].clone();
        let distance = self.pick(&["1", "2", "3"]);
        let mut before = subscripts.clone();
        before[at] = format!("{var} - {distance}");
        self.note("guarded");
        let before = Box::new(Expr::Access(name.clone(), before));
        let var = Box::new(Expr::Access(var, Vec::new()));
        let otherwise = Box::new(match self.below(3) {
            0 => e,
            1 => Expr::Number("0"),
            _ => Expr::Number("1"),
        });
        let last = Box::new(Expr::Number(distance));
        match self.below(3) {
            0 => {
                let behind = Expr::Binary(">=", var, last);
                Expr::Choice(Box::new(behind), before, otherwise)
            }
            1 => {
                let first = Expr::Binary("<", var, last);
                Expr::Choice(Box::new(first), otherwise, before)
            }
            _ => {
                let far = Expr::Binary("-", var, Box::new(Expr::Number("2")));
                Expr::Choice(Box::new(far), before, otherwise)
            }
        }
    }

    /// Something that one value of a variable is told by: where `i == j`, or where `i == 2`.
    fn at_one(&mut self, e: Expr) -> Expr {
        let Expr::Access(_, subscripts) = &e else {
            return e;
        };
        let plain = |s: &&String| self.variables.contains(*s);
        let mut plain: Vec<String> = subscripts.iter().filter(plain).cloned().collect();
        plain.dedup();
        if plain.is_empty() {
            return e;
        }
        let at = self.below(plain.len());
        let var = Expr::Access(plain.remove(at), Vec::new());
        let offset = Expr::Number(self.pick(&["0", "1", "2"]));
        let other = match plain.is_empty() {
            true => offset,
            false => {
                let other = self.below(plain.len());
                let other = Box::new(Expr::Access(plain.remove(other), Vec::new()));
                Expr::Binary(self.pick(&["+", "-"]), other, Box::new(offset))
            }
        };
        self.note("at one");
        let equal = Box::new(Expr::Binary("==", Box::new(var), Box::new(other)));
        let (zero, one) = (Box::new(Expr::Number("0")), Box::new(Expr::Number("1")));
        match self.below(4) {
            0 => Expr::Choice(equal, Box::new(e), zero),
            1 => Expr::Choice(equal, one, Box::new(e)),
            2 => Expr::Binary("+", Box::new(e), Box::new(Expr::Choice(equal, one, zero))),
            _ => Expr::Choice(equal, one, zero),
        }
    }

    /// What the compiler can work out before it knows the data, wholly or in part.
    pub(crate) fn folding(&mut self, e: Expr) -> Expr {
        self.note("folding");
        fn number(n: &'static str) -> Box<Expr> {
            Box::new(Expr::Number(n))
        }
        fn two(op: &'static str, a: Box<Expr>, b: Box<Expr>) -> Box<Expr> {
            Box::new(Expr::Binary(op, a, b))
        }
        let whole = self.whole(&e, &e);
        let e = Box::new(e);
        let again = e.clone();
        *match self.below(22) {
            0 | 1 => two("*", number("0"), e),
            2 => two("*", e, number("0")),
            3 => two("*", e, two("-", number("1"), number("1"))),
            4 => two("/", number("0"), e),
            5 => Box::new(Expr::Call("max", two("*", number("0"), e), number("0"))),
            6 => two("*", e, two(">", number("1"), number("2"))),
            7 => two("*", e, Box::new(Expr::Call("gt", number("2"), number("1")))),
            8 | 9 if whole => two("%", e, number("1")),
            8 => two("-", e, again),
            9 => two("+", two("*", e, number("0")), number("1")),
            10 => two("+", e, number("0")),
            11 => two("/", two("*", number("1"), e), number("1")),
            12 => Box::new(Expr::Choice(number("0"), e, two("*", number("2"), again))),
            13 => Box::new(Expr::Choice(number("1"), e, two("+", number("2"), again))),
            14 => {
                let least = Box::new(Expr::Call("max", e, number("5")));
                two(
                    "+",
                    two("*", two("*", least, again), number("0")),
                    number("5"),
                )
            }
            15 => two("&&", two("==", number("1"), number("2")), e),
            16 => two("||", e, two("!=", number("3"), number("2"))),
            17 => Box::new(Expr::Unary("-", two("*", number("0"), e))),
            18 => Box::new(Expr::Call("min", two("*", e, number("0")), number("2"))),
            19 => Box::new(Expr::Call("pow", e, number("0"))),
            20 => two("*", e, Box::new(Expr::Unary("!", number("1")))),
            _ => two("==", e, again),
        }
    }

    /// A function of an element: C's names and TACO's, each as often as any other.
    pub(crate) fn function(&mut self, e: Expr) -> Expr {
        self.note("function");
        if !self.float() || self.chance(10) {
            let name = self.pick(&WHOLE);
            return self.call_of(name, e);
        }
        let at = self.below(REAL.len() + REAL_OF_TWO.len() + BOUNDED.len());
        if let Some(name) = REAL.get(at) {
            return self.call_of(name, e);
        }
        if let Some(name) = BOUNDED.get(at - REAL.len()) {
            let inner = Self::within(name, e);
            return self.call_of(name, inner);
        }
        let name = REAL_OF_TWO[at - REAL.len() - BOUNDED.len()];
        self.called(name);
        let number = Expr::Number(self.pick(&["1", "0.5", "2", "0"]));
        match self.below(3) {
            // No division by what may be zero, no root of what may be negative.
            _ if matches!(name, "mod" | "pow") => {
                Expr::Call(name, Box::new(e), Box::new(Expr::Number("2")))
            }
            0 => Expr::Call(name, Box::new(number), Box::new(e)),
            _ => Expr::Call(name, Box::new(e), Box::new(number)),
        }
    }

    fn call_of(&mut self, name: &'static str, e: Expr) -> Expr {
        self.called(name);
        Expr::Unary(name, Box::new(e))
    }

    /// An element brought within the bounds of a function's arguments.
    fn within(name: &str, e: Expr) -> Expr {
        let one = |name, e| Expr::Unary(name, Box::new(e));
        let two = |op, a, b| Expr::Binary(op, Box::new(a), Box::new(b));
        match name {
            "asin" | "acos" => one("tanh", e),
            "log10" | "log" => two("+", Expr::Number("1"), one("square", e)),
            "acosh" => two("+", Expr::Number("1"), one("abs", e)),
            "atanh" => two("/", one("sin", e), Expr::Number("2")),
            _ => one("abs", e),
        }
    }

    /// Joins the terms in random pairs until one expression is left.
    pub(crate) fn expression(&mut self, mut terms: Vec<Expr>) -> Expr {
        let condition = terms[0].clone();
        let plain = self.theme.is_none() && self.tropical.is_none() && self.ty != "bool";
        if terms.len() > 2 && plain && self.chance(25) {
            // Some of its sums may be taken before others.
            self.note("product");
            let times = |a, b| Expr::Binary("*", Box::new(a), Box::new(b));
            return terms.into_iter().reduce(times).unwrap();
        }
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
        if self.tropical.is_some() && self.chance(90) {
            let choose = if self.tropical == Some("inf") {
                "min"
            } else {
                "max"
            };
            return match self.below(4) {
                0 => Expr::Call(choose, a, b),
                _ => Expr::Binary("+", a, b),
            };
        }
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
