//! The `sparsec` program; see `cli` for everything it does.

use sparsec::cli;
use std::process::ExitCode;

/// Expressions nest as deeply as the parser allows: the stages recurse over them.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        cli::last_words(
            &format!("internal error: {info}"),
            "This is a bug; please report it with the input that causes it.",
        );
    }));
    let worker = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(cli::main);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(_)) => ExitCode::from(101),
        Err(error) => {
            cli::last_words(
                &format!("cannot start: {error}"),
                "It needs a thread with a stack of 256 MiB of address space.",
            );
            ExitCode::from(4)
        }
    }
}
