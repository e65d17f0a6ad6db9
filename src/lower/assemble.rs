//! Where a sparse result goes: its elements are appended in the order of its levels.
//!
//! Levels that append form *groups* with one counter each: a compressed level
//! alone, or a non-unique one with the singletons below it, whose coordinates are
//! all written when the innermost is. A coordinate of an outer group is committed
//! when something was appended below it. Capacity grows geometrically; values are
//! computed once.

use super::present::Noted;
use super::spread::Rows;
use super::table::Table;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{lower as codes, performance};
use crate::graph::Relation;
use crate::level::{ArrayRole, Growth};
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ScalarType};
use crate::program::ir::{ReduceOp, TensorId, VarId};

/// How the result of the nest at hand is put together.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    pub(super) tensor: TensorId,
    pub(super) lhs: Vec<VarId>,
    pub(super) groups: Vec<Group>,
    /// Room of the values, where dense levels below the last group give each of its
    /// positions a block of its own.
    pub(super) block_capacity: Option<ir::VarId>,
    /// Elements come in any order: where they end is noted behind all loops.
    pub(super) collected: bool,
    pub(super) pass: Pass,
    /// Levels that say which elements are there.
    pub(super) noted: Vec<Noted>,
}

/// What the loops at hand do to a result that is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// They store elements and make room for them.
    Growing,
    /// They store elements where there is room for all that operands let there be.
    Bounded,
    /// They count elements.
    Counting,
    /// They store elements where there is room.
    Filling,
    /// They store values where the coordinates are there, and note in the variable if these are
    /// others.
    Kept(ir::VarId),
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) counter: ir::VarId,
    pub(super) capacity: ir::VarId,
    pub(super) pos: ArrayId,
    /// Where its coordinates are found, if the level keeps a table.
    pub(super) table: Option<Table>,
    /// Room of `pos`, where the number of parents is not known beforehand.
    pub(super) pos_capacity: Option<ir::VarId>,
    /// How many elements all iterations together append, where each has a counter of its own.
    pub(super) total: Option<ir::VarId>,
    /// Where the elements of each iteration begin, if iterations are shared out.
    pub(super) begins: Option<ArrayId>,
    /// In loops that fill: up to where elements are those of the iteration at hand, or of the row
    /// whose coordinates are there. What is stored for an element that may be none must not be stored
    /// behind.
    pub(super) end: Option<ir::VarId>,
    /// Whether segments end behind the loops, or have ended before.
    pub(super) ended: bool,
    /// Where the next element of each row goes, if loops come to rows in any order.
    pub(super) rows: Option<Rows>,
    /// Whether each coordinate of the first level is searched, since iterations that come to it are
    /// shared out and elements are there.
    pub(super) searched: bool,
}

impl Group {
    /// `stmts`, which may store an element, where there is one to be stored.
    pub(super) fn unless_full(&self, stmts: Vec<ir::Stmt>) -> Vec<ir::Stmt> {
        let Some(end) = self.end else {
            return stmts;
        };
        vec![b::if_then(b::lt(index(self.counter), index(end)), stmts)]
    }

    /// How many elements there are behind the loops.
    pub(super) fn all(&self) -> Expr {
        index(self.total.unwrap_or(self.counter))
    }
}

/// The path of the result at a place in the loops.
#[derive(Clone, Debug)]
pub(crate) struct ResultCursor {
    pub tensor: TensorId,
    pub level: usize,
    pub pos: Expr,
    /// Coordinates of the group's outer levels, not yet written.
    pub(super) pending: Vec<Expr>,
    /// The positions at the levels that note which elements are there.
    pub(super) passed: Vec<(usize, Expr)>,
    /// Where coordinates are there: whether the outer ones are, if that has to be asked.
    pub(super) there: Option<Expr>,
}

impl Assembly {
    pub(super) fn start(&self) -> ResultCursor {
        ResultCursor {
            tensor: self.tensor,
            level: 0,
            pos: b::int(0),
            pending: Vec::new(),
            passed: Vec::new(),
            there: None,
        }
    }

