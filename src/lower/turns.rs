//! What iterations that are shared out need to put elements of one row behind one another: numbers of each part
//! of them, or rows that are sorted behind (see [`crate::plan::Turns`]).

use super::Lowerer;
use super::assemble::Assembly;
use crate::graph::access::AccessId;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Axis, Expr, GpuLevel, GpuUnit, LoopTag, OmpSchedule, Run};
use crate::loops::trips::Bounds;
use crate::program::ir::{ReduceOp, Role};
use crate::units::Unit;

/// Neighbouring iterations that one thread goes through, which have numbers for all rows of their own.
pub(super) struct Parts {
    /// How many there are.
    count: Expr,
    rows: Expr,
    /// The numbers of all parts, one part after the other.
    all: ArrayId,
    /// Those of the part at hand.
    pub own: ArrayId,
}

/// Threads run the iterations.
pub(super) fn shared(schedule: OmpSchedule) -> LoopTag {
    LoopTag {
        run: Run::Threads {
            schedule,
            shares: None,
            reductions: Vec::new(),
        },
        ..LoopTag::default()
    }
}

impl Lowerer<'_> {
    /// Numbers for each part: as many parts as there are threads, but no more numbers than about as many as there
    /// are elements, which operands say that are there before anything runs.
    pub(super) fn parts(&self, (name, pos): (&str, ArrayId), rows: &Expr) -> Parts {
        let some = b::max(rows.clone(), b::int(1));
        let few = match self.stored_elements() {
            Some(stored) => b::binary(ir::BinaryOp::FloorDiv, stored, some),
            None => b::int(1),
        };
        let count = b::max(b::min(b::threads(), few), b::int(1));
        let (var, parts) = self.fresh_index(&format!("{name}_parts"), false);
        self.memory.first(b::bind(var, count));
        let list = |name: String| self.array(&name, self.names.elem(pos), ir::Storage::Local);
        let all = list(format!("{name}_all_next"));
        let own = list(format!("{name}_next"));
        self.memory
            .allocated(all, b::mul(parts.clone(), rows.clone()), true);
        Parts {
            count: parts,
            rows: rows.clone(),
            all,
            own,
        }
    }

    /// How much is stored at most, or about as much: what sparse operands store. `None` where that is not known
    /// before the kernel runs.
    fn stored_elements(&self) -> Option<Expr> {
        let tree = std::rc::Rc::clone(&self.tree);
        let tensor = self.assemblies.last()?.tensor;
        let operands = || tree.table.entries.iter().enumerate();
        let last = |at: usize| {
            let access = &tree.table.entries[at].access;
            self.tensor(access.tensor).order().checked_sub(1)
        };
        let sparse = operands().filter(|(_, entry)| self.tensor(entry.access.tensor).is_sparse());
        let sparse = sparse.filter_map(|(at, _)| Some((AccessId(at), last(at)?)));
        let most = tree.most.get(&tensor).and_then(|most| most.levels.last());
        let levels = most.cloned().unwrap_or_else(|| sparse.collect());
        let each = levels.iter().map(|&(id, level)| {
            let operand = tree.table.get(id).access.tensor;
            let is_there = self.tensor(operand).role == Role::Input;
            is_there.then(|| self.positions(operand, level))
        });
        let each: Vec<Expr> = each.collect::<Option<_>>()?;
        each.into_iter().reduce(b::add)
    }

    /// Lets threads share parts in place of the iterations of the loops that they share. Where an operand says how much
    /// stands in the rows that a loop goes through, each part gets equally much.
    pub(super) fn take_parts(&self, loops: &mut [ir::Stmt], parts: &Parts) {
        for stmt in loops {
            if let ir::Stmt::For { tag, .. } = stmt
                && let Run::Threads { shares, .. } = tag.run
            {
                let serial = std::mem::replace(stmt, ir::Stmt::Comment(String::new()));
                *stmt = self.in_parts(serial, shares, parts);
                continue;
            }
            for body in crate::loops::visit::bodies_mut(stmt) {
                self.take_parts(body, parts);
            }
        }
    }

    fn in_parts(&self, mut stmt: ir::Stmt, shares: Option<ArrayId>, parts: &Parts) -> ir::Stmt {
        let (part, at) = self.fresh_index("part", false);
        let mut out = vec![ir::Stmt::Slice {
            array: parts.own,
            of: parts.all,
            offset: b::mul(at.clone(), parts.rows.clone()),
        }];
        if let ir::Stmt::For {
            var,
            lo,
            hi,
            most,
            tag,
            body,
            ..
        } = &mut stmt
        {
            let name = self.names.var(*var).name;
            // Where a loop begins further in, it may also end before.
            let shares = shares.filter(|_| b::as_int(lo) == Some(0));
            let mut first = |number: Expr, name: String| {
                let share = |from: Expr, to: Expr| {
                    let all = b::mul(b::sub(to, from.clone()), number.clone());
                    let some = b::binary(ir::BinaryOp::FloorDiv, all, parts.count.clone());
                    b::add(from, some)
                };
                let Some(pos) = shares else {
                    return self.named(&name, share(lo.clone(), hi.clone()), &mut out);
                };
                let (found, row) = self.fresh_index(&name, false);
                let [from, to] = [&*lo, &*hi].map(|at| self.load_index(pos, at.clone()));
                out.push(ir::Stmt::Search {
                    var: found,
                    array: pos,
                    lo: lo.clone(),
                    hi: hi.clone(),
                    key: share(from, to),
                    by: ir::Look::Bisect,
                });
                row
            };
            let begin = first(at.clone(), format!("{name}_begin"));
            let next = b::add(at, b::int(1));
            let mut end = first(next.clone(), format!("{name}_end"));
            let row = b::var(*var, ir::ScalarType::I64);
            if shares.is_some_and(|pos| !self.only_walks(body, pos, row)) {
                // Rows of no elements may follow the last one.
                end = b::select(b::lt(next, parts.count.clone()), end, hi.clone());
                end = self.named(&format!("{name}_last"), end, &mut out);
            }
            (*lo, *hi, *most, *tag) = (begin, end, None, LoopTag::default());
            self.end_before(body);
        }
        out.push(stmt);
        let all = Bounds::of(b::int(0), parts.count.clone());
        all.each(part, shared(OmpSchedule::Static(None)), out)
    }

    /// Whether nothing happens in a row but what happens with its elements.
    fn only_walks(&self, body: &[ir::Stmt], pos: ArrayId, row: Expr) -> bool {
        let [ir::Stmt::For { lo, hi, .. }] = body else {
            return false;
        };
        let next = b::add(row.clone(), b::int(1));
        *lo == self.load_index(pos, row) && *hi == self.load_index(pos, next)
    }

    /// Where loops end is read before them: threads' functions do not know that no array is another one, and would
    /// read it behind each element that they store.
    fn end_before(&self, stmts: &mut Vec<ir::Stmt>) {
        let mut out = Vec::new();
        for mut stmt in std::mem::take(stmts) {
            if let ir::Stmt::For { var, hi, body, .. } = &mut stmt {
                self.end_before(body);
                if hi.any(|e| matches!(e.kind, ir::ExprKind::Load { .. })) {
                    let name = format!("{}_end", self.names.var(*var).name);
                    *hi = self.named(&name, hi.clone(), &mut out);
                }
            }
            out.push(stmt);
        }
        *stmts = out;
    }

    /// Where each row ends, in `pos`; of each part, how many elements of the row those up to it have.
    pub(super) fn added_up(&self, parts: &Parts, pos: ArrayId, total: ir::VarId) -> Vec<ir::Stmt> {
        let (part, number) = self.fresh_index("part", false);
        let up_to = self.by_rows(parts, |rows| {
            let before = b::sub(number.clone(), b::int(1));
            let add = self.each_row(&rows, |row| {
                let own = b::locate(number.clone(), parts.rows.clone(), row.clone());
                let earlier = b::locate(before.clone(), parts.rows.clone(), row);
                vec![ir::Stmt::Store {
                    array: parts.all,
                    index: own,
                    op: Some(ReduceOp::Add),
                    value: self.load(parts.all, earlier),
                    atomic: false,
                }]
            });
            let later = Bounds::of(b::int(1), parts.count.clone());
            vec![later.each(part, LoopTag::default(), vec![add])]
        });
        // What would be copied into `pos` and summed up there is summed up at once.
        let last = b::sub(parts.count.clone(), b::int(1));
        let all = Bounds::of(b::int(0), parts.rows.clone());
        let sums = self.each_row(&all, |row| {
            let number = b::locate(last, parts.rows.clone(), row.clone());
            let sum = b::var(total, ir::ScalarType::I64);
            vec![
                b::update(total, ReduceOp::Add, self.load_index(parts.all, number)),
                self.store_index(pos, b::add(row, b::int(1)), sum),
            ]
        });
        let none = b::bind(total, b::int(0));
        vec![up_to, none, sums]
    }

    /// These numbers become places: where the elements of a part begin in each row.
    pub(super) fn begun(&self, parts: &Parts, pos: ArrayId) -> ir::Stmt {
        let (turn, at) = self.fresh_index("turn", false);
        let (part, number) = self.fresh_index("part", false);
        self.by_rows(parts, |rows| {
            let before = b::sub(number.clone(), b::int(1));
            let moved = self.each_row(&rows, |row| {
                let own = b::locate(number.clone(), parts.rows.clone(), row.clone());
                let earlier = b::locate(before.clone(), parts.rows.clone(), row.clone());
                let begin = self.load_index(pos, row);
                let place = b::add(begin, self.load_index(parts.all, earlier));
                vec![self.store_index(parts.all, own, place)]
            });
            let first = self.each_row(&rows, |row| {
                vec![self.store_index(parts.all, row.clone(), self.load_index(pos, row))]
            });
            // The last one first: each needs what the one before it has.
            let downwards = b::bind(part, b::sub(parts.count.clone(), at.clone()));
            let later = Bounds::of(b::int(1), parts.count.clone());
            vec![
                later.each(turn, LoopTag::default(), vec![downwards, moved]),
                first,
            ]
        })
    }

    /// A loop in which each thread has neighbouring rows.
    fn by_rows(&self, parts: &Parts, body: impl FnOnce(Bounds) -> Vec<ir::Stmt>) -> ir::Stmt {
        let (chunk, at) = self.fresh_index("chunk", false);
        let mut out = Vec::new();
        let mut first = |number: Expr, name: &str| {
            let all = b::mul(parts.rows.clone(), number);
            let some = b::binary(ir::BinaryOp::FloorDiv, all, parts.count.clone());
            self.named(name, some, &mut out)
        };
        let begin = first(at.clone(), "k_begin");
        let end = first(b::add(at, b::int(1)), "k_end");
        out.extend(body(Bounds::of(begin, end)));
        let all = Bounds::of(b::int(0), parts.count.clone());
        all.each(chunk, shared(OmpSchedule::Static(None)), out)
    }

    fn each_row(&self, rows: &Bounds, body: impl FnOnce(Expr) -> Vec<ir::Stmt>) -> ir::Stmt {
        let (k, row) = self.fresh_index("k", false);
        rows.clone().each(k, LoopTag::default(), body(row))
    }

    /// Sorts each row by its coordinates, if it must be: by one thread, or by all of a block that has found that
    /// it is not in order.
    pub(super) fn sorted_rows(
        &self,
        assembly: &Assembly,
        unit: Unit,
        rows: &Expr,
    ) -> Option<ir::Stmt> {
        let group = &assembly.groups[0];
        let level = &self.tensor(assembly.tensor).format.levels[group.first];
        if !level.ordered {
            return None;
        }
        let coordinates = self.level(assembly.tensor, group.first);
        let coordinates = coordinates.array(ArrayRole::Coordinates)?;
        let name = format!("{}{}", self.tensor(assembly.tensor).name, group.first + 1);
        let (k, row) = self.fresh_index("k", false);
        let (begin, from) = self.fresh_index(&format!("p{name}_begin"), false);
        let (count, all) = self.fresh_index(&format!("{name}_length"), false);
        let part = |of: ArrayId, name: String| {
            let own = self.array(&name, self.names.elem(of), ir::Storage::Local);
            let slice = ir::Stmt::Slice {
                array: own,
                of,
                offset: from.clone(),
            };
            (own, slice)
        };
        let (by, first) = part(coordinates, format!("{name}_row"));
        let values = self.names.values(assembly.tensor);
        let (values, second) = part(values, format!("{}_row", self.tensor(assembly.tensor).name));
        let end = self.load_index(group.pos, b::add(row.clone(), b::int(1)));
        let mut body = vec![
            b::bind(begin, self.load_index(group.pos, row)),
            b::bind(count, b::sub(end, from.clone())),
            first,
            second,
        ];
        let sort = ir::Stmt::Sort {
            coordinates: vec![by],
            values,
            count: all.clone(),
            distinct: true,
        };
        let tag = match unit {
            Unit::CpuThread(schedule) => {
                body.push(sort);
                shared(schedule)
            }
            Unit::CpuVector => return None,
            Unit::Gpu(unit) => {
                let (late, found) = self.fresh_index("late", true);
                let (e, at) = self.fresh_index("e", false);
                let before = self.load_index(by, b::sub(at.clone(), b::int(1)));
                let is_late = b::lt(self.load_index(by, at), before);
                let note = b::update(
                    late,
                    ReduceOp::Max,
                    b::select(is_late, b::int(1), b::int(0)),
                );
                let threads = GpuUnit {
                    level: GpuLevel::Thread,
                    axis: Axis::X,
                    group: None,
                };
                let mut threads = LoopTag::over(threads);
                if let Run::Unit { reductions, .. } = &mut threads.run {
                    reductions.push((ReduceOp::Max, late));
                }
                body.extend([
                    b::bind(late, b::int(0)),
                    Bounds::of(b::int(1), all).each(e, threads, vec![note]),
                    b::if_then(b::lt(b::int(0), found), vec![sort]),
                ]);
                LoopTag::over(unit)
            }
        };
        let rows = Bounds::of(b::int(0), rows.clone());
        Some(rows.each(k, tag, body))
    }
}
