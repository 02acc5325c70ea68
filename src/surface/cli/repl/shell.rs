//! The repl itself: its host, its session, its rules, and what every line goes through.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Args;
use super::approving::Approving;
use super::arguments;
use super::conversation::Conversation;
use super::known::Known;
use super::news::News;
use crate::error::{Error, ErrorKind};
use crate::host::{Host, Reload};
use crate::registry::Catalog;
use crate::render::{problem, units};
use crate::surface::cli::call_session::folder;
use crate::surface::cli::calling::{Called, Manner};
use crate::surface::cli::exit::{Failure, SUCCESS, say};
use crate::surface::cli::session::Session;
use crate::surface::cli::{progress, watch};
use crate::tool::{Call, SessionEvent, Stopped};

/// How long tools that want to hear of the end are waited for.
const FAREWELL: Duration = Duration::from_millis(500);

/// A repl that runs.
pub(super) struct Shell<'s, 'o> {
    pub(super) session: &'s mut Session<'o>,
    pub(super) known: Arc<Known>,
    pub(super) conversation: Conversation,
    pub(super) approving: Approving,
    pub(super) news: News,
    manner: Manner,
    has_terminal: bool,
    /// The tools, while they are being looked for.
    loading: Option<JoinHandle<Arc<Catalog>>>,
    /// The host that everything hangs on; see [`Session::renewals`].
    renewal: u32,
    /// A line failed.
    pub(super) has_failed: bool,
    has_greeted: bool,
}

/// What happens while nobody has asked for anything.
pub(super) enum Happening {
    /// Something asks haft to end, or there was a Ctrl-C that no line was written for.
    Signal,
    /// The tools are there.
    Loaded(Arc<Catalog>),
    /// What a change on disk came to.
    Reload(Arc<Reload>),
}

impl<'s, 'o> Shell<'s, 'o> {
    /// Starts to look for the tools, and waits for nothing.
    pub(super) fn start(
        args: &Args,
        manner: Manner,
        has_terminal: bool,
        session: &'s mut Session<'o>,
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

    /// Hangs everything on the host that there is now.
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

    /// Has calls go by the rules that hold now.
    pub(super) fn go_by_rules(&mut self) {
        let policy = self.approving.policy().clone();
        self.session.host = self.session.host.with_approval(policy);
    }

    /// Tells completion what the session is.
    pub(super) fn remember(&self) {
        let sessions = folder(self.session.host.config());
        self.known
            .set_session(sessions, self.conversation.entries());
    }

    /// The next thing that happens by itself. Dropping the future loses nothing.
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

    /// Says what has happened.
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

    /// Waits until the tools are there and know the session. Ctrl-C ends the wait.
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

    /// The tools are there.
    fn loaded(&mut self, catalog: Arc<Catalog>) {
        self.loading = None;
        if !std::mem::replace(&mut self.has_greeted, true) {
            say(&greeting(&catalog));
        }
        self.known.set_catalog(catalog);
    }

    /// Calls a tool with the arguments as they were written.
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

    fn told(&mut self, tool: &str, called: Called) {
        self.has_failed |= called.code != SUCCESS;
        if let Some(took) = called.took.filter(|_| self.has_terminal) {
            let line = format!("{tool}: {}", units::time(took));
            say(&format!("{}\n", self.session.err.dim(line)));
        }
    }

    /// Tells the tools what happened to the session. Ctrl-C ends the wait for them.
    pub(super) async fn emit(&mut self, event: SessionEvent) -> Result<(), Failure> {
        let host = self.session.host.clone();
        tokio::select! {
            biased;
            () = host.emit(&event) => Ok(()),
            () = self.session.signals.next() => Err(interrupted("while the tools heard of it")),
        }
    }

    /// Looks for the tools anew; gives what is different.
    pub(super) async fn refresh(&mut self) -> Result<Option<Reload>, Failure> {
        let host = self.session.host.clone();
        let reload = tokio::select! {
            biased;
            () = self.session.signals.next() => return Err(interrupted("while the tools were loading")),
            reload = progress::while_loading(host.refresh_and_tell()) => reload,
        };
        self.reloaded(reload.as_ref()).await?;
        Ok(reload)
    }

    /// Says what a change on disk came to.
    async fn tell(&mut self, reload: &Reload) -> Result<(), Failure> {
        say(&watch::page(reload, self.session, self.session.err));
        self.reloaded(Some(reload)).await
    }

    async fn reloaded(&mut self, reload: Option<&Reload>) -> Result<(), Failure> {
        self.known.set_catalog(self.session.host.catalog().await);
        match reload {
            // What a module remembered of the session went with it.
            Some(reload) if !reload.reloaded.is_empty() => self.emit(SessionEvent::Start).await,
            _ => Ok(()),
        }
    }

    /// Says how a line ended that did not end well, and goes on; fails where nobody reads us any more.
    pub(super) fn settle<T>(&mut self, ended: Result<T, Failure>) -> Result<Option<T>, Failure> {
        // Only what was being waited for is given up.
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
    pub(super) fn print(&mut self, page: &str) -> Result<(), Failure> {
        self.session.out.write_all(page.as_bytes())?;
        Ok(self.session.out.flush()?)
    }

    /// Tells the tools that the session ends.
    pub(super) async fn leave(self) {
        // Nobody has heard of its start.
        if self.loading.is_some() {
            return;
        }
        let host = &self.session.host;
        let _ = timeout(FAREWELL, host.emit(&SessionEvent::Shutdown)).await;
    }
}

/// Looks for the tools, and tells them that the session starts.
async fn load(host: Host) -> Arc<Catalog> {
    let catalog = host.catalog().await;
    host.emit(&SessionEvent::Start).await;
    catalog
}

fn greeting(catalog: &Catalog) -> String {
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
    format!("haft {version}: {parts}. Tab completes, /help helps, Ctrl-D leaves\n")
}

fn interrupted(when: &str) -> Failure {
    let kind = ErrorKind::Stopped(Stopped::Cancelled);
    Error::new(kind, format!("interrupted {when}")).into()
}
