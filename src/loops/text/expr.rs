//! Expressions, with the parentheses that they need and types where those do not follow.

use super::lex::Token;
use super::{Read, Reader, Writer, words};
use crate::loops::build as b;
use crate::loops::ir::{BinaryOp, Expr, ExprKind, Func, Kernel, Literal, ScalarType, UnaryOp};

/// Binds tighter than any operator.
const ATOM: u8 = 9;
const UNARY: u8 = 8;

/// The type that an expression has if none is written.
fn implied(kernel: &Kernel, kind: &ExprKind) -> Option<ScalarType> {
    Some(match kind {
        ExprKind::Literal(Literal::Bool(_)) => ScalarType::Bool,
        ExprKind::Literal(Literal::Int(_)) | ExprKind::Place(_) | ExprKind::Locate(..) => {
            ScalarType::I64
        }
        ExprKind::Literal(Literal::Float(_)) => ScalarType::F64,
        ExprKind::Var(v) => kernel.var(*v).ty,
        ExprKind::Load { array, .. } => kernel.array(*array).elem.compute(),
        ExprKind::Binary(op, ..) if b::is_comparison(*op) => ScalarType::Bool,
        ExprKind::Unary(_, a) | ExprKind::Binary(_, a, _) | ExprKind::Select(_, a, _) => a.ty,
        ExprKind::Call(_, args) => args.first()?.ty,
        // Its name.
        ExprKind::Cast(_) => return None,
    })
}

impl Writer<'_> {
    pub(super) fn expr(&self, e: &Expr) -> String {
        self.operand(e, 0)
    }

    /// The expression where an operator around it binds as tightly as `outer`.
    fn operand(&self, e: &Expr, outer: u8) -> String {
        let (mut text, mut binds) = self.kind(e);
        let implied = implied(self.kernel, &e.kind);
        let typed = implied.is_some_and(|ty| ty != e.ty);
        if binds < outer || (typed && binds < ATOM) {
            text = format!("({text})");
            binds = ATOM;
        }
        if typed {
            text += &format!(":{}", e.ty);
        }
        debug_assert!(binds >= outer);
        text
    }

    fn kind(&self, e: &Expr) -> (String, u8) {
        let list = |args: &[&Expr]| {
            let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
            args.join(", ")
        };
        match &e.kind {
            ExprKind::Literal(l) => (l.to_string(), ATOM),
            ExprKind::Var(v) => (self.var(*v).to_string(), ATOM),
            ExprKind::Load { array, index } => {
                let text = format!("{}[{}]", self.array(*array), self.expr(index));
                (text, ATOM)
            }
            ExprKind::Unary(op, a) => {
                let mark = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Not => "!",
                };
                // `-1` is a literal.
                let text = if matches!(a.kind, ExprKind::Literal(_)) {
                    format!("{mark}({})", self.expr(a))
                } else {
                    format!("{mark}{}", self.operand(a, ATOM))
                };
                (text, UNARY)
            }
            ExprKind::Binary(op, x, y) => self.binary(*op, x, y),
            ExprKind::Call(func, args) => {
                let args: Vec<&Expr> = args.iter().collect();
                let name = if let Func::Own(own) = func {
                    words::own_word(*own)
                } else {
                    function_name(*func).to_string()
                };
                (format!("{name}({})", list(&args)), ATOM)
            }
            ExprKind::Cast(a) => (format!("{}({})", e.ty, self.expr(a)), ATOM),
            ExprKind::Select(c, x, y) => (format!("select({})", list(&[c, x, y])), ATOM),
            ExprKind::Locate(p, n, c) => (format!("locate({})", list(&[p, n, c])), ATOM),
            ExprKind::Place(place) => (words::word(&words::PLACES, place).to_string(), ATOM),
        }
    }

    fn binary(&self, op: BinaryOp, x: &Expr, y: &Expr) -> (String, u8) {
        let infix = words::INFIX.iter().find(|(known, ..)| *known == op);
        let Some((_, mark, binds)) = infix else {
            let name = words::word(&words::PREFIX, &op);
            return (format!("{name}({}, {})", self.expr(x), self.expr(y)), ATOM);
        };
        // Operators of one rank group from the left, comparisons not at all.
        let left = binds + u8::from(b::is_comparison(op));
        let text = format!(
            "{} {mark} {}",
            self.operand(x, left),
            self.operand(y, binds + 1)
        );
        (text, *binds)
    }
}

/// `min` and `max` are operators of the IR.
fn function_name(func: Func) -> &'static str {
    match func.name() {
        "min" => "fmin",
        "max" => "fmax",
        name => name,
    }
}

impl Reader {
    pub(super) fn expr(&mut self) -> Read<Expr> {
        self.operators(1)
    }

    /// Operands joined by operators that bind at least so tightly.
    fn operators(&mut self, least: u8) -> Read<Expr> {
        let mut left = self.unary()?;
        loop {
            let Some(Token::Mark(mark)) = self.peek() else {
                return Ok(left);
            };
            let found = words::INFIX.iter().find(|(_, known, _)| known == mark);
            let Some((op, _, binds)) = found.filter(|(.., binds)| *binds >= least) else {
                return Ok(left);
            };
            self.token += 1;
            let right = self.operators(binds + 1)?;
            left = b::raw_binary(*op, left, right);
        }
    }

