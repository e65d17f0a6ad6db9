//! What threads touched since the last barrier, and whether others come to it.

use super::Definitions;
use super::shape::Shape;
use crate::loops::effects::{self, Around, Facts, Homes, Touch, Who};
use crate::loops::ir::{ArrayId, Kernel, Stmt, Storage, VarId};
use crate::loops::uniform::{Uniform, Units};
use std::collections::BTreeSet;

/// An access of an array that several threads see.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    touch: Touch,
    /// Of an iteration before, of loops around both that declare these.
    earlier: BTreeSet<VarId>,
}

/// What tells the threads of a launch and their values apart.
#[derive(Clone, Copy)]
pub(super) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub shape: &'a Shape,
    pub known: &'a Definitions,
    pub uniform: &'a Uniform,
    /// Arrays of which each thread has its own.
    pub own: &'a BTreeSet<ArrayId>,
}

/// Accesses since the last barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    accesses: Vec<Access>,
    homes: Homes,
}

impl Pending {
    /// Of the same launch, before anything was accessed.
    pub(super) fn empty(&self) -> Pending {
        Pending {
            accesses: Vec::new(),
            homes: self.homes.clone(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.accesses.clear();
    }

    pub(super) fn add(&mut self, accesses: Vec<Access>) {
        for access in accesses {
            if !self.accesses.contains(&access) {
                self.accesses.push(access);
            }
        }
    }

    /// As [`Pending::add`], of the iteration before of a loop that declares `inside`.
    pub(super) fn add_earlier(&mut self, mut accesses: Vec<Access>, inside: &BTreeSet<VarId>) {
        for access in &mut accesses {
            access.earlier.extend(inside);
        }
        self.add(accesses);
    }

    pub(super) fn join(&mut self, other: Pending) {
        self.add(other.accesses);
    }

    /// Notes that the loops `around` are around what a statement declares.
    pub(super) fn declare(&mut self, stmt: &Stmt, around: &[Around]) {
        self.homes.declare(stmt, around.len());
    }

    /// The accesses of a statement.
    pub(super) fn accesses(&self, launch: Launch, around: &[Around], stmt: &Stmt) -> Vec<Access> {
        let mut homes = self.homes.clone();
        let touches = effects::touches([stmt], around, &mut homes, launch.known);
        let seen = |touch: &Touch| {
            launch.kernel.array(touch.array).storage != Storage::Input
                && !launch.own.contains(&touch.array)
        };
        touches
            .into_iter()
            .filter(seen)
            .map(|touch| Access {
                touch,
                earlier: BTreeSet::new(),
            })
            .collect()
    }

    /// Whether one of the accesses meets another thread's.
    /// The loops `around` are entered: what their iterations do to each other is settled by
    /// whoever shared them out.
    pub(super) fn conflicts(&self, launch: Launch, around: &[Around], accesses: &[Access]) -> bool {
        let meets = |new: &Access| {
            let together = |old: &Access| {
                let pairs = old.touch.around.iter().zip(around);
                pairs
                    .take_while(|(a, b)| a.var == b.var && !old.earlier.contains(&a.var))
                    .count()
            };
            self.accesses
                .iter()
                .any(|old| launch.meet(old, new, together(old)))
        };
        accesses.iter().any(meets)
    }
}

impl Launch<'_> {
    fn meet(&self, old: &Access, new: &Access, together: usize) -> bool {
        let same = |v: VarId| {
            !self.kernel.var(v).mutable
                && !old.earlier.contains(&v)
                && !self.uniform.of_var(v, Units::NONE).meets(Units::THREADS)
        };
        let facts = Facts {
            same: &same,
            fixed: &|array| self.kernel.array(array).storage == Storage::Input,
            together,
        };
        let threads = Who::Thread(self.shape.all_threads());
        effects::meet(&old.touch, &new.touch, &threads, facts)
    }
}
