//! Rows that threads of a block collect together: a table leads from each coordinate to a slot, which the first
//! thread that comes with it takes, and where values are added up atomically. What is taken is listed, so that it
//! can be sorted and stored, by all threads as well.
//!
//! The table has slots for as many elements as the row may have: those that were counted, or the iterations of
//! the loops that come to it. So it is cleared by what the row costs anyhow, and never too small. Where these are more than there
//! are coordinates, each has a slot of its own. Where loops merge, nobody counts how often they come: all of the table is cleared then.

use super::collect::Row;
use super::workspace::Room;
use super::{Lower, Lowerer, Scope};
use crate::graph::Assign;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::device::ir::Claim;
use crate::loops::ir::{self, ArrayId, Expr, ExprKind, LoopTag, Run, ScalarType};
use crate::loops::operands::{ArrayUse, Operand};
use crate::loops::trips::Bounds;
use crate::loops::visit::{self, any, declared_arrays, replace_exprs};
use crate::plan::{Node, Phase, Workspace};
use crate::program::ir::{ReduceOp, TensorId};

/// The row that threads of a block collect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedRow {
    /// Of one element: how many are listed.
    count: ArrayId,
    coordinates: ArrayId,
    /// The slots of what is listed.
    places: ArrayId,
    /// In each slot a coordinate, or -1.
    table: ArrayId,
    slots: ir::VarId,
    /// Of each slot.
    values: ArrayId,
}

