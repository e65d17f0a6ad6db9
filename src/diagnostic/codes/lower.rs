//! Codes of the graph and of lowering: mostly what is not built yet.

use super::codes;

codes! {
    ORDER = "E0503", "no order of loops",
"A sum must be computed before the loops of the result, since an operand cannot be walked in
their order, but it needs a variable whose range depends on data, for which nothing has a size:

    C(i,p) = exp(sum(k, A(k,p))) where i in 0:P-1, p in pos(i):pos(i+1)   # A: csr

The sum is made for each p, but csr stores A by k first. Store the operand with its levels in the
order of the loops (`A: csc` here), or dense.";
    DENSE_RESULT = "E0504", "a sparse result that every coordinate would enter",
"An operand that can only be searched (its levels stand in another order than the
loops) takes part in a statement whose result is sparse. Every coordinate of
the result would have to be tried:

    def f(double(M,N) A) -> (C) { C(i,j) = A(i+j,j) }
    format f { A: bcsr(2,2)  C: csr }         # rows of blocks, not rows of elements

Store the operand with its levels in the order of the result's (`A: csr`), or store the result
dense. With a schedule, leave the loops in the order of the result's levels.";
    NONUNIQUE_CHILD = "E0505", "a level below a non-unique one",
"Below a level with repeated coordinates (`compressed(nonunique)`) only `singleton`
levels are supported yet: elements of one row would stand below several positions:

    format f { A: {compressed(nonunique), compressed} }

Use `coo` or make the level unique.";
    COITERATED_PARALLEL = "E0506", "a coiterated loop cannot be parallel",
"Several sparse operands are merged in this loop: the next step depends on the one
before, so its iterations cannot be shared out. So it is where one operand has coordinates
that repeat (a list of elements), of which each run is a step.

    def f(double(M,N) A, double(M,N) B) -> (y) { y(i) = A(i,j) * B(i,j) }
    format f { A: csr  B: csr }
    schedule f { parallelize(j, CPUThread, Atomics) }

`split` the variable first and parallelize the outer part:
`split(j, j0, j1, 1024)  parallelize(j0, CPUThread, Atomics)`. Or share out another loop:
`parallelize(i, CPUThread, NoRaces)`. Threads of a GPU share out the positions of a list:
`fuse(i, j, f)  pos(f, p, A(i,j))  split(p, block, thread, 256)`, both by Atomics.";
    PARALLEL_APPEND = "E0507", "a parallel loop that appends to a sparse result",
"A sparse result is appended in order, which several threads cannot do at once. They count
first, and each iteration stores its elements where they begin: that is what
`assemble(C, two_phase)` means, and what happens where the outermost loop of a nest is
shared out, or on a GPU the outermost loops, each directly inside the one before,

    parallelize(i, CPUThread, NoRaces)
    split(i, io, ii, 256)  parallelize(io, GPUBlock, NoRaces)  parallelize(ii, GPUThread, NoRaces)

Each iteration must have coordinates of its own in the first level of the result, statements
that share loops must not read what is counted, and `assemble(C, append)` must not ask for
the order. Rows that are collected in a workspace are shared out to blocks alone. Where each
element goes behind those of its row (`B(j,i) = A(i,j)`), the outermost loop may be any. With vector
lanes leave the loop serial, or store the result dense.";
    UNKNOWN_COORDINATE = "E0508", "a coordinate that the loops do not give",
"A statement needs the value of a variable that the loops around it do not give in this
schedule, as when a workspace is indexed by coordinates of fused positions:

    fuse(i, j, f)  pos(f, p, A(i,j))  coord(p, c)  precompute(A(i,j), c, cw, w)

Recovering it is not supported yet: leave out the command that made the variable, or
apply it after the one that needs it.";
    DEVICE = "E0509", "a schedule that a GPU cannot run",
"Blocks and threads of a GPU cannot allocate, and cannot wait for threads that never come;
shared memory is small, and the host must know how often it launches a kernel.

    def mm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }
    schedule mm for cuda { reorder(i, j, k)
      parallelize(i, GPUBlockY, NoRaces)  parallelize(k, GPUBlock, Temporary) }

Blocks of k would add to copies of C while those of i run. Share loops of the result out to
blocks (`parallelize(j, GPUBlock, NoRaces)`). Bring loops over blocks outside of loops that data
end, keep workspaces inside a tile, and share out what several threads fill by the outermost loop
over threads.";
    UNORDERED = "E0510", "coordinates in no order are needed in order",
"A level that is `unordered` is walked as it is stored, all of it. It is not merged with other
operands, not searched, and no part of its coordinates is cut out:

    format f { A: {dense, compressed(unordered)} }
    schedule f { split(j, jo, ji, 32) }      # j runs over coordinates of A's rows

Without a schedule, sparsec makes a copy in order where a statement needs one. Leave out the
command, or store the operand in order.";
}
