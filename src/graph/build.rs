//! A function into its first graph: one nest a statement, or several where one
//! order of loops cannot serve all of its terms.
//!
//! `y(i) = b(i) - A(i,j) * x(j)` with A stored by columns must run j outside i for
//! the product and has no j for b: it becomes `y(i) = b(i)` and `y(i) += -(A(i,j) * x(j))`.
//! Where that is not possible (a sum inside a function, a half-width result that
//! would be rounded at each step) the sum is computed into a temporary first.

use super::order::{self, choose, is_concordant, sparse_accesses};
use super::rearranged::Rearranged;
use super::terms::{binary, flatten, push_factors, reads, reduces, root_reduction};
use super::versions::Versions;
use super::{Graph, Loop, Nest};
use crate::diagnostic::codes::{lower as codes, performance};
use crate::diagnostic::{Diagnosed, Diagnostic};
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, Function, ReduceOp, SizeExpr, Statement, TensorId,
    VarId,
};
use crate::scalar::ScalarType;
use std::rc::Rc;

impl Graph {
    /// The graph of a function before any schedule.
    ///
    /// # Errors
    /// A statement that no order of loops computes.
    pub fn build(function: &Rc<Function>) -> Diagnosed<Graph> {
        Graph::built(function, Vec::new())
    }

    /// The same without workspaces for the rows of what the statements `whole` of the function sum: their loops may
    /// stand in any order, and come to a result's elements in none.
    ///
    /// # Errors
    /// A statement that no order of loops computes.
    pub fn build_whole(function: &Rc<Function>, whole: &[usize]) -> Diagnosed<Graph> {
        Graph::built(function, whole.to_vec())
    }

    fn built(function: &Rc<Function>, whole: Vec<usize>) -> Diagnosed<Graph> {
        let rearranged = super::blocks::as_stored(function);
        let is_rearranged = rearranged.is_some();
        let (stored, results) =
            rearranged.unwrap_or_else(|| (Rc::clone(function), Rearranged::default()));
        let stored = &stored;
        let mut graph = Graph {
            function: Rc::clone(function),
            whole,
            arrays: false,
            tensors: stored.tensors.clone(),
            vars: stored.vars.clone(),
            provenance: super::Provenance::default(),
            nests: Vec::new(),
            collected: Vec::new(),
            hashed: Vec::new(),
            renewed: Vec::new(),
            copies: Vec::new(),
            points: super::points::Points::default(),
            workspaces: Vec::new(),
            assembled: Vec::new(),
            starts: Vec::new(),
            follows_appended: true,
            spaces: Vec::new(),
            renamed: Vec::new(),
            script: Vec::new(),
            remarks: Vec::new(),
        };
        let stored = &graph.with_points(stored);
        let mut errors = Vec::new();
        let mut versions = Versions::given(&mut graph, stored);
        let mut slots = super::slots::Slots::default();
        let mut add = |graph: &mut Graph, (piece, stmt): (Piece, Statement)| {
            let added = slots.read_in(graph, piece, stmt);
            let added = added.and_then(|(piece, stmt)| graph.add_piece(piece, &stmt));
            errors.extend(added.err());
        };
        for at in 0..stored.stmts.len() {
            for computed in versions.next(&mut graph, stored, at) {
                for own in results.written(&mut graph, computed) {
                    add(&mut graph, own);
                }
            }
        }
        for own in results.rest(&mut graph, stored) {
            add(&mut graph, own);
        }
        if is_rearranged {
            graph.take_blocks_apart();
        }
        if errors.is_empty() {
            Ok(graph)
        } else {
            Err(errors)
        }
    }

