//! One walk over a tree makes its plan.

mod workspace;

use super::around::{Around, Progress, Top, counted};
use super::contest::{share_out, write};
use super::full;
use super::gaps::{endless, tried, unreached};
use super::locate::locate;
use super::refusal::Refusal;
use super::results::{Made, Results, walked_sparse};
use super::unordered;
use super::whole::{adds_to_workspace, constant};
use super::{Case, Inside, Loop, Merge, Node, Opened, Over, Then, Walk};
use crate::diagnostic::codes::{lower, schedule as codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::access::AccessId;
use crate::graph::lattice::{Lattice, Point, Shape};
use crate::graph::simplify::Operands;
use crate::graph::{Graph, Stmt, Tag};
use crate::program::ir::{Expr, TensorId, VarId};
use std::collections::BTreeSet;

pub(super) struct Walker<'w> {
    operands: Operands<'w>,
    results: &'w Results<'w>,
    refusal: Refusal,
    /// Results of which rows may be skipped.
    pub(super) gaps: BTreeSet<TensorId>,
    /// Tensors of which copies are added up, that must hold their fill before.
    pub(super) filled: BTreeSet<TensorId>,
    /// The first loop that would try every coordinate there is.
    pub(super) endless: Option<Diagnostic>,
    /// Collected rows that are not whole in some case.
    parts: BTreeSet<TensorId>,
}

impl<'w> Walker<'w> {
    /// Walks over a tree: what is done in it, with what the walk came to.
    pub(super) fn walk(
        operands: Operands<'w>,
        results: &'w Results<'w>,
        stmt: &Stmt,
        span: Span,
    ) -> Result<(Self, Option<Inside>), Diagnostic> {
        let mut parts = BTreeSet::new();
        loop {
            let mut walker = Walker {
                operands,
                results,
                refusal: Refusal { span },
                gaps: BTreeSet::new(),
                filled: BTreeSet::new(),
                endless: None,
                parts: parts.clone(),
            };
            let around = Around {
                progress: vec![Progress::default(); operands.table.entries.len()],
                opened: results.appended().map(|nest| (nest.tensor, 0)).collect(),
                ..Around::default()
            };
            // With nothing absent, only constants fold.
            let body = match operands.simplify(stmt, &BTreeSet::new()) {
                Some(stmt) => Some(walker.inside(stmt, around, None)?),
                None => None,
            };
            // A row is stored in one way, whatever is absent.
            let mixed = full::mixed(body.as_ref());
            if mixed.is_empty() {
                return Ok((walker, body));
            }
            parts.extend(mixed);
        }
    }

