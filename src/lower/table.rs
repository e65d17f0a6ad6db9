//! The tables of hashed levels of results: made once coordinates stand where they stay.

use super::Lowerer;
use super::assemble::{Assembly, Group, Pass};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr};
use crate::loops::trips::Bounds;
use crate::program::ir::VarId;

/// The table of a group of levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) array: ArrayId,
    /// Its room, in slots.
    pub(super) capacity: ir::VarId,
}

impl Table {
    /// Slots for so many positions.
    pub(super) fn slots(positions: Expr) -> Expr {
        b::mul(b::int(2), positions)
    }
}

impl Lowerer<'_> {
    /// Room in tables, where it has grown with the elements.
    pub(super) fn table_rooms(&self, assembly: &Assembly) -> Vec<ir::Stmt> {
        let grown = |group: &Group| {
            let table = group.table.filter(|_| assembly.pass == Pass::Growing)?;
            Some(ir::Stmt::Grow {
                capacity: table.capacity,
                needed: Table::slots(group.all()),
            })
        };
        assembly.groups.iter().filter_map(grown).collect()
    }

    /// Enters all that results store, behind the loops that store it.
    pub(super) fn entered(&self, assemblies: &[Assembly]) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        for assembly in assemblies {
            for group in &assembly.groups {
                let level = self.level(assembly.tensor, group.first);
                let arrays = group.table.zip(level.array(ArrayRole::Coordinates));
                let Some((table, coordinates)) = arrays else {
                    continue;
                };
                let above = (0..group.first).fold(b::int(1), |parents, above| {
                    self.level(assembly.tensor, above).size(parents)
                });
                let (k, at) = self.fresh_index("k", false);
                let own = level.below(at.clone()..b::add(at, b::int(1)));
                let enter = ir::Stmt::Enter {
                    table: table.array,
                    coordinates,
                    lo: own.start,
                    hi: own.end,
                };
                let tag = self.starts_tag(&|var: VarId| assembly.lhs.contains(&var));
                out.push(Bounds::of(b::int(0), above).each(k, tag, vec![enter]));
            }
        }
        out
    }
}
