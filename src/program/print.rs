//! Resolved functions as text (`sparsec show --stage program`).

use std::fmt;

use super::ir::{
    Bound, Expr, ExprKind, Function, IndexVar, Program, ReduceOp, Role, SizeExpr, SizeId, Tensor,
    TensorId, UnaryOp, VarId,
};
use super::text::symbol;
use crate::format::TensorFormat;
use crate::syntax::ast::Typical;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, function) in self.functions.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{function}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function {}", self.name)?;
        for size in &self.sizes {
            match size.value {
                Some(value) => writeln!(f, "  size {} = {value}", size.name)?,
                None => writeln!(f, "  size {}", size.name)?,
            }
        }
        for synonym in &self.synonyms {
            let means = self.size_text(&synonym.means);
            writeln!(f, "  size {} is {means}", synonym.name)?;
        }
        for own in self.operators() {
            writeln!(f, "  {}", own.text)?;
        }
        for (at, tensor) in self.tensors.iter().enumerate() {
            let id = TensorId::at(at);
            let typical = self.typical.get(&id).copied();
            writeln!(f, "  {}", self.tensor_text(tensor, typical))?;
        }
        for stmt in &self.stmts {
            let op = format!("{}=", stmt.op.map_or("", ReduceOp::sign));
            let mut left = self.tensor(stmt.tensor).name.clone();
            if !stmt.lhs.is_empty() {
                left.push_str(&format!("({})", self.names(&stmt.lhs)));
            }
            let right = self.expr_text(&stmt.rhs, 0);
            writeln!(f, "  {}: {left} {op} {right}", stmt.label)?;
            for var in &stmt.vars {
                writeln!(f, "    {}", self.var_text(self.var(*var)))?;
            }
        }
        for requirement in &self.requirements {
            let slack = self.size_text(&requirement.slack);
            writeln!(f, "  requires {slack} >= 0: {}", requirement.text)?;
        }
        Ok(())
    }
}

impl Function {
    /// An extent with the function's names.
    #[must_use]
    pub fn size_text(&self, expr: &SizeExpr) -> String {
        size_text(expr, &|id| self.size(id).name.clone(), &|id| {
            self.tensor(id).name.clone()
        })
    }

    fn names(&self, vars: &[VarId]) -> String {
        let names: Vec<&str> = vars.iter().map(|v| self.var(*v).name.as_str()).collect();
        names.join(", ")
    }

    fn tensor_text(&self, tensor: &Tensor, typical: Option<Typical>) -> String {
        let role = match tensor.role {
            Role::Input => "input",
            Role::Result => "result",
            Role::InOut => "inout",
            Role::Temporary => "temporary",
        };
        let mut text = format!("{role} {}: {}", tensor.name, tensor.ty);
        if !tensor.dims.is_empty() {
            let dims: Vec<String> = tensor.dims.iter().map(|d| self.size_text(d)).collect();
            text.push_str(&format!("({})", dims.join(", ")));
        }
        if tensor.is_sparse() {
            text.push_str(&format!(" {}", format_text(&tensor.format)));
        }
        if !tensor.fill.is_zero() {
            text.push_str(&format!(" fill {}", tensor.fill));
        }
        match typical {
            Some(Typical::Density(share)) => text.push_str(&format!(" density {share}")),
            Some(Typical::RowLength(length)) => text.push_str(&format!(" row_length {length}")),
            None => {}
        }
        text
    }

    fn var_text(&self, var: &IndexVar) -> String {
        let bound = |bound: &Bound| match bound {
            Bound::Static(value) => self.size_text(value),
            Bound::Dynamic(value) => self.expr_text(value, 0),
        };
        format!(
            "{} in {}:{}",
            var.name,
            bound(&var.range.lo),
            bound(&var.range.hi)
        )
    }

