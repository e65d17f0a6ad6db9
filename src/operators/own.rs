//! Operators that programs declare (`op NAME(x, y) = ..`).

use super::{BinaryOp, Func, UnaryOp};
use crate::scalar::{Literal, ScalarType};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Mutex;

/// An operator of the program: a handle, so that reductions and functions stay values that are copied.
/// Definitions are kept until the process ends, each text once.
#[derive(Clone, Copy)]
pub struct Own(&'static Definition);

/// What an operator is.
#[derive(Debug)]
pub struct Definition {
    pub name: String,
    /// The declaration with uniform blanks: two operators are one if their texts are.
    pub text: String,
    pub body: Term,
    /// What changes nothing; reductions start from it.
    pub identity: Option<Literal>,
    /// What is left whatever it meets.
    pub annihilator: Option<Literal>,
    pub commutes: bool,
}

/// An expression of the operands, of whatever type they are. Conditions, and the operands of `!`, `&&`
/// and `||`, are truths (see [`Term::is_truth`]); all else is of the operands' type.
#[derive(Clone, Debug)]
pub enum Term {
    Left,
    Right,
    Number(Literal),
    Unary(UnaryOp, Box<Term>),
    Binary(BinaryOp, Box<Term>, Box<Term>),
    Select(Box<Term>, Box<Term>, Box<Term>),
    /// Of built-in functions only: operators in it are written out.
    Call(Func, Vec<Term>),
}

impl Own {
    /// The operator that is defined so.
    #[must_use]
    pub fn new(definition: Definition) -> Self {
        static KNOWN: Mutex<Vec<&'static Definition>> = Mutex::new(Vec::new());
        let mut known = KNOWN
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(same) = known.iter().find(|known| known.text == definition.text) {
            return Own(same);
        }
        let kept: &'static Definition = Box::leak(Box::new(definition));
        known.push(kept);
        Own(kept)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        &self.0.name
    }

    /// What a reduction starts from in this type: an infinity is the end of integers.
    #[must_use]
    pub fn neutral(self, ty: ScalarType) -> Literal {
        constant(self.0.identity.unwrap_or(Literal::ZERO), ty)
    }

    /// Its annihilator in this type.
    #[must_use]
    pub fn absorbing(self, ty: ScalarType) -> Option<Literal> {
        self.0.annihilator.map(|value| constant(value, ty))
    }
}

/// A number of the declaration in a type.
#[must_use]
#[expect(clippy::cast_possible_truncation)]
pub fn constant(value: Literal, ty: ScalarType) -> Literal {
    match (value, ty.ends()) {
        (_, _) if ty == ScalarType::Bool => Literal::Bool(!value.is_zero()),
        // The largest number of 64 bits without a sign: all ones, as a pattern.
        (Literal::Float(x), Some((least, most))) if x.is_infinite() => {
            Literal::Int(if x > 0.0 { most } else { least } as i64)
        }
        (Literal::Float(x), Some(_)) => Literal::Int(x as i64),
        (Literal::Int(_) | Literal::Float(_) | Literal::Bool(_), _) => value,
    }
}

impl Deref for Own {
    type Target = Definition;

    fn deref(&self) -> &Definition {
        self.0
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Own {}

impl PartialOrd for Own {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Own {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.text.cmp(&other.0.text)
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl Term {
    /// How many terms it has, itself among them.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.visit(&mut |_| count += 1);
        count
    }

    /// How often it has the left operand, and the right one.
    #[must_use]
    pub fn operands(&self) -> (usize, usize) {
        let (mut left, mut right) = (0, 0);
        self.visit(&mut |term| {
            left += usize::from(matches!(term, Term::Left));
            right += usize::from(matches!(term, Term::Right));
        });
        (left, right)
    }

    /// Calls `f` on each of its terms.
    pub fn visit<'t>(&'t self, f: &mut impl FnMut(&'t Term)) {
        f(self);
        self.parts().into_iter().for_each(|part| part.visit(f));
    }

    /// Whether it is a truth, not a number of the operands' type.
    #[must_use]
    pub fn is_truth(&self) -> bool {
        match self {
            Term::Left | Term::Right | Term::Number(_) | Term::Call(..) | Term::Select(..) => false,
            Term::Unary(op, _) => *op == UnaryOp::Not,
            Term::Binary(op, ..) => op.is_truth(),
        }
    }

    /// As a condition.
    #[must_use]
    pub fn truth(self) -> Term {
        if self.is_truth() {
            return self;
        }
        let zero = Term::Number(Literal::ZERO);
        Term::Binary(BinaryOp::Ne, Box::new(self), Box::new(zero))
    }

    /// As a number: a truth is 1 or 0.
    #[must_use]
    pub fn number(self) -> Term {
        if !self.is_truth() {
            return self;
        }
        let [one, zero] = [1, 0].map(|n| Box::new(Term::Number(Literal::Int(n))));
        Term::Select(Box::new(self), one, zero)
    }

    /// With other terms for the operands.
    #[must_use]
    pub fn with(&self, left: &Term, right: &Term) -> Term {
        let of = |term: &Term| Box::new(term.with(left, right));
        match self {
            Term::Left => left.clone(),
            Term::Right => right.clone(),
            Term::Number(_) => self.clone(),
            Term::Unary(op, a) => Term::Unary(*op, of(a)),
            Term::Binary(op, a, b) => Term::Binary(*op, of(a), of(b)),
            Term::Select(c, a, b) => Term::Select(of(c), of(a), of(b)),
            Term::Call(func, args) => {
                Term::Call(*func, args.iter().map(|a| a.with(left, right)).collect())
            }
        }
    }

    /// The terms directly below.
    #[must_use]
    pub fn parts(&self) -> Vec<&Term> {
        match self {
            Term::Left | Term::Right | Term::Number(_) => Vec::new(),
            Term::Unary(_, a) => vec![a],
            Term::Binary(_, a, b) => vec![a, b],
            Term::Select(c, a, b) => vec![c, a, b],
            Term::Call(_, args) => args.iter().collect(),
        }
    }

    /// Its value at two real numbers; with `whole` quotients of integers, which are cut off. A truth is
    /// 1 or 0.
    #[must_use]
    pub fn at(&self, x: f64, y: f64, whole: bool) -> f64 {
        let of = |term: &Term| term.at(x, y, whole);
        match self {
            Term::Left => x,
            Term::Right => y,
            Term::Number(value) => value.as_f64(),
            Term::Unary(UnaryOp::Neg, a) => -of(a),
            Term::Unary(UnaryOp::Not, a) => f64::from(u8::from(of(a) == 0.0)),
            Term::Binary(BinaryOp::Div | BinaryOp::Rem, _, b) if whole && of(b) == 0.0 => 0.0,
            Term::Binary(BinaryOp::Div, a, b) if whole => (of(a) / of(b)).trunc(),
            Term::Binary(op, a, b) => op.at(of(a), of(b)),
            Term::Select(c, a, b) => of(if of(c) == 0.0 { b } else { a }),
            Term::Call(func, args) => {
                let args: Vec<f64> = args.iter().map(of).collect();
                func.at(&args).unwrap_or(f64::NAN)
            }
        }
    }
}
