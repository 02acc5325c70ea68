//! The registry over the Model Context Protocol: both eras of it, over stdio and HTTP.
//!
//! rmcp speaks the protocol; here its requests become calls and outcomes its results. Nothing is
//! decided here: what may run is the host's to say. `docs/mcp.md` is the contract.

mod schema;

mod hints;
mod instructions;
mod offer;
mod selection;

mod asking;
mod entry;
mod execution;
mod parked;
mod tasks;

mod call;
mod changes;
mod client;
mod log;
mod message;
mod progress;
mod request;
mod result;
mod structured;

mod server;

mod http;
mod stdio;

pub(crate) use http::router;
pub(crate) use offer::{ListedTool, listed, problems};
pub(crate) use selection::{Selection, Wanted};
pub(crate) use stdio::serve as serve_stdio;
