//! Codes of schedule commands.

use super::codes;

codes! {
    UNKNOWN_COMMAND = "E0401", "unknown command",
"A schedule holds a command that does not exist:

    schedule spmv { splitt(i, i0, i1, 32) }           # split(i, i0, i1, 32)

Correct the name. The commands are: split, divide, fuse, pos, coord, reorder (order), bound,
unroll, precompute, parallelize, tile, join, promote, mergeby, prefetch, starts, assemble,
inspect, shift, skew, partition, the declarations let and param, size, which fixes one of the
program's, and choose, which asks the data.";
    UNSUPPORTED_COMMAND = "E0402", "a command that is not supported yet",
"The command is part of the language, but it is not built yet for the loop, the format or the
target that it is given here. The message says which:

    split(j, j0, j1, 2)  pos(j0, p, A(i,j))   # j0 steps over coordinates: no positions of a row
    pos(j, p, A(i,j))  split(p, p0, p1, 16)   # positions first

Leave the command out, or write it as the help of the message says.";
    WRONG_ARGUMENTS = "E0403", "wrong arguments of a command",
"A command got too many or too few arguments, or one of another kind than it takes:

    split(i, i0, i1)          # the factor is missing
    split(i, i0, i1, 32)";
    UNKNOWN_VARIABLE = "E0404", "no such loop",
"A command names an index variable that has no loop: it does not occur in the
program, or an earlier command replaced it:

    split(i, i0, i1, 32)  unroll(i, 4)        # there is no loop over i any more
    split(i, i0, i1, 32)  unroll(i1, 4)

Name one of the loops that the message lists.";
    AMBIGUOUS_VARIABLE = "E0405", "a variable of several statements",
"The name stands in more than one statement:

    def f(double(N) x) -> (y, z) { S1: y(i) = 2 * x(i)  S2: z(i) = 3 * x(i) }
    schedule f { split(i, i0, i1, 32) }       # i of S1 or of S2?

Say which is meant by the statement's label: `split(S1.i, i0, i1, 32)`.";
    NAME_TAKEN = "E0406", "a name that is not new",
"A command introduces a variable whose name is used already:

    split(i, i, i1, 32)       # i exists
    split(i, i0, i1, 32)";
    BAD_NUMBER = "E0407", "a number out of range",
"A split factor, unroll count or chunk must be at least 1 and must be a constant: a
number, a `let`, a `param`, a size that is fixed (`size N = 32`, `--size N=32`), or
arithmetic on those.

    split(i, i0, i1, 0)                       # less than 1
    split(i, i0, i1, M)                       # M is known only when the kernel runs
    size M = 64  split(i, i0, i1, M)

Give a positive constant.";
    BAD_PARAM = "E0408", "a parameter value that is not admissible",
"`-D NAME=VALUE` or a default sets a `param` to a value outside its list:

    param CHUNK in {8, 16, 32} = 32       # -D CHUNK=64 is refused";
    NOT_NESTED = "E0409", "variables of different nests",
"The command takes loops of one statement that stand directly inside one another (`fuse`,
`partition`), in one nest (`reorder`), or inside the loop that it names (`precompute`,
`promote`). These do not, or loops that statements share would come apart:

    def mm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) = A(i,k) * B(k,j) }
    schedule mm { reorder(i, j, k)  fuse(i, k, f) }   # j stands between i and k

Bring them together first: `reorder(i, k, j)  fuse(i, k, f)`.";
    LEVEL_ORDER = "E0410", "a level before its parent",
"A sparse tensor is stored outer level first, so its levels must be walked in that
order. Reordering the loops would visit a level before its parent:

    reorder(j, i)             # A: csr stores j below i

Store the tensor in the other order, or leave the loops.";
    REDUCTION_ORDER = "E0411", "a reduction that would not distribute",
"Reordering would put a reduction's loop outside a loop of the result, so that partial
results would be kept in the result itself; the operation around the reduction does
not distribute over it.

    def f(double(M,N) A) -> (y) { y(i) = exp(sum(j, A(i,j))) }
    schedule f { reorder(j, i) }      # exp of a sum is no sum of exp

Keep the loops of the result outside, or store the sum in a tensor of its own, whose loops may
be reordered: `S1: t(i) = A(i,j)  S2: y(i) = exp(t(i))` with `reorder(S1.j, S1.i)`.";
    PARALLEL_REDUCTION = "E0412", "iterations that write the same element",
"`NoRaces` promises that no two iterations write the same element. The loop is part of
a reduction, so they do.

    y(i) +=! A(i,j) * x(j)
    parallelize(j, CPUThread, NoRaces)        # all iterations of j add to the same y(i)

