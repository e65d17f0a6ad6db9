//! How a loop runs: the words behind its range.

use super::lex::Token;
use super::{Read, Reader, Writer, words};
use crate::loops::ir::{GpuUnit, Group, Jam, LoopTag, OmpSchedule, Piece, Run};

impl Writer<'_> {
    pub(super) fn tag(&self, tag: &LoopTag) -> String {
        let mut text = match &tag.run {
            Run::Serial => String::new(),
            Run::Threads {
                schedule, shares, ..
            } => {
                let shares = shares.map_or(String::new(), |array| {
                    format!(" shares({})", self.array(array))
                });
                threads(*schedule) + &shares
            }
            Run::Lanes { count: None, .. } => " vector".to_string(),
            Run::Lanes { count: Some(n), .. } => format!(" vector({n})"),
            Run::Unit { unit, .. } => {
                let group = unit.group.map_or(String::new(), |group| {
                    let strategy = words::word(&words::STRATEGIES, &group.strategy);
                    format!(" group({strategy}, {})", group.size)
                });
                let place = words::word(&words::UNITS, &(unit.level, unit.axis));
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
        text += match tag.jam {
            Jam::Free => "",
            Jam::Never => " no_jam",
            Jam::Threads => " no_jam(threads)",
        };
        text += match tag.function {
            None => "",
            Some(Piece::Share) if tag.shares().is_none() => " function(share)",
            Some(Piece::Iteration | Piece::Share) => " function",
        };
        for (op, var) in tag.reductions() {
            let op = words::sign(*op);
            text += &format!(" reduce({op} {})", self.var(*var));
        }
        text
    }
}

fn threads(schedule: OmpSchedule) -> String {
    let (kind, chunk) = match schedule {
        OmpSchedule::Default => ("", None),
        OmpSchedule::Static(chunk) => (" static", chunk),
        OmpSchedule::Dynamic(chunk) => (" dynamic", chunk),
        OmpSchedule::Guided(chunk) => (" guided", chunk),
    };
    let chunk = chunk.map_or(String::new(), |chunk| format!("({chunk})"));
    format!(" parallel{kind}{chunk}")
}

impl Reader {
    pub(super) fn tag(&mut self) -> Read<LoopTag> {
        let mut tag = LoopTag {
            run: self.run()?,
            ..LoopTag::default()
        };
        if self.word("unroll") {
            tag.unroll = Some(self.in_parentheses()?);
        }
        tag.races_ignored = self.word("races_ignored");
        tag.reversed = self.word("reversed");
        if self.word("no_jam") {
            tag.jam = Jam::Never;
            if self.mark("(") {
                if !self.word("threads") {
                    return Err(self.wrong("`threads` is expected"));
                }
                self.expect_mark(")")?;
                tag.jam = Jam::Threads;
            }
        }
        if self.word("function") {
            let mut piece = tag.shares().map_or(Piece::Iteration, |_| Piece::Share);
            if self.mark("(") {
                if !self.word("share") {
                    return Err(self.wrong("`share` is expected"));
                }
                self.expect_mark(")")?;
                piece = Piece::Share;
            }
            tag.function = Some(piece);
        }
        while self.word("reduce") {
            self.expect_mark("(")?;
            let reduction = (self.reduction()?, self.var()?);
            self.expect_mark(")")?;
            match &mut tag.run {
                Run::Serial => return Err(self.wrong("one after the other combine nothing")),
                Run::Threads { reductions, .. }
                | Run::Lanes { reductions, .. }
                | Run::Unit { reductions, .. } => reductions.push(reduction),
            }
        }
        Ok(tag)
    }

    fn run(&mut self) -> Read<Run> {
        let reductions = Vec::new();
        if self.word("parallel") {
            let schedule = self.omp_schedule()?;
            let mut shares = None;
            if self.word("shares") {
                self.expect_mark("(")?;
                shares = Some(self.array()?);
                self.expect_mark(")")?;
            }
            return Ok(Run::Threads {
                schedule,
                shares,
                reductions,
            });
        }
        if self.word("vector") {
            let counted = matches!(self.peek(), Some(Token::Mark("(")));
            let count = if counted {
                Some(self.in_parentheses()?)
            } else {
                None
            };
            return Ok(Run::Lanes { count, reductions });
        }
        let Some(Token::Word(word)) = self.peek() else {
            return Ok(Run::Serial);
        };
        let Some((level, axis)) = words::value(&words::UNITS, word) else {
            return Ok(Run::Serial);
        };
        self.token += 1;
        let group = self.group()?;
        let unit = GpuUnit { level, axis, group };
        Ok(Run::Unit { unit, reductions })
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
