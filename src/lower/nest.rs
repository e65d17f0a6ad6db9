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
    pub(super) fn nest(&self, tree: Rc<Tree>) -> Lower<Vec<ir::Stmt>> {
        let at = self.of(Rc::clone(&tree), Vec::new());
        let mut assemblies = Vec::new();
        let (mut out, mut changed) = (Vec::new(), None);
        let mut scope = Scope {
            cursors: vec![Cursor::root(); tree.table.entries.len()],
            ..Scope::default()
        };
        for (nest, (tensor, made)) in tree.nests.iter().zip(&tree.made) {
            match made {
                Made::Placed => {}
                Made::Follows(source, levels) => {
                    at.begin_pattern(nest, (*source, *levels), &mut out);
                }
                Made::Appended | Made::Kept | Made::Collected(_) | Made::Spread(_) => {
                    self.names.follow(*tensor, None);
                    let kept = self.graph.is_kept(*tensor);
                    let kept = kept.then(|| *changed.get_or_insert_with(|| self.begin_kept()));
                    let mut assembly = at.begin_assembly(*tensor, &nest.lhs, kept)?;
                    assembly.collected = matches!(made, Made::Collected(_));
                    scope.results.push(assembly.start());
                    assemblies.push(assembly);
                }
            }
        }
        let at = at.of(Rc::clone(&tree), assemblies);
        let spread = tree.made.iter().find_map(|(_, made)| made.turns());
        if let (Some(turns), Some(body)) = (spread, &tree.body) {
            return match &tree.counted {
                None => at.spread_where_kept(body, (out, scope)),
                Some(counted) => at.spread((counted, turns), body, (out, scope)),
            };
        }
        if let (Some(counted), Some(body)) = (&tree.counted, &tree.body) {
            return at.two_phases(counted, body, (out, scope));
        }
        let loops = match &tree.body {
            Some(body) => {
                out.extend(at.find_starts(&mut scope)?);
                at.inside(body, scope, None)?
            }
            None => Vec::new(),
        };
        out.extend(at.fills());
        let kept = at.kept(&at.assemblies, loops);
        let grown = at.assemblies.iter().filter(|a| a.kept().is_none());
        let grown: Vec<Assembly> = grown.cloned().collect();
        out.extend(match grown.as_slice() {
            [] => kept,
            grown => at.appended(grown, kept),
        });
        out.extend(at.sorted_results(&at.assemblies));
        Ok(out)
    }

    /// What holds its fill before the loops.
    pub(super) fn fills(&self) -> Vec<ir::Stmt> {
        let fill = |&tensor| {
            let ty = self.tensor(tensor).ty.compute();
            Some(ir::Stmt::Fill {
                array: self.names.arrays(tensor)?.values,
                start: b::int(0),
                count: self.element_count(tensor),
                value: b::literal(self.tensor(tensor).fill, ty),
            })
        };
        self.tree.filled.iter().filter_map(fill).collect()
    }

    /// What brings collected results in order behind the loops.
    pub(super) fn sorted_results(&self, assemblies: &[Assembly]) -> Vec<ir::Stmt> {
        let mut out = Vec::new();
        for (tensor, made) in &self.tree.made {
            let own = assemblies.iter().find(|a| a.tensor == *tensor);
            if let (Made::Collected(op), Some(assembly)) = (made, own) {
                out.extend(self.sorted(assembly, *op));
            }
        }
        out
    }
}
