//! Notes of severity *performance*: right, but slower than it might be.

use super::codes;

codes! {
    SEARCH = "P0801", "a search inside a loop",
"The levels of an operand cannot be walked in the order of the loops, so that each
of its elements is found by a binary search.

    def f(double(M,N) A, double(M,N) B) -> (y) { y(i) = A(i,j) * B(i,j) }
    format f { A: csr  B: csc }

Store it with its levels in the order of the loops: `B: csr`.
Or `starts(v, before)` finds rows that nothing needs: leave it out.";
    WORKSPACE = "P0802", "a sum through a temporary",
"No order of loops walks all operands and comes to the elements of the result in the order
in which they are stored:

    def f(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }
    format f { A: csr, B: csr, C: csr }

The elements of a sparse result are collected as the loops come to them, sorted, and those
of one place combined. Rows of a sum are collected one at a time: elements are found in an array
as long as a row, or by hashing their coordinates where that would take more than 64 MiB or nothing
is laid out by its rows. Where no order walks all operands (`A(i,j) + A(j,i)`), those that stand
in the way are sorted first. Both take time and memory for what is stored, and for each
product of stored elements.

The sum of a dense result is computed into a dense temporary of its size first. Store the
operand with its levels in the order of the result.";
    SERIAL = "P0803", "a loop that stays as it is",
"`unroll` has no effect on a loop that is shared out to threads or vector lanes, nor on one
that merges several sparse operands and so does not count:

    parallelize(i, CPUThread, NoRaces)  unroll(i, 4)
    split(i, i0, i1, 4)  parallelize(i0, CPUThread, NoRaces)  unroll(i1, 4)

Split the loop and unroll the inner part, as in the second line.

`prefetch` has none where the place of the first element is not known as an iteration begins:
behind a test, a search or a loop that may have no iterations. Name the loop inside.

Where a program has no schedule, sparsec shares out the outermost loop of each statement if
its iterations write different elements, and says where they do not.";
    GROWS = "P0804", "a result that grows step by step",
"The number of stored elements of a sparse result is not known before they are
computed, so its arrays are enlarged as they fill (doubling each time).

    def f(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }
    format f { A: csr  B: csr  C: csr }

`schedule f { assemble(C, two_phase) }` counts first, as do loops that are shared out.";
    EVERY = "P0805", "a loop that tries every coordinate",
"No order of loops walks all sparse operands, and one of them cannot be brought into another
order either, so that it is searched at every coordinate of a dimension, stored or not:

    def f(double(M,N) A) -> (C) { C(i,j) = A(i + j,j) }
    format f { A: csr, C: csr }

That is hopeless where the dimension is large. Give the operand stored by the subscripts
that the statement has, or store the result dense.

Or an operation has something to combine where its operands have no element:

    def f(double(M,N) A) -> (m) { m(i) max=! A(i,j) }
    format f { A: csr }

Each absent element is 0, which may be the largest. Where it is to count for nothing, say so by the
fill: `format f { A: csr fill -inf }`. A sparse result that has a value wherever operands have none is
held in less memory by a dense format.";
    STRIDE = "P0806", "a loop that steps from row to row",
"In plain loops (`--no-schedule`), sums stand inside the loops of the result:

    def mm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }
    sparsec mm.tc --no-schedule

The innermost loop, over k, reads B down a column: a
cache line for each element, and no vectors. `reorder(i, k, j)` walks rows of B and C; ten times
faster and more where the operands are large. sparsec reorders products of that kind by itself, but no
statements of another. A schedule stands in the place of the one that sparsec finds by itself:
what threads are to share out, it says, too. Loops and rows of 16 elements or fewer are no matter.";
    BOUNDED = "P0807", "a bound that was added",
"`tile` puts loops over tiles outside of what decides how often a loop runs, `reorder` such a loop itself, and
`fuse` makes one loop of both. It needs
an upper bound: the size of a dimension that it subscripts, or the most values that it ever has, which
an inspector finds in a pass over the data. It ends where the data say nevertheless.

    y(i) +=! val(p) * x(crd(p)) where i in 0:R-1, p in pos(i):pos(i+1)
    schedule f { fuse(i, p, f1) }             # adds `inspect(p, p_most)`

Write the command that the note shows, or another `bound`, before it:
`inspect(p, most)  fuse(i, p, f1)`.";
}
