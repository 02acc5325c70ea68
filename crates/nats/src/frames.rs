//! Messages of hosts and callers about a call: frames of a `link`, in JSON.

use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use haft_tool::{
    Answer, Block, Error, ErrorKind, LogLevel, LogLine, Notification, Outcome, Prompt, Stopped,
};

/// A host as others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// Its id, which is new with each start.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Version of haft.
    pub version: String,
}

/// A frame: its kind and what belongs to it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Frame {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
}

/// Frame of a host.
pub(crate) enum HostFrame {
    /// The host has the call, and runs it. If the call may be too old, it waits for the confirmation.
    Accepted(HostInfo),
    /// The host did not begin the call; another one may.
    Refused(Refused),
    /// A partial result.
    Update(Box<RawValue>),
    Log(LogLine),
    Ask(Ask),
    /// The answer to the question with this id is not needed any more.
    Withdraw(u64),
    Tell(Notification),
    Forward(Forward),
    /// The end, also with a list of definitions.
    Finished(HostInfo, Finished),
}

/// Frame of a caller.
pub(crate) enum CallerFrame {
    /// The arguments, if they were too long for the call itself.
    Arguments(Box<RawValue>),
    Cancel {
        why: Stopped,
        is_kill: bool,
    },
    Answer {
        id: u64,
        answer: Answer,
    },
    Forwarded {
        id: u64,
        value: Option<Value>,
    },
}

/// End of a call at its host.
pub(crate) enum Finished {
    Outcome(Outcome),
    Failed(Error),
    /// The definitions of a host.
    Definitions(Vec<Value>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) host: HostInfo,
    pub(crate) why: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) id: u64,
    pub(crate) prompt: Prompt,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forward {
    pub(crate) id: u64,
    pub(crate) method: String,
    /// The server's key for the request, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    pub(crate) params: Value,
}

#[derive(Serialize, Deserialize)]
struct LogBody {
    level: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Box<RawValue>>,
}

#[derive(Serialize, Deserialize)]
struct Cancel {
    why: Stopped,
    kill: bool,
}

