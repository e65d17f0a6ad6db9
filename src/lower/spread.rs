//! Results of which each row gets its elements in order, though the loops go from row to row (see
//! [`crate::plan::Made::Spread`]): the loops run twice. First each row counts its elements; running
//! sums of these numbers are the positions. Then each element goes where its row goes on.

use super::assemble::{Assembly, Pass};
use super::{Lower, Lowerer, Scope};
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr, ScalarType};
use crate::loops::trips::Bounds;
use crate::plan::{Counted, Inside, Node, Opened, Tree, Turns};
use crate::program::ir::ReduceOp;
use std::rc::Rc;

/// A number for each row of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    array: ArrayId,
    /// Where the number of row 0 stands.
    first: i64,
    /// Whether iterations that come to one row are shared out.
    atomic: bool,
}

impl Lowerer<'_> {
    /// The loops that count rows, the room, the loops that store. `out` is what stands before them.
    pub(super) fn spread(
        &self,
        (counted, turns): (&Counted, Turns),
        body: &Inside,
        (mut out, mut scope): (Vec<ir::Stmt>, Scope),
    ) -> Lower<Vec<ir::Stmt>> {
        let Some(mut filling) = self.assemblies.last().cloned() else {
            return Ok(out);
        };
        let (pos, first) = (filling.groups[0].pos, filling.groups[0].first);
        let rows = self.extents(filling.tensor, 0, first);
        let name = format!("{}{}", self.tensor(filling.tensor).name, first + 1);
        out.extend(self.find_starts(&mut scope)?);
        let parts = match turns {
            Turns::Apart => Some(self.parts((&name, pos), &rows)),
            Turns::Alone | Turns::Taken(_) => None,
        };
        let lowered = |pass: &Assembly, (tree, body): (Rc<Tree>, &Inside), numbers: Rows| {
            let mut pass = pass.clone();
            pass.groups[0].rows = Some(numbers);
            let restarted = Scope {
                results: vec![pass.start()],
                ..scope.clone()
            };
            let mut loops = self.of(tree, vec![pass]).inside(body, restarted, None)?;
            if let Some(parts) = &parts {
                self.take_parts(&mut loops, parts);
            }
            Ok(loops)
        };
        let of = |array, first| Rows {
            array,
            first,
            atomic: matches!(turns, Turns::Taken(_)),
        };
        let own = parts.as_ref().map(|parts| of(parts.own, 0));

        let mut counting = filling.clone();
        counting.pass = Pass::Counting;
        let mut region = Vec::new();
        if let Some(body) = &counted.tree.body {
            let given = (Rc::new(counted.tree.clone()), body);
            region = lowered(&counting, given, own.unwrap_or(of(pos, 1)))?;
        }
        let (total, all) = self.fresh_index(&format!("{name}_count"), true);
        match &parts {
            Some(parts) => region.extend(self.added_up(parts, pos, total)),
            None => region.push(ir::Stmt::Scan {
                array: pos,
                count: rows.clone(),
                op: ReduceOp::Add,
                total: Some(total),
            }),
        }
        filling.pass = Pass::Filling;
        filling.groups[0].total = Some(total);
        region.extend(self.overflow_check(filling.tensor, &filling.groups[0]));
        region.extend(self.make_room(&filling, &[all]));
        let next = match (&parts, own) {
            (Some(parts), Some(own)) => {
                region.push(self.begun(parts, pos));
                own
            }
            _ => of(self.next_of_rows(&name, pos, &rows, &mut region), 0),
        };
        filling.groups[0].rows = Some(next);
        let (allocated, rooms) = self.rooms(std::slice::from_ref(&filling));
        out.extend(allocated);
        region.extend(lowered(&filling, (Rc::clone(&self.tree), body), next)?);
        if let Turns::Taken(unit) = turns {
            region.extend(self.sorted_rows(&filling, unit, &rows));
        }
        out.push(ir::Stmt::Append {
            rooms,
            body: region,
        });
        out.extend(self.entered(&[filling]));
        Ok(out)
    }

    /// The loops that store where coordinates are there: rows are not counted, but none may end elsewhere.
    pub(super) fn spread_where_kept(
        &self,
        body: &Inside,
        (mut out, mut scope): (Vec<ir::Stmt>, Scope),
    ) -> Lower<Vec<ir::Stmt>> {
        let Some(mut keeping) = self.assemblies.last().cloned() else {
            return Ok(out);
        };
        let Some(changed) = keeping.kept() else {
            return Ok(out);
        };
        let (pos, first) = (keeping.groups[0].pos, keeping.groups[0].first);
        let rows = self.extents(keeping.tensor, 0, first);
        out.extend(self.find_starts(&mut scope)?);
        let name = format!("{}{}", self.tensor(keeping.tensor).name, first + 1);
        let array = self.next_of_rows(&name, pos, &rows, &mut out);
        keeping.groups[0].rows = Some(Rows {
            array,
            first: 0,
            atomic: false,
        });
        let keeper = self.of(Rc::clone(&self.tree), vec![keeping.clone()]);
        let scope = Scope {
            results: vec![keeping.start()],
            ..scope
        };
        let mut loops = keeper.inside(body, scope, None)?;
        let (k, at) = self.fresh_index("k", false);
        let end = self.load_index(pos, b::add(at.clone(), b::int(1)));
        let elsewhere = b::ne(self.load_index(array, at), end);
        let all = Bounds::of(b::int(0), rows);
        let ends = vec![super::kept::note(changed, elsewhere)];
        loops.push(all.each(k, ir::LoopTag::default(), ends));
        out.extend(keeper.kept(&[keeping], loops));
        Ok(out)
    }

    /// An array of where each row goes on: at first where it begins.
    fn next_of_rows(
        &self,
        name: &str,
        pos: ArrayId,
        rows: &Expr,
        out: &mut Vec<ir::Stmt>,
    ) -> ArrayId {
        let elem = self.names.elem(pos);
        let next = self.array(&format!("{name}_next"), elem, ir::Storage::Local);
        self.memory.allocated(next, rows.clone(), false);
        let (k, at) = self.fresh_index("k", false);
        let begins = self.store_index(next, at.clone(), self.load_index(pos, at));
        let all = Bounds::of(b::int(0), rows.clone());
        out.push(all.each(k, ir::LoopTag::default(), vec![begins]));
        next
    }

    /// An element of a row, with its statement where it is stored.
    pub(super) fn spread_element(
        &self,
        (at, assembly): (usize, &Assembly),
        rows: Rows,
        (row, coordinate): (Expr, Expr),
        (others, node): (&[Opened], &Node),
        mut scope: Scope,
    ) -> Lower<Vec<ir::Stmt>> {
        let end = b::add(row.clone(), b::int(1));
        let row = b::add(row, b::int(rows.first));
        let elem = self.names.elem(rows.array);
        let counted = ir::Stmt::Store {
            array: rows.array,
            index: row.clone(),
            op: Some(ReduceOp::Add),
            value: b::cast(elem, b::int(1)),
            atomic: rows.atomic,
        };
        if assembly.pass == Pass::Counting {
            let mut out = vec![counted];
            out.extend(self.open_from(others, node, scope)?);
            return Ok(out);
        }
        let group = &assembly.groups[0];
        let name = self.names.var(group.counter).name;
        let place = self.fresh(&name, ScalarType::I64, false);
        let here = b::var(place, ScalarType::I64);
        scope.results[at].pos = here.clone();
        let mut out = vec![match rows.atomic {
            true => ir::Stmt::Take {
                var: place,
                array: rows.array,
                index: row.clone(),
            },
            false => b::bind(place, self.load_index(rows.array, row.clone())),
        }];
        // A compiler need not ask whether what is stored here is the number.
        let counted = self.store_index(rows.array, row, b::add(here.clone(), b::int(1)));
        let mut inside = self.open_from(others, node, scope)?;
        let arrays = self.coordinate_arrays(assembly, group);
        if let Some(changed) = assembly.kept() {
            inside.push(counted);
            let left = b::lt(here.clone(), self.load_index(group.pos, end));
            let same = arrays.iter().map(|&array| {
                let next = self.load_index(array, here.clone());
                b::eq(next, coordinate.clone())
            });
            out.push(b::if_else(
                b::all(std::iter::once(left).chain(same)),
                inside,
                vec![super::kept::note(changed, b::boolean(true))],
            ));
            return Ok(out);
        }
        out.append(&mut inside);
        for array in arrays {
            out.push(self.store_index(array, here.clone(), coordinate.clone()));
        }
        if !rows.atomic {
            out.push(counted);
        }
        Ok(out)
    }
}
