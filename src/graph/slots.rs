//! Operands that are stored in slots.
//!
//! Such an operand is a tensor with one mode more: what the program calls A(i,j) is the sum of all
//! elements (s,i,j) of a matrix that is stored as `ell`, of which one is A(i,j) and the others are zero.
//! Where A is a factor of a term that is added to others, the term is summed over slots, too, and its loops
//! walk what is stored as it stands. All else reads a copy by rows, in order.

use super::blocks::subscripts_as_stored;
use super::build::Piece;
use super::order::{sparse_accesses, vars_in};
use super::terms::{index, reduces};
use super::{Graph, Nest};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{format as codes, performance};
use crate::format::{Level, Part, TensorFormat};
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, IndexVar, Range, ReduceOp, Role, Shared, SizeExpr,
    Statement, Tensor, TensorId, UnaryOp, VarId,
};
use crate::scalar::ScalarType;
use std::rc::Rc;

/// The copies by rows that were made of operands in slots.
#[derive(Default)]
pub(super) struct Slots(Vec<(TensorId, TensorId)>);

impl Slots {
    /// The statement as it reads operands that are stored in slots.
    ///
    /// # Errors
    /// Subscripts or bounds read one.
    pub(super) fn read_in(
        &mut self,
        graph: &mut Graph,
        mut piece: Piece,
        mut stmt: Statement,
    ) -> Result<(Piece, Statement), Diagnostic> {
        graph.refuse_nested(&piece.rhs, &stmt)?;
        if graph.function.slots.is_empty() {
            return Ok((piece, stmt));
        }
        if matches!(piece.op, None | Some(ReduceOp::Add)) {
            let before = graph.vars.len();
            let mut rhs = piece.rhs.clone();
            graph.sum_slots(&mut rhs, &piece, &stmt);
            piece.rhs = rhs;
            let made = before..graph.vars.len();
            let made = made.map(VarId::at);
            stmt.vars.extend(made);
        }
        let mut left: Vec<TensorId> = Vec::new();
        for access in piece.rhs.accesses() {
            if graph.is_in_slots(access) && !left.contains(&access.tensor) {
                left.push(access.tensor);
            }
        }
        for tensor in left {
            let known = self.0.iter().find(|(of, _)| *of == tensor);
            let copy = match known {
                Some(&(_, copy)) => copy,
                None => graph.copy_by_rows(tensor, &piece, &stmt)?,
            };
            if known.is_none() {
                self.0.push((tensor, copy));
            }
            piece.rhs.walk_mut(&mut |node| {
                if let ExprKind::Access(access) = &mut node.kind
                    && access.tensor == tensor
                    && graph.is_in_slots(access)
                {
                    access.tensor = copy;
                }
            });
        }
        Ok((piece, stmt))
    }
}

impl Graph {
    /// Whether an access is to a tensor in slots, and does not say in which one.
    pub(super) fn is_in_slots(&self, access: &Access) -> bool {
        let declared = self.function.tensors.get(access.tensor.index());
        declared.is_some_and(|t| {
            t.format.slots().is_some() && access.subscripts.len() == t.format.dimensions()
        })
    }

    /// Whether a variable of a nest numbers the slots of one of its operands.
    #[must_use]
    pub fn is_slot(&self, nest: &Nest, var: VarId) -> bool {
        let accesses = sparse_accesses(self, &nest.rhs);
        accesses
            .iter()
            .any(|access| self.numbers_slots(access, var))
    }

    /// Whether the variable numbers the slots of what the access reads.
    #[must_use]
    pub fn numbers_slots(&self, access: &Access, var: VarId) -> bool {
        let declared = self.function.tensors.get(access.tensor.index());
        let Some(format) = declared.map(|t| &t.format) else {
            return false;
        };
        let slots = format.slots().map(|level| format.as_stored().modes[level]);
        let number = slots.and_then(|mode| access.subscripts.get(mode));
        number.is_some_and(|number| number.as_var() == Some(var))
    }

