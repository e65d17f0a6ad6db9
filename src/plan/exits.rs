//! Where a dynamic counted loop ends although its end is not known yet: exit predicates above the
//! innermost loop (003, "introduce them everywhere they may be needed").
//!
//! A loop over a part of `p in lo(i):hi(i)` may run outside of loops over parts of `i`, up to what
//! `inspect` or `bound` says of all i. Of the tile of i that the loops around leave, the most values
//! of any i are found just before: no iteration beyond them would do anything. That costs a pass
//! over the tile, as each iteration of the loop does.

use super::around::Around;
use crate::graph::known::Known;
use crate::graph::order::range_vars;
use crate::graph::relation::Values;
use crate::graph::{Graph, Stmt, Tag, Unit};
use crate::program::ir::VarId;
use crate::units::{GpuLevel, GpuUnit};
use std::collections::BTreeSet;

/// The most values of a bounded variable in the tile that the loops around leave.
#[derive(Clone, Debug)]
pub struct Exit {
    /// The variable that `inspect` or `bound` made: it has so many values below.
    pub bounded: VarId,
    /// The variable of the program whose range data decide.
    pub root: VarId,
    /// The loops below whose variables tell its range, outermost first, and the units of a GPU
    /// that may look for the most together.
    pub over: Vec<(VarId, Option<GpuUnit>)>,
    /// What is left of the loop directly below, where it runs over no others: see [`Live`].
    pub live: Option<Live>,
}

/// A loop over a tile within an ended one: only those of its iterations are gone through again
/// that have values left, as a list that becomes shorter. So rows of any lengths cost what is
/// stored in them, not the longest of their tile.
#[derive(Clone, Debug)]
pub struct Live {
    /// The loop directly below, over the tile.
    pub of: VarId,
    /// How many iterations it has at most.
    pub most: u64,
    /// The loop that is ended.
    pub by: VarId,
    /// The parts of the bounded variable whose loops stand below.
    pub parts: Vec<VarId>,
}

/// No longer a list than this is kept, on the stack.
const LONGEST_LIST: i64 = 4096;

/// What ends the loop over `var` here, if something does that has not ended one around already.
pub(super) fn exit(
    graph: &Graph,
    around: &mut Around,
    var: VarId,
    tag: &Tag,
    body: &Stmt,
) -> Option<Exit> {
    let bounded = bounded(graph, var)?;
    let [root] = graph.provenance.roots(bounded).try_into().ok()?;
    if Known::after(graph, &around.loops).has_range(root) {
        return None;
    }
    let mut needed = BTreeSet::new();
    let mut left = range_vars(graph, root);
    while let Some(var) = left.pop() {
        if needed.insert(var) {
            left.extend(range_vars(graph, var));
        }
    }
    let tells = |v: VarId| graph.provenance.roots(v).iter().any(|r| needed.contains(r));
    let told: Vec<VarId> = around.loops.iter().copied().filter(|&v| tells(v)).collect();
    // Of all there is, the maximum is known.
    if told.is_empty() || around.ended.get(&bounded) == Some(&told) {
        return None;
    }
    let mut below = Below::default();
    below.of(body);
    // The host starts blocks, and does not look at data.
    let blocks = |tag: &Tag| {
        let unit = tag.parallel.as_ref().map(|parallel| parallel.unit);
        matches!(unit, Some(Unit::Gpu(unit)) if unit.level == GpuLevel::Block)
    };
    if blocks(tag) || below.loops.iter().any(|(_, tag)| blocks(tag)) {
        return None;
    }
    // Numbers of iterations that are constants stay so where loops are written out for them.
    let constant = constant(graph, bounded).is_some();
    let part = |&v: &VarId| v == var || graph.provenance.ancestors(v).contains(&bounded);
    let written_out = |tag: &Tag| tag.unroll.is_some() || lanes(tag);
    let own = [(var, tag.clone())];
    let mut parts = own.iter().chain(&below.loops).filter(|(v, _)| part(v));
    if constant && parts.any(|(_, tag)| written_out(tag)) {
        return None;
    }
    let positions = |&v: &VarId| {
        graph
            .provenance
            .position_of(graph.provenance.top_of(v))
            .is_some()
    };
    let mut loops = around.loops.clone();
    let mut over = Vec::new();
    let alone = !around
        .units
        .iter()
        .any(|(_, unit)| threads(*unit).is_some());
    for (v, tag) in &below.loops {
        if !tells(*v) || loops.contains(v) {
            continue;
        }
        if positions(v) {
            return None;
        }
        loops.push(*v);
        let unit = tag
            .parallel
            .as_ref()
            .and_then(|parallel| threads(parallel.unit));
        over.push((*v, unit.filter(|_| alone)));
        if Known::after(graph, &loops).has_range(root) {
            around.ended.insert(bounded, told);
            let live = match over.as_slice() {
                [(of, _)] if below.loops.first().is_some_and(|(first, _)| first == of) => {
                    live(graph, around, (var, tag), &below.loops, part)
                }
                _ => None,
            };
            return Some(Exit {
                bounded,
                root,
                over,
                live,
            });
        }
    }
    None
}

