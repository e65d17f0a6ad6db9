//! What stands above the statements: the name, the declarations, the interface.

use super::lex::{Token, quote};
use super::{Read, Reader, Writer, words};
use crate::format::Level;
use crate::level::LevelKind;
use crate::loops::interface::{
    Arg, CountArg, Counts, LevelArrays, Requirement, SizeArg, TensorArg,
};
use crate::loops::ir::{Array, ArrayId, Expr, Literal, ScalarType, Var, VarId};
use crate::loops::own;
use crate::operators::Own;
use std::collections::BTreeSet;

impl Writer<'_> {
    pub(super) fn header(&mut self) {
        let name = &self.kernel.name;
        let plain = name.starts_with(|c: char| !c.is_ascii_digit());
        let name = if plain { name } else { &quote(name) };
        self.line(0, &format!("kernel {name}"));
        let used: BTreeSet<Own> = own::uses(self.kernel)
            .into_iter()
            .map(|(own, _)| own)
            .collect();
        for own in used {
            self.line(1, &format!("operator {}", quote(&own.text)));
        }
        for text in lines(self.declarations()) {
            self.line(1, &text);
        }
        for text in self.interface() {
            self.line(1, &text);
        }
    }

    /// A line for each part of the interface.
    pub(super) fn interface(&self) -> Vec<String> {
        let interface = &self.kernel.interface;
        let sizes = interface.sizes.iter().map(|size| {
            let fixed = size.fixed.map_or(String::new(), |n| format!(" fixed {n}"));
            format!("size {}{fixed}", self.named(size.var, &size.name))
        });
        let counts = interface.counts.iter().map(|count| {
            let name = self.named(count.var, &count.name);
            format!("count {name} of {} level {}", count.arg, count.level)
        });
        let args = interface.args.iter().map(|arg| match arg {
            Arg::Scalar { name, var, ty } => format!("scalar {}: {ty}", self.named(*var, name)),
            Arg::Tensor(tensor) => self.tensor(tensor),
        });
        let requirements = interface.requirements.iter().map(|requirement| {
            let slack = self.expr(&requirement.slack);
            let range = |(lo, hi): &(Expr, Expr)| format!("{}..{}", self.expr(lo), self.expr(hi));
            let ranges: Vec<String> = requirement.ranges.iter().map(range).collect();
            let text = quote(&requirement.text);
            format!("require {slack} over ({}) {text}", ranges.join(", "))
        });
        sizes
            .chain(counts)
            .chain(args)
            .chain(requirements)
            .collect()
    }

    /// What each variable and array is.
    pub(super) fn declarations(&self) -> impl Iterator<Item = Declaration<'_>> {
        let vars = self.kernel.vars.iter().zip(&self.vars);
        let vars = vars.map(|(var, name)| Declaration {
            what: "var",
            name,
            of: format!("{}{}", var.ty, if var.mutable { " mut" } else { "" }),
        });
        let arrays = self.kernel.arrays.iter().zip(&self.arrays);
        let arrays = arrays.map(|(array, name)| Declaration {
            what: "array",
            name,
            of: format!(
                "{} {}",
                array.elem,
                words::word(&words::STORAGES, &array.storage)
            ),
        });
        vars.chain(arrays)
    }

    /// A variable of the interface, with its name there if that is another.
    fn named(&self, var: VarId, name: &str) -> String {
        if self.kernel.var(var).name == name {
            return self.var(var).to_string();
        }
        format!("{} named {}", self.var(var), quote(name))
    }

    fn tensor(&self, t: &TensorArg) -> String {
        let dims: Vec<String> = t.dims.iter().map(|e| self.expr(e)).collect();
        let direction = words::word(&words::DIRECTIONS, &t.direction);
        let mut text = format!(
            "tensor {}: {} {direction} ({})",
            t.name,
            t.ty,
            dims.join(", ")
        );
        let levels: Vec<String> = t.levels.iter().map(|level| self.level(level)).collect();
        if !levels.is_empty() {
            text += &format!(" levels {}", levels.join(", "));
        }
        text += &format!(" values {}", self.array(t.values));
        let fill = t.fill.to_string();
        if fill != zero(t.ty).to_string() {
            text += &format!(" fill {fill}");
        }
        if t.index_bits != DEFAULT_INDEX_BITS {
            text += &format!(" index {}", t.index_bits);
        }
        if let Some((other, levels)) = &t.like {
            text += &format!(" like {other} {levels}");
        }
        if let Some(result) = &t.before {
            text += &format!(" before {result}");
        }
        text
    }

    fn level(&self, arrays: &LevelArrays) -> String {
        let level = arrays.level;
        let mut text = level.ty().word().to_string();
        if !level.unique {
            text += " nonunique";
        }
        if !level.ordered {
            text += " unordered";
        }
        text += &format!(" {}", arrays.mode);
        match arrays.counts {
            Counts::Coordinates => {}
            Counts::Blocks(n) => text += &format!(" blocks {n}"),
            Counts::Diagonals(along) => text += &format!(" diagonals {along}"),
        }
        for &(role, array) in &arrays.arrays {
            text += &format!(" {} {}", role.word(), self.array(array));
        }
        text
    }
}

