//! What relations say, against all values: every graph of up to three commands on a variable of
//! few values is run as the loops it stands for.

use super::{Bound, BoundKind, By, Cut, Divide, Fuse, Partition, Precompute, Shift, Skew, Split};
mod known;

use super::{Quantity, Relation, Sizes, Top, Values};
use crate::graph::Graph;
use crate::graph::known::Known;
use crate::program::ir::{self, SizeExpr, TensorId, VarId};
use crate::{diagnostic::Sources, program, syntax};
use std::collections::BTreeMap;
use std::rc::Rc;

impl Quantity for i64 {
    fn int(n: i64) -> Self {
        n
    }

    fn as_int(&self) -> Option<i64> {
        Some(*self)
    }

    fn add(self, other: Self) -> Self {
        self + other
    }

    fn sub(self, other: Self) -> Self {
        self - other
    }

    fn mul(self, other: Self) -> Self {
        self * other
    }

    fn floor_div(self, by: Self) -> Self {
        self.div_euclid(by)
    }

    fn at_least(self, other: Self) -> Self {
        self.max(other)
    }
}

/// Numbers: those of the loops around.
struct Numbers<'a, 'g> {
    graph: &'g Graph,
    loops: &'a BTreeMap<VarId, i64>,
}

impl<'g> Values<'g> for Numbers<'_, 'g> {
    type Quantity = i64;

    fn graph(&self) -> &'g Graph {
        self.graph
    }

    fn range(&mut self, root: VarId) -> Option<(i64, i64)> {
        let (lo, hi) = self.graph.static_range(root)?;
        Some((lo.as_int()?, hi.as_int()?))
    }

    fn own(&mut self, var: VarId) -> Option<i64> {
        let value = *self.loops.get(&var)?;
        Some(value - self.origin(var)?)
    }

    fn count(&mut self, _: VarId) -> Option<i64> {
        None
    }

    fn position(&mut self, _: VarId) -> Option<i64> {
        None
    }

    fn cut(&mut self, _: VarId) -> Option<Cut<i64>> {
        None
    }

    /// The last parts are the longest.
    fn begin(&mut self, partition: &Partition, part: i64) -> Option<i64> {
        let all = self.extent(partition.parent)?;
        Some(all * part * part / (partition.parts * partition.parts))
    }

    /// The last values come first.
    fn value_at(&mut self, partition: &Partition, at: i64) -> Option<i64> {
        Some(self.extent(partition.parent)? - 1 - at)
    }

    fn size(&mut self, e: &SizeExpr) -> Option<i64> {
        e.as_int()
    }
}

/// `y(i,j)` for i from 1 to 1 + m and j from 0 to n.
fn two_loops(m: i64, n: i64) -> (Graph, VarId, VarId) {
    let text = format!(
        "def f(double(9,9) x) -> (y) {{ y(i,j) = x(i,j) where i in 1:{}, j in 0:{n} }}",
        m + 1
    );
    let mut sources = Sources::default();
    let file = sources.add("test.tc", &text);
    let ast = syntax::parse(file, &text).unwrap();
    let options = program::Options::default();
    let program = program::resolve(&[ast], &options).unwrap().program;
    let graph = Graph::build(&Rc::new(program.functions[0].clone())).unwrap();
    let loops = graph.nests[0].loop_vars();
    (graph, loops[0], loops[1])
}

fn derived(graph: &mut Graph, of: VarId) -> VarId {
    let var: ir::IndexVar = graph.var(of).clone();
    graph.add_var(var)
}

