//! Where the plan says that a dynamic counted loop ends with the longest of a tile
//! (`plan/exits.rs`): the pass over the tile that finds it.

use super::recover::Top;
use super::{Lower, Lowerer, Scope};
use crate::graph::relation::Values;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, LoopTag, ScalarType, Storage};
use crate::loops::trips::Bounds;
use crate::plan::{Exit, Live};
use crate::program::ir::{ReduceOp, VarId};
use crate::units::GpuUnit;

/// Iterations of a loop that have values left.
#[derive(Clone, Debug)]
pub(super) struct List {
    live: Live,
    /// The variable of the program whose values they have.
    root: VarId,
    array: ArrayId,
    count: ir::VarId,
}

/// What a pass over a tile finds.
struct Longest<'l> {
    root: VarId,
    most: ir::VarId,
    list: Option<&'l List>,
}

impl Lowerer<'_> {
    /// Finds the most values of a bounded variable in the tile at hand.
    pub(super) fn enter_exit(
        &mut self,
        exit: &Exit,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let name = self.graph.var(exit.root).name.clone();
        let (most, value) = self.fresh_index("most", true);
        out.push(ir::Stmt::Let {
            var: most,
            init: b::int(0),
        });
        let live = exit.live.as_ref();
        let list = live.map(|live| self.list(live, exit.root, out));
        let found = Longest {
            root: exit.root,
            most,
            list: list.as_ref(),
        };
        let tile = self.longest(&found, &exit.over, scope)?;
        out.extend(tile);
        scope.live.extend(list.map(|list| (list.live.of, list)));
        // What a schedule promises holds even if data do not.
        let relation = self.graph.provenance.producer(exit.bounded);
        let end = match relation.and_then(|relation| relation.promise()) {
            Some(promise) => b::min(value, self.size_expr(&promise.value)),
            None => value,
        };
        let (end_var, end_value) = self.fresh_index(&format!("{name}_most"), false);
        out.push(ir::Stmt::Let {
            var: end_var,
            init: end,
        });
        scope.most.insert(exit.bounded, end_value);
        Ok(())
    }

    /// `most = max(most, extent of root)` in loops over `over`.
    fn longest(
        &mut self,
        found: &Longest,
        over: &[(VarId, Option<GpuUnit>)],
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let Some(((var, unit), inside)) = over.split_first() else {
            let mut out = Vec::new();
            let value = self.own_extent(found.root, scope)?;
            let value = self.named("length", value, &mut out);
            out.push(ir::Stmt::Assign {
                var: found.most,
                op: Some(ReduceOp::Max),
                value: value.clone(),
            });
            if let Some(list) = found.list {
                let at = self.known(list.live.of, scope)?;
                out.extend(b::when(vec![b::lt(b::int(0), value)], list.push(at)));
            }
            return Ok(out);
        };
        let step = self.step(*var, scope)?;
        let (v, value) = self.fresh_index(&self.graph.var(*var).name.clone(), false);
        let mut inner = scope.clone();
        inner.coords.insert(*var, value);
        let mut body = Vec::new();
        let mut guards = Vec::new();
        if let Top::Root(top) = &step.top {
            if let Some(init) = self.coordinate(top.var, &inner)
                && top.var != *var
            {
                let name = self.graph.var(top.var).name.clone();
                let value = self.named(&name, init, &mut body);
                inner.coords.insert(top.var, value);
            }
            guards = self.complete_pending(&mut inner, &mut body)?;
        }
        self.locate_bounds(&mut inner)?;
        let then = self.longest(found, inside, &inner)?;
        body.extend(b::when(guards, then));
        let run = match unit {
            Some(unit) => ir::Run::Unit {
                unit: *unit,
                reductions: vec![(ReduceOp::Max, found.most)],
            },
            None => ir::Run::Serial,
        };
        let tag = LoopTag {
            run,
            ..LoopTag::default()
        };
        Ok(vec![
            self.loop_bounds(*var, &step, scope)?.each(v, tag, body),
        ])
    }

    /// An empty list of iterations.
    fn list(&mut self, live: &Live, root: VarId, out: &mut Vec<ir::Stmt>) -> List {
        let name = self.graph.var(live.of).name.clone();
        let array = self.array(&format!("{name}_live"), ScalarType::I32, Storage::Local);
        out.push(ir::Stmt::Declare {
            array,
            count: live.most,
        });
        let (count, _) = self.fresh_index(&format!("{name}_count"), true);
        out.push(ir::Stmt::Let {
            var: count,
            init: b::int(0),
        });
        List {
            live: live.clone(),
            root,
            array,
            count,
        }
    }

    /// The loop over what the list at hand holds, which lists anew what has values left behind
    /// the iteration around: `body` is what the iteration `v` does, where `inner` is known.
    pub(super) fn live_loop(
        &mut self,
        list: &List,
        v: ir::VarId,
        inner: &Scope,
        body: Vec<ir::Stmt>,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut next = inner.clone();
        let by = list.live.by;
        if let Some(at) = next.coords.get(&by).cloned() {
            next.coords.insert(by, b::add(at, b::int(1)));
        }
        next.coords
            .extend(list.live.parts.iter().map(|&part| (part, b::int(0))));
        // What is known of the root itself is of the iteration at hand.
        next.coords.remove(&list.root);
        let Some(from) = self.here(&next).by_parts(list.root) else {
            return Err(self.unknown_extent(list.root));
        };
        let length = self.own_extent(list.root, inner)?;
        let name = self.graph.var(list.live.of).name.clone();
        let mut out = Vec::new();
        let count = b::var(list.count, ScalarType::I64);
        let (listed, end) = self.fresh_index(&format!("{name}_listed"), false);
        out.push(ir::Stmt::Let {
            var: listed,
            init: count,
        });
        out.push(ir::Stmt::Assign {
            var: list.count,
            op: None,
            value: b::int(0),
        });
        let (at, index) = self.fresh_index("at", false);
        let mut each = vec![ir::Stmt::Let {
            var: v,
            init: self.load_index(list.array, index),
        }];
        let value = b::var(v, ScalarType::I64);
        let more = b::when(vec![b::lt(from, length)], list.push(value));
        each.extend(body);
        each.extend(more);
        let most = i64::try_from(list.live.most).ok();
        let bounds = Bounds::of(b::int(0), end).at_most(most);
        out.push(bounds.each(at, LoopTag::default(), each));
        Ok(out)
    }
}

impl List {
    /// `array[count] = at`, one more.
    fn push(&self, at: ir::Expr) -> Vec<ir::Stmt> {
        let count = b::var(self.count, ScalarType::I64);
        vec![
            ir::Stmt::Store {
                array: self.array,
                index: count,
                op: None,
                value: b::cast(ScalarType::I32, at),
                atomic: false,
            },
            ir::Stmt::Assign {
                var: self.count,
                op: Some(ReduceOp::Add),
                value: b::int(1),
            },
        ]
    }
}