#[derive(Serialize, Deserialize)]
struct Answered {
    id: u64,
    #[serde(default)]
    value: Option<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Result {
    host: HostInfo,
    content: Vec<Block>,
    details: Value,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    useless: bool,
    #[serde(default)]
    duration_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    display: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Failure {
    host: HostInfo,
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The reason of a call that was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

#[derive(Serialize, Deserialize)]
struct Definitions {
    host: HostInfo,
    tools: Vec<Value>,
}

/// Methods that are forwarded to the program behind a user interface.
const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// Returns the method of that name, if it is one that is forwarded.
pub(crate) fn known_method(name: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|method| *method == name)
}

impl HostFrame {
    pub(crate) fn encoded(self) -> Bytes {
        match self {
            HostFrame::Accepted(host) => encoded("accepted", &host),
            HostFrame::Refused(refused) => encoded("refused", &refused),
            HostFrame::Update(update) => encoded("update", &update),
            HostFrame::Log(line) => {
                let level = line.level.as_str().to_owned();
                let (message, context) = (line.message, line.context);
                let body = LogBody {
                    level,
                    message,
                    context,
                };
                encoded("log", &body)
            }
            HostFrame::Ask(ask) => encoded("ask", &ask),
            HostFrame::Withdraw(id) => encoded("withdraw", &id),
            HostFrame::Tell(notification) => encoded("tell", &notification),
            HostFrame::Forward(forward) => encoded("forward", &forward),
            HostFrame::Finished(host, Finished::Outcome(outcome)) => {
                let result = Result {
                    host,
                    content: outcome.content,
                    details: outcome.details,
                    is_error: outcome.is_error,
                    useless: outcome.useless,
                    duration_ms: outcome.duration.as_secs_f64() * 1000.0,
                    stopped: outcome.stopped,
                    display: outcome.display,
                };
                encoded("result", &result)
            }
            HostFrame::Finished(host, Finished::Failed(error)) => {
                let failure = Failure {
                    host,
                    kind: error.kind().as_str().to_owned(),
                    message: error.message().to_owned(),
                    hint: error.hint().map(str::to_owned),
                    stopped: match error.kind() {
                        ErrorKind::Stopped(why) => Some(why),
                        _ => None,
                    },
                };
                encoded("error", &failure)
            }
            HostFrame::Finished(host, Finished::Definitions(tools)) => {
                encoded("definitions", &Definitions { host, tools })
            }
        }
    }

    /// Reads a frame; the error says what is wrong with it.
    pub(crate) fn read(bytes: &[u8], tool: &str) -> std::result::Result<HostFrame, String> {
        let (kind, body) = split(bytes)?;
        Ok(match kind.as_str() {
            "accepted" => HostFrame::Accepted(parsed(&body)?),
            "refused" => HostFrame::Refused(parsed(&body)?),
            "update" => {
                // Surfaces rely on its form.
                #[derive(Deserialize)]
                struct Partial {
                    #[serde(rename = "content")]
                    _content: Vec<Block>,
                }
                let _: Partial = parsed(&body)?;
                HostFrame::Update(body)
            }
            "log" => {
                let line: LogBody = parsed(&body)?;
                HostFrame::Log(LogLine {
                    level: level_of(&line.level),
                    tool: tool.to_owned(),
                    message: line.message,
                    context: line
                        .context
                        .filter(|context| context.get().starts_with('{')),
                })
            }
            "ask" => HostFrame::Ask(parsed(&body)?),
            "withdraw" => HostFrame::Withdraw(parsed(&body)?),
            "tell" => HostFrame::Tell(parsed(&body)?),
            "forward" => HostFrame::Forward(parsed(&body)?),
            "result" => {
                let result: Result = parsed(&body)?;
                let duration = Duration::try_from_secs_f64(result.duration_ms / 1000.0);
                let outcome = Outcome {
                    content: result.content,
                    details: match result.details {
                        Value::Null => json!({}),
                        details => details,
                    },
                    is_error: result.is_error,
                    useless: result.useless,
                    stopped: result.stopped,
                    display: result.display,
                    ..Outcome::success(String::new(), duration.unwrap_or_default())
                };
                HostFrame::Finished(result.host, Finished::Outcome(outcome))
            }
            "error" => {
                let failure: Failure = parsed(&body)?;
                let named = || ErrorKind::from_name(&failure.kind);
                let kind = failure.stopped.map(ErrorKind::Stopped).or_else(named);
                let kind = kind.unwrap_or(ErrorKind::Internal);
                let mut error = Error::new(kind, failure.message);
                if let Some(hint) = failure.hint {
                    error = error.with_hint(hint);
                }
                HostFrame::Finished(failure.host, Finished::Failed(error))
            }
            "definitions" => {
                let found: Definitions = parsed(&body)?;
                HostFrame::Finished(found.host, Finished::Definitions(found.tools))
            }
            other => return Err(format!("there is no frame `{}`", short(other))),
        })
    }
}

impl CallerFrame {
    pub(crate) fn encoded(self) -> Bytes {
        match self {
            CallerFrame::Arguments(arguments) => encoded("arguments", &arguments),
            CallerFrame::Cancel { why, is_kill: kill } => encoded("cancel", &Cancel { why, kill }),
            CallerFrame::Answer { id, answer } => {
                let value = Some(Value::from(answer)).filter(|value| !value.is_null());
                encoded("answer", &Answered { id, value })
            }
            CallerFrame::Forwarded { id, value } => encoded("forwarded", &Answered { id, value }),
        }
    }

    /// Reads a frame; the error says what is wrong with it.
    pub(crate) fn read(bytes: &[u8]) -> std::result::Result<CallerFrame, String> {
        let (kind, body) = split(bytes)?;
        Ok(match kind.as_str() {
            "arguments" => CallerFrame::Arguments(body),
            "cancel" => {
                let cancel: Cancel = parsed(&body)?;
                CallerFrame::Cancel {
                    why: cancel.why,
                    is_kill: cancel.kill,
                }
            }
            "answer" => {
                let answered: Answered = parsed(&body)?;
                CallerFrame::Answer {
                    id: answered.id,
                    answer: answered.value.unwrap_or_default().into(),
                }
            }
            "forwarded" => {
                let answered: Answered = parsed(&body)?;
                CallerFrame::Forwarded {
                    id: answered.id,
                    value: answered.value,
                }
            }
            other => return Err(format!("there is no frame `{}`", short(other))),
        })
    }
}

fn encoded(kind: &str, body: &impl Serialize) -> Bytes {
    // A value that cannot be written would have a key that is not a text; there is none.
    let body = serde_json::value::to_raw_value(body).unwrap_or_default();
    let frame = Frame {
        kind: kind.to_owned(),
        body: Some(body),
    };
    serde_json::to_vec(&frame).unwrap_or_default().into()
}

fn split(bytes: &[u8]) -> std::result::Result<(String, Box<RawValue>), String> {
    let frame: Frame = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok((frame.kind, frame.body.unwrap_or_default()))
}

fn parsed<T: DeserializeOwned>(body: &RawValue) -> std::result::Result<T, String> {
    haft_tool::json::read(body.get()).map_err(|error| error.to_string())
}

fn short(text: &str) -> String {
    let text: String = text.chars().take(40).collect();
    haft_tool::visible::line(&text).into_owned()
}

fn level_of(name: &str) -> LogLevel {
    let levels = [LogLevel::Debug, LogLevel::Warn, LogLevel::Error];
    let mut levels = levels.into_iter();
    let found = levels.find(|level| level.as_str() == name);
    found.unwrap_or(LogLevel::Info)
}
