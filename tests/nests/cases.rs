//! The rows of the table.

use super::best::{Factor, Product, Stored, set};
use super::data::Pattern::{self, Band, Dense, Fibres, Neighbours, Power, Some as Few, Uniform};
use super::elements;

/// An expression with data.
pub struct Case {
    /// Of the table.
    pub row: u32,
    /// The file in `testdata/nests`.
    pub program: &'static str,
    /// What tells its data from others of the same program.
    pub data: &'static str,
    pub extents: &'static [(char, u64)],
    pub result: &'static str,
    /// The variable along the result's rows, if they are sparse.
    pub row_of_result: Option<char>,
    /// What is added up: products.
    pub terms: &'static [&'static [Operand]],
    pub best: Best,
}

pub struct Operand {
    pub name: &'static str,
    /// Of its levels, outermost first: the first of several is dense.
    pub vars: &'static str,
    pub pattern: Pattern,
}

/// How the best nest is found.
pub enum Best {
    /// Of each term, among all of them.
    Nests,
    /// Row 12: the second operand is transposed by counting, which passes over it twice (the table has one pass), and
    /// merged with the first.
    Transposed,
    /// Row 14 with the values that it has: expanding the square changes them, so each pair of rows has its product.
    EachPair,
}

impl Case {
    /// A term as variables with numbers.
    pub fn product(&self, term: &[Operand], extents: &[(char, u64)]) -> Product {
        let names: Vec<char> = extents.iter().map(|(var, _)| *var).collect();
        let number = |var: char| names.iter().position(|own| *own == var).unwrap();
        let numbers = |vars: &str| vars.chars().map(number).collect::<Vec<_>>();
        let factor = |operand: &Operand| Factor {
            name: operand.name.to_string(),
            vars: numbers(operand.vars),
            stored: elements(operand, extents).map(|all| Stored::of(&all, operand.vars.len() > 1)),
        };
        Product {
            extents: extents.iter().map(|(_, n)| *n).collect(),
            result: set(&numbers(self.result)),
            row: self.row_of_result.map(number),
            factors: term.iter().map(factor).collect(),
            names,
        }
    }
}

const fn of(name: &'static str, vars: &'static str, pattern: Pattern) -> Operand {
    Operand {
        name,
        vars,
        pattern,
    }
}

