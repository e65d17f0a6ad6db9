//! The entry points of the parser, and its errors.
//!
//! A file is cut into its items first (a `def`, `format`, `op` or `schedule` at the start of
//! a line outside braces), and each is parsed on its own: an error in one does not
//! hide those in the others.

use super::ast::{Command, File};
use super::build::Builder;
use super::habits;
use crate::diagnostic::codes::syntax as codes;
use crate::diagnostic::{Diagnosed, Diagnostic, FileId, Span};
use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest_derive::Parser;

#[derive(Parser)]
#[grammar = "../grammar/sparsec.pest"]
pub struct Grammar;

/// Deepest nesting of parentheses and braces.
const MAX_NESTING: usize = 200;

/// Parses a `.tc` file or a formats file.
///
/// # Errors
/// One diagnostic for each item that does not parse.
pub fn parse(file: FileId, text: &str) -> Diagnosed<File> {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    for (start, chunk) in cut(text) {
        match parse_rule(file, chunk, start, Rule::file) {
            Ok(mut pairs) => {
                let mut builder = Builder::new(file, start);
                match builder.file(pairs.next()) {
                    Ok(mut parsed) => items.append(&mut parsed.items),
                    Err(error) => errors.push(error),
                }
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(File { items })
    } else {
        Err(errors)
    }
}

/// Parses the bare commands of a `.sched` file.
///
/// # Errors
/// Text that is no command.
pub fn parse_schedule(file: FileId, text: &str) -> Diagnosed<Vec<Command>> {
    let mut pairs = parse_rule(file, text, 0, Rule::sched).map_err(|e| vec![e])?;
    Builder::new(file, 0)
        .commands(pairs.next())
        .map_err(|e| vec![e])
}

/// Parses with one rule; `start` is where `text` begins in its file.
pub(super) fn parse_rule<'t>(
    file: FileId,
    text: &'t str,
    start: usize,
    rule: Rule,
) -> Result<pest::iterators::Pairs<'t, Rule>, Diagnostic> {
    check_nesting(file, text, start)?;
    Grammar::parse(rule, text).map_err(|error| syntax_error(file, text, start, &error))
}

/// A span of bytes `from..to` of a text that begins at `start`.
pub(super) fn span(file: FileId, start: usize, from: usize, to: usize) -> Span {
    let byte = |at: usize| u32::try_from(start + at).unwrap_or(u32::MAX);
    Span {
        file,
        start: byte(from),
        end: byte(to),
    }
}

fn check_nesting(file: FileId, text: &str, start: usize) -> Result<(), Diagnostic> {
    let mut depth = 0usize;
    for (at, c) in code_chars(text) {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(too_deep(span(file, start, at, at + 1)));
        }
    }
    Ok(())
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::TOO_DEEP,
        span,
        "the expression is nested too deeply",
        "too deep from here on",
    )
    .with_help("compute a part of it in a temporary tensor")
}

/// A tree of operators that later passes could not recurse over; a flat sum is one, too.
pub(super) fn too_long(span: Span, most: usize) -> Diagnostic {
    Diagnostic::error(
        codes::TOO_DEEP,
        span,
        format!("more than {most} operations of the expression build on one another"),
        "too many",
    )
    .with_help("compute a part of it in a temporary tensor")
}

/// Characters outside comments, with their byte positions.
pub(super) fn code_chars(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut comment = false;
    text.char_indices().filter(move |&(_, c)| {
        if c == '#' {
            comment = true;
        } else if c == '\n' {
            comment = false;
        }
        !comment
    })
}

