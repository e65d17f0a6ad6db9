//! `pos(i, p, A(i,j))`: positions of A's level instead of coordinates (000, 5.1).
//!
//! before: `forall(i, ...)`
//! after:  `forall(p, ...) suchthat pos(i, p, A(i,j))`
//!
//! p runs over the elements that A stores below the position of its outer levels; A's coordinate
//! gives i, other operands are located at it. After `fuse(i, j, f)`, `pos(f, p, A(i,j))` runs over
//! all of A's elements; after `split(i, i0, i1, n)`, `pos(i1, p, A(i,j))` over those of the tile
//! i0, whose ends are searched. Refused: i counts positions already, or is the outer part of a
//! split; the tile is not known outside; A is not indexed by i; the fused variables are not the
//! levels of A in their order; the statement does something where A stores nothing (a union).

use super::arguments::{Arguments, new_var};
use super::matching::find_access;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::fold::{as_literal, fold, is_fill};
use crate::graph::order::vars_in;
use crate::graph::pattern::constant;
use crate::graph::print::access_text;
use crate::graph::relation::Pos;
use crate::graph::terms::{reads, reduces, replace, root_reduction};
use crate::graph::{Graph, Nest, Provenance, Relation, equal};
use crate::program::ir::{Access, Expr, ExprKind, ReduceOp, VarId};
use crate::syntax::ast::Ident;

const USAGE: &str = "pos(j, jpos, A(i,j))";

/// Applies the command.
///
/// # Errors
/// Its preconditions, see the module.
pub fn apply(graph: Graph, arguments: &Arguments) -> Result<Graph, Diagnostic> {
    arguments.expect_count(3, USAGE)?;
    let parent = arguments.loop_var(&graph, 0)?;
    arguments.expect_open(&graph, parent)?;
    let name = |graph: &Graph, v: VarId| graph.var(v).name.clone();
    let here = arguments.expr(0)?.span;
    if graph.provenance.position_of(parent).is_some() {
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            here,
            format!("`{}` counts positions already", name(&graph, parent)),
            "is in position space",
        )
        .with_help("`coord(p, c)` leads back to coordinates"));
    }
    // A row that is collected has a loop over what it collects, and one over what is found.
    let mut parts = Vec::new();
    graph.visit_nests(&mut |nest| {
        if nest.loops.iter().any(|l| l.var == parent) {
            parts.extend(inside(&graph.provenance, nest, parent));
        }
    });
    let access = find_access(&graph, &parts, arguments.expr(2)?, &arguments.command.name)?;
    let part = graph.provenance.is_inner_part(parent);
    if !part && !made_of_roots(&graph, parent) {
        return Err(Diagnostic::error(
            codes::UNSUPPORTED_COMMAND,
            here,
            format!(
                "values of `{}` do not follow one another in `{}`",
                name(&graph, parent),
                graph.tensor(access.tensor).name
            ),
            "no consecutive coordinates",
        )
        .with_help(
            "take positions of the inner part of a split, or take them first and split them",
        ));
    }
    let pos = arguments.name(1)?;
    Ok(count(graph, (parent, access), &pos, arguments)?.0)
}

/// Makes the loop over all values of the variable one over the positions of the access, and says
/// which variable counts them.
///
/// # Errors
/// Those of the command that are about levels and what is stored.
pub(super) fn count(
    mut graph: Graph,
    (parent, access): (VarId, Access),
    pos: &Ident,
    arguments: &Arguments,
) -> Result<(Graph, VarId), Diagnostic> {
    let provenance = graph.provenance.clone();
    let roots = provenance.coordinates(parent);
    check_levels(&graph, &access, &roots, arguments)?;
    let mut error = None;
    graph.visit_nests(&mut |part| {
        if error.is_none() && walks(&provenance, part, parent, &access) {
            error = check_cover(&graph, part, (parent, &access), &roots, arguments).err();
        }
    });
    if let Some(error) = error {
        return Err(error);
    }
    check_whole(&graph, &access, &roots, arguments)?;
    let pos = new_var(&mut graph, pos)?;
    for nest in &mut graph.nests {
        nest.visit_mut(&mut |part| {
            if walks(&provenance, part, parent, &access) {
                for l in part.loops.iter_mut().filter(|l| l.var == parent) {
                    l.var = pos;
                }
            }
        });
    }
    graph.relate(Relation::Pos(Pos {
        parent,
        pos,
        access,
        span: arguments.span,
    }));
    Ok((graph, pos))
}