    /// Where its coordinates are there: the variable that says that they are others.
    pub(super) fn kept(&self) -> Option<ir::VarId> {
        match self.pass {
            Pass::Kept(changed) => Some(changed),
            Pass::Growing | Pass::Bounded | Pass::Counting | Pass::Filling => None,
        }
    }

    /// Makes room, if it is not there already.
    pub(super) fn grow(&self, capacity: ir::VarId, needed: Expr) -> Option<ir::Stmt> {
        (self.pass == Pass::Growing).then_some(ir::Stmt::Grow { capacity, needed })
    }

    pub(super) fn group_of(&self, level: usize) -> Option<usize> {
        self.groups
            .iter()
            .position(|g| (g.first..=g.last).contains(&level))
    }
}

pub(super) fn index(var: ir::VarId) -> Expr {
    b::var(var, ScalarType::I64)
}

impl Lowerer<'_> {
    /// Counters and capacities of a sparse result.
    pub(super) fn begin_assembly(
        &self,
        id: TensorId,
        lhs: &[VarId],
        kept: Option<ir::VarId>,
    ) -> Lower<Assembly> {
        let tensor = self.tensor(id).clone();
        let format = &tensor.format;
        let mut groups: Vec<Group> = Vec::new();
        let mut level = 0;
        while level < format.order() {
            if format.levels[level].ty().growth() == Growth::Placed {
                level += 1;
                continue;
            }
            let mut last = level;
            while !format.levels[last].unique
                && format
                    .levels
                    .get(last + 1)
                    .is_some_and(|next| next.ty().growth() == Growth::Joined)
            {
                last += 1;
            }
            let nested = !format.levels[last].unique && last + 1 < format.order();
            let pos = self.level(id, level).array(ArrayRole::Positions);
            let (Some(pos), false) = (pos, nested) else {
                return Err(self
                    .error(
                        codes::NONUNIQUE_CHILD,
                        format!(
                            "a result with the levels of `{}` is not supported yet",
                            tensor.name
                        ),
                        "written here",
                    )
                    .with_help("let only `singleton` levels follow a non-unique one"));
            };
            let name = format!("{}{}", tensor.name, level + 1);
            let fixed = groups.is_empty();
            groups.push(Group {
                first: level,
                last,
                counter: self.fresh(&format!("p{name}"), ScalarType::I64, true),
                capacity: self.fresh(&format!("{name}_capacity"), ScalarType::I64, true),
                pos,
                table: self.level(id, level).array(ArrayRole::Table).map(|array| {
                    let capacity = format!("{name}_table_capacity");
                    let capacity = self.fresh(&capacity, ScalarType::I64, true);
                    Table { array, capacity }
                }),
                pos_capacity: (!fixed)
                    .then(|| self.fresh(&format!("{name}_pos_capacity"), ScalarType::I64, true)),
                total: None,
                begins: None,
                end: kept.map(|_| self.fresh(&format!("p{name}_end"), ScalarType::I64, false)),
                ended: false,
                rows: None,
                searched: kept.is_some() && level == 0 && self.is_shared_out(id),
            });
            level = last + 1;
        }
        let bounded = self.tree.counted.is_none() && self.tree.most.contains_key(&id);
        if !self.graph.is_added(id) && self.tree.counted.is_none() && !bounded && kept.is_none() {
            self.remarks.say(
                Diagnostic::performance(
                    performance::GROWS,
                    self.span,
                    format!("the sparse result `{}` grows step by step", tensor.name),
                    "its number of stored elements is not known before",
                )
                .with_help(format!(
                    "`assemble({}, two_phase)` counts first, as do loops that are shared out",
                    tensor.name
                )),
            );
        }
        let trailing = groups.last().is_some_and(|g| g.last + 1 < format.order());
        let block_capacity = trailing.then(|| {
            self.fresh(
                &format!("{}_vals_capacity", tensor.name),
                ScalarType::I64,
                true,
            )
        });
        let first_group = groups.first().map_or(0, |group| group.first);
        Ok(Assembly {
            tensor: id,
            lhs: lhs.to_vec(),
            groups,
            block_capacity,
            collected: false,
            pass: match (kept, bounded) {
                (Some(changed), _) => Pass::Kept(changed),
                (None, true) => Pass::Bounded,
                (None, false) => Pass::Growing,
            },
            noted: self.noted(id, first_group),
        })
    }

    pub(super) fn coordinate_arrays(&self, assembly: &Assembly, group: &Group) -> Vec<ArrayId> {
        (group.first..=group.last)
            .filter_map(|level| {
                self.level(assembly.tensor, level)
                    .array(ArrayRole::Coordinates)
            })
            .collect()
    }

    /// Writes the group's coordinates and counts.
    pub(super) fn append(
        &self,
        assembly: &Assembly,
        group: &Group,
        pending: &[Expr],
    ) -> Vec<ir::Stmt> {
        let counter = index(group.counter);
        let arrays = match assembly.pass {
            Pass::Counting | Pass::Kept(_) => Vec::new(),
            Pass::Growing | Pass::Bounded | Pass::Filling => {
                self.coordinate_arrays(assembly, group)
            }
        };
        let mut out: Vec<ir::Stmt> = arrays
            .into_iter()
            .zip(pending)
            .map(|(array, coordinate)| self.store_index(array, counter.clone(), coordinate.clone()))
            .collect();
        out.push(b::set(group.counter, b::add(counter, b::int(1))));
        out
    }

    pub(super) fn store_index(&self, array: ArrayId, at: Expr, value: Expr) -> ir::Stmt {
        let elem = self.names.elem(array);
        b::store(array, at, b::cast(elem, value))
    }

    /// The product of the extents of some levels.
    pub(super) fn extents(&self, tensor: TensorId, from: usize, to: usize) -> Expr {
        (from..to)
            .map(|level| self.extent(tensor, level))
            .fold(b::int(1), b::mul)
    }

    /// After the loops over `root`: the end of the segment they appended. Where `root` was taken
    /// apart, [`Self::close_tiles`] does so: of a loop inside there may be no iteration.
    pub(super) fn close_result(
        &self,
        root: VarId,
        scope: &Scope,
        mut out: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        self.close(scope, &mut out, |own, parts| own == root && parts.len() < 2);
        out
    }

    /// After the loop over `var`, if it is the outermost part of what a result stores.
    pub(super) fn close_tiles(
        &self,
        var: VarId,
        scope: &Scope,
        mut out: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let provenance = &self.graph.provenance;
        // Blocks that are walked within their positions have a loop in place of these.
        let stands_for = |part: VarId| {
            let pos = provenance.producer(part).and_then(Relation::counts)?;
            provenance.coordinates(pos.parent).into_iter().next()
        };
        let is_first = |part: VarId| part == var || stands_for(part) == Some(var);
        self.close(scope, &mut out, |_, parts| {
            parts.len() > 1 && is_first(parts[0])
        });
        out
    }

    fn close(
        &self,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
        ends: impl Fn(VarId, &[VarId]) -> bool,
    ) {
        for (assembly, cursor) in self.assemblies.iter().zip(&scope.results) {
            let format = &self.tensor(assembly.tensor).format;
            let group = assembly.groups.iter().find(|g| g.first == cursor.level);
            let Some(group) = group else { continue };
            let root = assembly.lhs[format.modes[cursor.level]];
            let ends_here = assembly.pass != Pass::Counting && !group.ended;
            if ends_here && !assembly.collected && ends(root, &self.parts_of(assembly.tensor, root))
            {
                match assembly.kept() {
                    None => out.extend(self.close_group(assembly, group, cursor)),
                    Some(_) if group.searched => {}
                    Some(changed) => {
                        let loops = std::mem::take(out);
                        *out = self.kept_segment((group, changed), cursor, loops);
                    }
                }
            }
        }
    }

    /// The end of a segment; what reads it in the same loops must not meet one that wrapped.
    fn close_group(
        &self,
        assembly: &Assembly,
        group: &Group,
        cursor: &ResultCursor,
    ) -> Vec<ir::Stmt> {
        let end = b::add(cursor.pos.clone(), b::int(1));
        let mut out = vec![self.store_index(group.pos, end, index(group.counter))];
        if self.tree.nests.len() > 1 && self.is_read(assembly.tensor) {
            out.splice(0..0, self.overflow_check(assembly.tensor, group));
        }
        out
    }

    /// Whether one of the nests at hand reads the tensor.
    pub(super) fn is_read(&self, tensor: TensorId) -> bool {
        self.tree.nests.iter().any(|nest| nest.reads(tensor))
    }

    pub(super) fn overflow_check(&self, tensor: TensorId, group: &Group) -> Option<ir::Stmt> {
        let narrow = self.tensor(tensor).format.index_bits == 32;
        narrow.then(|| ir::Stmt::FailIf {
            cond: b::lt(b::int(i64::from(i32::MAX)), group.all()),
            code: ir::ErrorCode::IndexOverflow,
        })
    }

    /// The loops into which the result's nest took `root` apart, outermost first.
    pub(super) fn parts_of(&self, tensor: TensorId, root: VarId) -> Vec<VarId> {
        let own = self.tree.nests.iter().find(|nest| nest.tensor == tensor);
        let loops = own.map_or(Vec::new(), |nest| nest.loop_vars());
        let mut parts = self.graph.provenance.leaves(root, &loops);
        parts.sort_by_key(|part| loops.iter().position(|var| var == part));
        parts
    }

    /// The region of the loops that append to some results: what they count stands before them,
    /// what completes the results behind.
    pub(super) fn appended(&self, assemblies: &[Assembly], loops: Vec<ir::Stmt>) -> Vec<ir::Stmt> {
        let (mut out, rooms) = self.rooms(assemblies);
        let mut body = Vec::new();
        for assembly in assemblies.iter().filter(|a| a.pass == Pass::Bounded) {
            body.extend(self.bounded_room(assembly));
        }
        for group in assemblies.iter().flat_map(|assembly| &assembly.groups) {
            body.extend(self.beginning(group));
            body.push(b::bind(group.counter, b::int(0)));
        }
        body.extend(loops);
        body.extend(self.all_completed(assemblies));
        out.push(ir::Stmt::Append { rooms, body });
        out.extend(self.entered(assemblies));
        out
    }

    /// The first segment begins at 0, which arrays of known length are told when they are made.
    pub(super) fn beginning(&self, group: &Group) -> Option<ir::Stmt> {
        let grown = group.pos_capacity.is_some();
        grown.then(|| self.store_index(group.pos, b::int(0), b::int(0)))
    }

    pub(super) fn all_completed(&self, assemblies: &[Assembly]) -> Vec<ir::Stmt> {
        let all = assemblies.iter().rev();
        all.flat_map(|assembly| self.completed(assembly)).collect()
    }

    /// What completes a result behind the loops that append to it.
    fn completed(&self, assembly: &Assembly) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        for group in &assembly.groups {
            // What was counted was checked then.
            if matches!(assembly.pass, Pass::Growing | Pass::Bounded) {
                out.extend(self.overflow_check(assembly.tensor, group));
            }
            if assembly.collected || (group.total.is_some() && group.first == 0) {
                out.push(self.store_index(group.pos, b::int(1), group.all()));
            }
        }
        if self.tree.gaps.contains(&assembly.tensor) {
            for (at, group) in assembly.groups.iter().enumerate() {
                out.extend(self.carry_forward(assembly, at, group));
            }
        }
        out.extend(self.table_rooms(assembly));
        if matches!(assembly.pass, Pass::Growing | Pass::Bounded) {
            out.extend(self.trimmed(assembly));
        }
        out
    }

    /// Skipped parents get the end of the segment before them.
    fn carry_forward(&self, assembly: &Assembly, at: usize, group: &Group) -> Option<ir::Stmt> {
        let (from, outer) = match at.checked_sub(1).and_then(|a| assembly.groups.get(a)) {
            None => (0, b::int(1)),
            Some(before) => (before.last + 1, before.all()),
        };
        if from == group.first {
            return None;
        }
        let parents = b::mul(outer, self.extents(assembly.tensor, from, group.first));
        Some(ir::Stmt::Scan {
            array: group.pos,
            count: parents,
            op: ReduceOp::Max,
            total: None,
        })
    }
}
