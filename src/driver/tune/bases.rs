//! What free genes begin with: the program's statements as they are, adjacent ones in loops that they
//! share (fusion), and products of which some factors are multiplied and summed before the others
//! are met (fission). Each is a graph of its own, with loops of its own to decide on.

use super::express::factors;
use super::starts::parse;
use crate::graph::order::vars_in;
use crate::graph::print::{expr_text, var_text};
use crate::graph::{Graph, Nest};
use crate::program::ir::{Expr, VarId};
use crate::schedule::{self, Settings};
use crate::target::Target;
use std::collections::BTreeMap;

/// A program whose loops are not decided on yet.
pub struct Base {
    /// For people.
    pub name: String,
    /// The commands that make it.
    pub commands: Vec<String>,
    pub graph: Graph,
    /// Of the workspaces that hold parts of products.
    elements: i64,
}

/// Bases at most.
const MOST: usize = 8;
/// Those that products are taken apart of, at most.
const TAKEN: usize = 12;
/// Factors of a product that are told apart.
const FACTORS: usize = 6;
/// Elements of a workspace that holds part of a product.
const ELEMENTS: i64 = 1 << 24;

/// Nests that are decided on: those of statements, then those of workspaces.
#[must_use]
pub fn nests(graph: &Graph) -> Vec<&Nest> {
    fn below<'g>(nest: &'g Nest, all: &mut Vec<&'g Nest>) {
        for producer in &nest.producers {
            all.push(producer);
            below(producer, all);
        }
    }
    let mut all: Vec<&Nest> = graph.nests.iter().collect();
    for nest in &graph.nests {
        below(nest, &mut all);
    }
    all
}

/// How many iterations a loop has, as far as sizes tell.
#[must_use]
pub fn extent(graph: &Graph, extents: &BTreeMap<VarId, i64>, var: VarId) -> Option<i64> {
    match graph.provenance.roots(var)[..] {
        [root] => extents.get(&root).copied(),
        _ => None,
    }
}

/// Those of a function, the program as it is first.
#[must_use]
pub fn all(graph: &Graph, target: Target, extents: &BTreeMap<VarId, i64>) -> Vec<Base> {
    let mut found = Found {
        target,
        extents,
        bases: vec![Base {
            name: "free".to_string(),
            commands: Vec::new(),
            graph: graph.clone(),
            elements: 0,
        }],
    };
    found.joined();
    let whole = found.bases.len();
    let mut taken = 0;
    // What is taken apart may be taken apart again, what needs the least memory first.
    while taken < found.bases.len().min(TAKEN) {
        found.apart(taken);
        taken += 1;
        let first = whole.max(taken).min(found.bases.len());
        found.bases[first..].sort_by_key(|base| base.elements);
    }
    found.bases.truncate(MOST);
    found.bases
}

struct Found<'e> {
    target: Target,
    extents: &'e BTreeMap<VarId, i64>,
    bases: Vec<Base>,
}

