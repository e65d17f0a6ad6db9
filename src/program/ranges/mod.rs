//! Range inference (paper 002, section 3.1), over all statements of a function.
//!
//! Ranges are rectangular and as large as they can be without reading out of bounds.
//! Inference goes in rounds: in each, every access with a single unresolved variable
//! bounds it, given the ranges of the earlier rounds; bounds found in one round
//! intersect. The shape of a tensor that no declaration gives is the range of the
//! left side's variables in the first statement that knows them; other statements
//! take theirs from it. So rounds alternate between statements until nothing changes.

pub(crate) mod affine;
mod check;
mod facts;
mod order;
mod report;
mod requirements;
mod same;
pub(crate) mod size;
mod subscripts;

use std::collections::{BTreeMap, BTreeSet};

use self::affine::{Affine, affine, constant};
use super::draft::{Draft, DraftStmt};
use super::ir::{Expr, SizeExpr, TensorId, VarId};
use crate::diagnostic::Span;

pub(super) use order::statement_order;
pub(super) use report::text as extent_text;
pub(super) use requirements::{conditional, requirements};

use self::same::Sizes;
use self::subscripts::{Subscript, is_kept, largest, room, span_of, subscripts_of};

/// One end of a variable's range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Static(SizeExpr),
    /// A `where` bound that reads data or other variables.
    Dynamic,
}

impl End {
    pub(super) fn known(&self) -> Option<&SizeExpr> {
        match self {
            Self::Static(value) => Some(value),
            Self::Dynamic => None,
        }
    }
}

/// What inference found for a variable.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) lo: End,
    pub(super) hi: End,
    /// Given by `where`.
    pub(super) explicit: bool,
}

/// The ranges of all variables that could be found, and for each variable with
/// dynamic bounds the variables that they use.
pub(super) struct Ranges {
    pub(super) found: Vec<Option<Found>>,
    pub(super) uses: BTreeMap<VarId, BTreeSet<VarId>>,
}

impl Ranges {
    pub(super) fn of(&self, var: VarId) -> Option<&Found> {
        self.found.get(var.index())?.as_ref()
    }
}

/// Finds the ranges of all variables and the shapes of all tensors; what cannot be
/// found is reported in `draft.errors`.
pub(super) fn infer(draft: &mut Draft) -> Ranges {
    let mut sizes = Sizes::of(draft);
    let before = draft.errors.len();
    let (ranges, subscripts) = loop {
        let mut solver = Solver::new(draft);
        solver.solve();
        let Solver {
            subscripts,
            ranges,
            candidates,
            ..
        } = solver;
        if draft.errors.len() > before || !sizes.unify(draft, &ranges, &candidates) {
            break (ranges, subscripts);
        }
        // What was inferred of shapes came from ranges that are other ones now.
        for tensor in draft.tensors.iter_mut().filter(|t| !t.is_declared) {
            tensor.dims.fill(None);
        }
    };
    if draft.errors.len() > before {
        return ranges;
    }
    report::unresolved(draft, &ranges, &subscripts);
    if draft.errors.len() == before {
        check::shapes(draft, &ranges);
        check::bounds(draft, &ranges, &subscripts);
        check::calls(draft);
    }
    ranges
}

/// What a pass may take as known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Accesses to tensors of known shape, and declared left sides.
    Known,
    /// Also the shape that another statement gave to the left side.
    LeftSide,
    /// Also that accesses to tensors of unknown shape bound nothing.
    IgnoreUnknown,
    /// Also that what only reads under conditions tell of has the extents of what is read: `i + 1 < N ? x(i+1) : 0`
    /// has as many elements as `x`, since its condition says which of them there are.
    Guarded,
}

struct Solver<'d, 'a> {
    draft: &'d mut Draft<'a>,
    /// For each statement the subscripts it reads, then those of its left side.
    subscripts: Vec<Vec<Subscript>>,
    ranges: Ranges,
    /// For each variable what its inferred range is the smallest of.
    candidates: Vec<Vec<Candidate>>,
}

/// A bound that one subscript gives to a variable.
struct Candidate {
    hi: SizeExpr,
    /// The variable stands there by itself, so that `hi` is the extent.
    is_bare: bool,
    tensor: TensorId,
    dim: usize,
    span: Span,
}

