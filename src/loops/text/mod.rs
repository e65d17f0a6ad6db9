//! The loop IR as text that reads back: `sparsec show --stage loops`, and the pass tests of
//! `testdata/loops`.
//!
//! ```text
//! kernel scale
//!   var N, i: int64                  declared in the order of their ids
//!   var s: double mut
//!   array y_vals: double output
//!   size N                           the interface
//!   tensor y: double out (N) levels dense 0 values y_vals
//! body
//!   let s = 0.0
//!   for i in 0..N parallel static(16) reduce(+ s)
//!     s += double(i)
//!   y_vals[0] = s
//! ```
//!
//! A line is a statement, deeper lines are inside of it. A name that two variables (or arrays)
//! want, or that is a word of the language, carries its id: `i.3`. Types stand where they do
//! not follow: `1.5:float`, `0:double`. `;` begins a remark.
//!
//! Each file prints and reads one part, so that both are changed together.

mod device;
mod expr;
mod header;
mod lex;
mod read;
mod stmt;
mod tag;
mod words;

use super::ir::{ArrayId, Interface, Kernel, VarId};
use crate::operators::Own;
use lex::{Line, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The kernel as text.
#[must_use]
pub fn print(kernel: &Kernel) -> String {
    let mut writer = Writer::new(kernel);
    writer.header();
    if !kernel.checks.is_empty() {
        writer.line(0, "checks");
        writer.stmts(&kernel.checks, 1);
    }
    writer.line(0, "body");
    writer.stmts(&kernel.body, 1);
    writer.out
}

/// The statements of the kernel and what of its header `before` has not.
#[must_use]
pub fn print_change(before: &Kernel, kernel: &Kernel) -> String {
    let mut writer = Writer::new(kernel);
    let old = Writer::new(before);
    let known: BTreeSet<header::Declaration> = old.declarations().collect();
    let own = writer.declarations();
    for line in header::lines(own.filter(|declaration| !known.contains(declaration))) {
        writer.line(0, &line);
    }
    let known = old.interface();
    for line in writer.interface() {
        if !known.contains(&line) {
            writer.line(0, &line);
        }
    }
    writer.stmts(&kernel.body, 0);
    writer.out
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// From 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

type Read<T> = Result<T, Malformed>;

/// Reads a kernel that [`print`] wrote. What stands above a kernel (`Kernel::comment`) is no
/// part of the text. The kernel is as good as its text: see [`super::verify`].
///
/// # Errors
/// The first line that is not understood.
pub fn read(text: &str) -> Result<Kernel, Malformed> {
    let mut reader = Reader {
        lines: lex::lines(text)?,
        line: 0,
        token: 0,
        vars: BTreeMap::new(),
        arrays: BTreeMap::new(),
        operators: BTreeMap::new(),
        kernel: Kernel {
            name: String::new(),
            comment: Vec::new(),
            interface: Interface::default(),
            vars: Vec::new(),
            arrays: Vec::new(),
            checks: Vec::new(),
            body: Vec::new(),
            keeping: None,
        },
    };
    reader.header()?;
    if reader.section("checks")? {
        reader.kernel.checks = reader.block(0)?;
    }
    if reader.section("body")? {
        reader.kernel.body = reader.block(0)?;
    }
    match reader.lines.get(reader.line) {
        Some(_) => Err(reader.wrong("a statement of no block")),
        None => Ok(reader.kernel),
    }
}

struct Writer<'k> {
    kernel: &'k Kernel,
    vars: Vec<String>,
    arrays: Vec<String>,
    out: String,
}

impl<'k> Writer<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        Writer {
            kernel,
            vars: names(kernel.vars.iter().map(|v| v.name.as_str())),
            arrays: names(kernel.arrays.iter().map(|a| a.name.as_str())),
            out: String::new(),
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.out += &"  ".repeat(depth);
        self.out += text;
        self.out.push('\n');
    }

    fn var(&self, id: VarId) -> &str {
        &self.vars[id.index()]
    }

    fn array(&self, id: ArrayId) -> &str {
        &self.arrays[id.index()]
    }

    fn array_list(&self, ids: &[ArrayId]) -> String {
        let names: Vec<&str> = ids.iter().map(|id| self.array(*id)).collect();
        names.join(", ")
    }
}

