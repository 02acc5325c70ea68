//! Delivery of session events to tools, and the id of a session.
//!
//! A module receives `start` before the first call of one of its tools in an isolate, unless an
//! event was delivered there before. It receives `shutdown` when the host ends. A module that is
//! never called receives only events that the embedding program sends, so that listing tools needs
//! no isolate.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::join_all;
use serde::Deserialize;
use sys_traits::SystemRandom;
use sys_traits::impls::RealSys;

use super::isolate::Isolate;
use super::messages::Ask;
use super::module::Listener;
use super::{Engine, Module, lock};

const START: &str = r#"{"reason":"start"}"#;
const SHUTDOWN: &str = r#"{"reason":"shutdown"}"#;

impl Engine {
    /// Delivers the JSON of a session event to every `onSession`, one after another. Modules with
    /// an `onSession` are loaded for it.
    pub async fn session_event(&self, event: &str) {
        for generation in self.inner.generations.living() {
            let engine = Engine {
                inner: self.inner.clone(),
                generation,
            };
            engine.wake_listeners().await;
            let listeners = lock(&engine.generation.listeners).clone();
            let isolates: Vec<_> = engine
                .generation
                .homes
                .lock()
                .await
                .isolates()
                .cloned()
                .collect();
            for isolate in isolates {
                engine.deliver(&isolate, event, None).await;
                isolate.joined_session(listeners.iter().map(|listener| listener.id));
                if is_end(event) {
                    isolate.end_session();
                }
            }
        }
    }

    /// Delivers the end of the session to the modules that received its start, then calls the
    /// handlers of `process.on('exit')`.
    pub async fn end_session(&self) {
        let mut isolates = Vec::new();
        for generation in self.inner.generations.living() {
            isolates.extend(generation.homes.lock().await.isolates().cloned());
        }
        let ended = isolates.iter().map(async |isolate| {
            let modules = isolate.end_session();
            if !modules.is_empty() {
                self.deliver(isolate, SHUTDOWN, Some(modules)).await;
            }
            // An isolate that is lost meanwhile has no handlers left.
            let _ = isolate.ask(|id| Ask::Exit { id }, None).await;
        });
        join_all(ended).await;
    }

    /// Loads the modules that listen for session events.
    async fn wake_listeners(&self) {
        let listeners = lock(&self.generation.listeners).clone();
        for Listener { id, url, key, life } in listeners {
            let engine = self.clone();
            let module = Module {
                engine,
                id,
                url,
                key,
                life,
            };
            // A module that cannot be loaded receives nothing; its calls report the error.
            let _ = module.ready_isolate().await;
        }
    }

    async fn deliver(&self, isolate: &Isolate, event: &str, modules: Option<Vec<u32>>) {
        let event = event.to_owned();
        let asked = isolate.ask(|id| Ask::Session { id, event, modules }, None);
        // An isolate that is lost meanwhile has no listeners left to wait for.
        let limit = self.inner.options.load_timeout(isolate.key().domain);
        let _ = tokio::time::timeout(limit, asked).await;
    }
}

impl Module {
    /// Returns true if its tools need no `start` event in `isolate`.
    pub(super) fn knows_session(&self, isolate: &Isolate) -> bool {
        !self.life.listens.load(Ordering::Acquire) || isolate.was_in_session(self.id)
    }

    /// Sends `start` to its tools, unless they received it in `isolate`.
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

/// Returns a random UUID.
pub fn new_session_id() -> String {
    let mut bytes = [0; 16];
    // Without randomness the id can be guessed, which is harmless: it need not be secret.
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
