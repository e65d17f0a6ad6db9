//! `precompute(e, i, iw, w)`: a workspace w(iw) = e, read back at i (000, chapter 7).
//!
//! before: `forall(i, ... e ...)`
//! after:  `where(forall(i, ... w(i) ...), forall(iw, w(iw) = e))`
//!
//! Several variables stand in braces; none (`{}`) keep one value, in a variable. A reduction whose
//! variables only e uses moves into the workspace: `C(i,j) = A(i,k) * B(k,j)` with
//! `precompute(A(i,k) * B(k,j), j, jw, w)` becomes `where(forall(j, C(i,j) = w(j)), forall(k,
//! forall(jw, w(jw) += A(i,k) * B(k,jw))))`. Of a sum that was split, the parts that stand inside i
//! move: after `split(j, j0, j1, 4) reorder(j1, j0)`, `precompute(A(i,j) * x(j), j1, lane, w)`
//! keeps four partial sums, each over j0, and adds them up behind (`reorder(j0, lane)` then takes
//! four elements at a time). The workspace stands as far out as what e reads allows. iw may be i
//! itself: then later commands on i apply to both loops. Where the statement collects the rows of a sparse
//! result by itself, and they hold e over i, such a row is the workspace: the command names it; rows that it
//! makes list what they hold, too, so that the result stores no more than it does without the command. Refused: e does not occur; i is no loop
//! around it; the range of i has no size that is known before it runs; what may be absent of e is divided where w is read.

pub(super) mod absent;
pub(super) mod find;
pub(super) mod place;
mod rewrite;
mod sizes;

use self::find::Found;
use self::place::{Place, place};
use self::rewrite::{hoist, rewrite};
use self::sizes::dims;
use super::arguments::{Arguments, loop_var, new_var};
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::format::TensorFormat;
use crate::graph::order::{range_vars, vars_in};
use crate::graph::print::{expr_text, var_text};
use crate::graph::relation::Precompute;
use crate::graph::terms::{reads, reduces};
use crate::graph::{Graph, Nest, Relation, equal};
use crate::operators::constants;
use crate::program::ir::{
    BinaryOp, Expr, ExprKind, ReduceOp, Role, SizeExpr, Tensor, TensorId, VarId,
};
use crate::scalar::{Literal, ScalarType};
use crate::syntax::ast::{self, Arg, Ident};

const USAGE: &str = "precompute(A(i,j) * x(j), j, jw, w)";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(mut graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    if arguments.args.len() != 3 {
        arguments.expect_count(4, USAGE)?;
    }
    let wanted = arguments.expr(0)?;
    let vars = kept_over(&graph, arguments)?;
    let (at, found) = place(&graph, arguments, wanted, &vars)?;
    let copies = copies(&graph, arguments, &vars)?;
    let name = if arguments.args.len() == 4 {
        Some(arguments.name(3)?)
    } else {
        None
    };
    let over: Vec<(VarId, Option<Ident>)> = vars.into_iter().zip(copies).collect();
    if let ([(var, copy)], true) = (over.as_slice(), is_row(&graph, (&at, &found), &over)) {
        name_row(&mut graph, (&at, &found), (*var, copy.as_ref()), name)?;
        return Ok(graph);
    }
    precompute(&mut graph, (&at, &found), &over, name, arguments.span)?;
    Ok(graph)
}

