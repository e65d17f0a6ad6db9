//! Statements of a GPU's program.

use super::stmt::equals;
use super::{Read, Reader, Writer, words};
use crate::loops::device::ir::{Claim, Device, ReduceScope, Retry, Scan, Scope};
use crate::loops::ir::Room;

impl Writer<'_> {
    /// What grows.
    pub(super) fn rooms(&self, rooms: &[Room]) -> String {
        let room = |room: &Room| {
            let (capacity, arrays) = (self.var(room.capacity), self.array_list(&room.arrays));
            let first = room.first.as_ref();
            let first = first.map_or(String::new(), |e| format!(" from {}", self.expr(e)));
            format!(" capacity {capacity}{first} of {arrays}")
        };
        rooms.iter().map(room).collect()
    }

    /// The statement's own line.
    pub(super) fn device(&self, device: &Device) -> String {
        match device {
            Device::Launch { grid, block, .. } => {
                let [x, y, z] = grid.each_ref().map(|e| self.expr(e));
                let [bx, by, bz] = block;
                format!("launch ({x}, {y}, {z}) of ({bx}, {by}, {bz})")
            }
            Device::Retry(retry) => {
                let mut text = format!("retry {}", self.array(retry.needs));
                text += &self.rooms(&retry.rooms);
                text
            }
            Device::Scan(scan) => {
                let (array, sums) = (self.array(scan.array), self.array(scan.sums));
                let op = words::sign(scan.op);
                let total = |(totals, at)| format!(" to {}[{at}]", self.array(totals));
                let total = scan.total.map_or(String::new(), total);
                let count = self.expr(&scan.count);
                format!("scanned {array}[{count}] by {op} with {sums}{total}")
            }
            Device::Fetch { totals, vars } => {
                let vars: Vec<&str> = vars.iter().map(|var| self.var(*var)).collect();
                format!("fetch {} from {}", vars.join(", "), self.array(*totals))
            }
            Device::Aligned { array, bytes } => {
                format!("aligned {} to {bytes}", self.array(*array))
            }
            Device::Barrier(Scope::Block) => "barrier".to_string(),
            Device::Barrier(Scope::Lanes(n)) => format!("barrier lanes({n})"),
            Device::Reduce { var, op, scope } => {
                let scope = match scope {
                    ReduceScope::Lanes(n) => format!("lanes({n})"),
                    ReduceScope::Strided {
                        scratch,
                        count,
                        stride,
                    } => format!("{count} by {stride} in {}", self.array(*scratch)),
                };
                let op = words::sign(*op);
                format!("reduce({op} {}) over {scope}", self.var(*var))
            }
            Device::Claim(claim) => {
                let var = claim.var.map(|var| format!(" as {}", self.var(var)));
                let (var, table) = (var.unwrap_or_default(), self.array(claim.table));
                let [slots, extent, key] =
                    [&claim.slots, &claim.extent, &claim.key].map(|e| self.expr(e));
                let (count, keys) = (self.array(claim.count), self.array(claim.keys));
                let places = claim
                    .places
                    .map(|places| format!(", {}", self.array(places)));
                let places = places.unwrap_or_default();
                format!(
                    "claim {table}[{slots}] of {extent} for {key} noted by {count} in {keys}{places}{var}"
                )
            }
            Device::Sort {
                coordinates,
                values,
                count,
                scratch,
            } => {
                let (values, count) = (self.array(*values), self.expr(count));
                let (by, scratch) = (self.array_list(coordinates), self.array(*scratch));
                format!("sort_all {values}[{count}] in {scratch} by {by}")
            }
            Device::SegmentStore {
                array,
                index,
                op,
                value,
                lanes,
            } => {
                let (array, op) = (self.array(*array), equals(Some(*op)));
                let (index, value) = (self.expr(index), self.expr(value));
                format!("segments({lanes}) {array}[{index}] {op} {value}")
            }
        }
    }
}

