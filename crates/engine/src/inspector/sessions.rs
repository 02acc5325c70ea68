//! Sessions of V8's inspector in the process of the isolate.

use std::collections::HashMap;
use std::sync::Mutex;

use deno_core::{
    InspectorMsg, InspectorSessionChannels, InspectorSessionKind, InspectorSessionProxy,
};
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};

use crate::lock;

/// The open sessions of one isolate. Messages reach it whatever its thread is doing.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<State>);

#[derive(Default)]
struct State {
    /// Takes new sessions; `None` before the isolate is ready and after its end.
    isolate: Option<UnboundedSender<InspectorSessionProxy>>,
    open: HashMap<u32, UnboundedSender<String>>,
}

/// Message that ends the wait of a module for a debugger.
const RUN: &str = r#"{"id":1,"method":"Runtime.runIfWaitingForDebugger"}"#;

impl Sessions {
    /// Connects the isolate, which is ready.
    pub(crate) fn connect(&self, isolate: UnboundedSender<InspectorSessionProxy>) {
        lock(&self.0).isolate = Some(isolate);
    }

    /// Opens the session `id`, whose messages go to `outgoing`.
    pub(crate) fn open(&self, id: u32, outgoing: UnboundedSender<InspectorMsg>) {
        let mut state = lock(&self.0);
        let (incoming, messages) = unbounded();
        if let Some(isolate) = &state.isolate
            && isolate.unbounded_send(proxy(outgoing, messages)).is_ok()
        {
            state.open.insert(id, incoming);
        }
    }

    /// Passes a message of the debugger to V8.
    pub(crate) fn send(&self, id: u32, message: String) {
        if let Some(incoming) = lock(&self.0).open.get(&id) {
            // The isolate may have ended.
            let _ = incoming.unbounded_send(message);
        }
    }

    /// Ends a session.
    pub(crate) fn close(&self, id: u32) {
        lock(&self.0).open.remove(&id);
    }

    /// Ends all sessions, so that JavaScript that is paused or waits goes on. No session can be
    /// opened afterwards.
    pub(crate) fn release(&self) {
        let mut state = lock(&self.0);
        state.open.clear();
        let Some(isolate) = state.isolate.take() else {
            return;
        };
        let (incoming, messages) = unbounded();
        let (outgoing, _) = unbounded();
        // The isolate may have ended.
        let _ = isolate.unbounded_send(proxy(outgoing, messages));
        let _ = incoming.unbounded_send(RUN.to_owned());
    }
}

fn proxy(
    tx: UnboundedSender<InspectorMsg>,
    rx: UnboundedReceiver<String>,
) -> InspectorSessionProxy {
    InspectorSessionProxy {
        channels: InspectorSessionChannels::Regular { tx, rx },
        kind: InspectorSessionKind::NonBlocking {
            wait_for_disconnect: false,
        },
    }
}
