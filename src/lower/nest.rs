//! One tree of loops: the nests that share it, what their results need before and after.

use super::access::{Cursor, Table};
use super::{Lower, Lowerer, Scope};
use crate::graph::{Nest, Stmt};
use crate::loops::build as b;
use crate::loops::ir;
use std::collections::BTreeSet;

impl Lowerer<'_> {
    /// Lowers the tree that the nests were made into.
    pub(super) fn nest(&mut self, nests: &[&Nest], stmt: &Stmt) -> Lower<Vec<ir::Stmt>> {
        let Some(&nest) = nests.first() else {
            return Ok(Vec::new());
        };
        self.span = nest.span;
        self.nests = nests.iter().map(|&n| n.clone()).collect();
        self.table = Table::of(self.graph, &self.tensors, stmt);
        self.prefill.clear();
        self.droppable = crate::graph::simplify::droppable(self.graph, &self.tensors, nests);
        self.blocks.clear();
        self.assemblies.clear();
        self.patterns.clear();
        let mut out = Vec::new();
        let mut scope = Scope {
            cursors: vec![Cursor::root(); self.table.entries.len()],
            ..Scope::default()
        };
        for nest in nests {
            if !self.tensor(nest.tensor).is_appended() {
                continue;
            }
            let source = crate::graph::pattern::source(self.graph, nest);
            let pattern =
                source.and_then(|source| self.begin_pattern(nest, &source, stmt, &mut out));
            if let Some(pattern) = pattern {
                self.patterns.push(pattern);
            } else {
                self.follows.remove(&nest.tensor);
                let assembly = self.begin_assembly(nest.tensor, &nest.lhs)?;
                scope.results.push(assembly.start());
                self.assemblies.push(assembly);
            }
        }
        // With nothing absent, only constants fold.
        let mut dropped = BTreeSet::new();
        let loops = match self.simplify(stmt, &BTreeSet::new(), &mut dropped) {
            Some(stmt) => {
                out.extend(self.find_starts(&mut scope)?);
                self.inside(&stmt, scope, None)?
            }
            None => Vec::new(),
        };
        self.prefill.append(&mut dropped);
        for tensor in self.prefill.clone() {
            if self.graph.workspaces.contains(&tensor) {
                continue;
            }
            if let Some(arrays) = self.storage.get(&tensor) {
                let ty = self.tensor(tensor).ty.compute();
                out.push(ir::Stmt::Fill {
                    array: arrays.values,
                    start: b::int(0),
                    count: self.element_count(tensor),
                    value: b::literal(self.tensor(tensor).fill, ty),
                });
            }
        }
        let assemblies = std::mem::take(&mut self.assemblies);
        self.refuse_skipped_rows(&assemblies)?;
        out.extend(match assemblies.as_slice() {
            [] => loops,
            made => self.appended(made, loops),
        });
        Ok(out)
    }
}
