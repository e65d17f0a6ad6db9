//! Results whose coordinates are there (`assemble(C, once)`, see [`crate::graph::kept`]): the loops
//! come to elements in the order in which they are stored, so each is compared with the next one that
//! its row has, and its value is stored there. A coordinate that is not the next one, and a row that
//! ends elsewhere, say that something else is to be stored than there is room for: they set a flag,
//! and nothing is written outside of the arrays.

use super::assemble::{Assembly, Group, ResultCursor, index};
use super::open::Opening;
use super::{Lower, Lowerer, Scope};
use crate::graph::{Unit, pattern};
use crate::loops::build as b;
use crate::loops::ir::{self, ErrorCode, Expr, Run, ScalarType};
use crate::loops::visit;
use crate::plan::{Phase, Tree, counting};
use crate::program::ir::{ReduceOp, TensorId};
use std::rc::Rc;

impl Lowerer<'_> {
    /// The flag that says that something else is to be stored.
    pub(super) fn begin_kept(&self) -> ir::VarId {
        self.fresh("changed", ScalarType::Bool, true)
    }

    /// The loops of a tree, with what stands around them where results keep their coordinates.
    pub(super) fn kept(&self, assemblies: &[Assembly], mut loops: Vec<ir::Stmt>) -> Vec<ir::Stmt> {
        let kept = assemblies.iter().find_map(Assembly::kept);
        let Some(changed) = kept else { return loops };
        share_flag(&mut loops, changed);
        let mut out = Vec::new();
        for assembly in assemblies.iter().filter(|a| a.kept().is_some()) {
            let tensor = assembly.tensor;
            // Rows that no loop comes to end where they did: they may have had elements. Where loops
            // come to rows in any order, all ends are looked at.
            let spread = assembly.groups.iter().any(|group| group.rows.is_some());
            let skipped = self.tree.gaps.contains(&tensor) && !spread;
            let searched = assembly.groups.iter().any(|group| group.searched);
            // The first call stores what folds to one value where an operand stores anything; no loop
            // comes to it.
            let mut nests = self.tree.nests.iter().filter(|nest| nest.tensor == tensor);
            let folded = nests.find_map(|nest| pattern::constant(self.graph, nest, None));
            let own = self.tensor(tensor);
            let first = folded.or((skipped || searched).then_some(own.fill));
            out.extend(first.map(|first| ir::Stmt::Fill {
                array: self.names.values(tensor),
                start: b::int(0),
                count: self.positions(tensor, own.format.order() - 1),
                value: b::literal(first, own.ty.compute()),
            }));
        }
        out.push(b::bind(changed, b::boolean(false)));
        out.append(&mut loops);
        out.push(ir::Stmt::FailIf {
            cond: flag(changed),
            code: ErrorCode::Changed,
        });
        out
    }

    /// Whether iterations that threads or blocks share come to elements of the tensor: those of a
    /// level that all share are searched, each of its own.
    pub(super) fn is_shared_out(&self, tensor: TensorId) -> bool {
        let own = self.tree.nests.iter().filter(|nest| nest.tensor == tensor);
        let mut units = own.flat_map(|nest| &nest.loops).filter_map(|l| {
            let parallel = l.tag.parallel.as_ref()?;
            Some(parallel.unit)
        });
        units.any(|unit| match unit {
            Unit::CpuThread(_) | Unit::Gpu(_) => true,
            Unit::CpuVector => false,
        })
    }

    /// Loops over the elements of a row, with where these begin and end.
    pub(super) fn kept_segment(
        &self,
        (group, changed): (&Group, ir::VarId),
        cursor: &ResultCursor,
        mut loops: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let (begin, end) = self.segment_of(group, cursor);
        let (counter, last) = self.own_counter(group, &mut loops);
        let mut out = vec![b::bind(counter, begin), b::bind(last, end)];
        out.append(&mut loops);
        out.push(note(changed, b::ne(index(counter), index(last))));
        out
    }

    /// What comes to one coordinate of the outermost level, with where its elements begin.
    pub(super) fn searched_segment(
        &self,
        (assembly, group): (&Assembly, &Group),
        cursor: &ResultCursor,
        coordinate: Expr,
        mut inside: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        let (begin, end) = self.segment_of(group, cursor);
        let (counter, last) = self.own_counter(group, &mut inside);
        let Some(&array) = self.coordinate_arrays(assembly, group).first() else {
            return inside;
        };
        let name = self.names.var(counter).name;
        let (found, at) = self.fresh_index(&format!("{name}_begin"), false);
        let mut out = vec![
            b::bind(last, end),
            ir::Stmt::Search {
                var: found,
                array,
                lo: begin,
                hi: index(last),
                key: coordinate,
                by: ir::Look::Bisect,
            },
            b::bind(counter, at),
        ];
        out.append(&mut inside);
        out
    }

    /// Where the elements below the cursor begin and end: nowhere, if it is at no element.
    pub(super) fn segment_of(&self, group: &Group, cursor: &ResultCursor) -> (Expr, Expr) {
        let next = b::add(cursor.pos.clone(), b::int(1));
        let [begin, end] = [cursor.pos.clone(), next].map(|at| {
            let at = self.load_index(group.pos, at);
            match &cursor.there {
                Some(there) => b::select(there.clone(), at, b::int(0)),
                None => at,
            }
        });
        (begin, end)
    }

    /// A counter, and an end, for these statements alone.
    fn own_counter(&self, group: &Group, stmts: &mut [ir::Stmt]) -> (ir::VarId, ir::VarId) {
        let name = self.names.var(group.counter).name;
        let counter = self.fresh(&name, ScalarType::I64, true);
        let last = self.fresh(&format!("{name}_end"), ScalarType::I64, false);
        let own = |var: ir::VarId| match var {
            var if var == group.counter => counter,
            var if Some(var) == group.end => last,
            var => var,
        };
        visit::rename(stmts, &own, &|array| array);
        (counter, last)
    }

    /// Whether the next element has these coordinates.
    fn is_next(&self, assembly: &Assembly, group: &Group, coordinates: &[Expr]) -> Expr {
        let counter = index(group.counter);
        let left = group.end.map(|end| b::lt(counter.clone(), index(end)));
        let arrays = self.coordinate_arrays(assembly, group);
        let same = arrays.into_iter().zip(coordinates).map(|(array, own)| {
            let next = self.load_index(array, counter.clone());
            b::eq(next, own.clone())
        });
        b::all(left.into_iter().chain(same))
    }

    /// An outer coordinate: what is below has elements if it is the next one. Which of them are there is noted already.
    pub(super) fn kept_outer(
        &self,
        (assembly, group): (&Assembly, &Group),
        inside: Opening<'_>,
        mut scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let name = self.level_of_group(assembly, group);
        let there = self.fresh(&format!("{name}_there"), ScalarType::Bool, false);
        let is_there = b::var(there, ScalarType::Bool);
        let mut out = vec![b::bind(
            there,
            self.is_next(assembly, group, inside.pending),
        )];
        let own = self.assemblies.iter().zip(&mut scope.results);
        for (_, cursor) in own.filter(|(own, _)| own.tensor == assembly.tensor) {
            cursor.there = Some(is_there.clone());
        }
        out.extend(self.open_from(inside.others, inside.node, scope)?);
        out.push(b::if_then(is_there, vec![next(group)]));
        Ok(out)
    }

    /// An element, with its value or block of values.
    pub(super) fn kept_element(
        &self,
        (assembly, group): (&Assembly, &Group),
        changed: ir::VarId,
        inside: Opening<'_>,
        mut scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let cond = self.is_next(assembly, group, inside.pending);
        let mut then = Vec::new();
        let tensor = self.tensor(assembly.tensor);
        let (first, order) = (group.last + 1, tensor.format.order());
        if assembly.block_capacity.is_some() {
            let block = self.extents(assembly.tensor, first, order);
            then.push(ir::Stmt::Fill {
                array: self.names.values(assembly.tensor),
                start: b::mul(index(group.counter), block.clone()),
                count: block,
                value: b::literal(tensor.fill, tensor.ty.compute()),
            });
            then.extend(self.open_presence(assembly, (first, order), &index(group.counter)));
        }
        if !inside.vacuous {
            then.extend(self.open_from(inside.others, inside.node, scope)?);
            then.push(next(group));
            return Ok(vec![b::if_else(
                cond,
                then,
                vec![note(changed, b::boolean(true))],
            )]);
        }
        let name = format!("any_{}", tensor.name);
        let any = self.fresh(&name, ScalarType::Bool, true);
        scope.touched = Some(any);
        then.extend(self.open_from(inside.others, inside.node, scope.clone())?);
        then.push(note(changed, b::unary(ir::UnaryOp::Not, flag(any))));
        then.push(next(group));
        let mut otherwise = Vec::new();
        if let Some(terms) = counting::terms(&self.tree.table, inside.node) {
            let tree = Tree {
                phase: Phase::Counting,
                ..(*self.tree).clone()
            };
            let counter = self.of(Rc::new(tree), self.assemblies.clone());
            otherwise.extend(counter.open_from(inside.others, &terms, scope)?);
            otherwise.push(note(changed, flag(any)));
        }
        Ok(vec![
            b::bind(any, b::boolean(false)),
            b::if_else(cond, then, otherwise),
        ])
    }

    fn level_of_group(&self, assembly: &Assembly, group: &Group) -> String {
        format!("{}{}", self.tensor(assembly.tensor).name, group.first + 1)
    }
}

