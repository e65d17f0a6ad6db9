//! The loop IR as text (`sparsec show --stage loops`).

use super::ir::{Device, Expr, ExprKind, Kernel, Place, Run, Stmt};
use std::fmt::Write as _;

/// The kernel's statements, indented.
#[must_use]
pub fn print(kernel: &Kernel) -> String {
    let mut out = format!("kernel {}\n", kernel.name);
    if !kernel.checks.is_empty() {
        out.push_str("checks\n");
        stmts(kernel, &kernel.checks, 1, &mut out);
        out.push_str("body\n");
    }
    stmts(kernel, &kernel.body, 1, &mut out);
    out
}

fn stmts(k: &Kernel, body: &[Stmt], depth: usize, out: &mut String) {
    for stmt in body {
        one(k, stmt, depth, out);
    }
}

fn one(k: &Kernel, stmt: &Stmt, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let e = |x: &Expr| expr(k, x);
    let var = |v: super::ir::VarId| format!("{}.{}", k.var(v).name, v.0);
    let array = |a: super::ir::ArrayId| k.array(a).name.clone();
    let op = |op: &Option<super::ir::ReduceOp>| op.map_or(String::new(), |op| format!("{op:?}"));
    let text = match stmt {
        Stmt::Let { var: v, init } => format!("let {}: {} = {}", var(*v), init.ty, e(init)),
        Stmt::Assign {
            var: v,
            op: o,
            value,
        } => format!("{} {}= {}", var(*v), op(o), e(value)),
        Stmt::Store {
            array: a,
            index,
            op: o,
            value,
            atomic,
        } => format!(
            "{}[{}] {}= {}{}",
            array(*a),
            e(index),
            op(o),
            e(value),
            if *atomic { " atomically" } else { "" }
        ),
        Stmt::For {
            var: v,
            lo,
            hi,
            step,
            tag,
            body,
        } => {
            let mut kind = match &tag.run {
                Run::Serial => String::new(),
                Run::Threads { schedule, .. } => format!(" {schedule:?}"),
                Run::Lanes { .. } => " vector".to_string(),
                Run::Unit { unit, .. } => {
                    let group = unit.group.map_or(String::new(), |group| {
                        format!(" {:?} of {}", group.strategy, group.size)
                    });
                    format!(" {:?}{:?}{group}", unit.level, unit.axis)
                }
            };
            if let Some(n) = tag.unroll {
                kind += &format!(" unroll {n}");
            }
            if tag.reversed {
                kind += " reversed";
            }
            for (op, v) in tag.reductions() {
                kind += &format!(" reduce {op:?} {}", var(*v));
            }
            let _ = writeln!(
                out,
                "{pad}for {} in {}..{} by {step}{kind}",
                var(*v),
                e(lo),
                e(hi)
            );
            return stmts(k, body, depth + 1, out);
        }
        Stmt::While { cond, body } => {
            let _ = writeln!(out, "{pad}while {}", e(cond));
            return stmts(k, body, depth + 1, out);
        }
        Stmt::If {
            cond,
            then,
            otherwise,
        } => {
            let _ = writeln!(out, "{pad}if {}", e(cond));
            stmts(k, then, depth + 1, out);
            if !otherwise.is_empty() {
                let _ = writeln!(out, "{pad}else");
                stmts(k, otherwise, depth + 1, out);
            }
            return;
        }
        Stmt::Alloc {
            array: a,
            count,
            zeroed,
        } => format!(
            "alloc {}[{}]{}",
            array(*a),
            e(count),
            if *zeroed { " zeroed" } else { "" }
        ),
        Stmt::Grow {
            arrays,
            capacity,
            needed,
        } => {
            let names: Vec<String> = arrays.iter().map(|a| array(*a)).collect();
            format!(
                "grow {} ({}) to {}",
                names.join(", "),
                var(*capacity),
                e(needed)
            )
        }
        Stmt::Declare { array: a, count } => format!("declare {}[{count}]", array(*a)),
        Stmt::Slice {
            array: a,
            of,
            offset,
        } => format!("slice {} = {}[{}..]", array(*a), array(*of), e(offset)),
        Stmt::Assume { cond, text } => format!("assume {} ({text})", e(cond)),
        Stmt::Free { array: a } => format!("free {}", array(*a)),
        Stmt::Fill {
            array: a,
            start,
            count,
            value,
        } => format!(
            "fill {}[{}..+{}] = {}",
            array(*a),
            e(start),
            e(count),
            e(value)
        ),
        Stmt::Search {
            var: v,
            array: a,
            lo,
            hi,
            key,
            gallop,
        } => format!(
            "let {} = {} {}[{}..{}] for {}",
            var(*v),
            if *gallop { "gallop" } else { "search" },
            array(*a),
            e(lo),
            e(hi),
            e(key)
        ),
        Stmt::FailIf { cond, code } => format!("fail {code:?} if {}", e(cond)),
        Stmt::Device(device) => {
            let (text, body) = match device {
                Device::Launch { grid, block, body } => {
                    let grid: Vec<String> = grid.iter().map(e).collect();
                    let text = format!("launch ({}) blocks of {block:?}", grid.join(", "));
                    (text, Some(body))
                }
                Device::Retry(retry) => {
                    let groups: Vec<String> = retry
                        .groups
                        .iter()
                        .map(|(capacity, arrays)| {
                            let names: Vec<String> = arrays.iter().map(|a| array(*a)).collect();
                            format!("{} ({})", names.join(", "), var(*capacity))
                        })
                        .collect();
                    let text = format!("retry until there is room in {}", groups.join("; "));
                    (text, Some(&retry.body))
                }
                Device::Aligned { array, bytes } => {
                    (format!("aligned {} {bytes}", k.array(*array).name), None)
                }
                Device::Barrier(scope) => (format!("barrier {scope:?}"), None),
                Device::Reduce { var: v, op, scope } => {
                    (format!("{} = {op:?} over {scope:?}", var(*v)), None)
                }
                Device::SegmentStore {
                    array: a,
                    index,
                    op,
                    value,
                    lanes,
                } => {
                    let (index, value) = (e(index), e(value));
                    let text = format!(
                        "{}[{index}] {op:?}= {value} by segments of {lanes}",
                        array(*a)
                    );
                    (text, None)
                }
            };
            let _ = writeln!(out, "{pad}{text}");
            if let Some(body) = body {
                stmts(k, body, depth + 1, out);
            }
            return;
        }
        Stmt::Prefetch { array: a, index } => format!("prefetch {}[{}]", array(*a), e(index)),
        Stmt::Comment(text) => format!("# {text}"),
    };
    let _ = writeln!(out, "{pad}{text}");
}

