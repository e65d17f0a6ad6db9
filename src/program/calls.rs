//! Declares the names of a function and inlines the functions it calls: the
//! statements come out in one list, each with the scope its names are read in.

use std::collections::BTreeMap;

use super::arguments;
use super::draft::{ArgumentCheck, Binding, Draft, DraftTensor, Scope};
use super::ir::{SizeExpr, TensorId};
use super::library::assigned;
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::scalar::ScalarType;
use crate::syntax::ast;

/// A statement after inlining.
pub(super) enum Item<'a> {
    Assign {
        scope: usize,
        assign: &'a ast::Assign,
    },
    /// `to = from`, element by element: an in-out argument under another name.
    Copy {
        from: TensorId,
        to: TensorId,
        span: Span,
    },
}

/// Statements that inlining may produce before it is refused.
const MOST_STATEMENTS: usize = 10_000;

/// Declares `def`'s parameters, results and temporaries and lists its statements.
pub(super) fn flatten<'a>(draft: &mut Draft<'a>, def: &'a ast::Def) -> Vec<Item<'a>> {
    let mut scope = Scope {
        tensors: BTreeMap::new(),
        sizes: BTreeMap::new(),
    };
    for param in &def.params {
        let mut dims = Vec::new();
        for dim in &param.dims {
            let (extent, span) = match dim {
                ast::Dim::Name(name) => {
                    let id = draft.size_named(&name.name, name.span);
                    scope.sizes.insert(&name.name, SizeExpr::Size(id));
                    (SizeExpr::Size(id), name.span)
                }
                ast::Dim::Const(value, span) => (constant_dim(draft, *value, *span), *span),
            };
            dims.push(Some((extent, span)));
        }
        let id = draft.add_tensor(DraftTensor {
            name: param.name.name.clone(),
            span: param.name.span,
            is_param: true,
            is_result: false,
            is_assigned: false,
            ty: ScalarType::from_name(&param.ty.name),
            order: Some(dims.len()),
            dims,
            is_declared: true,
            declared_as: (def.name.name.clone(), param.name.name.clone()),
        });
        draft.params.push(id);
        scope.tensors.insert(&param.name.name, Binding::Tensor(id));
    }
    for (name, place) in declared_by_assignment(def) {
        let known = scope.tensors.get(name);
        let id = if let Some(Binding::Tensor(id)) = known {
            *id
        } else {
            let mut tensor = new_tensor(def, name.to_owned(), place);
            let given = def.types.iter().find(|(typed, _)| typed.name == name);
            tensor.ty = given.and_then(|(_, ty)| ScalarType::from_name(&ty.name));
            let id = draft.add_tensor(tensor);
            scope.tensors.insert(name, Binding::Tensor(id));
            id
        };
        draft.tensor_mut(id).is_result = def.returns.iter().any(|r| r.name == name);
    }
    for result in &def.returns {
        if let Some(Binding::Tensor(id)) = scope.tensors.get(result.name.as_str()) {
            draft.results.push(*id);
        }
    }
    draft.scopes.push(scope);
    let mut inliner = Inliner {
        draft,
        items: Vec::new(),
        full: false,
        stack: vec![&def.name.name],
    };
    inliner.body(0, def);
    inliner.items
}

/// The results in order, then the other assigned names.
fn declared_by_assignment(def: &ast::Def) -> Vec<(&str, &ast::Ident)> {
    let assigned = assigned(def);
    let results = def.returns.iter().filter_map(|result| {
        let name = result.name.as_str();
        assigned.get(name).map(|place| (name, *place))
    });
    let mut all: Vec<(&str, &ast::Ident)> = results.collect();
    for (name, place) in &assigned {
        if all.iter().all(|(known, _)| known != name) {
            all.push((name, place));
        }
    }
    all
}

