//! The conversation that calls belong to, and its events for tools.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::Host;
use haft_tool::{Models, SessionEvent, SessionProvider};

impl Host {
    /// Sets the conversation that calls belong to, for all handles. `None`: the data of session
    /// events. Tools that read it see it from now on; [`Host::emit`] notifies them of events.
    pub fn set_session(&self, session: Option<Arc<dyn SessionProvider>>) {
        self.inner.session.set(session);
    }

    /// Sets the agent's models, for all handles: `ctx.model` and `ctx.modelRegistry` if the session
    /// has none. Tools that read them see them from now on.
    pub fn set_models(&self, models: Models) {
        self.inner.session.set_models(models);
    }

    /// Delivers an event to every tool's `onSession`, one after another, and waits for them. Their
    /// errors are logged.
    pub async fn emit(&self, event: &SessionEvent) {
        if let Ok(event) = serde_json::value::to_raw_value(event) {
            self.deliver(&event).await;
        }
    }

    /// Delivers an event as JSON of `{event, branch?, entries?}`, for hosts in other languages.
    /// Without [`Host::set_session`], tools see its branch and entries from then on.
    pub async fn session_event(&self, event: &RawValue) {
        #[derive(serde::Deserialize)]
        struct Told {
            event: Box<RawValue>,
            branch: Option<Box<RawValue>>,
            entries: Option<Box<RawValue>>,
        }
        let Ok(told) = serde_json::from_str::<Told>(event.get()) else {
            return;
        };
        // A value that is not a list is ignored.
        let list = |json: Option<Box<RawValue>>| -> Option<Vec<Arc<RawValue>>> {
            let entries: Vec<Box<RawValue>> = serde_json::from_str(json?.get()).ok()?;
            Some(entries.into_iter().map(Arc::from).collect())
        };
        self.inner
            .session
            .tell(list(told.branch), list(told.entries));
        self.deliver(&told.event).await;
    }

    async fn deliver(&self, event: &RawValue) {
        if self.inner.closing.is_cancelled() {
            return;
        }
        self.catalog_for_calls().await;
        self.inner.engine.session_event(event.get()).await;
    }
}
