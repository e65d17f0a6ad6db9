//! Codes of storage formats.

use super::codes;

codes! {
    UNKNOWN_FORMAT = "E0301", "a format that is not known",
"    format spmv { A: csrr }            # did you mean `csr`?

`sparsec formats` lists the built-in formats. Declare others with
`format NAME = (i,j) -> (i: dense, j: compressed)`, or list the levels in place:
`A: {dense, compressed}`.";
    UNKNOWN_TENSOR = "E0302", "a format for a tensor that does not exist",
"    def spmv(double(M,N) A, double(N) x) -> (y) { ... }
    format spmv { B: csr }             # spmv has no B

Name a parameter, a result or a temporary of the function.";
    ORDER_MISMATCH = "E0303", "a format for another number of dimensions",
"    def f(double(N) x) -> (y) { ... }
    format f { x: csr }                # csr is for matrices

A format has one level for each dimension: `x: sparse_vector`, `x: {compressed}`.";
    MODE_ORDER = "E0304", "an order that is no permutation",
"`order` names, for each level from the outermost on, the dimension that it stores:

    format f { A: {dense, compressed} order (1,1) }

Name each dimension once, counted from 0: `order (1,0)` stores columns outermost.";
    UNKNOWN_LEVEL = "E0305", "a level type or property that is not known",
"    format f { A: {dense, compress} }  # did you mean `compressed`?

The level types are dense, compressed, singleton, hashed, bitmap and range; the
properties nonunique and unordered, as in `compressed(nonunique)`. A dense level has a
place for each coordinate, so it can be neither; a hashed one is unordered and cannot be nonunique.";
    SCALAR_FORMAT = "E0306", "a format for a scalar",
"    def f(double alpha, double(N) x) -> (y) { ... }
    format f { alpha: dense }

A scalar is a single value. Remove the entry.";
    NOT_SUPPORTED = "E0307", "a format that is not supported yet",
"A range of anything but diagonals, and levels that store another expression than a dimension,
its blocks, slots or diagonals are part of the language but cannot be stored yet:

    format f { A: {dense, range} }

Use dense, compressed, singleton, hashed and bitmap levels: `A: csr`, `A: bcsr(4,4)`, `A: ell`, `A: dia`. Slots are for
operands; temporaries and tensors that are updated are stored by their dimensions.";
    SINGLETON_PARENT = "E0308", "a singleton level under a unique parent",
"A singleton level stores one coordinate for each position of the level above it. If that
level has each coordinate once, a row could have only one element:

    format f { A: {dense, singleton} }

Write `{compressed(nonunique), singleton}`, which repeats the row for each element, or
make the level compressed.";
    FILL_VALUE = "E0309", "a fill value that the elements cannot have",
"    def f(int(M,N) A) -> (y) { ... }
    format f { A: csr fill 0.5 }       # elements are whole numbers

Choose a value of the element type.";
    INDEX_WIDTH = "E0310", "coordinates of a width that does not exist",
"    format f { A: csr index 16 }

Coordinates and positions have 32 or 64 bits.";
    WRONG_FILL = "E0311", "a sparse result with the wrong fill value",
"Elements that a sparse tensor does not store equal its fill value. Here they would have
to be something else:

    def f(double(M,N) A) -> (B) { B(i,j) = exp(A(i,j)) }
    format f { A: csr  B: csr }        # exp(0) is 1

Say `B: csr fill 1`, or store B dense. Formats never change what is computed.";
    DECLARED_TWICE = "E0312", "a format that is given twice",
"    format f { A: csr  A: csc }

Keep one of them. (An entry of a file given with `--formats` goes before one of the
program, and that is no error.)";
    DECLARATION = "E0313", "a format that does not store each dimension once",
"    format rows = (i,j) -> (i: dense, i: compressed)
    format f { A: rows }

Write one level for each dimension: `(i,j) -> (i: dense, j: compressed)`. One that is stored in
blocks has two, with the places in the blocks further in:

    format slices = (i,j) -> (i/8: dense, j: compressed, i%8: dense)";
    ARGUMENTS = "E0314", "arguments that a format does not take",
"    format f { A: csr(2,2) }
    format f { A: bcsr }

`csr` takes none; `bcsr(R,C)` takes the sizes of its blocks, and a declared format as many
numbers as it has parameters. Give each, at least 1.";
    TYPICAL = "E0315", "a typical number of elements that no tensor stores",
"    format f { A: csr density 0 }
    format f { A: csr row_length 8 }

`density` is the share of elements that are stored, more than 0 and at most 1; `row_length` how
many a row stores on average. Both are for sparse tensors, and say nothing but which schedule is
found where none is written.";
}
