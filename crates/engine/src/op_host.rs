//! Host side of one isolate's ops: starts programs, checks code, and passes the rest to the callers
//! through the [`HostLink`].

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use deno_runtime::deno_permissions::PermissionsContainer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::extension::{self, Callers, ExecFuture, IsolateHost, Refusal, ReplyKind};
use super::loader::Required;
use super::messages::Answer;
use super::schema_check::SchemaChecker;
use super::verify::{CodeFrom, Verifier};
use super::worker::{HostLink, WorkerState};
use super::{EngineOptions, Programs, access_prompter, load_trace, render_guard};
use haft_process::{files_of_command, files_of_entry};
use haft_tool::{AccessTarget, LogLevel, PermissionKind, Replay, ReplayAnswer, ReplayChannel};

/// The [`IsolateHost`] of one isolate.
pub(super) struct OpHost {
    state: Arc<WorkerState>,
    link: Arc<HostLink>,
    loading: RefCell<HashSet<u32>>,
    /// The requests whose tools have started in this turn.
    started: RefCell<Vec<u32>>,
    execs: Rc<RefCell<HashMap<u32, CancellationToken>>>,
    schemas: SchemaChecker,
    required: OnceCell<Required>,
    most_bytes_of_a_file: u64,
    programs: Arc<dyn Programs>,
    verifier: Option<Arc<Verifier>>,
    tape: Option<Arc<dyn Replay>>,
}

impl OpHost {
    pub(super) fn new(
        state: Arc<WorkerState>,
        link: Arc<HostLink>,
        options: &EngineOptions,
    ) -> Self {
        OpHost {
            verifier: options.verifier_of(state.key.domain).cloned(),
            state,
            link,
            loading: RefCell::default(),
            started: RefCell::default(),
            execs: Rc::default(),
            schemas: SchemaChecker::default(),
            required: OnceCell::new(),
            most_bytes_of_a_file: options.most_bytes_of_a_file(),
            programs: options.programs.clone(),
            tape: options.tape.clone(),
        }
    }

    /// Sets the resolver of `require`; once.
    pub(super) fn finds_required(&self, required: Required) {
        // A second resolver would be the same.
        let _ = self.required.set(required);
    }

    /// Marks that the request `id` loads the module at `url`; see [`IsolateHost::is_loading`].
    pub(super) fn loading(&self, id: u32, url: &str) {
        let entry = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
        if let (Some(entry), Some(required)) = (entry, self.required.get()) {
            required.admit(&entry);
        }
        self.loading.borrow_mut().insert(id);
        load_trace::load_begins();
    }

    /// Reports which tools have started and still run; called at the end of each turn.
    pub(super) fn tell_starts(&self) {
        for id in self.started.borrow_mut().drain(..) {
            self.state.requests.tell_start(id);
        }
    }

    /// Answers a render request that was interrupted.
    pub(super) fn drawing_was_interrupted(&self, id: u32) {
        let answer = Answer::Failed(render_guard::NEVER_ENDS.to_owned());
        self.state.requests.answer(id, answer);
    }

    /// Returns the verifier of the isolate's code; `None` if the code is the user's own.
    pub(super) fn verifier(&self) -> Option<&Arc<Verifier>> {
        self.verifier.as_ref()
    }

    /// Stops the programs that still run.
    pub(super) fn stop_programs(&self) {
        for (_, running) in self.execs.borrow_mut().drain() {
            running.cancel();
        }
    }

    /// Logs an error that belongs to no call.
    pub(super) fn report(&self, message: &str) {
        self.link.log(0, LogLevel::Warn, "", message, "");
    }
}

/// The part of a `pi.exec` request that the trace of a call records.
#[derive(Deserialize)]
struct Program {
    command: String,
}

impl IsolateHost for OpHost {
    fn callers(&self) -> &dyn Callers {
        &*self.link
    }

    fn is_es_module(&self, path: &str) -> bool {
        let required = self.required.get();
        required.is_some_and(|required| required.is_es_module(Path::new(path)))
    }

