//! The last tile of a loop, which may not be full, is computed in whole vectors, too.
//!
//! before: `declare w[32]`, `for j in 0..min(32, rest) vector: w[j] = 0`,
//!         `for k in ..: for j in 0..min(32, rest) vector: w[j] += a[k] * B[k * N + j0 * 32 + j]`,
//!         `for j in 0..min(32, rest) vector: C[j0 * 32 + j] = w[j]`
//! after:  `for first in 0..min(32, rest) by 16: declare w[16]`, `for j in 0..16 vector: w[j] = 0`,
//!         `for k in ..: for j in 0..16 vector: w[j] += a[k] * (at < count ? B[at] : 0)`,
//!         `for j in 0..16 vector: if j < rest - first: C[j0 * 32 + first + j] = w[j]`,
//!         where `at` is `k * N + j0 * 32 + first + j` and B has `count` elements
//!
//! Lanes past the end compute with whatever lies there, and nobody reads what they make. So all that is tested
//! is whether an element still lies in its array. The workspace stays in registers, where a loop of unknown length
//! would keep it in memory: a convolution of 14 columns takes a tenth of the time (`BENCHMARKS.md`).
//!
//! Loads that loops over other parts of the tile would repeat are fetched before these loops: the test keeps
//! compilers from moving them.
//!
//! Two vectors are taken at a time: with more, lanes compute for nothing where little is left. Only a tile of
//! several rows is taken in such steps: each step would walk the row of a sparse matrix again, which costs
//! as much as the vectors save.

mod elements;
mod fetch;
mod legal;

use self::elements::Elements;
use self::fetch::Fetch;
use self::legal::{apart, is_part, repeats};
use super::build as b;
use super::device::inlined;
use super::ir::{
    ArrayId, Expr, ExprKind, Kernel, Literal, LoopTag, ScalarType, Stmt, Storage, VarId,
};
use super::lanes::Lanes;
use super::trips::{Bounds, Trips};
use super::visit;
use super::widen;
use std::collections::BTreeSet;

/// Computes last tiles in whole vectors, where workspaces that are declared there hold them.
pub(super) fn by_vectors(kernel: &mut Kernel, body: &mut Vec<Stmt>) {
    let mut used = BTreeSet::new();
    lanes_loops(body, &mut |stmt| used.extend(arrays_below(stmt)));
    let declares = |stmt: &Stmt| stmt.declares_array().is_some_and(|own| used.contains(&own));
    let Some(begin) = body.iter().position(declares) else {
        for stmt in body {
            for inner in visit::bodies_mut(stmt) {
                by_vectors(kernel, inner);
            }
        }
        return;
    };
    let before = (kernel.vars.len(), kernel.arrays.len());
    match Tile::of(kernel, &body[begin..]).and_then(|mut tile| tile.taken(&body[begin..])) {
        Some(taken) => drop(body.splice(begin.., taken)),
        None => {
            // Nothing names what was added.
            kernel.vars.truncate(before.0);
            kernel.arrays.truncate(before.1);
        }
    }
}

/// The vector loops.
fn lanes_loops<'s>(body: &'s [Stmt], f: &mut impl FnMut(&'s Stmt)) {
    visit::stmts(body, &mut |stmt| {
        if matches!(stmt, Stmt::For { tag, .. } if tag.is_vector()) {
            f(stmt);
        }
    });
}

fn arrays_below(stmt: &Stmt) -> Vec<ArrayId> {
    let mut found = Vec::new();
    visit::stmts(std::slice::from_ref(stmt), &mut |inner| {
        found.extend(visit::arrays(inner));
    });
    found
}

/// A last tile: vector loops that all have the same bounds, and what stands around them.
struct Tile<'k> {
    kernel: &'k mut Kernel,
    /// How many elements a full tile has.
    count: i64,
    /// How many of them are taken at a time.
    width: i64,
    /// The end of the loops, `min(count, rest)`.
    end: Expr,
    rest: Expr,
    /// The first of the elements that are taken at a time, if that is not all of them.
    first: Option<VarId>,
    /// The workspaces that hold the tile.
    own: BTreeSet<ArrayId>,
    elements: Elements,
}

