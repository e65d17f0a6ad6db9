//! Equal shares of rows for threads (see [`crate::plan`], which says of what).

use super::kernel::{Dialect, Printer};
use super::types::helper_suffix;
use crate::loops::ir::{Piece, Run, Stmt};

/// The text around a loop over rows.
pub(super) struct Shares {
    /// How many shares there are: known before threads begin, since each may think otherwise.
    pub count: String,
    /// The loop over the threads' shares.
    pub around: String,
    /// What a share and their number are called.
    pub names: [String; 2],
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
        let Stmt::For {
            var,
            lo,
            hi,
            step: 1,
            tag,
            ..
        } = stmt
        else {
            return None;
        };
        let Run::Threads { shares, .. } = tag.run else {
            return None;
        };
        let of = match shares {
            Some(pos) => {
                let suffix = helper_suffix(self.kernel.array(pos).elem);
                format!("sparsec_share_{suffix}({}, ", self.array(pos))
            }
            None if tag.function == Some(Piece::Share) => "sparsec_even_share(".to_string(),
            None => return None,
        };
        let row = self.kernel.var(*var).name.clone();
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        let (share, shares) = (self.scopes.fresh("share"), self.scopes.fresh("shares"));
        let end = self.scopes.fresh(&format!("{row}_end"));
        let first = |share: &str| format!("{of}{lo}, {hi}, {share}, {shares})");
        Some(Shares {
            count: format!("const int64_t {shares} = sparsec_thread_count();"),
            around: format!("for (int64_t {share} = 0; {share} < {shares}; {share}++) {{"),
            begin: first(&share),
            declared: format!("const int64_t {end} = {};", first(&format!("{share} + 1"))),
            end,
            names: [share, shares],
        })
    }
}