const DEFAULT_INDEX_BITS: u8 = 32;

/// What most tensors are filled with.
fn zero(ty: ScalarType) -> Literal {
    if ty == ScalarType::Bool {
        Literal::Bool(false)
    } else if ty.is_integer() {
        Literal::Int(0)
    } else {
        Literal::Float(0.0)
    }
}

/// A variable or an array.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Declaration<'w> {
    what: &'static str,
    name: &'w str,
    of: String,
}

/// Columns of a line of names.
const WIDTH: usize = 100;

/// Neighbours of one kind share a line.
pub(super) fn lines<'w>(declarations: impl Iterator<Item = Declaration<'w>>) -> Vec<String> {
    let mut lines: Vec<(Declaration, String)> = Vec::new();
    for next in declarations {
        match lines.last_mut() {
            Some((first, names))
                if (first.what, &first.of) == (next.what, &next.of)
                    && names.len() + next.name.len() + next.of.len() < WIDTH =>
            {
                names.push_str(", ");
                names.push_str(next.name);
            }
            _ => {
                let names = format!("{} {}", next.what, next.name);
                lines.push((next, names));
            }
        }
    }
    let line = |(first, names): &(Declaration, String)| format!("{names}: {}", first.of);
    lines.iter().map(line).collect()
}

impl Reader {
    pub(super) fn header(&mut self) -> Read<()> {
        self.expect_word("kernel")?;
        // What begins with a digit stands in quotes.
        let quoted = matches!(self.peek(), Some(Token::Text(_)));
        self.kernel.name = if quoted { self.text() } else { self.name() }?;
        self.end()?;
        while self.indent().is_some_and(|indent| indent > 0) {
            let word = self.name()?;
            match word.as_str() {
                "operator" => {
                    let text = self.text()?;
                    let own = crate::program::operator(&text)
                        .ok_or_else(|| self.wrong("no operator is declared so"))?;
                    self.operators.insert(words::own_word(own), own);
                }
                "var" => self.vars()?,
                "array" => self.arrays()?,
                "size" => {
                    let (var, name) = self.named(|_| Ok(ScalarType::I64))?;
                    let fixed = if self.word("fixed") {
                        Some(self.number()?)
                    } else {
                        None
                    };
                    self.kernel
                        .interface
                        .sizes
                        .push(SizeArg { name, var, fixed });
                }
                "count" => {
                    let (var, name) = self.named(|_| Ok(ScalarType::I64))?;
                    self.expect_word("of")?;
                    let arg = self.number()?;
                    self.expect_word("level")?;
                    let level = self.number()?;
                    self.kernel.interface.counts.push(CountArg {
                        name,
                        var,
                        arg,
                        level,
                    });
                }
                "scalar" => {
                    let mut ty = ScalarType::F64;
                    let (var, name) = self.named(|reader| {
                        reader.expect_mark(":")?;
                        ty = reader.scalar_type()?;
                        Ok(ty.compute())
                    })?;
                    let arg = Arg::Scalar { name, var, ty };
                    self.kernel.interface.args.push(arg);
                }
                "tensor" => {
                    let tensor = self.tensor()?;
                    self.kernel.interface.args.push(Arg::Tensor(tensor));
                }
                "require" => {
                    let requirement = self.requirement()?;
                    self.kernel.interface.requirements.push(requirement);
                }
                other => return Err(self.wrong(format!("`{other}` declares nothing"))),
            }
            self.end()?;
        }
        Ok(())
    }

    /// `a, b: int64 mut`
    fn vars(&mut self) -> Read<()> {
        let names = self.declared()?;
        let ty = self.scalar_type()?;
        let mutable = self.word("mut");
        for name in names {
            self.new_var(name, ty, mutable)?;
        }
        Ok(())
    }

    fn arrays(&mut self) -> Read<()> {
        let names = self.declared()?;
        let elem = self.scalar_type()?;
        let word = self.name()?;
        let storage = words::value(&words::STORAGES, &word)
            .ok_or_else(|| self.wrong(format!("no array is stored `{word}`")))?;
        for name in names {
            let at = self.kernel.arrays.len();
            let preferred = self.preferred(&name, at)?;
            let id = ArrayId::at(at);
            if self.arrays.insert(name, id).is_some() {
                return Err(self.wrong(format!("`{preferred}` is declared twice")));
            }
            self.kernel.arrays.push(Array {
                name: preferred,
                elem,
                storage,
            });
        }
        Ok(())
    }

