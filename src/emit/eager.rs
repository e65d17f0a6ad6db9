//! Truth values that are gathered without short circuits: `flag |= (c < 0) | (c >= N)` instead of
//! `flag = flag || (c < 0 || c >= N)`. C's `&&` and `||` are branches, which keep compilers from taking several
//! iterations at once. So nothing is skipped where all parts may be evaluated and cost no more than a branch.

use super::kernel::Printer;
use crate::loops::ir::{BinaryOp, Expr, ExprKind, ScalarType};
use crate::loops::visit;

impl Printer<'_> {
    /// `target symbol= value`, if the value may be evaluated as a whole.
    pub(super) fn gathered(&self, target: &str, symbol: char, value: &Expr) -> Option<String> {
        is_eager(value, &[]).then(|| format!("{target} {symbol}= {};", self.bitwise(value)))
    }

    fn bitwise(&self, e: &Expr) -> String {
        let ExprKind::Binary(op, a, b) = &e.kind else {
            return self.expr(e);
        };
        match connective(*op, a.ty) {
            Some(symbol) => format!("({}) {symbol} ({})", self.bitwise(a), self.bitwise(b)),
            None => self.expr(e),
        }
    }
}

/// The bitwise operator that connects two truth values as this one does.
fn connective(op: BinaryOp, ty: ScalarType) -> Option<char> {
    let both = matches!(op, BinaryOp::And | BinaryOp::Min);
    let either = matches!(op, BinaryOp::Or | BinaryOp::Max);
    let symbol = if both { '&' } else { '|' };
    (ty == ScalarType::Bool && (both || either)).then_some(symbol)
}

/// Whether an expression may be evaluated even where C's `&&` and `||` would skip parts of it, and is cheap: it
/// divides by nothing, calls nothing, has no arithmetic that may overflow, no load depends on another one, and the
/// second operand of `&&` and `||` loads only what has been loaded before, the loads in `read` or those of the first operand.
fn is_eager(e: &Expr, read: &[Expr]) -> bool {
    if let ExprKind::Binary(op, a, b) = &e.kind
        && connective(*op, a.ty).is_some()
    {
        let known = [read, &loads(a)].concat();
        let all = loads(b).iter().all(|load| known.contains(load));
        return all && is_eager(a, read) && is_eager(b, &known);
    }
    let plain = match &e.kind {
        ExprKind::Unary(_, a) => !may_overflow(a),
        ExprKind::Literal(_) | ExprKind::Var(_) | ExprKind::Locate(..) => true,
        ExprKind::Load { index, .. } => !index.any(is_load),
        ExprKind::Cast(a) => a.ty.is_integer() && e.ty.is_integer(),
        ExprKind::Binary(op, a, b) => match op {
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv => false,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => !may_overflow(a) && !may_overflow(b),
            BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Min
            | BinaryOp::Max
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => true,
        },
        ExprKind::Call(..) | ExprKind::Select(..) | ExprKind::Place(_) => false,
    };
    let mut all = plain;
    e.parts(&mut |part| all = all && is_eager(part, read));
    all
}

/// Whether arithmetic on an operand may overflow unless a condition before it holds: on data of 64 bits, and on
/// all that is computed in 32 bits.
fn may_overflow(e: &Expr) -> bool {
    e.ty == ScalarType::I32 || is_load(e) && e.ty == ScalarType::I64
}

fn is_load(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Load { .. })
}

fn loads(e: &Expr) -> Vec<Expr> {
    let mut found = Vec::new();
    visit::expr(e, &mut |node| {
        if is_load(node) {
            found.push(node.clone());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::is_eager;
    use crate::loops::ir::Stmt;
    use crate::loops::text;

    /// Whether this value of a flag is evaluated as a whole.
    fn eager(value: &str) -> bool {
        let header = "kernel k\n  var N, i: int64\n  var flag: bool mut\n  array p, q: int64 input\n  array r: int32 input\n";
        let body = format!("  for i in 0..N\n    flag ||= {value}\n");
        let kernel = text::read(&format!("{header}body\n  let flag = false\n{body}")).unwrap();
        let Some(Stmt::For { body, .. }) = kernel.body.last() else {
            panic!("a loop");
        };
        matches!(body.as_slice(), [Stmt::Assign { value, .. }] if is_eager(value, &[]))
    }

    #[test]
    fn what_is_read_anyway_may_be_compared_at_once() {
        assert!(eager("p[i] < 0 || p[i] >= N"));
        assert!(eager("p[i] < p[i + 1] && (p[i] < 0 || N < p[i + 1])"));
        assert!(!eager("p[i] < N && q[i] < 0"));
        assert!(!eager("p[i] < N && (p[i] < 0 || q[i] < N)"));
        assert!(!eager("(p[i] < N && q[i] < 0) || q[i] > N"));
        assert!(!eager("q[p[i]] < 0"));
        assert!(!eager("i / N < 0"));
        assert!(!eager("p[i] > 7 || p[i] * 4 < 0"));
        assert!(!eager("-p[i] < 0"));
        assert!(eager("int64(r[i]) * 4 < 0"));
        assert!(!eager("r[i] * r[i] < r[i]"));
    }
}
