//! The text of loops: how they are run, by threads, in lanes, unrolled.

use super::kernel::{Dialect, Printer};
use super::operators;
use super::types::lane_type;
use crate::loops::build as b;
use crate::loops::ir::{
    Expr, ExprKind, Jam, LoopTag, OmpSchedule, ReduceOp, Run, ScalarType, Stmt, UnaryOp, is_atomic,
};
use crate::loops::lanes::Lanes;
use std::fmt::Write as _;

impl Printer<'_> {
    pub(super) fn for_loop(&mut self, stmt: &Stmt) {
        let Stmt::For {
            var,
            lo,
            hi,
            most: _,
            step,
            tag,
            body,
        } = stmt
        else {
            return;
        };
        if let Some(text) = self.copy(stmt) {
            return self.line(&text);
        }
        if self.region(stmt) {
            return;
        }
        let tag = &self.run_as(tag);
        let from = b::as_int(lo);
        let (mut lo, mut hi) = (self.expr(lo), self.compared(hi));
        let sums = self.open_sums(tag);
        let shares = self.shares(stmt);
        self.scopes.open();
        let name = self.declare(*var);
        let before = self.lanes.take();
        self.lanes = tag.lanes().map(|count| Lanes::of(*var, count, body));
        let once = tag
            .lanes()
            .is_some_and(|count| tag.unroll == Some(1) && count > 1);
        let step = tag.lanes().map_or(*step, i64::from);
        if once && let (Some(_), Some(lanes)) = (from, &mut self.lanes) {
            // Its number is written where the variable stands.
            lanes.from = from;
            self.set_name(*var, lo);
            let declares_nothing =
                |stmt: &Stmt| matches!(stmt, Stmt::Store { .. } | Stmt::Assign { .. });
            if body.iter().all(declares_nothing) && !tag.reversed && tag.jam == Jam::Free {
                self.stmts(body);
                self.lanes = before;
                self.scopes.close();
                return self.close_sums(tag, sums);
            }
            self.line("{");
        } else if once {
            self.line(&format!(
                "{{\n{}int64_t {name} = {lo};",
                "    ".repeat(self.indent + 1)
            ));
        } else {
            if let Some(shares) = &shares {
                self.line(&shares.count);
            }
            self.loop_pragmas(tag);
            if let Some(shares) = &shares {
                self.line(&shares.around);
                self.indent += 1;
                self.line(&shares.declared);
                (lo, hi) = (shares.begin.clone(), shares.end.clone());
            }
            if let Some(ended) = self.ended(tag, body) {
                hi = format!("{hi} && {ended}");
            }
            let next = if step == 1 {
                format!("{name}++")
            } else {
                format!("{name} += {step}")
            };
            let head = self.enter(tag, *var, (&lo, &hi, &next));
            self.line(&head);
        }
        if tag.reversed {
            self.indent += 1;
            self.line("SPARSEC_IN_ORDER();");
            self.indent -= 1;
        }
        self.jammed(tag.jam);
        self.loop_body(body);
        self.lanes = before;
        self.scopes.close();
        let end = self.leave(tag);
        self.line(&end);
        if shares.is_some() {
            self.indent -= 1;
            self.line("}");
        }
        self.close_sums(tag, sums);
    }

    /// The statement that keeps gcc from running iterations of a loop together.
    pub(super) fn jammed(&mut self, jam: Jam) {
        let text = match jam {
            Jam::Free => return,
            Jam::Never => "SPARSEC_NO_JAM();",
            Jam::Threads => "SPARSEC_NO_JAM_SERIAL();",
        };
        self.indent += 1;
        self.line(text);
        self.indent -= 1;
    }

    /// While what a loop goes on: where it does no more than ask elements that data choose whether one is true,
    /// none of them was. Others stand side by side, and are asked in vectors.
    fn ended(&mut self, tag: &LoopTag, body: &[Stmt]) -> Option<String> {
        let (
            Stmt::Assign {
                var,
                op: Some(ReduceOp::Or),
                value,
            },
            before,
        ) = body.split_last()?
        else {
            return None;
        };
        let is_bound = |stmt: &Stmt| matches!(stmt, Stmt::Let { .. });
        let loads = |stmt: &Stmt| matches!(stmt, Stmt::Let { init, .. } if init.loads());
        let chosen = before.iter().any(loads)
            || value.any(|e| matches!(&e.kind, ExprKind::Load { index, .. } if index.loads()));
        let fits = tag.is_serial() && tag.unroll.is_none() && before.iter().all(is_bound);
        (fits && chosen).then(|| self.expr(&b::unary(UnaryOp::Not, b::var(*var, ScalarType::Bool))))
    }

    /// A loop that copies the beginning of an array, as a call.
    fn copy(&self, stmt: &Stmt) -> Option<String> {
        let Stmt::For {
            var,
            lo,
            hi,
            most: _,
            step: 1,
            tag,
            body,
        } = stmt
        else {
            return None;
        };
        let [
            Stmt::Store {
                array: to,
                index,
                op: None,
                value,
                atomic: false,
            },
        ] = body.as_slice()
        else {
            return None;
        };
        let ExprKind::Load {
            array: from,
            index: at,
        } = &value.kind
        else {
            return None;
        };
        let each = ExprKind::Var(*var);
        let whole = b::as_int(lo) == Some(0) && index.kind == each && at.kind == each && to != from;
        let same = self.kernel.array(*to).elem == self.kernel.array(*from).elem;
        let plain = *tag == LoopTag::default() && self.dialect == Dialect::C;
        (whole && same && plain).then(|| {
            let count = self.expr(hi);
            let read = self.watched_range(*from, true, "0", &count);
            let written = self.watched_range(*to, false, "0", &count);
            let (to, from) = (self.array(*to), self.array(*from));
            format!("{read}{written}sparsec_copy({to}, {from}, {count}, sizeof *{to});")
        })
    }

    /// What each lane has of a value that it tests for itself.
    pub(super) fn tested(&mut self, value: &Expr) -> Option<String> {
        let ExprKind::Select(cond, ..) = &value.kind else {
            return None;
        };
        let lanes = self.lanes.as_ref()?;
        if !lanes.varies(cond) || lanes.first(value).is_some() {
            return None;
        }
        let lanes = self.lanes.take()?;
        let each: Vec<String> = (0..lanes.count)
            .map(|lane| self.expr(&lanes.settled(&lanes.at(value, lane))))
            .collect();
        let ty = lane_type(value.ty, lanes.count);
        self.lanes = Some(lanes);
        Some(self.lane_values(&ty, each))
    }

    /// The elements that the first lanes load, as a vector.
    pub(super) fn first(&self, value: &Expr) -> Option<String> {
        let lanes = self.lanes.as_ref()?;
        let (array, at, (lane, end)) = lanes.first(value)?;
        let ty = lane_type(value.ty, lanes.count);
        let text = |e: &Expr| self.compared(&lanes.settled(e));
        let array = self.array(array);
        Some(if lane == at {
            let (at, end) = (text(&at), text(&end));
            format!("SPARSEC_LANES_BEFORE({ty}, {array}, {at}, {end})")
        } else {
            let (at, lane, end) = (text(&at), text(&lane), text(&end));
            format!("SPARSEC_LANES_BELOW({ty}, {array}, {at}, {lane}, {end})")
        })
    }

    /// What only the first lanes store.
    pub(super) fn stored_first(&self, stmt: &Stmt) -> Option<String> {
        let lanes = self.lanes.as_ref()?;
        let Stmt::If { cond, .. } = stmt else {
            return None;
        };
        let Stmt::Store {
            array,
            index,
            value,
            ..
        } = lanes.stored_first(stmt)?
        else {
            return None;
        };
        let (lane, end) = lanes.before(cond)?;
        let ty = lane_type(value.ty, lanes.count);
        let text = |e: &Expr| self.compared(&lanes.settled(e));
        let (at, lane, end) = (text(index), text(&lane), text(&end));
        let value = super::expr::argument(self.wide(value, &ty));
        let array = self.array(*array);
        Some(format!(
            "SPARSEC_LANES_STORE({ty}, {array}, {at}, {lane}, {end}, {value});"
        ))
    }

    /// Declares a sum for each lane in the place of those that a loop in lanes makes; returns
    /// the names of these.
    fn open_sums(&mut self, tag: &LoopTag) -> Vec<String> {
        let Some(count) = tag.lanes() else {
            return Vec::new();
        };
        let mut names = Vec::new();
        for (_, var) in tag.reductions() {
            let ty = lane_type(self.kernel.var(*var).ty, count);
            let lanes = self.scopes.fresh(&format!("{}_lanes", self.var(*var)));
            self.line(&format!("{ty} {lanes} = {{0}};"));
            names.push(std::mem::replace(&mut self.names[var.index()], lanes));
        }
        names
    }

    /// Adds up the lanes that [`Self::open_sums`] declared.
    fn close_sums(&mut self, tag: &LoopTag, names: Vec<String>) {
        for ((_, var), name) in tag.reductions().iter().zip(names) {
            let ty = self.kernel.var(*var).ty;
            let sum = lane_type(ty, tag.lanes().unwrap_or(1)).replacen("sparsec", "sparsec_sum", 1);
            let lanes = std::mem::replace(&mut self.names[var.index()], name);
            self.line(&format!("{} += {sum}(&{lanes});", self.var(*var)));
        }
    }

    /// A pragma that compilers without OpenMP do not see.
    pub(super) fn pragma(&mut self, text: &str) {
        if self.watch.is_some() {
            return;
        }
        let _ = writeln!(self.out, "#ifdef _OPENMP");
        self.line(&format!("#pragma {text}"));
        let _ = writeln!(self.out, "#endif");
    }

    pub(super) fn loop_pragmas(&mut self, tag: &LoopTag) {
        let mut clauses = String::new();
        for (op, var) in tag.reductions() {
            let ty = self.kernel.var(*var).ty;
            clauses += &format!(" reduction({}:{})", reduction(*op, ty), self.var(*var));
        }
        let clause = |kind: &str, chunk: Option<u32>| match chunk {
            Some(chunk) => format!(" schedule({kind}, {chunk})"),
            None => format!(" schedule({kind})"),
        };
        if let Run::Threads { schedule, .. } = tag.run {
            let schedule = match schedule {
                OmpSchedule::Default => String::new(),
                OmpSchedule::Static(chunk) => clause("static", chunk),
                OmpSchedule::Dynamic(chunk) => clause("dynamic", chunk),
                OmpSchedule::Guided(chunk) => clause("guided", chunk),
            };
            self.pragma(&format!("omp parallel for{schedule}{clauses}"));
        } else if tag.is_vector() && tag.lanes().is_none() {
            self.pragma(&format!("omp simd{clauses}"));
        } else if let Some(n) = tag.unroll {
            self.line(&format!("SPARSEC_UNROLL({n})"));
        }
    }
}

/// The pragma that makes an update atomic.
pub(super) fn atomic_pragma(elem: ScalarType, op: Option<ReduceOp>) -> &'static str {
    match op {
        _ if !is_atomic(elem, op) => "omp critical",
        Some(_) => "omp atomic",
        None => "omp atomic write",
    }
}

/// OpenMP's name of a reduction.
fn reduction(op: ReduceOp, ty: ScalarType) -> String {
    let logical = ty == ScalarType::Bool;
    let sign = match op {
        ReduceOp::Add if logical => "||",
        ReduceOp::Mul | ReduceOp::Min if logical => "&&",
        ReduceOp::Max if logical => "||",
        ReduceOp::Add => "+",
        ReduceOp::Mul => "*",
        ReduceOp::Min => "min",
        ReduceOp::Max => "max",
        ReduceOp::And => "&&",
        ReduceOp::Or => "||",
        ReduceOp::Own(own) => return operators::function(own, ty),
    };
    sign.to_string()
}
