//! Assignments and expressions: the leaves of the loops.

use super::overflow::may_leave;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::codes::lower as codes;
use crate::graph::{Assign, Graph, fold};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, ScalarType};
use crate::loops::trips::Bounds;
use crate::plan::{Node, Over, Phase, Write};
use crate::program::ir::{
    self as program, Access, BinaryOp, ExprKind, Func, ReduceOp, TensorId, UnaryOp,
};
use crate::scalar::Literal;

impl Lowerer<'_> {
    /// A statement whose accesses were located as far as they can be.
    pub(super) fn stmt(&self, node: &Node, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        match node {
            Node::Loop(l) => match (&l.over, scope.touched) {
                (Over::Constant(tensor, value), _) => Ok(self.constant(*tensor, *value)),
                // Loops that add to a workspace at every coordinate reach it once for all.
                (_, Some(flag)) if l.adds => {
                    let mut scope = scope.clone();
                    scope.touched = None;
                    let mut out = vec![touch(flag)];
                    out.extend(self.forall(l, &scope)?);
                    Ok(out)
                }
                (_, _) => self.forall(l, scope),
            },
            Node::Sequence(nodes) => {
                let mut out = Vec::new();
                for node in nodes {
                    out.extend(self.stmt(node, scope)?);
                }
                Ok(out)
            }
            Node::Within { var, skipped, body } => self.within(*var, *skipped, body, scope),
            Node::Guarded(guards, body) => {
                let then = self.inside(body, scope.clone(), None)?;
                Ok(b::when(self.guards(guards, scope)?, then))
            }
            Node::Workspace(workspace) => match workspace.init {
                // What is counted has no values.
                Some(_) if self.tree.phase == Phase::Counting => {
                    let mut out = self.stmt(&workspace.producer, scope)?;
                    out.extend(self.stmt(&workspace.consumer, scope)?);
                    Ok(out)
                }
                Some(init) => {
                    let temp = workspace.temp;
                    let tensor = self.tensor(temp).clone();
                    let ty = tensor.ty.compute();
                    let var = self.fresh(&tensor.name, ty, true);
                    self.names.set_scalar(temp, var);
                    let mut out = vec![b::bind(var, self.literal(init.neutral(ty), ty))];
                    out.extend(self.stmt(&workspace.producer, scope)?);
                    out.extend(self.stmt(&workspace.consumer, scope)?);
                    Ok(out)
                }
                None => self.workspace(workspace, scope),
            },
            Node::Assign(assign, write) => self.assign(assign, write, scope),
        }
    }

    fn adds_to_workspace(&self, assign: &Assign) -> bool {
        fold::as_literal(&assign.rhs).is_none()
            && self.graph.workspaces.contains(&assign.tensor)
            && !self.is_noted_row(assign.tensor)
    }

    /// Whether it is a workspace that says which of its elements are there.
    pub(super) fn is_noted_row(&self, tensor: TensorId) -> bool {
        let mut levels = self.tensor(tensor).format.levels.iter();
        self.graph.workspaces.contains(&tensor) && levels.any(|l| l.has(ArrayRole::Presence))
    }

    /// All elements of a dense tensor set to one value.
    fn constant(&self, tensor: TensorId, value: Literal) -> Vec<ir::Stmt> {
        let ty = self.tensor(tensor).ty.compute();
        let fill = self.names.arrays(tensor).map(|arrays| ir::Stmt::Fill {
            array: arrays.values,
            start: b::int(0),
            count: self.element_count(tensor),
            value: b::literal(value, ty),
        });
        fill.into_iter().collect()
    }

    fn assign(&self, assign: &Assign, write: &Write, scope: &Scope) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        if self.tree.phase == Phase::Counting {
            if self.is_noted_row(assign.tensor) {
                let (_, passed) = self.result_index(assign, scope)?;
                return Ok(self.note_presence(assign, &passed, scope));
            }
            return match self.names.row(assign.tensor) {
                Some(row) => self.count_into(row, assign, scope),
                None => Ok(scope.touched.map(touch).into_iter().collect()),
            };
        }
        let value = self.expr(&assign.rhs, scope, &mut out)?;
        if let Some(var) = self.names.scalar(assign.tensor) {
            let ty = self.names.var(var).ty;
            let value = b::cast(ty, value);
            out.push(ir::Stmt::Assign {
                var,
                op: assign.op,
                value,
            });
            out.extend(scope.touched.map(touch));
            return Ok(out);
        }
        if let Some(row) = self.names.row(assign.tensor) {
            return self.collect_into(row, (assign, value, out), scope);
        }
        let (index, passed) = self.result_index(assign, scope)?;
        if self.adds_to_workspace(assign) {
            out.extend(scope.touched.map(touch));
        }
        let values = self.names.values(assign.tensor);
        let array = scope.copies.get(&assign.tensor).copied().unwrap_or(values);
        let elem = self.names.elem(array);
        let value = b::cast(elem.compute(), value);
        let store = (index, assign.op, value);
        out.extend(self.store((assign.tensor, array), store, write, scope)?);
        out.extend(self.note_presence(assign, &passed, scope));
        Ok(out)
    }

    /// Where the left side stands among its tensor's values, and at the levels that note it.
    fn result_index(&self, assign: &Assign, scope: &Scope) -> Lower<(Expr, Vec<(usize, Expr)>)> {
        if let Some((source, levels)) = self.followed(assign.tensor) {
            // What is there was copied.
            let index = self.pattern_index((source, levels), assign, scope)?;
            return Ok((index, Vec::new()));
        }
        let format = self.tensor(assign.tensor).format.clone();
        let mut cursors = scope.results.iter();
        let (mut level, mut pos, mut passed) = match cursors.find(|c| c.tensor == assign.tensor) {
            Some(cursor) => (cursor.level, cursor.pos.clone(), cursor.passed.clone()),
            None => (0, b::int(0), Vec::new()),
        };
        while level < format.order() {
            let var = assign.lhs[format.modes[level]];
            // With the coordinate in a variable gcc 12 proves the nest affine and applies
            // its unroll-and-jam, which costs a quarter on short segments (MTTKRP).
            let load = scope.loads.get(&var).filter(|_| assign.op.is_some());
            let coordinate = match load {
                Some(load) => load.clone(),
                None => self.known(var, scope)?,
            };
            pos = b::locate(pos, self.extent(assign.tensor, level), coordinate);
            if format.levels[level].has(ArrayRole::Presence) {
                passed.push((level, pos.clone()));
            }
            level += 1;
        }
        Ok((pos, passed))
    }

    /// An integer expression of a subscript or bound, whose accesses are located.
    pub(super) fn value(&self, e: &program::Expr, scope: &Scope) -> Lower<Expr> {
        let mut before = Vec::new();
        let value = self.expr(e, scope, &mut before)?;
        Ok(b::cast(ScalarType::I64, value))
    }

    /// An expression; statements it needs first are added to `before`.
    pub(super) fn expr(
        &self,
        e: &program::Expr,
        scope: &Scope,
        before: &mut Vec<ir::Stmt>,
    ) -> Lower<Expr> {
        self.term(e, scope, before, Overflow::Open)
    }

    fn term(
        &self,
        e: &program::Expr,
        scope: &Scope,
        before: &mut Vec<ir::Stmt>,
        overflow: Overflow,
    ) -> Lower<Expr> {
        if let Some(value) = self.annihilated(e, scope, before, overflow)? {
            return Ok(value);
        }
        Ok(match &e.kind {
            ExprKind::Literal(l) => b::literal(*l, e.ty.compute()),
            ExprKind::Access(access) => self.read(access, scope, before)?,
            ExprKind::Index(var) => self.known(*var, scope)?,
            ExprKind::Size(size) => self.size_expr(size),
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let value = self.term(a, scope, before, overflow)?;
                match overflow.type_of(self.graph, e) {
                    Some(ty) => {
                        let zero = b::literal(Literal::Int(0), ty);
                        b::cast(value.ty, b::sub(zero, b::cast(ty, value)))
                    }
                    None => b::unary(ir::UnaryOp::Neg, value),
                }
            }
            ExprKind::Unary(UnaryOp::Not, a) => {
                b::unary(ir::UnaryOp::Not, self.term(a, scope, before, overflow)?)
            }
            ExprKind::Binary(op, x, y) => {
                let x = self.term(x, scope, before, overflow.of_operand(*op, false))?;
                let y = self.term(y, scope, before, overflow.of_operand(*op, true))?;
                if let Some(known) = wrapped(*op, &x, &y) {
                    return Ok(known);
                }
                let op = ir::BinaryOp::from(*op);
                match overflow.type_of(self.graph, e) {
                    Some(ty) => b::cast(x.ty, b::binary(op, b::cast(ty, x), b::cast(ty, y))),
                    None => b::binary(op, x, y),
                }
            }
            ExprKind::Select(c, x, y) => {
                let c = self.term(c, scope, before, Overflow::Wraps)?;
                let x = self.term(x, scope, before, overflow)?;
                let y = self.term(y, scope, before, overflow)?;
                b::select(c, x, y)
            }
            ExprKind::Call(func, args) => {
                let mut lowered = Vec::new();
                for arg in args {
                    let divides = *func == Func::Mod && !lowered.is_empty();
                    let own = if divides { Overflow::Wraps } else { overflow };
                    lowered.push(self.term(arg, scope, before, own)?);
                }
                b::function(*func, lowered, e.ty.compute())
            }
            ExprKind::Cast(a) => b::cast(e.ty.compute(), self.term(a, scope, before, overflow)?),
            // Concretizing has made every reduction a loop.
            ExprKind::Reduce { body, .. } => self.term(body, scope, before, overflow)?,
        })
    }

    /// A product or quotient of which nothing is left where an operand is absent: its test stands around
    /// all of it, as the operand's fill alone would meet numbers that are infinite, or divide.
    fn annihilated(
        &self,
        e: &program::Expr,
        scope: &Scope,
        before: &mut Vec<ir::Stmt>,
        overflow: Overflow,
    ) -> Lower<Option<Expr>> {
        let multiplies = matches!(e.kind, ExprKind::Binary(BinaryOp::Mul, ..));
        let divides = matches!(
            e.kind,
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) | ExprKind::Call(..)
        );
        if !divides && (!multiplies || e.ty.is_integer()) {
            return Ok(None);
        }
        let accesses = e.accesses();
        for &access in &accesses {
            let Some(id) = self.tree.table.find(access) else {
                continue;
            };
            let Some(present) = self.cursor(scope, id).present.clone() else {
                continue;
            };
            let fill = self.tensor(access.tensor).fill;
            let absent = |a: &Access| (self.tree.table.find(a) == Some(id)).then_some(fill);
            let folded = fold::fold(e, &absent, &|a| self.graph.exact(a));
            // Alone, it is worth the same either way, unless it divides.
            let quotient = matches!(e.kind, ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..));
            let alone = !quotient && accesses.iter().all(|a| absent(a).is_some());
            if let (Some(left), false) = (fold::as_literal(&folded), alone) {
                let mut inner = scope.clone();
                inner.cursors[id.0].present = None;
                let value = self.term(e, &inner, before, overflow)?;
                let left = b::literal(left, value.ty);
                return Ok(Some(b::select(present, value, left)));
            }
        }
        Ok(None)
    }

    fn read(&self, access: &Access, scope: &Scope, before: &mut Vec<ir::Stmt>) -> Lower<Expr> {
        if let Some(var) = self.names.scalar(access.tensor) {
            return Ok(b::var(var, self.names.var(var).ty));
        }
        let values = self.names.values(access.tensor);
        let Some(id) = self.tree.table.find(access) else {
            return Ok(self.load(values, b::int(0)));
        };
        let cursor = self.cursor(scope, id).clone();
        let tensor = self.tensor(access.tensor).clone();
        if cursor.level < tensor.format.order() {
            return Err(self
                .error(
                    codes::UNKNOWN_COORDINATE,
                    format!(
                        "an element of `{}` is needed before the loops give its coordinates: \
                         not supported yet",
                        tensor.name
                    ),
                    "in this statement",
                )
                .with_help("keep the loops that it depends on outside"));
        }
        let value = match cursor.end {
            _ if self.graph.points.is(access.tensor) => b::boolean(true),
            // Repeated coordinates at the last level: their sum is the element.
            Some(end) => self.sum_run(&tensor.name, values, cursor.pos, end, before),
            None => self.load(values, cursor.pos),
        };
        Ok(match cursor.present {
            Some(present) => {
                let fill = b::literal(tensor.fill, value.ty);
                b::select(present, value, fill)
            }
            None => value,
        })
    }

    fn sum_run(
        &self,
        name: &str,
        values: ir::ArrayId,
        begin: Expr,
        end: Expr,
        before: &mut Vec<ir::Stmt>,
    ) -> Expr {
        let ty = self.names.elem(values).compute();
        let sum = self.fresh(&format!("{name}_val"), ty, true);
        before.push(b::bind(sum, b::literal(ReduceOp::Add.neutral(ty), ty)));
        let (q, at) = self.fresh_index(&format!("q{name}"), false);
        let add = b::update(sum, ReduceOp::Add, self.load(values, at));
        before.push(Bounds::of(begin, end).each(q, ir::LoopTag::default(), vec![add]));
        b::var(sum, ty)
    }
}

