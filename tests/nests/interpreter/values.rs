//! Values of the loop IR, and its expressions.

use super::Machine;
use sparsec::loops::ir::{
    BinaryOp, Expr, ExprKind, Func, Literal, Place, ReduceOp, ScalarType, UnaryOp,
};

/// Whole numbers and truths, or floats.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
}

impl Value {
    pub fn int(self) -> i64 {
        match self {
            Value::Int(n) => n,
            Value::Float(x) => x as i64,
        }
    }

    pub fn float(self) -> f64 {
        match self {
            Value::Int(n) => n as f64,
            Value::Float(x) => x,
        }
    }

    pub fn holds(self) -> bool {
        self.int() != 0
    }

    pub fn index(self) -> usize {
        usize::try_from(self.int()).expect("no place is negative")
    }

    pub fn truth(holds: bool) -> Self {
        Value::Int(i64::from(holds))
    }

    pub fn zero(ty: ScalarType) -> Self {
        match ty.is_float() {
            true => Value::Float(0.0),
            false => Value::Int(0),
        }
    }
}

impl Machine<'_> {
    pub(super) fn combined(&self, op: Option<ReduceOp>, before: Value, value: &Expr) -> Value {
        let ty = value.ty;
        let value = self.expr(value);
        match op {
            None => value,
            Some(ReduceOp::Add) => binary(BinaryOp::Add, ty, before, value),
            Some(ReduceOp::Mul) => binary(BinaryOp::Mul, ty, before, value),
            Some(ReduceOp::Min) => binary(BinaryOp::Min, ty, before, value),
            Some(ReduceOp::Max) => binary(BinaryOp::Max, ty, before, value),
            Some(ReduceOp::And) => Value::truth(before.holds() && value.holds()),
            Some(ReduceOp::Or) => Value::truth(before.holds() || value.holds()),
            Some(ReduceOp::Own(_)) => panic!("no program here declares an operator"),
        }
    }

    pub(super) fn expr(&self, e: &Expr) -> Value {
        match &e.kind {
            ExprKind::Literal(Literal::Bool(b)) => Value::truth(*b),
            ExprKind::Literal(Literal::Int(n)) if e.ty.is_float() => Value::Float(*n as f64),
            ExprKind::Literal(Literal::Int(n)) => Value::Int(*n),
            ExprKind::Literal(Literal::Float(x)) => Value::Float(*x),
            ExprKind::Var(id) => self.vars[id.index()],
            ExprKind::Load { array, index } => self.load(*array, self.expr(index).index()),
            ExprKind::Unary(UnaryOp::Not, e) => Value::truth(!self.expr(e).holds()),
            ExprKind::Unary(UnaryOp::Neg, e) => match self.expr(e) {
                Value::Int(n) => Value::Int(-n),
                Value::Float(x) => Value::Float(-x),
            },
            ExprKind::Binary(BinaryOp::And, a, b) => {
                Value::truth(self.expr(a).holds() && self.expr(b).holds())
            }
            ExprKind::Binary(BinaryOp::Or, a, b) => {
                Value::truth(self.expr(a).holds() || self.expr(b).holds())
            }
            ExprKind::Binary(op, a, b) => binary(*op, a.ty, self.expr(a), self.expr(b)),
            ExprKind::Call(Func::Pow, of) => {
                Value::Float(self.expr(&of[0]).float().powf(self.expr(&of[1]).float()))
            }
            ExprKind::Call(..) => panic!("no program here calls it: {e:?}"),
            ExprKind::Cast(inner) => match e.ty.is_float() {
                true => Value::Float(self.expr(inner).float()),
                false => Value::Int(self.expr(inner).int()),
            },
            ExprKind::Select(cond, a, b) => match self.expr(cond).holds() {
                true => self.expr(a),
                false => self.expr(b),
            },
            ExprKind::Locate(parent, extent, coordinate) => {
                let [parent, extent, coordinate] =
                    [parent, extent, coordinate].map(|e| self.expr(e).int());
                Value::Int(parent * extent + coordinate)
            }
            ExprKind::Place(Place::Thread) => Value::Int(0),
            ExprKind::Place(Place::Threads) => Value::Int(1),
            ExprKind::Place(Place::BlockIndex(_) | Place::ThreadIndex(_) | Place::Blocks(_)) => {
                panic!("a kernel for C runs in no block")
            }
        }
    }
}

fn binary(op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
    if ty.is_float() {
        let (x, y) = (a.float(), b.float());
        return match op {
            BinaryOp::Add => Value::Float(x + y),
            BinaryOp::Sub => Value::Float(x - y),
            BinaryOp::Mul => Value::Float(x * y),
            BinaryOp::Div => Value::Float(x / y),
            BinaryOp::Rem => Value::Float(x % y),
            BinaryOp::Min => Value::Float(x.min(y)),
            BinaryOp::Max => Value::Float(x.max(y)),
            BinaryOp::Eq => Value::truth(x == y),
            BinaryOp::Ne => Value::truth(x != y),
            BinaryOp::Lt => Value::truth(x < y),
            BinaryOp::Le => Value::truth(x <= y),
            BinaryOp::Gt => Value::truth(x > y),
            BinaryOp::Ge => Value::truth(x >= y),
            BinaryOp::FloorDiv | BinaryOp::And | BinaryOp::Or => panic!("not of floats: {op:?}"),
        };
    }
    let (x, y) = (a.int(), b.int());
    match op {
        BinaryOp::Add => Value::Int(x + y),
        BinaryOp::Sub => Value::Int(x - y),
        BinaryOp::Mul => Value::Int(x * y),
        BinaryOp::Div => Value::Int(x / y),
        BinaryOp::Rem => Value::Int(x % y),
        BinaryOp::FloorDiv => Value::Int(x.div_euclid(y)),
        BinaryOp::Min => Value::Int(x.min(y)),
        BinaryOp::Max => Value::Int(x.max(y)),
        BinaryOp::Eq => Value::truth(x == y),
        BinaryOp::Ne => Value::truth(x != y),
        BinaryOp::Lt => Value::truth(x < y),
        BinaryOp::Le => Value::truth(x <= y),
        BinaryOp::Gt => Value::truth(x > y),
        BinaryOp::Ge => Value::truth(x >= y),
        BinaryOp::And | BinaryOp::Or => panic!("operands of {op:?} are asked one by one"),
    }
}
