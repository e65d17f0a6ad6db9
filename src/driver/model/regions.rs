//! The loops and branches of a text of kernels, and the text with a mark in each of them, by which
//! the emulator learns how often threads come to it.
//!
//! Lines stay where they are, so what the compiler says of lines of the plain text holds for the marked
//! one. Texts are those that [`crate::emit`] writes: braces around what is inside of loops, at most
//! one statement without any behind a loop of the runtime.

/// What a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The body of a kernel.
    Kernel,
    Loop,
    Branch,
}

/// Lines that are executed equally often, but for regions inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Which of the files.
    pub file: usize,
    pub kind: Kind,
    /// The line, counted from 1, in which what leads to it begins (`for (..`), the one of its opening
    /// brace, and its last one.
    pub first: u32,
    pub opens: u32,
    pub last: u32,
    /// The region around it.
    pub parent: Option<usize>,
    /// How many iterations the compiler was told to take at a time.
    pub unrolls: Option<u32>,
}

impl Region {
    /// Whether a line is executed as often as the region, or as one inside. A loop's own line is;
    /// that of a branch is where it is decided.
    fn holds(&self, line: u32) -> bool {
        let from = match self.kind {
            Kind::Loop => self.first,
            Kind::Kernel | Kind::Branch => self.opens + u32::from(self.last > self.opens),
        };
        (from..=self.last).contains(&line)
    }
}

/// The regions of several files, numbered through.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    pub all: Vec<Region>,
}

impl Regions {
    /// The innermost region of a file that a line is in.
    #[must_use]
    pub fn of_line(&self, file: usize, line: u32) -> Option<usize> {
        let own = self.all.iter().enumerate();
        let own = own.filter(|(_, region)| region.file == file && region.holds(line));
        own.max_by_key(|(at, region)| (region.opens, *at))
            .map(|(at, _)| at)
    }

    /// The loop that a line leads to.
    #[must_use]
    pub fn led_to(&self, file: usize, line: u32) -> Option<usize> {
        let own = self.all.iter().enumerate();
        let mut own = own.filter(|(_, region)| {
            region.file == file
                && region.kind == Kind::Loop
                && (region.first..=region.opens).contains(&line)
        });
        own.next().map(|(at, _)| at)
    }

    /// The regions around one, itself first.
    pub fn around(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |&at| self.all.get(at)?.parent)
    }

    /// Finds the regions of a file: in each kernel its loops and branches, elsewhere loops alone.
    /// Gives the marked text.
    pub fn mark(&mut self, file: usize, text: &str) -> String {
        let mut scan = Scan {
            regions: self,
            file,
            out: String::with_capacity(text.len() + text.len() / 4),
            line: 1,
            open: Vec::new(),
            unrolls: None,
            statement: String::new(),
            began: 1,
            nested: 0,
            closes: Vec::new(),
        };
        scan.text(text);
        scan.out
    }
}

/// A brace that is open.
struct Open {
    region: Option<usize>,
    /// Whether branches inside are of interest.
    kernel: bool,
}

struct Scan<'r> {
    regions: &'r mut Regions,
    file: usize,
    out: String,
    line: u32,
    open: Vec<Open>,
    /// How many iterations the next loop is told to take at a time.
    unrolls: Option<u32>,
    /// What was read since the last statement ended, and the line in which it began.
    statement: String,
    began: u32,
    /// Parentheses that are open.
    nested: u32,
    /// Loops without braces, which end with the statement, and how many braces were open.
    closes: Vec<(usize, usize)>,
}

