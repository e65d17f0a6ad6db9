//! Codes of the stage `program`.

use super::codes;

codes! {
    UNKNOWN_NAME = "E0201", "a name that is not known",
"A name is neither a parameter, a tensor that some statement writes, a size nor an
index variable. A name that means nothing else is an index variable only where it
stands in a subscript or a `where` clause:

    def f(double(N) x) -> (y) {
      y(i) = alpha * x(i)              # alpha is not declared
    }

Declare it: `def f(double alpha, double(N) x)`.";
    UNKNOWN_FUNCTION = "E0202", "a tensor or function that is not known",
"Parentheses follow a name that is neither a tensor nor a function nor a type:

    y(i) = expp(x(i))                  # did you mean `exp`?

Functions are abs sqrt exp log log1p expm1 sin cos tan tanh sigmoid pow floor ceil
round min max fma and C's float spellings (`fmaxf`), and operators that the file declares
(`op NAME(x, y) = ...`); a type's name converts.";
    DUPLICATE_NAME = "E0203", "a name that is given twice",
"Two things that must differ have one name: functions of a file, parameters or
results of a function, a scalar parameter and a size, or ranges of one variable:

    def f(int N, double(N) x) -> (y) { ... }     # the size N comes with x

Rename one of them; sizes need no parameter of their own. Functions of a file also differ from
what is written with them: `f` brings `f_raw`, `f_check`, `f_device` and others along.";
    UNKNOWN_TYPE = "E0204", "an element type that is not known",
"    def f(real(N) x) -> (y) { ... }

The types are double, float, half, bfloat16, bool, int8 int16 int32 int64, uint8 uint16
uint32 uint64, complex64, complex128, and int, byte, long. Write `double(N) x`.";
    SUBSCRIPT_COUNT = "E0205", "the wrong number of subscripts",
"A tensor needs one subscript for each of its dimensions, a scalar none:

    def f(double(M,N) A) -> (y) {
      y(i) = A(i)                      # A has two dimensions
    }

Write `A(i,j)`; in `y(i) = A(i,j)` the variable j is summed over.";
    ARGUMENT_COUNT = "E0206", "the wrong number of arguments",
"    y(i) = pow(x(i))                   # pow takes two

Write `pow(x(i), 2)`.";
    LEFT_SUBSCRIPT = "E0207", "a left side that is not made of distinct variables",
"The subscripts on the left must be distinct index variables, so that it is plain
that each element is written once:

    y(i + 1) = x(i)                    # not supported yet
    D(i,i) = x(i)                      # not supported yet

Write `y(k) = k >= 1 ? x(k - 1) : 0 where k in 0:N+1`, or `D(i,j) = i == j ? x(i) : 0 where j
in 0:N`. A size, scalar or tensor name cannot be an index variable. What reduces may go where data
or other variables say, into a parameter: `h(bin(i)) += m(i)`, or `c(k) +=! a(i) * b(j) where k in
i+j:i+j+1`. `=` cannot, since they may name an element several times.";
    SUBSCRIPT_FORM = "E0208", "a subscript with a sum inside",
"A subscript is an expression of index variables, sizes, integer parameters and elements
of integer tensors:

    y(i) = x(i / 2) + x(max(i - 1, 0)) where i in 0:N
    y(i) = x(sum(j, I(i,j)))           # not supported yet

Ranges follow from affine ones alone; others are checked when the function is called. Store the
sum in an integer tensor and read it: `y(i) = x(I(i))`.";
    NOT_WHOLE = "E0209", "a subscript or bound that is no whole number",
"    def f(double(N) p, double(M) x) -> (y) {
      y(i) = x(p(i))                   # p has elements of type double
    }

Declare `int(N) p`, or convert: `x(int(p(i)))`.";
    OPERAND_TYPE = "E0210", "an operation that is not defined for a type",
"Complex numbers have no order, so `<`, `min`, `max` and `%` refuse them; `+=` and `*=`
do not reduce into bool elements, and `&&=` and `||=` into nothing else:

    def f(complex64(N) z) -> (m) {
      m max=! z(i)                     # which of two complex numbers is larger?
    }

Reduce magnitudes: `m max=! abs(z(i))`.";
    UNKNOWN_ELEMENT_TYPE = "E0211", "an element type that nothing tells",
"The type of a result is that of its first right side. Nothing tells it if every
right side reads only the tensor itself:

    def f() -> (y) { y = y * y }

Declare it: `def f(double y) -> (y)`.";
    ASSIGNED_PARAMETER = "E0212", "a parameter that is assigned but not returned",
