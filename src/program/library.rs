//! What the files declare: functions, formats and their uses, each name once; and
//! the checks that concern one `def` by itself.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::spelling::suggest;
use super::{claims, functions, operators};
use crate::diagnostic::codes::{format as format_codes, program as codes};
use crate::diagnostic::{Diagnostic, Span};
use crate::operators::Own;
use crate::scalar::ScalarType;
use crate::syntax::ast;

/// The declarations of all files, by name.
pub(super) struct Library<'a> {
    pub(super) defs: IndexMap<&'a str, &'a ast::Def>,
    pub(super) formats: IndexMap<&'a str, &'a ast::FormatDecl>,
    pub(super) uses: Vec<&'a ast::FormatUse>,
    /// Operators of one's own.
    pub(super) operators: IndexMap<&'a str, (Own, &'a ast::OperatorDecl)>,
}

impl<'a> Library<'a> {
    /// Collects the items of `files` and checks what each `def` says by itself.
    pub(super) fn collect(files: &'a [ast::File], errors: &mut Vec<Diagnostic>) -> Self {
        let mut library = Library {
            defs: IndexMap::new(),
            formats: IndexMap::new(),
            uses: Vec::new(),
            operators: IndexMap::new(),
        };
        let mut schedules = Vec::new();
        for item in files.iter().flat_map(|file| &file.items) {
            match item {
                ast::Item::Def(def) => {
                    if let Some(first) = library.defs.get(def.name.name.as_str()) {
                        errors.push(twice("function", &first.name, &def.name));
                    } else {
                        library.defs.insert(&def.name.name, def);
                    }
                }
                ast::Item::FormatDecl(format) => {
                    if let Some(first) = library.formats.get(format.name.name.as_str()) {
                        errors.push(
                            Diagnostic::error(
                                format_codes::DECLARED_TWICE,
                                format.name.span,
                                format!("the format `{}` is declared twice", format.name.name),
                                "declared again here",
                            )
                            .with_label(first.name.span, "first declared here")
                            .with_help("give one of them another name"),
                        );
                    } else {
                        library.formats.insert(&format.name.name, format);
                    }
                }
                ast::Item::FormatUse(used) => library.uses.push(used),
                ast::Item::Operator(decl) => library.operator(decl, errors),
                ast::Item::Schedule(schedule) => schedules.extend(&schedule.def),
            }
        }
        let users = library.uses.iter().map(|used| (&used.def, "format"));
        let users = users.chain(schedules.iter().map(|def| (*def, "schedule")));
        for (name, what) in users {
            if !library.defs.contains_key(name.name.as_str()) {
                errors.push(library.unknown_def(
                    &name.name,
                    name.span,
                    &format!("a {what} is given for `{}`", name.name),
                ));
            }
        }
        for def in library.defs.values() {
            check_def(def, errors);
            if let Some((_, decl)) = library.operators.get(def.name.name.as_str()) {
                errors.push(twice("operator", &def.name, &decl.name));
            }
        }
        library
    }

    /// Takes an operator that has a name of its own, and a meaning.
    fn operator(&mut self, decl: &'a ast::OperatorDecl, errors: &mut Vec<Diagnostic>) {
        let name = decl.name.name.as_str();
        if let Some((_, first)) = self.operators.get(name) {
            return errors.push(twice("operator", &first.name, &decl.name));
        }
        if functions::names().any(|known| known == name) || functions::builtin(name).is_some() {
            return errors.push(
                Diagnostic::error(
                    codes::DUPLICATE_NAME,
                    decl.name.span,
                    format!("`{name}` is a function of the language"),
                    "declared again here",
                )
                .with_help("give the operator another name"),
            );
        }
        match operators::define(self, decl) {
            Ok(own) => {
                errors.extend(claims::check_anywhere(own, decl));
                self.operators.insert(name, (own, decl));
            }
            Err(error) => errors.push(error),
        }
    }

    /// "... but there is no such function".
    pub(super) fn unknown_def(&self, name: &str, span: Span, what: &str) -> Diagnostic {
        let listed: Vec<String> = self.defs.keys().map(|def| format!("`{def}`")).collect();
        let otherwise = if listed.is_empty() {
            "declare one with `def NAME(...) -> (...) { ... }`".to_owned()
        } else {
            format!("the functions are {}", listed.join(", "))
        };
        Diagnostic::error(
            codes::UNKNOWN_DEF,
            span,
            format!("{what}, but no function has this name"),
            "no such function",
        )
        .with_help(suggest(name, self.defs.keys().copied(), &otherwise))
    }
}

