//! Context of one command: opens the host, handles Ctrl-C, and shuts the host down.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::exit::Failure;
use super::flags::Globals;
use super::{learn, progress, trust_question};
use crate::audit::Caller;
use crate::host::{CallSource, Host};
use crate::registry::{Catalog, Entry};
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_config::{Config, Flags};
use haft_render::style::Ink;
use haft_tool::provider_schema::Names;
use haft_tool::{Debugging, Error, ErrorKind, Problem, terminal_text};
use haft_tool::{Severity, Stopped, TRUST_HINT};

/// Shutdown timeout: the host's own grace period and a margin.
const SHUTDOWN: Duration = Duration::from_secs(4);
/// Timeout for killing the host at the end, which is just enough to kill child processes.
const KILL: Duration = Duration::from_millis(250);

/// Context of one command.
pub(super) struct CommandContext<'a> {
    /// Host, which does not start anything before its first request.
    pub(super) host: Host,
    /// Standard output, for data.
    pub(super) out: &'a mut Out,
    /// Colours of standard error.
    pub(super) err: Ink,
    /// Signals that ask haft to end.
    pub(super) signals: Signals,
    /// True if standard input was a terminal when the program started.
    pub(super) is_attended: bool,
    /// True if the user gave up waiting. Then nothing else is waited for.
    pub(super) killed: bool,
    /// True if the user can be asked after a call, so that its pending actions can be applied.
    supports_pending_actions: bool,
    /// True if untrusted files are loaded and recorded.
    is_learning: bool,
    /// Flags of the host, to create it again once the project is trusted.
    flags: Flags,
    /// Number of times that the host was created again. State that belongs to the previous host is
    /// lost.
    pub(super) renewals: u32,
    /// Shutdown timeout.
    pub(super) shutdown_timeout: Duration,
    /// Name of the command in the call log.
    surface: &'static str,
}

/// Runs `work` in the context of a command without flags of its own.
pub(super) async fn on_host<'a>(
    globals: &Globals,
    out: &'a mut Out,
    work: impl AsyncFnOnce(&mut CommandContext<'a>) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    CommandContext::with(globals.flags(), out, work).await
}

