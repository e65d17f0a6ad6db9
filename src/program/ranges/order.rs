//! The order of a statement's variables: after those that their bounds use.

use std::collections::BTreeSet;

use super::Ranges;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::program as codes;
use crate::program::draft::{Draft, DraftStmt, Write};
use crate::program::ir::VarId;

/// The variables of `stmt` in the order that [`Statement`] asks for.
///
/// # Errors
/// When bounds use each other in a circle, or a variable of the left side is bounded
/// by one that is summed over.
///
/// [`Statement`]: crate::program::ir::Statement
pub(in crate::program) fn statement_order(
    draft: &Draft,
    stmt: &DraftStmt,
    ranges: &Ranges,
) -> Result<Vec<VarId>, Diagnostic> {
    let mut placed: Vec<VarId> = Vec::new();
    let ready = |var: VarId, placed: &[VarId]| {
        let uses = ranges.uses.get(&var);
        uses.is_none_or(|uses| uses.iter().all(|used| placed.contains(used)))
    };
    let mut rest: Vec<VarId> = stmt.vars.clone();
    while !rest.is_empty() {
        // The left side goes first; `rest` keeps the order of first appearance.
        let left = rest
            .iter()
            .position(|v| stmt.lhs.contains(v) && ready(*v, &placed));
        let left_done = rest.iter().all(|v| !stmt.lhs.contains(v));
        let right = rest.iter().position(|v| ready(*v, &placed));
        // What accumulates may scatter: the sum's variables tell where.
        let scatters = matches!(stmt.write, Write::Accumulate(_));
        let next = match left_done {
            true => right,
            false => left.or(right.filter(|_| scatters)),
        };
        let Some(next) = next else {
            return Err(circle(draft, stmt, &rest, ranges));
        };
        placed.push(rest.remove(next));
    }
    Ok(placed)
}

fn circle(draft: &Draft, stmt: &DraftStmt, rest: &[VarId], ranges: &Ranges) -> Diagnostic {
    let var = rest
        .iter()
        .copied()
        .find(|v| ranges.uses.contains_key(v))
        .or_else(|| rest.first().copied())
        .unwrap_or(VarId(0));
    let name = &draft.var(var).name;
    let place = stmt
        .clauses
        .iter()
        .find(|clause| clause.var == var)
        .map_or(stmt.span, |clause| clause.span);
    let empty = BTreeSet::new();
    let uses = ranges.uses.get(&var).unwrap_or(&empty);
    let used: Vec<String> = uses
        .iter()
        .filter(|v| rest.contains(v))
        .map(|v| format!("`{}`", draft.var(*v).name))
        .collect();
    let used = used.join(", ");
    if stmt.lhs.contains(&var) && uses.iter().any(|v| !stmt.lhs.contains(v)) {
        return Diagnostic::error(
            codes::CYCLIC_RANGES,
            place,
            format!("the range of `{name}` depends on {used}, which is summed over"),
            "this range must be known before the sum",
        )
        .with_help(format!(
            "give `{name}` a range that uses only sizes and variables of the left side"
        ));
    }
    Diagnostic::error(
        codes::CYCLIC_RANGES,
        place,
        format!("the range of `{name}` depends on itself"),
        format!("it uses {used}"),
    )
    .with_help("give one of the variables a range that does not use the others")
}
