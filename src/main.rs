//! The `haft` program. Everything it does is in `surface`; there is one way out.

use std::process::ExitCode;

fn main() -> ExitCode {
    haft::program::run(std::env::args_os())
}