fn new_tensor(def: &ast::Def, name: String, place: &ast::Ident) -> DraftTensor {
    DraftTensor {
        name,
        span: place.span,
        is_param: false,
        is_result: false,
        is_assigned: false,
        ty: None,
        order: None,
        dims: Vec::new(),
        is_declared: false,
        declared_as: (def.name.name.clone(), place.name.clone()),
    }
}

fn constant_dim(draft: &mut Draft, value: u64, span: Span) -> SizeExpr {
    let value = i64::try_from(value).unwrap_or_else(|_| {
        draft.errors.push(
            Diagnostic::error(
                codes::NUMBER_TOO_LARGE,
                span,
                format!("{value} does not fit an extent"),
                "too large",
            )
            .with_help("extents are at most 2^63 - 1"),
        );
        0
    });
    SizeExpr::Const(value)
}

struct Inliner<'d, 'a> {
    draft: &'d mut Draft<'a>,
    items: Vec<Item<'a>>,
    /// Too many of them.
    full: bool,
    /// The functions being inlined, outermost first.
    stack: Vec<&'a str>,
}

/// A call in either of its two spellings.
struct CallSite<'a> {
    callee: &'a ast::Def,
    results: Vec<&'a ast::Ident>,
    args: &'a [ast::Expr],
    span: Span,
}

