//! How much an appended result stores at most, where operands say.
//!
//! Each element is opened once, on one of the paths through the cases of the loops around. An operand
//! that stands at a position on such a path, told by all coordinates of the element, has a position
//! for each element that the path opens. So operands of which each path has one store together no
//! fewer positions than the result elements: `A + B` no more than A and B do, `A * B` no more than A
//! does. How many these are is known before the loops. A condition that holds at one value of a variable has an element
//! for all values of the others.
//!
//! A row that is hashed has an element for each coordinate that is met. What stands at a position of a
//! level that stores these coordinates on each path to it has, over all rows, no fewer positions. That
//! costs nothing to ask, where the products of the longest row would have to be counted: memory of which
//! most is never touched, since a row's table grows with what it holds.

use super::{Inside, Keeps, Merge, Node, Over, Then, Tree, Walk};
use crate::graph::Graph;
use crate::graph::access::{AccessId, may_lie_outside};
use crate::graph::distance::carried;
use crate::program::ir::{Role, TensorId, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// Levels of operands that have together no fewer positions than a level of the result.
pub type Levels = Vec<(AccessId, usize)>;

/// How much a result stores at most.
#[derive(Clone, Debug, Default)]
pub struct Most {
    /// For each of its levels; nothing for one that has a place for each coordinate.
    pub levels: Vec<Levels>,
    /// Whether an element may be stored that turns out to be none, behind all others.
    pub tried: bool,
}

/// What leads to a place in the loops.
#[derive(Clone, Default)]
struct Path {
    /// On how many levels each access stands at a position.
    passed: BTreeMap<AccessId, usize>,
    /// On how many levels accesses stand at a position if there is one, which is not known.
    perhaps: BTreeMap<AccessId, usize>,
    /// The variables of the program that the loops around tell.
    told: Vec<VarId>,
    /// Whether loops run over parts of positions, so that a coordinate may be met several times.
    cut: bool,
}

impl Path {
    fn stands_at(&self, id: AccessId, level: usize) -> bool {
        self.passed.get(&id).copied().unwrap_or(0) == level
    }

    fn may_stand_at(&self, id: AccessId, level: usize) -> bool {
        self.stands_at(id, level) || self.perhaps.get(&id) == Some(&level)
    }
}

/// The bounds of the results that are appended and of the rows that are hashed. What has none at some
/// level is left out.
pub(super) fn most(graph: &Graph, tree: &Tree) -> BTreeMap<TensorId, Most> {
    let mut search = Search {
        graph,
        tree,
        made: tree.made.iter().map(|(tensor, _)| *tensor).collect(),
        hashed: BTreeSet::new(),
        paths: BTreeMap::new(),
        tried: BTreeSet::new(),
    };
    if let Some(body) = &tree.body {
        search.workspaces(body);
        search.inside(body, &Path::default());
    }
    let appended = tree.made.iter().filter(|(_, made)| made.is_appended());
    let appended = appended.map(|(tensor, _)| tensor);
    let bounded = appended.chain(&search.hashed);
    let bounds = bounded.filter_map(|tensor| Some((*tensor, search.bound(*tensor)?)));
    bounds.collect()
}

struct Search<'a> {
    graph: &'a Graph,
    tree: &'a Tree,
    /// What the loops themselves make: how much that is is not known before.
    made: BTreeSet<TensorId>,
    /// Rows that are hashed.
    hashed: BTreeSet<TensorId>,
    /// For each level of a result, what stands at a position on each path to it.
    paths: BTreeMap<(TensorId, usize), Vec<Levels>>,
    /// Results of which elements may turn out to be none.
    tried: BTreeSet<TensorId>,
}

