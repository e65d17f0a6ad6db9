//! Storage formats of the tensors of a function: `format` blocks, declared formats,
//! built-in ones, and every check of them.

mod fill_value;
mod parts;
mod spelled;
mod typical;

use super::draft::{Draft, DraftTensor};
use super::ir::{Literal, ReduceOp, Role, ScalarType, TensorId};
use super::library::Library;
use super::spelling::suggest;
use crate::diagnostic::codes::format as codes;
use crate::diagnostic::codes::lower::NONUNIQUE_CHILD;
use crate::diagnostic::{Diagnostic, Span};
use crate::format::{Part, TensorFormat};
use crate::syntax::ast;

/// How one tensor is stored.
pub(super) struct Storage {
    pub(super) format: TensorFormat,
    pub(super) fill: Literal,
    /// How much it stores as a rule, if that is said.
    pub(super) typical: Option<ast::Typical>,
    /// The entry that says so.
    pub(super) entry: Option<Span>,
}

/// The storage of every tensor of `draft`; dense where nothing is said.
pub(super) fn attach(draft: &mut Draft, index_bits: u8) -> Vec<Storage> {
    let library = draft.library;
    unknown_tensors(draft, library);
    let mut storages = Vec::new();
    for at in 0..draft.tensors.len() {
        let id = TensorId::at(at);
        let order = draft.tensor(id).dims.len();
        let mut storage = Storage {
            format: TensorFormat {
                index_bits,
                ..TensorFormat::dense(order)
            },
            fill: Literal::ZERO,
            typical: None,
            entry: None,
        };
        if let Some(entry) = entry_for(draft, library, id) {
            match stored_as(draft, library, id, entry, index_bits) {
                Ok(found) => storage = found,
                Err(error) => draft.errors.push(*error),
            }
        }
        storages.push(storage);
    }
    storages
}

/// Blocks, slots and diagonals are no storage of temporaries, nor of what is updated; how many slots a result
/// has, nothing tells.
pub(super) fn unless_read(
    storage: &Storage,
    tensor: &DraftTensor,
    role: Role,
) -> Option<Diagnostic> {
    let entry = storage.entry.filter(|_| storage.format.is_rearranged())?;
    let (name, ty) = (&tensor.name, tensor.ty.unwrap_or(ScalarType::F64));
    let fills = ReduceOp::with_neutral(storage.fill, ty.compute()).is_some();
    let (how, parts) = match storage.format.slots() {
        Some(_) => ("in", "slots"),
        None if storage.format.has_diagonals() => ("by", "diagonals"),
        None => ("in", "blocks"),
    };
    let what = match role {
        Role::Input => return None,
        Role::Result if storage.format.slots().is_none() && fills => return None,
        Role::Result if storage.format.slots().is_none() => "a result that has this fill and is",
        Role::Result => "a result that is",
        Role::InOut => "a tensor that is updated and",
        Role::Temporary => "a temporary that is",
    };
    let error = Diagnostic::error(
        codes::NOT_SUPPORTED,
        entry,
        format!("{what} stored {how} {parts} is not supported yet"),
        "written by this function",
    );
    Some(error.with_help(format!("store `{name}` as `csr`, or dense")))
}

/// The entry that speaks of a tensor. A later file goes before an earlier one.
fn entry_for<'a>(
    draft: &mut Draft,
    library: &Library<'a>,
    id: TensorId,
) -> Option<&'a ast::FormatEntry> {
    let (def, name) = draft.tensor(id).declared_as.clone();
    let blocks = library.uses.iter().filter(|used| used.def.name == def);
    let entries = blocks.flat_map(|used| &used.entries);
    let mut found: Option<&ast::FormatEntry> = None;
    for entry in entries.filter(|entry| entry.tensor.name == name) {
        if let Some(first) = found.filter(|first| first.span.file == entry.span.file) {
            draft.errors.push(
                Diagnostic::error(
                    codes::DECLARED_TWICE,
                    entry.span,
                    format!("the format of `{name}` is given twice"),
                    "given again here",
                )
                .with_label(first.span, "first given here")
                .with_help("keep one of them"),
            );
        }
        found = Some(entry);
    }
    found
}