impl<'a> CommandContext<'a> {
    /// Makes the context of a command with its own configuration flags, runs `work` in it, and
    /// always shuts the host down.
    pub(super) async fn with(
        flags: Flags,
        out: &'a mut Out,
        work: impl AsyncFnOnce(&mut CommandContext<'a>) -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        // `-` of `haft call` has been read by now.
        CommandContext::with_input(flags, "cli", out, async |session, input| {
            drop(input);
            work(session).await
        })
        .await
    }

    /// Same as [`CommandContext::with`], for a command that reads its work from standard input. `surface`
    /// is its name in the call log.
    pub(super) async fn with_input(
        flags: Flags,
        surface: &'static str,
        out: &'a mut Out,
        work: impl AsyncFnOnce(&mut CommandContext<'a>, File) -> Result<u8, Failure>,
    ) -> Result<u8, Failure> {
        let config = Config::resolve(flags.clone())?;
        let is_attended = std::io::stdin().is_terminal();
        // Tools must not read input that is meant for haft.
        let input = stdin::claim()?;
        let mut session = CommandContext {
            host: in_trace(Host::for_one_call(config).recorded(Caller::parent(surface))),
            surface,
            out,
            err: Ink::for_stderr(),
            signals: Signals::take()?,
            is_attended,
            killed: false,
            supports_pending_actions: false,
            is_learning: false,
            flags,
            renewals: 0,
            shutdown_timeout: SHUTDOWN,
        };
        let ended = work(&mut session, input).await;
        session.close().await;
        ended
    }

    /// Enables pending actions after a call. Must be called before anything is loaded.
    pub(super) fn supports_pending_actions(&mut self) {
        self.supports_pending_actions = true;
        self.host = self.make_host(self.host.config().clone());
    }

    /// Makes the host load and record untrusted files. Must be called before anything is loaded.
    pub(super) fn learns(&mut self) -> Result<(), Failure> {
        self.is_learning = true;
        self.host = self.make_host(learn::config(self.flags.clone())?);
        Ok(())
    }

    /// Makes the host give a tool file all of the user's permissions and record its accesses. Must
    /// be called before anything of it is loaded, so the cache is off.
    pub(super) async fn records(&mut self, file: &Path) {
        let mut config = self.host.config().clone();
        config.records_permissions_of = Some(file.to_owned());
        config.use_cache = false;
        self.host.shutdown().await;
        self.host = self.make_host(config);
    }

    /// Creates the host again, with these options for debugging.
    pub(super) async fn debugs(&mut self, debugging: Debugging) {
        let mut config = self.host.config().clone();
        config.debugging = debugging;
        self.host.shutdown().await;
        self.host = self.make_host(config);
    }

    /// Offers to trust the recorded files.
    pub(super) async fn offer_learned(&mut self, is_agreed: bool) -> Result<(), Failure> {
        let said = learn::offer(&self.host, self.flags.clone(), is_agreed).await?;
        say(&terminal_text!("{said}\n"));
        Ok(())
    }

    fn make_host(&self, config: Config) -> Host {
        let host = match (self.is_learning, self.supports_pending_actions) {
            (true, _) => Host::learning(config),
            (false, true) => Host::new(config),
            (false, false) => Host::for_one_call(config),
        };
        in_trace(host.recorded(Caller::parent(self.surface)))
    }

    /// Returns every tool, and loads them if need be. Ctrl-C ends the wait.
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

    /// Returns the tool of that name for a call. If an untrusted tool may be meant, it asks the
    /// user to trust the project. Without a user, the call itself is refused.
    pub(super) async fn tool_to_call(&mut self, name: &str) -> Result<Arc<Entry>, Failure> {
        let catalog = self.catalog().await?;
        let is_ready = catalog.find(name).is_some_and(|entry| entry.tool.trusted);
        let is_doubtful = !is_ready && catalog.tools().any(|tool| !tool.trusted);
        if is_doubtful {
            let offer = trust_question::offer(self.flags.clone(), self.err);
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
                // The project's configuration applies now as well.
                self.host.shutdown().await;
                let config = if self.is_learning {
                    learn::config(self.flags.clone())?
                } else {
                    Config::resolve(self.flags.clone())?
                };
                self.host = self.make_host(config);
                self.renewals += 1;
            }
        }
        self.tool(name).await
    }

    /// Returns the tool of that name, or an error that suggests the nearest ones.
    pub(super) async fn tool(&mut self, name: &str) -> Result<Arc<Entry>, Failure> {
        let catalog = self.catalog().await?;
        let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
        // Models and agents see the alias of a name that providers refuse.
        if let Some(entry) = catalog
            .find(name)
            .or_else(|| catalog.find(names.meant(name)))
        {
            return Ok(Arc::clone(entry));
        }
        // A tool is often missing because its file is invalid, so show the errors first.
        for problem in catalog
            .problems
            .iter()
            .filter(|found| found.severity == Severity::Error)
        {
            say(&haft_render::problem::problem(
                problem,
                self.home(),
                self.err,
            ));
        }
        let suggest = catalog.suggest(name);
        // The tools of a project's MCP servers are not known before it is trusted.
        let is_refused = |problem: &Problem| {
            problem.severity >= Severity::Warning && problem.hint.as_deref() == Some(TRUST_HINT)
        };
        let has_untrusted =
            catalog.tools().any(|tool| !tool.trusted) || catalog.problems.iter().any(is_refused);
        let hint = if suggest.is_empty() && has_untrusted {
            "the project's own tools are not trusted: `haft trust` shows what would run, and asks"
                .to_owned()
        } else if suggest.is_empty() {
            "`haft list` shows every tool, `haft doctor` where haft looked".to_owned()
        } else {
            format!("did you mean `{}`?", suggest.join("`, `"))
        };
        let text = format!("there is no tool `{name}`");
        Err(Error::new(ErrorKind::NoSuchTool, text)
            .with_hint(hint)
            .into())
    }

    /// Returns the user's home directory, for shortening paths.
    pub(super) fn home(&self) -> &Path {
        &self.host.config().home
    }

    async fn close(mut self) {
        if !self.killed {
            tokio::select! {
                _ = timeout(self.shutdown_timeout, self.host.shutdown()) => {}
                () = self.signals.next() => {}
            }
        }
        // The program ends now even if the shutdown timed out.
        let _ = timeout(KILL, self.host.kill()).await;
        // Freeing the host's data would only delay the end.
        std::mem::forget(self.host);
    }
}

/// Makes the calls of `host` parts of the span of the program that started haft.
fn in_trace(host: Host) -> Host {
    match host.config().trace_parent.clone() {
        Some(parent) => host.in_trace(CallSource {
            parent: Some(parent),
            ..CallSource::default()
        }),
        None => host,
    }
}
