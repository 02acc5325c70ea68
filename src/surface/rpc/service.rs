//! The methods of the protocol: parse parameters, call the host, build the response.
//!
//! Steps that depend on the order of the messages run in [`Service::begin`], before the next line
//! is read. Examples are creating the host, logging a call and finding the call to cancel. The
//! other work runs later.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::calls::{self, CallParams, RunParams, SearchParams};
use super::initialize::{Initialize, Initialized};
use super::load_response::LoadedView;
use super::notifications::{Notifications, reloaded};
use super::outgoing::Outgoing;
use super::payload::{Answer, json, null, read};
use super::program::{Program, RegisteredView};
use super::render::{self, RenderParams};
use super::rpc_error::RpcError;
use super::ui::PeerUi;
use crate::audit::Caller;
use crate::code::CodeMode;
use crate::host::Host;
use crate::surface::json_rpc::{self, Id, Reply, Request};
use crate::surface::stdio::writer::Writer;
use crate::surface::wire::{self, Listing, ProblemView};
use haft_config::{Config, Flags};
use haft_tool::ErrorKind;
use haft_tool::{Call, CallerScope, ScanState, suggest};

const METHODS: [&str; 17] = [
    "initialize",
    "tools/list",
    "tools/refresh",
    "tools/status",
    "tools/load",
    "tools/validate",
    "tools/call",
    "tools/cancel",
    "tools/render",
    "tools/register",
    "code/run",
    "code/search",
    "program/update",
    "program/ask",
    "session/event",
    "ui/editorText",
    "shutdown",
];

/// Asynchronous work that ends with a response.
pub(super) type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// State of a request after its start.
pub(super) enum Work {
    Done(Answer),
    Later(Later),
    /// It is answered at the end of the program.
    AtTheEnd,
}

/// The conversation with one peer.
pub(super) struct Service {
    flags: Flags,
    host: Option<Host>,
    outgoing: Arc<Outgoing>,
    ui: Arc<PeerUi>,
    program: Arc<Program>,
    writer: Writer,
    /// True if files have to be watched as soon as the peer requests tools.
    watches: bool,
    told: Option<Notifications>,
    /// The tools that the peer sees.
    selection: Arc<CallerScope>,
    /// Code mode with these tools, made for the first script.
    code_mode: Option<Arc<CodeMode>>,
    /// True if the host belongs to another surface, which has configured it.
    is_attached: bool,
    has_initialized: bool,
    /// Resolves when the last session event so far has been delivered.
    last_event: oneshot::Receiver<()>,
    ending: bool,
    shutdown: Option<Id>,
}

#[derive(Deserialize)]
struct Load {
    paths: Vec<String>,
}

#[derive(Deserialize)]
struct Validate {
    name: String,
    arguments: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Refreshed {
    tools: usize,
    message: String,
}

#[derive(Serialize)]
struct Status {
    state: ScanState,
}

#[derive(Serialize)]
struct Validity {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Checks that the event is present; the host parses the whole.
#[derive(Deserialize)]
struct SessionEvent {
    #[serde(rename = "event")]
    _event: serde::de::IgnoredAny,
}

impl Service {
    pub(super) fn new(flags: Flags, watches: bool, writer: Writer) -> Self {
        let outgoing = Arc::new(Outgoing::new(writer.clone()));
        Service {
            flags,
            host: None,
            ui: Arc::new(PeerUi::new(outgoing.clone())),
            program: Arc::new(Program::new(outgoing.clone())),
            outgoing,
            writer,
            watches,
            told: None,
            selection: Arc::new(CallerScope::user()),
            code_mode: None,
            is_attached: false,
            has_initialized: false,
            last_event: oneshot::channel().1,
            ending: false,
            shutdown: None,
        }
    }

    /// Creates a conversation that uses the host of another surface.
    pub(super) fn attached(host: Host, writer: Writer) -> Self {
        Service {
            host: Some(host),
            is_attached: true,
            ..Service::new(Flags::default(), true, writer)
        }
    }

