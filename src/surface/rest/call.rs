//! `POST /api/tools/{name}/call`: runs one call and returns its result, or a stream of its events.
//!
//! A separate task drives each call to its end, even if the client has disconnected. The
//! disconnection cancels the call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::DropGuard;
use utoipa::ToSchema;

use super::call_dto::CallAnswer;
use super::queued::ToQueue;
use super::recorded::{RECORD, Recording};
use super::response::fresh;
use super::state::Shared;
use super::{questions, queued};
use crate::code::{CodeMode, RUN_CODE};
use crate::credentials::random_id;
use crate::host::{CallRecord, RunningCall, no_such_tool};
use crate::surface::http::{
    BodyMemory, Client, JsonText, PathText, Peer, Permit, ProblemResponse, sse,
};
use crate::surface::queued_view::QueuedView;
use crate::surface::traces;
use crate::tool_test::Recorder;
use haft_tool::{Call, Event, LogLevel, LogLine, LogListener, Place};
use haft_tool::{Error, ErrorKind};

/// Capacity of the update queue of a slow client. Beyond it only the newest update is kept.
const UPDATE_QUEUE_CAPACITY: usize = 16;
/// Capacity of the queue of log lines. Lines beyond it are only in the tools' log file.
const LOG_QUEUE_CAPACITY: usize = 256;
/// Limit of the length of an id that a client chooses.
const MAX_ID_LEN: usize = 128;
/// Limit of `timeoutMs`: a year in milliseconds. A larger value is a mistake.
const MAX_TIMEOUT_MS: f64 = 365.0 * 24.0 * 3600.0 * 1000.0;

/// A call. All of it may be left out.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CallRequest<'a> {
    /// The arguments as the tool's `inputSchema` wants them.
    #[serde(borrow)]
    #[schema(value_type = Option<Object>)]
    arguments: Option<&'a RawValue>,
    /// An id for `/api/calls`, not that of a call that runs.
    #[schema(pattern = "^[A-Za-z0-9_~:-][A-Za-z0-9._~:-]{0,127}$")]
    call_id: Option<String>,
    /// The longest that the call may take, in milliseconds.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 31_536_000_000_u64)]
    timeout_ms: Option<f64>,
    /// The client answers the questions of the call at `/api/questions`: approvals, and what the tool
    /// asks. Without it no questions are asked. Only with the server's own token.
    #[serde(default)]
    answers_questions: bool,
    /// The call is recorded: `/api/calls/{id}/test` has its test afterwards. Only with the server's
    /// own token, for modules in JavaScript and tools of MCP servers.
    #[serde(default)]
    record: bool,
    /// The call is put where it waits for a host and survives a restart: the answer is 202 with its
    /// place, `/api/queue/{id}`. The header `Prefer: respond-async` is the same.
    #[serde(default)]
    queue: bool,
}

/// Data of a call's event besides the result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step<'a> {
    call_id: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_result: Option<&'a RawValue>,
}

/// A line that a tool logs during its call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogStep<'a> {
    call_id: &'a str,
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a RawValue>,
    /// The lines of the tool's code around the place of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
}

/// Queues of a call whose client wants its events.
struct Frames {
    frames: mpsc::Sender<Bytes>,
    lines: mpsc::Receiver<LogLine>,
    /// The folder of the tool's code.
    folder: Option<PathBuf>,
}

/// Sends the log lines of a call to its client.
#[derive(Debug)]
struct LogSink(mpsc::Sender<LogLine>);

impl LogListener for LogSink {
    fn hear(&self, line: LogLine) {
        // A full queue drops the line.
        let _ = self.0.try_send(line);
    }
}

