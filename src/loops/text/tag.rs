//! How a loop runs: the words behind its range.

use super::{Read, Reader, Writer, words};
use crate::loops::ir::{GpuUnit, Group, LoopTag, OmpSchedule, Parallel};

impl Writer<'_> {
    pub(super) fn tag(&self, tag: &LoopTag) -> String {
        let mut text = String::new();
        if let Some(parallel) = tag.parallel {
            let (kind, chunk) = match parallel.schedule {
                OmpSchedule::Default => ("", None),
                OmpSchedule::Static(chunk) => (" static", chunk),
                OmpSchedule::Dynamic(chunk) => (" dynamic", chunk),
                OmpSchedule::Guided(chunk) => (" guided", chunk),
            };
            text += " parallel";
            text += kind;
            text += &chunk.map_or(String::new(), |chunk| format!("({chunk})"));
        }
        if let Some(unit) = tag.gpu {
            let place = words::word(&words::UNITS, &(unit.level, unit.axis));
            text += &format!(" {place}");
            if let Some(group) = unit.group {
                let strategy = words::word(&words::STRATEGIES, &group.strategy);
                text += &format!(" group({strategy}, {})", group.size);
            }
        }
        if tag.vector {
            text += " vector";
        }
        if let Some(n) = tag.lanes {
            text += &format!(" lanes({n})");
        }
        if let Some(n) = tag.unroll {
            text += &format!(" unroll({n})");
        }
        if tag.reversed {
            text += " reversed";
        }
        for (op, var) in &tag.reductions {
            let op = words::word(&words::REDUCTIONS, op);
            text += &format!(" reduce({op} {})", self.var(*var));
        }
        text
    }
}

impl Reader {
    pub(super) fn tag(&mut self) -> Read<LoopTag> {
        let mut tag = LoopTag::default();
        while self.peek().is_some() {
            let word = self.name()?;
            match word.as_str() {
                "parallel" => {
                    let schedule = self.omp_schedule()?;
                    tag.parallel = Some(Parallel { schedule });
                }
                "vector" => tag.vector = true,
                "lanes" => tag.lanes = Some(self.in_parentheses()?),
                "unroll" => tag.unroll = Some(self.in_parentheses()?),
                "reversed" => tag.reversed = true,
                "reduce" => {
                    self.expect_mark("(")?;
                    let op = self.reduction()?;
                    tag.reductions.push((op, self.var()?));
                    self.expect_mark(")")?;
                }
                unit => {
                    let Some((level, axis)) = words::value(&words::UNITS, unit) else {
                        return Err(self.wrong(format!("a loop does not run `{unit}`")));
                    };
                    let group = self.group()?;
                    tag.gpu = Some(GpuUnit { level, axis, group });
                }
            }
        }
        Ok(tag)
    }

    fn omp_schedule(&mut self) -> Read<OmpSchedule> {
        let kind = if self.word("static") {
            OmpSchedule::Static
        } else if self.word("dynamic") {
            OmpSchedule::Dynamic
        } else if self.word("guided") {
            OmpSchedule::Guided
        } else {
            return Ok(OmpSchedule::Default);
        };
        Ok(kind(if self.mark("(") {
            let chunk = self.number()?;
            self.expect_mark(")")?;
            Some(chunk)
        } else {
            None
        }))
    }

    fn group(&mut self) -> Read<Option<Group>> {
        if !self.word("group") {
            return Ok(None);
        }
        self.expect_mark("(")?;
        let name = self.name()?;
        let strategy = words::value(&words::STRATEGIES, &name)
            .ok_or_else(|| self.wrong(format!("groups do not reduce `{name}`")))?;
        self.expect_mark(",")?;
        let size = self.number()?;
        self.expect_mark(")")?;
        Ok(Some(Group { size, strategy }))
    }

    pub(super) fn in_parentheses(&mut self) -> Read<u32> {
        self.expect_mark("(")?;
        let number = self.number()?;
        self.expect_mark(")")?;
        Ok(number)
    }
}
