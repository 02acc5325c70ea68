//! Keeps the process alive where Deno would end it.
//!
//! Some of Deno's ops panic when V8 stops the JavaScript that they run: a tool that is killed in the
//! middle of the loading of a built-in module (`op_lazy_load_esm`) is enough, and a hostile one can
//! be there whenever it likes. Such a panic meets V8's frames, through which Rust cannot unwind, and
//! Rust ends the process. Just before that it calls the panic hook, and there the thread is held for
//! good: its isolate counts as gone, and only its memory stays.

use std::cell::RefCell;
use std::panic::{Location, PanicHookInfo};
use std::sync::{Arc, Once, Weak};

use super::isolate::Shared;
use super::requests::Doom;

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
            Some(isolate) if is_last_word(panic) => hold(&isolate),
            Some(isolate) if is_of_termination(panic, &isolate) => {
                tracing::debug!(%panic, "a terminated isolate met a defect of Deno");
            }
            _ => before(panic),
        }));
    });
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

fn hold(isolate: &Arc<Shared>) -> ! {
    tracing::error!("an isolate met a defect of Deno and is given up; its memory stays in use");
    isolate.doom(Doom {
        why: "its isolate met a defect of Deno".to_owned(),
        is_out_of_memory: false,
    });
    isolate.abandon();
    loop {
        std::thread::park();
    }
}
