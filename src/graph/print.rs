//! Graphs as text, in the notation of paper 001's listings:
//! `suchthat(forall(i0, forall(i1, ...)), split(i, i0, i1, 32))`.

use super::tree::concretize;
use super::{Graph, Guard, Stmt, Tag};
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, ReduceOp, SizeExpr, Statement, Tensor, TensorId,
    UnaryOp, VarId,
};
use crate::units::{race_text, unit_text};

/// The graph's trees, one a line, with the relations of its variables.
#[must_use]
pub fn print(graph: &Graph) -> String {
    let Some(tree) = concretize(graph) else {
        return "a reduction cannot accumulate in this order of loops\n".to_string();
    };
    let printer = Printer {
        graph,
        tensors: &tree.tensors,
    };
    let relations: Vec<String> = graph
        .provenance
        .relations
        .iter()
        .map(|r| r.text(graph))
        .collect();
    let mut text = String::new();
    for stmt in &tree.stmts {
        let body = printer.stmt(stmt);
        if relations.is_empty() {
            text += &format!("{body}\n");
        } else {
            text += &format!("suchthat({body}, {})\n", relations.join(" and "));
        }
    }
    text
}

/// The relations between variables, one a line.
#[must_use]
pub fn print_provenance(graph: &Graph) -> String {
    graph
        .provenance
        .relations
        .iter()
        .map(|r| r.text(graph) + "\n")
        .collect()
}

/// The variable as a command names it: `i`, or `S1.i` where several statements have one.
#[must_use]
pub fn var_text(graph: &Graph, var: VarId) -> String {
    let name = &graph.var(var).name;
    let mut named = graph.function.vars.iter().filter(|v| v.name == *name);
    let several = named.nth(1).is_some();
    // A command may leave a variable its name.
    let roots = graph.provenance.roots(var);
    let has = |statement: &&Statement| statement.vars.iter().any(|v| roots.contains(v));
    let statement = graph.function.stmts.iter().find(has);
    match statement {
        Some(statement) if several => format!("{}.{name}", statement.label),
        Some(_) | None => name.clone(),
    }
}

/// An access of the graph as a program writes it.
#[must_use]
pub fn access_text(graph: &Graph, access: &Access) -> String {
    let e = Expr {
        kind: ExprKind::Access(access.clone()),
        ty: graph.tensor(access.tensor).ty,
        span: graph.function.span,
    };
    expr_text(graph, &e)
}

/// An expression of the graph as a program writes it.
#[must_use]
pub fn expr_text(graph: &Graph, e: &Expr) -> String {
    let printer = Printer {
        graph,
        tensors: &graph.tensors,
    };
    printer.expr(e, 0)
}

/// An assignment of a graph's tree.
#[must_use]
pub fn assign_text(graph: &Graph, tensors: &[Tensor], assign: &super::Assign) -> String {
    stmt_text(graph, tensors, &Stmt::Assign(assign.clone()))
}

/// A part of a graph's tree; `tensors` are the tree's.
#[must_use]
pub fn stmt_text(graph: &Graph, tensors: &[Tensor], stmt: &Stmt) -> String {
    Printer { graph, tensors }.stmt(stmt)
}

/// `2 <= i, i < N`
#[must_use]
pub fn guards_text(graph: &Graph, guards: &[Guard]) -> String {
    let bound = |bound: &Bound| match bound {
        Bound::Static(e) => size_text(graph, e),
        Bound::Dynamic(e) => expr_text(graph, e),
    };
    let both = guards.iter().flat_map(|guard| {
        let name = &graph.var(guard.var).name;
        let lo = guard.lo.as_ref();
        let hi = guard.hi.as_ref();
        [
            lo.map(|lo| format!("{} <= {name}", bound(lo))),
            hi.map(|hi| format!("{name} < {}", bound(hi))),
        ]
    });
    both.flatten().collect::<Vec<_>>().join(", ")
}

struct Printer<'a> {
    graph: &'a Graph,
    tensors: &'a [Tensor],
}

