//! Every statement of up to three operands in small formats is run by its plan on all that these
//! operands may store, to see which elements of the result are set.

use crate::cases::scheduled;
use crate::diagnostic::Sources;
use crate::graph::Graph;
use crate::graph::access::AccessId;
use crate::plan::counting::counting;
use crate::plan::{
    Absent, By, Case, Coverage, Inside, Loop, Node, Over, Plan, Then, Tree, Walk, plan,
};
use crate::program::ir::{TensorId, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// An operand of a program: how it is read, and its format.
type Operand = (&'static str, &'static str);

/// What a vector is made of; `#` stands for the operand's number. Three have columns, over which it
/// is summed.
const OF_VECTOR: [Operand; 7] = [
    ("D#(i)", "dense"),
    ("S#(i)", "compressed"),
    ("P#(i)", "bitmap"),
    ("sum(j, A#(i,j))", "dense, compressed"),
    ("sum(j, B#(i,j))", "compressed, compressed"),
    ("sum(j, T#(j,i))", "compressed, compressed"),
    ("sum(j, V#(j))", "compressed"),
];

const OF_MATRIX: [Operand; 7] = [
    ("D#(i,j)", "dense, dense"),
    ("A#(i,j)", "dense, compressed"),
    ("B#(i,j)", "compressed, compressed"),
    ("T#(j,i)", "dense, compressed"),
    ("P#(i,j)", "dense, bitmap"),
    ("S#(i)", "compressed"),
    ("R#(j)", "compressed"),
];

/// What schedules do besides, with what they need of the program.
const SCHEDULES: [(&str, &str); 4] = [
    ("", ""),
    ("split(i, i0, i1, 2)", ""),
    ("pos(i, p, S0(i)) split(p, p0, p1, 2)", "S0(i)"),
    (
        "fuse(i, j, f) pos(f, p, A0(i,j)) split(p, p0, p1, 2)",
        "A0(i,j)",
    ),
];

/// Rows and columns.
const EXTENT: i64 = 2;

/// What an access stores: the coordinates in the order of its levels.
type Pattern = BTreeSet<Vec<i64>>;

/// Runs a plan and notes which elements of the result it sets.
struct Runner<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    tree: &'a Tree,
    patterns: &'a BTreeMap<usize, Pattern>,
    tensor: TensorId,
    set: BTreeSet<Vec<i64>>,
    /// The last levels of appended results that get a coordinate, in this order.
    stored: Vec<Values>,
    /// Whether something was added to a sum.
    touched: bool,
}

type Values = BTreeMap<VarId, i64>;

