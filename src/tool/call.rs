//! One call: what is asked, what happens meanwhile, what comes back.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A request to run a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// The caller's id; updates and the outcome carry it. Unique among running calls.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments as the caller wrote them: kept as text so that numbers and
    /// key order survive to the tool.
    pub arguments: Box<RawValue>,
}

impl Call {
    /// The arguments of a caller that gives none: `{}`.
    pub(crate) fn no_arguments() -> Box<RawValue> {
        RawValue::from_string("{}".into()).expect("it is JSON")
    }

    /// A call with an id of its own. See [`Call::with_id`] for programs that have ids already.
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

    /// The same call under this id.
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
    },
    /// An image for the model.
    Image {
        /// The bytes in base64.
        data: String,
        /// The media type, for example `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// Sound for the model.
    Audio {
        /// The bytes in base64.
        data: String,
        /// The media type, for example `audio/wav`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// A file or another thing, with its contents.
    Resource {
        /// The thing.
        resource: Contents,
    },
    /// A thing by its address alone.
    #[serde(rename = "resource_link")]
    ResourceLink(Link),
}

/// A thing with its contents: the one or the other.
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
}

/// The address of a thing, and what is known of it.
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
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// What a call came to. "The tool said no" is an `Outcome` with `is_error`;
/// "we could not run it" is an [`Error`](crate::Error).
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the model gets.
    pub content: Vec<Block>,
    /// Anything else the tool wants its renderer or its later self to see. `null` never; `{}` if none.
    pub details: Value,
    /// The tool reports a failure.
    pub is_error: bool,
    /// The tool says that the result carries nothing a model could use.
    pub useless: bool,
    /// From the start of the tool to its end.
    pub duration: Duration,
    /// How the call was stopped, if it was.
    pub stopped: Option<Stopped>,
    /// What a person is shown instead of `content`, where the tool's system has a form of its own
    /// for that. May hold control sequences.
    pub display: Option<String>,
    /// The file that holds all of the text, where `content` has only its beginning and its end.
    pub kept_in: Option<PathBuf>,
}

/// Why a call was stopped. The order is meaning: a later reason outweighs an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The call's own time was up.
    Deadline,
    /// The caller cancelled it.
    Cancelled,
    /// The tool ran away (memory, the isolate it shared was discarded).
    Discarded,
    /// The host is shutting down.
    HostShutdown,
}

/// What happens during a call, in order: `Started`, any number of `Update`s, `Finished`;
/// or `Rejected` alone when nothing was started.
#[derive(Clone, Debug)]
pub enum Event {
    /// Refused before the start: bad arguments, approval, trust.
    Rejected {
        /// The text that a model is given.
        text: String,
    },
    /// The tool is running.
    Started,
    /// A partial result in the same JSON form as a result: `{content, details, isError?}`.
    Update(Box<RawValue>),
    /// The tool has ended.
    Finished,
}

impl Outcome {
    /// A failure that carries only a text.
    pub fn failure(text: impl Into<String>, duration: Duration) -> Self {
        Outcome {
            content: vec![Block::Text { text: text.into() }],
            details: Value::Object(Default::default()),
            is_error: true,
            useless: false,
            duration,
            stopped: None,
            display: None,
            kept_in: None,
        }
    }

    /// A success that carries only a text.
    pub fn success(text: impl Into<String>, duration: Duration) -> Self {
        Outcome {
            is_error: false,
            ..Outcome::failure(text, duration)
        }
    }

    /// A failure that carries only a text, of a call that was stopped.
    pub fn stopped(why: Stopped, text: impl Into<String>, duration: Duration) -> Self {
        Outcome {
            stopped: Some(why),
            ..Outcome::failure(text, duration)
        }
    }

    /// The result of a call that had to end before its tool started. The text is oh-my-pi's
    /// (spec omp 8).
    pub(crate) fn not_started(why: Stopped) -> Self {
        let reason = why.abort_reason();
        let text = format!("Tool was not executed because the run was aborted: {reason}.");
        Outcome::stopped(why, text, Duration::ZERO)
    }

    /// The result as a tool's renderer gets it: the JSON of `{content, details, isError}`.
    pub fn as_result(&self) -> Box<RawValue> {
        let result = serde_json::json!({
            "content": self.content,
            "details": self.details,
            "isError": self.is_error,
        });
        serde_json::value::to_raw_value(&result).expect("JSON values are JSON")
    }

    /// All text blocks, one after another, separated by newlines.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Stopped {
    /// The text that `signal.reason` of a JavaScript tool holds; the first is oh-my-pi's (spec omp 8).
    pub(crate) fn abort_reason(self) -> &'static str {
        match self {
            Stopped::Cancelled | Stopped::Discarded => "Interrupted by user",
            Stopped::Deadline => "The call timed out",
            Stopped::HostShutdown => "The host is shutting down",
        }
    }

    /// The reason of that name.
    pub(crate) fn from_name(name: &str) -> Option<Stopped> {
        let all = [
            Stopped::Deadline,
            Stopped::Cancelled,
            Stopped::Discarded,
            Stopped::HostShutdown,
        ];
        all.into_iter().find(|reason| reason.as_str() == name)
    }

    /// The reason's name as surfaces print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Stopped::Deadline => "deadline",
            Stopped::Cancelled => "cancelled",
            Stopped::Discarded => "discarded",
            Stopped::HostShutdown => "host-shutdown",
        }
    }
}
