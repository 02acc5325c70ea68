//! One call at its host: from the message that asks for it to the confirmed result.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use haft_tool::{
    Answer, CallerScope, Cancellation, Error, ErrorKind, LogLine, Notification, Outcome, Prompt,
    Tier, TraceContext, since_1970,
};

use crate::client::Client;
use crate::frames::{Ask, CallerFrame, Finished, Forward, HostFrame, HostInfo, Refused};
use crate::freshness::Freshness;
use crate::link::{Link, LinkEvent, LinkOptions};
use crate::message::{Headers, Message};
use crate::subjects;

/// Id of a call.
pub(crate) const CALL: &str = "Haft-Call";
/// Secret of a call.
pub(crate) const KEY: &str = "Haft-Key";
/// Name of the host or program that calls.
pub(crate) const CALLER: &str = "Haft-Caller";
/// Time that the caller gives the call, in milliseconds. A duration, because clocks differ.
pub(crate) const TIMEOUT: &str = "Haft-Timeout";
/// Time without a sign of life after which the caller gives up the call, in milliseconds.
pub(crate) const SILENCE: &str = "Haft-Silence";
/// Set if the caller has a user who can be asked.
pub(crate) const USER: &str = "Haft-User";
/// Id of the client that made a queued call.
pub(crate) const OWNER: &str = "Haft-Owner";
/// Highest tier that the call may have. The host's own limit counts as well. Hosts that do not know
/// [`SCOPE`] read it.
pub(crate) const TIER: &str = "Haft-Tier";
/// The scope of the caller, unless it is unlimited.
pub(crate) const SCOPE: &str = "Haft-Scope";
/// Set if the arguments come in a frame.
pub(crate) const LATER: &str = "Haft-Arguments-Later";
/// The W3C trace context.
pub(crate) const TRACE_PARENT: &str = "traceparent";
pub(crate) const TRACE_STATE: &str = "tracestate";

/// Id of the trace by which a caller without a span has recorded the call.
pub(crate) const LOG_TRACE: &str = "Haft-Trace";

/// Time without a sign of life after which callers give up a host, if they name no other one.
pub const DEFAULT_SILENCE: Duration = Duration::from_secs(3);

/// Number of questions whether a caller still waits, if its answers come late.
const MAX_ASKED: usize = 3;

/// Time after which a call without a result says that it is accepted.
const ACCEPT_AFTER: Duration = Duration::from_millis(250);

/// Time for the caller to confirm a result.
const CONFIRMATION: Duration = Duration::from_secs(30);

/// Limit of a frame from a caller in bytes: its arguments, or an answer.
const MAX_FRAME: usize = 32 << 20;

/// Bytes beyond which updates and logs for a slow caller are dropped.
const MAX_WAITING: usize = 8 << 20;

/// Limit of the length of a caller's name.
const MAX_CALLER: usize = 200;

/// A call that another host asks for.
pub struct IncomingCall {
    /// The caller's id, unique among all calls.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments as the caller wrote them.
    pub arguments: Box<RawValue>,
    /// Time that the caller gives the call. The host's own limit counts as well.
    pub timeout: Option<Duration>,
    /// The tools that exist for the caller, also in calls that the tool makes. The host's own limits
    /// count as well.
    pub scope: CallerScope,
    /// The name of the calling host. Nothing proves it.
    pub caller: String,
    /// The caller's span.
    pub trace: Option<TraceContext>,
    /// Id of the trace by which a caller without a span has recorded the call.
    pub log_trace: Option<String>,
    /// Set if the call was taken from the tenant's queue.
    pub is_queued: bool,
    /// The caller, for everything before the result.
    pub link: CallLink,
    /// Cancelled by the caller, or when it is gone.
    pub cancellation: Cancellation,
}

/// The caller of a running call. Clones are handles of it.
#[derive(Clone)]
pub struct CallLink(Arc<LinkState>);

pub(crate) struct LinkState {
    frames: mpsc::UnboundedSender<HostFrame>,
    has_user: bool,
    next_question: AtomicU64,
    questions: Mutex<HashMap<u64, Waiting>>,
}

enum Waiting {
    Answer(oneshot::Sender<Answer>),
    Forwarded(oneshot::Sender<Option<Value>>),
}

/// Removes a question that has its answer or is not needed any more.
struct Open<'a> {
    link: &'a LinkState,
    id: u64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.link.questions.lock().remove(&self.id).is_some() {
            self.link.send(HostFrame::Withdraw(self.id));
        }
    }
}

impl CallLink {
    /// Returns true if the caller has a user who can be asked.
    pub fn has_user(&self) -> bool {
        self.0.has_user
    }