    /// Starts a request. Steps that depend on the order of the messages run here.
    pub(super) fn begin(&mut self, request: Request) -> Work {
        let Request { id, method, params } = request;
        let params = params.as_deref();
        if needs_tools(&method)
            && let Some(host) = &self.host
        {
            // The program does not register tools first, so its own request must not wait for it.
            host.expect_no_program_tools();
        }
        let begun = match method.as_str() {
            "initialize" => self.initialize(params).map(|answer| Work::Done(Ok(answer))),
            "tools/list" => self.list(),
            "tools/refresh" => self.refresh(),
            "tools/status" => self.status().map(|answer| Work::Done(Ok(answer))),
            "tools/load" => self.load(params),
            "tools/validate" => self.validate(params),
            "tools/call" => self.call(id.as_deref(), params),
            "tools/cancel" => {
                let cancelled = calls::cancel(self.host.as_ref(), params);
                cancelled.map(|answer| Work::Done(Ok(answer)))
            }
            "tools/render" => self.render(params),
            "tools/register" => self.register(params),
            "code/run" => self.run_code(id.as_deref(), params),
            "code/search" => self.search_tools(id.as_deref(), params),
            "program/update" => {
                let updated = self.program.update(params);
                updated.map(|answer| Work::Done(Ok(answer)))
            }
            "program/ask" => self.program.ask(params).and_then(later),
            "session/event" => self.session_event(params),
            "ui/editorText" => {
                let noted = self.ui.set_editor_text(params);
                noted.map(|answer| Work::Done(Ok(answer)))
            }
            "shutdown" => {
                self.ending = true;
                self.shutdown = id;
                Ok(Work::AtTheEnd)
            }
            other => Err(RpcError::no_method(other, suggest(other, METHODS))),
        };
        begun.unwrap_or_else(|rpc_error| Work::Done(Err(rpc_error)))
    }

    /// Delivers the peer's reply to the waiting request.
    pub(super) fn take_reply(&self, reply: Reply) {
        self.outgoing.take(reply);
    }

    /// Fails the request to the peer that an invalid message replies to, if it is a reply.
    pub(super) fn refuse_reply(&self, text: &str, why: &str) {
        if let Some(id) = json_rpc::id_of_reply(text) {
            let why = format!("the program's answer is invalid: {why}");
            self.outgoing.settle(Some(&id), Err(why));
        }
    }

    /// Fails all pending requests to the peer.
    pub(super) fn no_more_replies(&self) {
        self.outgoing.close();
    }

    /// Returns true if the peer has requested the end.
    pub(super) fn is_ending(&self) -> bool {
        self.ending
    }

    /// Returns the id of the `shutdown` request, which is answered at the end.
    pub(super) fn shutdown_id(&mut self) -> Option<Id> {
        self.shutdown.take()
    }

