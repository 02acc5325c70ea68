//! The connection of an isolate to callers in the same process.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::value::RawValue;

use super::asking;
use super::caller_link::CallerLink;
use super::extension::{CallerFuture, Callers};
use super::isolate_state::IsolateState;
use super::load_trace::{AccessListener, LoadTrace};
use super::lock;
use super::nested_calls::NestedBridge;
use super::options::EngineOptions;
use super::permits::{GrantedNow, PermitStore};
use super::prompts::PromptBridge;
use super::services::ToolLog;
use super::telemetry;
use super::users::Users;
use super::widgets::WidgetBridge;
use haft_tool::{
    CurrentSession, LogLevel, LogLine, PermissionKind, Progress, ReplayChannel, SessionView,
    accesses,
};

/// The connection of an isolate to callers in the same process.
pub(super) struct LocalLink {
    shared: Arc<IsolateState>,
    prompts: PromptBridge,
    widgets: WidgetBridge,
    nested: NestedBridge,
    session: Arc<CurrentSession>,
    /// The view of the session that JavaScript has read last.
    session_read: Mutex<Option<Arc<SessionView>>>,
    log: Arc<dyn ToolLog>,
    permits: Option<Arc<dyn PermitStore>>,
    granted: Arc<GrantedNow>,
}

impl LocalLink {
    pub(super) fn new(shared: Arc<IsolateState>, options: &EngineOptions) -> LocalLink {
        let users = Users::new(shared.clone(), options.default_user.clone());
        LocalLink {
            session: options.session.clone(),
            session_read: Mutex::default(),
            prompts: PromptBridge::new(users.clone()),
            widgets: WidgetBridge::new(users),
            nested: NestedBridge::new(shared.clone()),
            shared,
            log: options.log.clone(),
            permits: options.permits.clone(),
            granted: options.granted.clone(),
        }
    }

    /// Does the same as [`CallerLink::ask_permission`] without a thread that waits.
    pub(super) fn permission(&self, kind: PermissionKind, what: &str) -> BoxFuture<'static, bool> {
        let (store, granted) = (self.permits.clone(), self.granted.clone());
        asking::ask(&self.shared, kind, what.to_owned(), store, granted)
    }

    /// Returns the state of the isolate.
    pub(super) fn shared(&self) -> &Arc<IsolateState> {
        &self.shared
    }
}

impl AccessListener for LocalLink {
    fn accessed(&self, kind: PermissionKind, what: &str) {
        // A worker reports accesses, too, and only that of the recorded tool may.
        if self.shared.key.permissions.is_recorded {
            accesses::record(kind, what);
        }
    }

    fn host_connected(&self, target: &str) {
        // The runtime does not report which call it was, so a trace may contain too much, never too
        // little.
        for trace in self.shared.requests.traces() {
            trace.connects(target);
        }
    }
}

impl CallerLink for LocalLink {
    fn update(&self, id: u32, text: String) {
        if let Some(updates) = self.shared.requests.updates(id)
            && let Ok(partial) = RawValue::from_string(text)
        {
            updates.send(Progress::Partial(partial));
        }
    }

    fn load_traced(&self, id: u32, trace: LoadTrace) {
        self.shared.witnessed(id, trace);
    }

    fn built_ins_changed(&self, module: u32, what: &str) {
        if self.shared.require_own_isolate(module) {
            let message =
                format!("a module changed {what}: from now on it has an isolate for itself");
            self.log(0, LogLevel::Warn, "", &message, "");
        }
    }

    fn shared_state_changed(&self) {
        let has_shared_state = &self.shared.has_shared_state;
        has_shared_state.store(true, Ordering::Relaxed);
    }

    fn program_started(&self, call: u32, program: &str) {
        if let Some(trace) = self.shared.requests.trace(call) {
            trace.starts(program);
        }
    }

