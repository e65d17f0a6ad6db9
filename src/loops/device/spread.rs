//! Work that all threads of a block would repeat, shared out to them.

use super::ir::{GpuLevel, GpuUnit};
use super::spmd::Spmd;
use crate::loops::build as b;
use crate::loops::ir::{Axis, ExprKind, LoopTag, ScalarType, Stmt, VarId};
use crate::loops::visit;

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
                stmt = Stmt::For {
                    var: k,
                    lo: b::int(0),
                    hi: count,
                    step: 1,
                    tag: LoopTag::default(),
                    body: vec![Stmt::Store {
                        array,
                        index,
                        op: None,
                        value,
                        atomic: false,
                    }],
                };
            }
            let mut inside = taken;
            if taken == [false; 2] && self.shape.threads[Axis::Y as usize] > 1 {
                self.share_rows(&mut stmt);
            }
            if let Stmt::For { var, tag, body, .. } = &mut stmt {
                if tag.gpu().is_none() && !taken[0] && self.only_sets_others(body, *var) {
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
    fn only_sets_others(&self, body: &[Stmt], var: VarId) -> bool {
        let own = |s: &Stmt| matches!(s, Stmt::Store { array, .. } if self.own.contains(array));
        only_sets(body, var) && !body.last().is_some_and(own)
    }

    /// Of a nest of loops that sets elements, shares one of the outer loops out to the
    /// rows of the block: that which leaves the fewest rows idle.
    fn share_rows(&self, stmt: &mut Stmt) {
        let mut loops = Vec::new();
        let mut at = &*stmt;
        let row = loop {
            let Stmt::For {
                var,
                lo,
                hi,
                tag,
                body,
                ..
            } = at
            else {
                return;
            };
            if tag.gpu().is_some() {
                return;
            }
            if self.only_sets_others(body, *var) {
                break body;
            }
            loops.push((*var, crate::loops::trips::most(hi, lo, &self.known)));
            let Some((inner, before)) = body.split_last() else {
                return;
            };
            if !before.iter().all(|s| matches!(s, Stmt::Let { .. })) {
                return;
            }
            at = inner;
        };
        let rows = i64::from(self.shape.threads[Axis::Y as usize]);
        let candidates = loops.iter().filter(|(var, _)| only_sets(row, *var));
        let best = candidates.max_by_key(|(_, most)| most.unwrap_or(rows).min(rows));
        if let Some(&(chosen, _)) = best {
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

/// Whether the iterations of a loop only set elements, each its own: any thread may do it.
pub(super) fn only_sets(body: &[Stmt], var: VarId) -> bool {
    let Some((
        Stmt::Store {
            array,
            index,
            op: None,
            atomic: false,
            ..
        },
        before,
    )) = body.split_last()
    else {
        return false;
    };
    let mut searched = Vec::new();
    for stmt in before {
        match stmt {
            Stmt::Let { .. } => {}
            Stmt::Search {
                var, array: from, ..
            } if from != array => searched.push(*var),
            Stmt::Search { .. }
            | Stmt::Assign { .. }
            | Stmt::Store { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Alloc { .. }
            | Stmt::Grow { .. }
            | Stmt::Declare { .. }
            | Stmt::Slice { .. }
            | Stmt::Assume { .. }
            | Stmt::Free { .. }
            | Stmt::Fill { .. }
            | Stmt::FailIf { .. }
            | Stmt::Device(_)
            | Stmt::Prefetch { .. }
            | Stmt::Comment(_) => return false,
        }
    }
    let known = super::definitions(before, &|_| false);
    // What is searched differs from iteration to iteration: no index may depend on it.
    let mut found = false;
    visit::expr(&super::inlined(index, &known), &mut |e| {
        found |= matches!(e.kind, ExprKind::Var(v) if searched.contains(&v));
    });
    if found {
        return false;
    }
    let apart = crate::loops::linear::Linear::of(&super::inlined(index, &known))
        .and_then(|sum| sum.split(var))
        .is_some_and(|(factor, _)| factor != 0);
    let mut reads = false;
    visit::stmts(body, &mut |stmt| {
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                reads |= matches!(node.kind, ExprKind::Load { array: from, .. } if from == *array);
            });
        });
    });
    apart && !reads
}