/// One more command on the loops, all that there are; the loops after it.
fn commands(graph: &Graph, loops: &[VarId]) -> Vec<(Graph, Vec<VarId>)> {
    let mut found = Vec::new();
    let mut add = |at: usize, taken: usize, make: &dyn Fn(&mut Graph) -> (Relation, Vec<VarId>)| {
        let mut graph = graph.clone();
        let (relation, children) = make(&mut graph);
        graph.provenance.relations.push(relation);
        let mut loops = loops.to_vec();
        loops.splice(at..at + taken, children);
        found.push((graph, loops));
    };
    for (at, &parent) in loops.iter().enumerate() {
        for factor in [1, 2, 3] {
            add(at, 1, &|graph| {
                let (outer, inner) = (derived(graph, parent), derived(graph, parent));
                let split = Split {
                    parent,
                    outer,
                    inner,
                    factor,
                };
                (Relation::Split(split), vec![outer, inner])
            });
        }
        add(at, 1, &|graph| {
            let (outer, inner) = (derived(graph, parent), derived(graph, parent));
            let divide = Divide {
                parent,
                outer,
                inner,
                parts: 2,
            };
            (Relation::Divide(divide), vec![outer, inner])
        });
        // Lists are of variables of the program.
        let whole = graph.provenance.producer(parent).is_none();
        let lengths = whole.then(|| By::Lengths(TensorId(0), Rc::from([2, 4])));
        for by in [By::Stored(TensorId(0))].into_iter().chain(lengths) {
            add(at, 1, &|graph| {
                let (part, inner) = (derived(graph, parent), derived(graph, parent));
                let partition = Partition {
                    parent,
                    part,
                    inner,
                    parts: 3,
                    by: by.clone(),
                };
                (Relation::Partition(partition), vec![part, inner])
            });
        }
        add(at, 1, &|graph| {
            let child = derived(graph, parent);
            let copy = Precompute { parent, child };
            (Relation::Precompute(copy), vec![child])
        });
        add(at, 1, &|graph| {
            let child = derived(graph, parent);
            let shift = Shift {
                parent,
                child,
                by: -3,
            };
            (Relation::Shift(shift), vec![child])
        });
        // Promises that hold: nothing is said of what data decide.
        let ends = Sizes(graph).bounds(parent);
        let ends = ends.and_then(|(lo, hi)| Some((lo.as_int()?, hi.as_int()?)));
        let promises = ends.map_or(Vec::new(), |(lo, hi)| {
            vec![
                (BoundKind::MaxExact, hi),
                (BoundKind::MaxConstraint, hi + 1),
                (BoundKind::Multiple, (hi - lo).max(1)),
            ]
        });
        for (kind, value) in promises {
            add(at, 1, &|graph| {
                let child = derived(graph, parent);
                let bound = Bound {
                    parent,
                    child,
                    value: SizeExpr::Const(value),
                    kind,
                    span: graph.function.span,
                };
                (Relation::Bound(bound), vec![child])
            });
        }
        let next = loops.get(at + 1).copied();
        let next = next.filter(|&next| !Partition::ties(&graph.provenance, parent, next));
        if let Some(inner) = next {
            add(at, 2, &|graph| {
                let fused = derived(graph, parent);
                let fuse = Fuse {
                    outer: parent,
                    inner,
                    fused,
                };
                (Relation::Fuse(fuse), vec![fused])
            });
        }
    }
    for (at, &outer) in loops.iter().enumerate() {
        for &inner in loops.iter().skip(at + 1) {
            if !Skew::is_between(&graph.provenance, outer, inner) {
                continue;
            }
            for factor in [1, -2] {
                let mut graph = graph.clone();
                let (kept, skewed) = (derived(&mut graph, outer), derived(&mut graph, inner));
                graph.provenance.relations.push(Relation::Skew(Skew {
                    from_zero: false,
                    outer,
                    inner,
                    kept,
                    skewed,
                    factor,
                }));
                let new = |v: &VarId| match *v {
                    v if v == outer => kept,
                    v if v == inner => skewed,
                    v => v,
                };
                found.push((graph, loops.iter().map(new).collect()));
            }
        }
    }
    found
}

/// Runs the loops as lowering would, fused ones taken apart; `body` gets the values of the loops
/// and of what was fused.
fn run(
    graph: &Graph,
    order: &[VarId],
    around: &BTreeMap<VarId, i64>,
    body: &mut dyn FnMut(&BTreeMap<VarId, i64>),
) {
    let Some((&var, rest)) = order.split_first() else {
        return body(around);
    };
    let mut here = Numbers {
        graph,
        loops: around,
    };
    let climb = here.climb(var).unwrap();
    let extent = here.extent(var).unwrap();
    let own = if climb.own { extent } else { i64::MAX };
    let end = climb.ends.iter().copied().fold(own, Ord::min);
    let least = if climb.own { 0 } else { i64::MIN };
    let begin = climb.begins.iter().copied().fold(least, Ord::max);
    let origin = here.origin(var).unwrap();
    let at = climb.affine.map_or((0, 1), |own| (own.base, own.stride));
    for offset in begin..end {
        let mut around = around.clone();
        around.insert(var, origin + offset);
        if !unfuse(graph, climb.top, at, offset, &mut around) {
            continue;
        }
        run(graph, rest, &around, body);
    }
}

