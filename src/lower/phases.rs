//! Results that are counted before they are stored (000, 10; the two phases of sparse products):
//! the loops run twice, and between them stands the room that was counted.
//!
//! Where threads share the outermost loop, each of its iterations counts its own elements. Their
//! running sums say where the elements of each begin, so that all are stored at once. If iterations
//! are the rows of a result, these numbers are its positions.

use super::assemble::{Assembly, Group, Pass, ResultCursor, index};
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::codes::lower as codes;
use crate::level::Growth;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, ScalarType};
use crate::plan::{Counted, Inside};
use crate::program::ir::{ReduceOp, TensorId, VarId};
use std::rc::Rc;

/// The loops whose iterations are shared out, as they were written.
struct Shared<'s> {
    /// The number of an iteration of the innermost, from 0: there may be gaps.
    number: Expr,
    /// What no number reaches; below 0 if there are none.
    count: Expr,
    /// Where the first number is 0 and no loop has a step: the end of the only loop.
    end: Option<Expr>,
    /// Of the innermost.
    body: &'s mut Vec<ir::Stmt>,
}

/// Of several, the last one appends: workspaces are made before it.
fn is_shared(stmt: &ir::Stmt) -> bool {
    matches!(stmt, ir::Stmt::For { tag, .. } if tag.is_shared())
}

/// The loops over threads, `depth` of them, each directly inside the one before. `None` where they
/// are not like that, or where nothing bounds an inner one.
fn shared(stmts: &mut [ir::Stmt], depth: usize) -> Option<Shared<'_>> {
    let (at, before) = (depth.checked_sub(1)?, None);
    inner(stmts, at, before)
}

fn inner(
    stmts: &mut [ir::Stmt],
    further: usize,
    before: Option<(Expr, Expr)>,
) -> Option<Shared<'_>> {
    let at = stmts.iter().rposition(is_shared)?;
    let ir::Stmt::For {
        var,
        lo,
        hi,
        most,
        step,
        body,
        ..
    } = stmts.get_mut(at)?
    else {
        return None;
    };
    let value = b::var(*var, ScalarType::I64);
    let offset = b::sub(value, lo.clone());
    let own = b::binary(ir::BinaryOp::FloorDiv, offset, b::int(*step));
    let plain = *lo == b::int(0) && *step == 1 && before.is_none();
    let (number, count) = match before {
        None => {
            let count = b::ceil_div(b::sub(hi.clone(), lo.clone()), *step);
            (own, count)
        }
        Some((number, count)) => {
            let most = b::int(most.map(|most| (most + *step - 1) / *step)?);
            let number = b::add(b::mul(number, most.clone()), own);
            (number, b::mul(count, most))
        }
    };
    if further > 0 {
        return inner(body, further - 1, Some((number, count)));
    }
    Some(Shared {
        number,
        count,
        end: plain.then(|| hi.clone()),
        body,
    })
}

impl Lowerer<'_> {
    /// The loops of a tree that count, the room, the loops that store. `out` is what stands before
    /// them.
    pub(super) fn two_phases(
        &self,
        counted: &Counted,
        body: &Inside,
        (mut out, mut scope): (Vec<ir::Stmt>, Scope),
    ) -> Lower<Vec<ir::Stmt>> {
        let mut counting = self.assemblies.clone();
        let mut filling = counting.clone();
        for assembly in &mut counting {
            assembly.pass = Pass::Counting;
        }
        for assembly in &mut filling {
            assembly.pass = Pass::Filling;
            for group in &mut assembly.groups {
                let name = self.names.var(group.counter).name;
                if counted.shared.is_empty() {
                    let all = format!("{}_count", name.strip_prefix('p').unwrap_or(&name));
                    self.names.rename(group.counter, all);
                }
                group.counter = self.fresh(&name, ScalarType::I64, true);
            }
        }
        out.extend(self.find_starts(&mut scope)?);
        out.extend(self.fills());

        let counter = self.of(Rc::new(counted.tree.clone()), counting.clone());
        let mut counts = match &counted.tree.body {
            Some(body) => counter.inside(body, restarted(&scope, &counting), None)?,
            None => Vec::new(),
        };

        let (allocated, rooms) = self.rooms(&filling);
        out.extend(allocated);
        let mut region = Vec::new();
        match counted.shared.as_slice() {
            [] => {
                region.extend(groups(&counting).map(|group| zero(group.counter)));
                region.append(&mut counts);
                for assembly in &counting {
                    let groups = assembly.groups.iter();
                    region.extend(groups.filter_map(|g| self.overflow_check(assembly.tensor, g)));
                }
                for (group, own) in groups(&counting).zip(groups_mut(&mut filling)) {
                    own.end = Some(group.counter);
                }
            }
            vars => {
                self.count_shares(vars, &mut counts, (&mut counting, &mut filling))?;
                region.append(&mut counts);
            }
        }
        for (assembly, own) in counting.iter().zip(&filling) {
            let counts: Vec<Expr> = assembly.groups.iter().map(Group::all).collect();
            region.extend(self.make_room(own, &counts));
        }
        for group in groups(&filling) {
            region.extend(self.beginning(group));
            // Iterations that are shared out have counters of their own; unless nothing is
            // appended.
            region.extend(group.begins.is_none().then(|| zero(group.counter)));
        }
        let filler = self.of(Rc::clone(&self.tree), filling.clone());
        let mut stores = filler.inside(body, restarted(&scope, &filling), None)?;
        if !counted.shared.is_empty() {
            self.begin_shares(&counted.shared, &mut stores, &filling)?;
        }
        region.extend(stores);
        region.extend(self.all_completed(&filling));
        out.push(ir::Stmt::Append {
            rooms,
            body: region,
        });
        out.extend(self.sorted_results(&filling));
        out.extend(self.entered(&filling));
        Ok(out)
    }
}

