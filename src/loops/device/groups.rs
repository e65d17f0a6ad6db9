//! Loops whose threads store by segments (001, 5).

use super::Refusal;
use super::barriers::Pending;
use super::ir::Device;
use super::spmd::{Site, Spmd};
use crate::loops::build as b;
use crate::loops::ir::{Axis, Expr, LoopTag, ScalarType, Stmt, VarId};
use crate::loops::trips::Bounds;
use crate::loops::uniform::{Uniform, Units};
use crate::loops::visit;

impl Spmd<'_> {
    /// A loop whose iterations store by segments: all threads of a group come to the
    /// store, those without an iteration with nothing to add (001, 5.2).
    pub(super) fn group(
        &mut self,
        (var, Bounds { lo, hi, most }): (VarId, Bounds),
        (start, count, single): (Expr, u32, bool),
        body: Vec<Stmt>,
        inside: &Site,
        pending: &mut Pending,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Refusal> {
        refuse_divergence(&body, var)?;
        let mut inside = inside.clone();
        let name = self.kernel.var(var).name.clone();
        let raw = self
            .kernel
            .fresh_var(&format!("{name}_own"), ScalarType::I64, false);
        let own = b::var(raw, ScalarType::I64);
        inside.live = Some(b::lt(own.clone(), hi.clone()));
        let last = b::sub(hi.clone(), b::int(1));
        let mut all = Vec::new();
        let mut list = if single {
            self.list(body, &inside, pending)?
        } else {
            self.inner(body, Some(var), &inside, pending)?
        };
        let clamp = b::bind(var, b::min(own, last));
        if single {
            all.push(b::bind(raw, start));
            all.push(clamp);
            all.append(&mut list);
            out.push(b::if_then(b::lt(lo, hi), all));
            return Ok(());
        }
        let tile = self
            .kernel
            .fresh_var(&format!("{name}_tile"), ScalarType::I64, false);
        let base = b::var(tile, ScalarType::I64);
        let index = crate::loops::linear::sub(&start, &lo);
        all.push(b::bind(raw, b::add(base, index)));
        all.push(clamp);
        all.append(&mut list);
        let tiles = Bounds { lo, hi, most };
        out.push(tiles.every(i64::from(count), tile, LoopTag::default(), all));
        Ok(())
    }
}

impl Spmd<'_> {
    /// Refuses a loop whose iterations threads of one group would share out while another
    /// loop is the group's: groups are of threads that follow one another, along x first.
    pub(super) fn refuse_split_groups(
        &self,
        (var, axis): (VarId, Axis),
        body: &[Stmt],
        exact: bool,
    ) -> Result<(), Refusal> {
        let stride = match axis {
            Axis::X => 1,
            Axis::Y => self.shape.threads[0],
            Axis::Z => self.shape.threads[0] * self.shape.threads[1],
        };
        if segment_size(body).is_none_or(|size| size <= stride) {
            return Ok(());
        }
        if exact {
            return refuse_divergence(body, var);
        }
        Err(Refusal::new(
            "threads of a segment group would not all come to where it reduces",
            format!(
                "threads that follow one another share `{}`: group a loop that threads along x \
                 share, and share this one out along y",
                self.kernel.var(var).name
            ),
        ))
    }
}

/// Whether a store by segments stands inside.
pub(super) fn has_segments(body: &[Stmt]) -> bool {
    segment_size(body).is_some()
}

/// The size of the largest groups that store by segments inside.
fn segment_size(body: &[Stmt]) -> Option<u32> {
    let mut found = None;
    visit::stmts(body, &mut |s| {
        if let Stmt::Device(Device::SegmentStore { lanes, .. }) = s {
            found = found.max(Some(*lanes));
        }
    });
    found
}

/// Refuses stores by segments that not all threads of a group would come to, because whether
/// they do depends on `var`.
fn refuse_divergence(body: &[Stmt], var: VarId) -> Result<(), Refusal> {
    let uniform = Uniform::with(body, var);
    let mut diverges = false;
    visit::stmts(body, &mut |stmt| {
        if visit::bodies(stmt).into_iter().any(has_segments) {
            visit::own_exprs(stmt, &mut |e| {
                diverges |= uniform.units(e, Units::ALL).meets(Units::ITERATION);
            });
        }
    });
    if diverges {
        return Err(Refusal::new(
            "threads of a segment group would not all come to where it reduces",
            "a loop around the result depends on the element at hand; bring it outside the \
             loop of the group, or reduce with Atomics",
        ));
    }
    Ok(())
}
