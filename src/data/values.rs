//! Typed vectors of elements.

use crate::scalar::{Literal, ScalarType};
use half::{bf16, f16};
use num_complex::Complex;

/// A vector of elements of one [`ScalarType`].
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    C64(Vec<Complex<f32>>),
    C128(Vec<Complex<f64>>),
}

/// One element, wide enough for every type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i128),
    Real(f64),
    Complex(Complex<f64>),
}

impl Number {
    /// The real part as a float.
    #[must_use]
    #[expect(clippy::cast_precision_loss)]
    pub fn real(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Real(x) => x,
            Number::Complex(z) => z.re,
        }
    }

    #[must_use]
    pub fn complex(self) -> Complex<f64> {
        match self {
            Number::Int(_) | Number::Real(_) => Complex::new(self.real(), 0.0),
            Number::Complex(z) => z,
        }
    }

    /// Towards zero, as C converts.
    #[must_use]
    #[expect(clippy::cast_possible_truncation)]
    pub fn int(self) -> i128 {
        match self {
            Number::Int(i) => i,
            Number::Real(x) => x as i128,
            Number::Complex(z) => z.re as i128,
        }
    }

    #[must_use]
    pub fn is_zero(self) -> bool {
        self.complex() == Complex::new(0.0, 0.0)
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(self) -> f64 {
        self.complex().norm()
    }
}