    pub(super) fn add_piece(&mut self, piece: Piece, stmt: &Statement) -> Result<(), Diagnostic> {
        let reduces = reduces(&piece.rhs);
        let root = piece.root_reduction();
        let vars = piece.vars(self, stmt);
        let sparse_result = self.tensor(piece.tensor).is_appended();
        let narrow = self.tensor(piece.tensor).ty.compute() != self.tensor(piece.tensor).ty;

        if sparse_result
            && !self.collected.contains(&piece.tensor)
            && !self.is_in_order(&piece, &vars)
        {
            return self.collect(&piece, &vars, stmt);
        }
        let Some(piece) = self.in_order(piece, &vars, stmt)? else {
            return Ok(());
        };
        let free = choose(self, piece.tensor, &piece.lhs, &piece.rhs, &vars);
        if root || reduces.is_empty() {
            if free.len() < vars.len() {
                return Err(not_orderable(self, &piece, stmt));
            }
            let scatters = piece.accumulates_in_place(&free);
            let accesses = sparse_accesses(self, &piece.rhs);
            let discordant = accesses.iter().find(|a| !is_concordant(self, a, &free));
            // What the sum reads must not change while it accumulates.
            let own = reads(&piece.rhs, piece.tensor);
            if scatters && (narrow || own) {
                return self.through_temporary(&piece, stmt);
            }
            if let Some(access) = discordant {
                // A half-width element would be rounded after each term.
                let terms = self.separable(&piece).filter(|terms| terms.len() > 1);
                if let (Some(terms), false) = (terms, narrow) {
                    return self.add_terms(&piece, terms, stmt);
                }
                let remark = search_remark(self, access, stmt);
                self.remarks.push(remark);
            }
            self.push_nest(piece, &free, stmt);
            return Ok(());
        }

        if piece.lhs.iter().any(|&v| self.is_told_by_sum(&piece, v)) {
            return self.through_wide(&piece, stmt);
        }
        // Several sums, or a sum inside an expression: all left loops outside.
        let order = lhs_first(self, &piece, &vars);
        // Diagonals are followed by loops that tell row and column at once: no sum is inside of these.
        let concordant = order.len() == vars.len()
            && sparse_accesses(self, &piece.rhs)
                .iter()
                .all(|a| is_concordant(self, a, &order) && !self.is_on_diagonals(a));
        if concordant {
            self.push_nest(piece, &order, stmt);
            return Ok(());
        }
        if let (Some(terms), false) = (self.separable(&piece), narrow) {
            return self.add_terms(&piece, terms, stmt);
        }
        self.through_temporary(&piece, stmt)
    }

    pub(super) fn push_nest(&mut self, mut piece: Piece, order: &[VarId], stmt: &Statement) {
        self.points.turn_to(&mut piece.rhs, order);
        self.nests.push(Nest {
            stmt: piece.stmt,
            tensor: piece.tensor,
            lhs: piece.lhs,
            op: piece.op,
            rhs: piece.rhs,
            loops: order.iter().map(|&v| Loop::serial(v)).collect(),
            producers: Vec::new(),
            joined: 0,
            guards: Vec::new(),
            span: stmt.span,
        });
    }

    /// The terms of a sum that can be added to a dense result one after another:
    /// first those without a reduction (as one), then each reduction. The first one
    /// is written with the piece's own operator, the others are added.
    fn separable(&self, piece: &Piece) -> Option<Vec<Expr>> {
        let additive = matches!(piece.op, None | Some(ReduceOp::Add));
        if !additive || self.tensor(piece.tensor).is_appended() {
            return None;
        }
        let ty = piece.rhs.ty;
        if ty == ScalarType::Bool || self.tensor(piece.tensor).ty.compute() != ty {
            return None;
        }
        let mut terms = Vec::new();
        flatten(&piece.rhs, false, &mut terms);
        let mut plain: Option<Expr> = None;
        let mut sums = Vec::new();
        for term in terms {
            if reduces(&term).is_empty() {
                let sparse = !sparse_accesses(self, &term).is_empty();
                if sparse && plain.is_some() {
                    sums.push(term);
                } else {
                    plain = Some(match plain {
                        None => term,
                        Some(sum) => binary(BinaryOp::Add, sum, term),
                    });
                }
            } else {
                let sum = push_factors(&term)?;
                if reads(&sum, piece.tensor) {
                    return None;
                }
                sums.push(sum);
            }
        }
        if sums.iter().any(|sum| reads(sum, piece.tensor)) {
            return None;
        }
        let mut all: Vec<Expr> = plain.into_iter().collect();
        all.extend(sums);
        (all.len() > 1 || !piece.root_reduction()).then_some(all)
    }

    fn add_terms(
        &mut self,
        piece: &Piece,
        terms: Vec<Expr>,
        stmt: &Statement,
    ) -> Result<(), Diagnostic> {
        for (at, rhs) in terms.into_iter().enumerate() {
            let op = if at == 0 {
                piece.op
            } else {
                Some(ReduceOp::Add)
            };
            let term = Piece {
                op,
                rhs,
                ..piece.clone()
            };
            self.add_piece(term, stmt)?;
        }
        Ok(())
    }

    /// Whether summed variables decide the values of one of the left side.
    pub(super) fn is_told_by_sum(&self, piece: &Piece, var: VarId) -> bool {
        let used = order::range_vars(self, var);
        used.iter().any(|v| !piece.lhs.contains(v))
    }

