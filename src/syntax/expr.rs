//! Expressions: operator precedence and numbers.

use super::ast::{BinaryOp, Expr, ExprKind, Number, UnaryOp};
use super::build::{Build, Builder};
use super::parse::{Rule, too_long};
use crate::diagnostic::codes::syntax as codes;
use crate::diagnostic::{Diagnostic, Span};
use pest::iterators::Pair;

/// Deepest tree of operators.
const MAX_DEPTH: usize = 1000;

impl Builder {
    pub(super) fn expr(&mut self, pair: Pair<Rule>) -> Build<Expr> {
        let span = self.span(&pair);
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_long(span, MAX_DEPTH));
        }
        let mut parts = pair.into_inner();
        let first = match parts.next() {
            Some(binary) => self.binary(binary)?,
            None => return Err(self.broken(span)),
        };
        let result = match (parts.next(), parts.next()) {
            (Some(then), Some(otherwise)) => Expr {
                kind: ExprKind::Select(
                    Box::new(first),
                    Box::new(self.expr(then)?),
                    Box::new(self.expr(otherwise)?),
                ),
                span,
            },
            _ => first,
        };
        self.depth -= 1;
        Ok(result)
    }

    /// Precedence climbing over the flat list of operands and operators.
    fn binary(&mut self, pair: Pair<Rule>) -> Build<Expr> {
        let mut operands: Vec<Expr> = Vec::new();
        let mut operators: Vec<BinaryOp> = Vec::new();
        let all = self.span(&pair);
        let mut count = 0;
        for part in pair.into_inner() {
            if part.as_rule() == Rule::binary_op {
                let op = operator(part.as_str()).ok_or_else(|| self.broken(all))?;
                while let Some(&top) = operators.last()
                    && precedence(top) >= precedence(op)
                {
                    operators.pop();
                    self.reduce(&mut operands, top, all)?;
                }
                operators.push(op);
                count += 1;
                if self.depth + count > MAX_DEPTH {
                    return Err(too_long(all, MAX_DEPTH));
                }
            } else {
                let operand = self.prefixed(part)?;
                operands.push(operand);
            }
        }
        while let Some(op) = operators.pop() {
            self.reduce(&mut operands, op, all)?;
        }
        operands.pop().ok_or_else(|| self.broken(all))
    }

    fn reduce(&self, operands: &mut Vec<Expr>, op: BinaryOp, all: Span) -> Build<()> {
        let (Some(right), Some(left)) = (operands.pop(), operands.pop()) else {
            return Err(self.broken(all));
        };
        operands.push(Expr {
            span: left.span.to(right.span),
            kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
        });
        Ok(())
    }

    fn prefixed(&mut self, pair: Pair<Rule>) -> Build<Expr> {
        let span = self.span(&pair);
        let mut prefixes = Vec::new();
        let mut result = None;
        for part in pair.into_inner() {
            if part.as_rule() == Rule::prefix {
                prefixes.push((part.as_str().to_string(), self.span(&part)));
            } else {
                result = Some(self.primary(part)?);
            }
        }
        if prefixes.len() > MAX_DEPTH {
            return Err(too_long(span, MAX_DEPTH));
        }
        let mut e = result.ok_or_else(|| self.broken(span))?;
        for (prefix, at) in prefixes.into_iter().rev() {
            let op = match prefix.as_str() {
                "-" => UnaryOp::Neg,
                "!" => UnaryOp::Not,
                // A plus sign says nothing.
                _ => continue,
            };
            e = Expr {
                span: at.to(e.span),
                kind: ExprKind::Unary(op, Box::new(e)),
            };
        }
        Ok(e)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "pest's generated enum")]
    fn primary(&mut self, pair: Pair<Rule>) -> Build<Expr> {
        let span = self.span(&pair);
        let kind = match pair.as_rule() {
            Rule::number => ExprKind::Number(number(pair.as_str(), span)?),
            Rule::name => ExprKind::Name(pair.as_str().to_string()),
            Rule::paren => {
                let inner = pair.into_inner().next();
                let inner = inner.ok_or_else(|| self.broken(span))?;
                return self.expr(inner);
            }
            Rule::apply => {
                let mut parts = pair.into_inner();
                let open = parts.next().ok_or_else(|| self.broken(span))?;
                let name = open.into_inner().next();
                let callee = self.ident(&name.ok_or_else(|| self.broken(span))?);
                let mut args = Vec::new();
                for part in parts {
                    args.push(self.expr(part)?);
                }
                ExprKind::Apply { callee, args }
            }
            Rule::extent | Rule::member => {
                let is_extent = pair.as_rule() == Rule::extent;
                let mut parts = pair.into_inner();
                let (Some(base), Some(what)) = (parts.next(), parts.next()) else {
                    return Err(self.broken(span));
                };
                let base = self.ident(&base);
                if is_extent {
                    ExprKind::Extent {
                        tensor: base,
                        dim: self.whole(&what)?.0.try_into().map_err(|_| {
                            Diagnostic::error(
                                codes::NUMBER,
                                span,
                                "this dimension is out of range",
                                "no tensor has that many",
                            )
                            .with_help("dimensions count from 0")
                        })?,
                    }
                } else {
                    ExprKind::Member {
                        base,
                        member: self.ident(&what),
                    }
                }
            }
            _ => return Err(self.broken(span)),
        };
        Ok(Expr { kind, span })
    }
}

