//! TACO notation on the command line (language.md, section 4).
//!
//! `-e 'y(i)=A(i,j)*x(j)' -f A:ds` becomes an ordinary file: one function `compute`
//! whose parameters are the tensors that are read but not computed. Their sizes are
//! named after the index variables that subscript them.

mod extents;
mod functions;
mod tensors;

use std::collections::BTreeMap;

use self::tensors::Tensors;
use super::ast::{
    Arg, Assign, AssignOp, Command, Def, Dim, Expr, ExprKind, File, FormatEntry, FormatSpec,
    FormatUse, Ident, Item, LevelType, Notation, Number, Param, RangeClause, Reduction, Schedule,
    Stmt,
};
use super::build::Builder;
use super::parse::{Rule, parse_rule, parse_schedule};
use crate::diagnostic::codes::syntax as codes;
use crate::diagnostic::{Diagnosed, Diagnostic, FileId, Sources, Span};
use crate::operators::ReduceOp;

/// The strings of `-e`, `-f`, `-t`, `-d` and `-s`.
#[derive(Clone, Debug, Default)]
pub struct TacoArgs {
    pub exprs: Vec<String>,
    pub formats: Vec<String>,
    pub types: Vec<String>,
    pub dims: Vec<String>,
    pub schedules: Vec<String>,
}

/// The program that the arguments mean.
#[derive(Clone, Debug)]
pub struct TacoProgram {
    pub file: File,
}

/// The name of the function.
pub const FUNCTION: &str = "compute";

