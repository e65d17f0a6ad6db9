//! Formats of a parse tree into the AST.

use super::ast::{
    FillValue, FormatBody, FormatDecl, FormatEntry, FormatSpec, FormatUse, LevelDecl, LevelType,
    Typical,
};
use super::build::{Build, Builder};
use super::parse::Rule;
use crate::diagnostic::codes::format::DECLARED_TWICE;
use crate::diagnostic::{Diagnostic, Span};
use pest::iterators::Pair;

#[expect(clippy::wildcard_enum_match_arm, reason = "pest's generated enum")]
impl Builder {
    pub(super) fn format_decl(&mut self, pair: Pair<Rule>) -> Build<FormatDecl> {
        let all = self.span(&pair);
        let mut name = None;
        let mut params = Vec::new();
        let mut vars = Vec::new();
        let mut body = None;
        let mut index = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::decl_params => {
                    params = part.into_inner().map(|n| self.ident(&n)).collect();
                }
                Rule::each_body => {
                    for inner in part.into_inner() {
                        if inner.as_rule() == Rule::level_type {
                            body = Some(FormatBody::Each(self.level_type(inner)?));
                        }
                    }
                }
                Rule::level_body => {
                    let mut levels = Vec::new();
                    for inner in part.into_inner() {
                        match inner.as_rule() {
                            Rule::name => vars.push(self.ident(&inner)),
                            Rule::level_decl => levels.push(self.level_decl(inner)?),
                            _ => {}
                        }
                    }
                    body = Some(FormatBody::Levels(levels));
                }
                Rule::index_width => index = Some(self.index_width(part)?),
                _ => {}
            }
        }
        let (Some(name), Some(body)) = (name, body) else {
            return Err(self.broken(all));
        };
        Ok(FormatDecl {
            name,
            params,
            vars,
            body,
            index,
            span: all,
        })
    }

    fn level_decl(&mut self, pair: Pair<Rule>) -> Build<LevelDecl> {
        let all = self.span(&pair);
        let mut parts = pair.into_inner();
        let coordinate = self.need(&mut parts, all)?;
        let coordinate = self.expr(coordinate)?;
        let level = self.need(&mut parts, all)?;
        Ok(LevelDecl {
            coordinate,
            level: self.level_type(level)?,
            span: all,
        })
    }

    fn level_type(&mut self, pair: Pair<Rule>) -> Build<LevelType> {
        let all = self.span(&pair);
        let mut names = pair.into_inner().map(|n| self.ident(&n));
        let kind = names.next().ok_or_else(|| self.broken(all))?;
        Ok(LevelType {
            kind,
            properties: names.collect(),
            span: all,
        })
    }

    fn index_width(&mut self, pair: Pair<Rule>) -> Build<(u64, Span)> {
        let all = self.span(&pair);
        for part in pair.into_inner() {
            if part.as_rule() == Rule::whole {
                return self.whole(&part);
            }
        }
        Err(self.broken(all))
    }

    pub(super) fn format_use(&mut self, pair: Pair<Rule>) -> Build<FormatUse> {
        let all = self.span(&pair);
        let mut def = None;
        let mut entries = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => def = Some(self.ident(&part)),
                Rule::format_entry => entries.push(self.format_entry(part)?),
                _ => {}
            }
        }
        Ok(FormatUse {
            def: def.ok_or_else(|| self.broken(all))?,
            entries,
            span: all,
        })
    }

    fn format_entry(&mut self, pair: Pair<Rule>) -> Build<FormatEntry> {
        let all = self.span(&pair);
        let mut tensor = None;
        let mut spec = None;
        let mut order = None;
        let mut fill = None;
        let mut typical = None;
        let mut index = None;
        let mut said: Vec<(&str, Span)> = Vec::new();
        for part in pair.into_inner() {
            if let Some(word) = option(part.as_rule()) {
                let at = self.span(&part);
                if let Some((_, before)) = said.iter().find(|(other, _)| *other == word) {
                    return Err(said_twice(word, at, *before));
                }
                said.push((word, at));
            }
            match part.as_rule() {
                Rule::name => tensor = Some(self.ident(&part)),
                Rule::format_spec => spec = Some(self.format_spec(part)?),
                Rule::order_option => {
                    let mut modes = Vec::new();
                    for n in part.into_inner() {
                        if n.as_rule() == Rule::whole {
                            modes.push(self.whole(&n)?);
                        }
                    }
                    order = Some(modes);
                }
                Rule::fill_option => {
                    for value in part.into_inner() {
                        if value.as_rule() == Rule::fill_value {
                            let at = self.span(&value);
                            fill = Some((fill_value(value.as_str(), at)?, at));
                        }
                    }
                }
                Rule::density_option => {
                    typical = self.typical(part)?.map(|(x, at)| (Typical::Density(x), at));
                }
                Rule::row_length_option => {
                    typical = self
                        .typical(part)?
                        .map(|(x, at)| (Typical::RowLength(x), at));
                }
                Rule::index_width => index = Some(self.index_width(part)?),
                _ => {}
            }
        }
        let (Some(tensor), Some(spec)) = (tensor, spec) else {
            return Err(self.broken(all));
        };
        Ok(FormatEntry {
            tensor,
            spec,
            order,
            fill,
            typical,
            index,
            span: all,
        })
    }

    /// The number of `density 0.001`, and where it stands.
    fn typical(&mut self, pair: Pair<Rule>) -> Build<Option<(f64, Span)>> {
        let mut found = None;
        for part in pair.into_inner() {
            if part.as_rule() == Rule::number {
                let at = self.span(&part);
                #[allow(clippy::cast_precision_loss, reason = "typical numbers are small")]
                let value = match super::expr::number(part.as_str(), at)? {
                    super::ast::Number::Int(n) => n as f64,
                    super::ast::Number::Float(x) => x,
                };
                found = Some((value, at));
            }
        }
        Ok(found)
    }

    fn format_spec(&mut self, pair: Pair<Rule>) -> Build<FormatSpec> {
        let all = self.span(&pair);
        let mut name = None;
        let mut args = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::level_list => {
                    let mut levels = Vec::new();
                    for level in part.into_inner() {
                        levels.push(self.level_type(level)?);
                    }
                    return Ok(FormatSpec::Levels(levels));
                }
                Rule::name => name = Some(self.ident(&part)),
                Rule::whole => args.push(self.whole(&part)?),
                _ => {}
            }
        }
        Ok(FormatSpec::Named {
            name: name.ok_or_else(|| self.broken(all))?,
            args,
        })
    }
}

