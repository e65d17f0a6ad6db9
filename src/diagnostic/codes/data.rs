//! Codes of data files and of packing.

use super::codes;

codes! {
    UNREADABLE = "E0601", "a file that cannot be read",
"The file does not exist, may not be read, is no gzip stream although its name ends in
.gz, or has an ending that is no known format. Known are .mtx, .tns and .npy, each also
with .gz.";
    MALFORMED = "E0602", "a malformed data file",
"The file breaks its format's rules at the line shown: a coordinate outside the announced
size, a missing value, a word where a number is due, fewer or more entries than announced.
Nothing is guessed; mend the file.";
    TOO_LARGE = "E0603", "data that does not fit",
"A dense tensor would need more memory than there is, or a sparse one has more positions
or larger coordinates than its index width (32 bits) counts. Use `index 64` in the format
or `--index 64`, or a sparse format.";
    SHAPE = "E0604", "data of another shape",
"A file's tensor has another order than the program's, is larger than the size that was
given for it, or two files disagree about a size they share.";
    UNWRITABLE = "E0605", "a result that its file cannot hold",
"The file's ending is no known format, or its format cannot hold the tensor: .mtx holds matrices
and vectors, .tns real and integer tensors of order 1 and more, .npy anything dense.";
    BAD_SUBSCRIPT = "E0606", "a data-dependent subscript out of range",
"A gather such as X(I(i)), a subscript that is not affine such as X(i / 2), or a data-dependent
bound leads outside its tensor, or divides by 0: the data of the index tensor is wrong, or the range of a
variable. Subscripts count from 0. What a condition keeps from being read is not asked for:
`I(i) >= 0 ? X(I(i)) : 0`.";
    INVALID = "E0607", "a stored tensor that is not valid",
"The arrays of a tensor do not keep their format's promises (positions ascend, coordinates
are sorted and inside the dimension). A kernel that produces this has a bug: please report it.";
    OF_ANOTHER_TYPE = "E0608", "a number that its type does not hold",
"The data have an element that the parameter's type does not hold: a fraction where a whole
number is due, a complex number where a real one is, a number that is too large, something
else than 0 and 1 in a bool. It is refused, not converted:

    def f(double(N) x) -> (y) { y(i) = int(x(i)) }    # declares what the file holds, then converts

Floating-point numbers are rounded to their type. Those beyond 2^53 skip whole numbers, so
they are not taken as integers: a file of integers is exact.";
    OF_SOMETHING_ELSE = "E0609", "measurements of something else",
"`sparsec bench --compare` takes what `sparsec bench --json` wrote, of the same program with the same
formats and sizes, on the same data, for the same target and device. Where files lie does not matter.";
}
