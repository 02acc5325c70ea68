//! Child processes, with real ones. No V8 is linked here.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "tests start programs and read the environment"
)]

// Programs that the tests start, and processes that they look at.
mod programs;
// A process of its own for a test that counts resources.
mod arena;
// Each promise of the package by itself.
mod children;
// Programs of a trusted project.
mod verified;
// Processes outside of the program's own group: those that a stop ends, and those that it must not.
mod trees;
// Attempts to leave a sandbox.
mod attacks;
// The proxy of programs in a sandbox.
mod proxy;
// Denied parts of what a sandbox grants.
mod denied;
// Limits of a program with all that it starts.
mod limits;
// Programs in a sandbox: what they can do, and what not.
mod sandbox;
// Hundreds of concurrent calls of the worst programs, which leave nothing behind.
mod torture;
