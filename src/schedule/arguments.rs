//! The arguments of a command, taken one by one with diagnostics.

use super::constants::Constants;
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::relation::Quantity;
use crate::graph::{Graph, Loop};
use crate::program::ir::{Bound, IndexVar, Range, SizeExpr, SizeId, VarId};
use crate::syntax::ast::{Arg, BinaryOp, Expr, ExprKind, Ident};

/// The largest number of a command: sizes times two of them still fit 64 bits, and what
/// rounds up does not wrap.
const LARGEST: i64 = 1 << 47;

/// A command's name and arguments.
pub struct Arguments<'a> {
    pub command: &'a Ident,
    pub args: &'a [Arg],
    pub span: Span,
    pub constants: &'a Constants,
    pub target: super::Target,
}

impl Arguments<'_> {
    /// Refuses another number of arguments; `usage` shows the right form.
    ///
    /// # Errors
    /// When the number differs.
    pub fn expect_count(&self, count: usize, usage: &str) -> Result<(), Diagnostic> {
        if self.args.len() == count {
            return Ok(());
        }
        Err(self.wrong(
            self.span,
            format!(
                "`{}` takes {count} arguments, not {}",
                self.command.name,
                self.args.len()
            ),
            usage,
        ))
    }

    /// A diagnostic about the arguments.
    #[must_use]
    pub fn wrong(&self, span: Span, message: String, usage: &str) -> Diagnostic {
        Diagnostic::error(codes::WRONG_ARGUMENTS, span, message, "here")
            .with_help(format!("write `{usage}`"))
    }

    /// The diagnostic of a loop that stands twice among the arguments.
    #[must_use]
    pub fn named_twice(&self, graph: &Graph, var: VarId, span: Span, usage: &str) -> Diagnostic {
        let message = format!("`{}` is named twice", graph.var(var).name);
        self.wrong(span, message, usage)
    }

    /// The expression at `at`.
    ///
    /// # Errors
    /// It is missing or a list in braces.
    pub fn expr(&self, at: usize) -> Result<&Expr, Diagnostic> {
        match self.args.get(at) {
            Some(Arg::Expr(e)) => Ok(e),
            Some(Arg::Vars(_, span)) => Err(self.wrong(
                *span,
                "a list in braces does not belong here".to_string(),
                "a single name or number",
            )),
            None => Err(self.wrong(
                self.span,
                "an argument is missing".to_string(),
                "all of them",
            )),
        }
    }

    /// A plain name.
    ///
    /// # Errors
    /// When it is something else.
    pub fn name(&self, at: usize) -> Result<Ident, Diagnostic> {
        let e = self.expr(at)?;
        if let ExprKind::Name(name) = &e.kind {
            Ok(Ident {
                name: name.clone(),
                span: e.span,
            })
        } else {
            let message = "expected a name";
            Err(
                Diagnostic::error(codes::WRONG_ARGUMENTS, e.span, message, "here")
                    .with_help("write a name by itself"),
            )
        }
    }

    /// A whole number of at least 1.
    ///
    /// # Errors
    /// When it is none.
    pub fn positive(&self, at: usize) -> Result<i64, Diagnostic> {
        let e = self.expr(at)?;
        let value = self.constants.eval(e)?;
        if (1..=LARGEST).contains(&value) {
            return Ok(value);
        }
        if value > LARGEST {
            return Err(Diagnostic::error(
                codes::BAD_NUMBER,
                e.span,
                format!("{value} is too large"),
                "must be at most 2^47",
            )
            .with_help("give a number that a loop may count to"));
        }
        Err(Diagnostic::error(
            codes::BAD_NUMBER,
            e.span,
            format!("{value} is less than 1"),
            "must be at least 1",
        )
        .with_help("give a positive whole number"))
    }

    /// A whole number, perhaps a negative one.
    ///
    /// # Errors
    /// When it is none, or larger than a loop may count to.
    pub fn whole(&self, at: usize) -> Result<i64, Diagnostic> {
        let e = self.expr(at)?;
        let value = self.constants.eval(e)?;
        if (-LARGEST..=LARGEST).contains(&value) {
            return Ok(value);
        }
        Err(Diagnostic::error(
            codes::BAD_NUMBER,
            e.span,
            format!("{value} is too large"),
            "must lie between -2^47 and 2^47",
        )
        .with_help("give a number that a loop may count to"))
    }

    /// A positive number, or one that sizes of the program decide: `2 * K + 1`.
    ///
    /// # Errors
    /// When it is neither, or a constant that is not positive.
    pub fn size(&self, graph: &Graph, at: usize) -> Result<SizeExpr, Diagnostic> {
        let e = self.expr(at)?;
        match self.size_of(graph, e) {
            Some(size) if size.as_int().is_none() => Ok(size),
            // What names of sizes come to that are fixed.
            Some(size) if self.constants.eval(e).is_err() => Ok(size),
            Some(_) | None => Ok(SizeExpr::Const(self.positive(at)?)),
        }
    }

    fn size_of(&self, graph: &Graph, e: &Expr) -> Option<SizeExpr> {
        if let Ok(constant) = self.constants.eval(e) {
            return Some(SizeExpr::Const(constant));
        }
        if let ExprKind::Name(name) = &e.kind {
            let mut synonyms = graph.function.synonyms.iter();
            if let Some(synonym) = synonyms.find(|s| s.name == *name) {
                return Some(synonym.means.clone());
            }
            let mut sizes = graph.function.sizes.iter();
            let at = sizes.position(|size| size.name == *name)?;
            let id = SizeId(u32::try_from(at).ok()?);
            let value = graph.function.size(id).value;
            let value = value.and_then(|v| i64::try_from(v).ok());
            Some(value.map_or(SizeExpr::Size(id), SizeExpr::Const))
        } else if let ExprKind::Binary(op, a, b) = &e.kind {
            let (a, b) = (self.size_of(graph, a)?, self.size_of(graph, b)?);
            if *op == BinaryOp::Add {
                Some(a.add(b))
            } else if *op == BinaryOp::Sub {
                Some(a.sub(b))
            } else if *op == BinaryOp::Mul {
                Some(a.mul(b))
            } else {
                let divides = *op == BinaryOp::Div && b.as_int().is_some_and(|n| n > 0);
                divides.then(|| a.floor_div(b))
            }
        } else {
            None
        }
    }

    /// A variable that has a loop: `i`, or `S1.i`.
    ///
    /// # Errors
    /// No such loop, or several.
    pub fn loop_var(&self, graph: &Graph, at: usize) -> Result<VarId, Diagnostic> {
        loop_var(graph, self.expr(at)?)
    }

    /// Refuses a command on a nest that `parallelize` has closed.
    ///
    /// # Errors
    /// When a nest that loops over `var` has a parallel loop.
    pub fn expect_open(&self, graph: &Graph, var: VarId) -> Result<(), Diagnostic> {
        self.unless_closed(graph, var, |_| false)
    }

    /// Refuses a command that takes a loop apart in a nest that `parallelize` of another one has closed.
    ///
    /// # Errors
    /// When a nest that loops over `var` has parallel loops, and that one is serial.
    pub fn expect_open_or_parallel(&self, graph: &Graph, var: VarId) -> Result<(), Diagnostic> {
        self.unless_closed(graph, var, |l| l.var == var)
    }

    /// Refuses the command where a nest with a loop over `var` has a parallel one, but where one that `opens` is.
    fn unless_closed(
        &self,
        graph: &Graph,
        var: VarId,
        opens: impl Fn(&Loop) -> bool,
    ) -> Result<(), Diagnostic> {
        for nest in &graph.nests {
            let mut touched = false;
            let mut open = false;
            let mut closed: Option<Span> = None;
            nest.visit(&mut |part| {
                touched |= part.loops.iter().any(|l| l.var == var);
                for l in &part.loops {
                    open |= l.tag.parallel.is_some() && opens(l);
                    closed = closed.or(l.tag.parallel.as_ref().map(|p| p.span));
                }
            });
            if let (true, false, Some(span)) = (touched, open, closed) {
                return Err(Diagnostic::error(
                    codes::FROZEN,
                    self.span,
                    format!("`{}` comes after `parallelize`", self.command.name),
                    "must come before",
                )
                .with_label(span, "the loop nest was parallelized here")
                .with_help("move this command before the `parallelize`"));
            }
        }
        Ok(())
    }
}

