//! Regions that count before they store: the device counts, the host makes so much room, the device
//! stores.
//!
//! before: `append: count into begins; scan begins to n; grow C to n; store`
//! after:  launches that count, scans, `fetch n`, `alloc C[n]`, launches that store
//!
//! Nothing runs twice. What is counted is known to the host behind the fetch, as sizes are.

use super::Refusal;
use super::ir::{Device, Scan};
use super::segments::{Cutter, Segment};
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, Expr, ExprKind, ReduceOp, Room, ScalarType, Stmt, Storage, VarId};
use crate::loops::visit;
use std::collections::{BTreeMap, BTreeSet};

/// Whether all rooms of a region are made once, before anything touches their arrays.
pub(super) fn is_counted(rooms: &[Room], body: &[Stmt]) -> bool {
    rooms.iter().all(|room| {
        let Some(at) = room.made_at(body) else {
            return false;
        };
        let counters = read_behind(&body[..at], &body[at..]);
        counters.is_disjoint(&visit::changed(&body[at..]))
    })
}

/// Whether what the host has to ask for is known at one place, where it can ask for all of it:
/// what decides how much room there is may be the work of a launch before, and whether a count has
/// overflowed that of one behind.
pub(super) fn asks_once(body: &[Stmt], known: &dyn Fn(&Expr) -> bool) -> bool {
    let changed = visit::changed(body);
    let of_host = |stmt: &Stmt| matches!(stmt, Stmt::Let { var, init } if !changed.contains(var) && known(init));
    let own = |stmt: &&Stmt| !of_host(stmt);
    let own: Vec<Stmt> = body.iter().filter(own).cloned().collect();
    let declared = visit::declared(&own);
    let asks = |stmts: &[Stmt]| {
        let unknown = !visit::read_vars(stmts).is_disjoint(&declared);
        unknown && is_asked(&stmts[0])
    };
    let runs = body.chunk_by(|a, b| is_asked(a) == is_asked(b));
    runs.filter(|run| asks(run)).count() < 2
}

/// The variables of `before` that growing and failing read.
fn read_behind(before: &[Stmt], behind: &[Stmt]) -> BTreeSet<VarId> {
    let asked = behind.iter().filter(|stmt| is_asked(stmt)).cloned();
    let asked: Vec<Stmt> = asked.collect();
    let declared = visit::declared(before);
    let read = visit::read_vars(&asked).into_iter();
    read.filter(|var| declared.contains(var)).collect()
}

/// Whether it is the host that needs to know.
fn is_asked(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Grow { .. } | Stmt::FailIf { .. })
}

/// What is counted, and where it stands.
struct Totals {
    array: ArrayId,
    /// What the host calls the elements.
    vars: Vec<VarId>,
    fetched: bool,
}

