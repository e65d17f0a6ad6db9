//! The commands that cut a nest into tiles whose sums stay in vector registers: what `schedules/`
//! does by hand for CPUs, in one rule for each of the shapes of [`super::shapes`].

use super::commands::{Texts, list};
use super::estimate::Loops;
use super::plan::{Best, Of};
use super::shapes::{Shape, Tiles, few_lanes, lanes};
use super::{Statistics, Writer, in_vectors};
use crate::graph::order::range_vars;

/// A nest cut into tiles.
pub(super) struct Tiled {
    pub rule: &'static str,
    pub commands: Vec<String>,
    /// The outermost loop that threads may share; none in a sum of everything.
    pub first: Option<String>,
}

/// A loop that is cut into an outer and an inner one of this length.
struct Cut {
    outer: String,
    inner: String,
    length: i64,
}

/// Tiles for a nest, if it has one of the shapes.
pub(super) fn tiled(writer: &Writer, best: &Best, statistics: &Statistics) -> Option<Tiled> {
    let tiles = Tiles::of(writer, best, statistics)?;
    let tiled = match tiles.shape()? {
        Shape::Row(at) => tiles.row(at),
        Shape::Block(row, column) => tiles.block(row, column),
        Shape::Lanes(at) => tiles.lanes(at),
        Shape::Stored(at) => tiles.stored(at),
    }?;
    Some(Tiled {
        commands: [best.product.turning(), tiled.commands].concat(),
        ..tiled
    })
}

impl Tiles<'_, '_> {
    fn names(&self, of: Loops) -> Vec<String> {
        self.among(of).into_iter().map(|at| self.name(at)).collect()
    }

    fn name(&self, at: usize) -> String {
        self.writer.name(self.best.product.vars[at])
    }

    fn cut(&self, at: usize, length: i64) -> Cut {
        let var = &self.writer.graph.var(self.best.product.vars[at]).name;
        let part = |n| self.writer.fresh(&format!("{var}{n}"));
        Cut {
            outer: part(0),
            inner: part(1),
            length,
        }
    }

    fn split(&self, at: usize, cut: &Cut) -> String {
        let (name, length) = (self.name(at), cut.length);
        format!("split({name}, {}, {}, {length})", cut.outer, cut.inner)
    }

    fn texts(&self) -> Texts {
        Texts::of(self.writer.graph, &self.best.product)
    }

    fn row(&self, at: usize) -> Option<Tiled> {
        let cut = self.cut(at, self.row_length(at)?);
        let mut around = self.names(self.result() & !(1 << at));
        around.push(cut.outer.clone());
        let mut texts = self.texts();
        let mut commands = vec![self.split(at, &cut)];
        let inner = std::slice::from_ref(&cut.inner);
        let copies = self.kept(&around, inner, &mut commands, |_, _| texts.product());
        let inner = &cut.inner;
        for (n, split) in self.splits.iter().enumerate() {
            let name = self.writer.fresh(&format!("w{n}"));
            let product = texts.product_of(&split.factors);
            commands.push(format!("precompute({product}, {inner}, {inner}, {name})"));
            texts.make(format!("{name}({inner})"));
        }
        commands.extend(copies.iter().map(in_vectors));
        Some(Tiled {
            rule: "a tile of the result's row stays in vector registers while sums run",
            commands,
            first: self.shared(&around, &[(at, &cut)]),
        })
    }

    fn block(&self, row: usize, column: usize) -> Option<Tiled> {
        let columns = self.cut(column, self.columns(column)?);
        let rows = self.cut(row, self.row_count(row));
        let part = |at: usize| match at == row {
            true => rows.outer.clone(),
            false => self.name(at),
        };
        let outer = self.among(self.result() & !(1 << column)).into_iter();
        let mut around: Vec<String> = outer.map(part).collect();
        let packed = self.packed(row, column);
        let place = packed.map_or(around.len(), |_| 0);
        around.insert(place, columns.outer.clone());
        let mut texts = self.texts();
        let mut commands = vec![self.split(row, &rows), self.split(column, &columns)];
        let inner = [rows.inner.clone(), columns.inner.clone()];
        let copies = self.kept(&around, &inner, &mut commands, |tiles, commands| {
            if let Some(factor) = packed {
                commands.extend(tiles.panel(factor, (column, &columns), &mut texts));
            }
            texts.product()
        });
        for pair in copies.chunks(2) {
            if let [own_rows, own_columns] = pair {
                commands.push(format!("unroll({own_rows}, {})", rows.length));
                commands.push(in_vectors(own_columns));
            }
        }
        Some(Tiled {
            rule: "a tile of rows and columns of the result stays in vector registers",
            commands,
            first: self.shared(&around, &[(row, &rows), (column, &columns)]),
        })
    }