/// Keeps an expression of a nest in a workspace over some of the nest's loops. Each of them
/// has another name where the workspace is computed, or is the same variable there. Returns
/// the workspace and the variables that run over it there.
///
/// # Errors
/// What the expression reads is not known there, a loop has no size that is known before it
/// runs, or a name is taken.
pub(super) fn precompute(
    graph: &mut Graph,
    (at, found): (&Place, &Found),
    over: &[(VarId, Option<Ident>)],
    name: Option<Ident>,
    span: Span,
) -> Result<(TensorId, Vec<VarId>), Diagnostic> {
    let vars: Vec<VarId> = over.iter().map(|(var, _)| *var).collect();
    let nest = at.of(graph);
    debug_assert!(vars.iter().all(|v| nest.loop_vars().contains(v)));
    check_conditions(graph, nest, &found.e, span)?;
    let moved = moved_sums(graph, nest, found, &vars);
    let dims = dims(graph, &vars, span)?;
    check_inside(graph, nest, found, &vars, &moved, span)?;

    let mut pairs = Vec::new();
    for (var, copy) in over {
        let copy = match copy {
            Some(name) => new_var(graph, name)?,
            None => *var,
        };
        pairs.push((*var, copy));
    }
    let workspace = workspace(graph, name, &found.e, dims, span)?;
    let line = script(graph, &found.e, &pairs, workspace);
    rewrite(graph, at, found, &pairs, &moved, workspace);
    for &(parent, child) in pairs.iter().filter(|(var, copy)| var != copy) {
        graph
            .provenance
            .relations
            .push(Relation::Precompute(Precompute { parent, child }));
    }
    hoist(graph, at);
    let nest = at.of(graph).clone();
    if let Some(listed) = graph.with_list(&nest, workspace) {
        *graph = listed;
    }
    let was_divided = !found.divisors.is_empty();
    absent::check(graph, at.of(graph), (workspace, was_divided), span)?;
    graph.script.push(line);
    Ok((workspace, pairs.into_iter().map(|p| p.1).collect()))
}

/// Whether the row of a sparse result that its statement collects by itself holds the expression already,
/// over this variable.
fn is_row(graph: &Graph, (at, found): (&Place, &Found), over: &[(VarId, Option<Ident>)]) -> bool {
    let nest = at.of(graph);
    let row = nest.tensor;
    let collects = graph.workspaces.contains(&row) && graph.collected.contains(&row);
    // (Where no array is as long as a row, the command asks for one.)
    collects
        && !graph.hashed.contains(&row)
        && over.iter().map(|(var, _)| var).eq(&nest.lhs)
        && equal::same(&found.sum_expr(), &nest.rhs)
        && found.is_all()
}

/// Gives a row that there is the names of the command.
///
/// # Errors
/// A name is taken.
fn name_row(
    graph: &mut Graph,
    (at, found): (&Place, &Found),
    (var, copy): (VarId, Option<&Ident>),
    name: Option<Ident>,
) -> Result<(), Diagnostic> {
    let row = at.of(graph).tensor;
    if let Some(name) = name.filter(|name| name.name != graph.tensor(row).name) {
        check_free(graph, &name)?;
        graph.tensors[row.index()].name = name.name;
    }
    let mut own = var;
    if let Some(copy) = copy {
        own = new_var(graph, copy)?;
        for l in &mut at.of_mut(graph).loops {
            if l.var == var {
                l.var = own;
            }
        }
        graph
            .provenance
            .relations
            .push(Relation::Precompute(Precompute {
                parent: var,
                child: own,
            }));
    }
    let line = script(graph, &found.e, &[(var, own)], row);
    graph.script.push(line);
    Ok(())
}

/// A workspace reads what it keeps wherever its loops run: nothing that only a condition around it keeps in bounds.
/// Which of several conditions does so is not known, so that the whole right side alone may be kept.
///
/// # Errors
/// There is such a read.
fn check_conditions(graph: &Graph, nest: &Nest, e: &Expr, span: Span) -> Result<(), Diagnostic> {
    if equal::same(e, &nest.rhs) {
        return Ok(());
    }
    let mut read = e.accesses().into_iter().map(|access| access.tensor);
    match read.find(|tensor| graph.function.conditional.contains(tensor)) {
        Some(tensor) => {
            Err(would_lose_its_condition(graph, tensor, span).with_help("leave the command out"))
        }
        None => Ok(()),
    }
}

pub(super) fn would_lose_its_condition(graph: &Graph, tensor: TensorId, span: Span) -> Diagnostic {
    let name = &graph.tensor(tensor).name;
    Diagnostic::error(
        codes::CONDITIONAL,
        span,
        format!("`{name}` may be read outside where its condition does not hold"),
        "reads it ahead of the condition",
    )
}

/// The loops that the workspace is kept over.
fn kept_over(graph: &Graph, arguments: &Arguments) -> Result<Vec<VarId>, Diagnostic> {
    let named: Vec<&ast::Expr> = match arguments.args.get(1) {
        Some(Arg::Expr(e)) => vec![e],
        Some(Arg::Vars(list, _)) => list.iter().collect(),
        None => Vec::new(),
    };
    let mut vars = Vec::new();
    for e in &named {
        let var = loop_var(graph, e)?;
        arguments.expect_open(graph, var)?;
        if !vars.contains(&var) {
            vars.push(var);
        }
    }
    Ok(vars)
}

