//! Where the expression of a `precompute` stands.

use super::super::arguments::{Arguments, loop_var};
use super::USAGE;
use super::find::find;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::graph::{Graph, Nest};
use crate::program::ir::VarId;
use crate::syntax::ast::{self, Arg};

/// The nest that an expression stands in: a statement's, or below it a workspace's.
#[derive(Clone, Debug)]
pub(in crate::schedule) struct Place {
    pub(in crate::schedule) nest: usize,
    pub(in crate::schedule) path: Vec<usize>,
}

impl Place {
    pub(in crate::schedule) fn of<'g>(&self, graph: &'g Graph) -> &'g Nest {
        self.path
            .iter()
            .fold(&graph.nests[self.nest], |nest, &at| &nest.producers[at])
    }

    pub(in crate::schedule) fn of_mut<'g>(&self, graph: &'g mut Graph) -> &'g mut Nest {
        self.path
            .iter()
            .fold(&mut graph.nests[self.nest], |nest, &at| {
                &mut nest.producers[at]
            })
    }

    /// All nests, those of workspaces after the one that reads them.
    fn all(graph: &Graph) -> Vec<Place> {
        fn below(graph: &Graph, nest: &Nest, at: usize, path: &[usize], found: &mut Vec<Place>) {
            if graph.is_guarded(nest) {
                return;
            }
            found.push(Place {
                nest: at,
                path: path.to_vec(),
            });
            for (n, producer) in nest.producers.iter().enumerate() {
                let mut path = path.to_vec();
                path.push(n);
                below(graph, producer, at, &path, found);
            }
        }
        let mut found = Vec::new();
        for (at, nest) in graph.nests.iter().enumerate() {
            below(graph, nest, at, &[], &mut found);
        }
        found
    }
}

/// Where the expression stands, and the loops over which it is kept.
pub(super) fn place(
    graph: &Graph,
    arguments: &Arguments,
    wanted: &ast::Expr,
) -> Result<(Place, Vec<VarId>), Diagnostic> {
    let named: Vec<&ast::Expr> = match arguments.args.get(1) {
        Some(Arg::Expr(e)) => vec![e],
        Some(Arg::Vars(list, _)) => list.iter().collect(),
        None => Vec::new(),
    };
    if let Some(Arg::Vars(_, span)) = arguments.args.get(1)
        && named.is_empty()
    {
        let message = "a workspace needs a variable that runs over it".to_string();
        return Err(arguments.wrong(*span, message, USAGE));
    }
    let mut vars = Vec::new();
    for e in &named {
        let var = loop_var(graph, e)?;
        arguments.expect_open(graph, var)?;
        if !vars.contains(&var) {
            vars.push(var);
        }
    }
    let has_loops = |nest: &Nest| vars.iter().all(|v| nest.loops.iter().any(|l| l.var == *v));
    let places = Place::all(graph);
    let (around, elsewhere): (Vec<Place>, Vec<Place>) = places
        .into_iter()
        .partition(|place| has_loops(place.of(graph)));
    let mut last = None;
    for place in around {
        if find(graph, &place.of(graph).rhs, wanted).is_some() {
            return Ok((place, vars));
        }
        last = Some(place);
    }
    let other = elsewhere
        .iter()
        .find(|place| find(graph, &place.of(graph).rhs, wanted).is_some());
    if let Some(other) = other {
        let names: Vec<&str> = vars.iter().map(|&v| graph.var(v).name.as_str()).collect();
        return Err(Diagnostic::error(
            codes::NOT_NESTED,
            arguments.span,
            format!("`{}` is no loop around the expression", names.join(", ")),
            "read back there",
        )
        .with_label(other.of(graph).span, "the expression stands here")
        .with_help("name loops of the statement that holds the expression"));
    }
    let nest = last.as_ref().map(|place| place.of(graph));
    Err(match nest.or(graph.nests.first()) {
        Some(nest) => absent(nest, wanted),
        None => arguments.wrong(arguments.span, "there is no statement".to_string(), USAGE),
    })
}

pub(super) fn absent(nest: &Nest, wanted: &ast::Expr) -> Diagnostic {
    Diagnostic::error(
        codes::NO_SUCH_EXPRESSION,
        wanted.span,
        "the expression does not occur",
        "not found",
    )
    .with_label(nest.span, "in this statement")
    .with_help("write it as the statement does; factors may be left out")
}
