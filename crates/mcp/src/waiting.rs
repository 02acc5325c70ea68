//! Calls that wait for the answer of a program, past rmcp's service.
//!
//! The service spends tasks, channels, and several moves of its largest message type on each request,
//! which takes longer than a small call. An answer goes from its line to its call instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rmcp::model::{RequestId, ServerResult};
use rmcp::service::ServiceError;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::result::PlainResult;
use haft_tool::{CallCtx, LogListener, Progress, Updates, User};

/// The first id. rmcp counts its own from 0, and servers may have room for 31 bits only.
const FIRST_ID: i64 = 1 << 30;

/// Answer to a call.
pub(crate) enum Answer {
    Plain(PlainResult),
    Result(Box<ServerResult>),
    Failed(ServiceError),
}

/// Limit of the questions of one call, and of the answers with questions before its result.
pub(crate) const MAX_ROUNDS: usize = 32;

/// The caller of one call, which the server's messages reach.
pub struct CallLink {
    /// The name of the tool for log lines.
    pub tool: String,
    /// Receiver of progress.
    pub updates: Updates,
    /// The user for questions, if there is one.
    pub user: Option<User>,
    /// Receiver of log lines, if there is one.
    pub log: Option<Arc<dyn LogListener>>,
    /// Number of requests of the server so far.
    asked: AtomicUsize,
    /// Cancelled when the server has asked too often.
    pub(crate) too_many: CancellationToken,
}

impl CallLink {
    /// Returns the caller of a call with this context.
    pub fn of(tool: &str, ctx: &CallCtx) -> CallLink {
        CallLink {
            tool: tool.to_owned(),
            updates: ctx.updates.clone(),
            user: ctx.user.clone(),
            log: ctx.log.clone(),
            asked: AtomicUsize::new(0),
            too_many: CancellationToken::new(),
        }
    }

    /// Counts a request of the server. Returns false, and ends the call, if there were too many.
    pub(crate) fn may_ask(&self) -> bool {
        let may = self.asked.fetch_add(1, Ordering::Relaxed) < MAX_ROUNDS;
        if !may {
            self.too_many.cancel();
        }
        may
    }

    /// Forwards a request of the server to the caller; `None` if the caller does not answer it.
    pub(crate) async fn forward(
        &self,
        method: &'static str,
        key: Option<&str>,
        params: Value,
    ) -> Option<Value> {
        if !self.may_ask() {
            return None;
        }
        let user = self.user.as_ref()?;
        user.forward(method, key, params).await.ok()?
    }

    /// Returns true if both belong to the same user and listener.
    pub(crate) fn has_same_caller(&self, other: &CallLink) -> bool {
        let same_user = match (&self.user, &other.user) {
            (Some(one), Some(other)) => one.has_same_interface(other),
            (None, None) => true,
            _ => false,
        };
        let same_log = match (&self.log, &other.log) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        same_user && same_log
    }

    /// Reports a partial result to the caller.
    pub(crate) fn update(&self, update: &Value) {
        if let Ok(update) = serde_json::value::to_raw_value(update) {
            self.updates.send(Progress::Partial(update));
        }
    }
}

/// The calls of one session.
#[derive(Default)]
pub(crate) struct WaitingCalls(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    by_id: FxHashMap<i64, Waiting>,
    /// Number of calls so far.
    count: i64,
    /// True when the session has ended.
    is_over: bool,
}

struct Waiting {
    link: Arc<CallLink>,
    answer: oneshot::Sender<Answer>,
    /// Number of the bytes that are written when the program has the request.
    sent: u64,
}

/// A call that waits. Dropping it ends the wait.
pub(crate) struct WaitingCall<'a> {
    calls: &'a WaitingCalls,
    id: i64,
    answer: oneshot::Receiver<Answer>,
}

impl WaitingCalls {
    /// Adds a call, whose messages go to `link`; `None` when the session has ended.
    pub(crate) fn add(&self, link: &Arc<CallLink>) -> Option<WaitingCall<'_>> {
        let (sender, answer) = oneshot::channel();
        let mut calls = self.0.lock();
        if calls.is_over {
            return None;
        }
        let id = loop {
            let id = FIRST_ID | (calls.count % FIRST_ID);
            calls.count += 1;
            if !calls.by_id.contains_key(&id) {
                break id;
            }
        };
        let waiting = Waiting {
            link: link.clone(),
            answer: sender,
            sent: u64::MAX,
        };
        calls.by_id.insert(id, waiting);
        drop(calls);
        Some(WaitingCall {
            calls: self,
            id,
            answer,
        })
    }

    /// Gives a line to the call that waits for it, if it is a plain result. Returns false for others.
    pub(crate) fn take_line(&self, line: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct PlainAnswer {
            id: i64,
            result: PlainResult,
        }
        let Ok(PlainAnswer { id, result }) = serde_json::from_slice(line) else {
            return false;
        };
        self.end(&RequestId::Number(id), Answer::Plain(result))
    }

    /// Ends the wait of the call with this id. Returns false if there is none.
    pub(crate) fn end(&self, id: &RequestId, answer: Answer) -> bool {
        let waiting = match id {
            RequestId::Number(id) => self.0.lock().by_id.remove(id),
            RequestId::String(_) => None,
        };
        let Some(waiting) = waiting else {
            return false;
        };
        // An error means that the call has been cancelled.
        let _ = waiting.answer.send(answer);
        true
    }

    /// Returns true if a call with this id waits.
    pub(crate) fn has(&self, id: &RequestId) -> bool {
        matches!(id, RequestId::Number(id) if self.0.lock().by_id.contains_key(id))
    }

    /// Returns the receiver of the messages of a call.
    pub(crate) fn link(&self, id: &RequestId) -> Option<Arc<CallLink>> {
        let RequestId::Number(id) = id else {
            return None;
        };
        let calls = self.0.lock();
        Some(calls.by_id.get(id)?.link.clone())
    }

    /// Returns the receivers of the messages of all calls.
    pub(crate) fn links(&self) -> Vec<Arc<CallLink>> {
        let calls = self.0.lock();
        let links = calls.by_id.values().map(|waiting| waiting.link.clone());
        links.collect()
    }

    /// Ends the calls whose requests are not among the written bytes.
    pub(crate) fn fail(&self, written: u64, failure: impl Fn() -> ServiceError) {
        let mut calls = self.0.lock();
        let unwritten = calls
            .by_id
            .extract_if(|_, waiting| waiting.sent > written)
            .map(|(_, waiting)| waiting.answer);
        let unwritten: Vec<_> = unwritten.collect();
        drop(calls);
        for answer in unwritten {
            // An error means that the call has been cancelled.
            let _ = answer.send(Answer::Failed(failure()));
        }
    }

    /// Returns true when the session has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.0.lock().is_over
    }

    /// Ends all calls with the session.
    pub(crate) fn close(&self) {
        let mut calls = self.0.lock();
        calls.is_over = true;
        let ended = std::mem::take(&mut calls.by_id);
        drop(calls);
        drop(ended);
    }
}

