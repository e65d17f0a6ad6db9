//! What `choose` asks of the data, in a kernel: numbers of stored elements and extents, which the
//! arguments say at once, and lengths of rows, which a loop over the rows finds.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::schedule as codes;
use crate::level::InKernel;
use crate::loops::build as b;
use crate::loops::interface::{Arg, Counts, Direction, TensorArg};
use crate::loops::ir::{BinaryOp, Expr, Kernel, Literal, LoopTag, ScalarType, Stmt};
use crate::schedule::constants::Constants;
use crate::syntax::ast::{self, ExprKind, Number, UnaryOp};
use crate::target::Target;

/// Writes one condition into a kernel.
struct Writer<'k> {
    kernel: &'k mut Kernel,
    constants: &'k Constants,
    target: Target,
    before: Vec<Stmt>,
}

/// The test that a condition is, and what has to run before it.
///
/// # Errors
/// What is no condition; questions that the formats of the operands do not answer.
pub fn condition(
    e: &ast::Expr,
    kernel: &mut Kernel,
    (constants, target): (&Constants, Target),
) -> Result<(Vec<Stmt>, Expr), Diagnostic> {
    let mut writer = Writer {
        kernel,
        constants,
        target,
        before: Vec::new(),
    };
    let test = writer.expr(e)?;
    if test.ty != ScalarType::Bool {
        return Err(refuse(
            e,
            "this is a number",
            "compare it: `nnz(A) < 20000`",
        ));
    }
    Ok((writer.before, test))
}

const QUESTIONS: &str =
    "it may ask for nnz(A), rows(A), cols(A), longest_row(A), mean_row(A), threads";

/// What conditions call the number of threads that a parallel loop of the call may have.
pub const THREADS: &str = "threads";

fn refuse(e: &ast::Expr, why: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::CHOICE, e.span, why, "in this condition").with_help(help)
}

impl Writer<'_> {
    fn expr(&mut self, e: &ast::Expr) -> Result<Expr, Diagnostic> {
        match &e.kind {
            ExprKind::Number(Number::Int(n)) => {
                let n = i64::try_from(*n);
                n.map(b::int)
                    .map_err(|_| refuse(e, "the number is too large", QUESTIONS))
            }
            ExprKind::Number(Number::Float(x)) => {
                Ok(b::literal(Literal::Float(*x), ScalarType::F64))
            }
            ExprKind::Name(name) => {
                let mut sizes = self.kernel.interface.sizes.iter();
                match sizes.find(|size| size.name == *name && size.fixed.is_none()) {
                    Some(size) => Ok(b::var(size.var, ScalarType::I64)),
                    None if name == THREADS && !self.constants.knows(name) => self.threads(e),
                    None => self.constants.eval(e).map(b::int),
                }
            }
            ExprKind::Apply { callee, args } => match args.as_slice() {
                [of] => self.question(e, &callee.name, of),
                _ => Err(refuse(e, "this is no question about a tensor", QUESTIONS)),
            },
            ExprKind::Unary(op, a) => {
                let inner = self.expr(a)?;
                match (op, inner.ty == ScalarType::Bool) {
                    (UnaryOp::Not, true) => Ok(b::unary(crate::loops::ir::UnaryOp::Not, inner)),
                    (UnaryOp::Neg, false) => Ok(b::unary(crate::loops::ir::UnaryOp::Neg, inner)),
                    (UnaryOp::Not, false) | (UnaryOp::Neg, true) => {
                        Err(refuse(e, "this mixes numbers and truth", QUESTIONS))
                    }
                }
            }
            ExprKind::Binary(op, x, y) => {
                let (x, y) = (self.expr(x)?, self.expr(y)?);
                let why = if *op == ast::BinaryOp::Rem {
                    "`%` takes whole numbers, and a positive constant behind it"
                } else {
                    "this mixes numbers and truth"
                };
                binary(*op, x, y).ok_or_else(|| refuse(e, why, QUESTIONS))
            }
            ExprKind::Extent { .. } | ExprKind::Member { .. } | ExprKind::Select(..) => {
                Err(refuse(e, "this cannot stand in a condition", QUESTIONS))
            }
        }
    }

    fn threads(&self, e: &ast::Expr) -> Result<Expr, Diagnostic> {
        if self.target.properties().has_blocks {
            let why = "a GPU has as many threads as a schedule launches";
            return Err(refuse(e, why, "ask for the data, or for the target c"));
        }
        Ok(b::threads())
    }

    fn question(
        &mut self,
        e: &ast::Expr,
        question: &str,
        of: &ast::Expr,
    ) -> Result<Expr, Diagnostic> {
        let tensor = self.operand(of)?;
        let is_dense = tensor.levels.iter().all(|own| own.level.is_full());
        let is_made = tensor.direction == Direction::Out && !is_dense;
        if is_made && !matches!(question, "rows" | "cols") {
            let name = &tensor.name;
            let why = format!("what `{name}` stores is not known before it is computed");
            return Err(refuse(of, why, "ask for an operand"));
        }
        let extent = |mode: usize, what: &str| {
            tensor.dims.get(mode).cloned().ok_or_else(|| {
                let (name, order) = (&tensor.name, tensor.dims.len());
                refuse(
                    e,
                    format!("`{name}` of order {order} has no {what}"),
                    QUESTIONS,
                )
            })
        };
        match question {
            "nnz" => Ok(stored(self.kernel, &tensor, b::int(1), 0)),
            "rows" => extent(0, "rows"),
            "cols" => extent(1, "columns"),
            "mean_row" => {
                let rows = extent(0, "rows")?;
                let stored = stored(self.kernel, &tensor, b::int(1), 0);
                Ok(b::binary(BinaryOp::Div, float(stored), float(rows)))
            }
            "longest_row" => self.longest_row(e, &tensor),
            _ => Err(refuse(
                e,
                format!("there is no question `{question}`"),
                QUESTIONS,
            )),
        }
    }

    fn operand(&self, e: &ast::Expr) -> Result<TensorArg, Diagnostic> {
        let ExprKind::Name(name) = &e.kind else {
            return Err(refuse(e, "this is no tensor", QUESTIONS));
        };
        let found = self.kernel.interface.args.iter().find_map(|arg| match arg {
            // Of a result that has a content before the call, that content.
            Arg::Tensor(tensor) if tensor.shown() == name => Some(tensor),
            Arg::Tensor(_) | Arg::Scalar { .. } => None,
        });
        match found {
            Some(tensor) => Ok(tensor.clone()),
            None => Err(refuse(
                e,
                format!("no argument is called `{name}`"),
                QUESTIONS,
            )),
        }
    }

    /// The largest number of elements below one position of the outermost level, which has to be a
    /// row.
    fn longest_row(&mut self, e: &ast::Expr, tensor: &TensorArg) -> Result<Expr, Diagnostic> {
        if self.target.properties().has_blocks {
            let why = "lengths of rows lie on the device: this is not supported yet";
            return Err(refuse(e, why, "ask for mean_row, or for the target c"));
        }
        let rows = tensor.levels.first().filter(|level| {
            level.mode == 0 && level.level.unique && level.counts == Counts::Coordinates
        });
        let Some(outer) = rows else {
            let why = format!("`{}` does not store its elements by rows", tensor.name);
            return Err(refuse(e, why, "ask for mean_row, or store it by rows"));
        };
        let count = level(self.kernel, tensor, outer).size(b::int(1));
        let longest = format!("longest_row_{}", tensor.name);
        let longest = self.kernel.fresh_var(&longest, ScalarType::I64, true);
        let row = self.kernel.fresh_var("row", ScalarType::I64, false);
        let at = b::var(row, ScalarType::I64);
        let mut own = at.clone()..b::add(at, b::int(1));
        for inner in &tensor.levels[1..] {
            own = level(self.kernel, tensor, inner).below(own);
        }
        let length = b::sub(own.end, own.start);
        self.before.push(b::bind(longest, b::int(0)));
        self.before.push(Stmt::For {
            var: row,
            lo: b::int(0),
            hi: count,
            most: None,
            step: 1,
            tag: LoopTag::default(),
            body: vec![b::update(longest, crate::operators::ReduceOp::Max, length)],
        });
        Ok(b::var(longest, ScalarType::I64))
    }
}

