//! How many elements the inputs store: known to whoever calls, so that the host can size
//! launches without reading what lies on the device.

use crate::level::{ArrayRole, InKernel};
use crate::loops::build as b;
use crate::loops::interface::{Arg, CountArg, Direction};
use crate::loops::ir::{ArrayId, Expr, ExprKind, Kernel, Literal, ScalarType, Stmt, VarId};
use crate::loops::visit;

/// Makes the number of positions of each compressed level of an input an argument, and
/// reads it wherever the body reads the end of that level's `pos`. The first element of a
/// `pos` is 0.
pub(super) fn introduce(kernel: &mut Kernel) {
    let mut known: Vec<(ArrayId, Expr, Expr)> = Vec::new();
    let mut counts = Vec::new();
    for (at, arg) in kernel.interface.args.clone().iter().enumerate() {
        let Arg::Tensor(tensor) = arg else { continue };
        if tensor.direction == Direction::Out {
            continue;
        }
        let mut parents = b::int(1);
        for (l, level) in tensor.levels.iter().enumerate() {
            let Some(pos) = level.array(ArrayRole::Positions) else {
                let extent = level.extent(&tensor.dims);
                parents = InKernel::new(level.level.ty(), Vec::new(), extent).size(parents);
                continue;
            };
            let name = format!("{}{}_count", tensor.name, l + 1);
            let var = kernel.fresh_var(&name, ScalarType::I64, false);
            let count = b::var(var, ScalarType::I64);
            known.push((pos, parents, count.clone()));
            counts.push(CountArg {
                name,
                var,
                arg: at,
                level: l,
            });
            parents = count;
        }
    }
    let mut body = std::mem::take(&mut kernel.body);
    // The end of an inner level may be read at the end of an outer one.
    for _ in &known {
        replace(&mut body, &known);
        propagate(kernel, &mut body);
    }
    kernel.body = body;
    let used = visit::read_vars(&kernel.body);
    counts.retain(|count| used.contains(&count.var));
    kernel.interface.counts = counts;
}

fn replace(body: &mut [Stmt], known: &[(ArrayId, Expr, Expr)]) {
    visit::replace_exprs(body, &mut |e| {
        (e.ty == ScalarType::I64).then_some(())?;
        let load = if let ExprKind::Cast(inner) = &e.kind {
            inner
        } else {
            e
        };
        let ExprKind::Load { array, index } = &load.kind else {
            return None;
        };
        let (_, parents, count) = known.iter().find(|(pos, _, _)| pos == array)?;
        if index.kind == ExprKind::Literal(Literal::Int(0)) {
            return Some(b::int(0));
        }
        (**index == *parents).then(|| count.clone())
    });
}

/// What is now a constant or another name stands where it is used.
fn propagate(kernel: &Kernel, body: &mut Vec<Stmt>) {
    let mut plain = Vec::new();
    visit::stmts(body, &mut |stmt| {
        if let Stmt::Let { var, init } = stmt
            && !kernel.var(*var).mutable
            && matches!(&init.kind, ExprKind::Literal(_))
        {
            plain.push((*var, init.clone()));
        }
        if let Stmt::Let { var, init } = stmt
            && let ExprKind::Var(other) = init.kind
            && !kernel.var(*var).mutable
            && !kernel.var(other).mutable
        {
            plain.push((*var, init.clone()));
        }
    });
    for at in 0..plain.len() {
        let (var, value) = plain[at].clone();
        let mut swap = |e: &Expr| (e.kind == ExprKind::Var(var)).then(|| value.clone());
        visit::replace_exprs(body, &mut swap);
        for (_, later) in &mut plain {
            visit::replace_expr(later, &mut swap);
        }
    }
    remove(body, &plain);
    refold(body);
}

fn remove(body: &mut Vec<Stmt>, plain: &[(VarId, Expr)]) {
    body.retain(
        |stmt| !matches!(stmt, Stmt::Let { var, .. } if plain.iter().any(|(v, _)| v == var)),
    );
    for stmt in body {
        for inner in visit::bodies_mut(stmt) {
            remove(inner, plain);
        }
    }
}

/// Folds sums that a zero now stands in.
fn refold(body: &mut [Stmt]) {
    for stmt in body {
        for e in visit::own_exprs_mut(stmt) {
            b::fold(e);
        }
        for inner in visit::bodies_mut(stmt) {
            refold(inner);
        }
    }
}