fn expr(k: &Kernel, e: &Expr) -> String {
    match &e.kind {
        ExprKind::Literal(l) => l.to_string(),
        ExprKind::Var(v) => format!("{}.{}", k.var(*v).name, v.0),
        ExprKind::Load { array, index } => {
            format!("{}[{}]", k.array(*array).name, expr(k, index))
        }
        ExprKind::Place(Place::Thread) => "thread".to_string(),
        ExprKind::Place(Place::Threads) => "threads".to_string(),
        ExprKind::Place(place) => format!("{place:?}"),
        ExprKind::Unary(op, a) => format!("{op:?}({})", expr(k, a)),
        ExprKind::Binary(op, a, b) => format!("{op:?}({}, {})", expr(k, a), expr(k, b)),
        ExprKind::Call(func, args) => {
            let args: Vec<String> = args.iter().map(|a| expr(k, a)).collect();
            format!("{func:?}({})", args.join(", "))
        }
        ExprKind::Cast(a) => format!("{}({})", e.ty, expr(k, a)),
        ExprKind::Locate(parent, extent, coordinate) => format!(
            "locate({}, {}, {})",
            expr(k, parent),
            expr(k, extent),
            expr(k, coordinate)
        ),
        ExprKind::Select(c, a, b) => {
            format!("select({}, {}, {})", expr(k, c), expr(k, a), expr(k, b))
        }
    }
}
