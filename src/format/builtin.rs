//! The built-in formats by name (language.md, section 2; `sparsec formats`).

use super::{Level, Part, TensorFormat};

/// An entry of the table that `sparsec formats` lists.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    pub name: &'static str,
    /// How it would be declared in the language.
    pub declaration: &'static str,
    /// The number of dimensions it is for; `None` for any.
    pub order: Option<usize>,
    /// Whether tensors can be stored in it; what cannot yet is refused.
    pub supported: bool,
    /// One line on what it is good for.
    pub about: &'static str,
}

impl Builtin {
    /// How many numbers stand in parentheses behind the name.
    #[must_use]
    pub fn arguments(&self) -> usize {
        match self.name {
            "bcsr" => 2,
            "sell" => 1,
            _ => 0,
        }
    }
}

/// Every built-in format. `coo` and `csf` also take an order: `coo3`, `csf4`.
pub const ALL: &[Builtin] = &[
    Builtin {
        name: "dense",
        declaration: "each level dense, in order",
        order: None,
        supported: true,
        about: "every element, row-major",
    },
    Builtin {
        name: "sparse_vector",
        declaration: "(i) -> (i: compressed)",
        order: Some(1),
        supported: true,
        about: "coordinates and values of the nonzeros",
    },
    Builtin {
        name: "csr",
        declaration: "(i,j) -> (i: dense, j: compressed)",
        order: Some(2),
        supported: true,
        about: "compressed sparse rows",
    },
    Builtin {
        name: "csc",
        declaration: "(i,j) -> (j: dense, i: compressed)",
        order: Some(2),
        supported: true,
        about: "compressed sparse columns",
    },
    Builtin {
        name: "dcsr",
        declaration: "(i,j) -> (i: compressed, j: compressed)",
        order: Some(2),
        supported: true,
        about: "sparse rows of which many are empty",
    },
    Builtin {
        name: "dcsc",
        declaration: "(i,j) -> (j: compressed, i: compressed)",
        order: Some(2),
        supported: true,
        about: "sparse columns of which many are empty",
    },
    Builtin {
        name: "coo",
        declaration: "(i,j) -> (i: compressed(nonunique), j: singleton)",
        order: None,
        supported: true,
        about: "a list of coordinates, sorted; coo3 and so on for other orders",
    },
    Builtin {
        name: "csf",
        declaration: "each level compressed, in order",
        order: None,
        supported: true,
        about: "compressed sparse fibers; csf3 and so on say the order",
    },
    Builtin {
        name: "bcsr",
        declaration: "(i,j) -> (i/R: dense, j/C: compressed, i%R: dense, j%C: dense)",
        order: Some(2),
        supported: true,
        about: "sparse rows of dense R by C blocks: bcsr(R,C)",
    },
    Builtin {
        name: "bcsr4",
        declaration: "(i,j) -> (i/4: dense, j/4: compressed, i%4: dense, j%4: dense)",
        order: Some(2),
        supported: true,
        about: "bcsr(4,4)",
    },
    Builtin {
        name: "dia",
        declaration: "(i,j) -> (j-i: compressed, i: range)",
        order: Some(2),
        supported: true,
        about: "whole diagonals",
    },
    Builtin {
        name: "ell",
        declaration: "(i,j) -> (slot: dense, i: dense, j: singleton)",
        order: Some(2),
        supported: true,
        about: "the same number of elements in each row",
    },
    Builtin {
        name: "sell",
        declaration: "(i,j) -> (i/C: dense, slot: compressed, i%C: dense, j: singleton)",
        order: Some(2),
        supported: true,
        about: "slices of C rows, each like ell: sell(C)",
    },
];

/// The entry of a name, and the order that the name says (`coo3`), if it does.
#[must_use]
pub fn find(name: &str) -> Option<(&'static Builtin, Option<usize>)> {
    if let Some(entry) = ALL.iter().find(|entry| entry.name == name) {
        return Some((entry, None));
    }
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if !matches!(base, "coo" | "csf") {
        return None;
    }
    let order = name[base.len()..].parse().ok().filter(|order| *order > 0)?;
    let entry = ALL.iter().find(|entry| entry.name == base)?;
    Some((entry, Some(order)))
}

