//! State of the repl: its host, its session, its approval rules, and the steps of every line.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Args;
use super::approving::Approving;
use super::arguments;
use super::completion_data::Known;
use super::notifications::News;
use super::session::Conversation;
use crate::code::{CodeMode, RUN_CODE};
use crate::host::{Host, Reload};
use crate::registry::Catalog;
use crate::surface::cli::call_session::folder;
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{Failure, SUCCESS};
use crate::surface::cli::run_call::{CallOptions, Called};
use crate::surface::cli::{progress, watch};
use crate::surface::terminal::say;
use haft_render::{problem, units};
use haft_tool::{Call, SessionEvent, Stopped, TerminalText, terminal_text};
use haft_tool::{Error, ErrorKind};

/// Timeout for tools that handle the end of the session.
const FAREWELL: Duration = Duration::from_millis(500);

/// A running repl.
pub(super) struct Shell<'s, 'o> {
    pub(super) session: &'s mut CommandContext<'o>,
    pub(super) known: Arc<Known>,
    pub(super) conversation: Conversation,
    pub(super) approving: Approving,
    pub(super) news: News,
    manner: CallOptions,
    has_terminal: bool,
    /// Task that loads the tools, while it runs.
    loading: Option<JoinHandle<Arc<Catalog>>>,
    /// Value of [`CommandContext::renewals`] for the host in use.
    renewal: u32,
    /// True if a line has failed.
    pub(super) has_failed: bool,
    has_greeted: bool,
}

/// Event between two lines.
pub(super) enum Happening {
    /// A signal that asks haft to end, or Ctrl-C outside of a line.
    Signal,
    /// The tools have been loaded.
    Loaded(Arc<Catalog>),
    /// Files have changed and been reloaded.
    Reload(Arc<Reload>),
}

impl<'s, 'o> Shell<'s, 'o> {
    /// Starts to load the tools, without waiting for them.
    pub(super) fn start(
        args: &Args,
        manner: CallOptions,
        has_terminal: bool,
        session: &'s mut CommandContext<'o>,
    ) -> Result<Self, Error> {
        let config = session.host.config();
        let (name, from) = (args.session.as_deref(), args.from.as_deref());
        let conversation = Conversation::open(name, from, config, session.err)?;
        let mut shell = Shell {
            known: Arc::default(),
            approving: Approving::new(&config.approval),
            conversation,
            news: News::none(),
            manner,
            has_terminal,
            loading: None,
            renewal: session.renewals,
            has_failed: false,
            has_greeted: !has_terminal,
            session,
        };
        shell.attach();
        Ok(shell)
    }

    /// Connects the session, the watcher and the rules to the current host.
    fn attach(&mut self) {
        let host = self.session.host.clone();
        self.conversation.kept.attach(&host);
        if self.has_terminal {
            self.news = News::of(&host);
        }
        self.go_by_rules();
        self.loading = Some(tokio::spawn(load(host)));
        self.renewal = self.session.renewals;
        self.remember();
    }

    /// Applies the current approval rules to calls.
    pub(super) fn go_by_rules(&mut self) {
        let policy = self.approving.policy().clone();
        self.session.host = self.session.host.with_approval(policy);
    }

    /// Updates the session's data for completion.
    pub(super) fn remember(&self) {
        let sessions = folder(self.session.host.config());
        self.known
            .set_session(sessions, self.conversation.entries());
    }

