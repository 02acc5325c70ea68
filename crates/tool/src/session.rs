//! The session (conversation) of a call, as tools see it through `ctx` (spec omp 8).
//!
//! An agent implements [`SessionProvider`] over its own history. Tools read the session and never
//! write it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::panic::caught;

/// Interface through which an agent gives tools access to its session. Only [`view`](Self::view) is
/// required.
///
/// Called on a tool's own thread whenever the tool reads the session, so it must neither block nor
/// call tools. If it panics, the tool gets an error; nothing else is affected.
pub trait SessionProvider: Send + Sync {
    /// Returns the current session. Implementations should return the same `Arc` as long as nothing
    /// changes, so that tools can reuse the data that they have already read.
    fn view(&self) -> Arc<SessionView>;

    /// Returns the value of `ctx.isIdle()`: true while the agent waits for its user. Usually it is
    /// false while a tool runs.
    fn is_idle(&self) -> bool {
        false
    }

    /// Returns the value of `ctx.hasQueuedMessages()`: true if the user has sent a message that the
    /// model has not read.
    fn has_queued_messages(&self) -> bool {
        false
    }

    /// Performs the agent's part of `ctx.abort()`. haft cancels the call itself.
    fn abort(&self) {}
}

/// Snapshot of a session.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// The session's id. If it is empty, the host's id is used.
    pub id: String,
    /// The session's name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file that contains the session.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub file: Option<PathBuf>,
    /// The working directory of the session. Without one, it is the host's.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub cwd: Option<PathBuf>,
    /// Every entry of every branch, oldest first: JSON objects as
    /// `{type, id, parentId, timestamp, message?}`.
    #[serde(serialize_with = "as_they_are")]
    pub entries: Vec<Arc<RawValue>>,
    /// The entries from the first one to the current position in the conversation.
    #[serde(serialize_with = "as_they_are")]
    pub branch: Vec<Arc<RawValue>>,
    /// `ctx.model`: the JSON object of the current model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Value>,
    /// `ctx.modelRegistry.getAll()`: the available models.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Value>,
    /// `ctx.settings`: an object, read by `get("a.b")`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    #[serde(skip)]
    #[doc(hidden)]
    pub json: OnceLock<String>,
}

/// Models of an agent, for sessions that contain no models. A model is a JSON object such as
/// `{"provider": "anthropic", "id": "claude-sonnet", "name": "Claude Sonnet"}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Models {
    /// `ctx.model`: the current model.
    pub current: Option<Value>,
    /// `ctx.modelRegistry.getAll()`: the available models.
    pub available: Vec<Value>,
}

/// Event in the life of a session. Every `onSession` handler receives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "reason",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[allow(
    missing_docs,
    reason = "the fields are the original's words (spec omp 8)"
)]
pub enum SessionEvent {
    /// The session begins, or continues in a new process.
    Start,
    /// Another session has been opened.
    Switch {
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_session_file: Option<PathBuf>,
    },
    /// The session continues from an earlier entry, as a session of its own.
    Branch {
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_session_file: Option<PathBuf>,
    },
    /// The position in the session's tree has changed.
    Tree,
    /// The session ends.
    Shutdown,
    AutoCompactionStart {
        trigger: String,
        action: String,
    },
    AutoCompactionEnd {
        action: String,
        result: Value,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    AutoRetryStart {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_id: Option<String>,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        retry_errors: Vec<Value>,
    },
    TtsrTriggered {
        rules: Vec<Value>,
    },
    TodoReminder {
        todos: Vec<Value>,
        attempt: u32,
        max_attempts: u32,
    },
}

/// The session of a host. It can be replaced while the host runs.
#[derive(Default)]
pub struct CurrentSession(RwLock<State>);

#[derive(Default)]
struct State {
    provider: Option<Arc<dyn SessionProvider>>,
    /// The session that a peer reported. It is used without a provider.
    told: Arc<SessionView>,
    models: Models,
    /// A view without models, and its copy with models. Kept so that an unchanged view gives the
    /// same `Arc`.
    filled: Option<(Arc<SessionView>, Arc<SessionView>)>,
}

impl SessionView {
    /// Returns a copy with `models` in place of missing models.
    fn with(&self, models: &Models) -> SessionView {
        SessionView {
            id: self.id.clone(),
            name: self.name.clone(),
            file: self.file.clone(),
            cwd: self.cwd.clone(),
            entries: self.entries.clone(),
            branch: self.branch.clone(),
            model: self.model.clone().or_else(|| models.current.clone()),
            models: if self.models.is_empty() {
                models.available.clone()
            } else {
                self.models.clone()
            },
            settings: self.settings.clone(),
            json: OnceLock::new(),
        }
    }