impl<'a> Inliner<'_, 'a> {
    fn body(&mut self, scope: usize, def: &'a ast::Def) {
        for stmt in &def.stmts {
            match stmt {
                ast::Stmt::Assign(assign) => {
                    if let Some(site) = self.call_of(scope, assign) {
                        self.call(scope, &site);
                    } else {
                        self.assign(scope, assign);
                    }
                }
                ast::Stmt::Call(call) => {
                    let name = call.callee.name.as_str();
                    if let Some(callee) = self.draft.library.defs.get(name) {
                        let site = CallSite {
                            callee,
                            results: call.results.iter().collect(),
                            args: &call.args,
                            span: call.span,
                        };
                        self.call(scope, &site);
                    } else {
                        let what = format!("`{name}` is called");
                        let error = self
                            .draft
                            .library
                            .unknown_def(name, call.callee.span, &what);
                        self.draft.errors.push(error);
                    }
                }
            }
        }
    }

    /// `O = f(A)`, where f is a function of the file and no tensor of the scope.
    fn call_of(&self, scope: usize, assign: &'a ast::Assign) -> Option<CallSite<'a>> {
        let ast::ExprKind::Apply { callee, args } = &assign.rhs.kind else {
            return None;
        };
        let is_tensor = self.draft.scopes[scope]
            .tensors
            .contains_key(callee.name.as_str());
        let plain = assign.subscripts.is_empty()
            && matches!(assign.op, ast::AssignOp::Set)
            && assign.ranges.is_empty();
        let def = self.draft.library.defs.get(callee.name.as_str())?;
        (plain && !is_tensor).then(|| CallSite {
            callee: def,
            results: vec![&assign.tensor],
            args,
            span: assign.span,
        })
    }

    fn assign(&mut self, scope: usize, assign: &'a ast::Assign) {
        let name = assign.tensor.name.as_str();
        if let Some(Binding::Tensor(id)) = self.draft.scopes[scope].tensors.get(name) {
            let tensor = &mut self.draft.tensors[id.index()];
            tensor.set_order(assign.subscripts.len());
            tensor.is_assigned = true;
        }
        self.items.push(Item::Assign { scope, assign });
    }

    fn call(&mut self, scope: usize, site: &CallSite<'a>) {
        let name = site.callee.name.name.as_str();
        if self.stack.contains(&name) {
            let chain = self.stack.join("` calls `");
            self.draft.errors.push(
                Diagnostic::error(
                    codes::RECURSIVE_CALL,
                    site.span,
                    format!("`{name}` calls itself"),
                    format!("`{chain}` calls `{name}`"),
                )
                .with_help("calls are inlined, so they cannot recur"),
            );
            return;
        }
        if self.items.len() > MOST_STATEMENTS {
            // The calls around are too many as well.
            if std::mem::replace(&mut self.full, true) {
                return;
            }
            self.draft.errors.push(
                Diagnostic::error(
                    codes::TOO_DEEP,
                    site.span,
                    format!("inlining gives more than {MOST_STATEMENTS} statements"),
                    "this call is one too many",
                )
                .with_help("split the function into several that are called one by one"),
            );
            return;
        }
        let counts = [
            ("argument", site.args.len(), site.callee.params.len()),
            ("result", site.results.len(), site.callee.returns.len()),
        ];
        for (what, given, wanted) in counts {
            if given != wanted {
                let plural = if wanted == 1 { "" } else { "s" };
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::CALL_MISMATCH,
                        site.span,
                        format!("`{name}` has {wanted} {what}{plural}, not {given}"),
                        format!("{given} given here"),
                    )
                    .with_label(site.callee.name.span, "declared here")
                    .with_help(format!("give one name or value for each {what}")),
                );
                return;
            }
        }
        if let Some(inner) = self.bind(scope, site) {
            self.draft.scopes.push(inner);
            let at = self.draft.scopes.len() - 1;
            self.stack.push(name);
            self.body(at, site.callee);
            self.stack.pop();
        }
    }

    /// The scope of the callee's body; `None` after an error.
    fn bind(&mut self, scope: usize, site: &CallSite<'a>) -> Option<Scope<'a>> {
        let callee = site.callee;
        let mut inner = Scope {
            tensors: BTreeMap::new(),
            sizes: BTreeMap::new(),
        };
        let mut brought = BTreeMap::new();
        let mut read = Vec::new();
        let mut good = true;
        for (param, arg) in callee.params.iter().zip(site.args) {
            let returned = callee.returns.iter().any(|r| r.name == param.name.name);
            if param.dims.is_empty() && !returned {
                let ty = ScalarType::from_name(&param.ty.name)?;
                if let Err(error) = arguments::check(self.draft, scope, arg, param, ty) {
                    self.draft.errors.push(*error);
                    good = false;
                }
                inner.tensors.insert(
                    &param.name.name,
                    Binding::Value {
                        scope,
                        expr: arg,
                        ty,
                    },
                );
                self.names_in(scope, arg, &mut read);
            } else if let Some(id) = self.tensor_argument(scope, arg, param, callee) {
                inner.tensors.insert(&param.name.name, Binding::Tensor(id));
                self.bind_sizes((&mut inner, &mut brought), id, param, callee, arg.span);
                if !returned {
                    read.push(id);
                }
            } else {
                good = false;
            }
        }
        let mut written: Vec<TensorId> = Vec::new();
        for (formal, actual) in callee.returns.iter().zip(&site.results) {
            let Some(Binding::Tensor(id)) = self.draft.scopes[scope]
                .tensors
                .get(actual.name.as_str())
                .copied()
            else {
                good = false;
                continue;
            };
            if written.contains(&id) || read.contains(&id) {
                let (name, callee) = (&actual.name, &callee.name.name);
                let message = match written.contains(&id) {
                    true => format!("`{name}` is given twice to `{callee}`"),
                    false => format!("`{callee}` reads `{name}`, and gives back another one"),
                };
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::CALL_MISMATCH,
                        actual.span,
                        message,
                        "written here while the call still needs it",
                    )
                    .with_help("store the result under a name of its own"),
                );
                good = false;
            }
            written.push(id);
            if let Some(Binding::Tensor(from)) = inner.tensors.get(formal.name.as_str()).copied()
                && from != id
            {
                let order = self.draft.tensor(from).order.unwrap_or(0);
                self.draft.tensor_mut(id).set_order(order);
                self.draft.tensor_mut(id).is_assigned = true;
                self.items.push(Item::Copy {
                    from,
                    to: id,
                    span: site.span,
                });
            }
            inner.tensors.insert(&formal.name, Binding::Tensor(id));
        }
        for (name, place) in assigned(callee) {
            if !inner.tensors.contains_key(name) {
                let unique = self
                    .draft
                    .fresh_name(&format!("{}_{name}", callee.name.name));
                let id = self.draft.add_tensor(new_tensor(callee, unique, place));
                inner.tensors.insert(name, Binding::Tensor(id));
            }
        }
        good.then_some(inner)
    }

    /// The tensors that a scalar argument's expression reads.
    fn names_in(&self, scope: usize, expr: &ast::Expr, out: &mut Vec<TensorId>) {
        let names = super::names::names_of(expr);
        let tensors = &self.draft.scopes[scope].tensors;
        for name in names {
            match tensors.get(name) {
                Some(Binding::Tensor(id)) => out.push(*id),
                Some(Binding::Value { scope, expr, .. }) => self.names_in(*scope, expr, out),
                None => {}
            }
        }
    }

    fn tensor_argument(
        &mut self,
        scope: usize,
        arg: &'a ast::Expr,
        param: &ast::Param,
        callee: &ast::Def,
    ) -> Option<TensorId> {
        let bound = arg.as_name();
        let bound = bound.and_then(|name| self.draft.scopes[scope].tensors.get(name).copied());
        let Some(Binding::Tensor(id)) = bound else {
            self.draft.errors.push(
                Diagnostic::error(
                    codes::CALL_MISMATCH,
                    arg.span,
                    format!(
                        "`{}` of `{}` needs the name of a tensor",
                        param.name.name, callee.name.name
                    ),
                    "no tensor of this function",
                )
                .with_label(param.span, "declared here")
                .with_help("store the expression in a tensor first, then give its name"),
            );
            return None;
        };
        let wanted = param.dims.len();
        let given = *self.draft.tensor_mut(id).order.get_or_insert(wanted);
        let tensor = self.draft.tensor_mut(id);
        if tensor.dims.len() != given {
            tensor.dims = vec![None; given];
        }
        if given != wanted {
            self.draft.errors.push(
                Diagnostic::error(
                    codes::CALL_MISMATCH,
                    arg.span,
                    format!(
                        "`{}` of `{}` has {wanted} dimensions, but `{}` has {given}",
                        param.name.name,
                        callee.name.name,
                        self.draft.tensor(id).name
                    ),
                    format!("{given} dimensions"),
                )
                .with_label(param.span, "declared here")
                .with_help("arguments are matched in order: check that none is missing"),
            );
            return None;
        }
        Some(id)
    }

    /// The callee's size names become extents of the argument that brings them first; `brought` says which one did.
    fn bind_sizes(
        &mut self,
        (inner, brought): (&mut Scope<'a>, &mut BTreeMap<&'a str, (TensorId, usize)>),
        tensor: TensorId,
        param: &'a ast::Param,
        callee: &ast::Def,
        span: Span,
    ) {
        let mut dims = Vec::new();
        for (at, dim) in param.dims.iter().enumerate() {
            dims.push(match dim {
                ast::Dim::Name(name) => {
                    let known = inner.sizes.get(name.name.as_str()).cloned();
                    known.unwrap_or_else(|| {
                        let extent = self.draft.extent(tensor, at);
                        inner.sizes.insert(&name.name, extent.clone());
                        brought.insert(&name.name, (tensor, at));
                        extent
                    })
                }
                ast::Dim::Const(value, span) => constant_dim(self.draft, *value, *span),
            });
        }
        let first = param.dims.iter().enumerate().map(|(at, dim)| match dim {
            ast::Dim::Name(name) => {
                let first = brought.get(name.name.as_str()).copied();
                first.filter(|first| *first != (tensor, at))
            }
            ast::Dim::Const(..) => None,
        });
        if let Some(ty) = ScalarType::from_name(&param.ty.name) {
            self.draft.calls.push(ArgumentCheck {
                brought: first.collect(),
                tensor,
                param: param.name.name.clone(),
                callee: callee.name.name.clone(),
                ty,
                dims,
                span,
                declared: param.span,
            });
        }
    }
}
