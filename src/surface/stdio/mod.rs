//! Messages as lines on standard input and output.
//!
//! Both ends of a pipe may misbehave: a line may be invalid or endless, and the peer may stop
//! reading or disconnect. None of this blocks haft. The callers interpret the lines.

pub(crate) mod input;
mod nonblocking;
pub(crate) mod writer;
