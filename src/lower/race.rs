//! Writes that iterations of a parallel loop compete for, settled as the plan says
//! (`plan/contest.rs`). Where a tile of positions is walked row by row, only its first and last
//! row can be shared with other tiles: the rows between are plain stores.

use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::{Race, Tag, Unit};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, BinaryOp, Expr, Jam, LoopTag, Run};
use crate::loops::visit;
use crate::plan::{Loop, Write};
use crate::program::ir::{ReduceOp, TensorId, VarId};

impl Lowerer<'_> {
    /// Prepares a loop for what its iterations compete for: statements before it go to `out`,
    /// those after it are returned.
    pub(super) fn enter_race(
        &self,
        l: &Loop,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let (Some(parallel), Some(contest)) = (&l.tag.parallel, &l.contest) else {
            return Vec::new();
        };
        self.note_unroll(l.var, &l.tag, "its iterations are shared out already");
        scope.units.push(l.var);
        let scalars = contest.reduced.iter();
        let reduced = scalars.filter_map(|(op, t)| Some((*op, self.names.scalar(*t)?)));
        scope.reductions = reduced.collect();
        // One unit with a term is enough.
        if let Some(flag) = scope.touched.filter(|_| contest.adds) {
            scope.reductions.push((ReduceOp::Or, flag));
        }
        let gpu = matches!(parallel.unit, Unit::Gpu(_));
        self.copies(contest, gpu, scope, out)
    }

    /// Says when a loop is not unrolled although the schedule says so.
    pub(super) fn note_unroll(&self, var: VarId, tag: &Tag, why: &str) {
        if tag.unroll.is_none() {
            return;
        }
        // Loops that lowering opens have tags of the loop that they come from, which is the schedule's.
        let mut own = None;
        self.graph.visit_nests(&mut |nest| {
            for l in nest.loops.iter().filter(|l| l.tag == *tag) {
                if l.var == var || (own.is_none() && self.comes_from(var, l.var)) {
                    own = Some(l.var);
                }
            }
        });
        let name = &self.graph.var(own.unwrap_or(var)).name;
        let span = tag.parallel.as_ref().map_or(self.span, |p| p.span);
        let message = format!("the loop over `{name}` is not unrolled");
        let remark = Diagnostic::performance(performance::SERIAL, span, message, why);
        let is_shared = tag.parallel.is_some();
        self.remarks.say_once(if !is_shared {
            remark.with_help(format!("`split` {name} and unroll the inner part"))
        } else if own == Some(var) {
            remark.with_help(format!(
                "`split` {name} first, share out the outer part and unroll the inner one"
            ))
        } else {
            remark
        });
    }

    /// Whether a loop over one variable is left of a loop over another that was opened.
    fn comes_from(&self, var: VarId, opened: VarId) -> bool {
        let roots = self.graph.provenance.roots(opened);
        let own = self.graph.provenance.roots(var);
        own.iter().all(|root| roots.contains(root))
    }

    /// How the loop IR runs a loop.
    pub(super) fn loop_tag(&self, tag: &Tag, scope: &Scope) -> LoopTag {
        let reductions = scope.reductions.clone();
        let run = match tag.parallel.as_ref().map(|parallel| parallel.unit) {
            None => Run::Serial,
            Some(Unit::CpuThread(schedule)) => Run::Threads {
                schedule,
                shares: None,
                reductions,
            },
            Some(Unit::CpuVector) => Run::Lanes {
                count: None,
                reductions,
            },
            Some(Unit::Gpu(unit)) => Run::Unit { unit, reductions },
        };
        // Whoever shares iterations takes them as they are: full tiles of them are nobody's.
        let unroll = match run {
            Run::Serial | Run::Lanes { .. } => tag.unroll,
            Run::Threads { .. } | Run::Unit { .. } => None,
        };
        LoopTag {
            run,
            unroll,
            reversed: false,
            function: None,
            jam: Jam::Free,
            races_ignored: (tag.parallel.as_ref()).is_some_and(|p| p.race == Race::IgnoreRaces),
        }
    }

    /// The same of a loop over the rows of which threads get equal shares, if the plan says so.
    pub(super) fn shared_tag(&self, l: &Loop, scope: &Scope) -> LoopTag {
        let mut own = self.loop_tag(&l.tag, scope);
        if let Run::Threads {
            shares, reductions, ..
        } = &mut own.run
            && let (Some((id, level)), true) = (l.shares, reductions.is_empty())
        {
            let tensor = self.tree.table.get(id).access.tensor;
            *shares = self.level(tensor, level).array(ArrayRole::Positions);
        }
        own
    }

    /// `array[index] op= value`, as the plan says.
    pub(super) fn store(
        &self,
        (tensor, array): (TensorId, ArrayId),
        (index, op, value): (Expr, Option<ReduceOp>, Expr),
        write: &Write,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let plain = ir::Stmt::Store {
            array,
            index: index.clone(),
            op,
            value: value.clone(),
            atomic: false,
        };
        let vars = match (write, op) {
            (Write::Plain, _) => return Ok(vec![plain]),
            (Write::Segment(lanes), Some(op)) => {
                return Ok(vec![ir::Stmt::Device(ir::Device::SegmentStore {
                    array,
                    index,
                    op,
                    value,
                    lanes: *lanes,
                })]);
            }
            (Write::Segment(_), None) => [].as_slice(),
            (Write::InTurn(vars), _) => vars,
        };
        let mut before = Vec::new();
        let value = self.unconditional("value", value, &mut before);
        let index = self.unconditional("at", index, &mut before);
        before.push(ir::Stmt::Store {
            array,
            index,
            op,
            value,
            atomic: true,
        });
        Ok(match self.row_is_whole(vars, tensor, scope)? {
            Some(whole) => vec![b::if_else(whole, vec![plain], before)],
            None => before,
        })
    }

    /// The expression under a name if it evaluates some parts only on a condition: gcc 12
    /// evaluates all of what stands in `#pragma omp atomic`, loads of absent elements too.
    fn unconditional(&self, name: &str, e: Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        let mut conditional = false;
        visit::expr(&e, &mut |node| {
            conditional |= matches!(
                node.kind,
                ir::ExprKind::Select(..)
                    | ir::ExprKind::Binary(ir::BinaryOp::And | ir::BinaryOp::Or, ..)
            );
        });
        if !conditional {
            return e;
        }
        let var = self.fresh(name, e.ty, false);
        let named = b::var(var, e.ty);
        out.push(b::bind(var, e));
        named
    }

    /// Where the loops over `vars` share out tiles of positions and a row of them is at
    /// hand: whether the row lies wholly in the tile.
    fn row_is_whole(&self, vars: &[VarId], tensor: TensorId, scope: &Scope) -> Lower<Option<Expr>> {
        let graph = self.graph;
        let position = |var: &VarId| {
            let pos = graph.provenance.position_of(*var)?;
            Some((pos.parent, &pos.access))
        };
        let Some((parent, access)) = vars.first().and_then(position) else {
            return Ok(None);
        };
        let same = |var: &VarId| position(var).is_some_and(|(p, _)| p == parent);
        if !vars.iter().all(same) {
            return Ok(None);
        }
        let roots = self.graph.provenance.coordinates(parent);
        let Some(id) = self.tree.table.find(access) else {
            return Ok(None);
        };
        let level = self.cursor(scope, id).level;
        let format = &self.tensor(access.tensor).format;
        let last = level + 1 == format.order()
            && roots.last().copied() == access.subscripts[format.modes[level]].as_var();
        let above = &roots[..roots.len().saturating_sub(1)];
        let stored =
            self.tree.nests.iter().any(|nest| {
                nest.tensor == tensor && above.iter().all(|root| nest.lhs.contains(root))
            });
        let Some(clip) = scope.windows.get(&(id, level)).cloned() else {
            return Ok(None);
        };
        if !last || !stored || clip.absolute || above.is_empty() {
            return Ok(None);
        }
        let row = self.segment(id, scope)?;
        // A run that touches the end of its tile may go on in the next one.
        let (from, to) = if row.run {
            (BinaryOp::Gt, BinaryOp::Lt)
        } else {
            (BinaryOp::Ge, BinaryOp::Le)
        };
        Ok(Some(b::and(
            b::binary(from, row.begin, clip.bounds.lo),
            b::binary(to, row.end, clip.bounds.hi),
        )))
    }
}
