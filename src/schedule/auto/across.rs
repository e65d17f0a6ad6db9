//! Dense operands that the innermost loop goes across (`B(j,i) = A(i,j)`): each step reads one element of a
//! line of memory, and a long loop reads that many lines before it needs the next element of one. Tiles of it
//! and of the loop along that operand use what lines hold while they are near.

use super::{Statistics, Writer};
use crate::graph::order::{sparse_accesses, vars_in};
use crate::graph::terms::reduces;
use crate::program::ir::{Access, Expr, SizeExpr, VarId};

impl Writer<'_> {
    /// Commands for tiles of a loop across and one along an operand, inside of all others, and the loop that
    /// threads share then.
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
        let cpu = &self.profile.cpu;
        let extent = |var| statistics.extent(graph, var);
        let is_long = |var, length| extent(var).is_none_or(|extent| extent > length);
        // The lines of a few rows stay near anyway.
        let across = is_long(inner, cpu.across).then_some(cpu.across);
        let cuts = [
            (
                along,
                (across.is_some() && is_long(along, cpu.along)).then_some(cpu.along),
            ),
            (inner, across),
        ];
        let mut commands = Vec::new();
        let others = outer.iter().filter(|&&var| var != along);
        let mut order: Vec<(String, Option<i64>)> =
            others.map(|&var| (self.name(var), extent(var))).collect();
        let mut within = Vec::new();
        for (var, length) in cuts {
            let name = self.name(var);
            let Some(length) = length else {
                within.push((name, extent(var)));
                continue;
            };
            let part = |n| self.fresh(&format!("{}{n}", graph.var(var).name));
            let (tiles, own) = (part(0), part(1));
            commands.push(format!("split({name}, {tiles}, {own}, {length})"));
            order.push((tiles, extent(var).map(|extent| extent / length)));
            within.push((own, Some(length)));
        }
        order.extend(within);
        let names: Vec<&str> = order.iter().map(|(name, _)| name.as_str()).collect();
        if vars
            .iter()
            .map(|&var| self.name(var))
            .eq(names.iter().copied())
        {
            return None;
        }
        commands.push(format!("reorder({})", names.join(", ")));
        let count = order.len().saturating_sub(2).max(1);
        let many = |(_, extent): &&(String, Option<i64>)| {
            extent.is_none_or(|extent| extent >= cpu.shared_iterations)
        };
        let around = &order[..count];
        let shared = around.iter().find(many).or(around.first())?;
        Some((commands, shared.0.clone()))
    }

    /// The loop along which the elements of an access stand side by side, if `inner` goes across.
    fn along(&self, access: &Access, inner: VarId) -> Option<VarId> {
        let last = *self.graph.tensor(access.tensor).format.modes.last()?;
        let along = access.subscripts.get(last).and_then(Expr::as_var)?;
        let mut others = access.subscripts.iter().flat_map(vars_in);
        (along != inner && others.any(|var| var == inner)).then_some(along)
    }
}
