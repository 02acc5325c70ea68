//! Keeps the process alive where Deno would end it.
//!
//! Some of Deno's ops panic when V8 stops the JavaScript that they run: a tool that is killed in the
//! middle of the loading of a built-in module (`op_lazy_load_esm`) is enough, and a hostile one can
//! be there whenever it likes. Such a panic meets V8's frames, through which Rust cannot unwind, and
//! Rust ends the process. Just before that it calls the panic hook, and there the thread is held for
//! good: its isolate counts as gone, and only its memory stays. V8 itself ends the process where C++ code asks for a
//! buffer that the allocator refuses; its thread is held in the same way.

use std::cell::RefCell;
use std::panic::{Location, PanicHookInfo};
use std::sync::{Arc, Once, Weak};

use deno_core::v8;

use super::isolate::Shared;
use super::requests::Doom;
use super::stuck;

/// Why an isolate is lost whose thread would have ended the process.
const DEFECT: &str = "its isolate met a defect of Deno";

/// What Rust says when a panic cannot go on.
const CANNOT_UNWIND: &str = "panic in a function that cannot unwind";

thread_local! {
    /// The isolate that lives on this thread.
    static ISOLATE: RefCell<Weak<Shared>> = const { RefCell::new(Weak::new()) };
}

/// From now on this thread, on which `isolate` lives, is held instead of taking the process with it.
/// The panic hook that there was goes on hearing of everything else. It is replaced once for the
/// process; a program that sets its own later should do so before its first tool is loaded, and call
/// the one it replaces.
pub(super) fn stand(isolate: &Arc<Shared>) {
    static HOOKED: Once = Once::new();
    ISOLATE.with(|place| place.replace(Arc::downgrade(isolate)));
    HOOKED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match current_isolate() {
            Some(isolate) if is_last_word(panic) => hold(&isolate, DEFECT, false),
            Some(isolate) if is_of_termination(panic, &isolate) => {
                tracing::debug!(%panic, "a terminated isolate met a defect of Deno");
            }
            _ => before(panic),
        }));
    });
}

/// Whether the isolate that lives on this thread has to end.
pub(super) fn must_end() -> bool {
    current_isolate().is_some_and(|isolate| isolate.doomed.get().is_some())
}

fn current_isolate() -> Option<Arc<Shared>> {
    let isolate = ISOLATE.try_with(|place| place.borrow().upgrade());
    isolate.ok().flatten()
}

/// True for a panic of Deno's own code while its isolate is terminated: it says nothing that is not
/// known. What follows is seen to by [`hold`] or by the end of the thread.
fn is_of_termination(panic: &PanicHookInfo<'_>, isolate: &Shared) -> bool {
    let is_deno = |place: &Location<'_>| place.file().contains("deno_");
    isolate.doomed.get().is_some() && panic.location().is_some_and(is_deno)
}

fn is_last_word(panic: &PanicHookInfo<'_>) -> bool {
    panic.payload_as_str() == Some(CANNOT_UNWIND)
}

/// Called by V8 before it ends the process for want of memory: Deno's own code asks for buffers in a way that
/// knows no refusal (`new ImageData(20000, 20000)`). Does not return on the thread of an isolate.
pub(super) unsafe extern "C" fn out_of_memory(_place: *const std::ffi::c_char, _details: &v8::OomDetails) {
    if let Some(isolate) = current_isolate() {
        hold(&isolate, "it ran out of memory", true);
    }
}

fn hold(isolate: &Arc<Shared>, why: &str, is_out_of_memory: bool) -> ! {
    tracing::error!(why, "an isolate is given up; its memory stays in use");
    isolate.doom(Doom {
        why: why.to_owned(),
        is_out_of_memory,
    });
    // It computes nothing, but its memory stays: the domain may not lose many like this.
    stuck::add(isolate.thread_id(), &isolate.key);
    isolate.abandon();
    loop {
        std::thread::park();
    }
}
