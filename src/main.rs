//! The `sparsec` program; see `cli` for everything it does.

use std::io::Write;
use std::process::ExitCode;

/// Expressions nest as deeply as the parser allows: the stages recurse over them.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        // Standard error may be full, too.
        let _ = writeln!(
            std::io::stderr(),
            "sparsec: internal error: {info}\nThis is a bug; please report it with the input that causes it."
        );
    }));
    let worker = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(sparsec::cli::main);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(_)) => ExitCode::from(101),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "sparsec: cannot start: {error}");
            ExitCode::from(4)
        }
    }
}
