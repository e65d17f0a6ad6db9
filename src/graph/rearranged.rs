//! Results that are stored in blocks or by diagonals.
//!
//! Such a result is a tensor of blocks or of diagonals, as such operands are ([`super::blocks`],
//! [`super::diagonals`]): what the program calls B(i,j) is the element (i/4, j/4, i%4, j%4) of what is
//! stored as `bcsr(4,4)`. Loops come to its elements as the program's variables go, not block by block. So they
//! are collected with the coordinates by which they are stored, as where data decide what a statement
//! writes, sorted, and put into blocks. A result that several statements write, that some read, or whose
//! elements are sums, is computed by rows before.

use super::Graph;
use super::blocks::subscripts_as_stored;
use super::build::Piece;
use super::collect::remarks::unless_dense;
use super::collect::sorted_by;
use super::equal::same;
use super::order::{sparse_accesses, vars_in};
use super::terms::{index, reads, reduces, renew};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::codes::performance;
use crate::format::{Level, Part, TensorFormat};
use crate::program::ir::{
    Access, BinaryOp, Bound, Expr, ExprKind, Function, IndexVar, Literal, Range, ReduceOp, Role,
    Shared, SizeExpr, Statement, Tensor, TensorId, VarId,
};
use crate::scalar::ScalarType;

/// The results of a function that are stored in blocks or by diagonals.
#[derive(Default)]
pub(super) struct Rearranged(Vec<Own>);

/// One of them.
struct Own {
    tensor: TensorId,
    /// As the function declares it.
    declared: Tensor,
    /// What its statements compute in its place.
    rows: Option<TensorId>,
}

impl Rearranged {
    /// Those of a function, which computes them by rows from here on where it has to.
    pub fn of(function: &mut Function) -> Self {
        let mut found = Vec::new();
        for at in 0..function.tensors.len() {
            let declared = function.tensors[at].clone();
            if !declared.format.is_rearranged() || declared.role != Role::Result {
                continue;
            }
            let tensor = TensorId::at(at);
            let mut writers = function.stmts.iter().filter(|stmt| stmt.tensor == tensor);
            let plain = |stmt: &Statement| stmt.op.is_none() && reduces(&stmt.rhs).is_empty();
            let alone = writers.next().is_some_and(plain) && writers.next().is_none();
            let told = function.vars.iter().flat_map(|v| v.range.reads());
            let all = function.stmts.iter().map(|stmt| &stmt.rhs).chain(told);
            let read = all.into_iter().any(|e| reads(e, tensor));
            let rows = (!alone || read).then(|| by_rows(function, tensor));
            found.push(Own {
                tensor,
                declared,
                rows,
            });
        }
        Rearranged(found)
    }

    /// What a statement computes, with what puts it into blocks if that is to be done there.
    pub fn written(
        &self,
        graph: &mut Graph,
        (piece, stmt): (Piece, Statement),
    ) -> Vec<(Piece, Statement)> {
        let own = |result: &&Own| result.rows.is_none() && result.tensor == piece.tensor;
        let Some(result) = self.0.iter().find(own) else {
            return vec![(piece, stmt)];
        };
        match result.by_its_own(graph, &piece, &stmt) {
            Some(piece) => vec![piece],
            None => result.put(graph, piece, stmt).into(),
        }
    }

    /// What puts the others into blocks, behind all statements.
    pub fn rest(&self, graph: &mut Graph, function: &Function) -> Vec<(Piece, Statement)> {
        let mut pieces = Vec::new();
        for result in &self.0 {
            let Some(rows) = result.rows else { continue };
            let last = function.stmts.iter().rposition(|stmt| stmt.tensor == rows);
            let Some(at) = last else { continue };
            let stmt = &function.stmts[at];
            let (span, near) = (stmt.span, &stmt.rhs);
            let dims = &result.declared.dims;
            let vars = stmt.lhs.iter().zip(dims).map(|(&var, dim)| {
                let name = graph.var(var).name.clone();
                graph.whole_var(&name, dim, (span, at))
            });
            let vars: Vec<VarId> = vars.collect();
            let subscripts = vars.iter().map(|&var| index(var, near)).collect();
            let tensor = rows;
            let rhs = Expr {
                kind: ExprKind::Access(Access { tensor, subscripts }),
                ty: result.declared.ty.compute(),
                span,
            };
            let stmt = Statement {
                tensor: result.tensor,
                lhs: vars.clone(),
                op: None,
                rhs: rhs.clone(),
                vars: vars.clone(),
                ..stmt.clone()
            };
            let piece = Piece {
                stmt: at,
                tensor: result.tensor,
                lhs: vars,
                op: None,
                rhs,
            };
            pieces.extend(result.put(graph, piece, stmt));
        }
        pieces
    }
}

