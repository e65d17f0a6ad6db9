//! Codes of the command line and of the environment.

use super::codes;

codes! {
    NO_FILE = "E0701", "a file that cannot be read",
"A file named on the command line does not exist or cannot be read. Paths are relative
to the current directory.

    sparsec spvm.tc                           # the file is spmv.tc

Correct the path.";
    COMMAND_LINE = "E0702", "a wrong argument",
"An argument of the command line does not have its form, or names something the program
does not have:

    sparsec run spmv.tc A=web.mtx x=random:1 --size M=1000 -D CHUNK=64";
    NO_COMPILER = "E0703", "no C compiler",
"`sparsec run` needs a C compiler:

    CC=/no/such/cc sparsec run spmv.tc A=web.mtx x=ones

Set CC, or install one (Debian: apt-get install gcc). CC
may have arguments, as in `CC='ccache gcc -m64'`. CXX names the C++ compiler of the emulator,
NVCC the compiler of CUDA.";
    COMPILER_FAILED = "E0704", "the C compiler failed",
"The C compiler refused what sparsec wrote. That is a bug in sparsec unless CC or
SPARSEC_CFLAGS name something unusual:

    SPARSEC_CFLAGS=-march=nothing sparsec run spmv.tc A=web.mtx x=ones

Correct the flags (`-march=native`), or leave them out. If it fails without them, please report
it with the compiler's messages.";
    NOT_SUPPORTED = "E0705", "not supported yet",
"This part of the command line is fixed but not built yet, or what it asks for has no such form:

    sparsec show -e 'y(i)=A(i,j)*x(j)' --stage tokens     # TACO notation is no program's text

`--stage program` shows what `-e` stands for.";
    MISSING_INPUT = "E0706", "an input without data",
"`sparsec run` needs data for every parameter:

    sparsec run spmv.tc A=web.mtx x=random:1

T=FILE (.mtx, .tns, .npy, each also .gz), T=random:SEED[:DENSITY], T=ones, T=zeros, or a
number for a scalar.";
    UNKNOWN_SIZE = "E0707", "a size that nothing fixes",
"No input has a dimension of this size, so it must be given:

    sparsec run spmv.tc A=random:1 x=random:2 --size N=100
    sparsec run spmv.tc A=random:1 x=random:2 --size N=100 --size M=50

Random and constant inputs have no sizes of their own. With `-e`, write `-d i:50`.";
    NO_SCHEDULE = "E0708", "no such schedule",
"`--schedule` names neither a file nor a named schedule of the program, nor one that is built in for
this target:

    schedule spmv for c named chunked { ... }      # sparsec spmv.tc --schedule chunked
    sparsec schedules                              # --schedule builtin:spmv_cpu";
    DEVICE_FAILED = "E0709", "a GPU that fails",
"A kernel failed on the device, or the emulator found a fault in it: a race, an access
outside of all arrays, a read of what nobody wrote, threads that wait for others.

    def f(double(M,N) A) -> (y) { y(j) +=! A(i,j) }
    schedule f for cuda { reorder(i, j)  parallelize(i, GPUThread, IgnoreRaces) }
    SPARSEC_EMULATOR=1 sparsec run f.tc --target cuda A=random:1 --size M=64 --size N=64

Threads add to the same y(j): write Atomics instead of IgnoreRaces. Unless the schedule says
IgnoreRaces, that is a bug in sparsec: please report it with the program.";
    RACE = "E0710", "iterations that meet at an element",
"`sparsec run --verify` found that two iterations of a loop that is shared out touch the same
element, one of them writes it, and nothing protects it. Whether the result is wrong depends
on the timing, so it may have agreed with the reference evaluator.

The kernel is run a second time, serially, with each iteration as a thread of its own; so the
race is there with any number of threads. Under NoRaces, Atomics, Temporary and
ParallelReduction that is a bug in sparsec, or the data break a promise (`bound`): please
report it with the program. Under IgnoreRaces the schedule answers for it, and this is a note:

    parallelize(i, CPUThread, IgnoreRaces)";
    UNWRITABLE = "E0711", "an output that cannot be written",
"A file, a folder or standard output cannot be written: the folder does not exist, belongs to
somebody else, or its disk is full. Files are written beside their place and moved there once
they are complete, so what was there before is still whole. `--check` says the same of what it
cannot read.

    sparsec run spmv.tc A=web.mtx x=ones --out y=results/y.mtx        # there is no results

Make the folder (`mkdir results`), or name another place. TMPDIR is the one for temporary files.";
    PROMISE_BROKEN = "E0712", "a promise that the data break",
"`bound` is taken on the user's word. A checked run (`--verify`, the emulator, a build with
-DSPARSEC_DEBUG) compares it with the data, and names the loop and both numbers:

    bound(i, ib, 24, MaxExact)        # y has 24 elements: not 23