/// The tensors that the statements of `def` write, each with its first place.
pub(super) fn assigned(def: &ast::Def) -> IndexMap<&str, &ast::Ident> {
    let mut names = IndexMap::new();
    for stmt in &def.stmts {
        match stmt {
            ast::Stmt::Assign(assign) => {
                names
                    .entry(assign.tensor.name.as_str())
                    .or_insert(&assign.tensor);
            }
            ast::Stmt::Call(call) => {
                for result in &call.results {
                    names.entry(result.name.as_str()).or_insert(result);
                }
            }
        }
    }
    names
}

fn twice(what: &str, first: &ast::Ident, again: &ast::Ident) -> Diagnostic {
    Diagnostic::error(
        codes::DUPLICATE_NAME,
        again.span,
        format!("the {what} `{}` is declared twice", again.name),
        "declared again here",
    )
    .with_label(first.span, "first declared here")
    .with_help("give one of them another name")
}

fn check_def(def: &ast::Def, errors: &mut Vec<Diagnostic>) {
    let mut params: IndexMap<&str, &ast::Param> = IndexMap::new();
    let mut sizes: IndexMap<&str, &ast::Ident> = IndexMap::new();
    for param in &def.params {
        if let Some(first) = params.get(param.name.name.as_str()) {
            errors.push(twice("parameter", &first.name, &param.name));
        } else {
            params.insert(&param.name.name, param);
        }
        for dim in &param.dims {
            if let ast::Dim::Name(name) = dim {
                sizes.entry(&name.name).or_insert(name);
            }
        }
        if ScalarType::from_name(&param.ty.name).is_none() {
            errors.push(unknown_type(&param.ty));
        }
    }
    for (name, size) in &sizes {
        if let Some(param) = params.get(name).filter(|param| param.dims.is_empty()) {
            errors.push(
                Diagnostic::error(
                    codes::DUPLICATE_NAME,
                    param.name.span,
                    format!("`{name}` is both a scalar parameter and a size"),
                    "declared as a scalar here",
                )
                .with_label(size.span, "used as a size here")
                .with_help(
                    "sizes come with the tensors and need no parameter: remove the scalar, \
                     or give it another name",
                ),
            );
        }
    }
    let assigned = assigned(def);
    let mut seen: IndexMap<&str, &ast::Ident> = IndexMap::new();
    for result in &def.returns {
        if let Some(first) = seen.get(result.name.as_str()) {
            errors.push(twice("result", first, result));
        } else {
            seen.insert(&result.name, result);
        }
        if !assigned.contains_key(result.name.as_str()) {
            errors.push(
                Diagnostic::error(
                    codes::NEVER_ASSIGNED,
                    result.span,
                    format!("`{}` is returned but never assigned", result.name),
                    "no statement writes it",
                )
                .with_help(suggest(
                    &result.name,
                    assigned.keys().copied(),
                    "assign it, or leave it out of the results",
                )),
            );
        }
    }
    let results: BTreeSet<&str> = def.returns.iter().map(|r| r.name.as_str()).collect();
    for (name, place) in &assigned {
        if let Some(param) = params.get(name).filter(|_| !results.contains(name)) {
            errors.push(
                Diagnostic::error(
                    codes::ASSIGNED_PARAMETER,
                    place.span,
                    format!("the parameter `{name}` is assigned but not returned"),
                    "parameters are only read",
                )
                .with_label(param.name.span, "declared here")
                .with_help(format!(
                    "return it too, as in `-> ({name})`, or assign to another name"
                )),
            );
        }
    }
    if def.returns.is_empty() {
        errors.push(
            Diagnostic::error(
                codes::NEVER_ASSIGNED,
                def.name.span,
                format!("`{}` returns nothing", def.name.name),
                "a function without results computes nothing",
            )
            .with_help("name the tensors to return after `->`"),
        );
    }
}

pub(super) fn unknown_type(ty: &ast::Ident) -> Diagnostic {
    let names = ScalarType::ALL.into_iter().map(ScalarType::name);
    Diagnostic::error(
        codes::UNKNOWN_TYPE,
        ty.span,
        format!("`{}` is no element type", ty.name),
        "unknown type",
    )
    .with_help(suggest(
        &ty.name,
        names.chain(["int", "byte", "long"]),
        "the types are double, float, half, bfloat16, bool, int8 to int64, uint8 to uint64, \
         complex64 and complex128",
    ))
}
