//! A function while it is being resolved: the tables that the steps of this stage
//! fill one after the other, until [`super::finish`] turns them into
//! [`ir::Function`](super::ir::Function).

use std::collections::{BTreeMap, BTreeSet};

use super::ir::{
    Expr, ExprKind, Literal, ReduceOp, ScalarType, Size, SizeExpr, SizeId, Synonym, TensorId, VarId,
};
use super::library::Library;
use super::ranges::size::simplify;
use crate::diagnostic::{Diagnostic, Span};
use crate::syntax::ast;

/// Expressions carry this type until `types` has run; only casts that were written
/// have their own before that.
pub(super) const UNTYPED: ScalarType = ScalarType::Bool;

/// Everything known of the function so far.
pub(super) struct Draft<'a> {
    pub(super) library: &'a Library<'a>,
    /// What help speaks of.
    pub(super) notation: ast::Notation,
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) sizes: Vec<Size>,
    /// Names that were found to be another size, or a constant.
    pub(super) synonyms: Vec<Synonym>,
    /// Extents that are named before they are known (`T.0` of a temporary, the sizes
    /// of a called function): `SizeId`s from [`ALIAS`] on.
    pub(super) aliases: Vec<(TensorId, usize)>,
    pub(super) tensors: Vec<DraftTensor>,
    /// The names of the tensors, and how many were asked to begin with each.
    names: BTreeMap<String, usize>,
    pub(super) params: Vec<TensorId>,
    pub(super) results: Vec<TensorId>,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) vars: Vec<DraftVar>,
    pub(super) stmts: Vec<DraftStmt>,
    /// What the function's own statements are labelled.
    pub(super) labels: BTreeSet<String>,
    pub(super) calls: Vec<ArgumentCheck>,
    pub(super) errors: Vec<Diagnostic>,
    /// Warnings.
    pub(super) remarks: Vec<Diagnostic>,
}

/// The first id of an alias (see [`Draft::aliases`]).
pub(super) const ALIAS: u32 = 1 << 31;

/// A tensor whose type and shape may still be unknown.
pub(super) struct DraftTensor {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) is_param: bool,
    pub(super) is_result: bool,
    /// Some statement writes it.
    pub(super) is_assigned: bool,
    pub(super) ty: Option<ScalarType>,
    /// Known from the declaration or from the first assignment.
    pub(super) order: Option<usize>,
    /// One for each mode once the order is known, with the place it comes from.
    pub(super) dims: Vec<Option<(SizeExpr, Span)>>,
    /// The shape was declared, so statements must keep inside it.
    pub(super) is_declared: bool,
    /// The function and the name whose `format` entry speaks of this tensor.
    pub(super) declared_as: (String, String),
}

impl DraftTensor {
    /// A scalar integer parameter that never changes: it may stand in extents.
    pub(super) fn is_size_param(&self) -> bool {
        self.is_param
            && !self.is_assigned
            && self.order == Some(0)
            && self.ty.is_some_and(ScalarType::is_integer)
    }

    /// The type of such a parameter.
    pub(super) fn size_param(&self) -> Option<ScalarType> {
        self.ty.filter(|_| self.is_size_param())
    }

    pub(super) fn set_order(&mut self, order: usize) {
        if self.order.is_none() {
            self.order = Some(order);
            self.dims = vec![None; order];
        }
    }
}

pub(super) struct DraftVar {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) stmt: usize,
}

/// A `where` clause with its bounds resolved but not yet typed.
pub(super) struct Clause {
    pub(super) var: VarId,
    pub(super) lo: Expr,
    pub(super) hi: Expr,
    pub(super) span: Span,
}

/// How a statement writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// `=`: sums term by term.
    Define,
    /// `+=` and the like into what is there.
    Accumulate(ReduceOp),
    /// `+=!` and the like.
    Initialise(ReduceOp),
    /// The operator's neutral element, whatever the right side is: what `+=!` sets before it
    /// scatters.
    Neutral(ReduceOp),
}

pub(super) struct DraftStmt {
    pub(super) label: String,
    pub(super) tensor: TensorId,
    pub(super) lhs: Vec<VarId>,
    pub(super) write: Write,
    pub(super) rhs: Expr,
    pub(super) clauses: Vec<Clause>,
    /// Every variable: left side, then in the order of first appearance.
    pub(super) vars: Vec<VarId>,
    pub(super) span: Span,
    pub(super) text: String,
}

