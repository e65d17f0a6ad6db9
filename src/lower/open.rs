//! Opening the levels of results where the coordinates that they store become known: what
//! stands before a statement and behind it so that its elements are appended.

use super::assemble::{Assembly, Group, ResultCursor, grow, index};
use super::gaps::assigned;
use super::{Lower, Lowerer, Scope};
use crate::graph::Stmt;
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, ScalarType};
use crate::program::ir::{TensorId, VarId};

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

impl Lowerer<'_> {
    /// Lowers `stmt` where `root` became known, writing the levels of results that store it.
    pub(super) fn open_result(
        &mut self,
        stmt: &Stmt,
        scope: Scope,
        root: Option<VarId>,
    ) -> Lower<Vec<ir::Stmt>> {
        // Joined statements: each writes its own result.
        if let Stmt::Sequence(parts) = stmt
            && self.nests.len() > 1
        {
            let parts = self.by_result(parts);
            if parts.len() > 1 {
                let mut out = Vec::new();
                for part in parts {
                    // What the parts before have stored can be found now.
                    out.extend(self.inside(&part, scope.clone(), root)?);
                }
                return Ok(out);
            }
        }
        match root {
            Some(root) => self.open_from(0, stmt, scope, root),
            None => self.stmt(stmt, &scope),
        }
    }

    /// The parts of a sequence, of which those that assign the same results stay together, as far
    /// as these note which elements are there.
    fn by_result(&self, parts: &[Stmt]) -> Vec<Stmt> {
        let appended = |stmt: &Stmt| -> Vec<TensorId> {
            let mut made: Vec<TensorId> = assigned(stmt).into_iter().collect();
            made.retain(|&tensor| self.is_noted(tensor));
            made
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
            passed: cursor.passed,
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
        let (begin, begin_value) = self.fresh_index(&name, false);
        out.push(ir::Stmt::Let {
            var: begin,
            init: index(next.counter),
        });
        out.extend(self.open_from(inside.at + 1, inside.stmt, scope, inside.root)?);
        let mut then = vec![grow(group.capacity, b::add(counter, b::int(1)))];
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
        match assembly.block_capacity {
            None => out.push(grow(group.capacity, needed)),
            Some(capacity) => {
                let order = self.tensor(assembly.tensor).format.order();
                let block = self.extents(assembly.tensor, group.last + 1, order);
                let tensor = self.tensor(assembly.tensor);
                let fill = b::literal(tensor.fill, tensor.ty.compute());
                out.push(grow(group.capacity, needed.clone()));
                out.push(grow(capacity, b::mul(needed, block.clone())));
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
}
