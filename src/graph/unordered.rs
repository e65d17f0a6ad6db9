//! Operands of which a level stores its coordinates in any order.
//!
//! Loops walk such a level as it is if they ask for nothing but what is stored there: no other operand
//! is merged with it, no part of its coordinates is cut out, and no result is appended in their
//! order. Where a coordinate may stand several times, too, apart from one another, each time only
//! adds to what was there. All other statements read a copy that is in order.

use super::Graph;
use super::build::{Piece, lhs_first};
use super::distance::can_walk;
use super::equal::same_access;
use super::fold::as_literal;
use super::order::{appended_vars, choose, is_concordant, sparse_accesses, vars_in};
use super::terms::{reads, reduces, replace, root_reduction};
use crate::diagnostic::Diagnostic;
use crate::format::Level;
use crate::program::ir::{Access, Expr, ExprKind, ReduceOp, Statement, VarId};

impl Graph {
    /// The variables whose values a result must get in ascending order: those of its levels that
    /// are in order, down to the last one that appends. `None` if it collects whatever comes.
    pub(super) fn ascending(&self, piece: &Piece) -> Option<Vec<VarId>> {
        if self.collected.contains(&piece.tensor) {
            return None;
        }
        let format = &self.tensor(piece.tensor).format;
        let appended = appended_vars(format, &piece.lhs);
        let ordered = appended.into_iter().zip(&format.levels);
        let ordered = ordered.filter(|(_, level)| level.ordered);
        Some(ordered.map(|(var, _)| var).collect())
    }

    /// Whether loops in this order walk all levels of an operand as they are stored, for a result that
    /// must get the values of `ascending` in order (see [`Graph::ascending`]).
    pub(super) fn walks(
        &self,
        access: &Access,
        order: &[VarId],
        piece: &Piece,
        ascending: Option<&[VarId]>,
    ) -> bool {
        is_concordant(self, access, order) && self.is_in_any_order(access, order, piece, ascending)
    }

    /// Whether it does not matter to the statement in which order an operand's levels store their
    /// coordinates, where they are in none and loops in this order come to them.
    pub(super) fn is_in_any_order(
        &self,
        access: &Access,
        order: &[VarId],
        piece: &Piece,
        ascending: Option<&[VarId]>,
    ) -> bool {
        let tensor = self.tensor(access.tensor);
        let mut levels = tensor.format.levels.iter().zip(&tensor.format.modes);
        levels.all(|(level, &mode)| {
            let var = access.subscripts.get(mode).and_then(Expr::as_var);
            level.ordered
                || (level.is_asked()
                    && var.is_none_or(|var| self.is_told(access, (var, order), piece)))
                || var.is_some_and(|var| {
                    !ascending.is_some_and(|vars| vars.contains(&var))
                        && (level.unique || self.only_adds(piece, var, ascending.is_none()))
                        && self.covers(var, &tensor.dims[mode])
                        && self.is_alone(access, piece, var)
                        && self.is_nothing_without(std::slice::from_ref(access), piece, var)
                })
        })
    }

    /// Whether what is met at a value of `var` is added to what was met there before.
    fn only_adds(&self, piece: &Piece, var: VarId, collects: bool) -> bool {
        let sums = reduces(&piece.rhs);
        if !piece.root_reduction() && !sums.is_empty() {
            return false;
        }
        let sets = piece.op.is_none() && piece.lhs.contains(&var);
        collects || (!sets && !self.tensor(piece.tensor).is_appended())
    }

    /// Whether nothing else tells the values of `var`: no other operand stores some of them, and no
    /// other dimension of the access has them.
    pub(super) fn is_alone(&self, access: &Access, piece: &Piece, var: VarId) -> bool {
        let has = |subscript: &Expr| vars_in(subscript).contains(&var);
        let storing = sparse_accesses(self, &piece.rhs);
        let storing = storing
            .iter()
            .filter(|other| self.stores(other, &has, Level::is_walked));
        storing.count() == 1 && access.subscripts.iter().filter(|s| has(s)).count() == 1
    }

    /// Whether a level of the access for which `of` holds stores a subscript like that.
    fn stores(
        &self,
        access: &Access,
        subscript: &dyn Fn(&Expr) -> bool,
        of: impl Fn(Level) -> bool,
    ) -> bool {
        let format = &self.tensor(access.tensor).format;
        let mut levels = format.levels.iter().zip(&format.modes);
        levels.any(|(&level, &mode)| of(level) && subscript(&access.subscripts[mode]))
    }

    /// Whether the values of `var` are told without the operand, which is asked for each of them:
    /// others, all in order, store all at which something is done where loops in this order can walk
    /// it, or something is done at every value, whatever of all that is sparse is absent.
    fn is_told(&self, access: &Access, (var, order): (VarId, &[VarId]), piece: &Piece) -> bool {
        let sparse = sparse_accesses(self, &piece.rhs);
        let mut others = sparse.clone();
        others.retain(|other| !same_access(other, access));
        let ordered = |other: &Access| {
            let levels = &self.tensor(other.tensor).format.levels;
            levels.iter().all(|level| level.ordered)
        };
        if !others.iter().all(ordered) {
            return false;
        }
        others.retain(|other| self.tells(other, var, order));
        (!others.is_empty() && self.is_nothing_without(&others, piece, var))
            || !self.is_nothing_without(&sparse, piece, var)
    }