/// The names of the variables that run over the workspace; `None` for the same one.
fn copies(
    graph: &Graph,
    arguments: &Arguments,
    vars: &[VarId],
) -> Result<Vec<Option<Ident>>, Diagnostic> {
    let named: Vec<&ast::Expr> = match arguments.args.get(2) {
        Some(Arg::Expr(e)) => vec![e],
        Some(Arg::Vars(list, _)) => list.iter().collect(),
        None => Vec::new(),
    };
    if named.len() != vars.len() {
        return Err(arguments.wrong(
            arguments.span,
            format!(
                "{} variables are read back, {} computed",
                vars.len(),
                named.len()
            ),
            USAGE,
        ));
    }
    named
        .into_iter()
        .zip(vars)
        .map(|(e, &var)| {
            let ast::ExprKind::Name(name) = &e.kind else {
                return Err(arguments.wrong(e.span, "expected a name".to_string(), USAGE));
            };
            Ok((graph.var(var).name != *name).then(|| Ident {
                name: name.clone(),
                span: e.span,
            }))
        })
        .collect()
}

/// The variables of the reduction around it that move into the workspace: those that
/// only the expression uses and that have loops of their own.
fn moved_sums(graph: &Graph, nest: &Nest, found: &Found, vars: &[VarId]) -> Vec<VarId> {
    let Some((op, reduced, _)) = &found.sum else {
        return Vec::new();
    };
    let distributes = found.is_all()
        || (*op == ReduceOp::Add && found.op == BinaryOp::Mul && found.e.ty != ScalarType::Bool);
    if !distributes {
        return Vec::new();
    }
    // An earlier workspace may be kept over a part of a variable.
    let mut outside: Vec<VarId> = found
        .others()
        .flat_map(|e| depends_on(nest, e))
        .flat_map(|v| graph.provenance.ancestors(v))
        .collect();
    for other in reduces(&nest.rhs) {
        if let (ExprKind::Reduce { vars, .. }, false) =
            (&other.kind, equal::same(&other, &found.sum_expr()))
        {
            outside.extend(vars);
        }
    }
    // What a range reads must stay around the loop that has it.
    let ranged = reduced.iter().chain(&nest.lhs);
    outside.extend(ranged.flat_map(|&v| range_vars(graph, v)));
    let loops = nest.loop_vars();
    let first = loops.iter().position(|v| vars.contains(v)).unwrap_or(0);
    let mut moved = Vec::new();
    for &var in reduced {
        let leaves = graph.provenance.leaves(var, &loops);
        let own = leaves.iter().all(|&leaf| {
            graph
                .provenance
                .roots(leaf)
                .iter()
                .all(|root| reduced.contains(root) && !outside.contains(root))
        });
        if !own || leaves.is_empty() || outside.contains(&var) {
            continue;
        }
        if !leaves.iter().any(|leaf| vars.contains(leaf)) {
            moved.push(var);
            continue;
        }
        // Partial sums: the workspace is kept over a part of the sum, and the parts that
        // stand inside it are summed where it is computed.
        let inside = leaves.into_iter().filter(|leaf| {
            !vars.contains(leaf) && loops[first..].contains(leaf) && !moved.contains(leaf)
        });
        moved.extend(inside.collect::<Vec<_>>());
    }
    moved
}

/// The variables that an expression depends on: its own, and those of the nest's that the
/// workspaces it reads are computed from.
fn depends_on(nest: &Nest, e: &Expr) -> Vec<VarId> {
    let mut vars = vars_in(e);
    for producer in nest.producers.iter().filter(|p| reads(e, p.tensor)) {
        let mut own = producer.lhs.clone();
        for sum in reduces(&producer.rhs) {
            if let ExprKind::Reduce { vars, .. } = &sum.kind {
                own.extend(vars);
            }
        }
        let from = depends_on(producer, &producer.rhs);
        vars.extend(from.into_iter().filter(|v| !own.contains(v)));
    }
    vars
}

