//! `sparsec fmt`: one layout for all programs.
//!
//! Line breaks and comments stay where they were written; indentation, blanks around
//! assignments and arrows, blanks inside parentheses and blank lines are made uniform.
//! The tokens do not change, so the meaning cannot. Formatting twice is formatting once.

use super::{parse, parse_schedule};
use crate::diagnostic::{Diagnosed, FileId};

/// Formats a `.tc` or formats file.
///
/// # Errors
/// It does not parse.
pub fn format_source(file: FileId, text: &str) -> Diagnosed<String> {
    parse(file, text)?;
    Ok(layout(text))
}

/// Formats a `.sched` file.
///
/// # Errors
/// It does not parse.
pub fn format_schedule(file: FileId, text: &str) -> Diagnosed<String> {
    parse_schedule(file, text)?;
    Ok(layout(text))
}

/// Whether a text without a name is a `.sched` file's: its first word begins no item of a
/// program.
#[must_use]
pub fn is_schedule(text: &str) -> bool {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let first = lines.map(str::trim_start).find(|line| !line.is_empty());
    first.is_some_and(|line| {
        let end = line.find(|c: char| !c.is_alphanumeric() && c != '_');
        !["def", "format", "op", "schedule"].contains(&&line[..end.unwrap_or(line.len())])
    })
}

fn layout(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let (mut braces, mut parens) = (0usize, 0usize);
    for line in text.lines() {
        let (code, comment) = match line.find('#') {
            Some(at) => (&line[..at], Some(line[at..].trim_end())),
            None => (line, None),
        };
        let tokens = tokens(code);
        if tokens.is_empty() && comment.is_none() {
            let after_open = out.last().is_none_or(|l| l.is_empty() || l.ends_with('{'));
            if !after_open {
                out.push(String::new());
            }
            continue;
        }
        let closes = tokens.first().is_some_and(|t| t.text == "}");
        if closes && out.last().is_some_and(String::is_empty) {
            out.pop();
        }
        let mut indent = 2 * (braces - usize::from(closes && braces > 0));
        if parens > 0 {
            // A continued list stays aligned as it was written.
            let written = code.len() - code.trim_start().len();
            indent = written.max(indent + 2);
        } else if tokens.first().is_some_and(|t| t.text == "where") {
            indent += 2;
        }
        for token in &tokens {
            match token.text {
                "{" => braces += 1,
                "}" => braces = braces.saturating_sub(1),
                "(" => parens += 1,
                ")" => parens = parens.saturating_sub(1),
                _ => {}
            }
        }
        let mut formatted = " ".repeat(indent) + &join(&tokens);
        if let Some(comment) = comment {
            if !tokens.is_empty() {
                // Comments behind code keep their distance, two blanks at least.
                let written = code.len() - code.trim_end().len();
                formatted += &" ".repeat(written.max(2));
            }
            formatted += comment;
        }
        out.push(formatted);
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    if out.is_empty() {
        String::new()
    } else {
        out.join("\n") + "\n"
    }
}

struct Token<'t> {
    text: &'t str,
    /// Blanks stood before it.
    spaced: bool,
}

/// Assignments and arrows, longest first.
const SPACED: &[&str] = &[
    "min=!", "max=!", "&&=!", "||=!", "+=!", "*=!", "min=", "max=", "&&=", "||=", "+=", "*=", "->",
    "→",
];

const DOUBLE: &[&str] = &["==", "!=", "<=", ">=", "&&", "||"];

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = code;
    loop {
        let trimmed = rest.trim_start();
        let spaced = trimmed.len() < rest.len();
        rest = trimmed;
        let Some(first) = rest.chars().next() else {
            return out;
        };
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let symbol = SPACED
            .iter()
            .chain(DOUBLE)
            .find(|s| rest.starts_with(**s))
            .filter(|s| !word(first) || s.starts_with("min") || s.starts_with("max"));
        let length = match symbol {
            Some(symbol) => symbol.len(),
            None if word(first) => {
                let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
                end + own_operator(out.last().map(|t: &Token| t.text), &rest[end..])
            }
            None => first.len_utf8(),
        };
        let (text, next) = rest.split_at(length);
        out.push(Token { text, spaced });
        rest = next;
    }
}

/// How much of what follows a name makes a reduction of it: `=` or `=!`, if something to reduce into
/// stands before the name.
fn own_operator(before: Option<&str>, after: &str) -> usize {
    let declares = ["let", "size", "in", "where"];
    let reduces = before.is_some_and(|before| {
        let named = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        before == ")" || (named && !declares.contains(&before))
    });
    match after.strip_prefix('=') {
        Some(rest) if reduces && !rest.starts_with('=') => 1 + usize::from(rest.starts_with('!')),
        Some(_) | None => 0,
    }
}

fn join(tokens: &[Token]) -> String {
    let mut out = String::new();
    let mut before = "";
    for (at, token) in tokens.iter().enumerate() {
        let own = |t: &str| t.len() > 1 && t.trim_end_matches('!').ends_with('=');
        let assigns = |t: &str| SPACED.contains(&t) || t == "=" || (own(t) && !DOUBLE.contains(&t));
        let space = if at == 0 || before == "(" || matches!(token.text, "," | ")") {
            false
        } else if assigns(token.text) || assigns(before) {
            true
        } else {
            token.spaced
        };
        if space {
            out.push(' ');
        }
        out.push_str(token.text);
        before = token.text;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(text: &str) -> String {
        match format_source(FileId(0), text) {
            Ok(text) => text,
            Err(errors) => panic!("{errors:#?}"),
        }
    }

    /// The tree without places.
    fn tree(text: &str) -> String {
        let tree = format!("{:?}", parse(FileId(0), text).map_err(|e| e.len()));
        let mut out = String::new();
        let mut rest = tree.as_str();
        while let Some(at) = rest.find("Span {") {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            rest = &rest[rest.find('}').map_or(rest.len(), |e| e + 1)..];
        }
        out + rest
    }

    #[test]
    fn layout_is_made_uniform() {
        let text = "\n\n# head\ndef f(double( M,N ) A,\n       double(N)x)->(y){   # tail\n\n\n     y(i)+=!A(i,j)*x( j )\n  where i in 0:3\n\n}\n\n\n";
        insta::assert_snapshot!(format(text), @r"
        # head
        def f(double(M,N) A,
               double(N)x) -> (y){   # tail

          y(i) +=! A(i,j)*x(j)
            where i in 0:3
        }
        ");
    }

    #[test]
    fn every_program_keeps_its_meaning_and_settles() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        for sub in ["programs", "corpus", "golden", "."] {
            for entry in std::fs::read_dir(folder.join(sub)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|e| e != "tc") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let once = format(&text);
                assert_eq!(tree(&text), tree(&once), "{}", path.display());
                assert_eq!(once, format(&once), "{}", path.display());
            }
        }
    }
}
