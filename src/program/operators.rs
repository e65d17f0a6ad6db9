//! Operators of one's own: their bodies as terms, and whether they are what they claim.

use super::functions::{self, Builtin, Logic};
use super::library::Library;
use super::spelling::suggest;
use super::text;
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::operators::{BinaryOp, Definition, Func, Own, Term, UnaryOp};
use crate::scalar::Literal;
use crate::syntax::ast;

/// Terms of an operator; with those that it uses written out. Kernels have it as one expression.
const MOST_TERMS: usize = 500;

/// The operator that a declaration gives, among those of the library that stand above it.
///
/// # Errors
/// Its body is no expression of its operands.
pub(super) fn define(library: &Library, decl: &ast::OperatorDecl) -> Result<Own, Diagnostic> {
    let [left, right] = &decl.operands;
    if left.name == right.name {
        let error = Diagnostic::error(
            codes::DUPLICATE_NAME,
            right.span,
            format!(
                "both operands of `{}` are called `{}`",
                decl.name.name, left.name
            ),
            "the second one",
        );
        return Err(error.with_help("give one of them another name"));
    }
    let maker = Maker {
        library,
        decl,
        left: left.name.as_str(),
        right: right.name.as_str(),
    };
    let body = maker.term(&decl.body)?.number();
    small(body.len(), decl.body.span)?;
    let value = |pick: fn(ast::Claim) -> Option<ast::FillValue>| {
        let said = decl.claims.iter().find_map(|(claim, _)| pick(*claim));
        said.map(literal)
    };
    let identity = value(|claim| match claim {
        ast::Claim::Identity(value) => Some(value),
        ast::Claim::Annihilator(_) | ast::Claim::Commutes => None,
    });
    let annihilator = value(|claim| match claim {
        ast::Claim::Annihilator(value) => Some(value),
        ast::Claim::Identity(_) | ast::Claim::Commutes => None,
    });
    Ok(Own::new(Definition {
        name: decl.name.name.clone(),
        text: declared(decl, &body),
        body,
        identity,
        annihilator,
        commutes: decl.claims.iter().any(|(c, _)| *c == ast::Claim::Commutes),
    }))
}

/// Terms must be few enough: what an operator uses twice, and that again, doubles each time.
fn small(terms: usize, span: Span) -> Result<(), Diagnostic> {
    if terms <= MOST_TERMS {
        return Ok(());
    }
    let error = Diagnostic::error(
        codes::TOO_DEEP,
        span,
        format!(
            "more than {MOST_TERMS} operations of the operator, with those that it uses written out"
        ),
        "too many",
    );
    Err(error.with_help("write it with fewer operators"))
}

/// A number of a claim.
#[expect(clippy::cast_precision_loss)]
fn literal(value: ast::FillValue) -> Literal {
    match value {
        ast::FillValue::Int(n) => i64::try_from(n).map_or(Literal::Float(n as f64), Literal::Int),
        // Zero is written without a point.
        ast::FillValue::Float(0.0) => Literal::ZERO,
        ast::FillValue::Float(x) => Literal::Float(x),
    }
}

/// The declaration with uniform blanks, and without operators that stand above it.
fn declared(decl: &ast::OperatorDecl, body: &Term) -> String {
    let [left, right] = &decl.operands;
    let mut text = format!(
        "op {}({}, {}) = {}",
        decl.name.name,
        left.name,
        right.name,
        shown(body, (&left.name, &right.name), 0)
    );
    for (claim, _) in &decl.claims {
        text += &match claim {
            ast::Claim::Identity(value) => format!(" identity {}", literal(*value)),
            ast::Claim::Annihilator(value) => format!(" annihilator {}", literal(*value)),
            ast::Claim::Commutes => " commutes".to_string(),
        };
    }
    text
}

/// A term in the language, in parentheses if it binds less than `least` (see `text::expr`).
fn shown(term: &Term, operands: (&str, &str), least: u8) -> String {
    let of = |term: &Term, least| shown(term, operands, least);
    let (text, own) = match term {
        Term::Left => (operands.0.to_string(), 9),
        Term::Right => (operands.1.to_string(), 9),
        Term::Number(value) => (value.to_string(), 9),
        Term::Unary(UnaryOp::Neg, a) => (format!("-{}", of(a, 9)), 8),
        Term::Unary(UnaryOp::Not, a) => (format!("!{}", of(a, 9)), 8),
        Term::Binary(op, a, b) => {
            let own = text::strength(*op);
            let (a, b) = (of(a, own), of(b, own + 1));
            (format!("{a} {} {b}", text::symbol(*op)), own)
        }
        Term::Select(c, a, b) => (format!("{} ? {} : {}", of(c, 2), of(a, 2), of(b, 1)), 1),
        Term::Call(func, args) => {
            let args: Vec<String> = args.iter().map(|arg| of(arg, 0)).collect();
            (format!("{}({})", func.name(), args.join(", ")), 9)
        }
    };
    if own < least {
        format!("({text})")
    } else {
        text
    }
}

struct Maker<'m, 'a> {
    library: &'m Library<'a>,
    decl: &'m ast::OperatorDecl,
    left: &'m str,
    right: &'m str,
}

