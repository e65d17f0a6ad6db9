//! Loops in which operands stand still until the loop comes to their coordinate: over every
//! coordinate of a range, or over the smallest one.

use super::access::AccessId;
use super::coiterate::{Walker, if_chain};
use super::recover::{Root, Window};
use super::{Lower, Lowerer, Scope};
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, LoopTag, ScalarType};
use crate::plan::{Case, Inside};
use std::collections::BTreeSet;

impl Lowerer<'_> {
    /// Every coordinate of the range, with the sparse operands walked along.
    pub(super) fn full_loop(
        &self,
        cases: &[Case],
        rest: &Inside,
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let ids: BTreeSet<AccessId> = cases.iter().flat_map(|c| c.present.clone()).collect();
        let ids: Vec<AccessId> = ids.into_iter().collect();
        let mut out = Vec::new();
        let walkers = self.walkers(&ids, root, window, scope, &mut out)?;
        let (v, coordinate) = self.fresh_index(&self.graph.var(root.var).name.clone(), false);
        let (mut body, flags, runs) = self.standing(&walkers, &coordinate);
        let mut chain = Vec::new();
        for case in cases {
            let mut inner = scope.clone();
            inner.coords.insert(root.var, coordinate.clone());
            let mut conditions = Vec::new();
            for (k, w) in walkers.iter().enumerate() {
                if case.present.contains(&w.id) {
                    conditions.push(flags[k].clone());
                    self.advance(&mut inner, w.id, w.pos.clone(), runs[k].clone());
                }
            }
            chain.push((
                b::all(conditions),
                self.inside(&case.inside, inner, Some(root.var))?,
            ));
        }
        let mut inner = scope.clone();
        inner.coords.insert(root.var, coordinate.clone());
        chain.push((b::boolean(true), self.inside(rest, inner, Some(root.var))?));
        body.extend(if_chain(chain));
        self.step_standing(&walkers, &flags, &runs, &mut body);
        out.push(window.bounds.clone().each(v, LoopTag::default(), body));
        Ok(out)
    }

    /// Declares for each operand whether it stands at the coordinate, and the end of
    /// its run where coordinates repeat.
    fn standing(
        &self,
        walkers: &[Walker],
        coordinate: &Expr,
    ) -> (Vec<ir::Stmt>, Vec<Expr>, Vec<Option<Expr>>) {
        let mut body = Vec::new();
        let mut flags = Vec::new();
        let mut runs = Vec::new();
        for w in walkers {
            let here = b::and(
                b::lt(w.pos.clone(), w.end.clone()),
                b::eq(self.load_index(w.crd, w.pos.clone()), coordinate.clone()),
            );
            let flag = self.fresh(&format!("has_{}", w.name), ScalarType::Bool, false);
            body.push(b::bind(flag, here));
            flags.push(b::var(flag, ScalarType::Bool));
            if w.unique {
                runs.push(None);
                continue;
            }
            let (last, value) = self.fresh_index(&format!("p{}{}_last", w.name, w.level + 1), true);
            body.push(b::bind(last, w.pos.clone()));
            body.push(ir::Stmt::While {
                cond: b::and(
                    b::lt(value.clone(), w.end.clone()),
                    b::eq(self.load_index(w.crd, value.clone()), coordinate.clone()),
                ),
                body: vec![b::set(last, b::add(value.clone(), b::int(1)))],
            });
            runs.push(Some(value));
        }
        (body, flags, runs)
    }

    fn step_standing(
        &self,
        walkers: &[Walker],
        flags: &[Expr],
        runs: &[Option<Expr>],
        body: &mut Vec<ir::Stmt>,
    ) {
        for (k, w) in walkers.iter().enumerate() {
            let value = match &runs[k] {
                Some(end) => end.clone(),
                None => b::add(w.pos.clone(), b::cast(ScalarType::I64, flags[k].clone())),
            };
            body.push(b::set(w.p, value));
        }
    }

    /// One loop over the smallest current coordinate, in which every operand
    /// contributes its value where it stands and its fill otherwise.
    pub(super) fn wide_loop(
        &self,
        ids: &[AccessId],
        (inside, required, full): (&Inside, &BTreeSet<AccessId>, bool),
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let walkers = self.walkers(ids, root, window, scope, &mut out)?;
        let name = self.graph.var(root.var).name.clone();
        let (v, coordinate) = self.fresh_index(&name, !full);
        let mut body = Vec::new();
        let active = |w: &Walker| b::lt(w.pos.clone(), w.end.clone());
        let going = if required.is_empty() {
            walkers.iter().map(active).fold(b::boolean(false), b::or)
        } else {
            b::all(
                walkers
                    .iter()
                    .filter(|w| required.contains(&w.id))
                    .map(active),
            )
        };
        if !full {
            body.push(b::bind(v, window.bounds.hi.clone()));
            for w in &walkers {
                let (_, crd_here) = (w.id, self.load_index(w.crd, w.pos.clone()));
                body.push(b::if_then(
                    b::and(active(w), b::lt(crd_here.clone(), coordinate.clone())),
                    vec![b::set(v, crd_here)],
                ));
            }
        }
        let (standing, flags, runs) = self.standing(&walkers, &coordinate);
        body.extend(standing);
        let mut inner = scope.clone();
        inner.coords.insert(root.var, coordinate.clone());
        let mut needed = Vec::new();
        for (k, w) in walkers.iter().enumerate() {
            self.advance(&mut inner, w.id, w.pos.clone(), runs[k].clone());
            if required.contains(&w.id) {
                needed.push(flags[k].clone());
            } else {
                inner.cursors[w.id.0].present = Some(flags[k].clone());
            }
        }
        let then = self.inside(inside, inner, Some(root.var))?;
        body.extend(if_chain(vec![(b::all(needed), then)]));
        self.step_standing(&walkers, &flags, &runs, &mut body);
        out.push(if full {
            window.bounds.clone().each(v, LoopTag::default(), body)
        } else {
            ir::Stmt::While { cond: going, body }
        });
        Ok(out)
    }
}
