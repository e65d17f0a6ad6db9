//! Checks of what data decide: a gather's subscript, one that is not affine, a data-dependent bound.
//!
//! Range inference proves every affine subscript. What it cannot know is written
//! as index notation once more, `bad ||= X_subscript < 0 || X_subscript >= extent`, under the
//! conditions under which it is read, and lowered like any statement; then the kernel fails if it
//! holds. Checks of inputs go to the checked entry point, those of computed tensors into the body.

use super::implied::{Requirement, Window, is_implied};
use super::{Lower, Lowerer, overflow};
use crate::diagnostic::codes::format::NOT_SUPPORTED;
use crate::format::TensorFormat;
use crate::graph::access::is_checked;
use crate::graph::blocks::read_blocks;
use crate::graph::concretize::concretize_nest;
use crate::graph::diagonals::read_diagonals;
use crate::graph::order::{choose, vars_in, with_range_vars};
use crate::graph::spans;
use crate::graph::terms::{index, reduces, rename_expr};
use crate::graph::{Guard, Loop, Nest, equal};
use crate::loops::build as b;
use crate::loops::ir::{self, ErrorCode};
use crate::plan;
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, ReduceOp, Role, Shared, SizeExpr, Tensor, TensorId,
    UnaryOp, VarId,
};
use crate::scalar::{Literal, ScalarType};
use std::rc::Rc;

/// What a statement requires.
struct Found {
    /// Values of loops that it shares which are its own.
    own: Vec<Guard>,
    all: Vec<Requirement>,
}

/// What holds of the inputs once their checks have passed.
#[derive(Default)]
pub(super) struct Known {
    requirements: Vec<Requirement>,
    /// What these checks set.
    flag: Option<ir::VarId>,
}

