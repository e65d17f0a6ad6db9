//! A statement as text, for the comments of emitted code: what the user wrote, with
//! uniform spaces.

use crate::syntax::ast::{
    Assign, AssignOp, BinaryOp, Expr, ExprKind, Number, RangeClause, Reduction, UnaryOp,
};

/// `y(i) +=! A(i, j) * x(j) where ...`, without the label.
pub(super) fn assign(assign: &Assign) -> String {
    let mut text = assign.tensor.name.clone();
    if !assign.subscripts.is_empty() {
        text.push_str(&list(&assign.subscripts));
    }
    text.push_str(&match &assign.op {
        AssignOp::Set => " = ".to_string(),
        AssignOp::Reduce { op, init } => {
            let sign = match op {
                Reduction::Builtin(op) => op.sign(),
                Reduction::Named(name) => &name.name,
            };
            format!(" {sign}={} ", if *init { "!" } else { "" })
        }
    });
    text.push_str(&expr(&assign.rhs, 0));
    if !assign.ranges.is_empty() {
        let ranges: Vec<String> = assign.ranges.iter().map(range).collect();
        text.push_str(" where ");
        text.push_str(&ranges.join(", "));
    }
    text
}

pub(super) fn range(clause: &RangeClause) -> String {
    let (lo, hi) = (expr(&clause.lo, 0), expr(&clause.hi, 0));
    format!("{} in {lo}:{hi}", clause.var.name)
}

fn list(args: &[Expr]) -> String {
    let args: Vec<String> = args.iter().map(|arg| expr(arg, 0)).collect();
    format!("({})", args.join(", "))
}

/// Binding strength of binary operators; a select has 1, a unary operator 8.
pub(super) fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 2,
        BinaryOp::And => 3,
        BinaryOp::Eq | BinaryOp::Ne => 4,
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 5,
        BinaryOp::Add | BinaryOp::Sub => 6,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 7,
    }
}

/// C's spelling of an operator.
pub(super) fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}

/// In parentheses if it binds less than `least`.
pub(super) fn expr(e: &Expr, least: u8) -> String {
    let (text, own) = match &e.kind {
        ExprKind::Number(Number::Int(value)) => (value.to_string(), 9),
        ExprKind::Number(Number::Float(value)) if value.is_infinite() => ("inf".to_owned(), 9),
        ExprKind::Number(Number::Float(value)) => (format!("{value:?}"), 9),
        ExprKind::Name(name) => (name.clone(), 9),
        ExprKind::Apply { callee, args } => (format!("{}{}", callee.name, list(args)), 9),
        ExprKind::Extent { tensor, dim } => (format!("{}.{dim}", tensor.name), 9),
        ExprKind::Member { base, member } => (format!("{}.{}", base.name, member.name), 9),
        ExprKind::Unary(UnaryOp::Neg, operand) => (format!("-{}", expr(operand, 9)), 8),
        ExprKind::Unary(UnaryOp::Not, operand) => (format!("!{}", expr(operand, 9)), 8),
        ExprKind::Binary(op, a, b) => {
            let own = strength(*op);
            let (a, b) = (expr(a, own), expr(b, own + 1));
            (format!("{a} {} {b}", symbol(*op)), own)
        }
        ExprKind::Select(c, a, b) => (
            format!("{} ? {} : {}", expr(c, 2), expr(a, 2), expr(b, 1)),
            1,
        ),
    };
    if own < least {
        format!("({text})")
    } else {
        text
    }
}