/// Calls a tool. With `Accept: text/event-stream` the answer is a stream of the events `started`,
/// `log`, `update` and `result`, or `error`; else it is the result. A tool that reports a failure has
/// answered: the status is 200 and `isError` is true. Going away cancels the call, unless it is queued.
#[utoipa::path(
    post, path = "/api/tools/{name}/call", operation_id = "callTool", tag = "calls",
    params(
        ("name" = String, Path, description = "The tool's name"),
        ("Prefer" = Option<String>, Header, description = "`respond-async`: the call is queued"),
    ),
    request_body(content = CallRequest<'static>, content_type = "application/json", description = "The call; none is a call without arguments"),
    responses(
        (status = 200, description = "What the tool said", content(
            (CallAnswer = "application/json"), (String = "text/event-stream"))),
        (status = 202, description = "The call is queued", body = QueuedView<'static>,
            headers(("Location" = String, description = "Its place"))),
    ),
)]
pub(super) async fn call(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(peer): Extension<Peer>,
    PathText(name): PathText,
    headers: HeaderMap,
    JsonText(text, memory): JsonText,
) -> Result<Response, ProblemResponse> {
    let permit = client.begin_call()?;
    if !client.is_user() {
        // An unknown tool is a refused request, before its arguments are read.
        let catalog = shared.host.catalog().await;
        let found = catalog.find(&name);
        let is_there = found.is_some_and(|entry| client.scope().allows(&entry.tool));
        if !is_there {
            return Err(no_such_tool(&name, &[]).into());
        }
    }
    let request = CallRequest::read(&text)?;
    let is_queued = request.queue || queued::is_preferred(&headers);
    let arguments = request.arguments.map(RawValue::to_owned);
    let asked = AskedCall {
        tool: name,
        arguments: arguments.unwrap_or_else(Call::no_arguments),
        call_id: request.call_id,
        timeout_ms: request.timeout_ms,
        answers_questions: request.answers_questions,
        record: request.record,
    };
    if is_queued {
        let wanted = ToQueue {
            timeout: asked.timeout(),
            has_more: asked.record || asked.call_id.is_some(),
            tool: asked.tool,
            arguments: asked.arguments,
            answers_questions: asked.answers_questions,
        };
        return queued::put(&shared, &client, &peer, &headers, wanted).await;
    }
    start(
        &shared,
        &client,
        &peer,
        &headers,
        (asked, permit, memory),
        None,
    )
    .await
}

/// A call as a client wants it.
struct AskedCall {
    tool: String,
    arguments: Box<RawValue>,
    call_id: Option<String>,
    timeout_ms: Option<f64>,
    answers_questions: bool,
    record: bool,
}

impl AskedCall {
    /// Returns the longest that the call may take.
    fn timeout(&self) -> Option<Duration> {
        // The value was checked to be a whole number of milliseconds.
        self.timeout_ms
            .map(|time| Duration::from_millis(time as u64))
    }
}

/// Starts a call and returns its response. With `code` its handle has code mode.
async fn start(
    shared: &Arc<Shared>,
    client: &Arc<Client>,
    peer: &Peer,
    headers: &HeaderMap,
    (asked, permit, memory): (AskedCall, Permit, BodyMemory),
    code: Option<Arc<CodeMode>>,
) -> Result<Response, ProblemResponse> {
    let timeout = asked.timeout();
    let host = traces::below(client.host(&shared.host), traces::of_headers(headers));
    let mut host = host.called_by(|caller| peer.describe(caller));
    if asked.answers_questions {
        client.require_user(questions::ANSWER)?;
        host = host
            .asking(shared.questions.clone())
            .with_ui(shared.questions.clone());
    }
    let wants_events = sse::is_preferred(headers);
    let (log, lines) = mpsc::channel(LOG_QUEUE_CAPACITY);
    let mut folder = None;
    if wants_events {
        let catalog = shared.host.catalog().await;
        let tool = catalog.find(&asked.tool);
        folder = tool.and_then(|tool| Some(tool.resolved_path.parent()?.to_owned()));
        host = host.with_log(Arc::new(LogSink(log)));
    }
    if let Some(code) = code {
        host = code.on(&host);
    }
    let call = Call {
        id: match asked.call_id {
            Some(id) => id,
            None => format!("call-{}", random_id()),
        },
        tool: asked.tool,
        arguments: asked.arguments,
    };
    let recording = if asked.record {
        client.require_user(RECORD)?;
        let recorder = Recorder::of(&host, &call).await?;
        host = recorder.host().clone();
        let tests = shared.tests.clone();
        Some(Recording { recorder, tests })
    } else {
        None
    };
    let call = host.call_with_free_id(call, timeout).map_err(|taken| {
        ProblemResponse::new(StatusCode::CONFLICT, taken.message())
            .hint("choose another callId, or leave it out")
    })?;
    let is_gone = call.cancellation().token().clone().drop_guard();
    let held = (permit, memory, recording);
    if !wants_events {
        let driven = tokio::spawn(drive(call, None, held));
        let ended = driven.await;
        is_gone.disarm();
        match ended {
            Ok(Ok(json)) => Ok(fresh(json)),
            Ok(Err(problem_response)) => Err(problem_response),
            Err(error) => Err(ProblemResponse::internal(format!(
                "the call's task failed: {error}"
            ))),
        }
    } else {
        let (frames, waiting) = mpsc::channel(UPDATE_QUEUE_CAPACITY);
        let frames = Frames {
            frames,
            lines,
            folder,
        };
        let driven = tokio::spawn(drive(call, Some(frames), held));
        stream_of(waiting, driven, is_gone).await
    }
}