    /// Whether the loop over `var`, of loops in this order, walks a level of the access: what is outside
    /// of the level is known there.
    fn tells(&self, access: &Access, var: VarId, order: &[VarId]) -> bool {
        let format = &self.tensor(access.tensor).format;
        let at = |var: VarId| order.iter().position(|&v| v == var);
        let outside = |&mode: &usize| {
            let vars = vars_in(&access.subscripts[mode]);
            vars.iter().all(|&outer| at(outer) < at(var))
        };
        let added = |&mode: &usize| {
            let mut others = vars_in(&access.subscripts[mode]).into_iter();
            others.all(|other| other == var || at(other) < at(var))
        };
        let mut modes = format.modes.iter().zip(&format.levels).enumerate();
        modes.any(|(n, (&mode, level))| {
            level.is_walked()
                && can_walk(*level, &access.subscripts[mode], var)
                && added(&mode)
                && format.modes[..n].iter().all(outside)
        })
    }

    /// Whether nothing is done at values of `var` at which the operands are absent.
    fn is_nothing_without(&self, absent: &[Access], piece: &Piece, var: VarId) -> bool {
        let mut sums = Vec::new();
        piece.rhs.walk(&mut |node| {
            if let ExprKind::Reduce { op, vars, body } = &node.kind {
                sums.push((*op, vars.contains(&var), (**body).clone()));
            }
        });
        let adds_nothing = |(op, _, body): &(ReduceOp, bool, Expr)| {
            let rest = self.without(body, absent);
            as_literal(&rest).is_some_and(|value| value.same_value(op.neutral(body.ty.compute())))
        };
        if sums.iter().any(|(_, own, _)| *own) {
            return sums.iter().filter(|(_, own, _)| *own).all(adds_nothing);
        }
        let mut rhs = piece.rhs.clone();
        for sum in reduces(&piece.rhs) {
            let ExprKind::Reduce { op, body, .. } = &sum.kind else {
                continue;
            };
            if adds_nothing(&(*op, true, (**body).clone())) {
                let neutral = ExprKind::Literal(op.neutral(sum.ty.compute()));
                let left = Expr {
                    kind: neutral,
                    ..sum.clone()
                };
                replace(&mut rhs, &sum, &left);
            }
        }
        let nothing = match piece.op {
            Some(op) => op.neutral(rhs.ty.compute()),
            None => self.tensor(piece.tensor).fill,
        };
        let rest = self.without(&rhs, absent);
        as_literal(&rest).is_some_and(|value| value.same_value(nothing))
    }

    /// Gives loops to a statement whose operands are stored in no order that it can do with. Gives it
    /// back if there are none.
    pub(super) fn in_order(
        &mut self,
        piece: Piece,
        vars: &[VarId],
        stmt: &Statement,
    ) -> Result<Option<Piece>, Diagnostic> {
        let order = match piece.root_reduction() || reduces(&piece.rhs).is_empty() {
            true => choose(self, piece.tensor, &piece.lhs, &piece.rhs, vars),
            false => lhs_first(self, &piece, vars),
        };
        // What is in no order and cannot be searched has to be walked.
        let stays = |graph: &Graph, access: &Access, piece: &Piece| {
            let levels = &graph.tensor(access.tensor).format.levels;
            (levels.iter().all(|level| level.is_searchable())
                || is_concordant(graph, access, &order))
                && graph.is_in_any_order(access, &order, piece, graph.ascending(piece).as_deref())
        };
        let accesses = sparse_accesses(self, &piece.rhs);
        if accesses.iter().all(|a| stays(self, a, &piece)) {
            return Ok(Some(piece));
        }
        if let Some(adding) = self.adding(&piece)
            && accesses.iter().all(|a| stays(self, a, &adding[1]))
        {
            for piece in adding {
                self.add_piece(piece, stmt)?;
            }
            return Ok(None);
        }
        let rhs = self.brought_into(&order, &piece, stmt, &stays)?;
        Ok(Some(Piece { rhs, ..piece }))
    }

    /// A sum into a dense result as one statement that sets all of it to what is neutral, and one
    /// that adds each term.
    fn adding(&self, piece: &Piece) -> Option<[Piece; 2]> {
        let result = self.tensor(piece.tensor);
        let (op, ..) = root_reduction(&piece.rhs, piece.op)?;
        let rounds = result.ty.compute() != result.ty || result.ty.compute() != piece.rhs.ty;
        if piece.op.is_some()
            || rounds
            || result.is_appended()
            || self.collected.contains(&piece.tensor)
            || reads(&piece.rhs, piece.tensor)
            || piece.lhs.iter().any(|&v| self.is_told_by_sum(piece, v))
        {
            return None;
        }
        let neutral = Expr {
            kind: ExprKind::Literal(op.neutral(piece.rhs.ty.compute())),
            ..piece.rhs.clone()
        };
        Some([
            Piece {
                rhs: neutral,
                ..piece.clone()
            },
            Piece {
                op: Some(op),
                ..piece.clone()
            },
        ])
    }
}
