//! A nest into its tree: where each reduction accumulates and where each workspace is
//! computed, given the order of loops.
//!
//! * All loops of the left side outside: the reduction goes into a scalar
//!   workspace, `where(y(i) = sum, forall(j, sum += ...))`, and the result is
//!   written once.
//! * A reduction loop outside a loop of the left side: the result itself
//!   accumulates, after it was set to the neutral element; loops of the reduction
//!   that are innermost still use a scalar. A loop can be both, where `fuse` made one
//!   of two.
//! * A workspace stands as far out as what it reads allows.
//! * A serial loop over consecutive positions is walked as the levels they lie in
//!   (`within`), so that rows end where they end.
//!
//! A reduction stays with its own term: `y(i) = A(i,j)*x(j) + z(i)` is one j loop
//! for the first term and one store.

use indexmap::IndexSet;

use super::known::Known;
use super::order::appended_vars;
use super::pattern;
use super::producers::{around, scalar_sum};
use super::provenance::Provenance;
use super::terms::{reads, reduces, replace, root_reduction};
use super::within::opened;
use super::{Assign, Graph, Loop, Nest, Stmt};
use crate::program::ir::{Access, Expr, ExprKind, ReduceOp, Role, Tensor, TensorId, VarId};
use crate::scalar::Literal;

/// The tree of one nest; scalar workspaces are added to `tensors`.
#[must_use]
pub fn concretize_nest(graph: &Graph, nest: &Nest, tensors: &mut Vec<Tensor>) -> Option<Stmt> {
    Concretizer::new(graph, nest, &[], tensors).run()
}

/// The tree of the graph's nest of this number: all of it stands inside of the loops that it shares with those
/// before and behind it.
#[must_use]
pub fn concretize_numbered(graph: &Graph, at: usize, tensors: &mut Vec<Tensor>) -> Option<Stmt> {
    let mut concretizer = Concretizer::new(graph, &graph.nests[at], &[], tensors);
    let next = graph.nests.get(at + 1).map_or(0, |next| next.joined);
    let shared = graph.nests[at].joined.max(next);
    // (Whether it has as many loops is asked behind each command.)
    let last = shared.checked_sub(1);
    let end = last.and_then(|last| concretizer.ends.get(last));
    concretizer.shared = end.copied().unwrap_or(0);
    concretizer.run()
}

/// A place in the order of a nest's loops.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Loop {
        l: Loop,
        /// The variable that stood here before it was opened.
        from: Option<VarId>,
    },
    /// The loops that follow, over roots, stay within the positions of this variable.
    Within { var: VarId, skipped: usize },
}

pub(super) struct Concretizer<'a> {
    pub(super) graph: &'a Graph,
    pub(super) nest: &'a Nest,
    /// The loops around the nest and its own.
    pub(super) loops: Vec<VarId>,
    pub(super) items: Vec<Item>,
    /// For each loop of the nest, the number of items up to it.
    ends: Vec<usize>,
    /// Items that other nests share.
    shared: usize,
    /// For each producer, how many items and which loops stand around it.
    pub(super) depths: Vec<(usize, Vec<VarId>)>,
    pub(super) tensors: &'a mut Vec<Tensor>,
}

impl<'a> Concretizer<'a> {
    pub(super) fn new(
        graph: &'a Graph,
        nest: &'a Nest,
        outer: &[VarId],
        tensors: &'a mut Vec<Tensor>,
    ) -> Self {
        let mut loops = outer.to_vec();
        loops.extend(nest.loop_vars());
        let mut items = Vec::new();
        let mut ends = Vec::new();
        for (at, l) in nest.loops.iter().enumerate() {
            match opened(graph, nest, outer, at) {
                None => items.push(Item::Loop {
                    l: l.clone(),
                    from: None,
                }),
                Some((roots, skipped)) => {
                    items.push(Item::Within {
                        var: l.var,
                        skipped,
                    });
                    items.extend(roots[skipped..].iter().map(|&v| Item::Loop {
                        l: Loop::serial(v),
                        from: Some(l.var),
                    }));
                    if let Some(Item::Loop { l: last, .. }) = items.last_mut() {
                        last.tag = l.tag.clone();
                    }
                }
            }
            ends.push(items.len());
        }
        let depths = nest
            .producers
            .iter()
            .map(|p| {
                let around = around(graph, nest, p);
                let depth = around.len().checked_sub(1).map_or(0, |last| ends[last]);
                (depth, outer.iter().copied().chain(around).collect())
            })
            .collect();
        Concretizer {
            graph,
            nest,
            loops,
            items,
            ends,
            shared: 0,
            depths,
            tensors,
        }
    }

