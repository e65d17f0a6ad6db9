//! [`crate::syntax::ast`] into [`ir::Program`]: names, types, einsum terms, range
//! inference, formats attached, calls inlined, and every semantic error.
//!
//! The steps, in order, each filling in more of a [`draft::Draft`]: `library` collects
//! the declarations, `calls` lists the statements with calls inlined, `names` resolves
//! them, `types` and `ranges` infer, `inout` finds what is read first, `formats` says
//! how tensors are stored; `finish` places the sums, makes conversions explicit and
//! builds the function, whose fill values `fill` checks.

mod arguments;
mod calls;
mod claims;
mod draft;
mod einsum;
mod fill;
mod finish;
mod fixed;
mod formats;
mod functions;
mod inout;
pub mod ir;
mod library;
mod located;
mod names;
mod nested;
mod operators;
mod print;
pub(crate) mod ranges;
pub(crate) use located::as_variable;
pub(crate) use ranges::affine::affine;
pub mod spelling;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod unused;
pub(crate) mod visit;

use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnosed, Diagnostic, FileId, Severity, Span};
use crate::operators::Own;
use crate::syntax::ast;
use draft::Draft;
use library::Library;

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Resolve this function only; all of them if `None`.
    pub def: Option<String>,
    /// Sizes fixed by `--size M=1000`.
    pub sizes: Vec<(String, u64)>,
    /// Width of coordinates and positions where no format says otherwise: 32 or 64.
    pub index_bits: Option<u8>,
}

/// A program without errors.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub program: ir::Program,
    /// Warnings and notes.
    pub remarks: Vec<Diagnostic>,
}

/// The operator that a declaration by itself gives, as [`crate::operators::Definition::text`] has it.
#[must_use]
pub fn operator(text: &str) -> Option<Own> {
    let file = crate::syntax::parse(FileId(0), text).ok()?;
    let mut errors = Vec::new();
    let library = Library::collect(std::slice::from_ref(&file), &mut errors);
    library.operators.values().map(|(own, _)| *own).next()
}

/// Resolves the functions of `files`: the `.tc` file first, then format files, which
/// go before it where both speak of a tensor.
///
/// # Errors
/// Every error that can be found in one go, without repetitions.
pub fn resolve(files: &[ast::File], options: &Options) -> Diagnosed<Resolved> {
    let mut errors = Vec::new();
    let library = Library::collect(files, &mut errors);
    let wanted = wanted(&library, options, &mut errors);
    let mut program = ir::Program {
        functions: Vec::new(),
    };
    let mut remarks = Vec::new();
    // A `def` that is wrong by itself would only cause errors that follow from it.
    if errors.is_empty() {
        for def in &wanted {
            match resolve_def(&library, def, options) {
                Ok((function, notes)) => {
                    program.functions.push(function);
                    remarks.extend(notes);
                }
                Err(found) => errors.extend(found),
            }
        }
    }
    if errors.is_empty() {
        unknown_sizes(&program, &wanted, options, &mut errors);
    }
    if errors.is_empty() {
        return Ok(Resolved { program, remarks });
    }
    let mut distinct: Vec<Diagnostic> = Vec::new();
    for error in errors {
        // An inlined function's errors are found once for each call.
        if !distinct.contains(&error) {
            distinct.push(error);
        }
    }
    Err(distinct)
}

fn wanted<'a>(
    library: &Library<'a>,
    options: &Options,
    errors: &mut Vec<Diagnostic>,
) -> Vec<&'a ast::Def> {
    let start = Span {
        file: FileId(0),
        start: 0,
        end: 0,
    };
    let place = library.defs.first().map_or(start, |(_, def)| def.name.span);
    match &options.def {
        None => {
            if library.defs.is_empty() && errors.is_empty() {
                errors.push(
                    Diagnostic::error(
                        codes::UNKNOWN_DEF,
                        place,
                        "there is no function to compile",
                        "nothing is defined here",
                    )
                    .with_help("declare one with `def NAME(...) -> (...) { ... }`"),
                );
            }
            library.defs.values().copied().collect()
        }
        Some(name) => match library.defs.get(name.as_str()) {
            Some(def) => vec![*def],
            None => {
                let what = format!("`{name}` is asked for");
                errors.push(library.unknown_def(name, place, &what));
                Vec::new()
            }
        },
    }
}

fn resolve_def(
    library: &Library,
    def: &ast::Def,
    options: &Options,
) -> Diagnosed<(ir::Function, Vec<Diagnostic>)> {
    let mut draft = Draft::new(library, def);
    let items = calls::flatten(&mut draft, def);
    for size in &mut draft.sizes {
        let given = options.sizes.iter().rev();
        let mut given = given.filter(|(name, _)| *name == size.name);
        size.value = given.next().map(|(_, value)| *value);
    }
    if draft.errors.is_empty() {
        for item in &items {
            names::resolve(&mut draft, item);
        }
    }
    if !draft.errors.is_empty() {
        return Err(draft.errors);
    }
    finish::finish(draft, options)
}

/// `--size` must name a size of some function.
fn unknown_sizes(
    program: &ir::Program,
    defs: &[&ast::Def],
    options: &Options,
    errors: &mut Vec<Diagnostic>,
) {
    let Some(def) = defs.first() else { return };
    for (name, _) in &options.sizes {
        let mut names = program.functions.iter().flat_map(|f| {
            let synonyms = f.synonyms.iter().map(|synonym| synonym.name.as_str());
            let sizes = f.sizes.iter().map(|size| size.name.as_str());
            sizes.chain(synonyms)
        });
        if names.clone().any(|known| known == name) {
            continue;
        }
        let help = spelling::suggest(name, names.by_ref(), "sizes are the names of dimensions");
        errors.push(
            Diagnostic::new(
                Severity::Error,
                codes::UNKNOWN_SIZE,
                def.name.span,
                format!("there is no size `{name}` to fix"),
                "no parameter has this dimension",
            )
            .with_help(help),
        );
    }
}
