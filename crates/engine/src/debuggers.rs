//! Debuggers of an engine.
//!
//! The [`Inspector`] of an engine lists its isolates, and connects a debugger to one of them. The
//! sessions of an isolate in a worker process go through the sockets of the worker, so a worker
//! opens no port.

use std::sync::{Arc, Mutex, Weak};

use deno_core::InspectorMsg;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};

use super::connection::Connection;
use super::inspector::{InspectedIsolate, Target};
use super::lock;

/// The isolates of an engine to which debuggers can attach.
#[derive(Default)]
pub struct Inspector {
    isolates: Mutex<Vec<Weak<Connection>>>,
}

/// Connection of a debugger to an isolate. Ends the session when it is dropped.
pub struct InspectorSession {
    connection: Arc<Connection>,
    id: u32,
    messages: UnboundedReceiver<InspectorMsg>,
}

impl Inspector {
    /// Adds an isolate that is ready.
    pub(super) fn add(&self, isolate: &Arc<Connection>) {
        let mut isolates = lock(&self.isolates);
        isolates.retain(|isolate| {
            isolate
                .upgrade()
                .is_some_and(|isolate| !isolate.state().is_gone())
        });
        isolates.push(Arc::downgrade(isolate));
    }

    /// Returns the isolates that run now, the oldest first.
    pub fn isolates(&self) -> Vec<InspectedIsolate> {
        let targets = self.targets();
        targets.map(|(_, target)| target.description()).collect()
    }

    /// Connects a debugger to the isolate with that id; `None` if there is none.
    pub fn connect(&self, id: &str) -> Option<InspectorSession> {
        let (connection, target) = self.targets().find(|(_, target)| target.has_id(id))?;
        let session = target.new_session();
        let (outgoing, messages) = unbounded();
        target.delivers_to(session, outgoing);
        connection.open_inspector(session);
        Some(InspectorSession {
            connection,
            id: session,
            messages,
        })
    }

    fn targets(&self) -> impl Iterator<Item = (Arc<Connection>, Arc<Target>)> {
        let isolates = lock(&self.isolates).clone().into_iter();
        isolates
            .filter_map(|isolate| isolate.upgrade())
            .filter(|isolate| !isolate.state().is_gone())
            .filter_map(|isolate| {
                let target = isolate.state().target.clone()?;
                Some((isolate, target))
            })
    }
}

impl InspectorSession {
    /// Sends a message of the debugger.
    pub fn send(&self, message: String) {
        self.connection.inspect(self.id, message);
    }

    /// Waits for the next message to the debugger; `None` when the isolate ends. Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        let message = tokio::select! {
            biased;
            message = self.messages.next() => message?,
            () = self.connection.state().gone() => return None,
        };
        if let Some(target) = &self.connection.state().target {
            target.note(self.id, &message.content);
        }
        Some(message.content)
    }
}

impl Drop for InspectorSession {
    fn drop(&mut self) {
        self.connection.close_inspector(self.id);
        if let Some(target) = &self.connection.state().target {
            target.session_ended(self.id);
        }
    }
}