/// An element type: conversions to and from [`Number`], and addition.
pub trait Element: Copy {
    fn from_number(n: Number) -> Self;
    fn number(self) -> Number;
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

macro_rules! integer_element {
    ($($t:ty),*) => {$(
        impl Element for $t {
            #[expect(clippy::cast_possible_truncation)]
            #[allow(clippy::cast_lossless)]
            fn from_number(n: Number) -> Self {
                n.int() as $t
            }
            fn number(self) -> Number {
                Number::Int(i128::from(self))
            }
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}
integer_element!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Element for bool {
    fn from_number(n: Number) -> Self {
        !n.is_zero()
    }
    fn number(self) -> Number {
        Number::Int(i128::from(self))
    }
    fn plus(self, other: Self) -> Self {
        self || other
    }
}

impl Element for f64 {
    fn from_number(n: Number) -> Self {
        n.real()
    }
    fn number(self) -> Number {
        Number::Real(self)
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Element for f32 {
    #[expect(clippy::cast_possible_truncation)]
    fn from_number(n: Number) -> Self {
        n.real() as f32
    }
    fn number(self) -> Number {
        Number::Real(f64::from(self))
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Element for f16 {
    fn from_number(n: Number) -> Self {
        f16::from_f64(n.real())
    }
    fn number(self) -> Number {
        Number::Real(self.to_f64())
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Element for bf16 {
    fn from_number(n: Number) -> Self {
        bf16::from_f64(n.real())
    }
    fn number(self) -> Number {
        Number::Real(self.to_f64())
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Element for Complex<f64> {
    fn from_number(n: Number) -> Self {
        n.complex()
    }
    fn number(self) -> Number {
        Number::Complex(self)
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Element for Complex<f32> {
    #[expect(clippy::cast_possible_truncation)]
    fn from_number(n: Number) -> Self {
        let z = n.complex();
        Complex::new(z.re as f32, z.im as f32)
    }
    fn number(self) -> Number {
        Number::Complex(Complex::new(f64::from(self.re), f64::from(self.im)))
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

/// Evaluates an expression with the vector of whatever type it is.
macro_rules! with_values {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            Values::Bool($v) => $body,
            Values::I8($v) => $body,
            Values::I16($v) => $body,
            Values::I32($v) => $body,
            Values::I64($v) => $body,
            Values::U8($v) => $body,
            Values::U16($v) => $body,
            Values::U32($v) => $body,
            Values::U64($v) => $body,
            Values::F16($v) => $body,
            Values::BF16($v) => $body,
            Values::F32($v) => $body,
            Values::F64($v) => $body,
            Values::C64($v) => $body,
            Values::C128($v) => $body,
        }
    };
}

/// The same for two vectors of one type; the second expression runs if types differ.
macro_rules! with_pair {
    ($a:expr, $b:expr, $v:ident, $w:ident => $body:expr, else $other:expr) => {
        match ($a, $b) {
            (Values::Bool($v), Values::Bool($w)) => $body,
            (Values::I8($v), Values::I8($w)) => $body,
            (Values::I16($v), Values::I16($w)) => $body,
            (Values::I32($v), Values::I32($w)) => $body,
            (Values::I64($v), Values::I64($w)) => $body,
            (Values::U8($v), Values::U8($w)) => $body,
            (Values::U16($v), Values::U16($w)) => $body,
            (Values::U32($v), Values::U32($w)) => $body,
            (Values::U64($v), Values::U64($w)) => $body,
            (Values::F16($v), Values::F16($w)) => $body,
            (Values::BF16($v), Values::BF16($w)) => $body,
            (Values::F32($v), Values::F32($w)) => $body,
            (Values::F64($v), Values::F64($w)) => $body,
            (Values::C64($v), Values::C64($w)) => $body,
            (Values::C128($v), Values::C128($w)) => $body,
            _ => $other,
        }
    };
}

impl Values {
    #[must_use]
    pub fn ty(&self) -> ScalarType {
        match self {
            Self::Bool(_) => ScalarType::Bool,
            Self::I8(_) => ScalarType::I8,
            Self::I16(_) => ScalarType::I16,
            Self::I32(_) => ScalarType::I32,
            Self::I64(_) => ScalarType::I64,
            Self::U8(_) => ScalarType::U8,
            Self::U16(_) => ScalarType::U16,
            Self::U32(_) => ScalarType::U32,
            Self::U64(_) => ScalarType::U64,
            Self::F16(_) => ScalarType::F16,
            Self::BF16(_) => ScalarType::BF16,
            Self::F32(_) => ScalarType::F32,
            Self::F64(_) => ScalarType::F64,
            Self::C64(_) => ScalarType::C64,
            Self::C128(_) => ScalarType::C128,
        }
    }

    /// `count` elements of `ty` that are all `n` (as C converts it).
    #[must_use]
    pub fn filled(ty: ScalarType, count: usize, n: Number) -> Self {
        match ty {
            ScalarType::Bool => Self::Bool(vec![Element::from_number(n); count]),
            ScalarType::I8 => Self::I8(vec![Element::from_number(n); count]),
            ScalarType::I16 => Self::I16(vec![Element::from_number(n); count]),
            ScalarType::I32 => Self::I32(vec![Element::from_number(n); count]),
            ScalarType::I64 => Self::I64(vec![Element::from_number(n); count]),
            ScalarType::U8 => Self::U8(vec![Element::from_number(n); count]),
            ScalarType::U16 => Self::U16(vec![Element::from_number(n); count]),
            ScalarType::U32 => Self::U32(vec![Element::from_number(n); count]),
            ScalarType::U64 => Self::U64(vec![Element::from_number(n); count]),
            ScalarType::F16 => Self::F16(vec![Element::from_number(n); count]),
            ScalarType::BF16 => Self::BF16(vec![Element::from_number(n); count]),
            ScalarType::F32 => Self::F32(vec![Element::from_number(n); count]),
            ScalarType::F64 => Self::F64(vec![Element::from_number(n); count]),
            ScalarType::C64 => Self::C64(vec![Element::from_number(n); count]),
            ScalarType::C128 => Self::C128(vec![Element::from_number(n); count]),
        }
    }

    /// `count` zeros of the same type.
    #[must_use]
    pub fn zeros(&self, count: usize) -> Self {
        Self::filled(self.ty(), count, Number::Int(0))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        with_values!(self, v => v.len())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `at`.
    ///
    /// # Panics
    /// When `at` is out of range.
    #[must_use]
    pub fn get(&self, at: usize) -> Number {
        with_values!(self, v => v[at].number())
    }

    /// Sets the element at `at`, converted as C does.
    ///
    /// # Panics
    /// When `at` is out of range.
    pub fn set(&mut self, at: usize, n: Number) {
        with_values!(self, v => v[at] = Element::from_number(n));
    }

    pub fn push(&mut self, n: Number) {
        with_values!(self, v => v.push(Element::from_number(n)));
    }

    /// `self[at] = other[k]`
    pub fn set_from(&mut self, at: usize, other: &Values, k: usize) {
        with_pair!(&mut *self, other, v, w => v[at] = w[k], else self.set(at, other.get(k)));
    }

    /// `self[at] += other[k]`
    pub fn add_from(&mut self, at: usize, other: &Values, k: usize) {
        with_pair!(&mut *self, other, v, w => v[at] = v[at].plus(w[k]), else ());
    }

    /// Puts element `order(k)` of `other`, which has the same type, at `at[k]`. Those of one
    /// place, which stand together, are added up.
    ///
    /// # Panics
    /// When a place or an element is out of range.
    pub fn place(&mut self, at: &[u64], other: &Values, order: impl Fn(usize) -> usize) {
        with_pair!(self, other, v, w => {
            let mut last = None;
            for (k, &place) in at.iter().enumerate() {
                let to = usize::try_from(place).unwrap_or(usize::MAX);
                let own = w[order(k)];
                v[to] = if last == Some(place) { v[to].plus(own) } else { own };
                last = Some(place);
            }
        }, else ());
    }

    /// The same elements in another type, as C converts them.
    #[must_use]
    pub fn convert(&self, ty: ScalarType) -> Values {
        if self.ty() == ty {
            return self.clone();
        }
        let mut out = Values::filled(ty, self.len(), Number::Int(0));
        for at in 0..self.len() {
            out.set(at, self.get(at));
        }
        out
    }

    /// The first element's address, for kernels.
    pub fn as_mut_ptr(&mut self) -> *mut std::ffi::c_void {
        with_values!(self, v => v.as_mut_ptr().cast())
    }

    /// The elements as memory holds them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        with_values!(self, v => {
            let length = std::mem::size_of_val(v.as_slice());
            // SAFETY: every element type is plain data without padding.
            unsafe { std::slice::from_raw_parts(v.as_ptr().cast(), length) }
        })
    }

    /// Elements of `ty` from memory; a rest shorter than an element is left out.
    #[must_use]
    pub fn from_bytes(ty: ScalarType, bytes: &[u8]) -> Values {
        let count = bytes.len() / ty.size();
        let mut out = Values::filled(ty, count, Number::Int(0));
        if let Values::Bool(v) = &mut out {
            for (to, from) in v.iter_mut().zip(bytes) {
                *to = *from != 0;
            }
            return out;
        }
        with_values!(&mut out, v => {
            // SAFETY: as in `bytes`; every bit pattern of the other types is valid.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), v.as_mut_ptr().cast(), count * ty.size());
            }
        });
        out
    }
}

/// A literal as a number.
#[must_use]
pub fn literal(l: Literal) -> Number {
    match l {
        Literal::Bool(b) => Number::Int(i128::from(b)),
        Literal::Int(i) => Number::Int(i128::from(i)),
        Literal::Float(x) => Number::Real(x),
    }
}