    /// Sends a partial result.
    pub fn update(&self, update: Box<RawValue>) {
        self.0.send(HostFrame::Update(update));
    }

    /// Sends a log line.
    pub fn log(&self, line: LogLine) {
        self.0.send(HostFrame::Log(line));
    }

    /// Sends a notification for the user.
    pub fn tell(&self, notification: Notification) {
        self.0.send(HostFrame::Tell(notification));
    }

    /// Asks the caller's user. Dropping the future withdraws the question.
    pub async fn ask(&self, prompt: Prompt, timeout: Option<Duration>) -> Answer {
        if !self.0.has_user {
            return Answer::Dismissed;
        }
        let (sender, answer) = oneshot::channel();
        let open = self.0.open(Waiting::Answer(sender));
        let timeout_ms = timeout.map(|timeout| timeout.as_millis());
        self.0.send(HostFrame::Ask(Ask {
            id: open.id,
            prompt,
            timeout_ms: timeout_ms.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX)),
        }));
        answer.await.unwrap_or(Answer::Dismissed)
    }

    /// Forwards a request of an MCP server to the program behind the caller's interface. `key` is the
    /// server's own for it.
    pub async fn forward(&self, method: &str, key: Option<String>, params: Value) -> Option<Value> {
        if !self.0.has_user {
            return None;
        }
        let (sender, answer) = oneshot::channel();
        let open = self.0.open(Waiting::Forwarded(sender));
        self.0.send(HostFrame::Forward(Forward {
            id: open.id,
            method: method.to_owned(),
            key,
            params,
        }));
        answer.await.ok().flatten()
    }
}

impl LinkState {
    /// Returns the state of a call with what it sends. Its first question has that number.
    pub(crate) fn new(
        has_user: bool,
        first_question: u64,
    ) -> (Arc<LinkState>, mpsc::UnboundedReceiver<HostFrame>) {
        let (frames, queued) = mpsc::unbounded_channel();
        let state = LinkState {
            frames,
            has_user,
            next_question: AtomicU64::new(first_question),
            questions: Mutex::default(),
        };
        (Arc::new(state), queued)
    }

    /// Gives an answer to the question with this number, which may be withdrawn.
    pub(crate) fn answer(&self, id: u64, value: Value) {
        // An error means that the call does not wait any more.
        match self.take(id) {
            Some(Waiting::Answer(waiting)) => drop(waiting.send(value.into())),
            Some(Waiting::Forwarded(waiting)) => {
                drop(waiting.send(Some(value).filter(|value| !value.is_null())));
            }
            None => {}
        }
    }

    fn send(&self, frame: HostFrame) {
        // The call may have ended.
        let _ = self.frames.send(frame);
    }

    fn open(&self, waiting: Waiting) -> Open<'_> {
        let id = self.next_question.fetch_add(1, Ordering::Relaxed);
        self.questions.lock().insert(id, waiting);
        Open { link: self, id }
    }

    fn take(&self, id: u64) -> Option<Waiting> {
        self.questions.lock().remove(&id)
    }
}

/// A message that asks for a call, or for definitions, with a link.
pub(crate) struct Request {
    id: String,
    key: String,
    message: Message,
}

impl Request {
    /// Reads a message. `None` if it has no link.
    pub(crate) fn of(message: Message) -> Result<Request, Message> {
        let token = |name: &'static str| {
            let value = message.headers.get(name)?;
            subjects::is_token(value).then(|| value.to_owned())
        };
        match (token(CALL), token(KEY)) {
            (Some(id), Some(key)) => Ok(Request { id, key, message }),
            _ => Err(message),
        }
    }

    /// Opens the link.
    pub(crate) async fn open(&self, client: &Client, tenant: &str, silence: Duration) -> Link {
        let (from, to) = (
            subjects::control(tenant, &self.id),
            subjects::events(tenant, &self.id),
        );
        let options = LinkOptions {
            silence,
            max_frame: MAX_FRAME,
        };
        Link::open(client, (from, to, self.key.clone()), options, false).await
    }

    /// Returns the age up to which the call is begun without asking whether its caller still waits. The
    /// rest of the time in which the caller gives up is for the sign of life that it gets then.
    fn max_age(&self) -> Duration {
        let silence = self.message.headers.number(SILENCE);
        silence.map_or(DEFAULT_SILENCE, Duration::from_millis) / 2
    }

    /// Returns true if the call is older, or its clock differs from the host's. So it is known of a call
    /// that its caller's connection has kept.
    fn is_older_than(&self, limit: Duration) -> bool {
        let age = |made| since_1970().abs_diff(made);
        subjects::made_at(&self.id).is_none_or(|made| age(made) > limit)
    }
}

