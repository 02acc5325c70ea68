//! HTTP server shared by the surfaces: listening, access control, error responses, shutdown.
//!
//! It knows no tools, and no paths except those of the page, of the health check and of readiness. A surface
//! provides a router. [`serve`] puts the guard in front of it and answers requests without a route.

mod access;
mod body;
mod client;
mod connections;
mod descriptors;
mod guard;
mod held;
mod listen;
mod path;
mod problem_response;
mod readiness;
mod server;
mod socket;
pub(crate) mod sse;
mod stream;
mod unanswered;

pub(crate) use access::{Access, is_loopback, reachable_by_others};
pub(crate) use body::{BodyBudget, BodyLimits, BodyMemory, BodyReader, JsonText, says_json};
pub(crate) use client::{Client, Permit, too_many};
pub(crate) use connections::Standing;
pub(crate) use guard::{for_clients_only, guarded};
pub(crate) use held::held;
pub(crate) use listen::Listening;
pub(crate) use path::{PathText, QueryOptions};
pub(crate) use problem_response::{ProblemDetails, ProblemResponse};
pub(crate) use readiness::{Readiness, readiness_router};
pub(crate) use server::serve;
pub(crate) use stream::Peer;
pub(crate) use unanswered::{Unanswered, counted};