/// Loops that the expression needs must not stand inside those it is kept over.
fn check_inside(
    graph: &Graph,
    nest: &Nest,
    found: &Found,
    vars: &[VarId],
    moved: &[VarId],
    span: Span,
) -> Result<(), Diagnostic> {
    let mut around = nest.lhs.clone();
    for sum in reduces(&nest.rhs) {
        if let ExprKind::Reduce { vars, .. } = &sum.kind
            && sum.any(&|node| equal::same(node, &found.whole))
        {
            around.extend(vars);
        }
    }
    let apart = vars.iter().find(|&&var| {
        // Of a loop of a workspace, its own variable may be all that is known of it.
        !around.contains(&var)
            && !graph.provenance.roots(var).iter().all(|root| {
                around
                    .iter()
                    .any(|v| v == root || graph.provenance.ancestors(*v).contains(root))
            })
    });
    if let Some(&var) = apart {
        return Err(Diagnostic::error(
            codes::NOT_NESTED,
            span,
            format!("`{}` is no loop around the expression", graph.var(var).name),
            "it belongs to another sum",
        )
        .with_label(found.e.span, "the expression")
        .with_help("name loops of the sum that holds the expression"));
    }
    let loops = nest.loop_vars();
    let Some(first) = loops.iter().position(|v| vars.contains(v)) else {
        return Ok(());
    };
    for var in depends_on(nest, &found.e) {
        if moved.contains(&var) {
            continue;
        }
        let inside = graph
            .provenance
            .leaves(var, &loops)
            .into_iter()
            .filter(|leaf| !moved.contains(leaf))
            .find(|leaf| !vars.contains(leaf) && loops[first..].contains(leaf));
        if let Some(leaf) = inside {
            return Err(Diagnostic::error(
                codes::NOT_NESTED,
                span,
                format!(
                    "the expression depends on `{}`, a loop inside `{}`",
                    graph.var(leaf).name,
                    graph.var(loops[first]).name
                ),
                "not known where the workspace is computed",
            )
            .with_help(format!(
                "keep it over `{}` too, or reorder the loops",
                graph.var(leaf).name
            )));
        }
    }
    Ok(())
}

fn workspace(
    graph: &mut Graph,
    name: Option<Ident>,
    e: &Expr,
    dims: Vec<SizeExpr>,
    span: Span,
) -> Result<TensorId, Diagnostic> {
    let name = if let Some(name) = name {
        check_free(graph, &name)?;
        name.name
    } else {
        let taken = |name: &str| graph.tensors.iter().any(|t| t.name == name);
        (1..)
            .map(|n| format!("workspace{n}"))
            .find(|name| !taken(name))
            .unwrap_or_default()
    };
    // A copy has the type of what it copies; what is computed is rounded where the result is.
    let ty = if matches!(e.kind, ExprKind::Access(_)) {
        e.ty
    } else {
        e.ty.compute()
    };
    let id = graph.add_tensor(Tensor {
        name,
        span,
        role: Role::Temporary,
        ty,
        format: TensorFormat::dense(dims.len()),
        dims,
        fill: absent::value(graph, e)
            .map_or(Literal::ZERO, |fill| constants::converted(fill, e.ty, ty)),
    });
    graph.workspaces.push(id);
    Ok(id)
}

/// # Errors
/// Something has the name.
fn check_free(graph: &Graph, name: &Ident) -> Result<(), Diagnostic> {
    let taken = graph.vars.iter().any(|v| v.name == name.name)
        || graph.has_tensor(&name.name)
        || graph.function.sizes.iter().any(|s| s.name == name.name);
    match taken {
        true => Err(super::arguments::taken(name)),
        false => Ok(()),
    }
}

/// The command as it could be written again.
fn script(graph: &Graph, e: &Expr, pairs: &[(VarId, VarId)], workspace: TensorId) -> String {
    let list = |vars: Vec<VarId>, is_told: bool| {
        let mut names: Vec<String> = vars.iter().map(|&v| graph.var(v).name.clone()).collect();
        if is_told {
            names = vars.iter().map(|&v| var_text(graph, v)).collect();
        }
        if let [only] = names.as_slice() {
            only.clone()
        } else {
            format!("{{{}}}", names.join(", "))
        }
    };
    format!(
        "precompute({}, {}, {}, {})",
        expr_text(graph, e),
        list(pairs.iter().map(|p| p.0).collect(), true),
        list(pairs.iter().map(|p| p.1).collect(), false),
        graph.tensor(workspace).name
    )
}