impl Lowerer<'_> {
    /// Lets each iteration count its own elements, and adds up what they counted.
    fn count_shares(
        &self,
        vars: &[VarId],
        counts: &mut Vec<ir::Stmt>,
        (counting, filling): (&mut [Assembly], &mut [Assembly]),
    ) -> Lower<()> {
        let at = counts.iter().rposition(is_shared);
        let (Some(at), Some(shares)) = (at, shared(counts, vars.len())) else {
            self.no_share(vars, counts)?;
            // Joined statements may have a loop to share out all the same: nothing is what it
            // counts.
            counts.splice(0..0, groups(counting).map(|group| zero(group.counter)));
            return Ok(());
        };
        let Shared {
            number,
            count,
            end,
            body,
        } = shares;
        let (mut before, mut behind, mut prologue, mut epilogue) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (assembly, own) in counting.iter_mut().zip(filling) {
            let groups = assembly.groups.iter_mut().zip(&mut own.groups);
            for (group, own) in groups {
                let name = self.names.var(group.counter).name;
                let name = name.strip_prefix('p').unwrap_or(&name).to_string();
                let is_row = match &end {
                    Some(end) => self.is_row(assembly.tensor, group, (vars[0], end)),
                    None => self.are_rows(assembly.tensor, group, (vars, &number), body),
                };
                let numbers = match is_row {
                    true => self.extent(assembly.tensor, 0),
                    false => count.clone(),
                };
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
                        self.memory.freed(array);
                        array
                    }
                };
                prologue.push(zero(group.counter));
                let next = b::add(number.clone(), b::int(1));
                epilogue.push(self.store_index(begins, next, index(group.counter)));
                let total = self.fresh(&format!("{name}_count"), ScalarType::I64, true);
                behind.push(ir::Stmt::Scan {
                    array: begins,
                    count: numbers,
                    op: ReduceOp::Add,
                    total: Some(total),
                });
                group.total = Some(total);
                own.total = Some(total);
                own.begins = Some(begins);
                own.end = Some(self.fresh(&format!("{name}_end"), ScalarType::I64, false));
                own.ended = is_row || group.first == 0;
            }
        }
        for assembly in counting.iter() {
            let groups = assembly.groups.iter();
            behind.extend(groups.filter_map(|g| self.overflow_check(assembly.tensor, g)));
        }
        body.splice(0..0, prologue);
        body.append(&mut epilogue);
        counts.splice(at..at, before);
        counts.append(&mut behind);
        Ok(())
    }

    /// Of a loop over rows: whether the segment ends of the group are where its iterations begin.
    fn is_row(&self, tensor: TensorId, group: &Group, (var, rows): (VarId, &Expr)) -> bool {
        let format = &self.tensor(tensor).format;
        let nest = self.tree.nests.iter().find(|nest| nest.tensor == tensor);
        let row = nest.map(|nest| nest.lhs[format.modes[0]]);
        group.first == 1
            && format.levels[0].ty().growth() == Growth::Placed
            && row == Some(var)
            && *rows == self.extent(tensor, 0)
            && !self.tree.gaps.contains(&tensor)
    }

    /// The same of loops that are parts of the loop over rows: the number of an iteration is that
    /// of its row.
    fn are_rows(
        &self,
        tensor: TensorId,
        group: &Group,
        (vars, number): (&[VarId], &Expr),
        body: &[ir::Stmt],
    ) -> bool {
        let format = &self.tensor(tensor).format;
        let nest = self.tree.nests.iter().find(|nest| nest.tensor == tensor);
        let Some(row) = nest.map(|nest| nest.lhs[format.modes[0]]) else {
            return false;
        };
        let mut parts = self.parts_of(tensor, row);
        let mut own = vars.to_vec();
        parts.sort();
        own.sort();
        let name = &self.graph.var(row).name;
        let is_number = |stmt: &ir::Stmt| {
            matches!(stmt, ir::Stmt::Let { var, init }
                if init == number && self.names.var(*var).name == *name)
        };
        group.first == 1
            && format.levels[0].ty().growth() == Growth::Placed
            && parts == own
            && body.iter().any(is_number)
            && !self.tree.gaps.contains(&tensor)
    }

    /// Lets each iteration store its elements where they begin.
    fn begin_shares(
        &self,
        vars: &[VarId],
        stores: &mut [ir::Stmt],
        filling: &[Assembly],
    ) -> Lower<()> {
        let Some(Shared { number, body, .. }) = shared(stores, vars.len()) else {
            return self.no_share(vars, stores);
        };
        let mut ends = Vec::new();
        for group in groups(filling) {
            if let (Some(begins), Some(end)) = (group.begins, group.end) {
                let next = b::add(number.clone(), b::int(1));
                for (var, at) in [(group.counter, number.clone()), (end, next)] {
                    let init = self.load_index(begins, at);
                    ends.push(b::bind(var, init));
                }
            }
        }
        body.splice(0..0, ends);
        Ok(())
    }

    /// Where nothing is appended there is nothing to share out.
    fn no_share(&self, vars: &[VarId], stmts: &[ir::Stmt]) -> Lower<()> {
        let inside = |stmt: &ir::Stmt| matches!(stmt, ir::Stmt::For { .. });
        if !crate::loops::visit::any(stmts, &inside) {
            return Ok(());
        }
        let last = vars.last().map_or("", |var| &self.graph.var(*var).name);
        Err(self
            .error(
                codes::PARALLEL_APPEND,
                format!("iterations of `{last}` cannot be told where their elements begin"),
                "appends to a sparse result",
            )
            .with_help("leave the loop serial"))
    }
}

fn zero(var: ir::VarId) -> ir::Stmt {
    b::bind(var, b::int(0))
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
