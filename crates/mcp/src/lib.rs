//! Client of MCP servers: which there are, how they are started, what they offer, how their tools are
//! called.
//!
//! It knows neither the catalog nor trust in projects. `family::mcp` of the library makes tools of
//! it. Everything that a server sends is hostile input: sizes, counts and times are bounded, and
//! a server that misbehaves ends alone.
//!
//! - [`ServerAddress`]: where a server is, from the configuration, with variables replaced.
//! - [`foreign`]: servers in the configuration files of other programs.
//! - [`Definitions`] and [`Pins`]: what a server says that it offers, and what of it is trusted.
//! - [`Pool`] and [`Server`]: connections, which start with the first call and end when idle.
//! - [`ResourceWatch`]: a resource whose changes the server reports.
//! - [`Connection`]: one session with a server, over standard streams or HTTP.

mod address;
mod definitions;
pub mod foreign;
mod pins;
mod rules;

mod connection;
mod pool;
mod server;
mod watch;

mod call;
mod elicitation;
mod result;
mod session;
mod waiting;

mod http;
mod http_client;
mod oauth;
mod outgoing;
mod sse;
mod stdio;
mod text;
mod tokens;

pub use address::{Reference, ServerAddress};
pub use call::CallInput;
pub use connection::{Connection, Endpoint, HttpEndpoint};
pub use definitions::{
    Definitions, Failure, Record, ServerInfo, TIER_HINT, ToolDefinition, Unusable,
};
pub use http_client::TlsConfig;
pub use oauth::Authorization;
pub use pins::{Difference, Pins, Standing};
pub use pool::Pool;
pub use rules::{Rules, ServerRules};
pub use server::{Server, ServerOptions};
pub use tokens::{Place as TokenPlace, TokenStore};
pub use watch::ResourceWatch;
