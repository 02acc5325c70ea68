//! Connection of the isolate of a worker process to the callers of its tools, which are in haft's
//! process: everything goes through the socket.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::oneshot;

use super::host_sender::HostSender;
use super::protocol::{FromWorker, Query, Reply, number_of};
use crate::extension::{CallerFuture, Callers};
use crate::load_inputs::LoadTrace;
use crate::lock;
use haft_tool::{LogLevel, PermissionKind, Replay, ReplayAnswer, ReplayChannel};

/// Reason for which a query has no reply.
const ENDS: &str = "the isolate ends";

/// Sends everything to haft's process.
pub(crate) struct HostLink {
    host: Arc<HostSender>,
    next_query: AtomicU32,
    waiting: Mutex<HashMap<u32, Waiting>>,
}

/// A query without a reply.
enum Waiting {
    /// The isolate's thread waits.
    Thread(mpsc::Sender<Reply>),
    /// JavaScript awaits it.
    Promise(oneshot::Sender<Reply>),
}

impl HostLink {
    pub(crate) fn new(host: Arc<HostSender>) -> HostLink {
        HostLink {
            host,
            next_query: AtomicU32::new(1),
            waiting: Mutex::default(),
        }
    }

    /// Passes a reply to the query that waits for it.
    pub(crate) fn replied(&self, query: u32, reply: Reply) {
        let waiting = lock(&self.waiting).remove(&query);
        match waiting {
            // A waiting thread or promise that is gone needs no reply.
            Some(Waiting::Thread(thread)) => drop(thread.send(reply)),
            Some(Waiting::Promise(promise)) => drop(promise.send(reply)),
            None => {}
        }
    }

    /// Ends all waiting: haft's process replies no more.
    pub(crate) fn close(&self) {
        lock(&self.waiting).clear();
    }

    fn query(&self, query: Query) -> Reply {
        let (sender, reply) = mpsc::channel();
        self.ask(query, Waiting::Thread(sender));
        reply.recv().unwrap_or(Reply::Failed(ENDS.to_owned()))
    }

    fn awaited(&self, query: Query) -> BoxFuture<'static, Reply> {
        let (sender, reply) = oneshot::channel();
        self.ask(query, Waiting::Promise(sender));
        Box::pin(async move { reply.await.unwrap_or(Reply::Failed(ENDS.to_owned())) })
    }

    fn ask(&self, query: Query, waiting: Waiting) {
        let number = self.next_query.fetch_add(1, Ordering::Relaxed);
        lock(&self.waiting).insert(number, waiting);
        self.host.send(&FromWorker::Query(number, query));
    }

    fn text(&self, query: Query) -> Result<String, String> {
        match self.query(query) {
            Reply::Text(text) => Ok(text),
            Reply::Failed(why) | Reply::Refused(why) => Err(why),
            Reply::Flag(_) | Reply::Unknown => Ok(String::new()),
        }
    }

    fn flag(&self, query: Query) -> Result<bool, String> {
        match self.query(query) {
            Reply::Flag(flag) => Ok(flag),
            Reply::Failed(why) | Reply::Refused(why) => Err(why),
            Reply::Text(_) | Reply::Unknown => Ok(false),
        }
    }

    /// Reports an access of the tool that `haft permit --record` runs.
    pub(crate) fn accessed(&self, kind: PermissionKind, what: &str) {
        let what = what.to_owned();
        self.host.send(&FromWorker::Accessed { kind, what });
    }

    /// Reports a host that one of the running calls connects to.
    pub(crate) fn host_connected(&self, target: &str) {
        let target = target.to_owned();
        self.host.send(&FromWorker::HostConnected { target });
    }

    /// Reports a partial result of the request `id`.
    pub(crate) fn update(&self, id: u32, text: String) {
        self.host.send(&FromWorker::Update { id, text });
    }

    /// Reports the dependencies of the load `id`, before the load is answered.
    pub(crate) fn load_traced(&self, id: u32, trace: LoadTrace) {
        self.host.send(&FromWorker::LoadTraced { id, trace });
    }

    /// Reports that the module changed the language's built-in functions.
    pub(crate) fn built_ins_changed(&self, module: u32, what: &str) {
        let what = what.to_owned();
        self.host
            .send(&FromWorker::BuiltInsChanged { module, what });
    }

    /// Reports a program that the call started.
    pub(crate) fn program_started(&self, call: u32, program: &str) {
        let program = program.to_owned();
        self.host
            .send(&FromWorker::ProgramStarted { call, program });
    }

    /// Adds an answer from outside to the recording of the call.
    pub(crate) fn recorded(&self, call: u32, channel: ReplayChannel, request: &str, answer: &str) {
        self.host.send(&FromWorker::Recorded {
            call,
            channel: channel.into(),
            request: request.to_owned(),
            answer: answer.to_owned(),
        });
    }

    /// Asks the user whether the running calls may access `what`. The isolate's thread waits.
    pub(crate) fn ask_permission(&self, kind: PermissionKind, what: &str) -> bool {
        let what = what.to_owned();
        let granted = self.flag(Query::Permission { kind, what });
        granted.unwrap_or_default()
    }

    pub(crate) fn log(
        &self,
        request: u32,
        level: LogLevel,
        tool: &str,
        message: &str,
        context: &str,
    ) {
        self.host.send(&FromWorker::Log {
            request,
            level: number_of(level),
            tool: tool.to_owned(),
            message: message.to_owned(),
            context: context.to_owned(),
        });
    }

    /// Reports that a module waits for a debugger, or has one.
    pub(crate) fn waits_for_debugger(&self, waits: bool) {
        self.host.send(&FromWorker::WaitsForDebugger { waits });
    }
}

