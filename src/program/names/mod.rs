//! Name resolution: one statement of the source becomes a [`DraftStmt`], in which
//! every name is a tensor, a size, an index variable or a function.

mod computed;
mod errors;
mod expr;
mod scatter;
mod subscript;

use indexmap::{IndexMap, IndexSet};

use super::calls::Item;
use super::draft::{Binding, Clause, Draft, DraftStmt, UNTYPED, Write};
use super::ir::{Access, Expr, ExprKind, ReduceOp, TensorId, VarId};
use super::spelling::suggest;
use super::text;
use crate::diagnostic::codes::program as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::syntax::ast;

/// Expressions may be nested this deep: later passes recurse over them.
const DEEPEST: usize = 400;

/// Resolves one statement and appends it to the draft, or reports why not.
pub(super) fn resolve(draft: &mut Draft, item: &Item) {
    match item {
        Item::Assign { scope, assign } => {
            let errors = draft.errors.len();
            let Some(scattered) = Resolver::new(draft, *scope).scattered(assign) else {
                let stmt = Resolver::new(draft, *scope).assign(assign, text::assign(assign));
                if draft.errors.len() == errors {
                    draft.stmts.push(stmt);
                }
                return;
            };
            if let Some((neutral, op)) = scattered.neutral {
                let mut stmt =
                    Resolver::new(draft, *scope).assign(&neutral, text::assign(&neutral));
                if draft.errors.len() > errors {
                    return;
                }
                stmt.write = Write::Neutral(op);
                draft.stmts.push(stmt);
            }
            let stmt = Resolver::new(draft, *scope).assign(&scattered.terms, scattered.text);
            if draft.errors.len() == errors {
                draft.stmts.push(stmt);
            }
        }
        Item::Copy { from, to, span } => copy(draft, *from, *to, *span),
    }
}

fn copy(draft: &mut Draft, from: TensorId, to: TensorId, span: Span) {
    let at = draft.stmts.len();
    let order = draft.tensor(from).order.unwrap_or(0);
    let vars: Vec<VarId> = (0..order)
        .map(|mode| draft.add_var(&format!("i{mode}"), span, at))
        .collect();
    let rhs = access(from, vars.iter().map(|v| index(*v, span)).collect(), span);
    let names: Vec<String> = (0..order).map(|mode| format!("i{mode}")).collect();
    let subscripts = if order == 0 {
        String::new()
    } else {
        format!("({})", names.join(", "))
    };
    let (from, target) = (&draft.tensor(from).name, &draft.tensor(to).name);
    let text = format!("{target}{subscripts} = {from}{subscripts}");
    draft.stmts.push(DraftStmt {
        label: format!("S{at}"),
        tensor: to,
        lhs: vars.clone(),
        write: Write::Define,
        rhs,
        clauses: Vec::new(),
        vars,
        span,
        text,
    });
}

fn node(kind: ExprKind, span: Span) -> Expr {
    Expr {
        kind,
        ty: UNTYPED,
        span,
    }
}

fn index(var: VarId, span: Span) -> Expr {
    node(ExprKind::Index(var), span)
}

fn access(tensor: TensorId, subscripts: Vec<Expr>, span: Span) -> Expr {
    node(ExprKind::Access(Access { tensor, subscripts }), span)
}

/// Every name that an expression mentions, functions aside.
pub(super) fn names_of(expr: &ast::Expr) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        if let ast::ExprKind::Name(name)
        | ast::ExprKind::Apply {
            callee: ast::Ident { name, .. },
            ..
        }
        | ast::ExprKind::Extent {
            tensor: ast::Ident { name, .. },
            ..
        } = &expr.kind
        {
            names.push(name.as_str());
        }
        rest.extend(expr.parts());
    }
    names
}

struct Resolver<'d, 'a> {
    draft: &'d mut Draft<'a>,
    /// The scope that names are read in; changes inside a caller's expression.
    scope: usize,
    stmt: usize,
    /// Names that stand in a subscript or a `where` clause and mean nothing else.
    indices: IndexSet<String>,
    vars: IndexMap<String, VarId>,
    depth: usize,
}

