//! Draws operands: tensors with their subscripts, types, formats and data.

use crate::maker::Maker;
use crate::program::{Data, Expr, Format, Param, Slots, extents};
use sparsec::scalar::ScalarType;

/// Extents of dimensions that an affine or gathered subscript reads: large enough for
/// whole numbers of `uint8` data (0 to 9) and for `2 * i + j + 2` with i, j below 8.
pub const WIDE: u64 = 24;

/// Of parameters that have one of their own.
pub const MIXED: [&str; 14] = [
    "double", "double", "float", "float", "half", "int8", "int16", "int", "int64", "uint8",
    "uint16", "uint32", "uint64", "bool",
];

/// The same level with a table of its coordinates, if they are unique.
fn hashed(level: &'static str) -> &'static str {
    match level {
        "compressed" => "hashed",
        other => other,
    }
}

/// The same level in no order, if it has coordinates.
fn unordered(level: &'static str) -> &'static str {
    match level {
        "compressed" => "compressed(unordered)",
        "compressed(nonunique)" => "compressed(nonunique, unordered)",
        "singleton(nonunique)" => "singleton(nonunique, unordered)",
        "singleton" => "singleton(unordered)",
        other => other,
    }
}

impl Maker {
    pub(crate) fn operand(&mut self) -> Expr {
        let order = self.below(self.variables.len().min(5) + 1);
        let variables = self.variables.clone();
        let mut subscripts = self.subset(&variables, order);
        if order > 1 && self.chance(8) {
            subscripts[1] = subscripts[0].clone();
        }
        let mut dims: Vec<String> = subscripts.iter().map(|s| s.to_uppercase()).collect();
        if order > 0 && self.chance(12) {
            let at = self.below(order);
            subscripts[at] = self.subscript(&subscripts[at].clone());
            dims[at] = WIDE.to_string();
        }
        let name = format!("T{}", self.params.len());
        let ty = if self.mixed {
            self.pick(&MIXED)
        } else if self.chance(10) {
            self.pick(&["double", "float", "int", "int8", "uint32"])
        } else {
            self.ty
        };
        let format = self.format(order, ty);
        let format = format.map(|format| self.in_blocks(format));
        let format = format.map(|format| self.in_slots(format));
        let format = format.map(|format| self.on_diagonals(format));
        let data = self.data(ty, &dims);
        self.params.push(Param {
            ty,
            name: name.clone(),
            dims,
            format,
            data,
            declared: false,
        });
        Expr::Access(name, subscripts)
    }

    /// A subscript other than a variable: affine, or read from an index tensor.
    fn subscript(&mut self, variable: &str) -> String {
        let at = self.below(self.variables.len());
        let other = self.variables[at].clone();
        // TACO has sums of variables alone.
        let known = if self.taco { 6 } else { 14 };
        match self.below(known) {
            11 => format!("{variable} + {}", 1 + self.below(3)),
            12 => format!("3 * {variable} + {}", self.below(3)),
            13 => {
                let name = self.index_tensor("uint8", &other);
                format!("{variable} + {name}({other})")
            }
            6 => format!("{variable} / 2"),
            7 => format!("({variable} + {other}) % 5"),
            8 => format!("max({variable} - 1, 0)"),
            9 => format!("abs({variable} - {other})"),
            10 => format!("{variable} > 2 ? {variable} - 3 : {other}"),
            0 => format!("{variable} + {}", self.below(4)),
            1 => format!("2 * {variable} + 1"),
            2 => format!("{variable} + {other}"),
            3 => format!("2 * {variable} + {other} + 2"),
            4 => format!("{} - {variable}", 6 + self.below(3)),
            _ => {
                let name = self.index_tensor("uint8", &other);
                format!("{name}({other})")
            }
        }
    }

    /// A full tensor over one variable, with whole numbers.
    pub(crate) fn index_tensor(&mut self, ty: &'static str, variable: &str) -> String {
        let name = format!("G{}", self.params.len());
        let dims = vec![variable.to_uppercase()];
        let data = if self.chance(8) {
            self.file_for(ty, &dims, true)
        } else {
            Data::Text(format!("random:{}:1", self.below(1000)))
        };
        self.params.push(Param {
            ty,
            name: name.clone(),
            dims,
            format: None,
            data,
            declared: false,
        });
        name
    }

    pub(crate) fn format(&mut self, order: usize, ty: &str) -> Option<Format> {
        if order == 0 || self.chance(35) {
            return None;
        }
        // TACO has no bitmaps.
        let known = if self.taco { 5 } else { 7 };
        let kinds = [
            "compressed",
            "compressed",
            "compressed",
            "dense",
            "dense",
            "bitmap",
            "bitmap",
        ];
        let mut levels: Vec<&'static str> =
            (0..order).map(|_| self.pick(&kinds[..known])).collect();
        if order > 1 && self.chance(25) {
            // Coordinates from some level on: all of COO, or its inner part.
            let first = if self.chance(75) {
                0
            } else {
                self.below(order - 1)
            };
            let last = if self.chance(75) {
                order - 1
            } else {
                first + 1 + self.below(order - 1 - first)
            };
            levels[first] = "compressed(nonunique)";
            for level in &mut levels[first + 1..last] {
                *level = "singleton(nonunique)";
            }
            levels[last] = "singleton";
        }
        if !self.taco && self.chance(30) {
            let tabled = self.chance(50);
            for level in &mut levels {
                if self.chance(60) {
                    *level = match tabled {
                        true => hashed(level),
                        false => unordered(level),
                    };
                }
            }
        }
        let modes = if order > 1 && self.chance(30) {
            let modes: Vec<usize> = (0..order).collect();
            self.subset(&modes, order)
        } else {
            Vec::new()
        };
        let fill = self.fill(ty);
        let sparse = levels.iter().any(|level| *level != "dense");
        let all = [
            "density 0.001",
            "density 0.5",
            "row_length 3",
            "row_length 40",
        ];
        let typical = (sparse && self.chance(8)).then(|| self.pick(&all));
        Some(Format {
            levels,
            modes,
            blocks: Vec::new(),
            slots: None,
            diagonals: None,
            fill,
            typical,
            wide: self.chance(10),
        })
    }

    /// A format, some of whose modes may be stored in blocks.
    pub(crate) fn in_blocks(&mut self, mut format: Format) -> Format {
        if self.taco || !self.chance(20) {
            return format;
        }
        for mode in 0..format.levels.len() {
            if self.chance(70) {
                let places = self.pick(&["dense", "dense", "dense", "bitmap", "compressed"]);
                let size = self.pick(&[1, 2, 2, 3, 4]);
                format.blocks.push((mode, size, places));
            }
        }
        if !format.blocks.is_empty() {
            self.note("blocks");
        }
        format
    }

    /// The format of an operand, of which the last modes may be stored in slots.
    fn in_slots(&mut self, mut format: Format) -> Format {
        if self.taco || format.levels.is_empty() || !self.chance(12) {
            return format;
        }
        let singletons = 1 + self.below(2).min(format.levels.len() - 1);
        let rows = format.levels.len() - singletons;
        let plain = |level: &&str| ["dense", "compressed", "bitmap"].contains(level);
        if format.fill.is_some() || !format.levels[..rows].iter().all(plain) {
            return format;
        }
        self.note("slots");
        format.slots = Some(Slots {
            behind: self.below(rows + 1),
            level: self.pick(&["dense", "dense", "compressed"]),
            singletons,
        });
        format
    }

    /// A format, two of whose modes may be stored by diagonals.
    pub(crate) fn on_diagonals(&mut self, mut format: Format) -> Format {
        let plain = format.blocks.is_empty() && format.slots.is_none();
        if self.taco || !plain || format.levels.len() < 2 || !self.chance(12) {
            return format;
        }
        let first = self.below(format.levels.len() - 1);
        let known = |level: &&str| ["dense", "compressed", "bitmap"].contains(level);
        if !format.levels.iter().all(known) {
            return format;
        }
        self.note("diagonals");
        format.diagonals = Some((first, self.pick(&["compressed", "compressed", "dense"])));
        format
    }

    /// A fill value for elements of this type.
    fn fill(&mut self, ty: &str) -> Option<String> {
        let float = matches!(ty, "double" | "float" | "half" | "bfloat16");
        if let (Some(fill), true) = (self.tropical, float)
            && self.chance(70)
        {
            return Some(fill.to_string());
        }
        // No infinities elsewhere: whether an absent zero meets one as a number depends on the
        // way it is found.
        let fill = match ty {
            _ if !self.chance(7) => return None,
            "bool" => "1",
            _ if float => self.pick(&["1", "0.5", "-2"]),
            "uint8" | "uint16" | "uint32" | "uint64" => self.pick(&["1", "2", "200"]),
            _ => self.pick(&["1", "2", "-3"]),
        };
        self.note("fill");
        Some(fill.to_string())
    }

    pub(crate) fn data(&mut self, ty: &'static str, dims: &[String]) -> Data {
        if dims.is_empty() {
            return Data::Text(self.pick(&["2", "1", "0", "3"]).to_string());
        }
        if self.chance(8) {
            return self.file_for(ty, dims, false);
        }
        let density = self.pick(&["0", "0.1", "0.3", "0.3", "0.6", "1"]);
        Data::Text(format!("random:{}:{density}", self.below(1000)))
    }

    /// A file of its own for a parameter.
    fn file_for(&mut self, ty: &'static str, dims: &[String], index: bool) -> Data {
        let dims = extents(dims, &self.sizes);
        let ty = ScalarType::from_name(ty).unwrap();
        let file = self.data_file(ty, &dims, index);
        self.note(file.ending().split('.').next().unwrap_or("file"));
        Data::File(Box::new(file))
    }
}
