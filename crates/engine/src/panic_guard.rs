//! Keeps the process alive where Deno would end it.
//!
//! Some of Deno's ops panic when V8 terminates the JavaScript that they run. It is enough to kill a
//! tool while it loads a built-in module (`op_lazy_load_esm`), and a hostile tool can arrange that
//! at any time. Such a panic meets V8's frames, through which Rust cannot unwind, so Rust aborts
//! the process. Before that it calls the panic hook, which parks the thread for good: the isolate
//! counts as gone, and only its memory stays.
//!
//! V8 itself aborts the process where C++ code requests a buffer that the allocator refuses. Its
//! thread is parked in the same way.

#![expect(unsafe_code, reason = "V8 calls it, with pointers")]

use std::cell::RefCell;
use std::panic::{Location, PanicHookInfo};
use std::sync::{Arc, Once, Weak};

use deno_core::v8;

use super::isolate_state::IsolateState;
use super::messages::Termination;
use super::stuck_threads;

/// Reason that is given for an isolate whose thread would have ended the process.
const DEFECT: &str = "its isolate met a defect of Deno";

/// Message of Rust's panic in a function that cannot unwind.
const CANNOT_UNWIND: &str = "panic in a function that cannot unwind";

thread_local! {
    /// The isolate on this thread.
    static ISOLATE: RefCell<Weak<IsolateState>> = const { RefCell::new(Weak::new()) };
}

/// Installs the panic hook and registers `isolate` for this thread. A fatal panic then parks the
/// thread instead of ending the process.
///
/// The previous panic hook still receives all other panics. It is replaced once for the process. A
/// program that sets its own hook later should do so before its first tool is loaded, and call the
/// one that it replaces.
pub(super) fn install(isolate: &Arc<IsolateState>) {
    static HOOKED: Once = Once::new();
    ISOLATE.with(|place| place.replace(Arc::downgrade(isolate)));
    HOOKED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match current_isolate() {
            Some(isolate) if is_last_word(panic) => park_forever(&isolate, DEFECT, false),
            Some(isolate) if is_of_termination(panic, &isolate) => {
                tracing::debug!(%panic, "a terminated isolate met a defect of Deno");
            }
            _ => before(panic),
        }));
    });
}

/// Returns true if the isolate on this thread has to end.
pub(super) fn must_end() -> bool {
    current_isolate().is_some_and(|isolate| isolate.termination.get().is_some())
}

fn current_isolate() -> Option<Arc<IsolateState>> {
    let isolate = ISOLATE.try_with(|place| place.borrow().upgrade());
    isolate.ok().flatten()
}

/// Returns true for a panic of Deno's own code while its isolate is terminated. Such a panic gives
/// no new information. [`park_forever`] or the end of the thread handles the rest.
fn is_of_termination(panic: &PanicHookInfo<'_>, isolate: &IsolateState) -> bool {
    let is_deno = |place: &Location<'_>| place.file().contains("deno_");
    isolate.termination.get().is_some() && panic.location().is_some_and(is_deno)
}

fn is_last_word(panic: &PanicHookInfo<'_>) -> bool {
    panic.payload_as_str() == Some(CANNOT_UNWIND)
}

/// Callback of V8 before it aborts the process for lack of memory: Deno's own code requests buffers
/// without handling a refusal (`new ImageData(20000, 20000)`). Does not return on the thread of an
/// isolate.
pub(super) unsafe extern "C" fn out_of_memory(
    _place: *const std::ffi::c_char,
    _details: &v8::OomDetails,
) {
    if let Some(isolate) = current_isolate() {
        park_forever(&isolate, "it ran out of memory", true);
    }
}

fn park_forever(isolate: &Arc<IsolateState>, why: &str, is_out_of_memory: bool) -> ! {
    tracing::error!(why, "an isolate is given up; its memory stays in use");
    isolate.terminate(Termination {
        why: why.to_owned(),
        is_out_of_memory,
    });
    // The thread computes nothing, but its memory stays: a domain may lose only few like this.
    stuck_threads::add(isolate.thread_id(), &isolate.key);
    isolate.abandon();
    loop {
        std::thread::park();
    }
}
