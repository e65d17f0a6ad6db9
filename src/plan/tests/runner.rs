//! Statements of up to three operands in small formats, run by their plans on all that these operands may store.

use crate::graph::Graph;
use crate::graph::access::AccessId;
use crate::graph::order::vars_in;
use crate::plan::{Absent, By, Case, Inside, Loop, Node, Over, Plan, Then, Tree, Walk};
use crate::program::ir::{BinaryOp, Expr, ExprKind, Literal, SizeExpr, TensorId, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// An operand of a program: how it is read, and its format.
pub(super) type Operand = (&'static str, &'static str);

pub(super) const OF_MATRIX: [Operand; 7] = [
    ("D#(i,j)", "dense, dense"),
    ("A#(i,j)", "dense, compressed"),
    ("B#(i,j)", "compressed, compressed"),
    ("T#(j,i)", "dense, compressed"),
    ("P#(i,j)", "dense, bitmap"),
    ("S#(i)", "compressed"),
    ("R#(j)", "compressed"),
];

/// Operands that are read at a distance, in strides, or on conditions.
pub(super) const DISTANT: [Operand; 7] = [
    ("A#(i,j+1)", "dense, compressed"),
    ("B#(i+1,j)", "compressed, compressed"),
    ("T#(j,2*i)", "dense, compressed"),
    ("S#(2*i)", "compressed"),
    ("R#(j+1)", "compressed"),
    ("(i > 0 ? A#(i-1,j) : 0)", "dense, compressed"),
    ("(i == j ? B#(i,j) : 0)", "compressed, compressed"),
];

/// Rows and columns of results.
pub(super) const EXTENT: i64 = 2;

/// What an access stores: the coordinates in the order of its levels.
pub(super) type Pattern = BTreeSet<Vec<i64>>;

/// Runs a plan and notes which elements of the result it sets.
pub(super) struct Runner<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    tree: &'a Tree,
    patterns: &'a BTreeMap<usize, Pattern>,
    tensor: TensorId,
    pub(super) set: BTreeSet<Vec<i64>>,
    /// The last levels of appended results that get a coordinate, in this order.
    pub(super) stored: Vec<Values>,
    /// Whether something was added to a sum.
    touched: bool,
}

pub(super) type Values = BTreeMap<VarId, i64>;

impl<'a> Runner<'a> {
    pub(super) fn new(
        graph: &'a Graph,
        plan: &'a Plan,
        (tree, patterns): (&'a Tree, &'a BTreeMap<usize, Pattern>),
        tensor: TensorId,
    ) -> Self {
        Runner {
            graph,
            plan,
            tree,
            patterns,
            tensor,
            set: BTreeSet::new(),
            stored: Vec::new(),
            touched: false,
        }
    }

    /// The result's elements at whose coordinates the access stores something.
    pub(super) fn stored_elements(&self, id: AccessId) -> BTreeSet<Vec<i64>> {
        let access = &self.tree.table.get(id).access;
        let order = self.plan.tensors[access.tensor.index()].format.order();
        let nest = &self.tree.nests[0];
        let mut vars: BTreeSet<VarId> = nest.lhs.iter().copied().collect();
        vars.extend(access.subscripts.iter().flat_map(vars_in));
        let vars: Vec<VarId> = vars.into_iter().collect();
        assert!(
            vars.iter()
                .all(|&var| self.graph.static_range(var).is_some())
        );
        let values = elements(&vec![EXTENT; vars.len()])
            .into_iter()
            .map(|element| {
                let pairs = vars.iter().copied().zip(element);
                pairs.collect::<Values>()
            });
        let stored = values.filter(|values| self.stores(id, order - 1, values));
        stored
            .map(|values| nest.lhs.iter().map(|var| values[var]).collect())
            .collect()
    }

    /// The coordinates of the access down to a level, where they are known.
    fn coordinates(&self, id: AccessId, level: usize, values: &Values) -> Vec<i64> {
        let access = &self.tree.table.get(id).access;
        let format = &self.plan.tensors[access.tensor.index()].format;
        let modes = format.modes[..=level].iter();
        modes
            .map(|&mode| value(&access.subscripts[mode], values))
            .collect()
    }