    /// Waits for the next event. Cancel safe.
    pub(super) async fn happening(&mut self) -> Happening {
        let loading = &mut self.loading;
        let loaded = async {
            match loading {
                Some(loading) => loading.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.session.signals.next() => Happening::Signal,
            catalog = loaded => Happening::Loaded(catalog),
            reload = self.news.next() => Happening::Reload(reload),
        }
    }

    /// Handles an event and shows it.
    pub(super) async fn heed(&mut self, happening: Happening) -> Result<(), Failure> {
        match happening {
            Happening::Signal => {}
            Happening::Loaded(catalog) => self.loaded(catalog),
            Happening::Reload(reload) => {
                let told = self.tell(&reload).await;
                self.settle(told)?;
            }
        }
        Ok(())
    }

    /// Waits until the tools are loaded and know the session. Ctrl-C ends the wait.
    pub(super) async fn ready(&mut self) -> Result<(), Failure> {
        let Some(loading) = &mut self.loading else {
            return Ok(());
        };
        let loaded = tokio::select! {
            biased;
            () = self.session.signals.next() => return Err(interrupted("while the tools were loading")),
            loaded = progress::while_loading(loading) => loaded,
        };
        self.loaded(loaded.unwrap_or_default());
        Ok(())
    }

    /// Handles the end of loading.
    fn loaded(&mut self, catalog: Arc<Catalog>) {
        self.loading = None;
        if !std::mem::replace(&mut self.has_greeted, true) {
            say(&greeting(&catalog));
        }
        self.known.set_catalog(catalog);
    }

    /// Calls a tool with its arguments as typed.
    pub(super) async fn call(&mut self, tool: &str, arguments: &str) -> Result<(), Failure> {
        self.ready().await?;
        let entry = self.session.tool_to_call(tool).await?;
        if self.renewal != self.session.renewals {
            self.approving = Approving::new(&self.session.host.config().approval);
            self.attach();
            self.ready().await?;
        }
        let kept = &self.conversation.kept;
        let call = Call {
            id: kept.call_id(),
            tool: tool.to_owned(),
            arguments: arguments::read(arguments, &entry.tool)?,
        };
        let called = self
            .manner
            .call(call, self.has_terminal, Some(kept), self.session)
            .await;
        self.remember();
        self.told(tool, called?);
        Ok(())
    }

    /// Runs a script that calls tools.
    pub(super) async fn run_code(&mut self, code: &str) -> Result<(), Failure> {
        if code.is_empty() {
            let error = Error::new(ErrorKind::Usage, "`/run` wants code behind it");
            return Err(error.with_hint("as in `/run await tools.NAME({…})`").into());
        }
        self.ready().await?;
        let kept = &self.conversation.kept;
        let call = Call::new(RUN_CODE, json!({"code": code})).with_id(kept.call_id());
        let own = self.session.host.clone();
        self.session.host = CodeMode::with_all().on(&own);
        let called = self
            .manner
            .call(call, self.has_terminal, Some(kept), self.session)
            .await;
        self.session.host = own;
        self.remember();
        self.told(RUN_CODE, called?);
        Ok(())
    }

    fn told(&mut self, tool: &str, called: Called) {
        self.has_failed |= called.code != SUCCESS;
        if let Some(took) = called.took.filter(|_| self.has_terminal) {
            let line = format!("{tool}: {}", units::time(took));
            say(&terminal_text!("{}\n", self.session.err.dim(line)));
        }
    }

    /// Notifies the tools of a session event. Ctrl-C ends the wait for them.
    pub(super) async fn emit(&mut self, event: SessionEvent) -> Result<(), Failure> {
        let host = self.session.host.clone();
        tokio::select! {
            biased;
            () = host.emit(&event) => Ok(()),
            () = self.session.signals.next() => Err(interrupted("while the tools heard of it")),
        }
    }

    /// Scans for tools again, and returns the changes.
    pub(super) async fn refresh(&mut self) -> Result<Option<Reload>, Failure> {
        let host = self.session.host.clone();
        let reload = tokio::select! {
            biased;
            () = self.session.signals.next() => return Err(interrupted("while the tools were loading")),
            reload = progress::while_loading(host.refresh_and_notify()) => reload,
        };
        self.reloaded(reload.as_ref()).await?;
        Ok(reload)
    }

    /// Shows the result of a reload.
    async fn tell(&mut self, reload: &Reload) -> Result<(), Failure> {
        say(&watch::page(reload, self.session, self.session.err));
        self.reloaded(Some(reload)).await
    }

    async fn reloaded(&mut self, reload: Option<&Reload>) -> Result<(), Failure> {
        self.known.set_catalog(self.session.host.catalog().await);
        match reload {
            // A reloaded module has lost its state of the session, so the session starts again.
            Some(reload) if !reload.reloaded.is_empty() => self.emit(SessionEvent::Start).await,
            _ => Ok(()),
        }
    }

    /// Reports the error of a line, and returns `None` so that the repl continues. Returns an error
    /// only if output failed.
    pub(super) fn settle<T>(&mut self, ended: Result<T, Failure>) -> Result<Option<T>, Failure> {
        // The user only gave up the wait for this line, not the whole repl.
        self.session.killed = false;
        let error = match ended {
            Ok(done) => return Ok(Some(done)),
            Err(Failure::Haft(error) | Failure::Killed(error)) => error,
            Err(failure @ Failure::System(_)) => return Err(failure),
        };
        self.has_failed = true;
        say(&problem::error(&error, self.session.err));
        Ok(None)
    }

    /// Prints data.
    pub(super) fn print(&mut self, page: &TerminalText) -> Result<(), Failure> {
        self.session.out.print(page)?;
        Ok(self.session.out.flush()?)
    }

    /// Notifies the tools that the session ends.
    pub(super) async fn leave(self) {
        // The tools have not been notified of the session's start.
        if self.loading.is_some() {
            return;
        }
        let host = &self.session.host;
        let _ = timeout(FAREWELL, host.emit(&SessionEvent::Shutdown)).await;
    }
}

/// Loads the tools, and notifies them that the session starts.
async fn load(host: Host) -> Arc<Catalog> {
    let catalog = host.catalog().await;
    host.emit(&SessionEvent::Start).await;
    catalog
}

fn greeting(catalog: &Catalog) -> TerminalText {
    let mut parts = vec![units::count(catalog.usable(), "tool")];
    let problems = catalog.problems.len();
    if problems > 0 {
        parts.push(format!("{} (/problems)", units::count(problems, "problem")));
    }
    let untrusted = catalog.tools().filter(|tool| !tool.trusted).count();
    if untrusted > 0 {
        parts.push(format!("{untrusted} not trusted (/problems)"));
    }
    let version = env!("CARGO_PKG_VERSION");
    let parts = parts.join(", ");
    terminal_text!("haft {version}: {parts}. Tab completes, /help helps, Ctrl-D leaves\n")
}

fn interrupted(when: &str) -> Failure {
    let kind = ErrorKind::Stopped(Stopped::Cancelled);
    Error::new(kind, format!("interrupted {when}")).into()
}
