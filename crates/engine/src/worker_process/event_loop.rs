//! The event loop of the isolate of a worker process, from its start to its end.
//!
//! It takes requests, runs V8's event loop, and sleeps until either has work. A terminated isolate
//! leaves the loop as soon as V8 returns.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use deno_core::{PollEventLoopOptions, v8};
use url::Url;

use super::inbox::{NoMessage, RequestInbox, ToIsolate};
use crate::EngineOptions;
use crate::boot::{Booted, Functions, Unconfigured, boot};
use crate::inspector::Profiler;
use crate::loader::{Loader, Prefetch};
use crate::memory::HeapLimit;
use crate::messages::{Answer, Ask, Termination};
use crate::op_host::OpHost;
use crate::platform::ForegroundTasks;
use crate::source::on_deep_stack;
use crate::spin_wait::RequestSpin;
use crate::transpile_cache::Compiled;
use crate::worker::{HostLink, WorkerState, out_of_memory};
use crate::{access_prompter, load_trace, telemetry};
use haft_tool::TraceContext;

/// Limit of messages in a row before timers and sockets have their turn.
const MAX_MESSAGES_PER_TURN: usize = 64;

/// Runs an isolate on this thread until its end. Takes `unconfigured` as the isolate if there is
/// one. Its heap is left to the system, because the process ends with it.
///
/// # Errors
/// If the isolate cannot be started; a sentence.
pub(super) fn run_isolate(
    options: &EngineOptions,
    state: &Arc<WorkerState>,
    inbox: RequestInbox,
    link: &Arc<HostLink>,
    unconfigured: Option<Unconfigured>,
    files: &[PathBuf],
    is_ready: impl FnOnce(),
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start an event loop: {error}"))?;
    load_trace::belongs_to(link.clone(), &state.key.permissions);
    access_prompter::belongs_to(link, &state.key.permissions);
    let op_host = Rc::new(OpHost::new(state.clone(), link.clone(), options));
    // The thread of the isolate boots V8 meanwhile.
    let ahead = (!files.is_empty()).then(|| compile_ahead(files, options, &op_host));
    let (heap_mb, of_isolate) = (options.heap_mb, state.clone());
    let (unconfigured, alarm) = unconfigured.map(Unconfigured::into_parts).unzip();
    // Declared before the worker, so dropped after it: the worker calls it until its end.
    let alarm = alarm.unwrap_or_else(|| HeapLimit::new((heap_mb as usize) << 20));
    alarm.call(move |what| {
        of_isolate.terminate(&Termination::out_of_memory(format!(
            "it ran out of memory (the limit of {what} is {heap_mb} MB)"
        )));
    });
    runtime.block_on(async {
        let Booted {
            mut worker,
            functions,
            loader,
        } = boot(options, &state.key, op_host.clone(), &alarm, unconfigured)?;
        let isolate = worker.js_runtime.v8_isolate();
        state.is_ready(isolate.thread_safe_handle(), current_thread_id());
        alarm.watch(isolate);
        isolate.set_oom_error_handler(out_of_memory);
        let sender = worker.js_runtime.inspector().get_session_sender();
        if let Some(sessions) = &state.sessions {
            sessions.connect(sender);
        }
        let isolate = worker.js_runtime.v8_isolate();
        let tasks = ForegroundTasks::of(isolate);
        is_ready();

        let mut event_loop = EventLoop {
            worker: &mut worker,
            functions,
            tasks: &tasks,
            op_host: op_host.clone(),
            alarm: &alarm,
            state,
            inbox,
            spin: RequestSpin::default(),
            link: link.clone(),
            options,
            loader,
            profiler: None,
            ahead,
        };
        std::future::poll_fn(|cx| event_loop.turn(cx)).await;

        op_host.stop_programs();
        options.programs.kill_started_by(current_thread_id());
        drop(event_loop);
        drop(tasks);
        // Freeing V8's heap would take milliseconds.
        std::mem::forget(worker);
        Ok::<(), String>(())
    })?;
    // The isolate that was left may call it.
    std::mem::forget(alarm);
    // Threads that are stuck in a system call (the opening of a pipe) must not block this one.
    runtime.shutdown_background();
    Ok(())
}

/// Begins to compile files on another thread.
fn compile_ahead(files: &[PathBuf], options: &EngineOptions, op_host: &OpHost) -> Arc<Prefetch> {
    let ahead = Arc::new(Prefetch::announce(files));
    let compiled = Compiled::open(options.cache.as_deref());
    let verifier = op_host.verifier().cloned();
    let compiler = ahead.clone();
    let thread = std::thread::Builder::new().name("haft-ahead".into());
    // Without the thread, the isolate compiles them.
    let _ = thread.spawn(move || on_deep_stack(|| compiler.compile(compiled, verifier)));
    ahead
}