    fn graph(&self) -> &'w Graph {
        self.operands.graph
    }

    /// What is done where coordinates became known, `root` among them.
    fn inside(
        &mut self,
        stmt: Stmt,
        mut around: Around,
        root: Option<VarId>,
    ) -> Result<Inside, Diagnostic> {
        let found = locate(self.operands, self.results, &stmt, &mut around);
        unordered::unless_searched(self.operands, self.refusal, &found)?;
        if let Some(root) = root
            && found.iter().any(|found| found.by.skips())
        {
            self.results.skip_rows(root, &|_| true, &mut self.gaps);
        }
        // Joined statements: each writes its own result.
        if let Stmt::Sequence(parts) = &stmt
            && self.results.nests.len() > 1
        {
            let parts = self.results.parts(parts);
            if parts.len() > 1 {
                let mut apart = Vec::new();
                for part in parts {
                    apart.push(self.inside(part, around.clone(), root)?);
                }
                return Ok(Inside {
                    left: stmt,
                    found,
                    opened: Vec::new(),
                    then: Then::Apart(apart),
                });
            }
        }
        let opened = self.open(root, &stmt, &mut around)?;
        let then = Then::One(self.stmt(&stmt, &around)?);
        Ok(Inside {
            left: stmt,
            found,
            opened,
            then,
        })
    }

    /// The levels of results whose coordinate is `root`, and all of what is collected once its
    /// coordinates are known, as they are of positions, too.
    fn open(
        &mut self,
        root: Option<VarId>,
        stmt: &Stmt,
        around: &mut Around,
    ) -> Result<Vec<Opened>, Diagnostic> {
        let results = self.results;
        let opened = results.open(self.operands, root, stmt, around, &mut self.gaps);
        match results.shared(&opened, stmt) {
            None => Ok(opened),
            Some(tensor) => {
                let name = &self.operands.tensor(tensor).name;
                Err(self.refusal.of(
                    codes::UNSUPPORTED_COMMAND,
                    format!("sharing the loop inside an element of `{name}` is not supported yet"),
                    "joined with a statement that appends, too",
                ))
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, around: &Around) -> Result<Node, Diagnostic> {
        match stmt {
            Stmt::Forall { var, tag, body } => {
                let over = match constant(self.operands, stmt) {
                    Some((tensor, value)) if around.loops.is_empty() => {
                        Some(Over::Constant(tensor, value))
                    }
                    Some(_) | None => None,
                };
                let adds = adds_to_workspace(self.operands, stmt)
                    && walked_sparse(self.operands, stmt, around).is_empty();
                let mut inner = around.clone();
                let contest = match &tag.parallel {
                    Some(parallel) if over.is_none() => Some(share_out(
                        (self.operands, self.results),
                        (*var, parallel),
                        body,
                        &mut inner,
                        &mut self.filled,
                        self.refusal,
                    )?),
                    Some(_) | None => None,
                };
                let cut = self.cut(*var, body, &mut inner)?;
                let (over, tried) = match over {
                    Some(over) => (over, None),
                    None => self.over(*var, tag, body, &inner)?,
                };
                Ok(Node::Loop(Box::new(Loop {
                    var: *var,
                    tag: tag.clone(),
                    cut,
                    over,
                    contest,
                    tried,
                    exit: None,
                    parts: None,
                    shares: None,
                    adds,
                    completes: None,
                })))
            }
            Stmt::Within { var, skipped, body } => {
                let inner = self.within(*var, *skipped, body, around)?;
                Ok(Node::Within {
                    var: *var,
                    skipped: *skipped,
                    body: Box::new(self.stmt(body, &inner)?),
                })
            }
            Stmt::Where {
                consumer,
                producer,
                temp,
                init,
            } => {
                let parts = (&**producer, &**consumer);
                self.workspace((*temp, *init), parts, around)
            }
            Stmt::Sequence(stmts) => {
                let nodes: Result<Vec<Node>, Diagnostic> =
                    stmts.iter().map(|stmt| self.stmt(stmt, around)).collect();
                Ok(Node::Sequence(nodes?))
            }
            Stmt::Guarded { guards, body } => {
                let body = self.inside((**body).clone(), around.clone(), None)?;
                Ok(Node::Guarded(guards.clone(), Box::new(body)))
            }
            Stmt::Assign(assign) => {
                self.check_followed(assign.tensor, around);
                if self.results.is_collected(assign.tensor)
                    && around.opened.get(&assign.tensor) == Some(&0)
                {
                    let name = &self.operands.tensor(assign.tensor).name;
                    return Err(self.refusal.of(
                        lower::UNKNOWN_COORDINATE,
                        format!("the coordinates of `{name}` are not known where it is set"),
                        "in this statement",
                    ));
                }
                let write = write(self.operands, assign, around, self.refusal)?;
                Ok(Node::Assign(assign.clone(), write))
            }
        }
    }

    /// Inside loops that stay within the positions or fused values of `var`.
    fn within(
        &mut self,
        var: VarId,
        skipped: usize,
        body: &Stmt,
        around: &Around,
    ) -> Result<Around, Diagnostic> {
        let mut inner = around.clone();
        self.cut(var, body, &mut inner)?;
        let graph = self.graph();
        let top = graph.provenance.position_of(graph.provenance.top_of(var));
        if let Some(pos) = top
            && let Some(id) = self.operands.table.find(&pos.access)
        {
            let coordinates = graph.provenance.coordinates(pos.parent);
            inner
                .walked
                .extend(coordinates.into_iter().map(|root| (root, (id, pos.pos))));
            if skipped > 0 {
                let first = graph.first_level(pos.parent, &pos.access);
                inner.progress[id.0].level = first + skipped;
            }
        } else {
            inner.parts.extend(graph.provenance.coordinates(var));
        }
        Ok(inner)
    }

    /// Tiles of positions of which the loop over `var` runs over the coordinates; whether there may
    /// be coordinates of none.
    fn cut(&mut self, var: VarId, body: &Stmt, around: &mut Around) -> Result<bool, Diagnostic> {
        let mut any = false;
        for (coord, part) in self.graph().provenance.cuts(var) {
            if !around.cuts.insert(coord) {
                continue;
            }
            let top = self.graph().provenance.top_of(part);
            if let Some((access, _)) = counted(self.operands, top) {
                self.refusal.unless_covered(self.operands, access, body)?;
                let tensor = self.operands.table.get(access).access.tensor;
                let tensor = self.operands.tensor(tensor);
                unordered::unless_cut(tensor, self.refusal)?;
                any |= tensor.is_sparse();
            }
        }
        Ok(any)
    }

    /// What a loop visits, and what is done there.
    fn over(
        &mut self,
        var: VarId,
        tag: &Tag,
        body: &Stmt,
        around: &Around,
    ) -> Result<(Over, Option<AccessId>), Diagnostic> {
        let mut inner = around.inside(var);
        let (root, consecutive) = match around.top(self.operands, var) {
            Top::Nothing => {
                let body = self.inside(body.clone(), inner, None)?;
                return Ok((Over::Every { root: None, body }, None));
            }
            Top::Position(_, None) => return Err(self.refusal.of_tile(self.graph(), var)),
            Top::Position(pos, Some((access, last))) => {
                self.refusal.unless_covered(self.operands, access, body)?;
                for level in 0..=last {
                    unordered::unless_part(self.operands, self.refusal, (access, level))?;
                }
                inner.progress[access.0].level = last + 1;
                let body = self.inside(body.clone(), inner, None)?;
                return Ok((Over::Positions { access, pos, body }, None));
            }
            Top::Fused => {
                let body = self.inside(body.clone(), inner, None)?;
                return Ok((Over::Fused(body), None));
            }
            Top::Root(root, consecutive) => (root, consecutive),
        };
        if let Some(&(access, pos)) = around.walked.get(&root) {
            self.refusal.unless_covered(self.operands, access, body)?;
            self.results.skip_rows(root, &|_| true, &mut self.gaps);
            let level = around.level(access);
            unordered::unless_part(self.operands, self.refusal, (access, level))?;
            let tensor = self.operands.table.get(access).access.tensor;
            let stored = self.operands.tensor(tensor).format.levels[level];
            if stored.is_walked() {
                inner.advance(access);
            }
            let body = self.inside(body.clone(), inner, Some(root))?;
            let stored = Over::Stored {
                access,
                pos,
                level,
                root,
                body,
            };
            return Ok((stored, None));
        }
        let resolved = |id: AccessId| around.level(id);
        let mut iterators = match consecutive {
            true => {
                let known = |e: &Expr| around.is_known_but(self.operands, e, root);
                self.operands.iterators(body, root, (&resolved, &known))
            }
            false => Vec::new(),
        };
        if iterators.is_empty() {
            let tried = self.every(body, root, around);
            let body = self.inside(body.clone(), inner, Some(root))?;
            let root = Some(root);
            return Ok((Over::Every { root, body }, tried));
        }
        iterators.sort_unstable();
        let lattice = self.operands.lattice(body, iterators, &resolved);
        let once = self.operands.rest_once(&lattice.shape, root, &resolved);
        let tried = match &lattice.shape {
            Shape::Full { .. } if once.is_some() => None,
            Shape::Full { rest, .. } => self.every(rest, root, around),
            Shape::Nothing | Shape::Sparse(_) | Shape::Wide { .. } => None,
        };
        let merge = self.merge((var, root, tag), lattice, around, &inner)?;
        Ok((Over::Merge(merge), tried))
    }

    /// A result stands where an operand does only where the operand was come to.
    fn check_followed(&mut self, tensor: TensorId, around: &Around) {
        let followed = self.results.made.iter().find(|(own, _)| *own == tensor);
        if let (None, Some((_, Made::Follows(source, levels))), Some(nest)) =
            (&self.endless, followed, self.results.nests.first())
            && (around.progress[source.0].maybe || around.level(*source) < *levels)
        {
            self.endless = Some(unreached(self.operands, tensor, *source, nest.span));
        }
    }

    /// For whose sake a loop visits all of `root`, where that is not the program's wish.
    fn every(&mut self, stmt: &Stmt, root: VarId, around: &Around) -> Option<AccessId> {
        let of = (self.operands, self.results);
        if let (None, Some(nest)) = (&self.endless, self.results.nests.first()) {
            self.endless = endless(of, stmt, root, around, nest.span);
        }
        tried(of, stmt, root, around)
    }

    fn merge(
        &mut self,
        (var, root, tag): (VarId, VarId, &Tag),
        lattice: Lattice,
        around: &Around,
        inner: &Around,
    ) -> Result<Merge, Diagnostic> {
        let resolved = |id: AccessId| around.level(id);
        let counts = self.operands.counts(&lattice, &resolved);
        let leaps = self.operands.leaps(&lattice, &resolved);
        self.refusal.unless_merged(
            self.operands,
            (var, tag),
            (&lattice.iterators, counts, leaps),
        )?;
        let of = (self.operands, self.results);
        let whole = var == root && !around.parts.contains(&root);
        unordered::unless_merged(of, self.refusal, (root, whole), (&lattice, &resolved))?;
        let once = self.operands.rest_once(&lattice.shape, root, &resolved);
        let ids = lattice.iterators;
        let levels = ids.iter().map(|&id| (id, resolved(id))).collect();
        if !matches!(
            lattice.shape,
            Shape::Full { .. } | Shape::Wide { full: true, .. }
        ) {
            self.results.skip_rows(root, &|_| true, &mut self.gaps);
        }
        let walk = match lattice.shape {
            Shape::Nothing => Walk::Nothing,
            Shape::Sparse(points) => {
                let single = self.operands.single_walk(&points, &resolved);
                let mut cases = self.cases(points, inner, root)?;
                match (single, cases.len()) {
                    (Some(id), 1) => Walk::One(id, cases.remove(0).inside),
                    (None, 1) if tag.gallop => Walk::Leap(cases.remove(0)),
                    (Some(_) | None, _) => Walk::Cases(cases),
                }
            }
            Shape::Full { points, rest } => {
                let stmts = points.iter().map(|p| &p.stmt).chain([&rest]);
                let made: Vec<BTreeSet<TensorId>> = stmts
                    .map(|stmt| stmt.assigns().iter().map(|a| a.tensor).collect())
                    .collect();
                let missing = |t: TensorId| made.iter().any(|made| !made.contains(&t));
                self.results.skip_rows(root, &missing, &mut self.gaps);
                let mut cases = self.cases(points, inner, root)?;
                let rest = self.inside(rest, inner.clone(), Some(root))?;
                match once {
                    Some(id) if cases.len() == 1 => Walk::OneAndRest {
                        id,
                        body: cases.remove(0).inside,
                        rest: Box::new(rest),
                    },
                    Some(_) | None => Walk::Full { cases, rest },
                }
            }
            Shape::Wide {
                stmt,
                required,
                full,
            } => {
                let mut inner = inner.clone();
                for &id in &ids {
                    inner.advance(id);
                    inner.progress[id.0].maybe = !required.contains(&id);
                }
                let body = self.inside(stmt, inner, Some(root))?;
                Walk::Wide {
                    required,
                    full,
                    body,
                }
            }
        };
        Ok(Merge { root, levels, walk })
    }

    fn cases(
        &mut self,
        points: Vec<Point>,
        inner: &Around,
        root: VarId,
    ) -> Result<Vec<Case>, Diagnostic> {
        let mut cases = Vec::new();
        for Point { present, stmt } in points {
            let mut inner = inner.clone();
            present.iter().for_each(|&id| inner.advance(id));
            let inside = self.inside(stmt, inner, Some(root))?;
            cases.push(Case { present, inside });
        }
        Ok(cases)
    }
}