    /// Returns the host, if one was created.
    pub(super) fn host_if_any(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// Returns the host. Creates it with the defaults if `initialize` was not called.
    fn host(&mut self) -> Result<Host, RpcError> {
        if let Some(host) = &self.host {
            return Ok(host.clone());
        }
        let config = Config::resolve(self.flags.clone())?;
        let host = Host::new(config).recorded(Caller::parent("rpc"));
        host.keep_spare_worker();
        Ok(self.host.insert(host).clone())
    }

    fn initialize(&mut self, params: Option<&RawValue>) -> Answer {
        if self.has_initialized || (self.host.is_some() && !self.is_attached) {
            return Err(RpcError::already_initialized());
        }
        let mut asked: Initialize = read("initialize", params)?;
        let capabilities = asked.capabilities();
        let mut selection = CallerScope::user();
        let mut host = match &self.host {
            Some(host) => {
                asked.has_no_settings()?;
                host.clone()
            }
            None => {
                let wanted = asked.take_wanted();
                let config = Config::resolve(asked.over(self.flags.clone())?)?;
                selection = wanted.scope(&config.toolsets)?;
                let host = Host::new(config).recorded(Caller::parent("rpc"));
                host.keep_spare_worker();
                host.within(&selection)
            }
        };
        if capabilities.approval {
            host = host.asking(self.outgoing.clone());
        }
        if capabilities.ui {
            host = host.with_ui(self.ui.clone());
            if !self.is_attached {
                host.set_default_ui(Some(self.ui.clone()));
            }
        }
        self.has_initialized = true;
        self.selection = Arc::new(selection);
        self.code_mode = None;
        let host = self.host.insert(host);
        json(&Initialized::new(host.config()))
    }

    /// Returns the host and starts to watch its files, since the peer now knows its tools.
    fn watched_host(&mut self) -> Result<Host, RpcError> {
        let host = self.host()?;
        if self.watches && self.told.is_none() {
            let (selection, writer) = (self.selection.clone(), self.writer.clone());
            self.told = Some(if self.is_attached {
                // The other surface watches the files, if they are to be watched.
                Notifications::of_changes(&host, selection, writer)
            } else {
                Notifications::of_files(&host, selection, writer)
            });
        }
        Ok(host)
    }

    fn list(&mut self) -> Result<Work, RpcError> {
        let (host, selection) = (self.watched_host()?, self.selection.clone());
        later(async move {
            let catalog = host.catalog().await;
            json(&Listing::selected(&catalog, |name| {
                selection.allows_name(name)
            }))
        })
    }

    fn refresh(&mut self) -> Result<Work, RpcError> {
        let host = self.watched_host()?;
        later(async move {
            let catalog = host.refresh().await;
            let tools = catalog.usable();
            json(&Refreshed {
                tools,
                message: wire::refreshed(tools),
            })
        })
    }

    /// Replaces the peer's own tools. They count from the next message on; the response comes when
    /// the catalog has them.
    fn register(&mut self, params: Option<&RawValue>) -> Result<Work, RpcError> {
        let (tools, problems) = self.program.declared(params)?;
        let host = self.host()?;
        let registered = host.set_program_tools(tools, problems);
        // Attached peers are notified of all changes of the host.
        let writer = (self.told.is_some() && !self.is_attached).then(|| self.writer.clone());
        let selection = self.selection.clone();
        later(async move {
            let reload = host.show_program_tools().await;
            if let (Some(writer), Some(reload)) = (writer, reload) {
                reloaded(&writer, &selection, &reload);
            }
            json(&RegisteredView {
                tools: &registered.names,
                problems: registered.problems.iter().map(ProblemView::from).collect(),
            })
        })
    }

    /// Returns the state of the search without starting it: the peer wants to know if one has
    /// begun.
    fn status(&mut self) -> Answer {
        let host = self.host()?;
        let state = *host.scan_state().borrow();
        json(&Status { state })
    }

    fn load(&mut self, params: Option<&RawValue>) -> Result<Work, RpcError> {
        let Load { paths } = read("tools/load", params)?;
        let host = self.host()?;
        later(async move {
            let loaded = host.load_paths(&paths).await;
            json(&LoadedView::from(&loaded))
        })
    }

    fn validate(&mut self, params: Option<&RawValue>) -> Result<Work, RpcError> {
        let Validate { name, arguments } = read("tools/validate", params)?;
        let call = Call {
            id: "validate".into(),
            tool: name,
            arguments: arguments.unwrap_or_else(Call::no_arguments),
        };
        let host = self.host()?;
        later(async move {
            match host.validate(&call).await {
                Ok(()) => json(&Validity {
                    valid: true,
                    error: None,
                }),
                Err(error) if error.kind() == ErrorKind::BadArguments => json(&Validity {
                    valid: false,
                    error: Some(error.message().to_owned()),
                }),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn call(&mut self, id: Option<&RawValue>, params: Option<&RawValue>) -> Result<Work, RpcError> {
        let asked: CallParams = read("tools/call", params)?;
        let host = self.host()?;
        let running = calls::start(&host, asked, id, self.writer.clone())?;
        later(running)
    }

    /// Runs a script: a call of `run_code` by a handle that has this tool.
    fn run_code(
        &mut self,
        id: Option<&RawValue>,
        params: Option<&RawValue>,
    ) -> Result<Work, RpcError> {
        let asked: RunParams = read("code/run", params)?;
        let host = self.code_mode().on(&self.host()?);
        let running = calls::start(&host, asked.into_call(), id, self.writer.clone())?;
        later(running)
    }

    fn search_tools(
        &mut self,
        id: Option<&RawValue>,
        params: Option<&RawValue>,
    ) -> Result<Work, RpcError> {
        let asked: SearchParams = read("code/search", params)?;
        let host = self.code_mode().on(&self.host()?);
        let running = calls::start(&host, asked.into_call(), id, self.writer.clone())?;
        later(running)
    }

    /// Returns code mode with the tools that the peer sees.
    fn code_mode(&mut self) -> Arc<CodeMode> {
        let made = || CodeMode::new(CallerScope::clone(&self.selection));
        self.code_mode.get_or_insert_with(made).clone()
    }

    fn render(&mut self, params: Option<&RawValue>) -> Result<Work, RpcError> {
        let asked: RenderParams = read("tools/render", params)?;
        let host = self.host()?;
        later(render::render(host, asked))
    }

    /// Delivers an event to the tools. Events are delivered one after another, in the order in
    /// which they arrived.
    fn session_event(&mut self, params: Option<&RawValue>) -> Result<Work, RpcError> {
        let _: SessionEvent = read("session/event", params)?;
        let event = params.map_or_else(Call::no_arguments, ToOwned::to_owned);
        let host = self.host()?;
        let (delivered, last_event) = oneshot::channel();
        let before = std::mem::replace(&mut self.last_event, last_event);
        later(async move {
            // An error means that the event before was delivered and its sender dropped.
            let _ = before.await;
            host.session_event(&event).await;
            drop(delivered);
            Ok(null())
        })
    }
}

/// Returns true for methods whose answer depends on the tools.
fn needs_tools(method: &str) -> bool {
    let others = ["initialize", "tools/register", "tools/status"];
    METHODS.contains(&method) && !others.contains(&method)
}

/// Runs the work and converts a panic to an error response.
pub(super) async fn guarded(work: Later) -> Answer {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(answer) => answer,
        Err(panic) => Err(RpcError::internal(panic_text(panic.as_ref()))),
    }
}

fn later(work: impl Future<Output = Answer> + Send + 'static) -> Result<Work, RpcError> {
    Ok(Work::Later(Box::pin(work)))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a defect of haft: {}", text.unwrap_or("it panicked"))
}