impl Scan<'_> {
    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let at_line_start = self.out.is_empty() || self.out.ends_with('\n');
            let skipped = match next {
                '#' if at_line_start => directive(rest),
                '/' if rest.starts_with("/*") => until(rest, 2, "*/"),
                '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                '"' | '\'' => quoted(rest, next),
                _ => 0,
            };
            if skipped > 0 {
                let (taken, left) = rest.split_at(skipped);
                self.line += lines(taken);
                self.out += taken;
                rest = left;
                continue;
            }
            rest = &rest[next.len_utf8()..];
            self.character(next, rest.trim_start());
        }
    }

    /// A character, and what comes behind it.
    fn character(&mut self, c: char, behind: &str) {
        match c {
            '\n' => self.line += 1,
            '(' => self.nested += 1,
            ')' => self.nested = self.nested.saturating_sub(1),
            '{' if self.nested == 0 => return self.begin(),
            '}' if self.nested == 0 => return self.end(behind),
            ';' if self.nested == 0 => {
                self.out.push(c);
                self.close(behind);
                return self.statement.clear();
            }
            _ => {}
        }
        self.out.push(c);
        if self.statement.is_empty() {
            if c.is_whitespace() {
                return;
            }
            self.began = self.line;
        }
        self.statement.push(c);
        let ends = c == ')' && self.nested == 0;
        if ends && let Some(times) = self.statement.strip_prefix(UNROLLS) {
            // A word to the compiler in front of a loop.
            self.unrolls = times.trim_end_matches(')').trim().parse().ok();
            return self.statement.clear();
        }
        let ends = ends && leads(&self.statement);
        // (`while (..);` belongs to a `do`.)
        if ends && !behind.starts_with(['{', ';']) {
            self.out += " {";
            let at = self.region(Kind::Loop);
            self.closes.push((at, self.open.len()));
            self.statement.clear();
        }
    }

    /// Ends the loops without braces of which this is the end.
    fn close(&mut self, behind: &str) {
        if behind.starts_with("else") {
            return;
        }
        while let Some(&(at, depth)) = self.closes.last() {
            if depth != self.open.len() {
                break;
            }
            self.regions.all[at].last = self.line;
            self.out += " }";
            self.closes.pop();
        }
    }

    /// A region that begins here.
    fn region(&mut self, kind: Kind) -> usize {
        let at = self.regions.all.len();
        let closes = self.closes.last().map(|(at, depth)| (*at, *depth));
        let braces = (0..self.open.len()).rev();
        let mut own = braces.filter_map(|depth| Some((self.open[depth].region?, depth)));
        let parent = match (closes, own.next()) {
            // What has no braces stands inside of those that are open where it begins.
            (Some((loop_, depth)), Some((braced, open))) => {
                Some(if depth > open { loop_ } else { braced })
            }
            (closes, braced) => closes.or(braced).map(|(at, _)| at),
        };
        self.regions.all.push(Region {
            file: self.file,
            kind,
            first: self.began,
            opens: self.line,
            last: self.line,
            parent,
            unrolls: match kind {
                Kind::Loop => self.unrolls.take(),
                Kind::Kernel | Kind::Branch => None,
            },
        });
        self.out += &format!(" emu_region({at});");
        at
    }

    /// At an opening brace.
    fn begin(&mut self) {
        self.out.push('{');
        let statement = std::mem::take(&mut self.statement);
        let statement = statement.trim();
        let kernel = statement.contains("__global__")
            || self.open.last().is_some_and(|around| around.kernel);
        let kind = if statement.contains("__global__") {
            Some(Kind::Kernel)
        } else if leads(statement) || statement == "do" {
            Some(Kind::Loop)
        } else if kernel && branches(statement) {
            Some(Kind::Branch)
        } else {
            None
        };
        let region = kind.map(|kind| self.region(kind));
        self.open.push(Open { region, kernel });
    }

    /// At a closing brace.
    fn end(&mut self, behind: &str) {
        self.out.push('}');
        let open = self.open.pop();
        if let Some(at) = open.and_then(|open| open.region) {
            self.regions.all[at].last = self.line;
        }
        self.close(behind);
        self.statement.clear();
    }
}

/// What stands before loops that are unrolled.
const UNROLLS: &str = "SPARSEC_UNROLL(";

/// Whether a statement is a loop up to here.
fn leads(statement: &str) -> bool {
    let is = |word: &str| {
        let rest = statement.strip_prefix(word);
        rest.is_some_and(|rest| rest.trim_start().starts_with('('))
    };
    is("for") || is("while")
}

fn branches(statement: &str) -> bool {
    let is = |word: &str| statement.starts_with(word);
    is("if ") || is("else") || is("switch ")
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(0)
}

