//! Scripts of code mode, which are TypeScript that calls tools, and expressions of YAML tools.
//!
//! Both run in a worker process of their own, which has no permissions and no module
//! ([`script_process`](super::script_process)). Each has a socket to its thread there. Whatever a
//! script calls is a [`ScriptEvent`] for the host, which answers it; the text of arguments and results
//! is all that passes. haft treats all of it as hostile.
//!
//! A script or an expression that cannot be stopped, because native code of V8 runs, takes its process
//! with it as soon as no other script uses it.

mod expression;
pub(super) mod protocol;
mod worker;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Engine, Inner};
pub use expression::ExpressionError;
pub(super) use expression::{EXPRESSION_HEAP, EXPRESSION_TIMEOUT, ExpressionResult};
use protocol::{ScriptJob, ScriptReply, ScriptReport};
pub(super) use worker::ScriptWorkers;
use worker::{JobSocket, ScriptWorker};

/// Time in which V8 has to notice that a script is to end.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum size of what a script prints, and of its value, in bytes.
pub(super) const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// Name of a script in stack traces.
pub(super) const SCRIPT_NAME: &str = "script.ts";

/// Limits of one script.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ScriptLimits {
    /// Time that the script itself takes. Waits for tools do not count.
    pub own_time: Duration,
    /// Memory in MiB.
    pub heap_mb: u32,
    /// Number of calls.
    pub calls: u32,
}

/// A script with what it gets.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScriptSource {
    /// The body of an async function, in TypeScript or JavaScript.
    pub code: String,
    /// Names of the tools as a JSON array, which `Object.keys(tools)` lists.
    pub names: String,
    /// The JSON of the global `args`.
    pub args: String,
}

/// A running script. Dropping it ends the script.
pub struct Script {
    /// The connection to its thread, or the reason why there is none.
    running: Result<RunningScript, ScriptFailure>,
}

struct RunningScript {
    engine: Arc<Inner>,
    worker: Arc<ScriptWorker>,
    socket: JobSocket,
    limits: ScriptLimits,
    /// The message that starts it again in another process, until its first event.
    unseen: Option<ScriptJob>,
    /// Number of its requests.
    requests: u32,
    /// Bytes that it has printed.
    printed: usize,
    /// The reason for which it is to end, and the time at which its process is given up.
    ending: Option<(ScriptFailure, Instant)>,
}

/// Event of a script. [`ScriptEvent::Ended`] is the last one.
#[derive(Debug, Serialize, Deserialize)]
pub enum ScriptEvent {
    /// The script requests something and waits for [`Script::answer`] with this number.
    Request {
        /// Number of the request.
        number: u32,
        /// The request itself.
        request: ScriptRequest,
    },
    /// The script has printed a text.
    Printed(String),
    /// The script has printed an image.
    Image {
        /// The bytes in base64.
        data: String,
        /// The media type.
        mime_type: String,
    },
    /// The script has ended: the JSON of its value, or `None` for `undefined`.
    Ended(Result<Option<String>, ScriptFailure>),
}

/// Request of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScriptRequest {
    /// A call of a tool.
    Call {
        /// The name that the script used.
        tool: String,
        /// The JSON of the arguments.
        arguments: String,
        /// True if the whole result is wanted, and no exception.
        is_raw: bool,
        /// Place of the call in the author's text.
        place: Option<Place>,
    },
    /// A search for tools, with the JSON of its parameters.
    Search(String),
    /// The declaration of the tool of this name.
    Types(String),
}

/// Answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub enum ScriptAnswer {
    /// The JSON of the value.
    Value(String),
    /// The tool failed: the script gets a `ToolError`.
    Failed {
        /// Name of the tool.
        tool: String,
        /// Message of the error.
        message: String,
        /// The JSON of the blocks of the result.
        content: String,
    },
}

/// Place in the author's text; both numbers begin with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Reason for which a script has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ScriptFailure {
    /// The text is not a script.
    #[error("SyntaxError: {message}{}", at(*.place))]
    Syntax {
        /// Description of the error.
        message: String,
        /// Its place.
        place: Option<Place>,
    },
    /// It threw, and did not catch.
    #[error("{message}{}", at(*.place))]
    Threw {
        /// Name and message of the error.
        message: String,
        /// Place at which it was made; of an error of a tool: the place of the call.
        place: Option<Place>,
    },
    /// It took too long.
    #[error("the script took longer than {} of its own time; waits for tools do not count", seconds(*.0))]
    OwnTime(Duration),
    /// It wanted more memory than it may have.
    #[error("the script ran out of memory: it may use {0} MiB")]
    Memory(u32),
    /// It printed more than a result can be made of.
    #[error("the script printed more than {} MiB", .0 >> 20)]
    Printed(usize),
    /// Its value is longer than a result can be made of.
    #[error("the value of the script is larger than {} MiB", .0 >> 20)]
    Value(usize),
    /// It waits for a promise that nothing can settle.
    #[error("the script waits for a promise that nothing settles: no call and no timer is open")]
    NeverEnds,
    /// It was ended from outside.
    #[error("the script was cancelled")]
    Cancelled,
    /// Its process cannot be started, or has no thread or no memory left.
    #[error("no script can be started: {0}")]
    Unavailable(String),
    /// Its process has ended, or did something that it must not; a part of a sentence.
    #[error("the process of the script {0}")]
    Lost(String),
}

