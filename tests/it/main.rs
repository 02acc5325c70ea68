//! The only integration test binary: each binary would link V8 again.
//!
//! Modules in the order in which a newcomer should read them.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "tests start haft from outside, as its users do"
)]

/// Serves the worker processes of the hosts in this program, because the test runner has the `main`.
///
/// The linker puts it behind the other functions that run before `main`: those of Deno's crates
/// register what a worker needs.
#[used]
#[allow(unsafe_code, reason = "the section is the list of such functions")]
#[unsafe(link_section = ".init_array.70000")]
static SERVE_WORKERS: extern "C" fn() = serve_workers;

extern "C" fn serve_workers() {
    #[allow(
        unsafe_code,
        reason = "the function takes a pointer to a handler, which is none here"
    )]
    // SAFETY: no handler is set. Rust's `main` does the same, but comes later.
    let ignored = unsafe {
        use nix::sys::signal::{SigHandler, Signal, signal};
        signal(Signal::SIGPIPE, SigHandler::SigIgn)
    };
    ignored.expect("the signal can be ignored");
    if std::env::var_os(WITHOUT_WORKERS).is_none() {
        haft::run_worker_process();
    }
}

/// Variable with which this program does not serve worker processes.
const WITHOUT_WORKERS: &str = "HAFT_TEST_WITHOUT_WORKERS";

