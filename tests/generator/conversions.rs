//! Draws what a program of a rarer kind is full of: conversions whose numbers do not fit, minima
//! and maxima of numbers of several types, functions.
//!
//! Random data lie between -1 and 1, whole numbers between -9 and 9: converted as they are, all
//! floats become 0 and all whole numbers stay. Here they are first made large, negative, infinite
//! or no numbers.

use crate::maker::Maker;
use crate::program::Expr;

/// What a program is full of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Theme {
    Casts,
    Extremes,
    Functions,
}

/// What a cast may make of a number; the narrow and the unsigned ones more often.
const TO: [&str; 17] = [
    "int8", "int8", "uint8", "uint8", "int16", "uint16", "uint16", "int", "int", "uint32",
    "uint32", "int64", "uint64", "bool", "half", "bfloat16", "float",
];

fn number(n: &'static str) -> Box<Expr> {
    Box::new(Expr::Number(n))
}

fn two(op: &'static str, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

impl Maker {
    /// One program in eight is of a kind of its own.
    pub(crate) fn theme(&mut self) -> Option<Theme> {
        let theme = match self.below(100) {
            // TACO has its own names for functions.
            _ if self.taco && self.float() && self.chance(40) => Theme::Functions,
            0..=3 if !self.ty.starts_with("complex") => Theme::Casts,
            4..=7 if !self.ty.starts_with("complex") => Theme::Extremes,
            8..=12 => {
                self.ty = self.pick(&["double", "double", "float", "half"]);
                Theme::Functions
            }
            _ => return None,
        };
        self.note(match theme {
            Theme::Casts => "program of casts",
            Theme::Extremes => "program of minima",
            Theme::Functions => "program of functions",
        });
        Some(theme)
    }

    /// An element as the program's kind has it.
    pub(crate) fn themed(&mut self, theme: Theme, e: Expr) -> Expr {
        match theme {
            _ if self.chance(15) => e,
            Theme::Casts => self.telling_cast(e),
            Theme::Extremes => self.clipped(e),
            Theme::Functions => {
                let mut sum = self.function(e.clone());
                for _ in 0..self.below(5) {
                    let next = self.function(e.clone());
                    sum = two(self.pick(&["+", "-"]), sum, next);
                }
                sum
            }
        }
    }

    /// The type of an operand.
    fn type_of(&self, e: &Expr) -> &'static str {
        let Expr::Access(name, _) = e else {
            return self.ty;
        };
        let known = self.params.iter().find(|p| p.name == *name);
        known.map_or(self.ty, |p| p.ty)
    }

    /// A conversion that changes the number, in an expression that shows whether it did.
    fn telling_cast(&mut self, e: Expr) -> Expr {
        self.note("telling cast");
        let to = self.pick(&TO);
        let from = self.type_of(&e);
        let large = self.large(from, e, !matches!(to, "half" | "bfloat16" | "float"));
        let cast = Expr::Unary(to, Box::new(large));
        match self.below(6) {
            // A store into a narrow array would convert by itself.
            0 | 1 => two("*", cast, Expr::Number("0.5")),
            2 => two(self.pick(&["<", ">", "==", "!="]), cast, *number("2")),
            3 => Expr::Unary(self.pick(&["double", "int64", "float"]), Box::new(cast)),
            4 => {
                let other = self.pick(&TO);
                Expr::Unary(other, Box::new(cast))
            }
            _ => cast,
        }
    }

    /// An element of this type made large, negative or, where it becomes a whole number at once,
    /// infinite or no number: whether an infinity meets an absent zero depends on what is skipped.
    fn large(&mut self, ty: &str, e: Expr, to_whole: bool) -> Expr {
        let wide = Expr::Unary("double", Box::new(e.clone()));
        match (ty, self.below(12)) {
            (_, 0) if to_whole => two("/", Expr::Number(self.pick(&["1.0", "-1.0"])), wide),
            (_, 1) if to_whole => two("/", wide.clone(), wide),
            (_, 2..=6) if to_whole => {
                let by = [
                    "1e4", "-70000", "3e9", "-3e9", "1e12", "1e19", "-1e19", "1e30",
                ];
                two("*", wide, Expr::Number(self.pick(&by)))
            }
            ("double" | "float", _) if to_whole => {
                let by = ["9", "-9", "100", "300", "-300", "70000", "-70000", "3e9"];
                two("*", e, Expr::Number(self.pick(&by)))
            }
            ("double" | "float" | "half" | "bfloat16", 5) => e,
            ("double" | "float" | "half" | "bfloat16", _) => {
                two("*", e, Expr::Number(self.pick(&["9", "-9", "100", "-3"])))
            }
            ("bool", _) => two("-", e, Expr::Number(self.pick(&["3", "200"]))),
            (_, 5) => Expr::Unary("-", Box::new(e)),
            (_, 6) => two("-", e, *number("5")),
            _ => two("*", e, Expr::Number(self.pick(&["9", "-9", "50", "100"]))),
        }
    }

    /// The less or the more of an element and something of another type.
    fn clipped(&mut self, e: Expr) -> Expr {
        self.note("clipped");
        let from = self.type_of(&e);
        let e = match self.below(3) {
            0 => self.large(from, e, false),
            _ => e,
        };
        let bound = match self.below(4) {
            0 | 1 => *number(self.pick(&["0", "1", "3", "-2", "200", "0.5", "-1.5", "1e12"])),
            2 => {
                let to = self.pick(&TO);
                Expr::Unary(to, Box::new(e.clone()))
            }
            _ => self.operand(),
        };
        let function = self.pick(&["min", "max", "fmin", "fmax"]);
        let (a, b) = (Box::new(e), Box::new(bound));
        match self.below(4) {
            0 => *a,
            1 => Expr::Call(function, b, a),
            _ => Expr::Call(function, a, b),
        }
    }
}
