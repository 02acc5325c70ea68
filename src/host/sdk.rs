//! Methods of the host under the names of oh-my-pi's SDK, for embedding programs.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Host;
use crate::error::{Error, ErrorKind};
use crate::registry::Catalog;
use crate::tool::{CatalogChange, Tool, UserInterface};

impl Host {
    /// Returns every tool, those of the program first. The first call finds and loads them.
    ///
    /// The problems of the others are in [`Host::catalog`].
    pub async fn list(&self) -> Vec<Tool> {
        self.catalog().await.tools().cloned().collect()
    }

    /// Searches for all tools again; see [`Host::refresh`]. Running calls keep their tool.
    pub async fn reload(&self) -> Arc<Catalog> {
        self.refresh().await
    }

    /// Returns a receiver for every change of the callable tools; see [`Host::changes`].
    pub fn subscribe(&self) -> watch::Receiver<Arc<CatalogChange>> {
        self.changes()
    }

    /// Sets the user interface that `pi.ui` uses from now on; `None`: no user interface. See
    /// [`Host::with_ui`] for the calls of one handle.
    pub fn set_ui_context(&self, ui: Option<Arc<dyn UserInterface>>) {
        self.set_default_ui(ui);
    }

    /// Delivers an event to every tool's `onSession`, one after the other, and waits for them.
    /// `event` becomes `{"reason": "start", …}` in JSON (spec omp 8), or
    /// `{"event": …, "branch": […], "entries": […]}` to add the session's history.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an event that cannot be written as JSON, or has no reason.
    pub async fn emit_session_event(&self, event: &(impl Serialize + Sync)) -> Result<(), Error> {
        let usage = |text: String| Error::new(ErrorKind::Usage, text);
        let event = serde_json::to_value(event)
            .map_err(|error| usage(format!("the session event is no JSON: {error}")))?;
        let event = match event.get("reason") {
            Some(_) => json!({ "event": event }),
            None => event,
        };
        if !event["event"]["reason"].is_string() {
            let error = usage("a session event says its `reason`".to_owned());
            return Err(error.with_hint(r#"as {"reason": "start"}"#));
        }
        let text = Value::to_string(&event);
        let event = RawValue::from_string(text).map_err(|error| usage(error.to_string()))?;
        self.session_event(&event).await;
        Ok(())
    }
}
