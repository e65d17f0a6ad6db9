//! What a phase does that counts what appended results will store, before anything is stored.
//!
//! The counting plan is the filling plan without its values: loops, merges and the levels of
//! results that get coordinates stay as they are; what only computes goes, with the operands that
//! only it reads. Where an element is stored only if its sums were not empty, their loops stay,
//! too, and say whether there was a term.

use super::{Contest, Found, Inside, Keeps, Loop, Node, Over, Plan, Then, Tree, Walk, Workspace};
use crate::graph::Assign;
use crate::graph::access::{AccessId, Table};
use crate::graph::fold::as_literal;
use crate::program::ir::{Expr, ExprKind, ReduceOp, TensorId};
use crate::scalar::{Literal, ScalarType};
use std::collections::BTreeSet;

/// The plan of the counting phase; `None` if nothing is appended.
#[must_use]
pub fn counting(plan: &Plan) -> Option<Plan> {
    let trees = plan.trees.iter().filter(|tree| !appended(tree).is_empty());
    let trees: Vec<Tree> = trees.map(counted).collect();
    (!trees.is_empty()).then(|| Plan {
        tensors: plan.tensors.clone(),
        trees,
    })
}

fn appended(tree: &Tree) -> BTreeSet<TensorId> {
    let made = tree.made.iter();
    let appended = made.filter(|(_, made)| made.grows());
    appended.map(|(tensor, _)| *tensor).collect()
}

/// The plan of the phase that counts what a tree appends.
pub(super) fn counted(tree: &Tree) -> Tree {
    let mut counted = tree.clone();
    counted.made.retain(|(_, made)| made.grows());
    counted.counted = None;
    counted.phase = super::Phase::Counting;
    counted.coverage.clear();
    counted.filled.clear();
    // What rows may hold is asked as in filling.
    counted
        .most
        .retain(|tensor, _| tree.made.iter().all(|(made, _)| made != tensor));
    counted.body = tree
        .body
        .as_ref()
        .and_then(|body| inside(&tree.table, body, Terms::Unasked));
    counted
}

/// What says of an element that may be none whether there was a term.
pub(crate) fn terms(table: &Table, element: &Node) -> Option<Node> {
    node(table, element, Terms::Sums)
}

/// Of which assignments it has to be known that they are done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terms {
    Unasked,
    /// An element that is stored if the workspaces it is made of got a term.
    Sums,
    /// What a workspace gets, but constants, which are none of a sum's terms.
    Workspace,
    /// All that a row is made of.
    Row,
}

impl Terms {
    fn has(self, assign: &Assign) -> bool {
        match self {
            // Filling notes terms where a workspace gets them, not where it is read.
            Terms::Unasked | Terms::Sums => false,
            Terms::Workspace => assign.lhs.is_empty() || as_literal(&assign.rhs).is_none(),
            Terms::Row => true,
        }
    }
}

/// What is left to count.
fn inside(table: &Table, own: &Inside, terms: Terms) -> Option<Inside> {
    let vacuous = own.opened.iter().any(|opened| opened.vacuous);
    let asked = match terms {
        Terms::Unasked if vacuous => Terms::Sums,
        Terms::Unasked | Terms::Sums | Terms::Workspace | Terms::Row => terms,
    };
    let then = match &own.then {
        Then::One(left) => match node(table, left, asked) {
            Some(left) => Then::One(left),
            None if own.opened.is_empty() => return None,
            None => Then::One(Node::Sequence(Vec::new())),
        },
        Then::Apart(parts) => {
            let parts: Vec<Inside> = parts
                .iter()
                .filter_map(|p| inside(table, p, terms))
                .collect();
            if parts.is_empty() {
                return None;
            }
            Then::Apart(parts)
        }
    };
    let mut counted = Inside {
        left: own.left.clone(),
        found: Vec::new(),
        opened: own.opened.clone(),
        then,
    };
    // Levels are found below those above them.
    let mut asked = BTreeSet::new();
    counted.asked(&mut asked);
    let skipping = own.found.iter().filter(|found| found.by.skips());
    asked.extend(skipping.map(|found| found.access));
    // What subscripts read is asked by those whose subscripts these are.
    let needed = |found: &&Found| asked.contains(&found.access) || table.get(found.access).nested;
    counted.found = own.found.iter().filter(needed).copied().collect();
    Some(counted)
}