impl Callers for HostLink {
    fn has_user(&self, request: u32, owner: &str) -> bool {
        let owner = owner.to_owned();
        let there = self.flag(Query::HasUser { request, owner });
        there.unwrap_or_default()
    }

    fn ask_user(
        &self,
        request: u32,
        owner: &str,
        id: u32,
        question: String,
    ) -> CallerFuture<Result<String, String>> {
        let owner = owner.to_owned();
        let reply = self.awaited(Query::AskUser {
            request,
            owner,
            id,
            question,
        });
        Box::pin(async move {
            match reply.await {
                Reply::Text(text) => Ok(text),
                Reply::Failed(why) | Reply::Refused(why) => Err(why),
                Reply::Flag(_) | Reply::Unknown => Err(ENDS.to_owned()),
            }
        })
    }

    fn withdraw_question(&self, id: u32) {
        self.host.send(&FromWorker::WithdrawQuestion { id });
    }

    fn tell_user(&self, request: u32, owner: &str, notice: &str) {
        self.host.send(&FromWorker::TellUser {
            request,
            owner: owner.to_owned(),
            notice: notice.to_owned(),
        });
    }

    fn editor_text(&self, request: u32, owner: &str) -> String {
        let owner = owner.to_owned();
        let text = self.text(Query::EditorText { request, owner });
        text.unwrap_or_default()
    }

    fn canvas(&self, request: u32, owner: &str) -> String {
        let owner = owner.to_owned();
        let canvas = self.text(Query::Canvas { request, owner });
        canvas.unwrap_or_default()
    }

    fn show(&self, request: u32, owner: &str, id: u32) -> CallerFuture<Result<(), String>> {
        let owner = owner.to_owned();
        let reply = self.awaited(Query::Show { request, owner, id });
        Box::pin(async move {
            match reply.await {
                Reply::Failed(why) | Reply::Refused(why) => Err(why),
                Reply::Flag(_) | Reply::Text(_) | Reply::Unknown => Ok(()),
            }
        })
    }

    fn next_touch(&self, id: u32) -> CallerFuture<String> {
        let reply = self.awaited(Query::NextTouch { id });
        Box::pin(async move {
            match reply.await {
                Reply::Text(text) => text,
                _ => String::new(),
            }
        })
    }

    fn paint(&self, id: u32, lines: String) {
        self.host.send(&FromWorker::Paint { id, lines });
    }

    fn start_nested(&self, request: u32, id: u32, tool: &str, arguments: String) {
        self.host.send(&FromWorker::StartNested {
            request,
            id,
            tool: tool.to_owned(),
            arguments,
        });
    }

    fn next_of_nested(&self, id: u32) -> CallerFuture<String> {
        let reply = self.awaited(Query::NextOfNested { id });
        Box::pin(async move {
            match reply.await {
                Reply::Text(event) => event,
                Reply::Failed(why) | Reply::Refused(why) => json!({"failed": why}).to_string(),
                Reply::Flag(_) | Reply::Unknown => json!({"failed": ENDS}).to_string(),
            }
        })
    }

    fn cancel_nested(&self, id: u32) {
        self.host.send(&FromWorker::CancelNested { id });
    }

    fn session(&self) -> Result<String, String> {
        self.text(Query::Session)
    }

    fn is_idle(&self) -> Result<bool, String> {
        self.flag(Query::IsIdle)
    }

    fn has_queued_messages(&self) -> Result<bool, String> {
        self.flag(Query::HasQueuedMessages)
    }

    fn auto_approve(&self, request: u32) -> Option<bool> {
        match self.query(Query::AutoApprove { request }) {
            Reply::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    fn abort_agent(&self) -> Result<(), String> {
        self.flag(Query::AbortAgent).map(drop)
    }

    fn push_pending(&self, id: u32, label: &str) -> bool {
        let label = label.to_owned();
        let pushed = self.flag(Query::PushPending { id, label });
        pushed.unwrap_or_default()
    }

    fn pending_done(&self, id: u32) {
        self.host.send(&FromWorker::PendingDone { id });
    }
}

/// The replay of a test, which is in haft's process.
pub(crate) struct RemoteReplay(pub(crate) Arc<HostLink>);

impl Replay for RemoteReplay {
    fn play(&self, channel: ReplayChannel, request: &str) -> ReplayAnswer {
        let query = Query::PlayReplay {
            channel: channel.into(),
            request: request.to_owned(),
        };
        match self.0.query(query) {
            Reply::Text(answer) => ReplayAnswer::Answer(answer),
            Reply::Refused(why) | Reply::Failed(why) => ReplayAnswer::Nothing(why),
            Reply::Flag(_) | Reply::Unknown => ReplayAnswer::World,
        }
    }

    fn keep(&self, channel: ReplayChannel, request: &str, answer: &str) {
        self.0.host.send(&FromWorker::KeepReplay {
            channel: channel.into(),
            request: request.to_owned(),
            answer: answer.to_owned(),
        });
    }
}