Parallelize a loop of the result, `parallelize(i, CPUThread, NoRaces)`, or say how the race is
resolved: Atomics, Temporary or ParallelReduction.";
    FROZEN = "E0413", "a command after parallelize",
"After `parallelize` only `unroll`, `parallelize`, and a `split` or `divide` of a parallel loop (whose
innermost part runs as the whole did) may follow on that loop nest:

    parallelize(i, CPUThread, NoRaces)  pos(j, p, A(i,j))
    pos(j, p, A(i,j))  parallelize(i, CPUThread, NoRaces)

Give the other commands first, as in the second line.";
    BAD_UNIT = "E0414", "a unit or race strategy that does not fit",
"`parallelize(v, UNIT, RACE)` takes for the C target the units CPUThread, optionally
with a loop schedule: CPUThread(static|dynamic|guided[, chunk]), and CPUVector. Threads
stand outside vector lanes, each once. The race strategies are NoRaces, IgnoreRaces,
Atomics (threads only), Temporary and ParallelReduction.

For the CUDA target the units are GPUBlock, GPUWarp and GPUThread, outer ones first and
each axis once (GPUBlockY, GPUThreadZ), and GPUGroup(r) with Segment or ParallelReduction
for threads that reduce in groups.

A loop has one unit: to share out what is shared out, `split` it first.

    parallelize(i, GPUBlock, NoRaces)         # without --target cuda: CPUThread
    parallelize(j, CPUVector, Atomics)        # lanes take no turns: ParallelReduction

Write a unit of the target, or compile for the other one.";
    REDEFINED = "E0415", "a constant that is defined twice, or not at all",
"`let` and `param` names are defined once, before their use; `-D NAME=VALUE` may only
set names that the schedule declares.

    let C = 8  let C = 16  split(i, i0, i1, C)        # give one of them another name
    sparsec spmv.tc -D CHNK=64                        # of a schedule with `param CHUNK ...`

Correct the name, or declare it.";
    POSITION_SPACE = "E0416", "positions where there are none, or coordinates where there are positions",
"`pos(i, p, A(i,j))` lets p run over the positions of the level of A that stores i:
i must be in coordinate space, A must be indexed by i alone in that subscript, and the
statement must do nothing where A stores nothing:

    y(i) = A(i,j) * x(j)          pos(j, p, A(i,j))       # good
    y(i) = (A(i,j) + B(i,j)) * x(j)                       # refused: a union

Positions of several levels: `fuse(i, j, f) pos(f, p, A(i,j))`; the fused variables must
be neighbouring levels of A in their order. `coord(p, c)` takes positions only, and none at which
a workspace holds an element: between them are coordinates that it has none for.";
    BAD_BOUND = "E0417", "a bound that contradicts what is known",
"`bound(i, ib, v, kind)` states what the compiler cannot know. Where it does know the
range, the statement must agree with it:

    split(i, i0, i1, 32) bound(i1, b, 16, MaxExact)       # i1 has 32 values

So must `size N = 32`, which is the program's size N from there on.";
    NO_SUCH_EXPRESSION = "E0418", "an expression that does not occur",
"`precompute(e, ...)` and `pos(i, p, A(i,j))` name a part of a statement as the statement
writes it; the order of factors and terms does not matter, and a product may be a part
of a longer one.

    y(i) +=! A(i,j) * x(j)
    precompute(A(j,i), j, jw, w)              # the statement reads A(i,j)
    precompute(A(i,j), j, jw, w)

Copy the expression from the statement.";
    NO_SIZE = "E0419", "a workspace without a size",
"A workspace has one element for each value of its variables. How many positions a row
has is known only when the kernel runs: split the variable and keep the workspace over
the inner part, or bound it.

    pos(j, p, A(i,j)) split(p, p0, p1, 16) precompute(A(i,j) * x(j), p1, q, w)";
    BACKWARD_DEPENDENCE = "E0420", "statements that cannot share loops",
"`join(S1, S2, i)` runs iteration i of S2 before iteration i + 1 of S1. So S2 must not read
what S1 writes later, nor S1 what S2 has overwritten:

    S1: t(i) = x(i)    S2: y(i) = t(i) + t(i+1)           # t(i+1) is not there yet";
    MERGE = "E0421", "operands that are not intersected",
"`mergeby(i, gallop)` leaps through the sparse operands that meet at i to the largest of
their coordinates. Every one of them must be needed (a product, not a sum), and none may
store a coordinate twice:

    a = b(i) * c(i)           # may gallop
    a(i) = b(i) + c(i)        # may not";
    GROUP = "E0422", "a segment group that cannot reduce",
