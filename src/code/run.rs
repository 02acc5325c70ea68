//! The tool `run_code`: runs a script, makes its calls, and builds its result.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::approval::RunApprover;
use super::index::Index;
use super::record::{RecordedRun, Recorder};
use super::{CodeMode, RUN_CODE, run_code, search, value};
use crate::host::{Host, NestedUser};
use crate::registry::Entry;
use haft_engine::{
    Script, ScriptAnswer, ScriptEvent, ScriptFailure, ScriptLimits, ScriptRequest, ScriptSource,
};
use haft_tool::schema::{Schema, object_of};
use haft_tool::types::Observations;
use haft_tool::{
    ApprovalRequirement, Block, Call, CallCtx, Cancellation, Outcome, Progress, Runner, Stopped,
    Tier, Tool,
};
use haft_tool::{Error, ErrorKind};

/// Maximum size of a script in bytes.
const MAX_SOURCE_BYTES: usize = 256 << 10;
/// Bytes that count as one token.
const BYTES_PER_TOKEN: usize = 4;
/// Shortest time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// Number of calls that the report of a failed script names.
const MAX_CALLS_NAMED: usize = 20;
/// Number of calls in the details of a result.
const MAX_CALLS_LISTED: usize = 1000;
/// Characters of the arguments of a call in a report.
const MAX_ARGUMENT_CHARS: usize = 200;
/// Size up to which the value of a script is in the details of its result, in bytes.
const MAX_VALUE_BYTES: usize = 1 << 20;

/// Parameters of `run_code`.
#[derive(Deserialize)]
struct Params {
    code: String,
    #[serde(default)]
    args: Option<Value>,
    timeout_ms: Option<u64>,
}

/// Runner of `run_code`.
pub(super) struct RunCode {
    mode: Arc<CodeMode>,
    host: Host,
}

impl RunCode {
    pub(super) fn new(mode: Arc<CodeMode>, host: Host) -> RunCode {
        RunCode { mode, host }
    }

    fn read(&self, call: &Call) -> Result<Params, Error> {
        let mut fields = object_of(RUN_CODE, &call.arguments)?;
        // Models write null for what they leave out.
        fields.retain(|_, value| !value.is_null());
        let code = &self.host.config().code;
        let schema = Schema::compile(&run_code("", code).input_schema)
            .map_err(|error| Error::new(ErrorKind::Internal, error))?;
        let fields = Value::Object(fields);
        schema.check(RUN_CODE, &fields)?;
        let params: Params = serde_json::from_value(fields)
            .map_err(|error| Error::new(ErrorKind::BadArguments, error.to_string()))?;
        let size = params.code.len();
        if size > MAX_SOURCE_BYTES {
            let (size, most) = (size >> 10, MAX_SOURCE_BYTES >> 10);
            let text = format!("the code has {size} KiB, and may have at most {most} KiB");
            return Err(Error::new(ErrorKind::BadArguments, text));
        }
        Ok(params)
    }
}

#[async_trait]
impl Runner for RunCode {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.read(call).map(drop)
    }

    fn text_limit(&self, call: &Call) -> Option<usize> {
        #[derive(Deserialize)]
        struct Wanted {
            max_output_tokens: Option<u32>,
        }
        let wanted: Option<Wanted> = serde_json::from_str(call.arguments.get()).ok();
        let tokens = wanted.and_then(|wanted| wanted.max_output_tokens);
        let tokens = tokens.unwrap_or(self.host.config().code.output_tokens);
        Some(tokens as usize * BYTES_PER_TOKEN)
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let params = self.read(&call)?;
        if let Some(why) = ctx.admit(ApprovalRequirement::of_tier(Tier::Read)).await? {
            return Ok(Outcome::not_started(why));
        }
        let started = Instant::now();
        let catalog = self.host.catalog_for_calls().await;
        let index = self.mode.index(&catalog, &self.host);
        let settings = &self.host.config().code;
        let limits = ScriptLimits {
            own_time: params
                .timeout_ms
                .map_or(settings.own_time, Duration::from_millis),
            heap_mb: settings.heap_mb,
            calls: settings.calls,
        };
        let args = params.args.unwrap_or_else(|| json!({}));
        let source = ScriptSource {
            code: params.code.clone(),
            names: json!(index.names().collect::<Vec<_>>()).to_string(),
            args: args.to_string(),
        };
        let run = Run {
            host: calls_of(&self.host, &call.id, &ctx),
            script: self.host.run_script(source, limits).await,
            ctx: &ctx,
            id: call.id,
            index,
            at_once: settings.calls_at_once as usize,
            calls: Vec::new(),
            results: BTreeMap::new(),
            printed: Vec::new(),
            queue: VecDeque::new(),
            running: FuturesUnordered::new(),
            last_update: None,
        };
        let ended = run.finish().await;
        let record = RecordedRun {
            id: Recorder::next_id(),
            cwd: self.host.config().cwd.clone(),
            code: params.code,
            args,
            ok: ended.ended.is_ok(),
            only_reads: ended.calls.iter().all(|call| call.tier == Tier::Read),
            tools: ended.tools(),
            results: ended.results.clone(),
        };
        let recorder = Recorder::new(self.host.config());
        let id = record.id.clone();
        let written = tokio::task::spawn_blocking(move || recorder.write(&record)).await;
        let kept = match written {
            Ok(Ok(())) => Some(id),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a run is not recorded");
                None
            }
            Err(_) => None,
        };
        Ok(ended.outcome(&ctx, kept, started.elapsed()))
    }
}

