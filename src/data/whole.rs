//! Whole numbers of 64 bits, signed or not: which of the two, all of them together show.

use super::values::Values;

/// A growing vector of whole numbers between the smallest `int64` and the largest `uint64`.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    /// In two's complement.
    bits: Vec<u64>,
    negative: bool,
    /// Beyond `int64`.
    large: bool,
}

impl Whole {
    #[must_use]
    pub fn with_capacity(room: usize) -> Self {
        Whole {
            bits: Vec::with_capacity(room),
            ..Whole::default()
        }
    }

    /// Adds a number; says whether one type still holds all of them.
    #[must_use]
    pub fn push(&mut self, n: i128) -> bool {
        let bits = match (i64::try_from(n), u64::try_from(n)) {
            (Ok(signed), _) => {
                self.negative |= signed < 0;
                signed.cast_unsigned()
            }
            (Err(_), Ok(unsigned)) => {
                self.large = true;
                unsigned
            }
            (Err(_), Err(_)) => return false,
        };
        self.bits.push(bits);
        !(self.negative && self.large)
    }

    /// The number at `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> i128 {
        if self.large {
            i128::from(self.bits[at])
        } else {
            i128::from(self.bits[at].cast_signed())
        }
    }

    /// `int64` if it holds all of them, else `uint64`.
    #[must_use]
    pub fn finish(self) -> Values {
        if self.large {
            Values::U64(self.bits)
        } else {
            Values::I64(self.bits.into_iter().map(u64::cast_signed).collect())
        }
    }
}
