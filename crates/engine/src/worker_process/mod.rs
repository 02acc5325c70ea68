//! The worker process itself: its start, its control thread, and the event loop of its isolate.

mod event_loop;
mod inbox;
mod process;

pub use process::{run_worker, run_zygote};
