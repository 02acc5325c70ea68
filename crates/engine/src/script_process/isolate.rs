//! Isolate and thread of one script.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deno_core::v8;

use super::clock::{OwnTime, start_watchdog};
use super::compile::{self, Compiled};
use super::{ScriptControl, ScriptInbox, Waited};
use crate::boot;
use crate::memory::HeapLimit;
use crate::script::protocol::{ScriptReply, ScriptReport};
use crate::script::{
    MAX_OUTPUT_BYTES, Place, SCRIPT_NAME, ScriptAnswer, ScriptEvent, ScriptFailure, ScriptLimits,
    ScriptRequest, ScriptSource,
};

/// Maximum size of the arguments of all open calls in bytes.
const MAX_ARGUMENT_BYTES: usize = 32 << 20;
/// Maximum number of open timers.
const MAX_TIMERS: usize = 10_000;
/// Maximum number of rejected promises that are remembered.
const MAX_REJECTED: usize = 100;
/// Longest delay of a timer. A script does not live longer.
const MAX_DELAY: Duration = Duration::from_secs(24 * 3600);
/// Depth of the stack in which the place of a call is looked for.
const MAX_FRAMES: usize = 32;

/// Depth of the stack that an error keeps.
const MAX_FRAMES_OF_ERROR: i32 = 16;

const GLOBALS: &str = include_str!("globals.js");

/// Globals with memory that other threads could share, or that is outside of the limits.
const WITHHELD: [&str; 3] = ["SharedArrayBuffer", "Atomics", "WebAssembly"];

/// State of a script that its native functions use.
struct State {
    control: Arc<ScriptControl>,
    compiled: Rc<Compiled>,
    max_calls: u32,
    calls: u32,
    requests: u32,
    open: HashMap<u32, Open>,
    open_bytes: usize,
    printed: usize,
    timers: BTreeMap<(Instant, u32), v8::Global<v8::Function>>,
    due: HashMap<u32, Instant>,
    last_timer: u32,
    /// Promises that were rejected and have no handler yet.
    rejected: Vec<(v8::Global<v8::Promise>, v8::Global<v8::Value>)>,
}

impl State {
    /// Sends an event to haft. If haft has given the script up, it is about to be terminated.
    fn send(&self, event: ScriptEvent) {
        self.control.host.send(&ScriptReport::Event(event));
    }
}

/// An open request.
struct Open {
    resolver: v8::Global<v8::PromiseResolver>,
    place: Option<Place>,
    bytes: usize,
}

type Shared = Rc<RefCell<State>>;

/// Functions of `globals.js`.
struct Functions {
    run: v8::Global<v8::Function>,
    error: v8::Global<v8::Function>,
    shown: v8::Global<v8::Function>,
}

/// Runs the script on the current thread and sends its events.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(
    source: &ScriptSource,
    limits: ScriptLimits,
    control: &Arc<ScriptControl>,
    inbox: &mut ScriptInbox,
) -> Result<(), ScriptFailure> {
    let compiled = Rc::new(compile::compile(&source.code)?);
    let heap = (limits.heap_mb as usize) << 20;
    let of_limit = control.clone();
    // Declared before the isolate, so dropped after it: V8 calls back until the end.
    let alarm = HeapLimit::new(heap);
    alarm.call(move |_| of_limit.end(ScriptFailure::Memory(limits.heap_mb)));
    let mut isolate = {
        let _alone = boot::one_at_a_time();
        let params = v8::CreateParams::default().heap_limits(0, heap);
        v8::Isolate::new(params.array_buffer_allocator(alarm.buffer_allocator()))
    };
    alarm.watch(&mut isolate);
    isolate.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
    isolate.set_promise_reject_callback(promise_was_rejected);
    // Without this, V8 gives no frames of an error.
    isolate.set_capture_stack_trace_for_uncaught_exceptions(true, MAX_FRAMES_OF_ERROR);
    let _ = control.isolate.set(isolate.thread_safe_handle());
    let time = Arc::new(OwnTime::new(limits.own_time));
    let socket = inbox.socket.try_clone();
    let watchdog = socket.and_then(|socket| start_watchdog(control.clone(), time.clone(), socket));
    watchdog.map_err(|error| ScriptFailure::Unavailable(error.to_string()))?;
    let state = Rc::new(RefCell::new(State {
        control: control.clone(),
        compiled,
        max_calls: limits.calls,
        calls: 0,
        requests: 0,
        open: HashMap::new(),
        open_bytes: 0,
        printed: 0,
        timers: BTreeMap::new(),
        due: HashMap::new(),
        last_timer: 0,
        rejected: Vec::new(),
    }));
    isolate.set_slot::<Shared>(state.clone());
    let ended = live(&mut isolate, &state, source, &time, inbox, &alarm);
    control.finish(ended);
    // Handles must not outlive the isolate.
    let mut state = state.borrow_mut();
    state.open.clear();
    state.timers.clear();
    state.rejected.clear();
    Ok(())
}

