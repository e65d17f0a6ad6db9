//! A level in memory: its arrays, and the elements that packing brings to it.

use std::ffi::c_void;

/// An array of a level: positions or coordinates in the width of the format, or bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexArray {
    U8(Vec<u8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
}

impl IndexArray {
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that its elements take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::I32(v) => 4 * v.len(),
            Self::I64(v) => 8 * v.len(),
        }
    }

    /// Where kernels find its elements.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        match self {
            Self::U8(v) => v.as_mut_ptr().cast(),
            Self::I32(v) => v.as_mut_ptr().cast(),
            Self::I64(v) => v.as_mut_ptr().cast(),
        }
    }

    /// The element at `at`; `None` out of range or if it is negative.
    #[must_use]
    pub fn get(&self, at: u64) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        match self {
            Self::U8(v) => v.get(at).map(|&x| x.into()),
            Self::I32(v) => v.get(at).and_then(|&x| u64::try_from(x).ok()),
            Self::I64(v) => v.get(at).and_then(|&x| u64::try_from(x).ok()),
        }
    }

    /// Whether all elements are coordinates of a dimension.
    ///
    /// # Errors
    /// Where one is not, in the level `name`.
    pub(super) fn within(&self, extent: u64, name: &str) -> Result<(), String> {
        match (0..self.len() as u64).find(|&at| self.get(at).is_none_or(|c| c >= extent)) {
            None => Ok(()),
            Some(at) => Err(format!(
                "a coordinate of {name} is outside 0..{extent} at {at}"
            )),
        }
    }
}

/// What would not fit memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge(pub &'static str);

/// The largest array that is tried, in bytes.
pub const LIMIT: u64 = 1 << 36;

/// Elements on their way into the levels of a tensor, in storage order.
pub struct Elements<'e> {
    /// Their coordinates in the level at hand and in the singletons right below it.
    pub columns: &'e [&'e [u64]],
    /// Their positions at the level above, which become those at the level at hand.
    pub at: &'e mut [u64],
}

/// What a level stores of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// In the order of the type's roles.
    pub arrays: Vec<Vec<u64>>,
    pub positions: u64,
}

/// A number of elements as an index.
///
/// # Errors
/// There are more than memory has addresses.
pub fn index(n: u64) -> Result<usize, TooLarge> {
    usize::try_from(n).map_err(|_| TooLarge("the tensor"))
}
