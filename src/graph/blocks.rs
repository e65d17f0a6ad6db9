//! Operands that are stored in blocks.
//!
//! Such an operand is a tensor of blocks, with a mode for each of its levels: what the program calls A(i,j)
//! is the element (i/4, j/4, i%4, j%4) of a matrix that is stored as `bcsr(4,4)`. Statements are written so
//! before they get loops. Then i and j are taken apart as by `split(i, i_o, i_i, 4)`, and the subscripts are
//! the parts, so that i_o and j_o walk the levels of blocks. Where several operands would have it otherwise
//! (blocks of two sizes, a level of another operand that is walked over j), the loops stay, and elements of
//! blocks are searched.

use super::diagonals::{diagonal, diagonals, on_diagonal, read_diagonals};
use super::order::{appended_vars, choose_behind, range_vars, sparse_accesses, vars_in};
use super::rearranged::Rearranged;
use super::relation::{Relation, Split};
use super::terms::{index, reads, reduces, root_reduction};
use super::{Graph, Loop, Nest};
use crate::format::{Part, TensorFormat};
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, Function, IndexVar, Literal, Range, Shared, SizeExpr,
    Tensor, TensorId, VarId,
};
use crate::scalar::ScalarType;
use std::rc::Rc;

/// The function with tensors of blocks and of slots for those that are stored so, if there are any, and
/// its results that are. What reads slots is still to be written ([`super::slots`]).
pub(super) fn as_stored(function: &Rc<Function>) -> Option<(Rc<Function>, Rearranged)> {
    if !function.tensors.iter().any(|t| t.format.is_rearranged()) {
        return None;
    }
    let mut stored = Function::clone(function);
    let results = Rearranged::of(&mut stored);
    for (at, tensor) in stored.tensors.iter_mut().enumerate() {
        if tensor.format.is_rearranged() {
            let id = TensorId::at(at);
            let slots = function.slots.get(&id).map(|&size| {
                let known = function.size(size).constant();
                known.map_or(SizeExpr::Size(size), SizeExpr::Const)
            });
            tensor.dims = dims_as_stored(tensor, slots.as_ref());
            tensor.format = tensor.format.as_stored();
        }
    }
    for stmt in &mut stored.stmts {
        read_blocks(function, &mut stmt.rhs);
        read_diagonals(function, &mut stmt.rhs);
    }
    for var in &mut stored.vars {
        for e in var.range.reads_mut() {
            read_blocks(function, e);
        }
    }
    Some((Rc::new(stored), results))
}

/// Reads elements of blocks where the function's expressions read elements of operands that are stored so.
pub fn read_blocks(function: &Function, e: &mut Expr) {
    e.walk_mut(&mut |node| {
        let ExprKind::Access(access) = &mut node.kind else {
            return;
        };
        let declared = function.tensors.get(access.tensor.index());
        let has_blocks = |f: &&TensorFormat| f.is_rearranged() && !f.pads();
        let Some(format) = declared.map(|t| &t.format).filter(has_blocks) else {
            return;
        };
        // There are more levels than modes: this one is of blocks already.
        if access.subscripts.len() < format.order() {
            let given = std::mem::take(&mut access.subscripts);
            let mut own = subscripts_as_stored((format, &[]), &given, None);
            if function.conditional.contains(&access.tensor) {
                own.iter_mut().for_each(rounded_down);
            }
            access.subscripts = own;
        }
    });
}

/// No block where a coordinate is negative: quotients are rounded towards zero.
fn rounded_down(subscript: &mut Expr) {
    let ExprKind::Binary(BinaryOp::Div, of, by) = &subscript.kind else {
        return;
    };
    if of.as_var().is_some() || !matches!(by.kind, ExprKind::Literal(_)) {
        return;
    }
    let number = |n: i64| Expr {
        kind: ExprKind::Literal(Literal::Int(n)),
        ty: ScalarType::I64,
        span: subscript.span,
    };
    let negative = Expr {
        kind: ExprKind::Binary(BinaryOp::Lt, of.clone(), Shared::new(number(0))),
        ty: ScalarType::Bool,
        span: subscript.span,
    };
    let (none, block) = (Shared::new(number(-1)), Shared::new(subscript.clone()));
    subscript.kind = ExprKind::Select(Shared::new(negative), none, block);
}

