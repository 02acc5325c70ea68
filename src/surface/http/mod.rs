//! What every server of haft shares: where it listens, who may talk to it, how it says no, how it ends.
//!
//! Knows no tool and, but for that of the page and of the sign of life, no path. A surface brings a router; [`serve`] puts the guard before it and
//! answers what no route does.

mod access;
mod body;
mod book;
mod client;
mod connections;
mod descriptors;
mod fault;
mod guard;
mod held;
mod listen;
mod path;
mod server;
mod socket;
pub(crate) mod sse;
mod stream;
mod unanswered;

pub(crate) use access::{Access, is_loopback, reachable_by_others};
pub(crate) use body::{BodyBudget, BodyLimits, BodyMemory, BodyReader, JsonText, says_json};
pub(crate) use book::{BookEntry, CallBook};
pub(crate) use client::{Client, Permit, too_many};
pub(crate) use connections::Standing;
pub(crate) use fault::{Fault, ProblemDetails};
pub(crate) use guard::{for_clients_only, guarded};
pub(crate) use held::held;
pub(crate) use listen::Listening;
pub(crate) use path::PathText;
pub(crate) use server::serve;
pub(crate) use stream::Peer;
pub(crate) use unanswered::{Unanswered, counted};