"    def f(double(N) x) -> (y) {
      x(i) = 2 * x(i)                  # the caller's x would change unseen
      y(i) = x(i)
    }

Return it too (`-> (x, y)`), or write to another name, which makes a temporary.";
    NEVER_ASSIGNED = "E0213", "a result that is never assigned",
"    def f(double(N) x) -> (y, z) {
      y(i) = x(i)                      # nothing writes z
    }

Assign it, or leave it out of the results.";
    READ_BEFORE_WRITTEN = "E0214", "a temporary that is read before it is written",
"A temporary has no content before a statement writes all of it:

    def f(double(M,N) A) -> (y) {
      t(i) += A(i,j)                   # adds to what?
      y(i) = t(i)
    }

Initialise it: `t(i) +=! A(i,j)`. A returned tensor that is read first is in-out: the
caller gives its content.";
    READS_WHILE_WRITING = "E0215", "an update that reads other elements of what it writes",
"All of the right side is read before anything is written. Updates are done in place,
so they can only read the very element that they write:

    a(i,j) = a(j,i)                    # a(j,i) may be overwritten already
    O(b,n) = O(b,m) * W(n,m)           # reads all of a row that it overwrites

Write into another tensor: `t(i,j) = a(j,i)`. Pointwise updates such as
`O(b,n) = fmaxf(O(b,n), 0)` are fine.";
    AMBIGUOUS_RANGE = "E0216", "a range that is ambiguous",
"Two variables share one extent, and nothing else bounds either of them:

    def maxpool(float(H) in) -> (out) {
      out(i) max=! in(2 * i + k)       # a long window, or many of them?
    }

Fix one of them: `where k in 0:2`. The other one then gets the largest range that
reads nothing out of bounds.

Or two subscripts bound one variable by extents of which nothing says which is meant:

    def scale(double(M,N) A, double(N) x) -> (y) {
      y(i,j) = A(i,j) * x(i)           # to M, or to N?
    }

If they are equal, use one name for both. Otherwise say it: `where i in 0:M`.";
    NO_RANGE = "E0217", "an index variable without a range",
"Ranges come from the shapes of the tensors that a variable subscripts. This one
subscripts none by itself:

    def f(int(N) I) -> (y) {
      y(i,k) = I(i) + k                # how far does k run?
    }

Give it a range: `where k in 0:8`. A misspelt scalar or size in a subscript is an index
variable too.";
    SHAPE_CONFLICT = "E0218", "a tensor with two shapes",
"Two statements write a tensor over different ranges:

    def f(double(M) a, double(N) b) -> (y) {
      y(i) = a(i)                      # y has extent M
      y(i) += b(i)                     # but here i runs to the smaller of M and N
    }

Use one size name for both, or say with `where` which part is written.";
    OUT_OF_BOUNDS = "E0219", "an access out of bounds",
"A subscript leaves its tensor whatever the sizes are. Ranges start at 0 if nothing
else is said:

    y(i) = x(i + 1) - x(i - 1)         # x(-1) for i = 0

Give a range that stays inside: `where i in 1:N-1`; or read it under a condition that keeps it inside:
`i > 0 ? x(i-1) : 0`.";
    CYCLIC_RANGES = "E0220", "ranges that use each other",
"A dynamic range may use variables that are known before it:

    y(i) += v(p) where p in pos(q):pos(q+1), q in crd(p):crd(p)+1

Here p uses q and q uses p. Give one of them a range of its own. The range of a variable
of the left side cannot use one that is summed over.";
    RECURSIVE_CALL = "E0221", "a function that calls itself",
"Calls are inlined, so a function cannot call itself, also not by way of others:

    def f(double(N) x) -> (y) { y = f(x) }";
    CALL_MISMATCH = "E0222", "a call that does not fit the function",
"The arguments and results of a call are those of the `def`, in its order, with its
element types and numbers of dimensions:

    def scale(double a, double(N) x) -> (y) { y(i) = a * x(i) }
    def main(double(N) x) -> (z) {
      z = scale(x, 2)                  # the scalar comes first
    }

Write `z = scale(2, x)`. A result needs a name that is no argument of the same call.

Dimensions to which the `def` gives one name have one size, as where its statements stood in
place of the call: a name beside a constant has its value, and two names that stand nowhere
else in the function's dimensions are one size (E0232), both checked at run time. Two
different constants are refused, and so is one of two names where it is ambiguous which one
a range has (E0216). Write one name for both.";
    DATA_DEPENDENT_SHAPE = "E0223", "a shape that depends on data",
"The extents of a result must be known before it is computed:

    def f(int(R) n, double(N) x) -> (y) {
      y(i,p) = x(p) where p in 0:n(i)
    }

