//! `.npy` files in all the layouts that NumPy writes and reads.

use crate::datafile::{Content, Quarters};
use half::f16;
use sparsec::scalar::ScalarType;

#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub ty: ScalarType,
    pub big_endian: bool,
    pub fortran: bool,
    /// 1 to 3.
    pub version: u8,
    /// How the header is spelt.
    pub spelling: u64,
}

impl Layout {
    /// A file with these elements, and zeros elsewhere.
    pub fn bytes(&self, dims: &[u64], content: &Content) -> Vec<u8> {
        let header = self.header(dims);
        let mut out = vec![0x93, b'N', b'U', b'M', b'P', b'Y', self.version, 0];
        if self.version == 1 {
            out.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        } else {
            out.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
        }
        out.extend(header.as_bytes());
        let count: u64 = dims.iter().product();
        let mut at = vec![0u64; dims.len()];
        for _ in 0..count {
            self.element(content.get(&at).copied().unwrap_or_default(), &mut out);
            // The last mode is the fastest, or the first.
            let step = |c: &mut u64, d: u64| {
                *c = (*c + 1) % d;
                *c != 0
            };
            let mut modes = at.iter_mut().zip(dims);
            if self.fortran {
                modes.any(|(c, d)| step(c, *d));
            } else {
                modes.rev().any(|(c, d)| step(c, *d));
            }
        }
        out
    }

    fn header(&self, dims: &[u64]) -> String {
        let order = match (self.ty.size(), self.big_endian) {
            (1, _) => ["|", "", "<", ">"][(self.spelling % 4) as usize],
            (_, true) => ">",
            (_, false) => ["<", "<", "=", ""][(self.spelling % 4) as usize],
        };
        let descr = format!("'descr': '{order}{}'", name(self.ty));
        let fortran = if self.fortran { "True" } else { "False" };
        let fortran = format!("'fortran_order': {fortran}");
        let list: Vec<String> = dims.iter().map(ToString::to_string).collect();
        let comma = if dims.len() == 1 || self.spelling & 4 != 0 {
            ","
        } else {
            ""
        };
        let shape = format!("'shape': ({}{comma})", list.join(", "));
        let fields = match self.spelling / 8 % 3 {
            0 => [descr, fortran, shape],
            1 => [shape, descr, fortran],
            _ => [fortran, shape, descr],
        };
        let last = if self.spelling & 64 == 0 { ", " } else { "" };
        let mut header = format!("{{{}{last}}}", fields.join(", "));
        if self.spelling & 128 != 0 {
            header = header.replace(": ", ":").replace(", '", ",'");
        }
        let start = if self.version == 1 { 10 } else { 12 };
        while !(start + header.len() + 1).is_multiple_of(64) {
            header.push(' ');
        }
        header + "\n"
    }

    fn element(&self, (re, im): Quarters, out: &mut Vec<u8>) {
        self.part(re, out);
        if self.ty.is_complex() {
            self.part(im, out);
        }
    }

    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    fn part(&self, quarters: i128, out: &mut Vec<u8>) {
        let x = quarters as f64 / 4.0;
        // Two's complement, of which the low bytes count.
        let whole = (quarters / 4).to_le_bytes();
        let mut bytes = match self.ty {
            ScalarType::F64 | ScalarType::C128 => x.to_le_bytes().to_vec(),
            ScalarType::F32 | ScalarType::C64 => (x as f32).to_le_bytes().to_vec(),
            ScalarType::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
            ScalarType::Bool
            | ScalarType::I8
            | ScalarType::I16
            | ScalarType::I32
            | ScalarType::I64
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::U64
            | ScalarType::BF16 => whole[..self.ty.size()].to_vec(),
        };
        if self.big_endian {
            bytes.reverse();
        }
        out.extend(bytes);
    }
}

/// Types that `.npy` files know.
pub fn name(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "b1",
        ScalarType::I8 => "i1",
        ScalarType::I16 => "i2",
        ScalarType::I32 => "i4",
        ScalarType::I64 => "i8",
        ScalarType::U8 => "u1",
        ScalarType::U16 => "u2",
        ScalarType::U32 => "u4",
        ScalarType::U64 => "u8",
        ScalarType::F16 => "f2",
        ScalarType::F32 => "f4",
        ScalarType::F64 | ScalarType::BF16 => "f8",
        ScalarType::C64 => "c8",
        ScalarType::C128 => "c16",
    }
}