impl Found<'_> {
    fn applied(&self, graph: &Graph, command: &str) -> Option<Graph> {
        let settings = Settings {
            defines: Vec::new(),
            target: self.target,
        };
        schedule::apply(graph.clone(), &parse(command)?, &settings).ok()
    }

    fn add(&mut self, base: Base) {
        let is_new = self.bases.iter().all(|b| b.commands != base.commands);
        if is_new {
            self.bases.push(base);
        }
    }

    /// All adjacent statements in as many loops as they can share, and in one.
    fn joined(&mut self) {
        for (name, most) in [("joined", usize::MAX), ("joined once", 1)] {
            let mut graph = self.bases[0].graph.clone();
            let mut commands = Vec::new();
            for at in 1..graph.nests.len() {
                let [first, second] = [at - 1, at].map(|n| &graph.nests[n]);
                let labels = [first, second].map(|nest| graph.statement(nest).label.clone());
                let names = |nest: &Nest| -> Vec<String> {
                    let vars = nest.loop_vars().into_iter();
                    vars.map(|var| graph.var(var).name.clone()).collect()
                };
                let (ours, theirs) = (names(first), names(second));
                let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b);
                for depth in (1..=same.count().min(most)).rev() {
                    let names = ours[..depth].join(", ");
                    let command = format!("join({}, {}, {names})", labels[0], labels[1]);
                    if let Some(next) = self.applied(&graph, &command) {
                        graph = next;
                        commands.push(command);
                        break;
                    }
                }
            }
            if !commands.is_empty() {
                self.add(Base {
                    name: name.to_string(),
                    commands,
                    graph,
                    elements: 0,
                });
            }
        }
    }

    /// A base with some factors of a product in a workspace of their own, which alone have some of the summed
    /// variables.
    fn apart(&mut self, at: usize) {
        let base = &self.bases[at];
        let graph = &base.graph;
        let mut found = Vec::new();
        for nest in &graph.nests {
            let factors = factors(nest);
            let count = factors.len().min(FACTORS);
            for subset in 1..(1_usize << count).saturating_sub(1) {
                let (own, rest): (Vec<usize>, Vec<usize>) =
                    (0..factors.len()).partition(|n| subset >> n & 1 == 1);
                let of = |numbers: &[usize]| -> Vec<&Expr> {
                    numbers.iter().map(|&n| factors[n]).collect()
                };
                let parts = (&of(&own)[..], &of(&rest)[..]);
                let Some((product, command, elements)) = self.workspace(graph, nest, parts) else {
                    continue;
                };
                if let Some(next) = self.applied(graph, &command) {
                    let name = format!("apart {product}");
                    let commands = [&base.commands[..], &[command]].concat();
                    found.push(Base {
                        name,
                        commands,
                        graph: next,
                        elements: base.elements.saturating_add(elements),
                    });
                }
            }
        }
        for base in found {
            self.add(base);
        }
    }

    /// The product of `own`, the command that has it summed before the `rest` is met, and how many elements that
    /// needs.
    fn workspace(
        &self,
        graph: &Graph,
        nest: &Nest,
        (own, rest): (&[&Expr], &[&Expr]),
    ) -> Option<(String, String, i64)> {
        let vars = nest.loop_vars();
        let has = |of: &[&Expr], var: VarId| of.iter().any(|e| vars_in(e).contains(&var));
        let left = |var: VarId| nest.lhs.contains(&var) || has(rest, var);
        let mine = vars.iter().copied().filter(|&var| has(own, var));
        let (over, summed): (Vec<VarId>, Vec<VarId>) = mine.partition(|&var| left(var));
        let elements = over.iter().try_fold(1_i64, |product, &var| {
            product.checked_mul(extent(graph, self.extents, var)?.max(1))
        });
        let elements = elements?;
        let fits = elements <= ELEMENTS;
        if summed.is_empty() || over.is_empty() || !fits || !is_connected(own) {
            return None;
        }
        let product: Vec<String> = own.iter().map(|e| expr_text(graph, e)).collect();
        let product = product.join(" * ");
        let names: Vec<String> = over.iter().map(|&var| var_text(graph, var)).collect();
        let number = graph.workspaces.len();
        let stem = |name: &String| name.replace(|c: char| !c.is_alphanumeric(), "");
        let copies: Vec<String> = names
            .iter()
            .map(|name| format!("{}_a{number}", stem(name)))
            .collect();
        let command = format!(
            "precompute({product}, {{{}}}, {{{}}}, part{number})",
            names.join(", "),
            copies.join(", ")
        );
        Some((product, command, elements))
    }
}

/// Whether each of the factors shares variables with the others, over others: what does not would be
/// multiplied each with each.
fn is_connected(factors: &[&Expr]) -> bool {
    let mut left: Vec<Vec<VarId>> = factors.iter().map(|e| vars_in(e)).collect();
    let mut reached = left.pop().unwrap_or_default();
    while let Some(at) = left
        .iter()
        .position(|vars| vars.iter().any(|var| reached.contains(var)))
    {
        reached.extend(left.swap_remove(at));
    }
    left.is_empty()
}