/// Cuts a file before each line outside braces that begins with an item's keyword.
pub(super) fn cut(text: &str) -> Vec<(usize, &str)> {
    let mut starts = vec![0];
    let mut depth = 0i64;
    let mut line_start = true;
    let mut seen_item = false;
    for (at, c) in code_chars(text) {
        if line_start && !c.is_whitespace() {
            line_start = false;
            let begins = ["def", "format", "op", "schedule"].iter().any(|keyword| {
                text[at..].strip_prefix(keyword).is_some_and(|rest| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            });
            // A definition that was never closed ends where the next one begins; a tensor may
            // be called `def`, too.
            let named = |rest: &str| {
                let next = rest.trim_start().chars().next();
                next.is_some_and(|c| c.is_alphanumeric() || c == '_')
            };
            let unclosed = depth > 0 && text[at..].strip_prefix("def ").is_some_and(named);
            if begins && (depth <= 0 || unclosed) {
                if seen_item {
                    starts.push(at);
                }
                seen_item = true;
                depth = 0;
            }
        }
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            '\n' => line_start = true,
            _ => {}
        }
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .copied()
        .zip(ends)
        .map(|(from, to)| (from, &text[from..to]))
        .collect()
}

fn syntax_error(
    file: FileId,
    text: &str,
    start: usize,
    error: &pest::error::Error<Rule>,
) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let found = text[at..].chars().next();
    let word: String = text[at..]
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    let (what, length) = match found {
        None => ("the end of the text".to_string(), 0),
        Some(_) if !word.is_empty() => (format!("`{word}`"), word.len()),
        Some(c) => (format!("`{}`", c.escape_debug()), c.len_utf8()),
    };
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => expectations(positives),
        ErrorVariant::CustomError { message } => message.clone(),
    };
    let message = if expected.is_empty() {
        format!("unexpected {what}")
    } else {
        format!("expected {expected}, found {what}")
    };
    let diagnostic = Diagnostic::error(
        codes::UNEXPECTED,
        span(file, start, at, at + length),
        message,
        "not understood from here on",
    );
    let missing = |rule| match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.contains(&rule),
        ErrorVariant::CustomError { .. } => false,
    };
    let of_header = if missing(Rule::end_params) && found == Some('(') {
        Some("the dimensions stand behind the type: `double(M,N) A`")
    } else if missing(Rule::arrow) {
        Some("say what is returned: `def f(double(N) x) -> (y) { ... }`")
    } else if missing(Rule::between) || missing(Rule::equals) {
        Some("an operator has two operands and says what it makes of them: `op NAME(x, y) = x + y`")
    } else if missing(Rule::begin_returns) {
        Some("what is returned stands in parentheses: `-> (y)`")
    } else {
        None
    };
    if missing(Rule::kw_in) && found == Some('(') {
        let before = text.get(..at).unwrap_or_default().trim_end();
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        return diagnostic.with_help(format!(
            "a range is that of a variable; a subscript on the left that reads `{name}` is the variable `at_{name}`: `where at_{name} in 0:N`"
        ));
    }
    let habit = || habits::Place::new(text, at, &missing)?.help();
    match of_header.or_else(habit).or_else(|| hint(text, at)) {
        Some(hint) => diagnostic.with_help(hint),
        None => diagnostic.with_help("`sparsec explain E0101` describes the grammar's errors"),
    }
}

fn hint(text: &str, at: usize) -> Option<&'static str> {
    let (mut round, mut curly) = (0i64, 0i64);
    for (_, c) in code_chars(text.get(..at)?) {
        match c {
            '(' => round += 1,
            ')' => round -= 1,
            '{' => curly += 1,
            '}' => curly -= 1,
            _ => {}
        }
    }
    let rest = text[at..].trim_start();
    if round > 0 && !is_closed(rest, round) {
        Some("a parenthesis is still open here")
    } else if rest.is_empty() && curly > 0 {
        Some("a brace is still open at the end of the text")
    } else if round < 0 || curly < 0 || (round == 0 && rest.starts_with(')')) {
        Some("this closes nothing")
    } else {
        None
    }
}

/// Whether a text closes so many parentheses before a brace.
fn is_closed(rest: &str, mut open: i64) -> bool {
    for (_, c) in code_chars(rest) {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            '{' | '}' => return false,
            _ => {}
        }
        if open == 0 {
            return true;
        }
    }
    false
}

