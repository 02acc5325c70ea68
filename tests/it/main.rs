//! The one integration binary: every link of V8 costs, so there is no second one.
//!
//! Modules in the order in which a newcomer should read them.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start haft from outside, as its users do"
)]

// The sandbox that every test of the program runs in.
mod sandbox;
// Child processes: real ones, each promise of the room by itself.
mod process;
// What importing a module can read, found without running it.
mod graph;
// Where tools may be, rule by rule, and the configuration.
mod discovery;
// Cases that are folders: `tests/specs/**` and `example-tools/**`, each a shell session.
mod sessions;
// Rules about the sources themselves: who may use whom, what lies in the root.
mod architecture;