/// The loop directly below, if a list of its iterations is shorter than all of them: it is of
/// constant length and nobody shares it, and nothing stands below for which an iteration that has
/// no values left would be needed.
fn live(
    graph: &Graph,
    around: &Around,
    (by, tag): (VarId, &Tag),
    below: &[(VarId, Tag)],
    part: impl Fn(&VarId) -> bool,
) -> Option<Live> {
    let ((of, own), inside) = below.split_first()?;
    let plain = |tag: &Tag| tag.parallel.is_none() && tag.unroll.is_none();
    let gpu = |unit: Unit| matches!(unit, Unit::Gpu(_));
    let on_gpu = around.units.iter().any(|(_, unit)| gpu(*unit))
        || inside
            .iter()
            .filter_map(|(_, tag)| tag.parallel.as_ref())
            .any(|p| gpu(p.unit));
    let once = inside.iter().all(|(v, _)| v != of);
    let most = constant(graph, *of).filter(|&n| n <= LONGEST_LIST)?;
    if !plain(tag) || !plain(own) || on_gpu || !once || part(of) {
        return None;
    }
    Some(Live {
        of: *of,
        most: u64::try_from(most).ok()?,
        by,
        parts: inside.iter().map(|(v, _)| *v).filter(|v| part(v)).collect(),
    })
}

/// The variable with a bound of which `var` is a part, if data decide how many values it has.
fn bounded(graph: &Graph, var: VarId) -> Option<VarId> {
    let mut at = var;
    while let Some(relation) = graph.provenance.producer(at) {
        let parent = relation.part_of(&graph.provenance)?;
        if relation.is_bounded() && graph.has_dynamic_range(parent) {
            return Some(at);
        }
        at = parent;
    }
    None
}

/// How many values the variable has, if that is a constant.
fn constant(graph: &Graph, var: VarId) -> Option<i64> {
    let size = |s| i64::try_from(graph.function.size(s).value?).ok();
    graph.extent(var)?.eval(&size, &|_| None)
}

fn lanes(tag: &Tag) -> bool {
    let unit = tag.parallel.as_ref().map(|parallel| parallel.unit);
    unit == Some(Unit::CpuVector)
}

/// Units that wait for each other and find a maximum together.
fn threads(unit: Unit) -> Option<GpuUnit> {
    match unit {
        Unit::Gpu(unit) => match unit.level {
            GpuLevel::Thread | GpuLevel::Warp => unit.group.is_none().then_some(unit),
            GpuLevel::Block => None,
        },
        Unit::CpuThread(_) | Unit::CpuVector => None,
    }
}

/// The loops of a statement, outer ones first.
#[derive(Default)]
struct Below {
    loops: Vec<(VarId, Tag)>,
}

impl Below {
    fn of(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Forall { var, tag, body } => {
                self.loops.push((*var, tag.clone()));
                self.of(body);
            }
            Stmt::Within { body, .. } => self.of(body),
            Stmt::Where {
                consumer, producer, ..
            } => {
                self.of(producer);
                self.of(consumer);
            }
            Stmt::Sequence(stmts) => stmts.iter().for_each(|stmt| self.of(stmt)),
            Stmt::Assign(_) => {}
        }
    }
}
