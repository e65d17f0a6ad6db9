//! Dense operands that the innermost loop goes across (`B(j,i) = A(i,j)`): each step reads one element of a
//! line of memory, and a long loop reads that many lines before it needs the next element of one. Tiles of it
//! and of the loop along that operand use what lines hold while they are near.

use super::{Statistics, Writer};
use crate::graph::order::{sparse_accesses, vars_in};
use crate::graph::terms::reduces;
use crate::program::ir::{Access, Expr, SizeExpr, VarId};

impl Writer<'_> {
    /// Commands for tiles of a loop across and one along an operand, inside of all others, and the loop that is
    /// outermost then.
    pub(super) fn tiles_across(&self, statistics: &Statistics) -> Option<(Vec<String>, String)> {
        let (graph, nest) = (self.graph, self.nest);
        let result = &graph.tensor(nest.tensor).format;
        let is_dense = sparse_accesses(graph, &nest.rhs).is_empty()
            && result.levels.iter().all(|level| level.is_full());
        let vars = self.vars();
        let (&inner, outer) = vars.split_last()?;
        let from_first =
            |&var: &VarId| matches!(graph.static_range(var), Some((SizeExpr::Const(0), _)));
        let each_once = |&var: &VarId| self.is_left(var) && from_first(&var);
        if !is_dense || !reduces(&nest.rhs).is_empty() || !vars.iter().all(each_once) {
            return None;
        }
        let accesses = nest.rhs.accesses();
        let mut along = accesses
            .iter()
            .filter_map(|access| self.along(access, inner));
        let along = along.find(|along| outer.contains(along))?;
        let mut commands = Vec::new();
        let mut cut = |var: VarId, length: i64| {
            let name = self.name(var);
            let extent = statistics.extent(graph, var);
            if extent.is_some_and(|extent| extent <= length) {
                return (None, name);
            }
            let part = |n| self.fresh(&format!("{}{n}", graph.var(var).name));
            let (tiles, within) = (part(0), part(1));
            commands.push(format!("split({name}, {tiles}, {within}, {length})"));
            (Some(tiles), within)
        };
        let cpu = &self.profile.cpu;
        let tiles = [cut(along, cpu.along), cut(inner, cpu.across)];
        let others = outer.iter().filter(|&&var| var != along);
        let mut order: Vec<String> = others.map(|&var| self.name(var)).collect();
        order.extend(tiles.iter().filter_map(|(tiles, _)| tiles.clone()));
        order.extend(tiles.iter().map(|(_, within)| within.clone()));
        // Few lines stay near anyway.
        let written = vars.iter().map(|&var| self.name(var));
        if order.iter().cloned().eq(written) {
            return None;
        }
        commands.push(format!("reorder({})", order.join(", ")));
        Some((commands, order.swap_remove(0)))
    }

    /// The loop along which the elements of an access stand side by side, if `inner` goes across.
    fn along(&self, access: &Access, inner: VarId) -> Option<VarId> {
        let last = *self.graph.tensor(access.tensor).format.modes.last()?;
        let along = access.subscripts.get(last).and_then(Expr::as_var)?;
        let mut others = access.subscripts.iter().flat_map(vars_in);
        (along != inner && others.any(|var| var == inner)).then_some(along)
    }
}