Declare the result with its shape and return it: `def f(..., double(R,N) y) -> (y)`.";
    USELESS_RANGE = "E0224", "a range for a name that is no index variable",
"    y(i) = x(i) where k in 0:3         # no k here

Remove the clause, or correct the name.";
    UNKNOWN_DEF = "E0225", "a function that is not defined",
"A `format` or `schedule` block, a call, or the command line names a function that the
file does not define:

    def spmv(...) -> (y) { ... }
    format spmm { A: csr }             # did you mean `spmv`?";
    TOO_MANY_TERMS = "E0226", "a product with too many terms",
"`=` sums term by term, so a product of sums in which only some terms have a summed
variable must be expanded. This one has hundreds of terms:

    y(i) = (a(i,j) + b(i)) * (c(i,k) + d(i)) * ...

Store factors in temporaries, or write `y(i) +=! ...` to sum the right side as a whole.";
    MISPLACED_CALL = "E0227", "a call inside an expression",
"    y(i) = 2 * f(x)                    # f is a function of the file

A call gives whole tensors. Write `t = f(x)`, then `y(i) = 2 * t(i)`.";
    NUMBER_TOO_LARGE = "E0228", "a whole number that is too large",
"Whole numbers have 64 bits with a sign:

    y(i) = 10000000000000000000 * x(i)

Write `1e19` for a floating-point number.";
    UNKNOWN_SIZE = "E0229", "a size that does not exist",
"`--size K=100` fixes a size name, and no parameter of the program has it:

    def spmv(double(M,N) A, double(N) x) -> (y) { ... }

The sizes here are M and N.";
    TOO_DEEP = "E0230", "a function or expression that is too large",
"An expression is nested hundreds of levels deep, or inlined calls give thousands of
statements:

    y(i) = a(i) + (a(i) + (a(i) + ( ... )))

Store parts of it in temporaries; split the function.";
    UNUSED = "E0231", "a tensor that is never read",
"A warning. No statement reads a parameter or temporary, and its shape is not needed
either:

    def f(double(N) x, double(N) z) -> (y) { y(i) = x(i) }   # what is z for?

Remove it, or correct the name where it was meant.";
    ONE_SIZE = "E0232", "two names for one size",
"A warning. Two size names bound one index variable, and stand nowhere else:

    def f(float(B,M) I, float(O,N) W) -> (y) { y(b,o) +=! I(b,m) * W(o,n) }   # fine
    def g(float(B,M) I, float(O,N) W) -> (y) { y(b,o) +=! I(b,m) * W(o,m) }   # M is N

They are one size: a call in which they differ is refused. Write one name for both. A name
beside a constant extent has its value. An error where `--size` gives them different values.";

    NESTED_SUM = "E0233", "a sum that stands in another sum",
"`sum(j, e)` in TACO notation is summed over j where it stands. What is around it may be summed,
too, if that makes one sum of products:

    -e 'y=x(i)*sum(j,A(i,j))'                            # fine: the sum of x(i)*A(i,j)
    -e 'y=square(sum(j,A(i,j)))'                         # a sum of squares of sums
    -e 's(i)=sum(j,A(i,j))' -e 'y=square(s(i))'          # write it in two

Nor can j stand on the left, or in a sum around it.";
    OPERATOR_CLAIM = "E0234", "an operator that is not what it claims",
"An operator of one's own is associative, and is what else it claims. That is tried on random values
of the type that it is used on:

    op mean(x, y) = (x + y) / 2                                # is not associative
    op norm(x, y) = sqrt(x*x + y*y) identity 0 commutes        # norm(-2, 0) is 2, not -2
    op minplus(x, y) = min(x, y) identity inf annihilator -inf commutes        # fine

Reductions combine values in any order and start from the identity, so a wrong claim would be
wrong numbers. Take the claim out, or correct the operator.";
    OPERATOR_USE = "E0235", "an operator that cannot be used here",
"A reduction needs an operator that `commutes` and has an `identity`:

    op left(x, y) = x
    def f(double(M,N) A) -> (y) { y(i) left=! A(i,j) }        # which j is first?

Nor does each operator have a meaning in each type: comparisons, `min` and `max` have none among
complex numbers, `exp` and its like only among floats, arithmetic none among `bool`.";
    OPERATOR_BODY = "E0236", "an operator that is made of something else than its operands",
"    op scaled(x, y) = alpha * x * y                            # alpha is no operand

Its body has the operands, numbers, operators and functions, those that are declared above it among
them. Whatever else is needed goes into the statement: `y(i) times=! alpha * A(i,j)`.";
}
