//! Codes of schedule commands.

use super::codes;

codes! {
    UNKNOWN_COMMAND = "E0401", "unknown command",
"A schedule holds a command that does not exist. The commands are: split, divide,
fuse, pos, coord, reorder (order), bound, unroll, precompute, parallelize, tile,
join, promote, mergeby, assemble, inspect, and the declarations let and param.";
    UNSUPPORTED_COMMAND = "E0402", "a command that is not supported yet",
"The command is part of the language but not built yet. Supported today: split,
reorder (alias order) and parallelize(v, CPUThread, NoRaces | IgnoreRaces), with
let and param.";
    WRONG_ARGUMENTS = "E0403", "wrong arguments of a command",
"A command got too many or too few arguments, or one of another kind than it takes:

    split(i, i0, i1)          # the factor is missing
    split(i, i0, i1, 32)";
    UNKNOWN_VARIABLE = "E0404", "no such loop",
"A command names an index variable that has no loop: it does not occur in the
program, or an earlier command replaced it (after `split(i, i0, i1, 32)` there is no
loop over i any more, only i0 and i1).";
    AMBIGUOUS_VARIABLE = "E0405", "a variable of several statements",
"The name stands in more than one statement. Say which is meant by the statement's
label: `split(S1.i, i0, i1, 32)`.";
    NAME_TAKEN = "E0406", "a name that is not new",
"A command introduces a variable whose name is used already:

    split(i, i, i1, 32)       # i exists
    split(i, i0, i1, 32)";
    BAD_NUMBER = "E0407", "a number out of range",
"A split factor, unroll count or chunk must be at least 1 and must be a constant: a
number, a `let`, a `param`, or arithmetic on those.";
    BAD_PARAM = "E0408", "a parameter value that is not admissible",
"`-D NAME=VALUE` or a default sets a `param` to a value outside its list:

    param CHUNK in {8, 16, 32} = 32       # -D CHUNK=64 is refused";
    NOT_NESTED = "E0409", "variables of different nests",
"`reorder` changes the nesting of loops of one statement; the variables given do not
all have a loop in the same one.";
    LEVEL_ORDER = "E0410", "a level before its parent",
"A sparse tensor is stored outer level first, so its levels must be walked in that
order. Reordering the loops would visit a level before its parent:

    reorder(j, i)             # A: csr stores j below i

Store the tensor in the other order, or leave the loops.";
    REDUCTION_ORDER = "E0411", "a reduction that would not distribute",
"Reordering would put a reduction's loop outside a loop of the result, so that partial
results would be kept in the result itself; the operation around the reduction does
not distribute over it.";
    PARALLEL_REDUCTION = "E0412", "iterations that write the same element",
"`NoRaces` promises that no two iterations write the same element. The loop is part of
a reduction, so they do. Parallelize a loop of the result instead.";
    FROZEN = "E0413", "a command after parallelize",
"After `parallelize` only `unroll` and `parallelize` may follow on that loop nest: give
the other commands first.";
    BAD_UNIT = "E0414", "a unit or race strategy that does not fit",
"`parallelize(v, UNIT, RACE)` takes for the C target the unit CPUThread, optionally
with a loop schedule: CPUThread(static|dynamic|guided[, chunk]). The race strategies
are NoRaces and IgnoreRaces; Atomics, Temporary and ParallelReduction are not
supported yet.";
    REDEFINED = "E0415", "a constant that is defined twice, or not at all",
"`let` and `param` names are defined once, before their use; `-D NAME=VALUE` may only
set names that the schedule declares.";
}
