//! Calls of tools between hosts, over NATS.
//!
//! It knows neither the catalog nor trust. `surface::nats` of the library offers a host's tools with
//! it, and `family::remote` makes tools of what other hosts offer. Everything that comes from the
//! network is hostile input: sizes, counts and times are bounded, and what cannot be read costs only
//! itself.
//!
//! - [`Client`]: a connection with a server, which comes back by itself. Only it, its `connection`,
//!   `message`, and `queue` know `async-nats`.
//! - `subjects`: the layout, which tenant and which tool are called by which subject.
//! - `reply`: the subjects on which a host answers, which are not all that a caller names.
//! - `link`: the messages of one call in their order, of any size, over two subjects.
//! - `freshness`: the age of calls, of which a host begins no old one whose caller does not wait.
//! - [`Service`]: offers tools, answers discovery, runs calls by a [`Provider`].
//! - [`Fleet`]: lists and calls the tools of other hosts.
//! - `history`: the logs of calls of hosts, for readers elsewhere.
//! - [`Queue`]: calls that the server keeps until a host runs them.

mod client;
mod connection;
mod message;
mod tls;

mod frames;
mod link;
mod reply;
mod subjects;

mod caller;
mod discovery;
mod fleet;
mod freshness;
mod history;
mod queue;
mod serve_call;
mod service;

pub use caller::RemoteCall;
pub use client::{Client, Subscription};
pub use connection::{Auth, ConnectError, ConnectOptions};
pub use discovery::OfferedTool;
pub use fleet::{Fleet, FleetOptions, HostOffer, Listing, Unavailable};
pub use frames::HostInfo;
pub use history::{
    AddedHistory, FleetLog, HistoryEntry, HistoryFeed, HistoryNews, HistoryPage, HistoryQuestion,
    HostLog,
};
pub use message::{Headers, Message};
pub use queue::{
    Asked, Following, OpenQuestion, Queue, QueueCaller, QueueEntry, QueueEvent, QueueSettings,
    QueueStatus, QueuedCall, Quota,
};
pub use reply::InboxPrefix;
pub use serve_call::{CallLink, DEFAULT_SILENCE, IncomingCall};
pub use service::{Provider, Service, ServiceOptions};
pub use subjects::{check_tenant, machine_name};
pub use tls::{MachineRoots, TlsFiles};