impl<'d, 'a> Solver<'d, 'a> {
    fn new(draft: &'d mut Draft<'a>) -> Self {
        let subscripts = draft
            .stmts
            .iter()
            .map(|s| subscripts_of(draft, s))
            .collect();
        let found = draft.vars.iter().map(|_| None).collect();
        let candidates = draft.vars.iter().map(|_| Vec::new()).collect();
        Solver {
            draft,
            subscripts,
            ranges: Ranges {
                found,
                uses: BTreeMap::new(),
            },
            candidates,
        }
    }

    fn solve(&mut self) {
        loop {
            if self.pass(Trust::Known) || self.pass(Trust::LeftSide) {
                continue;
            }
            // A tensor that is only shaped by reading itself must not hold up its readers.
            if self.pass(Trust::IgnoreUnknown) || self.pass(Trust::Guarded) {
                continue;
            }
            self.left_sides();
            return;
        }
    }

    /// What several statements write has one extent: where bare subscripts bound the variable of one, that is what
    /// another one gave the tensor.
    fn left_sides(&mut self) {
        let is_plain = |extent: &SizeExpr| matches!(extent, SizeExpr::Size(_) | SizeExpr::Const(_));
        for stmt in &self.draft.stmts {
            let tensor = self.draft.tensor(stmt.tensor);
            for (dim, var) in stmt.lhs.iter().enumerate().filter(|_| !tensor.is_declared) {
                let Some(extent) = self.draft.known_dim(stmt.tensor, dim).filter(is_plain) else {
                    continue;
                };
                let candidates = &mut self.candidates[var.index()];
                let is_bound = !candidates.is_empty()
                    && candidates.iter().all(|c| c.is_bare && is_plain(&c.hi));
                if is_bound && candidates.iter().all(|c| c.hi != extent) {
                    let known = Candidate {
                        hi: extent,
                        is_bare: true,
                        tensor: stmt.tensor,
                        dim,
                        span: self.draft.var(*var).span,
                    };
                    candidates.insert(0, known);
                }
            }
        }
    }

    /// One go over all statements; whether anything new was found. Passes that trust
    /// more stop at the first statement that they help.
    fn pass(&mut self, trust: Trust) -> bool {
        let mut progress = false;
        for at in 0..self.draft.stmts.len() {
            let mut here = self.clauses(at);
            while self.round(at, trust) {
                here = true;
                if trust != Trust::Known {
                    break;
                }
            }
            here |= self.shape(self.draft.stmts[at].tensor);
            progress |= here;
            if progress && trust != Trust::Known {
                return true;
            }
        }
        progress
    }

    /// Takes the ranges of `where` clauses whose extents are known by now.
    fn clauses(&mut self, at: usize) -> bool {
        let mut progress = false;
        let draft = &*self.draft;
        for clause in &draft.stmts[at].clauses {
            if self.ranges.found[clause.var.index()].is_some() {
                continue;
            }
            let (Some(lo), Some(hi)) = (end(draft, &clause.lo), end(draft, &clause.hi)) else {
                continue;
            };
            let mut uses = BTreeSet::new();
            for (bound, end) in [(&clause.lo, &lo), (&clause.hi, &hi)] {
                if *end == End::Dynamic {
                    bound.walk(&mut |e| uses.extend(e.as_var()));
                }
            }
            if lo == End::Dynamic || hi == End::Dynamic {
                self.ranges.uses.insert(clause.var, uses);
            }
            self.ranges.found[clause.var.index()] = Some(Found {
                lo,
                hi,
                explicit: true,
            });
            progress = true;
        }
        progress
    }