/// A variable of the program, or several fused: all of their values.
fn made_of_roots(graph: &Graph, var: VarId) -> bool {
    let provenance = &graph.provenance;
    let made = provenance
        .producer(var)
        .filter(|_| !provenance.is_stored(var));
    let Some(relation) = made else {
        return true;
    };
    if let Some((outer, inner)) = relation.fuses() {
        // What is fused as it was split is the whole.
        let split = provenance.producer(outer).and_then(Relation::tiles);
        let same = split.filter(|tiles| (tiles.outer, tiles.inner) == (outer, inner));
        if let Some(tiles) = same {
            return made_of_roots(graph, tiles.whole);
        }
        return made_of_roots(graph, outer) && made_of_roots(graph, inner);
    }
    let same = relation.is_renaming(provenance);
    let of = relation.part_of(var, provenance).filter(|_| same);
    of.is_some_and(|of| made_of_roots(graph, of))
}

fn check_levels(
    graph: &Graph,
    access: &Access,
    roots: &[VarId],
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let tensor = graph.tensor(access.tensor);
    let mut levels = Vec::new();
    for &root in roots {
        let Some(level) = graph.level_of(access, root) else {
            let (name, var) = (&tensor.name, &graph.var(root).name);
            let reads = |e: &Expr| vars_in(e).contains(&root);
            let message = match access.subscripts.iter().any(reads) {
                true => format!("`{name}` is indexed by more than `{var}` alone"),
                false => format!("`{name}` is not indexed by `{var}`"),
            };
            let label = "has no positions for it";
            let error = Diagnostic::error(codes::POSITION_SPACE, arguments.span, message, label);
            let help = "name an operand with the variable alone as a subscript";
            return Err(error.with_help(help));
        };
        levels.push(level);
    }
    if levels.windows(2).any(|pair| pair[1] != pair[0] + 1) {
        let stored: Vec<String> = tensor
            .format
            .modes
            .iter()
            .filter_map(|&mode| access.subscripts[mode].as_var())
            .map(|v| graph.var(v).name.clone())
            .collect();
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            arguments.span,
            format!(
                "`{}` does not store the fused variables one below the other",
                tensor.name
            ),
            format!("it stores {}", stored.join(" above ")),
        )
        .with_help("fuse the variables of neighbouring levels, outer one first"));
    }
    let mut counted = levels.iter().map(|&level| tensor.format.levels[level]);
    if counted.any(|level| !level.unique && !level.ordered) {
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            arguments.span,
            format!(
                "a coordinate can stand several times in a level of `{}`, apart from one another",
                tensor.name
            ),
            "positions do not go row by row: not supported yet",
        )
        .with_help("leave the loops in coordinate space"));
    }
    let last = levels.last().copied().unwrap_or(0);
    let level = &tensor.format.levels[last];
    if !level.unique && !level.is_full() {
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            arguments.span,
            format!(
                "a coordinate can stand several times in this level of `{}`",
                tensor.name
            ),
            "its positions are no elements",
        )
        .with_help(format!(
            "fuse the variables down to the last level, then take positions{}; where these are shared out and write the same elements, say Atomics",
            fused_down(graph, access, levels[0], &arguments.name(1)?.name)
        )));
    }
    Ok(())
}

