//! Values with the knowledge whether they are *exact*: literals and absent elements
//! are, and what follows from them alone. An exact zero annihilates: `0 * x`, `0 / x` and
//! `0 % x` are exactly 0 whatever x is, `false && x` and `true || x` are decided,
//! and an exact infinity stays what it is under addition and absorbs or vanishes in
//! `min` and `max` (see `program::ir`).

use super::node::{Kind, Node};
use super::value::{binary, call, unary, wrap};
use crate::data::values::Number;
use crate::program::ir::{BinaryOp, Func, VarId};
use crate::scalar::ScalarType;

/// A value, if it is known, and whether it is exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub number: Option<Number>,
    pub exact: bool,
}

impl Value {
    pub fn exact(number: Number) -> Self {
        Value {
            number: Some(number),
            exact: true,
        }
    }

    pub fn plain(number: Number) -> Self {
        Value {
            number: Some(number),
            exact: false,
        }
    }

    pub const UNKNOWN: Value = Value {
        number: None,
        exact: false,
    };

    fn is_exactly(self, test: impl Fn(Number) -> bool) -> bool {
        self.exact && self.number.is_some_and(test)
    }
}

/// What an expression's leaves are worth.
pub(super) trait Leaves {
    type Error;
    /// The access with this id.
    fn access(&mut self, node: &Node, id: usize) -> Result<Value, Self::Error>;
    fn index(&mut self, var: VarId) -> Value;
    /// The reduction with this number.
    fn table(&mut self, at: usize) -> Value;
}

fn zero(n: Number) -> bool {
    n.is_zero()
}

fn infinite(n: Number) -> bool {
    n.abs().is_infinite()
}

/// Evaluates an expression.
pub(super) fn eval<L: Leaves>(e: &Node, leaves: &mut L) -> Result<Value, L::Error> {
    Ok(match &e.kind {
        Kind::Literal(n) => Value::exact(*n),
        Kind::Size(n) => Value::plain(*n),
        Kind::Access { id, .. } => leaves.access(e, *id)?,
        Kind::Index(var) => leaves.index(*var),
        Kind::Table(at) => leaves.table(*at),
        Kind::Unary(op, a) => {
            let a = eval(a, leaves)?;
            Value {
                number: a.number.map(|n| unary(*op, n, e.ty)),
                exact: a.exact,
            }
        }
        Kind::Cast(a) => {
            let a = eval(a, leaves)?;
            Value {
                number: a.number.map(|n| wrap(n, e.ty)),
                exact: a.exact,
            }
        }
        Kind::Select(c, a, b) => {
            let c = eval(c, leaves)?;
            match c.number {
                Some(n) => {
                    let chosen = eval(if n.is_zero() { b } else { a }, leaves)?;
                    Value {
                        number: chosen.number,
                        exact: chosen.exact && c.exact,
                    }
                }
                None => Value::UNKNOWN,
            }
        }
        Kind::Binary(op, a, b) => {
            let left = eval(a, leaves)?;
            let right = eval(b, leaves)?;
            two(*op, left, right, a.ty, e.ty)
        }
        Kind::Call(func, args) => {
            let mut values = Vec::with_capacity(args.len());
            for arg in args {
                values.push(eval(arg, leaves)?);
            }
            function(*func, &values, e.ty)
        }
    })
}

fn two(op: BinaryOp, a: Value, b: Value, of: ScalarType, ty: ScalarType) -> Value {
    let nothing = || Value::exact(wrap(Number::Int(0), ty));
    match op {
        BinaryOp::Mul if a.is_exactly(zero) || b.is_exactly(zero) => return nothing(),
        BinaryOp::Div | BinaryOp::Rem if a.is_exactly(zero) => return nothing(),
        BinaryOp::And if a.is_exactly(zero) || b.is_exactly(zero) => return nothing(),
        BinaryOp::Or if a.is_exactly(|n| !zero(n)) || b.is_exactly(|n| !zero(n)) => {
            return Value::exact(Number::Int(1));
        }
        BinaryOp::Add | BinaryOp::Sub if a.is_exactly(infinite) => return a,
        BinaryOp::Add if b.is_exactly(infinite) => return b,
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => {}
    }
    match (a.number, b.number) {
        (Some(x), Some(y)) => Value {
            number: Some(binary(op, x, y, of)),
            exact: a.exact && b.exact,
        },
        _ => Value::UNKNOWN,
    }
}

fn function(func: Func, args: &[Value], ty: ScalarType) -> Value {
    if let [a, b] = args {
        let top = |n: Number| n.real() == f64::INFINITY;
        let bottom = |n: Number| n.real() == f64::NEG_INFINITY;
        let vanishes = |v: &Value| {
            (func == Func::Min && v.is_exactly(top)) || (func == Func::Max && v.is_exactly(bottom))
        };
        if vanishes(a) {
            return *b;
        }
        if vanishes(b) {
            return *a;
        }
    }
    if let (Func::Fma, [a, b, c]) = (func, args)
        && (a.is_exactly(zero) || b.is_exactly(zero))
    {
        return *c;
    }
    let numbers: Option<Vec<Number>> = args.iter().map(|v| v.number).collect();
    match numbers {
        Some(numbers) => Value {
            number: Some(call(func, &numbers, ty)),
            exact: args.iter().all(|v| v.exact),
        },
        None => Value::UNKNOWN,
    }
}
