//! How a loop runs: the words behind its range.

use super::{Read, Reader, Writer, words};
use crate::loops::ir::{GpuUnit, Group, LoopTag, OmpSchedule, Reductions, Run};

impl Writer<'_> {
    pub(super) fn tag(&self, tag: &LoopTag) -> String {
        let mut text = match &tag.run {
            Run::Serial => String::new(),
            Run::Threads { schedule, .. } => {
                let (kind, chunk) = match schedule {
                    OmpSchedule::Default => ("", None),
                    OmpSchedule::Static(chunk) => (" static", *chunk),
                    OmpSchedule::Dynamic(chunk) => (" dynamic", *chunk),
                    OmpSchedule::Guided(chunk) => (" guided", *chunk),
                };
                let chunk = chunk.map_or(String::new(), |chunk| format!("({chunk})"));
                format!(" parallel{kind}{chunk}")
            }
            Run::Lanes { count, .. } => {
                let count = count.map_or(String::new(), |n| format!(" lanes({n})"));
                format!(" vector{count}")
            }
            Run::Unit { unit, .. } => {
                let place = words::word(&words::UNITS, &(unit.level, unit.axis));
                let group = unit.group.map_or(String::new(), |group| {
                    let strategy = words::word(&words::STRATEGIES, &group.strategy);
                    format!(" group({strategy}, {})", group.size)
                });
                format!(" {place}{group}")
            }
        };
        if let Some(n) = tag.unroll {
            text += &format!(" unroll({n})");
        }
        if tag.races_ignored {
            text += " races_ignored";
        }
        if tag.reversed {
            text += " reversed";
        }
        for (op, var) in tag.reductions() {
            let op = words::word(&words::REDUCTIONS, op);
            text += &format!(" reduce({op} {})", self.var(*var));
        }
        text
    }
}

impl Reader {
    pub(super) fn tag(&mut self) -> Read<LoopTag> {
        let mut tag = LoopTag::default();
        let mut combined = Reductions::new();
        while self.peek().is_some() {
            let word = self.name()?;
            match word.as_str() {
                "parallel" => {
                    let schedule = self.omp_schedule()?;
                    let reductions = Vec::new();
                    self.runs(
                        &mut tag,
                        Run::Threads {
                            schedule,
                            reductions,
                        },
                    )?;
                }
                "vector" => {
                    let count = match self.word("lanes") {
                        true => Some(self.in_parentheses()?),
                        false => None,
                    };
                    let reductions = Vec::new();
                    self.runs(&mut tag, Run::Lanes { count, reductions })?;
                }
                "unroll" => tag.unroll = Some(self.in_parentheses()?),
                "races_ignored" => tag.races_ignored = true,
                "reversed" => tag.reversed = true,
                "reduce" => {
                    self.expect_mark("(")?;
                    let op = self.reduction()?;
                    combined.push((op, self.var()?));
                    self.expect_mark(")")?;
                }
                unit => {
                    let Some((level, axis)) = words::value(&words::UNITS, unit) else {
                        return Err(self.wrong(format!("a loop does not run `{unit}`")));
                    };
                    let group = self.group()?;
                    let unit = GpuUnit { level, axis, group };
                    let reductions = Vec::new();
                    self.runs(&mut tag, Run::Unit { unit, reductions })?;
                }
            }
        }
        match &mut tag.run {
            Run::Serial if combined.is_empty() => {}
            Run::Serial => return Err(self.wrong("a serial loop reduces nothing")),
            Run::Threads { reductions, .. }
            | Run::Lanes { reductions, .. }
            | Run::Unit { reductions, .. } => *reductions = combined,
        }
        Ok(tag)
    }

    /// Says who runs a loop, once.
    fn runs(&self, tag: &mut LoopTag, run: Run) -> Read<()> {
        if !tag.is_serial() {
            return Err(self.wrong("the loop's iterations are shared out twice"));
        }
        tag.run = run;
        Ok(())
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
