//! What the dimensions of TACO's tensors are called: nothing declares them.
//!
//! Dimensions that one index variable of one statement subscripts by itself are one
//! size (language.md, section 1), and so is a dimension with itself in all statements.
//! A size is named after the variable that stands in the first access of its first
//! tensor (`i_size`), or after the tensor where that is no plain variable.

use std::collections::BTreeMap;

use super::bad;
use super::functions::is_function;
use super::tensors::Tensors;
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Assign, Dim, Expr, ExprKind, Ident};

/// One dimension of a tensor.
type Mode = (String, usize);

/// The dimensions of every tensor that is mentioned, by its name.
///
/// # Errors
/// When two ranges that `-d` fixes are those of one size.
pub(super) fn extents(
    stmts: &[Assign],
    tensors: &Tensors,
) -> Result<BTreeMap<String, Vec<Dim>>, Diagnostic> {
    let mut same = Same::default();
    for stmt in stmts {
        same.statement(stmt);
    }
    let fixed = same.fixed(tensors)?;
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for tensor in &tensors.all {
        let mut dims = Vec::new();
        for (mode, subscript) in tensor.subscripts.iter().enumerate() {
            let class = same.class(&tensor.name.name, mode);
            if let Some((_, extent)) = fixed.get(&class) {
                dims.push(Dim::Const(*extent, tensor.name.span));
                continue;
            }
            if !names.contains_key(&class) {
                let free = |name: &String| names.values().all(|taken| taken != name);
                let after_var = variable(subscript).map(|var| format!("{var}_size"));
                let name = after_var.filter(free).unwrap_or_else(|| {
                    let own = format!("{}{mode}_size", tensor.name.name);
                    let mut name = own.clone();
                    let mut number = 1;
                    while !free(&name) {
                        number += 1;
                        name = format!("{own}_{number}");
                    }
                    name
                });
                names.insert(class, name);
            }
            dims.push(Dim::Name(Ident {
                name: names[&class].clone(),
                span: subscript.span,
            }));
        }
        all.insert(tensor.name.name.clone(), dims);
    }
    Ok(all)
}

fn variable(subscript: &Expr) -> Option<&str> {
    if let ExprKind::Name(name) = &subscript.kind {
        Some(name)
    } else {
        None
    }
}

/// Which dimensions are one size: a forest whose roots name the classes.
#[derive(Default)]
struct Same {
    modes: BTreeMap<Mode, usize>,
    parents: Vec<usize>,
    /// The variables that subscript a dimension by themselves.
    variables: Vec<(String, usize)>,
}

impl Same {
    fn statement(&mut self, stmt: &Assign) {
        let mut of_variable: BTreeMap<String, usize> = BTreeMap::new();
        self.access(&stmt.tensor.name, &stmt.subscripts, &mut of_variable);
        self.expr(&stmt.rhs, &mut of_variable);
    }

    fn expr(&mut self, e: &Expr, of_variable: &mut BTreeMap<String, usize>) {
        if let ExprKind::Apply { callee, args } = &e.kind
            && !is_function(&callee.name)
        {
            self.access(&callee.name, args, of_variable);
        }
        for part in e.parts() {
            self.expr(part, of_variable);
        }
    }

    fn access(
        &mut self,
        tensor: &str,
        subscripts: &[Expr],
        of_variable: &mut BTreeMap<String, usize>,
    ) {
        for (mode, subscript) in subscripts.iter().enumerate() {
            let class = self.class(tensor, mode);
            let Some(var) = variable(subscript) else {
                continue;
            };
            self.variables.push((var.to_owned(), class));
            match of_variable.get(var) {
                Some(&other) => {
                    let (other, class) = (self.root(other), self.root(class));
                    self.parents[class] = other;
                }
                None => {
                    of_variable.insert(var.to_owned(), class);
                }
            }
        }
    }

    fn class(&mut self, tensor: &str, mode: usize) -> usize {
        let next = self.parents.len();
        let at = *self.modes.entry((tensor.to_owned(), mode)).or_insert(next);
        if at == next {
            self.parents.push(next);
        }
        self.root(at)
    }

    fn root(&self, mut at: usize) -> usize {
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    /// The classes whose extent `-d` fixes, each with the variable that it was given for.
    fn fixed(&self, tensors: &Tensors) -> Result<BTreeMap<usize, (String, u64)>, Diagnostic> {
        let mut all: BTreeMap<usize, (String, u64)> = BTreeMap::new();
        for (var, mode) in &self.variables {
            let Some(&(extent, span)) = tensors.fixed.get(var) else {
                continue;
            };
            let class = self.root(*mode);
            match all.get(&class) {
                Some((other, known)) if *known != extent => {
                    return Err(bad(
                        span,
                        format!(
                            "`{other}` runs to {known} and `{var}` to {extent}, but both \
                             subscript dimensions of one size"
                        ),
                        "give them the same extent",
                    ));
                }
                Some(_) => {}
                None => {
                    all.insert(class, (var.clone(), extent));
                }
            }
        }
        Ok(all)
    }
}
