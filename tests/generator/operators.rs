//! Operators that a drawn file declares: the language's own by other names, and some that it lacks.

use crate::maker::Maker;
use crate::program::{Expr, File};

/// Name, declaration.
const DECLARED: [(&str, &str); 6] = [
    (
        "least",
        "op least(x, y) = x < y ? x : y identity inf annihilator -inf commutes",
    ),
    (
        "most",
        "op most(x, y) = x < y ? y : x identity -inf annihilator inf commutes",
    ),
    ("total", "op total(x, y) = x + y identity 0 commutes"),
    // What is probable of one of two, and of neither.
    (
        "either",
        "op either(x, y) = x + y - x * y identity 0 annihilator 1 commutes",
    ),
    ("odd", "op odd(x, y) = x != y identity 0 commutes"),
    ("first", "op first(x, y) = x"),
];

impl Maker {
    /// Reduces and combines by operators of the file's own instead of the language's, at times.
    pub(crate) fn with_operators(&mut self, op: &'static str, right: &mut Expr) -> &'static str {
        if self.taco || !self.chance(10) {
            return op;
        }
        self.note("operators of one's own");
        self.combined(right);
        match op {
            "min=!" => "least=!",
            "min=" => "least=",
            "max=!" => "most=!",
            "max=" => "most=",
            "+=!" => self.pick(&["total=!", "either=!"]),
            "+=" => self.pick(&["total=", "either="]),
            "||=!" => "odd=!",
            "||=" => "odd=",
            other => other,
        }
    }

    fn combined(&mut self, e: &mut Expr) {
        if let Expr::Call(name, ..) = e {
            *name = match *name {
                "min" => "least",
                "max" => self.pick(&["most", "first"]),
                other => other,
            };
        }
        for part in e.children_mut() {
            self.combined(part);
        }
    }
}

impl File {
    /// The declarations of the operators that the text of the functions uses.
    pub(crate) fn operators(&self, text: &str) -> String {
        let used =
            |name: &str| text.contains(&format!("{name}=")) || text.contains(&format!("{name}("));
        DECLARED
            .iter()
            .filter(|(name, _)| used(name))
            .map(|(_, declaration)| format!("{declaration}\n"))
            .collect()
    }
}