/// `flag = true`
fn touch(flag: ir::VarId) -> ir::Stmt {
    b::set(flag, b::boolean(true))
}

/// What becomes of sums, differences and products that leave their type. Compilers take it that none do, and may make
/// something else of the same expression in two places.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    /// What compilers make of them.
    Open,
    /// They wrap: what conditions tell the checks they have to tell the kernel, and what is not found to be zero must not
    /// divide as a zero.
    Wraps,
}

impl Overflow {
    /// Of an operand, the second or the first.
    fn of_operand(self, op: BinaryOp, second: bool) -> Self {
        let divisor = second && matches!(op, BinaryOp::Div | BinaryOp::Rem);
        let compares = op.is_truth() && !matches!(op, BinaryOp::And | BinaryOp::Or);
        if compares || divisor {
            Overflow::Wraps
        } else {
            self
        }
    }

    /// The type without sign in which an operation wraps that may leave its own.
    fn type_of(self, graph: &Graph, e: &program::Expr) -> Option<ScalarType> {
        let wraps = self == Overflow::Wraps && may_leave(graph, e);
        let narrow = e.ty == ScalarType::I32;
        wraps.then_some(if narrow {
            ScalarType::U32
        } else {
            ScalarType::U64
        })
    }
}

/// The constant that an operation on signed constants wraps to where it overflows: C leaves that
/// open, and its compilers warn of it.
fn wrapped(op: BinaryOp, x: &Expr, y: &Expr) -> Option<Expr> {
    if x.ty != ScalarType::I64 || y.ty != ScalarType::I64 {
        return None;
    }
    let (x, y) = (b::as_int(x)?, b::as_int(y)?);
    let (value, overflows) = if op == BinaryOp::Add {
        x.overflowing_add(y)
    } else if op == BinaryOp::Sub {
        x.overflowing_sub(y)
    } else if op == BinaryOp::Mul {
        x.overflowing_mul(y)
    } else {
        return None;
    };
    overflows.then(|| b::int(value))
}
