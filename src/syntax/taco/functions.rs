//! TACO's functions.

/// Names that are functions or types rather than tensors.
pub(super) fn is_function(name: &str) -> bool {
    const FUNCTIONS: &[&str] = &[
        "abs",
        "sqrt",
        "cbrt",
        "exp",
        "expm1",
        "log",
        "log1p",
        "log10",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "sigmoid",
        "pow",
        "floor",
        "ceil",
        "round",
        "mod",
        "fmod",
        "min",
        "max",
        "fma",
        "heaviside",
        "fabs",
        "fmin",
        "fmax",
        "square",
        "cube",
        "gt",
        "lt",
        "gte",
        "lte",
        "eq",
        "neq",
        "not",
        "and",
        "or",
        "xor",
        "sum",
    ];
    FUNCTIONS.contains(&name)
        || name
            .strip_suffix('f')
            .is_some_and(|base| FUNCTIONS.contains(&base))
        || crate::scalar::ScalarType::from_name(name).is_some()
}
