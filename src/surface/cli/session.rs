//! One command's time with the host: open, ask, shut down, and Ctrl-C all along.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::exit::{Failure, say};
use super::flags::Globals;
use super::{learn, progress, trust};
use crate::audit::Caller;
use crate::config::{Config, Flags};
use crate::error::{Error, ErrorKind};
use crate::host::Host;
use crate::registry::{Catalog, Entry};
use crate::render;
use crate::render::ink::Ink;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::surface::stdout::Out;
use crate::tool::{Severity, Stopped};

/// How long the host may take to stop what still runs: its own grace period and a margin.
const SHUTDOWN: Duration = Duration::from_secs(4);
/// The same once the user has lost patience: enough to kill children, no more.
const KILL: Duration = Duration::from_millis(250);

/// What a command works with.
pub(super) struct Session<'a> {
    /// The host. Nothing of it runs before the first question.
    pub(super) host: Host,
    /// Where data goes.
    pub(super) out: &'a mut Out,
    /// The colours of standard error.
    pub(super) err: Ink,
    /// What asks us to end.
    pub(super) signals: Signals,
    /// Standard input was a person's when the program started.
    pub(super) is_attended: bool,
    /// The user asked twice: nothing is waited for any more.
    pub(super) killed: bool,
    /// There are questions after a call: what it leaves pending can be applied.
    has_later: bool,
    /// Files that are not trusted are loaded and noted.
    is_learning: bool,
    /// What the host was made of, to make it again once the project is trusted.
    flags: Flags,
    /// How often it was made again: what hung on the one before is gone.
    pub(super) renewals: u32,
    /// How long the end may take.
    pub(super) patience: Duration,
    /// What the log of calls names the command.
    surface: &'static str,
}

