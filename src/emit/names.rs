//! One place that makes names: C identifiers, free of keywords and clashes.

use super::taken;
use crate::target::Target;
use std::collections::BTreeSet;

/// Words that C, C++, their headers or ours have taken.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "atomic",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "complex",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "error",
    "explicit",
    "export",
    "extern",
    "fail",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "imaginary",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "char8_t",
    "char16_t",
    "char32_t",
    "co_await",
    "co_return",
    "co_yield",
    "noreturn",
    "synchronized",
    "typeof_unqual",
    "while",
    "xor",
    "xor_eq",
    "linux",
    "unix",
    "i386",
    "INFINITY",
    "NAN",
    "NULL",
    "EOF",
    "RAND_MAX",
    "HUGE_VAL",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
    "ptrdiff_t",
    "dim3",
    "uint3",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "INT64_MAX",
    "INT64_MIN",
    "SIZE_MAX",
];

/// Functions of the C library that kernels call, in their real double form.
const CALLED: &[&str] = &[
    "abs", "fabs", "sqrt", "cbrt", "exp", "expm1", "log", "log1p", "log10", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow",
    "floor", "ceil", "round", "fmod", "fmin", "fmax", "fma", "real", "imag", "memset", "memcpy",
];

/// Whether kernels call a function of this name, which a variable would hide.
fn is_called(name: &str) -> bool {
    let real = name.strip_suffix('f').unwrap_or(name);
    [name, real].into_iter().any(|name| {
        let complex = name.strip_prefix('c').unwrap_or(name);
        CALLED.contains(&name) || CALLED.contains(&complex)
    })
}

/// A name as a C identifier, the same or as near as can be.
#[must_use]
pub fn identifier(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) || text.is_empty() {
        text.insert(0, 'k');
    }
    let reserved = text.starts_with('_')
        || text.starts_with("sparsec_")
        || text.starts_with("SPARSEC_")
        || RESERVED.contains(&text.as_str())
        || taken::is_macro(&text);
    if reserved {
        text = format!("{}_", text.trim_start_matches('_'));
        if text == "_" || text.starts_with(|c: char| c.is_ascii_digit()) {
            text.insert(0, 'k');
        }
        if text.starts_with("sparsec_") || text.starts_with("SPARSEC_") {
            text.insert_str(0, "user_");
        }
    }
    text
}

/// A name for a function of the user, as the headers of the target leave it.
#[must_use]
pub fn function(name: &str, target: Target) -> String {
    let name = identifier(name);
    let is_of_api = |api| taken::is_of_api(&name, api);
    let is_taken = target.properties().api.is_some_and(is_of_api);
    // `smoke_...` are the functions of the built-in smoke test.
    if is_taken || taken::is_of_library(&name) || name.starts_with("smoke_") {
        name + "_"
    } else {
        name
    }
}

/// Names that are visible, scope by scope.
#[derive(Clone, Debug, Default)]
pub struct Scopes {
    scopes: Vec<BTreeSet<String>>,
    /// The text calls functions of the C library.
    calls: bool,
}

impl Scopes {
    /// Of a kernel, which calls functions of the C library.
    #[must_use]
    pub fn of_kernel() -> Self {
        Scopes {
            scopes: Vec::new(),
            calls: true,
        }
    }

    pub fn open(&mut self) {
        self.scopes.push(BTreeSet::new());
    }

    pub fn close(&mut self) {
        self.scopes.pop();
    }

    /// Takes a name that the text has of itself.
    pub fn reserve(&mut self, name: &str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string());
        }
    }

    /// A name like `hint` that nothing visible has.
    pub fn fresh(&mut self, hint: &str) -> String {
        let base = identifier(hint);
        let mut name = base.clone();
        let mut n = 2;
        while (self.calls && is_called(&name))
            || self.scopes.iter().any(|scope| scope.contains(&name))
        {
            name = if base.ends_with(|c: char| c.is_ascii_digit()) {
                format!("{base}_{n}")
            } else {
                format!("{base}{n}")
            };
            n += 1;
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone());
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_legal() {
        assert_eq!(identifier("2LUT"), "k2LUT");
        assert_eq!(identifier("complex"), "complex_");
        assert_eq!(identifier("_x"), "x_");
        assert_eq!(identifier("_1"), "k1_");
        assert_eq!(identifier("sparsec_a"), "user_sparsec_a_");
        assert_eq!(function("exp", Target::C), "exp_");
        assert_eq!(function("norm", Target::C), "norm");
        assert_eq!(function("norm", Target::Cuda), "norm_");
        assert_eq!(function("random", Target::C), "random_");
        assert_eq!(identifier("M_PI"), "M_PI_");
        assert_eq!(identifier("M_rows"), "M_rows");
        assert_eq!(function("smoke_f", Target::C), "smoke_f_");
        assert_eq!(function("spmv", Target::Cuda), "spmv");
    }

    #[test]
    fn what_the_text_calls_is_not_hidden() {
        let mut scopes = Scopes::of_kernel();
        scopes.open();
        scopes.reserve("f_raw");
        assert_eq!(scopes.fresh("f_raw"), "f_raw2");
        assert_eq!(scopes.fresh("exp"), "exp2");
        assert_eq!(scopes.fresh("csqrtf"), "csqrtf2");
        assert_eq!(scopes.fresh("log"), "log2");
        assert_eq!(scopes.fresh("j0"), "j0");
    }

    #[test]
    fn disjoint_scopes_share_names() {
        let mut scopes = Scopes::default();
        scopes.open();
        assert_eq!(scopes.fresh("i"), "i");
        scopes.open();
        assert_eq!(scopes.fresh("i"), "i2");
        scopes.close();
        scopes.open();
        assert_eq!(scopes.fresh("i"), "i2");
        assert_eq!(scopes.fresh("i1"), "i1");
        assert_eq!(scopes.fresh("i1"), "i1_2");
    }
}
