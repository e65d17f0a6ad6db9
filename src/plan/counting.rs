//! What a phase does that counts what appended results will store, before anything is stored.
//!
//! The counting plan is the filling plan without its values: loops, merges and the levels of
//! results that get coordinates stay as they are; what only computes goes, with the operands that
//! only it reads. Where an element is stored only if its sums were not empty, their loops stay,
//! too, and say whether there was a term.

use super::{Case, Found, Inside, Loop, Node, Over, Plan, Then, Tree, Walk, Workspace};
use crate::graph::Assign;
use crate::graph::access::AccessId;
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
    let appended = made.filter(|(_, made)| *made == super::Made::Appended);
    appended.map(|(tensor, _)| *tensor).collect()
}

fn counted(tree: &Tree) -> Tree {
    let mut counted = tree.clone();
    counted
        .made
        .retain(|(_, made)| *made == super::Made::Appended);
    counted.phase = super::Phase::Counting;
    counted.coverage.clear();
    counted.filled.clear();
    counted.body = tree.body.as_ref().and_then(|body| inside(body, false));
    counted
}

/// What is left to count; `touches` where it has to be known whether there was a term.
fn inside(own: &Inside, touches: bool) -> Option<Inside> {
    let touched = own.opened.iter().any(|opened| opened.vacuous);
    let then = match &own.then {
        Then::One(left) => match node(left, touches || touched) {
            Some(left) => Then::One(left),
            None if own.opened.is_empty() => return None,
            None => Then::One(Node::Sequence(Vec::new())),
        },
        Then::Apart(parts) => {
            let parts: Vec<Inside> = parts.iter().filter_map(|p| inside(p, touches)).collect();
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
    let mut walked = BTreeSet::new();
    counted.walked(&mut walked);
    let needed = |found: &&Found| found.by.skips() || walked.contains(&found.access);
    counted.found = own.found.iter().filter(needed).copied().collect();
    Some(counted)
}

fn node(own: &Node, touches: bool) -> Option<Node> {
    match own {
        Node::Loop(l) => {
            let over = over(&l.over, touches)?;
            Some(Node::Loop(Box::new(Loop {
                over,
                // Sums of values are none any more.
                contest: None,
                ..(**l).clone()
            })))
        }
        Node::Within { var, skipped, body } => Some(Node::Within {
            var: *var,
            skipped: *skipped,
            body: Box::new(node(body, touches)?),
        }),
        Node::Workspace(workspace) => {
            // Which elements a row has is what is counted.
            let wanted = touches || workspace.collected;
            let producer = wanted.then(|| node(&workspace.producer, true)).flatten();
            let consumer = node(&workspace.consumer, touches);
            match (producer, consumer) {
                (Some(producer), consumer) => Some(Node::Workspace(Box::new(Workspace {
                    collected: workspace.collected,
                    temp: workspace.temp,
                    init: (!workspace.collected).then_some(ReduceOp::Or),
                    filled: false,
                    threaded: workspace.threaded,
                    producer,
                    consumer: consumer.unwrap_or(Node::Sequence(Vec::new())),
                }))),
                (None, consumer) => consumer,
            }
        }
        Node::Sequence(nodes) => {
            let mut left: Vec<Node> = nodes.iter().filter_map(|n| node(n, touches)).collect();
            match left.len() {
                0 => None,
                1 => left.pop(),
                _ => Some(Node::Sequence(left)),
            }
        }
        Node::Assign(assign, _) if touches && assign.op.is_some() => Some(term(assign)),
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

fn over(own: &Over, touches: bool) -> Option<Over> {
    let inside = |own: &Inside| inside(own, touches);
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
    let empty = |own: &Inside| Inside {
        left: own.left.clone(),
        found: Vec::new(),
        opened: Vec::new(),
        then: Then::One(Node::Sequence(Vec::new())),
    };
    let kept = |own: &Inside| inside(own).unwrap_or_else(|| empty(own));
    let case = |own: &Case| Case {
        present: own.present.clone(),
        inside: kept(&own.inside),
    };
    let any = own.bodies().into_iter().any(|body| inside(body).is_some());
    any.then(|| match own {
        Walk::Nothing => Walk::Nothing,
        Walk::One(id, body) => Walk::One(*id, kept(body)),
        Walk::Leap(own) => Walk::Leap(case(own)),
        Walk::Cases(cases) => Walk::Cases(cases.iter().map(case).collect()),
        Walk::Full { cases, rest } => Walk::Full {
            cases: cases.iter().map(case).collect(),
            rest: kept(rest),
        },
        Walk::Wide {
            required,
            full,
            body,
        } => Walk::Wide {
            required: required.clone(),
            full: *full,
            body: kept(body),
        },
    })
}

impl Inside {
    /// The accesses of which loops here walk levels.
    fn walked(&self, ids: &mut BTreeSet<AccessId>) {
        let walks = |node: &Node, ids: &mut BTreeSet<AccessId>| {
            let Node::Loop(l) = node else { return };
            match &l.over {
                Over::Constant(..) | Over::Every { .. } | Over::Fused(_) => {}
                Over::Positions { access, .. } | Over::Stored { access, .. } => {
                    ids.insert(*access);
                }
                Over::Merge(merge) => ids.extend(merge.levels.iter().map(|(id, _)| *id)),
            }
        };
        let done: Result<(), std::convert::Infallible> = self.visit(&mut |node, _| {
            walks(node, ids);
            Ok(())
        });
        match done {
            Ok(()) => {}
        }
    }
}