    pub(super) fn run(mut self) -> Option<Stmt> {
        let nest = self.nest;
        if let Some((op, _, body)) = root_reduction(&nest.rhs, nest.op) {
            return self.accumulate(op, body);
        }
        let split = self
            .items
            .iter()
            .position(|item| !self.is_left(item))
            .unwrap_or(self.items.len());
        let inner: Vec<usize> = (split..self.items.len()).collect();
        if inner.iter().any(|&at| self.is_left(&self.items[at]))
            || self.items[..split].iter().any(|item| self.is_reduced(item))
        {
            return None;
        }
        let mut rhs = nest.rhs.clone();
        let mut producers = Vec::new();
        for sum in reduces(&nest.rhs) {
            let ExprKind::Reduce { op, vars, body } = &sum.kind else {
                continue;
            };
            let loops: Vec<usize> = inner
                .iter()
                .copied()
                .filter(|&at| self.sums(&self.items[at], vars))
                .collect();
            // A loop fused with another sum's would run too often.
            let shared = loops.iter().any(|&at| {
                let (Item::Loop {
                    l: Loop { var, .. },
                    ..
                }
                | Item::Within { var, .. }) = &self.items[at];
                let roots = self.graph.provenance.roots(*var);
                !roots.iter().all(|root| vars.contains(root))
            });
            if shared {
                return None;
            }
            let temp = self.workspace(*op, &sum);
            let read = scalar(temp, &sum);
            replace(&mut rhs, &sum, &read);
            let update = Stmt::Assign(Assign {
                tensor: temp,
                lhs: vec![],
                op: Some(*op),
                rhs: (**body).clone(),
            });
            producers.push((temp, *op, self.foralls(&loops, split, update, &sum)?));
        }
        let mut body = self.write(nest.op, rhs.clone());
        for (temp, init, producer) in producers.into_iter().rev() {
            body = Stmt::Where {
                consumer: Box::new(body),
                producer: Box::new(producer),
                temp,
                init: Some(init),
            };
        }
        if split < self.items.len() || inner.is_empty() {
            // Workspaces of the statement itself, not of one of its sums.
            body = self.produce(split, self.items.len(), body, &rhs)?;
        }
        self.foralls_outer(split, body)
    }