/// What the grammar would have accepted, in a reader's words.
fn expectations(rules: &[Rule]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for rule in rules {
        let word = describe(*rule);
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words.truncate(6);
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_string(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "pest's generated enum: most rules are never expected"
)]
fn describe(rule: Rule) -> &'static str {
    match rule {
        Rule::EOI => "the end",
        Rule::def | Rule::kw_def => "`def`",
        Rule::format_decl | Rule::format_use | Rule::kw_format => "`format`",
        Rule::schedule | Rule::kw_schedule => "`schedule`",
        Rule::op_decl | Rule::kw_op => "`op`",
        Rule::claim | Rule::kw_identity | Rule::kw_annihilator | Rule::kw_commutes => {
            "a claim such as `identity 0`"
        }
        Rule::fill_value => "a value",
        Rule::name | Rule::label => "a name",
        Rule::expr
        | Rule::binary
        | Rule::prefixed
        | Rule::apply
        | Rule::paren
        | Rule::number
        | Rule::extent
        | Rule::member
        | Rule::open_name
        | Rule::prefix => "an expression",
        Rule::binary_op => "an operator",
        Rule::assign_op => "`=` or a reduction such as `+=`",
        Rule::subscripts => "subscripts",
        Rule::assign | Rule::call_stmt => "a statement",
        Rule::where_clause | Rule::kw_where => "`where`",
        Rule::range => "a range such as `i in 0:N`",
        Rule::kw_in => "`in`",
        Rule::dim | Rule::whole => "a size",
        Rule::param => "a parameter such as `double(M,N) A`",
        Rule::returns => "the returned names",
        Rule::begin_params | Rule::begin_returns => "`(`",
        Rule::end_params | Rule::end_returns => "`)`",
        Rule::begin_body => "`{`",
        Rule::arrow => "`->`",
        Rule::between => "`,`",
        Rule::equals => "`=`",
        Rule::level_type | Rule::level_list => "a level type",
        Rule::level_decl => "a level such as `i: dense`",
        Rule::format_spec => "a format",
        Rule::format_entry => "an entry such as `A: csr`",
        Rule::call_cmd | Rule::let_cmd | Rule::param_cmd | Rule::size_cmd | Rule::choose_cmd => {
            "a command"
        }
        Rule::when_arm => "an alternative such as `when nnz(A) < 20000: { ... }`",
        Rule::otherwise_arm => "`otherwise: { ... }`",
        Rule::branch => "commands in braces, or the name of a schedule",
        Rule::arg | Rule::var_list => "an argument",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ast::{Item, Stmt};

    fn items(text: &str) -> Vec<Item> {
        match parse(FileId(0), text) {
            Ok(file) => file.items,
            Err(errors) => panic!("{errors:#?}"),
        }
    }

    fn errors(text: &str) -> Vec<String> {
        match parse(FileId(0), text) {
            Ok(file) => panic!("parsed: {file:#?}"),
            Err(errors) => errors.into_iter().map(|e| e.message).collect(),
        }
    }

    #[test]
    fn the_contract_s_example_parses() {
        let text = "# spmv.tc\ndef spmv(double(M,N) A, double(N) x) -> (y) {\n  y(i) +=! A(i,j) * x(j)\n}\n\
            format spmv { A: csr }  # dense else\n\
            schedule spmv for c {\n  param CHUNK in {8, 16, 32, 64} = 32\n  split(i, i0, i1, CHUNK)\n  parallelize(i0, CPUThread, NoRaces)\n}\n";
        assert_eq!(items(text).len(), 3);
    }

    #[test]
    fn names_of_the_papers_parse() {
        let text = "def 2LUT(float(E1,D) LUT1, int(B,L1) I1) → (01,O2) {\n 01(i,j) +=! LUT1(I1(i,k),j)\n}\n\
             def maxpool2x2(float(B,C,H,W) in) -> (out) {\n out(b,c,i,j) max=! in(b,c, 2*i + kw, 2*j + kh)\n where kw in 0:2, kh in 0:2\n}\n\
             def f(float(N) A) -> (B, C) {\n  S1: x(i) = A(i)\n  (B, C) = g(x)\n  a = b\n  (D) = h(a)\n least min= A(i) * A.0 }";
        let items = items(text.replace("01", "O1").as_str());
        assert_eq!(items.len(), 3);
        let Item::Def(def) = &items[2] else { panic!() };
        assert_eq!(def.stmts.len(), 5);
        assert!(matches!(def.stmts[1], Stmt::Call(_)));
        assert!(matches!(def.stmts[3], Stmt::Call(_)));
    }

    #[test]
    fn operators_parse() {
        let text = "op op(identity, op) = identity * op commutes annihilator -0.5 identity 1e-3\n\
             op least(x, y) = x < y ? x : y\n  identity inf  # of two\n  commutes\n\
             def f(double(N) x) -> (y, op) { y op=! op(x(i), 2)  op least= x(i)\n op=x(0) }\n";
        let items = items(text);
        assert_eq!(items.len(), 3);
        let (Item::Operator(first), Item::Def(def)) = (&items[0], &items[2]) else {
            panic!()
        };
        assert_eq!(first.claims.len(), 3);
        assert_eq!(def.stmts.len(), 3);
        let said = [
            "op f(x) = x",
            "op f(x, y) x",
            "op f(x, y) = x neutral 0",
            "op f(x, y = x",
        ];
        let said = said.map(|text| {
            let error = parse(FileId(0), text).unwrap_err().remove(0);
            format!("{}; {}", error.message, error.help.unwrap_or_default())
        });
        insta::assert_debug_snapshot!(said, @r#"
        [
            "expected `,`, found `)`; an operator has two operands and says what it makes of them: `op NAME(x, y) = x + y`",
            "expected `=`, found `x`; an operator has two operands and says what it makes of them: `op NAME(x, y) = x + y`",
            "expected the end, `def`, `format`, `op`, `schedule` or a claim such as `identity 0`, found `neutral`; `sparsec explain E0101` describes the grammar's errors",
            "expected `)`, found `=`; a parenthesis is still open here",
        ]
        "#);
    }

    #[test]
    fn formats_parse() {
        let text = "format csr = (i,j) -> (i: dense, j: compressed)\n\
            format coo = (i,j) -> (i: compressed(nonunique), j: singleton) index 64\n\
            format bcsr4 = (i,j) -> (i/4: dense, j/4: compressed, i%4: dense, j%4: dense)\n\
            format csf = each level compressed, in order\n\
            format f { A: csr fill -inf, B: {dense, compressed} order (1,0)\n C: bcsr(2,2) index 64, D: csr density 1e-3, density: csr row_length 8 row_length: csr }\n";
        assert_eq!(items(text).len(), 5);
    }

    #[test]
    fn each_broken_item_is_reported() {
        let found = errors("def f(double(N) x) -> (y) {\n y(i) = x(i\n}\ndef g( -> (y) { }\n");
        insta::assert_debug_snapshot!(found, @r###"
        [
            "expected an operator, found `}`",
            "expected a name or `)`, found `-`",
        ]
        "###);
    }

    #[test]
    fn a_header_that_stops_early_says_where() {
        let said = |header: &str| {
            let text = format!("{header} {{\n y(i) = x(i)\n}}\n");
            let error = parse(FileId(0), &text).unwrap_err().remove(0);
            let at = error.labels[0].span.start as usize;
            let from: String = text[at..].chars().take(3).collect();
            format!(
                "{from}: {}; {}",
                error.message,
                error.help.unwrap_or_default()
            )
        };
        let all = [
            "def f(double(N) x) -> y",
            "def f(double(N) x)",
            "def f(double A(M,N)) -> (y)",
            "def f(double(N) x -> (y)",
            "def f -> (y)",
            "def f(double(N) x) -> (y",
        ]
        .map(said);
        insta::assert_debug_snapshot!(all, @r#"
        [
            "y {: expected `(`, found `y`; what is returned stands in parentheses: `-> (y)`",
            "{\n : expected `->`, found `{`; say what is returned: `def f(double(N) x) -> (y) { ... }`",
            "(M,: expected `)`, found `(`; the dimensions stand behind the type: `double(M,N) A`",
            "-> : expected `)`, found `-`; a parenthesis is still open here",
            "-> : expected `(`, found `-`; `sparsec explain E0101` describes the grammar's errors",
            "{\n : expected `)`, found `{`; a parenthesis is still open here",
        ]
        "#);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = format!(
            "def f() -> (y) {{ y = {}1{} }}",
            "(".repeat(5000),
            ")".repeat(5000)
        );
        assert_eq!(errors(&text), ["the expression is nested too deeply"]);
        let text = format!("def f() -> (y) {{ y = 1{} }}", "+1".repeat(5000));
        assert_eq!(
            errors(&text),
            ["more than 1000 operations of the expression build on one another"]
        );
    }
}
