//! Tests of calls over NATS with the real server, which `cargo xtask test` installs.

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "tests start programs and read the environment"
)]

mod auth;
mod calls;
mod cluster;
mod discovery;
mod failures;
mod freshness;
mod history;
mod hostile;
mod hosts;
mod nats_server;
mod queue;
mod replies;
mod server;
