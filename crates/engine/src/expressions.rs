//! Evaluates small JavaScript expressions over given values: the transforms and conditions of YAML
//! tools.
//!
//! They run in an isolate of their own without Deno, host functions or code from text. Values enter
//! as JSON, never as source. Each evaluation has a fresh context, so that no state survives it. It
//! is terminated when it exceeds one second or a small heap. The isolate boots when the first
//! expression is evaluated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use deno_core::v8;
use tokio::sync::oneshot;

use super::boot;
use super::lock;
use super::memory::HeapLimit;

/// Time limit of one evaluation.
const LIMIT: Duration = Duration::from_secs(1);

/// V8's heap for one evaluation.
const HEAP: usize = 64 << 20;

/// Stack for V8's own limit on recursion and for the Rust frames below it.
const STACK_SIZE: usize = 4 << 20;

/// Globals whose memory is outside of V8's heap, and globals that can wait.
const WITHHELD: &[&str] = &[
    "ArrayBuffer",
    "SharedArrayBuffer",
    "DataView",
    "Atomics",
    "WebAssembly",
    "console",
    "Int8Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "BigInt64Array",
    "BigUint64Array",
    "Float16Array",
    "Float32Array",
    "Float64Array",
];

/// Evaluates expressions, one at a time. Starts nothing before the first one.
pub struct Expressions {
    heap_mb: u32,
    inbox: Mutex<Option<mpsc::Sender<Job>>>,
}

/// Reason for which an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It does not parse, or threw.
    #[error("{0}")]
    Threw(String),
    /// It was terminated after a second.
    #[error("it did not end within {} s", LIMIT.as_secs())]
    TooLong,
    /// It wanted more memory than an expression gets.
    #[error("it ran out of memory (the limit is {} MB)", HEAP >> 20)]
    TooMuchMemory,
    /// Its value cannot be written as text.
    #[error("it gave {0}, which is not a usable value")]
    NoValue(&'static str),
    /// The machine has no thread or no memory left.
    #[error("JavaScript cannot be started: {0}")]
    Unavailable(String),
}

struct Job {
    source: String,
    /// Names and their values as JSON.
    names: Vec<(String, String)>,
    wanted: Wanted,
    answer: oneshot::Sender<Result<String, ExpressionError>>,
}

#[derive(Clone, Copy)]
enum Wanted {
    /// The JSON of the value. A function is called with the value of the first name.
    Json,
    /// `true` or `false`, as `if` evaluates it.
    Truth,
}

impl Expressions {
    /// Returns an evaluator that has not started yet. `heap_mb` is used to set V8 up, unless that
    /// was done before.
    pub fn new(heap_mb: u32) -> Expressions {
        Expressions {
            heap_mb,
            inbox: Mutex::default(),
        }
    }

    /// Returns the value of `source` as JSON, where each of `names` stands for its JSON value. If
    /// the value is a function, returns its result for the first of them.
    ///
    /// # Errors
    /// When there is none.
    pub async fn value(
        &self,
        source: &str,
        names: Vec<(String, String)>,
    ) -> Result<String, ExpressionError> {
        self.ask(source, names, Wanted::Json).await
    }

    /// Returns true if `if` takes the value of `source` for true.
    ///
    /// # Errors
    /// When there is none.
    pub async fn truth(
        &self,
        source: &str,
        names: Vec<(String, String)>,
    ) -> Result<bool, ExpressionError> {
        let answer = self.ask(source, names, Wanted::Truth).await?;
        Ok(answer == "true")
    }

    async fn ask(
        &self,
        source: &str,
        names: Vec<(String, String)>,
        wanted: Wanted,
    ) -> Result<String, ExpressionError> {
        let (answer, answered) = oneshot::channel();
        let source = source.to_owned();
        self.send(Job {
            source,
            names,
            wanted,
            answer,
        })?;
        answered
            .await
            .unwrap_or_else(|_| Err(ExpressionError::Unavailable("its thread ended".into())))
    }

    fn send(&self, job: Job) -> Result<(), ExpressionError> {
        let mut inbox = lock(&self.inbox);
        let job = match &*inbox {
            Some(sender) => match sender.send(job) {
                Ok(()) => return Ok(()),
                // The thread has ended; a new one takes the job.
                Err(mpsc::SendError(job)) => job,
            },
            None => job,
        };
        let heap_mb = self.heap_mb;
        let (sender, jobs) = mpsc::channel();
        thread::Builder::new()
            .name("haft-expressions".into())
            .stack_size(STACK_SIZE)
            .spawn(move || serve(heap_mb, &jobs))
            .map_err(|error| ExpressionError::Unavailable(error.to_string()))?;
        // The thread that was started a moment ago holds the other end.
        let _ = sender.send(job);
        *inbox = Some(sender);
        Ok(())
    }
}

