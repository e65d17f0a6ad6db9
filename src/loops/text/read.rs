//! Statements from their text.

use super::lex::Token;
use super::{Read, Reader, words};
use crate::loops::ir::{ArrayId, Look, ReduceOp, Stmt};
use crate::loops::trips::Trips;
use crate::operators::Own;

impl Reader {
    /// The statements that are further in than `outer`.
    pub(super) fn block(&mut self, outer: usize) -> Read<Vec<Stmt>> {
        let mut stmts = Vec::new();
        let Some(indent) = self.indent().filter(|indent| *indent > outer) else {
            return Ok(stmts);
        };
        while let Some(at) = self.indent().filter(|at| *at > outer) {
            if at != indent {
                return Err(self.wrong("the line is not in line with its neighbours"));
            }
            stmts.push(self.stmt(indent)?);
        }
        Ok(stmts)
    }

    /// The rest of the line is done: what stands inside.
    pub(super) fn inside(&mut self, indent: usize) -> Read<Vec<Stmt>> {
        self.end()?;
        self.block(indent)
    }

    /// A statement, by the word that it begins with.
    fn stmt(&mut self, indent: usize) -> Read<Stmt> {
        if let Some(Token::Comment(text)) = self.peek().cloned() {
            self.token += 1;
            self.end()?;
            return Ok(Stmt::Comment(text));
        }
        let word = self.name()?;
        let stmt = match word.as_str() {
            "for" => return self.for_loop(indent),
            "while" => {
                let cond = self.expr()?;
                let body = self.inside(indent)?;
                return Ok(Stmt::While { cond, body });
            }
            "if" => return self.condition(indent),
            "append" => {
                let rooms = self.rooms()?;
                let body = self.inside(indent)?;
                return Ok(Stmt::Append { rooms, body });
            }
            "launch" | "retry" | "scanned" | "fetch" | "aligned" | "barrier" | "reduce"
            | "segments" | "claim" | "sort_all" => {
                return Ok(Stmt::Device(self.device(&word, indent)?));
            }
            "let" => {
                let var = self.var()?;
                self.expect_mark("=")?;
                let init = self.expr()?;
                Stmt::Let { var, init }
            }
            "alloc" | "declare" | "free" | "grow" | "slice" | "trim" => self.memory(&word)?,
            "fill" => self.fill()?,
            "take" => self.take()?,
            "sort" | "sort_distinct" => self.sort(word == "sort_distinct")?,
            "scan" => self.scan()?,
            "search" | "gallop" | "place" => self.search(&word)?,
            "enter" => self.enter()?,
            "assume" => {
                let cond = self.expr()?;
                self.expect_mark(",")?;
                let text = self.text()?;
                let found = self.expr()?;
                Stmt::Assume { cond, text, found }
            }
            "fail" => self.fail()?,
            "prefetch" => {
                let array = self.element()?;
                let index = self.index()?;
                Stmt::Prefetch { array, index }
            }
            "atomic" => {
                let name = self.name()?;
                self.expect_mark("[")?;
                self.store(&name, true)?
            }
            name if self.mark("[") => self.store(name, false)?,
            name => {
                let var = self.var_named(name)?;
                let op = self.equals()?;
                let value = self.expr()?;
                Stmt::Assign { var, op, value }
            }
        };
        self.end()?;
        Ok(stmt)
    }

    fn for_loop(&mut self, indent: usize) -> Read<Stmt> {
        let var = self.var()?;
        self.expect_word("in")?;
        let lo = self.expr()?;
        self.expect_mark("..")?;
        let hi = self.expr()?;
        let most = if self.word("most") {
            Some(self.number()?)
        } else {
            Trips::of(&lo, &hi).most
        };
        let step = if self.word("by") { self.number()? } else { 1 };
        let tag = self.tag()?;
        let body = self.inside(indent)?;
        Ok(Stmt::For {
            var,
            lo,
            hi,
            most,
            step,
            tag,
            body,
        })
    }

    fn condition(&mut self, indent: usize) -> Read<Stmt> {
        let cond = self.expr()?;
        let then = self.inside(indent)?;
        let otherwise = if self.indent() == Some(indent) && self.word("else") {
            self.inside(indent)?
        } else {
            Vec::new()
        };
        Ok(Stmt::If {
            cond,
            then,
            otherwise,
        })
    }

    /// `array[`
    fn element(&mut self) -> Read<ArrayId> {
        let array = self.array()?;
        self.expect_mark("[")?;
        Ok(array)
    }

    fn store(&mut self, array: &str, atomic: bool) -> Read<Stmt> {
        let array = self.array_named(array)?;
        let index = self.index()?;
        let op = self.equals()?;
        let value = self.expr()?;
        Ok(Stmt::Store {
            array,
            index,
            op,
            value,
            atomic,
        })
    }

