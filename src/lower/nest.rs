//! One tree of loops: the nests that share it, what their results need before and after.

use super::access::Cursor;
use super::assemble::Assembly;
use super::{Lower, Lowerer, Scope};
use crate::loops::build as b;
use crate::loops::ir;
use crate::plan::{Made, Tree};
use std::rc::Rc;

impl Lowerer<'_> {
    /// Lowers the plan of a tree.
    pub(super) fn nest(&mut self, tree: Rc<Tree>) -> Lower<Vec<ir::Stmt>> {
        let Some(nest) = tree.nests.first() else {
            return Ok(Vec::new());
        };
        self.span = nest.span;
        self.tree = Rc::clone(&tree);
        self.assemblies.clear();
        let mut out = Vec::new();
        let mut scope = Scope {
            cursors: vec![Cursor::root(); tree.table.entries.len()],
            ..Scope::default()
        };
        for (nest, (tensor, made)) in tree.nests.iter().zip(&tree.made) {
            match made {
                Made::Placed => {}
                Made::Follows(source, levels) => {
                    self.begin_pattern(nest, (*source, *levels), &mut out);
                }
                Made::Appended | Made::Collected(_) | Made::Spread => {
                    self.follows.remove(tensor);
                    let mut assembly = self.begin_assembly(*tensor, &nest.lhs)?;
                    assembly.collected = matches!(made, Made::Collected(_));
                    scope.results.push(assembly.start());
                    self.assemblies.push(assembly);
                }
            }
        }
        let spread = tree.made.iter().any(|(_, made)| *made == Made::Spread);
        if let (Some(counted), Some(body), true) = (&tree.counted, &tree.body, spread) {
            return self.spread(counted, body, (out, scope));
        }
        if let (Some(counted), Some(body)) = (&tree.counted, &tree.body) {
            return self.two_phases(counted, body, (out, scope));
        }
        let loops = match &tree.body {
            Some(body) => {
                out.extend(self.find_starts(&mut scope)?);
                self.inside(body, scope, None)?
            }
            None => Vec::new(),
        };
        out.extend(self.fills(&tree));
        let assemblies = std::mem::take(&mut self.assemblies);
        out.extend(match assemblies.as_slice() {
            [] => loops,
            made => self.appended(made, loops),
        });
        out.extend(self.sorted_results(&tree, &assemblies));
        Ok(out)
    }

    /// What holds its fill before the loops.
    pub(super) fn fills(&self, tree: &Tree) -> Vec<ir::Stmt> {
        let fill = |&tensor| {
            let ty = self.tensor(tensor).ty.compute();
            Some(ir::Stmt::Fill {
                array: self.storage.get(&tensor)?.values,
                start: b::int(0),
                count: self.element_count(tensor),
                value: b::literal(self.tensor(tensor).fill, ty),
            })
        };
        tree.filled.iter().filter_map(fill).collect()
    }

    /// What brings collected results in order behind the loops.
    pub(super) fn sorted_results(&mut self, tree: &Tree, assemblies: &[Assembly]) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        for (tensor, made) in &tree.made {
            let own = assemblies.iter().find(|a| a.tensor == *tensor);
            if let (Made::Collected(op), Some(assembly)) = (made, own) {
                out.extend(self.sorted(assembly, *op));
            }
        }
        out
    }
}
