//! A sparse result that stores what one operand stores (see [`crate::graph::pattern`]):
//! the operand's coordinates are copied, and each value stands at its position.

use super::access::AccessId;
use super::table::Table;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::codes::lower as codes;
use crate::graph::{Assign, Nest, pattern};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr};
use crate::loops::trips::Bounds;
use crate::plan::Made;
use crate::program::ir::TensorId;

impl Lowerer<'_> {
    /// The access that a result follows, and on how many levels.
    pub(super) fn followed(&self, tensor: TensorId) -> Option<(AccessId, usize)> {
        self.tree.made.iter().find_map(|(own, made)| match made {
            Made::Follows(source, levels) => (*own == tensor).then_some((*source, *levels)),
            Made::Placed | Made::Appended | Made::Kept | Made::Collected(_) | Made::Spread(_) => {
                None
            }
        })
    }

    /// Makes the arrays of a result that follows an access.
    pub(super) fn begin_pattern(
        &self,
        nest: &Nest,
        (source, levels): (AccessId, usize),
        out: &mut Vec<ir::Stmt>,
    ) {
        let tensor = nest.tensor;
        let access = &self.tree.table.get(source).access.clone();
        let levels = &levels;
        // What follows a result that follows an operand follows that: its size is known
        // before anything runs.
        let followed = match self.names.followed(access.tensor) {
            Some((operand, known)) if known >= *levels => operand,
            Some(_) | None => access.tensor,
        };
        self.names.follow(tensor, Some((followed, *levels)));
        let format = self.tensor(tensor).format.clone();
        let once = self.is_there(tensor);
        let mut count = b::int(1);
        for level in 0..format.order() {
            if level >= *levels {
                count = b::mul(count, self.extent(tensor, level));
                continue;
            }
            let (own, other) = (self.level(tensor, level), self.level(followed, level));
            let copied = |role| own.array(role).zip(other.array(role)).filter(|_| !once);
            if let Some((to, from)) = copied(ArrayRole::Positions) {
                self.copy_index(to, from, &b::add(count.clone(), b::int(1)), out);
            }
            let all = other.size(count);
            count = if other.array(ArrayRole::Positions).is_some() {
                let name = format!("{}_stored", self.tensor(tensor).name);
                self.named(&name, all, out)
            } else {
                all
            };
            for role in [ArrayRole::Coordinates, ArrayRole::Presence] {
                if let Some((to, from)) = copied(role) {
                    self.copy_index(to, from, &count, out);
                }
            }
            if let Some((to, from)) = copied(ArrayRole::Table) {
                self.copy_index(to, from, &Table::slots(count.clone()), out);
            }
        }
        let values = self.names.values(tensor);
        if !once {
            out.push(ir::Stmt::Alloc {
                array: values,
                count: count.clone(),
                zeroed: false,
            });
        }
        // Where sums add to the elements themselves, they start from nothing. Where what the
        // operand stores below is not summed over, it may be absent: elements for which it is
        // hold the fill.
        let ty = self.tensor(tensor).ty.compute();
        let modes = &self.tensor(access.tensor).format.modes;
        let partial = modes[*levels..].iter().any(|&mode| {
            let var = access.subscripts[mode].as_var();
            let roots = var.map(|var| self.graph.provenance.roots(var));
            roots.is_none_or(|roots| roots.iter().any(|root| nest.lhs.contains(root)))
        });
        // What folds to the fill is not stored by any iteration.
        let folded = pattern::constant(self.graph, nest, None);
        let added = self.tree.accumulated.get(&tensor).copied();
        let by_block = self.tree.blocks.iter().any(|(own, _)| *own == tensor);
        let first = match (folded, added) {
            (Some(value), _) => Some(value),
            (None, Some(_)) if by_block => None,
            (None, Some(op)) => Some(op.neutral(ty)),
            (None, None) => partial.then_some(self.tensor(tensor).fill),
        };
        if let Some(first) = first {
            out.push(ir::Stmt::Fill {
                array: values,
                start: b::int(0),
                count,
                value: b::literal(first, ty),
            });
        }
    }

    fn copy_index(&self, to: ArrayId, from: ArrayId, count: &Expr, out: &mut Vec<ir::Stmt>) {
        out.push(ir::Stmt::Alloc {
            array: to,
            count: count.clone(),
            zeroed: false,
        });
        let (k, at) = self.fresh_index("k", false);
        let value = self.load(from, at.clone());
        let elem = self.names.elem(to);
        let store = b::store(to, at, b::cast(elem, value));
        let all = Bounds::of(b::int(0), count.clone());
        out.push(all.each(k, ir::LoopTag::default(), vec![store]));
    }

    /// Where the element at hand stands: where the operand's does.
    pub(super) fn pattern_index(
        &self,
        (source, levels): (AccessId, usize),
        assign: &Assign,
        scope: &Scope,
    ) -> Lower<Expr> {
        let cursor = self.cursor(scope, source);
        let modes = self.tensor(assign.tensor).format.modes.clone();
        let at = cursor.passed.get(&(levels - 1)).cloned();
        if let (Some(mut at), None) = (at, &cursor.present) {
            for (level, &mode) in modes.iter().enumerate().skip(levels) {
                let coordinate = self.known(assign.lhs[mode], scope)?;
                at = b::locate(at, self.extent(assign.tensor, level), coordinate);
            }
            return Ok(at);
        }
        // The plan refuses it with more words.
        let name = &self.tensor(assign.tensor).name;
        Err(self.error(
            codes::DENSE_RESULT,
            format!("where `{name}` stores an element is not known here"),
            "in this statement",
        ))
    }
}
