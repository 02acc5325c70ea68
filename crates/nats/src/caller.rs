//! One call of a tool of another host.

use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::value::RawValue;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use haft_tool::{
    Answer, CallCtx, CallTrace, Error, ErrorKind, MAX_QUESTIONS, Outcome, Progress, Stopped,
    TraceContext,
};

use crate::client::Client;
use crate::connection::ConnectError;
use crate::fleet::{Fleet, Unavailable, open_link};
use crate::frames::{CallerFrame, Finished, HostFrame, HostInfo, known_method};
use crate::link::{LinkEvent, LinkOptions};
use crate::message::Headers;
use crate::serve_call::{
    CALLER, DEFAULT_SILENCE, LATER, LOG_TRACE, SILENCE, TIMEOUT, TRACE_PARENT, TRACE_STATE, USER,
    scoped,
};
use crate::subjects;

/// Number of hosts that may be lost during one call.
const MAX_LOST: usize = 3;

/// Number of hosts that may refuse a call because they run too many, and the delay after the nth one.
/// Which host is next is mostly the server's choice, so it may be the same one.
const MAX_REFUSED: u32 = 20;
const REFUSED_DELAY: Duration = Duration::from_millis(10);

/// Limit of a frame of a host in bytes.
const MAX_FRAME: usize = 256 << 20;

/// Room for headers in the message of a call.
const ROOM_FOR_HEADERS: usize = 8 << 10;

/// Arguments beyond this length are sent in pieces, whatever the server allows.
const MAX_ARGUMENTS: usize = 256 << 10;

/// A call of one tool.
pub struct RemoteCall<'a> {
    /// The hosts' name for the tool.
    pub tool: &'a str,
    /// Hash of the definition that the caller trusts. Only hosts with it get the call.
    pub digest: &'a str,
    /// The arguments.
    pub arguments: Box<RawValue>,
    /// Set if the call may be made twice: it is tried again elsewhere when its host is lost.
    pub is_idempotent: bool,
    /// Time that the caller gives the call.
    pub timeout: Option<Duration>,
}

/// End of one try.
enum Tried {
    Ended(Result<Outcome, Error>),
    /// The call was not begun: no host listens, or it refused.
    NotBegun(Option<(HostInfo, String)>),
    /// The host does not answer any more. It is known if it has accepted the call.
    Lost(Option<HostInfo>),
}

/// Questions of a host to the user.
#[derive(Default)]
struct Questions {
    asked: FuturesUnordered<BoxFuture<'static, (u64, CallerFrame)>>,
    open: HashMap<u64, DropGuard>,
}

impl Fleet {
    /// Calls a tool on one of the hosts that have it.
    ///
    /// # Errors
    /// - [`ErrorKind::Unavailable`] if no host has the tool, or there is no connection.
    /// - [`ErrorKind::Lost`] if the host ends during the call, and the call may not be made twice.
    /// - The host's own error, with its name.
    pub async fn call(&self, call: RemoteCall<'_>, ctx: &CallCtx) -> Result<Outcome, Error> {
        let started = Instant::now();
        let calls = subjects::call(&self.options().tenant, call.tool, call.digest);
        let (mut refused, mut lost) = (0, 0);
        let mut silent: Vec<String> = Vec::new();
        let mut may_choose = true;
        loop {
            let ready = async {
                let client = self.client().await?;
                let chosen = if may_choose {
                    self.answering_host(&client, &calls, &silent).await
                } else {
                    None
                };
                Ok::<_, ConnectError>((client, chosen))
            };
            let ready = tokio::select! {
                biased;
                () = ctx.cancelled() => return Ok(stopped(call.tool, ctx, started)),
                ready = ready => ready,
            };
            let (client, chosen) = ready.map_err(|why| {
                unavailable(
                    call.tool,
                    &format!("there is no connection with the NATS server: {why}"),
                )
            })?;
            let at_host = chosen
                .as_ref()
                .map(|host| subjects::call_at(&calls, &host.id));
            let subject = at_host.as_deref().unwrap_or(&calls);
            match self.try_once(&client, subject, &call, ctx, started).await {
                Tried::Ended(ended) => return ended,
                // It has ended, or the server does not let it take calls for itself.
                Tried::NotBegun(None) if chosen.is_some() => may_choose = false,
                Tried::NotBegun(None) => {
                    return Err(unavailable(call.tool, "no host offers it now"));
                }
                Tried::NotBegun(Some((host, why))) => {
                    refused += 1;
                    if refused >= MAX_REFUSED {
                        let why = format!("host `{}` refused it: {why}", shown(&host));
                        return Err(unavailable(call.tool, &why));
                    }
                    tokio::select! {
                        () = ctx.cancelled() => {}
                        () = sleep(REFUSED_DELAY * refused) => {}
                    }
                }
                Tried::Lost(host) => {
                    lost += 1;
                    let host = host.or(chosen);
                    if !call.is_idempotent || lost >= MAX_LOST {
                        return Err(self.lost(&call, host));
                    }
                    silent.extend(host.map(|host| host.id));
                    may_choose = true;
                }
            }
            if ctx.is_cancelled() {
                return Ok(stopped(call.tool, ctx, started));
            }
        }
    }