impl WaitingCall<'_> {
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// Notes the number of the bytes that are written when the program has the request.
    pub(crate) fn sent(&self, bytes: u64) {
        if let Some(waiting) = self.calls.0.lock().by_id.get_mut(&self.id) {
            waiting.sent = bytes;
        }
    }

    /// Waits for the answer.
    pub(crate) async fn answer(&mut self) -> Answer {
        let answer = (&mut self.answer).await;
        answer.unwrap_or(Answer::Failed(ServiceError::TransportClosed))
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        let ended = self.calls.0.lock().by_id.remove(&self.id);
        drop(ended);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use haft_tool::{Cancellation, Outcome, queue};

    use super::*;
    use crate::result::plain_outcome;
    use crate::stdio::unsent;

    fn link() -> Arc<CallLink> {
        let updates = Updates::new(queue::unheard(), None);
        Arc::new(CallLink::of(
            "echo",
            &CallCtx::new(Cancellation::default(), updates),
        ))
    }

    fn line(id: &str, text: &str) -> Vec<u8> {
        let result = format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}");
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
    }

    /// Returns the answer that the call has by now.
    fn answered(call: &mut WaitingCall<'_>) -> Option<Result<Outcome, ServiceError>> {
        match call.answer().now_or_never()? {
            Answer::Plain(result) => Some(Ok(plain_outcome(result, std::time::Duration::ZERO))),
            Answer::Failed(error) => Some(Err(error)),
            Answer::Result(_) => panic!("no line was unusual"),
        }
    }

    fn text(call: &mut WaitingCall<'_>) -> Option<String> {
        answered(call)?.ok().map(|outcome| outcome.text())
    }

    #[test]
    fn each_call_gets_the_line_with_its_id_once() {
        let calls = WaitingCalls::default();
        let link = link();
        let mut first = calls.add(&link).expect("the session runs");
        let mut second = calls.add(&link).expect("the session runs");
        assert_eq!(calls.links().len(), 2);
        assert!(text(&mut first).is_none());
        assert!(calls.take_line(&line(&second.id().to_string(), "two")));
        assert!(calls.take_line(&line(&first.id().to_string(), "one")));
        // A second answer, that of a request of rmcp, and a text with the number.
        for other in [
            first.id().to_string(),
            "0".to_owned(),
            format!("\"{}\"", second.id()),
        ] {
            assert!(!calls.take_line(&line(&other, "other")), "{other}");
        }
        assert_eq!(text(&mut first).as_deref(), Some("one"));
        assert_eq!(text(&mut second).as_deref(), Some("two"));
    }

    #[test]
    fn a_cancelled_call_gets_no_answer_and_no_message() {
        let calls = WaitingCalls::default();
        let call = calls.add(&link()).expect("the session runs");
        let id = RequestId::Number(call.id());
        assert!(calls.has(&id) && calls.link(&id).is_some());
        drop(call);
        assert!(!calls.has(&id) && calls.link(&id).is_none());
        assert!(!calls.end(&id, Answer::Failed(ServiceError::TransportClosed)));
    }

    #[test]
    fn a_failed_write_ends_the_calls_that_were_not_written() {
        let calls = WaitingCalls::default();
        let link = link();
        let [mut written, mut unwritten, mut last] =
            [(); 3].map(|()| calls.add(&link).expect("the session runs"));
        written.sent(100);
        unwritten.sent(200);
        calls.fail(150, || unsent(std::io::ErrorKind::BrokenPipe.into()));
        assert!(answered(&mut written).is_none());
        for call in [&mut unwritten, &mut last] {
            assert!(matches!(
                answered(call),
                Some(Err(ServiceError::TransportSend(_)))
            ));
        }
        calls.close();
        assert!(matches!(
            answered(&mut written),
            Some(Err(ServiceError::TransportClosed))
        ));
        assert!(calls.is_over() && calls.add(&link).is_none());
    }
}