impl<'a> Session<'a> {
    /// Opens a session, does the work in it and shuts the host down, however the work ended.
    pub(super) async fn run(
        globals: &Globals,
        out: &'a mut Out,
        work: impl AsyncFnOnce(&mut Session<'a>) -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        Session::with(globals.flags(), out, work).await
    }

    /// The same for a command that has more to say about the configuration.
    pub(super) async fn with(
        flags: Flags,
        out: &'a mut Out,
        work: impl AsyncFnOnce(&mut Session<'a>) -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        // A call's own `-` has been read by now.
        Session::with_input(flags, "cli", out, async |session, input| {
            drop(input);
            work(session).await
        })
        .await
    }

    /// The same for a command that reads what it is to do from standard input; `surface` is its name in the log
    /// of calls.
    pub(super) async fn with_input(
        flags: Flags,
        surface: &'static str,
        out: &'a mut Out,
        work: impl AsyncFnOnce(&mut Session<'a>, File) -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        let config = Config::resolve(flags.clone())?;
        let is_attended = std::io::stdin().is_terminal();
        // No tool may read what was meant for haft.
        let input = stdin::claim()?;
        let mut session = Session {
            host: Host::for_one_call(config).recorded(Caller::parent(surface)),
            surface,
            out,
            err: Ink::for_stderr(),
            signals: Signals::take()?,
            is_attended,
            killed: false,
            has_later: false,
            is_learning: false,
            flags,
            renewals: 0,
            patience: SHUTDOWN,
        };
        let ended = work(&mut session, input).await;
        session.close().await;
        ended
    }

    /// What a call leaves pending can be applied. Before anything is loaded.
    pub(super) fn has_later(&mut self) {
        self.has_later = true;
        self.host = self.make_host(self.host.config().clone());
    }

    /// Loads files that are not trusted, and notes them. Before anything is loaded.
    pub(super) fn learns(&mut self) -> Result<(), Failure> {
        self.is_learning = true;
        self.host = self.make_host(learn::config(self.flags.clone())?);
        Ok(())
    }

    /// Offers to trust the files that were noted.
    pub(super) async fn offer_learned(&mut self, is_agreed: bool) -> Result<(), Failure> {
        let said = learn::offer(&self.host, self.flags.clone(), is_agreed).await?;
        say(&format!("{said}\n"));
        Ok(())
    }

    fn make_host(&self, config: Config) -> Host {
        let host = match (self.is_learning, self.has_later) {
            (true, _) => Host::learning(config),
            (false, true) => Host::new(config),
            (false, false) => Host::for_one_call(config),
        };
        host.recorded(Caller::parent(self.surface))
    }

    /// Every tool, loaded now if need be. Ctrl-C ends the wait.
    pub(super) async fn catalog(&mut self) -> Result<Arc<Catalog>, Failure> {
        let host = self.host.clone();
        tokio::select! {
            biased;
            () = self.signals.next() => {
                self.killed = true;
                let text = "interrupted while the tools were loading";
                Err(Error::new(ErrorKind::Stopped(Stopped::Cancelled), text).into())
            }
            catalog = progress::while_loading(host.catalog()) => Ok(catalog),
        }
    }

    /// The tool of that name for a call. If it may be one that the user has not trusted, asks
    /// where somebody can be asked; otherwise the call itself is refused.
    pub(super) async fn tool_to_call(&mut self, name: &str) -> Result<Arc<Entry>, Failure> {
        let catalog = self.catalog().await?;
        let is_ready = catalog.find(name).is_some_and(|entry| entry.tool.trusted);
        let is_doubtful = !is_ready && catalog.tools().any(|tool| !tool.trusted);
        if is_doubtful {
            let offer = trust::offer(self.flags.clone(), self.err);
            let is_trusted = tokio::select! {
                biased;
                () = self.signals.next() => {
                    self.killed = true;
                    let text = "interrupted at the question whether to trust the project";
                    let kind = ErrorKind::Stopped(Stopped::Cancelled);
                    return Err(Error::new(kind, text).into());
                }
                offered = offer => offered?,
            };
            if is_trusted {
                // Its configuration counts now, too.
                self.host.shutdown().await;
                let config = match self.is_learning {
                    true => learn::config(self.flags.clone())?,
                    false => Config::resolve(self.flags.clone())?,
                };
                self.host = self.make_host(config);
                self.renewals += 1;
            }
        }
        self.tool(name).await
    }

    /// The tool of that name, or the error that names the nearest ones.
    pub(super) async fn tool(&mut self, name: &str) -> Result<Arc<Entry>, Failure> {
        let catalog = self.catalog().await?;
        if let Some(entry) = catalog.find(name) {
            return Ok(Arc::clone(entry));
        }
        // A tool is often missing because its file is broken: that is said first.
        for problem in catalog
            .problems
            .iter()
            .filter(|found| found.severity == Severity::Error)
        {
            say(&render::problem::problem(problem, self.home(), self.err));
        }
        let nearest = catalog.nearest(name);
        let has_untrusted = catalog.tools().any(|tool| !tool.trusted);
        let hint = if nearest.is_empty() && has_untrusted {
            "the project's own tools are not trusted: `haft trust` shows what would run, and asks"
                .to_owned()
        } else if nearest.is_empty() {
            "`haft list` shows every tool, `haft doctor` where haft looked".to_owned()
        } else {
            format!("did you mean `{}`?", nearest.join("`, `"))
        };
        let text = format!("there is no tool `{name}`");
        Err(Error::new(ErrorKind::NoSuchTool, text)
            .with_hint(hint)
            .into())
    }

    /// The user's home, to shorten paths.
    pub(super) fn home(&self) -> &Path {
        &self.host.config().home
    }

    async fn close(mut self) {
        self.host.ends_with_program();
        if !self.killed {
            tokio::select! {
                _ = timeout(self.patience, self.host.shutdown()) => {}
                () = self.signals.next() => {}
            }
        }
        // Whether it was in time or not, the program ends now.
        let _ = timeout(KILL, self.host.kill()).await;
        // Freeing what every tool said of itself would only make it end later.
        std::mem::forget(self.host);
    }
}
