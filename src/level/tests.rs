//! What level types say of themselves, against what they store: all sets of elements of small
//! matrices, in every format of two levels.

use super::{ArrayRole, Elements, InKernel, IndexArray, Level, LevelKind, Parents, Sizes, Stored};
use crate::loops::build as b;
use crate::loops::ir::{ArrayId, BinaryOp, Expr, ExprKind, Literal, ScalarType};

/// The value of what level types say, over the arrays of a level.
fn value(e: &Expr, arrays: &[IndexArray]) -> i64 {
    if let ExprKind::Literal(Literal::Int(n)) = &e.kind {
        *n
    } else if let ExprKind::Cast(inner) = &e.kind {
        value(inner, arrays)
    } else if let ExprKind::Load { array, index } = &e.kind {
        let at = u64::try_from(value(index, arrays)).unwrap();
        let found = arrays[array.index()].get(at);
        i64::try_from(found.expect("an element of the array")).unwrap()
    } else if let ExprKind::Locate(parent, extent, coordinate) = &e.kind {
        value(parent, arrays) * value(extent, arrays) + value(coordinate, arrays)
    } else if let ExprKind::Binary(op, x, y) = &e.kind {
        let (x, y) = (value(x, arrays), value(y, arrays));
        if *op == BinaryOp::Add {
            x + y
        } else if *op == BinaryOp::Sub {
            x - y
        } else if *op == BinaryOp::Mul {
            x * y
        } else if *op == BinaryOp::FloorDiv {
            x.div_euclid(y)
        } else if *op == BinaryOp::Max {
            x.max(y)
        } else if *op == BinaryOp::Ne {
            i64::from(x != y)
        } else {
            panic!("level types say no {op:?}")
        }
    } else {
        panic!("level types say no {e:?}")
    }
}

fn int(n: u64) -> Expr {
    b::int(i64::try_from(n).unwrap())
}

fn number(e: &Expr, arrays: &[IndexArray]) -> u64 {
    u64::try_from(value(e, arrays)).unwrap()
}

/// One level over `parents`, as it is in memory and in a kernel.
struct Case {
    level: Level,
    arrays: Vec<IndexArray>,
    kernel: InKernel,
    parents: u64,
    extent: u64,
    positions: u64,
}

impl Case {
    fn new(level: Level, stored: Stored, parents: u64, extent: u64) -> Self {
        let narrow = |n: &u64| i32::try_from(*n).unwrap();
        let index = |array: &Vec<u64>| IndexArray::I32(array.iter().map(narrow).collect());
        let roles = level.ty().roles().iter().enumerate();
        let ids = roles.map(|(at, &role)| (role, ArrayId(at as u32), ScalarType::I32));
        Case {
            level,
            arrays: stored.arrays.iter().map(index).collect(),
            kernel: InKernel::new(level.ty(), ids.collect(), int(extent)),
            parents,
            extent,
            positions: stored.positions,
        }
    }

    /// Coordinate and position of what is stored below a parent.
    fn below(&self, parent: u64) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let give = &mut |coordinate, position| found.push((coordinate, position));
        self.level
            .ty()
            .each(&self.arrays, parent, self.extent, give);
        found
    }

    fn agrees(&self) {
        let Case { arrays, kernel, .. } = self;
        let ty = self.level.ty();
        let sizes = Sizes {
            extent: self.extent,
            parents: self.parents,
        };
        assert_eq!(
            ty.check(self.level, arrays, sizes, "it"),
            Ok(self.positions)
        );
        assert_eq!(
            number(&kernel.size(int(self.parents)), arrays),
            self.positions
        );
        assert_eq!(arrays.len(), ty.roles().len());
        for first in 0..=self.parents {
            for end in first..=self.parents {
                let all: Vec<u64> = (first..end)
                    .flat_map(|parent| self.below(parent))
                    .map(|(_, position)| position)
                    .collect();
                let range = kernel.below(int(first)..int(end));
                let range = number(&range.start, arrays)..number(&range.end, arrays);
                let there = range.clone().filter(|&position| self.is_there(position));
                assert_eq!(there.collect::<Vec<_>>(), all, "{}", ty.word());
                assert!(!ty.properties().compact || range.clone().eq(all));
                self.leads_up(first..end, range);
            }
        }
        for parent in 0..self.parents {
            let below = self.below(parent);
            assert!(!ty.properties().branchless || below.len() == 1);
            assert!(!ty.properties().full || below.len() as u64 == self.extent);
            for (coordinate, position) in below {
                let found = ty.find(arrays, position, self.extent);
                assert_eq!(found, Some((coordinate, parent)));
                let says = kernel.coordinate(int(parent), int(position));
                assert_eq!(number(&says, arrays), coordinate);
                if let Some(at) = kernel.locate(int(parent), int(coordinate)) {
                    assert_eq!(number(&at, arrays), position);
                }
                if let Parents::Known(up) = kernel.parent(int(position)) {
                    assert_eq!(number(&up, arrays), parent);
                }
            }
        }
    }

    /// What kernels test before they take the element at a position.
    fn is_there(&self, position: u64) -> bool {
        let present = self.kernel.present(int(position));
        present.is_none_or(|present| value(&present, &self.arrays) != 0)
    }

    /// The parents of a part of the positions are those below which it lies.
    fn leads_up(&self, parents: std::ops::Range<u64>, positions: std::ops::Range<u64>) {
        if positions.is_empty() {
            return;
        }
        match self
            .kernel
            .parents(int(positions.start)..int(positions.end))
        {
            Parents::Known(up) => {
                let up = number(&up.start, &self.arrays)..number(&up.end, &self.arrays);
                assert_eq!(up, parents, "{}", self.level.ty().word());
            }
            Parents::Searched(array) => {
                assert_eq!(self.kernel.array(ArrayRole::Positions), Some(array));
            }
        }
    }
}

