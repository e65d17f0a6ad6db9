//! What the iterations of shared loops may compete for: what stands outside of a loop and is
//! written inside. Decided before a kernel is printed, from its loop IR alone.

use super::apart::apart;
use super::{Watching, is_shared};
use crate::loops::ir::{ArrayId, Expr, ExprKind, Place, Stmt, VarId};
use crate::loops::operands::{ArrayUse, Operand, VarUse};
use crate::loops::visit;
use std::collections::{BTreeMap, BTreeSet};

/// What iterations of one shared loop may compete for.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLoop {
    pub arrays: BTreeSet<ArrayId>,
    pub vars: BTreeSet<VarId>,
}

impl SharedLoop {
    pub(super) fn is_empty(&self) -> bool {
        self.arrays.is_empty() && self.vars.is_empty()
    }
}

/// The part of another array that an array is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The array that was allocated.
    pub root: ArrayId,
    /// The part of the thread that runs the iteration.
    pub own: bool,
}

/// The shared loops of a kernel in their order, outer ones first.
#[derive(Clone, Debug, Default)]
pub(super) struct Contested {
    loops: Vec<SharedLoop>,
    parts: BTreeMap<ArrayId, Part>,
}

impl Contested {
    pub(super) fn of(body: &[Stmt], watching: Watching) -> Self {
        let mut contested = Contested::default();
        visit::stmts(body, &mut |stmt| {
            if let Stmt::Slice { array, of, offset } = stmt {
                let around = contested.part(*of);
                let part = Part {
                    root: around.map_or(*of, |part| part.root),
                    own: around.is_some_and(|part| part.own) || is_threads(offset),
                };
                contested.parts.insert(*array, part);
            }
        });
        let mut loops = Vec::new();
        visit::stmts(body, &mut |stmt| {
            if let Stmt::For { var, tag, body, .. } = stmt
                && is_shared(tag)
            {
                let reduced = tag.reductions().iter().map(|(_, var)| *var).collect();
                let inside = Inside::of(body);
                let mut shared = inside.compete(&contested, &reduced);
                if watching == Watching::Unproved {
                    let apart = apart(*var, body, &inside);
                    let whole = |a: &ArrayId| !contested.is_part(*a) && apart.contains(a);
                    shared.arrays.retain(|a| !whole(a));
                }
                loops.push(shared);
            }
        });
        Contested { loops, ..contested }
    }

    pub(super) fn loops(&self) -> impl Iterator<Item = &SharedLoop> {
        self.loops.iter()
    }

    /// The loop at this place in their order.
    pub(super) fn nth(&self, at: usize) -> SharedLoop {
        self.loops.get(at).cloned().unwrap_or_default()
    }

    /// Whether elements of the array have another name too.
    fn is_part(&self, array: ArrayId) -> bool {
        let shared = |(part, of): (&ArrayId, &Part)| *part == array || of.root == array;
        self.parts.iter().any(shared)
    }

    pub(super) fn part(&self, array: ArrayId) -> Option<Part> {
        self.parts.get(&array).copied()
    }
}

/// Whether the number of the thread at hand decides the value.
fn is_threads(offset: &Expr) -> bool {
    let mut found = false;
    visit::expr(offset, &mut |e| {
        found |= e.kind == ExprKind::Place(Place::Thread);
    });
    found
}

/// What the body of a loop does.
#[derive(Default)]
pub(super) struct Inside {
    written: BTreeSet<ArrayId>,
    read: BTreeSet<ArrayId>,
    /// Declared inside: each iteration has its own.
    declared: BTreeSet<ArrayId>,
    pub assigned: BTreeSet<VarId>,
    pub own_vars: BTreeSet<VarId>,
}

impl Inside {
    pub(super) fn of(body: &[Stmt]) -> Self {
        let mut inside = Inside::default();
        visit::stmts(body, &mut |stmt| inside.one(stmt));
        inside
    }

    fn one(&mut self, stmt: &Stmt) {
        stmt.operands(&mut |operand| match operand {
            Operand::Expr(e) => visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, .. } = node.kind {
                    self.read.insert(array);
                }
            }),
            Operand::Var(var, VarUse::Declare) => {
                self.own_vars.insert(*var);
            }
            Operand::Var(var, VarUse::Assign | VarUse::Update) => {
                self.assigned.insert(*var);
            }
            Operand::Array(array, how) => match how {
                ArrayUse::Declare | ArrayUse::Alias | ArrayUse::Alloc => {
                    self.declared.insert(*array);
                }
                ArrayUse::Write | ArrayUse::Exchange | ArrayUse::Grow => {
                    self.written.insert(*array);
                }
                ArrayUse::Read => {
                    self.read.insert(*array);
                }
                ArrayUse::Part | ArrayUse::Free => {}
            },
            Operand::Body(_) => {}
        });
    }

    /// What stands outside and is written. Threads' own parts are, unless the whole they are
    /// parts of is accessed as well.
    fn compete(&self, contested: &Contested, reduced: &BTreeSet<VarId>) -> SharedLoop {
        let mut written = self.written.clone();
        for &array in self.written.union(&self.read) {
            let Some(part) = contested.part(array) else {
                continue;
            };
            let whole = self.written.contains(&part.root) || self.read.contains(&part.root);
            let shared = !part.own && self.written.contains(&array);
            if shared || (part.own && whole) {
                written.insert(part.root);
            }
            if !part.own {
                written.remove(&array);
            }
        }
        SharedLoop {
            arrays: &written - &self.declared,
            vars: &(&self.assigned - &self.own_vars) - reduced,
        }
    }
}