// The sandbox that every test of the program runs in.
mod sandbox;
// A terminal for one program, to read from and type on.
mod pty;
// Programs that the tests start, and processes that they look at.
#[path = "../../crates/process/tests/process/programs.rs"]
mod programs;
// A process of its own for a test that counts resources.
#[path = "../../crates/process/tests/process/arena.rs"]
mod arena;
// Hundreds of calls of the worst programs through `pi.exec`, which leave nothing behind.
mod torture_pi_exec;
// The same through executables that describe themselves.
mod torture_tools;
// The module graph: everything that importing a module can read, found without running it.
mod graph;
// Text that was made to break a parser.
mod untrusted_text;
// Calls that never end, of every family.
mod call_time;
// Executables of trusted projects that change after the grant.
mod verified_programs;
// Built-in tools that start git, in hostile repositories.
mod git;
// Programs and folders that other users of the machine can replace.
mod owners;
// The host through the SDK: the cases that need a clock, or ten thousand calls.
mod engine;
// Attempts of JavaScript tools to leave their sandbox.
mod sandbox_attacks;
// Worker processes of modules.
mod workers;
// Projects as people have them, in the default sandbox.
mod ordinary;
// Modules that share a worker process.
mod isolates;
// Denied entries of permissions, kind by kind.
mod denied;
// Debuggers and profiles.
mod debugging;
// The real NATS server.
#[path = "../../crates/nats/tests/nats/nats_server.rs"]
#[allow(dead_code, reason = "the tests of the package restart it, too")]
mod nats_server;
// Calls between hosts over NATS.
mod nats;
mod nats_shared;
// Traces, metrics and logs for OpenTelemetry and Prometheus.
mod telemetry;
// A project that is not trusted, and every command.
mod untrusted;
// Isolates of different trust domains.
mod domains;
// Attacks by tools on the process: its output, its threads, its descriptors.
mod holes;
// Executable tools, Kodelet's and ikigai's: timeouts, concurrency, leftover processes.
mod exec;
// Cases that are folders: `tests/specs/**` and `example-tools/**`, each a shell session.
mod sessions;
// Console examples of the README and of `docs`.
mod documents;
// Rendering of calls and results: through the SDK and at a terminal.
mod render;
// The library as an embedding host uses it: with a runtime of its own, from many threads at once.
mod sdk;
// The embedder's own tools: Rust closures; the loader's shapes; the example program.
mod sdk_tools;
// Prompts and notifications of tools, over a host with several users at once.
mod ui;
// An HTTP server that can misbehave.
mod loopback;
// Enforcement of `permissions` and tiers, API by API and family by family.
mod permissions;
// Programs in the sandboxes of their profiles.
mod profiles;
// Links at every place where a path may stand that grants something.
mod granted_paths;
// The attacks on sandboxes, with Landlock and seccomp alone.
mod without_namespaces;
// Installation of missing packages, from a registry of ours.
mod install;
// `haft test`: recordings, hanging tools, reports, the tests of the examples.
mod tool_tests;
// Recorded calls, and the tests that they become.
mod recording;
// aynd's tools against real servers, repositories and processes, and its registry.
mod plugin;
// aynd's HTTP handler over TLS.
mod plugin_tls;
// YAML shell tools as files: parsing, errors, the tool list. Nothing is run.
mod cycod;
// Their parameters and arguments, and YAML itself.
mod cycod_arguments;
// Their steps, aliases, risk and schemas.
mod cycod_relations;
// The cache of module descriptions, used by several processes at once.
mod cache;
mod compiled;
// File changes while a host runs.
mod reload;
// The same if the kernel has no watches left.
mod no_watches;
// `haft rpc` as a client sees it: its messages, a client that leaves, a client that never reads.
mod rpc;
// `haft serve` as a program, and a client that sends what a test gives it.
mod served;
// The REST interface and its guard.
mod rest;
// Events at `/api/events`: calls over MCP, and listeners that do not read.
mod rest_events;
// A server that finishes its calls before it ends.
mod drain;
// Access to a server.
mod callers;
// Rights of token holders, and the separation of clients.
mod clients;
mod code;
mod code_attacks;
// haft's interfaces, checked by other people's programs.
mod judges;
mod life;
// Bundles of haft and tools, and the file for the MCP registry.
mod bundle;
// Types of tools for programs, and the compilers that read them.
mod types;
// Tools of a program that haft calls over JSON-RPC, also on a descriptor beside MCP.
mod rpc_program;
// A client of `haft serve mcp` on pipes, for MCP 2025-11 and 2026-07.
mod mcp_client;
mod mcp_code;
// Calls that tools make of other tools.
mod nested;
// The tools that exist for a caller: directly, in nested calls, scripts and queues, and at other hosts.
mod scope;
// haft's own files, changed by tools and by other users.
mod state;
// Tools and results of calls, as MCP clients see them.
mod mcp_tools;
// Garbage, floods and closed ends on standard input and output: no answer is lost.
mod mcp_stdio;
// The parts that reach models: structured results, instructions, hints, long texts.
mod mcp_models;
// Calls that become tasks.
mod mcp_tasks;
// Questions to the user behind an MCP client, approvals, tasks.
mod mcp_asking;
// Log messages of tools, as their callers get them.
mod mcp_log;
mod mcp_schemas;
// A sandbox with MCP servers of ours behind haft.
mod mcp_upstream;
// Everything that a server behind haft can do, over each transport and in both variants.
mod mcp_upstream_passing;
// What servers behind haft have besides tools, as clients of haft see it, and what passes to them.
mod mcp_upstream_served;
// MCP servers behind haft that misbehave, and their effect on everything else.
mod mcp_upstream_hostile;
// MCP servers by other authors behind haft.
mod mcp_upstream_real;
// MCP over HTTP: with sessions, without them, streams.
mod mcp_http;
// Hanging, slow and silent clients of every server, and their effect on the others.
mod http_connections;
// The system tools where a `session.txt` is not enough: signals, memory, other users.
mod system_tools;
// The program at a terminal, and every exit code.
mod terminal;
// Hostile text of every family at a terminal, by every command.
mod terminal_text;
// Names of tools that are reserved or look like others, in every family.
mod names;
// The conversation that calls belong to, through the SDK.
mod session;
// Prompts of tools at a terminal.
mod terminal_ui;
// `haft repl`, key by key.
mod repl;
// Components of tools at a terminal.
mod terminal_custom;
// The examples of the documentation.
mod examples;
// Failures in the embedder's own parts, which become the error of one call.
mod boundary;
// A project with YAML shell tools and the results of their calls, for the tests below.
mod shell_project;
// Tools whose values reach places that a shell evaluates again.
mod shell_places;
// YAML shell tools that run: kinds of commands, inputs, folders.
mod shell_run;
// Coverage of the requirements by tests.
mod requirements;
// Substitution, transforms and escaping in their texts.
mod shell_values;
// Their steps, retries and outputs.
mod shell_steps;
// Their time, memory and rights; tools in tools.
mod shell_rights;
// The specification of YAML shell tools line by line, as a table.
mod shell_checks;
// Sessions of an agent, with an agent of ours that has no model.
mod agent_sessions;
// The page, in a real browser.
mod page;
// The log of calls: the recorded calls, and the detection of a changed log.
mod audit;
// Rules about the sources: allowed dependencies, files in the root.
mod architecture;
// Files that modules of a trusted project may load.
mod verified;