/// A script. Its result is that of a call of the tool `run_code`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RunRequest {
    /// The body of an async function, in TypeScript.
    code: String,
    /// The global `args` of the script.
    #[schema(value_type = Option<Object>)]
    args: Option<Box<RawValue>>,
    /// Time that the script itself may take in milliseconds; waits for tools do not count.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 600_000)]
    own_time_ms: Option<f64>,
    /// Length of the result in tokens; a file gets the whole of a longer one.
    #[schema(value_type = Option<u64>, minimum = 100, maximum = 1_000_000)]
    max_output_tokens: Option<f64>,
    /// An id for `/api/calls`, not that of a call that runs.
    #[schema(pattern = "^[A-Za-z0-9_~:-][A-Za-z0-9._~:-]{0,127}$")]
    call_id: Option<String>,
    /// The longest that the run may take, in milliseconds.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 31_536_000_000_u64)]
    timeout_ms: Option<f64>,
    /// The client answers the questions of the run at `/api/questions`.
    #[serde(default)]
    answers_questions: bool,
}

/// Runs a script that calls the tools of the client. Answers like a call of a tool: `isError` is true
/// if the script failed, and `details.value` is its value.
#[utoipa::path(
    post, path = "/api/run", operation_id = "runCode", tag = "calls",
    request_body(content = RunRequest, content_type = "application/json", description = "The script"),
    responses(
        (status = 200, description = "The result of the script", content(
            (CallAnswer = "application/json"), (String = "text/event-stream"))),
    ),
)]
pub(super) async fn run(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    JsonText(text, memory): JsonText,
) -> Result<Response, ProblemResponse> {
    let permit = client.begin_call()?;
    let request = RunRequest::read(&text)?;
    let mut arguments = json!({"code": request.code});
    let fields = [
        ("args", request.args.map(|args| json!(args))),
        ("timeout_ms", request.own_time_ms.map(whole)),
        ("max_output_tokens", request.max_output_tokens.map(whole)),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            arguments[name] = value;
        }
    }
    let asked = AskedCall {
        tool: RUN_CODE.to_owned(),
        arguments: to_raw_value(&arguments)
            .map_err(|error| ProblemResponse::internal(error.to_string()))?,
        call_id: request.call_id,
        timeout_ms: request.timeout_ms,
        answers_questions: request.answers_questions,
        record: false,
    };
    let code = if client.is_user() {
        shared.code.clone()
    } else {
        CodeMode::new(client.scope().clone())
    };
    start(
        &shared,
        &client,
        &peer,
        &headers,
        (asked, permit, memory),
        Some(code),
    )
    .await
}