impl Lowerer<'_> {
    /// Adds the checks of a statement: to `checks` if they read inputs only, and to what is `known` behind these,
    /// else to `body`.
    pub(super) fn check_subscripts(
        &self,
        stmt: usize,
        known: &mut Known,
        checks: &mut Vec<ir::Stmt>,
        body: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let mut statement = self.graph.function.stmts[stmt].clone();
        // Ranges name the variables of the statement that this one was joined with.
        let renamed = &self.graph.renamed;
        let kept = |var: VarId| renamed.iter().find(|r| r.1 == var).map_or(var, |r| r.0);
        rename_expr(&mut statement.rhs, &kept);
        let nests = self.graph.nests.iter().filter(|nest| nest.stmt == stmt);
        let mut found = Found {
            own: nests.flat_map(|nest| nest.guards.clone()).collect(),
            all: Vec::new(),
        };
        for &var in &statement.vars {
            let range = &self.graph.function.vars[var.index()].range;
            for e in range.reads() {
                let mut e = e.clone();
                rename_expr(&mut e, &kept);
                self.require(&e, &[], &mut found);
            }
        }
        self.require(&statement.rhs, &[], &mut found);
        // Where data decide which elements are written.
        let subscripts = statement.lhs.iter().map(|&var| index(var, &statement.rhs));
        let left = Access {
            tensor: statement.tensor,
            subscripts: subscripts.collect(),
        };
        for (mode, subscript) in left.subscripts.iter().enumerate() {
            self.require_subscript((&left, mode), subscript, &[], &mut found);
        }
        for mut requirement in found.all {
            // The loops of other statements may have more values.
            let bad = within(&found.own, requirement.bad.clone());
            if !equal::same(&bad, &requirement.bad) {
                requirement = Requirement { bad, window: None };
            }
            if let Some(name) = self.reads_slots(&requirement.bad) {
                let message = format!(
                    "what guards a subscript reads `{name}`, which is not stored by its dimensions"
                );
                let error = self.error(NOT_SUPPORTED, message, "not supported yet");
                return Err(error.with_help(format!("store `{name}` as `csr`, or dense")));
            }
            read_blocks(&self.graph.function, &mut requirement.bad);
            read_diagonals(&self.graph.function, &mut requirement.bad);
            let of_inputs = self.reads_inputs_only(&requirement.bad);
            if !of_inputs {
                body.extend(self.check(stmt, &requirement.bad, &mut None)?);
            } else if !is_implied(self.graph, &known.requirements, &requirement) {
                checks.extend(self.check(stmt, &requirement.bad, &mut known.flag)?);
                known.requirements.push(requirement);
            }
        }
        Ok(())
    }

    /// The name of a tensor in slots, or of a result that is put into blocks behind all statements, that an
    /// expression of the program reads.
    fn reads_slots(&self, e: &Expr) -> Option<String> {
        let tensors = &self.graph.function.tensors;
        let read = e.accesses().into_iter().rev();
        let mut read = read.filter_map(|access| tensors.get(access.tensor.index()));
        let found = read.find(|tensor| {
            tensor.format.slots().is_some()
                || (tensor.role == Role::Result && tensor.format.is_rearranged())
        });
        found.map(|tensor| tensor.name.clone())
    }

    /// Fails where the condition holds anywhere. The flag is false until it does, so that one can be set by several
    /// checks in turn.
    fn check(&self, stmt: usize, bad: &Expr, flag: &mut Option<ir::VarId>) -> Lower<Vec<ir::Stmt>> {
        let statement = &self.graph.function.stmts[stmt];
        let needed = with_range_vars(self.graph, vars_in(bad));
        // After `join` a range may name variables of the statement it was joined with.
        let own = statement.vars.iter().filter(|v| needed.contains(v));
        let joined = needed.iter().filter(|v| !statement.vars.contains(v));
        let vars: Vec<VarId> = joined.chain(own).copied().collect();
        let span = statement.span;
        let mut tensors = self.tensors.to_vec();
        tensors.push(Tensor {
            name: "out_of_range".to_string(),
            span,
            role: Role::Temporary,
            ty: ScalarType::Bool,
            dims: vec![],
            format: TensorFormat::dense(0),
            fill: Literal::Bool(false),
        });
        let temp = TensorId::at(tensors.len() - 1);
        let mut out = Vec::new();
        let flag = *flag.get_or_insert_with(|| {
            let var = self.fresh("out_of_range", ScalarType::Bool, true);
            let init = b::boolean(false);
            out.push(b::bind(var, init));
            var
        });
        self.names.set_scalar(temp, flag);
        let order = choose(self.graph, temp_like(self.graph), &[], bad, &vars);
        let nest = Nest {
            stmt,
            tensor: temp,
            lhs: vec![],
            op: Some(ReduceOp::Or),
            rhs: bad.clone(),
            loops: order.into_iter().map(Loop::serial).collect(),
            producers: Vec::new(),
            joined: 0,
            guards: Vec::new(),
            span,
        };
        let tree =
            accumulate_flag(&nest).or_else(|| concretize_nest(self.graph, &nest, &mut tensors));
        if let Some(tree) = tree {
            let plan = plan::tree(self.graph, &tensors, &[&nest], &tree, span)?;
            out.extend(self.checking(tensors).nest(Rc::new(plan))?);
        }
        out.push(ir::Stmt::FailIf {
            cond: b::var(flag, ScalarType::Bool),
            code: ErrorCode::IndexOutOfRange,
        });
        Ok(out)
    }

    /// Collects what the accesses of `e` require where all of `guards` hold, innermost subscripts first.
    fn require(&self, e: &Expr, guards: &[Expr], found: &mut Found) {
        if let ExprKind::Access(access) = &e.kind {
            for (mode, subscript) in access.subscripts.iter().enumerate() {
                self.require(subscript, guards, found);
                self.require_subscript((access, mode), subscript, guards, found);
            }
            return;
        }
        // A sum is there before the condition that it stands under is asked.
        let is_sum = matches!(e.kind, ExprKind::Reduce { .. });
        let guards = if is_sum { &[] } else { guards };
        for (part, condition) in e.parts_under() {
            let own =
                condition.map(|(c, holds)| with(guards, if holds { c.clone() } else { not(c) }));
            self.require(part, own.as_deref().unwrap_or(guards), found);
        }
    }

    fn require_subscript(
        &self,
        (access, mode): (&Access, usize),
        subscript: &Expr,
        guards: &[Expr],
        found: &mut Found,
    ) {
        if !is_checked(self.graph, &self.tensors, subscript) {
            return;
        }
        let dynamic = vars_in(subscript)
            .into_iter()
            .any(|v| self.graph.static_range(v).is_none());
        // What an operand stores in blocks has the extents that the program says.
        let declared = self.graph.function.tensor(access.tensor);
        let extent = size(declared.dims[mode].clone(), subscript);
        // Of a range whose values are tested one by one, its ends tell nothing.
        let tested = |var| guards.iter().any(|guard| vars_in(guard).contains(&var));
        let mut window = None;
        let bad = match (subscript.as_var(), dynamic) {
            (Some(var), true) if !tested(var) => {
                let (bad, range) = self.bad_range(var, &found.own, extent, subscript);
                window = range.filter(|_| guards.is_empty());
                bad
            }
            _ => self.after_overflows(
                &[subscript],
                either(
                    self.below_zero(subscript),
                    (!spans::stays_below(self.graph, subscript, &extent, 1))
                        .then(|| at_least(subscript.clone(), extent)),
                ),
            ),
        };
        let bad = divisors(subscript).into_iter().fold(bad, |bad, by| {
            let none = compare(BinaryOp::Eq, by.clone(), zero(&by));
            either(Some(none), bad)
        });
        let guarded = |bad: Expr| {
            guards
                .iter()
                .rev()
                .cloned()
                .fold(bad, |bad, own| and(own, bad))
        };
        if let Some(bad) = bad.map(guarded)
            && !found.all.iter().any(|r| equal::same(&r.bad, &bad))
        {
            found.all.push(Requirement { bad, window });
        }
    }

    /// A non-empty range that leaves `0..extent`, and which one, if it is more than a single value.
    fn bad_range(
        &self,
        var: VarId,
        own: &[Guard],
        extent: Expr,
        near: &Expr,
    ) -> (Option<Expr>, Option<Window>) {
        let range = &self.graph.var(var).range;
        let guard = own.iter().find(|guard| guard.var == var);
        let lo = guard.and_then(|guard| guard.lo.as_ref());
        let hi = guard.and_then(|guard| guard.hi.as_ref());
        let lo = bound_expr(lo.unwrap_or(&range.lo), near);
        let hi = bound_expr(hi.unwrap_or(&range.hi), near);
        // A single value.
        if let ExprKind::Binary(BinaryOp::Add, first, one) = &hi.kind
            && matches!(one.kind, ExprKind::Literal(Literal::Int(1)))
            && equal::same(first, &lo)
        {
            let past = (!spans::stays_below(self.graph, &lo, &extent, 1))
                .then(|| at_least(lo.clone(), extent));
            let outside = either(self.below_zero(&lo), past);
            return (self.after_overflows(&[&lo], outside), None);
        }
        let past = (!spans::stays_below(self.graph, &hi, &extent, 0))
            .then(|| less(extent.clone(), hi.clone()));
        let outside = either(self.below_zero(&lo), past);
        let bad = outside.map(|outside| and(less(lo.clone(), hi.clone()), outside));
        let bad = self.after_overflows(&[&lo, &hi], bad);
        (bad, Some(Window { lo, hi, extent }))
    }

    /// Refuses numbers that leave 64 bits before they are compared.
    fn after_overflows(&self, numbers: &[&Expr], bad: Option<Expr>) -> Option<Expr> {
        let mut all: Vec<Expr> = Vec::new();
        for number in numbers {
            let own = overflow::overflows(self.graph, number).into_iter();
            let new = own.filter(|bad| !all.iter().any(|known| equal::same(known, bad)));
            all.extend(new.collect::<Vec<_>>());
        }
        all.into_iter().chain(bad).reduce(or)
    }

    /// `e < 0`, unless it never is: C compilers warn of such a test.
    fn below_zero(&self, e: &Expr) -> Option<Expr> {
        let never = spans::is_natural(self.graph, e);
        (!never).then(|| less(e.clone(), zero(e)))
    }

    /// Whether the expression and the ranges of its variables read inputs only.
    fn reads_inputs_only(&self, e: &Expr) -> bool {
        let mut only = true;
        let mut inputs = |e: &Expr| {
            let is_input = |access: &Access| self.tensor(access.tensor).role == Role::Input;
            only &= e.accesses().into_iter().all(is_input);
        };
        inputs(e);
        let mut vars = vars_in(e);
        let mut at = 0;
        while at < vars.len() {
            let range = &self.graph.var(vars[at]).range;
            for bound in range.reads() {
                inputs(bound);
                let outer = vars_in(bound).into_iter();
                let new: Vec<VarId> = outer.filter(|v| !vars.contains(v)).collect();
                vars.extend(new);
            }
            at += 1;
        }
        only
    }
}