/// Runs the script to its end.
fn live(
    isolate: &mut v8::OwnedIsolate,
    state: &Shared,
    source: &ScriptSource,
    time: &OwnTime,
    inbox: &mut ScriptInbox,
    alarm: &HeapLimit,
) -> Result<Option<String>, ScriptFailure> {
    time.run();
    let (context, functions, main) = {
        v8::scope!(let scope, isolate);
        let context = v8::Context::new(scope, v8::ContextOptions::default());
        // This also stops `constructor.constructor('…')`.
        context.set_allow_generation_from_strings(false);
        let scope = &mut v8::ContextScope::new(scope, context);
        v8::tc_scope!(let scope, scope);
        let begun = begin(scope, context, state, source);
        let (functions, main) = match begun {
            Some(begun) => begun,
            None => return Err(failure_of(scope, state)),
        };
        (v8::Global::new(scope, context), functions, main)
    };
    let mut is_first = true;
    loop {
        alarm.restore_headroom(isolate);
        if control(state).is_ending() {
            return Err(ScriptFailure::Cancelled);
        }
        let reply = if is_first {
            None
        } else {
            wait_for_reply(state, time, inbox)
        };
        is_first = false;
        time.run();
        v8::scope!(let scope, isolate);
        let context = v8::Local::new(scope, &context);
        let scope = &mut v8::ContextScope::new(scope, context);
        v8::tc_scope!(let scope, scope);
        if let Some(reply) = reply {
            settle(scope, state, &functions, reply);
        }
        run_timers(scope, state);
        scope.perform_microtask_checkpoint();
        // Answers that are there already need no further turn.
        while let Some(reply) = inbox.take() {
            settle(scope, state, &functions, reply);
            scope.perform_microtask_checkpoint();
        }
        if control(state).is_ending() {
            return Err(ScriptFailure::Cancelled);
        }
        let main = v8::Local::new(scope, &main);
        let is_idle = {
            let state = state.borrow();
            state.open.is_empty() && state.timers.is_empty()
        };
        match main.state() {
            v8::PromiseState::Rejected => {
                let error = main.result(scope);
                return Err(thrown(scope, state, &functions, error));
            }
            v8::PromiseState::Fulfilled if is_idle => {
                let first = state
                    .borrow()
                    .rejected
                    .first()
                    .map(|(_, error)| error.clone());
                if let Some(error) = first {
                    let error = v8::Local::new(scope, error);
                    return Err(thrown(scope, state, &functions, error));
                }
                return value_of(scope, main);
            }
            v8::PromiseState::Pending if is_idle => return Err(ScriptFailure::NeverEnds),
            v8::PromiseState::Fulfilled | v8::PromiseState::Pending => {}
        }
    }
}

/// Waits for a reply or for the next timer. The clock runs meanwhile if only timers are open.
fn wait_for_reply(state: &Shared, time: &OwnTime, inbox: &mut ScriptInbox) -> Option<ScriptReply> {
    let (next_timer, waits_for_host) = {
        let state = state.borrow();
        let next_timer = state.timers.keys().next().map(|(due, _)| *due);
        (next_timer, !state.open.is_empty())
    };
    if waits_for_host {
        time.pause();
    }
    match inbox.wait(next_timer) {
        Waited::Reply(reply) => Some(reply),
        Waited::TimedOut => None,
        Waited::Closed => {
            control(state).end(ScriptFailure::Cancelled);
            None
        }
    }
}

fn control(state: &Shared) -> Arc<ScriptControl> {
    state.borrow().control.clone()
}