fn levels() -> Vec<Level> {
    let unique = LevelKind::ALL.into_iter().map(LevelKind::plain);
    let repeats = LevelKind::ALL
        .into_iter()
        .map(LevelKind::plain)
        .filter(|level| !level.is_full() && !level.is_asked());
    unique.chain(repeats.map(Level::nonunique)).collect()
}

#[test]
fn kernels_and_memory_agree_on_every_small_matrix() {
    const ROWS: u64 = 3;
    const COLUMNS: u64 = 2;
    for (upper, lower) in levels()
        .into_iter()
        .flat_map(|u| levels().into_iter().map(move |l| (u, l)))
    {
        // What `program` refuses: several coordinates for one parent that repeats nothing.
        if upper.is_branchless() || (lower.is_branchless() && upper.unique) {
            continue;
        }
        // Positions of equal coordinates have their children together only where each has one.
        if !upper.unique && !lower.is_branchless() {
            continue;
        }
        for set in 0u32..1 << (ROWS * COLUMNS) {
            let cells = (0..ROWS * COLUMNS).filter(|cell| set & (1 << cell) != 0);
            let (rows, columns): (Vec<u64>, Vec<u64>) =
                cells.map(|cell| (cell / COLUMNS, cell % COLUMNS)).unzip();
            let mut at = vec![0; rows.len()];
            let (both, last) = ([rows.as_slice(), &columns], [columns.as_slice()]);
            let mut parents = 1;
            for (level, columns, extent) in [(upper, &both[..], ROWS), (lower, &last[..], COLUMNS)]
            {
                let mut elements = Elements {
                    columns,
                    at: &mut at,
                };
                let sizes = Sizes { extent, parents };
                let stored = level.ty().pack(level.unique, sizes, &mut elements).unwrap();
                let case = Case::new(level, stored, parents, extent);
                case.agrees();
                parents = case.positions;
            }
        }
    }
}

#[test]
fn the_language_has_a_word_for_each_and_c_a_number() {
    for (at, kind) in LevelKind::ALL.into_iter().enumerate() {
        let ty = kind.ty();
        assert_eq!(LevelKind::called(ty.word()), Some(kind));
        assert!(
            ty.c_name()
                .eq_ignore_ascii_case(&format!("sparsec_{}", ty.word()))
        );
        let others = LevelKind::ALL.into_iter().skip(at + 1);
        assert!(
            others
                .into_iter()
                .all(|other| other.ty().code() != ty.code())
        );
        let header = include_str!("../emit/runtime/sparsec.h");
        let (_, list) = header.split_once("enum sparsec_level_kind {").unwrap();
        let (list, _) = list.split_once('}').unwrap();
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        let code = usize::try_from(ty.code()).unwrap();
        assert_eq!(names.get(code), Some(&ty.c_name()));
    }
}

/// What `level/hashed.rs` promises: every coordinate leads to its position, others to none, whatever
/// their order; and what breaks the table is found.
#[test]
fn tables_lead_to_what_is_stored() {
    const EXTENT: u64 = 6;
    let ty = LevelKind::Hashed.ty();
    for set in 0u32..1 << EXTENT {
        for turn in [false, true] {
            let mut columns: Vec<u64> = (0..EXTENT).filter(|c| set & (1 << c) != 0).collect();
            if turn {
                columns.reverse();
            }
            let mut at = vec![0; columns.len()];
            let mut elements = Elements {
                columns: &[&columns],
                at: &mut at,
            };
            let sizes = Sizes {
                extent: EXTENT,
                parents: 1,
            };
            let stored = ty.pack(true, sizes, &mut elements).unwrap();
            let case = Case::new(LevelKind::Hashed.plain(), stored, 1, EXTENT);
            let check =
                |arrays: &[IndexArray]| ty.check(LevelKind::Hashed.plain(), arrays, sizes, "it");
            assert_eq!(check(&case.arrays), Ok(columns.len() as u64));
            for slot in 0..2 * columns.len() {
                let mut arrays = case.arrays.clone();
                let IndexArray::I32(table) = &mut arrays[2] else {
                    panic!("the index is narrow")
                };
                table[slot] = if table[slot] == 0 { 1 } else { 0 };
                assert!(check(&arrays).is_err(), "slot {slot} of {columns:?}");
            }
            let mut arrays = case.arrays.clone();
            arrays[2] = IndexArray::I32(vec![0; 2 * columns.len() + 1]);
            assert!(check(&arrays).is_err());
        }
    }
}
