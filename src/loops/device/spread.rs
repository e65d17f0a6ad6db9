//! Work that all threads of a block would repeat, shared out to them.

use super::Definitions;
use super::spmd::Spmd;
use crate::loops::build as b;
use crate::loops::effects::{Around, Facts, Homes, Touch, Who, meet, touches};
use crate::loops::ir::{Axis, LoopTag, ScalarType, Stmt, VarId};
use crate::loops::trips::Bounds;
use crate::loops::visit;
use crate::units::{GpuLevel, GpuUnit};

impl Spmd<'_> {
    /// With loops in the place of fills; loops that only set elements, each its own, are
    /// shared out to the threads that would all run them.
    /// `taken` says which axes have their loops already.
    pub(super) fn spread(&mut self, body: Vec<Stmt>, taken: [bool; 2]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for mut stmt in body {
            if let Stmt::Fill {
                array,
                start,
                count,
                value,
            } = stmt
            {
                let k = self.kernel.fresh_var("k", ScalarType::I64, false);
                let index = b::add(start, b::var(k, ScalarType::I64));
                let store = b::store(array, index, value);
                stmt = Bounds::of(b::int(0), count).each(k, LoopTag::default(), vec![store]);
            }
            let mut inside = taken;
            if taken == [false; 2] && self.shape.threads[Axis::Y as usize] > 1 {
                self.share_rows(&mut stmt);
            }
            let around: Vec<Around> = Around::of(&stmt, &self.known).into_iter().collect();
            if let Stmt::For { var, tag, body, .. } = &mut stmt {
                if tag.gpu().is_none() && !taken[0] && self.only_sets_others(body, *var, &around) {
                    *tag = thread_tag(Axis::X);
                }
                for (at, axis) in [Axis::X, Axis::Y].into_iter().enumerate() {
                    inside[at] |= tag
                        .gpu()
                        .is_some_and(|unit| unit.level == GpuLevel::Thread && unit.axis == axis);
                }
            }
            for inner in visit::bodies_mut(&mut stmt) {
                let old = std::mem::take(inner);
                *inner = self.spread(old, inside);
            }
            out.push(stmt);
        }
        out
    }

    /// [`only_sets`], in memory that several threads see.
    fn only_sets_others(&self, body: &[Stmt], var: VarId, around: &[Around]) -> bool {
        let own = |s: &Stmt| matches!(s, Stmt::Store { array, .. } if self.own.contains(array));
        !body.last().is_some_and(own) && only_sets(body, (var, false), around, &self.known)
    }

    /// Of a nest of loops that sets elements, shares one of the outer loops out to the
    /// rows of the block: that which leaves the fewest rows idle.
    fn share_rows(&self, stmt: &mut Stmt) {
        let mut loops = Vec::new();
        let mut at = &*stmt;
        let row = loop {
            let (Stmt::For { tag, body, .. }, Some(around)) = (at, Around::of(at, &self.known))
            else {
                return;
            };
            if tag.gpu().is_some() {
                return;
            }
            let var = around.var;
            loops.push(around);
            if self.only_sets_others(body, var, &loops) {
                break body;
            }
            let Some((inner, before)) = body.split_last() else {
                return;
            };
            if !before.iter().all(|s| matches!(s, Stmt::Let { .. })) {
                return;
            }
            at = inner;
        };
        let rows = i64::from(self.shape.threads[Axis::Y as usize]);
        let Some((_, outer)) = loops.split_last() else {
            return;
        };
        let own = |around: &&Around| only_sets(row, (around.var, false), &loops, &self.known);
        let candidates = outer.iter().filter(own);
        let best = candidates.max_by_key(|around| around.most.unwrap_or(rows).min(rows));
        if let Some(chosen) = best.map(|around| around.var) {
            tag_loop(stmt, chosen);
        }
    }
}

fn tag_loop(stmt: &mut Stmt, chosen: VarId) {
    if let Stmt::For { var, tag, .. } = stmt
        && *var == chosen
    {
        *tag = thread_tag(Axis::Y);
    }
    for inner in visit::bodies_mut(stmt).into_iter().flatten() {
        tag_loop(inner, chosen);
    }
}

/// Of a loop over threads.
fn thread_tag(axis: Axis) -> LoopTag {
    LoopTag::over(GpuUnit {
        level: GpuLevel::Thread,
        axis,
        group: None,
    })
}

/// Whether the iterations of the loop over `var`, one of the loops `around` the body, only set
/// elements, each its own, which may be known already (`apart`): any thread may do it.
pub(super) fn only_sets(
    body: &[Stmt],
    (var, apart): (VarId, bool),
    around: &[Around],
    known: &Definitions,
) -> bool {
    // Positions of their own go into slots of their own.
    if let Some((Stmt::Enter { .. }, before)) = body.split_last() {
        return before.iter().all(|s| matches!(s, Stmt::Let { .. }));
    }
    let Some((
        Stmt::Store {
            array,
            op: None,
            atomic: false,
            ..
        },
        before,
    )) = body.split_last()
    else {
        return false;
    };
    let found = visit::declared(before);
    let mut computes = visit::changed(before).is_subset(&found);
    visit::stmts(before, &mut |s| {
        computes &= matches!(
            s,
            Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::While { .. } | Stmt::If { .. }
        ) || matches!(s, Stmt::Search { array: from, .. } if from != array);
    });
    if !computes {
        return false;
    }
    let mut known = known.clone();
    known.extend(super::definitions(before, &|_| false));
    let facts = Facts {
        same: &|v| !found.contains(&v),
        fixed: &|a| a != *array,
        together: 0,
    };
    let touches = touches(body, around, &mut Homes::default(), &known);
    let mut stores = touches.iter().filter(|touch| touch.write);
    stores.all(|store| {
        let meets = |other: &Touch| !apart && meet(store, other, &Who::Iteration(var), facts);
        !touches.iter().any(|other| {
            // What the iteration itself reads of it, another thread may not have set.
            (other.array == *array && !other.write) || meets(other)
        })
    })
}