/// Returns the stream of a call's events. An error before the start is a normal error response.
async fn stream_of(
    mut waiting: mpsc::Receiver<Bytes>,
    driven: tokio::task::JoinHandle<Result<Bytes, ProblemResponse>>,
    is_gone: DropGuard,
) -> Result<Response, ProblemResponse> {
    let Some(first) = waiting.recv().await else {
        is_gone.disarm();
        return match driven.await {
            Ok(Err(problem_response)) => Err(problem_response),
            // Not expected: a finished call has sent `started` before.
            Ok(Ok(json)) => Ok(fresh(json)),
            Err(error) => Err(ProblemResponse::internal(format!(
                "the call's task failed: {error}"
            ))),
        };
    };
    let rest = ReceiverStream::new(waiting).map(move |frame| {
        // Owned by the stream, so that dropping the stream cancels the call.
        let _ = &is_gone;
        frame
    });
    Ok(sse::response(stream::iter([first]).chain(rest)))
}

/// Drives a call to its end, and returns its result as the log of the host has it.
async fn drive(
    mut call: RunningCall,
    mut frames: Option<Frames>,
    (_permit, _memory, recording): (Permit, BodyMemory, Option<Recording>),
) -> Result<Bytes, ProblemResponse> {
    let record = Arc::clone(call.record());
    let mut held = None;
    let mut is_started = false;
    let answer = loop {
        let line = async {
            match &mut frames {
                Some(frames) if is_started => frames.lines.recv().await,
                _ => None,
            }
        };
        let event = tokio::select! {
            biased;
            event = call.next_event() => event,
            Some(line) = line => {
                if let Some(Frames { frames, folder, .. }) = &frames {
                    // A client that reads slowly misses lines.
                    let _ = frames.try_send(log_step(&record, &line, folder.as_deref()));
                }
                continue;
            }
        };
        match event {
            Event::Started => {
                is_started = true;
                if let Some(Frames { frames, .. }) = &frames {
                    // The queue is empty, so the first event fits.
                    let _ = frames.try_send(step("started", &record, None));
                }
            }
            Event::Update(partial) => {
                if let Some(Frames { frames, .. }) = &frames {
                    let frame = step("update", &record, Some(&partial));
                    held = frames.try_send(frame).err().map(|full| full.into_inner());
                }
            }
            Event::Finished(ended) => {
                // Before the client has the result, because it may ask for the test at once.
                if let Some(recording) = &recording {
                    recording.end(&call, &ended);
                }
                let json = record.end().and_then(|end| end.json.clone());
                let kept =
                    || json.ok_or_else(|| ProblemResponse::internal("the result is not kept"));
                break ended.map_err(ProblemResponse::from).and_then(|_| kept());
            }
        }
    };
    if let Some(frames) = frames.filter(|_| is_started) {
        let Frames {
            frames,
            mut lines,
            folder,
        } = frames;
        while let Ok(line) = lines.try_recv() {
            let _ = frames.try_send(log_step(&record, &line, folder.as_deref()));
        }
        if let Some(held) = held {
            let _ = frames.send(held).await;
        }
        let last = match &answer {
            Ok(json) => sse::frame("result", None, &String::from_utf8_lossy(json)),
            Err(problem_response) => sse::frame("error", None, &problem_response.json()),
        };
        // An error means that the client has disconnected.
        let _ = frames.send(last).await;
    }
    answer
}

fn step(event: &str, call: &CallRecord, partial_result: Option<&RawValue>) -> Bytes {
    let step = Step {
        call_id: &call.id,
        tool: &call.tool,
        partial_result,
    };
    // Strings and JSON can always be serialized.
    let data = serde_json::to_string(&step).unwrap_or_default();
    sse::frame(event, None, &data)
}

/// Returns the event for a log line. `folder` has the code of the called tool: its lines are shown if
/// the line is the stack of an error. Other files are not, because the tool chooses the text.
fn log_step(call: &CallRecord, line: &LogLine, folder: Option<&Path>) -> Bytes {
    let place = (line.level == LogLevel::Debug)
        .then(|| Place::in_stack(&line.message))
        .flatten();
    let place = place.filter(|place| {
        let real = place.path.canonicalize();
        real.is_ok_and(|real| folder.is_some_and(|folder| real.starts_with(folder)))
    });
    let step = LogStep {
        call_id: &call.id,
        level: line.level.as_str(),
        message: &line.message,
        context: line.context.as_deref(),
        frame: place.and_then(|place| place.frame()),
    };
    let data = serde_json::to_string(&step).unwrap_or_default();
    sse::frame("log", None, &data)
}

