//! Session events on their way to the tools, and the name of a session without one.
//!
//! A module hears `start` before the first call of one of its tools in an isolate, unless an event was
//! delivered there before, and `shutdown` when the host ends. A module that is never called hears
//! nothing that the program around the host did not send, so that listing tools needs no isolate.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::join_all;
use serde::Deserialize;
use sys_traits::SystemRandom;
use sys_traits::impls::RealSys;

use super::isolate::{Ask, Isolate};
use super::lazy::Listener;
use super::{Engine, Module, lock};

const START: &str = r#"{"reason":"start"}"#;
const SHUTDOWN: &str = r#"{"reason":"shutdown"}"#;

impl Engine {
    /// Delivers the JSON of a session event to every `onSession`, one after another. Modules that have
    /// one are loaded for it.
    pub async fn session_event(&self, event: &str) {
        for generation in self.0.generations.living() {
            let engine = Engine(self.0.clone(), generation);
            engine.wake_listeners().await;
            let listeners = lock(&engine.1.listeners).clone();
            let isolates: Vec<_> = engine.1.homes.lock().await.isolates().cloned().collect();
            for isolate in isolates {
                engine.deliver(&isolate, event, None).await;
                isolate.joined_session(listeners.iter().map(|listener| listener.id));
                if is_end(event) {
                    isolate.end_session();
                }
            }
        }
    }

    /// Delivers the end of the session to those modules that heard of its start, then calls the
    /// handlers of `process.on('exit')`.
    pub async fn end_session(&self) {
        let mut isolates = Vec::new();
        for generation in self.0.generations.living() {
            isolates.extend(generation.homes.lock().await.isolates().cloned());
        }
        let ended = isolates.iter().map(async |isolate| {
            let modules = isolate.end_session();
            if !modules.is_empty() {
                self.deliver(isolate, SHUTDOWN, Some(modules)).await;
            }
            // An isolate that is lost meanwhile has no handlers left.
            let _ = isolate.ask(|id| Ask::Exit { id }, None).answer.await;
        });
        join_all(ended).await;
    }

    /// Loads the modules that want to hear of session events.
    async fn wake_listeners(&self) {
        let listeners = lock(&self.1.listeners).clone();
        for Listener { id, url, key, life } in listeners {
            let engine = self.clone();
            let module = Module {
                engine,
                id,
                url,
                key,
                life,
            };
            // One that cannot be loaded hears nothing; its calls say why.
            let _ = module.ready_isolate().await;
        }
    }

    async fn deliver(&self, isolate: &Isolate, event: &str, modules: Option<Vec<u32>>) {
        let event = event.to_owned();
        let asked = isolate.ask(|id| Ask::Session { id, event, modules }, None);
        // An isolate that is lost meanwhile has no listeners left to wait for.
        let limit = self.0.options.load_timeout(isolate.key().domain);
        let _ = tokio::time::timeout(limit, asked.answer).await;
    }
}

impl Module {
    /// Whether its tools need not be told of the session any more in `isolate`.
    pub(super) fn knows_session(&self, isolate: &Isolate) -> bool {
        !self.life.listens.load(Ordering::Acquire) || isolate.was_in_session(self.id)
    }

    /// Tells its tools that the session starts, unless they know that in `isolate`.
    pub(super) async fn begin_session(&self, isolate: &Arc<Isolate>) {
        if self.knows_session(isolate) {
            return;
        }
        let _turn = self.life.turn.lock().await;
        if !self.knows_session(isolate) {
            let only = Some(vec![self.id]);
            self.engine.deliver(isolate, START, only).await;
            isolate.joined_session([self.id]);
        }
    }
}

fn is_end(event: &str) -> bool {
    #[derive(Deserialize)]
    struct Said<'a> {
        reason: &'a str,
    }
    serde_json::from_str::<Said<'_>>(event).is_ok_and(|said| said.reason == "shutdown")
}

/// A random UUID.
pub fn new_session_id() -> String {
    let mut bytes = [0; 16];
    // Without randomness the id is no secret; it need not be one.
    let _ = RealSys.sys_random(&mut bytes);
    let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let number = u128::from_be_bytes(bytes);
    let hex = format!("{number:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}
