//! Where the parts of `partition(i, b, ib, P, nnz | merge_path | bins(..))` begin, and what stands in
//! which, found before the loops (000, chapter 10).

use super::{Lower, Lowerer, Scope};
use crate::graph::Nest;
use crate::graph::relation::{By, Partition, Relation};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, BinaryOp, Expr, LoopTag, ScalarType, Storage};
use crate::loops::trips::Bounds;
use crate::program::ir::{ReduceOp, TensorId};

impl Lowerer<'_> {
    /// An array of where parts begin, and of where the last one ends, for each partition of a loop of
    /// the tree at hand.
    pub(super) fn find_parts(&self, scope: &mut Scope) -> Lower<Vec<ir::Stmt>> {
        let mut out = Vec::new();
        let relations = self.graph.provenance.relations.iter();
        for partition in relations.filter_map(Relation::partition) {
            let vars = self.tree.nests.iter().flat_map(Nest::loop_vars);
            let mut made = vars.flat_map(|var| self.graph.provenance.ancestors(var));
            if made.any(|var| var == partition.part) {
                match &partition.by {
                    By::Stored(of) => self.parts_of_rows((partition, *of), scope, &mut out)?,
                    By::Lengths(of, most) => {
                        self.parts_of_lengths(partition, (*of, most), scope, &mut out)?;
                    }
                    By::Path => self.parts_of_path(partition, scope, &mut out)?,
                }
            }
        }
        Ok(out)
    }

    /// An array for where parts begin, and where the last one ends.
    fn begins(&self, partition: &Partition, zeroed: bool, out: &mut Vec<ir::Stmt>) -> ArrayId {
        let count = b::int(partition.parts + 1);
        self.part_array(partition, "begins", (count, zeroed), out)
    }

    /// An array for what is found of the parts.
    fn part_array(
        &self,
        partition: &Partition,
        what: &str,
        (count, zeroed): (Expr, bool),
        out: &mut Vec<ir::Stmt>,
    ) -> ArrayId {
        let name = format!("{}_{what}", self.graph.var(partition.part).name);
        let array = self.array(&name, ScalarType::I64, Storage::Local);
        out.push(ir::Stmt::Alloc {
            array,
            count,
            zeroed,
        });
        self.memory.freed(array);
        array
    }

    fn parts_of_rows(
        &self,
        (partition, of): (&Partition, TensorId),
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let Some(rows) = self.level(of, 1).array(ArrayRole::Positions) else {
            return Ok(());
        };
        let (lo, hi) = self.range(partition.parent, scope)?;
        let name = &self.graph.var(partition.part).name;
        let parts = b::int(partition.parts);
        // A range that is no operand's may be empty, and lie outside of all rows.
        let tensor = self.tensor(of);
        let rows_dim = &tensor.dims[tensor.format.modes[0]];
        let inside = self.graph.covers(partition.parent, rows_dim);
        let begins = self.begins(partition, !inside, out);
        let (t, part) = self.fresh_index(name, false);
        let (row, found) = self.fresh_index(&self.graph.var(partition.parent).name, false);
        let first = self.load_index(rows, lo.clone());
        let all = b::sub(self.load_index(rows, hi.clone()), first.clone());
        let mut then = Vec::new();
        let stored = format!("{}_stored", self.tensor(of).name);
        let all = self.named(&stored, all, &mut then);
        let before = b::binary(BinaryOp::FloorDiv, b::mul(part.clone(), all), parts.clone());
        // Rows behind the last that stores something belong to the last part.
        let begin = b::select(
            b::lt(part.clone(), parts.clone()),
            b::sub(found, lo.clone()),
            b::sub(hi.clone(), lo.clone()),
        );
        let each = vec![
            ir::Stmt::Search {
                var: row,
                array: rows,
                lo: lo.clone(),
                hi: hi.clone(),
                key: b::add(first, before),
                by: ir::Look::Bisect,
            },
            b::store(begins, part, begin),
        ];
        then.push(each_part(partition, t, each));
        if inside {
            out.append(&mut then);
        } else {
            out.push(b::if_then(b::lt(lo, hi), then));
        }
        scope.begins.insert(partition.part, begins);
        Ok(())
    }

    /// `begins[t] = t * (rows + elements) / P` steps along the path on which the ends of rows are merged with
    /// the positions of elements, in elements: a step that comes to the end of a row before the
    /// next element is one of rows.
    fn parts_of_path(
        &self,
        partition: &Partition,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        out.extend(self.prepare(partition.parent, scope)?);
        let pos = partition.parent;
        let Some(counted) = self.counted(pos) else {
            return Ok(());
        };
        let tensor = self.tree.table.get(counted.id).access.tensor;
        let ends = self.level(tensor, counted.last());
        let (Some(ends), Some(segments)) = (
            ends.array(ArrayRole::Positions),
            scope.segments.get(&pos).cloned(),
        ) else {
            return Ok(());
        };
        let [.., above, own] = segments.as_slice() else {
            return Ok(());
        };
        let name = &self.graph.var(partition.part).name;
        let begins = self.begins(partition, false, out);
        let parts = b::int(partition.parts);
        let rows = b::sub(above.hi.clone(), above.lo.clone());
        let stored = b::sub(own.hi.clone(), own.lo.clone());
        let path = self.named(&format!("{name}_path"), b::add(rows, stored), out);
        let (t, part) = self.fresh_index(name, false);
        let (step, at) = self.fresh_index("step", false);
        let (row, found) = self.fresh_index(&format!("{}_row", self.tensor(tensor).name), true);
        let (end, below) = self.fresh_index("end", true);
        let (middle, mid) = self.fresh_index("middle", false);
        let passed = |row: &Expr| b::sub(row.clone(), above.lo.clone());
        let next = b::add(mid.clone(), b::int(1));
        let ended = b::sub(self.load_index(ends, next.clone()), own.lo.clone());
        let half = b::binary(
            BinaryOp::FloorDiv,
            b::sub(below.clone(), found.clone()),
            b::int(2),
        );
        let assign = |var, value| b::set(var, value);
        let search = vec![
            b::bind(middle, b::add(found.clone(), half)),
            b::if_else(
                b::lt(b::add(ended, passed(&mid)), at.clone()),
                vec![assign(row, next)],
                vec![assign(end, mid)],
            ),
        ];
        let steps = b::binary(
            BinaryOp::FloorDiv,
            b::mul(part.clone(), path),
            parts.clone(),
        );
        let each = vec![
            b::bind(step, steps),
            b::bind(row, above.lo.clone()),
            b::bind(end, above.hi.clone()),
            ir::Stmt::While {
                cond: b::lt(found.clone(), below),
                body: search,
            },
            b::store(begins, part, b::sub(at, passed(&found))),
        ];
        out.push(each_part(partition, t, each));
        scope.begins.insert(partition.part, begins);
        Ok(())
    }

    /// Rows by their lengths: a place for each part and row is marked where the row lies in the part, and
    /// running sums of the marks say how many rows stand before each in the list.
    fn parts_of_lengths(
        &self,
        partition: &Partition,
        (of, most): (TensorId, &[i64]),
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let Some(ends) = self.level(of, 1).array(ArrayRole::Positions) else {
            return Ok(());
        };
        let (lo, hi) = self.range(partition.parent, scope)?;
        let name = &self.graph.var(partition.part).name;
        let parent = &self.graph.var(partition.parent).name;
        let tensor = self.tensor(of);
        let rows = b::sub(hi, lo.clone());
        let rows = match self
            .graph
            .covers(partition.parent, &tensor.dims[tensor.format.modes[0]])
        {
            true => rows,
            false => b::max(rows, b::int(0)),
        };
        let rows = self.named(&format!("{parent}_count"), rows, out);
        let one = || b::int(1);
        let all_places = b::mul(b::int(partition.parts), rows.clone());
        let begins = self.begins(partition, false, out);
        let all = (b::add(all_places.clone(), one()), true);
        let before = self.part_array(partition, "before", all, out);
        let list = self.part_array(partition, "list", (rows.clone(), false), out);
        // The place of a row in the part that it lies in.
        let place = |at: &Expr, body: &mut Vec<ir::Stmt>| {
            let row = b::add(lo.clone(), at.clone());
            let begin = self.load_index(ends, row.clone());
            let length = b::sub(self.load_index(ends, b::add(row, one())), begin);
            let length = self.named("length", length, body);
            let exceeds = |most: &i64| b::binary(BinaryOp::Gt, length.clone(), b::int(*most));
            let steps = most.iter().map(|m| b::select(exceeds(m), one(), b::int(0)));
            let part = steps.reduce(b::add).unwrap_or_else(|| b::int(0));
            let part = self.named("part", part, body);
            b::locate(part, rows.clone(), at.clone())
        };
        let provenance = &self.graph.provenance;
        let is_part = |var| provenance.ancestors(var).contains(&partition.parent);
        let mut tag = self.starts_tag(&is_part);
        // No two rows have one place, nor as many others before them.
        tag.races_ignored = matches!(tag.run, ir::Run::Serial);
        let each = |body: &dyn Fn(&Expr, &mut Vec<ir::Stmt>)| {
            let (var, at) = self.fresh_index(parent, false);
            let mut stmts = Vec::new();
            body(&at, &mut stmts);
            Bounds::of(b::int(0), rows.clone()).each(var, tag.clone(), stmts)
        };
        out.push(each(&|at, body| {
            let place = b::add(place(at, body), one());
            body.push(self.store_index(before, place, one()));
        }));
        out.push(ir::Stmt::Scan {
            array: before,
            count: all_places,
            op: ReduceOp::Add,
            total: None,
        });
        let (t, part) = self.fresh_index(name, false);
        let begin = self.load_index(before, b::mul(part.clone(), rows.clone()));
        let begin = vec![self.store_index(begins, part, begin)];
        out.push(each_part(partition, t, begin));
        out.push(each(&|at, body| {
            let place = self.load_index(before, place(at, body));
            body.push(self.store_index(list, place, at.clone()));
        }));
        scope.begins.insert(partition.part, begins);
        scope.listed.insert(partition.part, list);
        Ok(())
    }
}

/// A loop over all parts, and over where the last one ends.
fn each_part(partition: &Partition, part: ir::VarId, body: Vec<ir::Stmt>) -> ir::Stmt {
    let all = Bounds::of(b::int(0), b::int(partition.parts + 1));
    all.each(part, LoopTag::default(), body)
}