/// The positions of the last level below so many of the level `from`.
fn stored(kernel: &Kernel, tensor: &TensorArg, parents: Expr, from: usize) -> Expr {
    let levels = tensor.levels[from..].iter();
    levels.fold(parents, |parents, own| {
        level(kernel, tensor, own).size(parents)
    })
}

fn level(
    kernel: &Kernel,
    tensor: &TensorArg,
    own: &crate::loops::interface::LevelArrays,
) -> InKernel {
    let arrays = own.arrays.iter();
    let arrays = arrays.map(|&(role, id)| (role, id, kernel.array(id).elem));
    InKernel::new(own.level.ty(), arrays.collect(), own.extent(&tensor.dims))
}

fn float(e: Expr) -> Expr {
    b::cast(ScalarType::F64, e)
}

/// Numbers are whole until one of them is not; quotients never are.
fn binary(op: ast::BinaryOp, x: Expr, y: Expr) -> Option<Expr> {
    use ast::BinaryOp as Written;
    let truths = [&x, &y].map(|e| e.ty == ScalarType::Bool);
    if op == Written::And {
        return (truths == [true, true]).then(|| b::and(x, y));
    }
    if op == Written::Or {
        return (truths == [true, true]).then(|| b::or(x, y));
    }
    if truths != [false, false] {
        return None;
    }
    let whole = [&x, &y].iter().all(|e| e.ty == ScalarType::I64);
    let (x, y) = if whole && op != Written::Div {
        (x, y)
    } else {
        (float(x), float(y))
    };
    let op = match op {
        Written::Add => BinaryOp::Add,
        Written::Sub => BinaryOp::Sub,
        Written::Mul => BinaryOp::Mul,
        Written::Div => BinaryOp::Div,
        Written::Eq => BinaryOp::Eq,
        Written::Ne => BinaryOp::Ne,
        Written::Lt => BinaryOp::Lt,
        Written::Le => BinaryOp::Le,
        Written::Gt => BinaryOp::Gt,
        Written::Ge => BinaryOp::Ge,
        // By data, which may be zero, there is no rest.
        Written::Rem if whole && b::as_int(&y).is_some_and(|by| by > 0) => BinaryOp::Rem,
        Written::Rem | Written::And | Written::Or => return None,
    };
    Some(b::binary(op, x, y))
}