/// Translates the arguments.
///
/// # Errors
/// One that does not parse, or names what the expressions do not have.
pub fn parse(sources: &mut Sources, args: &TacoArgs) -> Diagnosed<TacoProgram> {
    let mut errors = Vec::new();
    let mut stmts: Vec<Assign> = Vec::new();
    for text in &args.exprs {
        let file = sources.add("-e", text);
        match assignment(file, text) {
            Ok(stmt) => stmts.push(stmt),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut tensors = Tensors::default();
    for stmt in &stmts {
        tensors.statement(stmt);
    }
    let mut translator = Translator {
        tensors: &mut tensors,
        errors,
        typed: Vec::new(),
        entries: Vec::new(),
        commands: Vec::new(),
    };
    for text in &args.types {
        let file = sources.add("-t", text);
        translator.type_of(file, text);
    }
    for text in &args.formats {
        let file = sources.add("-f", text);
        translator.format(file, text);
    }
    for text in &args.dims {
        let file = sources.add("-d", text);
        translator.dimension(file, text, &mut stmts);
    }
    for text in &args.schedules {
        let file = sources.add("-s", text);
        translator.schedule(file, text);
    }
    let Translator {
        errors,
        entries,
        commands,
        ..
    } = translator;
    if !errors.is_empty() {
        return Err(errors);
    }
    let Some(span) = stmts.first().map(|s| s.span) else {
        let file = sources.add("-e", "");
        return Err(vec![bad(
            whole(file, ""),
            "there is no expression",
            "give one with -e",
        )]);
    };
    let commands = with_tensors(commands, &stmts);
    let dims = extents::extents(&stmts, &tensors).map_err(|error| vec![error])?;
    Ok(TacoProgram {
        file: assemble(stmts, &tensors, &dims, entries, commands, span),
    })
}

fn whole(file: FileId, text: &str) -> Span {
    Span {
        file,
        start: 0,
        end: u32::try_from(text.len()).unwrap_or(u32::MAX),
    }
}

/// Formats with a name elsewhere, as levels.
const SPELLED: [(&str, &str); 6] = [
    ("csr", "ds"),
    ("csc", "ds:1,0"),
    ("dcsr", "ss"),
    ("dcsc", "ss:1,0"),
    ("coo", "uq"),
    ("csf", "sss"),
];

fn bad(span: Span, message: impl Into<String>, help: &str) -> Diagnostic {
    Diagnostic::error(codes::TACO, span, message, "here").with_help(help)
}

/// An option that says a second time what a tensor is.
fn twice(span: Span, what: &str, name: &str) -> Diagnostic {
    bad(
        span,
        format!("the {what} of `{name}` is given twice"),
        "leave one of them out",
    )
}

fn assignment(file: FileId, text: &str) -> Result<Assign, Diagnostic> {
    let mut pairs = parse_rule(file, text, 0, Rule::only_assign)?;
    let inner = pairs
        .next()
        .and_then(|p| p.into_inner().find(|p| p.as_rule() == Rule::assign));
    match inner {
        Some(pair) => Builder::new(file, 0).assign(pair),
        None => Err(bad(
            whole(file, text),
            "no assignment",
            "write y(i)=A(i,j)*x(j)",
        )),
    }
}

struct Translator<'a> {
    tensors: &'a mut Tensors,
    errors: Vec<Diagnostic>,
    /// The tensors whose type was given.
    typed: Vec<String>,
    entries: Vec<FormatEntry>,
    commands: Vec<Command>,
}

impl Translator<'_> {
    /// `A:rest`, where A must be a tensor of the expressions.
    fn tensor<'t>(&mut self, file: FileId, text: &'t str) -> Option<(Ident, &'t str)> {
        let span = whole(file, text);
        let Some((name, rest)) = text.split_once(':') else {
            self.errors
                .push(bad(span, "a colon is missing", "write NAME:..., as A:ds"));
            return None;
        };
        if self.tensors.get(name).is_none() {
            let known: Vec<String> = self
                .tensors
                .all
                .iter()
                .map(|t| t.name.name.clone())
                .collect();
            self.errors.push(bad(
                span,
                format!("no expression has a tensor `{name}`"),
                &format!("the tensors are {}", known.join(", ")),
            ));
            return None;
        }
        let ident = Ident {
            name: name.to_string(),
            span,
        };
        Some((ident, rest))
    }

    fn type_of(&mut self, file: FileId, text: &str) {
        let Some((name, ty)) = self.tensor(file, text) else {
            return;
        };
        let span = whole(file, text);
        let ty = own_name(ty);
        if crate::scalar::ScalarType::from_name(ty).is_none() {
            self.errors.push(bad(
                span,
                format!("unknown type `{ty}`"),
                "as double, float, int32 or complex128",
            ));
            return;
        }
        if self.typed.contains(&name.name) {
            self.errors.push(twice(span, "type", &name.name));
            return;
        }
        self.typed.push(name.name.clone());
        if let Some(tensor) = self.tensors.get(&name.name) {
            tensor.ty = Some(Ident {
                name: ty.to_string(),
                span,
            });
        }
    }

    fn format(&mut self, file: FileId, text: &str) {
        let Some((tensor, rest)) = self.tensor(file, text) else {
            return;
        };
        let span = whole(file, text);
        let (letters, order) = match rest.split_once(':') {
            Some((letters, order)) => (letters, Some(order)),
            None => (rest, None),
        };
        let mut levels = Vec::new();
        for letter in letters.chars() {
            let (kind, nonunique) = match letter {
                'd' => ("dense", false),
                's' => ("compressed", false),
                'u' => ("compressed", true),
                'q' => ("singleton", false),
                'c' => ("singleton", true),
                _ => {
                    let error = bad(
                        span,
                        format!("unknown level `{letter}`"),
                        "levels are d dense, s compressed, u compressed with repeats, q singleton, c singleton with repeats",
                    );
                    let spelled = SPELLED.iter().find(|(name, _)| *name == letters);
                    self.errors.push(match spelled {
                        Some((name, spelled)) => {
                            error.with_note(format!("`{name}` is `{}:{spelled}` here", tensor.name))
                        }
                        None => error,
                    });
                    return;
                }
            };
            let ident = |name: &str| Ident {
                name: name.to_string(),
                span,
            };
            levels.push(LevelType {
                kind: ident(kind),
                properties: if nonunique {
                    vec![ident("nonunique")]
                } else {
                    vec![]
                },
                span,
            });
        }
        if self.entries.iter().any(|e| e.tensor.name == tensor.name) {
            self.errors.push(twice(span, "format", &tensor.name));
            return;
        }
        let mut modes = None;
        if let Some(order) = order {
            let parsed: Result<Vec<(u64, Span)>, _> = order
                .split(',')
                .map(|n| n.trim().parse::<u64>().map(|n| (n, span)))
                .collect();
            match parsed {
                Ok(list) => modes = Some(list),
                Err(_) => {
                    self.errors.push(bad(
                        span,
                        format!("`{order}` is no mode order"),
                        "write A:ds:1,0",
                    ));
                    return;
                }
            }
        }
        self.entries.push(FormatEntry {
            tensor,
            spec: FormatSpec::Levels(levels),
            order: modes,
            fill: None,
            typical: None,
            index: None,
            span,
        });
    }

    fn dimension(&mut self, file: FileId, text: &str, stmts: &mut [Assign]) {
        let span = whole(file, text);
        let parsed = text
            .split_once(':')
            .and_then(|(v, n)| n.trim().parse::<u64>().ok().map(|n| (v.trim(), n)));
        let Some((var, extent)) = parsed else {
            self.errors
                .push(bad(span, "not a dimension", "write -d i:100"));
            return;
        };
        let mut used = false;
        for stmt in stmts {
            if !mentions(stmt, var) {
                continue;
            }
            used = true;
            let number = |n: u64| Expr {
                kind: ExprKind::Number(Number::Int(n)),
                span,
            };
            stmt.ranges.push(RangeClause {
                var: Ident {
                    name: var.to_string(),
                    span,
                },
                lo: number(0),
                hi: number(extent),
                span,
            });
        }
        if used {
            self.tensors.fixed.insert(var.to_string(), (extent, span));
        } else {
            self.errors.push(bad(
                span,
                format!("no expression has a variable `{var}`"),
                "name an index variable",
            ));
        }
    }

    fn schedule(&mut self, file: FileId, text: &str) {
        match parse_schedule(file, text) {
            Ok(commands) => self.commands.extend(commands),
            Err(errors) => self.errors.extend(errors),
        }
    }
}

