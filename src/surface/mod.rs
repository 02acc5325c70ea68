//! How the world asks haft for things, and the shape in which it is answered.
//!
//! A surface translates and never decides: it turns its own request into a `Call` and
//! an `Outcome` into its own answer. Siblings do not know each other; what they share
//! is the wire form of a tool, a problem and a result, and for servers `http`.

pub mod cli;
pub(crate) mod http;
pub(crate) mod lines;
pub(crate) mod mcp;
pub(crate) mod page;
pub(crate) mod rest;
pub(crate) mod rpc;
pub(crate) mod signals;
pub(crate) mod stdin;
pub(crate) mod stdout;
pub(crate) mod wire;
