//! The `haft` program. Everything it does is in `surface`; there is one way out.

use std::process::ExitCode;

/// Memory of a call is often freed by another thread than the one that allocated it, which glibc's
/// allocator does under a lock. docs/speed.md has the figures.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    haft::program::run(std::env::args_os())
}