fn mentions(stmt: &Assign, var: &str) -> bool {
    fn inside(e: &Expr, var: &str) -> bool {
        let named = matches!(&e.kind, ExprKind::Name(name) if name == var);
        named || e.parts().into_iter().any(|part| inside(part, var))
    }
    stmt.subscripts.iter().any(|s| inside(s, var)) || inside(&stmt.rhs, var)
}

/// `pos(i, p, A)` names the tensor alone: its access is looked up.
fn with_tensors(mut commands: Vec<Command>, stmts: &[Assign]) -> Vec<Command> {
    for command in &mut commands {
        if let Command::Call { name, args, .. } = command
            && name.name.eq_ignore_ascii_case("pos")
            && let Some(Arg::Expr(e)) = args.get_mut(2)
            && let ExprKind::Name(tensor) = &e.kind
        {
            let found = stmts.iter().find_map(|s| find_access(&s.rhs, tensor));
            if let Some(access) = found {
                e.kind = access.kind;
            }
        }
    }
    commands
}

fn find_access(e: &Expr, tensor: &str) -> Option<Expr> {
    if matches!(&e.kind, ExprKind::Apply { callee, .. } if callee.name == tensor) {
        return Some(e.clone());
    }
    let mut parts = e.parts().into_iter();
    parts.find_map(|part| find_access(part, tensor))
}

fn assemble(
    stmts: Vec<Assign>,
    tensors: &Tensors,
    dims: &BTreeMap<String, Vec<Dim>>,
    entries: Vec<FormatEntry>,
    commands: Vec<Command>,
    span: Span,
) -> File {
    let ident = |name: &str, span: Span| Ident {
        name: name.to_string(),
        span,
    };
    let mut params = Vec::new();
    let mut returns = Vec::new();
    let mut types = Vec::new();
    for tensor in &tensors.all {
        let span = tensor.name.span;
        if tensor.written || stmts.iter().any(|s| s.tensor.name == tensor.name.name) {
            returns.push(tensor.name.clone());
        }
        // What is combined by `&&` or `||` is a bool, unless it is said to be something else.
        let logical = stmts.iter().any(|s| {
            s.tensor.name == tensor.name.name
                && matches!(
                    s.op,
                    AssignOp::Reduce {
                        op: Reduction::Builtin(ReduceOp::And | ReduceOp::Or),
                        ..
                    }
                )
        });
        if tensor.ty.is_some() || !logical {
            let ty = tensor.ty.clone().unwrap_or_else(|| ident("double", span));
            types.push((tensor.name.clone(), ty));
        }
        let computed_first = tensor.written && !tensor.read_first;
        if computed_first {
            continue;
        }
        let in_out = stmts.iter().any(|s| s.tensor.name == tensor.name.name);
        if in_out && tensor.ty.is_none() {
            // Returned and read: its shape and type are inferred.
            continue;
        }
        let dims = dims.get(&tensor.name.name).cloned().unwrap_or_default();
        params.push(Param {
            ty: tensor.ty.clone().unwrap_or_else(|| ident("double", span)),
            dims,
            name: tensor.name.clone(),
            span,
        });
    }
    let name = ident(FUNCTION, span);
    let mut items = vec![Item::Def(Def {
        notation: Notation::Taco,
        name: name.clone(),
        params,
        returns,
        types,
        stmts: stmts.into_iter().map(Stmt::Assign).collect(),
        span,
    })];
    if !entries.is_empty() {
        items.push(Item::FormatUse(FormatUse {
            def: name.clone(),
            entries,
            span,
        }));
    }
    if !commands.is_empty() {
        items.push(Item::Schedule(Schedule {
            def: Some(name),
            target: None,
            name: None,
            commands,
            span,
        }));
    }
    File { items }
}

/// The language's name of a type that TACO calls otherwise.
fn own_name(ty: &str) -> &str {
    match ty {
        "char" => "int8",
        "short" => "int16",
        "longlong" => "int64",
        "uchar" => "uint8",
        "ushort" => "uint16",
        "uint" => "uint32",
        "ulong" | "ulonglong" => "uint64",
        "complexfloat" => "complex64",
        "complexdouble" => "complex128",
        other => other,
    }
}
