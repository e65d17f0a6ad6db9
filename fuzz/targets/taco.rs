//! TACO notation and schedules on the command line: a line for each argument, its option
//! first, such as `e y(i)=A(i,j)*x(j)` and `f A:ds`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sparsec::driver::Source;
use sparsec::syntax::taco::TacoArgs;

fuzz_target!(|text: &str| {
    let mut args = TacoArgs::default();
    for line in text.lines() {
        let Some((option, value)) = line.split_once(' ') else {
            continue;
        };
        let values = match option {
            "e" => &mut args.exprs,
            "f" => &mut args.formats,
            "t" => &mut args.types,
            "d" => &mut args.dims,
            "s" => &mut args.schedules,
            _ => continue,
        };
        values.push(value.to_string());
    }
    // The command line asks for an expression before it comes here.
    if !args.exprs.is_empty() {
        sparsec_fuzz::compile(Source::Taco(args));
    }
});