/// Makes the globals and starts the script. Returns `None` if an exception was thrown.
fn begin<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    context: v8::Local<'s, v8::Context>,
    state: &Shared,
    source: &ScriptSource,
) -> Option<(Functions, v8::Global<v8::Promise>)> {
    let global = context.global(scope);
    for name in WITHHELD {
        let name = v8::String::new(scope, name)?;
        global.delete(scope, name.into())?;
    }
    let native = v8::Object::new(scope);
    let request = v8::Function::new(scope, request)?;
    let print = v8::Function::new(scope, print)?;
    let later = v8::Function::new(scope, later)?;
    let forget = v8::Function::new(scope, forget)?;
    for (name, function) in [
        ("call", request),
        ("print", print),
        ("later", later),
        ("forget", forget),
    ] {
        let name = v8::String::new(scope, name)?;
        native.set(scope, name.into(), function.into())?;
    }
    let names = v8::String::new(scope, &source.names)?;
    let args = v8::String::new(scope, &source.args)?;
    let setup = compiled(scope, GLOBALS, "haft", 0)?;
    let setup = v8::Local::<v8::Function>::try_from(setup).ok()?;
    let this = v8::undefined(scope).into();
    let made = setup.call(scope, this, &[native.into(), names.into(), args.into()])?;
    let made = v8::Local::<v8::Object>::try_from(made).ok()?;
    let function = |name: &str| {
        let name = v8::String::new(scope, name)?;
        let function = made.get(scope, name.into())?;
        let function = v8::Local::<v8::Function>::try_from(function).ok()?;
        Some(v8::Global::new(scope, function))
    };
    let functions = Functions {
        run: function("run")?,
        error: function("error")?,
        shown: function("shown")?,
    };
    let code = state.borrow().compiled.clone();
    // The function begins on a line of its own, which is not the author's.
    let script = compiled(scope, &code.code, SCRIPT_NAME, -1)?;
    let run = v8::Local::new(scope, &functions.run);
    let main = run.call(scope, this, &[script])?;
    let main = v8::Local::<v8::Promise>::try_from(main).ok()?;
    // Its rejection is handled.
    main.mark_as_handled();
    Some((functions, v8::Global::new(scope, main)))
}

/// Evaluates an expression.
fn compiled<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    code: &str,
    name: &str,
    line_offset: i32,
) -> Option<v8::Local<'s, v8::Value>> {
    let code = v8::String::new(scope, code)?;
    let name = v8::String::new(scope, name)?;
    let origin = v8::ScriptOrigin::new(
        scope,
        name.into(),
        line_offset,
        0,
        false,
        0,
        None,
        false,
        false,
        false,
        None,
    );
    v8::Script::compile(scope, code, Some(&origin))?.run(scope)
}

/// Settles the promise of a request.
fn settle(
    scope: &mut v8::PinScope<'_, '_>,
    state: &Shared,
    functions: &Functions,
    reply: ScriptReply,
) {
    let Some(open) = take_open(state, reply.number) else {
        return;
    };
    let resolver = v8::Local::new(scope, open.resolver);
    v8::tc_scope!(let scope, scope);
    let answered = match reply.answer {
        ScriptAnswer::Value(json) => {
            let json = v8::String::new(scope, &json);
            let value = json.and_then(|json| v8::json::parse(scope, json));
            value.map(Ok)
        }
        ScriptAnswer::Failed {
            tool,
            message,
            content,
        } => {
            let error = tool_error(scope, functions, [&tool, &message, &content]);
            if let (Some(error), Some(place)) = (error, open.place) {
                mark(scope, error, place);
            }
            error.map(Err)
        }
    };
    match answered {
        Some(Ok(value)) => resolver.resolve(scope, value),
        Some(Err(error)) => resolver.reject(scope, error),
        None => {
            let error = scope.exception();
            let error = error.unwrap_or_else(|| v8::undefined(scope).into());
            resolver.reject(scope, error)
        }
    };
}

fn take_open(state: &Shared, number: u32) -> Option<Open> {
    let mut state = state.borrow_mut();
    let open = state.open.remove(&number)?;
    state.open_bytes = state.open_bytes.saturating_sub(open.bytes);
    Some(open)
}

