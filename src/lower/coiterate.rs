//! Loops that merge several sparse levels (Kjolstad et al. 2017; 000, 6.1): the classical
//! sequence of loops with cases, every coordinate with operands walked along, or one loop
//! over the smallest coordinate.

use super::access::AccessId;
use super::recover::{Root, Window};
use super::{Lower, Lowerer, Scope};
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ScalarType};
use crate::plan::{Case, Inside};
use std::collections::BTreeSet;

/// Operands that are present, and what is done then.
type Point<'p> = (&'p BTreeSet<AccessId>, &'p Inside);

/// One sparse level being walked.
pub(super) struct Walker {
    pub(super) id: AccessId,
    /// The position, a mutable variable.
    pub(super) p: ir::VarId,
    pub(super) pos: Expr,
    pub(super) end: Expr,
    pub(super) crd: ArrayId,
    pub(super) unique: bool,
    pub(super) name: String,
    pub(super) level: usize,
}

impl Lowerer<'_> {
    pub(super) fn walkers(
        &self,
        ids: &[AccessId],
        root: &Root,
        window: &Window,
        scope: &Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<Vec<Walker>> {
        let mut walkers = Vec::new();
        for &id in ids {
            let (segment, crd) = self.windowed(id, root, window, scope, out)?;
            let name = self.level_name(id, scope);
            let (p, pos) = self.fresh_index(&format!("p{name}"), true);
            out.push(b::bind(p, segment.begin));
            let (end_var, end) = self.fresh_index(&format!("p{name}_end"), false);
            out.push(b::bind(end_var, segment.end));
            let tensor = self.tree.table.get(id).access.tensor;
            let level = scope.cursors[id.0].level;
            walkers.push(Walker {
                id,
                p,
                pos,
                end,
                crd,
                unique: self.tensor(tensor).format.levels[level].unique,
                name: self.tensor(tensor).name.clone(),
                level,
            });
        }
        Ok(walkers)
    }

    /// The end of the run of positions with the coordinate at hand: `p + 1`, or found
    /// by walking on where coordinates repeat.
    fn run_end(&self, w: &Walker, coordinate: &Expr, out: &mut Vec<ir::Stmt>) -> Expr {
        let next = b::add(w.pos.clone(), b::int(1));
        if w.unique {
            return next;
        }
        let (last, last_value) =
            self.fresh_index(&format!("p{}{}_last", w.name, w.level + 1), true);
        out.push(b::bind(last, next));
        out.push(ir::Stmt::While {
            cond: b::and(
                b::lt(last_value.clone(), w.end.clone()),
                b::eq(
                    self.load_index(w.crd, last_value.clone()),
                    coordinate.clone(),
                ),
            ),
            body: vec![b::set(last, b::add(last_value.clone(), b::int(1)))],
        });
        last_value
    }

    /// `p = end of run`, or `p++`.
    fn move_on(&self, w: &Walker, run_end: Option<&Expr>) -> ir::Stmt {
        b::set(
            w.p,
            run_end
                .cloned()
                .unwrap_or_else(|| b::add(w.pos.clone(), b::int(1))),
        )
    }

    /// A walk of one level in which coordinates repeat.
    pub(super) fn run_loop(
        &self,
        id: AccessId,
        inside: &Inside,
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let present = BTreeSet::from([id]);
        self.coiterate_all(&[(&present, inside)], root, window, scope)
    }

    /// The classical sequence of loops, one a point, with a case for each smaller point.
    pub(super) fn coiterate(
        &self,
        cases: &[Case],
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let cases: Vec<Point> = cases.iter().map(|c| (&c.present, &c.inside)).collect();
        self.coiterate_all(&cases, root, window, scope)
    }

    fn coiterate_all(
        &self,
        points: &[Point],
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let ids: BTreeSet<AccessId> = points.iter().flat_map(|p| p.0.clone()).collect();
        let ids: Vec<AccessId> = ids.into_iter().collect();
        let mut out = Vec::new();
        let walkers = self.walkers(&ids, root, window, scope, &mut out)?;
        for point in points {
            let active: Vec<&Walker> = walkers.iter().filter(|w| point.0.contains(&w.id)).collect();
            let cases: Vec<&Point> = points.iter().filter(|p| p.0.is_subset(point.0)).collect();
            out.push(self.point_loop(&active, &cases, points, root, scope)?);
        }
        Ok(out)
    }

    /// An intersection that leaps: where coordinates differ, each operand goes on to the
    /// largest of them in steps that double.
    pub(super) fn gallop(
        &self,
        case: &Case,
        root: &Root,
        window: &Window,
        scope: &Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let ids: Vec<AccessId> = case.present.iter().copied().collect();
        let mut out = Vec::new();
        let walkers = self.walkers(&ids, root, window, scope, &mut out)?;
        let var_name = self.graph.var(root.var).name.clone();
        let mut body = Vec::new();
        let mut at = Vec::new();
        for w in &walkers {
            let (c, value) = self.fresh_index(&format!("{var_name}{}", w.name), false);
            body.push(b::bind(c, self.load_index(w.crd, w.pos.clone())));
            at.push(value);
        }
        let most = at.iter().cloned().reduce(b::max);
        let (c, coordinate) = self.fresh_index(&var_name, false);
        body.push(b::bind(c, most.unwrap_or_else(|| b::int(0))));
        let mut inner = scope.clone();
        inner.coords.insert(root.var, coordinate.clone());
        for w in &walkers {
            self.advance(&mut inner, w.id, w.pos.clone(), None);
        }
        let mut meet = self.inside(&case.inside, inner, Some(root.var))?;
        meet.extend(walkers.iter().map(|w| self.move_on(w, None)));
        let mut leap = Vec::new();
        for w in &walkers {
            let (next, found) =
                self.fresh_index(&format!("p{}{}_next", w.name, w.level + 1), false);
            leap.push(ir::Stmt::Search {
                var: next,
                array: w.crd,
                lo: w.pos.clone(),
                hi: w.end.clone(),
                key: coordinate.clone(),
                by: ir::Look::Gallop,
            });
            leap.push(b::set(w.p, found));
        }
        let here = at.iter().map(|c| b::eq(c.clone(), coordinate.clone()));
        body.push(b::if_else(b::all(here), meet, leap));
        let ends = walkers.iter().map(|w| b::lt(w.pos.clone(), w.end.clone()));
        out.push(ir::Stmt::While {
            cond: b::all(ends),
            body,
        });
        Ok(out)
    }

    fn point_loop(
        &self,
        active: &[&Walker],
        cases: &[&Point],
        points: &[Point],
        root: &Root,
        scope: &Scope,
    ) -> Lower<ir::Stmt> {
        let var_name = self.graph.var(root.var).name.clone();
        let cond = b::all(active.iter().map(|w| b::lt(w.pos.clone(), w.end.clone())));
        let mut body = Vec::new();
        // The coordinates where each operand stands, and the smallest.
        let mut at: Vec<Expr> = Vec::new();
        for w in active {
            let name = if active.len() == 1 {
                var_name.clone()
            } else {
                format!("{var_name}{}", w.name)
            };
            let (c, value) = self.fresh_index(&name, false);
            body.push(b::bind(c, self.load_index(w.crd, w.pos.clone())));
            at.push(value);
        }
        let coordinate = if let [only] = at.as_slice() {
            only.clone()
        } else {
            let least = at[1..].iter().cloned().fold(at[0].clone(), b::min);
            let (c, value) = self.fresh_index(&var_name, false);
            body.push(b::bind(c, least));
            value
        };
        let mut runs: Vec<Option<Expr>> = Vec::new();
        for w in active {
            runs.push(if w.unique {
                None
            } else if active.len() == 1 {
                Some(self.run_end(w, &coordinate, &mut body))
            } else {
                // Only the run at the smallest coordinate is walked to its end.
                let (last, value) =
                    self.fresh_index(&format!("p{}{}_last", w.name, w.level + 1), true);
                body.push(b::bind(last, w.pos.clone()));
                body.push(ir::Stmt::While {
                    cond: b::and(
                        b::lt(value.clone(), w.end.clone()),
                        b::eq(self.load_index(w.crd, value.clone()), coordinate.clone()),
                    ),
                    body: vec![b::set(last, b::add(value.clone(), b::int(1)))],
                });
                Some(value)
            });
        }
        let here = |w: usize| b::eq(at[w].clone(), coordinate.clone());
        let covered = all_covered(active, points);
        let mut chain: Vec<(Expr, Vec<ir::Stmt>)> = Vec::new();
        for (n, case) in cases.iter().enumerate() {
            let mut inner = scope.clone();
            inner.coords.insert(root.var, coordinate.clone());
            let mut conditions = Vec::new();
            for (k, w) in active.iter().enumerate() {
                if case.0.contains(&w.id) {
                    if active.len() > 1 {
                        conditions.push(here(k));
                    }
                    let end = if w.unique { None } else { runs[k].clone() };
                    self.advance(&mut inner, w.id, w.pos.clone(), end);
                }
            }
            let last_of_all = covered && n + 1 == cases.len();
            let cond = if last_of_all {
                b::boolean(true)
            } else {
                b::all(conditions)
            };
            chain.push((cond, self.inside(case.1, inner, Some(root.var))?));
        }
        body.extend(if_chain(chain));
        for (k, w) in active.iter().enumerate() {
            body.push(match (&runs[k], active.len()) {
                (Some(end), _) => self.move_on(w, Some(end)),
                (None, 1) => self.move_on(w, None),
                (None, _) => b::set(
                    w.p,
                    b::add(w.pos.clone(), b::cast(ScalarType::I64, here(k))),
                ),
            });
        }
        Ok(ir::Stmt::While { cond, body })
    }
}

/// Whether some case holds at every coordinate where one of `active` stands.
fn all_covered(active: &[&Walker], points: &[Point]) -> bool {
    let n = active.len();
    (1u32..(1 << n)).all(|mask| {
        let here: BTreeSet<AccessId> = (0..n)
            .filter(|k| mask & (1 << k) != 0)
            .map(|k| active[k].id)
            .collect();
        points.iter().any(|p| p.0.is_subset(&here))
    })
}

/// `if .. else if .. else`; a condition that is true ends the chain.
pub(super) fn if_chain(chain: Vec<(Expr, Vec<ir::Stmt>)>) -> Vec<ir::Stmt> {
    let mut out: Vec<ir::Stmt> = Vec::new();
    for (cond, then) in chain.into_iter().rev() {
        if cond == b::boolean(true) {
            out = then;
        } else {
            out = vec![b::if_else(cond, then, out)];
        }
    }
    out
}
