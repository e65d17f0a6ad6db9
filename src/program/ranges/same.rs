//! One size name means one size (language.md, section 1).
//!
//! Where subscripts bound one index variable by different extents, the smallest would
//! be a choice that nobody made. Names that stand nowhere else are one size; a name
//! beside a constant has its value; what is smaller for all sizes bounds the range. Other
//! names are ambiguous. Where a subscript is a sum, the range is as large as nothing is
//! read out of bounds (paper 002, 3.1), with a warning that shows both ends.

use super::check::mismatch;
use super::report::text;
use super::{Candidate, Ranges, size};
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::program::draft::{ALIAS, Draft};
use crate::program::ir::{SizeExpr, SizeId, Synonym, VarId};
use crate::syntax::ast::Notation;

/// What inference learns about the sizes of a function, over all of its goes.
pub(super) struct Sizes {
    /// How often each stands in the dimensions that the function declares.
    places: Vec<usize>,
}

/// What each size name stands for in the next go.
#[derive(Default)]
struct Merge {
    /// The earlier size that each is (itself if none), and the constant, if it is one.
    roots: Vec<usize>,
    constants: Vec<Option<i64>>,
    changed: bool,
}

impl Sizes {
    pub(super) fn of(draft: &Draft) -> Self {
        let mut places = vec![0; draft.sizes.len()];
        let declared = draft.tensors.iter().filter(|tensor| tensor.is_declared);
        for (extent, _) in declared.flat_map(|t| t.dims.iter().flatten()) {
            if let SizeExpr::Size(id) = extent
                && let Some(count) = places.get_mut(id.index())
            {
                *count += 1;
            }
        }
        Sizes { places }
    }

