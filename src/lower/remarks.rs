//! What lowering has to say of a kernel, beside it.

use super::lattice::Report;
use crate::diagnostic::{Diagnostic, Span};
use crate::loops::ir::{self, ArrayId, Kernel};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Remarks, and reports of lattices.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    said: RefCell<Vec<Diagnostic>>,
    /// Said if one of these searches is left in the end.
    searches: RefCell<Vec<(Vec<ir::VarId>, Diagnostic)>>,
    /// Said if none of these arrays is read in the end.
    unread: RefCell<Vec<(Vec<ArrayId>, Diagnostic)>>,
    /// The `prefetch` commands that some loop obeys.
    fetched: RefCell<Vec<Span>>,
    lattices: RefCell<Vec<Report>>,
}

impl Remarks {
    /// Says something, once.
    pub fn say(&self, remark: Diagnostic) {
        let mut said = self.said.borrow_mut();
        if !said.contains(&remark) {
            said.push(remark);
        }
    }

    /// Says something unless the same words have been said of another place.
    pub fn say_once(&self, remark: Diagnostic) {
        let mut said = self.said.borrow_mut();
        if said.iter().all(|r| r.message != remark.message) {
            said.push(remark);
        }
    }

    /// Says something if one of these searches is left in the end.
    pub fn say_if_searched(&self, searches: Vec<ir::VarId>, remark: Diagnostic) {
        self.searches.borrow_mut().push((searches, remark));
    }

    /// Says something if none of these arrays is read in the end.
    pub fn say_if_unread(&self, arrays: Vec<ArrayId>, remark: Diagnostic) {
        self.unread.borrow_mut().push((arrays, remark));
    }

    /// Notes that a loop obeys a `prefetch` command.
    pub fn fetch(&self, command: Span) {
        self.fetched.borrow_mut().push(command);
    }

    pub fn is_fetched(&self, command: Span) -> bool {
        self.fetched.borrow().contains(&command)
    }

    /// Keeps a lattice for `show --stage lattice`.
    pub fn report(&self, lattice: Report) {
        self.lattices.borrow_mut().push(lattice);
    }

    /// What is to be said of a kernel, and its lattices in the order in which they were met.
    pub fn finish(self, kernel: &Kernel) -> (Vec<Diagnostic>, Vec<Report>) {
        let (searches, arrays) = left(kernel);
        let mut said = self.said.into_inner();
        let mut late = self.searches.into_inner();
        late.retain(|(vars, _)| vars.iter().any(|var| searches.contains(var)));
        let mut unread = self.unread.into_inner();
        unread.retain(|(own, _)| own.iter().all(|array| !arrays.contains(array)));
        said.extend(late.into_iter().map(|(_, remark)| remark));
        said.extend(unread.into_iter().map(|(_, remark)| remark));
        (said, self.lattices.into_inner())
    }
}

/// The searches that are left in a kernel, by the variables they declare, and its arrays.
fn left(kernel: &Kernel) -> (BTreeSet<ir::VarId>, BTreeSet<ArrayId>) {
    let (mut searches, mut arrays) = (BTreeSet::new(), BTreeSet::new());
    crate::loops::visit::stmts(&kernel.body, &mut |stmt| {
        if let ir::Stmt::Search { var, by, .. } = stmt
            && !matches!(by, ir::Look::Table(_) | ir::Look::Slot(_))
        {
            searches.insert(*var);
        }
        arrays.extend(crate::loops::visit::arrays(stmt));
    });
    (searches, arrays)
}