impl Cutter<'_> {
    /// Cuts a region that counts first.
    ///
    /// # Errors
    /// What decides how much room there is lies on the device.
    pub(super) fn counted(&mut self, rooms: &[Room], body: Vec<Stmt>) -> Result<(), Refusal> {
        let array = self
            .kernel
            .fresh_array("totals", ScalarType::I64, Storage::Local);
        let mut totals = Totals {
            array,
            vars: Vec::new(),
            fetched: false,
        };
        // Counters of the device, and what the host calls them.
        let mut names: BTreeMap<VarId, VarId> = BTreeMap::new();
        let mut rest = body.into_iter().peekable();
        while let Some(mut stmt) = rest.next() {
            rename(&mut stmt, &names);
            if let Stmt::Scan {
                array,
                count,
                op,
                total,
            } = stmt
            {
                let total = total.map(|total| {
                    self.kernel.vars[total.index()].mutable = false;
                    totals.vars.push(total);
                    (totals.array, totals.vars.len() - 1)
                });
                self.scan((array, count, op), total)?;
            } else if is_asked(&stmt) {
                let mut asked = vec![stmt];
                while let Some(mut next) = rest.next_if(is_asked) {
                    rename(&mut next, &names);
                    asked.push(next);
                }
                names.extend(self.fetch(&mut asked, &mut totals)?);
                for stmt in asked {
                    self.make_room(rooms, stmt);
                }
            } else {
                self.stmt(stmt)?;
            }
        }
        self.flush();
        if !totals.vars.is_empty() {
            let count = i64::try_from(totals.vars.len()).unwrap_or(i64::MAX);
            self.shared.push(Segment::Host(Stmt::Alloc {
                array,
                count: b::int(count),
                zeroed: false,
            }));
        }
        Ok(())
    }

    /// Running sums or maxima, by launches of the runtime; the last of them becomes an element of an array if
    /// it is asked for.
    ///
    /// # Errors
    /// How many there are lies on the device.
    pub(super) fn scan(
        &mut self,
        (array, count, op): (ArrayId, Expr, ReduceOp),
        total: Option<(ArrayId, usize)>,
    ) -> Result<(), Refusal> {
        self.flush();
        if !self.known(&count) {
            let name = &self.kernel.array(array).name;
            return Err(unknown(format!("how much of `{name}` is scanned")));
        }
        let sums = self
            .kernel
            .fresh_array("sums", ScalarType::I64, Storage::Local);
        let most = b::add(count.clone(), b::int(1));
        self.segments.push(Segment::Host(Stmt::Alloc {
            array: sums,
            count: b::ceil_div(most, Scan::TILE),
            zeroed: false,
        }));
        let scan = Scan {
            array,
            count,
            op,
            sums,
            total,
        };
        let scan = Stmt::Device(Device::Scan(scan));
        self.segments.push(Segment::Host(scan));
        Ok(())
    }

    /// Makes what the statements ask for known to the host. Gives the names of counters that
    /// launches have.
    fn fetch(
        &mut self,
        asked: &mut [Stmt],
        totals: &mut Totals,
    ) -> Result<BTreeMap<VarId, VarId>, Refusal> {
        let mut names = BTreeMap::new();
        let unknown_vars: Vec<VarId> = visit::read_vars(asked)
            .into_iter()
            .filter(|var| !self.host.contains(var))
            .collect();
        if !unknown_vars.is_empty() && totals.fetched {
            return Err(unknown("the room for a part of a result".to_string()));
        }
        for var in &unknown_vars {
            if totals.vars.contains(var) {
                continue;
            }
            // A counter of a launch: it leaves its value behind.
            let declared = self.kernel.var(*var).clone();
            let name = self
                .kernel
                .fresh_var(&declared.name, ScalarType::I64, false);
            let at = i64::try_from(totals.vars.len()).unwrap_or(i64::MAX);
            self.run.push(b::store(
                totals.array,
                b::int(at),
                b::cast(ScalarType::I64, b::var(*var, declared.ty)),
            ));
            totals.vars.push(name);
            names.insert(*var, name);
        }
        self.flush();
        if !totals.vars.is_empty() && !totals.fetched {
            totals.fetched = true;
            self.host.extend(totals.vars.iter().copied());
            self.segments
                .push(Segment::Host(Stmt::Device(Device::Fetch {
                    totals: totals.array,
                    vars: totals.vars.clone(),
                })));
        }
        for stmt in asked {
            rename(stmt, &names);
            let mut known = true;
            visit::own_exprs(stmt, &mut |e| known &= self.known(e));
            if !known {
                return Err(unknown("the room for a result".to_string()));
            }
        }
        Ok(names)
    }

    /// What the host does with what it knows.
    fn make_room(&mut self, rooms: &[Room], stmt: Stmt) {
        let Stmt::Grow { capacity, needed } = &stmt else {
            self.segments.push(Segment::Host(stmt));
            return;
        };
        let room = rooms.iter().filter(|room| room.capacity == *capacity);
        for &array in room.flat_map(|room| &room.arrays) {
            self.segments.push(Segment::Host(Stmt::Alloc {
                array,
                count: needed.clone(),
                zeroed: false,
            }));
        }
    }
}

fn unknown(what: String) -> Refusal {
    Refusal::new(
        format!("{what} depends on data that lie on the device"),
        "leave the loop that appends serial, without `assemble(.., two_phase)`",
    )
}

fn rename(stmt: &mut Stmt, names: &BTreeMap<VarId, VarId>) {
    if names.is_empty() {
        return;
    }
    visit::replace_exprs(std::slice::from_mut(stmt), &mut |e| {
        let ExprKind::Var(var) = e.kind else {
            return None;
        };
        names.get(&var).map(|&name| b::var(name, ScalarType::I64))
    });
}