Without the check the loop would run as promised, and the result would be wrong.";
    EMULATED = "E0713", "a kernel that runs on the emulator",
"`--target cuda` finds no GPU or no nvcc (see NVCC), and so runs the kernel on the emulator, which
does on the processor what a GPU does, thread by thread. Results are the same, and without
`--time` every access is checked; times are not those of a GPU. Where there is one, this asks
for the emulator:

    SPARSEC_EMULATOR=1 sparsec run spmv.tc A=web.mtx x=random:1 --target cuda";
    ITSELF = "E0714", "sparsec itself fails",
"An internal error is a bug, whatever the input: please report it with the input that causes
it. (The exit code is 101.) Or the system has no memory for another thread, and sparsec cannot
start. (It is 4.)

    ulimit -v 200000; sparsec spmv.tc --message-format json

It needs a stack of 256 MiB of address space: raise the limit (`ulimit -v unlimited`).";
    NO_CLOCK = "E0715", "a measurement without a device",
"`sparsec bench --target cuda` and `sparsec tune --target cuda` need a GPU and nvcc (see NVCC):
the emulator computes what a GPU does, but its times say nothing of a GPU.

    sparsec bench spmv.tc A=web.mtx x=ones --target cuda      # on a machine without a GPU

Set NVCC to CUDA's nvcc where there is a GPU, and leave SPARSEC_EMULATOR unset. Elsewhere,
`sparsec run --target cuda` runs kernels on the emulator, with SPARSEC_EMULATOR=1 `tune` searches
on it, which shows that schedules are right, and `tune --model` ranks them by what the emulator
counts.";
    CANDIDATES_DIFFER = "E0716", "schedules that compute different results",
"`sparsec bench` compares what its candidates compute before it times them: with the first one,
within what rounding makes of sums in another order, and with the reference evaluator where they differ
by more. A schedule never changes a result; so this is a race that the schedule ignores
(IgnoreRaces), or a bug in sparsec: please report it with the program.

    def f(int(N) at, double(N) x, double(K) h) -> (h) { h(at(i)) += x(i) }
    schedule f { parallelize(i, CPUThread, IgnoreRaces) }
    sparsec bench f.tc at=zeros x=random:1 h=zeros --size N=1000000 --size K=8 --threads 8

All threads add to h(0), and lose what others add meanwhile: write Atomics or Temporary.";
    SLOWER = "E0717", "a schedule that became slower",
"`sparsec bench --compare old.json` found a candidate slower than it was, beyond the noise: all
between its quartiles is above all between the old ones, and its median and its minimum are more than 5
percent larger. The exit code is 1.

    sparsec bench mm.tc A=a.npy B=b.npy --schedules my.sched --json > old.json
    # my.sched was `reorder(i, k, j)`, and becomes `reorder(j, k, i)`
    sparsec bench mm.tc A=a.npy B=b.npy --schedules my.sched --compare old.json

Measure again to be sure. Then take back what was changed, or keep the new times: `--json`.";
    CACHE_IGNORED = "E0721", "a kept file that is not used",
