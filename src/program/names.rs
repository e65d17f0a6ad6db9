//! Name resolution: one statement of the source becomes a [`DraftStmt`], in which
//! every name is a tensor, a size, an index variable or a function.

use indexmap::{IndexMap, IndexSet};

use super::calls::Item;
use super::draft::{Binding, Clause, Draft, DraftStmt, UNTYPED, Write, zero};
use super::functions::{self, Builtin};
use super::ir::{
    Access, BinaryOp, Expr, ExprKind, Func, Literal, ScalarType, TensorId, UnaryOp, VarId,
};
use super::ranges::affine::affine;
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
            let stmt = Resolver::new(draft, *scope).assign(assign);
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
        match &expr.kind {
            ast::ExprKind::Number(_) | ast::ExprKind::Member { .. } => {}
            ast::ExprKind::Name(name) => names.push(name.as_str()),
            ast::ExprKind::Apply { callee, args } => {
                names.push(&callee.name);
                rest.extend(args);
            }
            ast::ExprKind::Extent { tensor, .. } => names.push(&tensor.name),
            ast::ExprKind::Unary(_, operand) => rest.push(operand),
            ast::ExprKind::Binary(_, a, b) => rest.extend([&**a, &**b]),
            ast::ExprKind::Select(c, a, b) => rest.extend([&**c, &**a, &**b]),
        }
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

    fn assign(mut self, assign: &ast::Assign) -> DraftStmt {
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
        let write = match assign.op {
            ast::AssignOp::Set => Write::Define,
            ast::AssignOp::Reduce { op, init: false } => Write::Accumulate(op),
            ast::AssignOp::Reduce { op, init: true } => Write::Initialise(op),
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
            text: text::assign(assign),
        }
    }

    /// The label. Inlined statements go by position, since a function may be called
    /// several times.
    fn label(&mut self, assign: &ast::Assign) -> String {
        let by_position = format!("S{}", self.stmt);
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
                .with_note("statements without a label are called S0, S1, ... by their position")
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

    /// Finds the index variables: names in subscripts that mean nothing else.
    fn collect(&mut self, expr: &ast::Expr, in_subscript: bool) {
        let mut rest = vec![(expr, in_subscript)];
        while let Some((expr, inside)) = rest.pop() {
            match &expr.kind {
                ast::ExprKind::Name(name) => {
                    if inside && !self.means_something(name) {
                        self.indices.insert(name.clone());
                    }
                }
                ast::ExprKind::Apply { callee, args } => {
                    let subscripts = self.binding(&callee.name).is_some();
                    rest.extend(args.iter().map(|arg| (arg, inside || subscripts)));
                }
                ast::ExprKind::Unary(_, operand) => rest.push((operand, inside)),
                ast::ExprKind::Binary(_, a, b) => rest.extend([(&**a, inside), (&**b, inside)]),
                ast::ExprKind::Select(c, a, b) => {
                    rest.extend([(&**c, inside), (&**a, inside), (&**b, inside)]);
                }
                ast::ExprKind::Number(_)
                | ast::ExprKind::Extent { .. }
                | ast::ExprKind::Member { .. } => {}
            }
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
            let name = match &subscript.kind {
                ast::ExprKind::Name(name) if self.indices.contains(name) => name,
                ast::ExprKind::Name(_)
                | ast::ExprKind::Number(_)
                | ast::ExprKind::Apply { .. }
                | ast::ExprKind::Extent { .. }
                | ast::ExprKind::Member { .. }
                | ast::ExprKind::Unary(..)
                | ast::ExprKind::Binary(..)
                | ast::ExprKind::Select(..) => {
                    self.left_not_variable(subscript);
                    continue;
                }
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
                    .with_help(
                        "writing only a diagonal is not supported yet: write all elements, as \
                         in `T(i,j) = i == j ? x(i) : 0`",
                    ),
                );
            }
            lhs.push(var);
        }
        lhs
    }

    fn left_not_variable(&mut self, subscript: &ast::Expr) {
        let written = text::expr(subscript, 0);
        let error = match &subscript.kind {
            ast::ExprKind::Name(_) => Diagnostic::error(
                codes::LEFT_SUBSCRIPT,
                subscript.span,
                format!("`{written}` on the left side is no index variable"),
                "already the name of a size, scalar or tensor",
            )
            .with_help("use a name that means nothing else, such as `i`"),
            ast::ExprKind::Number(_)
            | ast::ExprKind::Apply { .. }
            | ast::ExprKind::Extent { .. }
            | ast::ExprKind::Member { .. }
            | ast::ExprKind::Unary(..)
            | ast::ExprKind::Binary(..)
            | ast::ExprKind::Select(..) => Diagnostic::error(
                codes::LEFT_SUBSCRIPT,
                subscript.span,
                format!("the subscript `{written}` on the left side is not supported yet"),
                "only plain index variables can stand here",
            )
            .with_note("each element must be written once, which is only plain for variables")
            .with_help(
                "write `T(i)` and move the arithmetic to the right side, or to a `where` clause",
            ),
        };
        self.draft.errors.push(error);
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
                    "`where` gives ranges of index variables of this statement",
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

    fn expr(&mut self, expr: &ast::Expr) -> Expr {
        if self.depth >= DEEPEST {
            self.draft.errors.push(
                Diagnostic::error(
                    codes::TOO_DEEP,
                    expr.span,
                    format!("the expression is nested more than {DEEPEST} levels deep"),
                    "too deep from here on",
                )
                .with_help("store parts of it in temporaries"),
            );
            return zero(expr.span);
        }
        self.depth += 1;
        let result = self.expr_inside(expr);
        self.depth -= 1;
        result
    }

    fn expr_inside(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Number(ast::Number::Int(value)) => {
                if let Ok(value) = i64::try_from(*value) {
                    return node(ExprKind::Literal(Literal::Int(value)), span);
                }
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::NUMBER_TOO_LARGE,
                        span,
                        format!("{value} is too large for a whole number"),
                        "does not fit 64 bits with a sign",
                    )
                    .with_help("write it with a point for a floating-point number"),
                );
                zero(span)
            }
            ast::ExprKind::Number(ast::Number::Float(value)) => {
                node(ExprKind::Literal(Literal::Float(*value)), span)
            }
            ast::ExprKind::Name(name) => self.name(name, span),
            ast::ExprKind::Apply { callee, args } => self.apply(callee, args, span),
            ast::ExprKind::Extent { tensor, dim } => self.extent(tensor, *dim, span),
            ast::ExprKind::Member { base, member } => {
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::UNKNOWN_NAME,
                        span,
                        format!("`{}.{}` has no value", base.name, member.name),
                        "only schedules name variables this way",
                    )
                    .with_help("`T.0` is the extent of the first dimension of `T`"),
                );
                zero(span)
            }
            ast::ExprKind::Unary(op, operand) => {
                let operand = self.expr(operand);
                // A negative number is one literal: -128 fits int8, and 128 does not.
                if let (UnaryOp::Neg, ExprKind::Literal(Literal::Int(value))) = (op, &operand.kind)
                {
                    return node(ExprKind::Literal(Literal::Int(-value)), span);
                }
                node(ExprKind::Unary(*op, Box::new(operand)), span)
            }
            ast::ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                node(ExprKind::Binary(*op, Box::new(a), Box::new(b)), span)
            }
            ast::ExprKind::Select(c, a, b) => {
                let (c, a, b) = (self.expr(c), self.expr(a), self.expr(b));
                node(
                    ExprKind::Select(Box::new(c), Box::new(a), Box::new(b)),
                    span,
                )
            }
        }
    }

    fn name(&mut self, name: &str, span: Span) -> Expr {
        if self.indices.contains(name) && !self.means_something(name) {
            let var = self.var(name, span);
            return index(var, span);
        }
        let size = self.draft.scopes[self.scope].sizes.get(name).cloned();
        match (self.binding(name), size) {
            (Some(Binding::Value { scope, expr, ty }), _) => self.value(scope, expr, ty, span),
            (Some(Binding::Tensor(id)), size) => {
                let order = self.draft.tensor(id).order.unwrap_or(0);
                match size {
                    Some(size) if order > 0 => node(ExprKind::Size(size), span),
                    Some(_) | None => {
                        if order > 0 {
                            self.wrong_subscripts(id, 0, span);
                        }
                        access(id, Vec::new(), span)
                    }
                }
            }
            (None, Some(size)) => node(ExprKind::Size(size), span),
            (None, None) => {
                self.unknown_name(name, span);
                zero(span)
            }
        }
    }

    /// A scalar argument of an inlined call, read where the caller wrote it.
    fn value(&mut self, scope: usize, expr: &ast::Expr, ty: ScalarType, span: Span) -> Expr {
        let here = std::mem::replace(&mut self.scope, scope);
        // The caller's expression is scalar: this statement's variables mean nothing there.
        let indices = std::mem::take(&mut self.indices);
        let operand = self.expr(expr);
        self.indices = indices;
        self.scope = here;
        Expr {
            kind: ExprKind::Cast(Box::new(operand)),
            ty,
            span,
        }
    }

    fn unknown_name(&mut self, name: &str, span: Span) {
        let scope = &self.draft.scopes[self.scope];
        let known = scope.tensors.keys().chain(scope.sizes.keys()).copied();
        let known = known.chain(self.indices.iter().map(String::as_str));
        let help = suggest(
            name,
            known,
            "declare it as a parameter such as `double alpha`, or use it in a subscript to make \
             it an index variable",
        );
        self.draft.errors.push(
            Diagnostic::error(
                codes::UNKNOWN_NAME,
                span,
                format!("`{name}` is not known here"),
                "neither a parameter nor a size nor an index variable",
            )
            .with_help(help),
        );
    }

    fn wrong_subscripts(&mut self, id: TensorId, given: usize, span: Span) {
        let tensor = self.draft.tensor(id);
        let order = tensor.order.unwrap_or(0);
        let (is, verb) = match order {
            0 => ("is a scalar".to_owned(), "takes no subscripts".to_owned()),
            1 => ("has 1 dimension".to_owned(), "needs 1 subscript".to_owned()),
            _ => (
                format!("has {order} dimensions"),
                format!("needs {order} subscripts"),
            ),
        };
        let error = Diagnostic::error(
            codes::SUBSCRIPT_COUNT,
            span,
            format!(
                "`{}` {is} but has {given} subscript{} here",
                tensor.name,
                if given == 1 { "" } else { "s" }
            ),
            verb,
        )
        .with_label(tensor.span, "its dimensions come from here")
        .with_help("give one subscript for each dimension");
        self.draft.errors.push(error);
    }

    fn extent(&mut self, name: &ast::Ident, dim: u32, span: Span) -> Expr {
        let Some(id) = self.tensor(&name.name) else {
            self.unknown_name(&name.name, name.span);
            return zero(span);
        };
        let order = self.draft.tensor(id).order.unwrap_or(0);
        let dim = dim as usize;
        if dim >= order {
            self.draft.errors.push(
                Diagnostic::error(
                    codes::SUBSCRIPT_COUNT,
                    span,
                    format!("`{}` has no dimension {dim}", name.name),
                    format!("it has {order}, counted from 0"),
                )
                .with_label(self.draft.tensor(id).span, "declared here")
                .with_help("dimensions are counted from 0, as in `T.0`"),
            );
            return zero(span);
        }
        let extent = self.draft.extent(id, dim);
        node(ExprKind::Size(extent), span)
    }

    fn apply(&mut self, callee: &ast::Ident, args: &[ast::Expr], span: Span) -> Expr {
        let name = callee.name.as_str();
        match self.binding(name) {
            Some(Binding::Tensor(id)) => return self.access(id, args, span),
            Some(Binding::Value { .. }) => {
                self.draft.errors.push(
                    Diagnostic::error(
                        codes::SUBSCRIPT_COUNT,
                        span,
                        format!("`{name}` is a scalar but has subscripts here"),
                        "takes no subscripts",
                    )
                    .with_help("remove the parentheses"),
                );
                return zero(span);
            }
            None => {}
        }
        if let Some(ty) = ScalarType::from_name(name) {
            let [arg] = args else {
                self.wrong_arguments(name, args.len(), 1, 1, span);
                return zero(span);
            };
            let operand = self.expr(arg);
            return Expr {
                kind: ExprKind::Cast(Box::new(operand)),
                ty,
                span,
            };
        }
        if let Some(function) = functions::builtin(name) {
            return self.call(function, name, args, span);
        }
        let error = if self.draft.library.defs.contains_key(name) {
            Diagnostic::error(
                codes::MISPLACED_CALL,
                span,
                format!("the call of `{name}` cannot stand inside an expression"),
                "a call is a statement of its own",
            )
            .with_help(format!(
                "write `T = {name}(...)` first, then use `T` with its subscripts"
            ))
        } else {
            let scope = &self.draft.scopes[self.scope];
            let known = scope.tensors.keys().copied().chain(functions::names());
            Diagnostic::error(
                codes::UNKNOWN_FUNCTION,
                callee.span,
                format!("`{name}` is neither a tensor nor a function"),
                "not known here",
            )
            .with_help(suggest(
                name,
                known,
                "declare it as a parameter such as `double(M,N) A`",
            ))
        };
        self.draft.errors.push(error);
        zero(span)
    }

    fn wrong_arguments(&mut self, name: &str, given: usize, least: usize, most: usize, at: Span) {
        let wanted = if least == most { "" } else { "at least " };
        self.draft.errors.push(
            Diagnostic::error(
                codes::ARGUMENT_COUNT,
                at,
                format!(
                    "`{name}` takes {wanted}{least} argument{}, not {given}",
                    if least == 1 { "" } else { "s" }
                ),
                format!("{given} given"),
            )
            .with_help(format!("give {wanted}{least}")),
        );
    }

    fn call(&mut self, function: Builtin, name: &str, args: &[ast::Expr], span: Span) -> Expr {
        let (least, most) = function.arguments();
        if args.len() < least || args.len() > most {
            self.wrong_arguments(name, args.len(), least, most, span);
            return zero(span);
        }
        let mut args: Vec<Expr> = args.iter().map(|arg| self.expr(arg)).collect();
        match function {
            Builtin::Func(func @ (Func::Min | Func::Max), _) => {
                let mut args = args.into_iter();
                let first = args.next().unwrap_or_else(|| zero(span));
                args.fold(first, |all, arg| {
                    node(ExprKind::Call(func, vec![all, arg]), span)
                })
            }
            Builtin::Func(func, _) => node(ExprKind::Call(func, args), span),
            Builtin::Power(exponent) if matches!(args[0].kind, ExprKind::Access(_)) => {
                // Of a plain element a product is meant, in the element's own type.
                let base = args[0].clone();
                let times = |product, _| {
                    let factors = (Box::new(product), Box::new(base.clone()));
                    node(ExprKind::Binary(BinaryOp::Mul, factors.0, factors.1), span)
                };
                (1..exponent).fold(base.clone(), times)
            }
            Builtin::Power(exponent) => {
                // Other powers are one factor: they are not expanded into sums of products.
                let exponent = node(ExprKind::Literal(Literal::Int(exponent.into())), span);
                args.push(exponent);
                node(ExprKind::Call(Func::Pow, args), span)
            }
            Builtin::Not => {
                let operand = args.pop().unwrap_or_else(|| zero(span));
                node(ExprKind::Unary(UnaryOp::Not, Box::new(operand)), span)
            }
            Builtin::Compare(op) => {
                let b = args.pop().unwrap_or_else(|| zero(span));
                let a = args.pop().unwrap_or_else(|| zero(span));
                node(ExprKind::Binary(op, Box::new(a), Box::new(b)), span)
            }
        }
    }

    fn access(&mut self, id: TensorId, args: &[ast::Expr], span: Span) -> Expr {
        let order = self.draft.tensor(id).order.unwrap_or(0);
        let subscripts: Vec<Expr> = args.iter().map(|arg| self.expr(arg)).collect();
        if subscripts.len() != order {
            self.wrong_subscripts(id, subscripts.len(), span);
            return zero(span);
        }
        for (subscript, written) in subscripts.iter().zip(args) {
            self.check_subscript(subscript, written);
        }
        access(id, subscripts, span)
    }

    fn check_subscript(&mut self, subscript: &Expr, written: &ast::Expr) {
        let draft = &*self.draft;
        let Some(bad) = not_affine(subscript, &|t| draft.tensor(t).is_size_param()) else {
            return;
        };
        self.draft.errors.push(
            Diagnostic::error(
                codes::SUBSCRIPT_FORM,
                bad,
                format!(
                    "the subscript `{}` is not supported yet",
                    text::expr(written, 0)
                ),
                "not an affine function of index variables",
            )
            .with_note(
                "a subscript is a sum of index variables with constant factors, sizes, integer \
                 parameters and elements of integer tensors",
            )
            .with_help("store the subscript in an integer tensor and read it, as in `X(I(i))`"),
        );
    }
}

/// The place of the first part that no subscript can have.
fn not_affine(expr: &Expr, is_param: &impl Fn(TensorId) -> bool) -> Option<Span> {
    if affine(expr, is_param).is_some() {
        return None;
    }
    match &expr.kind {
        // Type checking speaks of a number that is not whole.
        ExprKind::Literal(_) | ExprKind::Index(_) | ExprKind::Size(_) | ExprKind::Access(_) => None,
        ExprKind::Unary(UnaryOp::Neg, operand) | ExprKind::Cast(operand) => {
            not_affine(operand, is_param)
        }
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
            not_affine(a, is_param).or_else(|| not_affine(b, is_param))
        }
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            let linear = !mentions_vars(a) || !mentions_vars(b);
            let inside = not_affine(a, is_param).or_else(|| not_affine(b, is_param));
            inside.or((!linear).then_some(expr.span))
        }
        ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Binary(
            BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or,
            ..,
        )
        | ExprKind::Select(..)
        | ExprKind::Call(..)
        | ExprKind::Reduce { .. } => Some(expr.span),
    }
}

fn mentions_vars(expr: &Expr) -> bool {
    let mut found = false;
    super::visit::walk(expr, &mut |e| found |= e.as_var().is_some());
    found
}
