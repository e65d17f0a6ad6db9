//! `let` and `param`: constants of a schedule; `size`, which makes constants of the program's
//! sizes.

use super::arguments::taken;
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::ir::Function;
use crate::syntax::ast::{BinaryOp, Command, Expr, ExprKind, Ident, Number, UnaryOp};
use std::collections::{BTreeMap, BTreeSet};

/// The constants that are known so far.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    values: BTreeMap<String, i64>,
    /// The sizes of the program that are fixed.
    sizes: BTreeMap<String, i64>,
    defines: BTreeMap<String, i64>,
    used: BTreeSet<String>,
}

/// What the constants of a schedule are, as far as they can be told.
#[must_use]
pub fn values(commands: &[Command], defines: &[(String, i64)]) -> BTreeMap<String, i64> {
    let mut constants = Constants::new(defines);
    for command in commands {
        // What is wrong with one is said where the schedule applies.
        let _ = constants.declare(command);
    }
    constants.values
}

/// The sizes that the commands fix, in their order.
///
/// # Errors
/// One is no constant, or negative; a `let` or `param` before it is wrong.
pub fn sizes<'c>(
    commands: &'c [Command],
    defines: &[(String, i64)],
) -> Result<Vec<(&'c Ident, u64)>, Diagnostic> {
    let mut constants = Constants::new(defines);
    let mut sizes = Vec::new();
    for command in commands {
        constants.declare(command)?;
        if let Command::Size { name, value, .. } = command {
            let given = constants.eval(value)?;
            let Ok(size) = u64::try_from(given) else {
                return Err(Diagnostic::error(
                    codes::BAD_NUMBER,
                    value.span,
                    format!("`{}` cannot be {given}", name.name),
                    "a size is not negative",
                )
                .with_help("give the extent of the dimension"));
            };
            if constants.values.contains_key(&name.name) {
                return Err(taken(name));
            }
            constants.sizes.insert(name.name.clone(), given);
            sizes.push((name, size));
        }
    }
    Ok(sizes)
}

impl Constants {
    /// With the values of `-D`; the last one of a name wins.
    #[must_use]
    pub fn new(defines: &[(String, i64)]) -> Self {
        Constants {
            defines: defines.iter().cloned().collect(),
            ..Constants::default()
        }
    }

    /// With the sizes of a function that are fixed.
    #[must_use]
    pub fn with_sizes(mut self, function: &Function) -> Self {
        for size in &function.sizes {
            if let Some(value) = size.constant() {
                self.sizes.insert(size.name.clone(), value);
            }
        }
        for synonym in &function.synonyms {
            if let Some(value) = function.constant(&synonym.means) {
                self.sizes.insert(synonym.name.clone(), value);
            }
        }
        self
    }