/// Preferred names, with the number where one is not enough.
fn names<'n>(preferred: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    let mut wanted: BTreeMap<&str, usize> = BTreeMap::new();
    for name in preferred.clone() {
        *wanted.entry(name).or_default() += 1;
    }
    preferred
        .enumerate()
        .map(|(id, name)| {
            if wanted[name] > 1 || words::is_reserved(name) {
                format!("{name}.{id}")
            } else {
                name.to_string()
            }
        })
        .collect()
}

struct Reader {
    lines: Vec<Line>,
    /// Which line is read, and which of its tokens comes next.
    line: usize,
    token: usize,
    vars: BTreeMap<String, VarId>,
    arrays: BTreeMap<String, ArrayId>,
    /// Those that the program declares, by their words here.
    operators: BTreeMap<String, Own>,
    kernel: Kernel,
}

impl Reader {
    fn wrong(&self, message: impl Into<String>) -> Malformed {
        let last = self.lines.len().saturating_sub(1);
        let line = self.lines.get(self.line.min(last));
        Malformed {
            line: line.map_or(1, |line| line.number),
            message: message.into(),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.lines.get(self.line)?.tokens.get(self.token)
    }

    /// Ends the line at hand.
    fn end(&mut self) -> Read<()> {
        if let Some(token) = self.peek() {
            return Err(self.wrong(format!("{token} is too much")));
        }
        self.line += 1;
        self.token = 0;
        Ok(())
    }

    /// Takes the mark if it comes next.
    fn mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Mark(m)) if *m == mark);
        self.token += usize::from(found);
        found
    }

    /// Takes the word if it comes next.
    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.token += usize::from(found);
        found
    }

    fn expect_mark(&mut self, mark: &str) -> Read<()> {
        if self.mark(mark) {
            return Ok(());
        }
        Err(self.expected(&format!("`{mark}`")))
    }

    fn expect_word(&mut self, word: &str) -> Read<()> {
        if self.word(word) {
            return Ok(());
        }
        Err(self.expected(&format!("`{word}`")))
    }

    fn expected(&self, what: &str) -> Malformed {
        match self.peek() {
            Some(token) => self.wrong(format!("{what} is expected, not {token}")),
            None => self.wrong(format!("{what} is expected")),
        }
    }

    /// Any word.
    fn name(&mut self) -> Read<String> {
        match self.peek().cloned() {
            Some(Token::Word(name)) => {
                self.token += 1;
                Ok(name)
            }
            Some(Token::Number(_) | Token::Text(_) | Token::Mark(_) | Token::Comment(_)) | None => {
                Err(self.expected("a name"))
            }
        }
    }

    fn text(&mut self) -> Read<String> {
        match self.peek().cloned() {
            Some(Token::Text(text)) => {
                self.token += 1;
                Ok(text)
            }
            Some(Token::Number(_) | Token::Word(_) | Token::Mark(_) | Token::Comment(_)) | None => {
                Err(self.expected("a text in quotes"))
            }
        }
    }

    /// A whole number without a sign.
    fn number<T: std::str::FromStr>(&mut self) -> Read<T> {
        if let Some(Token::Number(digits)) = self.peek()
            && let Ok(number) = digits.parse()
        {
            self.token += 1;
            return Ok(number);
        }
        Err(self.expected("a whole number"))
    }

    fn var(&mut self) -> Read<VarId> {
        let name = self.name()?;
        self.var_named(&name)
    }

    fn var_named(&self, name: &str) -> Read<VarId> {
        let known = self.vars.get(name).copied();
        known.ok_or_else(|| self.wrong(format!("no variable `{name}` is declared")))
    }

    fn array(&mut self) -> Read<ArrayId> {
        let name = self.name()?;
        self.array_named(&name)
    }

    fn array_named(&self, name: &str) -> Read<ArrayId> {
        let known = self.arrays.get(name).copied();
        known.ok_or_else(|| self.wrong(format!("no array `{name}` is declared")))
    }

    fn array_list(&mut self) -> Read<Vec<ArrayId>> {
        let mut arrays = vec![self.array()?];
        while self.mark(",") {
            arrays.push(self.array()?);
        }
        Ok(arrays)
    }

    /// Takes a line that is only this word.
    fn section(&mut self, word: &str) -> Read<bool> {
        if !self.word(word) {
            return Ok(false);
        }
        self.end()?;
        Ok(true)
    }

    /// How far the line at hand is indented.
    fn indent(&self) -> Option<usize> {
        self.lines.get(self.line).map(|line| line.indent)
    }
}

#[cfg(test)]
mod tests;
