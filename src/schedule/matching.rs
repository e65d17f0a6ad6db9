//! Finds what a command names by an expression (`A(i,j) * x(j)`) in a statement.
//!
//! Products and sums match whatever the order of their operands; conversions that
//! the program stage put in are seen through.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::blocks::as_declared;
use crate::graph::{Graph, Nest};
use crate::program::as_variable;
use crate::program::ir::{Access, BinaryOp, Expr, ExprKind, SizeExpr, UnaryOp};
use crate::scalar::{Literal, ScalarType};
use crate::syntax::ast;

/// The access that `e` names in a nest, or in those of workspaces that it reads: `A(i,j)`, or `A` if that is the only
/// one.
///
/// # Errors
/// There is none, or several.
pub fn find_access(
    graph: &Graph,
    parts: &[&Nest],
    e: &ast::Expr,
    command: &str,
) -> Result<Access, Diagnostic> {
    let is_copy = |part: &&Nest| graph.makes_copy(part);
    let (copies, own): (Vec<&Nest>, Vec<&Nest>) = parts.iter().copied().partition(is_copy);
    let mut found = accesses(graph, &own, e);
    if found.is_empty() {
        found = accesses(graph, &copies, e);
    }
    if found.len() == 1
        && let Some(access) = found.pop()
    {
        return Ok(access);
    }
    let message = if found.is_empty() {
        "the statement does not read this".to_string()
    } else {
        "the statement reads several elements of it".to_string()
    };
    let error = Diagnostic::error(codes::NO_SUCH_EXPRESSION, e.span, message, "which access?");
    let error = match parts.first() {
        Some(nest) => error.with_label(nest.span, "the statement"),
        None => error,
    };
    Err(error.with_help(format!(
        "give `{command}` an access as the statement writes it"
    )))
}

/// The accesses in these nests that `e` names.
fn accesses(graph: &Graph, parts: &[&Nest], e: &ast::Expr) -> Vec<Access> {
    let mut found: Vec<Access> = Vec::new();
    // What a workspace keeps is read by the statement all the same.
    let mut look = |node: &Expr| {
        let ExprKind::Access(access) = &node.kind else {
            return;
        };
        let named = if let ast::ExprKind::Name(name) = &e.kind {
            !access.subscripts.is_empty() && graph.is_called(access.tensor, name)
        } else if let ast::ExprKind::Apply { .. } = &e.kind {
            matches(graph, node, e)
        } else {
            false
        };
        if named
            && !found
                .iter()
                .any(|a| crate::graph::equal::same_access(a, access))
        {
            found.push(access.clone());
        }
    };
    for part in parts {
        part.rhs.walk(&mut look);
    }
    found
}

/// Whether the program's expression is what the command's says.
#[must_use]
pub fn matches(graph: &Graph, ir: &Expr, e: &ast::Expr) -> bool {
    let ir = graph.points.condition(ir).unwrap_or(ir);
    let ir = as_variable(ir).unwrap_or(ir);
    let direct = match (&ir.kind, &e.kind) {
        (ExprKind::Literal(l), ast::ExprKind::Number(_)) => {
            number(e).is_some_and(|n| l.same_value(n))
        }
        (ExprKind::Size(size), _) => is_size(graph, size, e),
        (ExprKind::Index(v), ast::ExprKind::Name(name)) => graph.vars[v.index()].name == *name,
        (ExprKind::Access(access), ast::ExprKind::Name(name)) => {
            access.subscripts.is_empty() && graph.is_called(access.tensor, name)
        }
        (ExprKind::Access(access), ast::ExprKind::Apply { callee, args }) => {
            let all = |subscripts: &[Expr]| {
                subscripts.len() == args.len()
                    && subscripts
                        .iter()
                        .zip(args)
                        .all(|(s, a)| matches(graph, s, a))
            };
            graph.is_called(access.tensor, &callee.name)
                && (all(&access.subscripts)
                    || as_declared(graph, access).is_some_and(|subscripts| all(&subscripts)))
        }
        (ExprKind::Call(func, operands), ast::ExprKind::Apply { callee, args }) => {
            let name = format!("{func:?}").to_lowercase();
            let spelled = callee.name.trim_start_matches('f').trim_end_matches('f');
            (name == callee.name.to_lowercase() || name == spelled)
                && operands.len() == args.len()
                && operands.iter().zip(args).all(|(o, a)| matches(graph, o, a))
        }
        (ExprKind::Unary(op, a), ast::ExprKind::Unary(other, b)) => {
            *op == *other && matches(graph, a, b)
        }
        (ExprKind::Binary(op @ (BinaryOp::Mul | BinaryOp::Add), ..), ast::ExprKind::Binary(..)) => {
            let (have, want) = (operands(ir, *op), ast_operands(e, *op));
            have.len() == want.len() && assign(graph, &have, &want).is_some()
        }
        (ExprKind::Binary(op, a, b), ast::ExprKind::Binary(other, x, y)) => {
            op == other && matches(graph, a, x) && matches(graph, b, y)
        }
        (ExprKind::Select(c, a, b), ast::ExprKind::Select(d, x, y)) => {
            matches(graph, c, d) && matches(graph, a, x) && matches(graph, b, y)
        }
        (_, _) => false,
    };
    if direct {
        return true;
    }
    let ExprKind::Cast(inner) = &ir.kind else {
        return false;
    };
    let cast = if let ast::ExprKind::Apply { args, .. } = &e.kind {
        matches!(args.as_slice(), [only] if matches(graph, inner, only))
    } else {
        false
    };
    cast || matches(graph, inner, e)
}

