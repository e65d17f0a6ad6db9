//! Scripts for operands that are stored by diagonals. As they are, diagonals stand outside of the rows that they
//! add to, so that nobody can share them; with rows outside each has elements of its own.

use super::{Writer, in_threads};
use crate::program::ir::VarId;

/// The loops of a product with a matrix by diagonals.
struct Loops {
    diagonal: String,
    rows: String,
    /// What stands inside of both.
    inside: Vec<String>,
}

impl Writer<'_> {
    /// The loops over diagonals and the rows on each, where the rows tell elements of the result.
    fn diagonals(&self) -> Option<Loops> {
        let (graph, vars) = (self.graph, self.vars());
        let [diagonal, rows, inside @ ..] = vars.as_slice() else {
            return None;
        };
        let across = graph.provenance.producer(*diagonal)?.skews()?;
        let told = |var: VarId| self.nest.lhs.contains(&var);
        let is_product = graph.provenance.is_stored(*diagonal)
            && self.is_left(*rows)
            && !told(across)
            && !graph.tensor(self.nest.tensor).is_appended();
        is_product.then(|| Loops {
            diagonal: self.name(*diagonal),
            rows: self.name(*rows),
            inside: inside.iter().map(|&var| self.name(var)).collect(),
        })
    }

    /// Commands for threads: diagonals pass over tiles of rows, or rows stand outside where others are inside of
    /// them.
    pub(super) fn diagonals_in_threads(&self) -> Option<Vec<String>> {
        let Loops {
            diagonal,
            rows,
            inside,
        } = self.diagonals()?;
        if !inside.is_empty() {
            let order = [&[rows.clone(), diagonal], inside.as_slice()].concat();
            return Some(vec![
                format!("reorder({})", order.join(", ")),
                in_threads(&rows),
            ]);
        }
        let [tiles, row] = ["tiles", "row"].map(|like| self.fresh(like));
        let many = self.profile.cpu.diagonal_rows;
        Some(vec![
            format!("split({rows}, {tiles}, {row}, {many})"),
            format!("reorder({tiles}, {diagonal}, {row})"),
            in_threads(&tiles),
        ])
    }

    /// Commands for a GPU: a thread for each row.
    pub(super) fn row_of_diagonals(&self, all: &mut Vec<Vec<String>>) {
        let Some(loops) = self.diagonals() else {
            return;
        };
        let (block, thread) = (self.fresh("block"), self.fresh("thread"));
        let threads = self.profile.gpu.block_threads;
        let order = [
            &[loops.rows.clone(), loops.diagonal],
            loops.inside.as_slice(),
        ]
        .concat();
        let mut script = vec![
            format!("reorder({})", order.join(", ")),
            format!("split({}, {block}, {thread}, {threads})", loops.rows),
        ];
        script.extend(self.units(&[
            (&block, "GPUBlock", "NoRaces"),
            (&thread, "GPUThread", "NoRaces"),
        ]));
        all.push(script);
    }
}
