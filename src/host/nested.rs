//! Calls that a tool makes of other tools, as parts of its own call (`ctx.executeTool` of pi).
//!
//! Each is a call of the host: validated, approved, logged with its parent, with the tool's own
//! rights and trust. It is cancelled with the call that it is a part of. No user has seen it, so its
//! policy is that of the calls of a script, and a tool cannot use another one to do more than it may
//! do itself: then the user is asked about each call.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Host;
use super::call_log::CallEntry;
use crate::registry::Entry;
use haft_tool::{
    Answer, ApprovalMode, ApprovalPolicy, ApprovalRequest, Approver, Call, Cancellation, Decision,
    Event, NestedCalls, NotificationFrom, Outcome, Question, Stopped, Updates, UserInterface,
    Widget, WidgetSurface, queue,
};
use haft_tool::{Error, ErrorKind};

/// Number of calls that are parts of one call.
const MAX_CALLS: u32 = 256;
/// Number of them that run at once; others wait.
const MAX_RUNNING: usize = 32;
/// Depth of calls that are parts of others.
const MAX_DEPTH: u32 = 8;
/// Number of updates that wait for the calling tool; others are dropped.
const MAX_WAITING_UPDATES: usize = 256;

/// The calls that are parts of one running call.
pub(super) struct PartsOfCall {
    host: Host,
    /// Id of the call, and its tool.
    id: String,
    caller: Arc<Entry>,
    cancellation: Cancellation,
    updates: Updates,
    made: AtomicU32,
    running: Arc<Semaphore>,
    runtime: Handle,
    /// Cancelled when the call has ended.
    ended: CancellationToken,
    _end: DropGuard,
}

/// One call that is a part of another.
struct Part {
    host: Host,
    caller: Arc<Entry>,
    call: Call,
    running: Arc<Semaphore>,
    cancellation: Cancellation,
    of_caller: Cancellation,
    caller_has_ended: CancellationToken,
}

impl PartsOfCall {
    /// Returns what starts the parts of the call `id` of `caller`; `None` without a runtime.
    pub(super) fn of(
        host: &Host,
        id: &str,
        caller: &Arc<Entry>,
        cancellation: &Cancellation,
        updates: &Updates,
    ) -> Option<Arc<dyn NestedCalls>> {
        let ended = CancellationToken::new();
        Some(Arc::new(PartsOfCall {
            host: host.clone(),
            id: id.to_owned(),
            caller: caller.clone(),
            cancellation: cancellation.clone(),
            updates: updates.clone(),
            made: AtomicU32::new(0),
            running: Arc::new(Semaphore::new(MAX_RUNNING)),
            runtime: Handle::try_current().ok()?,
            _end: ended.clone().drop_guard(),
            ended,
        }))
    }

    /// Returns the handle of the host for the parts.
    fn host(&self) -> Host {
        let ui = self.host.user_interface();
        let mut host = self.host.with_parent(&self.id).with_text_limit(0);
        host.options.depth += 1;
        host.options.recording = None;
        if let Some(approver) = self.host.approver() {
            host = host.asking(Arc::new(NestedApprover {
                approver,
                id: self.id.clone(),
                caller: self.caller.tool.name.clone(),
                updates: self.updates.clone(),
            }));
        }
        match ui {
            Some(user) => host.with_ui(NestedUser::new(user, &self.id, &self.updates)),
            None => host,
        }
    }

    /// Returns the part with the number `number`.
    fn part(
        &self,
        number: u32,
        tool: &str,
        arguments: Box<RawValue>,
        cancellation: Cancellation,
    ) -> Result<Part, Error> {
        let refused = |text: String| Err(Error::new(ErrorKind::Usage, text));
        if number > MAX_CALLS {
            return refused(format!(
                "a call may make {MAX_CALLS} calls, and this is one more"
            ));
        }
        if self.host.options.depth >= MAX_DEPTH {
            return refused(format!(
                "calls may be parts of calls {MAX_DEPTH} times, and this is once more"
            ));
        }
        Ok(Part {
            host: self.host(),
            caller: self.caller.clone(),
            call: Call {
                id: format!("{}.{number}", self.id),
                tool: tool.to_owned(),
                arguments,
            },
            running: self.running.clone(),
            cancellation,
            of_caller: self.cancellation.clone(),
            caller_has_ended: self.ended.clone(),
        })
    }
}

impl NestedCalls for PartsOfCall {
    fn call(
        &self,
        tool: &str,
        arguments: Box<RawValue>,
        cancellation: Cancellation,
    ) -> queue::Receiver<Event> {
        if let Some(recording) = &self.host.options.recording {
            recording.cannot_repeat(&format!("it called the tool `{tool}`"));
        }
        let (sender, receiver) = queue::channel();
        let number = self.made.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        match self.part(number, tool, arguments, cancellation) {
            Ok(part) => {
                self.runtime.spawn(async move {
                    let ended = part.run(&sender).await;
                    sender.send(Event::Finished(ended));
                });
            }
            Err(error) => sender.send(Event::Finished(Err(error))),
        }
        receiver
    }
}

