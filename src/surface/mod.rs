//! Interfaces of haft: command line, MCP, REST, JSON-RPC, web page.
//!
//! A surface translates its own request into a `Call` and an `Outcome` into its own response. It
//! makes no other decisions. Surfaces are independent of each other. They share the wire form of a
//! tool, a problem and a result, and for servers `http` and what `nats` shares with other hosts.

pub mod cli;
pub(crate) mod http;
pub(crate) mod inspect;
pub(crate) mod json_rpc;
pub(crate) mod mcp;
pub(crate) mod nats;
pub(crate) mod page;
pub(crate) mod question_view;
pub(crate) mod queued_view;
pub(crate) mod rest;
pub(crate) mod rpc;
pub(crate) mod selection;
pub(crate) mod signals;
pub(crate) mod stdin;
pub(crate) mod stdio;
pub(crate) mod stdout;
pub(crate) mod terminal;
pub(crate) mod traces;
pub(crate) mod wire;