/// Loops that are shared out, and note that something changed, do so each for itself.
fn share_flag(stmts: &mut [ir::Stmt], changed: ir::VarId) -> bool {
    let mut any = false;
    for stmt in stmts {
        let mut own = matches!(stmt, ir::Stmt::Assign { var, .. } if *var == changed);
        for body in visit::bodies_mut(stmt) {
            own |= share_flag(body, changed);
        }
        if let (true, ir::Stmt::For { tag, .. }) = (own, stmt) {
            match &mut tag.run {
                Run::Serial => {}
                Run::Threads { reductions, .. }
                | Run::Lanes { reductions, .. }
                | Run::Unit { reductions, .. } => reductions.push((ReduceOp::Or, changed)),
            }
        }
        any |= own;
    }
    any
}

fn flag(var: ir::VarId) -> Expr {
    b::var(var, ScalarType::Bool)
}

/// Notes that something changed if the condition holds.
pub(super) fn note(changed: ir::VarId, cond: Expr) -> ir::Stmt {
    let is_certain = matches!(cond.kind, ir::ExprKind::Literal(_));
    ir::Stmt::Assign {
        var: changed,
        op: (!is_certain).then_some(ReduceOp::Or),
        value: cond,
    }
}

/// The next element is at hand.
fn next(group: &Group) -> ir::Stmt {
    b::set(group.counter, b::add(index(group.counter), b::int(1)))
}
