//! Loops that merge several sparse levels (Kjolstad et al. 2017; 000, 6.1): the classical
//! sequence of loops with cases, an intersection that leaps, every coordinate of a range, or one
//! loop over the smallest coordinate. In the last two, operands stand still until the loop comes to theirs.

use super::access::AccessId;
use super::distance::Coordinates;
use super::recover::Visit;
use super::{Lower, Lowerer};
use crate::loops::build as b;
use crate::loops::ir::{self, Expr, LoopTag, ScalarType};
use crate::plan::{Case, Inside};
use std::collections::BTreeSet;

/// Operands that are present, and what is done then.
type Point<'p> = (&'p BTreeSet<AccessId>, &'p Inside);

/// One sparse level being walked.
struct Walker {
    id: AccessId,
    /// The position, a mutable variable.
    p: ir::VarId,
    pos: Expr,
    end: Expr,
    coordinates: Coordinates,
    unique: bool,
    name: String,
    level: usize,
}

/// A walker at a coordinate of the loop.
struct Standing<'w> {
    walker: &'w Walker,
    /// Whether it stands there.
    here: Expr,
    /// Behind its last position there, where coordinates repeat.
    run: Option<Expr>,
}

impl Walker {
    /// Whether it has positions left.
    fn goes_on(&self) -> Expr {
        b::lt(self.pos.clone(), self.end.clone())
    }

    fn next(&self) -> Expr {
        b::add(self.pos.clone(), b::int(1))
    }

    /// `p2_next` of the second level.
    fn called(&self, what: &str) -> String {
        format!("p{}{}_{what}", self.name, self.level + 1)
    }
}

impl Standing<'_> {
    /// Moves the walker on if it stands here.
    fn move_on(&self) -> ir::Stmt {
        let Walker { p, pos, .. } = self.walker;
        let next = match &self.run {
            Some(end) => end.clone(),
            None if self.here == b::boolean(true) => self.walker.next(),
            None => b::add(pos.clone(), b::cast(ScalarType::I64, self.here.clone())),
        };
        b::set(*p, next)
    }
}

