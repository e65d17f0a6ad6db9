//! The rooms of regions that append, and of which it is known before how large they have to be.

use super::ir::{Kernel, Room, Stmt};
use super::visit;

impl Kernel {
    /// The rooms of all regions that append: each kernel of several that are chosen from has one with those of the
    /// same results.
    #[must_use]
    pub fn rooms(&self) -> Vec<&Room> {
        let mut found = Vec::new();
        visit::stmts(&self.body, &mut |stmt| {
            if let Stmt::Append { rooms, .. } = stmt {
                found.extend(rooms);
            }
        });
        found
    }
}

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
