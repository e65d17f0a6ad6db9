//! Rows in which tiles of positions begin, found before the loops (000, figure 2-2).

use super::positions::Counted;
use super::recover::Top;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::graph::{Starts, Unit};
use crate::level::{ArrayRole, Parents};
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, LoopTag, OmpSchedule, Run, ScalarType, Storage};
use crate::loops::trips::Bounds;
use crate::program::ir::VarId;

/// What was found before the loops over the tiles of positions.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// The number of the tile, and what counts within it.
    tile: VarId,
    inner: VarId,
    /// For each level with a `pos` array: the first position of the level above whose elements
    /// begin behind where the tile begins; one for each tile, and one for the end.
    starts: Vec<(usize, ArrayId)>,
}

impl Lowerer<'_> {
    /// Finds what is found before the loops: where parts begin, and the rows of all tiles that the
    /// schedule wants found there.
    pub(super) fn find_starts(&self, scope: &mut Scope) -> Lower<Vec<ir::Stmt>> {
        let mut out = self.find_parts(scope)?;
        for starts in self.graph.starts.clone() {
            let Some(counted) = self.counted(starts.pos) else {
                continue;
            };
            out.extend(self.prepare(starts.tile, scope)?);
            let tile_name = self.graph.var(starts.tile).name.clone();
            let tiles = self.own_extent(starts.tile, scope)?;
            let tiles = self.named(&format!("{tile_name}_count"), tiles, &mut out);
            let count = b::add(tiles, b::int(1));
            let Some(mut found) = self.tiles(&starts) else {
                continue;
            };
            let tensor = self.tree.table.get(counted.id).access.tensor;
            for level in (counted.first + 1..=counted.last()).rev() {
                let Some(pos) = self.level(tensor, level).array(ArrayRole::Positions) else {
                    continue;
                };
                let name = format!("{}{level}", self.tensor(tensor).name);
                // Rows are as many as the dimensions say, whatever the width of positions.
                let array = self.array(&format!("{name}_starts"), ScalarType::I64, Storage::Local);
                let (t, tile) = self.fresh_index("tile", false);
                let lo = self.first_position((&starts, &counted), &found, (&tile, level), scope)?;
                let all = scope.segments[&starts.pos][level - 1 - counted.first].clone();
                let (start, value) = self.fresh_index(&format!("{name}_start"), false);
                out.push(ir::Stmt::Alloc {
                    array,
                    count: count.clone(),
                    zeroed: false,
                });
                let search = ir::Stmt::Search {
                    var: start,
                    array: pos,
                    lo: all.lo,
                    hi: all.hi,
                    key: b::add(lo, b::int(1)),
                    by: ir::Look::Bisect,
                };
                let store = b::store(array, tile, value);
                let tag = self.starts_tag(&|var| var == starts.tile);
                let tiles = Bounds::of(b::int(0), count.clone());
                out.push(tiles.each(t, tag, vec![search, store]));
                self.memory.freed(array);
                found.starts.push((level, array));
            }
            let remark = Diagnostic::performance(
                performance::SEARCH,
                starts.span,
                format!("`starts({tile_name}, before)` has nothing to do"),
                "no row is searched in its tiles",
            )
            .with_help("leave it out");
            let arrays = found.starts.iter().map(|(_, array)| *array).collect();
            self.remarks.say_if_unread(arrays, remark);
            scope.tiles.insert(starts.pos, found);
        }
        Ok(out)
    }

    fn tiles(&self, starts: &Starts) -> Option<Tiles> {
        let tiles = self.graph.provenance.tiles(starts.tile)?;
        Some(Tiles {
            tile: starts.tile,
            inner: tiles.inner,
            starts: Vec::new(),
        })
    }

    /// The first position of `level` in a tile.
    fn first_position(
        &self,
        (starts, counted): (&Starts, &Counted),
        found: &Tiles,
        (tile, level): (&Expr, usize),
        scope: &Scope,
    ) -> Lower<Expr> {
        let segments = scope.segments[&starts.pos].clone();
        let tensor = self.tree.table.get(counted.id).access.tensor;
        let mut inside = scope.clone();
        inside.coords.insert(starts.tile, tile.clone());
        let base = match self.step(found.inner, &inside)?.top {
            Top::Position { base, .. } => base,
            Top::Nothing | Top::Root(_) | Top::Fused { .. } => b::int(0),
        };
        let begin = segments.last().map_or_else(|| b::int(0), |s| s.lo.clone());
        let mut first = b::add(begin, base);
        for below in (level + 1..=counted.last()).rev() {
            if let Some((_, array)) = found.starts.iter().find(|(l, _)| *l == below) {
                let after = self.load_index(*array, tile.clone());
                let all = segments[below - 1 - counted.first].lo.clone();
                first = b::max(b::sub(after, b::int(1)), all);
            } else if let Parents::Known(above) = self
                .level(tensor, below)
                .parents(first.clone()..first.clone())
            {
                first = above.start;
            }
        }
        Ok(first)
    }

    /// Threads find what is found before loops where threads run them.
    pub(super) fn starts_tag(&self, of: &dyn Fn(VarId) -> bool) -> LoopTag {
        let mut threads = false;
        self.graph.visit_nests(&mut |nest| {
            for l in nest.loops.iter().filter(|l| of(l.var)) {
                let unit = l.tag.parallel.as_ref().map(|parallel| parallel.unit);
                threads |= matches!(unit, Some(Unit::CpuThread(_)));
            }
        });
        let run = if threads {
            Run::Threads {
                schedule: OmpSchedule::Default,
                shares: None,
                reductions: Vec::new(),
            }
        } else {
            Run::Serial
        };
        LoopTag {
            run,
            ..LoopTag::default()
        }
    }

    /// Between which positions of the level above `level` the part of the positions `pos` that
    /// the loops have reached is searched: those of its tile, if they were found before.
    pub(super) fn between(
        &self,
        pos: VarId,
        level: usize,
        all: &Bounds,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> (Expr, Expr) {
        let Some(tiles) = scope.tiles.get(&pos) else {
            return (all.lo.clone(), all.hi.clone());
        };
        let found = tiles.starts.iter().find(|(l, _)| *l == level);
        let (Some((_, array)), Some(tile)) = (found, self.offset(tiles.tile, scope)) else {
            return (all.lo.clone(), all.hi.clone());
        };
        let name = self.names.array_name(*array).replace("_starts", "");
        let next = b::add(tile.clone(), b::int(1));
        let (lo, hi) = (self.load_index(*array, tile), self.load_index(*array, next));
        (
            self.named(&format!("{name}_from"), lo, out),
            self.named(&format!("{name}_to"), hi, out),
        )
    }

    /// Whether `var` runs over a whole tile whose row was found before.
    pub(super) fn is_whole_tile(&self, pos: VarId, var: VarId, scope: &Scope) -> bool {
        scope
            .tiles
            .get(&pos)
            .is_some_and(|tiles| tiles.inner == var && self.offset(tiles.tile, scope).is_some())
    }
}
