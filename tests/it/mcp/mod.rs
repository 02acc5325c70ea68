//! `haft serve mcp` as MCP clients meet it, over real pipes and sockets (`docs/mcp.md`).
//!
//! Nothing is waited for by the clock: a tool says by an update that it runs, or waits itself for
//! an event. The few times that appear are bounds that the contract names.

// A client that speaks raw JSON-RPC on pipes, in either era.
mod client;
// What is offered, and what calls come to.
mod tools;
// Garbage, floods, ends: nothing is lost, nothing is left.
mod stdio;
