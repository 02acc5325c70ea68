//! Methods of the host under the names of oh-my-pi's SDK, for embedding programs.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Host;
use crate::registry::Catalog;
use haft_tool::{CatalogChange, Tool, UserInterface};
use haft_tool::{Error, ErrorKind};

/// The methods of a host under the names of oh-my-pi's SDK. Each calls the method of [`Host`] that
/// its documentation names.
pub trait HostExt: sealed::Sealed {
    /// Returns every tool of [`Host::catalog`], those of the program first. The first call finds
    /// and loads them.
    fn list(&self) -> impl Future<Output = Vec<Tool>> + Send;

    /// Searches for all tools again; see [`Host::refresh`]. Running calls keep their tool.
    fn reload(&self) -> impl Future<Output = Arc<Catalog>> + Send;

    /// Returns a receiver for every change of the callable tools; see [`Host::changes`].
    fn subscribe(&self) -> watch::Receiver<Arc<CatalogChange>>;

    /// Sets the user interface that `pi.ui` uses from now on; see [`Host::set_default_ui`].
    fn set_ui_context(&self, ui: Option<Arc<dyn UserInterface>>);

    /// Delivers an event to every tool's `onSession`, one after the other, and waits for them.
    /// `event` becomes `{"reason": "start", …}` in JSON (spec omp 8), or
    /// `{"event": …, "branch": […], "entries": […]}` to add the session's history.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an event that cannot be written as JSON, or has no reason.
    fn emit_session_event(
        &self,
        event: &(impl Serialize + Sync),
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

impl HostExt for Host {
    async fn list(&self) -> Vec<Tool> {
        self.catalog().await.tools().cloned().collect()
    }

    async fn reload(&self) -> Arc<Catalog> {
        self.refresh().await
    }

    fn subscribe(&self) -> watch::Receiver<Arc<CatalogChange>> {
        self.changes()
    }

    fn set_ui_context(&self, ui: Option<Arc<dyn UserInterface>>) {
        self.set_default_ui(ui);
    }

    async fn emit_session_event(&self, event: &(impl Serialize + Sync)) -> Result<(), Error> {
        let usage = |text: String| Error::new(ErrorKind::Usage, text);
        let event = serde_json::to_value(event)
            .map_err(|error| usage(format!("the session event is not JSON: {error}")))?;
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

mod sealed {
    /// Keeps [`super::HostExt`] to haft's own type, so that methods can be added.
    pub trait Sealed {}

    impl Sealed for crate::host::Host {}
}
