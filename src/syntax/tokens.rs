//! The words of a text as the grammar reads them, for `show --stage tokens`.

use super::parse::{Rule, cut, parse_rule};
use crate::diagnostic::{Diagnosed, FileId};
use pest::iterators::Pair;
use std::fmt::Write;

/// One line for each token: where it stands, what it is, its text.
///
/// # Errors
/// One diagnostic for each item that does not parse.
pub fn tokens(file: FileId, text: &str) -> Diagnosed<String> {
    let mut out = String::new();
    let mut errors = Vec::new();
    for (start, chunk) in cut(text) {
        match parse_rule(file, chunk, start, Rule::file) {
            Ok(pairs) => {
                let mut at = 0;
                for leaf in pairs.flat_map(leaves) {
                    symbols(&mut out, text, start, chunk, at..leaf.as_span().start());
                    let kind = kind(leaf.as_rule());
                    line(
                        &mut out,
                        text,
                        start,
                        leaf.as_span().start(),
                        &kind,
                        leaf.as_str(),
                    );
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
fn symbols(out: &mut String, text: &str, start: usize, chunk: &str, gap: std::ops::Range<usize>) {
    let mut comment = false;
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
            "->".to_string()
        } else {
            c.to_string()
        };
        line(out, text, start, gap.start + at, "sign", &sign);
    }
}

fn line(out: &mut String, text: &str, start: usize, at: usize, kind: &str, token: &str) {
    let before = text.get(..start + at).unwrap_or("");
    let row = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let place = format!("{row}:{column}");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{place:<8} {kind:<12} {}", token.trim());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_and_name_is_listed_once() {
        let text = "# head\ndef f(double(N) x) -> (y) { # tail\n  y(i) +=! 2.5 * x(i) }\n";
        let listed = tokens(FileId(0), text).unwrap_or_default();
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
        let again: Vec<&str> = listed
            .lines()
            .filter_map(|l| l.split_whitespace().last())
            .collect();
        let code: String = text
            .lines()
            .map(|l| l.split('#').next().unwrap_or(""))
            .collect();
        let bare = |s: &str| s.split_whitespace().collect::<String>();
        assert_eq!(again.concat(), bare(&code));
    }
}
