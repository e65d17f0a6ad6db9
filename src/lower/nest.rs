//! One tree of loops: the nests that share it, what their results need before and after.

use super::access::Cursor;
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
                Made::Appended | Made::Collected(_) => {
                    self.follows.remove(tensor);
                    let mut assembly = self.begin_assembly(*tensor, &nest.lhs)?;
                    assembly.collected = matches!(made, Made::Collected(_));
                    scope.results.push(assembly.start());
                    self.assemblies.push(assembly);
                }
            }
        }
        let loops = match &tree.body {
            Some(body) => {
                out.extend(self.find_starts(&mut scope)?);
                self.inside(body, scope, None)?
            }
            None => Vec::new(),
        };
        for &tensor in &tree.filled {
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
        out.extend(match assemblies.as_slice() {
            [] => loops,
            made => self.appended(made, loops),
        });
        for (tensor, made) in &tree.made {
            let own = assemblies.iter().find(|a| a.tensor == *tensor);
            if let (Made::Collected(op), Some(assembly)) = (made, own) {
                out.extend(self.sorted(assembly, *op));
            }
        }
        Ok(out)
    }
}