/// A tensor that is computed in place of a result: its levels are those of its modes in the order in
/// which the result stores them, all but a dense first one compressed, unless all elements are stored.
fn by_rows(function: &mut Function, of: TensorId) -> TensorId {
    let declared = function.tensor(of).clone();
    let format = &declared.format;
    let mut modes: Vec<usize> = Vec::new();
    for (&mode, part) in format.modes.iter().zip(&format.parts) {
        let first = match part {
            Part::Diagonal(along) => *along,
            Part::Whole | Part::Block(_) | Part::Within(_) | Part::Slot => mode,
        };
        for mode in [first, mode] {
            if !modes.contains(&mode) {
                modes.push(mode);
            }
        }
    }
    let of_first = format.modes.iter().zip(&format.levels);
    let mut of_first = of_first.filter(|(mode, _)| **mode == modes[0]);
    let mut levels = match format.is_dense() {
        true => vec![Level::DENSE; modes.len()],
        false => vec![Level::COMPRESSED; modes.len()],
    };
    if of_first.next().is_some_and(|(_, level)| level.is_full()) {
        levels[0] = Level::DENSE;
    }
    let rows = TensorId::at(function.tensors.len());
    let format = TensorFormat {
        index_bits: format.index_bits,
        ..TensorFormat::whole(levels, modes)
    };
    let names = function.tensors.iter().map(|t| t.name.as_str());
    let taken: Vec<&str> = names.collect();
    let mut name = format!("{}_rows", declared.name);
    while taken.contains(&name.as_str()) {
        name.push('_');
    }
    function.tensors.push(Tensor {
        name,
        role: Role::Temporary,
        format,
        ..declared
    });
    for stmt in &mut function.stmts {
        renew(&mut stmt.rhs, of, rows);
        if stmt.tensor == of {
            stmt.tensor = rows;
        }
    }
    for var in &mut function.vars {
        for e in var.range.reads_mut() {
            renew(e, of, rows);
        }
    }
    rows
}

impl Own {
    /// The piece with loops over what the result stores, where all that it reads is stored so, too.
    fn by_its_own(
        &self,
        graph: &mut Graph,
        piece: &Piece,
        stmt: &Statement,
    ) -> Option<(Piece, Statement)> {
        let dims = graph.tensor(self.tensor).dims.clone();
        let subscripts = self.subscripts(piece);
        let is_stored = |var: &VarId| subscripts.iter().any(|s| s.as_var() == Some(*var));
        let mut rhs = piece.rhs.clone();
        let mut vars: Vec<Option<VarId>> = vec![None; dims.len()];
        let mut all = Vec::new();
        for (mode, (subscript, dim)) in subscripts.iter().zip(&dims).enumerate() {
            let Some(var) = subscript.as_var() else {
                let name = name_of(graph, subscript);
                all.push((mode, name, dim.clone()));
                continue;
            };
            vars[mode] = graph.covers(var, dim).then_some(var);
            vars[mode]?;
        }
        // Whether anything is left that the result does not store.
        let mut left = rhs.clone();
        for subscript in subscripts.iter().filter(|s| s.as_var().is_none()) {
            let nothing = ExprKind::Literal(Literal::ZERO);
            let nothing = Expr {
                kind: nothing,
                ..subscript.clone()
            };
            replace_in(&mut left, subscript, &nothing);
        }
        let reads = !sparse_accesses(graph, &piece.rhs).is_empty();
        let others = piece.lhs.iter().filter(|var| !is_stored(var));
        let left = vars_in(&left);
        let told = others.clone().all(|var| !left.contains(var));
        if !reads || !told {
            return None;
        }
        let first = piece.lhs.first().map_or(0, |&var| graph.var(var).stmt);
        for (mode, name, dim) in all {
            let var = graph.add_var(IndexVar {
                name: graph.fresh_name(&name),
                span: stmt.span,
                stmt: first,
                range: Range {
                    lo: Bound::Static(SizeExpr::Const(0)),
                    hi: Bound::Static(dim),
                },
            });
            replace_in(&mut rhs, &subscripts[mode], &index(var, &piece.rhs));
            vars[mode] = Some(var);
        }
        let lhs: Vec<VarId> = vars.into_iter().flatten().collect();
        let stmt = Statement {
            lhs: lhs.clone(),
            vars: lhs.clone(),
            rhs: rhs.clone(),
            ..stmt.clone()
        };
        let piece = Piece {
            lhs,
            rhs,
            ..piece.clone()
        };
        Some((piece, stmt))
    }

    /// The subscripts of the element that the piece writes, as it is stored.
    fn subscripts(&self, piece: &Piece) -> Vec<Expr> {
        let given: Vec<Expr> = piece.lhs.iter().map(|&v| index(v, &piece.rhs)).collect();
        let stored = (&self.declared.format, self.declared.dims.as_slice());
        subscripts_as_stored(stored, &given, None)
    }

