//! What the levels of a declared format store: dimensions, their blocks and the places in these, slots, and diagonals.

use super::Checked;
use super::spelled::{block_size, level, unsupported};
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::format::{Level, Part, TensorFormat};
use crate::syntax::ast;

/// The levels of a declaration, with `args` for its parameters.
pub(super) fn stored_variables(
    decl: &ast::FormatDecl,
    args: &[u32],
    levels: &[ast::LevelDecl],
) -> Checked<TensorFormat> {
    for (at, var) in decl.vars.iter().enumerate() {
        if decl.vars[..at].iter().any(|other| other.name == var.name) {
            return Err(Box::new(declaration(var.span, &var.name, "stands twice")));
        }
    }
    let mut format = TensorFormat::whole(Vec::new(), Vec::new());
    for stored in levels {
        match is_slot(decl, &stored.coordinate) {
            true => slot(&mut format, stored)?,
            false => add(&mut format, (decl, args), stored)?,
        }
    }
    has_rows(&format, decl, levels)?;
    is_complete(&format, decl)?;
    match format.slots() {
        Some(slots) => with_slots(format, slots, levels[slots].span),
        None => Ok(format),
    }
}

/// What levels store of a mode, outermost first; slots are of none.
fn of_mode(format: &TensorFormat, mode: usize) -> impl Iterator<Item = Part> {
    let parts = format.modes.iter().zip(&format.parts);
    let own = parts.filter(move |(m, part)| **m == mode && **part != Part::Slot);
    own.map(|(_, part)| *part)
}

/// Adds a level that stores something of a dimension.
fn add(
    format: &mut TensorFormat,
    (decl, args): (&ast::FormatDecl, &[u32]),
    stored: &ast::LevelDecl,
) -> Checked<()> {
    let span = stored.coordinate.span;
    let (name, part) = part(decl, args, &stored.coordinate)?;
    let Some(mode) = decl.vars.iter().position(|var| var.name == *name) else {
        let what = "a level that stores no dimension of the tensor";
        return Err(Box::new(unsupported(span, what)));
    };
    let before: Vec<Part> = of_mode(format, mode).collect();
    let (what, help) = match (before.as_slice(), part) {
        ([], Part::Whole | Part::Block(_) | Part::Diagonal(_)) => (None, None),
        ([Part::Block(n)], Part::Within(m)) if *n == m => (None, None),
        ([], Part::Within(n)) => (
            Some("has places in blocks, but no blocks above them".to_string()),
            Some(format!("store `{name}/{n}` in a level further out")),
        ),
        ([Part::Block(n)], Part::Within(_)) => (
            Some(format!("is stored in blocks of {n} above")),
            Some(format!("write `{name}%{n}`")),
        ),
        (_, Part::Whole | Part::Block(_) | Part::Within(_) | Part::Slot | Part::Diagonal(_)) => {
            (Some("is stored twice".to_string()), None)
        }
    };
    if let Some(what) = what {
        let error = declaration(span, name, &what);
        return Err(Box::new(match help {
            Some(help) => error.with_help(help),
            None => error,
        }));
    }
    format.levels.push(match part {
        Part::Whole if format.is_range(mode) => range(&stored.level)?,
        Part::Diagonal(_) => diagonals(&stored.level)?,
        Part::Whole | Part::Block(_) | Part::Within(_) | Part::Slot => level(&stored.level)?,
    });
    format.modes.push(mode);
    format.parts.push(part);
    Ok(())
}

/// Diagonals have the dimension along which they run further in, as a whole.
fn has_rows(
    format: &TensorFormat,
    decl: &ast::FormatDecl,
    levels: &[ast::LevelDecl],
) -> Checked<()> {
    for (at, part) in format.parts.iter().enumerate() {
        let Part::Diagonal(along) = *part else {
            continue;
        };
        let mut behind = format.parts.iter().zip(&format.modes).skip(at);
        if !behind.any(|own| own == (&Part::Whole, &along)) {
            let var = &decl.vars[along];
            let what = "is not stored as a whole behind its diagonals";
            let error = declaration(levels[at].span, &var.name, what);
            let help = format!("add a level `{}: range` further in", var.name);
            return Err(Box::new(error.with_help(help)));
        }
    }
    Ok(())
}

/// Each dimension is stored, with the places in its blocks.
fn is_complete(format: &TensorFormat, decl: &ast::FormatDecl) -> Checked<()> {
    for (mode, var) in decl.vars.iter().enumerate() {
        match of_mode(format, mode).last() {
            None => {
                return Err(Box::new(declaration(var.span, &var.name, "is not stored")));
            }
            Some(Part::Block(n)) => {
                let what = format!("is stored in blocks of {n}, whose places are not stored");
                let error = declaration(var.span, &var.name, &what);
                let help = format!("add a level `{}%{n}: dense`", var.name);
                return Err(Box::new(error.with_help(help)));
            }
            Some(Part::Whole | Part::Within(_) | Part::Slot | Part::Diagonal(_)) => {}
        }
    }
    Ok(())
}

