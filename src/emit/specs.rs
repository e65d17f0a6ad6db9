//! What the checked function compares its tensors with: static tables.

use super::clashes::tables;
use super::kernel::Dialect;
use super::literal;
use super::names::function;
use super::types::{c_type, type_code};
use super::wrap::wrapped;
use crate::format::Level;
use crate::loops::interface::{Arg, Counts, LevelArrays};
use crate::loops::ir::{Kernel, Literal, ScalarType};
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
                        mode(l)
                    )
                })
                .collect();
            let list = list.join(", ");
            let text =
                format!("static const sparsec_level_spec {name}_{own}_levels[] = {{{list}}};");
            let _ = writeln!(out, "{}", wrapped(&text, 0));
            format!("{name}_{own}_levels")
        };
        let fill = if tensor.fill.is_zero() {
            "NULL".to_string()
        } else {
            let _ = writeln!(
                out,
                "static const {};",
                fill(&format!("{name}_{own}_fill"), tensor.fill, tensor.ty)
            );
            format!("&{name}_{own}_fill")
        };
        let _ = writeln!(
            out,
            "static const sparsec_spec {name}_{own}_spec = {{\"{}\", {}, {}, {}, {levels}, {fill}}};",
            tensor.shown(),
            type_code(tensor.ty),
            tensor.levels.len(),
            tensor.index_bits,
        );
    }
    out
}

fn mode(level: &LevelArrays) -> String {
    match level.counts {
        Counts::Coordinates => level.mode.to_string(),
        Counts::Blocks(n) => format!("SPARSEC_BLOCKS({n}) | {}", level.mode),
        Counts::Diagonals(along) => format!("SPARSEC_DIAGONALS({along}) | {}", level.mode),
    }
}

fn flags(level: Level) -> &'static str {
    match (level.unique, level.ordered) {
        (true, true) => "0",
        (false, true) => "SPARSEC_NONUNIQUE",
        (true, false) => "SPARSEC_UNORDERED",
        (false, false) => "SPARSEC_NONUNIQUE | SPARSEC_UNORDERED",
    }
}

/// The declaration of a fill value as memory holds it.
#[expect(clippy::cast_possible_truncation)]
fn fill(name: &str, value: Literal, ty: ScalarType) -> String {
    let own = literal::text(value, ty, Dialect::C);
    if ty == ScalarType::C64 {
        return format!("float {name}[2] = {{{own}, 0.0f}}");
    }
    if ty == ScalarType::C128 {
        return format!("double {name}[2] = {{{own}, 0.0}}");
    }
    // From float, as kernels round.
    let single = value.as_f64() as f32;
    let text = if ty == ScalarType::F16 {
        format!("0x{:04x}", half::f16::from_f32(single).to_bits())
    } else if ty == ScalarType::BF16 {
        format!("0x{:04x}", half::bf16::from_f32(single).to_bits())
    } else {
        own
    };
    format!("{} {name} = {text}", c_type(ty))
}