fn unknown_tensors(draft: &mut Draft, library: &Library) {
    let mut errors = Vec::new();
    for used in library
        .uses
        .iter()
        .filter(|used| used.def.name == draft.name)
    {
        for entry in &used.entries {
            let own = draft
                .tensors
                .iter()
                .filter(|t| t.declared_as.0 == draft.name);
            let mut names = own.map(|tensor| tensor.declared_as.1.as_str());
            let name = entry.tensor.name.as_str();
            if names.clone().any(|known| known == name) {
                continue;
            }
            errors.push(
                Diagnostic::error(
                    codes::UNKNOWN_TENSOR,
                    entry.tensor.span,
                    format!("`{}` has no tensor `{name}`", draft.name),
                    "no such tensor",
                )
                .with_help(suggest(
                    name,
                    names.by_ref(),
                    "name a parameter, a result or a temporary of the function",
                )),
            );
        }
    }
    draft.errors.extend(errors);
}

type Checked<T> = Result<T, Box<Diagnostic>>;

fn stored_as(
    draft: &Draft,
    library: &Library,
    id: TensorId,
    entry: &ast::FormatEntry,
    index_bits: u8,
) -> Checked<Storage> {
    let tensor = draft.tensor(id);
    let order = tensor.dims.len();
    let name = &tensor.name;
    if order == 0 {
        return Err(Box::new(
            Diagnostic::error(
                codes::SCALAR_FORMAT,
                entry.span,
                format!("the scalar `{name}` has no format"),
                "scalars are single values",
            )
            .with_label(tensor.span, "a scalar")
            .with_help("remove this entry"),
        ));
    }
    let (mut format, index) = match &entry.spec {
        ast::FormatSpec::Named { name, args } => spelled::named(library, name, args, order)?,
        ast::FormatSpec::Levels(levels) => (spelled::inline(levels, order)?, None),
    };
    let levels = match format.is_rearranged() {
        true => format.dimensions(),
        false => format.levels.len(),
    };
    if levels != order {
        return Err(Box::new(
            Diagnostic::error(
                codes::ORDER_MISMATCH,
                entry.span,
                format!("`{name}` has {order} dimensions, but this format is for {levels}"),
                match levels {
                    1 => "1 level".to_owned(),
                    _ => format!("{levels} levels"),
                },
            )
            .with_label(tensor.span, format!("{order} dimensions"))
            .with_help("a format has one level for each dimension"),
        ));
    }
    if let Some(modes) = &entry.order {
        permute(modes, &mut format, entry.span, draft.notation)?;
    }
    singleton_parents(&format, entry.span, draft.notation)?;
    nonunique_children(&format, entry.span, draft.notation)?;
    format.index_bits = index_bits;
    for (bits, span) in [index, entry.index].into_iter().flatten() {
        format.index_bits = width(bits, span)?;
    }
    let ty = tensor.ty.unwrap_or(ScalarType::F64);
    let fill = match entry.fill {
        Some((value, span)) => fill_value::fill(value, ty, name, span)?,
        None => Literal::ZERO,
    };
    if let (Some(_), Some((_, span))) = (format.slots(), entry.fill)
        && !fill.same_value(Literal::ZERO)
    {
        return Err(Box::new(filled_slots(span)));
    }
    let typical = match entry.typical {
        Some((said, span)) => Some(typical::typical(said, &format, name, span)?),
        None => None,
    };
    Ok(Storage {
        format,
        fill,
        typical,
        entry: Some(entry.span),
    })
}

/// Rows that have fewer elements than slots hold zeros in the others.
fn filled_slots(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NOT_SUPPORTED,
        span,
        "slots with another fill than 0 are not supported yet",
        "not zero",
    )
    .with_help("slots that are not needed hold zeros, which are added: store it as `csr`")
}

/// `order (1,0)`: the mode that each level stores.
fn permute(
    modes: &[(u64, Span)],
    format: &mut TensorFormat,
    span: Span,
    notation: ast::Notation,
) -> Checked<()> {
    let order = format.dimensions();
    let mut seen = vec![false; order];
    let mut result = Vec::new();
    for (mode, place) in modes {
        let mode = usize::try_from(*mode).unwrap_or(usize::MAX);
        let free = seen.get_mut(mode).filter(|seen| !**seen);
        let Some(free) = free else {
            return Err(Box::new(bad_permutation(*place, order, notation)));
        };
        *free = true;
        result.push(mode);
    }
    if result.len() != order {
        return Err(Box::new(bad_permutation(span, order, notation)));
    }
    if format.is_rearranged() {
        // Each level stores of the mode given what it stores of its own.
        for (mode, part) in format.modes.iter_mut().zip(&mut format.parts) {
            *mode = result[*mode];
            if let Part::Diagonal(along) = part {
                *along = result[*along];
            }
        }
        return Ok(());
    }
    // The order applies to the format's own modes, so csc order (1,0) is csr.
    format.modes = result.iter().map(|&mode| format.modes[mode]).collect();
    Ok(())
}

