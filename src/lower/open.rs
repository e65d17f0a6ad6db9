//! Opening the levels of results where the coordinates that they store become known: what
//! stands before a statement and behind it so that its elements are appended.

use super::assemble::{Assembly, Group, Pass, ResultCursor, index};
use super::{Lower, Lowerer, Scope};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, ScalarType};
use crate::plan::{Inside, Node, Opened};

/// A statement for which a result's level was opened.
#[derive(Clone, Copy)]
pub(super) struct Opening<'s> {
    /// See [`Opened`].
    pub vacuous: bool,
    /// Levels of other results that are still to be opened.
    pub others: &'s [Opened],
    pub node: &'s Node,
    /// Coordinates to be written with the element.
    pub pending: &'s [Expr],
}

impl Lowerer<'_> {
    /// Lowers a statement where coordinates became known, writing the levels of results that store
    /// it.
    pub(super) fn open_result(
        &self,
        (inside, node): (&Inside, &Node),
        scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        self.open_from(&inside.opened, node, scope)
    }

    /// Opens levels of results, each inside of those before.
    pub(super) fn open_from(
        &self,
        levels: &[Opened],
        node: &Node,
        mut scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let Some((opened, others)) = levels.split_first() else {
            return self.stmt(node, &scope);
        };
        let tensor = opened.tensor;
        let at = self.assemblies.iter().position(|a| a.tensor == tensor);
        let found = at.map(|at| (at, self.assemblies[at].clone()));
        let cursor = at.and_then(|at| scope.results.get(at).cloned());
        let (Some((at, assembly)), Some(cursor)) = (found, cursor) else {
            return self.open_from(others, node, scope);
        };
        let format = self.tensor(tensor).format.clone();
        let root = assembly.lhs[format.modes[cursor.level]];
        let coordinate = self.known(root, &scope)?;
        let Some(g) = assembly.group_of(cursor.level) else {
            let extent = self.extent(tensor, cursor.level);
            let mut passed = cursor.passed;
            let pos = b::locate(cursor.pos, extent, coordinate);
            if format.levels[cursor.level].has(ArrayRole::Presence) {
                passed.push((cursor.level, pos.clone()));
            }
            scope.results[at] = ResultCursor {
                level: cursor.level + 1,
                pos,
                passed,
                ..cursor
            };
            return self.open_from(others, node, scope);
        };
        let group = assembly.groups[g].clone();
        let mut pending = cursor.pending.clone();
        pending.push(coordinate);
        let counter = index(group.counter);
        scope.results[at] = ResultCursor {
            tensor,
            level: cursor.level + 1,
            pos: counter.clone(),
            pending: if cursor.level < group.last {
                pending.clone()
            } else {
                Vec::new()
            },
            passed: cursor.passed.clone(),
            there: cursor.there.clone(),
        };
        let searched = group.searched && cursor.level == group.first;
        let first = pending[0].clone();
        let inside = Opening {
            vacuous: opened.vacuous,
            others,
            node,
            pending: &pending,
        };
        let out = if cursor.level < group.last {
            self.open_from(others, node, scope)
        } else if let Some(rows) = group.rows {
            let row = (cursor.pos.clone(), pending[pending.len() - 1].clone());
            self.spread_element((at, &assembly), rows, row, (others, node), scope)
        } else if let Some(next) = assembly.groups.get(g + 1) {
            self.commit_if_any(&assembly, &group, &next.clone(), inside, scope)
        } else {
            self.commit_element(&assembly, &group, inside, scope)
        }?;
        Ok(match searched {
            true => self.searched_segment((&assembly, &group), &cursor, first, out),
            false => out,
        })
    }

    /// An outer coordinate: kept if something was appended below it.
    fn commit_if_any(
        &self,
        assembly: &Assembly,
        group: &Group,
        next: &Group,
        inside: Opening<'_>,
        scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        if assembly.kept().is_some() {
            return self.kept_outer((assembly, group), inside, scope);
        }
        let counter = index(group.counter);
        let parents = self.extents(assembly.tensor, group.last + 1, next.first);
        let mut out = Vec::new();
        if let (Some(capacity), true) = (next.pos_capacity, assembly.pass != Pass::Counting) {
            let begin = b::mul(counter.clone(), parents.clone());
            out.extend(assembly.grow(
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
        let between = (group.last + 1, next.first);
        out.extend(self.open_presence(assembly, between, &counter));
        let name = format!(
            "p{}{}_begin",
            self.tensor(assembly.tensor).name,
            next.first + 1
        );
        let begin = self.bind(&name, index(next.counter), &mut out);
        out.extend(self.open_from(inside.others, inside.node, scope)?);
        let grown = assembly.grow(group.capacity, b::add(counter, b::int(1)));
        let mut then: Vec<ir::Stmt> = grown.into_iter().collect();
        then.extend(self.append(assembly, group, inside.pending));
        out.push(b::if_then(b::lt(begin, index(next.counter)), then));
        Ok(group.unless_full(out))
    }

    /// The innermost coordinate, with its value or block of values.
    fn commit_element(
        &self,
        assembly: &Assembly,
        group: &Group,
        inside: Opening<'_>,
        mut scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        // Of the levels to be opened, one that is another result's would stand inside the element.
        if !inside.others.is_empty() {
            let name = &self.tensor(assembly.tensor).name;
            return Err(self.error(
                crate::diagnostic::codes::schedule::UNSUPPORTED_COMMAND,
                format!("sharing the loop inside an element of `{name}` is not supported yet"),
                "joined with a statement that appends, too",
            ));
        }
        if let Some(changed) = assembly.kept() {
            return self.kept_element((assembly, group), changed, inside, scope);
        }
        let counter = index(group.counter);
        let values = self.names.values(assembly.tensor);
        let needed = b::add(counter.clone(), b::int(1));
        let mut out = Vec::new();
        match assembly.block_capacity {
            None => out.extend(assembly.grow(group.capacity, needed)),
            Some(_) if assembly.pass == Pass::Counting => {}
            Some(capacity) => {
                let order = self.tensor(assembly.tensor).format.order();
                let block = self.extents(assembly.tensor, group.last + 1, order);
                let tensor = self.tensor(assembly.tensor);
                let fill = b::literal(tensor.fill, tensor.ty.compute());
                out.extend(assembly.grow(group.capacity, needed.clone()));
                out.extend(assembly.grow(capacity, b::mul(needed, block.clone())));
                out.push(ir::Stmt::Fill {
                    array: values,
                    start: b::mul(counter.clone(), block.clone()),
                    count: block,
                    value: fill,
                });
                let trailing = (group.last + 1, order);
                out.extend(self.open_presence(assembly, trailing, &counter));
            }
        }
        let append = self.append(assembly, group, inside.pending);
        if !inside.vacuous {
            out.extend(self.open_from(inside.others, inside.node, scope)?);
            out.extend(append);
            return Ok(out);
        }
        let name = format!("any_{}", self.tensor(assembly.tensor).name);
        let flag = self.fresh(&name, ScalarType::Bool, true);
        out.push(b::bind(flag, b::boolean(false)));
        scope.touched = Some(flag);
        out.extend(self.open_from(inside.others, inside.node, scope)?);
        out.push(b::if_then(b::var(flag, ScalarType::Bool), append));
        Ok(group.unless_full(out))
    }
}
