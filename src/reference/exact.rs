//! Values with the knowledge whether they are *exact*: literals and absent elements
//! are, and what follows from them alone. An exact zero annihilates: `0 * x`, `0 / x` and
//! `0 % x` are exactly 0 whatever x is, `false && x` and `true || x` are decided,
//! and an exact infinity stays what it is under addition, unless the opposite one is exact,
//! too, and absorbs or vanishes in `min` and `max` (see `program::ir`).

use super::functions::{call, cast};
use super::node::{Kind, Node};
use super::own::number;
use super::rounding::{Bounded, binary};
use super::value::{unary, wrap};
use crate::data::values::Number;
use crate::program::ir::{BinaryOp, Func, VarId};
use crate::scalar::{Literal, ScalarType};

/// A value, if it is known, and whether it is exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub known: Option<Bounded>,
    pub exact: bool,
    /// How many terms were summed for it.
    pub sums: f64,
}

impl Value {
    pub fn exact(number: Number) -> Self {
        Value {
            known: Some(Bounded::read(number)),
            exact: true,
            sums: 0.0,
        }
    }

    pub fn plain(known: Bounded) -> Self {
        Value {
            known: Some(known),
            exact: false,
            sums: 0.0,
        }
    }

    pub const UNKNOWN: Value = Value {
        known: None,
        exact: false,
        sums: 0.0,
    };

    pub fn is_exactly(self, test: impl Fn(Number) -> bool) -> bool {
        self.exact && self.known.is_some_and(|b| test(b.number))
    }

