//! Where a sparse result goes: its elements are appended in the order of its levels.
//!
//! Levels that append form *groups* with one counter each: a compressed level
//! alone, or a non-unique one with the singletons below it, whose coordinates are
//! all written when the innermost is. A coordinate of an outer group is committed
//! when something was appended below it. Capacity grows geometrically; values are
//! computed once.

use super::gaps::assigned;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::{lower as codes, performance};
use crate::format::LevelKind;
use crate::graph::Stmt;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ScalarType};
use crate::program::ir::{TensorId, VarId};

/// How the result of the nest at hand is put together.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    pub(super) tensor: TensorId,
    pub(super) lhs: Vec<VarId>,
    pub(super) groups: Vec<Group>,
    /// Room of the values, where dense levels below the last group give each of its
    /// positions a block of its own.
    block_capacity: Option<ir::VarId>,
    /// Some coordinate of a dense level above a group may be skipped, so its `pos`
    /// entry must be filled in afterwards.
    pub(super) gaps: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    first: usize,
    pub(super) last: usize,
    counter: ir::VarId,
    capacity: ir::VarId,
    pos: ArrayId,
    /// Room of `pos`, where the number of parents is not known beforehand.
    pos_capacity: Option<ir::VarId>,
}

/// The path of the result at a place in the loops.
#[derive(Clone, Debug)]
pub(crate) struct ResultCursor {
    pub tensor: TensorId,
    pub level: usize,
    pub pos: Expr,
    /// Coordinates of the group's outer levels, not yet written.
    pending: Vec<Expr>,
}

/// A statement for which a result's level was opened.
#[derive(Clone, Copy)]
struct Opened<'s> {
    /// The number of the result.
    at: usize,
    root: VarId,
    stmt: &'s Stmt,
    /// Coordinates to be written with the element.
    pending: &'s [Expr],
}

impl Assembly {
    pub(super) fn start(&self) -> ResultCursor {
        ResultCursor {
            tensor: self.tensor,
            level: 0,
            pos: b::int(0),
            pending: Vec::new(),
        }
    }

    pub(super) fn group_of(&self, level: usize) -> Option<usize> {
        self.groups
            .iter()
            .position(|g| (g.first..=g.last).contains(&level))
    }
}

/// Elements that a growing array has room for at first.
const FIRST_ROOM: i64 = 16;

fn index(var: ir::VarId) -> Expr {
    b::var(var, ScalarType::I64)
}

fn grow(arrays: Vec<ArrayId>, capacity: ir::VarId, needed: Expr) -> ir::Stmt {
    ir::Stmt::Grow {
        arrays,
        capacity,
        needed,
    }
}