/// Whether a size is what the command says.
fn is_size(graph: &Graph, size: &SizeExpr, e: &ast::Expr) -> bool {
    let both = |op: BinaryOp, a: &SizeExpr, b: &SizeExpr| {
        matches!(&e.kind, ast::ExprKind::Binary(own, x, y)
            if *own == op && is_size(graph, a, x) && is_size(graph, b, y))
    };
    let is_name =
        |own: &dyn Fn(&str) -> bool| matches!(&e.kind, ast::ExprKind::Name(name) if own(name));
    match size {
        SizeExpr::Const(n) => {
            let sizes = &graph.function.sizes;
            let fixed = |name: &str| {
                let mut named = sizes.iter().filter(|size| size.name == name);
                named.any(|size| size.constant() == Some(*n))
            };
            number(e) == Some(Literal::Int(*n)) || is_name(&fixed)
        }
        SizeExpr::Size(id) => is_name(&|name| graph.function.size(*id).name == name),
        SizeExpr::Param(id) => is_name(&|name| graph.is_called(*id, name)),
        SizeExpr::Add(a, b) => both(BinaryOp::Add, a, b),
        SizeExpr::Sub(a, b) => both(BinaryOp::Sub, a, b),
        SizeExpr::Mul(a, b) => both(BinaryOp::Mul, a, b),
        SizeExpr::FloorDiv(a, b) => both(BinaryOp::Div, a, b),
        SizeExpr::Min(..) | SizeExpr::Max(..) => false,
    }
}

fn number(e: &ast::Expr) -> Option<Literal> {
    let ast::ExprKind::Number(number) = &e.kind else {
        return None;
    };
    Some(match number {
        ast::Number::Int(i) => Literal::Int(i64::try_from(*i).ok()?),
        ast::Number::Float(x) => Literal::Float(*x),
    })
}

/// The operands of a chain of `op` (subtraction is no part of it).
#[must_use]
pub fn operands(e: &Expr, op: BinaryOp) -> Vec<&Expr> {
    if let ExprKind::Binary(own, a, b) = &e.kind
        && *own == op
    {
        [operands(a, op), operands(b, op)].concat()
    } else {
        vec![e]
    }
}

/// A product of numbers that are not whole ones, whatever stands in it is negated and divided.
#[derive(Clone, Debug)]
pub struct Fraction<'e> {
    pub factors: Vec<&'e Expr>,
    pub divisors: Vec<&'e Expr>,
    pub negative: bool,
}

impl<'e> Fraction<'e> {
    /// What `-(a * b) / d * c` multiplies and divides; `None` of whole numbers and truths, and of what is a product
    /// alone.
    #[must_use]
    pub fn of(e: &'e Expr) -> Option<Self> {
        let found = Self::parts(e);
        let is_more = found.negative || !found.divisors.is_empty();
        (is_more && !e.ty.is_integer() && e.ty != ScalarType::Bool).then_some(found)
    }

    fn parts(e: &'e Expr) -> Self {
        let both = |a: &'e Expr, b: &'e Expr| (Self::parts(a), Self::parts(b));
        if let ExprKind::Binary(BinaryOp::Mul, a, b) = &e.kind {
            let (one, other) = both(a, b);
            Fraction {
                factors: [one.factors, other.factors].concat(),
                divisors: [one.divisors, other.divisors].concat(),
                negative: one.negative != other.negative,
            }
        } else if let ExprKind::Binary(BinaryOp::Div, a, b) = &e.kind {
            let mut of = Self::parts(a);
            of.divisors.push(b);
            of
        } else if let ExprKind::Unary(UnaryOp::Neg, a) = &e.kind {
            let mut of = Self::parts(a);
            of.negative = !of.negative;
            of
        } else {
            Fraction {
                factors: vec![e],
                divisors: Vec::new(),
                negative: false,
            }
        }
    }
}

/// As [`operands`], of what a command says.
#[must_use]
pub fn ast_operands(e: &ast::Expr, op: BinaryOp) -> Vec<&ast::Expr> {
    if let ast::ExprKind::Binary(own, a, b) = &e.kind
        && *own == op
    {
        [ast_operands(a, op), ast_operands(b, op)].concat()
    } else {
        vec![e]
    }
}

/// For each wanted operand a different one of those there are.
#[must_use]
pub fn assign(graph: &Graph, have: &[&Expr], want: &[&ast::Expr]) -> Option<Vec<usize>> {
    let mut taken: Vec<usize> = Vec::new();
    for &e in want {
        let at = (0..have.len()).find(|at| !taken.contains(at) && matches(graph, have[*at], e))?;
        taken.push(at);
    }
    Some(taken)
}
