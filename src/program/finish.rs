//! The last step: inference, conversions, storage, and the finished function.

use super::draft::{Clause, Draft, DraftStmt, Write};
use super::ir::{
    Bound, Expr, ExprKind, Function, IndexVar, Range, ReduceOp, ScalarType, SizeExpr, SizeId,
    Statement, Tensor, VarId,
};
use super::ranges::{Ranges, size, statement_order};
use super::types::Typer;
use super::{Options, einsum, fill, fixed, formats, inout, located, ranges, types, unused};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnosed, Diagnostic};
use std::collections::BTreeMap;

/// Turns a draft with resolved names into a function.
pub(super) fn finish(
    mut draft: Draft,
    options: &Options,
) -> Diagnosed<(Function, Vec<Diagnostic>)> {
    types::infer_tensors(&mut draft);
    argument_types(&mut draft);
    reductions(&mut draft);
    let before = draft.errors.len();
    bounds(&mut draft);
    if draft.errors.len() > before {
        // A bound that is no number would only be reported again as unknown.
        return Err(draft.errors);
    }
    let untyped = !draft.errors.is_empty();
    let ranges = ranges::infer(&mut draft);
    let roles = inout::roles(&mut draft, &ranges);
    let storage = formats::attach(&mut draft, options.index_bits.unwrap_or(32));
    if untyped {
        return Err(draft.errors);
    }
    let mut statements = Vec::new();
    let mut typer = Typer {
        draft: &draft,
        errors: Vec::new(),
    };
    for stmt in &draft.stmts {
        match statement(&mut typer, stmt, &ranges) {
            Ok(done) => statements.push(done),
            Err(error) => typer.errors.push(error),
        }
    }
    let variables = variables(&mut typer, &ranges);
    let errors = typer.errors;
    draft.errors.extend(errors);
    if !draft.errors.is_empty() {
        return Err(draft.errors);
    }
    for (storage, (tensor, role)) in storage.iter().zip(draft.tensors.iter().zip(&roles)) {
        draft
            .errors
            .extend(formats::unless_read(storage, tensor, *role));
    }
    if !draft.errors.is_empty() {
        return Err(draft.errors);
    }
    let entries: Vec<_> = storage.iter().map(|storage| storage.entry).collect();
    let mut typical = BTreeMap::new();
    let mut slots = BTreeMap::new();
    for (at, storage) in storage.iter().enumerate() {
        let id = super::ir::TensorId::at(at);
        typical.extend(storage.typical.map(|said| (id, said)));
        if storage.format.slots().is_some() {
            slots.insert(id, slots_of(&mut draft, at, options));
        }
    }
    let tensors = draft.tensors.iter().zip(&roles).zip(storage);
    let tensors = tensors.map(|((tensor, role), storage)| {
        let dims = tensor.dims.iter().flatten();
        let ty = tensor.ty.unwrap_or(ScalarType::F64);
        Tensor {
            name: tensor.name.clone(),
            span: tensor.span,
            role: *role,
            ty,
            dims: dims.map(|(extent, _)| known(&draft, extent)).collect(),
            format: storage.format,
            fill: types::convert_literal(storage.fill, ty).unwrap_or(storage.fill),
        }
    });
    let conditional = ranges::conditional(&draft, &ranges);
    let mut function = Function {
        name: draft.name.clone(),
        span: draft.span,
        tensors: tensors.collect(),
        typical,
        slots,
        sizes: draft.sizes.clone(),
        synonyms: draft.synonyms.clone(),
        fixed_dims: Vec::new(),
        params: draft.params.clone(),
        results: draft.results.clone(),
        vars: variables,
        stmts: statements,
        requirements: ranges::requirements(&draft, &ranges),
        conditional: conditional.iter().map(|(tensor, ..)| *tensor).collect(),
    };
    let errors = fill::check(&function, &entries, draft.notation);
    if errors.is_empty() {
        located::clamp(&mut function, &conditional);
        fixed::fix(&mut function);
        let mut remarks = draft.remarks;
        remarks.extend(unused::unused(&function));
        Ok((function, remarks))
    } else {
        Err(errors)
    }
}

/// The size that says how many slots a tensor has.
fn slots_of(draft: &mut Draft, tensor: usize, options: &Options) -> SizeId {
    let (span, mut name) = (
        draft.tensors[tensor].span,
        draft.tensors[tensor].name.clone(),
    );
    name.push_str("_slots");
    let is_taken = |draft: &Draft, name: &str| {
        draft.tensors.iter().any(|t| t.name == name) || draft.sizes.iter().any(|s| s.name == name)
    };
    while is_taken(draft, &name) {
        name.push('_');
    }
    let id = draft.size_named(&name, span);
    let given = options.sizes.iter().rfind(|(given, _)| *given == name);
    if let Some(size) = draft.sizes.last_mut() {
        size.value = given.map(|(_, value)| *value);
    }
    id
}

/// The extent with every alias replaced. All are known once inference has succeeded.
fn known(draft: &Draft, extent: &SizeExpr) -> SizeExpr {
    draft
        .expand(extent)
        .map_or_else(|| extent.clone(), |extent| size::simplify(&extent))
}

/// Arguments of inlined calls must have the element types that the callee declares.
fn argument_types(draft: &mut Draft) {
    let mut errors = Vec::new();
    for call in &draft.calls {
        let tensor = draft.tensor(call.tensor);
        if let Some(ty) = tensor.ty.filter(|ty| *ty != call.ty) {
            errors.push(
                Diagnostic::error(
                    codes::CALL_MISMATCH,
                    call.span,
                    format!(
                        "`{}` of `{}` is {}, but `{}` is {ty}",
                        call.param, call.callee, call.ty, tensor.name
                    ),
                    format!("of type {ty}"),
                )
                .with_label(call.declared, "declared here")
                .with_help("tensors are not converted in calls: declare the same type"),
            );
        }
    }
    draft.errors.extend(errors);
}