fn at(place: Option<Place>) -> String {
    match place {
        Some(Place { line, column }) => format!("\n    at {}:{line}:{column}", SCRIPT_NAME),
        None => String::new(),
    }
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    format!("{seconds} s")
}

impl Engine {
    /// Starts what the first script would otherwise wait for, and returns at once.
    pub fn expect_scripts(&self) {
        // The first script tries again and reports a failure.
        if let Ok(runtime) = self.inner.runtime() {
            let inner = self.inner.clone();
            runtime
                .handle
                .spawn(async move { inner.scripts.prepare(&inner.options).await });
        }
    }

    /// Starts a script. A failure is its first event.
    pub async fn run_script(&self, source: ScriptSource, limits: ScriptLimits) -> Script {
        let engine = self.inner.clone();
        let job = ScriptJob::Run { source, limits };
        let started = engine.scripts.start(&engine.options, &job).await;
        let running = started.map(|(worker, socket)| RunningScript {
            engine,
            worker,
            socket,
            limits,
            unseen: Some(job),
            requests: 0,
            printed: 0,
            ending: None,
        });
        Script {
            running: running.map_err(ScriptFailure::Unavailable),
        }
    }
}

impl Script {
    /// Waits for the next event. Cancel safe.
    pub async fn next(&mut self) -> ScriptEvent {
        match &mut self.running {
            Ok(running) => running.next().await.unwrap_or_else(|failure| {
                self.running = Err(failure.clone());
                ScriptEvent::Ended(Err(failure))
            }),
            Err(failure) => ScriptEvent::Ended(Err(failure.clone())),
        }
    }

    /// Answers the request with this number.
    pub fn answer(&mut self, number: u32, answer: ScriptAnswer) {
        // A script that has ended needs no answer.
        if let Ok(running) = &mut self.running {
            running.socket.send(&ScriptReply { number, answer });
        }
    }

    /// Ends the script. [`ScriptEvent::Ended`] follows.
    pub fn cancel(&mut self) {
        if let Ok(running) = &mut self.running {
            running.socket.stop();
            running.end(ScriptFailure::Cancelled);
        }
    }
}

impl RunningScript {
    /// Waits for the next event, and gives its process up if the script does not end in time.
    async fn next(&mut self) -> Result<ScriptEvent, ScriptFailure> {
        loop {
            let received = match &self.ending {
                Some((failure, until)) => {
                    let report = pin!(self.socket.receive());
                    match tokio::time::timeout_at(*until, report).await {
                        Ok(received) => received,
                        Err(_) => {
                            self.engine.scripts.retire(&self.worker).await;
                            return Err(failure.clone());
                        }
                    }
                }
                None => self.socket.receive().await,
            };
            match received {
                Ok(Some(ScriptReport::Event(event))) => {
                    self.unseen = None;
                    self.count(&event)?;
                    return Ok(event);
                }
                Ok(Some(ScriptReport::Ending(failure))) => self.end(failure),
                Ok(None) => self.start_again().await?,
                Err(error) => {
                    self.engine.scripts.retire(&self.worker).await;
                    return Err(ScriptFailure::Lost(format!("broke the protocol: {error}")));
                }
            }
        }
    }

    /// Starts the script once more, if its process ended before anything of it was seen.
    async fn start_again(&mut self) -> Result<(), ScriptFailure> {
        if let Some((failure, _)) = &self.ending {
            return Err(failure.clone());
        }
        let Some(job) = self.unseen.take() else {
            return Err(ScriptFailure::Lost(self.worker.describe_end().await));
        };
        self.engine.scripts.retire(&self.worker).await;
        let started = self.engine.scripts.start(&self.engine.options, &job).await;
        (self.worker, self.socket) = started.map_err(ScriptFailure::Unavailable)?;
        Ok(())
    }

    /// Counts what the script does. Its thread does so, too, and tells the script.
    fn count(&mut self, event: &ScriptEvent) -> Result<(), ScriptFailure> {
        match event {
            ScriptEvent::Request { .. } => self.requests += 1,
            ScriptEvent::Printed(text) => self.printed += text.len(),
            ScriptEvent::Image { data, .. } => self.printed += data.len(),
            ScriptEvent::Ended(_) => {}
        }
        if self.requests > self.limits.calls {
            let what = "made more requests than it may".to_owned();
            return Err(ScriptFailure::Lost(what));
        }
        // A text has at most three bytes for each unit that the thread counts.
        if self.printed > 3 * MAX_OUTPUT_BYTES {
            return Err(ScriptFailure::Printed(MAX_OUTPUT_BYTES));
        }
        Ok(())
    }

    /// Notes that the script is to end. The first reason counts.
    fn end(&mut self, failure: ScriptFailure) {
        let until = Instant::now() + NOTICE_TIMEOUT;
        self.ending.get_or_insert((failure, until));
    }
}
