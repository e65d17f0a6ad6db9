//! What is written out of habit: texts of other languages, and what stands here in their place.

use super::parse::{Rule, code_chars};

/// What is known where a text is no longer understood.
pub(super) struct Place<'t> {
    before: &'t str,
    rest: &'t str,
    /// Whether a parenthesis is open.
    inside: bool,
    /// Whether the grammar would take this here.
    missing: &'t dyn Fn(Rule) -> bool,
}

impl<'t> Place<'t> {
    /// `None` where the text has no such place.
    pub(super) fn new(text: &'t str, at: usize, missing: &'t dyn Fn(Rule) -> bool) -> Option<Self> {
        let (before, rest) = text.split_at_checked(at)?;
        let change = |c| i64::from(c == '(') - i64::from(c == ')');
        let open: i64 = code_chars(before).map(|(_, c)| change(c)).sum();
        Some(Place {
            before: before.trim_end(),
            rest,
            inside: open > 0,
            missing,
        })
    }

    /// A known habit.
    pub(super) fn help(&self) -> Option<&'static str> {
        HABITS
            .iter()
            .find(|(is_here, _)| is_here(self))
            .map(|(_, help)| *help)
    }

    fn begins(&self, text: &str) -> bool {
        self.rest.starts_with(text)
    }

    /// The words of the statement so far.
    fn words(&self) -> impl Iterator<Item = &'t str> {
        let from = self.before.rfind(['{', '\n']).map_or(0, |at| at + 1);
        self.before[from..].split(|c: char| !is_of_word(c))
    }

    fn last_word(&self) -> &'t str {
        self.words().last().unwrap_or("")
    }

    /// Whether two words stand one after the other.
    fn is_pair(&self) -> bool {
        let second = self.rest.trim_start_matches(is_of_word);
        second.len() < self.rest.len() && second.trim_start().starts_with(is_of_word)
    }

    /// Whether it is among the results of a header.
    fn is_result(&self) -> bool {
        let behind = self.before.rsplit_once("->");
        behind.is_some_and(|(_, names)| names.contains('(') && !names.contains([')', '{']))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

type Habit = (fn(&Place) -> bool, &'static str);

/// Those that need more around them first.
const HABITS: &[Habit] = &[
    (
        |p| p.begins("schedule") && code_chars(p.before).all(|(_, c)| c.is_whitespace()),
        "a .sched file holds the commands alone, without `schedule ... { }` around them",
    ),
    (
        |p| p.begins("["),
        "subscripts and dimensions stand in parentheses: `y(i)`, `double(N) x`",
    ),
    (
        |p| p.begins("^") || (p.begins("*") && p.before.ends_with('*')),
        "a power is a call: `pow(x(i), 2)`",
    ),
    (
        |p| p.begins("-=") && !p.inside,
        "what is taken away is added with a minus: `y(i) += -x(i)`",
    ),
    (
        |p| p.begins("/=") && !p.inside,
        "what is divided by is multiplied with: `y(i) *= 1 / x(i)`",
    ),
    (
        |p| p.begins(":=") && !p.inside,
        "a statement is written with `=`, or with a reduction such as `+=`",
    ),
    (
        |p| p.begins(";") && !p.inside,
        "statements and commands stand one after the other, without `;` between or behind them",
    ),
    (
        |p| p.begins("::"),
        "units and strategies have no prefix: `parallelize(i, CPUThread, NoRaces)`",
    ),
    (
        |p| p.words().any(|word| word == "if") || p.begins("then "),
        "what depends on a condition is written `c ? a : b`: `y(i) = x(i) > 0 ? x(i) : 0`",
    ),
    (
        |p| p.last_word() == "for",
        "no loops are written: variables of subscripts run over all of their values, or over those of `where i in 0:N`",
    ),
    (
        |p| p.begins("@"),
        "a product says what is summed: `C(i,j) +=! A(i,k) * B(k,j)`",
    ),
    (
        |p| p.begins("=") && (p.missing)(Rule::kw_in),
        "a `param` lists what it may be, `param U in {1, 2, 4} = 2`; a number of one value is `let U = 3`",
    ),
    (
        |p| p.is_pair() && (p.missing)(Rule::format_entry),
        "a colon stands between a tensor and its format: `A: csr`",
    ),
    (
        |p| p.rest.starts_with(is_of_word) && p.is_result(),
        "results are names between commas, `-> (y, z)`: their types and sizes follow from what they are set to",
    ),
    (
        |p| p.begins(")") && p.before.ends_with(','),
        "nothing follows the last comma: leave it out",
    ),
];

#[cfg(test)]
mod tests {
    use crate::diagnostic::FileId;
    use crate::syntax::{parse, parse_schedule};

    #[test]
    fn habits_are_told_apart() {
        let statement = |text: &str| format!("def f(double(N) x) -> (y) {{ {text} }}\n");
        let behind = |text: &str| format!("{}{text}\n", statement("y(i) = x(i)"));
        let all = [
            (statement("y[i] = x(i)"), "in parentheses"),
            (statement("y(i) = x[i]"), "in parentheses"),
            (statement("y(i) = x(i) ** 2"), "`pow("),
            (statement("y(i) = x(i)^2"), "`pow("),
            (statement("y(i) -= x(i)"), "with a minus"),
            (statement("y(i) /= x(i)"), "multiplied"),
            (statement("y(i) := x(i)"), "`=`"),
            (statement("y(i) = x(i);"), "without `;`"),
            (
                statement("y(i) = if x(i) > 0 then x(i) else 0"),
                "`c ? a : b`",
            ),
            (statement("for i: y(i) = x(i)"), "no loops"),
            (statement("for i in 0:N { y(i) = x(i) }"), "no loops"),
            (statement("y(i) = x @ x"), "what is summed"),
            (statement("y(i) = x(i,)"), "last comma"),
            (behind("format f { x dense }"), "a colon"),
            (behind("schedule f { param U = 3 }"), "`let U = 3`"),
            (
                behind("schedule f { parallelize(i, ParallelUnit::CPUThread, NoRaces) }"),
                "no prefix",
            ),
            (
                "def f(double(N) x) -> (double y) { y(i) = x(i) }".to_string(),
                "names between commas",
            ),
        ];
        for (text, help) in all {
            let error = parse(FileId(0), &text).unwrap_err().remove(0);
            let said = error.help.unwrap_or_default();
            assert!(said.contains(help), "{text}\n{said}");
        }
        let commands = "# mine\nschedule f for c { unroll(i) }";
        let said = parse_schedule(FileId(0), commands)
            .unwrap_err()
            .remove(0)
            .help;
        assert!(said.is_some_and(|help| help.contains("the commands alone")));
    }

    #[test]
    fn a_parenthesis_is_open_only_where_none_closes_it() {
        let said = |text: &str| {
            let text = format!("def f(double(N) x) -> (y) {{ {text} }}\n");
            let error = parse(FileId(0), &text).unwrap_err().remove(0);
            error.help.is_some_and(|help| help.contains("still open"))
        };
        assert!(said("y(i) = (x(i)"));
        assert!(said("y(i) = x(i"));
        assert!(!said("y(i) = x(i $ 2)"));
        assert!(!said("y(i) = (x(i) 2)"));
    }
}
