//! A sparse result that stores what one operand stores (see [`crate::graph::pattern`]):
//! the operand's coordinates are copied, and each value stands at its position.

use super::access::AccessId;
use super::{Lower, Lowerer, Scope};
use crate::diagnostic::codes::lower as codes;
use crate::format::LevelKind;
use crate::loops::build as b;
use crate::loops::ir::{self, ArrayId, Expr};
use crate::program::ir::{Access, TensorId};

/// The result of the nest at hand and the access that it follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub tensor: TensorId,
    source: AccessId,
}

impl Lowerer<'_> {
    /// Makes the result's arrays; `None` if nothing reads the access.
    pub(super) fn begin_pattern(
        &mut self,
        tensor: TensorId,
        access: &Access,
        out: &mut Vec<ir::Stmt>,
    ) -> Option<Pattern> {
        let source = self.table.find(access)?;
        let format = self.tensor(tensor).format.clone();
        let mut count = b::int(1);
        for (level, kind) in format.levels.iter().map(|l| l.kind).enumerate() {
            let (own_pos, own_crd) = self.storage[&tensor].levels[level];
            let (pos, crd) = self.storage[&access.tensor].levels[level];
            if let (Some(own), Some(pos)) = (own_pos, pos) {
                self.copy_index(own, pos, &b::add(count.clone(), b::int(1)), out);
            }
            count = match (kind, pos) {
                (LevelKind::Dense, _) => b::mul(count, self.extent(tensor, level)),
                (LevelKind::Compressed, Some(pos)) => {
                    let name = format!("{}_stored", self.tensor(tensor).name);
                    let end = self.load_index(pos, count);
                    self.named(&name, end, out)
                }
                (
                    LevelKind::Compressed
                    | LevelKind::Singleton
                    | LevelKind::Hashed
                    | LevelKind::Bitmap
                    | LevelKind::Range,
                    _,
                ) => count,
            };
            if let (Some(own), Some(crd)) = (own_crd, crd) {
                self.copy_index(own, crd, &count, out);
            }
        }
        out.push(ir::Stmt::Alloc {
            array: self.storage[&tensor].values,
            count,
            zeroed: false,
        });
        Some(Pattern { tensor, source })
    }

    fn copy_index(&mut self, to: ArrayId, from: ArrayId, count: &Expr, out: &mut Vec<ir::Stmt>) {
        out.push(ir::Stmt::Alloc {
            array: to,
            count: count.clone(),
            zeroed: false,
        });
        let (k, at) = self.fresh_index("k", false);
        let value = self.load(from, at.clone());
        let elem = self.arrays[to.0 as usize].elem;
        out.push(ir::Stmt::For {
            var: k,
            lo: b::int(0),
            hi: count.clone(),
            step: 1,
            tag: ir::LoopTag::default(),
            body: vec![ir::Stmt::Store {
                array: to,
                index: at,
                op: None,
                value: b::cast(elem, value),
                atomic: false,
            }],
        });
    }

    /// Where the element at hand stands: where the operand's does.
    pub(super) fn pattern_index(&self, pattern: Pattern, scope: &Scope) -> Lower<Expr> {
        let cursor = self.cursor(scope, pattern.source);
        let result = self.tensor(pattern.tensor);
        if cursor.level == result.format.order() && cursor.present.is_none() {
            return Ok(cursor.pos.clone());
        }
        let operand = &self
            .tensor(self.table.get(pattern.source).access.tensor)
            .name;
        Err(self
            .error(
                codes::DENSE_RESULT,
                format!(
                    "every coordinate of the sparse result `{}` would be tried: not supported yet",
                    result.name
                ),
                &format!("`{operand}` cannot be walked in the order of the loops"),
            )
            .with_help(format!(
                "leave the loops in the order of `{operand}`, or store `{}` dense",
                result.name
            )))
    }
}