impl<'a> CallRequest<'a> {
    fn read(text: &'a str) -> Result<CallRequest<'a>, ProblemResponse> {
        if text.is_empty() {
            return Ok(CallRequest::default());
        }
        // serde would assign the items of an array to the fields in their order.
        if text.trim_start().starts_with('[') {
            return Err(unprocessable("a call is an object"));
        }
        let hint = "like {\"arguments\": {…}, \"callId\": \"…\", \"timeoutMs\": 30000}";
        let request: CallRequest<'a> = parse(text, "call", hint)?;
        check_id(request.call_id.as_deref())?;
        // Checked here, because a call that times out before the tool starts is not validated.
        if request.arguments.is_some_and(|given| !is_object(given)) {
            let error = Error::new(ErrorKind::BadArguments, "`arguments` must be an object");
            return Err(error.into());
        }
        check_time(request.timeout_ms)?;
        Ok(request)
    }
}

impl RunRequest {
    fn read(text: &str) -> Result<RunRequest, ProblemResponse> {
        let hint = "like {\"code\": \"await tools.NAME({…})\"}";
        if !text.trim_start().starts_with('{') {
            return Err(unprocessable("the body is an object").hint(hint));
        }
        let request: RunRequest = parse(text, "script", hint)?;
        check_id(request.call_id.as_deref())?;
        check_time(request.timeout_ms)?;
        Ok(request)
    }
}

/// Parses a body. `what` completes "the body is not a …".
pub(super) fn parse<'a, T: Deserialize<'a>>(
    text: &'a str,
    what: &str,
    hint: &str,
) -> Result<T, ProblemResponse> {
    serde_json::from_str(text).map_err(|error| {
        let text = format!("the body is not a {what}: {error}");
        if error.is_data() {
            unprocessable(&text).hint(hint)
        } else {
            ProblemResponse::bad_request(text)
        }
    })
}

/// Returns the number as an integer if it is one: `5.0` is an integer of JSON Schema. The schema of
/// `run_code` refuses all others.
fn whole(number: f64) -> serde_json::Value {
    if number.fract() == 0.0 && (0.0..=MAX_TIMEOUT_MS).contains(&number) {
        json!(number as u64)
    } else {
        json!(number)
    }
}

fn check_id(id: Option<&str>) -> Result<(), ProblemResponse> {
    if id.is_some_and(|id| !is_id(id)) {
        return Err(unprocessable(
            "`callId` is of at most 128 letters, digits and `._~:-`, the first no dot",
        ));
    }
    Ok(())
}

fn check_time(time: Option<f64>) -> Result<(), ProblemResponse> {
    let is_time = |time: f64| time.fract() == 0.0 && (1.0..=MAX_TIMEOUT_MS).contains(&time);
    match time {
        Some(time) if !is_time(time) => Err(unprocessable(
            "`timeoutMs` is a whole number, more than nothing and no more than a year",
        )),
        _ => Ok(()),
    }
}

fn unprocessable(text: &str) -> ProblemResponse {
    ProblemResponse::new(StatusCode::UNPROCESSABLE_ENTITY, text)
}

/// Returns true if the arguments are an object, or a string that contains one, since models send
/// such strings too.
fn is_object(arguments: &RawValue) -> bool {
    let text = arguments.get();
    match text.as_bytes().first() {
        Some(b'{' | b'n') => true,
        Some(b'"') => {
            let inner: Result<String, _> = serde_json::from_str(text);
            inner.is_ok_and(|inner| inner.trim_start().starts_with('{'))
        }
        _ => false,
    }
}

fn is_id(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._~:-_".contains(&byte);
    !id.is_empty() && id.len() <= MAX_ID_LEN && !id.starts_with('.') && id.bytes().all(fits)
}