impl Lowerer<'_> {
    /// `where(consumer, producer)` for a workspace that threads of a block collect, and store as it is.
    pub(super) fn shared_row(&self, workspace: &Workspace, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let counting = self.tree.phase == Phase::Counting;
        let most = self.row_most(workspace);
        let all = self.table_slots(workspace, &most);
        let Some((pos, row, mut out)) = self.begin_shared(workspace, (&most, &all)) else {
            return Ok(Vec::new());
        };
        let apart = Scope {
            results: Vec::new(),
            ..scope.clone()
        };
        let producer = self.stmt(&workspace.producer, &apart)?;
        let met = match self.left(workspace) {
            Some(left) => left,
            None => self.trips_of(workspace.temp, &producer, &mut out),
        };
        let twice = b::mul(b::int(2), met);
        out.push(b::bind(row.slots, b::min(twice, all)));
        let slots = b::var(row.slots, ScalarType::I64);
        let mut set = |array, value| {
            out.push(ir::Stmt::Fill {
                array,
                start: b::int(0),
                count: slots.clone(),
                value,
            });
        };
        let key = self.names.elem(row.table);
        set(row.table, b::cast(key, b::int(-1)));
        let own = assignments(&workspace.producer);
        let own = own.iter().find(|assign| assign.tensor == workspace.temp);
        if let Some(op) = own.and_then(|assign| assign.op).filter(|_| !counting) {
            let ty = self.names.elem(row.values);
            set(
                row.values,
                b::literal(op.neutral(ty.compute()), ty.compute()),
            );
        }
        out.push(self.stored(row.count, b::int(0), b::int(0)));
        out.extend(producer);
        let (var, count) = self.fresh_index(
            &format!("{}_count", self.tensor(workspace.temp).name),
            false,
        );
        out.push(b::bind(var, self.load_index(row.count, b::int(0))));
        let mut levels = self.tensor(workspace.temp).format.levels.iter();
        if !counting && levels.any(|level| level.ordered) {
            out.push(ir::Stmt::Sort {
                coordinates: vec![row.coordinates],
                values: row.places,
                count: count.clone(),
                distinct: true,
            });
        }
        let mut consumer = self.stmt(&workspace.consumer, scope)?;
        let ends = [b::int(0), b::int(1)].map(|at| self.load_index(pos, at));
        replace_exprs(&mut consumer, &mut |e| {
            if *e == ends[0] {
                return Some(b::int(0));
            }
            if *e == ends[1] {
                return Some(count.clone());
            }
            if let ExprKind::Load { array, index } = &e.kind
                && *array == row.values
            {
                let slot = self.load_index(row.places, index.as_ref().clone());
                return Some(self.load(row.values, slot));
            }
            None
        });
        numbered(&mut consumer);
        out.extend(consumer);
        Ok(out)
    }

    /// The memory of the row: a part for each block. Gives its array of positions, too, which stands for none.
    fn begin_shared(
        &self,
        workspace: &Workspace,
        (most, slots): (&Expr, &Expr),
    ) -> Option<(ArrayId, SharedRow, Vec<ir::Stmt>)> {
        let (temp, threaded) = (workspace.temp, workspace.threaded);
        let name = self.tensor(temp).name.clone();
        let pos = self.level(temp, 0).array(ArrayRole::Positions)?;
        let coordinates = self.level(temp, 0).array(ArrayRole::Coordinates)?;
        let values = self.names.values(temp);
        let elem = self.names.elem(coordinates);
        let list = |name: String, count: &Expr| Room {
            own: None,
            name,
            elem,
            zeroed: false,
            count: count.clone(),
        };
        let rooms = [
            self.own_room(coordinates, false, most.clone()),
            list(format!("{name}_places"), most),
            list(format!("{name}_table"), slots),
            self.own_room(values, false, slots.clone()),
        ];
        let mut out = Vec::new();
        let own = self.own_rooms((temp, threaded), &rooms, &mut out);
        if self.tree.phase == Phase::Counting {
            // What is counted has no values, and its slots are not asked.
            let unasked = [Some(own[1]), Some(own[3])];
            out.retain(|stmt| !unasked.contains(&stmt.declares_array()));
        }
        self.names
            .stand_in(temp, (ArrayRole::Coordinates, own[0]), own[3]);
        let count = self.array(&format!("{name}_met"), elem, ir::Storage::Local);
        out.push(ir::Stmt::Declare {
            array: count,
            count: 1,
        });
        let row = SharedRow {
            count,
            coordinates: own[0],
            places: own[1],
            table: own[2],
            slots: self.fresh(&format!("{name}_slots"), ScalarType::I64, false),
            values: own[3],
        };
        self.names.set_row(temp, Row::Shared(row));
        Some((pos, row, out))
    }

    /// The most slots that the table has: twice as many as there are elements, or one for each coordinate.
    fn table_slots(&self, workspace: &Workspace, most: &Expr) -> Expr {
        let extent = self.element_count(workspace.temp);
        match self.tree.most.contains_key(&workspace.temp) {
            true => b::min(b::mul(b::int(2), most.clone()), extent),
            false => extent,
        }
    }

    /// How many elements were counted, where the row is an iteration that counted its own.
    pub(super) fn left(&self, workspace: &Workspace) -> Option<Expr> {
        let result = assignments(&workspace.consumer).first()?.tensor;
        let assembly = self.assemblies.iter().find(|own| own.tensor == result)?;
        let group = assembly.groups.last()?;
        let own = self.tree.phase == Phase::Filling && group.begins == Some(group.pos);
        let end = group.end.filter(|_| own)?;
        let counter = b::var(group.counter, ScalarType::I64);
        Some(b::sub(b::var(end, ScalarType::I64), counter))
    }

    /// How often the loops come to an element, counted by all threads before they run. Where that cannot be counted
    /// all slots are taken.
    fn trips_of(&self, temp: TensorId, producer: &[ir::Stmt], out: &mut Vec<ir::Stmt>) -> Expr {
        let name = format!("{}_trips", self.tensor(temp).name);
        let trips = self.fresh(&name, ScalarType::I64, true);
        let Some(mut counts) = trips_of(producer, trips) else {
            return self.element_count(temp);
        };
        self.rename_declared(&mut counts);
        out.push(b::bind(trips, b::int(0)));
        out.extend(counts);
        b::var(trips, ScalarType::I64)
    }

    /// Takes the slot of a coordinate.
    fn claimed(&self, row: SharedRow, assign: &Assign, scope: &Scope) -> Lower<(ir::Stmt, Expr)> {
        let key = self.known(assign.lhs[0], scope)?;
        let (var, slot) = self.fresh_index("slot", false);
        let filling = self.tree.phase == Phase::Filling;
        let claim = Claim {
            var: filling.then_some(var),
            table: row.table,
            slots: b::var(row.slots, ScalarType::I64),
            extent: self.element_count(assign.tensor),
            key,
            count: row.count,
            keys: row.coordinates,
            places: filling.then_some(row.places),
        };
        Ok((ir::Stmt::Device(ir::Device::Claim(claim)), slot))
    }

    /// Notes that a row has an element.
    pub(super) fn claim(
        &self,
        row: SharedRow,
        assign: &Assign,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        Ok(vec![self.claimed(row, assign, scope)?.0])
    }

    /// `row(coordinate) op= value`
    pub(super) fn claim_into(
        &self,
        row: SharedRow,
        (assign, value, mut out): (&Assign, Expr, Vec<ir::Stmt>),
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let (claim, slot) = self.claimed(row, assign, scope)?;
        out.push(claim);
        out.push(ir::Stmt::Store {
            array: row.values,
            index: slot,
            op: assign.op,
            value: b::cast(self.names.elem(row.values), value),
            atomic: true,
        });
        Ok(out)
    }
}

/// All assignments of a node.
fn assignments(node: &Node) -> Vec<Assign> {
    let mut found = Vec::new();
    node.each(&mut |node| {
        if let Node::Assign(assign, _) = node {
            found.push(assign.clone());
        }
    });
    found
}

fn is_claim(stmt: &ir::Stmt) -> bool {
    matches!(stmt, ir::Stmt::Device(ir::Device::Claim(_)))
}

fn claims(stmt: &ir::Stmt) -> bool {
    any(std::slice::from_ref(stmt), &is_claim)
}

