//! The passes over a lowered kernel, in order.

use super::device::{self, Refusal};
use super::ir::Kernel;
use crate::target::Target;

/// A pass: what it is called in tests, and what it does.
#[derive(Clone, Copy)]
pub struct Pass {
    pub name: &'static str,
    pub run: fn(Kernel, Target) -> Result<Kernel, Refusal>,
}

/// Lowering ends with it.
const SIMPLIFY: Pass = Pass {
    name: "simplify",
    run: |kernel, _| Ok(super::simplify(kernel)),
};
/// Before all that look at loops.
const SCANS: Pass = Pass {
    name: "scans",
    run: |kernel, _| Ok(super::scan_in_loops(kernel)),
};
const INVARIANT: Pass = Pass {
    name: "invariant",
    run: |kernel, _| Ok(super::ask_before(kernel)),
};
const REPEATED: Pass = Pass {
    name: "repeated",
    run: |kernel, _| Ok(super::once(kernel)),
};
const CLEARED: Pass = Pass {
    name: "cleared",
    run: |kernel, _| Ok(super::set_first(kernel)),
};
/// Before loops are taken apart, which gives workspaces several rows.
const RESTORED: Pass = Pass {
    name: "restored",
    run: |kernel, _| Ok(super::restore_rows(kernel)),
};
/// Before all that look for the innermost loop.
const CONSECUTIVE: Pass = Pass {
    name: "consecutive",
    run: |kernel, _| Ok(super::merge_consecutive(kernel)),
};
/// Before loops are taken apart.
const BEGINS: Pass = Pass {
    name: "begins",
    run: |kernel, _| Ok(super::begin_in_loops(kernel)),
};
const AHEAD: Pass = Pass {
    name: "ahead",
    run: |kernel, _| Ok(super::make_room_ahead(kernel)),
};
const TILES: Pass = Pass {
    name: "tiles",
    run: |kernel, _| Ok(super::split_full_tiles(kernel)),
};
/// Behind `tiles`, which tells the last tile from full ones.
const RESTS: Pass = Pass {
    name: "rests",
    run: |kernel, _| Ok(super::sum_rests(kernel)),
};
const WIDEN: Pass = Pass {
    name: "widen",
    run: |kernel, _| Ok(super::widen(kernel)),
};
/// Behind `widen`: loops of several parts are no longer in falling order.
const REVERSED: Pass = Pass {
    name: "reversed",
    run: |kernel, _| Ok(super::mark_reversed(kernel)),
};
/// Behind `reversed`: falling order is asked for where the loop stands.
const FUNCTIONS: Pass = Pass {
    name: "functions",
    run: |kernel, _| Ok(super::mark_functions(kernel)),
};
/// Behind `widen`, too: what it unrolls is out of reach. And behind `functions`, in which it is
/// known which arrays are apart.
const JAMMED: Pass = Pass {
    name: "jammed",
    run: |kernel, _| Ok(super::mark_jammed(kernel)),
};
const DEVICE: Pass = Pass {
    name: "device",
    run: |kernel, target| device::place(kernel, target.properties().lanes),
};
/// Behind all that take bounds apart or ask where they are the same for all threads.
const EXCEEDED: Pass = Pass {
    name: "exceeded",
    run: |kernel, _| Ok(super::drop_exceeded(kernel)),
};
/// Last: others take bounds apart that round down.
const DIVIDE: Pass = Pass {
    name: "divide",
    run: |kernel, _| Ok(super::divide_plainly(kernel)),
};

/// Every pass there is.
pub const ALL: [Pass; 18] = [
    SIMPLIFY,
    SCANS,
    INVARIANT,
    REPEATED,
    CLEARED,
    RESTORED,
    CONSECUTIVE,
    BEGINS,
    AHEAD,
    TILES,
    RESTS,
    WIDEN,
    REVERSED,
    FUNCTIONS,
    JAMMED,
    DEVICE,
    EXCEEDED,
    DIVIDE,
];

/// The passes between lowering and emitting.
#[must_use]
pub fn of(target: Target) -> &'static [Pass] {
    if target.properties().has_blocks {
        &[INVARIANT, REPEATED, TILES, DEVICE, EXCEEDED, DIVIDE]
    } else {
        &[
            SCANS,
            INVARIANT,
            REPEATED,
            CLEARED,
            RESTORED,
            CONSECUTIVE,
            BEGINS,
            AHEAD,
            TILES,
            RESTS,
            WIDEN,
            REVERSED,
            FUNCTIONS,
            JAMMED,
            EXCEEDED,
            DIVIDE,
        ]
    }
}

/// Runs passes for a target, and the verifier behind each where assertions are on.
///
/// # Errors
/// What a pass refuses.
///
/// # Panics
/// In a debug build, with the name of the pass, if what it made is not well-formed.
pub fn run(mut kernel: Kernel, passes: &[Pass], target: Target) -> Result<Kernel, Refusal> {
    let keeping = match kernel.keeping.take() {
        Some(keeping) => Some(Box::new(run(*keeping, passes, target)?)),
        None => None,
    };
    verified(&kernel, "lowering");
    for pass in passes {
        kernel = (pass.run)(kernel, target)?;
        verified(&kernel, pass.name);
    }
    Ok(Kernel { keeping, ..kernel })
}

fn verified(kernel: &Kernel, by: &str) {
    if cfg!(debug_assertions) {
        let found = super::verify::verify(kernel);
        let text = || super::text::print(kernel);
        assert!(found.is_empty(), "{by}: {}\n{}", found.join("\n"), text());
    }
}