"`parallelize(v, GPUGroup(r), Segment | ParallelReduction)` reduces what the iterations of v
add to in groups of r threads, r in 2, 4, 8, 16, 32. The loop must be part of a sum; with
ParallelReduction, where one thread of the group writes, it must have r iterations:

    pos(j, jpos, A(i,j))
    split(jpos, jpos0, jpos1, 8)
    reorder(i, jpos1, jpos0)
    parallelize(jpos1, GPUGroup(8), ParallelReduction)";
    NO_TILE = "E0423", "a tile that cannot be staged",
"`promote(T, shared | local, v)` stages what the loops inside v read of T. Each loop inside v
that a subscript of T runs over needs a constant number of iterations, and the tile must fit:
48 KiB of a block's shared memory, 1 KiB of a thread's registers. `shared` needs v outside the
loops over threads, `local` inside of one:

    split(k, k0, k1, 16)
    reorder(i0, j0, k0, i1, j1, k1)
    promote(A, shared, k0)";
    PREFETCH = "E0424", "reads that cannot be fetched ahead",
"`prefetch(A, v, n)` fetches, in each iteration of v, what stands n elements behind the first
element of A that the iteration reads, so the place of that element must be known where
the iteration begins: by arithmetic, or as the start of a row.

    prefetch(A, i, 512)                       # y(i) = A(i,j) * x(j): A_vals[A2_pos[i] + 512]

Elsewhere the command has no effect, which a note says (P0803). Lanes of a vector cannot fetch
one by one: name a loop outside of them.";
    ASSEMBLE = "E0425", "coordinates that cannot be made so",
"`assemble(C, append | two_phase | once)` says how a sparse result gets its coordinates. A result
that is dense, or has a place for each element, has none to get: leave the command out. Of a sparse
one that is updated the caller says what is stored, so that it is not assembled `once`.

    def f(double(M,N) A, double(N) x) -> (C) { C(i,j) = A(i,j) * x(j) }
    format f { A: csr }                       # C is dense
    schedule f { assemble(C, once) }";
    STARTS = "E0426", "tiles whose rows are not searched",
"`starts(v, before)` finds the rows in which the tiles of v begin before the loops. So v must be
the outer part of split positions of several levels, counted from the first level on:

    fuse(i, j, f)
    pos(f, p, A(i,j))
    split(p, block, p1, 4096)
    starts(block, before)

In `pos(j, p, A(i,j))` each row has positions of its own: nothing is searched.";
    CHOICE = "E0427", "schedules that the data cannot choose of",
"`choose` ends a schedule. Its conditions compare nnz(A), rows(A), cols(A), longest_row(A) and mean_row(A) of
arguments, and the number of threads, with numbers, constants and sizes; each alternative is a schedule of its
own, and the last one runs if no condition holds:

    choose {
      when nnz(A) < 20000: { parallelize(i, CPUVector, NoRaces) }
      when mean_row(A) > 100 && cols(A) > 5000: long_rows
      otherwise: { parallelize(i, CPUThread, NoRaces) }
    }

Callers must see no difference: none of them keeps the coordinates of a result for the next call if others do not, and
on GPUs none appends. An alternative that fixes a size runs for this size only, so the last one fixes none that
another leaves open.";
    PARTITION = "E0428", "parts that no operand decides",
"`partition(i, b, ib, P, nnz)` cuts the rows of an operand into P parts that store equally much. It takes a
variable of the program over which an operand has a dense level with a compressed one below, as csr has it:

    format f { A: csr }
    schedule f { partition(i, b, ib, 8, nnz)  parallelize(b, CPUThread, NoRaces) }

`merge_path` cuts rows where parts of equally many rows and elements end, `bins(4, 32)` sorts them by their
lengths. `partition(i, b, ib, P, rows)` makes parts of equally many rows of anything.";
    CONDITIONAL = "E0429", "a read that would lose its condition",
"What only its own condition keeps in bounds is read under that condition. A workspace or a tile reads ahead of it:

    y(i) = at(i) >= 0 ? x(at(i)) : 0
    precompute(x(at(i)), i, iw, w)            # refused: w would read x(-1)

Leave the command out, or make sure that the condition is not needed: with a `where` range that stays inside, say.";
    FORGETS_ABSENT = "E0430", "a workspace that would forget what is absent",
"An absent element divided by anything is nothing, by zero as well. A workspace has a number for each element, zero
where nothing is stored, and 0 / 0 is no number:

    y(i) = A(i,j) / x(j)
    precompute(A(i,j), j, j, w)               # refused: w(j) / x(j) where A has no element and x(j) is 0

Keep the quotient as a whole: `precompute(A(i,j) / x(j), j, j, w)`.";
}