impl fmt::Debug for PartsOfCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartsOfCall")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Part {
    /// Returns the policy of the call. The module could call its own functions without haft, so that a
    /// question about them would protect nothing; what the user denies stays denied.
    fn policy(&self, tool: &Entry) -> ApprovalPolicy {
        let policy = self.host.approval_policy();
        if are_of_one_module(tool, &self.caller) {
            return ApprovalPolicy {
                mode: ApprovalMode::Yolo,
                is_chosen: true,
                is_named: true,
                ..policy.clone()
            };
        }
        ApprovalPolicy {
            asks_always: does_more(tool, &self.caller),
            ..policy.for_unseen_calls()
        }
    }

    /// Runs the call to its end.
    async fn run(self, events: &queue::Sender<Event>) -> Result<Outcome, Error> {
        let stopped = async {
            tokio::select! {
                () = self.caller_has_ended.cancelled() => Stopped::Cancelled,
                () = self.of_caller.requested() => self.of_caller.reason().unwrap_or(Stopped::Cancelled),
                () = self.cancellation.requested() => Stopped::Cancelled,
            }
        };
        tokio::pin!(stopped);
        let prepared = async {
            // The semaphore is never closed.
            let permit = self.running.acquire().await.ok();
            let entry = self.host.entry(&self.call.tool).await?;
            Ok::<_, Error>((permit, entry))
        };
        let (_permit, entry) = tokio::select! {
            biased;
            why = &mut stopped => return Ok(Outcome::not_started(why)),
            prepared = prepared => prepared?,
        };
        let policy = self.policy(&entry);
        let host = self.host.with_approval(policy);
        let of_part = Cancellation::default();
        let logged = CallEntry::begin(&host, &self.call, &of_part);
        let mut running = host.start(self.call, None, Some(entry), logged);
        let mut is_stopped = false;
        loop {
            tokio::select! {
                biased;
                why = &mut stopped, if !is_stopped => {
                    is_stopped = true;
                    of_part.request(why);
                }
                event = running.next_event() => match event {
                    Event::Finished(ended) => return ended,
                    event => events.send_within(MAX_WAITING_UPDATES, event),
                },
            }
        }
    }
}

/// Returns true if both tools are functions of the same module.
fn are_of_one_module(tool: &Entry, caller: &Entry) -> bool {
    tool.tool.source.family == caller.tool.source.family
        && tool.resolved_path == caller.resolved_path
}

/// Returns true if `tool` may do something that `caller` may not do itself.
fn does_more(tool: &Entry, caller: &Entry) -> bool {
    if tool.tool.approval > caller.tool.approval {
        return true;
    }
    // A tool without rights of its own runs as a part of haft.
    match (caller.rights(), tool.rights()) {
        (None, _) => false,
        (Some(caller), None) => !caller.are_complete(),
        (Some(caller), Some(tool)) => !caller.contain(&tool),
    }
}

/// Approver of the parts of a call. The caller knows the id of the call itself only.
struct NestedApprover {
    approver: Arc<dyn Approver>,
    id: String,
    caller: String,
    updates: Updates,
}

#[async_trait]
impl Approver for NestedApprover {
    async fn ask(&self, mut request: ApprovalRequest) -> Decision {
        request.call_id.clone_from(&self.id);
        request.caller = Some(self.caller.clone());
        let _held = self.updates.hold_clock();
        self.approver.ask(request).await
    }
}

/// User interface of calls that are parts of another call: that of the other one, whose deadline
/// stands still while the user is asked.
pub(crate) struct NestedUser {
    user: Arc<dyn UserInterface>,
    /// Id of the other call, which the caller knows.
    id: String,
    updates: Updates,
}

impl NestedUser {
    pub(crate) fn new(
        user: Arc<dyn UserInterface>,
        id: &str,
        updates: &Updates,
    ) -> Arc<NestedUser> {
        Arc::new(NestedUser {
            user,
            id: id.to_owned(),
            updates: updates.clone(),
        })
    }
}

#[async_trait]
impl UserInterface for NestedUser {
    fn has_user(&self) -> bool {
        self.user.has_user()
    }

    async fn ask(&self, mut question: Question) -> Answer {
        question.from.call_id = Some(self.id.clone());
        let _held = self.updates.hold_clock();
        self.user.ask(question).await
    }

    fn tell(&self, mut notice: NotificationFrom) {
        notice.from.call_id = Some(self.id.clone());
        self.user.tell(notice);
    }

    fn editor_text(&self) -> String {
        self.user.editor_text()
    }

    fn canvas(&self) -> Option<WidgetSurface> {
        self.user.canvas()
    }

    async fn show(&self, widget: Widget) {
        let _held = self.updates.hold_clock();
        self.user.show(widget).await;
    }
}
