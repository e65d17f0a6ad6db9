//! Where a dynamic counted loop ends although its end is not known yet: exit predicates above the
//! innermost loop (003, "introduce them everywhere they may be needed").
//!
//! A loop over a part of `p in lo(i):hi(i)` may run outside of loops over parts of `i`, up to what
//! `inspect` or `bound` says of all i. Of the tile of i that the loops around leave, the most
//! values of any i are found just before: no iteration beyond them would do anything. That costs a
//! pass over the tile, as each iteration of the loop does.

use super::{Inside, Loop, Node, Over, Then};
use crate::graph::known::Known;
use crate::graph::order::all_range_vars;
use crate::graph::relation::{Relation, Values};
use crate::graph::{Graph, Tag, Unit};
use crate::program::ir::VarId;
use crate::units::{GpuLevel, GpuUnit};
use std::collections::BTreeMap;

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

/// A loop over parts of a bounded variable's tile, others of which are gone through inside: it ends where no value of
/// that variable is left, if that is known there, although the tile has room for more.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The variable that `inspect` or `bound` made.
    pub bounded: VarId,
    /// How many of its values each iteration goes through.
    pub size: i64,
    /// The parts whose loops stand below.
    pub below: Vec<VarId>,
}

/// No longer a list than this is kept, on the stack.
const LONGEST_LIST: i64 = 4096;

/// Finds what ends the loops of a plan.
pub(super) fn find(graph: &Graph, body: &mut Inside) {
    Finder { graph }.inside(body, &Place::default());
}

struct Finder<'g> {
    graph: &'g Graph,
}

/// A place in the loops.
#[derive(Clone, Default)]
struct Place {
    loops: Vec<VarId>,
    units: Vec<Unit>,
    /// Bounded variables whose loops have an end already, and the loops around that gave it.
    ended: BTreeMap<VarId, Vec<VarId>>,
}

/// A loop below.
struct Below {
    var: VarId,
    tag: Tag,
    /// It runs over a range: what is stored is not walked for a pass over all.
    every: bool,
}