/// What a name means inside one function body (that of the function itself, or of
/// one that is called and inlined).
pub(super) struct Scope<'a> {
    pub(super) tensors: BTreeMap<&'a str, Binding<'a>>,
    pub(super) sizes: BTreeMap<&'a str, SizeExpr>,
}

/// What a tensor or scalar name of a scope stands for.
#[derive(Clone, Copy)]
pub(super) enum Binding<'a> {
    Tensor(TensorId),
    /// A scalar parameter of an inlined function: the caller's expression, read in the
    /// caller's scope and converted to the parameter's type.
    Value {
        scope: usize,
        expr: &'a ast::Expr,
        ty: ScalarType,
    },
}

/// A promise of an inlined call that can be checked once types and shapes are known.
pub(super) struct ArgumentCheck {
    pub(super) tensor: TensorId,
    pub(super) param: String,
    pub(super) callee: String,
    pub(super) ty: ScalarType,
    /// What the callee's declaration says of each extent.
    pub(super) dims: Vec<SizeExpr>,
    /// The argument, and which of its dimensions, that brought the extent, where an earlier one did.
    pub(super) brought: Vec<Option<(TensorId, usize)>>,
    pub(super) span: Span,
    pub(super) declared: Span,
}

/// A dimension of an argument, and the extent that the callee's declaration says it has.
pub(super) struct Promised<'d> {
    pub(super) call: &'d ArgumentCheck,
    pub(super) dim: usize,
    pub(super) wanted: SizeExpr,
    pub(super) given: SizeExpr,
}

impl<'a> Draft<'a> {
    pub(super) fn new(library: &'a Library<'a>, def: &ast::Def) -> Self {
        let labels = def.stmts.iter().filter_map(|stmt| match stmt {
            ast::Stmt::Assign(assign) => assign.label.as_ref(),
            ast::Stmt::Call(call) => call.label.as_ref(),
        });
        Draft {
            library,
            notation: def.notation,
            name: def.name.name.clone(),
            span: def.name.span,
            sizes: Vec::new(),
            synonyms: Vec::new(),
            aliases: Vec::new(),
            tensors: Vec::new(),
            names: BTreeMap::new(),
            params: Vec::new(),
            results: Vec::new(),
            scopes: Vec::new(),
            vars: Vec::new(),
            stmts: Vec::new(),
            labels: labels.map(|label| label.name.clone()).collect(),
            calls: Vec::new(),
            errors: Vec::new(),
            remarks: Vec::new(),
        }
    }

    pub(super) fn tensor(&self, id: TensorId) -> &DraftTensor {
        &self.tensors[id.index()]
    }

    pub(super) fn tensor_mut(&mut self, id: TensorId) -> &mut DraftTensor {
        &mut self.tensors[id.index()]
    }

    pub(super) fn var(&self, id: VarId) -> &DraftVar {
        &self.vars[id.index()]
    }

    pub(super) fn add_tensor(&mut self, tensor: DraftTensor) -> TensorId {
        let id = TensorId::at(self.tensors.len());
        self.names.entry(tensor.name.clone()).or_insert(1);
        self.tensors.push(tensor);
        id
    }

    pub(super) fn add_var(&mut self, name: &str, span: Span, stmt: usize) -> VarId {
        let id = VarId::at(self.vars.len());
        self.vars.push(DraftVar {
            name: name.to_owned(),
            span,
            stmt,
        });
        id
    }

    /// The size of this name, added where it is new.
    pub(super) fn size_named(&mut self, name: &str, span: Span) -> SizeId {
        let known = self.sizes.iter().position(|size| size.name == name);
        let at = known.unwrap_or_else(|| {
            self.sizes.push(Size {
                name: name.to_owned(),
                span,
                value: None,
            });
            self.sizes.len() - 1
        });
        SizeId::at(at)
    }

    /// Replaces sizes in all that names have been resolved to.
    pub(super) fn replace_sizes(&mut self, to: &impl Fn(SizeId) -> SizeExpr) {
        let replace = |extent: &mut SizeExpr| *extent = extent.with_sizes(to);
        let dims = self.tensors.iter_mut().flat_map(|t| &mut t.dims);
        dims.flatten().for_each(|(extent, _)| replace(extent));
        let dims = self.calls.iter_mut().flat_map(|call| &mut call.dims);
        dims.for_each(replace);
        let names = self.synonyms.iter_mut();
        names.for_each(|name| replace(&mut name.means));
        for stmt in &mut self.stmts {
            let bounds = stmt.clauses.iter_mut();
            let bounds = bounds.flat_map(|clause| [&mut clause.lo, &mut clause.hi]);
            for expr in bounds.chain([&mut stmt.rhs]) {
                expr.walk_mut(&mut |e| {
                    if let ExprKind::Size(extent) = &mut e.kind {
                        replace(extent);
                    }
                });
            }
        }
    }

