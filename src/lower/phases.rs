//! Results that are counted before they are stored (000, 10; the two phases of sparse products):
//! the loops run twice, and between them stands the room that was counted.
//!
//! Where threads share the outermost loop, each of its iterations counts its own elements. Their running
//! sums say where the elements of each begin, so that all are stored at once. If iterations are the rows of a
//! result, these numbers are its positions.

use super::assemble::{Assembly, Group, Pass, ResultCursor, index};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::codes::lower as codes;
use crate::level::Growth;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ScalarType};
use crate::loops::trips::Bounds;
use crate::plan::{Counted, Inside};
use crate::program::ir::VarId;
use std::rc::Rc;

/// The loop whose iterations are shared out, as it was written.
struct Shared<'s> {
    var: ir::VarId,
    lo: Expr,
    hi: Expr,
    step: i64,
    body: &'s mut Vec<ir::Stmt>,
}

impl Shared<'_> {
    /// How many iterations it has; below 0 if it has none.
    fn count(&self) -> Expr {
        b::ceil_div(b::sub(self.hi.clone(), self.lo.clone()), self.step)
    }

    /// The number of an iteration, from 0.
    fn number(&self) -> Expr {
        let value = b::var(self.var, ScalarType::I64);
        let offset = b::sub(value, self.lo.clone());
        b::binary(ir::BinaryOp::FloorDiv, offset, b::int(self.step))
    }
}

/// The loop over threads; it stands in no other.
fn shared(stmts: &mut [ir::Stmt]) -> Option<Shared<'_>> {
    stmts.iter_mut().find_map(|stmt| {
        if let ir::Stmt::For {
            var,
            lo,
            hi,
            step,
            tag,
            body,
            ..
        } = stmt
            && tag.is_shared()
        {
            return Some(Shared {
                var: *var,
                lo: lo.clone(),
                hi: hi.clone(),
                step: *step,
                body,
            });
        }
        None
    })
}

impl Lowerer<'_> {
    /// The loops of a tree that count, the room, the loops that store. `out` is what stands before them.
    pub(super) fn two_phases(
        &mut self,
        counted: &Counted,
        body: &Inside,
        (mut out, mut scope): (Vec<ir::Stmt>, Scope),
    ) -> Lower<Vec<ir::Stmt>> {
        let tree = Rc::clone(&self.tree);
        let mut counting = std::mem::take(&mut self.assemblies);
        let mut filling = counting.clone();
        for assembly in &mut counting {
            assembly.pass = Pass::Counting;
        }
        for assembly in &mut filling {
            assembly.pass = Pass::Filling;
            for group in &mut assembly.groups {
                let name = self.vars[group.counter.0 as usize].name.clone();
                group.counter = self.fresh(&name, ScalarType::I64, true);
            }
        }
        out.extend(self.find_starts(&mut scope)?);
        out.extend(self.fills(&tree));

        let counting_body = counted.tree.body.clone();
        self.tree = Rc::new(counted.tree.clone());
        self.assemblies = counting.clone();
        let mut counts = match &counting_body {
            Some(body) => self.inside(body, restarted(&scope, &counting), None)?,
            None => Vec::new(),
        };
        self.tree = Rc::clone(&tree);

        let (allocated, rooms) = self.rooms(&filling);
        out.extend(allocated);
        let mut region = Vec::new();
        match counted.shared {
            None => {
                region.extend(groups(&counting).map(|group| zero(group.counter)));
                region.append(&mut counts);
                for assembly in &counting {
                    let groups = assembly.groups.iter();
                    region.extend(groups.filter_map(|g| self.overflow_check(assembly.tensor, g)));
                }
                for (group, own) in groups(&counting).zip(groups_mut(&mut filling)) {
                    own.end = Some(group.counter);
                    region.extend(self.beginning(own));
                    region.push(zero(own.counter));
                }
            }
            Some(var) => {
                self.count_shares(var, &mut counts, (&mut counting, &mut filling))?;
                region.append(&mut counts);
                for group in groups(&filling) {
                    region.extend(self.beginning(group));
                    // Nothing is shared out, and nothing appended.
                    region.extend(group.begins.is_none().then(|| zero(group.counter)));
                }
            }
        }
        for (assembly, own) in counting.iter().zip(&filling) {
            region.extend(self.counted_room(assembly, own));
        }
        self.assemblies = filling.clone();
        let mut stores = self.inside(body, restarted(&scope, &filling), None)?;
        if let Some(var) = counted.shared {
            self.begin_shares(var, &mut stores, &filling)?;
        }
        region.extend(stores);
        self.assemblies.clear();
        region.extend(self.all_completed(&filling));
        out.push(ir::Stmt::Append {
            rooms,
            body: region,
        });
        out.extend(self.sorted_results(&tree, &filling));
        Ok(out)
    }
}