/// The loops with no more than what counts how often they may come to a slot, by the same units; iterations of innermost
/// loops are not run for it, and what they test is taken to hold. `None` where the loops ask for what they set themselves.
fn trips_of(producer: &[ir::Stmt], trips: ir::VarId) -> Option<Vec<ir::Stmt>> {
    let counts = trips_in(producer, trips)?;
    let mut set = declared_arrays(producer);
    visit::stmts(producer, &mut |stmt| {
        stmt.operands(&mut |operand| {
            if let Operand::Array(array, ArrayUse::Write | ArrayUse::Exchange) = operand {
                set.insert(*array);
            }
        });
    });
    let moved = visit::changed(producer);
    let mut asked = false;
    visit::stmts(&counts, &mut |stmt| {
        stmt.operands(&mut |operand| {
            asked |= matches!(operand, Operand::Array(array, _) if set.contains(array));
        });
        visit::own_exprs(stmt, &mut |e| {
            asked |= e.any(|node| {
                matches!(&node.kind, ExprKind::Load { array, .. } if set.contains(array))
                    || matches!(&node.kind, ExprKind::Var(var) if moved.contains(var))
            });
        });
    });
    (!asked).then_some(counts)
}

fn trips_in(stmts: &[ir::Stmt], trips: ir::VarId) -> Option<Vec<ir::Stmt>> {
    let more = |by: Expr| b::update(trips, ReduceOp::Add, by);
    let mut out = Vec::new();
    for stmt in stmts {
        // What merges has cursors that move.
        if matches!(stmt, ir::Stmt::Assign { .. } | ir::Stmt::While { .. }) {
            return None;
        }
        if matches!(stmt, ir::Stmt::Let { .. } | ir::Stmt::Search { .. }) {
            out.push(stmt.clone());
        } else if is_claim(stmt) {
            out.push(more(b::int(1)));
        } else if !claims(stmt) {
            // What loops store, declare or promise is not asked.
            continue;
        } else if let ir::Stmt::For {
            var,
            lo,
            hi,
            most,
            step,
            tag,
            body,
        } = stmt
        {
            let (mut inner, mut each) = (false, 0);
            visit::stmts(body, &mut |s| {
                let loops = matches!(s, ir::Stmt::For { .. } | ir::Stmt::While { .. });
                inner |= loops && claims(s);
                each += i64::from(is_claim(s));
            });
            if !inner && *step == 1 {
                let count = b::max(b::sub(hi.clone(), lo.clone()), b::int(0));
                out.push(more(b::mul(count, b::int(each))));
                continue;
            }
            let bounds = Bounds {
                lo: lo.clone(),
                hi: hi.clone(),
                most: *most,
            };
            let mut tag = LoopTag {
                run: tag.run.clone(),
                ..LoopTag::default()
            };
            if let Run::Unit { reductions, .. } = &mut tag.run {
                *reductions = vec![(ReduceOp::Add, trips)];
            }
            out.push(bounds.every(*step, *var, tag, trips_in(body, trips)?));
        } else if let ir::Stmt::If {
            cond,
            then,
            otherwise,
        } = stmt
        {
            let (then, otherwise) = (trips_in(then, trips)?, trips_in(otherwise, trips)?);
            out.push(b::if_else(cond.clone(), then, otherwise));
        }
    }
    Some(out)
}

/// Lets each iteration of a loop that units share store where it stands: one after another is counted no more.
pub(super) fn numbered(consumer: &mut Vec<ir::Stmt>) {
    let mut out = Vec::new();
    for mut stmt in std::mem::take(consumer) {
        let mut behind = Vec::new();
        if let ir::Stmt::For {
            var,
            lo,
            hi,
            tag,
            body,
            ..
        } = &mut stmt
            && tag.gpu().is_some()
        {
            let counted = body.iter().filter_map(counter).collect::<Vec<_>>();
            body.retain(|stmt| counter(stmt).is_none());
            for counter in counted {
                let number = b::sub(b::var(*var, ScalarType::I64), lo.clone());
                let here = b::add(b::var(counter, ScalarType::I64), number);
                replace_exprs(body, &mut |e| {
                    (e.kind == ExprKind::Var(counter)).then(|| here.clone())
                });
                behind.push(b::update(
                    counter,
                    ReduceOp::Add,
                    b::sub(hi.clone(), lo.clone()),
                ));
            }
        }
        out.push(stmt);
        out.append(&mut behind);
    }
    *consumer = out;
}

/// Of `n += 1` or `n = n + 1` the variable n.
fn counter(stmt: &ir::Stmt) -> Option<ir::VarId> {
    let ir::Stmt::Assign { var, op, value } = stmt else {
        return None;
    };
    let next = b::add(b::var(*var, ScalarType::I64), b::int(1));
    let one =
        (*op == Some(ReduceOp::Add) && *value == b::int(1)) || (op.is_none() && *value == next);
    one.then_some(*var)
}