/// Main loop of the thread: starts an isolate and replaces it when it may be unsound.
fn serve(heap_mb: u32, jobs: &mpsc::Receiver<Job>) {
    let mut waiting = jobs.recv().ok();
    if let Err(why) = boot::keep_read_only_heap(heap_mb) {
        if let Some(job) = waiting {
            // The caller may have been cancelled.
            let _ = job.answer.send(Err(ExpressionError::Unavailable(why)));
        }
        return;
    }
    while waiting.is_some() {
        let mut room = Room::new();
        while let Some(job) = waiting.take() {
            let result = room.evaluate(&job);
            // An evaluation that ran out of time may have left a full heap to the next one.
            let is_sound = !matches!(
                result,
                Err(ExpressionError::TooMuchMemory | ExpressionError::TooLong)
            );
            // The caller may have been cancelled.
            let _ = job.answer.send(result);
            waiting = jobs.recv().ok();
            if !is_sound {
                break;
            }
        }
    }
}

/// One isolate with the limit of its heap, which must outlive it: fields are dropped in their
/// order.
struct Room {
    isolate: v8::OwnedIsolate,
    _limit: Box<HeapLimit>,
    is_full: Arc<AtomicBool>,
}

impl Room {
    fn new() -> Room {
        let params = v8::CreateParams::default().heap_limits(0, HEAP);
        let alone = boot::one_at_a_time();
        let mut isolate = v8::Isolate::new(params);
        drop(alone);
        let (handle, is_full) = (isolate.thread_safe_handle(), Arc::<AtomicBool>::default());
        let has_exceeded = is_full.clone();
        let limit = HeapLimit::new(HEAP);
        limit.call(move |_| {
            has_exceeded.store(true, Ordering::Relaxed);
            handle.terminate_execution();
        });
        limit.watch(&mut isolate);
        Room {
            isolate,
            _limit: limit,
            is_full,
        }
    }

    fn evaluate(&mut self, job: &Job) -> Result<String, ExpressionError> {
        let (done, is_done) = mpsc::channel::<()>();
        let handle = self.isolate.thread_safe_handle();
        let watch = thread::Builder::new().spawn(move || {
            let is_late = is_done.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
            is_late && handle.terminate_execution()
        });
        // An evaluation must not run without a thread that enforces its time limit.
        let watch = watch.map_err(|error| ExpressionError::Unavailable(error.to_string()))?;
        let result = run(&mut self.isolate, job);
        drop(done);
        let is_late = watch.join().unwrap_or(false);
        self.isolate.cancel_terminate_execution();
        match result {
            _ if self.is_full.load(Ordering::Relaxed) => Err(ExpressionError::TooMuchMemory),
            Err(Ending::Terminated) if is_late => Err(ExpressionError::TooLong),
            Err(Ending::Terminated) => Err(ExpressionError::Threw("it was ended".into())),
            Err(Ending::Failed(error)) => Err(error),
            Ok(text) => Ok(text),
        }
    }
}

enum Ending {
    Failed(ExpressionError),
    Terminated,
}

fn run(isolate: &mut v8::OwnedIsolate, job: &Job) -> Result<String, Ending> {
    v8::scope!(let scope, isolate);
    let context = v8::Context::new(scope, v8::ContextOptions::default());
    // This also stops `constructor.constructor('…')`.
    context.set_allow_generation_from_strings(false);
    let scope = &mut v8::ContextScope::new(scope, context);
    v8::tc_scope!(scope, scope);
    let value = value_of(scope, context, job);
    let Some(value) = value else {
        if scope.has_terminated() {
            return Err(Ending::Terminated);
        }
        let text = match scope.exception() {
            Some(exception) => exception.to_rust_string_lossy(scope),
            None => "it is too large for JavaScript".to_owned(),
        };
        return Err(Ending::Failed(ExpressionError::Threw(text)));
    };
    value.map_err(Ending::Failed)
}

/// Returns `None` if an exception was thrown.
fn value_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    context: v8::Local<'s, v8::Context>,
    job: &Job,
) -> Option<Result<String, ExpressionError>> {
    let global = context.global(scope);
    for name in WITHHELD {
        let name = v8::String::new(scope, name)?;
        global.delete(scope, name.into())?;
    }
    let mut first = v8::undefined(scope).into();
    for (index, (name, json)) in job.names.iter().enumerate() {
        let name = v8::String::new(scope, name)?;
        let json = v8::String::new(scope, json)?;
        let value = v8::json::parse(scope, json)?;
        global.set(scope, name.into(), value)?;
        if index == 0 {
            first = value;
        }
    }
    let source = v8::String::new(scope, &job.source)?;
    let script = v8::Script::compile(scope, source, None)?;
    let mut value = script.run(scope)?;
    if let Wanted::Truth = job.wanted {
        return Some(Ok(value.boolean_value(scope).to_string()));
    }
    if let Ok(function) = v8::Local::<v8::Function>::try_from(value) {
        let this = v8::undefined(scope);
        value = function.call(scope, this.into(), &[first])?;
    }
    let unusable = if value.is_undefined() {
        Some("undefined")
    } else if value.is_promise() {
        Some("a promise")
    } else if value.is_function() {
        Some("a function")
    } else if value.is_symbol() {
        Some("a symbol")
    } else {
        None
    };
    if let Some(kind) = unusable {
        return Some(Err(ExpressionError::NoValue(kind)));
    }
    if value.is_big_int() {
        return Some(Ok(value.to_string(scope)?.to_rust_string_lossy(scope)));
    }
    let json = v8::json::stringify(scope, value)?;
    Some(Ok(json.to_rust_string_lossy(scope)))
}