fn operator(text: &str) -> Option<BinaryOp> {
    Some(match text {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "%" => BinaryOp::Rem,
        "==" => BinaryOp::Eq,
        "!=" => BinaryOp::Ne,
        "<" => BinaryOp::Lt,
        "<=" => BinaryOp::Le,
        ">" => BinaryOp::Gt,
        ">=" => BinaryOp::Ge,
        "&&" => BinaryOp::And,
        "||" => BinaryOp::Or,
        _ => return None,
    })
}

/// C's precedences; a higher number binds tighter.
#[must_use]
pub fn precedence(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Eq | BinaryOp::Ne => 3,
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 4,
        BinaryOp::Add | BinaryOp::Sub => 5,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 6,
    }
}

/// Refuses digits that are another number in C.
pub(super) fn no_octal(digits: &str, span: Span) -> Build<()> {
    let plain = digits.trim_start_matches('0');
    if digits.len() < 2 || plain.len() == digits.len() {
        return Ok(());
    }
    Err(Diagnostic::error(
        codes::NUMBER,
        span,
        format!("{digits} begins with a zero"),
        "octal in C",
    )
    .with_help(format!(
        "write the decimal number, {}",
        if plain.is_empty() { "0" } else { plain }
    )))
}

/// A number as C writes it; suffixes only say what the digits say already.
pub(super) fn number(text: &str, span: Span) -> Build<Number> {
    let too_large = || {
        Diagnostic::error(
            codes::NUMBER,
            span,
            format!("the number {text} does not fit"),
            "too large",
        )
        .with_help("whole numbers end at 2^64 - 1; write a decimal number such as 1e20")
    };
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        let digits = digits.trim_end_matches(['u', 'l']);
        let value = u64::from_str_radix(digits, 16).map_err(|_| too_large())?;
        return Ok(Number::Int(value));
    }
    let whole = lower.trim_end_matches(['u', 'l']);
    if whole.bytes().all(|b| b.is_ascii_digit()) {
        no_octal(whole, span)?;
        return whole.parse().map(Number::Int).map_err(|_| too_large());
    }
    let value: f64 = lower
        .trim_end_matches(['f', 'l'])
        .parse()
        .map_err(|_| too_large())?;
    if value.is_finite() {
        Ok(Number::Float(value))
    } else {
        Err(too_large().with_help("decimal numbers end near 1.8e308"))
    }
}
