//! Statements as text.

use super::lex::quote;
use super::{Writer, words};
use crate::loops::ir::{Look, ReduceOp, Stmt};
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
            } => format!(
                "{}{}[{}] {} {}",
                flag(*atomic, "atomic "),
                self.array(*array),
                e(index),
                equals(*op),
                e(value),
            ),
            Stmt::For {
                var,
                lo,
                hi,
                most,
                step,
                tag,
                ..
            } => {
                let by = match step {
                    1 => String::new(),
                    step => format!(" by {step}"),
                };
                let said = most.filter(|_| *most != Trips::of(lo, hi).most);
                let most = said.map_or(String::new(), |most| format!(" most {most}"));
                let (var, tag) = (self.var(*var), self.tag(tag));
                format!("for {var} in {}..{}{most}{by}{tag}", e(lo), e(hi))
            }
            Stmt::While { cond, .. } => format!("while {}", e(cond)),
            Stmt::If { cond, .. } => format!("if {}", e(cond)),
            Stmt::Alloc {
                array,
                count,
                zeroed,
            } => format!(
                "alloc {}[{}]{}",
                self.array(*array),
                e(count),
                flag(*zeroed, " zeroed")
            ),
            Stmt::Append { rooms, .. } => format!("append{}", self.rooms(rooms)),
            Stmt::Grow { capacity, needed } => {
                format!("grow {} to {}", self.var(*capacity), e(needed))
            }
            Stmt::Trim { capacity, count } => {
                format!("trim {} to {}", self.var(*capacity), e(count))
            }
            Stmt::Declare { array, count } => format!("declare {}[{count}]", self.array(*array)),
            Stmt::Slice { array, of, offset } => format!(
                "slice {} of {}[{}..]",
                self.array(*array),
                self.array(*of),
                e(offset)
            ),
            Stmt::Assume { cond, text, found } => {
                format!("assume {}, {} {}", e(cond), quote(text), e(found))
            }
            Stmt::Free { array } => format!("free {}", self.array(*array)),
            Stmt::Enter {
                table,
                coordinates,
                lo,
                hi,
            } => format!(
                "enter {}[{}..{}] into {}",
                self.array(*coordinates),
                e(lo),
                e(hi),
                self.array(*table)
            ),
            Stmt::Take { var, array, index } => {
                format!(
                    "take {} from {}[{}]",
                    self.var(*var),
                    self.array(*array),
                    e(index)
                )
            }
            Stmt::Sort {
                coordinates,
                values,
                count,
                distinct,
            } => {
                let (values, by) = (self.array(*values), self.array_list(coordinates));
                let word = if *distinct { "sort_distinct" } else { "sort" };
                format!("{word} {values}[{}] by {by}", e(count))
            }
            Stmt::Fill {
                array,
                start,
                count,
                value,
            } => format!(
                "fill {}[{}..+{}] = {}",
                self.array(*array),
                e(start),
                e(count),
                e(value)
            ),
            Stmt::Search {
                var,
                array,
                lo,
                hi,
                key,
                by,
            } => format!(
                "{} {} in {}[{}..{}] for {}{}",
                match by {
                    Look::Bisect | Look::Table(_) => "search",
                    Look::Gallop => "gallop",
                    Look::Slot(_) => "place",
                },
                self.var(*var),
                match by {
                    Look::Bisect | Look::Gallop | Look::Table(_) => self.array(*array),
                    Look::Slot(table) => self.array(*table),
                },
                e(lo),
                e(hi),
                e(key),
                match by {
                    Look::Bisect | Look::Gallop => String::new(),
                    Look::Table(table) => format!(" by {}", self.array(*table)),
                    Look::Slot(_) => format!(" of {}", self.array(*array)),
                }
            ),
            Stmt::Scan {
                array,
                count,
                op,
                total,
            } => {
                let (array, op) = (self.array(*array), words::sign(*op));
                let total = total.map_or(String::new(), |total| format!(" to {}", self.var(total)));
                format!("scan {array}[{}] by {op}{total}", e(count))
            }
            Stmt::FailIf { cond, code } => {
                format!("fail {} if {}", words::word(&words::ERRORS, code), e(cond))
            }
            Stmt::Prefetch { array, index } => {
                format!("prefetch {}[{}]", self.array(*array), e(index))
            }
            Stmt::Device(device) => self.device(device),
            Stmt::Comment(text) => format!("# {text}").trim_end().to_string(),
        }
    }
}

/// `=`, or with an operator: `+=`, `min=`.
pub(super) fn equals(op: Option<ReduceOp>) -> String {
    let op = op.map_or(String::new(), words::sign);
    format!("{op}=")
}
