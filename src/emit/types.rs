//! Element types in C.

use crate::scalar::ScalarType;

/// The type of a value in memory.
#[must_use]
pub fn c_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "bool",
        ScalarType::I8 => "int8_t",
        ScalarType::I16 => "int16_t",
        ScalarType::I32 => "int32_t",
        ScalarType::I64 => "int64_t",
        ScalarType::U8 => "uint8_t",
        ScalarType::U16 => "uint16_t",
        ScalarType::U32 => "uint32_t",
        ScalarType::U64 => "uint64_t",
        ScalarType::F16 => "sparsec_half",
        ScalarType::BF16 => "sparsec_bfloat16",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
        ScalarType::C64 => "sparsec_complex64",
        ScalarType::C128 => "sparsec_complex128",
    }
}

/// The constant of `enum sparsec_type`.
#[must_use]
pub fn type_code(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "SPARSEC_BOOL",
        ScalarType::I8 => "SPARSEC_INT8",
        ScalarType::I16 => "SPARSEC_INT16",
        ScalarType::I32 => "SPARSEC_INT32",
        ScalarType::I64 => "SPARSEC_INT64",
        ScalarType::U8 => "SPARSEC_UINT8",
        ScalarType::U16 => "SPARSEC_UINT16",
        ScalarType::U32 => "SPARSEC_UINT32",
        ScalarType::U64 => "SPARSEC_UINT64",
        ScalarType::F16 => "SPARSEC_HALF",
        ScalarType::BF16 => "SPARSEC_BFLOAT16",
        ScalarType::F32 => "SPARSEC_FLOAT32",
        ScalarType::F64 => "SPARSEC_FLOAT64",
        ScalarType::C64 => "SPARSEC_COMPLEX64",
        ScalarType::C128 => "SPARSEC_COMPLEX128",
    }
}

/// The suffix of integer helpers: `int32` in `sparsec_min_int32`.
#[must_use]
pub fn helper_suffix(ty: ScalarType) -> &'static str {
    if ty == ScalarType::Bool {
        "int32"
    } else {
        ty.name()
    }
}

/// Whether vectors have lanes of the type: what is computed, never a subscript.
#[must_use]
pub fn is_lane(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F32 | ScalarType::F64)
}

/// The vector type of so many elements, see `sparsec.h`.
#[must_use]
pub fn lane_type(ty: ScalarType, count: u32) -> String {
    format!("sparsec_{}{count}", c_type(ty))
}

/// The name of a type of half width, whose elements are stored as their bits.
#[must_use]
pub fn half(ty: ScalarType) -> Option<&'static str> {
    if ty == ScalarType::BF16 {
        return Some("bfloat16");
    }
    (ty == ScalarType::F16).then_some("half")
}