impl<'k> Tile<'k> {
    fn of(kernel: &'k mut Kernel, body: &[Stmt]) -> Option<Self> {
        let mut bounds: Option<(&Expr, &Expr)> = None;
        let (mut same, mut whole) = (true, BTreeSet::new());
        lanes_loops(body, &mut |stmt| {
            if let Stmt::For { lo, hi, tag, .. } = stmt {
                let own = *bounds.get_or_insert((lo, hi));
                same &= own == (lo, hi) && tag.reductions().is_empty();
                whole.extend(arrays_below(stmt));
            }
        });
        let (lo, hi) = bounds.filter(|_| same)?;
        let trips = Trips::of(lo, hi);
        let (count, rest) = (trips.most?, trips.rest()?);
        let inner = visit::declared(body);
        let known = !hi.loads() && !inner.iter().any(|&var| hi.reads(var));
        (b::as_int(lo) == Some(0) && known && body.iter().all(|s| repeats(s, &inner)))
            .then_some(())?;
        let declared = visit::declared_arrays(body);
        apart(body, &declared).then_some(())?;
        let own: BTreeSet<ArrayId> = declared.intersection(&whole).copied().collect();
        let ty = kernel.array(*own.first()?).elem;
        let vector = widen::width(ty, count)?;
        let width = [2 * vector, vector].into_iter().find(|n| count % n == 0)?;
        let block = visit::any(body, &|stmt| {
            let mut inner = false;
            lanes_loops(std::slice::from_ref(stmt), &mut |_| inner = true);
            inner && is_part(stmt).is_some()
        });
        (block || width == count).then_some(())?;
        let name = kernel.var(lanes_var(body)?).name.clone();
        let first = (width < count)
            .then(|| kernel.fresh_var(&format!("{name}_first"), ScalarType::I64, false));
        let end = hi.clone();
        Some(Tile {
            kernel,
            count,
            width,
            end,
            rest,
            first,
            own,
            elements: Elements::default(),
        })
    }

    /// The statements, some vectors of the tile at a time.
    fn taken(&mut self, body: &[Stmt]) -> Option<Vec<Stmt>> {
        let (mut inner, fetches) = self.list(body)?;
        self.settle(&mut inner, fetches);
        let mut outer = std::mem::take(&mut self.elements.lets);
        // Nothing is loaded where nothing is left: it might lie anywhere.
        outer.push(match self.first {
            Some(first) => {
                let bounds = Bounds::of(b::int(0), self.end.clone()).at_most(Some(self.count));
                bounds.every(self.width, first, LoopTag::default(), inner)
            }
            None => b::if_then(b::lt(b::int(0), self.rest.clone()), inner),
        });
        let fixed = visit::rooms(&outer);
        let mut whole = true;
        lanes_loops(&outer, &mut |stmt| {
            if let Stmt::For { var, body, .. } = stmt {
                let found = widen::lanes(self.kernel, Some(&fixed), (*var, self.width, body), &[]);
                whole &= found.is_some();
            }
        });
        whole.then_some(outer)
    }

    /// The statements of a list, and what the last of them fetches, which may stand before the list's own loop.
    fn list(&mut self, body: &[Stmt]) -> Option<(Vec<Stmt>, Vec<Fetch>)> {
        let mut taken = Vec::new();
        let mut fetches = Vec::new();
        for stmt in body {
            self.settle(&mut taken, std::mem::take(&mut fetches));
            let own;
            (own, fetches) = self.stmt(stmt)?;
            taken.push(own);
        }
        Some((taken, fetches))
    }