    /// Returns the session as JSON for JavaScript. It is serialized only once.
    pub fn json(&self) -> &str {
        // Serialization cannot fail: all map keys are strings, and raw values are valid JSON.
        self.json
            .get_or_init(|| serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned()))
    }
}

impl CurrentSession {
    /// Sets the provider of the session. `None` switches to the session that a peer reported.
    pub fn set(&self, provider: Option<Arc<dyn SessionProvider>>) {
        self.0.write().provider = provider;
    }

    /// Stores the branch and the entries that a peer reported. They are used without a provider.
    pub fn tell(&self, branch: Option<Vec<Arc<RawValue>>>, entries: Option<Vec<Arc<RawValue>>>) {
        if branch.is_none() && entries.is_none() {
            return;
        }
        let mut state = self.0.write();
        let before = &state.told;
        state.told = Arc::new(SessionView {
            branch: branch.unwrap_or_else(|| before.branch.clone()),
            entries: entries.unwrap_or_else(|| before.entries.clone()),
            ..SessionView::default()
        });
    }

    /// Returns the current session.
    ///
    /// # Errors
    /// Returns a sentence if the provider panics.
    pub fn view(&self) -> Result<Arc<SessionView>, String> {
        let provided = self.ask(|provider| provider.view())?;
        let state = self.0.read();
        let view = provided.unwrap_or_else(|| state.told.clone());
        let lacks_model = view.model.is_none() && state.models.current.is_some();
        let lacks_models = view.models.is_empty() && !state.models.available.is_empty();
        if !lacks_model && !lacks_models {
            return Ok(view);
        }
        if let Some((bare, filled)) = &state.filled
            && Arc::ptr_eq(bare, &view)
        {
            return Ok(filled.clone());
        }
        drop(state);
        let mut state = self.0.write();
        let filled = Arc::new(view.with(&state.models));
        state.filled = Some((view, filled.clone()));
        Ok(filled)
    }

    /// Sets the models for sessions that contain none.
    pub fn set_models(&self, models: Models) {
        let mut state = self.0.write();
        (state.models, state.filled) = (models, None);
    }

    /// Calls `what` with the provider; `None` without a provider.
    ///
    /// # Errors
    /// Same as for [`CurrentSession::view`].
    pub fn ask<T>(
        &self,
        what: impl FnOnce(&dyn SessionProvider) -> T,
    ) -> Result<Option<T>, String> {
        let state = self.0.read();
        let Some(provider) = state.provider.clone() else {
            return Ok(None);
        };
        // Released before the call, because the provider may read the host's session itself.
        drop(state);
        let answer = caught(|| what(&*provider));
        let answer = answer.map_err(|panicked| format!("the session provider failed: {panicked}"));
        answer.map(Some)
    }
}

// A path may be invalid UTF-8, which must not make the whole view fail to serialize.
fn as_text<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref()
        .map(std::path::Path::to_string_lossy)
        .serialize(serializer)
}

fn as_they_are<S: Serializer>(entries: &[Arc<RawValue>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| &**entry))
}
