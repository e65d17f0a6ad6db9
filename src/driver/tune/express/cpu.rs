//! Free genes as loops of a CPU: tiles, their order, workspaces, vector lanes, threads.

use super::{Genes, Growing, Walked, factors, texts, walk};
use crate::driver::tune::decisions::{FACTORS, Free, OVER, Part, is_dense, usual_order};
use crate::graph::order::{sparse_accesses, vars_in};
use crate::graph::print::{expr_text, var_text};
use crate::graph::{Graph, Nest};
use crate::program::ir::Expr;

/// Takes a nest's loops apart, and keeps parts of it in workspaces. Returns the loops, outermost first.
pub(super) fn loops(genes: &Genes, growing: &mut Growing) -> Vec<String> {
    let nest = genes.nest;
    // Loops that it shares with what stands before it were decided on there.
    let own = &nest.loop_vars()[nest.joined..];
    if own.is_empty() {
        return Vec::new();
    }
    let dense = is_dense(genes.graph, nest);
    let walked = walk(genes, own, growing);
    // What is split, and how its parts are called.
    let mut parts: Vec<(Part, String)> = Vec::new();
    let mut inner: Vec<String> = Vec::new();
    let splits = genes.choices(|free, choice| {
        let Free::Split(var, tiles) = free else {
            return None;
        };
        Some((*var, tiles.get(choice).copied().unwrap_or(0)))
    });
    for &var in own {
        let name = var_text(genes.graph, var);
        if walked.as_ref().is_some_and(|w| w.roots.contains(&var)) {
            continue;
        }
        let tile = splits.iter().find(|(of, _)| *of == var).map_or(0, |s| s.1);
        let (outer, within) = (growing.fresh(&name), growing.fresh(&name));
        if tile > 0 && growing.tries(format!("split({name}, {outer}, {within}, {tile})")) {
            parts.push((Part::Outer(var), outer));
            parts.push((Part::Inner(var), within.clone()));
            inner.push(within);
        } else if dense && nest.lhs.contains(&var) {
            // Around sums.
            parts.push((Part::Outer(var), name));
        } else {
            parts.push((Part::Inner(var), name));
        }
    }
    let packed = packed(genes);
    let mut order = ordered(genes, &parts, walked.as_ref(), packed);
    if order.len() > 1 && !growing.tries(format!("reorder({})", order.join(", "))) {
        // They stay as they are.
        let vars = growing.nest(genes).map_or(Vec::new(), Nest::loop_vars);
        let names: Vec<String> = vars.iter().map(|&v| var_text(&growing.graph, v)).collect();
        order.sort_by_key(|name| names.iter().position(|own| own == name));
    }
    if let Some(factor) = packed {
        pack(genes, factor, (&parts, &order), growing);
    }
    workspaces(genes, &order, growing);
    order
}

/// The factor that is copied for tiles.
fn packed<'g>(genes: &Genes<'g>) -> Option<&'g Expr> {
    let choices = genes.choices(|free, choice| {
        let Free::Pack(choices) = free else {
            return None;
        };
        choices.get(choice).copied()
    });
    let at = choices.into_iter().next().flatten()?;
    factors(genes.nest).get(at).copied()
}

/// Copies a factor inside the loops that it has, outside of the first one that it lacks.
fn pack(
    genes: &Genes,
    factor: &Expr,
    (parts, order): (&[(Part, String)], &[String]),
    growing: &mut Growing,
) {
    let vars = vars_in(factor);
    let has = |name: &&String| {
        let part = parts.iter().find(|(_, own)| own == *name);
        part.is_some_and(|(Part::Outer(var) | Part::Inner(var), _)| vars.contains(var))
    };
    let around = order.iter().take_while(has).count();
    // Outside of parts of the sums it would be copied for each of them.
    let is_left = |name: &String| {
        let part = parts.iter().find(|(_, own)| own == name);
        part.is_none_or(|(Part::Outer(var) | Part::Inner(var), _)| genes.nest.lhs.contains(var))
    };
    if !order[..around].iter().all(is_left) {
        return;
    }
    let over: Vec<&String> = order[around..].iter().filter(has).collect();
    if over.is_empty() {
        return;
    }
    let copies: Vec<String> = over.iter().map(|name| growing.fresh(name)).collect();
    let names: Vec<&str> = over.iter().map(|name| name.as_str()).collect();
    let (panel, text) = (growing.fresh("panel"), expr_text(genes.graph, factor));
    growing.tries(format!(
        "precompute({text}, {{{}}}, {{{}}}, {panel})",
        names.join(", "),
        copies.join(", ")
    ));
}