pub const CASES: &[Case] = &[
    Case {
        row: 1,
        program: "sampled_chain",
        data: "",
        extents: &[('i', 60), ('j', 60), ('k', 128), ('l', 128)],
        result: "il",
        row_of_result: None,
        terms: &[&[
            of("B", "ij", Uniform(10)),
            of("C", "ik", Dense),
            of("D", "jk", Dense),
            of("E", "jl", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 2,
        program: "mttkrp",
        data: "",
        extents: &[('i', 40), ('k', 40), ('l', 40), ('r', 32)],
        result: "ir",
        row_of_result: None,
        terms: &[&[
            of("B", "ikl", Fibres(5, 10)),
            of("C", "kr", Dense),
            of("D", "lr", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 2,
        program: "mttkrp_sparse",
        data: "",
        extents: &[('i', 40), ('k', 200), ('l', 200), ('r', 128)],
        result: "ir",
        row_of_result: None,
        terms: &[&[
            of("B", "ikl", Fibres(5, 20)),
            of("C", "kr", Uniform(10)),
            of("D", "lr", Uniform(10)),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 3,
        program: "ttmc",
        data: "",
        extents: &[('i', 40), ('j', 40), ('k', 40), ('r', 16), ('s', 16)],
        result: "irs",
        row_of_result: None,
        terms: &[&[
            of("B", "ijk", Fibres(10, 10)),
            of("C", "jr", Dense),
            of("D", "ks", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 4,
        program: "tucker_core",
        data: "",
        extents: &[
            ('i', 40),
            ('j', 40),
            ('k', 40),
            ('l', 8),
            ('m', 8),
            ('n', 8),
        ],
        result: "lmn",
        row_of_result: None,
        terms: &[&[
            of("B", "ijk", Fibres(10, 10)),
            of("C", "il", Dense),
            of("D", "jm", Dense),
            of("E", "kn", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 5,
        program: "two_products",
        data: "uniform",
        extents: &[('i', 200), ('j', 200), ('k', 200)],
        result: "i",
        row_of_result: None,
        terms: &[&[
            of("A", "ij", Uniform(10)),
            of("B", "jk", Uniform(10)),
            of("x", "k", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 5,
        program: "two_products",
        data: "power law",
        extents: &[('i', 200), ('j', 200), ('k', 200)],
        result: "i",
        row_of_result: None,
        terms: &[&[
            of("A", "ij", Power(10)),
            of("B", "jk", Power(10)),
            of("x", "k", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 6,
        program: "layer",
        data: "f > h",
        extents: &[('i', 80), ('j', 80), ('k', 64), ('l', 16)],
        result: "il",
        row_of_result: None,
        terms: &[&[
            of("S", "ij", Uniform(10)),
            of("X", "jk", Dense),
            of("W", "kl", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 6,
        program: "layer",
        data: "f < h",
        extents: &[('i', 80), ('j', 80), ('k', 16), ('l', 64)],
        result: "il",
        row_of_result: None,
        terms: &[&[
            of("S", "ij", Uniform(10)),
            of("X", "jk", Dense),
            of("W", "kl", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 7,
        program: "sparse_chain",
        data: "band",
        extents: &[('i', 300), ('j', 300), ('k', 300), ('l', 300)],
        result: "il",
        row_of_result: Some('l'),
        terms: &[&[
            of("B", "ij", Band(10)),
            of("C", "jk", Band(10)),
            of("D", "kl", Band(10)),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 7,
        program: "sparse_chain",
        data: "power law",
        extents: &[('i', 150), ('j', 150), ('k', 150), ('l', 150)],
        result: "il",
        row_of_result: Some('l'),
        terms: &[&[
            of("B", "ij", Power(10)),
            of("C", "jk", Power(10)),
            of("D", "kl", Power(10)),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 8,
        program: "spgemm",
        data: "",
        extents: &[('i', 100), ('j', 100), ('k', 100)],
        result: "ij",
        row_of_result: Some('j'),
        terms: &[&[of("B", "ik", Uniform(10)), of("C", "kj", Uniform(10))]],
        best: Best::Nests,
    },
    // Whether the mask is pushed or pulled, a run decides, and pulling needs C by columns: no index notation says that. So
    // the best is that of the operands as they are stored.
    Case {
        row: 9,
        program: "masked",
        data: "",
        extents: &[('i', 100), ('j', 100), ('k', 100)],
        result: "ij",
        row_of_result: Some('j'),
        terms: &[&[
            of("M", "ij", Uniform(10)),
            of("B", "ik", Power(10)),
            of("C", "kj", Power(10)),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 9,
        program: "sampled",
        data: "dense",
        extents: &[('i', 60), ('j', 60), ('k', 128)],
        result: "ij",
        row_of_result: Some('j'),
        terms: &[&[
            of("M", "ij", Uniform(10)),
            of("B", "ik", Dense),
            of("C", "kj", Dense),
        ]],
        best: Best::Nests,
    },
    // Another orientation of the edges is another program.
    Case {
        row: 10,
        program: "triangles",
        data: "",
        extents: &[('i', 120), ('j', 120), ('k', 120)],
        result: "ij",
        row_of_result: Some('j'),
        terms: &[&[
            of("A", "ij", Neighbours(10)),
            of("A", "ik", Neighbours(10)),
            of("A", "jk", Neighbours(10)),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 11,
        program: "two_terms",
        data: "",
        extents: &[('i', 200), ('j', 200), ('k', 200)],
        result: "i",
        row_of_result: None,
        terms: &[
            &[of("A", "ij", Uniform(10)), of("x", "j", Dense)],
            &[of("B", "ik", Uniform(10)), of("v", "k", Dense)],
        ],
        best: Best::Nests,
    },
    Case {
        row: 11,
        program: "scaled_rows",
        data: "",
        extents: &[('i', 60), ('j', 60), ('k', 256)],
        result: "ij",
        row_of_result: Some('j'),
        terms: &[&[
            of("B", "ij", Uniform(10)),
            of("C", "ik", Dense),
            of("d", "k", Dense),
        ]],
        best: Best::Nests,
    },
    Case {
        row: 12,
        program: "transposed_sum",
        data: "",
        extents: &[('i', 200), ('j', 200)],
        result: "ij",
        row_of_result: Some('j'),
        terms: &[&[of("B", "ij", Uniform(10))], &[of("C", "ji", Uniform(10))]],
        best: Best::Transposed,
    },
    // Pushing x along the columns of A needs A by columns, and a run decides whether it pays. So the best is that of A by
    // rows.
    Case {
        row: 13,
        program: "sparse_vector",
        data: "",
        extents: &[('i', 200), ('j', 200)],
        result: "i",
        row_of_result: None,
        terms: &[&[of("A", "ij", Uniform(10)), of("x", "j", Few(60))]],
        best: Best::Nests,
    },
    Case {
        row: 14,
        program: "squared_error",
        data: "",
        extents: &[('i', 40), ('j', 40), ('k', 256)],
        result: "",
        row_of_result: None,
        terms: &[
            &[of("A", "ij", Uniform(10))],
            &[of("U", "ik", Dense), of("V", "jk", Dense)],
        ],
        best: Best::EachPair,
    },
];