/// The commands that fuse the variables of an access from one of its levels down to the last one, and take positions.
fn fused_down(graph: &Graph, access: &Access, from: usize, pos: &str) -> String {
    let modes = &graph.tensor(access.tensor).format.modes[from..];
    let vars = modes.iter().map(|&mode| access.subscripts[mode].as_var());
    let names: Option<Vec<String>> = vars.map(|v| v.map(|v| graph.var(v).name.clone())).collect();
    let Some([outer, inner @ ..]) = names.as_deref() else {
        return String::new();
    };
    let is_taken = |name: &String| name == pos || graph.vars.iter().any(|var| var.name == *name);
    let mut free = (1..)
        .map(|n| format!("f{n}"))
        .filter(|name| !is_taken(name));
    let mut whole = outer.clone();
    let mut commands = Vec::new();
    for name in inner {
        let fused = free.next().unwrap_or_default();
        commands.push(format!("fuse({whole}, {name}, {fused})"));
        whole = fused;
    }
    commands.push(format!(
        "pos({whole}, {pos}, {})",
        access_text(graph, access)
    ));
    format!(": `{}`", commands.join(" "))
}

/// Of the first level a part may be walked; below it the positions are all there are.
fn check_whole(
    graph: &Graph,
    access: &Access,
    roots: &[VarId],
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let tensor = graph.tensor(access.tensor);
    for &root in roots.iter().skip(1) {
        let level = graph.level_of(access, root);
        let dim = level.map(|level| &tensor.dims[tensor.format.modes[level]]);
        if dim.is_none_or(|dim| graph.covers(root, dim)) {
            continue;
        }
        let name = &graph.var(root).name;
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            arguments.span,
            format!("`{name}` runs over a part of what `{}` stores", tensor.name),
            format!("its positions are not those of `{name}` alone"),
        )
        .with_help(format!("take positions of `{name}` without fusing it")));
    }
    Ok(())
}

/// Whether the nest has a loop over `var` and reads `access` inside of it. Other nests with a loop
/// over the same variable keep it.
fn walks(provenance: &Provenance, nest: &Nest, var: VarId, access: &Access) -> bool {
    let mut inside = inside(provenance, nest, var).into_iter();
    nest.loops.iter().any(|l| l.var == var) && inside.any(|part| reads_access(&part.rhs, access))
}

/// The nest, and those of its workspaces that stand inside of its loop over `var`. Such as have loops over
/// values of the same variable, as copies of a row, come to other elements than it does.
fn inside<'n>(provenance: &Provenance, nest: &'n Nest, var: VarId) -> Vec<&'n Nest> {
    let roots = provenance.roots(var);
    let is_apart = |part: &Nest| {
        let mut own = part.loops.iter().flat_map(|l| provenance.roots(l.var));
        own.any(|root| roots.contains(&root))
    };
    let mut found = vec![nest];
    for kept in nest.producers.iter().filter(|kept| !is_apart(kept)) {
        found.extend(inside(provenance, kept, var));
    }
    found
}

