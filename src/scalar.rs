//! Element types and literals: the vocabulary that all stages share.

use serde::Serialize;

/// The type of a tensor's elements (language.md, "Types").
///
/// `F16` and `BF16` are storage types: arithmetic on them is done in `F32` and
/// rounded when it is stored (see [`ScalarType::compute`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum ScalarType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
}

impl ScalarType {
    pub const ALL: [ScalarType; 15] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::C64,
        Self::C128,
    ];

    /// The type of a name of the language (`double`, `int`, `byte`, ...).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int8" => Self::I8,
            "int16" => Self::I16,
            "int32" | "int" => Self::I32,
            "int64" | "long" => Self::I64,
            "uint8" | "byte" => Self::U8,
            "uint16" => Self::U16,
            "uint32" => Self::U32,
            "uint64" => Self::U64,
            "half" => Self::F16,
            "bfloat16" => Self::BF16,
            "float" => Self::F32,
            "double" => Self::F64,
            "complex64" => Self::C64,
            "complex128" => Self::C128,
            _ => return None,
        })
    }

    /// The language's canonical name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F16 => "half",
            Self::BF16 => "bfloat16",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            Self::I8
                | Self::I16
                | Self::I32
                | Self::I64
                | Self::U8
                | Self::U16
                | Self::U32
                | Self::U64
        )
    }

    #[must_use]
    pub fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    #[must_use]
    pub fn is_complex(self) -> bool {
        matches!(self, Self::C64 | Self::C128)
    }

    /// The smallest and the largest number of an integer type.
    #[must_use]
    pub fn ends(self) -> Option<(i128, i128)> {
        let bits = 8 * u32::try_from(self.size()).ok()?;
        match (self.is_integer(), self.is_unsigned()) {
            (false, _) => None,
            (true, true) => Some((0, (1 << bits) - 1)),
            (true, false) => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        }
    }

    /// A constant as computations of this type have it: `float` rounds.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    pub fn rounded(self, constant: Literal) -> Literal {
        let single = matches!(self.compute(), Self::F32 | Self::C64);
        match constant {
            Literal::Float(x) if single => Literal::Float(f64::from(x as f32)),
            Literal::Int(i) if single && i.unsigned_abs() > 1 << f32::MANTISSA_DIGITS => {
                Literal::Float(f64::from(i as f32))
            }
            Literal::Int(_) | Literal::Float(_) | Literal::Bool(_) => constant,
        }
    }

    /// What an element of this type holds of a number: narrow floats round.
    #[must_use]
    #[expect(clippy::cast_possible_truncation)]
    pub fn stored(self, x: f64) -> f64 {
        if self == Self::F16 {
            half::f16::from_f64(x).to_f64()
        } else if self == Self::BF16 {
            half::bf16::from_f64(x).to_f64()
        } else if matches!(self, Self::F32 | Self::C64) {
            f64::from(x as f32)
        } else {
            x
        }
    }

    /// The type arithmetic is done in: `F32` for the half-width floats, else itself.
    #[must_use]
    pub fn compute(self) -> Self {
        if matches!(self, Self::F16 | Self::BF16) {
            Self::F32
        } else {
            self
        }
    }
}

impl std::fmt::Display for ScalarType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A constant. Its type is that of the expression it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Literal {
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl Literal {
    pub const ZERO: Literal = Literal::Int(0);

    /// The value as a float; integers above 2^53 are rounded.
    #[must_use]
    #[expect(clippy::cast_precision_loss)]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Bool(b) => f64::from(u8::from(b)),
            Self::Int(i) => i as f64,
            Self::Float(x) => x,
        }
    }

    /// Numeric equality across kinds (`0 == 0.0 == false`); minus zero equals zero.
    #[must_use]
    pub fn same_value(self, other: Literal) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            _ => self.as_f64() == other.as_f64(),
        }
    }

    #[must_use]
    pub fn is_zero(self) -> bool {
        self.same_value(Self::ZERO)
    }
}

impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Float(x) if x.is_infinite() => f.write_str(if *x > 0.0 { "inf" } else { "-inf" }),
            Self::Float(x) => write!(f, "{x:?}"),
        }
    }
}
