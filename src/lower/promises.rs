//! What `bound` promises of ranges, stated where they become known: a debug build of the
//! kernel checks it.

use super::{Lower, Lowerer, Scope};
use crate::graph::relation::{Bound, BoundKind, Values};
use crate::graph::{Relation, print};
use crate::loops::build as b;
use crate::loops::ir::{self, BinaryOp};

impl<'g> Lowerer<'g> {
    /// The promises about ranges that the sizes fix: at the kernel's beginning.
    pub(super) fn static_promises(&self) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        for bound in self.promised() {
            if self.graph.data_decides(bound.parent) {
                continue;
            }
            self.promise(bound, &Scope::default(), &mut out)?;
        }
        Ok(out)
    }

    /// The promises about data-dependent ranges that have just become known.
    pub(super) fn dynamic_promises(&self, scope: &mut Scope, out: &mut Vec<ir::Stmt>) -> Lower<()> {
        // A check of data comes before what a promise may read, and needs none.
        if self.checks {
            return Ok(());
        }
        for bound in self.promised() {
            let Bound { parent, child, .. } = *bound;
            let roots = self.graph.provenance.roots(parent);
            let stmts = roots.iter().map(|&root| self.graph.var(root).stmt);
            let ours = self
                .tree
                .nests
                .iter()
                .any(|nest| stmts.clone().any(|s| s == nest.stmt));
            if !ours || !self.graph.data_decides(parent) || scope.promised.contains(&child) {
                continue;
            }
            let decided = roots.iter().all(|&root| self.has_deciding(root, scope));
            if decided && self.extent_is_known(parent, scope) {
                scope.promised.insert(child);
                self.promise(bound, scope, out)?;
            }
        }
        Ok(())
    }

    /// What the commands say about ranges.
    fn promised(&self) -> Vec<&'g Bound> {
        let relations = self.graph.provenance.relations.iter();
        relations.filter_map(Relation::promise).collect()
    }

    fn promise(
        &self,
        Bound {
            parent,
            child,
            value,
            kind,
            ..
        }: &Bound,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let (parent, child) = (*parent, *child);
        let ending = self.graph.provenance.ending(parent);
        let Some((lo, hi)) = self.here(scope).bounds(ending) else {
            return Err(self.unknown_extent(parent));
        };
        let text = print::size_text(self.graph, value);
        let value = self.size_expr(value);
        let data = self.graph.data_decides(parent);
        let name = self.graph.var(parent).name.clone();
        // What is found instead, and what to say before that number.
        let (what, found) = match kind {
            BoundKind::MinExact | BoundKind::MinConstraint => ("begins at", lo.clone()),
            BoundKind::MaxExact | BoundKind::MaxConstraint if !data => ("ends at", hi.clone()),
            BoundKind::MaxExact | BoundKind::MaxConstraint | BoundKind::Multiple => {
                ("has this many values:", b::sub(hi.clone(), lo.clone()))
            }
        };
        let cond = match kind {
            BoundKind::MinExact => b::binary(BinaryOp::Eq, lo, value),
            BoundKind::MinConstraint => b::binary(BinaryOp::Ge, lo, value),
            // Of a range that data decide, a static bound on the number of values.
            BoundKind::MaxExact | BoundKind::MaxConstraint if data => {
                b::binary(BinaryOp::Le, b::sub(hi, lo), value)
            }
            BoundKind::MaxExact => b::binary(BinaryOp::Eq, hi, value),
            BoundKind::MaxConstraint => b::binary(BinaryOp::Le, hi, value),
            BoundKind::Multiple => {
                let rest = b::binary(BinaryOp::Rem, b::sub(hi, lo), value);
                b::eq(rest, b::int(0))
            }
        };
        // Sizes that are numbers keep or break it here and now.
        if cond != b::boolean(true) {
            let child = &self.graph.var(child).name;
            let kind = kind.name();
            out.push(ir::Stmt::Assume {
                cond,
                text: format!("bound({name}, {child}, {text}, {kind}), but {name} {what}"),
                found,
            });
        }
        Ok(())
    }
}
