//! From what a `format` entry spells to levels: built-in names, declared formats, and
//! lists of levels.

use super::Checked;
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::format::{Level, Part, TensorFormat, builtin};
use crate::level::LevelKind;
use crate::program::library::Library;
use crate::program::spelling::suggest;
use crate::syntax::ast;

/// A format and the width that its declaration gives.
type Named = (TensorFormat, Option<(u64, Span)>);

/// The format of this name for a tensor of `order` dimensions.
pub(super) fn named(
    library: &Library,
    name: &ast::Ident,
    args: &[(u64, Span)],
    order: usize,
) -> Checked<Named> {
    if let Some(decl) = library.formats.get(name.name.as_str()) {
        let args = arguments(name, args, decl.params.len())?;
        return Ok((declared(decl, &args, order)?, decl.index));
    }
    let Some((entry, said)) = builtin::find(&name.name) else {
        let known = builtin::ALL.iter().map(|entry| entry.name);
        let known = known.chain(library.formats.keys().copied());
        return Err(Box::new(
            Diagnostic::error(
                codes::UNKNOWN_FORMAT,
                name.span,
                format!("`{}` is no format", name.name),
                "neither declared nor built in",
            )
            .with_help(suggest(
                &name.name,
                known,
                "`sparsec formats` lists the built-in ones; others are declared with \
                 `format NAME = (i,j) -> (i: dense, j: compressed)`",
            )),
        ));
    };
    if !entry.supported {
        let what = format!("the format `{}`", entry.name);
        return Err(Box::new(unsupported(name.span, &what)));
    }
    let args = arguments(name, args, entry.arguments())?;
    let wanted = said.or(entry.order).unwrap_or(order);
    let format = builtin::instantiate(entry, &args, order).filter(|_| wanted == order);
    let format = format.ok_or_else(|| {
        Box::new(
            Diagnostic::error(
                codes::ORDER_MISMATCH,
                name.span,
                format!("`{}` is for {wanted} dimensions, not {order}", name.name),
                format!("the tensor has {order}"),
            )
            .with_help("`csf` and `coo` are for any order; `{dense, compressed}` lists levels"),
        )
    })?;
    Ok((format, None))
}

/// The sizes of blocks behind a format's name: as many as the format takes.
fn arguments(name: &ast::Ident, args: &[(u64, Span)], takes: usize) -> Checked<Vec<u32>> {
    let refuse = |span, message, label: &str, help: &str| {
        let error = Diagnostic::error(codes::ARGUMENTS, span, message, label);
        Err(Box::new(error.with_help(help)))
    };
    let name_text = &name.name;
    match (args, takes) {
        ([(_, span), ..], 0) => refuse(
            *span,
            format!("the format `{name_text}` takes no arguments"),
            "not expected",
            "remove the parentheses",
        ),
        (args, takes) if args.len() != takes => refuse(
            name.span,
            format!(
                "the format `{name_text}` takes {takes} numbers, not {}",
                args.len()
            ),
            "the sizes of its blocks",
            "write one number for each, as in `bcsr(4,4)`",
        ),
        (args, _) => args.iter().map(|&(n, span)| block_size(n, span)).collect(),
    }
}

/// How many coordinates a block has.
fn block_size(n: u64, span: Span) -> Checked<u32> {
    let fits = i32::try_from(n).ok().filter(|n| *n > 0);
    fits.map(i32::unsigned_abs).ok_or_else(|| {
        Box::new(
            Diagnostic::error(
                codes::ARGUMENTS,
                span,
                format!("there are no blocks of {n} coordinates"),
                "at least 1, below 2^31",
            )
            .with_help("write how many coordinates a block has, as in `bcsr(4,4)`"),
        )
    })
}

fn unsupported(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(
        codes::NOT_SUPPORTED,
        span,
        format!("{what} is not supported yet"),
        "cannot be stored yet",
    )
    .with_help(
        "levels are dense, compressed, singleton or bitmap, and store a dimension `i`, its blocks `i/4` \
         and, further in, the places in these, `i%4`, or `slot`",
    )
}

/// A list of levels, outermost first.
pub(super) fn inline(levels: &[ast::LevelType], order: usize) -> Checked<TensorFormat> {
    let levels: Vec<Level> = levels.iter().map(level).collect::<Checked<_>>()?;
    let modes = (0..levels.len().max(order)).collect();
    Ok(TensorFormat::whole(levels, modes))
}

fn declared(decl: &ast::FormatDecl, args: &[u32], order: usize) -> Checked<TensorFormat> {
    match &decl.body {
        ast::FormatBody::Each(kind) => Ok(TensorFormat::whole(
            vec![level(kind)?; order],
            (0..order).collect(),
        )),
        ast::FormatBody::Levels(levels) => stored_variables(decl, args, levels),
    }
}

