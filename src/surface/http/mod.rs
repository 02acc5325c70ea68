//! What every server of haft shares: where it listens, who may talk to it, how it says no, how it ends.
//!
//! Knows no tool and no path. A surface brings a router; [`serve`] puts the guard before it and
//! answers what no route does.

mod access;
mod body;
mod book;
mod connections;
mod descriptors;
mod fault;
mod guard;
mod listen;
mod path;
mod server;
mod socket;
pub(crate) mod sse;
mod unanswered;

pub(crate) use access::Access;
pub(crate) use body::{BodyLimits, JsonText, read_body, says_json};
pub(crate) use book::{BookEntry, CallBook};
pub(crate) use connections::Standing;
pub(crate) use fault::{Fault, ProblemDetails};
pub(crate) use guard::{for_clients_only, guarded};
pub(crate) use listen::Listening;
pub(crate) use path::PathText;
pub(crate) use server::serve;
pub(crate) use unanswered::{Unanswered, counted};
