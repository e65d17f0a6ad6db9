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
        if let Some((_, span)) = args.first() {
            return Err(Box::new(unsupported(*span, "a format with arguments")));
        }
        return Ok((declared(decl, order)?, decl.index));
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
    if let Some((_, span)) = args.first() {
        return Err(Box::new(
            Diagnostic::error(
                codes::ARGUMENTS,
                *span,
                format!("the format `{}` takes no arguments", entry.name),
                "not expected",
            )
            .with_help("remove the parentheses"),
        ));
    }
    let wanted = said.or(entry.order).unwrap_or(order);
    let format = builtin::instantiate(entry, order).filter(|_| wanted == order);
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

fn unsupported(span: Span, what: &str) -> Diagnostic {
    Diagnostic::error(
        codes::NOT_SUPPORTED,
        span,
        format!("{what} is not supported yet"),
        "cannot be stored yet",
    )
    .with_help("the levels dense, compressed and singleton can be used, in any order of dimensions")
}

/// A list of levels, outermost first.
pub(super) fn inline(levels: &[ast::LevelType], order: usize) -> Checked<TensorFormat> {
    let levels: Vec<Level> = levels.iter().map(level).collect::<Checked<_>>()?;
    Ok(TensorFormat {
        modes: (0..levels.len().max(order)).collect(),
        levels,
        index_bits: 32,
    })
}

fn declared(decl: &ast::FormatDecl, order: usize) -> Checked<TensorFormat> {
    if let Some(param) = decl.params.first() {
        return Err(Box::new(unsupported(
            param.span,
            "a format with parameters",
        )));
    }
    match &decl.body {
        ast::FormatBody::Each(kind) => Ok(TensorFormat {
            levels: vec![level(kind)?; order],
            modes: (0..order).collect(),
            index_bits: 32,
        }),
        ast::FormatBody::Levels(levels) => permuted_variables(decl, levels),
    }
}

fn permuted_variables(decl: &ast::FormatDecl, levels: &[ast::LevelDecl]) -> Checked<TensorFormat> {
    for (at, var) in decl.vars.iter().enumerate() {
        if decl.vars[..at].iter().any(|other| other.name == var.name) {
            return Err(Box::new(declaration(var.span, &var.name, "stands twice")));
        }
    }
    let mut format = TensorFormat {
        levels: Vec::new(),
        modes: Vec::new(),
        index_bits: 32,
    };
    for stored in levels {
        let ast::ExprKind::Name(name) = &stored.coordinate.kind else {
            return Err(Box::new(unsupported(
                stored.coordinate.span,
                "a level that stores an expression",
            )));
        };
        let Some(mode) = decl.vars.iter().position(|var| var.name == *name) else {
            let what = "a level that stores no dimension of the tensor";
            return Err(Box::new(unsupported(stored.coordinate.span, what)));
        };
        if format.modes.contains(&mode) {
            let span = stored.coordinate.span;
            return Err(Box::new(declaration(span, name, "is stored twice")));
        }
        format.levels.push(level(&stored.level)?);
        format.modes.push(mode);
    }
    for (mode, var) in decl.vars.iter().enumerate() {
        if !format.modes.contains(&mode) {
            return Err(Box::new(declaration(var.span, &var.name, "is not stored")));
        }
    }
    Ok(format)
}

fn declaration(span: Span, var: &str, what: &str) -> Diagnostic {
    Diagnostic::error(
        codes::DECLARATION,
        span,
        format!("the dimension `{var}` {what}"),
        "each dimension needs one level",
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