impl Lowerer<'_> {
    /// Counters and capacities of a sparse result.
    pub(super) fn begin_assembly(&mut self, id: TensorId, lhs: &[VarId]) -> Lower<Assembly> {
        let tensor = self.tensor(id).clone();
        let format = &tensor.format;
        let mut groups: Vec<Group> = Vec::new();
        let mut level = 0;
        while level < format.order() {
            if format.levels[level].is_full() {
                level += 1;
                continue;
            }
            let mut last = level;
            while !format.levels[last].unique
                && format
                    .levels
                    .get(last + 1)
                    .is_some_and(|next| next.kind == LevelKind::Singleton)
            {
                last += 1;
            }
            let nested = !format.levels[last].unique && last + 1 < format.order();
            let pos = self.storage[&id].levels[level].0;
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
                pos_capacity: (!fixed)
                    .then(|| self.fresh(&format!("{name}_pos_capacity"), ScalarType::I64, true)),
            });
            level = last + 1;
        }
        self.remarks.push(
            Diagnostic::performance(
                performance::GROWS,
                self.span,
                format!("the sparse result `{}` grows step by step", tensor.name),
                "its number of stored elements is not known before",
            )
            .with_help(format!(
                "`assemble({}, two_phase)`, which counts first, is not supported yet",
                tensor.name
            )),
        );
        let trailing = groups.last().is_some_and(|g| g.last + 1 < format.order());
        let block_capacity = trailing.then(|| {
            self.fresh(
                &format!("{}_vals_capacity", tensor.name),
                ScalarType::I64,
                true,
            )
        });
        Ok(Assembly {
            tensor: id,
            lhs: lhs.to_vec(),
            groups,
            block_capacity,
            gaps: false,
        })
    }

    /// Lowers `stmt` where `root` became known, writing the levels of results that store it.
    pub(super) fn open_result(
        &mut self,
        stmt: &Stmt,
        scope: Scope,
        root: Option<VarId>,
    ) -> Lower<Vec<ir::Stmt>> {
        match (root, stmt) {
            // Joined statements: each writes its own result.
            (Some(root), Stmt::Sequence(parts)) if self.nests.len() > 1 => {
                let mut out = Vec::new();
                for part in self.by_result(parts) {
                    out.extend(self.open_from(0, &part, scope.clone(), root)?);
                }
                Ok(out)
            }
            (Some(root), _) => self.open_from(0, stmt, scope, root),
            (None, _) => self.stmt(stmt, &scope),
        }
    }

    /// The parts of a sequence, of which those that assign the same appended results stay
    /// together.
    fn by_result(&self, parts: &[Stmt]) -> Vec<Stmt> {
        let appended = |stmt: &Stmt| -> Vec<TensorId> {
            let made = assigned(stmt);
            let own = self.assemblies.iter().map(|a| a.tensor);
            own.filter(|tensor| made.contains(tensor)).collect()
        };
        let mut groups: Vec<(Vec<TensorId>, Vec<Stmt>)> = Vec::new();
        for part in parts {
            let own = appended(part);
            match groups.last_mut() {
                Some((last, stmts)) if *last == own => stmts.push(part.clone()),
                Some(_) | None => groups.push((own, vec![part.clone()])),
            }
        }
        let stmts = groups.into_iter().map(|(_, mut stmts)| match stmts.len() {
            1 => stmts.remove(0),
            _ => Stmt::Sequence(stmts),
        });
        stmts.collect()
    }

    /// Opens the results from number `at` on.
    fn open_from(
        &mut self,
        at: usize,
        stmt: &Stmt,
        mut scope: Scope,
        root: VarId,
    ) -> Lower<Vec<ir::Stmt>> {
        let assembly = self.assemblies.get(at).cloned();
        let (Some(assembly), Some(cursor)) = (assembly, scope.results.get(at).cloned()) else {
            return self.stmt(stmt, &scope);
        };
        let format = self.tensor(assembly.tensor).format.clone();
        let last_group = assembly.groups.last().map_or(0, |g| g.last);
        if cursor.level > last_group
            || assembly.lhs[format.modes[cursor.level]] != root
            || !assigned(stmt).contains(&assembly.tensor)
        {
            return self.open_from(at + 1, stmt, scope, root);
        }
        let coordinate = self.known(root, &scope)?;
        let Some(g) = assembly.group_of(cursor.level) else {
            let extent = self.extent(assembly.tensor, cursor.level);
            if !self.covers(root, assembly.tensor, cursor.level) {
                self.note_gaps(root);
            }
            scope.results[at] = ResultCursor {
                level: cursor.level + 1,
                pos: b::add(b::mul(cursor.pos, extent), coordinate),
                ..cursor
            };
            return self.open_from(at + 1, stmt, scope, root);
        };
        let group = assembly.groups[g].clone();
        let mut pending = cursor.pending.clone();
        pending.push(coordinate);
        let counter = index(group.counter);
        scope.results[at] = ResultCursor {
            tensor: assembly.tensor,
            level: cursor.level + 1,
            pos: counter.clone(),
            pending: if cursor.level < group.last {
                pending.clone()
            } else {
                Vec::new()
            },
        };
        if cursor.level < group.last {
            return self.open_from(at + 1, stmt, scope, root);
        }
        let inside = Opened {
            at,
            root,
            stmt,
            pending: &pending,
        };
        match assembly.groups.get(g + 1) {
            Some(next) => self.commit_if_any(&assembly, &group, &next.clone(), inside, scope),
            None => self.commit_element(&assembly, &group, inside, scope),
        }
    }

    /// An outer coordinate: kept if something was appended below it.
    fn commit_if_any(
        &mut self,
        assembly: &Assembly,
        group: &Group,
        next: &Group,
        inside: Opened<'_>,
        scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let counter = index(group.counter);
        let parents = self.extents(assembly.tensor, group.last + 1, next.first);
        let mut out = Vec::new();
        if let Some(capacity) = next.pos_capacity {
            let begin = b::mul(counter.clone(), parents.clone());
            out.push(grow(
                vec![next.pos],
                capacity,
                b::add(b::add(begin.clone(), parents.clone()), b::int(1)),
            ));
            if parents != b::int(1) {
                out.push(ir::Stmt::Fill {
                    array: next.pos,
                    start: b::add(begin, b::int(1)),
                    count: parents,
                    value: b::literal(crate::scalar::Literal::ZERO, ScalarType::I64),
                });
            }
        }
        let name = format!(
            "p{}{}_begin",
            self.tensor(assembly.tensor).name,
            next.first + 1
        );
        let (begin, begin_value) = self.fresh_index(&name, false);
        out.push(ir::Stmt::Let {
            var: begin,
            init: index(next.counter),
        });
        out.extend(self.open_from(inside.at + 1, inside.stmt, scope, inside.root)?);
        let mut then = vec![grow(
            self.coordinate_arrays(assembly, group),
            group.capacity,
            b::add(counter, b::int(1)),
        )];
        then.extend(self.append(assembly, group, inside.pending));
        out.push(ir::Stmt::If {
            cond: b::lt(begin_value, index(next.counter)),
            then,
            otherwise: vec![],
        });
        Ok(out)
    }

    /// The innermost coordinate, with its value or block of values.
    fn commit_element(
        &mut self,
        assembly: &Assembly,
        group: &Group,
        inside: Opened<'_>,
        mut scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let Opened { at, root, stmt, .. } = inside;
        let several = self.assemblies.iter().skip(at + 1);
        let made = assigned(stmt);
        if several.clone().any(|other| made.contains(&other.tensor)) {
            let name = &self.tensor(assembly.tensor).name;
            return Err(self.error(
                crate::diagnostic::codes::schedule::UNSUPPORTED_COMMAND,
                format!("sharing the loop inside an element of `{name}` is not supported yet"),
                "joined with a statement that appends, too",
            ));
        }
        let counter = index(group.counter);
        let values = self.storage[&assembly.tensor].values;
        let needed = b::add(counter.clone(), b::int(1));
        let mut out = Vec::new();
        let mut arrays = self.coordinate_arrays(assembly, group);
        match assembly.block_capacity {
            None => {
                arrays.push(values);
                out.push(grow(arrays, group.capacity, needed));
            }
            Some(capacity) => {
                let order = self.tensor(assembly.tensor).format.order();
                let block = self.extents(assembly.tensor, group.last + 1, order);
                let tensor = self.tensor(assembly.tensor);
                let fill = b::literal(tensor.fill, tensor.ty.compute());
                out.push(grow(arrays, group.capacity, needed.clone()));
                out.push(grow(vec![values], capacity, b::mul(needed, block.clone())));
                out.push(ir::Stmt::Fill {
                    array: values,
                    start: b::mul(counter, block.clone()),
                    count: block,
                    value: fill,
                });
            }
        }
        let append = self.append(assembly, group, inside.pending);
        if !self.may_be_vacuous(stmt, &scope) {
            out.extend(self.open_from(at + 1, stmt, scope, root)?);
            out.extend(append);
            return Ok(out);
        }
        let name = format!("any_{}", self.tensor(assembly.tensor).name);
        let flag = self.fresh(&name, ScalarType::Bool, true);
        out.push(ir::Stmt::Let {
            var: flag,
            init: b::boolean(false),
        });
        scope.touched = Some(flag);
        out.extend(self.open_from(at + 1, stmt, scope, root)?);
        out.push(ir::Stmt::If {
            cond: b::var(flag, ScalarType::Bool),
            then: append,
            otherwise: vec![],
        });
        Ok(out)
    }

    fn coordinate_arrays(&self, assembly: &Assembly, group: &Group) -> Vec<ArrayId> {
        let levels = &self.storage[&assembly.tensor].levels;
        (group.first..=group.last)
            .filter_map(|level| levels[level].1)
            .collect()
    }

    /// Writes the group's coordinates and counts.
    fn append(&self, assembly: &Assembly, group: &Group, pending: &[Expr]) -> Vec<ir::Stmt> {
        let counter = index(group.counter);
        let mut out: Vec<ir::Stmt> = self
            .coordinate_arrays(assembly, group)
            .into_iter()
            .zip(pending)
            .map(|(array, coordinate)| self.store_index(array, counter.clone(), coordinate.clone()))
            .collect();
        out.push(ir::Stmt::Assign {
            var: group.counter,
            op: None,
            value: b::add(counter, b::int(1)),
        });
        out
    }

    fn store_index(&self, array: ArrayId, at: Expr, value: Expr) -> ir::Stmt {
        let elem = self.arrays[array.0 as usize].elem;
        ir::Stmt::Store {
            array,
            index: at,
            op: None,
            value: b::cast(elem, value),
            atomic: false,
        }
    }

    /// The product of the extents of some levels.
    fn extents(&self, tensor: TensorId, from: usize, to: usize) -> Expr {
        (from..to)
            .map(|level| self.extent(tensor, level))
            .fold(b::int(1), b::mul)
    }

    /// After the loops over `root`: the end of the segment they appended.
    pub(super) fn close_result(
        &self,
        root: VarId,
        scope: &Scope,
        mut out: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        for (assembly, cursor) in self.assemblies.iter().zip(&scope.results) {
            let format = &self.tensor(assembly.tensor).format;
            let group = assembly.groups.iter().find(|g| g.first == cursor.level);
            if let Some(group) = group
                && assembly.lhs[format.modes[cursor.level]] == root
            {
                out.push(self.store_index(
                    group.pos,
                    b::add(cursor.pos.clone(), b::int(1)),
                    index(group.counter),
                ));
            }
        }
        out
    }

    /// Puts the arrays up before the loops and completes them after.
    pub(super) fn finish_assembly(
        &mut self,
        assembly: &Assembly,
        loops: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        let values = self.storage[&assembly.tensor].values;
        for (at, group) in assembly.groups.iter().enumerate() {
            match group.pos_capacity {
                None => out.push(ir::Stmt::Alloc {
                    array: group.pos,
                    count: b::add(self.extents(assembly.tensor, 0, group.first), b::int(1)),
                    zeroed: true,
                }),
                Some(capacity) => {
                    out.extend(first_room(vec![group.pos], capacity));
                    out.push(self.store_index(group.pos, b::int(0), b::int(0)));
                }
            }
            out.push(ir::Stmt::Let {
                var: group.counter,
                init: b::int(0),
            });
            let mut arrays = self.coordinate_arrays(assembly, group);
            if at + 1 == assembly.groups.len() {
                match assembly.block_capacity {
                    None => arrays.push(values),
                    Some(capacity) => out.extend(first_room(vec![values], capacity)),
                }
            }
            out.extend(first_room(arrays, group.capacity));
        }
        out.extend(loops);
        if self.tensor(assembly.tensor).format.index_bits == 32 {
            for group in &assembly.groups {
                out.push(ir::Stmt::FailIf {
                    cond: b::lt(b::int(i64::from(i32::MAX)), index(group.counter)),
                    code: ir::ErrorCode::IndexOverflow,
                });
            }
        }
        if assembly.gaps {
            for (at, group) in assembly.groups.iter().enumerate() {
                out.extend(self.carry_forward(assembly, at, group));
            }
        }
        out
    }

    /// Skipped parents get the end of the segment before them.
    fn carry_forward(&mut self, assembly: &Assembly, at: usize, group: &Group) -> Option<ir::Stmt> {
        let (from, outer) = match at.checked_sub(1).and_then(|a| assembly.groups.get(a)) {
            None => (0, b::int(1)),
            Some(before) => (before.last + 1, index(before.counter)),
        };
        if from == group.first {
            return None;
        }
        let parents = b::mul(outer, self.extents(assembly.tensor, from, group.first));
        let (k, value) = self.fresh_index("k", false);
        let next = b::add(value.clone(), b::int(1));
        let before = self.load_index(group.pos, value);
        let own = self.load_index(group.pos, next.clone());
        let store = self.store_index(group.pos, next, before.clone());
        Some(ir::Stmt::For {
            var: k,
            lo: b::int(0),
            hi: parents,
            step: 1,
            tag: ir::LoopTag::default(),
            body: vec![ir::Stmt::If {
                cond: b::lt(own, before),
                then: vec![store],
                otherwise: vec![],
            }],
        })
    }
}

/// Arrays are never NULL, also where nothing is ever appended.
fn first_room(arrays: Vec<ArrayId>, capacity: ir::VarId) -> Vec<ir::Stmt> {
    let mut out = vec![ir::Stmt::Let {
        var: capacity,
        init: b::int(FIRST_ROOM),
    }];
    out.extend(arrays.into_iter().map(|array| ir::Stmt::Alloc {
        array,
        count: index(capacity),
        zeroed: false,
    }));
    out
}