    /// Sends a request about a call to the host that has it. The details of the outcome are the answer;
    /// partial results may come before.
    ///
    /// # Errors
    /// - [`ErrorKind::Lost`] if that host is gone.
    /// - [`ErrorKind::Unavailable`] if there is no connection.
    /// - The host's own error, with its name.
    pub async fn forward(
        &self,
        host: &str,
        request: Box<RawValue>,
        ctx: &CallCtx,
    ) -> Result<Outcome, Error> {
        let gone = || {
            let error = Error::new(ErrorKind::Lost, "the host that had the call is gone");
            error.with_hint("it is not known what the call has done")
        };
        if !subjects::is_token(host) {
            return Err(gone());
        }
        let client = self.client().await.map_err(Unavailable::from)?;
        let call = RemoteCall {
            tool: "",
            digest: "",
            arguments: request,
            is_idempotent: false,
            timeout: None,
        };
        let subject = subjects::peer(&self.options().tenant, host);
        let begun = Instant::now();
        match self.try_once(&client, &subject, &call, ctx, begun).await {
            Tried::Ended(ended) => ended,
            Tried::NotBegun(_) | Tried::Lost(_) => Err(gone()),
        }
    }

    /// Returns the error of a call whose host is gone.
    fn lost(&self, call: &RemoteCall<'_>, host: Option<HostInfo>) -> Error {
        let tool = call.tool;
        let by = host.map_or("the host".to_owned(), |host| {
            format!("host `{}`", shown(&host))
        });
        let seconds = self.options().silence.as_secs_f64();
        let text =
            format!("{by} was lost during the call of `{tool}`: no sign of life for {seconds} s");
        let hint = if call.is_idempotent {
            "other hosts were tried too; look at the hosts and at the network"
        } else {
            "it may have done its work; a tool that says that calls can be repeated is tried elsewhere"
        };
        Error::new(ErrorKind::Lost, text).with_hint(hint)
    }