impl Reader {
    /// The statement that begins with this word.
    pub(super) fn device(&mut self, word: &str, indent: usize) -> Read<Device> {
        let device = match word {
            "launch" => {
                let grid = self.three(Self::expr)?;
                self.expect_word("of")?;
                let block = self.three(Self::number)?;
                let body = self.inside(indent)?;
                return Ok(Device::Launch { grid, block, body });
            }
            "retry" => {
                let needs = self.array()?;
                let rooms = self.rooms()?;
                let body = self.inside(indent)?;
                return Ok(Device::Retry(Retry { rooms, needs, body }));
            }
            "scanned" => {
                let array = self.array()?;
                self.expect_mark("[")?;
                let count = self.index()?;
                self.expect_word("by")?;
                let op = self.reduction()?;
                self.expect_word("with")?;
                let sums = self.array()?;
                let mut total = None;
                if self.word("to") {
                    let totals = self.array()?;
                    self.expect_mark("[")?;
                    total = Some((totals, self.number()?));
                    self.expect_mark("]")?;
                }
                Device::Scan(Scan {
                    array,
                    count,
                    op,
                    sums,
                    total,
                })
            }
            "fetch" => {
                let mut vars = vec![self.var()?];
                while self.mark(",") {
                    vars.push(self.var()?);
                }
                self.expect_word("from")?;
                let totals = self.array()?;
                Device::Fetch { totals, vars }
            }
            "aligned" => {
                let array = self.array()?;
                self.expect_word("to")?;
                let bytes = self.number()?;
                Device::Aligned { array, bytes }
            }
            "barrier" if self.word("lanes") => {
                Device::Barrier(Scope::Lanes(self.in_parentheses()?))
            }
            "barrier" => Device::Barrier(Scope::Block),
            "reduce" => self.reduce()?,
            "claim" => Device::Claim(self.claim()?),
            "sort_all" => {
                let values = self.array()?;
                self.expect_mark("[")?;
                let count = self.index()?;
                self.expect_word("in")?;
                let scratch = self.array()?;
                self.expect_word("by")?;
                let coordinates = self.array_list()?;
                Device::Sort {
                    coordinates,
                    values,
                    count,
                    scratch,
                }
            }
            _ => {
                let lanes = self.in_parentheses()?;
                let array = self.array()?;
                self.expect_mark("[")?;
                let index = self.index()?;
                let op = self.equals()?;
                let op = op.ok_or_else(|| self.wrong("segments are added up"))?;
                let value = self.expr()?;
                Device::SegmentStore {
                    array,
                    index,
                    op,
                    value,
                    lanes,
                }
            }
        };
        self.end()?;
        Ok(device)
    }

    fn claim(&mut self) -> Read<Claim> {
        let table = self.array()?;
        self.expect_mark("[")?;
        let slots = self.index()?;
        self.expect_word("of")?;
        let extent = self.expr()?;
        self.expect_word("for")?;
        let key = self.expr()?;
        self.expect_word("noted")?;
        self.expect_word("by")?;
        let count = self.array()?;
        self.expect_word("in")?;
        let keys = self.array()?;
        let places = match self.mark(",") {
            true => Some(self.array()?),
            false => None,
        };
        let var = match self.word("as") {
            true => Some(self.var()?),
            false => None,
        };
        Ok(Claim {
            var,
            table,
            slots,
            extent,
            key,
            count,
            keys,
            places,
        })
    }

    fn reduce(&mut self) -> Read<Device> {
        self.expect_mark("(")?;
        let op = self.reduction()?;
        let var = self.var()?;
        self.expect_mark(")")?;
        self.expect_word("over")?;
        let scope = if self.word("lanes") {
            ReduceScope::Lanes(self.in_parentheses()?)
        } else {
            let count = self.number()?;
            self.expect_word("by")?;
            let stride = self.number()?;
            self.expect_word("in")?;
            let scratch = self.array()?;
            ReduceScope::Strided {
                scratch,
                count,
                stride,
            }
        };
        Ok(Device::Reduce { var, op, scope })
    }

    pub(super) fn rooms(&mut self) -> Read<Vec<Room>> {
        let mut rooms = Vec::new();
        while self.word("capacity") {
            let capacity = self.var()?;
            let first = match self.word("from") {
                true => Some(self.expr()?),
                false => None,
            };
            self.expect_word("of")?;
            let arrays = self.array_list()?;
            rooms.push(Room {
                capacity,
                arrays,
                first,
            });
        }
        Ok(rooms)
    }

    /// `(x, y, z)`
    fn three<T>(&mut self, one: impl Fn(&mut Self) -> Read<T>) -> Read<[T; 3]> {
        self.expect_mark("(")?;
        let x = one(self)?;
        self.expect_mark(",")?;
        let y = one(self)?;
        self.expect_mark(",")?;
        let z = one(self)?;
        self.expect_mark(")")?;
        Ok([x, y, z])
    }
}