/// The variable that an argument names.
///
/// # Errors
/// No such loop, or several.
pub fn loop_var(graph: &Graph, e: &Expr) -> Result<VarId, Diagnostic> {
    let (label, name) = if let ExprKind::Name(name) = &e.kind {
        (None, name.as_str())
    } else if let ExprKind::Member { base, member } = &e.kind {
        (Some(base.name.as_str()), member.name.as_str())
    } else {
        return Err(Diagnostic::error(
            codes::WRONG_ARGUMENTS,
            e.span,
            "expected an index variable",
            "here",
        )
        .with_help("name a loop's variable, as `i` or `S1.i`"));
    };
    let mut found: Vec<VarId> = Vec::new();
    let mut labels: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for nest in &graph.nests {
        let statement = graph.statement(nest);
        nest.visit(&mut |part| {
            for l in &part.loops {
                let own = &graph.var(l.var).name;
                let called = match label {
                    Some(_) => format!("{}.{own}", statement.label),
                    None => own.clone(),
                };
                if !names.contains(&called) {
                    names.push(called);
                }
                let fits = own == name && label.is_none_or(|x| x == statement.label);
                if fits && !found.contains(&l.var) {
                    found.push(l.var);
                    labels.push(format!("{}.{name}", statement.label));
                }
            }
        });
    }
    match found.as_slice() {
        [var] => Ok(*var),
        [] => Err(Diagnostic::error(
            codes::UNKNOWN_VARIABLE,
            e.span,
            match label {
                Some(label) => format!("there is no loop over `{label}.{name}`"),
                None => format!("there is no loop over `{name}`"),
            },
            "no such loop",
        )
        .with_help(format!("the loops are {}", names.join(", ")))),
        _ => Err(Diagnostic::error(
            codes::AMBIGUOUS_VARIABLE,
            e.span,
            format!("`{name}` stands in several statements"),
            "which one?",
        )
        .with_help(format!("write {}", labels.join(" or ")))),
    }
}