impl Lowerer<'_> {
    /// Lets each iteration count its own elements, and adds up what they counted.
    fn count_shares(
        &mut self,
        var: VarId,
        counts: &mut Vec<ir::Stmt>,
        (counting, filling): (&mut [Assembly], &mut [Assembly]),
    ) -> Lower<()> {
        let own_loop =
            |stmt: &ir::Stmt| matches!(stmt, ir::Stmt::For { tag, .. } if tag.is_shared());
        let Some(at) = counts.iter().position(own_loop) else {
            return self.no_share(var, counts);
        };
        let Some(shares) = shared(counts) else {
            return Ok(());
        };
        let (number, count) = (shares.number(), shares.count());
        let rows = (shares.lo == b::int(0) && shares.step == 1).then(|| shares.hi.clone());
        let (mut before, mut behind, mut prologue, mut epilogue) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (assembly, own) in counting.iter_mut().zip(filling) {
            let groups = assembly.groups.iter_mut().zip(&mut own.groups);
            for (group, own) in groups {
                let name = self.vars[group.counter.0 as usize].name.clone();
                let name = name.trim_start_matches('p').to_string();
                let is_row = rows
                    .as_ref()
                    .is_some_and(|rows| self.is_row(assembly.tensor, group, (var, rows)));
                let begins = match is_row {
                    true => group.pos,
                    false => {
                        let array = self.array(
                            &format!("{name}_begins"),
                            ScalarType::I64,
                            ir::Storage::Local,
                        );
                        before.push(ir::Stmt::Alloc {
                            array,
                            count: b::add(b::max(count.clone(), b::int(0)), b::int(1)),
                            zeroed: true,
                        });
                        self.postlude.push(ir::Stmt::Free { array });
                        array
                    }
                };
                prologue.push(zero(group.counter));
                let next = b::add(number.clone(), b::int(1));
                epilogue.push(self.store_index(begins, next, index(group.counter)));
                let total = self.fresh(&format!("{name}_count"), ScalarType::I64, true);
                behind.extend(self.running_sums((begins, total), &count));
                group.total = Some(total);
                own.total = Some(total);
                own.begins = Some(begins);
                own.end = Some(self.fresh(&format!("{name}_end"), ScalarType::I64, false));
                own.ended = is_row || group.first == 0;
            }
            for group in &assembly.groups {
                behind.extend(self.overflow_check(assembly.tensor, group));
            }
        }
        shares.body.splice(0..0, prologue);
        shares.body.append(&mut epilogue);
        counts.splice(at..at, before);
        counts.append(&mut behind);
        Ok(())
    }

    /// Of a loop over rows: whether the segment ends of the group are where its iterations begin.
    fn is_row(
        &self,
        tensor: crate::program::ir::TensorId,
        group: &Group,
        (var, rows): (VarId, &Expr),
    ) -> bool {
        let format = &self.tensor(tensor).format;
        let nest = self.tree.nests.iter().find(|nest| nest.tensor == tensor);
        let row = nest.map(|nest| nest.lhs[format.modes[0]]);
        group.first == 1
            && format.levels[0].ty().growth() == Growth::Placed
            && row == Some(var)
            && *rows == self.extent(tensor, 0)
            && !self.tree.gaps.contains(&tensor)
    }

    /// `total = 0; for k: total += begins[k + 1], begins[k + 1] = total`
    fn running_sums(
        &mut self,
        (begins, total): (ArrayId, ir::VarId),
        count: &Expr,
    ) -> Vec<ir::Stmt> {
        let (k, at) = self.fresh_index("k", false);
        let next = b::add(at, b::int(1));
        let added = ir::Stmt::Assign {
            var: total,
            op: Some(crate::program::ir::ReduceOp::Add),
            value: self.load_index(begins, next.clone()),
        };
        let stored = self.store_index(begins, next, index(total));
        let all = Bounds::of(b::int(0), count.clone());
        vec![
            zero(total),
            all.each(k, ir::LoopTag::default(), vec![added, stored]),
        ]
    }

    /// Lets each iteration store its elements where they begin.
    fn begin_shares(&self, var: VarId, stores: &mut [ir::Stmt], filling: &[Assembly]) -> Lower<()> {
        let Some(shares) = shared(stores) else {
            return self.no_share(var, stores);
        };
        let number = shares.number();
        let mut ends = Vec::new();
        for group in groups(filling) {
            if let (Some(begins), Some(end)) = (group.begins, group.end) {
                let next = b::add(number.clone(), b::int(1));
                for (var, at) in [(group.counter, number.clone()), (end, next)] {
                    let init = self.load_index(begins, at);
                    ends.push(ir::Stmt::Let { var, init });
                }
            }
        }
        shares.body.splice(0..0, ends);
        Ok(())
    }

    /// Where nothing is appended there is nothing to share out.
    fn no_share(&self, var: VarId, stmts: &[ir::Stmt]) -> Lower<()> {
        let inside = |stmt: &ir::Stmt| matches!(stmt, ir::Stmt::For { .. });
        if !crate::loops::visit::any(stmts, &inside) {
            return Ok(());
        }
        let name = &self.graph.var(var).name;
        Err(self
            .error(
                codes::PARALLEL_APPEND,
                format!("iterations of `{name}` cannot be told where their elements begin"),
                "appends to a sparse result",
            )
            .with_help("leave the loop serial"))
    }

    /// Room for all that was counted.
    fn counted_room(&self, counting: &Assembly, filling: &Assembly) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        let mut grow = |capacity, needed| out.push(ir::Stmt::Grow { capacity, needed });
        let tensor = counting.tensor;
        // Positions above, and the level below which they are.
        let (mut above, mut from) = (b::int(1), 0);
        for (group, own) in counting.groups.iter().zip(&filling.groups) {
            if let Some(capacity) = own.pos_capacity {
                let parents = b::mul(above.clone(), self.extents(tensor, from, group.first));
                grow(capacity, b::add(parents, b::int(1)));
            }
            for noted in &filling.noted {
                if let (Some(capacity), true) =
                    (noted.capacity, (from..group.first).contains(&noted.level))
                {
                    let extents = self.extents(tensor, from, noted.level + 1);
                    grow(capacity, b::mul(above.clone(), extents));
                }
            }
            grow(own.capacity, group.all());
            (above, from) = (group.all(), group.last + 1);
        }
        let order = self.tensor(tensor).format.order();
        for noted in &filling.noted {
            if let (Some(capacity), true) = (noted.capacity, noted.level >= from) {
                let extents = self.extents(tensor, from, noted.level + 1);
                grow(capacity, b::mul(above.clone(), extents));
            }
        }
        if let Some(capacity) = filling.block_capacity {
            grow(capacity, b::mul(above, self.extents(tensor, from, order)));
        }
        out
    }
}

fn zero(var: ir::VarId) -> ir::Stmt {
    ir::Stmt::Let {
        var,
        init: b::int(0),
    }
}

fn groups_mut(assemblies: &mut [Assembly]) -> impl Iterator<Item = &mut Group> {
    assemblies
        .iter_mut()
        .flat_map(|assembly| &mut assembly.groups)
}

fn groups(assemblies: &[Assembly]) -> impl Iterator<Item = &Group> {
    assemblies.iter().flat_map(|assembly| &assembly.groups)
}

/// What is known before all loops, with results at their beginning.
fn restarted(scope: &Scope, assemblies: &[Assembly]) -> Scope {
    Scope {
        results: assemblies
            .iter()
            .map(Assembly::start)
            .collect::<Vec<ResultCursor>>(),
        ..scope.clone()
    }
}
