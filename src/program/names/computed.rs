//! What a left side with computed or repeated subscripts means, written with variables alone.

use super::Resolver;
use crate::program::ranges::extent_text;
use crate::program::text;
use crate::syntax::ast::{self, BinaryOp, ExprKind, Number};

/// `times * of + plus`, with `times` at least 1.
struct Strided {
    of: String,
    times: u64,
    plus: u64,
}

impl Resolver<'_, '_> {
    /// The assignment with a variable in place of the computed `subscript`. What reduces scatters, by a range of one
    /// value; what defines reads what belongs to each element.
    pub(super) fn by_itself(&self, subscript: &ast::Expr, assign: &ast::Assign) -> String {
        let tensor = &assign.tensor.name;
        let general = format!(
            "give `{tensor}` a variable for each subscript, and read on the right side what belongs to it"
        );
        if self.draft.notation == ast::Notation::Taco {
            return general;
        }
        let name = self.unused(&[]);
        let mut by_name = assign.clone();
        for own in &mut by_name.subscripts {
            if own.span == subscript.span {
                own.kind = ExprKind::Name(name.clone());
            }
        }
        match &assign.op {
            ast::AssignOp::Reduce { .. } => {
                let next = binary(BinaryOp::Add, subscript, number(1, subscript));
                by_name.ranges.push(range(&name, subscript.clone(), next));
                let id = self.tensor(tensor);
                let first = if id.is_some_and(|id| self.draft.tensor(id).is_declared) {
                    String::new()
                } else {
                    format!("let `{tensor}` be a parameter with its shape, and ")
                };
                format!("{first}write `{}`", text::assign(&by_name))
            }
            ast::AssignOp::Set => {
                let shifted = self.shifted(subscript, &name, by_name.clone());
                let gathered = strided(subscript).and_then(|s| self.gathered(&name, &s, by_name));
                gathered
                    .or(shifted)
                    .map_or(general, |text| format!("write `{text}`"))
            }
        }
    }

    /// What an element is that is not assigned: nothing in a new tensor, what it was in a parameter.
    fn otherwise(&self, assign: &ast::Assign) -> String {
        let name = &assign.tensor.name;
        let id = self.tensor(name);
        if !id.is_some_and(|id| self.draft.tensor(id).is_declared) {
            return "0".to_string();
        }
        let subscripts: Vec<String> = (assign.subscripts.iter())
            .map(|e| text::expr(e, 0))
            .collect();
        format!("{name}({})", subscripts.join(","))
    }

