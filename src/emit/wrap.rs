//! Long lines of C, broken where a reader would: behind what binds least, in the fewest parentheses.

/// Characters in a line.
const WIDTH: usize = 100;

/// A statement, or the head of one, at this indentation: what is beyond the width goes on in lines of their own.
/// Comments, directives and what has lines already stay as they are.
pub(super) fn wrapped(text: &str, indent: usize) -> String {
    let mut rest = text.trim_start();
    let indent = indent + (text.len() - rest.len());
    let mut out = String::new();
    let is_code = !text.contains('\n') && !rest.starts_with(['/', '#']);
    // What stands below a head is indented by four.
    let deeper = indent + if text.ends_with('{') { 8 } else { 4 };
    let mut column = indent;
    out += &" ".repeat(indent);
    while is_code
        && column + rest.chars().count() > WIDTH
        && let Some(at) = place(rest, WIDTH - column.min(WIDTH))
    {
        out += rest[..at].trim_end();
        out.push('\n');
        out += &" ".repeat(deeper);
        rest = &rest[at..];
        column = deeper;
    }
    out + rest
}

/// Where the rest of a line that is longer than `room` begins.
fn place(line: &str, room: usize) -> Option<usize> {
    let mut best: Option<(bool, usize, u8, usize)> = None;
    let (mut depth, mut subscripts, mut quoted, mut escaped) = (0usize, 0usize, false, false);
    for (at, c) in line.char_indices() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => quoted = true,
            '[' => subscripts += 1,
            ']' => subscripts = subscripts.saturating_sub(1),
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            // Subscripts are better read as a whole.
            ' ' if subscripts > 0 => {}
            ' ' if at > room && best.is_some() => break,
            ' ' => {
                let rest = line[at + 1..].trim_start();
                // What stands below a condition is a statement.
                let is_head = depth == 0 && line.starts_with("if (") && line[..at].ends_with(')');
                if let Some(binds) = is_head.then_some(0).or_else(|| binding(&line[..at]))
                    && !rest.is_empty()
                    && rest != "{"
                {
                    // Lines of next to nothing are a last resort, as those that are too long.
                    let poor = at > room
                        || at < room / 4
                        || rest.len() < 12
                        || (binds == COMPARISON && is_short(rest));
                    let place = (poor, depth, binds, at + 1);
                    let key =
                        |(poor, depth, binds, _): (bool, usize, u8, usize)| (poor, depth, binds);
                    if best.is_none_or(|best| key(place) <= key(best)) {
                        best = Some(place);
                    }
                }
            }
            _ => {}
        }
    }
    best.map(|(_, _, _, at)| at)
}

/// How tightly comparisons bind.
const COMPARISON: u8 = 7;

/// Whether what a comparison goes on with is no more than a number or a name of a letter or two.
fn is_short(rest: &str) -> bool {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    rest.find(ends)
        .is_none_or(|end| (1..4).contains(&end) && !rest[end..].starts_with('['))
}

/// How tightly what a text ends with binds, if a line may end with it.
fn binding(text: &str) -> Option<u8> {
    const OPERATORS: [(&str, u8); 24] = [
        (";", 0),
        (",", 1),
        ("?", 3),
        (" :", 3),
        ("||", 4),
        ("&&", 5),
        ("|=", 2),
        ("&=", 2),
        (" |", 6),
        (" &", 6),
        ("==", COMPARISON),
        ("!=", COMPARISON),
        ("<=", COMPARISON),
        (">=", COMPARISON),
        (" <", COMPARISON),
        (" >", COMPARISON),
        ("+=", 2),
        ("-=", 2),
        ("*=", 2),
        (" =", 2),
        (" +", 8),
        (" -", 8),
        (" *", 9),
        (" /", 9),
    ];
    let found = OPERATORS.iter().find(|(end, _)| text.ends_with(end));
    found.map(|(_, binds)| *binds)
}

/// `head a, b, c tail`, broken into lines between its parts.
pub(super) fn wrap_call(head: &str, items: &[&str], tail: &str) -> String {
    let items: Vec<&str> = if items.is_empty() {
        vec!["void"]
    } else {
        items.to_vec()
    };
    let mut text = head.to_string();
    let mut width = head.len();
    for (at, item) in items.iter().enumerate() {
        let last = at + 1 == items.len();
        let piece = if last {
            item.len() + tail.len()
        } else {
            item.len() + 1
        };
        if at > 0 {
            if width + 1 + piece > WIDTH {
                text += "\n    ";
                width = 4;
            } else {
                text.push(' ');
                width += 1;
            }
        }
        text += item;
        width += item.len();
        if !last {
            text.push(',');
            width += 1;
        }
    }
    text + tail
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_are_broken_where_least_binds() {
        let sum = |n: usize| vec!["first_vals[i] * 2"; n].join(" + ");
        let short = format!("x = {};", sum(3));
        assert_eq!(wrapped(&short, 4), format!("    {short}"));
        let long = format!("x = {};", sum(6));
        let broken = format!("    x = {} +\n        {};", sum(4), sum(2));
        assert_eq!(wrapped(&long, 4), broken);
        let head = format!("for (int64_t i = {}; i < {}; i++) {{", sum(2), sum(2));
        let broken = format!(
            "for (int64_t i = {};\n        i < {}; i++) {{",
            sum(2),
            sum(2)
        );
        assert_eq!(wrapped(&head, 0), broken);
    }

    #[test]
    fn a_comparison_stays_whole_where_it_can() {
        let call = format!("sparsec_min_int64(M, {})", ["first_vals[i]"; 3].join(" + "));
        let fail = "return SPARSEC_FAIL(SPARSEC_INDEX_OUT_OF_RANGE, i);";
        let broken = format!("if ({call} < 0)\n    {fail}");
        assert_eq!(wrapped(&format!("if ({call} < 0) {fail}"), 0), broken);
        let long = |name: &str| [name; 5].join(" + ");
        let head = format!("if (f(M, {}) < 0) return;", long("first_vals[i] * 2"));
        assert!(!wrapped(&head, 0).contains("<\n"));
    }

    #[test]
    fn what_is_no_code_of_one_line_stays() {
        let words = "a + ".repeat(40);
        for text in [
            format!("/* {words} */"),
            format!("#pragma omp {words}"),
            format!("f(\n{words})"),
            format!("x = \"{words}\";"),
        ] {
            let lines = wrapped(&text, 0);
            assert_eq!(lines.replace("=\n    ", "= "), text);
        }
    }
}