    fn is_verified(&self) -> bool {
        self.verifier.is_some()
    }

    fn check_required(&self, code: &str) -> Result<(), Refusal> {
        self.verifier()
            .map_or(Ok(()), |verifier| verifier.check_required(code))
    }

    fn check_text(&self, text: &str) -> Result<(), Refusal> {
        self.verifier()
            .map_or(Ok(()), |verifier| verifier.check_text(text, CodeFrom::Text))
    }

    fn note_data(&self, path: &Path, bytes: &[u8]) {
        if let Some(verifier) = self.verifier() {
            verifier.note_data(path, bytes);
        }
    }

    fn check_native(&self, path: &str) -> Result<(), Refusal> {
        self.verifier()
            .map_or(Ok(()), |verifier| verifier.check_file(Path::new(path)))
    }

    fn check_wasm(&self, bytes: &[u8], url: &str) -> Result<(), Refusal> {
        let path = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
        let path = path.map(|path| std::fs::canonicalize(&path).unwrap_or(path));
        self.verifier().map_or(Ok(()), |verifier| {
            verifier.check_wasm(bytes, path.as_deref())
        })
    }

    fn noticed_symbol(&self) {
        load_trace::registers_symbol();
    }

    fn require_failed(&self, specifier: &str) {
        load_trace::require_failed(specifier);
    }

    fn find_required(&self, specifier: &str, from: &str) -> Option<String> {
        let found = self.required.get()?.find(specifier, Path::new(from));
        found?.into_os_string().into_string().ok()
    }

    fn find_provided(&self, specifier: &str, from: &str) -> Option<String> {
        self.required.get()?.provided(specifier, Path::new(from))
    }

    fn reply(&self, id: u32, kind: ReplyKind, text: String) {
        if kind == ReplyKind::Update {
            return self.link.update(id, text);
        }
        if self.state.is_ending() {
            // An exception that a built-in throws during termination is not the tool's answer.
            return;
        }
        if self.loading.borrow_mut().remove(&id) {
            self.link.load_traced(id, load_trace::load_ended());
        }
        let answer = match kind {
            ReplyKind::Done | ReplyKind::Update => Answer::Done(text),
            ReplyKind::Refused => Answer::Refused(text),
            ReplyKind::Failed => Answer::Failed(text),
        };
        self.state.requests.answer(id, answer);
    }

    fn restored_permissions(&self) -> Option<PermissionsContainer> {
        access_prompter::restored_permissions()
    }

    fn start(&self, id: u32) -> bool {
        let starts = self.state.requests.start(id);
        if starts {
            self.started.borrow_mut().push(id);
        }
        starts
    }

    fn built_ins_changed(&self, module: u32, what: &str) {
        load_trace::mark_side_effects("it changes built-in functions");
        self.link.built_ins_changed(module, what);
    }

    fn exec(&self, id: u32, call: u32, request: String) -> ExecFuture {
        load_trace::mark_uncacheable("it starts programs");
        let mut permissions = self.state.key.permissions.clone();
        if let Ok(Program { command }) = serde_json::from_str(&request) {
            if access_prompter::is_program_refused(&permissions, &command)
                && self.link.ask_permission(PermissionKind::Run, &command)
            {
                let permissions = Arc::make_mut(&mut permissions);
                permissions.grant(PermissionKind::Run, &command);
                permissions.resolve_entries(&files_of_entry);
            }
            load_trace::record_access(PermissionKind::Run, &command);
            self.link.program_started(call, &command);
        }
        let cancel = CancellationToken::new();
        self.execs.borrow_mut().insert(id, cancel.clone());
        let running = self.programs.exec(request, &permissions, cancel);
        let execs = self.execs.clone();
        Box::pin(async move {
            let answer = running.await;
            execs.borrow_mut().remove(&id);
            answer
        })
    }

    fn shows_variables(&self) -> bool {
        !self.state.key.permissions.env.is_bounded()
    }

