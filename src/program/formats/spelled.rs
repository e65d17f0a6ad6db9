//! From what a `format` entry spells to levels: built-in names, declared formats, and
//! lists of levels.

use super::Checked;
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::format::{Level, TensorFormat, builtin};
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
pub(super) fn block_size(n: u64, span: Span) -> Checked<u32> {
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

pub(super) fn unsupported(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(
        codes::NOT_SUPPORTED,
        span,
        format!("{what} is not supported yet"),
        "cannot be stored yet",
    )
    .with_help(
        "levels are dense, compressed, singleton, hashed, bitmap or range, and store a dimension `i`, its blocks `i/4` \
         and, further in, the places in these, `i%4`, `slot`, or the diagonals `j-i`",
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
        ast::FormatBody::Levels(levels) => super::parts::stored_variables(decl, args, levels),
    }
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

pub(super) fn level(written: &ast::LevelType) -> Checked<Level> {
    let kind = &written.kind;
    let mut level = match LevelKind::called(&kind.name) {
        Some(kind) => kind.plain(),
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
            "nonunique" if level.is_asked() => {
                return Err(Box::new(
                    Diagnostic::error(
                        codes::UNKNOWN_LEVEL,
                        property.span,
                        format!("a {} level cannot be nonunique", kind.name),
                        "its table leads to one position for each coordinate",
                    )
                    .with_help("remove the property, or use `compressed(nonunique, unordered)`"),
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
