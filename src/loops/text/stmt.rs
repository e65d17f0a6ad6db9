//! Statements as text.

use super::lex::quote;
use super::{Writer, words};
use crate::loops::ir::{ArrayId, Expr, Look, LoopTag, ReduceOp, Stmt, VarId};
use crate::loops::trips::Trips;
use crate::loops::visit;

impl Writer<'_> {
    pub(super) fn stmts(&mut self, body: &[Stmt], depth: usize) {
        for stmt in body {
            let text = self.stmt(stmt);
            self.line(depth, &text);
            let bodies = visit::bodies(stmt);
            for (at, body) in bodies.into_iter().enumerate() {
                if matches!(stmt, Stmt::If { .. }) && at == 1 && !body.is_empty() {
                    self.line(depth, "else");
                }
                self.stmts(body, depth + 1);
            }
        }
    }

    /// The statement's own line.
    fn stmt(&self, stmt: &Stmt) -> String {
        let e = |x| self.expr(x);
        let flag = |set: bool, word: &'static str| if set { word } else { "" };
        match stmt {
            Stmt::Let { var, init } => format!("let {} = {}", self.var(*var), e(init)),
            Stmt::Assign { var, op, value } => {
                format!("{} {} {}", self.var(*var), equals(*op), e(value))
            }
            Stmt::Store {
                array,
                index,
                op,
                value,
                atomic,
            } => {
                let (atomic, element) = (flag(*atomic, "atomic "), self.element(*array, index));
                format!("{atomic}{element} {} {}", equals(*op), e(value))
            }
            Stmt::For {
                var,
                lo,
                hi,
                most,
                step,
                tag,
                ..
            } => self.for_loop((*var, lo, hi), *most, *step, tag),
            Stmt::While { cond, .. } => format!("while {}", e(cond)),
            Stmt::If { cond, .. } => format!("if {}", e(cond)),
            Stmt::Alloc {
                array,
                count,
                zeroed,
            } => {
                let zeroed = flag(*zeroed, " zeroed");
                format!("alloc {}{zeroed}", self.element(*array, count))
            }
            Stmt::Append { rooms, .. } => format!("append{}", self.rooms(rooms)),
            Stmt::Grow { capacity, needed } => {
                format!("grow {} to {}", self.var(*capacity), e(needed))
            }
            Stmt::Trim { capacity, count } => {
                format!("trim {} to {}", self.var(*capacity), e(count))
            }
            Stmt::Declare { array, count } => format!("declare {}[{count}]", self.array(*array)),
            Stmt::Slice { array, of, offset } => {
                let (array, of) = (self.array(*array), self.array(*of));
                format!("slice {array} of {of}[{}..]", e(offset))
            }
            Stmt::Assume { cond, text, found } => {
                format!("assume {}, {} {}", e(cond), quote(text), e(found))
            }
            Stmt::Free { array } => format!("free {}", self.array(*array)),
            Stmt::Enter {
                table,
                coordinates,
                lo,
                hi,
            } => {
                let range = self.range(*coordinates, lo, hi);
                format!("enter {range} into {}", self.array(*table))
            }
            Stmt::Take { var, array, index } => {
                format!(
                    "take {} from {}",
                    self.var(*var),
                    self.element(*array, index)
                )
            }
            Stmt::Sort {
                coordinates,
                values,
                count,
                distinct,
            } => self.sort(coordinates, self.element(*values, count), *distinct),
            Stmt::Fill {
                array,
                start,
                count,
                value,
            } => {
                let (array, start) = (self.array(*array), e(start));
                format!("fill {array}[{start}..+{}] = {}", e(count), e(value))
            }
            Stmt::Search {
                var,
                array,
                lo,
                hi,
                key,
                by,
            } => self.search(*var, *array, (lo, hi), key, *by),
            Stmt::Scan {
                array,
                count,
                op,
                total,
            } => self.scan(self.element(*array, count), *op, *total),
            Stmt::FailIf { cond, code } => {
                format!("fail {} if {}", words::word(&words::ERRORS, code), e(cond))
            }
            Stmt::Prefetch { array, index } => {
                format!("prefetch {}", self.element(*array, index))
            }
            Stmt::Device(device) => self.device(device),
            Stmt::Comment(text) => format!("# {text}").trim_end().to_string(),
        }
    }

    /// `array[index]`
    fn element(&self, array: ArrayId, index: &Expr) -> String {
        format!("{}[{}]", self.array(array), self.expr(index))
    }

    /// `array[lo..hi]`
    fn range(&self, array: ArrayId, lo: &Expr, hi: &Expr) -> String {
        let (lo, hi) = (self.expr(lo), self.expr(hi));
        format!("{}[{lo}..{hi}]", self.array(array))
    }

    /// A loop's own line. The most iterations are said where bounds do not tell them.
    fn for_loop(
        &self,
        (var, lo, hi): (VarId, &Expr, &Expr),
        most: Option<i64>,
        step: i64,
        tag: &LoopTag,
    ) -> String {
        let e = |x| self.expr(x);
        let by = match step {
            1 => String::new(),
            step => format!(" by {step}"),
        };
        let said = most.filter(|_| most != Trips::of(lo, hi).most);
        let most = said.map_or(String::new(), |most| format!(" most {most}"));
        let (var, tag) = (self.var(var), self.tag(tag));
        format!("for {var} in {}..{}{most}{by}{tag}", e(lo), e(hi))
    }

    fn sort(&self, coordinates: &[ArrayId], values: String, distinct: bool) -> String {
        let word = if distinct { "sort_distinct" } else { "sort" };
        format!("{word} {values} by {}", self.array_list(coordinates))
    }

    fn scan(&self, array: String, op: ReduceOp, total: Option<VarId>) -> String {
        let total = total.map_or(String::new(), |total| format!(" to {}", self.var(total)));
        format!("scan {array} by {}{total}", words::sign(op))
    }

    /// A search, by the word for how it looks.
    fn search(
        &self,
        var: VarId,
        array: ArrayId,
        (lo, hi): (&Expr, &Expr),
        key: &Expr,
        by: Look,
    ) -> String {
        let (word, table, behind) = match by {
            Look::Bisect => ("search", array, String::new()),
            Look::Gallop => ("gallop", array, String::new()),
            Look::Table(table) => ("search", array, format!(" by {}", self.array(table))),
            Look::Slot(table) => ("place", table, format!(" of {}", self.array(array))),
        };
        let (var, range, key) = (self.var(var), self.range(table, lo, hi), self.expr(key));
        format!("{word} {var} in {range} for {key}{behind}")
    }
}

/// `=`, or with an operator: `+=`, `min=`.
pub(super) fn equals(op: Option<ReduceOp>) -> String {
    let op = op.map_or(String::new(), words::sign);
    format!("{op}=")
}