    fn accumulate(&mut self, op: ReduceOp, body: &Expr) -> Option<Stmt> {
        let nest = self.nest;
        let last = self.items.iter().rposition(|item| self.is_left(item));
        // A sum whose loop is shared grows where it is added to, and one of which later loops tell the element
        // grows inside of these.
        let prefix = last.map_or(0, |last| last + 1).max(self.shared);
        // (Elements of a sparse one may be found by positions alone.)
        let mut depths = prefix..=self.items.len();
        let told = depths.find(|&at| self.tells_left(at));
        let sparse = self.tensors[nest.tensor.index()].is_sparse();
        let prefix = told.filter(|_| !sparse).unwrap_or(prefix);
        let in_place = self.items[..prefix]
            .iter()
            .any(|item| self.is_reduced(item) || !self.is_left(item));
        let result = &self.tensors[nest.tensor.index()];
        let narrow = result.ty.compute() != result.ty;
        if in_place && (narrow || reads(body, nest.tensor)) {
            // Each step would be rounded, or be read by the next one.
            return None;
        }
        let source = result
            .is_sparse()
            .then(|| pattern::source(self.graph, nest))
            .flatten();
        // What is collected is combined later, or as it comes into a workspace.
        let collected = self.graph.collected.contains(&nest.tensor);
        let workspace = self.graph.workspaces.contains(&nest.tensor);
        let in_place = in_place && (!collected || workspace);
        let store_op = if in_place { Some(op) } else { nest.op };
        let suffix: Vec<usize> = (prefix..self.items.len()).collect();
        if let Some(op) = scalar_sum(nest).filter(|_| workspace) {
            let update = self.write(Some(op), body.clone());
            return self.foralls(&suffix, prefix, update, body);
        }
        let core = if suffix.is_empty() {
            let op = (in_place || nest.op.is_some()).then_some(op);
            let write = self.write(op, body.clone());
            self.produce(prefix, prefix, write, body)?
        } else {
            let temp = self.workspace(op, &nest.rhs);
            let update = Stmt::Assign(Assign {
                tensor: temp,
                lhs: vec![],
                op: Some(op),
                rhs: body.clone(),
            });
            Stmt::Where {
                consumer: Box::new(self.write(store_op, scalar(temp, &nest.rhs))),
                producer: Box::new(self.foralls(&suffix, prefix, update, body)?),
                temp,
                init: Some(op),
            }
        };
        if !in_place || collected || nest.op.is_some() {
            return self.foralls_outer(prefix, core);
        }
        let depth = match source.map(|source| self.block_depth(&source)) {
            None => self.init_depth(prefix),
            Some(Some(depth)) => depth,
            // All elements are set up where the arrays are made.
            Some(None) => return self.foralls_outer(prefix, core),
        };
        // Elements that are appended are set up where they are.
        let result = &self.tensors[nest.tensor.index()];
        let apart = |var: &VarId| !self.unbound(*var, depth).is_empty();
        if appended_vars(&result.format, &nest.lhs).iter().any(apart) {
            return None;
        }
        let neutral = Expr {
            kind: ExprKind::Literal(op.neutral(nest.rhs.ty)),
            ty: nest.rhs.ty,
            span: nest.rhs.span,
        };
        // A part of a fused variable is needed by each variable that was fused.
        let rest: IndexSet<VarId> = nest
            .lhs
            .iter()
            .flat_map(|&var| self.unbound(var, depth))
            .collect();
        // The loops for one variable may tell another, as those of a skewed one do.
        let told = |var: VarId| {
            let others = rest.iter().copied().filter(|&other| other != var);
            let others: Vec<VarId> = self.known_loops(depth).chain(others).collect();
            self.graph.provenance.is_complete(var, &others)
        };
        let loops = rest.iter().copied().filter(|&var| !told(var));
        let loops: Vec<VarId> = loops.collect();
        let init = loops
            .into_iter()
            .rev()
            .fold(self.write(None, neutral), |body, var| Stmt::Forall {
                var,
                tag: self.init_tag(var),
                body: Box::new(body),
            });
        let loops: Vec<usize> = (depth..prefix).collect();
        let loops = self.fold_items(&loops, core)?;
        self.foralls_outer(depth, Stmt::Sequence(vec![init, loops]))
    }

    /// Whether the loop derives from one of `vars`, or is the one inside which its value is told
    /// at last: that of a skewed variable can be the loop that it was skewed along.
    fn derives(&self, item: &Item, vars: &[VarId]) -> bool {
        self.depends(item, vars, Provenance::ancestors)
    }

    /// Whether the value of the loop's variable, too, depends on one of `vars`.
    fn sums(&self, item: &Item, vars: &[VarId]) -> bool {
        self.depends(item, vars, Provenance::told_by)
    }

    fn depends(
        &self,
        item: &Item,
        vars: &[VarId],
        from: fn(&Provenance, VarId) -> Vec<VarId>,
    ) -> bool {
        let (Item::Loop {
            l: Loop { var, .. },
            ..
        }
        | Item::Within { var, .. }) = item;
        let from = from(&self.graph.provenance, *var);
        let last = |v: VarId| {
            let leaves = self.graph.provenance.leaves(v, &self.loops);
            let place = |leaf: &VarId| self.loops.iter().position(|l| l == leaf);
            leaves.into_iter().max_by_key(place)
        };
        vars.iter()
            .any(|&v| from.contains(&v) || last(v) == Some(*var))
    }

    /// Whether the first `depth` items and the loops around the nest tell which element of the result it is: where
    /// data decide that, they know what the data are read at.
    fn tells_left(&self, depth: usize) -> bool {
        let outer = self.loops.len() - self.nest.loops.len();
        let mut loops = self.loops[..outer].to_vec();
        loops.extend(self.known_loops(depth));
        let mut known = Known::after(self.graph, &loops);
        self.nest.lhs.iter().all(|&var| known.tells(var))
    }

