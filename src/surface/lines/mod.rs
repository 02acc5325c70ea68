//! Messages as lines on standard input and output.
//!
//! Both ends of a pipe may misbehave: a line may be garbage or endless, the peer may stop reading
//! or go away. Nothing of that holds up anybody here. What the lines mean is their reader's business.

mod assembly;
pub(crate) mod input;
mod now;
pub(crate) mod writer;
