//! Codes of data files and of packing.

use super::codes;

codes! {
    UNREADABLE = "E0601", "a file that cannot be read",
"The file does not exist, may not be read, is no gzip stream although its name ends in
.gz, or has an ending that is no known format.

    sparsec run spmv.tc A=a.txt x=ones        # is it a .mtx file? Rename it

Known are .mtx, .tns and .npy, each also with .gz. Paths are relative to the current directory.";
    MALFORMED = "E0602", "a malformed data file",
"The file breaks its format's rules at the line shown: a coordinate outside the announced
size, a missing value, a word where a number is due, fewer or more entries than announced.

    %%MatrixMarket matrix coordinate real general
    2 2 1
    3 1 1.5                                   # row 3 of a matrix with 2 rows

Nothing is guessed; mend the file, the size line `3 2 1` here or the entry. (A comment of a
.mtx file is a line of its own.)";
    TOO_LARGE = "E0603", "data that does not fit",
"A dense tensor would need more memory than there is, or a sparse one has more positions
or larger coordinates than its index width (32 bits) counts.

    sparsec run spmv.tc A=random:1:0.001 x=ones --size M=10 --size N=2000000000000
    1 3000000000 1.5                          # a line of a .tns file, stored as csr

Use a sparse format for the first, and `index 64` in the format or `--index 64` for the second.";
    SHAPE = "E0604", "data of another shape",
"A file's tensor has another order than the program's, is larger than the size that was
given for it, or two files disagree about a size they share. A .tns file without entries has no
sizes: they are to be given.

    sparsec run spmv.tc A=cage5.mtx x=ones --size N=30        # cage5.mtx has 37 columns

Give no size, or one that is large enough (`--size` must not be smaller than the data), and
files whose sizes agree: where A is `double(M,N)`, x as long as A has columns.";
    UNWRITABLE = "E0605", "a result that its file cannot hold",
"The file's format cannot hold the tensor: .mtx holds matrices
and vectors, .tns real and integer tensors of order 1 and more, .npy anything dense.

    sparsec run dot.tc x=x.mtx y=y.mtx --out s=s.tns          # s is a scalar

Write `--out s=s.npy`.";
    BAD_SUBSCRIPT = "E0606", "a data-dependent subscript out of range",
"A gather such as X(I(i)), a subscript that is not affine such as X(i / 2), or a data-dependent
bound leads outside its tensor, or divides by 0: the data of the index tensor is wrong, or the
range of a variable.

    def f(double(N) x, int(M) I) -> (y) { y(i) = x(I(i)) }
    sparsec run f.tc x=random:1 I=I.tns --size N=8            # I.tns has the line `2 9`

I(1) is 9, but x has no element 9. Subscripts count from 0: mend the data, or give the size that
they need (`--size N=10`). What a condition keeps from being read is not asked for:
`I(i) >= 0 ? x(I(i)) : 0`.";
    INVALID = "E0607", "a stored tensor that is not valid",
"The arrays of a tensor do not keep their format's promises (positions ascend, coordinates
are sorted and inside the dimension). The schedule may have promised what the data break:

    def f(double(N,N) A, double(N,N) B) -> (C) { C(i,j) = A(i,j) + B(i,j) }
    format f { A: csr  B: csr  C: csr }
    schedule f { bound(i, ib, 24, MaxExact) }         # but A has 37 rows

Leave such a `bound` out; `--verify` says which one is broken (E0712). Without one, and without
IgnoreRaces, a kernel that produces this has a bug: please report it.";
    OF_ANOTHER_TYPE = "E0608", "a number that its type does not hold",
"The data have an element that the parameter's type does not hold: a fraction where a whole
number is due, a complex number where a real one is, a number that is too large, something
else than 0 and 1 in a bool. It is refused, not converted:

    def f(double(N) x) -> (y) { y(i) = int(x(i)) }    # declares what the file holds, then converts

Entries of one element are added up, and their sum has to fit as well. Floating-point numbers are
rounded to their type. From 2^53 on they skip whole numbers, so they are not taken as integers: a
file of integers is exact.";
    OF_SOMETHING_ELSE = "E0609", "measurements of something else",
"`sparsec bench --compare` takes what `sparsec bench --json` wrote, of the same program with the same
formats and sizes, on the same data, for the same target and device. Where files lie does not matter.

    sparsec bench spmv.tc A=cage5.mtx x=ones --json > old.json
    sparsec bench spmv.tc A=west0067.mtx x=ones --compare old.json    # A is another matrix

Measure the old one again, on the same data, or compare with the file that belongs to them.";
}
