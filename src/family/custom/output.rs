//! Results of custom tools.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use haft_tool::{Block, Outcome};

/// Result of a custom tool, final or partial.
///
/// A text, a [`Value`] and `()` are converted automatically, so most closures never name it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The content that is sent to the model.
    pub content: Vec<Block>,
    /// Anything else that the program or a renderer wants to see; `null` counts as `{}`.
    pub details: Value,
    /// True if the tool reports a failure.
    pub is_error: bool,
    /// True if the result has no information for a model.
    pub useless: bool,
}

impl ToolOutput {
    /// Returns a result with a text for the model.
    pub fn text(text: impl Into<String>) -> ToolOutput {
        ToolOutput {
            content: vec![Block::text(text)],
            ..ToolOutput::default()
        }
    }

    /// Returns a failure with a text for the model, as the closure's `Err` does.
    pub fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput {
            is_error: true,
            ..ToolOutput::text(text)
        }
    }

    /// Adds an image; `data` is base64, `mime_type` for example `image/png`.
    pub fn with_image(
        mut self,
        data: impl Into<String>,
        mime_type: impl Into<String>,
    ) -> ToolOutput {
        self.content.push(Block::image(data, mime_type));
        self
    }

    /// Sets `details`.
    pub fn with_details(mut self, details: impl Into<Value>) -> ToolOutput {
        self.details = details.into();
        self
    }

    pub(super) fn into_outcome(self, duration: Duration) -> Outcome {
        Outcome {
            content: self.content,
            details: match self.details {
                Value::Null => Value::Object(Map::new()),
                details => details,
            },
            is_error: self.is_error,
            useless: self.useless,
            duration,
            stopped: None,
            display: None,
            kept_in: None,
            server_error: None,
        }
    }

    /// Returns the form in which updates are sent; `None` if it cannot be serialised.
    pub(super) fn into_partial(self) -> Option<Box<RawValue>> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Partial {
            content: Vec<Block>,
            details: Value,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            is_error: bool,
        }
        let partial = Partial {
            content: self.content,
            details: match self.details {
                Value::Null => Value::Object(Map::new()),
                details => details,
            },
            is_error: self.is_error,
        };
        to_raw_value(&partial).ok()
    }
}

/// Converts the result of a tool's closure; an error becomes a failed output.
pub(super) fn of<R: Into<ToolOutput>, E: Display>(answer: Result<R, E>) -> ToolOutput {
    match answer {
        Ok(output) => output.into(),
        Err(error) => ToolOutput::error(error.to_string()),
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> ToolOutput {
        ToolOutput::text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> ToolOutput {
        ToolOutput::text(text)
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> ToolOutput {
        ToolOutput::default()
    }
}

/// Sends the JSON text to the model; programs and renderers get the value in `details`.
impl From<Value> for ToolOutput {
    fn from(value: Value) -> ToolOutput {
        ToolOutput::text(value.to_string()).with_details(value)
    }
}