    fn map(self, f: impl Fn(Bounded) -> Bounded) -> Self {
        Value {
            known: self.known.map(f),
            ..self
        }
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
    /// The rounding of where a kernel may gather sums.
    fn coarse(&self) -> f64 {
        0.0
    }
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
        Kind::Size(n) => Value::plain(Bounded::read(*n)),
        Kind::Access { id, .. } => leaves.access(e, *id)?,
        Kind::Index(var) => leaves.index(*var),
        Kind::Table(at) => leaves.table(*at),
        Kind::Unary(op, a) => eval(a, leaves)?.map(|b| Bounded {
            number: unary(*op, b.number, e.ty),
            error: b.error,
        }),
        Kind::Cast(a) => eval(a, leaves)?.map(|b| cast(b, e.ty)),
        Kind::Select(c, a, b) => {
            let c = eval(c, leaves)?;
            match c.known {
                Some(n) => {
                    let (taken, other) = if n.number.is_zero() { (b, a) } else { (a, b) };
                    let chosen = eval(taken, leaves)?;
                    let known = match chosen.known {
                        Some(value) if n.error > 0.0 => Some(open(value, other, leaves)),
                        Some(_) | None => chosen.known,
                    };
                    Value {
                        known,
                        exact: chosen.exact && c.exact,
                        sums: chosen.sums,
                    }
                }
                None => Value::UNKNOWN,
            }
        }
        Kind::Binary(op, a, b) => {
            let left = eval(a, leaves)?;
            // As in C, what the left side has decided is not asked of the right one.
            let decided = left.known.is_some_and(|n| {
                n.error == 0.0
                    && match op {
                        BinaryOp::And => n.number.is_zero(),
                        BinaryOp::Or => !n.number.is_zero(),
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
                        | BinaryOp::Ge => false,
                    }
            });
            let right = match decided {
                true => left,
                false => eval(b, leaves)?,
            };
            two(*op, left, right, (a.ty, e.ty), leaves.coarse())
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

/// A choice that rounding may turn: the other side may come out too.
fn open<L: Leaves>(chosen: Bounded, other: &Node, leaves: &mut L) -> Bounded {
    let error = match eval(other, leaves) {
        Ok(Value {
            known: Some(other), ..
        }) => {
            let apart = (chosen.number.complex() - other.number.complex()).norm();
            chosen.error.max(if apart.is_nan() {
                f64::INFINITY
            } else {
                apart + other.error
            })
        }
        Ok(_) | Err(_) => f64::INFINITY,
    };
    Bounded { error, ..chosen }
}

/// `types` are those of the operands and of the result.
fn two(op: BinaryOp, a: Value, b: Value, (of, ty): (ScalarType, ScalarType), coarse: f64) -> Value {
    let nothing = || Value::exact(wrap(Number::Int(0), ty));
    // Where the dense computation gives no number, what is skipped gives nothing: both are
    // right.
    let undefined = || {
        let bad = |v: Value| v.known.is_some_and(|b| !b.size().is_finite());
        let none = |v: Value| v.known.is_some_and(|b| b.number.is_zero());
        let mul = op == BinaryOp::Mul && (bad(a) || bad(b));
        let div = matches!(op, BinaryOp::Div | BinaryOp::Rem) && (none(b) || bad(b));
        let touches = a.is_exactly(zero) || (mul && b.is_exactly(zero));
        touches && (mul || div) && !ty.is_integer()
    };
    if undefined() {
        return Value::plain(Bounded {
            number: wrap(Number::Int(0), ty),
            error: f64::INFINITY,
        });
    }
    // Infinities that meet with opposite signs are no number. Where one of them is stored, what
    // skips it gives the other one.
    let sign = |v: Value| v.known.map_or(0.0, |b| b.number.real());
    let turned = if op == BinaryOp::Sub { -1.0 } else { 1.0 };
    let meet = matches!(op, BinaryOp::Add | BinaryOp::Sub)
        && sign(a).is_infinite()
        && sign(a) == -turned * sign(b);
    if meet && a.exact != b.exact {
        return Value::plain(Bounded {
            number: Number::Real(sign(a)),
            error: f64::INFINITY,
        });
    }
    // Nor is it said what an exact infinity and what is no number are together: a kernel that
    // knows the element to be absent has the infinity, one that looks it up has none.
    let no_number = |v: Value| v.known.is_some_and(|b| b.number.abs().is_nan());
    let one_of_both =
        (a.is_exactly(infinite) && no_number(b)) || (b.is_exactly(infinite) && no_number(a));
    if matches!(op, BinaryOp::Add | BinaryOp::Sub) && one_of_both {
        return Value::plain(Bounded {
            number: Number::Real(f64::NAN),
            error: f64::INFINITY,
        });
    }
    match op {
        BinaryOp::Mul if a.is_exactly(zero) || b.is_exactly(zero) => return nothing(),
        BinaryOp::Div | BinaryOp::Rem if a.is_exactly(zero) => return nothing(),
        BinaryOp::And if a.is_exactly(zero) || b.is_exactly(zero) => return nothing(),
        BinaryOp::Or if a.is_exactly(|n| !zero(n)) || b.is_exactly(|n| !zero(n)) => {
            return Value::exact(Number::Int(1));
        }
        BinaryOp::Add | BinaryOp::Sub if a.is_exactly(infinite) && !meet => return a,
        BinaryOp::Add if b.is_exactly(infinite) && !meet => return b,
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
    let sums = a.sums + b.sums;
    match (a.known, b.known) {
        (Some(x), Some(y)) => Value {
            known: Some(binary(op, x, y, of, sums, coarse)),
            exact: a.exact && b.exact,
            sums,
        },
        _ => Value::UNKNOWN,
    }
}

fn function(func: Func, args: &[Value], ty: ScalarType) -> Value {
    if let (Func::Own(own), [a, b]) = (func, args) {
        let is = |v: &Value, claimed: Option<Literal>| {
            let claimed = claimed.map(|value| number(value, ty));
            v.is_exactly(|n| claimed.is_some_and(|c| c.complex() == n.complex()))
        };
        if is(a, own.annihilator) || is(b, own.identity) {
            return *a;
        }
        if is(b, own.annihilator) || is(a, own.identity) {
            return *b;
        }
    }
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
    if let (Func::Mod, [a, b]) = (func, args)
        && a.is_exactly(zero)
    {
        return two(BinaryOp::Rem, *a, *b, (ty, ty), 0.0);
    }
    let known: Option<Vec<Bounded>> = args.iter().map(|v| v.known).collect();
    match known {
        Some(known) => Value {
            known: Some(call(func, &known, ty)),
            exact: args.iter().all(|v| v.exact),
            sums: args.iter().map(|v| v.sums).sum(),
        },
        None => Value::UNKNOWN,
    }
}
