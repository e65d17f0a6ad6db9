//! Rows of a sparse operand for threads: each gets neighbouring rows, with equally much in them.
//!
//! `schedule(static)` alone gives each thread equally many rows, of which the first may hold
//! most elements. Rows count, too: empty ones are set.

use super::kernel::{Dialect, Printer};
use super::types::helper_suffix;
use crate::loops::build as b;
use crate::loops::ir::{
    ArrayId, Expr, ExprKind, Kernel, OmpSchedule, Run, ScalarType, Stmt, VarId,
};

/// The text around a loop over rows.
pub(super) struct Shares {
    /// How many shares there are: known before threads begin, since each may think otherwise.
    pub count: String,
    /// The loop over the threads' shares.
    pub around: String,
    /// Where the rows of a share begin and, declared, end.
    pub begin: String,
    pub end: String,
    pub declared: String,
}

impl Printer<'_> {
    /// How the loop is shared out evenly; `None` if `schedule(static)` alone is as good, or a
    /// checker watches single iterations.
    pub(super) fn shares(&mut self, stmt: &Stmt) -> Option<Shares> {
        if self.dialect != Dialect::C || self.watch.is_some() {
            return None;
        }
        let (pos, row, lo, hi) = rows(self.kernel, stmt)?;
        let row = self.kernel.var(row).name.clone();
        let array = self.array(pos).to_string();
        let suffix = helper_suffix(self.kernel.array(pos).elem);
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let (share, shares) = (self.scopes.fresh("share"), self.scopes.fresh("shares"));
        let end = self.scopes.fresh(&format!("{row}_end"));
        let first =
            |of: &str| format!("sparsec_share_{suffix}({array}, {lo}, {hi}, {of}, {shares})");
        Some(Shares {
            count: format!("const int64_t {shares} = sparsec_thread_count();"),
            around: format!("for (int64_t {share} = 0; {share} < {shares}; {share}++) {{"),
            begin: first(&share),
            declared: format!("const int64_t {end} = {};", first(&format!("{share} + 1"))),
            end,
        })
    }
}

/// The array that says what the iterations of a loop for threads store, and the loop's bounds:
/// the positions of an operand's level, each of which the body walks.
fn rows<'s>(kernel: &Kernel, stmt: &'s Stmt) -> Option<(ArrayId, VarId, &'s Expr, &'s Expr)> {
    let Stmt::For {
        var,
        lo,
        hi,
        step: 1,
        tag,
        body,
        ..
    } = stmt
    else {
        return None;
    };
    let Run::Threads {
        schedule: OmpSchedule::Static(None),
        ..
    } = tag.run
    else {
        return None;
    };
    let pos = walked(body, *var)?;
    let is_level = kernel.interface.ascending().contains(&pos);
    (is_level && tag.reductions().is_empty()).then_some((pos, *var, lo, hi))
}

/// The array that bounds loops over `array[row]..array[row + 1]`, of each row or of each of its
/// tiles, by vectors and what they leave over. What stands in a test need not be there for all
/// rows.
fn walked(body: &[Stmt], row: VarId) -> Option<ArrayId> {
    let own = b::var(row, ScalarType::I64);
    let beside = b::add(own.clone(), b::int(1));
    let loops = || {
        body.iter().filter_map(|stmt| {
            let Stmt::For { lo, hi, body, .. } = stmt else {
                return None;
            };
            Some((lo, hi, body))
        })
    };
    let begins = loops()
        .filter_map(|(lo, ..)| loaded(lo))
        .find(|(_, index)| **index == own);
    let ends = |array: ArrayId| {
        let mut ends = loops().filter_map(|(_, hi, _)| loaded(hi));
        ends.any(|(end, next)| end == array && *next == beside)
    };
    let whole = begins.map(|(array, _)| array).filter(|&array| ends(array));
    whole.or_else(|| loops().find_map(|(.., inner)| walked(inner, row)))
}

/// Positions are loaded as they are stored, and widened.
fn loaded(e: &Expr) -> Option<(ArrayId, &Expr)> {
    match &e.kind {
        ExprKind::Load { array, index } => Some((*array, index)),
        ExprKind::Cast(inner) => loaded(inner),
        ExprKind::Literal(_)
        | ExprKind::Var(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Call(..)
        | ExprKind::Select(..)
        | ExprKind::Locate(..)
        | ExprKind::Place(_) => None,
    }
}
