//! The kernel's arguments, its temporaries, and the comment above it.

use super::Lowerer;
use crate::format::Part;
use crate::loops::build as b;
use crate::loops::interface::{
    Arg, Counts, Direction, Interface, LevelArrays, Requirement, SizeArg, TensorArg,
};
use crate::loops::ir;
use crate::program::ir::{Bound, Role, TensorId};

impl Lowerer<'_> {
    pub(super) fn interface(&self) -> Interface {
        let function = &self.graph.function;
        let sizes = function
            .sizes
            .iter()
            .zip(self.sizes.iter())
            .map(|(size, &var)| SizeArg {
                name: size.name.clone(),
                var,
                fixed: size.value,
            })
            .collect();
        let mut ids: Vec<TensorId> = function.params.clone();
        for &result in &function.results {
            if !ids.contains(&result) {
                ids.push(result);
            }
        }
        let renewed = |id: TensorId| self.graph.renewed.iter().find(|(own, _)| *own == id);
        let with_before = ids.into_iter().flat_map(|id| match renewed(id) {
            None => vec![id],
            Some(&(_, before)) => vec![before, id],
        });
        let args = with_before.map(|id| self.argument(id)).collect();
        let requirements = function
            .requirements
            .iter()
            .map(|r| Requirement {
                slack: self.size_expr(&r.slack),
                ranges: r
                    .vars
                    .iter()
                    .filter_map(|&v| {
                        // (A loop that others share may have more values.)
                        let range = &function.vars[v.index()].range;
                        let (Bound::Static(lo), Bound::Static(hi)) = (&range.lo, &range.hi) else {
                            return None;
                        };
                        Some((self.size_expr(lo), self.size_expr(hi)))
                    })
                    .collect(),
                text: r.text.clone(),
            })
            .collect();
        Interface {
            sizes,
            args,
            requirements,
            counts: Vec::new(),
        }
    }

    fn argument(&self, id: TensorId) -> Arg {
        let tensor = self.tensor(id);
        if let (Role::Input, Some(var)) = (tensor.role, self.names.scalar(id)) {
            return Arg::Scalar {
                name: tensor.name.clone(),
                var,
                ty: tensor.ty,
            };
        }
        let arrays = self.names.stored(id);
        let declared = self.graph.function.tensors.get(id.index());
        let rearranged = declared.filter(|own| own.format.is_rearranged());
        let seen = rearranged.unwrap_or(tensor).format.seen_modes();
        let levels = tensor
            .format
            .levels
            .iter()
            .zip(seen)
            .zip(&arrays.levels)
            .enumerate()
            .map(|(at, ((&level, mode), arrays))| LevelArrays {
                level,
                mode,
                counts: match rearranged.map(|own| own.format.parts[at]) {
                    Some(Part::Block(n)) => Counts::Blocks(n),
                    Some(Part::Diagonal(along)) => Counts::Diagonals(along),
                    None | Some(Part::Whole | Part::Within(_) | Part::Slot) => Counts::Coordinates,
                },
                arrays: arrays.clone(),
            })
            .collect();
        let own = rearranged.unwrap_or(tensor);
        let dims = own.dims.iter().map(|d| self.size_expr(d));
        let added = rearranged.into_iter().flat_map(|own| own.format.added());
        let added = added.map(|level| &tensor.dims[tensor.format.modes[level]]);
        let dims = dims.chain(added.map(|d| self.size_expr(d))).collect();
        Arg::Tensor(TensorArg {
            name: tensor.name.clone(),
            ty: tensor.ty,
            direction: match tensor.role {
                Role::Input | Role::Temporary => Direction::In,
                Role::Result if self.graph.is_kept(id) => Direction::InOut,
                Role::Result => Direction::Out,
                Role::InOut => Direction::InOut,
            },
            dims,
            index_bits: tensor.format.index_bits,
            fill: tensor.fill,
            levels,
            values: arrays.values,
            like: self
                .names
                .followed(id)
                .filter(|_| self.graph.is_given(id))
                .map(|(operand, levels)| (self.tensor(operand).name.clone(), levels)),
            before: {
                let mut renewed = self.graph.renewed.iter();
                let own = renewed.find(|(_, before)| *before == id);
                own.map(|&(own, _)| self.tensor(own).name.clone())
            },
        })
    }

    /// Statements that make room for temporaries.
    pub(super) fn allocate_temporaries(&self) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        for id in self.temporaries() {
            let tensor = self.tensor(id).clone();
            if let Some(var) = self.names.scalar(id) {
                out.push(b::bind(var, b::literal(tensor.fill, tensor.ty.compute())));
            } else if !tensor.is_appended() {
                out.extend(self.allocate_presence(id));
                out.push(ir::Stmt::Alloc {
                    array: self.names.values(id),
                    count: self.element_count(id),
                    zeroed: !self.wholly_written_first(id),
                });
            }
        }
        out
    }

    /// Whether the first nest that writes a temporary writes all of it.
    fn wholly_written_first(&self, id: TensorId) -> bool {
        let dims = &self.tensor(id).dims;
        let first = self.graph.nests.iter().find(|nest| nest.tensor == id);
        first.is_some_and(|nest| nest.op.is_none() && self.graph.covers_all(&nest.lhs, dims))
    }

    pub(super) fn free_temporaries(&self) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        for id in self.temporaries() {
            if let Some(arrays) = self.names.arrays(id) {
                let indices = arrays.levels.iter().flatten().map(|(_, id)| *id);
                for array in indices.chain([arrays.values]) {
                    out.push(ir::Stmt::Free { array });
                }
            }
        }
        out
    }

    /// Temporaries of the program and of the graph; scalar workspaces are declared
    /// where they stand.
    fn temporaries(&self) -> Vec<TensorId> {
        (0..self.graph.tensors.len())
            .filter_map(|at| u32::try_from(at).ok().map(TensorId))
            .filter(|&id| self.tensor(id).role == Role::Temporary)
            .filter(|id| !self.graph.workspaces.contains(id))
            .collect()
    }

    /// Statements, formats and schedule, a line each.
    pub(super) fn comment(&self) -> Vec<String> {
        let function = &self.graph.function;
        let mut lines: Vec<String> = Vec::new();
        for stmt in &function.stmts {
            lines.extend(stmt.text.lines().map(|line| line.trim().to_string()));
        }
        for tensor in &function.tensors {
            if tensor.is_sparse() {
                lines.push(format!(
                    "{}: {}",
                    tensor.name,
                    crate::format::describe(&tensor.format)
                ));
            }
        }
        lines.extend(self.graph.script.iter().cloned());
        lines
    }
}