    /// Whether the access stores something below its coordinates.
    fn stores(&self, id: AccessId, level: usize, values: &Values) -> bool {
        let format = &self.plan.tensors[self.tree.table.get(id).access.tensor.index()].format;
        let prefix = self.coordinates(id, level, values);
        let all = (0..=level).all(|l| format.levels[l].is_full());
        all || self.patterns[&id.0]
            .iter()
            .any(|stored| stored.starts_with(&prefix))
    }

    pub(super) fn inside(&mut self, inside: &Inside, values: &Values) {
        for found in &inside.found {
            let skips = match found.by {
                By::Search(absent) | By::Probe(absent) => absent == Absent::Skip,
                By::Arithmetic => false,
            };
            if skips && !self.stores(found.access, found.level, values) {
                return;
            }
        }
        let outside = self.touched;
        self.touched = false;
        match &inside.then {
            Then::One(node) => self.node(node, values),
            Then::Apart(parts) => parts.iter().for_each(|part| self.inside(part, values)),
        }
        for opened in &inside.opened {
            let format = &self.plan.tensors[opened.tensor.index()].format;
            if opened.level + 1 == format.order() && (!opened.vacuous || self.touched) {
                self.stored.push(values.clone());
            }
        }
        self.touched |= outside;
    }

    fn node(&mut self, node: &Node, values: &Values) {
        match node {
            Node::Loop(l) => self.run(l, values),
            Node::Within { body, .. } => self.node(body, values),
            Node::Workspace(workspace) => {
                self.node(&workspace.producer, values);
                self.node(&workspace.consumer, values);
            }
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.node(node, values)),
            Node::Guarded(_, body) => self.inside(body, values),
            Node::Assign(assign, _) => {
                self.touched |= assign.op.is_some();
                if assign.tensor == self.tensor && assign.op.is_none() {
                    let element = assign.lhs.iter().map(|var| values[var]);
                    self.set.insert(element.collect());
                }
            }
        }
    }

    /// All tiles together come to what the loops inside of them come to without tiles.
    fn run(&mut self, l: &Loop, values: &Values) {
        let each = |root: VarId| {
            (0..EXTENT).map(move |value| {
                let mut values = values.clone();
                values.insert(root, value);
                values
            })
        };
        match &l.over {
            Over::Constant(tensor, _) => {
                if *tensor == self.tensor {
                    self.set = elements(&extents(self.plan, *tensor));
                }
            }
            Over::Every { root, body } => match root {
                None => self.inside(body, values),
                Some(root) => each(*root).for_each(|values| self.inside(body, &values)),
            },
            Over::Positions { .. } | Over::Fused(_) => panic!("no schedule does so"),
            Over::Stored {
                access,
                level,
                root,
                body,
                ..
            } => {
                for values in each(*root) {
                    if self.stores(*access, *level, &values) {
                        self.inside(body, &values);
                    }
                }
            }
            Over::Merge(merge) => {
                for values in each(merge.root) {
                    let stored = merge.levels.iter();
                    let here = stored.filter(|(id, level)| self.stores(*id, *level, &values));
                    let here: BTreeSet<AccessId> = here.map(|(id, _)| *id).collect();
                    self.walk(&merge.walk, &here, &values);
                }
            }
        }
    }

    fn walk(&mut self, walk: &Walk, here: &BTreeSet<AccessId>, values: &Values) {
        let at = |cases: &[Case]| -> Option<usize> {
            cases.iter().position(|case| case.present.is_subset(here))
        };
        match walk {
            Walk::Nothing => {}
            Walk::One(id, body) => {
                if here.contains(id) {
                    self.inside(body, values);
                }
            }
            // Elsewhere, once is as often as each time.
            Walk::OneAndRest { id, body, rest } => match here.contains(id) {
                true => self.inside(body, values),
                false => self.inside(rest, values),
            },
            Walk::Leap(case) => {
                if case.present.is_subset(here) {
                    self.inside(&case.inside, values);
                }
            }
            Walk::Cases(cases) => {
                if let Some(at) = at(cases) {
                    self.inside(&cases[at].inside, values);
                }
            }
            Walk::Full { cases, rest } => match at(cases) {
                Some(at) => self.inside(&cases[at].inside, values),
                None => self.inside(rest, values),
            },
            Walk::Wide {
                required,
                full,
                body,
            } => {
                if required.is_subset(here) && (*full || !here.is_empty()) {
                    self.inside(body, values);
                }
            }
        }
    }
}

