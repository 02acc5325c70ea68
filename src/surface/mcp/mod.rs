//! Serves the registry by the Model Context Protocol, MCP 2025 and MCP 2026-07, over stdio and
//! HTTP.
//!
//! rmcp implements the protocol. This module converts its requests to calls, and outcomes to its
//! results. The host decides which calls may run. `docs/mcp.md` is the specification.

mod schema;

mod hints;
mod instructions;
mod tool_list;
mod upstream;

mod elicitation;
mod execution;
mod suspended;
mod tasks;

mod call;
mod client;
mod log;
mod message;
mod peer;
mod progress;
mod result;

mod handler;
mod server;
mod shared;
mod spans;

mod http;
mod stdio;

pub(crate) use http::router;
pub(crate) use stdio::serve as serve_stdio;
pub(crate) use tool_list::{ListedTool, listed, problems};