    /// The variables of the left side that decide a sum: what a range reads does so, too.
    pub(super) fn used_by(&self, sum: &Expr, lhs: &[VarId]) -> Vec<VarId> {
        let mut inside = order::vars_in(sum);
        if let ExprKind::Reduce { vars, .. } = &sum.kind {
            inside.extend(vars);
        }
        let inside = order::with_range_vars(self, inside);
        let left = lhs.iter().copied();
        left.filter(|v| inside.contains(v)).collect()
    }
}

/// What is still to be given loops.
#[derive(Clone)]
pub(super) struct Piece {
    pub stmt: usize,
    pub tensor: TensorId,
    pub lhs: Vec<VarId>,
    pub op: Option<ReduceOp>,
    pub rhs: Expr,
}

impl Piece {
    /// The right side is one reduction that the result itself can accumulate.
    pub(super) fn root_reduction(&self) -> bool {
        root_reduction(&self.rhs, self.op).is_some()
    }

    pub(super) fn vars(&self, graph: &Graph, stmt: &Statement) -> Vec<VarId> {
        let mut needed = self.lhs.clone();
        self.rhs.walk(&mut |node| {
            needed.extend(node.as_var());
            if let ExprKind::Reduce { vars, .. } = &node.kind {
                needed.extend(vars);
            }
        });
        let mut outer: Vec<VarId> = needed
            .iter()
            .flat_map(|&v| order::range_vars(graph, v))
            .collect();
        needed.append(&mut outer);
        stmt.vars
            .iter()
            .copied()
            .filter(|v| needed.contains(v))
            .collect()
    }

    /// With loops in this order, the result is written more than once.
    fn accumulates_in_place(&self, order: &[VarId]) -> bool {
        let last = order.iter().rposition(|v| self.lhs.contains(v));
        last.is_some_and(|last| order[..last].iter().any(|v| !self.lhs.contains(v)))
    }
}

pub(super) fn lhs_first(graph: &Graph, piece: &Piece, vars: &[VarId]) -> Vec<VarId> {
    let (left, right): (Vec<VarId>, Vec<VarId>) =
        vars.iter().copied().partition(|v| piece.lhs.contains(v));
    let mut order = choose(graph, piece.tensor, &piece.lhs, &piece.rhs, &left);
    order.extend(choose(graph, piece.tensor, &piece.lhs, &piece.rhs, &right));
    order
}

pub(super) fn not_orderable(graph: &Graph, piece: &Piece, stmt: &Statement) -> Diagnostic {
    let tensor = graph.tensor(piece.tensor);
    let result = &tensor.name;
    let (whose, help) = match tensor.is_sparse() {
        true => (
            "the result's levels",
            format!("store `{result}` dense, or with its levels in another order"),
        ),
        false => (
            "the operands' levels",
            "store the operands with their levels in another order, or dense".to_string(),
        ),
    };
    Diagnostic::error(
        codes::ORDER,
        stmt.span,
        format!("no order of loops computes `{result}`"),
        format!("{whose} and the data-dependent ranges contradict each other"),
    )
    .with_help(help)
}

pub(super) fn search_remark(graph: &Graph, access: &Access, stmt: &Statement) -> Diagnostic {
    let name = &graph.tensor(access.tensor).name;
    Diagnostic::performance(
        performance::SEARCH,
        stmt.span,
        format!("`{name}` is searched inside the loops"),
        "no order of loops walks the levels of all operands",
    )
    .with_help(format!(
        "store `{name}` with its levels in the order of the loops"
    ))
}

impl Graph {
    /// What the extent of a variable of the program does not exceed, if constants say so.
    #[must_use]
    pub fn most_extent(&self, var: VarId) -> Option<i64> {
        let (lo, hi) = self.static_range(var)?;
        let function = &self.function;
        function.at_most(hi)?.checked_sub(function.constant(lo)?)
    }

    /// Whether a variable of the program runs over a whole dimension of this size.
    #[must_use]
    pub fn covers(&self, var: VarId, dim: &SizeExpr) -> bool {
        let range = self.static_range(var);
        range.is_some_and(|(lo, hi)| *lo == SizeExpr::Const(0) && hi == dim)
    }

    /// Whether each of a tensor's modes has a variable that runs over all of it.
    #[must_use]
    pub fn covers_all(&self, vars: &[VarId], dims: &[SizeExpr]) -> bool {
        let mut modes = vars.iter().zip(dims);
        modes.all(|(&var, dim)| self.covers(var, dim))
    }

    /// The extent of a variable of the program, if it is static.
    #[must_use]
    pub fn static_range(&self, var: VarId) -> Option<(&SizeExpr, &SizeExpr)> {
        let range = &self.var(var).range;
        if let (Bound::Static(lo), Bound::Static(hi)) = (&range.lo, &range.hi) {
            Some((lo, hi))
        } else {
            None
        }
    }
}