    pub(super) fn is_left(&self, item: &Item) -> bool {
        if self.derives(item, &self.nest.lhs) {
            return true;
        }
        // A workspace over positions has one element for each.
        let Item::Loop {
            from: Some(var), ..
        } = item
        else {
            return false;
        };
        let provenance = &self.graph.provenance;
        let from = provenance.ancestors(*var);
        self.nest
            .lhs
            .iter()
            .any(|v| from.contains(v) && provenance.producer(*v).is_some())
    }

    pub(super) fn is_reduced(&self, item: &Item) -> bool {
        let mut reduced = Vec::new();
        for sum in reduces(&self.nest.rhs) {
            if let ExprKind::Reduce { vars, .. } = &sum.kind {
                reduced.extend(vars.iter().copied());
            }
        }
        match item {
            Item::Loop { .. } => self.sums(item, &reduced),
            // The loops that follow count, and those that are left out.
            Item::Within { var, skipped } => self.graph.provenance.coordinates(*var)[..*skipped]
                .iter()
                .flat_map(|&own| self.graph.provenance.roots(own))
                .any(|root| reduced.contains(&root)),
        }
    }

    fn write(&self, op: Option<ReduceOp>, rhs: Expr) -> Stmt {
        Stmt::Assign(Assign {
            tensor: self.nest.tensor,
            lhs: self.nest.lhs.clone(),
            op,
            rhs,
        })
    }

    fn workspace(&mut self, op: ReduceOp, like: &Expr) -> TensorId {
        let name = match op {
            ReduceOp::Add => "sum",
            ReduceOp::Mul => "product",
            ReduceOp::Min => "least",
            ReduceOp::Max => "most",
            ReduceOp::And => "all",
            ReduceOp::Or => "any",
            ReduceOp::Own(own) => own.name(),
        };
        self.tensors.push(Tensor {
            name: name.to_string(),
            span: like.span,
            role: Role::Temporary,
            ty: like.ty,
            dims: vec![],
            format: crate::format::TensorFormat::dense(0),
            fill: Literal::ZERO,
        });
        TensorId::at(self.tensors.len() - 1)
    }

    /// The loops of the items `at`, the first of which stands at depth `from`, around
    /// `body`, with the workspaces that `reader` needs inside them.
    fn foralls(&mut self, at: &[usize], from: usize, body: Stmt, reader: &Expr) -> Option<Stmt> {
        let mut stmt = body;
        let mut end = self.items.len();
        for &index in at.iter().rev() {
            stmt = self.produce(index + 1, end, stmt, reader)?;
            stmt = self.enclose(index, stmt);
            end = index;
        }
        self.produce(from, end, stmt, reader)
    }

    /// The first `count` items around `body`, with the workspaces that stand outside.
    fn foralls_outer(&mut self, count: usize, body: Stmt) -> Option<Stmt> {
        let loops: Vec<usize> = (0..count).collect();
        self.fold_items(&loops, body)
    }

    /// The items around `body`, each with the workspaces that stand just outside it.
    fn fold_items(&mut self, at: &[usize], body: Stmt) -> Option<Stmt> {
        let rhs = self.nest.rhs.clone();
        let mut stmt = body;
        for &index in at.iter().rev() {
            stmt = self.enclose(index, stmt);
            stmt = self.produce(index, index, stmt, &rhs)?;
        }
        Some(stmt)
    }

    fn enclose(&self, index: usize, body: Stmt) -> Stmt {
        match &self.items[index] {
            Item::Loop { l, .. } => Stmt::Forall {
                var: l.var,
                tag: l.tag.clone(),
                body: Box::new(body),
            },
            Item::Within { var, skipped } => Stmt::Within {
                var: *var,
                skipped: *skipped,
                body: Box::new(body),
            },
        }
    }
}

fn scalar(tensor: TensorId, like: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Access(Access {
            tensor,
            subscripts: vec![],
        }),
        ty: like.ty,
        span: like.span,
    }
}

/// Whether the reductions of `nest` could accumulate with its loops in `order`.
#[must_use]
pub fn accumulates(graph: &Graph, nest: &Nest, order: &[VarId]) -> bool {
    let mut trial = nest.clone();
    trial.loops = order.iter().map(|&v| Loop::serial(v)).collect();
    concretize_nest(graph, &trial, &mut graph.tensors.clone()).is_some()
}