    /// The outermost loop that has an iteration for each of many threads, or else the longest.
    fn shared(&self, around: &[String], cuts: &[(usize, &Cut)]) -> Option<String> {
        let places = 0..self.best.product.vars.len();
        let iterations = |name: &String| {
            let cut = cuts.iter().find(|(_, cut)| cut.outer == *name);
            if let Some((at, cut)) = cut {
                return self.extent(*at).map(|extent| extent / cut.length);
            }
            let at = places.clone().find(|&at| self.name(at) == *name)?;
            self.extent(at)
        };
        let many = |name: &&String| {
            iterations(name).is_none_or(|count| count >= self.writer.profile.cpu.shared_iterations)
        };
        let longest = || around.iter().rev().max_by_key(|name| iterations(name));
        around.iter().find(many).or_else(longest).cloned()
    }

    /// The commands that keep the sum in a workspace over `inner` inside the loops around. Returns
    /// the names of its loops: where the sum is only a part of what is stored, those of the
    /// workspace are others. `product` may add commands before it says what is summed.
    fn kept(
        &self,
        around: &[String],
        inner: &[String],
        commands: &mut Vec<String>,
        product: impl FnOnce(&Self, &mut Vec<String>) -> String,
    ) -> Vec<String> {
        let sums = self.names(self.all() & !self.result());
        let reorder = |parts: &[&[String]]| format!("reorder({})", parts.concat().join(", "));
        let tile = self.writer.fresh("tile");
        let over = list(inner);
        if self.adds_in_place() {
            commands.push(reorder(&[around, &sums, inner]));
            let product = product(self, commands);
            commands.push(format!("precompute({product}, {over}, {over}, {tile})"));
            return inner.to_vec();
        }
        commands.push(reorder(&[around, inner, &sums]));
        let product = product(self, commands);
        let copy = |name: &String| self.writer.fresh(&format!("{name}_sum"));
        let copies: Vec<String> = inner.iter().map(copy).collect();
        commands.push(format!(
            "precompute({product}, {over}, {}, {tile})",
            list(&copies)
        ));
        commands.push(reorder(&[&sums, &copies]));
        [inner, &copies].concat()
    }

    /// The commands that copy a factor's columns, row by row.
    fn panel(
        &self,
        factor: usize,
        (column, columns): (usize, &Cut),
        texts: &mut Texts,
    ) -> Vec<String> {
        let vars = self.best.product.factors[factor].vars;
        let sums = self.among(vars & !(1 << column));
        let plain = |at: &usize| {
            self.writer
                .graph
                .var(self.best.product.vars[*at])
                .name
                .clone()
        };
        let copy = |at: &usize| self.writer.fresh(&format!("{}2", plain(at)));
        let with = |sums: Vec<String>, last: String| [sums, vec![last]].concat();
        let named = sums.iter().map(|&at| self.name(at)).collect();
        let over = with(named, columns.inner.clone());
        let copies = with(sums.iter().map(copy).collect(), copy(&column));
        let read = with(sums.iter().map(plain).collect(), columns.inner.clone());
        let panel = self.writer.fresh("panel");
        let text = texts.product_of(&[Of::Given(factor)]);
        texts.replace(factor, format!("{panel}({})", read.join(",")));
        let copied = format!(
            "precompute({text}, {}, {}, {panel})",
            list(&over),
            list(&copies)
        );
        // Loops stand in the order of those around, which is another where a sum is only a part.
        let in_rows = (!self.adds_in_place()).then(|| format!("reorder({})", copies.join(", ")));
        [copied].into_iter().chain(in_rows).collect()
    }

    fn lanes(&self, at: usize) -> Option<Tiled> {
        let product = &self.best.product;
        let extent = self.extent(at);
        let is_open = !range_vars(self.writer.graph, product.vars[at]).is_empty();
        let length = match extent {
            // Of a triangle's rows many are short.
            None if is_open => few_lanes(self.writer)?,
            _ => lanes(self.writer, extent)?,
        };
        let is_full = extent.is_some_and(|extent| extent >= length);
        let mut around = self.names(self.all() & !(1 << at));
        let first = around.first().cloned();
        let texts = self.texts();
        let mut commands = Vec::new();
        if !product.is_whole {
            // What is added to the sum stays outside its loops.
            let sum = self.writer.fresh("dot");
            commands.push(format!(
                "precompute({}, {{}}, {{}}, {sum})",
                texts.product()
            ));
            around = self.names(self.all() & !self.result() & !(1 << at));
        }
        commands.extend(product.lanes(self.writer, (at, is_full), (length, 0), &around, &texts));
        Some(Tiled {
            rule: "each lane of a vector has a sum of its own",
            commands,
            first,
        })
    }

    fn stored(&self, at: usize) -> Option<Tiled> {
        let name = self.name(at);
        let around = self.names(self.all() & !(1 << at));
        (self.has_long_rows(at) == Some(true)).then(|| Tiled {
            rule: "each lane of a vector has a sum of its own, of the elements of long rows",
            commands: vec![format!("parallelize({name}, CPUVector, ParallelReduction)")],
            first: around.first().cloned(),
        })
    }
}
