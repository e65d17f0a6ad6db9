//! Scripts for GPUs.
//!
//! The rules, after 000, 8.3: a warp shares the row of a sparse matrix; where the result
//! has columns, its threads take 32 of them side by side, so that what they load stands
//! together; what stores a value for each element of an operand is shared out by
//! positions; everything else gives each thread elements of the result of its own, or of a
//! sum that the threads reduce. What an H100 said of them stands in `BENCHMARKS.md`.

mod appended;
mod dense;
mod scattered;
mod stored;

use super::{Script, Statistics, Writer};
use crate::graph::{Graph, Nest, pattern};
use crate::program::ir::VarId;
use std::borrow::Cow;

/// Scripts for one nest of an untransformed graph on a GPU; none if it has to stay serial.
#[must_use]
pub fn for_gpus(graph: &Graph, nest: &Nest, statistics: &Statistics) -> Vec<Script> {
    if nest.loops.is_empty() {
        return Vec::new();
    }
    let writer = Writer {
        graph,
        nest,
        profile: &statistics.profile,
    };
    let mut all = Vec::new();
    let mut by = |rule: &'static str, write: &dyn Fn(&mut Vec<Vec<String>>)| {
        let mut own = Vec::new();
        write(&mut own);
        all.extend(own.into_iter().map(|commands| Script {
            rule: Cow::Borrowed(rule),
            commands,
        }));
    };
    // What is appended is counted first by those who share the outermost loop. Rows that are
    // collected need memory for each block: where it is not known how much, they stay with one thread.
    if !pattern::appended(graph, nest).is_empty() {
        by(
            "who shares the outermost loop counts what is appended first",
            &|all| {
                writer.outermost(all);
            },
        );
        by(
            "threads of a block collect a row together, of which each block has memory for one",
            &|all| writer.rows_together(statistics, all),
        );
        by(
            "blocks share rows that are collected, of which each has memory for one",
            &|all| writer.rows_for_blocks(statistics, all),
        );
        return all;
    }
    if let Some(source) = pattern::source(graph, nest) {
        by(
            "values of what an operand stores are shared out by its positions",
            &|all| {
                writer.stored_elements(&source.access, all);
            },
        );
    }
    if nest.lhs.is_empty() {
        by(
            "each thread adds up a part of a sum of everything",
            &|all| writer.scalar(all),
        );
    }
    by(
        "each thread has a row, through which the diagonals pass",
        &|all| writer.row_of_diagonals(all),
    );
    by(
        "few rows have most elements, or there are few: stored elements are shared out",
        &|all| writer.skewed(statistics, all),
    );
    by(
        "threads walk the row of a sparse matrix, as many as it is long",
        &|all| writer.threads_per_row(statistics, all),
    );
    by(
        "tiles of both matrices pass through shared memory, sums stay in registers",
        &|all| {
            writer.product(all);
        },
    );
    by(
        "threads take neighbouring elements of the rows of dense operands",
        &|all| writer.long_rows(statistics, all),
    );
    by(
        "threads take what a row stores, each block a row of the result",
        &|all| writer.rows_of_sums(all),
    );
    by(
        "threads take columns side by side of the rows that a warp comes to",
        &|all| writer.scattered_columns(all),
    );
    by("threads take columns of the result side by side", &|all| {
        writer.columns(all)
    });
    by(
        "each thread has elements of the result of its own",
        &|all| writer.elements(all),
    );
    by("blocks share the outermost loop", &|all| {
        writer.outermost(all)
    });
    all
}

impl Writer<'_> {
    /// A block for each tile of iterations, a thread for each.
    fn tiles(&self, var: VarId, race: &str, all: &mut Vec<Vec<String>>) {
        let (block, thread) = (self.fresh("block"), self.fresh("thread"));
        let (name, threads) = (self.name(var), self.profile.gpu.block_threads);
        let mut script = vec![format!("split({name}, {block}, {thread}, {threads})")];
        script.extend(self.units(&[(&block, "GPUBlock", race), (&thread, "GPUThread", race)]));
        all.push(script);
    }
}
