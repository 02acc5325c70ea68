//! Thread of an isolate, from its start to its end.
//!
//! It runs one loop: take requests, run V8's event loop, sleep until either has work. A terminated
//! isolate leaves the loop as soon as V8 returns.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use deno_core::{PollEventLoopOptions, v8};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use url::Url;

use super::EngineOptions;
use super::boot::{Booted, Functions, Unconfigured, boot};
use super::caller_link::CallerLink;
use super::inspector::Profiler;
use super::isolate_state::IsolateState;
use super::loader::Loader;
use super::memory::HeapLimit;
use super::messages::{Answer, Ask, Inbox, Message, NoMessage, Termination};
use super::op_host::OpHost;
use super::panic_guard;
use super::platform::ForegroundTasks;
use super::spin_wait::RequestSpin;
use super::{asking, load_trace, stuck_threads, telemetry};
use haft_tool::{Debugging, TraceContext};

/// V8 must be the first to refuse deep recursion; this leaves room for it and for Rust below it.
const STACK_SIZE: usize = 8 << 20;

/// Limit of messages in a row before timers and sockets have their turn.
const MAX_MESSAGES_PER_TURN: usize = 64;

/// Messages from handles in the same process.
impl Inbox for mpsc::UnboundedReceiver<Message> {
    fn try_next(&mut self) -> Result<Message, NoMessage> {
        self.try_recv().map_err(|error| match error {
            TryRecvError::Empty => NoMessage::Empty,
            TryRecvError::Disconnected => NoMessage::Closed,
        })
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        self.poll_recv(cx)
    }
}

/// Starts the thread of an isolate. `ready` is called once the isolate is ready or could not be
/// made. `alive` is dropped when the thread ends.
pub(super) fn spawn(
    options: EngineOptions,
    shared: Arc<IsolateState>,
    inbox: Box<dyn Inbox + Send>,
    callers: Arc<dyn CallerLink>,
    alive: std::sync::mpsc::Sender<()>,
    ready: impl FnOnce(Result<(), String>) + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new()
        .name("haft-isolate".into())
        .stack_size(STACK_SIZE)
        .spawn(move || run(&options, shared, inbox, callers, alive, None, ready))
}

/// Runs an isolate on this thread until its end. Takes `unconfigured` as the isolate if there is
/// one.
pub(super) fn run(
    options: &EngineOptions,
    shared: Arc<IsolateState>,
    inbox: Box<dyn Inbox>,
    callers: Arc<dyn CallerLink>,
    alive: std::sync::mpsc::Sender<()>,
    unconfigured: Option<Unconfigured>,
    ready: impl FnOnce(Result<(), String>),
) {
    let _last_words = LastWords {
        shared: shared.clone(),
        _alive: alive,
    };
    panic_guard::install(&shared);
    live(options, &shared, inbox, callers, unconfigured, ready);
}

/// Answers all waiting requests when the thread ends, even if it ends by a panic.
struct LastWords {
    shared: Arc<IsolateState>,
    _alive: std::sync::mpsc::Sender<()>,
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.shared.abandon();
        stuck_threads::remove(self.shared.thread_id());
    }
}

fn live(
    options: &EngineOptions,
    shared: &Arc<IsolateState>,
    inbox: Box<dyn Inbox>,
    callers: Arc<dyn CallerLink>,
    unconfigured: Option<Unconfigured>,
    ready: impl FnOnce(Result<(), String>),
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return ready(Err(format!("cannot start an event loop: {error}")));
        }
    };
    load_trace::belongs_to(callers.clone(), &shared.key.permissions);
    asking::belongs_to(&callers, &shared.key.permissions);
    let link = Rc::new(OpHost::new(shared.clone(), callers.clone(), options));
    let (heap_mb, of_isolate) = (options.heap_mb, shared.clone());
    let (unconfigured, alarm) = unconfigured.map(Unconfigured::into_parts).unzip();
    // Declared before the worker, so dropped after it: the worker calls it until its end.
    let alarm = alarm.unwrap_or_else(|| HeapLimit::new((heap_mb as usize) << 20));
    alarm.call(move |what| {
        of_isolate.terminate(Termination::out_of_memory(format!(
            "it ran out of memory (the limit of {what} is {heap_mb} MB)"
        )));
    });
    runtime.block_on(async {
        let Booted {
            mut worker,
            functions,
            loader,
        } = match boot(options, &shared.key, link.clone(), &alarm, unconfigured) {
            Ok(booted) => booted,
            Err(error) => return ready(Err(error)),
        };
        let isolate = worker.js_runtime.v8_isolate();
        shared.lives(isolate.thread_safe_handle(), current_thread_id());
        alarm.watch(isolate);
        isolate.set_oom_error_handler(panic_guard::out_of_memory);
        if let Some(sessions) = &shared.sessions {
            sessions.connect(worker.js_runtime.inspector().get_session_sender());
        }
        let isolate = worker.js_runtime.v8_isolate();
        // Declared after the worker, so it is dropped before the isolate.
        let tasks = ForegroundTasks::of(isolate);
        ready(Ok(()));

        let mut life = Life {
            worker: &mut worker,
            functions,
            tasks: &tasks,
            link: link.clone(),
            alarm: &alarm,
            shared,
            inbox,
            spin: RequestSpin::default(),
            callers: callers.clone(),
            debugging: &options.debugging,
            loader,
            profiler: None,
        };
        std::future::poll_fn(|cx| life.turn(cx)).await;

        link.stop_programs();
        options.programs.kill_started_by(current_thread_id());
        // Before the isolate's heap is freed, because that may take longer than callers should
        // wait.
        shared.answer_all();
        drop(life);
        if shared.leaves_memory() {
            // Freeing V8's heap would take milliseconds.
            std::mem::forget(worker);
        }
    });
    // Threads that are stuck in a system call (the opening of a pipe) must not block this one.
    runtime.shutdown_background();
}

