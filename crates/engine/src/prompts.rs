//! Passes the prompts of one isolate's tools to the user behind the call that asks.

use std::time::Duration;

use futures::future::BoxFuture;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::users::{Opened, Users};
use haft_tool::{Answer, Notification, Prompt};

/// Finds the user of a call and sends the prompt to that user.
pub(super) struct PromptBridge {
    users: Users,
    open: Opened<CancellationToken>,
}

/// A prompt as `12_ui.ts` writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(flatten)]
    what: Prompt,
    timeout_ms: Option<f64>,
}

impl PromptBridge {
    pub(super) fn new(users: Users) -> Self {
        PromptBridge {
            users,
            open: Opened::default(),
        }
    }

    pub(super) fn has_user(&self, request: u32, owner: &str) -> bool {
        let user = self.users.of(request, owner);
        user.is_some_and(|user| user.is_there())
    }

    pub(super) fn ask(
        &self,
        request: u32,
        owner: &str,
        id: u32,
        question: String,
    ) -> BoxFuture<'static, Result<String, String>> {
        let users = self.users.clone();
        let user = users.of(request, owner);
        let withdrawn = CancellationToken::new();
        let closing = self.open.open(id, withdrawn.clone());
        Box::pin(async move {
            let _closing = closing;
            let written = serde_json::from_str(&question);
            let Written { what, timeout_ms } = written.map_err(|error| error.to_string())?;
            let Some(user) = user else {
                return Ok(json(&what, Answer::Dismissed));
            };
            // A timeout that overflows `Duration` means no limit.
            let timeout = timeout_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
            let answer = tokio::select! {
                biased;
                () = withdrawn.cancelled() => Answer::Dismissed,
                answer = user.ask(what.clone(), timeout) => {
                    answer.map_err(|error| error.to_string())?
                }
            };
            users.after_signal(&user, request, &withdrawn).await;
            Ok(json(&what, answer))
        })
    }

    pub(super) fn withdraw(&self, id: u32) {
        self.open.with(id, CancellationToken::cancel);
    }

    pub(super) fn tell(&self, request: u32, owner: &str, notice: &str) {
        // The notice is written by our own runtime, so parsing it does not fail.
        if let Ok(told) = serde_json::from_str::<Notification>(notice)
            && let Some(user) = self.users.of(request, owner)
        {
            user.tell(told);
        }
    }

    pub(super) fn editor_text(&self, request: u32, owner: &str) -> String {
        let user = self.users.of(request, owner);
        user.map_or_else(String::new, |user| user.editor_text())
    }
}

/// Returns the answer as JSON. The values for a dismissed prompt are those of oh-my-pi (spec omp
/// 5.2).
fn json(what: &Prompt, answer: Answer) -> String {
    let value = match (what, answer) {
        (Prompt::Confirm { .. }, answer) => (answer == Answer::Yes).into(),
        (_, Answer::Text(text)) => text.into(),
        (_, Answer::Yes | Answer::No | Answer::Dismissed) => serde_json::Value::Null,
    };
    value.to_string()
}
