//! Loops of a plan in words: what they visit, what their iterations compete for.

use super::{About, Line, Teller};
use crate::graph::access::AccessId;
use crate::graph::print::{stmt_text, tag_text, var_text};
use crate::graph::{Parallel, Race};
use crate::plan::{Case, Contest, Inside, Loop, Merge, Over, Walk};
use crate::program::ir::VarId;
use std::collections::BTreeSet;

impl Teller<'_> {
    pub(super) fn of_loop(&self, l: &Loop) -> Line {
        let (over, below) = self.over(l);
        let head = format!(
            "forall {}{}",
            var_text(self.graph, l.var),
            tag_text(self.graph, &l.tag)
        );
        let mut line = Line::new(About::Loop, format!("{head}: {over}"));
        if let (Some(contest), Some(parallel)) = (&l.contest, &l.tag.parallel) {
            line.notes = self.contest(contest, parallel);
        }
        if let Some(id) = l.tried {
            let access = self.access(id);
            line.notes.push(format!("all are tried for {access}"));
        }
        if let Some((id, level)) = l.shares {
            let level = self.level(id, level);
            line.notes
                .push(format!("threads get equal shares of rows and of {level}"));
        }
        if let Some(exit) = &l.exit {
            let over: Vec<VarId> = exit.over.iter().map(|(v, _)| *v).collect();
            let (root, over) = (var_text(self.graph, exit.root), self.vars(&over));
            line.notes
                .push(format!("ends with the longest {root} of all {over}"));
            if let Some(live) = &exit.live {
                let of = var_text(self.graph, live.of);
                line.notes
                    .push(format!("lists the {of} that have more {root}"));
            }
        }
        if let Some(parts) = &l.parts {
            let bounded = var_text(self.graph, parts.bounded);
            line.notes.push(format!("ends where no {bounded} is left"));
        }
        line.below = below;
        line
    }

    fn contest(&self, contest: &Contest, parallel: &Parallel) -> Vec<String> {
        let mut notes = Vec::new();
        for (op, tensor) in &contest.reduced {
            let name = self.tensor(*tensor);
            notes.push(format!("{name} is reduced by {}", op.sign()));
        }
        for (tensor, op) in &contest.copies {
            let name = self.tensor(*tensor);
            notes.push(format!(
                "each unit has a copy of {name}, added up by {} behind the loop",
                op.sign()
            ));
        }
        if !contest.arrays.is_empty() && contest.copies.is_empty() {
            let arrays = self.names(contest.arrays.iter().copied());
            let rivals = self.vars(&contest.rivals);
            let how = match parallel.race {
                Race::Atomics | Race::Group => "which they update in turn",
                Race::NoRaces => "which is said not to happen",
                Race::IgnoreRaces => "which is ignored",
                Race::Temporary | Race::ParallelReduction => "of which they have copies",
            };
            notes.push(format!(
                "iterations of {rivals} compete for {arrays}, {how}"
            ));
        }
        notes
    }

    fn over(&self, l: &Loop) -> (String, Vec<Line>) {
        match &l.over {
            Over::Constant(tensor, value) => (
                format!("all of {} is {value}", self.tensor(*tensor)),
                Vec::new(),
            ),
            Over::Every { root, body } => {
                let gives = match root {
                    Some(root) if *root != l.var => {
                        format!("every value, which gives {}", var_text(self.graph, *root))
                    }
                    Some(_) => "every value".to_string(),
                    None => "every part".to_string(),
                };
                (gives, self.inside(body))
            }
            Over::Positions { access, body, .. } => {
                let text = format!(
                    "positions of {}, coordinates searched at each",
                    self.access(*access)
                );
                (text, self.inside(body))
            }
            Over::Fused(body) => (
                "fused values, taken apart at each".to_string(),
                self.inside(body),
            ),
            Over::Stored {
                access,
                level,
                body,
                ..
            } => {
                let level = self.level(*access, *level);
                (format!("positions of {level} at hand"), self.inside(body))
            }
            Over::Merge(merge) => self.merge(merge),
        }
    }

    fn merge(&self, merge: &Merge) -> (String, Vec<Line>) {
        let levels: Vec<String> = merge
            .levels
            .iter()
            .map(|&(id, l)| self.level(id, l))
            .collect();
        let levels = levels.join(" and ");
        match &merge.walk {
            Walk::Nothing => ("nothing is done".to_string(), Vec::new()),
            Walk::One(_, body) => (format!("walks {levels}"), self.inside(body)),
            Walk::OneAndRest { body, rest, .. } => {
                let mut lines = self.inside(body);
                let mut line = self.point("once, where others are left", rest);
                line.below = self.inside(rest);
                lines.push(line);
                (format!("walks {levels}"), lines)
            }
            Walk::Leap(case) => (
                format!("leaps to where {levels} meet"),
                self.inside(&case.inside),
            ),
            Walk::Cases(cases) => (
                format!("merges {levels}"),
                cases.iter().map(|case| self.case(case)).collect(),
            ),
            Walk::Full { cases, rest } => {
                let mut lines: Vec<Line> = cases.iter().map(|case| self.case(case)).collect();
                let mut line = self.point("elsewhere", rest);
                line.below = self.inside(rest);
                lines.push(line);
                (format!("every value, along {levels}"), lines)
            }
            Walk::Wide {
                required,
                full,
                body,
            } => {
                let visits = match full {
                    true => "every value, along",
                    false => "the smallest coordinate of",
                };
                let needed = match required.is_empty() {
                    true => String::new(),
                    false => format!(" if {} is there", self.accesses(required)),
                };
                let text = format!("{visits} {levels}, absent ones give their fill{needed}");
                (text, self.inside(body))
            }
        }
    }

    fn accesses(&self, ids: &BTreeSet<AccessId>) -> String {
        let names: Vec<String> = ids.iter().map(|id| self.access(*id)).collect();
        names.join(" and ")
    }

    fn case(&self, case: &Case) -> Line {
        let mut line = self.point(
            &format!("at {}", self.accesses(&case.present)),
            &case.inside,
        );
        line.below = self.inside(&case.inside);
        line
    }

    /// A point of a lattice, with what is left of the statement.
    fn point(&self, at: &str, inside: &Inside) -> Line {
        let left = stmt_text(self.graph, &self.plan.tensors, &inside.left);
        Line::new(About::Structure, format!("{at}: {left}"))
    }
}
