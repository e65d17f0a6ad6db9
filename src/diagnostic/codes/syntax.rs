//! Codes of the parser.

use super::codes;

codes! {
    UNEXPECTED = "E0101", "unexpected text",
"The text does not follow the language's grammar at the place shown:

    def f(double(N) x) -> (y) {
      y(i) = 2 * x(i          # the parenthesis is not closed
    }

The message says what could have stood there. Nothing is ever ignored: text after
the last definition is an error too.";
    NUMBER = "E0102", "a number that does not fit",
"A whole number is larger than 2^64 - 1, or a decimal number is not finite:

    y(i) = 99999999999999999999 * x(i)

Write it as a decimal number (`1e20`), or scale the data.";
    TOO_DEEP = "E0103", "an expression that is nested too deeply",
"Parentheses are nested more than 200 deep, or an expression has more than 1000
operators on top of each other. Use temporaries:

    t(i) = a(i) + b(i)
    y(i) = t(i) + c(i)";
    TACO = "E0104", "TACO notation",
"An argument of -f, -t, -d or -s does not have its form:

    -f A:ds          levels, outermost first: d dense, s compressed,
                     u compressed with repeats, q singleton, c singleton with repeats
    -f A:ds:1,0      with the mode order
    -t A:float       a type
    -d i:100         a fixed range
    -s 'split(i,i0,i1,32),parallelize(i0,CPUThread,NoRaces)'";
}