/// `forall(..., flag ||= bad)` directly, without a workspace.
fn accumulate_flag(nest: &Nest) -> Option<crate::graph::Stmt> {
    let update = crate::graph::Stmt::Assign(crate::graph::Assign {
        tensor: nest.tensor,
        lhs: vec![],
        op: Some(ReduceOp::Or),
        rhs: nest.rhs.clone(),
    });
    Some(
        nest.loops
            .iter()
            .rev()
            .fold(update, |body, l| crate::graph::Stmt::Forall {
                var: l.var,
                tag: l.tag.clone(),
                body: Box::new(body),
            }),
    )
}

/// Any dense tensor of the graph: the order of a check's loops has no result.
fn temp_like(graph: &crate::graph::Graph) -> TensorId {
    let at = graph.tensors.iter().position(|t| !t.is_sparse());
    TensorId(u32::try_from(at.unwrap_or(0)).unwrap_or(0))
}

fn node(kind: ExprKind, ty: ScalarType, near: &Expr) -> Expr {
    Expr {
        kind,
        ty,
        span: near.span,
    }
}

fn bound_expr(bound: &Bound, near: &Expr) -> Expr {
    match bound {
        Bound::Static(e) => size(e.clone(), near),
        Bound::Dynamic(e) => e.clone(),
    }
}

