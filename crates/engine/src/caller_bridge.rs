//! Serves the isolate of a worker process what it needs of the callers of its tools: their updates,
//! users, logs, sessions and further calls.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::value::RawValue;

use super::asking;
use super::isolate_state::IsolateState;
use super::load_inputs::LoadTrace;
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

/// The callers of the tools of one isolate.
pub(super) struct CallerBridge {
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

impl CallerBridge {
    pub(super) fn new(shared: Arc<IsolateState>, options: &EngineOptions) -> CallerBridge {
        let users = Users::new(shared.clone(), options.default_user.clone());
        CallerBridge {
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

    /// Asks the user whether the running calls may access `what`.
    pub(super) fn ask_permission(
        &self,
        kind: PermissionKind,
        what: &str,
    ) -> BoxFuture<'static, bool> {
        let (store, granted) = (self.permits.clone(), self.granted.clone());
        asking::ask(&self.shared, kind, what.to_owned(), store, granted)
    }

    /// Records an access of the tool that `haft permit --record` runs.
    pub(super) fn accessed(&self, kind: PermissionKind, what: &str) {
        // A worker reports accesses, too, and only that of the recorded tool may.
        if self.shared.key.permissions.is_recorded {
            accesses::record(kind, what);
        }
    }

    /// Records a host that one of the running calls connects to.
    pub(super) fn host_connected(&self, target: &str) {
        // The runtime does not report which call it was, so a trace may contain too much, never too
        // little.
        for trace in self.shared.requests.traces() {
            trace.connects(target);
        }
    }

    pub(super) fn update(&self, id: u32, text: String) {
        if let Some(updates) = self.shared.requests.updates(id)
            && let Ok(partial) = RawValue::from_string(text)
        {
            updates.send(Progress::Partial(partial));
        }
    }

    pub(super) fn load_traced(&self, id: u32, trace: LoadTrace) {
        self.shared.witnessed(id, trace);
    }

    pub(super) fn built_ins_changed(&self, module: u32, what: &str) {
        if self.shared.require_own_isolate(module) {
            let message =
                format!("a module changed {what}: from now on it has an isolate for itself");
            self.log(0, LogLevel::Warn, "", &message, "");
        }
    }

    pub(super) fn program_started(&self, call: u32, program: &str) {
        if let Some(trace) = self.shared.requests.trace(call) {
            trace.starts(program);
        }
    }

    pub(super) fn recorded(&self, call: u32, channel: ReplayChannel, request: &str, answer: &str) {
        if let Some(recording) = self.shared.requests.recording(call) {
            recording.keep(channel, request, answer);
        }
    }

    pub(super) fn log(
        &self,
        request: u32,
        level: LogLevel,
        tool: &str,
        message: &str,
        context: &str,
    ) {
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

    pub(super) fn waits_for_debugger(&self, waits: bool) {
        if let Some(target) = &self.shared.target {
            target.set_waiting(waits);
        }
    }

    pub(super) fn has_user(&self, request: u32, owner: &str) -> bool {
        self.prompts.has_user(request, owner)
    }

    pub(super) fn ask_user(
        &self,
        request: u32,
        owner: &str,
        id: u32,
        question: String,
    ) -> BoxFuture<'static, Result<String, String>> {
        self.prompts.ask(request, owner, id, question)
    }

    pub(super) fn withdraw_question(&self, id: u32) {
        self.prompts.withdraw(id);
        self.widgets.withdraw(id);
    }

    pub(super) fn tell_user(&self, request: u32, owner: &str, notice: &str) {
        self.prompts.tell(request, owner, notice);
    }

    pub(super) fn editor_text(&self, request: u32, owner: &str) -> String {
        self.prompts.editor_text(request, owner)
    }

    pub(super) fn canvas(&self, request: u32, owner: &str) -> String {
        self.widgets.canvas(request, owner)
    }

    pub(super) fn show(
        &self,
        request: u32,
        owner: &str,
        id: u32,
    ) -> BoxFuture<'static, Result<(), String>> {
        self.widgets.show(request, owner, id)
    }

    pub(super) fn next_touch(&self, id: u32) -> BoxFuture<'static, String> {
        self.widgets.next_touch(id)
    }

    pub(super) fn paint(&self, id: u32, lines: String) {
        self.widgets.paint(id, lines);
    }

    pub(super) fn start_nested(&self, request: u32, id: u32, tool: &str, arguments: String) {
        self.nested.start(request, id, tool, arguments);
    }

    pub(super) fn next_of_nested(&self, id: u32) -> BoxFuture<'static, String> {
        self.nested.next(id)
    }

    pub(super) fn cancel_nested(&self, id: u32) {
        self.nested.cancel(id);
    }

    pub(super) fn session(&self) -> Result<String, String> {
        let view = self.session.view()?;
        let mut read = lock(&self.session_read);
        if read.as_ref().is_some_and(|read| Arc::ptr_eq(read, &view)) {
            return Ok(String::new());
        }
        let json = view.json().to_owned();
        *read = Some(view);
        Ok(json)
    }

    pub(super) fn is_idle(&self) -> Result<bool, String> {
        let idle = self.session.ask(|session| session.is_idle())?;
        Ok(idle.unwrap_or_default())
    }

    pub(super) fn has_queued_messages(&self) -> Result<bool, String> {
        let queued = self.session.ask(|session| session.has_queued_messages())?;
        Ok(queued.unwrap_or_default())
    }

    pub(super) fn auto_approve(&self, request: u32) -> Option<bool> {
        self.shared.requests.auto_approve(request)
    }

    pub(super) fn abort_agent(&self) -> Result<(), String> {
        self.session.ask(|session| session.abort()).map(drop)
    }

    pub(super) fn push_pending(&self, id: u32, label: &str) -> bool {
        self.shared.pending.push(id, label)
    }

    pub(super) fn pending_done(&self, id: u32) {
        self.shared.pending.done(id);
    }
}