/// The levels of a declaration, with `args` for its parameters.
fn stored_variables(
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
        let span = stored.coordinate.span;
        if is_slot(decl, &stored.coordinate) {
            slot(&mut format, stored)?;
            continue;
        }
        let (name, part) = part(decl, args, &stored.coordinate)?;
        let Some(mode) = decl.vars.iter().position(|var| var.name == *name) else {
            let what = "a level that stores no dimension of the tensor";
            return Err(Box::new(unsupported(span, what)));
        };
        let own = format.modes.iter().zip(&format.parts);
        let before = own.filter(|(m, part)| **m == mode && **part != Part::Slot);
        let before: Vec<Part> = before.map(|(_, part)| *part).collect();
        match (before.as_slice(), part) {
            ([], Part::Whole | Part::Block(_) | Part::Diagonal(_)) => {}
            ([Part::Block(n)], Part::Within(m)) if *n == m => {}
            ([], Part::Within(n)) => {
                let error =
                    declaration(span, name, "has places in blocks, but no blocks above them");
                let help = format!("store `{name}/{n}` in a level further out");
                return Err(Box::new(error.with_help(help)));
            }
            ([Part::Block(n)], Part::Within(_)) => {
                let error = declaration(span, name, &format!("is stored in blocks of {n} above"));
                return Err(Box::new(error.with_help(format!("write `{name}%{n}`"))));
            }
            (
                _,
                Part::Whole | Part::Block(_) | Part::Within(_) | Part::Slot | Part::Diagonal(_),
            ) => {
                return Err(Box::new(declaration(span, name, "is stored twice")));
            }
        }
        format.levels.push(match (ranges(&format, mode), part) {
            (Some(_), Part::Whole) => range(&stored.level)?,
            (_, Part::Diagonal(_)) => diagonals(&stored.level)?,
            (_, Part::Whole | Part::Block(_) | Part::Within(_) | Part::Slot) => {
                level(&stored.level)?
            }
        });
        format.modes.push(mode);
        format.parts.push(part);
    }
    for (at, part) in format.parts.iter().enumerate() {
        let Part::Diagonal(along) = *part else {
            continue;
        };
        let own = format.parts.iter().zip(&format.modes).skip(at);
        if !own
            .clone()
            .any(|(part, mode)| *mode == along && *part == Part::Whole)
        {
            let var = &decl.vars[along];
            let what = "is not stored as a whole behind its diagonals";
            let error = declaration(levels[at].span, &var.name, what);
            let help = format!("add a level `{}: range` further in", var.name);
            return Err(Box::new(error.with_help(help)));
        }
    }
    for (mode, var) in decl.vars.iter().enumerate() {
        let own = format.modes.iter().zip(&format.parts);
        match own
            .filter(|(m, part)| **m == mode && **part != Part::Slot)
            .map(|(_, part)| part)
            .next_back()
        {
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
    match format.slots() {
        Some(slots) => with_slots(format, levels[slots].span),
        None => Ok(format),
    }
}

/// The level further out that stores diagonals along a mode.
fn ranges(format: &TensorFormat, mode: usize) -> Option<usize> {
    let mut parts = format.parts.iter();
    parts.position(|part| *part == Part::Diagonal(mode))
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

/// A format with slots, which tell apart what the singletons behind all other levels store.
fn with_slots(mut format: TensorFormat, span: Span) -> Checked<TensorFormat> {
    let Some(slots) = format.slots() else {
        return Ok(format);
    };
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

/// The level types of the language, of which some are not built yet.
const LEVEL_TYPES: [&str; 6] = [
    "dense",
    "compressed",
    "singleton",
    "hashed",
    "bitmap",
    "range",
];

fn level(written: &ast::LevelType) -> Checked<Level> {
    let kind = &written.kind;
    let mut level = match LevelKind::called(&kind.name) {
        Some(kind) => Level::new(kind),
        None if LEVEL_TYPES.contains(&kind.name.as_str()) => {
            let what = format!("the level type `{}`", kind.name);
            return Err(Box::new(unsupported(kind.span, &what)));
        }
        None => {
            return Err(Box::new(
                Diagnostic::error(
                    codes::UNKNOWN_LEVEL,
                    kind.span,
                    format!("`{}` is no level type", kind.name),
                    "unknown level type",
                )
                .with_help(suggest(
                    &kind.name,
                    LEVEL_TYPES,
                    "the level types are dense, compressed, singleton, hashed, bitmap and range",
                )),
            ));
        }
    };
    for property in &written.properties {
        match property.name.as_str() {
            said @ ("nonunique" | "unordered") if level.is_placed() => {
                return Err(Box::new(
                    Diagnostic::error(
                        codes::UNKNOWN_LEVEL,
                        property.span,
                        format!("a {} level cannot be {said}", kind.name),
                        "it has a place for each coordinate",
                    )
                    .with_help(format!("remove the property, or use `compressed({said})`")),
                ));
            }
            "nonunique" => level = level.nonunique(),
            "unordered" => level = level.unordered(),
            _ => {
                return Err(Box::new(
                    Diagnostic::error(
                        codes::UNKNOWN_LEVEL,
                        property.span,
                        format!("`{}` is no property of a level", property.name),
                        "unknown property",
                    )
                    .with_help(suggest(
                        &property.name,
                        ["nonunique", "unordered"],
                        "the properties are nonunique and unordered",
                    )),
                ));
            }
        }
    }
    Ok(level)
}
