//! The conversation that calls belong to, as tools see it through `ctx` (spec omp 8).
//!
//! Vocabulary only. An agent implements [`SessionProvider`] over its own history; tools read it and
//! never write it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::panic::caught;

/// What an agent tells tools about itself and its conversation. Only [`view`](Self::view) is required.
///
/// Called on a tool's own thread whenever a tool looks: must neither block nor call tools. Where it
/// panics the tool gets an error, and nobody else notices.
///
/// ```ignore
#[doc = include_str!("../../tests/it/examples/session.rs")]
/// ```
pub trait SessionProvider: Send + Sync {
    /// The session as it is now. As long as nothing changes it should be the same `Arc`: then tools
    /// look at what they have already read.
    fn view(&self) -> Arc<SessionView>;

    /// `ctx.isIdle()`: the agent waits for its user. A tool that runs is usually no idle time.
    fn is_idle(&self) -> bool {
        false
    }

    /// `ctx.hasQueuedMessages()`: the user has said something that the model has not read.
    fn has_queued_messages(&self) -> bool {
        false
    }

    /// `ctx.abort()`, which cancels the call by itself: the agent's part of it.
    fn abort(&self) {}
}

/// A session at one moment.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its name for programs. Empty: that of the host.
    pub id: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is kept.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub file: Option<PathBuf>,
    /// The directory that it is about; the host's own without one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub cwd: Option<PathBuf>,
    /// Every entry of every branch, oldest first: JSON objects as
    /// `{type, id, parentId, timestamp, message?}`.
    #[serde(serialize_with = "as_they_are")]
    pub entries: Vec<Arc<RawValue>>,
    /// The entries from the first one to where the conversation stands.
    #[serde(serialize_with = "as_they_are")]
    pub branch: Vec<Arc<RawValue>>,
    /// `ctx.model`: the JSON object of the model that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Value>,
    /// `ctx.modelRegistry.getAll()`: the models that there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Value>,
    /// `ctx.settings`: an object, asked by `get("a.b")`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    #[serde(skip)]
    #[doc(hidden)]
    pub json: OnceLock<String>,
}

/// The models of an agent, for sessions that do not say any themselves. A model is a JSON object, as
/// `{"provider": "anthropic", "id": "claude-sonnet", "name": "Claude Sonnet"}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Models {
    /// `ctx.model`: the one that is used.
    pub current: Option<Value>,
    /// `ctx.modelRegistry.getAll()`: those that there are.
    pub available: Vec<Value>,
}

/// What happens to a session; every `onSession` hears of it.
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
    /// It begins, or goes on in a new process.
    Start,
    /// Another session is open now.
    Switch {
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_session_file: Option<PathBuf>,
    },
    /// It goes on from an earlier entry, as a session of its own.
    Branch {
        #[serde(skip_serializing_if = "Option::is_none")]
        previous_session_file: Option<PathBuf>,
    },
    /// It stands elsewhere in its tree.
    Tree,
    /// It ends.
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

/// The session of a host, which may become another one while it runs.
#[derive(Default)]
pub struct CurrentSession(RwLock<State>);

#[derive(Default)]
struct State {
    provider: Option<Arc<dyn SessionProvider>>,
    /// What was told where nobody provides one.
    told: Arc<SessionView>,
    models: Models,
    /// A view without models, and the same with those: what does not change is one thing.
    filled: Option<(Arc<SessionView>, Arc<SessionView>)>,
}

impl SessionView {
    /// The same, with models where it says none.
    fn with(&self, models: &Models) -> SessionView {
        SessionView {
            id: self.id.clone(),
            name: self.name.clone(),
            file: self.file.clone(),
            cwd: self.cwd.clone(),
            entries: self.entries.clone(),
            branch: self.branch.clone(),
            model: self.model.clone().or_else(|| models.current.clone()),
            models: match self.models.is_empty() {
                true => models.available.clone(),
                false => self.models.clone(),
            },
            settings: self.settings.clone(),
            json: OnceLock::new(),
        }
    }

    /// As JavaScript reads it; made once.
    pub fn json(&self) -> &str {
        // Maps with keys that are texts, and JSON that was JSON: it can be written.
        self.json
            .get_or_init(|| serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned()))
    }
}

impl CurrentSession {
    /// From now on it is this one; `None`: what is told.
    pub fn set(&self, provider: Option<Arc<dyn SessionProvider>>) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .provider = provider;
    }

    /// What a peer says about branch and entries. It counts where nobody provides a session.
    pub fn tell(&self, branch: Option<Vec<Arc<RawValue>>>, entries: Option<Vec<Arc<RawValue>>>) {
        if branch.is_none() && entries.is_none() {
            return;
        }
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = &state.told;
        state.told = Arc::new(SessionView {
            branch: branch.unwrap_or_else(|| before.branch.clone()),
            entries: entries.unwrap_or_else(|| before.entries.clone()),
            ..SessionView::default()
        });
    }

    /// The session as it is now.
    ///
    /// # Errors
    /// A sentence, where its provider panics.
    pub fn view(&self) -> Result<Arc<SessionView>, String> {
        let provided = self.ask(|provider| provider.view())?;
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
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
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let filled = Arc::new(view.with(&state.models));
        state.filled = Some((view, filled.clone()));
        Ok(filled)
    }

    /// From now on these are the models of sessions that do not say any.
    pub fn set_models(&self, models: Models) {
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        (state.models, state.filled) = (models, None);
    }

    /// What its provider says; nothing where there is none.
    ///
    /// # Errors
    /// As for [`CurrentSession::view`].
    pub fn ask<T>(
        &self,
        what: impl FnOnce(&dyn SessionProvider) -> T,
    ) -> Result<Option<T>, String> {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(provider) = state.provider.clone() else {
            return Ok(None);
        };
        // It may look at the host's session itself.
        drop(state);
        let answer = caught(|| what(&*provider));
        let answer = answer.map_err(|panicked| format!("the session provider failed: {panicked}"));
        answer.map(Some)
    }
}

// A path need not be text, and one that is not must not take the rest with it.
fn as_text<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref()
        .map(std::path::Path::to_string_lossy)
        .serialize(serializer)
}

fn as_they_are<S: Serializer>(entries: &[Arc<RawValue>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| &**entry))
}