/// Sends a last frame and waits until the caller has it.
pub(crate) async fn finish(mut link: Link, frame: HostFrame) {
    link.send(frame.encoded());
    let until = Instant::now() + CONFIRMATION;
    while !link.is_confirmed() {
        match timeout_at(until, link.next()).await {
            Ok(LinkEvent::Confirmed | LinkEvent::Frame(_)) => {}
            // It has no receiver.
            _ => return,
        }
    }
    link.end();
}

/// Refuses a call that was not begun.
pub(crate) async fn refuse(link: Link, host: &HostInfo, why: &str) {
    let (host, why) = (host.clone(), why.to_owned());
    finish(link, HostFrame::Refused(Refused { host, why })).await;
}

/// Asks the caller of a call that may be old whether it still waits. If it does not, nothing is begun,
/// and there is no link any more.
async fn still_awaited(mut link: Link, id: &str, host: &HostInfo, limit: Duration) -> Option<Link> {
    for _ in 0..MAX_ASKED {
        let asked = Instant::now();
        link.ask(HostFrame::Accepted(host.clone()).encoded());
        while !link.is_confirmed() {
            match link.next().await {
                LinkEvent::Frame(frame) => {
                    if let Ok(CallerFrame::Cancel { .. }) = CallerFrame::read(&frame) {
                        refuse(link, host, "it was cancelled").await;
                        return None;
                    }
                }
                LinkEvent::Confirmed => {}
                _ => {
                    tracing::warn!(
                        call = id,
                        "a call came late and is not begun: its caller does not wait any more"
                    );
                    return None;
                }
            }
        }
        // The host may have stood still again. The caller has given a sign of life after the question.
        if asked.elapsed() <= limit {
            return Some(link);
        }
    }
    tracing::warn!(
        call = id,
        "a call came late and is not begun: its caller answers too late"
    );
    refuse(link, host, "the connection is too slow").await;
    None
}

/// Runs a call to its end. `run` makes the outcome.
pub(crate) async fn run<F>(
    request: &Request,
    mut link: Link,
    (host, freshness): (&HostInfo, &Freshness),
    tool: &str,
    run: impl FnOnce(IncomingCall) -> F,
) where
    F: Future<Output = Result<Outcome, Error>>,
{
    let headers = &request.message.headers;
    let accept_at = Instant::now() + ACCEPT_AFTER;
    let is_long = headers.get(LATER).is_some();
    let arguments = if is_long {
        link.send(HostFrame::Accepted(host.clone()).encoded());
        match arguments(&mut link).await {
            Some(arguments) => Ok(arguments),
            None => return,
        }
    } else {
        json_text(&request.message.payload)
    };
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(error) => {
            let end = HostFrame::Finished(host.clone(), Finished::Failed(error));
            return finish(link, end).await;
        }
    };
    let max_age = request.max_age();
    // Long arguments come only from a caller that has heard the host.
    let is_old = freshness.may_be_older_than(max_age) || !is_long && request.is_older_than(max_age);
    if is_old {
        match still_awaited(link, &request.id, host, max_age).await {
            Some(awaited) => link = awaited,
            None => return,
        }
    }
    let mut is_accepted = is_long || is_old;
    let (state, mut queued) = LinkState::new(headers.get(USER).is_some(), 1);
    let call = IncomingCall::of(&request.id, tool, arguments, headers, state.clone());
    let cancellation = call.cancellation.clone();
    let mut running = pin!(run(call));
    let ended = loop {
        tokio::select! {
            biased;
            Some(frame) = queued.recv() => send(&mut link, frame),
            ended = &mut running => break Some(ended),
            event = link.next() => match event {
                LinkEvent::Frame(frame) => receive(&frame, &state, &cancellation),
                LinkEvent::Confirmed => {}
                _ => {
                    tracing::info!(call = request.id, "the caller is gone");
                    cancellation.cancel();
                    // Questions without a user have no answer.
                    state.questions.lock().clear();
                    break None;
                }
            },
            () = sleep_until(accept_at), if !is_accepted => {
                is_accepted = true;
                link.send(HostFrame::Accepted(host.clone()).encoded());
            }
        }
    };
    let Some(ended) = ended else {
        // It ends by the cancellation.
        let _ = running.await;
        return;
    };
    while let Ok(frame) = queued.try_recv() {
        send(&mut link, frame);
    }
    let end = match ended {
        Ok(outcome) => Finished::Outcome(outcome),
        Err(error) => Finished::Failed(error),
    };
    finish(link, HostFrame::Finished(host.clone(), end)).await;
}