/// The subscripts of an element as it is stored, in a slot if there are any.
pub(super) fn subscripts_as_stored(
    (format, dims): (&TensorFormat, &[SizeExpr]),
    given: &[Expr],
    slot: Option<&Expr>,
) -> Vec<Expr> {
    let stored = format.modes.iter().zip(&format.parts);
    let parts = stored.map(|(&mode, &part)| match (part, slot) {
        (Part::Slot, Some(slot)) => slot.clone(),
        (Part::Diagonal(along), _) => diagonal(&given[mode], &given[along], &dims[along]),
        (Part::Slot | Part::Whole | Part::Block(_) | Part::Within(_), _) => {
            subscript(&given[mode], part)
        }
    });
    by_modes(format, parts)
}

/// What is given for each level, by the modes of the tensor as it is stored.
fn by_modes<T>(format: &TensorFormat, levels: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<(usize, T)> = format.as_stored().modes.into_iter().zip(levels).collect();
    all.sort_by_key(|(mode, _)| *mode);
    all.into_iter().map(|(_, own)| own).collect()
}

/// The subscripts of an element of a block or in a slot, as the program writes them.
#[must_use]
pub fn as_declared(graph: &Graph, access: &Access) -> Option<Vec<Expr>> {
    let declared = graph.function.tensors.get(access.tensor.index());
    let format = &declared.filter(|t| t.format.is_rearranged())?.format;
    let mode = |(mode, subscript): (usize, &Expr)| {
        let stored = format.modes.iter().zip(&format.parts);
        let own = stored.filter(|(m, part)| **m == mode && **part != Part::Slot);
        let mut own = own.map(|(_, part)| part);
        let part = own.next();
        if let Some(Part::Diagonal(_)) = part {
            let across = on_diagonal(subscript).map(|(across, _)| across);
            let skewed = || {
                let made = graph.provenance.producer(subscript.as_var()?)?;
                made.skews()
            };
            let across = across.or_else(skewed);
            return across.map_or_else(|| subscript.clone(), |var| index(var, subscript));
        }
        if !matches!(part, Some(Part::Block(_))) {
            return subscript.clone();
        }
        if let ExprKind::Binary(BinaryOp::Div, of, _) = &subscript.kind {
            return (**of).clone();
        }
        let made = subscript
            .as_var()
            .and_then(|var| graph.provenance.producer(var));
        made.map_or_else(|| subscript.clone(), |r| index(r.parents().0, subscript))
    };
    let declared = access.subscripts[..format.dimensions()].iter();
    Some(declared.enumerate().map(mode).collect())
}

/// An extent for each mode of the tensor as it is stored, with so many slots.
fn dims_as_stored(tensor: &Tensor, slots: Option<&SizeExpr>) -> Vec<SizeExpr> {
    let stored = tensor.format.modes.iter().zip(&tensor.format.parts);
    let extent = |(&mode, &part): (&usize, &Part)| match part {
        Part::Whole => tensor.dims[mode].clone(),
        Part::Block(n) => blocks(&tensor.dims[mode], n),
        Part::Within(n) => SizeExpr::Const(i64::from(n)),
        Part::Slot => slots.cloned().unwrap_or(SizeExpr::Const(0)),
        Part::Diagonal(along) => diagonals(&tensor.dims[mode], &tensor.dims[along]),
    };
    by_modes(&tensor.format, stored.map(extent))
}

/// How many blocks of n there are, the last of which may reach beyond.
fn blocks(dim: &SizeExpr, n: u32) -> SizeExpr {
    let n = i64::from(n);
    if let SizeExpr::Const(dim) = dim {
        return SizeExpr::Const(dim.div_euclid(n) + i64::from(dim % n > 0));
    }
    if n == 1 {
        return dim.clone();
    }
    let up = SizeExpr::Add(Box::new(dim.clone()), Box::new(SizeExpr::Const(n - 1)));
    SizeExpr::FloorDiv(Box::new(up), Box::new(SizeExpr::Const(n)))
}

/// What a level stores of a coordinate, as a subscript.
fn subscript(of: &Expr, part: Part) -> Expr {
    let literal = |n: u32| Expr {
        kind: ExprKind::Literal(Literal::Int(i64::from(n))),
        ty: ScalarType::I64,
        span: of.span,
    };
    let with = |op, n| Expr {
        kind: ExprKind::Binary(op, Shared::new(of.clone()), Shared::new(literal(n))),
        ty: ScalarType::I64,
        span: of.span,
    };
    match part {
        Part::Whole | Part::Block(1) | Part::Slot | Part::Diagonal(_) => of.clone(),
        Part::Within(1) => literal(0),
        Part::Block(n) => with(BinaryOp::Div, n),
        Part::Within(n) => with(BinaryOp::Rem, n),
    }
}