/// The value of a subscript.
fn value(e: &Expr, values: &Values) -> i64 {
    if let Some(var) = e.as_var() {
        values[&var]
    } else if let ExprKind::Literal(Literal::Int(n)) = e.kind {
        n
    } else if let ExprKind::Binary(BinaryOp::Add, a, b) = &e.kind {
        value(a, values) + value(b, values)
    } else if let ExprKind::Binary(BinaryOp::Sub, a, b) = &e.kind {
        value(a, values) - value(b, values)
    } else if let ExprKind::Binary(BinaryOp::Mul, a, b) = &e.kind {
        value(a, values) * value(b, values)
    } else {
        panic!("no operand is read so")
    }
}

/// The extents of a tensor's levels.
pub(super) fn extents(plan: &Plan, tensor: TensorId) -> Vec<i64> {
    let tensor = &plan.tensors[tensor.index()];
    let extent = |&mode: &usize| {
        let SizeExpr::Const(n) = tensor.dims[mode] else {
            panic!("sizes are numbers")
        };
        n
    };
    tensor.format.modes.iter().map(extent).collect()
}

/// All coordinates of levels of these extents.
pub(super) fn elements(extents: &[i64]) -> BTreeSet<Vec<i64>> {
    let mut all = BTreeSet::from([Vec::new()]);
    for extent in extents {
        let longer = all.iter().flat_map(|element: &Vec<i64>| {
            (0..*extent).map(move |last| [element.as_slice(), &[last]].concat())
        });
        all = longer.collect();
    }
    all
}

/// The program with these operands, `ops` between them.
pub(super) fn program(lhs: &str, operands: &[Operand], ops: &[&str], schedule: &str) -> String {
    let mut rhs = String::new();
    let mut formats = String::new();
    for (at, (read, format)) in operands.iter().enumerate() {
        let read = read.replace('#', &at.to_string());
        let name = read.rsplit('(').nth(1).unwrap().rsplit(' ').next().unwrap();
        formats += &format!("  {name}: {{{format}}}\n");
        rhs += &match at.checked_sub(1) {
            None => read,
            Some(before) => format!(" {} {read}", ops[before]),
        };
    }
    let sizes = operands.iter().enumerate().map(|(at, (read, _))| {
        let read = read.replace('#', &at.to_string());
        let (before, subscripts) = read.rsplit_once('(').unwrap();
        let name = before.rsplit([' ', '(']).next().unwrap();
        // At a distance, or in strides, the results' coordinates lead to 2.
        let extent = |subscript: &str| EXTENT + i64::from(subscript.contains(['+', '*']));
        let subscripts = subscripts.trim_end_matches(')').split(',');
        let extents: Vec<String> = subscripts.map(|s| extent(s).to_string()).collect();
        format!("double({}) {name}", extents.join(","))
    });
    let parameters: Vec<String> = sizes.collect();
    let given = if schedule.is_empty() {
        String::new()
    } else {
        format!("schedule f for c {{ {schedule} }}\n")
    };
    format!(
        "def f({}) -> (y) {{ {lhs} = {rhs} }}\nformat f {{\n{formats}}}\n{given}",
        parameters.join(", ")
    )
}

/// All that the accesses of a tree may store.
pub(super) fn all_patterns(
    plan: &Plan,
    tree: &Tree,
) -> impl Iterator<Item = BTreeMap<usize, Pattern>> {
    let count = tree.table.entries.len();
    let entries = tree.table.entries.iter().enumerate();
    // The bits that say what is stored.
    let places: Vec<(usize, Vec<i64>)> = entries
        .flat_map(|(at, entry)| {
            let sparse = !plan.tensors[entry.access.tensor.index()].format.is_dense();
            let all = elements(&extents(plan, entry.access.tensor)).into_iter();
            all.filter(move |_| sparse)
                .map(move |element| (at, element))
        })
        .collect();
    (0_u32..1 << places.len()).map(move |bits| {
        let mut patterns: BTreeMap<usize, Pattern> =
            (0..count).map(|at| (at, Pattern::new())).collect();
        for (n, (at, element)) in places.iter().enumerate() {
            if bits & (1 << n) != 0 {
                patterns.entry(*at).or_default().insert(element.clone());
            }
        }
        patterns
    })
}
