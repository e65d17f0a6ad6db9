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
            if let Stmt::For { var, tag, body, .. } = &mut stmt {
                if tag.gpu.is_none() && !taken[0] && only_sets(body, *var) {
                    *tag = thread_tag(Axis::X);
                } else if tag.gpu.is_none()
                    && taken == [false; 2]
                    && self.shape.threads[Axis::Y as usize] > 1
                    && sets_rows(body, *var)
                {
                    *tag = thread_tag(Axis::Y);
                }
                for (at, axis) in [Axis::X, Axis::Y].into_iter().enumerate() {
                    inside[at] |= tag
                        .gpu
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
}

/// Of a loop over threads.
fn thread_tag(axis: Axis) -> LoopTag {
    LoopTag {
        gpu: Some(GpuUnit {
            level: GpuLevel::Thread,
            axis,
            group: None,
        }),
        ..LoopTag::default()
    }
}

/// Whether a loop's body is another that sets elements, other ones in each iteration.
fn sets_rows(body: &[Stmt], var: VarId) -> bool {
    let Some((
        Stmt::For {
            var: inner,
            tag,
            body: row,
            ..
        },
        before,
    )) = body.split_last()
    else {
        return false;
    };
    let plain = before.iter().all(|s| matches!(s, Stmt::Let { .. }));
    plain && tag.gpu.is_none() && only_sets(row, *inner) && only_sets(row, var)
}

/// Whether the iterations of a loop only set elements, each its own: any thread may do it.
pub(super) fn only_sets(body: &[Stmt], var: VarId) -> bool {
    let Some((
        Stmt::Store {
            array,
            index,
            op: None,
            value,
            atomic: false,
        },
        before,
    )) = body.split_last()
    else {
        return false;
    };
    if !before.iter().all(|s| matches!(s, Stmt::Let { .. })) {
        return false;
    }
    let known = super::definitions(before, &|_| false);
    let apart = crate::loops::linear::Linear::of(&super::inlined(index, &known))
        .and_then(|sum| sum.split(var))
        .is_some_and(|(factor, _)| factor != 0);
    let mut reads = false;
    visit::expr(&super::inlined(value, &known), &mut |e| {
        reads |= matches!(e.kind, ExprKind::Load { array: from, .. } if from == *array);
    });
    apart && !reads
}