    /// The piece's elements with the coordinates by which the result stores them, in any order; and
    /// the result, which is read from them.
    fn put(&self, graph: &mut Graph, piece: Piece, stmt: Statement) -> [(Piece, Statement); 2] {
        let result = graph.tensor(self.tensor).clone();
        let remark = Diagnostic::performance(
            performance::WORKSPACE,
            stmt.span,
            format!(
                "the elements of `{}` are brought into order first",
                result.name
            ),
            "the loops do not come to them in the order in which they are stored",
        );
        let remark = unless_dense(remark, graph, &stmt);
        graph.remarks.push(remark);
        let collected = graph.add_collected(Tensor {
            name: format!("{}_met", result.name),
            role: Role::Temporary,
            ty: piece.rhs.ty.compute(),
            format: sorted_by(result.format.modes.clone(), result.format.index_bits),
            ..result.clone()
        });
        let subscripts = self.subscripts(&piece);
        let mut vars = stmt.vars.clone();
        let lhs = subscripts.into_iter().map(|subscript| {
            let var = told_by(graph, subscript, &stmt);
            if !vars.contains(&var) {
                vars.push(var);
            }
            var
        });
        let lhs: Vec<VarId> = lhs.collect();
        let whole = graph.whole_vars(&lhs, &result.dims);
        let subscripts = whole.iter().map(|&var| index(var, &piece.rhs)).collect();
        let element = Expr {
            kind: ExprKind::Access(Access {
                tensor: collected,
                subscripts,
            }),
            ty: piece.rhs.ty.compute(),
            span: piece.rhs.span,
        };
        let all = Statement {
            lhs: whole.clone(),
            vars: whole.clone(),
            ..stmt.clone()
        };
        let met = Piece {
            tensor: collected,
            lhs: lhs.clone(),
            rhs: self.each(&piece, &lhs),
            ..piece.clone()
        };
        let result = Piece {
            lhs: whole,
            rhs: element,
            ..piece
        };
        [(met, Statement { lhs, vars, ..stmt }), (result, all)]
    }

    /// The right side, summed over the variables that the coordinates tell: each element once.
    fn each(&self, piece: &Piece, lhs: &[VarId]) -> Expr {
        let rhs = &piece.rhs;
        let vars = piece.lhs.iter().copied().filter(|var| !lhs.contains(var));
        let vars: Vec<VarId> = vars.collect();
        let op = ReduceOp::with_neutral(self.declared.fill, rhs.ty.compute());
        match op.filter(|_| !vars.is_empty()) {
            Some(op) => Expr {
                kind: ExprKind::Reduce {
                    op,
                    vars,
                    body: Shared::new(rhs.clone()),
                },
                ..rhs.clone()
            },
            None => rhs.clone(),
        }
    }
}

/// A variable that has one value, that of an expression: itself, if it is one.
fn told_by(graph: &mut Graph, e: Expr, stmt: &Statement) -> VarId {
    if let Some(var) = e.as_var() {
        return var;
    }
    let range = if let ExprKind::Literal(Literal::Int(n)) = e.kind {
        Range {
            lo: Bound::Static(SizeExpr::Const(n)),
            hi: Bound::Static(SizeExpr::Const(n + 1)),
        }
    } else {
        let one = Expr {
            kind: ExprKind::Literal(Literal::Int(1)),
            ty: ScalarType::I64,
            span: e.span,
        };
        let next = ExprKind::Binary(BinaryOp::Add, Shared::new(e.clone()), Shared::new(one));
        Range {
            lo: Bound::Dynamic(e.clone()),
            hi: Bound::Dynamic(Expr {
                kind: next,
                ..e.clone()
            }),
        }
    };
    let name = graph.fresh_name(&name_of(graph, &e));
    let stmt = stmt.vars.first().map_or(0, |&var| graph.var(var).stmt);
    graph.add_var(IndexVar {
        name,
        span: e.span,
        stmt,
        range,
    })
}

/// What a part of coordinates is called, as the loops over it are where operands are stored so.
fn name_of(graph: &Graph, e: &Expr) -> String {
    let names = vars_in(e).into_iter();
    // A variable over all of a dimension is named after that of the statement.
    let own = |var: VarId| {
        let name = &graph.var(var).name;
        name.strip_suffix("_all").unwrap_or(name).to_string()
    };
    let names: Vec<String> = names.map(own).collect();
    let ending = if matches!(e.kind, ExprKind::Binary(BinaryOp::Div, ..)) {
        "_o"
    } else if matches!(e.kind, ExprKind::Binary(BinaryOp::Rem, ..)) {
        "_i"
    } else {
        ""
    };
    match names.is_empty() {
        true => "at".to_string(),
        false => names.join("_") + ending,
    }
}

/// Puts an expression in the place of another, in subscripts too.
fn replace_in(e: &mut Expr, from: &Expr, to: &Expr) {
    e.walk_mut(&mut |node| {
        if same(node, from) {
            *node = to.clone();
        }
    });
}