    async fn try_once(
        &self,
        client: &Client,
        subject: &str,
        call: &RemoteCall<'_>,
        ctx: &CallCtx,
        started: Instant,
    ) -> Tried {
        let tenant = &self.options().tenant;
        let mut refusals = client.refusals();
        let arguments = call.arguments.get();
        let limit = client
            .max_payload()
            .saturating_sub(ROOM_FOR_HEADERS)
            .min(MAX_ARGUMENTS);
        let is_long = arguments.len() > limit;
        let payload = if is_long {
            Bytes::new()
        } else {
            Bytes::copy_from_slice(arguments.as_bytes())
        };
        let options = LinkOptions {
            silence: self.options().silence,
            max_frame: MAX_FRAME,
        };
        let headers = self.headers(call, ctx, is_long);
        let mut link = open_link(client, subject, tenant, headers, payload, options).await;
        if is_long {
            link.send(CallerFrame::Arguments(call.arguments.clone()).encoded());
        }
        let mut host = None;
        let mut questions = Questions::default();
        let mut is_cancelled = false;
        let grace = self.options().grace;
        let mut left_behind = pin!(async {
            ctx.cancelled().await;
            ctx.cancellation().grace_period(grace).await;
        });
        loop {
            tokio::select! {
                biased;
                () = &mut left_behind => {
                    let why = ctx.stop_reason();
                    link.send_at_once(CallerFrame::Cancel { why, is_kill: true }.encoded());
                    return Tried::Ended(Ok(Outcome::left_behind(call.tool, why, started.elapsed())));
                }
                () = ctx.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    let why = ctx.stop_reason();
                    link.send_at_once(CallerFrame::Cancel { why, is_kill: false }.encoded());
                }
                Some((id, answer)) = questions.asked.next(), if !questions.asked.is_empty() => {
                    questions.open.remove(&id);
                    link.send(answer.encoded());
                }
                Ok(refusal) = refusals.recv() => {
                    if refusal.subject == subject {
                        let text = format!("the NATS server does not allow to publish to `{subject}`");
                        return Tried::Ended(Err(unavailable(call.tool, &text)));
                    }
                }
                event = link.next() => match event {
                    LinkEvent::Frame(frame) => match HostFrame::read(&frame, call.tool) {
                        Ok(HostFrame::Finished(by, finished)) => {
                            link.confirm();
                            ctx.ran_on(&shown(&by));
                            let ended = ended(finished, &by).map(|outcome| Outcome {
                                duration: outcome.duration.min(started.elapsed()),
                                ..outcome
                            });
                            return Tried::Ended(ended);
                        }
                        Ok(HostFrame::Refused(refused)) => {
                            link.confirm();
                            return Tried::NotBegun(Some((refused.host, line(&refused.why))));
                        }
                        Ok(HostFrame::Accepted(by)) => {
                            // The call may be lost.
                            ctx.ran_on(&shown(&by));
                            host = Some(by);
                            // The host may wait for it.
                            link.acknowledge();
                        }
                        Ok(frame) => {
                            if let Some(answer) = questions.hear(frame, ctx) {
                                link.send(answer.encoded());
                            }
                        }
                        Err(why) => {
                            tracing::warn!(tool = call.tool, "a host sent what cannot be read: {why}");
                        }
                    },
                    LinkEvent::Confirmed => {}
                    LinkEvent::NoResponders => {
                        link.end();
                        return Tried::NotBegun(None);
                    }
                    LinkEvent::Silent => {
                        self.note_silence();
                        return Tried::Lost(host);
                    }
                    LinkEvent::Disconnected(why) => {
                        tracing::warn!(tool = call.tool, "the connection is lost: {why}");
                        return Tried::Lost(host);
                    }
                    LinkEvent::Broken(why) => {
                        link.send(CallerFrame::Cancel {
                            why: Stopped::Cancelled,
                            is_kill: true,
                        }.encoded());
                        let by = host.as_ref().map_or("the host".to_owned(), |host| {
                            format!("host `{}`", shown(host))
                        });
                        let text = format!("{by} does not keep to the protocol: {why}");
                        return Tried::Ended(Err(Error::new(ErrorKind::Internal, text)));
                    }
                },
            }
        }
    }

    fn headers(&self, call: &RemoteCall<'_>, ctx: &CallCtx, is_long: bool) -> Headers {
        let mut headers = Headers::default().with(CALLER, self.options().caller.clone());
        if is_long {
            headers = headers.with(LATER, "1");
        }
        let silence = self.options().silence;
        if silence != DEFAULT_SILENCE {
            headers = headers.with(SILENCE, silence.as_millis().to_string());
        }
        if let Some(timeout) = call.timeout {
            headers = headers.with(TIMEOUT, timeout.as_millis().to_string());
        }
        if ctx.user.as_ref().is_some_and(|user| user.is_there()) {
            headers = headers.with(USER, "1");
        }
        let headers = scoped(headers, &ctx.scope);
        traced(headers, ctx.span.as_ref(), ctx.trace.as_deref())
    }
}

/// Adds the caller's span. Without one, a call that is recorded gets the id of a trace for the records of
/// both hosts.
pub(crate) fn traced(
    headers: Headers,
    span: Option<&TraceContext>,
    trace: Option<&CallTrace>,
) -> Headers {
    let Some(span) = span else {
        return match trace {
            Some(trace) => headers.with(LOG_TRACE, trace.trace_id_or(subjects::new_trace)),
            None => headers,
        };
    };
    let headers = headers.with(TRACE_PARENT, span.to_string());
    match &span.state {
        Some(state) => headers.with(TRACE_STATE, state.to_string()),
        None => headers,
    }
}