    /// A statement, and what it fetches.
    fn stmt(&mut self, stmt: &Stmt) -> Option<(Stmt, Vec<Fetch>)> {
        if let Stmt::Declare { array, count } = stmt
            && self.own.contains(array)
        {
            let (whole, width) = (u64::try_from(self.count), u64::try_from(self.width));
            let (whole, width) = (whole.ok()?, width.ok()?);
            (count % whole == 0).then_some(())?;
            let (array, count) = (*array, count / whole * width);
            return Some((Stmt::Declare { array, count }, Vec::new()));
        }
        if let Stmt::For { var, tag, body, .. } = stmt
            && tag.is_vector()
        {
            return self.vector(*var, tag, body);
        }
        // Whatever else names a workspace sees all of it.
        let named = visit::arrays(stmt);
        (!named.iter().any(|array| self.own.contains(array))).then_some(())?;
        let mut stmt = stmt.clone();
        let mut fetches = Vec::new();
        let part = is_part(&stmt).filter(|(_, runs)| *runs);
        for inner in visit::bodies_mut(&mut stmt) {
            (*inner, fetches) = self.list(inner)?;
            if let Some((var, _)) = part {
                let mut here = &visit::declared(inner) | &visit::changed(inner);
                here.insert(var);
                let reads = |fetch: &Fetch, var| var != fetch.var && fetch.value.reads(var);
                let fixed = |fetch: &Fetch| !here.iter().any(|&var| reads(fetch, var));
                let stays;
                (fetches, stays) = fetches.into_iter().partition(fixed);
                fetches.iter_mut().for_each(|fetch| fetch.moved = true);
                self.settle(inner, stays);
            } else {
                self.settle(inner, std::mem::take(&mut fetches));
            }
        }
        Some((stmt, fetches))
    }

    /// A vector loop over the tile as one over a vector: values are loaded and stored where the tile has elements.
    fn vector(&mut self, var: VarId, tag: &LoopTag, body: &[Stmt]) -> Option<(Stmt, Vec<Fetch>)> {
        let (last, lets) = body.split_last()?;
        let Stmt::Store {
            array,
            index,
            op,
            value,
            atomic: false,
        } = last
        else {
            return None;
        };
        let plan = Lanes::of(var, 1, body);
        let mut fetches = Vec::new();
        let mut inner = Vec::new();
        for stmt in lets {
            let Stmt::Let { var: own, init } = stmt else {
                return None;
            };
            (!plan.varies(init) || !init.loads()).then_some(())?;
            inner.push(b::bind(*own, self.moved(var, init)));
        }
        let mut value = self.value(&plan, value, &mut fetches)?;
        let ty = self.kernel.array(*array).elem;
        let store = |index, value, op| Stmt::Store {
            array: *array,
            index,
            op,
            value,
            atomic: false,
        };
        if self.own.contains(array) {
            inner.push(store(self.place(var, index)?, value, *op));
        } else {
            (plan.stride(index)? == 1).then_some(())?;
            let to = self.moved(var, index);
            let there = b::lt(b::var(var, ScalarType::I64), self.left());
            if let Some(op) = op {
                let old = b::load(*array, ty, to.clone());
                value = b::combine(*op, b::select(there.clone(), old, zero(ty)), value);
            }
            inner.push(b::if_then(there, vec![store(to, value, None)]));
        }
        // What only fetches need stands in them.
        for at in (0..inner.len()).rev() {
            if let Stmt::Let { var, .. } = inner[at]
                && !visit::read_vars(&inner[at + 1..]).contains(&var)
            {
                inner.remove(at);
            }
        }
        let bounds = Bounds::of(b::int(0), b::int(self.width));
        Some((bounds.each(var, tag.clone(), inner), fetches))
    }

    /// Places fetches for the last statement of a list.
    fn settle(&mut self, body: &mut Vec<Stmt>, fetches: Vec<Fetch>) {
        for fetch in fetches {
            fetch.settle(self.kernel, self.width, body);
        }
    }