/// Returns the host for the calls of a script.
fn calls_of(host: &Host, id: &str, ctx: &CallCtx) -> Host {
    let ui = host.user_interface();
    let approver = RunApprover::start(id, host.approver(), ctx.updates.clone());
    let calls = host
        .with_parent(id)
        // The script gets the whole result; only its own is shortened.
        .with_text_limit(0)
        .with_approval(host.approval_policy().for_unseen_calls())
        .asking(Arc::new(approver));
    match ui {
        Some(user) => calls.with_ui(NestedUser::new(user, id, &ctx.updates)),
        None => calls,
    }
}

/// A running script.
struct Run<'a> {
    host: Host,
    script: Script,
    ctx: &'a CallCtx,
    id: String,
    index: Arc<Index>,
    at_once: usize,
    calls: Vec<MadeCall>,
    results: BTreeMap<String, Observations>,
    printed: Vec<Block>,
    /// Calls that wait because enough others run.
    queue: VecDeque<Queued>,
    running: FuturesUnordered<BoxFuture<'static, Returned>>,
    last_update: Option<Instant>,
}

/// A call of the script.
struct MadeCall {
    tool: String,
    arguments: String,
    tier: Tier,
    state: CallState,
    cancellation: Cancellation,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    /// It waits, or runs.
    Open,
    Done,
    /// The tool has failed, or was stopped. It may have had effects.
    Failed,
    /// The tool was not started.
    Refused,
}

struct Queued {
    number: u32,
    call: usize,
    entry: Arc<Entry>,
    arguments: Box<RawValue>,
    is_raw: bool,
}

/// A call that has ended.
struct Returned {
    number: u32,
    call: usize,
    entry: Arc<Entry>,
    is_raw: bool,
    ended: Result<Outcome, Error>,
}

/// A script that has ended.
struct EndedRun {
    ended: Result<Option<String>, ScriptFailure>,
    printed: Vec<Block>,
    calls: Vec<MadeCall>,
    results: BTreeMap<String, Observations>,
}