impl Questions {
    /// Takes a frame of a running call. Returns an answer that needs no user.
    fn hear(&mut self, frame: HostFrame, ctx: &CallCtx) -> Option<CallerFrame> {
        match frame {
            HostFrame::Update(update) => ctx.updates.send(Progress::Partial(update)),
            HostFrame::Log(line) => {
                if let Some(listener) = &ctx.log {
                    listener.hear(line);
                }
            }
            HostFrame::Tell(notification) => {
                if let Some(user) = &ctx.user {
                    user.tell(notification);
                }
            }
            HostFrame::Withdraw(id) => drop(self.open.remove(&id)),
            HostFrame::Ask(ask) => {
                let id = ask.id;
                let dismissed = CallerFrame::Answer {
                    id,
                    answer: Answer::Dismissed,
                };
                let Some(user) = ctx.user.clone().filter(|_| self.open.len() < MAX_QUESTIONS)
                else {
                    return Some(dismissed);
                };
                let withdrawn = self.opened(id);
                let timeout = ask.timeout_ms.map(Duration::from_millis);
                self.asked.push(Box::pin(async move {
                    let answer = tokio::select! {
                        biased;
                        () = withdrawn.cancelled() => Answer::Dismissed,
                        answer = user.ask(ask.prompt, timeout) => answer.unwrap_or(Answer::Dismissed),
                    };
                    (id, CallerFrame::Answer { id, answer })
                }));
            }
            HostFrame::Forward(forward) => {
                let id = forward.id;
                let unanswered = CallerFrame::Forwarded { id, value: None };
                let user = ctx.user.clone().filter(|_| self.open.len() < MAX_QUESTIONS);
                let (Some(user), Some(method)) = (user, known_method(&forward.method)) else {
                    return Some(unanswered);
                };
                let withdrawn = self.opened(id);
                self.asked.push(Box::pin(async move {
                    let forwarded = user.forward(method, forward.key.as_deref(), forward.params);
                    let value = tokio::select! {
                        biased;
                        () = withdrawn.cancelled() => None,
                        value = forwarded => value.ok().flatten(),
                    };
                    (id, CallerFrame::Forwarded { id, value })
                }));
            }
            HostFrame::Accepted(_) | HostFrame::Refused(_) | HostFrame::Finished(..) => {}
        }
        None
    }

    fn opened(&mut self, id: u64) -> CancellationToken {
        let withdrawn = CancellationToken::new();
        self.open.insert(id, withdrawn.clone().drop_guard());
        withdrawn
    }
}

/// Returns the end of a call as its caller sees it.
pub(crate) fn ended(finished: Finished, by: &HostInfo) -> Result<Outcome, Error> {
    match finished {
        Finished::Outcome(outcome) => Ok(outcome),
        Finished::Failed(error) => {
            let text = format!("host `{}`: {}", shown(by), error.message());
            let named = Error::new(error.kind(), text);
            Err(match error.hint() {
                Some(hint) => named.with_hint(format!("on that host: {hint}")),
                None => named,
            })
        }
        Finished::Definitions(_) => {
            let text = format!("host `{}` answered a call with definitions", shown(by));
            Err(Error::new(ErrorKind::Internal, text))
        }
    }
}

fn stopped(tool: &str, ctx: &CallCtx, started: Instant) -> Outcome {
    let why = ctx.stop_reason();
    let text = format!("The call of `{tool}` was stopped: {}.", why.reason());
    Outcome::stopped(why, text, started.elapsed())
}

fn unavailable(tool: &str, why: &str) -> Error {
    let text = format!("`{tool}` is not available: {why}");
    let hint = "start a host that offers it (`haft serve nats`), or try again";
    Error::new(ErrorKind::Unavailable, text).with_hint(hint)
}

pub(crate) fn shown(host: &HostInfo) -> String {
    let name: String = host.name.chars().take(64).collect();
    haft_tool::visible::name(&name).into_owned()
}

fn line(text: &str) -> String {
    let text: String = text.chars().take(500).collect();
    haft_tool::visible::line(&text).into_owned()
}