impl Finder<'_> {
    fn inside(&self, inside: &mut Inside, place: &Place) {
        match &mut inside.then {
            Then::One(node) => self.node(node, place),
            Then::Apart(parts) => parts.iter_mut().for_each(|part| self.inside(part, place)),
        }
    }

    fn node(&self, node: &mut Node, place: &Place) {
        match node {
            Node::Loop(l) => {
                let mut inner = place.clone();
                l.exit = self.exit(l, &mut inner);
                // Lists end by themselves.
                let lists = l.exit.as_ref().is_some_and(|exit| exit.live.is_some());
                l.parts = self.parts(l, place).filter(|_| !lists);
                inner.loops.push(l.var);
                inner.units.extend(l.tag.parallel.as_ref().map(|p| p.unit));
                for body in l.over.bodies_mut() {
                    self.inside(body, &inner);
                }
            }
            Node::Within { body, .. } => self.node(body, place),
            Node::Workspace(workspace) => {
                self.node(&mut workspace.producer, place);
                self.node(&mut workspace.consumer, place);
            }
            Node::Sequence(nodes) => nodes.iter_mut().for_each(|node| self.node(node, place)),
            Node::Guarded(_, body) => self.inside(body, place),
            Node::Assign(..) => {}
        }
    }

    /// What ends a loop at a place, if something does that has not ended one around already.
    fn exit(&self, l: &Loop, place: &mut Place) -> Option<Exit> {
        let graph = self.graph;
        let Over::Every { body, .. } = &l.over else {
            return None;
        };
        let bounded = bounded(graph, l.var)?;
        if graph.provenance.is_measured(bounded) {
            return None;
        }
        let [root] = graph.provenance.roots(bounded).try_into().ok()?;
        if Known::after(graph, &place.loops).has_range(root) {
            return None;
        }
        let needed = all_range_vars(graph, root);
        let tells = |v: VarId| graph.provenance.roots(v).iter().any(|r| needed.contains(r));
        let told: Vec<VarId> = place.loops.iter().copied().filter(|&v| tells(v)).collect();
        // Of all there is, the maximum is known.
        if told.is_empty() || place.ended.get(&bounded) == Some(&told) {
            return None;
        }
        let below = loops_of(body);
        let own = below.iter().map(|b| (b.var, &b.tag));
        let own: Vec<(VarId, &Tag)> = [(l.var, &l.tag)].into_iter().chain(own).collect();
        // The host starts blocks, and does not look at data.
        if own.iter().any(|(_, tag)| is_block(tag)) {
            return None;
        }
        // Numbers of iterations that are constants stay so where loops are written out for them.
        let part = |v: VarId| graph.provenance.ancestors(v).contains(&bounded);
        let mut parts = own.iter().filter(|(v, _)| part(*v));
        if constant(graph, bounded).is_some() && parts.any(|(_, tag)| is_written_out(tag)) {
            return None;
        }
        let over = self.tile(root, &below, tells, place)?;
        let live = match (over.as_slice(), below.as_slice()) {
            ([(of, _)], [first, rest @ ..]) if first.var == *of => {
                self.live(l, first, rest, part, place)
            }
            _ => None,
        };
        place.ended.insert(bounded, told);
        Some(Exit {
            bounded,
            root,
            over,
            live,
        })
    }

    /// What a loop over parts of a tile is of, if it may end early: one whose iterations are written out has as
    /// many as the tile, and threads of a GPU stay together.
    fn parts(&self, l: &Loop, place: &Place) -> Option<Parts> {
        let Over::Every { body, .. } = &l.over else {
            return None;
        };
        let apart = place.units.iter().any(|&unit| threads(unit).is_some());
        if apart || l.tag.parallel.is_some() || l.tag.unroll.is_some() {
            return None;
        }
        let provenance = &self.graph.provenance;
        let bounded = bounded(self.graph, l.var)?;
        let size = self.size_of_part(l.var, bounded)?;
        let is_part = |v: &VarId| *v != bounded && provenance.ancestors(*v).contains(&bounded);
        let below: Vec<VarId> = loops_of(body).iter().map(|b| b.var).collect();
        let below: Vec<VarId> = below.into_iter().filter(is_part).collect();
        (!below.is_empty()).then_some(Parts {
            bounded,
            size,
            below,
        })
    }

    /// How many values of a bounded variable each value of a part of its tiles stands for. `None` of tiles: their
    /// number is known by that of the values; or if there are more than numbers.
    fn size_of_part(&self, part: VarId, bounded: VarId) -> Option<i64> {
        let provenance = &self.graph.provenance;
        let (mut at, mut size, mut of_tile) = (part, 1_i64, false);
        while at != bounded {
            let tiles = provenance.tiles(at)?;
            if tiles.outer == at {
                size = size.checked_mul(constant(self.graph, tiles.inner)?)?;
            } else {
                of_tile |= at != part;
            }
            at = tiles.whole;
        }
        of_tile.then_some(size)
    }

    /// The loops below that tell the range of `root`, and who looks for the longest together.
    fn tile(
        &self,
        root: VarId,
        below: &[Below],
        tells: impl Fn(VarId) -> bool,
        place: &Place,
    ) -> Option<Vec<(VarId, Option<GpuUnit>)>> {
        let alone = !place.units.iter().any(|&unit| threads(unit).is_some());
        let mut loops = place.loops.clone();
        let mut over = Vec::new();
        for Below { var, tag, every } in below {
            if !tells(*var) || loops.contains(var) {
                continue;
            }
            if !every {
                return None;
            }
            loops.push(*var);
            let unit = tag.parallel.as_ref().and_then(|p| threads(p.unit));
            over.push((*var, unit.filter(|_| alone)));
            if Known::after(self.graph, &loops).has_range(root) {
                return Some(over);
            }
        }
        None
    }

    /// The loop directly below, if a list of its iterations is shorter than all of them: it is of
    /// constant length and nobody shares it, and nothing stands below for which an iteration that
    /// has no values left would be needed.
    fn live(
        &self,
        ended: &Loop,
        of: &Below,
        inside: &[Below],
        part: impl Fn(VarId) -> bool,
        place: &Place,
    ) -> Option<Live> {
        let plain = |tag: &Tag| tag.parallel.is_none() && tag.unroll.is_none();
        let below = inside.iter().filter_map(|l| l.tag.parallel.as_ref());
        let mut units = place.units.iter().copied().chain(below.map(|p| p.unit));
        let on_gpu = units.any(|unit| matches!(unit, Unit::Gpu(_)));
        let once = inside.iter().all(|l| l.var != of.var);
        let most = constant(self.graph, of.var).filter(|&n| n <= LONGEST_LIST)?;
        if !self.fills_tiles(ended.var) {
            return None;
        }
        if !plain(&ended.tag) || !plain(&of.tag) || on_gpu || !once || part(of.var) {
            return None;
        }
        Some(Live {
            of: of.var,
            most: u64::try_from(most).ok()?,
            by: ended.var,
            parts: inside.iter().map(|l| l.var).filter(|&v| part(v)).collect(),
        })
    }

    /// Whether the tiles that a variable numbers, if it numbers any, fill each tile around them: its first iteration is
    /// one of each.
    fn fills_tiles(&self, var: VarId) -> bool {
        let provenance = &self.graph.provenance;
        let mut at = var;
        while !provenance.producer(at).is_none_or(Relation::is_bounded) {
            let Some(tiles) = provenance.tiles(at) else {
                return false;
            };
            let around = provenance.producer(tiles.whole);
            let sizes = [tiles.whole, tiles.inner].map(|part| constant(self.graph, part));
            let even =
                matches!(sizes, [Some(whole), Some(tile)] if whole.checked_rem(tile) == Some(0));
            if !even && !around.is_none_or(Relation::is_bounded) {
                return false;
            }
            at = tiles.whole;
        }
        true
    }
}

/// The loops in a body, outer ones first.
fn loops_of(body: &Inside) -> Vec<Below> {
    let mut loops = Vec::new();
    body.each(&mut |node| {
        if let Node::Loop(l) = node {
            loops.push(Below {
                var: l.var,
                tag: l.tag.clone(),
                every: matches!(l.over, Over::Every { .. }),
            });
        }
    });
    loops
}

/// The variable with a bound of which `var` is a part, if data decide how many values it has.
fn bounded(graph: &Graph, var: VarId) -> Option<VarId> {
    let mut at = var;
    while let Some(relation) = graph.provenance.producer(at) {
        let parent = relation.part_of(at, &graph.provenance)?;
        if relation.is_bounded() && graph.has_dynamic_range(parent) {
            return Some(at);
        }
        at = parent;
    }
    None
}

/// How many values the variable has, if that is a constant.
fn constant(graph: &Graph, var: VarId) -> Option<i64> {
    graph.function.constant(&graph.extent(var)?)
}

/// Whether the loop's iterations are written one by one, or done side by side in a vector.
fn is_written_out(tag: &Tag) -> bool {
    let unit = tag.parallel.as_ref().map(|parallel| parallel.unit);
    tag.unroll.is_some() || unit == Some(Unit::CpuVector)
}

fn is_block(tag: &Tag) -> bool {
    let unit = tag.parallel.as_ref().map(|parallel| parallel.unit);
    matches!(unit, Some(Unit::Gpu(unit)) if unit.level == GpuLevel::Block)
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