    fn recorded(&self, call: u32, channel: ReplayChannel, request: &str, answer: &str) {
        if let Some(recording) = self.shared.requests.recording(call) {
            recording.keep(channel, request, answer);
        }
    }

    fn ask_permission(&self, kind: PermissionKind, what: &str) -> bool {
        asking::wait(self.permission(kind, what))
    }

    fn log(&self, request: u32, level: LogLevel, tool: &str, message: &str, context: &str) {
        self.log
            .log(self.shared.key.domain, level, tool, message, context);
        if telemetry::is_on() {
            let span = self.shared.requests.span(request);
            telemetry::log(level, tool, message, span.as_ref());
        }
        if let Some(listener) = self.shared.requests.log(request) {
            listener.hear(LogLine {
                level,
                tool: tool.to_owned(),
                message: message.to_owned(),
                context: RawValue::from_string(context.to_owned()).ok(),
            });
        }
    }

    fn waits_for_debugger(&self, waits: bool) {
        if let Some(target) = &self.shared.target {
            target.set_waiting(waits);
        }
    }
}

impl Callers for LocalLink {
    fn has_user(&self, request: u32, owner: &str) -> bool {
        self.prompts.has_user(request, owner)
    }

    fn ask_user(
        &self,
        request: u32,
        owner: &str,
        id: u32,
        question: String,
    ) -> CallerFuture<Result<String, String>> {
        self.prompts.ask(request, owner, id, question)
    }

    fn withdraw_question(&self, id: u32) {
        self.prompts.withdraw(id);
        self.widgets.withdraw(id);
    }

    fn tell_user(&self, request: u32, owner: &str, notice: &str) {
        self.prompts.tell(request, owner, notice);
    }

    fn editor_text(&self, request: u32, owner: &str) -> String {
        self.prompts.editor_text(request, owner)
    }

    fn canvas(&self, request: u32, owner: &str) -> String {
        self.widgets.canvas(request, owner)
    }

    fn show(&self, request: u32, owner: &str, id: u32) -> CallerFuture<Result<(), String>> {
        self.widgets.show(request, owner, id)
    }

    fn next_touch(&self, id: u32) -> CallerFuture<String> {
        self.widgets.next_touch(id)
    }

    fn paint(&self, id: u32, lines: String) {
        self.widgets.paint(id, lines);
    }

    fn start_nested(&self, request: u32, id: u32, tool: &str, arguments: String) {
        self.nested.start(request, id, tool, arguments);
    }

    fn next_of_nested(&self, id: u32) -> CallerFuture<String> {
        self.nested.next(id)
    }

    fn cancel_nested(&self, id: u32) {
        self.nested.cancel(id);
    }

    fn session(&self) -> Result<String, String> {
        let view = self.session.view()?;
        let mut read = lock(&self.session_read);
        if read.as_ref().is_some_and(|read| Arc::ptr_eq(read, &view)) {
            return Ok(String::new());
        }
        let json = view.json().to_owned();
        *read = Some(view);
        Ok(json)
    }

    fn is_idle(&self) -> Result<bool, String> {
        let idle = self.session.ask(|session| session.is_idle())?;
        Ok(idle.unwrap_or_default())
    }

    fn has_queued_messages(&self) -> Result<bool, String> {
        let queued = self.session.ask(|session| session.has_queued_messages())?;
        Ok(queued.unwrap_or_default())
    }

    fn auto_approve(&self, request: u32) -> Option<bool> {
        self.shared.requests.auto_approve(request)
    }

    fn abort_agent(&self) -> Result<(), String> {
        self.session.ask(|session| session.abort()).map(drop)
    }

    fn push_pending(&self, id: u32, label: &str) -> bool {
        let pending = self.shared.pending.as_ref();
        pending.is_some_and(|pending| pending.push(id, label))
    }

    fn pending_done(&self, id: u32) {
        if let Some(pending) = &self.shared.pending {
            pending.done(id);
        }
    }
}
