//! What an expression may be worth where elements that it reads are absent.
//!
//! An absent element is an exact constant, and an exact infinity takes over what is added to it
//! unless that is the opposite one, exact too (see `program::ir`). So `A(i) + B(i)` is infinite
//! where A is absent, its fill infinite, only if B's fill is not the opposite infinity.

use super::Graph;
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, Func, UnaryOp};
use crate::scalar::Literal;

/// The exact values that something may have, by their kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact {
    pub finite: bool,
    /// Infinity, and the one below zero.
    pub plus: bool,
    pub minus: bool,
}

impl Exact {
    const ALL: Exact = Exact {
        finite: true,
        plus: true,
        minus: true,
    };

    /// That of a constant.
    #[must_use]
    pub fn of(value: Literal) -> Self {
        let value = value.as_f64();
        Exact {
            finite: value.is_finite(),
            plus: value == f64::INFINITY,
            minus: value == f64::NEG_INFINITY,
        }
    }

    fn any(self) -> bool {
        self.finite || self.plus || self.minus
    }

    fn or(self, other: Exact) -> Exact {
        Exact {
            finite: self.finite || other.finite,
            plus: self.plus || other.plus,
            minus: self.minus || other.minus,
        }
    }

    fn negated(self) -> Exact {
        Exact {
            plus: self.minus,
            minus: self.plus,
            ..self
        }
    }

    /// A function of values all of which must be exact for it to be so.
    fn made_of(parts: &[Exact]) -> Exact {
        if parts.iter().all(|part| part.any()) {
            Exact::ALL
        } else {
            Exact::default()
        }
    }
}

/// The exact values that an expression may have, given those of what it reads.
pub fn exact(e: &Expr, reads: &dyn Fn(&Access) -> Exact) -> Exact {
    let of = |e: &Expr| exact(e, reads);
    match &e.kind {
        ExprKind::Literal(l) => Exact::of(*l),
        ExprKind::Index(_) | ExprKind::Size(_) => Exact::default(),
        ExprKind::Access(access) => reads(access),
        ExprKind::Unary(UnaryOp::Neg, a) => of(a).negated(),
        ExprKind::Unary(UnaryOp::Not, a) => Exact {
            finite: of(a).any(),
            ..Exact::default()
        },
        ExprKind::Binary(op, a, b) => binary(*op, of(a), of(b)),
        ExprKind::Select(_, a, b) => of(a).or(of(b)),
        // An infinite one stays alone or vanishes.
        ExprKind::Call(Func::Min | Func::Max, args) => {
            args.iter().map(of).fold(Exact::default(), Exact::or)
        }
        ExprKind::Call(_, args) => Exact::made_of(&args.iter().map(of).collect::<Vec<_>>()),
        ExprKind::Cast(a) => of(a),
        ExprKind::Reduce { body, .. } => of(body),
    }
}

fn binary(op: BinaryOp, a: Exact, b: Exact) -> Exact {
    match op {
        BinaryOp::Add | BinaryOp::Sub => {
            let b = if op == BinaryOp::Sub { b.negated() } else { b };
            Exact {
                finite: a.finite && b.finite,
                ..a.or(b)
            }
        }
        // Zero annihilates.
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => Exact {
            finite: a.finite || b.finite,
            ..Exact::made_of(&[a, b])
        },
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or => Exact {
            finite: true,
            ..Exact::default()
        },
    }
}

impl Graph {
    /// The exact values of an element: of a sparse operand its fill, of a workspace what its
    /// nest computes.
    #[must_use]
    pub fn exact(&self, access: &Access) -> Exact {
        let mut found = Exact::default();
        // Scalars that lowering adds are none of the graph's tensors.
        let Some(tensor) = self.tensors.get(access.tensor.index()) else {
            return found;
        };
        if tensor.is_sparse() {
            return Exact::of(tensor.fill);
        }
        if self.workspaces.contains(&access.tensor) {
            self.visit_nests(&mut |nest| {
                if nest.tensor == access.tensor {
                    found = found.or(exact(&nest.rhs, &|inner| self.exact(inner)));
                }
            });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{Exact, binary};
    use crate::program::ir::BinaryOp;

    const FINITE: Exact = Exact {
        finite: true,
        plus: false,
        minus: false,
    };
    const PLUS: Exact = Exact {
        finite: false,
        plus: true,
        minus: false,
    };
    const STORED: Exact = Exact {
        finite: false,
        plus: false,
        minus: false,
    };

    #[test]
    fn infinities_take_over_sums_and_want_exact_factors() {
        assert_eq!(binary(BinaryOp::Add, PLUS, STORED), PLUS);
        assert_eq!(binary(BinaryOp::Sub, STORED, PLUS), PLUS.negated());
        assert_eq!(binary(BinaryOp::Add, FINITE, STORED), STORED);
        assert_eq!(binary(BinaryOp::Mul, FINITE, STORED), FINITE);
        assert_eq!(binary(BinaryOp::Mul, PLUS, STORED), STORED);
        assert!(binary(BinaryOp::Mul, PLUS, FINITE).minus);
        // An absent divisor is an exact zero.
        assert!(binary(BinaryOp::Div, FINITE, FINITE).plus);
        assert!(!binary(BinaryOp::Div, STORED, FINITE).plus);
    }
}