impl<'d, 'a> Resolver<'d, 'a> {
    fn new(draft: &'d mut Draft<'a>, scope: usize) -> Self {
        let stmt = draft.stmts.len();
        Resolver {
            draft,
            scope,
            stmt,
            indices: IndexSet::new(),
            vars: IndexMap::new(),
            depth: 0,
        }
    }

    /// The statement that `assign` is, shown as `text`.
    fn assign(mut self, assign: &ast::Assign, text: String) -> DraftStmt {
        self.collect_all(assign);
        let tensor = self.tensor(&assign.tensor.name);
        let lhs = self.left_side(assign);
        let rhs = self.expr(&assign.rhs);
        let clauses = self.clauses(assign);
        if let Some(tensor) = tensor {
            let order = self.draft.tensor(tensor).order.unwrap_or(0);
            if order != assign.subscripts.len() {
                self.wrong_subscripts(tensor, assign.subscripts.len(), assign.tensor.span);
            }
        }
        let write = match &assign.op {
            ast::AssignOp::Set => Write::Define,
            ast::AssignOp::Reduce { op, init: false } => Write::Accumulate(self.reduction(op)),
            ast::AssignOp::Reduce { op, init: true } => Write::Initialise(self.reduction(op)),
        };
        DraftStmt {
            label: self.label(assign),
            tensor: tensor.unwrap_or(TensorId(0)),
            lhs,
            write,
            rhs,
            clauses,
            vars: self.vars.values().copied().collect(),
            span: assign.span,
            text,
        }
    }

    /// What an assignment reduces by. An operator of one's own has to have what reductions start from, and
    /// may not care which operand is which.
    fn reduction(&mut self, reduction: &ast::Reduction) -> ReduceOp {
        let name = match reduction {
            ast::Reduction::Builtin(op) => return *op,
            ast::Reduction::Named(name) => name,
        };
        let operators = &self.draft.library.operators;
        let error = match operators.get(name.name.as_str()) {
            Some((own, _)) if own.commutes && own.identity.is_some() => return ReduceOp::Own(*own),
            Some((own, decl)) => {
                let lacks = match (own.identity.is_some(), own.commutes) {
                    (false, _) => "has no `identity` to start from",
                    (true, _) => "does not say that it `commutes`",
                };
                Diagnostic::error(
                    codes::OPERATOR_USE,
                    name.span,
                    format!("nothing can be reduced by `{}`", name.name),
                    "values are combined in any order here",
                )
                .with_label(decl.name.span, format!("this operator {lacks}"))
                .with_help("say both of the operator, as in `identity 0 commutes`")
            }
            None => {
                let known = operators.keys().copied().chain(["min", "max"]);
                let otherwise = "declare it, as in `op NAME(x, y) = x + y identity 0 commutes`";
                Diagnostic::error(
                    codes::UNKNOWN_FUNCTION,
                    name.span,
                    format!("there is no operator `{}`", name.name),
                    "not known here",
                )
                .with_help(suggest(&name.name, known, otherwise))
            }
        };
        self.draft.errors.push(error);
        ReduceOp::Add
    }

    /// The label. Inlined statements go by position, since a function may be called
    /// several times: by the next one that no label is.
    fn label(&mut self, assign: &ast::Assign) -> String {
        let taken = |label: &String| {
            let mut own = self.draft.stmts.iter();
            self.draft.labels.contains(label) || own.any(|stmt| stmt.label == *label)
        };
        let mut labels = (self.stmt..).map(|at| format!("S{at}"));
        let by_position = labels.find(|label| !taken(label)).unwrap_or_default();
        let Some(label) = &assign.label else {
            return by_position;
        };
        if self.scope > 0 {
            return by_position;
        }
        if self.draft.stmts.iter().any(|stmt| stmt.label == label.name) {
            self.draft.errors.push(
                Diagnostic::error(
                    codes::DUPLICATE_NAME,
                    label.span,
                    format!("two statements are called `{}`", label.name),
                    "the second one",
                )
                .with_help("choose another label"),
            );
        }
        label.name.clone()
    }