    /// Makes one size of the names that must be one; whether there were any, so that
    /// inference must begin anew. Otherwise what is ambiguous is in `draft.errors`.
    pub(super) fn unify(
        &mut self,
        draft: &mut Draft,
        ranges: &Ranges,
        candidates: &[Vec<Candidate>],
    ) -> bool {
        let mut merge = Merge {
            roots: (0..draft.sizes.len()).collect(),
            constants: vec![None; draft.sizes.len()],
            changed: false,
        };
        self.calls(draft, &mut merge);
        let mut found = Vec::new();
        for (at, candidates) in candidates.iter().enumerate() {
            let var = VarId::at(at);
            if ranges.of(var).is_some_and(|found| !found.explicit)
                && let Some((a, b)) = self.compare(draft, var, candidates, &mut merge)
            {
                let ambiguous = ambiguous(draft, var, a, b);
                // Of a called function's statement, the call is what its writer can change.
                let promised = draft.promised().find(|promised| {
                    let pair = (&promised.wanted, &promised.given);
                    pair == (&a.hi, &b.hi) || pair == (&b.hi, &a.hi)
                });
                found.push(match promised {
                    Some(promised) if ambiguous.severity == Severity::Error => {
                        mismatch(draft, &promised)
                    }
                    Some(_) | None => ambiguous,
                });
            }
        }
        let before = draft.errors.len();
        if merge.changed {
            self.apply(draft, &merge);
            return draft.errors.len() == before;
        }
        let (errors, warnings): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|found| found.severity == Severity::Error);
        draft.errors.extend(errors);
        draft.remarks.extend(warnings);
        false
    }

    /// What calls make equal is as if bare subscripts did: names that stand once are one size, and a name beside a
    /// constant has its value. Of other names, inlined statements tell whether something is ambiguous.
    fn calls(&self, draft: &mut Draft, merge: &mut Merge) {
        let mut remarks = Vec::new();
        for promised in draft.promised() {
            let sides = [&promised.wanted, &promised.given];
            match sides.map(size_of) {
                [Some(a), Some(b)] => {
                    if self.places[a] <= 1 && self.places[b] <= 1 && merge.join(a, b) {
                        let why = format!("`{}` has one name for both", promised.call.callee);
                        remarks.push(one_size(draft, why, a.min(b), a.max(b)));
                    }
                }
                [Some(name), None] | [None, Some(name)] => {
                    if let Some(value) = sides.into_iter().find_map(size::constant) {
                        merge.fix(name, value);
                    }
                }
                [None, None] => {}
            }
        }
        draft.remarks.extend(remarks);
    }

    /// The first two candidates of which nothing says which one is meant.
    fn compare<'c>(
        &self,
        draft: &mut Draft,
        var: VarId,
        candidates: &'c [Candidate],
        merge: &mut Merge,
    ) -> Option<(&'c Candidate, &'c Candidate)> {
        let bare = || candidates.iter().filter(|c| c.is_bare);
        let constant = bare().find(|c| size::constant(&c.hi).is_some());
        let mut first: Option<(&Candidate, usize)> = None;
        for candidate in bare() {
            let Some(name) = size_of(&candidate.hi) else {
                continue;
            };
            if let Some(value) = constant.and_then(|c| size::constant(&c.hi)) {
                merge.fix(name, value);
                continue;
            }
            match first {
                None => first = Some((candidate, name)),
                Some((_, known)) if known == name => {}
                Some((other, known)) => {
                    if self.places[known] > 1 || self.places[name] > 1 {
                        return Some((other, candidate));
                    }
                    if merge.join(known, name) {
                        let why = format!("`{}` runs to both", draft.var(var).name);
                        draft.remarks.push(one_size(draft, why, known, name));
                    }
                }
            }
        }
        if merge.changed {
            return None;
        }
        if let Some(constant) = constant {
            let other = bare().find(|c| size::constant(&c.hi).is_some() && c.hi != constant.hi);
            if let Some(other) = other {
                return Some((constant, other));
            }
        }
        smallest(draft, candidates)
    }

    /// Replaces the merged names wherever they stand.
    fn apply(&mut self, draft: &mut Draft, merge: &Merge) {
        let mut places: Vec<usize> = Vec::new();
        let mut sizes: Vec<crate::program::ir::Size> = Vec::new();
        let mut means: Vec<SizeExpr> = Vec::new();
        let mut errors = Vec::new();
        for (at, size) in draft.sizes.iter().enumerate() {
            let root = merge.root(at);
            if let Some(value) = merge.constants[root] {
                if let Some(given) = size
                    .value
                    .filter(|given| i64::try_from(*given) != Ok(value))
                {
                    errors.push(contradiction(size.span, &size.name, given, value));
                }
                means.push(SizeExpr::Const(value));
            } else if root == at {
                means.push(SizeExpr::Size(SizeId::at(sizes.len())));
                sizes.push(size.clone());
                places.push(self.places[at]);
                continue;
            } else {
                // Roots come first.
                let meant = means[root].clone();
                if let SizeExpr::Size(id) = meant {
                    let one = &mut sizes[id.index()];
                    match (one.value, size.value) {
                        (Some(a), Some(b)) if a != b => {
                            errors.push(two_values(size.span, (&one.name, a), (&size.name, b)));
                        }
                        (None, given) => one.value = given,
                        (Some(_), _) => {}
                    }
                    places[id.index()] = places[id.index()].max(self.places[at]);
                }
                means.push(meant);
            }
            draft.synonyms.push(Synonym {
                name: size.name.clone(),
                means: SizeExpr::Size(SizeId::at(at)),
            });
        }
        draft.errors.extend(errors);
        draft.sizes = sizes;
        self.places = places;
        draft.replace_sizes(&|id: SizeId| {
            if id.0 >= ALIAS {
                return SizeExpr::Size(id);
            }
            means.get(id.index()).cloned().unwrap_or(SizeExpr::Size(id))
        });
    }
}

impl Merge {
    fn root(&self, mut at: usize) -> usize {
        while self.roots[at] != at {
            at = self.roots[at];
        }
        at
    }

    /// Whether the two were different so far.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return false;
        }
        let (early, late) = (a.min(b), a.max(b));
        self.roots[late] = early;
        self.constants[early] = self.constants[early].or(self.constants[late]);
        self.changed = true;
        true
    }

    fn fix(&mut self, name: usize, value: i64) {
        let root = self.root(name);
        // A second value is found to be another one in the next go.
        self.constants[root].get_or_insert(value);
        self.changed = true;
    }
}