    fn declared(&mut self) -> Read<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.mark(",") {
            names.push(self.name()?);
        }
        self.expect_mark(":")?;
        Ok(names)
    }

    fn new_var(&mut self, name: String, ty: ScalarType, mutable: bool) -> Read<VarId> {
        let at = self.kernel.vars.len();
        let preferred = self.preferred(&name, at)?;
        let id = VarId::at(at);
        if self.vars.insert(name, id).is_some() {
            return Err(self.wrong(format!("`{preferred}` is declared twice")));
        }
        self.kernel.vars.push(Var {
            name: preferred,
            ty,
            mutable,
        });
        Ok(id)
    }

    /// The name without its id, which must be the next one.
    fn preferred(&self, name: &str, next: usize) -> Read<String> {
        match name.split_once('.') {
            Some((name, id)) if id == next.to_string() => Ok(name.to_string()),
            Some(_) => Err(self.wrong(format!("`{name}` is the one with the number {next}"))),
            None => Ok(name.to_string()),
        }
    }

    /// A variable of the interface, declared here if it was not before, and its name there.
    /// What follows may say the type.
    fn named(&mut self, ty: impl FnOnce(&mut Self) -> Read<ScalarType>) -> Read<(VarId, String)> {
        let name = self.name()?;
        let other = if self.word("named") {
            Some(self.text()?)
        } else {
            None
        };
        let ty = ty(self)?;
        let var = match self.vars.get(&name) {
            Some(var) => *var,
            None => self.new_var(name, ty, false)?,
        };
        let shown = other.unwrap_or_else(|| self.kernel.var(var).name.clone());
        Ok((var, shown))
    }

    fn tensor(&mut self) -> Read<TensorArg> {
        let name = self.name()?;
        self.expect_mark(":")?;
        let ty = self.scalar_type()?;
        let word = self.name()?;
        let direction = words::value(&words::DIRECTIONS, &word)
            .ok_or_else(|| self.wrong(format!("a tensor does not go `{word}`")))?;
        let dims = self.dims()?;
        let mut levels = Vec::new();
        if self.word("levels") {
            levels.push(self.level()?);
            while self.mark(",") {
                levels.push(self.level()?);
            }
        }
        self.expect_word("values")?;
        let values = self.array()?;
        let fill = if self.word("fill") {
            self.signed()?
        } else {
            zero(ty)
        };
        let index_bits = if self.word("index") {
            self.number()?
        } else {
            DEFAULT_INDEX_BITS
        };
        let like = if self.word("like") {
            Some((self.name()?, self.number()?))
        } else {
            None
        };
        let before = if self.word("before") {
            Some(self.name()?)
        } else {
            None
        };
        Ok(TensorArg {
            name,
            ty,
            direction,
            dims,
            index_bits,
            fill,
            levels,
            values,
            like,
            before,
        })
    }

    fn dims(&mut self) -> Read<Vec<Expr>> {
        let mut dims = Vec::new();
        self.expect_mark("(")?;
        while !self.mark(")") {
            if !dims.is_empty() {
                self.expect_mark(",")?;
            }
            dims.push(self.expr()?);
        }
        Ok(dims)
    }

    fn level(&mut self) -> Read<LevelArrays> {
        let word = self.name()?;
        let kind =
            LevelKind::called(&word).ok_or_else(|| self.wrong(format!("no level is `{word}`")))?;
        let unique = !self.word("nonunique");
        let ordered = !self.word("unordered");
        let mode = self.number()?;
        let counts = if self.word("blocks") {
            Counts::Blocks(self.number()?)
        } else if self.word("diagonals") {
            Counts::Diagonals(self.number()?)
        } else {
            Counts::Coordinates
        };
        let mut arrays = Vec::new();
        for &role in kind.ty().roles() {
            if self.word(role.word()) {
                arrays.push((role, self.array()?));
            }
        }
        Ok(LevelArrays {
            level: Level {
                kind,
                unique,
                ordered,
            },
            mode,
            counts,
            arrays,
        })
    }

    fn requirement(&mut self) -> Read<Requirement> {
        let slack = self.expr()?;
        let mut ranges = Vec::new();
        // A name before the mark would be called.
        if !self.word("over") {
            return Err(self.wrong("`over` is expected".to_string()));
        }
        self.expect_mark("(")?;
        while !self.mark(")") {
            if !ranges.is_empty() {
                self.expect_mark(",")?;
            }
            let lo = self.expr()?;
            self.expect_mark("..")?;
            ranges.push((lo, self.expr()?));
        }
        let text = self.text()?;
        Ok(Requirement {
            slack,
            ranges,
            text,
        })
    }
}