    fn binding(&self, name: &str) -> Option<Binding<'a>> {
        self.draft.scopes[self.scope].tensors.get(name).copied()
    }

    fn tensor(&self, name: &str) -> Option<TensorId> {
        match self.binding(name)? {
            Binding::Tensor(id) => Some(id),
            Binding::Value { .. } => None,
        }
    }

    fn is_size(&self, name: &str) -> bool {
        self.draft.scopes[self.scope].sizes.contains_key(name)
    }

    /// Whether the bare name is a scalar or a size. A tensor that is used without
    /// subscripts counts too, so that it is refused and not taken for a variable.
    fn means_something(&self, name: &str) -> bool {
        self.is_size(name) || self.binding(name).is_some()
    }

    fn collect_all(&mut self, assign: &ast::Assign) {
        for subscript in &assign.subscripts {
            self.collect(subscript, true);
        }
        self.collect(&assign.rhs, false);
        for clause in &assign.ranges {
            if !self.means_something(&clause.var.name) {
                self.indices.insert(clause.var.name.clone());
            }
            self.collect(&clause.lo, false);
            self.collect(&clause.hi, false);
        }
    }

    /// Finds the index variables: names in subscripts that mean nothing else.
    fn collect(&mut self, expr: &ast::Expr, in_subscript: bool) {
        let mut rest = vec![(expr, in_subscript)];
        while let Some((expr, inside)) = rest.pop() {
            if let ast::ExprKind::Name(name) = &expr.kind
                && inside
                && !self.means_something(name)
            {
                self.indices.insert(name.clone());
            }
            let subscripts = matches!(&expr.kind, ast::ExprKind::Apply { callee, .. }
                if self.binding(&callee.name).is_some());
            let parts = expr.parts().into_iter();
            rest.extend(parts.map(|part| (part, inside || subscripts)));
        }
    }

    fn var(&mut self, name: &str, span: Span) -> VarId {
        if let Some(var) = self.vars.get(name) {
            return *var;
        }
        let var = self.draft.add_var(name, span, self.stmt);
        self.vars.insert(name.to_owned(), var);
        var
    }

    fn left_side(&mut self, assign: &ast::Assign) -> Vec<VarId> {
        let mut lhs = Vec::new();
        for subscript in &assign.subscripts {
            let variable = subscript
                .as_name()
                .filter(|&name| self.indices.contains(name));
            let Some(name) = variable else {
                self.left_not_variable(subscript, assign);
                continue;
            };
            let var = self.var(name, subscript.span);
            if lhs.contains(&var) {
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::LEFT_SUBSCRIPT,
                        subscript.span,
                        format!("`{name}` stands twice on the left side"),
                        "each subscript on the left needs a variable of its own",
                    )
                    .with_note("writing only a diagonal is not supported yet")
                    .with_help(self.whole(assign)),
                );
            }
            lhs.push(var);
        }
        lhs
    }

    fn clauses(&mut self, assign: &ast::Assign) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = Vec::new();
        let used: Vec<&str> = assign
            .subscripts
            .iter()
            .chain([&assign.rhs])
            .chain(
                assign
                    .ranges
                    .iter()
                    .flat_map(|clause| [&clause.lo, &clause.hi]),
            )
            .flat_map(names_of)
            .collect();
        for clause in &assign.ranges {
            let name = &clause.var.name;
            if !self.indices.contains(name) || !used.contains(&name.as_str()) {
                let known = self.indices.iter().map(String::as_str);
                let help = suggest(
                    name,
                    known,
                    self.draft.notation.pick(
                        "`where` gives ranges of index variables of this statement",
                        "`-d` gives ranges of index variables",
                    ),
                );
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::USELESS_RANGE,
                        clause.var.span,
                        format!("`{name}` is no index variable of this statement"),
                        "nothing here is subscripted with it",
                    )
                    .with_help(help),
                );
                continue;
            }
            let var = self.var(name, clause.var.span);
            if let Some(first) = clauses.iter().find(|c| c.var == var) {
                let first = first.span;
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::DUPLICATE_NAME,
                        clause.span,
                        format!("`{name}` has two ranges"),
                        "given again here",
                    )
                    .with_label(first, "first given here")
                    .with_help("keep one of them"),
                );
                continue;
            }
            let (lo, hi) = (self.expr(&clause.lo), self.expr(&clause.hi));
            clauses.push(Clause {
                var,
                lo,
                hi,
                span: clause.span,
            });
        }
        clauses
    }
}