/// The level of the places on diagonals.
fn range(written: &ast::LevelType) -> Checked<Level> {
    if written.kind.name == "range" && written.properties.is_empty() {
        return Ok(Level::DENSE);
    }
    let own = level(written)?;
    if own == Level::DENSE {
        return Ok(own);
    }
    let what = "a level below diagonals that is no range";
    Err(Box::new(unsupported(written.kind.span, what)))
}

/// The level of diagonals.
fn diagonals(written: &ast::LevelType) -> Checked<Level> {
    let own = level(written)?;
    if own == Level::DENSE || own == Level::COMPRESSED {
        return Ok(own);
    }
    let what = format!("a level of diagonals that is {}", own.text());
    Err(Box::new(unsupported(written.kind.span, &what)))
}

/// Whether a level stores slots: the word, which is no dimension of this format.
fn is_slot(decl: &ast::FormatDecl, stored: &ast::Expr) -> bool {
    let is_dimension = || decl.vars.iter().any(|var| var.name == "slot");
    matches!(&stored.kind, ast::ExprKind::Name(name) if name == "slot") && !is_dimension()
}

/// Adds the level of slots.
fn slot(format: &mut TensorFormat, stored: &ast::LevelDecl) -> Checked<()> {
    if format.slots().is_some() {
        return Err(Box::new(slot_error(stored.span, "stands twice")));
    }
    let level = level(&stored.level)?;
    if level != Level::DENSE && level != Level::COMPRESSED {
        let what = "needs a level that is dense or compressed";
        let error = slot_error(stored.level.kind.span, what);
        let help = "write `slot: dense` where all rows have the same number of slots, `slot: compressed` \
                    where each row, or slice of rows, has its own";
        return Err(Box::new(error.with_help(help)));
    }
    format.levels.push(level);
    // Until it is known which singleton is the first one.
    format.modes.push(0);
    format.parts.push(Part::Slot);
    Ok(())
}

fn slot_error(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(
        codes::DECLARATION,
        span,
        format!("the level of slots {what}"),
        "slots number the elements of each row",
    )
    .with_help("write one level of slots, as in `(i,j) -> (slot: dense, i: dense, j: singleton)`")
}

/// A format whose level `slots` tells apart what the singletons behind all other levels store.
fn with_slots(mut format: TensorFormat, slots: usize, span: Span) -> Checked<TensorFormat> {
    let first = format.levels.iter().position(|level| level.is_branchless());
    let Some(first) = first.filter(|first| *first > slots) else {
        let error = slot_error(span, "tells no elements apart");
        let help = "store a dimension in a singleton behind all other levels, as in \
                    `(i,j) -> (slot: dense, i: dense, j: singleton)`";
        return Err(Box::new(error.with_help(help)));
    };
    let behind = format.levels.iter().zip(&format.parts).skip(first);
    let mut behind = behind.map(|(level, part)| level.is_branchless() && *part == Part::Whole);
    if !behind.all(|single| single) {
        let error = slot_error(span, "needs the singletons behind all other levels");
        let help = "write `(slot: dense, i: dense, j: singleton)`: rows first, then what is stored in them";
        return Err(Box::new(error.with_help(help)));
    }
    format.modes[slots] = format.modes[first];
    Ok(format)
}

/// The variable that a level stores, and what of it: `i`, `i/4`, `i%4`.
fn part<'a>(
    decl: &ast::FormatDecl,
    args: &[u32],
    stored: &'a ast::Expr,
) -> Checked<(&'a String, Part)> {
    let expression = || unsupported(stored.span, "a level that stores this expression");
    if let ast::ExprKind::Name(name) = &stored.kind {
        return Ok((name, Part::Whole));
    }
    let ast::ExprKind::Binary(op, of, size) = &stored.kind else {
        return Err(Box::new(expression()));
    };
    if let (ast::BinaryOp::Sub, ast::ExprKind::Name(across), ast::ExprKind::Name(along)) =
        (op, &of.kind, &size.kind)
    {
        let along = decl
            .vars
            .iter()
            .position(|var| var.name == *along && along != across);
        let along = along.ok_or_else(|| Box::new(expression()))?;
        return Ok((across, Part::Diagonal(along)));
    }
    let part: fn(u32) -> Part = if *op == ast::BinaryOp::Div {
        Part::Block
    } else if *op == ast::BinaryOp::Rem {
        Part::Within
    } else {
        return Err(Box::new(expression()));
    };
    let given = if let ast::ExprKind::Number(ast::Number::Int(n)) = size.kind {
        Some(block_size(n, size.span)?)
    } else if let ast::ExprKind::Name(name) = &size.kind {
        let at = decl.params.iter().position(|param| param.name == *name);
        at.and_then(|at| args.get(at)).copied()
    } else {
        None
    };
    match (&of.kind, given) {
        (ast::ExprKind::Name(name), Some(size)) => Ok((name, part(size))),
        (_, Some(_) | None) => Err(Box::new(expression())),
    }
}

fn declaration(span: Span, var: &str, what: &str) -> Diagnostic {
    Diagnostic::error(
        codes::DECLARATION,
        span,
        format!("the dimension `{var}` {what}"),
        "each dimension needs one level, or two for its blocks",
    )
    .with_help("write one level for each dimension, as in `(i,j) -> (j: dense, i: compressed)`")
}