    fn refuse_nested(&self, rhs: &Expr, stmt: &Statement) -> Result<(), Diagnostic> {
        let is_apart = |access: &Access| self.is_in_slots(access) || self.is_on_diagonals(access);
        let mut nested = None;
        let mut look = |e: &Expr| {
            e.walk(&mut |node| {
                if let ExprKind::Access(access) = &node.kind
                    && is_apart(access)
                {
                    nested = Some((self.tensor(access.tensor).name.clone(), node.span));
                }
            });
        };
        for access in rhs.accesses() {
            access.subscripts.iter().for_each(&mut look);
        }
        for &var in &stmt.vars {
            for e in self.var(var).range.reads() {
                look(e);
            }
        }
        let Some((name, span)) = nested else {
            return Ok(());
        };
        let message = "subscripts and bounds that read a tensor in slots or by diagonals are not supported yet";
        let error = Diagnostic::error(codes::NOT_SUPPORTED, span, message, "read here");
        Err(error.with_help(format!("store `{name}` as `csr`, or dense")))
    }

    /// Sums terms over the slots of their factors. `e` is a term that is added to others, or a sum of such.
    fn sum_slots(&mut self, e: &mut Expr, piece: &Piece, stmt: &Statement) {
        if let ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) = &mut e.kind {
            self.sum_slots(a, piece, stmt);
            self.sum_slots(b, piece, stmt);
        } else if let ExprKind::Unary(UnaryOp::Neg, a) = &mut e.kind {
            self.sum_slots(a, piece, stmt);
        } else if let ExprKind::Reduce { op, vars, body } = &mut e.kind {
            // A sum of several terms would have sums inside: it reads a copy.
            if *op == ReduceOp::Add {
                let slots = self.slots_of_factors(body, piece, stmt);
                vars.extend(slots);
            }
        } else {
            let slots = self.slots_of_factors(e, piece, stmt);
            if !slots.is_empty() {
                *e = sum(ReduceOp::Add, slots, e.clone());
            }
        }
    }

    /// Names the slot of each factor of a product that is stored in slots; the variables of these. Factors
    /// of a sum are left as they are: the sum would be done again for each slot.
    fn slots_of_factors(&mut self, e: &mut Expr, piece: &Piece, stmt: &Statement) -> Vec<VarId> {
        let sums = !reduces(e).is_empty();
        self.slots_in(e, sums, piece, stmt)
    }

    fn slots_in(
        &mut self,
        e: &mut Expr,
        sums: bool,
        piece: &Piece,
        stmt: &Statement,
    ) -> Vec<VarId> {
        let whole = e.ty.is_integer();
        let adds = e.ty != ScalarType::Bool;
        if let ExprKind::Binary(BinaryOp::Mul, a, b) = &mut e.kind {
            let mut slots = self.slots_in(a, sums, piece, stmt);
            slots.extend(self.slots_in(b, sums, piece, stmt));
            slots
        } else if let ExprKind::Unary(UnaryOp::Neg, a) = &mut e.kind {
            self.slots_in(a, sums, piece, stmt)
        } else if let ExprKind::Binary(BinaryOp::Div, a, _) = &mut e.kind
            && !whole
        {
            self.slots_in(a, sums, piece, stmt)
        } else if let ExprKind::Cast(a) = &mut e.kind
            && adds
        {
            // Of what is added up all but one is zero, before and after.
            self.slots_in(a, sums, piece, stmt)
        } else if let ExprKind::Reduce { .. } = &e.kind {
            self.sum_slots(e, piece, stmt);
            Vec::new()
        } else if let ExprKind::Access(access) = &mut e.kind
            && !sums
            && self.is_in_slots(access)
            && self.walks_slots(access, piece)
        {
            vec![self.name_slot(access, (stmt, piece.stmt))]
        } else {
            Vec::new()
        }
    }

    /// Whether loops can take the coordinates of the singletons as they come: each is a variable that no other
    /// operand is walked by.
    fn walks_slots(&self, access: &Access, piece: &Piece) -> bool {
        let format = &self.function.tensor(access.tensor).format;
        let singles = format.levels.iter().zip(&format.modes);
        let mut singles = singles.filter(|(level, _)| level.is_branchless());
        singles.all(|(_, &mode)| {
            let Some(var) = access.subscripts[mode].as_var() else {
                return false;
            };
            let has = |subscript: &Expr| vars_in(subscript).contains(&var);
            let stores = |other: &Access| {
                // What is in slots itself is walked by all that it has.
                let levels = &self.tensor(other.tensor).format;
                let mut own = levels.levels.iter().zip(&levels.modes);
                match self.is_in_slots(other) {
                    true => other.subscripts.iter().any(has),
                    false => {
                        own.any(|(level, &mode)| level.is_walked() && has(&other.subscripts[mode]))
                    }
                }
            };
            let read = piece.rhs.accesses().into_iter();
            let storing = read.filter(|other| stores(other)).count();
            storing == 1 && access.subscripts.iter().filter(|s| has(s)).count() == 1
        })
    }

    /// Adds the slot to the subscripts of an access.
    fn name_slot(&mut self, access: &mut Access, (stmt, at): (&Statement, usize)) -> VarId {
        let function = Rc::clone(&self.function);
        let format = &function.tensor(access.tensor).format;
        let stored = self.tensor(access.tensor);
        let own = format.as_stored();
        let extent = format
            .slots()
            .map(|level| stored.dims[own.modes[level]].clone());
        let slot = self.add_var(IndexVar {
            name: self.fresh_name("slot"),
            span: stmt.span,
            stmt: at,
            range: Range {
                lo: Bound::Static(SizeExpr::Const(0)),
                hi: Bound::Static(extent.unwrap_or(SizeExpr::Const(0))),
            },
        });
        let near = &access.subscripts[0];
        let number = index(slot, near);
        let declared = (format, function.tensor(access.tensor).dims.as_slice());
        access.subscripts = subscripts_as_stored(declared, &access.subscripts, Some(&number));
        slot
    }

    /// A copy of an operand in slots by its rows, the elements of which are in order.
    fn copy_by_rows(
        &mut self,
        of: TensorId,
        piece: &Piece,
        stmt: &Statement,
    ) -> Result<TensorId, Diagnostic> {
        let declared = self.function.tensor(of).clone();
        let remark = Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            format!("`{}` is brought into rows first", declared.name),
            "the elements of a row stand in slots, which are not merged or searched",
        );
        let help = format!("store `{}` by its rows, as `csr` does", declared.name);
        self.remarks.push(remark.with_help(help));
        let ty = declared.ty.compute();
        let lhs: Vec<VarId> = (0..declared.order())
            .map(|mode| self.whole_var("i", &declared.dims[mode], (stmt.span, piece.stmt)))
            .collect();
        let mut access = Access {
            tensor: of,
            subscripts: lhs.iter().map(|&var| index(var, &piece.rhs)).collect(),
        };
        let slot = self.name_slot(&mut access, (stmt, piece.stmt));
        let element = Expr {
            kind: ExprKind::Access(access),
            ty,
            span: piece.rhs.span,
        };
        let op = match ty == ScalarType::Bool {
            true => ReduceOp::Or,
            false => ReduceOp::Add,
        };
        let temp = self.add_tensor(Tensor {
            name: self.fresh_name(&format!("{}_rows", declared.name)),
            role: Role::Temporary,
            ty,
            format: by_rows(&declared.format),
            ..declared
        });
        self.copies.push((temp, of));
        let mut vars = lhs.clone();
        vars.push(slot);
        let copied = Statement {
            tensor: temp,
            lhs: lhs.clone(),
            vars,
            ..stmt.clone()
        };
        self.add_piece(
            Piece {
                stmt: piece.stmt,
                tensor: temp,
                lhs,
                op: None,
                rhs: sum(op, vec![slot], element),
            },
            &copied,
        )?;
        Ok(temp)
    }
}

fn sum(op: ReduceOp, vars: Vec<VarId>, body: Expr) -> Expr {
    Expr {
        ty: body.ty,
        span: body.span,
        kind: ExprKind::Reduce {
            op,
            vars,
            body: Shared::new(body),
        },
    }
}

/// The format of a copy by rows: what the singletons of a format store, below what the other levels do.
fn by_rows(format: &TensorFormat) -> TensorFormat {
    let mut levels = Vec::new();
    let mut modes = Vec::new();
    let stored = format.levels.iter().zip(&format.modes).zip(&format.parts);
    for ((level, &mode), part) in stored {
        if matches!(part, Part::Slot | Part::Within(_)) {
            continue;
        }
        levels.push(match level.is_full() {
            true => Level::DENSE,
            false => Level::COMPRESSED,
        });
        modes.push(mode);
    }
    TensorFormat {
        index_bits: format.index_bits,
        ..TensorFormat::whole(levels, modes)
    }
}