/// The length of a directive, with the lines that it goes on in.
fn directive(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    length
}

/// The length up to behind `end`, searched from `from` on.
fn until(text: &str, from: usize, end: &str) -> usize {
    let found = text[from..].find(end);
    found.map_or(text.len(), |at| from + at + end.len())
}

/// The length of a string or character.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\\' if !escaped => escaped = true,
            c if c == quote && !escaped => return at + 1,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{Kind, Regions};

    const TEXT: &str = "\
#define LOOP for (;;) { \\
    }
static int least(const int *a, int n) {
    int m = 0; /* while (0) { } */
    for (int k = 1; k < n; k++) if (a[k] < a[m]) m = k; else a++;
    return m;
}
static __global__ void __launch_bounds__(256, 4) own(int n,
    int *a) {
    int i = blockIdx.x;
    if (i < n) {
        for (int k = 0; k < n;
             k++) {
            a[i] += k;
        }
    } else {
        do {
            i--;
        } while (i > n);
    }
}
";

    #[test]
    fn loops_and_branches_of_kernels_are_marked() {
        let mut regions = Regions::default();
        let marked = regions.mark(0, TEXT);
        assert_eq!(marked.lines().count(), TEXT.lines().count());
        let without = marked.replace(|c: char| c.is_ascii_digit(), "");
        assert_eq!(without.matches("emu_region();").count(), 6);
        assert!(marked.contains("k++) { emu_region(0); if (a[k] < a[m]) m = k; else a++; }"));
        let kinds: Vec<(Kind, u32, u32, u32, Option<usize>)> = (regions.all.iter())
            .map(|r| (r.kind, r.first, r.opens, r.last, r.parent))
            .collect();
        assert_eq!(
            kinds,
            [
                (Kind::Loop, 5, 5, 5, None),
                (Kind::Kernel, 8, 9, 21, None),
                (Kind::Branch, 11, 11, 16, Some(1)),
                (Kind::Loop, 12, 13, 15, Some(2)),
                (Kind::Branch, 16, 16, 20, Some(1)),
                (Kind::Loop, 17, 17, 19, Some(4)),
            ]
        );
    }

    /// What a loop is told to be unrolled by does not hide it: accesses of one that is unrolled as a whole are not those of
    /// the loop around it, which would be taken for unrolled.
    #[test]
    fn loops_that_are_unrolled_are_loops() {
        let text = "\
static __global__ void own(int *a) {
    for (int t = 0; t < 9; t++) {
        SPARSEC_UNROLL(32)
        for (int k = 0; k < 32; k++) {
            a[t] += k;
        }
        SPARSEC_UNROLL(2)
        for (int k = 0; k < 2; k++) a[k] = 0;
    }
}
";
        let mut regions = Regions::default();
        let marked = regions.mark(0, text);
        assert!(marked.contains("k++) { emu_region(2);"), "{marked}");
        assert!(
            marked.contains("k++) { emu_region(3); a[k] = 0; }"),
            "{marked}"
        );
        assert_eq!(regions.of_line(0, 5), Some(2));
        assert_eq!(regions.all[2].parent, Some(1));
        assert_eq!(regions.led_to(0, 4), Some(2));
        let told: Vec<Option<u32>> = regions.all.iter().map(|region| region.unrolls).collect();
        assert_eq!(told, [None, None, Some(32), Some(2)]);
    }

    #[test]
    fn a_line_belongs_to_what_it_is_executed_with() {
        let mut regions = Regions::default();
        regions.mark(0, TEXT);
        // The test of a branch is its parent's, that of a loop its own.
        assert_eq!(regions.of_line(0, 11), Some(1));
        assert_eq!(regions.of_line(0, 12), Some(3));
        assert_eq!(regions.of_line(0, 14), Some(3));
        assert_eq!(regions.of_line(0, 10), Some(1));
        assert_eq!(regions.of_line(0, 6), None);
        assert_eq!(regions.of_line(1, 14), None);
        assert_eq!(regions.led_to(0, 13), Some(3));
        assert_eq!(regions.led_to(0, 14), None);
    }
}
