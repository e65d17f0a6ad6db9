//! Lines and their tokens.

use super::{Malformed, Read};
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// A line that is not empty.
pub(super) struct Line {
    pub number: usize,
    pub indent: usize,
    pub tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a keyword; `i.3` and `thread.x` are one word.
    Word(String),
    Number(String),
    /// In quotes.
    Text(String),
    Mark(&'static str),
    /// What follows `#`.
    Comment(String),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(text) | Token::Number(text) => write!(f, "`{text}`"),
            Token::Text(text) => write!(f, "{text:?}"),
            Token::Mark(mark) => write!(f, "`{mark}`"),
            Token::Comment(_) => f.write_str("a comment"),
        }
    }
}

/// Longer ones first.
const MARKS: [&str; 28] = [
    "&&=", "||=", "..+", "..", "+=", "*=", "==", "!=", "<=", ">=", "//", "&&", "||", "=", "<", ">",
    "+", "-", "*", "/", "%", "!", "(", ")", "[", "]", ",", ":",
];

/// The lines of a text.
///
/// # Errors
/// A character that begins no token, a text without its end.
pub(super) fn lines(text: &str) -> Read<Vec<Line>> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let content = line.trim_start();
        let tokens = tokens(content).map_err(|message| Malformed {
            line: at + 1,
            message,
        })?;
        if !tokens.is_empty() {
            lines.push(Line {
                number: at + 1,
                indent: line.len() - content.len(),
                tokens,
            });
        }
    }
    Ok(lines)
}

fn tokens(mut rest: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let length = match first {
            ';' => return Ok(tokens),
            '#' => {
                let text = &rest[1..];
                let text = text.strip_prefix(' ').unwrap_or(text);
                tokens.push(Token::Comment(text.to_string()));
                return Ok(tokens);
            }
            '"' => {
                let (text, length) = quoted(rest).ok_or("a text does not end")?;
                tokens.push(Token::Text(text));
                length
            }
            c if c.is_ascii_digit() => {
                let length = number(rest);
                tokens.push(Token::Number(rest[..length].to_string()));
                length
            }
            c if is_name(c) => {
                let length = word(rest);
                tokens.push(Token::Word(rest[..length].to_string()));
                length
            }
            c => {
                let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark));
                let mark = mark.ok_or_else(|| format!("`{c}` begins nothing"))?;
                tokens.push(Token::Mark(mark));
                mark.len()
            }
        };
        rest = &rest[length..];
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn run(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

/// The bytes of a name, with the `.3` or `.x` behind it.
fn word(text: &str) -> usize {
    let name = run(text, is_name);
    let more = text[name..]
        .strip_prefix('.')
        .map_or(0, |more| run(more, is_name));
    if more == 0 { name } else { name + 1 + more }
}

/// The bytes of a number: a point only before a digit, for `0..3` is a range.
fn number(text: &str) -> usize {
    let digits = |from: usize| from + run(&text[from..], |c| c.is_ascii_digit());
    let starts = |from: usize| text[from..].starts_with(|c: char| c.is_ascii_digit());
    let mut end = digits(0);
    if text[end..].starts_with('.') && starts(end + 1) {
        end = digits(end + 1);
    }
    if text[end..].starts_with('e') {
        let sign = usize::from(text[end + 1..].starts_with('-'));
        if starts(end + 1 + sign) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

/// The text in quotes at the beginning, and its bytes.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars: Peekable<Chars> = text[1..].chars().peekable();
    let mut length = 1;
    loop {
        let c = chars.next()?;
        length += c.len_utf8();
        match c {
            '"' => return Some((out, length)),
            '\\' => {
                let escaped = chars.next()?;
                length += escaped.len_utf8();
                out.push(if escaped == 'n' { '\n' } else { escaped });
            }
            c => out.push(c),
        }
    }
}

/// A text with its quotes.
pub(super) fn quote(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}
