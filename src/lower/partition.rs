//! Where the parts of `partition(i, b, ib, P, nnz)` begin, found before the loops (000, chapter 10).

use super::{Lower, Lowerer, Scope};
use crate::graph::Nest;
use crate::graph::relation::{Partition, Relation};
use crate::level::ArrayRole;
use crate::loops::build as b;
use crate::loops::ir::{self, BinaryOp, LoopTag, ScalarType, Storage};
use crate::loops::trips::Bounds;

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
                self.parts_of_rows(partition, scope, &mut out)?;
            }
        }
        Ok(out)
    }

    fn parts_of_rows(
        &self,
        partition: &Partition,
        scope: &mut Scope,
        out: &mut Vec<ir::Stmt>,
    ) -> Lower<()> {
        let Some(rows) = self.level(partition.of, 1).array(ArrayRole::Positions) else {
            return Ok(());
        };
        let (lo, hi) = self.range(partition.parent, scope)?;
        let name = &self.graph.var(partition.part).name;
        let begins = self.array(&format!("{name}_begins"), ScalarType::I64, Storage::Local);
        let parts = b::int(partition.parts);
        // A range that is no operand's may be empty, and lie outside of all rows.
        let tensor = self.tensor(partition.of);
        let rows_dim = &tensor.dims[tensor.format.modes[0]];
        let inside = self.graph.covers(partition.parent, rows_dim);
        out.push(ir::Stmt::Alloc {
            array: begins,
            count: b::add(parts.clone(), b::int(1)),
            zeroed: !inside,
        });
        self.memory.freed(begins);
        let (t, part) = self.fresh_index(name, false);
        let (row, found) = self.fresh_index(&self.graph.var(partition.parent).name, false);
        let first = self.load_index(rows, lo.clone());
        let all = b::sub(self.load_index(rows, hi.clone()), first.clone());
        let mut then = Vec::new();
        let stored = format!("{}_stored", self.tensor(partition.of).name);
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
                gallop: false,
            },
            ir::Stmt::Store {
                array: begins,
                index: part,
                op: None,
                value: begin,
                atomic: false,
            },
        ];
        let all = Bounds::of(b::int(0), b::add(parts, b::int(1)));
        then.push(all.each(t, LoopTag::default(), each));
        if inside {
            out.append(&mut then);
        } else {
            out.push(ir::Stmt::If {
                cond: b::lt(lo, hi),
                then,
                otherwise: Vec::new(),
            });
        }
        scope.begins.insert(partition.part, begins);
        Ok(())
    }
}
