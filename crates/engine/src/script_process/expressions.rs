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

use deno_core::v8;

use super::STACK_SIZE;
use crate::boot;
use crate::lock;
use crate::memory::HeapLimit;
use crate::script::protocol::{Expression, ValueForm};
use crate::script::{EXPRESSION_HEAP, EXPRESSION_TIMEOUT, ExpressionError, ExpressionResult};
use crate::worker::HostSender;

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

/// An expression, and the socket for its value.
pub(super) struct ExpressionJob {
    pub(super) expression: Expression,
    pub(super) host: Arc<HostSender>,
}

/// The thread that evaluates expressions, one at a time. It starts with the first one.
#[derive(Default)]
pub(super) struct ExpressionThread(Mutex<Option<mpsc::Sender<ExpressionJob>>>);

impl ExpressionThread {
    /// Passes a job to the thread.
    pub(super) fn evaluate(&self, job: ExpressionJob) {
        let mut inbox = lock(&self.0);
        let job = match &*inbox {
            Some(sender) => match sender.send(job) {
                Ok(()) => return,
                // The thread has ended; a new one takes the job.
                Err(mpsc::SendError(job)) => job,
            },
            None => job,
        };
        let (sender, jobs) = mpsc::channel();
        let host = job.host.clone();
        let started = thread::Builder::new()
            .name("haft-expressions".into())
            .stack_size(STACK_SIZE)
            .spawn(move || serve(&jobs));
        if let Err(error) = started {
            let failure = ExpressionError::Unavailable(error.to_string());
            return host.send(&ExpressionResult::Err(failure));
        }
        // The thread that was started a moment ago holds the other end.
        let _ = sender.send(job);
        *inbox = Some(sender);
    }
}

/// Main loop of the thread: starts an isolate and replaces it when it may be unsound.
fn serve(jobs: &mpsc::Receiver<ExpressionJob>) {
    let mut next_job = jobs.recv().ok();
    while next_job.is_some() {
        let mut isolate = ExpressionIsolate::new();
        while let Some(job) = next_job.take() {
            let result = isolate.evaluate(&job.expression);
            // An evaluation that ran out of time may have left a full heap to the next one.
            let is_sound = !matches!(
                result,
                Err(ExpressionError::TooMuchMemory | ExpressionError::TooLong)
            );
            job.host.send(&result);
            drop(job);
            next_job = jobs.recv().ok();
            if !is_sound {
                break;
            }
        }
    }
}

/// One isolate with the limit of its heap, which must outlive it: fields are dropped in their
/// order.
struct ExpressionIsolate {
    isolate: v8::OwnedIsolate,
    _limit: Box<HeapLimit>,
    is_full: Arc<AtomicBool>,
}

impl ExpressionIsolate {
    fn new() -> ExpressionIsolate {
        let params = v8::CreateParams::default().heap_limits(0, EXPRESSION_HEAP);
        let alone = boot::one_at_a_time();
        let mut isolate = v8::Isolate::new(params);
        drop(alone);
        let (handle, is_full) = (isolate.thread_safe_handle(), Arc::<AtomicBool>::default());
        let has_exceeded = is_full.clone();
        let limit = HeapLimit::new(EXPRESSION_HEAP);
        limit.call(move |_| {
            has_exceeded.store(true, Ordering::Relaxed);
            handle.terminate_execution();
        });
        limit.watch(&mut isolate);
        ExpressionIsolate {
            isolate,
            _limit: limit,
            is_full,
        }
    }

    fn evaluate(&mut self, expression: &Expression) -> ExpressionResult {
        let (done, is_done) = mpsc::channel::<()>();
        let handle = self.isolate.thread_safe_handle();
        let watch = thread::Builder::new().spawn(move || {
            let is_late =
                is_done.recv_timeout(EXPRESSION_TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout);
            is_late && handle.terminate_execution()
        });
        // An evaluation must not run without a thread that enforces its time limit.
        let watch = watch.map_err(|error| ExpressionError::Unavailable(error.to_string()))?;
        let result = run(&mut self.isolate, expression);
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

fn run(isolate: &mut v8::OwnedIsolate, expression: &Expression) -> Result<String, Ending> {
    v8::scope!(let scope, isolate);
    let context = v8::Context::new(scope, v8::ContextOptions::default());
    // This also stops `constructor.constructor('…')`.
    context.set_allow_generation_from_strings(false);
    let scope = &mut v8::ContextScope::new(scope, context);
    v8::tc_scope!(scope, scope);
    let value = value_of(scope, context, expression);
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
    expression: &Expression,
) -> Option<Result<String, ExpressionError>> {
    let global = context.global(scope);
    for name in WITHHELD {
        let name = v8::String::new(scope, name)?;
        global.delete(scope, name.into())?;
    }
    let mut first = v8::undefined(scope).into();
    for (index, (name, json)) in expression.names.iter().enumerate() {
        let name = v8::String::new(scope, name)?;
        let json = v8::String::new(scope, json)?;
        let value = v8::json::parse(scope, json)?;
        global.set(scope, name.into(), value)?;
        if index == 0 {
            first = value;
        }
    }
    let source = v8::String::new(scope, &expression.source)?;
    let script = v8::Script::compile(scope, source, None)?;
    let mut value = script.run(scope)?;
    if let ValueForm::Truth = expression.form {
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
        return Some(Err(ExpressionError::NoValue(kind.to_owned())));
    }
    if value.is_big_int() {
        return Some(Ok(value.to_string(scope)?.to_rust_string_lossy(scope)));
    }
    let json = v8::json::stringify(scope, value)?;
    Some(Ok(json.to_rust_string_lossy(scope)))
}