fn tool_error<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    functions: &Functions,
    parts: [&str; 3],
) -> Option<v8::Local<'s, v8::Value>> {
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        texts.push(v8::String::new(scope, part)?.into());
    }
    let make = v8::Local::new(scope, &functions.error);
    let this = v8::undefined(scope).into();
    make.call(scope, this, &texts)
}

/// Runs the timers that are due. An exception of one is handled like that of a rejected promise.
fn run_timers(scope: &mut v8::PinScope<'_, '_>, state: &Shared) {
    let now = Instant::now();
    loop {
        let due = {
            let mut state = state.borrow_mut();
            match state.timers.first_key_value() {
                Some(((at, id), _)) if *at <= now => {
                    let id = *id;
                    state.due.remove(&id);
                    state.timers.pop_first().map(|(_, work)| work)
                }
                _ => None,
            }
        };
        let Some(work) = due else { return };
        v8::scope!(let scope, scope);
        v8::tc_scope!(let scope, scope);
        let work = v8::Local::new(scope, work);
        let this = v8::undefined(scope).into();
        work.call(scope, this, &[]);
        if scope.has_terminated() {
            return;
        }
        if let Some(error) = scope.exception()
            && let Some(resolver) = v8::PromiseResolver::new(scope)
        {
            resolver.reject(scope, error);
        }
        scope.reset();
        scope.perform_microtask_checkpoint();
    }
}

/// Returns the JSON of the script's value.
fn value_of(
    scope: &mut v8::PinScope<'_, '_>,
    main: v8::Local<'_, v8::Promise>,
) -> Result<Option<String>, ScriptFailure> {
    let value = main.result(scope);
    let Ok(json) = v8::Local::<v8::String>::try_from(value) else {
        return Ok(None);
    };
    if json.length() > MAX_OUTPUT_BYTES {
        return Err(ScriptFailure::Value(MAX_OUTPUT_BYTES));
    }
    Ok(Some(json.to_rust_string_lossy(scope)))
}

/// Returns the failure of an exception that the script did not catch.
fn thrown<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &Shared,
    functions: &Functions,
    error: v8::Local<'s, v8::Value>,
) -> ScriptFailure {
    let place = place_of(scope, state, error);
    v8::tc_scope!(let scope, scope);
    let shown = v8::Local::new(scope, &functions.shown);
    let this = v8::undefined(scope).into();
    let text = shown.call(scope, this, &[error]);
    let text = text.and_then(|text| text.to_string(scope));
    let message = match text {
        Some(text) => text.to_rust_string_lossy(scope),
        // The script may have changed what describes errors.
        None => "an error that cannot be described".to_owned(),
    };
    ScriptFailure::Threw { message, place }
}

/// Returns the failure of an exception before the script ran.
fn failure_of(
    scope: &mut v8::PinnedRef<'_, v8::TryCatch<'_, '_, v8::HandleScope<'_>>>,
    state: &Shared,
) -> ScriptFailure {
    let (message, place) = match scope.message() {
        Some(message) => {
            let line = message.get_line_number(scope);
            let column = message.get_start_column() + 1;
            let number = |number: usize| u32::try_from(number).unwrap_or(1);
            let compiled = state.borrow().compiled.clone();
            let place = line.map(|line| compiled.place(number(line), number(column)));
            let text = message.get(scope).to_rust_string_lossy(scope);
            (text, place)
        }
        None => ("the script could not be started".to_owned(), None),
    };
    let message = message.trim_start_matches("Uncaught ");
    match message.strip_prefix("SyntaxError: ") {
        Some(message) => ScriptFailure::Syntax {
            message: message.to_owned(),
            place,
        },
        None => ScriptFailure::Threw {
            message: message.to_owned(),
            place,
        },
    }
}

/// Returns the place at which an error was made, or at which its call was made.
fn place_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &Shared,
    error: v8::Local<'s, v8::Value>,
) -> Option<Place> {
    if let Ok(object) = v8::Local::<v8::Object>::try_from(error)
        && !object.is_proxy()
    {
        let key = place_key(scope)?;
        let marked = object.get_private(scope, key);
        if let Some(marked) =
            marked.and_then(|marked| v8::Local::<v8::Number>::try_from(marked).ok())
        {
            return Some(unpacked(marked.value()));
        }
    }
    let trace = v8::Exception::get_stack_trace(scope, error)?;
    place_in(scope, state, trace)
}