/// The format of a supported entry for a tensor of `order` dimensions, with the numbers that it
/// takes ([`Builtin::arguments`]).
#[must_use]
pub fn instantiate(entry: &Builtin, args: &[u32], order: usize) -> Option<TensorFormat> {
    match (entry.name, args, order) {
        ("bcsr", &[rows, columns], 2) => return Some(blocks(rows, columns)),
        ("bcsr4", [], 2) => return Some(blocks(4, 4)),
        ("dia", [], 2) => return Some(diagonals()),
        ("ell", [], 2) => return Some(rows_of_slots()),
        ("sell", &[rows], 2) => return Some(slices_of_slots(rows)),
        _ => {}
    }
    let sparse = Level::COMPRESSED;
    let (levels, modes) = match (entry.name, order) {
        ("dense", _) => return Some(TensorFormat::dense(order)),
        ("sparse_vector", 1) => (vec![sparse], vec![0]),
        ("csr", 2) => (vec![Level::DENSE, sparse], vec![0, 1]),
        ("csc", 2) => (vec![Level::DENSE, sparse], vec![1, 0]),
        ("dcsr", 2) => (vec![sparse, sparse], vec![0, 1]),
        ("dcsc", 2) => (vec![sparse, sparse], vec![1, 0]),
        ("coo", 1..) => (coordinates(order), (0..order).collect()),
        ("csf", _) => (vec![sparse; order], (0..order).collect()),
        _ => return None,
    };
    Some(TensorFormat::whole(levels, modes))
}

/// Sparse rows of dense blocks.
fn blocks(rows: u32, columns: u32) -> TensorFormat {
    let levels = vec![Level::DENSE, Level::COMPRESSED, Level::DENSE, Level::DENSE];
    TensorFormat {
        parts: vec![
            Part::Block(rows),
            Part::Block(columns),
            Part::Within(rows),
            Part::Within(columns),
        ],
        ..TensorFormat::whole(levels, vec![0, 1, 0, 1])
    }
}

/// The diagonals of a matrix that store anything, each with a place for every row.
fn diagonals() -> TensorFormat {
    TensorFormat {
        parts: vec![Part::Diagonal(0), Part::Whole],
        ..TensorFormat::whole(vec![Level::COMPRESSED, Level::DENSE], vec![1, 0])
    }
}

/// As many elements in each row as the longest one has: the first ones of all rows, then the second ones, and
/// so on.
fn rows_of_slots() -> TensorFormat {
    let levels = vec![Level::DENSE, Level::DENSE, Level::SINGLETON];
    TensorFormat {
        parts: vec![Part::Slot, Part::Whole, Part::Whole],
        ..TensorFormat::whole(levels, vec![1, 0, 1])
    }
}

/// Slices of so many rows, each with as many slots as its longest row needs.
fn slices_of_slots(rows: u32) -> TensorFormat {
    let levels = vec![
        Level::DENSE,
        Level::COMPRESSED,
        Level::DENSE,
        Level::SINGLETON,
    ];
    TensorFormat {
        parts: vec![
            Part::Block(rows),
            Part::Slot,
            Part::Within(rows),
            Part::Whole,
        ],
        ..TensorFormat::whole(levels, vec![0, 1, 0, 1])
    }
}

/// The levels of elements that stand beside each other with all their coordinates.
#[must_use]
pub fn coordinates(order: usize) -> Vec<Level> {
    let mut levels = vec![Level::SINGLETON.nonunique(); order];
    if let Some(first) = levels.first_mut() {
        *first = Level::COMPRESSED.nonunique();
    }
    match levels.as_mut_slice() {
        [only] => *only = Level::COMPRESSED,
        [.., last] => *last = Level::SINGLETON,
        [] => {}
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_entry_has_a_format() {
        for entry in ALL {
            let order = entry.order.unwrap_or(3);
            let args = vec![4; entry.arguments()];
            let format = instantiate(entry, &args, order);
            assert_eq!(format.is_some(), entry.supported, "{}", entry.name);
            let modes = format.map(|format| format.modes.into_iter().max());
            assert!(modes.is_none_or(|most| most == order.checked_sub(1)));
        }
    }

    #[test]
    fn names_with_an_order() {
        assert!(find("coo3").is_some_and(|(entry, order)| entry.name == "coo" && order == Some(3)));
        assert!(find("csr3").is_none());
        assert!(find("coo0").is_none());
    }
}