/// A condition on values of variables that guards leave.
fn within(own: &[Guard], bad: Expr) -> Expr {
    let vars = vars_in(&bad);
    let own = own.iter().filter(|guard| vars.contains(&guard.var));
    own.fold(bad, |mut bad, guard| {
        let var = index(guard.var, &bad);
        if let Some(hi) = &guard.hi {
            bad = and(less(var.clone(), bound_expr(hi, &bad)), bad);
        }
        if let Some(lo) = &guard.lo {
            bad = and(not(&less(var, bound_expr(lo, &bad))), bad);
        }
        bad
    })
}

fn size(e: SizeExpr, near: &Expr) -> Expr {
    node(ExprKind::Size(e), ScalarType::I64, near)
}

fn zero(near: &Expr) -> Expr {
    node(ExprKind::Literal(Literal::ZERO), ScalarType::I64, near)
}

fn compare(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let near = a.clone();
    node(
        ExprKind::Binary(op, Shared::new(a), Shared::new(b)),
        ScalarType::Bool,
        &near,
    )
}

pub(super) fn less(a: Expr, b: Expr) -> Expr {
    compare(BinaryOp::Lt, a, b)
}

fn at_least(a: Expr, b: Expr) -> Expr {
    compare(BinaryOp::Ge, a, b)
}

/// One more condition under which something is read, unless it has a sum, which is known too late.
fn with(guards: &[Expr], guard: Expr) -> Vec<Expr> {
    let known = reduces(&guard).is_empty();
    let new = known.then_some(guard);
    guards.iter().cloned().chain(new).collect()
}

pub(super) fn not(e: &Expr) -> Expr {
    let kind = ExprKind::Unary(UnaryOp::Not, Shared::new(e.clone()));
    node(kind, ScalarType::Bool, e)
}

/// What a subscript divides by, where the program does not say the number.
fn divisors(e: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    e.walk(&mut |node| {
        if let ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, _, by) = &node.kind
            && !matches!(by.kind, ExprKind::Literal(Literal::Int(n)) if n != 0)
        {
            found.push(Expr::clone(by));
        }
    });
    found
}

fn or(a: Expr, b: Expr) -> Expr {
    compare(BinaryOp::Or, a, b)
}

fn either(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(or(a, b)),
        (one, other) => one.or(other),
    }
}

pub(super) fn and(a: Expr, b: Expr) -> Expr {
    compare(BinaryOp::And, a, b)
}