/// `None` if one candidate is at most as large as each other one, whatever the sizes
/// are; an extent of zero may break that: a requirement then refuses the call. Two
/// dimensions that one variable subscripts by itself are never of different extents in
/// silence, not even where one is known to be the smaller.
fn smallest<'c>(
    draft: &Draft,
    candidates: &'c [Candidate],
) -> Option<(&'c Candidate, &'c Candidate)> {
    let mut bare = candidates.iter().filter(|c| c.is_bare);
    if let Some(first) = bare.next()
        && let Some(other) = bare.find(|other| other.hi != first.hi)
    {
        return Some((first, other));
    }
    let least_value = |id: SizeId| match draft.sizes.get(id.index()).and_then(|s| s.value) {
        Some(value) => SizeExpr::Const(i64::try_from(value).unwrap_or(i64::MAX)),
        None => size::add(SizeExpr::Size(id), SizeExpr::Const(1)),
    };
    let at_most = |a: &Candidate, b: &Candidate| {
        let (a, b) = (a.hi.with_sizes(&least_value), b.hi.with_sizes(&least_value));
        size::never_negative(&size::sub(b, a))
    };
    let mut least = candidates.first()?;
    for candidate in candidates {
        if !at_most(least, candidate) {
            least = candidate;
        }
    }
    let other = candidates.iter().find(|other| !at_most(least, other))?;
    Some((other, least))
}

fn size_of(extent: &SizeExpr) -> Option<usize> {
    if let SizeExpr::Size(id) = extent {
        (id.0 < ALIAS).then(|| id.index())
    } else {
        None
    }
}

fn one_size(draft: &Draft, why: String, first: usize, second: usize) -> Diagnostic {
    let (first, second) = (&draft.sizes[first], &draft.sizes[second]);
    Diagnostic::new(
        Severity::Warning,
        codes::ONE_SIZE,
        second.span,
        format!("`{}` and `{}` are one size", first.name, second.name),
        why,
    )
    .with_label(first.span, "the other name")
    .with_help(format!(
        "write `{}` for both: calls in which they differ are refused",
        first.name
    ))
}

fn ambiguous(draft: &Draft, var: VarId, a: &Candidate, b: &Candidate) -> Diagnostic {
    let name = &draft.var(var).name;
    let (low, high) = (text(draft, &a.hi), text(draft, &b.hi));
    let place = |c: &Candidate| {
        let tensor = &draft.tensor(c.tensor).name;
        format!(
            "`0:{}` by dimension {} of `{tensor}`",
            text(draft, &c.hi),
            c.dim
        )
    };
    let is_name = |c: &Candidate| c.is_bare && size_of(&c.hi).is_some();
    let is_constant = |c: &Candidate| c.is_bare && size::constant(&c.hi).is_some();
    let range = match draft.notation {
        Notation::Program => format!("where {name} in 0:{low}"),
        // Sizes have no names there that one could write.
        Notation::Taco => format!("-d {name}:{}", size::constant(&a.hi).unwrap_or(100)),
    };
    let (severity, help) = if is_name(a) && is_name(b) {
        let help = format!(
            "if they are equal, use one name for both; otherwise say which one is meant, as \
             in `{range}`"
        );
        (Severity::Error, help)
    } else {
        let is_error = is_constant(a) && is_constant(b);
        let help = format!("say which one is meant, as in `{range}`");
        let severity = if is_error {
            Severity::Error
        } else {
            Severity::Warning
        };
        (severity, help)
    };
    Diagnostic::new(
        severity,
        codes::AMBIGUOUS_RANGE,
        b.span,
        format!("the range of `{name}` is ambiguous: {low} or {high}"),
        place(b),
    )
    .with_label(a.span, format!("but {}", place(a)))
    .with_help(help)
}

fn contradiction(span: Span, name: &str, given: u64, value: i64) -> Diagnostic {
    Diagnostic::error(
        codes::ONE_SIZE,
        span,
        format!("`{name}` is given as {given}, but the function makes it {value}"),
        "bounds a variable together with a dimension of constant extent",
    )
    .with_help(format!("leave it out, or give {value}"))
}

fn two_values(span: Span, first: (&str, u64), second: (&str, u64)) -> Diagnostic {
    Diagnostic::error(
        codes::ONE_SIZE,
        span,
        format!(
            "`{}` and `{}` are one size, but given as {} and {}",
            first.0, second.0, first.1, second.1
        ),
        "both bound one variable",
    )
    .with_help("give them one value")
}
