//! State of isolates for debuggers, which speak the protocol of V8's inspector as Chrome and VS Code
//! do.
//!
//! A paused isolate waits inside V8: it takes no request, answers no ping and runs no timer.
//! [`Target`] notes that, so that the clocks of its calls stand still and nothing takes the isolate
//! for one that hangs.

mod profile;
mod sessions;
mod target;

pub(super) use profile::Profiler;
pub(super) use sessions::Sessions;
pub use target::InspectedIsolate;
pub(super) use target::Target;
