//! The names of built-in functions: C's spellings and TACO's among them.

use super::ir::{BinaryOp, Func, ScalarType};

/// What a function name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    /// A function with its number of arguments; `Min` and `Max` take more.
    Func(Func, usize),
    /// TACO's `square` and `cube`: the argument to this power.
    Power(u8),
    /// TACO's `gt`, `lte`, ...
    Compare(BinaryOp),
    /// TACO's `not`
    Not,
    /// TACO's `and`, `or` and `xor` of whether numbers are zero.
    Logic(Logic),
    /// TACO's `sum(j, e)`: `e` summed over `j`, whatever is around it.
    Sum,
}

/// What TACO's functions of two truths say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
}

impl Builtin {
    /// How many arguments it takes: at least the first, at most the second.
    pub(super) fn arguments(self) -> (usize, usize) {
        match self {
            Self::Func(Func::Min | Func::Max, least) => (least, usize::MAX),
            // What it is of 0 may be left out, as in TACO.
            Self::Func(Func::Heaviside, most) => (most - 1, most),
            Self::Func(_, count) => (count, count),
            Self::Power(_) | Self::Not => (1, 1),
            Self::Compare(_) | Self::Logic(_) | Self::Sum => (2, 2),
        }
    }
}

const TABLE: &[(&str, Builtin)] = &[
    ("abs", Builtin::Func(Func::Abs, 1)),
    ("fabs", Builtin::Func(Func::Abs, 1)),
    ("sqrt", Builtin::Func(Func::Sqrt, 1)),
    ("cbrt", Builtin::Func(Func::Cbrt, 1)),
    ("exp", Builtin::Func(Func::Exp, 1)),
    ("expm1", Builtin::Func(Func::Expm1, 1)),
    ("log", Builtin::Func(Func::Log, 1)),
    ("log1p", Builtin::Func(Func::Log1p, 1)),
    ("log10", Builtin::Func(Func::Log10, 1)),
    ("sin", Builtin::Func(Func::Sin, 1)),
    ("cos", Builtin::Func(Func::Cos, 1)),
    ("tan", Builtin::Func(Func::Tan, 1)),
    ("asin", Builtin::Func(Func::Asin, 1)),
    ("acos", Builtin::Func(Func::Acos, 1)),
    ("atan", Builtin::Func(Func::Atan, 1)),
    ("atan2", Builtin::Func(Func::Atan2, 2)),
    ("sinh", Builtin::Func(Func::Sinh, 1)),
    ("cosh", Builtin::Func(Func::Cosh, 1)),
    ("tanh", Builtin::Func(Func::Tanh, 1)),
    ("asinh", Builtin::Func(Func::Asinh, 1)),
    ("acosh", Builtin::Func(Func::Acosh, 1)),
    ("atanh", Builtin::Func(Func::Atanh, 1)),
    ("sigmoid", Builtin::Func(Func::Sigmoid, 1)),
    ("pow", Builtin::Func(Func::Pow, 2)),
    ("floor", Builtin::Func(Func::Floor, 1)),
    ("ceil", Builtin::Func(Func::Ceil, 1)),
    ("round", Builtin::Func(Func::Round, 1)),
    ("mod", Builtin::Func(Func::Mod, 2)),
    ("fmod", Builtin::Func(Func::Mod, 2)),
    ("min", Builtin::Func(Func::Min, 2)),
    ("fmin", Builtin::Func(Func::Min, 2)),
    ("max", Builtin::Func(Func::Max, 2)),
    ("fmax", Builtin::Func(Func::Max, 2)),
    ("fma", Builtin::Func(Func::Fma, 3)),
    ("heaviside", Builtin::Func(Func::Heaviside, 2)),
    ("square", Builtin::Power(2)),
    ("cube", Builtin::Power(3)),
    ("gt", Builtin::Compare(BinaryOp::Gt)),
    ("lt", Builtin::Compare(BinaryOp::Lt)),
    ("gte", Builtin::Compare(BinaryOp::Ge)),
    ("lte", Builtin::Compare(BinaryOp::Le)),
    ("eq", Builtin::Compare(BinaryOp::Eq)),
    ("neq", Builtin::Compare(BinaryOp::Ne)),
    ("not", Builtin::Not),
    ("and", Builtin::Logic(Logic::And)),
    ("or", Builtin::Logic(Logic::Or)),
    ("xor", Builtin::Logic(Logic::Xor)),
    ("sum", Builtin::Sum),
];

/// The function of this name. C's `float` spellings (`expf`, `fmaxf`) name the same
/// function: the types of the arguments decide in which precision it is computed.
pub(super) fn builtin(name: &str) -> Option<Builtin> {
    let find = |name: &str| {
        TABLE
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, function)| *function)
    };
    find(name).or_else(|| {
        let base = find(name.strip_suffix('f')?)?;
        matches!(base, Builtin::Func(..)).then_some(base)
    })
}

/// `2 arguments`, `1 or 2 arguments`, `at least 2 arguments`
pub(super) fn counted(least: usize, most: usize) -> String {
    let plural = if most == 1 { "" } else { "s" };
    if least == most {
        format!("{least} argument{plural}")
    } else if most == usize::MAX {
        format!("at least {least} arguments")
    } else {
        format!("{least} or {most} arguments")
    }
}

/// Every name of the table and every type (whose name converts), for suggestions.
pub(super) fn names<'n>() -> impl Iterator<Item = &'n str> {
    let types = ScalarType::ALL.into_iter();
    let types = types.map(|ty| -> &'n str { ty.name() });
    let functions = TABLE.iter().map(|(name, _)| -> &'n str { name });
    functions.chain(types)
}

/// What casts to half width are called where expressions are printed.
const ROUNDING: [(&str, Func); 2] = [("to_half", Func::ToHalf), ("to_bfloat16", Func::ToBfloat16)];

impl Func {
    /// The language's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        if let Func::Own(own) = self {
            return own.name();
        }
        if let Some((name, _)) = ROUNDING.iter().find(|(_, func)| *func == self) {
            return name;
        }
        TABLE
            .iter()
            .find(|(_, entry)| matches!(entry, Builtin::Func(known, _) if *known == self))
            .map_or("function", |(name, _)| *name)
    }

    /// The function of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if let Some((_, func)) = ROUNDING.iter().find(|(known, _)| *known == name) {
            return Some(*func);
        }
        let Builtin::Func(func, _) = builtin(name)? else {
            return None;
        };
        Some(func)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_c() {
        assert_eq!(builtin("fmaxf"), Some(Builtin::Func(Func::Max, 2)));
        assert_eq!(builtin("fabs"), Some(Builtin::Func(Func::Abs, 1)));
        assert_eq!(builtin("sqrtf"), Some(Builtin::Func(Func::Sqrt, 1)));
        assert_eq!(builtin("gtf"), None);
        assert_eq!(builtin("f"), None);
        assert_eq!(Func::Max.name(), "max");
    }
}