/// Gives the variables that were fused their values; whether they are values at all.
fn unfuse(
    graph: &Graph,
    top: Top,
    (base, stride): (i64, i64),
    offset: i64,
    around: &mut BTreeMap<VarId, i64>,
) -> bool {
    let Top::Fused(fused) = top else {
        return true;
    };
    let (outer, inner) = graph.provenance.fused_from(fused).unwrap();
    let value = base + stride * offset;
    let mut here = Numbers {
        graph,
        loops: around,
    };
    let extent = here.extent(inner).unwrap().max(1);
    let parts = [(outer, value / extent), (inner, value % extent)];
    for (part, offset) in parts {
        let mut here = Numbers {
            graph,
            loops: around,
        };
        let origin = here.origin(part).unwrap();
        around.insert(part, origin + offset);
        let mut here = Numbers {
            graph,
            loops: around,
        };
        let climb = here.climb(part).unwrap();
        let Some(own) = here.own(part) else {
            return false;
        };
        let begins = climb.begins.iter().any(|&begin| own < begin);
        if begins || climb.ends.iter().any(|&end| own >= end) {
            return false;
        }
        let at = climb.affine.map_or((0, 1), |own| (own.base, own.stride));
        let nested = climb.top == Top::Fused(part);
        let at = if nested { (0, 1) } else { at };
        let whole = unfuse(graph, climb.top, at, own, around);
        if !whole {
            return false;
        }
    }
    true
}

fn permutations(of: &[VarId]) -> Vec<Vec<VarId>> {
    let mut all = vec![Vec::new()];
    for &var in of {
        let longer = all.iter().flat_map(|order: &Vec<VarId>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, var);
                order
            })
        });
        all = longer.collect();
    }
    all
}

/// Whether the number of values of each loop is known where it begins.
fn is_known(graph: &Graph, order: &[VarId]) -> bool {
    let mut places = 0..order.len();
    places.all(|at| {
        let mut known = Known::after(graph, &order[..at]);
        known.extent(order[at]).is_some() && known.climb(order[at]).is_some()
    })
}

/// Loops in whatever order visit each pair of values once, and nothing else.
fn check(graph: &Graph, orders: &[Vec<VarId>], roots: [VarId; 2], (m, n): (i64, i64)) {
    let mut all: Vec<[i64; 2]> = Vec::new();
    for i in 1..=m {
        all.extend((0..n).map(|j| [i, j]));
    }
    for order in orders {
        let mut visited = Vec::new();
        run(graph, order, &BTreeMap::new(), &mut |loops| {
            let mut here = Numbers { graph, loops };
            let value = |root| Some(here.offset(root)? + here.origin(root)?);
            let values: Vec<i64> = roots.into_iter().filter_map(value).collect();
            let relations = &graph.provenance.relations;
            assert_eq!(
                values.len(),
                2,
                "not known inside {loops:?} after {relations:?}"
            );
            visited.push([values[0], values[1]]);
        });
        visited.sort_unstable();
        let names: Vec<u32> = order.iter().map(|v| v.0).collect();
        let relations = &graph.provenance.relations;
        assert_eq!(
            visited, all,
            "{m} by {n}, loops {names:?} after {relations:?}"
        );
    }
}

/// All graphs of up to so many commands, with the loops in some orders.
fn graphs(depth: usize, (m, n): (i64, i64), mut f: impl FnMut(&Graph, &[Vec<VarId>], [VarId; 2])) {
    let (graph, i, j) = two_loops(m, n);
    let mut graphs = vec![(graph, vec![i, j])];
    for commanded in 1..=depth {
        let next = graphs
            .iter()
            .flat_map(|(graph, loops)| commands(graph, loops));
        graphs = next.collect();
        for (graph, loops) in &graphs {
            let orders = match commanded {
                1 | 2 => permutations(loops),
                3 => vec![loops.clone(), loops.iter().rev().copied().collect()],
                _ => vec![loops.clone()],
            };
            let relations = &graph.provenance.relations;
            let decided = relations.iter().any(|r| r.partition().is_some());
            let all = orders.into_iter();
            let orders: Vec<Vec<VarId>> = all
                .filter(|order| !decided || is_known(graph, order))
                .collect();
            f(graph, &orders, [i, j]);
        }
    }
}

#[test]
fn loops_over_derived_variables_visit_each_value_once() {
    let mut partitioned = 0;
    for (depth, sizes) in [(3, (1, 4)), (3, (3, 0)), (3, (0, 2)), (4, (2, 3))] {
        graphs(depth, sizes, |graph, orders, roots| {
            check(graph, orders, roots, sizes);
            let relations = &graph.provenance.relations;
            let decided = relations.iter().any(|r| r.partition().is_some());
            partitioned += if decided { orders.len() } else { 0 };
        });
    }
    assert!(partitioned > 10_000, "{partitioned} orders with partitions");
}