/// Returns the place of the innermost frame of the script.
fn place_in(
    scope: &mut v8::PinScope<'_, '_>,
    state: &Shared,
    trace: v8::Local<'_, v8::StackTrace>,
) -> Option<Place> {
    for index in 0..trace.get_frame_count() {
        let frame = trace.get_frame(scope, index)?;
        let name = frame.get_script_name(scope);
        if name.is_some_and(|name| name.to_rust_string_lossy(scope) == SCRIPT_NAME) {
            let line = u32::try_from(frame.get_line_number()).ok()?;
            let column = u32::try_from(frame.get_column()).ok()?;
            return Some(state.borrow().compiled.place(line, column));
        }
    }
    None
}

fn place_key<'s>(scope: &mut v8::PinScope<'s, '_>) -> Option<v8::Local<'s, v8::Private>> {
    let name = v8::String::new(scope, "haft.place")?;
    Some(v8::Private::for_api(scope, Some(name)))
}

/// Factor by which the line is stored above the column in one number.
const LINE: f64 = 4_294_967_296.0;

/// Notes the place of a call in its error.
fn mark(scope: &mut v8::PinScope<'_, '_>, error: v8::Local<'_, v8::Value>, place: Place) {
    let Ok(object) = v8::Local::<v8::Object>::try_from(error) else {
        return;
    };
    if let Some(key) = place_key(scope) {
        let packed = f64::from(place.line) * LINE + f64::from(place.column);
        let packed = v8::Number::new(scope, packed);
        object.set_private(scope, key, packed.into());
    }
}

/// Returns the place that [`mark`] stored. Both halves were `u32`.
fn unpacked(packed: f64) -> Place {
    Place {
        line: (packed / LINE) as u32,
        column: (packed % LINE) as u32,
    }
}

fn shared(scope: &v8::PinScope<'_, '_>) -> Option<Shared> {
    scope.get_slot::<Shared>().cloned()
}

/// `call(kind, name, arguments)`: sends a request and returns its promise.
fn request<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s, v8::Value>,
) {
    let Some(state) = shared(scope) else { return };
    let Some(resolver) = v8::PromiseResolver::new(scope) else {
        return;
    };
    let kind = args.get(0).uint32_value(scope).unwrap_or_default();
    let name = args.get(1).to_rust_string_lossy(scope);
    let given = args.get(2);
    let arguments = if given.is_null_or_undefined() {
        "{}".to_owned()
    } else {
        // An exception here is the script's own: a cycle, a `BigInt`, a `toJSON` that throws.
        let Some(json) = v8::json::stringify(scope, given) else {
            return;
        };
        if json.length() > MAX_ARGUMENT_BYTES {
            return refuse(
                scope,
                resolver,
                &mut result,
                "the arguments of a call are too large",
            );
        }
        json.to_rust_string_lossy(scope)
    };
    if arguments == "undefined" {
        let text = "the arguments of a tool are an object";
        return refuse(scope, resolver, &mut result, text);
    }
    let trace = v8::StackTrace::current_stack_trace(scope, MAX_FRAMES);
    let place = trace.and_then(|trace| place_in(scope, &state, trace));
    let mut state = state.borrow_mut();
    let bytes = arguments.len();
    if state.open_bytes + bytes > MAX_ARGUMENT_BYTES {
        drop(state);
        let text = format!(
            "the arguments of the open calls are larger than {} MiB together",
            MAX_ARGUMENT_BYTES >> 20
        );
        return refuse(scope, resolver, &mut result, &text);
    }
    if state.requests >= state.max_calls {
        let most = state.max_calls;
        drop(state);
        let text = format!("a run may make {most} calls, and this is one more");
        return refuse(scope, resolver, &mut result, &text);
    }
    let request = match kind {
        0 | 1 => {
            state.calls += 1;
            ScriptRequest::Call {
                tool: name,
                arguments,
                is_raw: kind == 1,
                place,
            }
        }
        2 => ScriptRequest::Search(arguments),
        _ => ScriptRequest::Types(name),
    };
    state.requests += 1;
    let number = state.requests;
    state.open_bytes += bytes;
    let open = Open {
        resolver: v8::Global::new(scope, resolver),
        place,
        bytes,
    };
    state.open.insert(number, open);
    state.send(ScriptEvent::Request { number, request });
    result.set(resolver.get_promise(scope).into());
}