/// The variable and n of `i/n` (or `i%n`, as `op` says).
fn taken_apart(e: &Expr, op: BinaryOp) -> Option<(VarId, u32)> {
    if let ExprKind::Binary(own, of, by) = &e.kind
        && *own == op
        && let (Some(var), ExprKind::Literal(Literal::Int(n))) = (of.as_var(), &by.kind)
        && let Some(n) = u32::try_from(*n).ok().filter(|n| *n > 1)
    {
        return Some((var, n));
    }
    None
}

impl Graph {
    /// Gives loops over parts to the variables by which operands are stored in blocks.
    pub(super) fn take_blocks_apart(&mut self) {
        let mut nests = std::mem::take(&mut self.nests);
        for nest in &mut nests {
            nest.visit_mut(&mut |part| self.take_apart(part));
        }
        self.nests = nests;
    }

    fn take_apart(&mut self, nest: &mut Nest) {
        self.follow_diagonals(nest);
        let mut splits: Vec<Split> = Vec::new();
        for (var, n) in self.blocked_in(nest) {
            splits.push(self.split_of(var, n));
        }
        if splits.is_empty() {
            return;
        }
        nest.rhs.walk_mut(&mut |node| {
            let ExprKind::Access(access) = &mut node.kind else {
                return;
            };
            for subscript in &mut access.subscripts {
                for split in &splits {
                    let of = |op| {
                        let own = taken_apart(subscript, op);
                        own.map(|(var, n)| (var, i64::from(n)))
                    };
                    let own = Some((split.parent, split.factor));
                    if of(BinaryOp::Div) == own {
                        *subscript = index(split.outer, subscript);
                    } else if of(BinaryOp::Rem) == own {
                        *subscript = index(split.inner, subscript);
                    }
                }
            }
        });
        let order = self.order_of_parts(nest, &splits);
        nest.loops = order.into_iter().map(Loop::serial).collect();
    }

    /// The variables of loops that are taken apart, and by what. An operand is walked by its blocks
    /// only if all its variables are.
    fn blocked_in(&self, nest: &Nest) -> Vec<(VarId, u32)> {
        let accesses = sparse_accesses(self, &nest.rhs);
        let mut found: Vec<(VarId, u32)> = Vec::new();
        for access in &accesses {
            let all = access.subscripts.iter();
            let own: Vec<(VarId, u32)> =
                all.filter_map(|s| taken_apart(s, BinaryOp::Div)).collect();
            let agrees = |&(var, n): &(VarId, u32)| {
                let others = found.iter().filter(|(v, _)| *v == var);
                let whole = accesses.iter().any(|access| self.finds_blocks(access, var));
                let agreed = others.clone().all(|(_, m)| *m == n);
                agreed && !whole && self.is_free(nest, &accesses, var)
            };
            if own.iter().all(agrees) {
                found.extend(own);
            }
        }
        let mut each: Vec<(VarId, u32)> = Vec::new();
        for split in found {
            if !each.contains(&split) {
                each.push(split);
            }
        }
        each
    }

    /// Whether blocks of an operand are found by a variable all of which an outer level needs (`A(i+j, j)`): its
    /// loop cannot walk them.
    fn finds_blocks(&self, access: &Access, var: VarId) -> bool {
        let modes = &self.tensor(access.tensor).format.modes;
        let levels = modes.iter().map(|&mode| &access.subscripts[mode]);
        let is_block = |e: &&Expr| taken_apart(e, BinaryOp::Div).is_some_and(|(v, _)| v == var);
        let outer = levels.clone().take_while(|e| !is_block(e));
        let computed = |e: &Expr| e.as_var().is_none() && taken_apart(e, BinaryOp::Rem).is_none();
        levels.clone().any(|e| is_block(&e))
            && outer
                .into_iter()
                .any(|e| computed(e) && vars_in(e).contains(&var))
    }

    /// Whether nothing but blocks asks for a loop over the variable: it counts from zero, no other operand
    /// is walked by it, and no other range of several values reads it.
    pub(super) fn is_free(&self, nest: &Nest, accesses: &[super::Access], var: VarId) -> bool {
        let walked = accesses.iter().any(|access| {
            let format = &self.tensor(access.tensor).format;
            let level = self.level_of(access, var);
            level.is_some_and(|level| format.levels[level].is_walked())
        });
        let counted = self
            .static_range(var)
            .is_some_and(|(lo, _)| *lo == SizeExpr::Const(0));
        let read = |l: &Loop| !self.has_one_value(l.var) && range_vars(self, l.var).contains(&var);
        let own = nest.loops.iter().any(|l| l.var == var);
        own && counted && !walked && !nest.loops.iter().any(read)
    }