/// Adds a derived variable whose name must be new.
///
/// # Errors
/// The name is taken by a variable, tensor or size.
pub fn new_var(graph: &mut Graph, name: &Ident) -> Result<VarId, Diagnostic> {
    free(graph, &name.name);
    let function = &graph.function;
    let taken = graph.vars.iter().any(|v| v.name == name.name)
        || graph.has_tensor(&name.name)
        || function.sizes.iter().any(|s| s.name == name.name);
    if taken {
        return Err(self::taken(name));
    }
    Ok(derived(graph, name.name.clone(), name.span))
}

/// Takes the name from a variable that neither the program nor a command gave it to: one of loops that bring what the
/// statement computes into blocks.
fn free(graph: &mut Graph, name: &str) {
    let vars = (graph.function.vars.len()..graph.vars.len()).map(VarId::at);
    let mut own = vars.filter(|&v| graph.var(v).name == name);
    if let Some(var) = own.find(|&v| graph.provenance.producer(v).is_none()) {
        let other = graph.fresh_name(name);
        graph.vars[var.index()].name = other;
    }
}

/// Makes a variable that takes the place of another in its loops and keeps its name.
pub fn renamed(graph: &mut Graph, var: VarId) -> VarId {
    let IndexVar { name, span, .. } = graph.var(var).clone();
    let child = derived(graph, name, span);
    replace_loops(graph, var, &[child]);
    child
}

fn derived(graph: &mut Graph, name: String, span: Span) -> VarId {
    // Provenance gives the range.
    let zero = || Bound::Static(SizeExpr::Const(0));
    graph.add_var(IndexVar {
        name,
        span,
        stmt: 0,
        range: Range {
            lo: zero(),
            hi: zero(),
        },
    })
}

/// The name is used already.
#[must_use]
pub fn taken(name: &Ident) -> Diagnostic {
    Diagnostic::error(
        codes::NAME_TAKEN,
        name.span,
        format!("`{}` is used already", name.name),
        "must be a new name",
    )
    .with_help("choose a name that neither the program nor an earlier command uses")
}

/// Replaces each loop over `var` by loops over `by`, outermost first, in every nest
/// that has one. The innermost runs as the loop over `var` did.
pub fn replace_loops(graph: &mut Graph, var: VarId, by: &[VarId]) {
    for nest in &mut graph.nests {
        let shared = nest.joined;
        nest.visit_mut(&mut |part| {
            if let Some(at) = part.loops.iter().position(|l| l.var == var) {
                let loops = by.iter().map(|&var| Loop::serial(var));
                let replaced: Vec<Loop> = part.loops.splice(at..=at, loops).collect();
                if let (Some(innermost), Some(old)) =
                    (part.loops.get_mut(at + by.len() - 1), replaced.first())
                {
                    innermost.tag = old.tag.clone();
                }
                if at < part.joined {
                    part.joined = shared + by.len() - 1;
                }
            }
        });
    }
}