    /// In parentheses if the expression binds less than `least` (see `text::expr`).
    fn expr_text(&self, e: &Expr, least: u8) -> String {
        let (text, own) = match &e.kind {
            ExprKind::Literal(value) => (value.to_string(), 9),
            ExprKind::Index(var) => (self.var(*var).name.clone(), 9),
            ExprKind::Size(size) => (self.size_text(size), if is_atom(size) { 9 } else { 0 }),
            ExprKind::Access(access) => {
                let name = self.tensor(access.tensor).name.clone();
                if access.subscripts.is_empty() {
                    (name, 9)
                } else {
                    (format!("{name}({})", self.list(&access.subscripts)), 9)
                }
            }
            ExprKind::Unary(op, operand) => {
                let sign = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Not => "!",
                };
                (format!("{sign}{}", self.expr_text(operand, 9)), 8)
            }
            ExprKind::Binary(op, a, b) => {
                let own = super::text::strength(*op);
                let (a, b) = (self.expr_text(a, own), self.expr_text(b, own + 1));
                (format!("{a} {} {b}", symbol(*op)), own)
            }
            ExprKind::Select(c, a, b) => {
                let (c, a, b) = (
                    self.expr_text(c, 2),
                    self.expr_text(a, 2),
                    self.expr_text(b, 1),
                );
                (format!("{c} ? {a} : {b}"), 1)
            }
            ExprKind::Call(function, args) => {
                (format!("{}({})", function.name(), self.list(args)), 9)
            }
            ExprKind::Cast(operand) => (format!("{}({})", e.ty, self.expr_text(operand, 0)), 9),
            ExprKind::Reduce { op, vars, body } => {
                let name = match op {
                    ReduceOp::Add => "sum",
                    ReduceOp::Mul => "product",
                    ReduceOp::Min => "minimum",
                    ReduceOp::Max => "maximum",
                    ReduceOp::And => "all",
                    ReduceOp::Or => "any",
                    ReduceOp::Own(own) => own.name(),
                };
                let body = self.expr_text(body, 0);
                (format!("{name}[{}]({body})", self.names(vars)), 9)
            }
        };
        if own < least {
            format!("({text})")
        } else {
            text
        }
    }

    fn list(&self, args: &[Expr]) -> String {
        let args: Vec<String> = args.iter().map(|arg| self.expr_text(arg, 0)).collect();
        args.join(", ")
    }
}

fn is_atom(size: &SizeExpr) -> bool {
    !matches!(
        size,
        SizeExpr::Add(..) | SizeExpr::Sub(..) | SizeExpr::Mul(..) | SizeExpr::FloorDiv(..)
    )
}

/// `{dense, compressed(nonunique)} order (1, 0) index 64`
pub(super) fn format_text(format: &TensorFormat) -> String {
    if format.is_rearranged() {
        return crate::format::describe(format);
    }
    let levels: Vec<String> = format.levels.iter().map(|level| level.text()).collect();
    let mut text = format!("{{{}}}", levels.join(", "));
    if format
        .modes
        .iter()
        .enumerate()
        .any(|(at, mode)| at != *mode)
    {
        let modes: Vec<String> = format.modes.iter().map(ToString::to_string).collect();
        text.push_str(&format!(" order ({})", modes.join(", ")));
    }
    if format.index_bits != 32 {
        text.push_str(&format!(" index {}", format.index_bits));
    }
    text
}

/// An extent as text, with the names of its leaves from `size` and `param`.
pub(super) fn size_text(
    expr: &SizeExpr,
    size: &impl Fn(SizeId) -> String,
    param: &impl Fn(TensorId) -> String,
) -> String {
    size_at(expr, 0, size, param)
}

fn size_at(
    expr: &SizeExpr,
    least: u8,
    size: &impl Fn(SizeId) -> String,
    param: &impl Fn(TensorId) -> String,
) -> String {
    let at = |e: &SizeExpr, least| size_at(e, least, size, param);
    let (text, own) = match expr {
        SizeExpr::Const(value) => (value.to_string(), if *value < 0 { 1 } else { 9 }),
        SizeExpr::Size(id) => (size(*id), 9),
        SizeExpr::Param(id) => (param(*id), 9),
        SizeExpr::Add(a, b) => (format!("{} + {}", at(a, 1), at(b, 2)), 1),
        SizeExpr::Sub(a, b) => (format!("{} - {}", at(a, 1), at(b, 2)), 1),
        SizeExpr::Mul(a, b) => (format!("{} * {}", at(a, 2), at(b, 3)), 2),
        SizeExpr::FloorDiv(a, b) => (format!("{} / {}", at(a, 2), at(b, 3)), 2),
        SizeExpr::Min(a, b) => (format!("min({}, {})", at(a, 0), at(b, 0)), 9),
        SizeExpr::Max(a, b) => (format!("max({}, {})", at(a, 0), at(b, 0)), 9),
    };
    if own < least {
        format!("({text})")
    } else {
        text
    }
}