impl Printer<'_> {
    fn var(&self, v: VarId) -> &str {
        &self.graph.var(v).name
    }

    fn tensor(&self, t: TensorId) -> &str {
        &self.tensors[t.index()].name
    }

    fn stmt(&self, stmt: &Stmt) -> String {
        match stmt {
            Stmt::Forall { var, tag, body } => {
                format!(
                    "forall({}, {}{})",
                    self.var(*var),
                    self.stmt(body),
                    tag_text(self.graph, tag)
                )
            }
            Stmt::Within { var, body, .. } => {
                format!("within({}, {})", self.var(*var), self.stmt(body))
            }
            Stmt::Where {
                consumer, producer, ..
            } => format!("where({}, {})", self.stmt(consumer), self.stmt(producer)),
            Stmt::Sequence(stmts) => {
                let parts: Vec<String> = stmts.iter().map(|s| self.stmt(s)).collect();
                format!("sequence({})", parts.join(", "))
            }
            Stmt::Guarded { guards, body } => {
                let conditions = guards_text(self.graph, guards);
                format!("guarded({conditions}, {})", self.stmt(body))
            }
            Stmt::Assign(assign) => {
                let vars: Vec<&str> = assign.lhs.iter().map(|&v| self.var(v)).collect();
                let target = if vars.is_empty() {
                    self.tensor(assign.tensor).to_string()
                } else {
                    format!("{}({})", self.tensor(assign.tensor), vars.join(","))
                };
                let op = assign.op.map_or("", ReduceOp::sign);
                format!("{target} {op}= {}", self.expr(&assign.rhs, 0))
            }
        }
    }

    fn expr(&self, e: &Expr, outer: u8) -> String {
        if let Some(condition) = self.graph.points.condition(e) {
            return format!("({})", self.expr(condition, 0));
        }
        match &e.kind {
            ExprKind::Literal(l) => l.to_string(),
            ExprKind::Access(access) => {
                let name = self.tensor(access.tensor);
                if access.subscripts.is_empty() {
                    return name.to_string();
                }
                let subscripts: Vec<String> =
                    access.subscripts.iter().map(|s| self.expr(s, 0)).collect();
                format!("{name}({})", subscripts.join(","))
            }
            ExprKind::Index(v) => self.var(*v).to_string(),
            ExprKind::Size(size) => self.size(size),
            ExprKind::Unary(UnaryOp::Neg, a) => format!("-{}", self.expr(a, 7)),
            ExprKind::Unary(UnaryOp::Not, a) => format!("!{}", self.expr(a, 7)),
            ExprKind::Binary(op, a, b) => {
                let (text, level) = binary_text(*op);
                let body = format!("{} {text} {}", self.expr(a, level), self.expr(b, level + 1));
                if level < outer {
                    format!("({body})")
                } else {
                    body
                }
            }
            ExprKind::Select(c, a, b) => format!(
                "({} ? {} : {})",
                self.expr(c, 1),
                self.expr(a, 0),
                self.expr(b, 0)
            ),
            ExprKind::Call(func, args) => {
                let args: Vec<String> = args.iter().map(|a| self.expr(a, 0)).collect();
                format!(
                    "{}({})",
                    format!("{func:?}").to_lowercase(),
                    args.join(", ")
                )
            }
            ExprKind::Cast(a) => format!("{}({})", e.ty, self.expr(a, 0)),
            ExprKind::Reduce { op, vars, body } => {
                let vars: Vec<&str> = vars.iter().map(|&v| self.var(v)).collect();
                format!(
                    "reduce({}, {}, {})",
                    op.sign(),
                    vars.join(","),
                    self.expr(body, 0)
                )
            }
        }
    }

    fn size(&self, e: &SizeExpr) -> String {
        size_text(self.graph, e)
    }
}

/// A size, as programs write it.
#[must_use]
pub fn size_text(graph: &Graph, e: &SizeExpr) -> String {
    let text = |e| size_text(graph, e);
    let two = |a, op: &str, b| format!("({} {op} {})", text(a), text(b));
    match e {
        SizeExpr::Const(c) => c.to_string(),
        SizeExpr::Size(s) => graph.function.size(*s).name.clone(),
        SizeExpr::Param(p) => graph.tensor(*p).name.clone(),
        SizeExpr::Add(a, b) => two(a, "+", b),
        SizeExpr::Sub(a, b) => two(a, "-", b),
        SizeExpr::Mul(a, b) => two(a, "*", b),
        SizeExpr::FloorDiv(a, b) => two(a, "/", b),
        SizeExpr::Min(a, b) => format!("min({}, {})", text(a), text(b)),
        SizeExpr::Max(a, b) => format!("max({}, {})", text(a), text(b)),
    }
}

/// How a loop runs, as `forall` prints it; empty for a serial one.
#[must_use]
pub fn tag_text(graph: &Graph, tag: &Tag) -> String {
    let mut text = String::new();
    if let Some(parallel) = &tag.parallel {
        text += &format!(
            ", {}, {}",
            unit_text(parallel.unit),
            race_text(parallel.race)
        );
    }
    if let Some(n) = tag.unroll {
        text += &format!(", Unroll({n})");
    }
    if tag.gallop {
        text += ", Gallop";
    }
    for fetch in &tag.fetches {
        let name = &graph.tensor(fetch.tensor).name;
        text += &format!(", Prefetch({name}, {})", fetch.ahead);
    }
    text
}

/// An operator and how tightly it binds.
fn binary_text(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Or => ("||", 1),
        BinaryOp::And => ("&&", 2),
        BinaryOp::Eq => ("==", 3),
        BinaryOp::Ne => ("!=", 3),
        BinaryOp::Lt => ("<", 4),
        BinaryOp::Le => ("<=", 4),
        BinaryOp::Gt => (">", 4),
        BinaryOp::Ge => (">=", 4),
        BinaryOp::Add => ("+", 5),
        BinaryOp::Sub => ("-", 5),
        BinaryOp::Mul => ("*", 6),
        BinaryOp::Div => ("/", 6),
        BinaryOp::Rem => ("%", 6),
    }
}