    /// How many elements the tile has from the vector's first one on.
    fn left(&self) -> Expr {
        match self.first {
            Some(first) => b::sub(self.rest.clone(), b::var(first, ScalarType::I64)),
            None => self.rest.clone(),
        }
    }

    /// An expression of the loop over the tile, for that over a vector, whose variable counts from `first` on.
    fn moved(&self, var: VarId, e: &Expr) -> Expr {
        let mut e = e.clone();
        if let Some(first) = self.first {
            let first = b::var(first, ScalarType::I64);
            visit::replace_expr(&mut e, &mut |node| {
                (node.kind == ExprKind::Var(var)).then(|| b::add(first.clone(), node.clone()))
            });
        }
        e
    }

    /// The index of a lane's element in a workspace, which holds a vector instead of a tile.
    fn place(&self, var: VarId, index: &Expr) -> Option<Expr> {
        let is_var = |e: &Expr| e.kind == ExprKind::Var(var);
        if is_var(index) {
            return Some(index.clone());
        }
        let ExprKind::Locate(parent, extent, coordinate) = &index.kind else {
            return None;
        };
        let fits = b::as_int(extent) == Some(self.count) && is_var(coordinate);
        (fits && !parent.reads(var)).then(|| {
            b::locate(
                (**parent).clone(),
                b::int(self.width),
                (**coordinate).clone(),
            )
        })
    }

    /// A value that lanes compute, with loads from a workspace at their place in it and all others fetched.
    fn value(&mut self, plan: &Lanes, e: &Expr, fetches: &mut Vec<Fetch>) -> Option<Expr> {
        if let ExprKind::Load { array, index } = &e.kind {
            if self.own.contains(array) {
                return Some(b::load(*array, e.ty, self.place(plan.var, index)?));
            }
            if !plan.varies(index) {
                return Some(e.clone());
            }
            (plan.stride(index)? == 1).then_some(())?;
            return self.fetch(plan, (*array, e.ty), index, fetches);
        }
        if let ExprKind::Var(var) = e.kind {
            return (var != plan.var && !plan.known.contains_key(&var)).then(|| e.clone());
        }
        let mut e = e.clone();
        let mut known = true;
        e.parts_mut(&mut |part| match self.value(plan, part, fetches) {
            Some(own) => *part = own,
            None => known = false,
        });
        known.then_some(e)
    }

    /// What each lane loads of an array, the lane beside it the next element.
    fn fetch(
        &mut self,
        plan: &Lanes,
        (array, ty): (ArrayId, ScalarType),
        index: &Expr,
        fetches: &mut Vec<Fetch>,
    ) -> Option<Expr> {
        let at = self.moved(plan.var, &inlined(index, &plan.known));
        let there = match self.elements.count(self.kernel, array) {
            Some(count) => b::lt(at.clone(), b::var(count, ScalarType::I64)),
            // Others may write what lies behind.
            None => b::lt(b::var(plan.var, ScalarType::I64), self.left()),
        };
        let value = b::select(there, b::load(array, ty, at), zero(ty));
        let load = |array| b::load(array, ty, b::var(plan.var, ScalarType::I64));
        if let Some(same) = fetches.iter().find(|fetch| fetch.value == value) {
            return Some(load(same.array));
        }
        let name = format!("{}_part", self.kernel.array(array).name);
        let part = self.kernel.fresh_array(&name, ty, Storage::Local);
        fetches.push(Fetch {
            array: part,
            value,
            var: plan.var,
            moved: false,
        });
        Some(load(part))
    }
}

fn zero(ty: ScalarType) -> Expr {
    b::literal(Literal::Int(0), ty)
}

/// The variable of the first vector loop.
fn lanes_var(body: &[Stmt]) -> Option<VarId> {
    let mut found = None;
    lanes_loops(body, &mut |stmt| {
        if let Stmt::For { var, .. } = stmt {
            found = found.or(Some(*var));
        }
    });
    found
}