struct EventLoop<'a> {
    worker: &'a mut deno_runtime::worker::MainWorker,
    functions: Functions,
    tasks: &'a ForegroundTasks,
    op_host: Rc<OpHost>,
    alarm: &'a HeapLimit,
    state: &'a Arc<WorkerState>,
    inbox: RequestInbox,
    spin: RequestSpin,
    link: Arc<HostLink>,
    options: &'a EngineOptions,
    loader: Rc<Loader>,
    profiler: Option<Profiler>,
    /// The files that are compiled ahead.
    ahead: Option<Arc<Prefetch>>,
}

impl EventLoop<'_> {
    /// Runs one turn of the loop. Ready when the isolate must end.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MAX_MESSAGES_PER_TURN {
            if self.work(cx).is_ready() {
                return Poll::Ready(());
            }
            let is_idle = self.state.requests.is_idle();
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
            if self.state.is_ending() {
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
        let is_busy = !self.state.requests.is_idle();
        self.tasks.run(cx, runtime, is_busy);
        let polled = self.tasks.poll_calmly(cx, runtime, |runtime, cx| {
            runtime.poll_event_loop(cx, PollEventLoopOptions::default())
        });
        if let Poll::Ready(Err(error)) = polled {
            if self.state.is_ending() {
                return Poll::Ready(());
            }
            self.op_host
                .report(&format!("an error that nobody caught: {error}"));
            cx.waker().wake_by_ref();
        }
        self.op_host.tell_starts();
        self.alarm
            .restore_headroom(self.worker.js_runtime.v8_isolate());
        if self.state.is_ending() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn take(&mut self, message: ToIsolate) {
        match message {
            ToIsolate::Ping(number) => self.inbox.answer_ping(number),
            ToIsolate::Ask(ask) => {
                if ask.id().is_none_or(|id| self.state.requests.take(id)) {
                    self.perform(&ask);
                }
            }
        }
    }

    fn perform(&mut self, ask: &Ask) {
        if let Ask::Load { url, .. } = ask {
            self.debug(url);
            if self.state.is_ending() {
                return;
            }
        }
        let functions = &self.functions;
        match ask {
            Ask::Announce { files } => self.announce(files),
            Ask::Load { id, module, url } => {
                self.op_host.loading(*id, url);
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
                self.state.render_guard.begin(*id);
                self.call(
                    &functions.render.clone(),
                    &[*id, *module, *tool],
                    &[request],
                );
                let v8 = self.worker.js_runtime.v8_isolate().thread_safe_handle();
                if self.state.render_guard.end(&v8) {
                    self.op_host.drawing_was_interrupted(*id);
                }
            }
            Ask::Cancel { id, reason } => {
                self.call(&functions.cancel.clone(), &[*id], &[reason]);
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
                    self.op_host
                        .report(&format!("an `exit` handler threw: {error}"));
                }
                let done = Answer::Done(String::new());
                self.state.requests.answer(*id, done);
            }
            Ask::Profile { id } => {
                let maps = |file: &str| self.loader.source_map(file);
                let profiler = self.profiler.take();
                let answer = match profiler.map(|profiler| profiler.stop(&maps)) {
                    Some(Ok(profile)) => Answer::Done(profile),
                    Some(Err(why)) => Answer::Failed(why),
                    None => Answer::Done(String::new()),
                };
                self.state.requests.answer(*id, answer);
            }
        }
    }

    /// Compiles files ahead, because they are loaded soon.
    fn announce(&mut self, files: &[PathBuf]) {
        // Files of an earlier batch that were not loaded are dropped before.
        self.ahead = None;
        self.ahead = Some(compile_ahead(files, self.options, &self.op_host));
    }

    /// Notes a call whose spans are not recorded.
    fn notes_span(&self, span: &str) {
        if let Some(span) = TraceContext::parse(span, None)
            && !span.is_sampled()
        {
            telemetry::unsampled(&span);
        }
    }

    /// Waits for a debugger before the module at `url` is loaded, or starts its profile, if that is
    /// asked for.
    fn debug(&mut self, url: &str) {
        let debugging = &self.options.debugging;
        let (breaks_in, profiles) = (&debugging.breaks_in, &debugging.profiles);
        if breaks_in.is_none() && profiles.is_none() {
            return;
        }
        let file = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
        if file.is_none() {
            return;
        }
        let inspector = || self.worker.js_runtime.inspector();
        if *breaks_in == file {
            self.link.waits_for_debugger(true);
            inspector().wait_for_runtime_run_if_waiting_for_debugger();
            self.link.waits_for_debugger(false);
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
                None => return self.op_host.report("a request is too large for V8"),
            }
        }
        let function = v8::Local::new(scope, function);
        let this = v8::undefined(scope);
        function.call(scope, this.into(), &values);
        if let Some(exception) = scope.exception()
            && !scope.has_terminated()
            && !self.state.is_ending()
        {
            let text = exception.to_rust_string_lossy(scope);
            self.op_host
                .report(&format!("haft's runtime threw: {text}"));
        }
    }
}

fn current_thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}