fn node(table: &Table, own: &Node, terms: Terms) -> Option<Node> {
    match own {
        Node::Loop(l) => {
            let over = over(table, &l.over, terms)?;
            Some(Node::Loop(Box::new(Loop {
                over,
                // Sums of values are none any more; that there was a term is said by all.
                contest: l.contest.as_ref().map(|contest| Contest {
                    adds: contest.adds,
                    ..Contest::default()
                }),
                ..(**l).clone()
            })))
        }
        Node::Within { var, skipped, body } => Some(Node::Within {
            var: *var,
            skipped: *skipped,
            body: Box::new(node(table, body, terms)?),
        }),
        // Which elements an operand has is asked as in filling.
        Node::Workspace(workspace) if workspace.keeps == Keeps::Noted => {
            let consumer = node(table, &workspace.consumer, terms)?;
            Some(Node::Workspace(Box::new(Workspace {
                consumer,
                ..(**workspace).clone()
            })))
        }
        Node::Workspace(workspace) => {
            // Which elements a row has is what is counted.
            let is_row = workspace.keeps.is_row();
            let asked = match terms {
                _ if is_row => Terms::Row,
                Terms::Unasked => Terms::Unasked,
                Terms::Sums | Terms::Workspace | Terms::Row => Terms::Workspace,
            };
            let wanted = asked != Terms::Unasked;
            let producer = wanted
                .then(|| node(table, &workspace.producer, asked))
                .flatten();
            let consumer = node(table, &workspace.consumer, terms);
            match (producer, consumer) {
                (Some(producer), consumer) => Some(Node::Workspace(Box::new(Workspace {
                    temp: workspace.temp,
                    init: (!is_row).then_some(ReduceOp::Or),
                    keeps: match is_row {
                        true => workspace.keeps,
                        false => Keeps::All,
                    },
                    threaded: workspace.threaded,
                    producer,
                    consumer: consumer.unwrap_or(Node::Sequence(Vec::new())),
                }))),
                (None, consumer) => consumer,
            }
        }
        Node::Sequence(nodes) => {
            let mut left: Vec<Node> = nodes.iter().filter_map(|n| node(table, n, terms)).collect();
            match left.len() {
                0 => None,
                1 => left.pop(),
                _ => Some(Node::Sequence(left)),
            }
        }
        Node::Guarded(guards, body) => {
            let body = inside(table, body, terms)?;
            Some(Node::Guarded(guards.clone(), Box::new(body)))
        }
        Node::Assign(assign, _) if terms.has(assign) => Some(term(assign)),
        Node::Assign(..) => None,
    }
}

/// `sum ||= true`
fn term(assign: &Assign) -> Node {
    let rhs = Expr {
        kind: ExprKind::Literal(Literal::Bool(true)),
        ty: ScalarType::Bool,
        span: assign.rhs.span,
    };
    let counted = Assign {
        tensor: assign.tensor,
        lhs: assign.lhs.clone(),
        op: Some(ReduceOp::Or),
        rhs,
    };
    Node::Assign(counted, super::Write::Plain)
}

fn over(table: &Table, own: &Over, terms: Terms) -> Option<Over> {
    let inside = |own: &Inside| inside(table, own, terms);
    Some(match own {
        Over::Constant(..) => return None,
        Over::Every { root, body } => Over::Every {
            root: *root,
            body: inside(body)?,
        },
        Over::Positions { access, pos, body } => Over::Positions {
            access: *access,
            pos: *pos,
            body: inside(body)?,
        },
        Over::Fused(body) => Over::Fused(inside(body)?),
        Over::Stored {
            access,
            pos,
            level,
            root,
            body,
        } => Over::Stored {
            access: *access,
            pos: *pos,
            level: *level,
            root: *root,
            body: inside(body)?,
        },
        Over::Merge(merge) => {
            let mut counted = merge.clone();
            counted.walk = walk(&merge.walk, &inside)?;
            Over::Merge(counted)
        }
    })
}

/// A case in which nothing is left stays, or coordinates would be taken for another's.
fn walk(own: &Walk, inside: &dyn Fn(&Inside) -> Option<Inside>) -> Option<Walk> {
    let mut counted = own.clone();
    let mut any = false;
    for body in counted.bodies_mut() {
        let kept = inside(body);
        any |= kept.is_some();
        *body = kept.unwrap_or_else(|| Inside {
            left: body.left.clone(),
            found: Vec::new(),
            opened: Vec::new(),
            then: Then::One(Node::Sequence(Vec::new())),
        });
    }
    any.then_some(counted)
}

impl Inside {
    /// The accesses of which levels are walked or found further inside.
    fn asked(&self, ids: &mut BTreeSet<AccessId>) {
        self.parts_find(ids);
        let walks = |node: &Node, ids: &mut BTreeSet<AccessId>| {
            let Node::Loop(l) = node else { return };
            for body in l.over.bodies() {
                ids.extend(body.found.iter().map(|found| found.access));
                body.parts_find(ids);
            }
            match &l.over {
                Over::Constant(..) | Over::Every { .. } | Over::Fused(_) => {}
                Over::Positions { access, .. } | Over::Stored { access, .. } => {
                    ids.insert(*access);
                }
                Over::Merge(merge) => ids.extend(merge.levels.iter().map(|(id, _)| *id)),
            }
        };
        self.each(&mut |node| {
            walks(node, ids);
        });
    }

    /// The accesses of which statements that share loops find levels, each on its own.
    fn parts_find(&self, ids: &mut BTreeSet<AccessId>) {
        let Then::Apart(parts) = &self.then else {
            return;
        };
        for part in parts {
            ids.extend(part.found.iter().map(|found| found.access));
            part.parts_find(ids);
        }
    }
}