fn bad_permutation(span: Span, order: usize, notation: ast::Notation) -> Diagnostic {
    let last = order.saturating_sub(1);
    Diagnostic::error(
        codes::MODE_ORDER,
        span,
        "the order does not name each dimension once",
        format!("the dimensions are 0 to {last}"),
    )
    .with_help(format!(
        "write each dimension once, the outermost level's first, as in `{}`",
        notation.pick("order (1,0)", "-f A:ds:1,0")
    ))
}

/// A singleton level stores one coordinate for each position of its parent, so the
/// parent must repeat a coordinate that has several children.
fn singleton_parents(format: &TensorFormat, span: Span, notation: ast::Notation) -> Checked<()> {
    for (at, level) in format.levels.iter().enumerate() {
        if !level.is_branchless() {
            continue;
        }
        let parent = at.checked_sub(1).and_then(|at| format.levels.get(at));
        if parent.is_some_and(|parent| !parent.unique) || format.slots().is_some() {
            continue;
        }
        let what = if parent.is_some() {
            "its parent level is unique"
        } else {
            "it has no parent level"
        };
        return Err(Box::new(
            Diagnostic::error(
                codes::SINGLETON_PARENT,
                span,
                format!("level {at} cannot be a singleton: {what}"),
                "one coordinate for each parent cannot hold several",
            )
            .with_note(format!(
                "a singleton level stores one coordinate for each position of its parent, so \
                 the parent must be {}",
                notation.pick(
                    "`compressed(nonunique)` or `singleton(nonunique)`",
                    "`u` or `c`, a level with repeats"
                )
            ))
            .with_help(listed(format, at, notation)),
        ));
    }
    Ok(())
}

/// What to write in place of a singleton level and those around it: a list of coordinates.
fn listed(format: &TensorFormat, at: usize, notation: ast::Notation) -> String {
    let levels = &format.levels;
    let is_apart = |at: &usize| !levels[*at].is_branchless();
    let first = (0..at).rev().find(is_apart).unwrap_or(0);
    let last = (at..levels.len()).find(is_apart).unwrap_or(levels.len()) - 1;
    if first == last {
        return notation
            .pick(
                "make this level compressed",
                "make this level compressed, `s`",
            )
            .to_string();
    }
    let between = last - first - 1;
    let run = match notation {
        ast::Notation::Program => format!(
            "{{compressed(nonunique), {}singleton}}",
            "singleton(nonunique), ".repeat(between)
        ),
        ast::Notation::Taco => format!("u{}q", "c".repeat(between)),
    };
    let which = match (between, last + 1 == levels.len() && first == 0) {
        (_, true) => String::new(),
        (0, false) => format!(" for levels {first} and {last}"),
        (_, false) => format!(" for levels {first} to {last}"),
    };
    notation.pick(
        format!("use `{run}`{which}, or make this level compressed"),
        format!("write `{run}`{which}, or make this level compressed, `s`"),
    )
}

/// What is below a coordinate that is stored several times lies apart, unless each position has one
/// child.
fn nonunique_children(format: &TensorFormat, span: Span, notation: ast::Notation) -> Checked<()> {
    let pairs = format.levels.windows(2).enumerate();
    for (at, pair) in pairs {
        if pair[0].unique || pair[1].is_branchless() {
            continue;
        }
        return Err(Box::new(
            Diagnostic::error(
                NONUNIQUE_CHILD,
                span,
                format!(
                    "level {} cannot be {}: its parent level is not unique",
                    at + 1,
                    pair[1].ty().word()
                ),
                "what belongs to one coordinate would lie apart: not supported yet",
            )
            .with_help(notation.pick(
                "use `{compressed(nonunique), singleton}`, or make the level above unique",
                "write `uq` for both, or make the level above unique, `s`",
            )),
        ));
    }
    Ok(())
}

fn width(bits: u64, span: Span) -> Checked<u8> {
    match bits {
        32 => Ok(32),
        64 => Ok(64),
        _ => Err(Box::new(
            Diagnostic::error(
                codes::INDEX_WIDTH,
                span,
                format!("coordinates of {bits} bits do not exist"),
                "neither 32 nor 64",
            )
            .with_help("write `index 32` or `index 64`"),
        )),
    }
}