    /// One round over the accesses of one statement.
    fn round(&mut self, at: usize, trust: Trust) -> bool {
        let mut bounds: BTreeMap<VarId, Vec<Candidate>> = BTreeMap::new();
        let mut blocked: BTreeSet<VarId> = BTreeSet::new();
        let written = self.draft.stmts[at].tensor;
        let left = self.draft.stmts[at].lhs.len();
        let subscripts = &self.subscripts[at];
        let reads = subscripts.len() - left;
        for (number, subscript) in subscripts.iter().enumerate() {
            let Some(form) = &subscript.form else {
                continue;
            };
            let mut open = form.terms.keys().filter(|v| self.ranges.of(**v).is_none());
            let (Some(var), None) = (open.next(), open.next()) else {
                continue;
            };
            let is_left = number >= reads;
            if is_left && !self.draft.tensor(written).is_declared && trust == Trust::Known {
                continue;
            }
            let Some(extent) = self.draft.known_dim(subscript.tensor, subscript.dim) else {
                if !is_left {
                    blocked.insert(*var);
                }
                continue;
            };
            let Some(mut form) = form.expanded(self.draft) else {
                blocked.insert(*var);
                continue;
            };
            let kept = is_kept(self.draft, *var, &form, &extent, subscript);
            if kept {
                if trust != Trust::Guarded {
                    continue;
                }
                form = form.of_alone(*var);
            }
            if let Some(hi) = largest(*var, &form, &extent, &self.ranges) {
                bounds.entry(*var).or_default().push(Candidate {
                    is_bare: !kept
                        && form.terms.len() == 1
                        && form.rest == SizeExpr::Const(0)
                        && hi == extent,
                    hi,
                    tensor: subscript.tensor,
                    dim: subscript.dim,
                    span: subscript.span,
                });
            }
        }
        if matches!(trust, Trust::Known | Trust::LeftSide) {
            bounds.retain(|var, _| !blocked.contains(var));
        }
        let progress = !bounds.is_empty();
        for (var, candidates) in bounds {
            let extents = candidates.iter().map(|candidate| candidate.hi.clone());
            let Some(hi) = extents.reduce(size::min) else {
                continue;
            };
            self.candidates[var.index()] = candidates;
            self.ranges.found[var.index()] = Some(Found {
                lo: End::Static(SizeExpr::Const(0)),
                hi: End::Static(hi),
                explicit: false,
            });
        }
        progress
    }

    /// Fills in the extents of `tensor` that its statements tell by now.
    fn shape(&mut self, tensor: TensorId) -> bool {
        let order = self.draft.tensor(tensor).dims.len();
        let mut progress = false;
        for dim in 0..order {
            if self.draft.tensor(tensor).dims[dim].is_some() {
                continue;
            }
            if let Some(extent) = self.extent(tensor, dim) {
                self.draft.tensor_mut(tensor).dims[dim] = Some(extent);
                progress = true;
            }
        }
        progress
    }

    /// The first inferred range decides; ranges that `where` gives may cover only a
    /// part, so they decide together and only if there is no other. What data decide is checked
    /// against them.
    fn extent(&self, tensor: TensorId, dim: usize) -> Option<(SizeExpr, Span)> {
        let mut largest: Option<(SizeExpr, Span)> = None;
        let mut all_explicit = true;
        for stmt in self.draft.stmts.iter().filter(|s| s.tensor == tensor) {
            let Some(var) = stmt.lhs.get(dim) else {
                continue;
            };
            let place = self.draft.var(*var).span;
            match self.ranges.of(*var) {
                Some(found) => {
                    let hi = match &found.hi {
                        End::Static(hi) => hi.clone(),
                        // Of other variables and sizes it is known how far it goes, once their ranges are.
                        End::Dynamic => match self.form_of_end(stmt, *var) {
                            Some(form) => {
                                span_of(&form.expanded(self.draft)?, None, &self.ranges)?.1
                            }
                            None => continue,
                        },
                    };
                    if !found.explicit {
                        return Some((hi, place));
                    }
                    largest = Some(match largest {
                        None => (hi, place),
                        Some((other, place)) => (size::max(other, hi), place),
                    });
                }
                None => all_explicit = false,
            }
        }
        largest.filter(|_| all_explicit)
    }

    /// The end that `where` gives to a variable, as far as no data decide it.
    fn form_of_end(&self, stmt: &DraftStmt, var: VarId) -> Option<Affine> {
        let clause = stmt.clauses.iter().find(|clause| clause.var == var)?;
        affine(&clause.hi, &|t| self.draft.tensor(t).size_param())
    }
}

/// A bound, `None` while it names an extent that is not known yet.
fn end(draft: &Draft, bound: &Expr) -> Option<End> {
    match constant(bound, &|t| draft.tensor(t).size_param()) {
        Some(value) => Some(End::Static(size::simplify(&draft.expand(&value)?))),
        None => Some(End::Dynamic),
    }
}