/// What an option of an entry says, in words; `None` for other parts of it.
#[expect(clippy::wildcard_enum_match_arm, reason = "pest's generated enum")]
fn option(rule: Rule) -> Option<&'static str> {
    match rule {
        Rule::order_option => Some("the order"),
        Rule::fill_option => Some("the fill value"),
        Rule::index_width => Some("the width of coordinates"),
        Rule::density_option | Rule::row_length_option => Some("what is typical"),
        _ => None,
    }
}

fn said_twice(what: &str, at: Span, before: Span) -> Diagnostic {
    Diagnostic::error(
        DECLARED_TWICE,
        at,
        format!("{what} is given twice"),
        "the second time",
    )
    .with_label(before, "the first time")
    .with_help("keep one of them")
}

pub(super) fn fill_value(text: &str, span: Span) -> Build<FillValue> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = rest.to_ascii_lowercase();
    let value = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => f64::NAN,
        _ => match super::expr::number(rest, span)? {
            // Of zero the sign would be lost.
            super::ast::Number::Int(0) => 0.0,
            super::ast::Number::Int(n) => {
                let n = i128::from(n);
                return Ok(FillValue::Int(if negative { -n } else { n }));
            }
            super::ast::Number::Float(x) => x,
        },
    };
    Ok(FillValue::Float(if negative { -value } else { value }))
}