impl Maker<'_, '_> {
    fn term(&self, e: &ast::Expr) -> Result<Term, Diagnostic> {
        let number = |e: &ast::Expr| Ok::<_, Diagnostic>(Box::new(self.term(e)?.number()));
        let truth = |e: &ast::Expr| Ok::<_, Diagnostic>(Box::new(self.term(e)?.truth()));
        Ok(match &e.kind {
            ast::ExprKind::Number(ast::Number::Int(n)) => Term::Number(
                i64::try_from(*n).map_or_else(|_| Literal::Float(f64::INFINITY), Literal::Int),
            ),
            ast::ExprKind::Number(ast::Number::Float(x)) => Term::Number(Literal::Float(*x)),
            ast::ExprKind::Name(name) if name == self.left => Term::Left,
            ast::ExprKind::Name(name) if name == self.right => Term::Right,
            ast::ExprKind::Name(name) => {
                return Err(self.foreign(&format!("`{name}`"), e.span));
            }
            ast::ExprKind::Extent { .. } | ast::ExprKind::Member { .. } => {
                return Err(self.foreign("this", e.span));
            }
            ast::ExprKind::Apply { callee, args } => return self.call(callee, args, e.span),
            ast::ExprKind::Unary(UnaryOp::Neg, a) => {
                let operand = number(a)?;
                // A negative number is one: -128 is an int8, and 128 is none.
                if let Term::Number(Literal::Int(n)) = *operand {
                    Term::Number(Literal::Int(-n))
                } else {
                    Term::Unary(UnaryOp::Neg, operand)
                }
            }
            ast::ExprKind::Unary(UnaryOp::Not, a) => Term::Unary(UnaryOp::Not, truth(a)?),
            ast::ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                Term::Binary(*op, truth(a)?, truth(b)?)
            }
            ast::ExprKind::Binary(op, a, b) => Term::Binary(*op, number(a)?, number(b)?),
            ast::ExprKind::Select(c, a, b) => Term::Select(truth(c)?, number(a)?, number(b)?),
        })
    }

    fn call(
        &self,
        callee: &ast::Ident,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<Term, Diagnostic> {
        let name = callee.name.as_str();
        let count = |least: usize, most: usize| {
            let given = args.len();
            if (least..=most).contains(&given) {
                return Ok(());
            }
            let wanted = functions::counted(least, most);
            let message = format!("`{name}` takes {wanted}, not {given}");
            let error = Diagnostic::error(
                codes::ARGUMENT_COUNT,
                span,
                message,
                format!("{given} given"),
            );
            Err(error.with_help(format!("give {wanted}")))
        };
        let mut terms = Vec::new();
        for arg in args {
            terms.push(self.term(arg)?.number());
        }
        let two = |terms: Vec<Term>| <[Term; 2]>::try_from(terms).ok();
        if let Some((own, _)) = self.library.operators.get(name) {
            count(2, 2)?;
            let Some([a, b]) = two(terms) else {
                return Err(self.foreign("this", span));
            };
            let (lefts, rights) = own.body.operands();
            let body = own.body.len() - lefts - rights;
            small(body + lefts * a.len() + rights * b.len(), span)?;
            return Ok(own.body.with(&a, &b));
        }
        let Some(function) = functions::builtin(name) else {
            let known = functions::names().chain(self.library.operators.keys().copied());
            return Err(if crate::scalar::ScalarType::from_name(name).is_some() {
                self.foreign("a conversion", span)
            } else {
                Diagnostic::error(
                    codes::UNKNOWN_FUNCTION,
                    callee.span,
                    format!("`{name}` is neither a function nor an operator above this one"),
                    "not known here",
                )
                .with_help(suggest(
                    name,
                    known,
                    "operators use those that stand above them",
                ))
            });
        };
        let (least, most) = function.arguments();
        count(least, most)?;
        let pair = |op: BinaryOp, terms: Vec<Term>| {
            let pair = two(terms).map(|[a, b]| Term::Binary(op, Box::new(a), Box::new(b)));
            pair.ok_or_else(|| self.foreign("this", span))
        };
        let truths = |terms: Vec<Term>| terms.into_iter().map(Term::truth).collect();
        match function {
            Builtin::Func(func @ (Func::Min | Func::Max), _) => {
                let all = terms
                    .into_iter()
                    .reduce(|all, term| Term::Call(func, vec![all, term]));
                all.ok_or_else(|| self.foreign("this", span))
            }
            Builtin::Func(func, most) => {
                if func == Func::Heaviside && terms.len() < most {
                    terms.push(Term::Number(Literal::ZERO));
                }
                Ok(Term::Call(func, terms))
            }
            Builtin::Power(exponent) => {
                let base = terms.first().cloned().unwrap_or(Term::Left);
                let times = |product, _| {
                    Term::Binary(BinaryOp::Mul, Box::new(product), Box::new(base.clone()))
                };
                Ok((1..exponent).fold(base.clone(), times))
            }
            Builtin::Compare(op) => pair(op, terms),
            Builtin::Not => {
                let operand = terms.pop().unwrap_or(Term::Left).truth();
                Ok(Term::Unary(UnaryOp::Not, Box::new(operand)))
            }
            Builtin::Logic(Logic::And) => pair(BinaryOp::And, truths(terms)),
            Builtin::Logic(Logic::Or) => pair(BinaryOp::Or, truths(terms)),
            Builtin::Logic(Logic::Xor) => {
                let truths: Vec<Term> = truths(terms);
                pair(BinaryOp::Ne, truths.into_iter().map(Term::number).collect())
            }
            Builtin::Sum => Err(self.foreign("a sum", span)),
        }
    }

    fn foreign(&self, what: &str, span: Span) -> Diagnostic {
        Diagnostic::error(
            codes::OPERATOR_BODY,
            span,
            format!(
                "{what} has no meaning in the operator `{}`",
                self.decl.name.name
            ),
            format!("its operands are `{}` and `{}`", self.left, self.right),
        )
        .with_help("compute it in the statement that uses the operator")
    }
}
