//! One call of a tool: the request, the events while it runs, and the outcome.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Stopped;
use crate::error::Error;

/// A request to run a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// The caller's id, unique among running calls. Updates and the outcome carry it.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments as the caller wrote them. They stay text, so that numbers and the order of
    /// keys reach the tool unchanged.
    pub arguments: Box<RawValue>,
}

impl Call {
    /// Returns the arguments of a call without arguments: `{}`.
    pub fn no_arguments() -> Box<RawValue> {
        RawValue::from_string("{}".into()).expect("it is JSON")
    }

    /// Creates a call with a generated id. See [`Call::with_id`] for programs that have their own
    /// ids.
    pub fn new(tool: impl Into<String>, arguments: impl Into<Value>) -> Call {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let arguments = RawValue::from_string(arguments.into().to_string());
        Call {
            id: format!("call-{number}"),
            tool: tool.into(),
            arguments: arguments.expect("the text of a value is JSON"),
        }
    }

    /// Returns the same call with this id.
    pub fn with_id(mut self, id: impl Into<String>) -> Call {
        self.id = id.into();
        self
    }
}

/// One block of a result, in the wire form that oh-my-pi, pi and MCP share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Block {
    /// Text for the model.
    Text {
        /// The text, free of terminal control sequences.
        text: String,
        /// Hints for clients, as MCP defines them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Value>,
        /// Further data for clients.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
    /// An image for the model.
    Image {
        /// The bytes in base64.
        data: String,
        /// The media type, for example `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// Hints for clients, as MCP defines them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Value>,
        /// Further data for clients.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
    /// Sound for the model.
    Audio {
        /// The bytes in base64.
        data: String,
        /// The media type, for example `audio/wav`.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// Hints for clients, as MCP defines them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Value>,
        /// Further data for clients.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
    /// A file or another resource, with its contents.
    Resource {
        /// The resource.
        resource: Contents,
        /// Hints for clients, as MCP defines them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        annotations: Option<Value>,
        /// Further data for clients.
        #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
    /// A resource by its address alone.
    #[serde(rename = "resource_link")]
    ResourceLink(Link),
}

impl Block {
    /// Returns a text.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text {
            text: text.into(),
            annotations: None,
            meta: None,
        }
    }

    /// Returns an image of bytes in base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Block {
        Block::Image {
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
        }
    }
}

/// A resource with its contents, either as text or as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// Its address.
    pub uri: String,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Further data for clients.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Address of a resource, with its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its icons, as MCP defines them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// Hints for clients, as MCP defines them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// Further data for clients.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Outcome of a call. If the tool reports a failure, that is an `Outcome` with `is_error`; if haft
/// could not run the tool, that is an [`Error`].
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The content for the model.
    pub content: Vec<Block>,
    /// Further data of the tool for its renderer or for later calls. Never `null`; `{}` if there is
    /// none.
    pub details: Value,
    /// Set if the tool reports a failure.
    pub is_error: bool,
    /// Set if the tool declares that the result contains nothing of use to a model.
    pub useless: bool,
    /// Time from the start of the tool to its end.
    pub duration: Duration,
    /// Reason for which the call was stopped, if it was.
    pub stopped: Option<Stopped>,
    /// The form of the result for people, if the tool's system has one besides `content`. It may
    /// contain control sequences.
    pub display: Option<String>,
    /// The file with the whole text, if `content` has only its beginning and its end.
    pub kept_in: Option<PathBuf>,
    /// The error that an MCP server answered with, if it did. `content` has its message.
    pub server_error: Option<Box<ServerError>>,
}

/// Error of JSON-RPC that an MCP server behind haft has answered a call with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// Further data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Event of a call. The order is `Started`, any number of `Update`s, `Finished`. `Finished` alone
/// is a call whose tool was not started: invalid arguments, no approval, or a project that is not
/// trusted.
#[derive(Debug)]
pub enum Event {
    /// The tool has started.
    Started,
    /// A partial result in the same JSON form as a result: `{content, details, isError?}`.
    Update(Box<RawValue>),
    /// The end of the call, and its last event. An error says why the tool could not be run.
    Finished(Result<Outcome, Error>),
}

impl Outcome {
    /// Returns a failure that contains only a text.
    pub fn failure(text: impl Into<String>, duration: Duration) -> Self {
        Outcome {
            content: vec![Block::text(text)],
            details: Value::Object(Default::default()),
            is_error: true,
            useless: false,
            duration,
            stopped: None,
            display: None,
            kept_in: None,
            server_error: None,
        }
    }

    /// Returns a success that contains only a text.
    pub fn success(text: impl Into<String>, duration: Duration) -> Self {
        Outcome {
            is_error: false,
            ..Outcome::failure(text, duration)
        }
    }

    /// Returns the failure of a call that was stopped; it contains only a text.
    pub fn stopped(why: Stopped, text: impl Into<String>, duration: Duration) -> Self {
        Outcome {
            stopped: Some(why),
            ..Outcome::failure(text, duration)
        }
    }

    /// Returns the outcome of a call of `tool` that was killed for the reason `how`.
    pub fn killed(tool: &str, why: Stopped, how: &str, duration: Duration) -> Self {
        let after = duration.as_secs_f64();
        let text = format!("Tool `{tool}` was killed after {after:.1} s: {how}");
        Outcome::stopped(why, text, duration)
    }

    /// Returns the outcome of a call of `tool` that did not end by itself after it was stopped.
    pub fn left_behind(tool: &str, why: Stopped, duration: Duration) -> Self {
        let how = format!("{}, and it did not end by itself", why.reason());
        Outcome::killed(tool, why, &how, duration)
    }

    /// Returns the outcome of a call that had to end before its tool started. The text is
    /// oh-my-pi's (spec omp 8).
    pub fn not_started(why: Stopped) -> Self {
        let reason = why.abort_reason();
        let text = format!("Tool was not executed because the run was aborted: {reason}.");
        Outcome::stopped(why, text, Duration::ZERO)
    }

    /// Returns the result as the JSON of `{content, details, isError}`, the form for a tool's
    /// renderer.
    pub fn as_result(&self) -> Box<RawValue> {
        let result = serde_json::json!({
            "content": self.content,
            "details": self.details,
            "isError": self.is_error,
        });
        serde_json::value::to_raw_value(&result).expect("JSON values are JSON")
    }

    /// Returns the text blocks, joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
