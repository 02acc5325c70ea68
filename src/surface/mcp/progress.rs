//! Sends a tool's updates as `notifications/progress`, to callers that sent a progress token.

use rmcp::RoleServer;
use rmcp::model::{NotificationMetaObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use haft_tool::json;

/// Key of the complete update, for clients that show more than a line.
const UPDATE: &str = "haft/update";

/// Progress reporter of one call.
pub(super) struct Reporter {
    peer: Peer<RoleServer>,
    /// `None`: the caller requested no progress.
    token: Option<ProgressToken>,
    reached: Option<f64>,
}

#[derive(Deserialize)]
struct Update {
    #[serde(default)]
    content: Vec<Content>,
    #[serde(default)]
    details: Value,
}

#[derive(Deserialize)]
struct Content {
    text: Option<String>,
}

impl Reporter {
    /// Creates the reporter for the caller of this request.
    pub(super) fn new(context: &RequestContext<RoleServer>) -> Self {
        Reporter {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            reached: None,
        }
    }

    /// Sends an update and waits until the connection accepts it.
    pub(super) async fn tell(&mut self, update: &RawValue) {
        let Some(token) = self.token.clone() else {
            return;
        };
        let Ok(Update { content, details }) = json::read(update.get()) else {
            return;
        };
        let number = |key: &str| details.get(key).and_then(Value::as_f64);
        let progress = self.next(number("progress"));
        let mut params = ProgressNotificationParam::new(token, progress);
        // A total is only meaningful with the tool's own count.
        if number("progress") == Some(progress) {
            params.total = number("total");
        }
        params.message = joined(content);
        if let Ok(whole) = json::read(update.get()) {
            let mut meta = NotificationMetaObject::new();
            meta.insert(UPDATE.to_owned(), whole);
            params.meta = Some(meta);
        }
        // An error means that the client has disconnected.
        let _ = self.peer.notify_progress(params).await;
    }

    /// Returns the tool's own number if it is larger than the last one, else the next whole number.
    /// The protocol requires increasing numbers.
    fn next(&mut self, said: Option<f64>) -> f64 {
        let counted = self.reached.map_or(1.0, |reached| reached.floor() + 1.0);
        let grows = |said: &f64| self.reached.is_none_or(|reached| *said > reached);
        let next = said.filter(|said| said.is_finite()).filter(grows);
        let next = next.unwrap_or(counted);
        self.reached = Some(next);
        next
    }
}

/// Returns the text of an update, if it has any.
pub(super) fn text_of(update: &RawValue) -> Option<String> {
    let update: Update = json::read(update.get()).ok()?;
    joined(update.content)
}

fn joined(content: Vec<Content>) -> Option<String> {
    let texts: Vec<String> = content.into_iter().filter_map(|block| block.text).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
