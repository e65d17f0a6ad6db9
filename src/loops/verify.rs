//! The properties that every kernel must have between passes:
//!
//! * a variable is declared once before its uses, in an enclosing scope;
//! * only mutable variables are assigned;
//! * operands of arithmetic and comparisons have one type, conditions are `Bool`,
//!   indices and bounds are `I64`;
//! * nothing fails or grows inside a parallel loop, nothing takes turns in lanes of a vector;
//! * what threads run as a function leaves nothing behind but arrays;
//! * what appends stands in no other statement, and nothing grows but in the rooms that it has.

use super::interface::Arg;
use super::ir::{
    ArrayId, BinaryOp, Device, Expr, ExprKind, Kernel, LoopTag, ReduceOp, Room, ScalarType, Stmt,
    VarId,
};
use super::{functions, trips};
use std::collections::BTreeSet;

/// What is wrong, and in which statement. Statements are counted from 0 in the order of the kernel's text: a
/// statement before those that it contains, the checks before the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub statement: usize,
    pub what: String,
}

/// What every violation is, in the order of the statements. Empty for a good kernel.
#[must_use]
pub fn verify(kernel: &Kernel) -> Vec<String> {
    violations(kernel).into_iter().map(|v| v.what).collect()
}

/// As [`verify`], with their places.
#[must_use]
pub fn violations(kernel: &Kernel) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut count = 0;
    for body in [&kernel.checks, &kernel.body] {
        let mut verifier = Verifier {
            kernel,
            visible: BTreeSet::new(),
            parallel: false,
            lanes: false,
            count,
            at: count,
            depth: 0,
            tests: 0,
            rooms: BTreeSet::new(),
            found: Vec::new(),
        };
        verifier
            .visible
            .extend(kernel.interface.sizes.iter().map(|s| s.var));
        verifier
            .visible
            .extend(kernel.interface.counts.iter().map(|c| c.var));
        verifier
            .visible
            .extend(kernel.interface.args.iter().filter_map(|arg| match arg {
                Arg::Scalar { var, .. } => Some(*var),
                Arg::Tensor(_) => None,
            }));
        verifier.stmts(body);
        count = verifier.count;
        found.append(&mut verifier.found);
    }
    found
}

struct Verifier<'k> {
    kernel: &'k Kernel,
    visible: BTreeSet<VarId>,
    parallel: bool,
    lanes: bool,
    /// Statements so far, and the one at hand.
    count: usize,
    at: usize,
    /// How many lists of statements are around.
    depth: u32,
    /// How many of them are of tests: where only those and the kernel's own are around, kernels are chosen from.
    tests: u32,
    /// Capacities of the region around.
    rooms: BTreeSet<VarId>,
    found: Vec<Violation>,
}

