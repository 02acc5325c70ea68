//! Scripts of code mode: TypeScript that calls tools, in an isolate that has nothing else.
//!
//! Each script has a thread, an isolate and a context of its own. There are no ops, no Deno, no
//! modules, no code from text, no WebAssembly and no shared memory. The globals are those of the
//! language, and the few of `globals.js`. Whatever a script calls is a [`ScriptEvent`] for the host,
//! which answers it; the text of arguments and results is all that passes.
//!
//! The script ends when its function has returned and nothing that it has started is open: neither a
//! call nor a timer. It is terminated when it exceeds one of its limits.

mod clock;
mod compile;
mod isolate;

use std::sync::{Arc, Once, OnceLock, mpsc};
use std::time::Duration;

use deno_core::v8;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::{Engine, boot};

/// Time in which V8 has to notice that a script is to end. After that its thread is abandoned.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(2);

/// Limits of one script.
#[derive(Clone, Copy, Debug)]
pub struct ScriptLimits {
    /// Time that the script itself takes. Waits for tools do not count.
    pub own_time: Duration,
    /// Memory in MiB.
    pub heap_mb: u32,
    /// Number of calls.
    pub calls: u32,
}

/// A script with what it gets.
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
    events: UnboundedReceiver<ScriptEvent>,
    control: Arc<Control>,
}

/// Event of a script. [`ScriptEvent::Ended`] is the last one.
#[derive(Debug)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Reason for which a script has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// The machine has no thread or no memory left.
    #[error("no script can be started: {0}")]
    Unavailable(String),
}

fn at(place: Option<Place>) -> String {
    match place {
        Some(Place { line, column }) => format!("\n    at {}:{line}:{column}", compile::NAME),
        None => String::new(),
    }
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    format!("{seconds} s")
}

/// Message to the thread of a script.
enum Message {
    Answer(u32, ScriptAnswer),
    /// Look whether the script is to end.
    Wake,
}

/// Handle with which a script is ended.
struct Control {
    failure: OnceLock<ScriptFailure>,
    isolate: OnceLock<v8::IsolateHandle>,
    inbox: mpsc::Sender<Message>,
    is_ending: CancellationToken,
}

impl Control {
    /// Ends the script. The first reason counts.
    fn end(&self, why: ScriptFailure) {
        if self.failure.set(why).is_err() {
            return;
        }
        if let Some(isolate) = self.isolate.get() {
            isolate.terminate_execution();
        }
        // The thread may have ended.
        let _ = self.inbox.send(Message::Wake);
        self.is_ending.cancel();
    }
}

impl Engine {
    /// Starts what the first script of the process would otherwise wait for, and returns at once.
    pub fn expect_scripts(&self) {
        static STARTED: Once = Once::new();
        let heap_mb = self.inner.options.heap_mb;
        STARTED.call_once(|| {
            // The first script tries again and reports a failure.
            let _ = std::thread::Builder::new()
                .name("haft-heap-start".into())
                .spawn(move || boot::keep_read_only_heap(heap_mb));
        });
    }

    /// Starts a script.
    pub fn run_script(&self, source: ScriptSource, limits: ScriptLimits) -> Script {
        let (events, received) = unbounded_channel();
        let (inbox, messages) = mpsc::channel();
        let control = Arc::new(Control {
            failure: OnceLock::new(),
            isolate: OnceLock::new(),
            inbox,
            is_ending: CancellationToken::new(),
        });
        let (of_thread, heap_mb) = (control.clone(), self.inner.options.heap_mb);
        let sender = events.clone();
        let started = std::thread::Builder::new()
            .name("haft-script".into())
            .stack_size(isolate::STACK_SIZE)
            .spawn(move || {
                isolate::run(&source, limits, heap_mb, &of_thread, &messages, sender);
            });
        if let Err(error) = started {
            let failure = ScriptFailure::Unavailable(error.to_string());
            // The receiver is in this function.
            let _ = events.send(ScriptEvent::Ended(Err(failure)));
        }
        Script {
            events: received,
            control,
        }
    }
}

impl Script {
    /// Waits for the next event. Cancel safe.
    pub async fn next(&mut self) -> ScriptEvent {
        let event = tokio::select! {
            biased;
            event = self.events.recv() => event,
            () = self.control.is_ending.cancelled() => {
                let event = tokio::time::timeout(NOTICE_TIMEOUT, self.events.recv()).await;
                event.unwrap_or_default()
            }
        };
        event.unwrap_or_else(|| {
            let failure = self.control.failure.get().cloned();
            let lost = || ScriptFailure::Unavailable("its thread ended".into());
            ScriptEvent::Ended(Err(failure.unwrap_or_else(lost)))
        })
    }

    /// Answers the request with this number.
    pub fn answer(&self, number: u32, answer: ScriptAnswer) {
        // A script that has ended needs no answer.
        let _ = self.control.inbox.send(Message::Answer(number, answer));
    }

    /// Ends the script. [`ScriptEvent::Ended`] follows.
    pub fn cancel(&self) {
        self.control.end(ScriptFailure::Cancelled);
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.control.end(ScriptFailure::Cancelled);
    }
}
