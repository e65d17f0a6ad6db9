//! Smaller programs that fail in the same way.

use crate::maker::is_update;
use crate::program::{Data, Expr, File, Program};

/// Kernels compiled at most while one failure is shrunk.
const TRIES: usize = 400;

/// The smallest file found on which `fails` still gives a reason.
pub fn shrink(file: &File, fails: impl Fn(&File) -> Option<String>) -> Option<(File, String)> {
    let mut best = file.clone();
    let mut reason = fails(&best)?;
    let mut tries = 0;
    'again: while tries < TRIES {
        for mut next in smaller_files(&best) {
            next.functions.iter_mut().for_each(Program::prune);
            if next == best {
                continue;
            }
            tries += 1;
            if let Some(why) = fails(&next) {
                best = next;
                reason = why;
                continue 'again;
            }
        }
        break;
    }
    Some((best, reason))
}

/// One step smaller: without a function that no other needs, with a smaller one, on less data.
fn smaller_files(file: &File) -> Vec<File> {
    let mut out = Vec::new();
    if file.taco.is_some() {
        for taco in [None, Some(0)] {
            out.push(File {
                taco,
                ..file.clone()
            });
        }
    }
    for (at, function) in file.functions.iter().enumerate() {
        let mut calls = file.functions.iter().flat_map(|f| &f.calls);
        if file.functions.len() > 1 && calls.all(|c| c.callee != function.name) {
            let mut next = file.clone();
            next.functions.remove(at);
            out.push(next);
        }
    }
    for (at, function) in file.functions.iter().enumerate() {
        for small in smaller(function) {
            let mut next = file.clone();
            next.functions[at] = small;
            out.push(next);
        }
    }
    out.extend(file.with_plainer_names());
    for at in 0..file.sizes.len() {
        for extent in [file.sizes[at].1.min(1), file.sizes[at].1.saturating_sub(1)] {
            let mut next = file.clone();
            next.sizes[at].1 = extent;
            out.push(next);
        }
    }
    out
}

/// One step smaller, the large steps first.
fn smaller(program: &Program) -> Vec<Program> {
    let mut out = Vec::new();
    let mut push = |change: &dyn Fn(&mut Program)| {
        let mut next = program.clone();
        change(&mut next);
        out.push(next);
    };
    push(&|p| p.schedule.clear());
    push(&|p| p.automatic = false);
    for at in 0..program.schedule.len() {
        push(&|p| {
            p.schedule.remove(at);
        });
    }
    for at in 0..program.calls.len() {
        push(&|p| {
            p.calls.remove(at);
        });
    }
    for at in 0..program.stmts.len() {
        push(&|p| {
            let dropped = p.stmts.remove(at).target;
            p.returned.retain(|name| *name != dropped);
            if p.returned.is_empty()
                && let Some(last) = p.stmts.last()
            {
                p.returned.push(last.target.clone());
            }
        });
        push(&|p| {
            // An update needs its content; a definition must not have any.
            let op = if is_update(p.stmts[at].op) { "+=" } else { "=" };
            p.stmts[at].op = op;
        });
        push(&|p| p.stmts[at].ranges.clear());
        for right in smaller_expressions(&program.stmts[at].right) {
            push(&|p| {
                p.stmts[at].right = right.clone();
                let left = right.names();
                p.stmts[at]
                    .left
                    .retain(|v| left.contains(v) || v.contains('('));
            });
            push(&|p| p.stmts[at].right = right.clone());
        }
    }
    for at in 0..program.returned.len() {
        push(&|p| {
            if p.returned.len() > 1 {
                p.returned.remove(at);
            }
        });
    }
    for at in 0..program.params.len() {
        push(&|p| p.params[at].format = None);
        push(&|p| {
            if let Some(format) = &mut p.params[at].format {
                format.wide = false;
                format.fill = None;
                format.typical = None;
            }
        });
        push(&|p| {
            if let Some(format) = &mut p.params[at].format {
                format.modes.clear();
            }
        });
        push(&|p| {
            if let Some(format) = &mut p.params[at].format {
                format.blocks.clear();
            }
        });
        push(&|p| {
            if let Some(format) = &mut p.params[at].format {
                format.slots = None;
                format.diagonals = None;
            }
        });
        push(&|p| {
            if let Some(format) = &mut p.params[at].format {
                format.blocks.pop();
            }
        });
        push(&|p| p.params[at].ty = "double");
        if let Data::File(file) = &program.params[at].data {
            push(&|p| p.params[at].data = Data::Text("random:1:0.5".to_string()));
            push(&|p| p.params[at].data = Data::Text("random:1:1".to_string()));
            for small in file.smaller() {
                push(&|p| p.params[at].data = Data::File(Box::new(small.clone())));
            }
        }
    }
    push(&|p| p.formats.clear());
    for at in 0..program.formats.len() {
        push(&|p| {
            p.formats.remove(at);
        });
    }
    out
}

/// The expression with one node replaced by one of its children.
fn smaller_expressions(e: &Expr) -> Vec<Expr> {
    let mut out: Vec<Expr> = e.children().into_iter().cloned().collect();
    for at in 0..e.children().len() {
        for small in smaller_expressions(e.children()[at]) {
            let mut next = e.clone();
            *next.children_mut()[at] = small;
            out.push(next);
        }
    }
    out
}
