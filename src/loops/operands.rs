//! What statements and expressions are made of: one table each, from which every walk
//! ([`super::visit`]) and every question about names follows.

use super::device::ir::{Claim, ReduceScope, Retry, Scan};
use super::ir::{ArrayId, Device, Expr, ExprKind, Look, LoopTag, Room, Run, Stmt, VarId};

/// A part of a statement.
#[derive(Debug)]
pub enum Operand<'a> {
    /// It evaluates the expression.
    Expr(&'a Expr),
    Var(&'a VarId, VarUse),
    /// It names the array itself; what its expressions load is theirs.
    Array(&'a ArrayId, ArrayUse),
    /// It runs the statements.
    Body(&'a Vec<Stmt>),
}

/// A part of a statement, to be changed.
#[derive(Debug)]
pub enum OperandMut<'a> {
    Expr(&'a mut Expr),
    Var(&'a mut VarId, VarUse),
    Array(&'a mut ArrayId, ArrayUse),
    Body(&'a mut Vec<Stmt>),
}

/// What a statement does to a variable that it names, other than read it in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarUse {
    Declare,
    /// Sets it, or combines it with a value.
    Assign,
    /// Decides by its value and sets it.
    Update,
}

/// What a statement does to an array that it names, other than load from it in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayUse {
    /// Declares an array of constant size.
    Declare,
    /// Declares the array as a part of another.
    Alias,
    /// Lets another array be a part of this one.
    Part,
    Alloc,
    Grow,
    Free,
    /// Sets elements, or combines them with a value.
    Write,
    Read,
    /// Sets elements and reads what it set.
    Exchange,
}

impl ArrayUse {
    /// Whether the statement declares the array.
    #[must_use]
    pub fn declares(self) -> bool {
        matches!(self, ArrayUse::Declare | ArrayUse::Alias)
    }
}

/// The table of statements, for [`Operand`] and [`OperandMut`]: expressions in the order in
/// which they are evaluated, then names, then nested statements.
macro_rules! operands {
    ($stmt:expr, $operand:ident, $f:expr) => {
        match $stmt {
            Stmt::Let { var, init } => {
                $f($operand::Expr(init));
                $f($operand::Var(var, VarUse::Declare));
            }
            Stmt::Assign { var, op: _, value } => {
                $f($operand::Expr(value));
                $f($operand::Var(var, VarUse::Assign));
            }
            Stmt::Store {
                array,
                index,
                op: _,
                value,
                atomic: _,
            } => {
                $f($operand::Expr(index));
                $f($operand::Expr(value));
                $f($operand::Array(array, ArrayUse::Write));
            }
            Stmt::For {
                var,
                lo,
                hi,
                most: _,
                step: _,
                tag: LoopTag { run, .. },
                body,
            } => {
                $f($operand::Expr(lo));
                $f($operand::Expr(hi));
                $f($operand::Var(var, VarUse::Declare));
                if let Run::Threads { reductions, .. }
                | Run::Lanes { reductions, .. }
                | Run::Unit { reductions, .. } = run
                {
                    for (_, reduced) in reductions {
                        $f($operand::Var(reduced, VarUse::Assign));
                    }
                }
                $f($operand::Body(body));
            }
            Stmt::While { cond, body } => {
                $f($operand::Expr(cond));
                $f($operand::Body(body));
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                $f($operand::Expr(cond));
                $f($operand::Body(then));
                $f($operand::Body(otherwise));
            }
            Stmt::Alloc {
                array,
                count,
                zeroed: _,
            } => {
                $f($operand::Expr(count));
                $f($operand::Array(array, ArrayUse::Alloc));
            }
            Stmt::Append { rooms, body } => {
                for Room {
                    capacity,
                    arrays,
                    first,
                } in rooms
                {
                    if let Some(first) = first {
                        $f($operand::Expr(first));
                    }
                    $f($operand::Var(capacity, VarUse::Declare));
                    for array in arrays {
                        $f($operand::Array(array, ArrayUse::Grow));
                    }
                }
                $f($operand::Body(body));
            }
            Stmt::Grow { capacity, needed } => {
                $f($operand::Expr(needed));
                $f($operand::Var(capacity, VarUse::Update));
            }
            Stmt::Trim { capacity, count } => {
                $f($operand::Expr(count));
                $f($operand::Var(capacity, VarUse::Update));
            }
            Stmt::Declare { array, count: _ } => $f($operand::Array(array, ArrayUse::Declare)),
            Stmt::Slice { array, of, offset } => {
                $f($operand::Expr(offset));
                $f($operand::Array(of, ArrayUse::Part));
                $f($operand::Array(array, ArrayUse::Alias));
            }
            Stmt::Assume {
                cond,
                text: _,
                found,
            } => {
                $f($operand::Expr(cond));
                $f($operand::Expr(found));
            }
            Stmt::FailIf { cond, code: _ } => $f($operand::Expr(cond)),
            Stmt::Free { array } => $f($operand::Array(array, ArrayUse::Free)),
            Stmt::Fill {
                array,
                start,
                count,
                value,
            } => {
                $f($operand::Expr(start));
                $f($operand::Expr(count));
                $f($operand::Expr(value));
                $f($operand::Array(array, ArrayUse::Write));
            }
            Stmt::Search {
                var,
                array,
                lo,
                hi,
                key,
                by,
            } => {
                $f($operand::Expr(lo));
                $f($operand::Expr(hi));
                $f($operand::Expr(key));
                $f($operand::Array(array, ArrayUse::Read));
                if let Look::Table(table) | Look::Slot(table) = by {
                    $f($operand::Array(table, ArrayUse::Read));
                }
                $f($operand::Var(var, VarUse::Declare));
            }
            Stmt::Enter {
                table,
                coordinates,
                lo,
                hi,
            } => {
                $f($operand::Expr(lo));
                $f($operand::Expr(hi));
                $f($operand::Array(coordinates, ArrayUse::Read));
                $f($operand::Array(table, ArrayUse::Exchange));
            }
            Stmt::Take { var, array, index } => {
                $f($operand::Expr(index));
                $f($operand::Array(array, ArrayUse::Exchange));
                $f($operand::Var(var, VarUse::Declare));
            }
            Stmt::Sort {
                coordinates,
                values,
                count,
                distinct: _,
            } => {
                $f($operand::Expr(count));
                for array in coordinates {
                    $f($operand::Array(array, ArrayUse::Exchange));
                }
                $f($operand::Array(values, ArrayUse::Exchange));
            }
            Stmt::Scan {
                array,
                count,
                op: _,
                total,
            } => {
                $f($operand::Expr(count));
                $f($operand::Array(array, ArrayUse::Exchange));
                if let Some(total) = total {
                    $f($operand::Var(total, VarUse::Declare));
                }
            }
            Stmt::Prefetch { array, index } => {
                $f($operand::Expr(index));
                $f($operand::Array(array, ArrayUse::Read));
            }
            Stmt::Device(Device::Launch {
                grid,
                block: _,
                body,
            }) => {
                for blocks in grid {
                    $f($operand::Expr(blocks));
                }
                $f($operand::Body(body));
            }
            Stmt::Device(Device::Retry(Retry { rooms, needs, body })) => {
                for Room {
                    capacity,
                    arrays,
                    first,
                } in rooms
                {
                    if let Some(first) = first {
                        $f($operand::Expr(first));
                    }
                    $f($operand::Var(capacity, VarUse::Update));
                    for array in arrays {
                        $f($operand::Array(array, ArrayUse::Grow));
                    }
                }
                $f($operand::Array(needs, ArrayUse::Exchange));
                $f($operand::Body(body));
            }
            Stmt::Device(Device::Scan(Scan {
                array,
                count,
                op: _,
                sums,
                total,
            })) => {
                $f($operand::Expr(count));
                $f($operand::Array(array, ArrayUse::Exchange));
                $f($operand::Array(sums, ArrayUse::Exchange));
                if let Some((totals, _)) = total {
                    $f($operand::Array(totals, ArrayUse::Write));
                }
            }
            Stmt::Device(Device::Fetch { totals, vars }) => {
                $f($operand::Array(totals, ArrayUse::Read));
                for var in vars {
                    $f($operand::Var(var, VarUse::Declare));
                }
            }
            Stmt::Device(Device::Aligned { array, bytes: _ }) => {
                $f($operand::Array(array, ArrayUse::Read));
            }
            Stmt::Device(Device::Reduce { var, op: _, scope }) => {
                $f($operand::Var(var, VarUse::Update));
                if let ReduceScope::Strided { scratch, .. } = scope {
                    $f($operand::Array(scratch, ArrayUse::Exchange));
                }
            }
            Stmt::Device(Device::SegmentStore {
                array,
                index,
                op: _,
                value,
                lanes: _,
            }) => {
                $f($operand::Expr(index));
                $f($operand::Expr(value));
                $f($operand::Array(array, ArrayUse::Write));
            }
            Stmt::Device(Device::Claim(Claim {
                var,
                table,
                slots,
                extent,
                key,
                count,
                keys,
                places,
            })) => {
                $f($operand::Expr(slots));
                $f($operand::Expr(extent));
                $f($operand::Expr(key));
                $f($operand::Array(table, ArrayUse::Exchange));
                $f($operand::Array(count, ArrayUse::Exchange));
                $f($operand::Array(keys, ArrayUse::Write));
                if let Some(places) = places {
                    $f($operand::Array(places, ArrayUse::Write));
                }
                if let Some(var) = var {
                    $f($operand::Var(var, VarUse::Declare));
                }
            }
            Stmt::Device(Device::Sort {
                coordinates,
                values,
                count,
                scratch,
            }) => {
                $f($operand::Expr(count));
                $f($operand::Array(scratch, ArrayUse::Exchange));
                for array in coordinates {
                    $f($operand::Array(array, ArrayUse::Exchange));
                }
                $f($operand::Array(values, ArrayUse::Exchange));
            }
            Stmt::Device(Device::Barrier(_)) | Stmt::Comment(_) => {}
        }
    };
}

impl Stmt {
    /// Calls `f` on what the statement is made of.
    pub fn operands<'a>(&'a self, f: &mut impl FnMut(Operand<'a>)) {
        operands!(self, Operand, f);
    }

    /// Calls `f` on what the statement is made of, to be changed.
    pub fn operands_mut<'a>(&'a mut self, f: &mut impl FnMut(OperandMut<'a>)) {
        operands!(self, OperandMut, f);
    }

    /// The variables that the statement declares, not those that nested ones do.
    #[must_use]
    pub fn declares(&self) -> Vec<VarId> {
        let mut found = Vec::new();
        self.operands(&mut |operand| {
            if let Operand::Var(var, VarUse::Declare) = operand {
                found.push(*var);
            }
        });
        found
    }

    /// The array that the statement declares.
    #[must_use]
    pub fn declares_array(&self) -> Option<ArrayId> {
        self.array_as(ArrayUse::declares)
    }

    /// The array that the statement stores to.
    #[must_use]
    pub fn writes(&self) -> Option<ArrayId> {
        self.array_as(|how| how == ArrayUse::Write)
    }

    fn array_as(&self, is: impl Fn(ArrayUse) -> bool) -> Option<ArrayId> {
        let mut found = None;
        self.operands(&mut |operand| {
            if let Operand::Array(array, how) = operand
                && is(how)
            {
                found = Some(*array);
            }
        });
        found
    }
}

/// The table of expressions: the operands of a node, from left to right.
macro_rules! parts {
    ($e:expr, $f:expr) => {
        match $e {
            ExprKind::Literal(_) | ExprKind::Var(_) | ExprKind::Place(_) => {}
            ExprKind::Load { array: _, index: a } | ExprKind::Unary(_, a) | ExprKind::Cast(a) => {
                $f(a);
            }
            ExprKind::Binary(_, a, b) => {
                $f(a);
                $f(b);
            }
            ExprKind::Call(_, args) => {
                for a in args {
                    $f(a);
                }
            }
            ExprKind::Select(c, a, b) | ExprKind::Locate(c, a, b) => {
                $f(c);
                $f(a);
                $f(b);
            }
        }
    };
}

impl Expr {
    /// Calls `f` on the operands of the node.
    pub fn parts<'a>(&'a self, f: &mut impl FnMut(&'a Expr)) {
        parts!(&self.kind, f);
    }

    /// Calls `f` on the operands of the node, to be changed.
    pub fn parts_mut<'a>(&'a mut self, f: &mut impl FnMut(&'a mut Expr)) {
        parts!(&mut self.kind, f);
    }

    /// Whether the test holds for some node of the expression.
    #[must_use]
    pub fn any(&self, test: impl Fn(&Expr) -> bool) -> bool {
        self.find(&test)
    }

    fn find(&self, test: &impl Fn(&Expr) -> bool) -> bool {
        let mut found = test(self);
        self.parts(&mut |part| found = found || part.find(test));
        found
    }

    /// Whether the expression reads the variable.
    #[must_use]
    pub fn reads(&self, var: VarId) -> bool {
        self.any(|node| node.kind == ExprKind::Var(var))
    }

    /// Whether the expression reads memory.
    #[must_use]
    pub fn loads(&self) -> bool {
        self.any(|node| matches!(node.kind, ExprKind::Load { .. }))
    }
}