    fn shows_variable(&self, name: &str) -> bool {
        let permissions = &self.state.key.permissions;
        permissions.grants(PermissionKind::Env, name)
    }

    fn abort_exec(&self, id: u32) {
        if let Some(running) = self.execs.borrow().get(&id) {
            running.cancel();
        }
    }

    fn starts_program(&self, call: u32, program: &str) {
        load_trace::mark_uncacheable("it starts programs");
        self.link.program_started(call, program);
        self.programs.starts_by(self.state.thread_id());
    }

    fn check_program(&self, program: &str, folder: &Path, path: &str) -> Result<(), String> {
        let permissions = &self.state.key.permissions;
        if permissions.run.denied().is_empty() {
            // Then Deno's own check decides: it compares the file, and follows no link.
            return Ok(());
        }
        let inherited = haft_process::inherited("PATH").unwrap_or_default();
        let path = if path.is_empty() { &inherited } else { path };
        let folder = std::env::current_dir().unwrap_or_default().join(folder);
        let files = files_of_command(program, Some(OsStr::new(path)), &folder);
        let decision = permissions.decide(PermissionKind::Run, AccessTarget::Program(&files));
        if decision.is_denied() {
            return Err(permissions.refusal(PermissionKind::Run, program));
        }
        Ok(())
    }

    fn release_program(&self, pid: i32) {
        self.programs.release(pid);
    }

    fn check_schema(&self, schema: &str, value: &str) -> String {
        self.schemas.check(schema, value)
    }

    fn log(
        &self,
        request: u32,
        level: extension::LogLevel,
        tool: &str,
        message: &str,
        context: &str,
    ) {
        self.link
            .log(request, LogLevel::from(level), tool, message, context);
    }

    fn send_signal(&self, pid: i32, signal: i32) -> i32 {
        let signal = match signal {
            0 => None,
            number => match Signal::try_from(number) {
                Ok(signal) => Some(signal),
                Err(error) => return error as i32,
            },
        };
        kill(Pid::from_raw(pid), signal).map_or_else(|error| error as i32, |()| 0)
    }

    fn signal_number(&self, name: &str) -> Option<i32> {
        Signal::from_str(name).ok().map(|signal| signal as i32)
    }

    fn most_bytes_of_a_file(&self) -> u64 {
        self.most_bytes_of_a_file
    }

    fn noticed(&self, what: &str, is_trace: bool) {
        if is_trace {
            load_trace::mark_side_effects(what)
        } else {
            load_trace::mark_uncacheable(what)
        }
    }

    fn tape_play(&self, request: &str) -> String {
        let played = self
            .tape
            .as_ref()
            .map(|tape| tape.play(ReplayChannel::Fetch, request));
        match played {
            None | Some(ReplayAnswer::World) => String::new(),
            Some(ReplayAnswer::Answer(answer)) => answer,
            Some(ReplayAnswer::Nothing(why)) => serde_json::json!({ "refused": why }).to_string(),
        }
    }

    fn tape_keep(&self, request: &str, answer: &str) {
        if let Some(tape) = &self.tape {
            tape.keep(ReplayChannel::Fetch, request, answer);
        }
    }

    fn record(&self, call: u32, channel: extension::Channel, request: &str, answer: &str) {
        let channel = match channel {
            extension::Channel::Exec => ReplayChannel::Exec,
            extension::Channel::Fetch => ReplayChannel::Fetch,
        };
        self.link.recorded(call, channel, request, answer);
    }

    fn is_loading(&self) -> bool {
        !self.loading.borrow().is_empty()
    }
}

impl From<extension::LogLevel> for LogLevel {
    fn from(level: extension::LogLevel) -> LogLevel {
        match level {
            extension::LogLevel::Debug => LogLevel::Debug,
            extension::LogLevel::Info => LogLevel::Info,
            extension::LogLevel::Warn => LogLevel::Warn,
            extension::LogLevel::Error => LogLevel::Error,
        }
    }
}