    /// The extent of one dimension, by an alias if it is not known yet.
    pub(super) fn extent(&mut self, tensor: TensorId, dim: usize) -> SizeExpr {
        if let Some(Some((known, _))) = self.tensor(tensor).dims.get(dim) {
            return known.clone();
        }
        let pair = (tensor, dim);
        let at = self.aliases.iter().position(|alias| *alias == pair);
        let at = at.unwrap_or_else(|| {
            self.aliases.push(pair);
            self.aliases.len() - 1
        });
        SizeExpr::Size(SizeId(ALIAS + u32::try_from(at).unwrap_or(0)))
    }

    /// The expression with every alias replaced, `None` while one is unknown.
    pub(super) fn expand(&self, expr: &SizeExpr) -> Option<SizeExpr> {
        self.expand_within(expr, self.aliases.len())
    }

    /// `fuel` bounds the chain of aliases: an extent never depends on itself.
    fn expand_within(&self, expr: &SizeExpr, fuel: usize) -> Option<SizeExpr> {
        let two = |a: &SizeExpr, b: &SizeExpr| {
            Some((
                Box::new(self.expand_within(a, fuel)?),
                Box::new(self.expand_within(b, fuel)?),
            ))
        };
        Some(match expr {
            SizeExpr::Size(id) if id.0 >= ALIAS => {
                let (tensor, dim) = *self.aliases.get((id.0 - ALIAS) as usize)?;
                let (known, _) = self.tensor(tensor).dims.get(dim)?.as_ref()?;
                return self.expand_within(known, fuel.checked_sub(1)?);
            }
            SizeExpr::Const(_) | SizeExpr::Size(_) | SizeExpr::Param(_) => expr.clone(),
            SizeExpr::Add(a, b) => two(a, b).map(|(a, b)| SizeExpr::Add(a, b))?,
            SizeExpr::Sub(a, b) => two(a, b).map(|(a, b)| SizeExpr::Sub(a, b))?,
            SizeExpr::Mul(a, b) => two(a, b).map(|(a, b)| SizeExpr::Mul(a, b))?,
            SizeExpr::FloorDiv(a, b) => two(a, b).map(|(a, b)| SizeExpr::FloorDiv(a, b))?,
            SizeExpr::Min(a, b) => two(a, b).map(|(a, b)| SizeExpr::Min(a, b))?,
            SizeExpr::Max(a, b) => two(a, b).map(|(a, b)| SizeExpr::Max(a, b))?,
        })
    }

    /// The extent of a mode, where it is known.
    pub(super) fn known_dim(&self, tensor: TensorId, dim: usize) -> Option<SizeExpr> {
        let (extent, _) = self.tensor(tensor).dims.get(dim)?.as_ref()?;
        self.expand(extent)
    }

    /// What calls promise of extents that are known by now and are not plainly equal.
    pub(super) fn promised(&self) -> impl Iterator<Item = Promised<'_>> {
        self.calls.iter().flat_map(|call| {
            call.dims.iter().enumerate().filter_map(|(dim, declared)| {
                let wanted = simplify(&self.expand(declared)?);
                let given = simplify(&self.known_dim(call.tensor, dim)?);
                (wanted != given).then_some(Promised {
                    call,
                    dim,
                    wanted,
                    given,
                })
            })
        })
    }

    /// A name that no tensor has: `base`, `base_2`, `base_3`, ...
    pub(super) fn fresh_name(&mut self, base: &str) -> String {
        let mut count = self.names.get(base).copied().unwrap_or(0);
        let mut name = base.to_owned();
        while self.names.contains_key(&name) {
            count += 1;
            name = format!("{base}_{count}");
        }
        if let Some(known) = self.names.get_mut(base) {
            *known = count;
        }
        name
    }
}

pub(super) fn zero(span: Span) -> Expr {
    Expr {
        kind: super::ir::ExprKind::Literal(Literal::Int(0)),
        ty: UNTYPED,
        span,
    }
}