/// Waits for arguments that were too long for the first message.
async fn arguments(link: &mut Link) -> Option<Box<RawValue>> {
    loop {
        match link.next().await {
            LinkEvent::Frame(frame) => match CallerFrame::read(&frame) {
                Ok(CallerFrame::Arguments(arguments)) => return Some(arguments),
                Ok(CallerFrame::Cancel { .. }) => return None,
                Ok(_) | Err(_) => {}
            },
            LinkEvent::Confirmed => {}
            _ => return None,
        }
    }
}

fn send(link: &mut Link, frame: HostFrame) {
    let may_miss = matches!(frame, HostFrame::Update(_) | HostFrame::Log(_));
    if may_miss && link.waiting() > MAX_WAITING {
        return;
    }
    link.send(frame.encoded());
}

fn receive(frame: &[u8], state: &LinkState, cancellation: &Cancellation) {
    match CallerFrame::read(frame) {
        Ok(CallerFrame::Cancel { why, is_kill }) => {
            cancellation.request(why);
            if is_kill {
                cancellation.kill();
            }
        }
        Ok(CallerFrame::Answer { id, answer }) => {
            if let Some(Waiting::Answer(waiting)) = state.take(id) {
                // The question may be withdrawn.
                let _ = waiting.send(answer);
            }
        }
        Ok(CallerFrame::Forwarded { id, value }) => {
            if let Some(Waiting::Forwarded(waiting)) = state.take(id) {
                let _ = waiting.send(value);
            }
        }
        Ok(CallerFrame::Arguments(_)) => {}
        Err(why) => tracing::warn!("a caller sent what cannot be read: {why}"),
    }
}

/// Returns the JSON text of a message.
pub(crate) fn json_text(payload: &Bytes) -> Result<Box<RawValue>, Error> {
    let text = if payload.is_empty() {
        &b"{}"[..]
    } else {
        payload
    };
    serde_json::from_slice(text).map_err(|error| {
        let text = format!("the arguments are not JSON: {error}");
        Error::new(ErrorKind::BadArguments, text)
    })
}

/// Returns a call of a client without links, which gets only the result.
pub(crate) fn plain_call(message: &Message, tool: &str) -> Result<IncomingCall, Error> {
    let arguments = json_text(&message.payload)?;
    let id = subjects::new_id();
    // Its caller does not listen, so no user can be asked.
    let (state, _) = LinkState::new(false, 1);
    Ok(IncomingCall::of(
        &id,
        tool,
        arguments,
        &message.headers,
        state,
    ))
}

impl IncomingCall {
    pub(crate) fn of(
        id: &str,
        tool: &str,
        arguments: Box<RawValue>,
        headers: &Headers,
        link: Arc<LinkState>,
    ) -> IncomingCall {
        let caller = headers.get(CALLER).unwrap_or_default();
        let caller: String = caller.chars().take(MAX_CALLER).collect();
        let trace = headers.get(TRACE_PARENT);
        IncomingCall {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments,
            timeout: headers.number(TIMEOUT).map(Duration::from_millis),
            scope: scope_of(headers),
            caller: haft_tool::visible::line(&caller).into_owned(),
            trace: trace.and_then(|parent| TraceContext::parse(parent, headers.get(TRACE_STATE))),
            log_trace: (headers.get(LOG_TRACE))
                .filter(|id| subjects::is_trace(id))
                .map(str::to_owned),
            is_queued: false,
            link: CallLink(link),
            cancellation: Cancellation::default(),
        }
    }
}

/// Adds the scope of the caller.
pub(crate) fn scoped(mut headers: Headers, scope: &CallerScope) -> Headers {
    if let Some(tier) = scope.max_tier() {
        headers = headers.with(TIER, tier.as_str());
    }
    if scope.is_unlimited() {
        headers
    } else {
        headers.with(SCOPE, scope.to_line())
    }
}

/// Returns the scope of the caller. A scope that cannot be read must not allow more.
fn scope_of(headers: &Headers) -> CallerScope {
    let scope = match headers.get(SCOPE) {
        None => CallerScope::user(),
        Some(line) => CallerScope::from_line(line).unwrap_or_else(|error| {
            tracing::warn!(error = error.message(), "a call is refused");
            CallerScope::nothing()
        }),
    };
    match headers.get(TIER) {
        None => scope,
        Some(name) => {
            let tier = serde_json::from_value(Value::from(name));
            scope.with_max_tier(tier.unwrap_or(Tier::Read))
        }
    }
}

/// Counts a call as long as it runs.
pub(crate) struct InPlace(watch::Sender<usize>);

impl InPlace {
    pub(crate) fn new(running: &watch::Sender<usize>) -> InPlace {
        running.send_modify(|running| *running += 1);
        InPlace(running.clone())
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}