    /// The parts of a variable, those of another nest if it is taken apart so there.
    fn split_of(&mut self, parent: VarId, size: u32) -> Split {
        let factor = i64::from(size);
        let known = self.provenance.consumers(parent).find_map(|relation| {
            let Relation::Split(split) = relation else {
                return None;
            };
            (split.factor == factor).then_some(*split)
        });
        if let Some(split) = known {
            return split;
        }
        let own = self.var(parent).clone();
        let whole = match &own.range.hi {
            Bound::Static(hi) => hi.clone(),
            Bound::Dynamic(_) => SizeExpr::Const(0),
        };
        let part = |graph: &mut Graph, ending: &str, extent: SizeExpr| {
            let name = graph.fresh_name(&format!("{}_{ending}", own.name));
            let range = Range {
                lo: Bound::Static(SizeExpr::Const(0)),
                hi: Bound::Static(extent),
            };
            graph.add_var(IndexVar {
                name,
                range,
                ..own.clone()
            })
        };
        let split = Split {
            parent,
            outer: part(self, "o", blocks(&whole, size)),
            inner: part(self, "i", SizeExpr::Const(factor)),
            factor,
        };
        self.provenance.relations.push(Relation::Split(split));
        self.provenance.stored.push(split.outer);
        split
    }

    /// Whether loops may stand in any order, since the result itself adds up what they come to.
    pub(super) fn adds_up(&self, nest: &Nest) -> bool {
        let result = self.tensor(nest.tensor);
        let rounds = result.ty.compute() != result.ty;
        let sums = root_reduction(&nest.rhs, nest.op).is_some();
        reduces(&nest.rhs).is_empty() || (sums && !rounds && !reads(&nest.rhs, nest.tensor))
    }

    /// The loops of a nest some of whose variables were taken apart: blocks first, in the order of the
    /// operands, then what is inside of them, then all else.
    fn order_of_parts(&self, nest: &Nest, splits: &[Split]) -> Vec<VarId> {
        let parts = |var: VarId| match splits.iter().find(|split| split.parent == var) {
            Some(split) => vec![split.outer, split.inner],
            None => vec![var],
        };
        let lhs: Vec<VarId> = nest.lhs.iter().flat_map(|&v| parts(v)).collect();
        let appended = match self.collected.contains(&nest.tensor) {
            true => Vec::new(),
            false => appended_vars(&self.tensor(nest.tensor).format, &nest.lhs),
        };
        let appended: Vec<VarId> = appended.into_iter().flat_map(parts).collect();
        let inner =
            |var: &VarId| !appended.contains(var) && splits.iter().any(|split| split.inner == *var);
        let ordered = |vars: Vec<VarId>| {
            let (inside, outside): (Vec<VarId>, Vec<VarId>) = vars.into_iter().partition(inner);
            let mut order = choose_behind(self, &appended, &lhs, &nest.rhs, &outside);
            let outer = |var: &VarId| splits.iter().any(|split| split.outer == *var);
            let at = order.iter().rposition(outer).map_or(0, |at| at + 1);
            order.splice(at..at, inside);
            order
        };
        let all: Vec<VarId> = nest.loops.iter().flat_map(|l| parts(l.var)).collect();
        // What a variable that was taken apart tells is known when all of its parts are.
        let told = |var: &VarId| {
            let read = range_vars(self, *var);
            splits.iter().any(|split| read.contains(&split.parent))
        };
        let (told, all): (Vec<VarId>, Vec<VarId>) = all.into_iter().partition(told);
        if self.adds_up(nest) {
            return [ordered(all), told].concat();
        }
        // What does not add up in the result itself: all loops of the left side outside.
        let (left, right): (Vec<VarId>, Vec<VarId>) =
            all.into_iter().partition(|v| lhs.contains(v));
        [ordered(left), ordered(right), told].concat()
    }

    /// Whether the range of a variable is one value, whatever that is.
    fn has_one_value(&self, var: VarId) -> bool {
        let range = &self.var(var).range;
        let (Bound::Dynamic(lo), Bound::Dynamic(hi)) = (&range.lo, &range.hi) else {
            return false;
        };
        let ExprKind::Binary(BinaryOp::Add, from, by) = &hi.kind else {
            return false;
        };
        let one = matches!(&by.kind, ExprKind::Literal(Literal::Int(1)));
        one && super::equal::same(lo, from)
    }
}
