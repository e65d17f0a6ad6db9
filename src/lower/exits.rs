//! Where the plan says that a dynamic counted loop ends with the longest of a tile
//! (`plan/exits.rs`): the pass over the tile that finds it, or the first iteration, where those
//! behind go through a list.

use super::cuts::{Guards, guarded};
use super::recover::{Step, Top};
use super::{Lower, Lowerer, Scope};
use crate::graph::relation::Values;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, LoopTag, ScalarType, Storage};
use crate::loops::trips::Bounds;
use crate::plan::{Exit, Inside, Live, Parts};
use crate::program::ir::{ReduceOp, VarId};
use crate::units::GpuUnit;

/// Iterations of a loop that have values left.
#[derive(Clone, Debug)]
pub(super) struct List {
    live: Live,
    /// The variable of the program whose values they have.
    root: VarId,
    array: ArrayId,
    elem: ScalarType,
    count: ir::VarId,
    /// In the first iteration of the loop around nothing is listed yet: all are gone through, and
    /// the most values of any that is listed are found.
    most: Option<ir::VarId>,
}

impl Lowerer<'_> {
    /// Finds the most values of a bounded variable in the tile at hand.
    pub(super) fn enter_exit(
        &self,
        exit: &Exit,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let (most, value) = self.fresh_index("most", true);
        out.push(b::bind(most, b::int(0)));
        let tile = self.longest(exit.root, most, &exit.over, scope)?;
        out.extend(tile);
        let end = self.named_end(exit, value, out);
        scope.most.insert(exit.bounded, end);
        Ok(())
    }

    /// What a schedule promises holds even if data do not.
    fn promised_end(&self, exit: &Exit) -> Option<Expr> {
        let relation = self.graph.provenance.producer(exit.bounded)?;
        let promise = relation.promise()?;
        Some(self.size_expr(&promise.value))
    }

    /// How many values a bounded variable has at most, once the most of a tile are found.
    fn named_end(&self, exit: &Exit, most: Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        let end = match self.promised_end(exit) {
            Some(promised) => b::min(most, promised),
            None => most,
        };
        let name = &self.graph.var(exit.root).name;
        self.bind(&format!("{name}_most"), end, out)
    }

    /// The step of a loop over parts of a tile, which ends where no value is left that the loops below could come to.
    pub(super) fn ended(
        &self,
        parts: Option<&Parts>,
        (var, mut step): (VarId, Step),
        scope: &Scope,
    ) -> Step {
        let Some(parts) = parts else { return step };
        let mut first = scope.clone();
        let from_here = parts.below.iter().chain([&var]);
        if !self.begin_again(from_here, &mut first) {
            return step;
        }
        let base = self.here(&first).by_parts(parts.bounded);
        if let (Some(most), Some(base)) = (self.here(scope).most(parts.bounded), base) {
            let left = b::sub(most, base);
            step.ends.push(b::ceil_div_by(left, &b::int(parts.size)));
        }
        step
    }

    /// Has loops over parts stand where they begin; whether that is known. Those of a shifted one do not begin at zero.
    fn begin_again<'p>(
        &self,
        parts: impl IntoIterator<Item = &'p VarId>,
        scope: &mut Scope,
    ) -> bool {
        for &part in parts {
            let Some(origin) = self.here(scope).origin(part) else {
                return false;
            };
            scope.coords.insert(part, origin);
        }
        true
    }

    /// The ended loop of a list. Its first iteration goes through the whole tile, and lists what
    /// has values left; what it finds on its way ends the others. So a tile of short rows is gone
    /// through once.
    pub(super) fn shrinking_loop(
        &self,
        (exit, live): (&Exit, &Live),
        body: &Inside,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let var = live.by;
        let (most, value) = self.fresh_index("most", true);
        let mut out = vec![b::bind(most, b::int(0))];
        let list = self.list((live, exit.root), most, scope, &mut out);
        let mut first = scope.clone();
        first.live.insert(live.of, list.clone());
        first
            .most
            .extend(self.promised_end(exit).map(|end| (exit.bounded, end)));
        let step = self.step(var, &first)?;
        let lo = self.loop_bounds(var, &step, &first)?.lo;
        out.extend(self.iteration((var, lo.clone()), &step, body, &first)?);

        let mut rest = scope.clone();
        rest.live.insert(live.of, List { most: None, ..list });
        let end = self.named_end(exit, value, &mut out);
        rest.most.insert(exit.bounded, end);
        let step = self.step(var, &rest)?;
        let hi = self.loop_bounds(var, &step, &rest)?.hi;
        let name = self.graph.var(var).name.clone();
        let (v, value) = self.fresh_index(&name, false);
        let stmts = self.iteration((var, value), &step, body, &rest)?;
        let bounds = Bounds::of(b::add(lo, b::int(1)), hi);
        out.push(bounds.each(v, LoopTag::default(), stmts));
        Ok(self.close_step(&step, scope, out))
    }

    /// `most = max(most, extent of root)` in loops over `over`.
    fn longest(
        &self,
        root: VarId,
        most: ir::VarId,
        over: &[(VarId, Option<GpuUnit>)],
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let Some(((var, unit), inside)) = over.split_first() else {
            let mut out = Vec::new();
            let value = self.own_extent(root, scope)?;
            let value = self.named("length", value, &mut out);
            out.push(larger(most, value));
            return Ok(out);
        };
        let step = self.step(*var, scope)?;
        let (v, value) = self.fresh_index(&self.graph.var(*var).name.clone(), false);
        let mut inner = scope.clone();
        inner.coords.insert(*var, value);
        let mut body = Vec::new();
        let mut guards = Guards::new();
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
        let then = self.longest(root, most, inside, &inner)?;
        body.extend(guarded(guards, then));
        let run = match unit {
            Some(unit) => ir::Run::Unit {
                unit: *unit,
                reductions: vec![(ReduceOp::Max, most)],
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

    /// An empty list of iterations. Those that count from zero are small numbers.
    fn list(
        &self,
        (live, root): (&Live, VarId),
        most: ir::VarId,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> List {
        let name = self.graph.var(live.of).name.clone();
        let origin = self.here(scope).origin(live.of);
        let elem = match origin.as_ref().and_then(b::as_int) {
            Some(0) => ScalarType::I32,
            Some(_) | None => ScalarType::I64,
        };
        let array = self.array(&format!("{name}_live"), elem, Storage::Local);
        out.push(ir::Stmt::Declare {
            array,
            count: live.most,
        });
        let (count, _) = self.fresh_index(&format!("{name}_count"), true);
        out.push(b::bind(count, b::int(0)));
        List {
            live: live.clone(),
            root,
            array,
            elem,
            count,
            most: Some(most),
        }
    }

    /// Lists the iteration `at` if it has values left behind the iteration around.
    pub(super) fn list_again(&self, list: &List, at: Expr, known: Scope) -> Lower<Vec<ir::Stmt>> {
        let mut known = known;
        self.locate_bounds(&mut known)?;
        let mut out = Vec::new();
        let length = self.own_extent(list.root, &known)?;
        let length = match list.most {
            Some(_) => self.named("length", length, &mut out),
            None => length,
        };
        let mut next = known;
        let by = list.live.by;
        if let Some(at) = next.coords.get(&by).cloned() {
            next.coords.insert(by, b::add(at, b::int(1)));
        }
        if !self.begin_again(&list.live.parts, &mut next) {
            return Err(self.unknown_extent(list.root));
        }
        // What is known of the root itself is of the iteration at hand.
        next.coords.remove(&list.root);
        let Some(from) = self.here(&next).by_parts(list.root) else {
            return Err(self.unknown_extent(list.root));
        };
        // Only the ends of what is listed matter later.
        let longest = list.most.map(|most| larger(most, length.clone()));
        let then = longest.into_iter().chain(list.push(at)).collect();
        out.extend(b::when(vec![b::lt(from, length)], then));
        Ok(out)
    }
}

impl List {
    /// The loop over what is listed, as whose iteration `v` the body is written: all, at first.
    pub(super) fn each(
        &self,
        lowerer: &Lowerer,
        all: Bounds,
        v: ir::VarId,
        mut body: Vec<ir::Stmt>,
    ) -> Vec<ir::Stmt> {
        if self.most.is_some() {
            return vec![all.each(v, LoopTag::default(), body)];
        }
        let name = lowerer.graph.var(self.live.of).name.clone();
        let (listed, end) = lowerer.fresh_index(&format!("{name}_listed"), false);
        let (at, index) = lowerer.fresh_index("at", false);
        let own = b::bind(v, lowerer.load_index(self.array, index));
        body.insert(0, own);
        let most = i64::try_from(self.live.most).ok();
        let listed_ones = Bounds::of(b::int(0), end).at_most(most);
        vec![
            b::bind(listed, b::var(self.count, ScalarType::I64)),
            b::set(self.count, b::int(0)),
            listed_ones.each(at, LoopTag::default(), body),
        ]
    }

    /// `array[count] = at`, one more.
    fn push(&self, at: Expr) -> Vec<ir::Stmt> {
        let count = b::var(self.count, ScalarType::I64);
        vec![
            b::store(self.array, count, b::cast(self.elem, at)),
            b::update(self.count, ReduceOp::Add, b::int(1)),
        ]
    }
}

/// `most = max(most, length)`
fn larger(most: ir::VarId, length: Expr) -> ir::Stmt {
    b::update(most, ReduceOp::Max, length)
}