    fn unary(&mut self) -> Read<Expr> {
        let op = if self.mark("!") {
            UnaryOp::Not
        } else if self.mark("-") {
            if let Some(literal) = self.literal(true)? {
                return self.typed(literal);
            }
            UnaryOp::Neg
        } else {
            return self.atom();
        };
        Ok(b::unary(op, self.unary()?))
    }

    /// What has no operators outside of parentheses, with its type.
    fn atom(&mut self) -> Read<Expr> {
        if self.mark("(") {
            let mut inner = self.expr()?;
            self.expect_mark(")")?;
            if self.mark(":") {
                inner.ty = self.scalar_type()?;
            }
            return Ok(inner);
        }
        if let Some(literal) = self.literal(false)? {
            return self.typed(literal);
        }
        let name = self.name()?;
        if let Some(place) = words::value(&words::PLACES, &name) {
            return self.typed(ExprKind::Place(place));
        }
        if self.mark("(") {
            return self.applied(&name);
        }
        if self.mark("[") {
            let array = self.array_named(&name)?;
            let index = Box::new(self.index()?);
            return self.typed(ExprKind::Load { array, index });
        }
        let var = self.var_named(&name)?;
        self.typed(ExprKind::Var(var))
    }

    /// What stands between `[`, which has been taken, and `]`.
    pub(super) fn index(&mut self) -> Read<Expr> {
        let index = self.expr()?;
        self.expect_mark("]")?;
        Ok(index)
    }

    /// The expression of the type written behind it, or of the one that follows.
    fn typed(&mut self, kind: ExprKind) -> Read<Expr> {
        let ty = if self.mark(":") {
            self.scalar_type()?
        } else {
            implied(&self.kernel, &kind).unwrap_or(ScalarType::I64)
        };
        Ok(Expr { kind, ty })
    }

    pub(super) fn scalar_type(&mut self) -> Read<ScalarType> {
        let name = self.name()?;
        words::scalar_type(&name).ok_or_else(|| self.wrong(format!("`{name}` is no type")))
    }

    /// A number or a named constant, if one comes next.
    fn literal(&mut self, negative: bool) -> Read<Option<ExprKind>> {
        let Some(literal) = self.constant(negative)? else {
            return Ok(None);
        };
        self.token += 1;
        Ok(Some(ExprKind::Literal(literal)))
    }

    fn constant(&self, negative: bool) -> Read<Option<Literal>> {
        let sign = if negative { "-" } else { "" };
        Ok(Some(match self.peek() {
            Some(Token::Number(digits)) => {
                let text = format!("{sign}{digits}");
                let parsed = if digits.contains(['.', 'e']) {
                    text.parse().ok().map(Literal::Float)
                } else {
                    text.parse().ok().map(Literal::Int)
                };
                parsed.ok_or_else(|| self.wrong(format!("{text} is too large")))?
            }
            Some(Token::Word(word)) => match (word.as_str(), negative) {
                ("true", false) => Literal::Bool(true),
                ("false", false) => Literal::Bool(false),
                ("inf", false) => Literal::Float(f64::INFINITY),
                ("inf", true) => Literal::Float(f64::NEG_INFINITY),
                ("NaN", false) => Literal::Float(f64::NAN),
                _ => return Ok(None),
            },
            Some(Token::Text(_) | Token::Mark(_) | Token::Comment(_)) | None => return Ok(None),
        }))
    }

    /// A literal with its sign.
    pub(super) fn signed(&mut self) -> Read<Literal> {
        let negative = self.mark("-");
        let literal = self.constant(negative)?;
        self.token += 1;
        literal.ok_or_else(|| self.wrong("a number is expected"))
    }

    /// What a name does to the arguments behind it, of which `(` has been taken.
    fn applied(&mut self, name: &str) -> Read<Expr> {
        let mut args = Vec::new();
        while !self.mark(")") {
            if !args.is_empty() {
                self.expect_mark(",")?;
            }
            args.push(self.expr()?);
        }
        let kind = if let Some(own) = self.operators.get(name).copied() {
            let [x, y] = self.arguments(name, args)?;
            ExprKind::Call(Func::Own(own), vec![x, y])
        } else if let Some(ty) = words::scalar_type(name) {
            let [of] = self.arguments(name, args)?;
            let kind = ExprKind::Cast(Box::new(of));
            return Ok(Expr { kind, ty });
        } else if let Some(op) = words::value(&words::PREFIX, name) {
            let [x, y] = self.arguments(name, args)?;
            ExprKind::Binary(op, Box::new(x), Box::new(y))
        } else if name == "select" {
            let [c, x, y] = self.arguments(name, args)?;
            ExprKind::Select(Box::new(c), Box::new(x), Box::new(y))
        } else if name == "locate" {
            let [p, n, c] = self.arguments(name, args)?;
            ExprKind::Locate(Box::new(p), Box::new(n), Box::new(c))
        } else if let Some(func) = Func::named(name) {
            ExprKind::Call(func, args)
        } else {
            return Err(self.wrong(format!("no function `{name}` is known")));
        };
        self.typed(kind)
    }

    fn arguments<const N: usize>(&self, name: &str, args: Vec<Expr>) -> Read<[Expr; N]> {
        args.try_into()
            .map_err(|_| self.wrong(format!("`{name}` takes {N} arguments")))
    }
}
