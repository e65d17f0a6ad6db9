//! What statements touch.

use crate::loops::build as b;
use crate::loops::device::{Definitions, inlined};
use crate::loops::ir::{
    ArrayId, BinaryOp, Device, Expr, ExprKind, GpuUnit, Look, ScalarType, Stmt, VarId,
};
use crate::loops::operands::{ArrayUse, Operand};
use crate::loops::visit;
use crate::sums::Range;
use std::collections::BTreeMap;

/// An access of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch {
    pub array: ArrayId,
    /// Over variables of loops and of outside; `None` for any of the elements.
    pub index: Option<Expr>,
    pub write: bool,
    pub atomic: bool,
    /// The loops around it, outer ones first.
    pub around: Vec<Around>,
    /// How many of them are around the array's declaration, too.
    pub home: usize,
}

/// A loop around an access.
#[derive(Clone, Debug, PartialEq)]
pub struct Around {
    pub var: VarId,
    /// Over variables of loops and of outside.
    pub lo: Expr,
    pub step: i64,
    /// So many values at most, from `lo` on.
    pub most: Option<i64>,
    /// Whose its iterations are.
    pub unit: Option<GpuUnit>,
    /// Two units never have the same iteration at hand. (Threads of a segment group without
    /// work of their own take part with the last one's.)
    pub tells: bool,
}

impl Around {
    /// How many iterations come before the one at hand.
    pub(super) fn iterations(&self) -> Range {
        Range {
            least: Some(0),
            most: self.most.map(|n| (n - 1).max(0) / self.step),
        }
    }

    /// The loop of a statement, if it is one.
    #[must_use]
    pub fn of(stmt: &Stmt, known: &Definitions) -> Option<Around> {
        let Stmt::For {
            var,
            lo,
            hi: _,
            most,
            step,
            tag,
            body,
        } = stmt
        else {
            return None;
        };
        Some(Around {
            var: *var,
            lo: inlined(lo, known),
            step: *step,
            most: *most,
            unit: tag.gpu(),
            tells: tag.gpu().is_none_or(|unit| unit.group.is_none()) || !stores_by_segments(body),
        })
    }
}

fn stores_by_segments(body: &[Stmt]) -> bool {
    let mut found = false;
    visit::stmts(body, &mut |s| {
        found |= matches!(s, Stmt::Device(Device::SegmentStore { .. }));
    });
    found
}

/// What is known of arrays that are declared inside of loops.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    /// Inside how many loops they are declared.
    depths: BTreeMap<ArrayId, usize>,
    /// Those that are a part of another one: of which, the number of the part, and how many
    /// elements it has.
    parts: BTreeMap<ArrayId, (ArrayId, Option<(Expr, Expr)>)>,
}

impl Homes {
    /// Notes what a statement inside `depth` loops declares.
    pub fn declare(&mut self, stmt: &Stmt, depth: usize) {
        if let Stmt::Declare { array, .. } | Stmt::Slice { array, .. } = stmt {
            self.depths.insert(*array, depth);
        }
        if let Stmt::Slice { array, of, offset } = stmt {
            self.parts.insert(*array, (*of, part(offset)));
        }
    }
}

/// The number of a part and its size, of which the offset is the product.
fn part(offset: &Expr) -> Option<(Expr, Expr)> {
    if let ExprKind::Binary(BinaryOp::Mul, number, size) = &offset.kind {
        return Some((number.as_ref().clone(), size.as_ref().clone()));
    }
    matches!(offset.kind, ExprKind::Place(_)).then(|| (offset.clone(), b::int(1)))
}

/// All accesses of the statements, in their order, inside the loops `around`; `homes` learns
/// of what they declare.
#[must_use]
pub fn touches<'a>(
    body: impl IntoIterator<Item = &'a Stmt>,
    around: &[Around],
    homes: &mut Homes,
    known: &Definitions,
) -> Vec<Touch> {
    let mut walk = Walk {
        known,
        around: around.to_vec(),
        homes,
        found: Vec::new(),
    };
    body.into_iter().for_each(|stmt| walk.stmt(stmt));
    walk.found
}

struct Walk<'a> {
    known: &'a Definitions,
    around: Vec<Around>,
    homes: &'a mut Homes,
    found: Vec<Touch>,
}

impl Walk<'_> {
    fn push(&mut self, array: ArrayId, index: Option<&Expr>, write: bool, atomic: bool) {
        let index = index.map(|e| inlined(e, self.known));
        let depth = self.homes.depths.get(&array).copied().unwrap_or(0);
        if let Some((of, part)) = self.homes.parts.get(&array) {
            let at = |(number, size): &(Expr, Expr)| {
                Some(Expr {
                    kind: ExprKind::Locate(
                        Box::new(inlined(number, self.known)),
                        Box::new(inlined(size, self.known)),
                        Box::new(index.clone()?),
                    ),
                    ty: ScalarType::I64,
                })
            };
            let index = part.as_ref().and_then(at);
            self.found.push(Touch {
                array: *of,
                index,
                write,
                atomic,
                around: self.around.clone(),
                home: 0,
            });
        }
        self.found.push(Touch {
            array,
            index,
            write,
            atomic,
            around: self.around.clone(),
            home: depth.min(self.around.len()),
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let mut loads = Vec::new();
        visit::own_exprs(stmt, &mut |e| {
            visit::expr(e, &mut |node| {
                if let ExprKind::Load { array, index } = &node.kind {
                    loads.push((*array, index.as_ref().clone()));
                }
            });
        });
        // The address of what is fetched ahead is no access.
        for (array, index) in &loads {
            self.push(*array, Some(index), false, false);
        }
        if let Stmt::Store {
            array,
            index,
            atomic,
            ..
        } = stmt
        {
            self.push(*array, Some(index), true, *atomic);
        } else if let Stmt::Take { array, index, .. } = stmt {
            self.push(*array, Some(index), true, true);
        } else if let Stmt::Device(Device::SegmentStore { array, index, .. }) = stmt {
            self.push(*array, Some(index), true, true);
        } else if let Stmt::Device(Device::Claim(claim)) = stmt {
            // Whoever takes a slot has a number, and so an element of each list, of its own.
            let lists = [claim.table, claim.count, claim.keys].into_iter();
            for array in lists.chain(claim.places) {
                self.push(array, None, true, true);
            }
        } else if let Stmt::Fill { array, .. } = stmt {
            self.push(*array, None, true, false);
        } else if let Stmt::Search { array, by, .. } = stmt {
            self.push(*array, None, false, false);
            if let Look::Table(table) | Look::Slot(table) = by {
                self.push(*table, None, false, false);
            }
        } else if let Stmt::Enter {
            table, coordinates, ..
        } = stmt
        {
            self.push(*coordinates, None, false, false);
            self.push(*table, None, true, false);
        } else {
            // What is sorted or summed up is read and written anywhere.
            let mut exchanged = Vec::new();
            stmt.operands(&mut |operand| {
                if let Operand::Array(array, ArrayUse::Exchange) = operand {
                    exchanged.push(*array);
                }
            });
            for array in exchanged {
                self.push(array, None, true, false);
            }
        }
        self.homes.declare(stmt, self.around.len());
        let entered = Around::of(stmt, self.known);
        let depth = self.around.len();
        self.around.extend(entered);
        for inner in visit::bodies(stmt).into_iter().flatten() {
            self.stmt(inner);
        }
        self.around.truncate(depth);
    }
}