"A file of the cache, or its folder, belongs to somebody else, may be written by others, is of another
version's form, or was changed since it was written. It is ignored: what it would save is done
again.

    chmod a+w ~/.cache/sparsec; sparsec run spmv.tc A=web.mtx x=ones

Take the right away again (`chmod go-w ~/.cache/sparsec`). `sparsec cache list` says where the
cache is, `sparsec cache clear` empties it.";
    NOT_TUNED = "E0722", "a program that was not tuned",
"`--tuned` asks for the schedule that `sparsec tune` found for this program, whatever its names
are, on this machine: with this build of sparsec, this compiler and its flags, and for data like this,
where there is data (sizes and stored elements within a factor of two). There is none, and the program
is compiled with its own schedule:

    sparsec tune spmv.tc A=web.mtx x=random:1
    sparsec run spmv.tc A=web.mtx x=random:1 --tuned";
    CACHE_UNUSABLE = "E0723", "a cache that cannot be used",
"The cache lies in SPARSEC_CACHE, or in the folder `sparsec` of XDG_CACHE_HOME or ~/.cache. It must be
the user's own, and nobody else may write to it: what is kept there is run. SPARSEC_CACHE=off
switches it off.

    SPARSEC_CACHE=off sparsec cache list

Unset SPARSEC_CACHE, or set it to a folder of your own (`chmod go-w` takes the right to write
from others).";
    WRONG_SCHEDULE = "E0724", "a schedule that computes something else",
"`sparsec tune` found a schedule whose kernel does not compute what plain loops and the reference
evaluator do. A schedule never changes a result: that is a bug in sparsec, unless it is the
program's own schedule and ignores races:

    def f(int(N) at, double(N) x, double(K) h) -> (h) { h(at(i)) += x(i) }
    schedule f { parallelize(i, CPUThread, IgnoreRaces) }
    sparsec tune f.tc at=zeros x=random:1 h=zeros --size N=1000000 --size K=8 --threads 8

Write Atomics there. The schedule was discarded, and a folder has the program, the schedule and
the command that shows the fault: please report it where nothing says IgnoreRaces.
The exit code is 1, whatever else was found.";
    NOTHING_RUNS = "E0725", "a tuning without a measurement",
"`sparsec tune` compares schedules with plain loops on the data that it is given. Either those do not
run, or no schedule was measured within `--budget`.

    def f(double(N) x, int(M) I) -> (y) { y(i) = x(I(i)) }
    sparsec tune f.tc x=random:1 I=I.tns --size N=8           # I.tns has the line `2 9`

`sparsec run --no-schedule` with the same data says why: x has no element 9 (E0606). Mend the
data, or give more time: `--budget 10m`.";
    BROKEN_CANDIDATE = "E0726", "a schedule whose kernel crashes",
"`sparsec tune` runs each schedule in a process of its own. One crashed and was discarded. That is a
bug in sparsec, or in the C compiler:

    CC=./cc sparsec tune spmv.tc A=web.mtx x=random:1         # ./cc makes kernels that abort

Tune with another compiler. If it crashes there, too, please report it with the schedule that the
note shows.";
    DEVICE_FILE = "E0727", "a device file that cannot be used",
"    sparsec spmm.tc --device mine.json

The file gives numbers that schedules are found by, under their names, in groups; what it leaves
out is as it is without it:

    { \"cpu\": { \"row_bytes\": 512 }, \"gpu\": { \"group\": 16 } }

`sparsec auto --print-device` writes one with all of them. Numbers are more than 0.";
    TWO_TARGETS = "E0728", "programs of two targets in one folder",
"The runtime header and the makefile are each target's own, under the same names: those of the program
that is written last take the place of the others, with which programs of another target cannot be
compiled any more.

    sparsec spmv.tc -o out
    sparsec spmm.tc --target cuda -o out       # out/spmv.c wants the header for C

Write programs of each target into a folder of their own: `-o out_cuda`.";
}
