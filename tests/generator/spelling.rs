//! The text of data files: numbers, comments, blanks and line ends in all their forms.

use crate::datafile::{DataFile, Field, Quarters, Symmetry};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The spelling of files that are easy to read.
pub const PLAIN: u64 = u64::MAX;

impl DataFile {
    pub fn matrix(
        &self,
        array: bool,
        field: Field,
        symmetry: Symmetry,
        shape: [u64; 2],
        entries: Vec<([u64; 2], Quarters)>,
    ) -> Vec<u8> {
        let field_name = match field {
            Field::Real if self.spelled(6, 4) => "double",
            Field::Real => "real",
            Field::Integer => "integer",
            Field::Complex => "complex",
            Field::Pattern => "pattern",
        };
        let symmetry_name = match symmetry {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::Skew => "skew-symmetric",
            Symmetry::Hermitian => "hermitian",
        };
        let form = if array { "array" } else { "coordinate" };
        let mut words = format!("matrix {form} {field_name} {symmetry_name}");
        if self.spelled(7, 3) {
            words = words.to_uppercase();
        }
        let [rows, cols] = shape;
        let numbers = |n: usize, (re, im): Quarters| match field {
            Field::Pattern => String::new(),
            Field::Integer => whole(re),
            Field::Real => self.decimal(n, re),
            Field::Complex => format!("{} {}", self.decimal(n, re), self.decimal(n + 1, im)),
        };
        let mut lines = Vec::new();
        if array {
            lines.push(format!("{rows} {cols}"));
            let known: BTreeMap<[u64; 2], Quarters> = entries.into_iter().collect();
            for j in 0..cols {
                let first = match symmetry {
                    Symmetry::General => 0,
                    Symmetry::Symmetric | Symmetry::Hermitian => j,
                    Symmetry::Skew => j + 1,
                };
                for i in first..rows {
                    let value = known.get(&[i, j]).copied().unwrap_or_default();
                    lines.push(numbers(lines.len(), value));
                }
            }
        } else {
            lines.push(format!("{rows} {cols} {}", entries.len()));
            for (n, ([i, j], value)) in entries.into_iter().enumerate() {
                lines.push(format!("{} {} {}", i + 1, j + 1, numbers(n, value)));
            }
        }
        let banner = format!("%%MatrixMarket {words}");
        self.lines(Some(banner), '%', &lines)
    }

    pub fn tns(&self, dims: &[u64]) -> Vec<u8> {
        let mut lines = Vec::new();
        for (n, (at, value)) in self.written(dims).into_iter().enumerate() {
            let mut line = String::new();
            for c in at {
                let _ = write!(line, "{} ", c + 1);
            }
            lines.push(line + &self.decimal(n, value.0));
        }
        self.lines(None, '#', &lines)
    }

    /// Lines with what may stand between them.
    fn lines(&self, banner: Option<String>, comment: char, lines: &[String]) -> Vec<u8> {
        let end = if self.spelled(0, 4) { "\r\n" } else { "\n" };
        let mut out = String::new();
        if let Some(banner) = banner {
            out += &(banner + end);
        }
        for (n, line) in lines.iter().enumerate() {
            if self.spelled(11 + n, 9) {
                let _ = write!(out, "{comment} 1 1 1{end}");
            }
            if self.spelled(23 + n, 11) {
                out += end;
            }
            let line = match self.pick(31 + n, 8) {
                0 => format!("  {line}"),
                1 => format!("{line} \t"),
                2 => line.replace(' ', " \t "),
                _ => line.clone(),
            };
            out += &(line + end);
        }
        if self.spelled(3, 4) {
            out.truncate(out.trim_end_matches(['\r', '\n']).len());
        }
        out.into_bytes()
    }

    /// One of `count` ways to spell what stands at `at`.
    fn pick(&self, at: usize, count: u64) -> u64 {
        if self.spelling == PLAIN {
            return count - 1;
        }
        let mut bits = (self.spelling ^ (at as u64)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (bits >> 33) % count
    }

    fn spelled(&self, at: usize, one_in: u64) -> bool {
        self.pick(at, one_in) == 0
    }

    /// A real number in one of its spellings.
    fn decimal(&self, at: usize, quarters: i128) -> String {
        let sign = if quarters < 0 { "-" } else { "" };
        let magnitude = quarters.unsigned_abs();
        let (units, rest) = (magnitude / 4, magnitude % 4 * 25);
        if rest == 0 {
            return match self.pick(at, 8) {
                0 => format!("{sign}{units}."),
                1 => format!("{sign}{units}.000"),
                2 => format!("{sign}{units}e0"),
                3 if sign.is_empty() => format!("+{units}"),
                4 if units == 0 => "-0".to_string(),
                5 => format!("{sign}{units}0E-01"),
                _ => format!("{sign}{units}"),
            };
        }
        match self.pick(at, 6) {
            0 if units == 0 => format!("{sign}.{rest:02}"),
            1 => format!("{sign}{units}{rest:02}e-2"),
            2 => format!("{sign}{units}.{rest:02}000D+00"),
            3 => format!("{sign}0.{units}{rest:02}e{}", units.to_string().len()),
            _ => format!("{sign}{units}.{rest:02}"),
        }
    }
}

fn whole(quarters: i128) -> String {
    (quarters / 4).to_string()
}
