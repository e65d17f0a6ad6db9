//! Tensors as kernels see them: the mirror of `sparsec_tensor` in `sparsec.h`.

use crate::data::values::literal;
use crate::data::{Packed, Values};
use crate::format::{Part, TensorFormat};
use crate::level::{Field, IndexArray, Width};
use crate::scalar::{Literal, ScalarType};
use std::ffi::c_void;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CLevel {
    kind: i32,
    flags: u32,
    mode: i64,
    pos: *mut c_void,
    pos_len: i64,
    pos_cap: i64,
    crd: *mut c_void,
    crd_len: i64,
    crd_cap: i64,
    table: *mut c_void,
    table_len: i64,
    table_cap: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CTensor {
    ty: i32,
    order: i32,
    index_bits: i32,
    flags: u32,
    dims: *mut i64,
    levels: *mut CLevel,
    vals: *mut c_void,
    vals_len: i64,
    vals_cap: i64,
    /// An element of the type.
    fill: [u64; 2],
}

impl CTensor {
    /// Where its values are.
    #[cfg(test)]
    pub(super) fn place(&self) -> *mut c_void {
        self.vals
    }

    /// What a kernel is given to put a result into.
    #[must_use]
    pub fn zeroed() -> Self {
        CTensor {
            ty: 0,
            order: 0,
            index_bits: 0,
            flags: 0,
            dims: std::ptr::null_mut(),
            levels: std::ptr::null_mut(),
            vals: std::ptr::null_mut(),
            vals_len: 0,
            vals_cap: 0,
            fill: [0; 2],
        }
    }

    /// Overwrites all values, of so many bytes, with others: what is not computed again is seen.
    ///
    /// # Safety
    /// A kernel must have made the tensor, of this type.
    pub unsafe fn lose_values(&mut self, size: usize) {
        const LOST: u8 = 0x41;
        if let (Ok(count), false) = (usize::try_from(self.vals_len), self.vals.is_null()) {
            // SAFETY: there are so many bytes, by the caller's promise.
            unsafe { std::ptr::write_bytes(self.vals.cast::<u8>(), LOST, count * size) };
        }
    }
}

/// A packed tensor with its C view. The view points into the tensor.
#[derive(Debug)]
pub struct Argument {
    pub packed: Packed,
    dims: Vec<i64>,
    levels: Vec<CLevel>,
    view: Box<CTensor>,
}

fn length(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Packed {
    /// The extents as kernels' callers give them: those of the modes, then the sizes of blocks and the
    /// number of slots.
    fn seen_dims(&self) -> Vec<i64> {
        let dims = self
            .dims
            .iter()
            .map(|&d| i64::try_from(d).unwrap_or(i64::MAX));
        let added = self.format.added();
        let added = added.map(|level| {
            let extent = self.format.extent(level, &self.dims, self.slots);
            i64::try_from(extent).unwrap_or(i64::MAX)
        });
        dims.chain(added).collect()
    }
}

impl Argument {
    #[must_use]
    pub fn new(packed: Packed) -> Self {
        let mut argument = Argument {
            packed,
            dims: Vec::new(),
            levels: Vec::new(),
            view: Box::new(CTensor::zeroed()),
        };
        argument.refresh();
        argument
    }

    /// Points the view at the tensor's arrays again.
    fn refresh(&mut self) {
        self.dims = self.packed.seen_dims();
        let seen = self.packed.format.seen_modes();
        self.levels = self
            .packed
            .levels
            .iter_mut()
            .enumerate()
            .map(|(l, data)| {
                let level = self.packed.format.levels[l];
                let mut view = CLevel {
                    kind: level.ty().code(),
                    flags: u32::from(!level.unique) | u32::from(!level.ordered) << 1,
                    mode: length(seen[l])
                        | match self.packed.format.parts[l] {
                            Part::Block(n) => i64::from(n) << 32,
                            Part::Diagonal(along) => -(length(along) + 1) << 32,
                            Part::Whole | Part::Within(_) | Part::Slot => 0,
                        },
                    pos: std::ptr::null_mut(),
                    pos_len: 0,
                    pos_cap: 0,
                    crd: std::ptr::null_mut(),
                    crd_len: 0,
                    crd_cap: 0,
                    table: std::ptr::null_mut(),
                    table_len: 0,
                    table_cap: 0,
                };
                for (&role, array) in level.ty().roles().iter().zip(data) {
                    let len = length(array.len());
                    let place = array.as_mut_ptr();
                    match role.field() {
                        Field::Pos => (view.pos, view.pos_len, view.pos_cap) = (place, len, len),
                        Field::Crd => (view.crd, view.crd_len, view.crd_cap) = (place, len, len),
                        Field::Table => {
                            (view.table, view.table_len, view.table_cap) = (place, len, len);
                        }
                    }
                }
                view
            })
            .collect();
        let ty = self.packed.values.ty();
        let stored = length(self.packed.values.len());
        *self.view = CTensor {
            ty: type_code(ty),
            order: i32::try_from(self.dims.len()).unwrap_or(0),
            index_bits: i32::from(self.packed.format.index_bits),
            flags: 0,
            dims: self.dims.as_mut_ptr(),
            levels: self.levels.as_mut_ptr(),
            vals: self.packed.values.as_mut_ptr(),
            vals_len: stored,
            vals_cap: stored,
            fill: fill_of(self.packed.fill, ty),
        };
    }

    /// The tensor as the caller's own arrays, which no kernel frees.
    #[must_use]
    pub fn view(&self) -> CTensor {
        *self.view
    }

    /// The address that the kernel is called with.
    pub fn pointer(&mut self) -> *mut c_void {
        std::ptr::from_mut(&mut *self.view).cast()
    }
}

/// A fill value as memory holds an element of the type.
fn fill_of(fill: Literal, ty: ScalarType) -> [u64; 2] {
    let element = Values::filled(ty, 1, literal(fill));
    let mut bytes = [0; 16];
    bytes[..ty.size()].copy_from_slice(element.bytes());
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| half.try_into().map_or(0, u64::from_ne_bytes))
}

fn type_code(ty: ScalarType) -> i32 {
    let at = ScalarType::ALL.iter().position(|t| *t == ty);
    i32::try_from(at.unwrap_or(0)).unwrap_or(0)
}

/// Copies a result out of a kernel's tensor.
///
/// # Errors
/// The tensor is not as its format says.
///
/// # Safety
/// `view` must be what a kernel that was compiled for `format` and `ty` left there.
pub unsafe fn copy_out(
    view: &CTensor,
    ty: ScalarType,
    format: &TensorFormat,
    fill: Literal,
) -> Result<Packed, String> {
    let dimensions = format.dimensions();
    let order = dimensions + format.added().count();
    if usize::try_from(view.order) != Ok(order) || view.ty != type_code(ty) {
        return Err("the result has another order or type".to_string());
    }
    // SAFETY: the kernel set `order` dims and levels, and the lengths of its arrays.
    unsafe {
        let dims: Vec<u64> = (0..dimensions)
            .map(|m| u64::try_from(*view.dims.add(m)).unwrap_or(0))
            .collect();
        let mut levels = Vec::new();
        for l in 0..format.levels.len() {
            let level = &*view.levels.add(l);
            let arrays = format.levels[l].ty().roles().iter().map(|role| {
                let (at, len) = match role.field() {
                    Field::Pos => (level.pos, level.pos_len),
                    Field::Crd => (level.crd, level.crd_len),
                    Field::Table => (level.table, level.table_len),
                };
                let len = usize::try_from(len).unwrap_or(0);
                let len = if at.is_null() { 0 } else { len };
                let elements = 0..len;
                match role.width(format.index_bits) {
                    Width::Byte => {
                        IndexArray::U8(elements.map(|k| *at.cast::<u8>().add(k)).collect())
                    }
                    Width::Narrow => {
                        IndexArray::I32(elements.map(|k| *at.cast::<i32>().add(k)).collect())
                    }
                    Width::Wide => {
                        IndexArray::I64(elements.map(|k| *at.cast::<i64>().add(k)).collect())
                    }
                }
            });
            levels.push(arrays.collect());
        }
        let count = usize::try_from(view.vals_len).unwrap_or(0);
        let values = if view.vals.is_null() {
            Values::from_bytes(ty, &[])
        } else {
            Values::from_bytes(
                ty,
                std::slice::from_raw_parts(view.vals.cast::<u8>(), count * ty.size()),
            )
        };
        Ok(Packed {
            dims,
            slots: 0,
            format: format.clone(),
            fill,
            levels,
            values,
        })
    }
}