/// Loops in the order that the genes say.
fn ordered(
    genes: &Genes,
    parts: &[(Part, String)],
    walked: Option<&Walked>,
    packed: Option<&Expr>,
) -> Vec<String> {
    let places = genes.choices(|free, choice| {
        let Free::Place(part) = free else {
            return None;
        };
        Some((*part, choice))
    });
    let mut ranked: Vec<(usize, usize, String)> = Vec::new();
    if let Some(walked) = walked {
        ranked.push((0, 0, walked.outer.clone()));
        ranked.push((0, 1, walked.within.clone()));
    }
    let first = packed.map(vars_in);
    let usual = usual_order(genes.graph, genes.nest, first.as_deref());
    for (at, part) in usual.iter().enumerate() {
        let Some((_, name)) = parts.iter().find(|(of, _)| of == part) else {
            continue;
        };
        let moved = places.iter().find(|(of, _)| of == part).map_or(0, |p| p.1);
        // The first choice is the usual place; the others are all places in turn.
        let place = if moved == 0 {
            2 * at + 2
        } else {
            2 * moved - 1
        };
        ranked.push((place, at, name.clone()));
    }
    ranked.sort();
    ranked.into_iter().map(|(_, _, name)| name).collect()
}

/// Workspaces of products, or parts of them, over the inner loops.
fn workspaces(genes: &Genes, order: &[String], growing: &mut Growing) {
    let kept = genes.choices(|free, choice| (*free == Free::Workspace).then_some(choice));
    let Some(last) = order.last() else {
        return;
    };
    let dense = is_dense(genes.graph, genes.nest);
    for (nth, choice) in kept.into_iter().enumerate() {
        // The usual one keeps the whole product, where it has a factor to keep.
        let (subset, over) = match choice.checked_sub(1) {
            None if nth == 0 && dense => (usize::MAX, 1),
            None if nth == 0 => (usize::MAX, 0),
            None | Some(0) => continue,
            Some(n) => ((n - 1) / OVER + 1, (n - 1) % OVER),
        };
        // As the program has them; one of them may stand in a workspace already.
        let product = |graph: &Graph, nest: &Nest| {
            let factors = texts(graph, nest).into_iter().take(FACTORS).enumerate();
            let chosen = factors.filter(|(at, _)| subset & (1 << at) != 0);
            chosen.map(|(_, factor)| factor).collect::<Vec<_>>()
        };
        let mut products = vec![product(genes.graph, genes.nest)];
        products.extend(
            growing
                .nest(genes)
                .map(|nest| product(&growing.graph, nest)),
        );
        let vars: Vec<&String> = match over {
            0 => vec![last],
            1 => order.iter().rev().take(2).rev().collect(),
            _ => match order.len() {
                0..3 => continue,
                n => vec![&order[n - 3], last],
            },
        };
        let names = vars
            .iter()
            .map(|v| v.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        let (workspace, copies): (String, Vec<String>) = (
            growing.fresh("w"),
            vars.iter().map(|v| growing.fresh(v)).collect(),
        );
        let copies = copies.join(", ");
        for product in products.iter().filter(|product| !product.is_empty()) {
            let product = product.join(" * ");
            let kept = [&names, &copies].into_iter().any(|own| {
                growing.tries(format!(
                    "precompute({product}, {{{names}}}, {{{own}}}, {workspace})"
                ))
            });
            if kept {
                break;
            }
        }
    }
}

/// Fetches, unrolling, lanes and threads.
pub(super) fn units(genes: &Genes, order: &[String], turns: &str, growing: &mut Growing) {
    let nest = genes.nest;
    let from_inside = |n: usize| order.iter().rev().nth(n).cloned();
    let ahead = genes.choices(|free, choice| {
        let Free::Prefetch(ahead) = free else {
            return None;
        };
        ahead.get(choice).copied()
    });
    if let (Some(&ahead), Some(access)) = (
        ahead.first().filter(|ahead| **ahead > 0),
        sparse_accesses(genes.graph, &nest.rhs).first(),
    ) {
        let tensor = genes.graph.tensor(access.tensor).name.clone();
        for var in order.iter().rev() {
            if growing.tries(format!("prefetch({tensor}, {var}, {ahead})")) {
                break;
            }
        }
    }
    let dense = is_dense(genes.graph, nest);
    let unrolled = match genes.choice(|free| *free == Free::Unroll) {
        0 if dense => from_inside(1).map(|v| format!("unroll({v})")),
        2 if dense => None,
        0 => None,
        1 => from_inside(0).map(|v| format!("unroll({v})")),
        2 => from_inside(1).map(|v| format!("unroll({v})")),
        _ => from_inside(0).map(|v| format!("unroll({v}, 4)")),
    };
    if let Some(command) = unrolled {
        growing.tries(command);
    }
    let lanes = match genes.choice(|free| *free == Free::Vector) {
        0 => from_inside(0),
        1 => None,
        _ => from_inside(1),
    };
    if let Some(var) = &lanes {
        for race in ["NoRaces", "ParallelReduction"] {
            if growing.tries(format!("parallelize({var}, CPUVector, {race})")) {
                break;
            }
        }
    }
    let shared = match genes.choice(|free| *free == Free::Threads) {
        0 => order.first(),
        1 => order.get(1),
        _ => None,
    };
    // Inside of loops that are shared with others, threads are there already.
    let shared = shared.filter(|var| nest.joined == 0 && Some(*var) != lanes.as_ref());
    if let Some(var) = shared {
        for race in ["NoRaces", "Temporary", "Atomics"] {
            if growing.tries(format!("parallelize({var}, CPUThread{turns}, {race})")) {
                break;
            }
        }
    }
}
