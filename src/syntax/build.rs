//! Parse trees into the AST.

use super::ast::{
    Arg, Arm, Assign, AssignOp, Branch, Call, Command, Def, Dim, File, Ident, Item, Notation,
    Param, RangeClause, Reduction, Schedule, Stmt,
};
use super::expr::no_octal;
use super::parse::{Rule, span};
use crate::diagnostic::codes::syntax as codes;
use crate::diagnostic::{Diagnostic, FileId, Span};
use crate::operators::ReduceOp;
use pest::iterators::{Pair, Pairs};

pub(super) type Build<T> = Result<T, Diagnostic>;

/// Builds AST nodes from the pairs of one piece of a file.
pub(super) struct Builder {
    file: FileId,
    start: usize,
    /// Depth of the expression at hand.
    pub(super) depth: usize,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "pest's generated enum")]
impl Builder {
    pub(super) fn new(file: FileId, start: usize) -> Self {
        Builder {
            file,
            start,
            depth: 0,
        }
    }

    pub(super) fn span(&self, pair: &Pair<Rule>) -> Span {
        let at = pair.as_span();
        // A rule that ends in an optional part may take blanks with it.
        let length = at.as_str().trim_end().len();
        span(self.file, self.start, at.start(), at.start() + length)
    }

    pub(super) fn ident(&self, pair: &Pair<Rule>) -> Ident {
        Ident {
            name: pair.as_str().to_string(),
            span: self.span(pair),
        }
    }

    /// The grammar and this file disagree: a bug, said politely.
    pub(super) fn broken(&self, span: Span) -> Diagnostic {
        Diagnostic::error(
            codes::UNEXPECTED,
            span,
            "this text is not understood",
            "here",
        )
        .with_help("please report this text")
    }

