//! Rooms of which it is known before anything is appended how large they have to be.

use super::ir::{Room, Stmt};
use super::visit;

impl Room {
    /// Where the region with this body makes the room, if it does so once, before anything touches
    /// the arrays.
    #[must_use]
    pub fn made_at(&self, body: &[Stmt]) -> Option<usize> {
        let grows =
            |stmt: &Stmt| matches!(stmt, Stmt::Grow { capacity, .. } if *capacity == self.capacity);
        let mut all = 0;
        visit::stmts(body, &mut |stmt| all += usize::from(grows(stmt)));
        let at = body.iter().position(grows).filter(|_| all == 1)?;
        let mut touched = false;
        visit::stmts(&body[..at], &mut |stmt| {
            let arrays = visit::arrays(stmt);
            touched |= self.arrays.iter().any(|array| arrays.contains(array));
        });
        (!touched).then_some(at)
    }
}