/// The statement must do nothing where `access` stores nothing: the sums over `roots` add
/// nothing, and where the roots are of the left side, nothing is stored.
fn check_cover(
    graph: &Graph,
    nest: &Nest,
    (parent, access): (VarId, &Access),
    roots: &[VarId],
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    let tensor = graph.tensor(access.tensor);
    if !tensor.is_sparse() {
        return check_shared(graph, nest, (parent, access), roots, arguments);
    }
    let coordinates = roots;
    let whole = |&var: &VarId| graph.provenance.roots(var);
    let roots: Vec<VarId> = roots.iter().flat_map(whole).collect();
    let absent = |a: &Access| {
        let kept = nest.producers.iter().find(|kept| kept.tensor == a.tensor);
        match kept {
            Some(kept) => constant(graph, kept, Some(access)),
            None => equal::same_access(a, access).then_some(tensor.fill),
        }
    };
    let is_neutral =
        |e: &Expr, op: ReduceOp| as_literal(e).is_some_and(|l| l.same_value(op.neutral(e.ty)));
    let is_exact = |a: &Access| graph.exact(a);
    let mut rhs = nest.rhs.clone();
    let mut covered = true;
    for sum in reduces(&nest.rhs) {
        let ExprKind::Reduce { op, vars, body } = &sum.kind else {
            continue;
        };
        let nothing = is_neutral(&fold(body, &absent, &is_exact), *op);
        covered &= nothing || !vars.iter().any(|v| roots.contains(v));
        if nothing {
            let neutral = Expr {
                kind: ExprKind::Literal(op.neutral(sum.ty)),
                ..sum.clone()
            };
            replace(&mut rhs, &sum, &neutral);
        }
    }
    if roots.iter().any(|root| nest.lhs.contains(root)) {
        let left = fold(&rhs, &absent, &is_exact);
        covered &= match nest.op {
            Some(op) => is_neutral(&left, op),
            None => is_fill(&left, graph.tensor(nest.tensor)),
        };
    }
    if covered {
        return Ok(());
    }
    let mut levels = coordinates.iter().map(|&v| graph.level_of(access, v));
    if levels.all(|level| level.is_some_and(|level| tensor.format.levels[level].is_full())) {
        let name = crate::graph::print::var_text(graph, parent);
        return Err(Diagnostic::error(
            codes::POSITION_SPACE,
            arguments.span,
            format!(
                "the positions of this level of `{}` are its coordinates",
                tensor.name
            ),
            format!("`{name}` runs over all of them, whatever is stored below"),
        )
        .with_label(
            nest.span,
            "this statement does something where it stores nothing",
        )
        .with_help(format!("leave the command out, and go on with `{name}`")));
    }
    // What only sets a sum where nothing is stored may stand in a statement before.
    let result = &graph.tensor(nest.tensor).name;
    let is_set = nest.op.is_none() && root_reduction(&nest.rhs, None).is_some();
    let help = match is_set && as_literal(&fold(&rhs, &absent, &is_exact)).is_some() {
        true => format!(
            "let `{result}` be a parameter that is set before, and combine with it, as `min=` does in place of `min=!`"
        ),
        false => "keep the loop in coordinate space, or give terms that do not read it a statement of their own"
            .to_string(),
    };
    Err(Diagnostic::error(
        codes::POSITION_SPACE,
        arguments.span,
        format!(
            "the stored elements of `{}` do not cover the iteration",
            tensor.name
        ),
        "the statement does something where it stores nothing",
    )
    .with_label(nest.span, "this statement")
    .with_help(help))
}

/// Positions of a dense access cover every iteration, but each sum over the roots must read
/// it: one that does not has no position to tell which part of a split it belongs to.
/// (For a sparse access the sums would not be neutral where nothing is stored.)
fn check_shared(
    graph: &Graph,
    nest: &Nest,
    (parent, access): (VarId, &Access),
    roots: &[VarId],
    arguments: &Arguments,
) -> Result<(), Diagnostic> {
    for sum in reduces(&nest.rhs) {
        let ExprKind::Reduce { vars, .. } = &sum.kind else {
            continue;
        };
        let mut kept = inside(&graph.provenance, nest, parent).into_iter().skip(1);
        let within = reads_access(&sum, access)
            || kept.any(|kept| reads(&sum, kept.tensor) && reads_access(&kept.rhs, access));
        if vars.iter().any(|v| roots.contains(v)) && !within {
            return Err(Diagnostic::error(
                codes::POSITION_SPACE,
                arguments.span,
                format!(
                    "a sum of the statement does not read `{}`",
                    graph.tensor(access.tensor).name
                ),
                "has no positions in it",
            )
            .with_label(sum.span, "this sum")
            .with_help("keep the loop in coordinate space"));
        }
    }
    Ok(())
}

fn reads_access(e: &Expr, access: &Access) -> bool {
    let mut read = e.accesses().into_iter();
    read.any(|other| equal::same_access(other, access))
}