impl Search<'_> {
    fn workspaces(&mut self, body: &Inside) {
        body.each(&mut |node| {
            if let Node::Workspace(workspace) = node {
                self.made.insert(workspace.temp);
                if matches!(workspace.keeps, Keeps::Hashed | Keeps::Shared) {
                    self.hashed.insert(workspace.temp);
                }
            }
        });
    }

    fn inside(&mut self, own: &Inside, path: &Path) {
        let mut path = path.clone();
        for found in &own.found {
            let (id, level) = (found.access, found.level);
            let entry = self.tree.table.get(id);
            let is_computed = found.by == super::By::Arithmetic
                && !may_lie_outside(self.graph, &self.graph.tensors, entry, level);
            if (found.by.skips() || is_computed) && path.stands_at(id, level) {
                path.passed.insert(id, level + 1);
            } else if path.may_stand_at(id, level) {
                path.perhaps.insert(id, level + 1);
            }
        }
        for opened in &own.opened {
            let there = self.standing(opened.tensor, opened.level, &path);
            let paths = self.paths.entry((opened.tensor, opened.level));
            paths.or_default().push(there);
            if opened.vacuous {
                self.tried.insert(opened.tensor);
            }
        }
        match &own.then {
            Then::One(node) => self.node(node, &path),
            Then::Apart(parts) => parts.iter().for_each(|part| self.inside(part, &path)),
        }
    }

    fn node(&mut self, node: &Node, path: &Path) {
        match node {
            Node::Loop(l) => {
                let mut path = path.clone();
                path.cut |= l.cut;
                self.over(&l.over, &path);
            }
            Node::Within { body, .. } => {
                let cut = Path {
                    cut: true,
                    ..path.clone()
                };
                self.node(body, &cut);
            }
            Node::Workspace(workspace) => {
                self.node(&workspace.producer, path);
                self.node(&workspace.consumer, path);
            }
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.node(node, path)),
            Node::Guarded(_, body) => self.inside(body, path),
            Node::Assign(assign, _) => {
                if let (true, &[var]) =
                    (self.hashed.contains(&assign.tensor), assign.lhs.as_slice())
                {
                    let there = self.telling(var, path);
                    self.paths
                        .entry((assign.tensor, 0))
                        .or_default()
                        .push(there);
                }
            }
        }
    }

    fn over(&mut self, over: &Over, path: &Path) {
        let mut path = path.clone();
        match over {
            Over::Constant(..) => {}
            Over::Every { root, body } => {
                path.told.extend(root);
                self.inside(body, &path);
            }
            Over::Positions { access, body, .. } => {
                path.cut = true;
                let tensor = self.tree.table.get(*access).access.tensor;
                let levels = self.graph.tensor(tensor).format.order();
                path.passed.insert(*access, levels);
                self.inside(body, &path);
            }
            Over::Stored {
                access,
                level,
                body,
                ..
            } => {
                path.cut = true;
                path.passed.insert(*access, level + 1);
                self.inside(body, &path);
            }
            Over::Fused(body) => {
                path.cut = true;
                self.inside(body, &path);
            }
            Over::Merge(merge) => {
                path.told.push(merge.root);
                self.merge(merge, &path);
            }
        }
    }

    fn merge(&mut self, merge: &Merge, path: &Path) {
        let with = |present: &BTreeSet<AccessId>| {
            let mut path = path.clone();
            let levels = merge.levels.iter();
            let walked = levels.filter(|(id, _)| present.contains(id));
            path.passed
                .extend(walked.map(|&(id, level)| (id, level + 1)));
            path
        };
        // The others may be there as well.
        let at_least = |present: &BTreeSet<AccessId>| {
            let mut all = with(present);
            for &(id, level) in &merge.levels {
                if path.may_stand_at(id, level) {
                    all.perhaps.insert(id, level + 1);
                }
            }
            all
        };
        match &merge.walk {
            Walk::Nothing => {}
            Walk::One(id, body) => self.inside(body, &with(&BTreeSet::from([*id]))),
            Walk::OneAndRest { id, body, rest } => {
                self.inside(body, &with(&BTreeSet::from([*id])));
                self.inside(rest, path);
            }
            Walk::Leap(case) => self.inside(&case.inside, &with(&case.present)),
            Walk::Cases(cases) => {
                for case in cases {
                    self.inside(&case.inside, &with(&case.present));
                }
            }
            Walk::Full { cases, rest } => {
                for case in cases {
                    self.inside(&case.inside, &with(&case.present));
                }
                self.inside(rest, path);
            }
            Walk::Wide {
                required,
                full,
                body,
            } if *full || !required.is_empty() => self.inside(body, &at_least(required)),
            // Some operand is there, whichever it is: one that was or may have been there at the levels above, too. What
            // others store further in is met on their own paths.
            Walk::Wide { body, .. } => {
                for &(id, level) in &merge.levels {
                    if path.may_stand_at(id, level) {
                        self.inside(body, &with(&BTreeSet::from([id])));
                    }
                }
            }
        }
    }

    /// The operands at positions that are told by an element's coordinates down to a level, and by
    /// those of all loops where elements come in any order.
    fn standing(&self, tensor: TensorId, level: usize, path: &Path) -> Levels {
        let Some(nest) = self.tree.nests.iter().find(|nest| nest.tensor == tensor) else {
            return Vec::new();
        };
        if path.cut {
            return Vec::new();
        }
        let modes = &self.graph.tensor(tensor).format.modes;
        let mut vars: BTreeSet<VarId> = modes[..=level].iter().map(|&m| nest.lhs[m]).collect();
        if self.graph.collected.contains(&tensor) {
            vars.extend(&path.told);
        }
        let told = |(&id, &passed): (&AccessId, &usize)| {
            let access = &self.tree.table.get(id).access;
            if self.made.contains(&access.tensor) {
                return None;
            }
            if self.graph.points.is(access.tensor) {
                let told = self.graph.points.told(access, &vars)?;
                // Memory for all values of the others is there where the result has a place for each.
                let levels = &self.graph.tensor(tensor).format.levels;
                let mut above = levels.iter().zip(&modes[..=level]);
                let placed = above.all(|(own, &m)| own.is_placed() || nest.lhs[m] == told);
                let own = passed > 0 && placed && !self.graph.collected.contains(&tensor);
                return own.then_some((id, 0));
            }
            let modes = &self.graph.tensor(access.tensor).format.modes[..passed];
            let at = |var: &VarId| {
                let mut levels = modes.iter();
                levels.position(|&mode| carried(&access.subscripts[mode]) == Some(*var))
            };
            let levels: Option<Vec<usize>> = vars.iter().map(at).collect();
            Some((id, levels?.into_iter().max()?))
        };
        let mut found: Levels = path.passed.iter().filter_map(told).collect();
        // What stores few coordinates rather than what has a place for each.
        found.sort_by_key(|&(id, level)| {
            let operand = self.tree.table.get(id).access.tensor;
            self.graph.tensor(operand).format.levels[level].is_full()
        });
        found
    }

    /// The levels of inputs at positions that store the variable. (What other trees make is not there
    /// yet where memory of rows is made, before all of them.)
    fn telling(&self, var: VarId, path: &Path) -> Levels {
        let told = |(&id, &passed): (&AccessId, &usize)| {
            let access = &self.tree.table.get(id).access;
            let tensor = self.graph.tensor(access.tensor);
            let format = &tensor.format;
            let mut modes = format.modes[..passed].iter();
            let level = modes.position(|&mode| carried(&access.subscripts[mode]) == Some(var))?;
            let known = tensor.role == Role::Input && !format.levels[level].is_full();
            known.then_some((id, level))
        };
        path.passed.iter().filter_map(told).collect()
    }

    /// The first operands of which each path has one.
    fn bound(&self, tensor: TensorId) -> Option<Most> {
        let levels = &self.graph.tensor(tensor).format.levels;
        let of_level = |(at, level): (usize, &crate::format::Level)| {
            if level.is_placed() {
                return Some(Vec::new());
            }
            let paths = self.paths.get(&(tensor, at))?;
            let mut chosen = Levels::new();
            for path in paths {
                if !path.iter().any(|own| chosen.contains(own)) {
                    chosen.push(*path.first()?);
                }
            }
            Some(chosen)
        };
        let found: Option<Vec<Levels>> = levels.iter().enumerate().map(of_level).collect();
        let found = found?;
        // Where a coordinate stands as often as its block has elements, blocks are far fewer.
        let repeats = |&(id, level): &(AccessId, usize)| {
            let operand = self.tree.table.get(id).access.tensor;
            !self.graph.tensor(operand).format.levels[level].unique
        };
        let blocks = levels.last().is_some_and(|level| level.is_placed());
        if blocks && found.iter().flatten().any(repeats) {
            return None;
        }
        Some(Most {
            levels: found,
            tried: self.tried.contains(&tensor),
        })
    }
}