impl Runner<'_> {
    /// The coordinates of the access down to a level, where they are known.
    fn coordinates(&self, id: AccessId, level: usize, values: &Values) -> Vec<i64> {
        let access = &self.tree.table.get(id).access;
        let format = &self.plan.tensors[access.tensor.index()].format;
        let modes = format.modes[..=level].iter();
        let vars = modes.map(|&mode| access.subscripts[mode].as_var().unwrap());
        vars.map(|var| values[&var]).collect()
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

    fn inside(&mut self, inside: &Inside, values: &Values) {
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
                    self.set = elements(self.plan.tensors[tensor.index()].dims.len());
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

/// All coordinates of so many modes.
fn elements(order: usize) -> BTreeSet<Vec<i64>> {
    let mut all = BTreeSet::from([Vec::new()]);
    for _ in 0..order {
        let longer = all.iter().flat_map(|element: &Vec<i64>| {
            (0..EXTENT).map(move |last| [element.as_slice(), &[last]].concat())
        });
        all = longer.collect();
    }
    all
}

/// How often it was said that all is set, and how often it was not said although it is so.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    programs: usize,
    refused: usize,
    whole: usize,
    unsure: usize,
}

/// The program with these operands, `ops` between them.
fn program(lhs: &str, operands: &[Operand], ops: &[&str], schedule: &str) -> String {
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
    let sizes = operands.iter().enumerate().map(|(at, (read, format))| {
        let read = read.replace('#', &at.to_string());
        let name = read.rsplit('(').nth(1).unwrap().rsplit(' ').next().unwrap();
        match format.contains(',') {
            true => format!("double(2,2) {name}"),
            false => format!("double(2) {name}"),
        }
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

/// Runs a program on all that its operands may store.
fn judge(text: &str, tally: &mut Tally) {
    tally.programs += 1;
    let Ok(graph) = scheduled(&mut Sources::default(), "", text) else {
        tally.refused += 1;
        return;
    };
    let plan = plan(&graph, graph.function.span).unwrap().unwrap();
    for tree in &plan.trees {
        for (&tensor, &said) in &tree.coverage {
            judge_of((&graph, &plan, tree), (tensor, said), text, tally);
        }
    }
}

/// All that the accesses of a tree may store.
fn all_patterns(plan: &Plan, tree: &Tree) -> impl Iterator<Item = BTreeMap<usize, Pattern>> {
    let count = tree.table.entries.len();
    let entries = tree.table.entries.iter().enumerate();
    // The bits that say what is stored.
    let places: Vec<(usize, Vec<i64>)> = entries
        .flat_map(|(at, entry)| {
            let format = &plan.tensors[entry.access.tensor.index()].format;
            let all = elements(format.order()).into_iter();
            let sparse = !format.is_dense();
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

/// Compares what is said of a tensor with what its tree does.
fn judge_of(
    (graph, plan, tree): (&Graph, &Plan, &Tree),
    (tensor, said): (TensorId, Coverage),
    text: &str,
    tally: &mut Tally,
) {
    let Some(body) = &tree.body else {
        assert_ne!(said, Coverage::Whole, "{text}");
        return;
    };
    let all = elements(plan.tensors[tensor.index()].dims.len());
    let mut always = true;
    for patterns in all_patterns(plan, tree) {
        let mut runner = Runner {
            graph,
            plan,
            tree,
            patterns: &patterns,
            tensor,
            set: BTreeSet::new(),
            stored: Vec::new(),
            touched: false,
        };
        runner.inside(body, &Values::new());
        always &= runner.set == all;
        let set = std::mem::take(&mut runner.set);
        match said {
            Coverage::Whole => assert_eq!(set, all, "{text}: {patterns:?}"),
            Coverage::Stored(id) => {
                let stored = runner.stored_elements(id);
                assert!(set.is_superset(&stored), "{text}: {patterns:?}");
            }
            Coverage::Part => {}
        }
    }
    tally.whole += usize::from(said == Coverage::Whole);
    tally.unsure += usize::from(always && said != Coverage::Whole);
}

impl Runner<'_> {
    /// The result's elements at whose coordinates the access stores something.
    fn stored_elements(&self, id: AccessId) -> BTreeSet<Vec<i64>> {
        let access = &self.tree.table.get(id).access;
        let order = self.plan.tensors[access.tensor.index()].format.order();
        let nest = &self.tree.nests[0];
        let mut vars: BTreeSet<VarId> = nest.lhs.iter().copied().collect();
        vars.extend(access.subscripts.iter().filter_map(|s| s.as_var()));
        let vars: Vec<VarId> = vars.into_iter().collect();
        assert!(
            vars.iter()
                .all(|&var| self.graph.static_range(var).is_some())
        );
        let values = elements(vars.len()).into_iter().map(|element| {
            let pairs = vars.iter().copied().zip(element);
            pairs.collect::<Values>()
        });
        let stored = values.filter(|values| self.stores(id, order - 1, values));
        stored
            .map(|values| nest.lhs.iter().map(|var| values[var]).collect())
            .collect()
    }
}

#[test]
fn what_is_said_to_be_set_is_set() {
    let mut tally = Tally::default();
    for (lhs, operands) in [("y(i)", OF_VECTOR), ("y(i,j)", OF_MATRIX)] {
        for (schedule, needs) in SCHEDULES {
            let mut judge = |operands: &[Operand], ops: &[&str]| {
                if program(lhs, operands, ops, "").contains(needs) {
                    judge(&program(lhs, operands, ops, schedule), &mut tally);
                }
            };
            for first in operands {
                judge(&[first], &[]);
                for second in operands {
                    for op in ["+", "*"] {
                        judge(&[first, second], &[op]);
                        // Of three operands the last is a vector: 10 bits at most say what is
                        // stored.
                        for third in operands.iter().filter(|o| !o.1.contains(',')) {
                            for other in ["+", "*"] {
                                judge(&[first, second, *third], &[op, other]);
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{tally:?}");
    assert_eq!(
        tally,
        Tally {
            programs: 3168,
            refused: 348,
            whole: 1410,
            unsure: 0
        }
    );
}

/// What the plan's first tree comes to where its operands store `patterns`.
fn stored(graph: &Graph, plan: &Plan, patterns: &BTreeMap<usize, Pattern>) -> Vec<Values> {
    let tree = plan.trees.last().unwrap();
    let mut runner = Runner {
        graph,
        plan,
        tree,
        patterns,
        tensor: tree.made[0].0,
        set: BTreeSet::new(),
        stored: Vec::new(),
        touched: false,
    };
    if let Some(body) = &tree.body {
        runner.inside(body, &Values::new());
    }
    runner.stored
}

/// Whether the plan says how much its last tree stores at most; `None` if it stores more.
fn stays_below(
    plan: &Plan,
    patterns: &BTreeMap<usize, Pattern>,
    stored: &[Values],
) -> Option<bool> {
    let tree = plan.trees.last()?;
    let tensor = tree.made[0].0;
    let Some(most) = tree.most.get(&tensor) else {
        return Some(false);
    };
    let positions = |&(id, last): &(AccessId, usize)| {
        let format = &plan.tensors[tree.table.get(id).access.tensor.index()].format;
        (0..=last).fold(1, |above, level| {
            let stored = patterns[&id.0].iter().map(|at| &at[..=level]);
            match format.levels[level].is_placed() {
                true => above * usize::try_from(EXTENT).unwrap(),
                false => stored.collect::<BTreeSet<_>>().len(),
            }
        })
    };
    let modes = &plan.tensors[tensor.index()].format.modes;
    let fits = |(level, levels): (usize, &Vec<(AccessId, usize)>)| {
        let vars = modes[..=level].iter().map(|&m| tree.nests[0].lhs[m]);
        let vars: Vec<VarId> = vars.collect();
        let at = |values: &Values| -> Vec<i64> { vars.iter().map(|var| values[var]).collect() };
        let elements: BTreeSet<Vec<i64>> = stored.iter().map(at).collect();
        levels.is_empty() || elements.len() <= levels.iter().map(positions).sum()
    };
    let all = most.levels.iter().enumerate().all(fits);
    all.then_some(true)
}

#[test]
fn what_is_counted_is_stored() {
    let products: [Operand; 2] = [
        ("sum(k, A#(i,k) * A#(j,k))", "dense, compressed"),
        ("sum(k, B#(i,k) * B#(j,k))", "compressed, compressed"),
    ];
    let operands: Vec<Operand> = OF_MATRIX.into_iter().chain(products).collect();
    let (mut counted, mut programs, mut bounded) = (0, 0, 0);
    for first in &operands {
        for second in &operands {
            for (op, result) in ["+", "*"].into_iter().flat_map(|op| {
                ["dense, compressed", "compressed, compressed"].map(|format| (op, format))
            }) {
                let text = program("y(i,j)", &[*first, *second], &[op], "");
                let text =
                    text.replacen("format f {", &format!("format f {{\n  y: {{{result}}}"), 1);
                programs += 1;
                let Ok(graph) = scheduled(&mut Sources::default(), "", &text) else {
                    continue;
                };
                let filling = plan(&graph, graph.function.span).unwrap().unwrap();
                let Some(counting) = counting(&filling) else {
                    continue;
                };
                for patterns in all_patterns(&filling, filling.trees.last().unwrap()) {
                    let of = |plan: &Plan| stored(&graph, plan, &patterns);
                    let all = of(&filling);
                    assert_eq!(all, of(&counting), "{text}: {patterns:?}");
                    counted += 1;
                    let has_bound = stays_below(&filling, &patterns, &all);
                    bounded += usize::from(has_bound.unwrap_or_else(|| panic!("{text}")));
                }
            }
        }
    }
    println!("{programs} programs, {counted} patterns, {bounded} with a bound");
    assert!(counted > 10_000, "{counted}");
    assert!(bounded > 10_000, "{bounded}");
}