/// Returns a promise that is rejected with a `RangeError`.
fn refuse<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    resolver: v8::Local<'s, v8::PromiseResolver>,
    result: &mut v8::ReturnValue<'s, v8::Value>,
    text: &str,
) {
    if let Some(text) = v8::String::new(scope, text) {
        let error = v8::Exception::range_error(scope, text);
        resolver.reject(scope, error);
    }
    result.set(resolver.get_promise(scope).into());
}

/// `print(text)` or `print(data, mimeType)`.
fn print<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<'s, v8::Value>,
) {
    let Some(state) = shared(scope) else { return };
    let Some(text) = args.get(0).to_string(scope) else {
        return;
    };
    let mut state = state.borrow_mut();
    state.printed = state.printed.saturating_add(text.length() + 1);
    if state.printed > MAX_OUTPUT_BYTES {
        state.control.end(ScriptFailure::Printed(MAX_OUTPUT_BYTES));
        return;
    }
    let text = text.to_rust_string_lossy(scope);
    let event = if args.length() > 1 {
        ScriptEvent::Image {
            data: text,
            mime_type: args.get(1).to_rust_string_lossy(scope),
        }
    } else {
        ScriptEvent::Printed(text)
    };
    state.send(event);
}

/// `later(work, delay)`: starts a timer and returns its number.
fn later<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    mut result: v8::ReturnValue<'s, v8::Value>,
) {
    let Some(state) = shared(scope) else { return };
    let Ok(work) = v8::Local::<v8::Function>::try_from(args.get(0)) else {
        return;
    };
    let Some(delay) = args.get(1).number_value(scope) else {
        return;
    };
    // Not a number counts as zero.
    let delay = Duration::try_from_secs_f64(delay.max(0.0) / 1000.0);
    let delay = delay.unwrap_or(MAX_DELAY).min(MAX_DELAY);
    let mut state = state.borrow_mut();
    if state.timers.len() >= MAX_TIMERS {
        drop(state);
        if let Some(text) = v8::String::new(scope, "a script may have 10000 open timers") {
            let error = v8::Exception::range_error(scope, text);
            scope.throw_exception(error);
        }
        return;
    }
    state.last_timer = state.last_timer.wrapping_add(1);
    let (id, due) = (state.last_timer, Instant::now() + delay);
    state.timers.insert((due, id), v8::Global::new(scope, work));
    state.due.insert(id, due);
    result.set(v8::Number::new(scope, f64::from(id)).into());
}

/// `forget(id)`: stops a timer.
fn forget<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: v8::FunctionCallbackArguments<'s>,
    _result: v8::ReturnValue<'s, v8::Value>,
) {
    let Some(state) = shared(scope) else { return };
    let Some(id) = args.get(0).uint32_value(scope) else {
        return;
    };
    let mut state = state.borrow_mut();
    if let Some(due) = state.due.remove(&id) {
        state.timers.remove(&(due, id));
    }
}

/// Notes promises that are rejected without a handler, until they get one.
extern "C" fn promise_was_rejected(message: v8::PromiseRejectMessage<'_>) {
    // V8 calls this with a message that is valid during the call.
    v8::callback_scope!(unsafe scope, &message);
    let Some(state) = scope.get_slot::<Shared>().cloned() else {
        return;
    };
    // The script's own callbacks do not run while the state is borrowed.
    let Ok(mut state) = state.try_borrow_mut() else {
        return;
    };
    let promise = v8::Global::new(scope, message.get_promise());
    match message.get_event() {
        v8::PromiseRejectEvent::PromiseRejectWithNoHandler => {
            if let Some(value) = message.get_value()
                && state.rejected.len() < MAX_REJECTED
            {
                let value = v8::Global::new(scope, value);
                state.rejected.push((promise, value));
            }
        }
        v8::PromiseRejectEvent::PromiseHandlerAddedAfterReject => {
            state.rejected.retain(|(rejected, _)| *rejected != promise);
        }
        v8::PromiseRejectEvent::PromiseRejectAfterResolved
        | v8::PromiseRejectEvent::PromiseResolveAfterResolved => {}
    }
}
