//! A workspace that a sparse row fills is cleared where that row set it, not as a whole.
//!
//! before: `alloc w[N]; for i in ...: fill w[0 .. N] = 0, for p in pos[i] .. pos[i+1]: w[crd[p]] = A[p], ...`
//! after:  `alloc w[N] zeroed; for i in ...: for p in ...: w[crd[p]] = A[p], ..., for p in ...: w[crd[p]] = 0`

use super::build as b;
use super::copy::copied;
use super::ir::{ArrayId, Expr, ExprKind, Kernel, Literal, Stmt, Storage};
use super::visit;
use std::collections::BTreeSet;

/// Clears what rows fill by these rows again.
#[must_use]
pub fn restore_rows(mut kernel: Kernel) -> Kernel {
    let mut body = std::mem::take(&mut kernel.body);
    let mut filled = BTreeSet::new();
    visit::stmts(&body, &mut |stmt| filled.extend(whole_fill(stmt)));
    for array in filled {
        restore(&mut kernel, &mut body, array);
    }
    kernel.body = body;
    kernel
}

/// The array that the statement sets to zeros from its beginning.
fn whole_fill(stmt: &Stmt) -> Option<ArrayId> {
    let Stmt::Fill {
        array,
        start,
        value,
        ..
    } = stmt
    else {
        return None;
    };
    let zero = matches!(value.kind, ExprKind::Literal(value) if value.is_zero());
    (zero && b::as_int(start) == Some(0)).then_some(*array)
}

fn restore(kernel: &mut Kernel, body: &mut Vec<Stmt>, array: ArrayId) -> Option<()> {
    let row = row(kernel, body, array)?;
    let room = row.room;
    let mut found = false;
    each_list(body, &mut |list| {
        for stmt in list {
            if let Stmt::Alloc { array, zeroed, .. } = stmt
                && *array == room
            {
                (*zeroed, found) = (true, true);
            }
        }
    });
    found.then_some(())?;
    let mut again = copied(kernel, std::slice::from_ref(&row.setting));
    clear(&mut again, array);
    each_list(body, &mut |list| {
        if let Some(at) = list.iter().position(|s| whole_fill(s) == Some(array)) {
            list.remove(at);
            list.append(&mut again);
        }
    });
    Some(())
}

/// A row that a workspace holds.
struct Row {
    /// The array that is allocated.
    room: ArrayId,
    /// The loop that sets the workspace.
    setting: Stmt,
}

/// The only row of the workspace, if it is set by nothing else and read behind it alone.
fn row(kernel: &Kernel, body: &[Stmt], array: ArrayId) -> Option<Row> {
    let list = list_of(body, array, false)?;
    let at = list.iter().position(|s| whole_fill(s) == Some(array))?;
    let behind = &list[at + 1..];
    let part = list[..at].iter().find_map(|stmt| {
        let Stmt::Slice { array: own, of, .. } = stmt else {
            return None;
        };
        (*own == array).then_some(*of)
    });
    let room = part.unwrap_or(array);
    let setting = behind.iter().find(|stmt| names(stmt, array) > 0)?;
    let inside: usize = behind.iter().map(|stmt| names(stmt, array)).sum();
    let apart = room == array || uses(body, room) == 0;
    let mut written = 0;
    visit::stmts(behind, &mut |stmt| {
        written += usize::from(writes(stmt, array))
    });
    let changed = visit::changed(behind);
    let read = visit::read_vars(std::slice::from_ref(setting));
    let fits = apart
        && uses(body, array) == inside + 1
        && written == 1
        && sets(kernel, setting, array)
        && read.is_disjoint(&changed);
    fits.then(|| Row {
        room,
        setting: setting.clone(),
    })
}

/// The statements that have the workspace filled among them, if they stand in a loop.
fn list_of(body: &[Stmt], array: ArrayId, in_loop: bool) -> Option<&[Stmt]> {
    if body.iter().any(|s| whole_fill(s) == Some(array)) {
        return in_loop.then_some(body);
    }
    body.iter().find_map(|stmt| {
        let is_loop = matches!(stmt, Stmt::For { .. } | Stmt::While { .. });
        let inner = visit::bodies(stmt).into_iter();
        let mut found = inner.filter_map(|inner| list_of(inner, array, in_loop || is_loop));
        found.next()
    })
}

/// How many statements name the array, but for those that only make and free it.
fn uses(body: &[Stmt], array: ArrayId) -> usize {
    let mut count = 0;
    visit::stmts(body, &mut |stmt| {
        let made = matches!(
            stmt,
            Stmt::Alloc { .. } | Stmt::Free { .. } | Stmt::Slice { .. }
        );
        count += usize::from(!made && visit::arrays(stmt).contains(&array));
    });
    count
}

fn names(stmt: &Stmt, array: ArrayId) -> usize {
    uses(std::slice::from_ref(stmt), array)
}

/// Whether the statement does more with the array than load from it.
fn writes(stmt: &Stmt, array: ArrayId) -> bool {
    let mut loads = 0;
    visit::own_exprs(stmt, &mut |e| {
        visit::expr(e, &mut |node| {
            loads +=
                usize::from(matches!(node.kind, ExprKind::Load { array: own, .. } if own == array));
        });
    });
    let named = visit::arrays(stmt);
    named.into_iter().filter(|own| *own == array).count() > loads
}

/// Whether this is a loop over what an operand stores that sets an element for each, and does
/// nothing else.
fn sets(kernel: &Kernel, stmt: &Stmt, array: ArrayId) -> bool {
    let Stmt::For { lo, hi, body, .. } = stmt else {
        return false;
    };
    let is_input = |e: &Expr| {
        let mut only = true;
        visit::expr(e, &mut |node| {
            if let ExprKind::Load { array, .. } = node.kind {
                only &= kernel.array(array).storage == Storage::Input;
            }
        });
        only
    };
    let is_load = |node: &Expr| matches!(node.kind, ExprKind::Load { .. });
    let stored = lo.any(is_load) || hi.any(is_load);
    stored
        && [lo, hi].into_iter().all(is_input)
        && body.iter().all(|stmt| {
            if let Stmt::Let { init, .. } = stmt {
                return is_input(init);
            }
            matches!(stmt, Stmt::Store { array: own, index, op: None, atomic: false, .. }
                if *own == array && is_input(index))
        })
}

/// Stores zeros instead.
fn clear(body: &mut [Stmt], array: ArrayId) {
    for stmt in body {
        if let Stmt::Store {
            array: own, value, ..
        } = stmt
            && *own == array
        {
            *value = b::literal(Literal::Int(0), value.ty);
        }
        for inner in visit::bodies_mut(stmt) {
            clear(inner, array);
        }
    }
}

fn each_list(body: &mut Vec<Stmt>, f: &mut impl FnMut(&mut Vec<Stmt>)) {
    f(body);
    for stmt in body {
        for inner in visit::bodies_mut(stmt) {
            each_list(inner, f);
        }
    }
}