impl Lowerer<'_> {
    /// A walk of one level in which coordinates repeat.
    pub(super) fn run_loop(
        &self,
        id: AccessId,
        inside: &Inside,
        visit: Visit,
    ) -> Lower<Vec<ir::Stmt>> {
        self.coiterate(&[(&BTreeSet::from([id]), inside)], visit)
    }

    /// The classical sequence of loops, one a point, with a case for each smaller point.
    pub(super) fn coiterate(&self, points: &[Point], visit: Visit) -> Lower<Vec<ir::Stmt>> {
        let ids: BTreeSet<AccessId> = points.iter().flat_map(|p| p.0.clone()).collect();
        let mut out = Vec::new();
        let walkers = self.walkers(ids, visit, &mut out)?;
        for point in points {
            let active: Vec<&Walker> = walkers.iter().filter(|w| point.0.contains(&w.id)).collect();
            let cases = points.iter().filter(|p| p.0.is_subset(point.0));
            let cases: Vec<Point> = cases.copied().collect();
            out.push(self.point_loop(&active, (&cases, all_covered(&active, points)), visit)?);
        }
        Ok(out)
    }

    fn point_loop(
        &self,
        active: &[&Walker],
        (cases, covered): (&[Point], bool),
        visit: Visit,
    ) -> Lower<ir::Stmt> {
        let var_name = &self.graph.var(visit.root).name;
        let mut body = Vec::new();
        // The coordinates where each operand stands, and the smallest.
        let mut at: Vec<Expr> = Vec::new();
        for w in active {
            let name = match active {
                [_] => var_name.clone(),
                _ => format!("{var_name}{}", w.name),
            };
            at.push(self.coordinate_of(w, &name, &mut body));
        }
        let coordinate = match at.as_slice() {
            [only] => only.clone(),
            all => {
                let least = all.iter().cloned().reduce(b::min);
                self.bind(var_name, least.unwrap_or_else(|| b::int(0)), &mut body)
            }
        };
        let mut standing = Vec::new();
        for (walker, at) in active.iter().zip(at) {
            // Of several, only the run at the smallest coordinate is walked to its end.
            let from = match active {
                [_] => walker.next(),
                _ => walker.pos.clone(),
            };
            standing.push(Standing {
                walker,
                here: b::eq(at, coordinate.clone()),
                run: self.run_end(walker, from, &coordinate, &mut body),
            });
        }
        body.extend(self.first_case(cases, covered, (&standing, &coordinate), visit)?);
        self.move_on(&standing, &mut body);
        let cond = b::all(active.iter().map(|w| w.goes_on()));
        Ok(ir::Stmt::While { cond, body })
    }

    /// An intersection that leaps: where coordinates differ, each operand goes on to the
    /// largest of them in steps that double.
    pub(super) fn gallop(&self, case: &Case, visit: Visit) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let walkers = self.walkers(case.present.iter().copied(), visit, &mut out)?;
        let var_name = &self.graph.var(visit.root).name;
        let mut body = Vec::new();
        let mut at = Vec::new();
        for w in &walkers {
            at.push(self.coordinate_of(w, &format!("{var_name}{}", w.name), &mut body));
        }
        let most = at.iter().cloned().reduce(b::max);
        let coordinate = self.bind(var_name, most.unwrap_or_else(|| b::int(0)), &mut body);
        let certain = |walker| Standing {
            walker,
            here: b::boolean(true),
            run: None,
        };
        let standing: Vec<Standing> = walkers.iter().map(certain).collect();
        let point = (&case.present, &case.inside);
        let mut meet = self.first_case(&[point], false, (&standing, &coordinate), visit)?;
        self.move_on(&standing, &mut meet);
        let mut leap = Vec::new();
        for w in &walkers {
            let (next, found) = self.fresh_index(&w.called("next"), false);
            let among = (w.pos.clone(), w.end.clone());
            let look = ir::Look::Gallop;
            leap.push(w.coordinates.search(next, among, &coordinate, look));
            leap.push(b::set(w.p, found));
            leap.extend(self.pass_over(w));
        }
        let here = at.into_iter().map(|c| b::eq(c, coordinate.clone()));
        body.push(b::if_else(b::all(here), meet, leap));
        let cond = b::all(walkers.iter().map(Walker::goes_on));
        out.push(ir::Stmt::While { cond, body });
        Ok(out)
    }

    /// Every coordinate of the range, with the sparse operands walked along.
    pub(super) fn full_loop(
        &self,
        cases: &[Case],
        rest: &Inside,
        visit: Visit,
    ) -> Lower<Vec<ir::Stmt>> {
        let ids: BTreeSet<AccessId> = cases.iter().flat_map(|c| c.present.clone()).collect();
        let mut out = Vec::new();
        let walkers = self.walkers(ids, visit, &mut out)?;
        let (v, coordinate) = self.fresh_index(&self.graph.var(visit.root).name, false);
        let mut body = Vec::new();
        let standing = self.standing(&walkers, &coordinate, &mut body);
        let none = BTreeSet::new();
        let mut points: Vec<Point> = points_of(cases);
        points.push((&none, rest));
        body.extend(self.first_case(&points, true, (&standing, &coordinate), visit)?);
        self.move_on(&standing, &mut body);
        let bounds = visit.window.bounds.clone();
        out.push(bounds.each(v, LoopTag::default(), body));
        Ok(out)
    }

    /// One loop over the smallest current coordinate, in which every operand
    /// contributes its value where it stands and its fill otherwise.
    pub(super) fn wide_loop(
        &self,
        ids: &[AccessId],
        (inside, required, full): (&Inside, &BTreeSet<AccessId>, bool),
        visit: Visit,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let walkers = self.walkers(ids.iter().copied(), visit, &mut out)?;
        let (v, coordinate) = self.fresh_index(&self.graph.var(visit.root).name, !full);
        let bounds = visit.window.bounds.clone();
        let mut body = Vec::new();
        if !full {
            body.push(b::bind(v, bounds.hi.clone()));
            for w in &walkers {
                let here = self.value_at(&w.coordinates, w.pos.clone());
                let less = b::lt(here.clone(), coordinate.clone());
                body.push(b::if_then(b::and(w.goes_on(), less), vec![b::set(v, here)]));
            }
        }
        let standing = self.standing(&walkers, &coordinate, &mut body);
        let mut inner = visit.scope.clone();
        inner.coords.insert(visit.root, coordinate);
        let mut needed = Vec::new();
        for Standing { walker, here, run } in &standing {
            self.advance(&mut inner, walker.id, walker.pos.clone(), run.clone());
            if required.contains(&walker.id) {
                needed.push(here.clone());
            } else {
                inner.cursors[walker.id.0].present = Some(here.clone());
            }
        }
        body.extend(b::when(
            needed,
            self.inside(inside, inner, Some(visit.root))?,
        ));
        self.move_on(&standing, &mut body);
        out.push(if full {
            bounds.each(v, LoopTag::default(), body)
        } else {
            let needs = |w: &&Walker| required.contains(&w.id);
            let cond = if required.is_empty() {
                let all = walkers.iter().map(Walker::goes_on);
                all.fold(b::boolean(false), b::or)
            } else {
                b::all(walkers.iter().filter(needs).map(Walker::goes_on))
            };
            ir::Stmt::While { cond, body }
        });
        Ok(out)
    }

    fn walkers(
        &self,
        ids: impl IntoIterator<Item = AccessId>,
        visit: Visit,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<Vec<Walker>> {
        let mut walkers = Vec::new();
        for id in ids {
            let (segment, coordinates) = self.windowed(id, visit, out)?;
            let name = self.level_name(id, visit.scope);
            let (p, pos) = self.fresh_index(&format!("p{name}"), true);
            out.push(b::bind(p, segment.begin));
            let end = self.bind(&format!("p{name}_end"), segment.end, out);
            let tensor = self.tensor(self.tree.table.get(id).access.tensor);
            let level = visit.scope.cursors[id.0].level;
            let walker = Walker {
                id,
                p,
                pos,
                end,
                coordinates,
                unique: tensor.format.levels[level].unique,
                name: tensor.name.clone(),
                level,
            };
            out.extend(self.pass_over(&walker));
            walkers.push(walker);
        }
        Ok(walkers)
    }

    /// Moves those on that stand at the coordinate at hand.
    fn move_on(&self, standing: &[Standing], out: &mut Vec<ir::Stmt>) {
        for stands in standing {
            out.push(stands.move_on());
            out.extend(self.pass_over(stands.walker));
        }
    }

    /// Moves a walker to where the loop's variable has a value, if it may stand between two of them.
    fn pass_over(&self, w: &Walker) -> Option<ir::Stmt> {
        let between = self.has_none(&w.coordinates, w.pos.clone())?;
        let cond = b::and(w.goes_on(), between);
        let Some(value) = self.next_value(&w.coordinates, w.pos.clone()) else {
            let body = vec![b::set(w.p, w.next())];
            return Some(ir::Stmt::While { cond, body });
        };
        let (next, found) = self.fresh_index(&w.called("next"), false);
        let among = (w.pos.clone(), w.end.clone());
        let search = w.coordinates.search(next, among, &value, ir::Look::Gallop);
        let body = vec![search, b::set(w.p, found)];
        Some(ir::Stmt::While { cond, body })
    }

    /// Declares where a walker stands.
    fn coordinate_of(&self, w: &Walker, name: &str, out: &mut Vec<ir::Stmt>) -> Expr {
        self.bind(name, self.value_at(&w.coordinates, w.pos.clone()), out)
    }

    /// The end of the run of positions with the coordinate at hand, found by walking on `from` one of them or from
    /// the position behind; `None` where coordinates do not repeat.
    fn run_end(
        &self,
        w: &Walker,
        from: Expr,
        coordinate: &Expr,
        out: &mut Vec<ir::Stmt>,
    ) -> Option<Expr> {
        if w.unique {
            return None;
        }
        let (last, value) = self.fresh_index(&w.called("last"), true);
        out.push(b::bind(last, from));
        let stored = self.stored_at(&w.coordinates, value.clone());
        let same = b::eq(stored, w.coordinates.of(coordinate));
        out.push(ir::Stmt::While {
            cond: b::and(b::lt(value.clone(), w.end.clone()), same),
            body: vec![b::set(last, b::add(value.clone(), b::int(1)))],
        });
        Some(value)
    }

    /// Declares for each operand whether it stands at the coordinate, and the end of
    /// its run where coordinates repeat.
    fn standing<'w>(
        &self,
        walkers: &'w [Walker],
        coordinate: &Expr,
        out: &mut Vec<ir::Stmt>,
    ) -> Vec<Standing<'w>> {
        let stands = |walker: &'w Walker| {
            let stored = self.stored_at(&walker.coordinates, walker.pos.clone());
            let same = b::eq(stored, walker.coordinates.of(coordinate));
            let here = b::and(walker.goes_on(), same);
            let flag = self.fresh(&format!("has_{}", walker.name), ScalarType::Bool, false);
            out.push(b::bind(flag, here));
            Standing {
                walker,
                here: b::var(flag, ScalarType::Bool),
                run: self.run_end(walker, walker.pos.clone(), coordinate, out),
            }
        };
        walkers.iter().map(stands).collect()
    }

    /// What is done at a coordinate: the first case of which all operands stand there. The last one needs no test
    /// where the cases cover all that may stand there.
    fn first_case(
        &self,
        cases: &[Point],
        covered: bool,
        (standing, coordinate): (&[Standing], &Expr),
        visit: Visit,
    ) -> Lower<Vec<ir::Stmt>> {
        let mut chain: Vec<(Expr, Vec<ir::Stmt>)> = Vec::new();
        for (n, (present, inside)) in cases.iter().enumerate() {
            let mut inner = visit.scope.clone();
            inner.coords.insert(visit.root, coordinate.clone());
            let mut cond = b::boolean(true);
            for Standing { walker, here, run } in standing {
                if present.contains(&walker.id) {
                    cond = b::and(cond, here.clone());
                    self.advance(&mut inner, walker.id, walker.pos.clone(), run.clone());
                }
            }
            if covered && n + 1 == cases.len() {
                cond = b::boolean(true);
            }
            chain.push((cond, self.inside(inside, inner, Some(visit.root))?));
        }
        Ok(if_chain(chain))
    }
}

/// The cases as points of their lattice.
pub(super) fn points_of(cases: &[Case]) -> Vec<Point<'_>> {
    cases.iter().map(|c| (&c.present, &c.inside)).collect()
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
fn if_chain(chain: Vec<(Expr, Vec<ir::Stmt>)>) -> Vec<ir::Stmt> {
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