    /// The assignment to all elements where a size or parameter is added to the variable.
    fn shifted(
        &self,
        subscript: &ast::Expr,
        name: &str,
        mut assign: ast::Assign,
    ) -> Option<String> {
        let ExprKind::Binary(BinaryOp::Add, a, b) = &subscript.kind else {
            return None;
        };
        let (ExprKind::Name(a), ExprKind::Name(b)) = (&a.kind, &b.kind) else {
            return None;
        };
        let (of, plus) = match (self.means_something(a), self.means_something(b)) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            (true, true) | (false, false) => return None,
        };
        let extent = self.extent_of(of, &assign.rhs)?;
        if assign.ranges.iter().any(|r| r.var.name == *of) {
            return None;
        }
        rename(&mut assign.rhs, of, &format!("{name} - {plus}"));
        let mut given: Vec<String> = assign.ranges.drain(..).map(|r| text::range(&r)).collect();
        given.push(format!("{name} in 0:{extent} + {plus}"));
        let rhs = text::expr(&assign.rhs, 2);
        let other = self.otherwise(&assign);
        assign.rhs.kind = ExprKind::Name(format!("{name} >= {plus} ? {rhs} : {other}"));
        Some(format!(
            "{} where {}",
            text::assign(&assign),
            given.join(", ")
        ))
    }

    /// The assignment to all elements, of which those that no value of the variable comes to are 0, or as they were.
    fn gathered(&self, name: &str, strided: &Strided, mut assign: ast::Assign) -> Option<String> {
        let extent = self.extent_of(&strided.of, &assign.rhs)?;
        let (times, plus) = (strided.times, strided.plus);
        if assign.ranges.iter().any(|r| r.var.name == strided.of) {
            return None;
        }
        let (from, condition) = match (times, plus) {
            (1, _) => (format!("{name} - {plus}"), format!("{name} >= {plus}")),
            (_, 0) => (
                format!("{name} / {times}"),
                format!("{name} % {times} == 0"),
            ),
            (_, _) => (
                format!("({name} - {plus}) / {times}"),
                if plus < times {
                    format!("{name} % {times} == {plus}")
                } else {
                    format!("{name} >= {plus} && ({name} - {plus}) % {times} == 0")
                },
            ),
        };
        rename(&mut assign.rhs, &strided.of, &from);
        let whole = if extent.contains(' ') {
            format!("({extent}) * {times}")
        } else {
            format!("{extent} * {times}")
        };
        let other = self.otherwise(&assign);
        let end = match (times, plus) {
            (1, _) => format!("{extent} + {plus}"),
            (_, _) if plus + 1 == times => whole,
            // A parameter may have no element behind the last one that is assigned.
            (_, _) if other != "0" => format!("({extent} - 1) * {times} + {}", plus + 1),
            (_, 0) => whole,
            (_, _) => format!("{whole} + {plus}"),
        };
        let mut given: Vec<String> = assign.ranges.drain(..).map(|r| text::range(&r)).collect();
        given.push(format!("{name} in 0:{end}"));
        let rhs = text::expr(&assign.rhs, 2);
        assign.rhs.kind = ExprKind::Name(format!("{condition} ? {rhs} : {other}"));
        Some(format!(
            "{} where {}",
            text::assign(&assign),
            given.join(", ")
        ))
    }

    /// The assignment of a repeated variable to all elements, of which those off the diagonal are 0, or as they
    /// were.
    pub(super) fn whole(&self, assign: &ast::Assign) -> String {
        let general = "write all elements, of which those off the diagonal are 0".to_string();
        let mut seen: Vec<String> = Vec::new();
        let mut all = assign.clone();
        let mut same = Vec::new();
        let mut given: Vec<String> = assign.ranges.iter().map(text::range).collect();
        for subscript in &mut all.subscripts {
            let ExprKind::Name(name) = &subscript.kind else {
                return general;
            };
            if seen.contains(name) {
                let own = self.unused(&seen);
                same.push(format!("{name} == {own}"));
                let ranges = assign.ranges.iter();
                let mut of = ranges.filter(|r| r.var.name == *name);
                given.push(match (of.next(), self.extent_of(name, &assign.rhs)) {
                    (Some(r), _) => {
                        let (lo, hi) = (text::expr(&r.lo, 0), text::expr(&r.hi, 0));
                        format!("{own} in {lo}:{hi}")
                    }
                    (None, Some(extent)) => format!("{own} in 0:{extent}"),
                    (None, None) => return general,
                });
                subscript.kind = ExprKind::Name(own.clone());
                seen.push(own);
            } else {
                seen.push(name.clone());
            }
        }
        if !matches!(assign.op, ast::AssignOp::Set) || self.draft.notation == ast::Notation::Taco {
            return general;
        }
        let rhs = text::expr(&assign.rhs, 2);
        let other = self.otherwise(&all);
        all.rhs.kind = ExprKind::Name(format!("{} ? {rhs} : {other}", same.join(" && ")));
        all.ranges.clear();
        format!(
            "write all elements, as in `{} where {}`",
            text::assign(&all),
            given.join(", ")
        )
    }

    /// How many values a variable has that subscripts a declared tensor by itself.
    fn extent_of(&self, name: &str, rhs: &ast::Expr) -> Option<String> {
        let mut rest = vec![rhs];
        while let Some(e) = rest.pop() {
            if let ExprKind::Apply { callee, args } = &e.kind
                && let Some(id) = self.tensor(&callee.name)
                && let Some(dim) = args.iter().position(|arg| is_name(arg, name))
                && let Some(extent) = self.draft.known_dim(id, dim)
            {
                return Some(extent_text(self.draft, &extent));
            }
            rest.extend(e.parts());
        }
        None
    }

    /// A name for one more variable of the assignment.
    fn unused(&self, taken: &[String]) -> String {
        let usual = ["k", "l", "m", "n", "i", "j"].map(str::to_string);
        let mut names = usual.into_iter().chain((2..).map(|n| format!("k{n}")));
        let is_free = |name: &String| {
            !taken.contains(name) && !self.indices.contains(name) && !self.means_something(name)
        };
        names.find(is_free).unwrap_or_default()
    }
}

fn is_name(e: &ast::Expr, name: &str) -> bool {
    matches!(&e.kind, ExprKind::Name(own) if own == name)
}

fn number(n: u64, at: &ast::Expr) -> ast::Expr {
    ast::Expr {
        kind: ExprKind::Number(Number::Int(n)),
        span: at.span,
    }
}

fn binary(op: BinaryOp, a: &ast::Expr, b: ast::Expr) -> ast::Expr {
    ast::Expr {
        kind: ExprKind::Binary(op, Box::new(a.clone()), Box::new(b)),
        span: a.span,
    }
}

fn range(name: &str, lo: ast::Expr, hi: ast::Expr) -> ast::RangeClause {
    let span = lo.span;
    let name = name.to_string();
    ast::RangeClause {
        var: ast::Ident { name, span },
        lo,
        hi,
        span,
    }
}

/// `2 * i + 1` and the like, with constants above 0.
fn strided(e: &ast::Expr) -> Option<Strided> {
    let constant = |e: &ast::Expr| {
        if let ExprKind::Number(Number::Int(n)) = e.kind {
            Some(n).filter(|n| *n > 0)
        } else {
            None
        }
    };
    if let ExprKind::Name(name) = &e.kind {
        return Some(Strided {
            of: name.clone(),
            times: 1,
            plus: 0,
        });
    }
    let ExprKind::Binary(op, a, b) = &e.kind else {
        return None;
    };
    let (n, rest) = constant(a)
        .map(|n| (n, b))
        .or(constant(b).map(|n| (n, a)))?;
    let inner = strided(rest)?;
    if *op == BinaryOp::Mul && inner.plus == 0 && inner.times == 1 {
        Some(Strided { times: n, ..inner })
    } else if *op == BinaryOp::Add && inner.plus == 0 {
        Some(Strided { plus: n, ..inner })
    } else {
        None
    }
}

/// Writes `by` in place of a variable.
fn rename(e: &mut ast::Expr, name: &str, by: &str) {
    if is_name(e, name) {
        e.kind = ExprKind::Name(format!("({by})"));
        return;
    }
    let separate = matches!(e.kind, ExprKind::Apply { .. });
    for part in e.parts_mut() {
        if separate && is_name(part, name) {
            part.kind = ExprKind::Name(by.to_string());
        } else {
            rename(part, name, by);
        }
    }
}