impl Run<'_> {
    /// Runs the script and its calls to their end.
    async fn finish(mut self) -> EndedRun {
        let _waits = self.host.waits_for_calls();
        let mut ended = None;
        let mut is_cancelled = false;
        while ended.is_none() || !self.running.is_empty() {
            tokio::select! {
                biased;
                () = self.ctx.cancel().cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    self.script.cancel();
                    self.end_calls(self.ctx.stop_reason());
                }
                Some(returned) = self.running.next(), if !self.running.is_empty() => {
                    self.take(returned);
                }
                event = self.script.next(), if ended.is_none() => match event {
                    ScriptEvent::Request { number, request } => self.request(number, request),
                    ScriptEvent::Printed(text) => self.printed.push(Block::text(text)),
                    ScriptEvent::Image { data, mime_type } => {
                        self.printed.push(Block::image(data, mime_type));
                    }
                    ScriptEvent::Ended(result) => {
                        // A script that failed waits for nothing any more.
                        self.end_calls(Stopped::Cancelled);
                        ended = Some(result);
                    }
                },
            }
        }
        EndedRun {
            ended: ended.unwrap_or(Err(ScriptFailure::Cancelled)),
            printed: self.printed,
            calls: self.calls,
            results: self.results,
        }
    }

    fn end_calls(&mut self, why: Stopped) {
        for queued in self.queue.drain(..) {
            self.calls[queued.call].state = CallState::Refused;
        }
        for call in &self.calls {
            if call.state == CallState::Open {
                call.cancellation.request(why);
            }
        }
    }

    fn request(&mut self, number: u32, request: ScriptRequest) {
        let answered = match request {
            ScriptRequest::Call {
                tool,
                arguments,
                is_raw,
                ..
            } => return self.call(number, &tool, arguments, is_raw),
            ScriptRequest::Search(params) => {
                search::search(&self.index, &params).map_err(|error| error.message().to_owned())
            }
            ScriptRequest::Types(name) => self.index.declaration(&name),
        };
        let answer = match answered {
            Ok(text) => ScriptAnswer::Value(Value::String(text).to_string()),
            Err(message) => failure(super::SEARCH_TOOLS, message),
        };
        self.script.answer(number, answer);
    }

    fn call(&mut self, number: u32, name: &str, arguments: String, is_raw: bool) {
        let entry = match self.index.require(name) {
            Ok(entry) => entry.clone(),
            Err(message) => return self.script.answer(number, failure(name, message)),
        };
        let shown: String = arguments.chars().take(MAX_ARGUMENT_CHARS).collect();
        let arguments = match RawValue::from_string(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return self.script.answer(number, failure(name, error.to_string())),
        };
        self.calls.push(MadeCall {
            tool: entry.tool.name.clone(),
            arguments: shown,
            tier: entry.tool.approval,
            state: CallState::Open,
            cancellation: Cancellation::default(),
        });
        self.queue.push_back(Queued {
            number,
            call: self.calls.len() - 1,
            entry,
            arguments,
            is_raw,
        });
        self.start_calls();
    }

    fn start_calls(&mut self) {
        while self.running.len() < self.at_once
            && let Some(queued) = self.queue.pop_front()
        {
            let Queued {
                number,
                call,
                entry,
                arguments,
                is_raw,
            } = queued;
            let made = Call {
                id: format!("{}.{}", self.id, call + 1),
                tool: entry.tool.name.clone(),
                arguments,
            };
            self.update(&entry.tool);
            let cancellation = self.calls[call].cancellation.clone();
            // A tool that the scope of the caller leaves out is unknown.
            let tool = self.host.reach(&entry);
            let running = self.host.outcome_of(made, tool, cancellation);
            self.running.push(Box::pin(async move {
                let ended = running.await;
                Returned {
                    number,
                    call,
                    entry,
                    is_raw,
                    ended,
                }
            }));
        }
    }

    fn take(&mut self, returned: Returned) {
        let Returned {
            number,
            call,
            entry,
            is_raw,
            ended,
        } = returned;
        self.calls[call].state = state_of(&ended);
        let tool = &entry.tool;
        let answer = value::answer(&tool.name, tool, &ended, is_raw);
        if let Ok(outcome) = &ended
            && tool.output_schema.is_none()
            && self.calls[call].state == CallState::Done
        {
            let seen = self.results.entry(tool.name.clone()).or_default();
            seen.add(&value::undeclared(outcome));
        }
        self.script.answer(number, answer);
        self.start_calls();
    }

    /// Reports the number of calls and the newest one.
    fn update(&mut self, tool: &Tool) {
        let is_due = self
            .last_update
            .is_none_or(|last| last.elapsed() >= UPDATE_INTERVAL);
        if !is_due {
            return;
        }
        self.last_update = Some(Instant::now());
        let count = self.calls.len();
        let plural = if count == 1 { "call" } else { "calls" };
        let text = format!("{count} {plural}, now: {}", tool.name);
        let update = json!({
            "content": [{"type": "text", "text": text}],
            "details": {"progress": count},
        });
        if let Ok(update) = to_raw_value(&update) {
            self.ctx.updates.send(Progress::Partial(update));
        }
    }
}

