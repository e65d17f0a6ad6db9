//! The smoke test at the end of `NAME.c`, compiled with `-DSPARSEC_MAIN`: every function
//! runs on small generated data through its checked entry point.

mod sizes;

use super::names::{Scopes, function};
use super::types::c_type;
use super::{Unit, clashes};
use crate::loops::interface::{Arg, Direction};
use crate::loops::ir::{BinaryOp, Expr, ExprKind, Kernel, Literal};
use crate::target::Target;
use std::fmt::Write as _;

/// The section, with its `#ifdef`.
#[must_use]
pub fn text(unit: &Unit, target: Target) -> String {
    let mut out = String::from("\n#ifdef SPARSEC_MAIN\n");
    out.push_str(include_str!("runtime/smoke.c"));
    for kernel in &unit.kernels {
        out.push('\n');
        out.push_str(&one(kernel, target));
    }
    out.push_str("\nint main(int argc, char **argv) {\n");
    out.push_str("    int64_t n = argc > 1 ? atoll(argv[1]) : 24;\n");
    out.push_str("    int rounds = argc > 2 ? atoi(argv[2]) : 0, failed = 0;\n");
    if !unit.kernels.iter().any(fills) {
        out.push_str("    (void)smoke_fill;\n");
    }
    for kernel in &unit.kernels {
        let _ = writeln!(
            out,
            "    failed |= smoke_{}(n, rounds);",
            function(&kernel.name, target)
        );
    }
    out.push_str("    return failed;\n}\n#endif\n");
    out
}

/// Whether the kernel reads a tensor.
fn fills(kernel: &Kernel) -> bool {
    kernel.interface.args.iter().any(|arg| match arg {
        Arg::Tensor(t) => t.direction != Direction::Out,
        Arg::Scalar { .. } => false,
    })
}

fn one(kernel: &Kernel, target: Target) -> String {
    let zero = if target.properties().is_cpp {
        "{}"
    } else {
        "{0}"
    };
    let name = function(&kernel.name, target);
    let mut free = String::new();
    let mut call = Vec::new();
    // A tensor may be called as the function is, or as a variable here.
    let mut scopes = Scopes::default();
    scopes.open();
    for own in clashes::given(kernel, target) {
        scopes.reserve(&own);
    }
    let mut local = |hint| scopes.fresh(hint);
    // No identifier of a program is `error`.
    let error = "error";
    let (n, rounds) = (local("n"), local("rounds"));
    let (best, round, start) = (local("best"), local("round"), local("start"));
    let mut reset = String::new();
    let mut sized = false;
    let mut out = format!("static int smoke_{name}(int64_t {n}, int {rounds}) {{\n");
    out.push_str(&clamped(kernel, &n));
    let tables = clashes::tables(kernel);
    for (at, arg) in kernel.interface.args.iter().enumerate() {
        match arg {
            Arg::Scalar { name, ty, .. } => {
                let own = scopes.fresh(name);
                let value = if ty.is_integer() { "1" } else { "0.5f" };
                let _ = writeln!(out, "    {} {own} = {value};", c_type(ty.compute()));
                call.push(own);
            }
            Arg::Tensor(t) => {
                // What stands in a result's place before the call.
                if kernel.interface.is_renewed(&t.name) {
                    continue;
                }
                let own = scopes.fresh(t.shown());
                let spec = &tables[at];
                let _ = writeln!(out, "    sparsec_tensor {own} = {zero};");
                let _ = writeln!(free, "    sparsec_free_tensor(&{own});");
                call.push(format!("&{own}"));
                if t.direction == Direction::Out {
                    continue;
                }
                let dims: Vec<String> = t.dims.iter().map(|d| extent(kernel, d, &n)).collect();
                sized |= t
                    .dims
                    .iter()
                    .any(|d| extent(kernel, d, "") != extent(kernel, d, &n));
                let dims = if dims.is_empty() {
                    "NULL".to_string()
                } else {
                    let name = scopes.fresh(&format!("{own}_dims"));
                    let dims = dims.join(", ");
                    let _ = writeln!(out, "    const int64_t {name}[] = {{{dims}}};");
                    name
                };
                let _ = writeln!(
                    reset,
                    "    {error} |= smoke_fill(&{own}, &{name}_{spec}_spec, {dims}, {});",
                    at + 1
                );
            }
        }
    }
    if !sized {
        let _ = writeln!(out, "    (void){n};");
    }
    let _ = writeln!(out, "    int {error} = 0;\n    double {best} = INFINITY;");
    out.push_str(&reset);
    let call = format!("{name}({})", call.join(", "));
    let _ = writeln!(out, "    if (!{error}) {error} = {call};");
    let _ = writeln!(
        out,
        "    for (int {round} = 0; !{error} && {round} < {rounds}; {round}++) {{"
    );
    let _ = writeln!(out, "        double {start} = smoke_seconds();");
    let _ = writeln!(out, "        {error} = {call};");
    let _ = writeln!(
        out,
        "        {best} = fmin({best}, smoke_seconds() - {start});\n    }}"
    );
    let title = kernel.name.replace('"', "");
    let _ = writeln!(out, "    smoke_report(\"{title}\", {error}, {best});");
    out.push_str(&free);
    let _ = writeln!(out, "    return {error};\n}}");
    out
}

/// What brings `n` within its bounds.
fn clamped(kernel: &Kernel, n: &str) -> String {
    let (least, most) = sizes::bounds(kernel);
    let most = most.map(|most| format!("    if ({n} > {most}) {n} = {most};\n"));
    let least = least.map(|least| format!("    if ({n} < {least}) {n} = {least};\n"));
    [most, least].into_iter().flatten().collect()
}

/// An extent for the smoke test: every size is `n`, clamped where it is derived.
fn extent(kernel: &Kernel, dim: &Expr, n: &str) -> String {
    if let ExprKind::Literal(Literal::Int(c)) = &dim.kind {
        return c.to_string();
    }
    if let ExprKind::Var(v) = &dim.kind {
        let fixed = kernel.interface.sizes.iter().find(|s| s.var == *v);
        let value = fixed.and_then(|s| s.fixed);
        return value.map_or(n.to_string(), |value| value.to_string());
    }
    let ExprKind::Binary(op, a, b) = &dim.kind else {
        // A scalar parameter, which is 1 here.
        return "1".to_string();
    };
    let (a, b) = (extent(kernel, a, n), extent(kernel, b, n));
    let mut forms = [
        (BinaryOp::Add, format!("({a} + {b})")),
        (BinaryOp::Sub, format!("({a} - {b})")),
        (BinaryOp::Mul, format!("({a} * {b})")),
        (BinaryOp::FloorDiv, format!("sparsec_floordiv({a}, {b})")),
        (BinaryOp::Min, format!("sparsec_min_int64({a}, {b})")),
        (BinaryOp::Max, format!("sparsec_max_int64({a}, {b})")),
    ]
    .into_iter();
    let made = forms.find(|(own, _)| own == op);
    made.map_or("1".to_string(), |(_, text)| text)
}