    /// Whether a constant has the name.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.sizes.contains_key(name)
    }

    /// What a command declares, if it is one that declares constants.
    ///
    /// # Errors
    /// See [`Constants::define`] and [`Constants::parameter`].
    pub fn declare(&mut self, command: &Command) -> Result<(), Diagnostic> {
        match command {
            Command::Let { name, value, .. } => self.define(name, value),
            Command::Param {
                name,
                values,
                default,
                ..
            } => self.parameter(name, values, default),
            Command::Size { .. } | Command::Choose { .. } | Command::Call { .. } => Ok(()),
        }
    }

    /// `let name = value`, unless `-D` sets it.
    ///
    /// # Errors
    /// The name is one of a constant or of a size that is fixed, or the value is no constant.
    pub fn define(&mut self, name: &Ident, value: &Expr) -> Result<(), Diagnostic> {
        let value = self.eval(value)?;
        self.set(name, value)?;
        Ok(())
    }

    /// `param name in {values} = default`, unless `-D` sets it.
    ///
    /// # Errors
    /// As [`Constants::define`], or a value outside the list.
    pub fn parameter(
        &mut self,
        name: &Ident,
        values: &[Expr],
        default: &Expr,
    ) -> Result<(), Diagnostic> {
        let mut admissible = Vec::new();
        for value in values {
            admissible.push(self.eval(value)?);
        }
        let default_value = self.eval(default)?;
        let chosen = self.set(name, default_value)?;
        if admissible.contains(&chosen) {
            return Ok(());
        }
        let list: Vec<String> = admissible.iter().map(ToString::to_string).collect();
        Err(Diagnostic::error(
            codes::BAD_PARAM,
            name.span,
            format!("{} = {chosen} is not admissible", name.name),
            format!("takes one of {}", list.join(", ")),
        )
        .with_help("choose one of the listed values, or extend the list"))
    }

    fn set(&mut self, name: &Ident, value: i64) -> Result<i64, Diagnostic> {
        let value = match self.defines.get(&name.name) {
            Some(&defined) => {
                self.used.insert(name.name.clone());
                defined
            }
            None => value,
        };
        if self.sizes.contains_key(&name.name) {
            return Err(taken(name));
        }
        if self.values.insert(name.name.clone(), value).is_some() {
            return Err(Diagnostic::error(
                codes::REDEFINED,
                name.span,
                format!("`{}` is defined twice", name.name),
                "defined again here",
            )
            .with_help("give one of them another name"));
        }
        Ok(value)
    }

    /// Every `-D` must have set something.
    ///
    /// # Errors
    /// Names the first that did not.
    pub fn finish(&self, span: Span) -> Result<(), Diagnostic> {
        match self.defines.keys().find(|name| !self.used.contains(*name)) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = self.values.keys().map(String::as_str).collect();
                let help = if known.is_empty() {
                    "the schedule declares no `let` or `param`".to_string()
                } else {
                    format!("the schedule declares {}", known.join(", "))
                };
                Err(Diagnostic::error(
                    codes::REDEFINED,
                    span,
                    format!("-D {name} sets nothing"),
                    format!("the schedule of this function declares no `{name}`"),
                )
                .with_help(help))
            }
        }
    }

    /// The value of a constant expression.
    ///
    /// # Errors
    /// An unknown name, something that is no whole number, an overflow.
    pub fn eval(&self, e: &Expr) -> Result<i64, Diagnostic> {
        let refuse = |why: &str| {
            Diagnostic::error(
                codes::BAD_NUMBER,
                e.span,
                format!("expected a constant whole number: {why}"),
                "here",
            )
            .with_help(
                "use numbers, names of `let` or `param`, sizes that `size` fixes, and + - * / %",
            )
        };
        match &e.kind {
            ExprKind::Number(Number::Int(n)) => {
                i64::try_from(*n).map_err(|_| refuse("the number is too large"))
            }
            ExprKind::Number(Number::Float(_)) => Err(refuse("the number has a fraction")),
            ExprKind::Name(name) => self
                .values
                .get(name)
                .or_else(|| self.sizes.get(name))
                .copied()
                .ok_or_else(|| refuse(&format!("`{name}` is not defined"))),
            ExprKind::Unary(UnaryOp::Neg, a) => self
                .eval(a)?
                .checked_neg()
                .ok_or_else(|| refuse("it overflows")),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                let value = match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    BinaryOp::Div => a.checked_div(b),
                    BinaryOp::Rem => a.checked_rem(b),
                    BinaryOp::Eq
                    | BinaryOp::Ne
                    | BinaryOp::Lt
                    | BinaryOp::Le
                    | BinaryOp::Gt
                    | BinaryOp::Ge
                    | BinaryOp::And
                    | BinaryOp::Or => return Err(refuse("this operator gives no number")),
                };
                value.ok_or_else(|| refuse("it overflows or divides by zero"))
            }
            ExprKind::Apply { .. }
            | ExprKind::Extent { .. }
            | ExprKind::Member { .. }
            | ExprKind::Unary(UnaryOp::Not, _)
            | ExprKind::Select(..) => Err(refuse("this is no constant")),
        }
    }
}
