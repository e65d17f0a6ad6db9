//! The memory of results that are appended: what is known before the loops, what was counted, and what
//! operands let there be at most.

use super::Lowerer;
use super::assemble::{Assembly, Group, Pass};
use super::table::Table;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr};
use crate::program::ir::{Access, TensorId, VarId};

impl Lowerer<'_> {
    /// The memory of results: arrays whose length is known, and rooms for those that grow.
    pub(super) fn rooms(&self, assemblies: &[Assembly]) -> (Vec<ir::Stmt>, Vec<ir::Room>) {
        let (mut out, mut rooms) = (Vec::new(), Vec::new());
        let room = |capacity, arrays| ir::Room {
            capacity,
            arrays,
            first: None,
        };
        for assembly in assemblies {
            let values = self.names.values(assembly.tensor);
            for noted in &assembly.noted {
                match noted.capacity {
                    None => out.push(ir::Stmt::Alloc {
                        array: noted.array,
                        count: self.extents(assembly.tensor, 0, noted.level + 1),
                        zeroed: true,
                    }),
                    Some(capacity) => rooms.push(room(capacity, vec![noted.array])),
                }
            }
            for (at, group) in assembly.groups.iter().enumerate() {
                match group.pos_capacity {
                    None => out.push(ir::Stmt::Alloc {
                        array: group.pos,
                        count: b::add(self.extents(assembly.tensor, 0, group.first), b::int(1)),
                        zeroed: true,
                    }),
                    Some(capacity) => rooms.push(room(capacity, vec![group.pos])),
                }
                if let Some(table) = group.table {
                    rooms.push(room(table.capacity, vec![table.array]));
                }
                let mut arrays = self.coordinate_arrays(assembly, group);
                if at + 1 == assembly.groups.len() {
                    match assembly.block_capacity {
                        None => arrays.push(values),
                        Some(capacity) => rooms.push(room(capacity, vec![values])),
                    }
                }
                let grows = assembly.pass == Pass::Growing;
                rooms.push(ir::Room {
                    capacity: group.capacity,
                    arrays,
                    first: grows.then(|| self.first_room()).flatten(),
                });
            }
        }
        (out, rooms)
    }

    /// Room for so many elements of each group.
    pub(super) fn make_room(&self, assembly: &Assembly, counts: &[Expr]) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        let mut grow = |capacity, needed| out.push(ir::Stmt::Grow { capacity, needed });
        let tensor = assembly.tensor;
        // Positions above, and the level below which they are.
        let (mut above, mut from) = (b::int(1), 0);
        for (group, count) in assembly.groups.iter().zip(counts) {
            if let Some(capacity) = group.pos_capacity {
                let parents = b::mul(above.clone(), self.extents(tensor, from, group.first));
                grow(capacity, b::add(parents, b::int(1)));
            }
            for noted in &assembly.noted {
                if let (Some(capacity), true) =
                    (noted.capacity, (from..group.first).contains(&noted.level))
                {
                    let extents = self.extents(tensor, from, noted.level + 1);
                    grow(capacity, b::mul(above.clone(), extents));
                }
            }
            grow(group.capacity, count.clone());
            if let Some(table) = group.table {
                grow(table.capacity, Table::slots(count.clone()));
            }
            (above, from) = (count.clone(), group.last + 1);
        }
        let order = self.tensor(tensor).format.order();
        for noted in &assembly.noted {
            if let (Some(capacity), true) = (noted.capacity, noted.level >= from) {
                let extents = self.extents(tensor, from, noted.level + 1);
                grow(capacity, b::mul(above.clone(), extents));
            }
        }
        if let Some(capacity) = assembly.block_capacity {
            grow(capacity, b::mul(above, self.extents(tensor, from, order)));
        }
        out
    }

    /// Room for as much as operands let there be (see [`crate::plan::Most`]).
    pub(super) fn bounded_room(&self, assembly: &Assembly) -> Vec<ir::Stmt> {
        let tree = std::rc::Rc::clone(&self.tree);
        let Some(most) = tree.most.get(&assembly.tensor) else {
            return Vec::new();
        };
        let (mut out, mut counts) = (Vec::new(), Vec::new());
        let groups = assembly.groups.len();
        for (at, group) in assembly.groups.iter().enumerate() {
            let mut sum = b::int(0);
            for &(id, level) in &most.levels[group.last] {
                let access = &tree.table.get(id).access;
                let positions = match self.graph.points.is(access.tensor) {
                    true => self.points_of(access, (assembly.tensor, group.last)),
                    false => self.positions(access.tensor, level),
                };
                sum = b::add(sum, positions);
            }
            // What lies below a coordinate is known before it is whether the coordinate is kept.
            let tried = most.tried || at + 1 < groups;
            let all = b::add(sum, b::int(i64::from(tried)));
            let mut name = format!("{}_most", self.tensor(assembly.tensor).name);
            if at + 1 < groups {
                name = format!(
                    "{}{}_most",
                    self.tensor(assembly.tensor).name,
                    group.last + 1
                );
            }
            counts.push(self.named(&name, all, &mut out));
        }
        out.extend(self.make_room(assembly, &counts));
        out
    }

    /// At how many coordinates of a result's levels a condition holds at most that is read as an operand.
    fn points_of(&self, access: &Access, (result, last): (TensorId, usize)) -> Expr {
        let modes = &self.tensor(result).format.modes;
        let nest = self.tree.nests.iter().find(|nest| nest.tensor == result);
        let vars: Vec<VarId> = nest.map_or_else(Vec::new, |nest| {
            modes[..=last].iter().map(|&mode| nest.lhs[mode]).collect()
        });
        let told = self
            .graph
            .points
            .told(access, &vars.iter().copied().collect());
        let others = (0..=last).filter(|&level| vars.get(level).copied() != told);
        let extents = others.map(|level| self.extent(result, level));
        extents.fold(b::int(1), b::mul)
    }

    /// What is stored in all sparse operands that are there before the loops: less than what products
    /// store, as a rule, so that arrays double few times.
    fn first_room(&self) -> Option<Expr> {
        let mut operands: Vec<TensorId> = Vec::new();
        for entry in &self.tree.table.entries {
            let tensor = entry.access.tensor;
            let made = self.tree.made.iter().any(|(own, _)| *own == tensor);
            let stored = self.graph.tensors.len() > tensor.index()
                && !self.graph.workspaces.contains(&tensor)
                && !made
                && self.tensor(tensor).is_sparse();
            if stored && !operands.contains(&tensor) {
                operands.push(tensor);
            }
        }
        let last = |tensor: TensorId| self.tensor(tensor).format.order() - 1;
        let all = operands.iter().map(|&t| self.positions(t, last(t)));
        all.reduce(b::add)
    }

    /// How many positions a level of an operand has.
    pub(super) fn positions(&self, operand: TensorId, last: usize) -> Expr {
        // What stores what another one does has its size, which is known before anything runs.
        let operand = match self.names.followed(operand) {
            Some((followed, known)) if known > last => followed,
            Some(_) | None => operand,
        };
        (0..=last).fold(b::int(1), |above, level| {
            self.level(operand, level).size(above)
        })
    }

    /// Gives back what was not needed.
    pub(super) fn trimmed(&self, assembly: &Assembly) -> Vec<ir::Stmt> {
        let trim = |capacity, count| ir::Stmt::Trim { capacity, count };
        let trimmed = |group: &Group| {
            let table = group
                .table
                .map(|table| trim(table.capacity, Table::slots(group.all())));
            std::iter::once(trim(group.capacity, group.all())).chain(table)
        };
        assembly.groups.iter().flat_map(trimmed).collect()
    }
}
