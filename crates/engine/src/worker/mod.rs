//! Isolates in worker processes.
//!
//! A worker process (`haft --worker`) runs one isolate. haft's process keeps everything that
//! concerns callers: the requests, their updates and users, the log, pending actions. Two sockets
//! connect them:
//!
//! - The *main* socket carries requests to the isolate in their order, and everything from the
//!   worker to haft. The isolate's own thread reads it, so a small call wakes one thread of the
//!   worker.
//! - The *control* socket carries orders that must not wait for JavaScript: to withdraw a request,
//!   to interrupt a renderer, to end. A thread of its own reads it.
//!
//! The worker decides under one lock whether JavaScript has seen a request ([`Requests`]); haft's
//! process asks it before it sends a request elsewhere. For a worker that was killed, its
//! [`WorkerReport`] says which requests it had taken.
//!
//! haft treats all bytes of a worker as hostile: messages are limited in size, unknown ids are
//! ignored, and a message that cannot be read ends the worker.
//!
//! [`Requests`]: super::requests::Requests
//! [`WorkerReport`]: super::worker_report::WorkerReport

mod connection;
mod host_sender;
mod process;
mod protocol;
mod remote_link;
mod socket;
mod spare;

pub(super) use connection::Connection;
pub use process::{run_worker, run_zygote};
pub(super) use spare::{BootingWorker, Spares};