impl Verifier<'_> {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.found.push(Violation {
                statement: self.at,
                what: what(),
            });
        }
    }

    fn name(&self, var: VarId) -> String {
        self.kernel.var(var).name.clone()
    }

    fn declare(&mut self, var: VarId) {
        let fresh = self.visible.insert(var);
        let name = self.name(var);
        self.check(fresh, || format!("`{name}` is declared twice"));
    }

    /// A region around has this room.
    fn room(&mut self, capacity: VarId) {
        let (known, name) = (self.rooms.contains(&capacity), self.name(capacity));
        self.check(known, || format!("no region around has the room `{name}`"));
    }

    fn stmts(&mut self, body: &[Stmt]) {
        let (outer, around) = (self.visible.clone(), self.at);
        self.depth += 1;
        for stmt in body {
            self.at = self.count;
            self.count += 1;
            self.stmt(stmt);
        }
        self.at = around;
        self.depth -= 1;
        self.visible = outer;
    }

    fn index(&mut self, e: &Expr) {
        self.expr(e);
        let ty = e.ty;
        self.check(ty == ScalarType::I64, || {
            format!("an index or bound has the type {ty}")
        });
    }

    fn condition(&mut self, e: &Expr) {
        self.expr(e);
        let ty = e.ty;
        self.check(ty == ScalarType::Bool, || {
            format!("a condition has the type {ty}")
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let serial = !self.parallel;
        match stmt {
            Stmt::Let { var, init } => self.bind(*var, init),
            Stmt::Assign { var, value, .. } => self.assign(*var, value),
            Stmt::Store {
                array,
                index,
                op,
                value,
                atomic,
            } => self.store(*array, index, *op, value, *atomic),
            Stmt::For {
                var,
                lo,
                hi,
                most,
                step,
                tag,
                body,
            } => {
                self.bounds((lo, hi), *most, *step);
                let apart = tag.function.is_none() || functions::may_be(self.kernel, stmt);
                self.check(apart, || {
                    "what threads run is no function of its own".to_string()
                });
                self.inside_loop(*var, tag, body);
            }
            Stmt::While { cond, body } => {
                self.condition(cond);
                self.stmts(body);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                self.condition(cond);
                self.tests += 1;
                self.stmts(then);
                self.stmts(otherwise);
                self.tests -= 1;
            }
            Stmt::Alloc { count, .. } => {
                self.index(count);
                self.check(serial, || "an allocation in a parallel loop".to_string());
            }
            Stmt::Append { rooms, body } => self.append(rooms, body),
            Stmt::Grow { capacity, needed } => {
                self.index(needed);
                self.room(*capacity);
                self.check(serial, || "an array grows in a parallel loop".to_string());
            }
            Stmt::Trim { capacity, count } => {
                self.index(count);
                self.room(*capacity);
                self.check(serial, || {
                    "an array is trimmed in a parallel loop".to_string()
                });
            }
            Stmt::Fill {
                start,
                count,
                value,
                ..
            } => {
                self.index(start);
                self.index(count);
                self.expr(value);
            }
            Stmt::Search {
                var, lo, hi, key, ..
            } => {
                self.index(lo);
                self.index(hi);
                self.index(key);
                self.declare(*var);
            }
            Stmt::Take { var, array, index } => self.take(*var, *array, index),
            Stmt::Enter { lo, hi, .. } => {
                self.index(lo);
                self.index(hi);
            }
            Stmt::Sort {
                count, distinct, ..
            } => self.sort(count, *distinct),
            Stmt::Scan {
                array,
                count,
                op,
                total,
            } => self.scan(*array, count, *op, *total),
            Stmt::FailIf { cond, .. } => {
                self.condition(cond);
                self.check(serial, || "a failure in a parallel loop".to_string());
            }
            Stmt::Slice { offset: e, .. } | Stmt::Prefetch { index: e, .. } => self.index(e),
            Stmt::Assume { cond, found, .. } => {
                self.condition(cond);
                self.index(found);
            }
            Stmt::Device(device) => self.device(stmt, device),
            Stmt::Declare { .. } | Stmt::Free { .. } | Stmt::Comment(_) => {}
        }
    }

    /// A variable is set to a value of its type.
    fn bind(&mut self, var: VarId, init: &Expr) {
        self.expr(init);
        self.declare(var);
        let (want, got) = (self.kernel.var(var).ty, init.ty);
        let name = self.name(var);
        self.check(want == got, || format!("`{name}` is a {want}, not {got}"));
    }

    /// Only what is mutable is assigned.
    fn assign(&mut self, var: VarId, value: &Expr) {
        self.expr(value);
        self.used(var);
        let mutable = self.kernel.var(var).mutable;
        let name = self.name(var);
        self.check(mutable, || format!("`{name}` is assigned but not mutable"));
    }

    /// Lanes of a vector cannot take turns, as updates do that nothing makes atomic by itself.
    fn store(
        &mut self,
        array: ArrayId,
        index: &Expr,
        op: Option<ReduceOp>,
        value: &Expr,
        atomic: bool,
    ) {
        self.index(index);
        self.expr(value);
        let array = self.kernel.array(array);
        let turns = atomic && !super::ir::is_atomic(array.elem, op);
        let (lanes, name) = (self.lanes, array.name.clone());
        self.check(!(turns && lanes), || {
            format!("lanes take turns to update `{name}`")
        });
    }

    /// A loop advances, and has no more iterations than it says.
    fn bounds(&mut self, (lo, hi): (&Expr, &Expr), most: Option<i64>, step: i64) {
        self.index(lo);
        self.index(hi);
        let exact = trips::constant(lo, hi);
        let (exact, most) = (exact.unwrap_or(0), most.unwrap_or(i64::MAX));
        self.check(exact <= most, || {
            format!("a loop over {exact} elements says that they are {most} at most")
        });
        self.check(step > 0, || "a loop does not advance".to_string());
    }

    /// The body of a loop, in which its variable is known.
    fn inside_loop(&mut self, var: VarId, tag: &LoopTag, body: &[Stmt]) {
        let outer = (self.visible.clone(), self.parallel, self.lanes);
        self.declare(var);
        self.parallel |= tag.is_shared();
        self.lanes |= tag.is_vector();
        self.stmts(body);
        (self.visible, self.parallel, self.lanes) = outer;
    }

    /// A region with its rooms, which are known inside.
    fn append(&mut self, rooms: &[Room], body: &[Stmt]) {
        let top = self.depth == self.tests + 1;
        self.check(top, || {
            "a region that appends stands inside of another statement".to_string()
        });
        let outer = (self.visible.clone(), self.rooms.clone());
        for room in rooms {
            if let Some(first) = &room.first {
                self.index(first);
            }
            self.declare(room.capacity);
            self.rooms.insert(room.capacity);
        }
        self.stmts(body);
        (self.visible, self.rooms) = outer;
    }

    /// A counter holds whole numbers, and lanes of a vector do not count.
    fn take(&mut self, var: VarId, array: ArrayId, index: &Expr) {
        self.index(index);
        let whole = self.kernel.array(array).elem.is_integer();
        self.check(whole, || "numbers are taken from what is none".to_string());
        let lanes = self.lanes;
        self.check(!lanes, || "lanes take numbers".to_string());
        self.declare(var);
    }

    /// Elements of one place are sorted one after another.
    fn sort(&mut self, count: &Expr, distinct: bool) {
        let serial = !self.parallel;
        self.index(count);
        self.check(serial || distinct, || {
            "elements of one place sorted in a parallel loop".to_string()
        });
    }

    /// A scan is of sums or maxima of whole numbers, outside of parallel loops.
    fn scan(&mut self, array: ArrayId, count: &Expr, op: ReduceOp, total: Option<VarId>) {
        self.index(count);
        let serial = !self.parallel;
        self.check(serial, || "a scan in a parallel loop".to_string());
        let whole = self.kernel.array(array).elem.is_integer();
        let combines = whole && matches!(op, ReduceOp::Add | ReduceOp::Max);
        self.check(combines, || {
            "a scan is of sums or maxima of whole numbers".to_string()
        });
        if let Some(total) = total {
            self.check(op == ReduceOp::Add, || "maxima have no total".to_string());
            self.declare(total);
        }
    }

    /// What a device does, by what the table of operands says of it.
    fn device(&mut self, stmt: &Stmt, device: &Device) {
        super::visit::own_exprs(stmt, &mut |e| self.expr(e));
        if let Device::Reduce { var, .. } = device {
            self.used(*var);
        }
        for var in stmt.declares() {
            self.declare(var);
        }
        for body in super::visit::bodies(stmt) {
            self.stmts(body);
        }
    }

    /// A variable is visible where it is used.
    fn used(&mut self, var: VarId) {
        let visible = self.visible.contains(&var);
        let name = self.name(var);
        self.check(visible, || {
            format!("`{name}` is used before it is declared")
        });
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Literal(_) | ExprKind::Place(_) => {}
            ExprKind::Var(var) => {
                self.used(*var);
                let (want, got) = (self.kernel.var(*var).ty, e.ty);
                let name = self.name(*var);
                self.check(want == got, || {
                    format!("`{name}` is a {want}, read as {got}")
                });
            }
            ExprKind::Load { index, .. } => self.index(index),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => self.expr(a),
            ExprKind::Binary(op, a, b) => {
                self.expr(a);
                self.expr(b);
                let (x, y) = (a.ty, b.ty);
                self.check(x == y, || format!("{op:?} of {x} and {y}"));
                if matches!(op, BinaryOp::And | BinaryOp::Or) {
                    self.check(x == ScalarType::Bool, || format!("{op:?} of {x}"));
                }
            }
            ExprKind::Call(_, args) => args.iter().for_each(|a| self.expr(a)),
            ExprKind::Locate(parent, extent, coordinate) => {
                self.index(parent);
                self.index(extent);
                self.index(coordinate);
            }
            ExprKind::Select(c, a, b) => {
                self.condition(c);
                self.expr(a);
                self.expr(b);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::build as b;
    use crate::loops::ir::{Interface, Var};

    fn kernel(body: Vec<Stmt>) -> Kernel {
        let var = |name: &str, mutable| Var {
            name: name.to_string(),
            ty: ScalarType::I64,
            mutable,
        };
        Kernel {
            name: "k".to_string(),
            comment: vec![],
            interface: Interface::default(),
            vars: vec![var("a", false), var("b", true)],
            arrays: vec![],
            checks: vec![],
            body,
            keeping: None,
        }
    }

    #[test]
    fn violations_are_found() {
        let (a, c) = (VarId(0), VarId(1));
        let let_a = Stmt::Let {
            var: a,
            init: b::int(1),
        };
        let set = |var| Stmt::Assign {
            var,
            op: None,
            value: b::int(2),
        };
        assert!(verify(&kernel(vec![let_a.clone()])).is_empty());
        assert_eq!(
            verify(&kernel(vec![set(c)])),
            ["`b` is used before it is declared"]
        );
        assert_eq!(
            verify(&kernel(vec![let_a.clone(), set(a)])),
            ["`a` is assigned but not mutable"]
        );
        assert_eq!(
            verify(&kernel(vec![let_a.clone(), let_a])),
            ["`a` is declared twice"]
        );
        let cond = Stmt::If {
            cond: b::int(1),
            then: vec![],
            otherwise: vec![],
        };
        assert_eq!(
            verify(&kernel(vec![cond])),
            ["a condition has the type int64"]
        );
    }
}