struct Life<'a> {
    worker: &'a mut deno_runtime::worker::MainWorker,
    functions: Functions,
    tasks: &'a ForegroundTasks,
    link: Rc<OpHost>,
    alarm: &'a HeapLimit,
    shared: &'a Arc<IsolateState>,
    inbox: Box<dyn Inbox>,
    spin: RequestSpin,
    callers: Arc<dyn CallerLink>,
    debugging: &'a Debugging,
    loader: Rc<Loader>,
    profiler: Option<Profiler>,
}

impl Life<'_> {
    /// Runs one turn of the loop. Ready when the isolate must end.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MAX_MESSAGES_PER_TURN {
            if self.work(cx).is_ready() {
                return Poll::Ready(());
            }
            let is_idle = self.shared.requests.is_idle();
            let next = if is_idle {
                let inbox = &mut self.inbox;
                self.spin.next(|| inbox.try_next().ok())
            } else {
                None
            };
            let next = match next {
                Some(message) => message,
                None => match self.inbox.poll_next(cx) {
                    Poll::Ready(Some(message)) => message,
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending => {
                        if is_idle {
                            self.spin.sleeps();
                        }
                        return Poll::Pending;
                    }
                },
            };
            self.spin.woke();
            self.take(next);
        }
        // Timers and sockets are polled between two turns.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes requests and runs V8's event loop. Ready when the isolate must end.
    fn work(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MAX_MESSAGES_PER_TURN {
            if self.shared.termination.get().is_some() {
                return Poll::Ready(());
            }
            match self.inbox.try_next() {
                Ok(message) => {
                    self.spin.woke();
                    self.take(message);
                }
                Err(NoMessage::Closed) => return Poll::Ready(()),
                Err(NoMessage::Empty) => break,
            }
        }
        // `Ready` means that nothing is pending, not that the isolate is done.
        let runtime = &mut self.worker.js_runtime;
        let is_busy = !self.shared.requests.is_idle();
        self.tasks.run(cx, runtime, is_busy);
        let polled = self.tasks.poll_calmly(cx, runtime, |runtime, cx| {
            runtime.poll_event_loop(cx, PollEventLoopOptions::default())
        });
        if let Poll::Ready(Err(error)) = polled {
            if self.shared.termination.get().is_some() {
                return Poll::Ready(());
            }
            self.link
                .report(&format!("an error that nobody caught: {error}"));
            cx.waker().wake_by_ref();
        }
        self.link.tell_starts();
        self.alarm
            .restore_headroom(self.worker.js_runtime.v8_isolate());
        let is_doomed = self.shared.termination.get().is_some();
        let is_done = self.shared.retired.load(Ordering::Acquire) && self.shared.requests.is_idle();
        if is_doomed || is_done {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ping(sink) => sink.answer(),
            Message::Ask(ask) => {
                if ask.id().is_none_or(|id| self.shared.requests.take(id)) {
                    self.perform(&ask);
                }
            }
        }
    }

    fn perform(&mut self, ask: &Ask) {
        if let Ask::Load { url, .. } = ask {
            self.debug(url);
            if self.shared.termination.get().is_some() {
                return;
            }
        }
        let functions = &self.functions;
        match ask {
            Ask::Load { id, module, url } => {
                self.link.loading(*id, url);
                let function = functions.load.clone();
                self.call(&function, &[*id, *module], &[url]);
            }
            Ask::Invoke {
                id,
                module,
                tool,
                call_id,
                arguments,
                span,
                is_recorded,
            } => {
                let function = functions.invoke.clone();
                let numbers = [*id, *module, *tool, u32::from(*is_recorded)];
                match span {
                    Some(span) => {
                        self.notes_span(span);
                        self.call(&function, &numbers, &[call_id, arguments, span]);
                    }
                    None => self.call(&function, &numbers, &[call_id, arguments]),
                }
            }
            Ask::Prepare {
                id,
                module,
                tool,
                arguments,
                is_approved,
            } => self.call(
                &functions.prepare.clone(),
                &[*id, *module, *tool, u32::from(*is_approved)],
                &[arguments],
            ),
            Ask::Start {
                id,
                prepared,
                call_id,
                span,
                is_recorded,
            } => {
                let function = functions.start_prepared.clone();
                let numbers = [*id, *prepared, u32::from(*is_recorded)];
                match span {
                    Some(span) => {
                        self.notes_span(span);
                        self.call(&function, &numbers, &[call_id, span]);
                    }
                    None => self.call(&function, &numbers, &[call_id]),
                }
            }
            Ask::Forget { prepared } => {
                self.call(&functions.forget.clone(), &[*prepared], &[]);
            }
            Ask::Check {
                id,
                module,
                tool,
                arguments,
            } => self.call(
                &functions.check.clone(),
                &[*id, *module, *tool],
                &[arguments],
            ),
            Ask::Describe { id, module, tool } => {
                self.call(&functions.describe.clone(), &[*id, *module, *tool], &[])
            }
            Ask::Render {
                id,
                module,
                tool,
                request,
            } => {
                self.shared.render_guard.begin(*id);
                self.call(
                    &functions.render.clone(),
                    &[*id, *module, *tool],
                    &[request],
                );
                let v8 = self.worker.js_runtime.v8_isolate().thread_safe_handle();
                if self.shared.render_guard.end(&v8) {
                    self.link.drawing_was_interrupted(*id);
                }
            }
            Ask::Cancel { id, reason } => {
                self.call(&functions.cancel.clone(), &[*id], &[reason]);
            }
            Ask::Leave { module } => {
                self.call(&functions.leave.clone(), &[*module], &[]);
            }
            Ask::Session { id, event, modules } => {
                let modules = modules.as_ref().map(|modules| format!("{modules:?}"));
                self.call(
                    &functions.session.clone(),
                    &[*id],
                    &[event, modules.as_deref().unwrap_or_default()],
                );
            }
            Ask::Exit { id } => {
                if let Err(error) = self.worker.dispatch_process_exit_event() {
                    self.link
                        .report(&format!("an `exit` handler threw: {error}"));
                }
                let done = Answer::Done(String::new());
                self.shared.requests.answer(*id, done);
            }
            Ask::Profile { id } => {
                let maps = |file: &str| self.loader.source_map(file);
                let profiler = self.profiler.take();
                let answer = match profiler.map(|profiler| profiler.stop(&maps)) {
                    Some(Ok(profile)) => Answer::Done(profile),
                    Some(Err(why)) => Answer::Failed(why),
                    None => Answer::Done(String::new()),
                };
                self.shared.requests.answer(*id, answer);
            }
        }
    }

    /// Notes a call whose spans are not recorded, in a worker process.
    fn notes_span(&self, span: &str) {
        if self.shared.is_in_worker()
            && let Some(span) = TraceContext::parse(span, None)
            && !span.is_sampled()
        {
            telemetry::unsampled(&span);
        }
    }

    /// Waits for a debugger before the module at `url` is loaded, or starts its profile, if that is
    /// asked for.
    fn debug(&mut self, url: &str) {
        let (breaks_in, profiles) = (&self.debugging.breaks_in, &self.debugging.profiles);
        if breaks_in.is_none() && profiles.is_none() {
            return;
        }
        let file = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
        if file.is_none() {
            return;
        }
        let inspector = || self.worker.js_runtime.inspector();
        if *breaks_in == file {
            self.callers.waits_for_debugger(true);
            inspector().wait_for_runtime_run_if_waiting_for_debugger();
            self.callers.waits_for_debugger(false);
        }
        if *profiles == file && self.profiler.is_none() {
            self.profiler = Some(Profiler::start(inspector()));
        }
    }

    /// Calls a function of the runtime: first the numbers, then the texts.
    fn call(&mut self, function: &v8::Global<v8::Function>, numbers: &[u32], texts: &[&str]) {
        deno_core::scope!(scope, &mut self.worker.js_runtime);
        v8::tc_scope!(scope, scope);
        let mut values: Vec<v8::Local<'_, v8::Value>> =
            Vec::with_capacity(numbers.len() + texts.len());
        for number in numbers {
            values.push(v8::Integer::new_from_unsigned(scope, *number).into());
        }
        for text in texts {
            match v8::String::new(scope, text) {
                Some(text) => values.push(text.into()),
                None => return self.link.report("a request is too large for V8"),
            }
        }
        let function = v8::Local::new(scope, function);
        let this = v8::undefined(scope);
        function.call(scope, this.into(), &values);
        if let Some(exception) = scope.exception()
            && !scope.has_terminated()
            && self.shared.termination.get().is_none()
        {
            let text = exception.to_rust_string_lossy(scope);
            self.link.report(&format!("haft's runtime threw: {text}"));
        }
    }
}

fn current_thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}
