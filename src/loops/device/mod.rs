//! Host and device: a kernel whose loops are tagged with units of a GPU becomes host
//! statements and launches.
//!
//! The statements of the body are cut into segments ([`segments`]): what the host can compute from
//! sizes stays with it; a loop over blocks is a launch of its own; what is between runs in one
//! block, or in one thread where nothing is shared out. Scalars that live through several segments
//! move to memory ([`scalars`]). In each launch loops over units become the numbers of blocks and
//! threads ([`spmd`]), workspaces of which each thread uses its own elements become the threads'
//! ([`private`]), rows of tiles that threads read by columns get a gap ([`banks`]), and barriers
//! are put where threads read what others wrote ([`barriers`]). Arrays that grow are filled by
//! launches that count what does not fit ([`growth`]), or once by launches behind those that count
//! ([`counted`]).

mod banks;
mod barriers;
mod blocks;
mod counted;
mod counts;
mod fills;
mod groups;
mod growth;
pub mod ir;
mod memory;
mod private;
mod rooms;
mod scalars;
mod segments;
mod shape;
mod spmd;
mod spread;
mod subscripts;
mod units;
mod vectors;
mod waits;

use super::ir::{Expr, Kernel, Stmt, VarId};
use std::collections::BTreeMap;

/// What cannot be placed on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub help: String,
}

impl Refusal {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Refusal {
            message: message.into(),
            help: help.into(),
        }
    }
}

/// Definitions of immutable variables, to see through them.
pub type Definitions = BTreeMap<VarId, Expr>;

/// Cuts a kernel into host statements and launches, in which so many threads that follow one another
/// exchange values without memory.
///
/// # Errors
/// Loops over blocks where only the device knows whether they run, workspaces whose size
/// the host does not know or that are too large, threads that would wait for threads
/// that never come.
pub fn place(mut kernel: Kernel, lanes: u32) -> Result<Kernel, Refusal> {
    counts::introduce(&mut kernel);
    let body = std::mem::take(&mut kernel.body);
    let mut segments = segments::cut(&mut kernel, body)?;
    scalars::to_memory(&mut kernel, &mut segments);
    let mut launches = segments::Launches {
        lanes,
        rooms: BTreeMap::new(),
    };
    let mut placed = Vec::new();
    for segment in segments {
        segments::place(&mut kernel, segment, &mut launches, &mut placed)?;
    }
    rooms::size_rooms(&mut placed, &launches.rooms)?;
    kernel.body = placed;
    Ok(kernel)
}

/// The immutable variables that `body` declares, with what they are.
pub fn definitions(body: &[Stmt], mutable: &impl Fn(VarId) -> bool) -> Definitions {
    let mut found = Definitions::new();
    super::visit::stmts(body, &mut |stmt| {
        if let Stmt::Let { var, init } = stmt
            && !mutable(*var)
        {
            found.insert(*var, init.clone());
        }
    });
    found
}

/// The expression over variables that have no definition.
pub fn inlined(e: &Expr, definitions: &Definitions) -> Expr {
    let mut out = e.clone();
    super::visit::replace_expr(&mut out, &mut |node| {
        let super::ir::ExprKind::Var(v) = node.kind else {
            return None;
        };
        definitions.get(&v).map(|init| inlined(init, definitions))
    });
    out
}