fn state_of(ended: &Result<Outcome, Error>) -> CallState {
    match ended {
        Ok(outcome) if outcome.stopped.is_some() || outcome.is_error => CallState::Failed,
        Ok(_) => CallState::Done,
        Err(error) => match error.kind() {
            ErrorKind::BadArguments
            | ErrorKind::NoSuchTool
            | ErrorKind::Denied
            | ErrorKind::Untrusted
            | ErrorKind::Usage => CallState::Refused,
            _ => CallState::Failed,
        },
    }
}

fn failure(tool: &str, message: String) -> ScriptAnswer {
    ScriptAnswer::Failed {
        tool: tool.to_owned(),
        message,
        content: "[]".to_owned(),
    }
}

impl EndedRun {
    /// Returns the names of the called tools in the order of their first calls.
    fn tools(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for call in &self.calls {
            if !names.contains(&call.tool) {
                names.push(call.tool.clone());
            }
        }
        names
    }

    /// Returns the result of the run with the id `run`.
    fn outcome(self, ctx: &CallCtx, run: Option<String>, duration: Duration) -> Outcome {
        let listed = self.calls.iter().take(MAX_CALLS_LISTED).map(|call| {
            let state = match call.state {
                CallState::Open | CallState::Failed => "failed",
                CallState::Done => "done",
                CallState::Refused => "refused",
            };
            json!({"tool": call.tool, "state": state})
        });
        let mut details = json!({
            "run": run,
            "calls": listed.collect::<Vec<_>>(),
        });
        let mut outcome = match &self.ended {
            Ok(value) => {
                let mut content = joined(self.printed);
                if let Some(json) = value {
                    content.extend(value::blocks_of(json));
                    if json.len() <= MAX_VALUE_BYTES {
                        details["value"] = haft_tool::json::parse(json).unwrap_or_default();
                    }
                }
                let is_empty = content.is_empty();
                let mut outcome = Outcome::success(NOTHING, duration);
                if !is_empty {
                    outcome.content = joined(content);
                }
                outcome
            }
            Err(failure) => {
                let mut text = failure.to_string();
                report(&mut text, &self.printed, &self.calls);
                let mut outcome = Outcome::failure(text, duration);
                let images = self.printed.into_iter();
                let images = images.filter(|block| matches!(block, Block::Image { .. }));
                outcome.content.extend(images);
                outcome
            }
        };
        outcome.details = details;
        if ctx.is_cancelled() {
            outcome.stopped = Some(ctx.stop_reason());
        }
        outcome
    }
}

/// Text of a result without anything in it.
const NOTHING: &str =
    "The code ended without a result. `return` a value, or print it with `console.log`.";

/// Joins texts that follow each other.
fn joined(blocks: Vec<Block>) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    for block in blocks {
        match (joined.last_mut(), block) {
            (Some(Block::Text { text: before, .. }), Block::Text { text, .. }) => {
                before.push('\n');
                before.push_str(&text);
            }
            (_, block) => joined.push(block),
        }
    }
    joined
}

/// Adds to the text of a failure what the script has printed, and the calls whose effects remain.
fn report(text: &mut String, printed: &[Block], calls: &[MadeCall]) {
    let texts = printed.iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    if !texts.is_empty() {
        let _ = write!(text, "\n\nPrinted before:\n{}", texts.join("\n"));
    }
    let has_effect = |call: &&MadeCall| {
        call.tier > Tier::Read && matches!(call.state, CallState::Done | CallState::Failed)
    };
    let made: Vec<&MadeCall> = calls.iter().filter(has_effect).collect();
    if !made.is_empty() {
        text.push_str("\n\nCalls that were made and are not undone:");
        for call in made.iter().take(MAX_CALLS_NAMED) {
            let failed = match call.state {
                CallState::Failed => " (failed)",
                _ => "",
            };
            let _ = write!(text, "\n- {} {}{failed}", call.tool, call.arguments);
        }
        if made.len() > MAX_CALLS_NAMED {
            let _ = write!(text, "\n- and {} more", made.len() - MAX_CALLS_NAMED);
        }
    }
    let only_read = |call: &MadeCall| call.tier == Tier::Read && call.state == CallState::Done;
    if made.is_empty() && calls.iter().any(only_read) {
        text.push_str("\n\nNothing was changed: the calls that were made only read.");
    }
}