const NO_BOOL_SUMS: &str =
    "sums of bool elements are whole numbers: use `||=` or `&&=`, or an int tensor";

/// Operators must be defined for the elements that they reduce into.
fn reductions(draft: &mut Draft) {
    let mut errors = Vec::new();
    for stmt in &draft.stmts {
        let (Write::Accumulate(op) | Write::Initialise(op)) = stmt.write else {
            continue;
        };
        let tensor = draft.tensor(stmt.tensor);
        let Some(ty) = tensor.ty else { continue };
        let logical = matches!(op, ReduceOp::And | ReduceOp::Or);
        let sums = matches!(op, ReduceOp::Add | ReduceOp::Mul);
        let ordered = matches!(op, ReduceOp::Min | ReduceOp::Max);
        let help = if logical && ty != ScalarType::Bool {
            "`&&=` and `||=` need bool elements: compare first, as in `x(i) != 0`"
        } else if sums && ty == ScalarType::Bool {
            NO_BOOL_SUMS
        } else if ordered && ty.is_complex() {
            "complex numbers have no order: reduce `abs(...)` instead"
        } else {
            continue;
        };
        errors.push(
            Diagnostic::error(
                codes::OPERAND_TYPE,
                stmt.span,
                format!("this reduction is not defined for elements of type {ty}"),
                format!("`{}` has elements of type {ty}", tensor.name),
            )
            .with_help(help),
        );
    }
    draft.errors.extend(errors);
}

/// The bounds of `where` clauses must be whole numbers.
fn bounds(draft: &mut Draft) {
    let mut typer = Typer {
        draft,
        errors: Vec::new(),
    };
    let clauses = typer.draft.stmts.iter().flat_map(|stmt| &stmt.clauses);
    for clause in clauses {
        typer.whole(&clause.lo);
        typer.whole(&clause.hi);
    }
    let errors = typer.errors;
    draft.errors.extend(errors);
}

fn statement(
    typer: &mut Typer,
    stmt: &DraftStmt,
    ranges: &Ranges,
) -> Result<Statement, Diagnostic> {
    let vars = statement_order(typer.draft, stmt, ranges)?;
    let summed = einsum::place_sums(stmt, &vars, &ranges.uses)?;
    let ty = typer
        .draft
        .tensor(stmt.tensor)
        .ty
        .unwrap_or(ScalarType::F64);
    if stmt.write == Write::Define && ty == ScalarType::Bool && types::accumulates(&summed) {
        return Err(Diagnostic::error(
            codes::OPERAND_TYPE,
            stmt.span,
            format!("the sum of this right side is not defined for elements of type {ty}"),
            format!(
                "`{}` has elements of type {ty}",
                typer.draft.tensor(stmt.tensor).name
            ),
        )
        .with_help(NO_BOOL_SUMS));
    }
    let (reduction, op) = match stmt.write {
        Write::Define => (None, None),
        Write::Accumulate(op) => (Some(op), Some(op)),
        Write::Initialise(op) => (Some(op), None),
        Write::Neutral(_) => (None, None),
    };
    let mut rhs = match stmt.write {
        Write::Neutral(op) => {
            let neutral = op.neutral(ty);
            let own = types::convert_literal(neutral, ty.compute()).unwrap_or(neutral);
            Expr {
                kind: ExprKind::Literal(own),
                ty: ty.compute(),
                span: stmt.span,
            }
        }
        Write::Define | Write::Accumulate(_) | Write::Initialise(_) => {
            typer.right_side(&summed, reduction, ty)
        }
    };
    expand_sizes(typer.draft, &mut rhs);
    Ok(Statement {
        label: stmt.label.clone(),
        tensor: stmt.tensor,
        lhs: stmt.lhs.clone(),
        op,
        rhs,
        vars,
        span: stmt.span,
        text: stmt.text.clone(),
    })
}

fn expand_sizes(draft: &Draft, expr: &mut Expr) {
    expr.walk_mut(&mut |e| {
        if let ExprKind::Size(extent) = &mut e.kind {
            *extent = known(draft, extent);
        }
    });
}

fn variables(typer: &mut Typer, ranges: &Ranges) -> Vec<IndexVar> {
    let draft = typer.draft;
    let mut all = Vec::new();
    for (at, var) in draft.vars.iter().enumerate() {
        let id = VarId::at(at);
        let clauses = draft.stmts.get(var.stmt).map_or(&[][..], |s| &s.clauses);
        let clause = clauses.iter().find(|clause| clause.var == id);
        let range = range(typer, id, clause, ranges);
        all.push(IndexVar {
            name: var.name.clone(),
            span: var.span,
            stmt: var.stmt,
            range,
        });
    }
    all
}

fn range(typer: &mut Typer, var: VarId, clause: Option<&Clause>, ranges: &Ranges) -> Range {
    let found = ranges.of(var);
    let lo = found.and_then(|found| found.lo.known());
    let hi = found.and_then(|found| found.hi.known());
    let mut bound = |known: Option<&SizeExpr>, written: Option<&Expr>| {
        // Also static bounds are checked to be whole numbers.
        let typed = written.map(|written| {
            let mut typed = typer.whole(written);
            expand_sizes(typer.draft, &mut typed);
            typed
        });
        match (known, typed) {
            (Some(value), _) => Bound::Static(value.clone()),
            (None, Some(typed)) => Bound::Dynamic(typed),
            (None, None) => Bound::Static(SizeExpr::Const(0)),
        }
    };
    Range {
        lo: bound(lo, clause.map(|c| &c.lo)),
        hi: bound(hi, clause.map(|c| &c.hi)),
    }
}
