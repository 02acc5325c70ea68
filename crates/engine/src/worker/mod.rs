//! The two sides of the connection between haft's process and a worker process.
//!
//! A worker process runs one isolate; haft's own process runs none of a module, and keeps everything
//! that concerns callers: the requests, their updates and users, the log, pending actions. Two
//! sockets connect them:
//!
//! - The *main* socket carries requests to the isolate in their order, and everything from the
//!   worker to haft. The isolate's own thread reads it, so a small call wakes one thread of the
//!   worker.
//! - The *control* socket carries orders that must not wait for JavaScript: to withdraw a request,
//!   to interrupt a renderer, to end. A thread of its own reads it.
//!
//! The worker decides under one lock whether JavaScript has seen a request ([`ReceivedRequests`]);
//! haft's process asks it before it sends a request elsewhere. For a worker that was killed, its
//! [`WorkerReport`] says which requests it had taken.
//!
//! haft treats all bytes of a worker as hostile: messages are limited in size, unknown ids are
//! ignored, and a message that cannot be read ends the worker.
//!
//! [`ReceivedRequests`]: received_requests::ReceivedRequests

mod host_link;
mod host_sender;
pub(super) mod protocol;
mod received_requests;
pub(super) mod socket;
mod worker_report;
mod worker_state;

pub(super) use host_link::{HostLink, RemoteReplay};
pub(super) use host_sender::HostSender;
pub(super) use worker_report::WorkerReport;
pub(super) use worker_state::{WorkerState, out_of_memory};
