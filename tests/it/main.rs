//! The one integration binary: every link of V8 costs, so there is no second one.
//!
//! Modules in the order in which a newcomer should read them.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start haft from outside, as its users do"
)]

// The sandbox that every test of the program runs in.
mod sandbox;
// A terminal for one program, to read from and type on.
mod pty;
// Child processes: real ones, each promise of the room by itself.
mod process;
// A process of its own for a test that counts what is left.
mod arena;
// What a stop ends beyond the program's own group, and what it must not end.
mod process_trees;
// Hundreds of calls of the worst programs at once, and nothing left of them.
mod torture;
// The same from a module, through `pi.exec`.
mod torture_pi_exec;
// The same through executables that describe themselves.
mod torture_tools;
// What importing a module can read, found without running it.
mod graph;
// The host through the SDK: what needs a clock, or ten thousand calls.
mod engine;
// Modules over several isolates.
mod isolates;
// Where tools may be, rule by rule, and the configuration.
mod discovery;
// Executable tools, Kodelet's and ikigai's: clocks, many at once, what is left of them.
mod exec;
// Cases that are folders: `tests/specs/**` and `example-tools/**`, each a shell session.
mod sessions;
// The library as an embedding host uses it: from a runtime of its own, from many threads at once.
mod sdk;
// Its own tools: Rust closures; the loader's shapes; the example program.
mod sdk_tools;
// What tools ask and tell, over a host with several users at once.
mod ui;
// An HTTP server that can misbehave.
mod loopback;
// aynd's tools against real servers, repositories and processes, and its registry.
mod plugin;
// YAML shell tools as files: what is read, refused, offered. Nothing is run.
mod cycod;
// What modules say is remembered, by several processes at once.
mod cache;
mod compiled;
// What changes on disk while a host runs.
mod reload;
// `haft rpc` as another program meets it: what it sends, how it goes away, what it never reads.
mod rpc;
// The system tools where a session is not enough: signals, memory, other users.
mod system_tools;
// The program at a terminal, and every exit code.
mod terminal;
// Values in the text of a shell, through the real bash.
mod shell_quote;
// YAML shell tools that run: texts, steps, outputs, rights.
mod shell_run;
// Rules about the sources themselves: who may use whom, what lies in the root.
mod architecture;
