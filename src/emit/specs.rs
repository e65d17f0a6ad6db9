//! What the checked function compares its tensors with: static tables.

use super::clashes::tables;
use super::names::function;
use super::types::type_code;
use crate::format::Level;
use crate::loops::interface::Arg;
use crate::loops::ir::{Kernel, Literal};
use crate::target::Target;
use std::fmt::Write as _;

/// The static descriptions of a kernel's tensors.
#[must_use]
pub fn specs(kernel: &Kernel, target: Target) -> String {
    let name = function(&kernel.name, target);
    let mut out = String::new();
    for (arg, own) in kernel.interface.args.iter().zip(tables(kernel)) {
        let Arg::Tensor(tensor) = arg else {
            continue;
        };
        let levels = if tensor.levels.is_empty() {
            "NULL".to_string()
        } else {
            let list: Vec<String> = tensor
                .levels
                .iter()
                .map(|l| {
                    format!(
                        "{{{}, {}, {}}}",
                        l.level.ty().c_name(),
                        flags(l.level),
                        l.mode
                    )
                })
                .collect();
            let _ = writeln!(
                out,
                "static const sparsec_level_spec {name}_{own}_levels[] = {{{}}};",
                list.join(", ")
            );
            format!("{name}_{own}_levels")
        };
        let _ = writeln!(
            out,
            "static const sparsec_spec {name}_{own}_spec = {{\"{}\", {}, {}, {}, {levels}, {}}};",
            tensor.name,
            type_code(tensor.ty),
            tensor.levels.len(),
            tensor.format.index_bits,
            fill(tensor.fill)
        );
    }
    out
}

fn flags(level: Level) -> &'static str {
    match (level.unique, level.ordered) {
        (true, true) => "0",
        (false, true) => "SPARSEC_NONUNIQUE",
        (true, false) => "SPARSEC_UNORDERED",
        (false, false) => "SPARSEC_NONUNIQUE | SPARSEC_UNORDERED",
    }
}

fn fill(value: Literal) -> String {
    let value = value.as_f64();
    if value.is_nan() {
        "NAN".to_string()
    } else if value.is_infinite() {
        if value > 0.0 { "INFINITY" } else { "-INFINITY" }.to_string()
    } else {
        format!("{value:?}")
    }
}
