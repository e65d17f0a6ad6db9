//! The words of a text as the grammar reads them, for `show --stage tokens`.

use super::parse::{Rule, cut, parse_rule};
use crate::diagnostic::{Diagnosed, FileId};
use pest::iterators::Pair;
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// A token: where it begins, lines and columns (of characters) counted from one, what it is, its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    pub line: usize,
    pub column: usize,
    pub kind: String,
    pub text: String,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = format!("{}:{}", self.line, self.column);
        write!(f, "{place:<8} {:<12} {}", self.kind, self.text)
    }
}

/// The tokens of a program in their order.
///
/// # Errors
/// One diagnostic for each item that does not parse.
pub fn tokens(file: FileId, text: &str) -> Diagnosed<Vec<Token>> {
    let mut out = Vec::new();
    let mut errors = Vec::new();
    for (start, chunk) in cut(text) {
        match parse_rule(file, chunk, start, Rule::file) {
            Ok(pairs) => {
                let mut at = 0;
                for leaf in pairs.flat_map(leaves) {
                    symbols(&mut out, text, start, chunk, at..leaf.as_span().start());
                    let begin = start + leaf.as_span().start();
                    out.push(token(text, begin, kind(leaf.as_rule()), leaf.as_str()));
                    at = leaf.as_span().end();
                }
                symbols(&mut out, text, start, chunk, at..chunk.len());
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(out)
    } else {
        Err(errors)
    }
}

/// The name of a leaf's rule; signs are signs, whether the grammar has a rule for them or not.
#[expect(clippy::wildcard_enum_match_arm, reason = "pest's generated enum")]
fn kind(rule: Rule) -> String {
    match rule {
        Rule::begin_params
        | Rule::end_params
        | Rule::arrow
        | Rule::between
        | Rule::equals
        | Rule::begin_returns
        | Rule::end_returns
        | Rule::begin_body => "sign".to_string(),
        _ => format!("{rule:?}"),
    }
}

/// The pairs that hold no others and have a text.
fn leaves(pair: Pair<'_, Rule>) -> Vec<Pair<'_, Rule>> {
    let mut below = pair.clone().into_inner().peekable();
    if below.peek().is_some() {
        return below.flat_map(leaves).collect();
    }
    let silent = pair.as_str().trim().is_empty();
    if silent { Vec::new() } else { vec![pair] }
}

/// What stands between two leaves: the grammar's own signs.
fn symbols(out: &mut Vec<Token>, text: &str, start: usize, chunk: &str, gap: Range<usize>) {
    let mut comment = false;
    let mut buffer = [0; 4];
    let between = chunk.get(gap.clone()).unwrap_or("");
    let mut signs = between.char_indices().peekable();
    while let Some((at, c)) = signs.next() {
        comment = (comment || c == '#') && c != '\n';
        if comment || c.is_whitespace() {
            continue;
        }
        let arrow = c == '-' && signs.peek().is_some_and(|(_, next)| *next == '>');
        if arrow {
            signs.next();
        }
        let sign = if arrow {
            "->"
        } else {
            c.encode_utf8(&mut buffer)
        };
        out.push(token(
            text,
            start + gap.start + at,
            "sign".to_string(),
            sign,
        ));
    }
}

/// The token that begins at this byte of the whole text.
fn token(whole: &str, begin: usize, kind: String, text: &str) -> Token {
    let before = whole.get(..begin).unwrap_or("");
    Token {
        line: before.matches('\n').count() + 1,
        column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
        kind,
        text: text.trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_and_name_is_listed_once() {
        let text = "# head\ndef f(double(N) x) -> (y) { # tail\n  y(i) +=! 2.5 * x(i) }\n";
        let listed = tokens(FileId(0), text).unwrap_or_default();
        let again: Vec<&str> = listed.iter().map(|token| token.text.as_str()).collect();
        let listed: Vec<String> = listed.iter().map(ToString::to_string).collect();
        let listed = listed.join("\n");
        insta::assert_snapshot!(listed, @r"
        2:1      kw_def       def
        2:5      name         f
        2:6      sign         (
        2:7      name         double
        2:13     sign         (
        2:14     name         N
        2:15     sign         )
        2:17     name         x
        2:18     sign         )
        2:20     sign         ->
        2:23     sign         (
        2:24     name         y
        2:25     sign         )
        2:27     sign         {
        3:3      name         y
        3:4      sign         (
        3:5      name         i
        3:6      sign         )
        3:8      assign_op    +=!
        3:12     number       2.5
        3:16     binary_op    *
        3:18     name         x
        3:19     sign         (
        3:20     name         i
        3:21     sign         )
        3:23     sign         }
        ");
        let code: String = text
            .lines()
            .map(|l| l.split('#').next().unwrap_or(""))
            .collect();
        let bare = |s: &str| s.split_whitespace().collect::<String>();
        assert_eq!(again.concat(), bare(&code));
    }
}