    pub(super) fn need<'p>(
        &self,
        pairs: &mut Pairs<'p, Rule>,
        span: Span,
    ) -> Build<Pair<'p, Rule>> {
        pairs.next().ok_or_else(|| self.broken(span))
    }

    pub(super) fn file(&mut self, pair: Option<Pair<Rule>>) -> Build<File> {
        let mut items = Vec::new();
        for item in pair.into_iter().flat_map(Pair::into_inner) {
            match item.as_rule() {
                Rule::def => items.push(Item::Def(self.def(item)?)),
                Rule::format_decl => items.push(Item::FormatDecl(self.format_decl(item)?)),
                Rule::format_use => items.push(Item::FormatUse(self.format_use(item)?)),
                Rule::schedule => items.push(Item::Schedule(self.schedule(item)?)),
                Rule::op_decl => items.push(Item::Operator(self.operator(item)?)),
                _ => {}
            }
        }
        Ok(File { items })
    }

    pub(super) fn commands(&mut self, pair: Option<Pair<Rule>>) -> Build<Vec<Command>> {
        let mut commands = Vec::new();
        for part in pair.into_iter().flat_map(Pair::into_inner) {
            if let Some(command) = self.command(part)? {
                commands.push(command);
            }
        }
        Ok(commands)
    }

    fn def(&mut self, pair: Pair<Rule>) -> Build<Def> {
        let all = self.span(&pair);
        let mut name = None;
        let mut params = Vec::new();
        let mut returns = Vec::new();
        let mut stmts = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::param => params.push(self.param(part)?),
                Rule::returns => returns = part.into_inner().map(|n| self.ident(&n)).collect(),
                Rule::assign => stmts.push(Stmt::Assign(self.assign(part)?)),
                Rule::call_stmt => stmts.push(Stmt::Call(self.call_stmt(part)?)),
                _ => {}
            }
        }
        Ok(Def {
            notation: Notation::Program,
            name: name.ok_or_else(|| self.broken(all))?,
            params,
            returns,
            types: Vec::new(),
            stmts,
            span: all,
        })
    }

    fn param(&mut self, pair: Pair<Rule>) -> Build<Param> {
        let all = self.span(&pair);
        let mut names = Vec::new();
        let mut dims = Vec::new();
        for part in pair.into_inner() {
            if part.as_rule() == Rule::dim {
                let at = self.span(&part);
                let inner = self.need(&mut part.into_inner(), at)?;
                dims.push(if inner.as_rule() == Rule::whole {
                    let (value, span) = self.whole(&inner)?;
                    Dim::Const(value, span)
                } else {
                    Dim::Name(self.ident(&inner))
                });
            } else {
                names.push(self.ident(&part));
            }
        }
        let mut names = names.into_iter();
        let (Some(ty), Some(name)) = (names.next(), names.next()) else {
            return Err(self.broken(all));
        };
        Ok(Param {
            ty,
            dims,
            name,
            span: all,
        })
    }

    pub(super) fn whole(&self, pair: &Pair<Rule>) -> Build<(u64, Span)> {
        let span = self.span(pair);
        no_octal(pair.as_str(), span)?;
        let value = pair.as_str().parse().map_err(|_| {
            Diagnostic::error(
                codes::NUMBER,
                span,
                format!("the number {} does not fit", pair.as_str()),
                "too large",
            )
            .with_help("whole numbers end at 2^64 - 1")
        })?;
        Ok((value, span))
    }

    fn label(&self, pair: Pair<Rule>) -> Option<Ident> {
        pair.into_inner().next().map(|name| self.ident(&name))
    }

    pub(super) fn assign(&mut self, pair: Pair<Rule>) -> Build<Assign> {
        let all = self.span(&pair);
        let mut label = None;
        let mut tensor = None;
        let mut subscripts = Vec::new();
        let mut op = None;
        let mut rhs = None;
        let mut ranges = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::label => label = self.label(part),
                Rule::name => tensor = Some(self.ident(&part)),
                Rule::subscripts => {
                    for e in part.into_inner() {
                        subscripts.push(self.expr(e)?);
                    }
                }
                Rule::assign_op => op = Some(self.assign_op(&part)),
                Rule::expr => rhs = Some(self.expr(part)?),
                Rule::where_clause => {
                    for range in part.into_inner() {
                        if range.as_rule() == Rule::range {
                            ranges.push(self.range(range)?);
                        }
                    }
                }
                _ => {}
            }
        }
        let (Some(tensor), Some(op), Some(rhs)) = (tensor, op, rhs) else {
            return Err(self.broken(all));
        };
        Ok(Assign {
            label,
            tensor,
            subscripts,
            op,
            rhs,
            ranges,
            span: all,
        })
    }

    fn assign_op(&self, pair: &Pair<Rule>) -> AssignOp {
        let text = pair.as_str();
        let (text, init) = match text.strip_suffix('!') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let sign = text.trim_end_matches('=');
        if sign.is_empty() {
            return AssignOp::Set;
        }
        let mut builtin = ReduceOp::BUILTIN.into_iter();
        let op = match builtin.find(|op| op.sign() == sign) {
            Some(op) => Reduction::Builtin(op),
            None => {
                let at = pair.as_span().start();
                Reduction::Named(Ident {
                    name: sign.to_string(),
                    span: span(self.file, self.start, at, at + sign.len()),
                })
            }
        };
        AssignOp::Reduce { op, init }
    }

    fn range(&mut self, pair: Pair<Rule>) -> Build<RangeClause> {
        let all = self.span(&pair);
        let mut var = None;
        let mut bounds = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => var = Some(self.ident(&part)),
                Rule::expr => bounds.push(self.expr(part)?),
                _ => {}
            }
        }
        let mut bounds = bounds.into_iter();
        let (Some(var), Some(lo), Some(hi)) = (var, bounds.next(), bounds.next()) else {
            return Err(self.broken(all));
        };
        Ok(RangeClause {
            var,
            lo,
            hi,
            span: all,
        })
    }

    fn call_stmt(&mut self, pair: Pair<Rule>) -> Build<Call> {
        let all = self.span(&pair);
        let mut label = None;
        let mut names = Vec::new();
        let mut args = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::label => label = self.label(part),
                Rule::name => names.push(self.ident(&part)),
                Rule::expr => args.push(self.expr(part)?),
                _ => {}
            }
        }
        // The results come first, the callee last.
        let callee = names.pop().ok_or_else(|| self.broken(all))?;
        Ok(Call {
            label,
            results: names,
            callee,
            args,
            span: all,
        })
    }

    fn schedule(&mut self, pair: Pair<Rule>) -> Build<Schedule> {
        let all = self.span(&pair);
        let mut def = None;
        let mut target = None;
        let mut name = None;
        let mut commands = Vec::new();
        for part in pair.into_inner() {
            let last =
                |part: Pair<Rule>, this: &Self| part.into_inner().last().map(|n| this.ident(&n));
            match part.as_rule() {
                Rule::name => def = Some(self.ident(&part)),
                Rule::target => target = last(part, self),
                Rule::sched_name => name = last(part, self),
                _ => {
                    if let Some(command) = self.command(part)? {
                        commands.push(command);
                    }
                }
            }
        }
        Ok(Schedule {
            def,
            target,
            name,
            commands,
            span: all,
        })
    }

    fn command(&mut self, pair: Pair<Rule>) -> Build<Option<Command>> {
        let all = self.span(&pair);
        let rule = pair.as_rule();
        if rule == Rule::choose_cmd {
            return Ok(Some(self.choose(pair)?));
        }
        if !matches!(
            rule,
            Rule::let_cmd | Rule::param_cmd | Rule::size_cmd | Rule::call_cmd
        ) {
            return Ok(None);
        }
        let mut name = None;
        let mut exprs = Vec::new();
        let mut args = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::expr => exprs.push(self.expr(part)?),
                Rule::arg => args.push(self.arg(part)?),
                _ => {}
            }
        }
        let name = name.ok_or_else(|| self.broken(all))?;
        Ok(Some(match rule {
            Rule::let_cmd => Command::Let {
                name,
                value: exprs.pop().ok_or_else(|| self.broken(all))?,
                span: all,
            },
            Rule::size_cmd => Command::Size {
                name,
                value: exprs.pop().ok_or_else(|| self.broken(all))?,
                span: all,
            },
            Rule::param_cmd => Command::Param {
                name,
                default: exprs.pop().ok_or_else(|| self.broken(all))?,
                values: exprs,
                span: all,
            },
            _ => Command::Call {
                name,
                args,
                span: all,
            },
        }))
    }

    fn choose(&mut self, pair: Pair<Rule>) -> Build<Command> {
        let all = self.span(&pair);
        let mut arms = Vec::new();
        for arm in pair.into_inner() {
            if !matches!(arm.as_rule(), Rule::when_arm | Rule::otherwise_arm) {
                continue;
            }
            let span = self.span(&arm);
            let mut condition = None;
            let mut branch = Branch::Commands(Vec::new());
            for part in arm.into_inner() {
                match part.as_rule() {
                    Rule::expr => condition = Some(self.expr(part)?),
                    Rule::branch => branch = self.branch(part)?,
                    _ => {}
                }
            }
            arms.push(Arm {
                condition,
                branch,
                span,
            });
        }
        Ok(Command::Choose { arms, span: all })
    }

    fn branch(&mut self, pair: Pair<Rule>) -> Build<Branch> {
        let mut commands = Vec::new();
        for part in pair.into_inner() {
            if part.as_rule() == Rule::name {
                return Ok(Branch::Named(self.ident(&part)));
            }
            commands.extend(self.command(part)?);
        }
        Ok(Branch::Commands(commands))
    }

    fn arg(&mut self, pair: Pair<Rule>) -> Build<Arg> {
        let all = self.span(&pair);
        let inner = self.need(&mut pair.into_inner(), all)?;
        if inner.as_rule() == Rule::expr {
            return Ok(Arg::Expr(self.expr(inner)?));
        }
        let mut vars = Vec::new();
        for part in inner.into_inner() {
            vars.push(self.expr(part)?);
        }
        Ok(Arg::Vars(vars, all))
    }
}