    fn memory(&mut self, word: &str) -> Read<Stmt> {
        Ok(match word {
            "alloc" => {
                let array = self.element()?;
                let count = self.index()?;
                let zeroed = self.word("zeroed");
                Stmt::Alloc {
                    array,
                    count,
                    zeroed,
                }
            }
            "declare" => {
                let array = self.element()?;
                let count = self.number()?;
                self.expect_mark("]")?;
                Stmt::Declare { array, count }
            }
            "grow" => {
                let capacity = self.var()?;
                self.expect_word("to")?;
                let needed = self.expr()?;
                Stmt::Grow { capacity, needed }
            }
            "trim" => {
                let capacity = self.var()?;
                self.expect_word("to")?;
                let count = self.expr()?;
                Stmt::Trim { capacity, count }
            }
            "slice" => {
                let array = self.array()?;
                self.expect_word("of")?;
                let of = self.element()?;
                let offset = self.expr()?;
                self.expect_mark("..")?;
                self.expect_mark("]")?;
                Stmt::Slice { array, of, offset }
            }
            _ => Stmt::Free {
                array: self.array()?,
            },
        })
    }

    fn fill(&mut self) -> Read<Stmt> {
        let array = self.element()?;
        let start = self.expr()?;
        self.expect_mark("..+")?;
        let count = self.index()?;
        self.expect_mark("=")?;
        let value = self.expr()?;
        Ok(Stmt::Fill {
            array,
            start,
            count,
            value,
        })
    }

    /// `take var from counter[index]`
    fn take(&mut self) -> Read<Stmt> {
        let var = self.var()?;
        self.expect_word("from")?;
        let array = self.element()?;
        let index = self.index()?;
        Ok(Stmt::Take { var, array, index })
    }

    /// `sort values[count] by coordinates`
    fn sort(&mut self, distinct: bool) -> Read<Stmt> {
        let values = self.element()?;
        let count = self.index()?;
        self.expect_word("by")?;
        Ok(Stmt::Sort {
            coordinates: self.array_list()?,
            values,
            count,
            distinct,
        })
    }

    /// `scan array[count] by op to total`
    fn scan(&mut self) -> Read<Stmt> {
        let array = self.element()?;
        let count = self.index()?;
        self.expect_word("by")?;
        let op = self.reduction()?;
        let total = if self.word("to") {
            Some(self.var()?)
        } else {
            None
        };
        Ok(Stmt::Scan {
            array,
            count,
            op,
            total,
        })
    }

    /// `enter coordinates[lo..hi] into table`
    fn enter(&mut self) -> Read<Stmt> {
        let coordinates = self.element()?;
        let lo = self.expr()?;
        self.expect_mark("..")?;
        let hi = self.index()?;
        self.expect_word("into")?;
        Ok(Stmt::Enter {
            table: self.array()?,
            coordinates,
            lo,
            hi,
        })
    }

    /// `fail error if condition`
    fn fail(&mut self) -> Read<Stmt> {
        let name = self.name()?;
        let code = words::value(&words::ERRORS, &name)
            .ok_or_else(|| self.wrong(format!("no error is called `{name}`")))?;
        self.expect_word("if")?;
        let cond = self.expr()?;
        Ok(Stmt::FailIf { cond, code })
    }

    fn search(&mut self, word: &str) -> Read<Stmt> {
        let var = self.var()?;
        self.expect_word("in")?;
        let mut array = self.element()?;
        let lo = self.expr()?;
        self.expect_mark("..")?;
        let hi = self.index()?;
        self.expect_word("for")?;
        let key = self.expr()?;
        let by = match word {
            "place" => {
                self.expect_word("of")?;
                Look::Slot(std::mem::replace(&mut array, self.array()?))
            }
            "gallop" => Look::Gallop,
            _ if self.word("by") => Look::Table(self.array()?),
            _ => Look::Bisect,
        };
        Ok(Stmt::Search {
            var,
            array,
            lo,
            hi,
            key,
            by,
        })
    }

    /// `=` or `op=`.
    pub(super) fn equals(&mut self) -> Read<Option<ReduceOp>> {
        if self.mark("=") {
            return Ok(None);
        }
        for op in ReduceOp::BUILTIN {
            if self.mark(words::assigning(op)) || (self.word(op.sign()) && self.mark("=")) {
                return Ok(Some(op));
            }
        }
        if let Some(own) = self.own_operator() {
            self.expect_mark("=")?;
            return Ok(Some(ReduceOp::Own(own)));
        }
        Err(self.expected("`=`"))
    }

    /// An operator that reduces.
    pub(super) fn reduction(&mut self) -> Read<ReduceOp> {
        for op in ReduceOp::BUILTIN {
            if self.mark(op.sign()) || self.word(op.sign()) {
                return Ok(op);
            }
        }
        let own = self.own_operator().map(ReduceOp::Own);
        own.ok_or_else(|| self.expected("an operator that reduces"))
    }

    /// An operator of the header, if one comes next.
    fn own_operator(&mut self) -> Option<Own> {
        let Some(Token::Word(word)) = self.peek() else {
            return None;
        };
        let found = self.operators.get(word).copied();
        self.token += usize::from(found.is_some());
        found
    }
}
