//! `haft install`: installs the missing npm packages that tools import.
//!
//! The packages are shown before they are installed, since their names come from the text of the
//! tools. Progress and prompts go to standard error, the installed packages to standard output.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use super::confirm::{confirm_or, nobody_can_be_asked};
use super::context::CommandContext;
use super::exit::{FAILURE, Failure, SUCCESS};
use super::{install_page, progress};
use crate::install::{Npm, Resolved, Site, Survey};
use crate::surface::terminal::say;
use haft_render::{problem, text, units};
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};
use haft_tool::{Family, Stopped};

/// Install the npm packages that tools import
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft install                    what the tools of this project and yours lack
  haft install html               what the tool `html` lacks
  haft install ./draft.ts --dry-run
  haft install --yes --json       without a question, for scripts

A package.json beside the tool, or in its package, says which versions; packages that it does not
name get their newest version. They go beside the tool, with a package-lock.json. npm does the work;
scripts of packages do not run. Tools of a project run only once they are trusted: `haft trust`.")]
pub(super) struct Args {
    /// Tools by name, files, or folders with tools [default: every tool]
    #[arg(value_name = "TOOL|DIR|FILE")]
    targets: Vec<String>,

    /// Install into this folder, at or above the tool
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,

    /// Show what would be installed, and install nothing
    #[arg(long)]
    dry_run: bool,

    /// Ask nothing: install what is shown
    #[arg(long, short)]
    yes: bool,

    /// Print what was installed, or would be, as one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let survey = self.survey(session).await?;
        for skipped in &survey.skipped {
            say(&install_page::skipped(skipped, session.home(), session.err));
        }
        let mut refused = survey.refused.into_iter();
        if survey.sites.is_empty()
            && let Some(first) = refused.next()
        {
            refused.for_each(|error| say(&problem::error(&error, session.err)));
            return Err(first.into());
        }
        let is_refused = refused.len() > 0;
        refused.for_each(|error| say(&problem::error(&error, session.err)));
        if survey.sites.is_empty() {
            self.say_nothing_to_do(survey.tools, session)?;
            return Ok(SUCCESS);
        }
        let all_done = self.install(survey.sites, session).await?;
        Ok(if all_done && !is_refused {
            SUCCESS
        } else {
            FAILURE
        })
    }

    /// Returns the missing packages. A word that is not a file may be the name of a tool. In that
    /// case the host is needed to find its module.
    async fn survey(&self, session: &mut CommandContext<'_>) -> Result<Survey, Failure> {
        let config = session.host.config().clone();
        let look = |words: &[String]| Survey::of(&config, words, self.into.as_deref());
        match look(&self.targets) {
            Err(error) if error.kind() == ErrorKind::NoSuchTool => {}
            looked => return Ok(looked?),
        }
        let mut words = self.targets.clone();
        for word in &mut words {
            let Err(error) = look(std::slice::from_ref(word)) else {
                continue;
            };
            let catalog = session.catalog().await?;
            let entry = catalog.find(word);
            match entry.filter(|entry| entry.tool.source.family == Family::Js) {
                Some(entry) => *word = entry.resolved_path.display().to_string(),
                None => return Err(error.into()),
            }
        }
        Ok(look(&words)?)
    }

    fn say_nothing_to_do(
        &self,
        tools: usize,
        session: &mut CommandContext<'_>,
    ) -> Result<(), Failure> {
        if self.json {
            session.out.json(&install_page::report(&[], self.dry_run))?;
            return Ok(());
        }
        let line = match tools {
            0 => "no module tools found\n".into(),
            1 => "nothing to install: every package that the tool imports is there\n".into(),
            some => {
                terminal_text!(
                    "nothing to install: every package that {some} tools import is there\n"
                )
            }
        };
        session.out.print(&line)?;
        Ok(())
    }

    /// Installs the packages. Returns true if nothing is missing afterwards.
    async fn install(
        &self,
        sites: Vec<Site>,
        session: &mut CommandContext<'_>,
    ) -> Result<bool, Failure> {
        let cancel = CancellationToken::new();
        let npm = Npm::find(cancel.clone())?;
        let resolving = async {
            let mut resolved = Vec::new();
            for site in sites {
                resolved.push(Resolved::of(site, &npm).await?);
            }
            Ok(resolved)
        };
        let resolved: Vec<Resolved> =
            until_signal(&"resolving packages".into(), resolving, session, &cancel).await?;
        if self.dry_run {
            if self.json {
                session.out.json(&install_page::report(&resolved, true))?;
            } else {
                let page = install_page::plan(&resolved, session.home(), session.out.ink());
                session.out.print(&page)?;
            }
            return Ok(true);
        }
        say(&install_page::plan(&resolved, session.home(), session.err));
        if !self.yes {
            self.ask(&resolved, session).await?;
        }
        let count: usize = resolved.iter().map(|site| site.packages.len()).sum();
        let what = terminal_text!("installing {}", units::count(count, "package"));
        let mut done = 0;
        let mut failed = None;
        for site in &resolved {
            match until_signal(&what, site.install(&npm), session, &cancel).await {
                Ok(()) => done += 1,
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
        }
        let done = &resolved[..done];
        match failed {
            // With `--json` only one object is printed, which is the error.
            Some(failure) if self.json || done.is_empty() => Err(failure),
            Some(failure) => {
                self.report(done, session)?;
                Err(failure)
            }
            None => {
                self.report(done, session)?;
                self.check(session).await
            }
        }
    }

    async fn ask(
        &self,
        resolved: &[Resolved],
        session: &mut CommandContext<'_>,
    ) -> Result<(), Failure> {
        let (whether, unasked) = ("to install these packages", "`haft install --yes`");
        let refusal = nobody_can_be_asked(ErrorKind::Denied, whether, unasked);
        let count: usize = resolved.iter().map(|site| site.packages.len()).sum();
        let question = terminal_text!(
            "The names come from the tools' text; scripts of packages do not run. Install {}? [y/N] ",
            units::count(count, "package")
        );
        let answer = tokio::select! {
            biased;
            () = session.signals.next() => {
                session.killed = true;
                let text = "interrupted; nothing was changed";
                return Err(Error::new(ErrorKind::Stopped(Stopped::Cancelled), text).into());
            }
            answer = confirm_or(refusal, question) => answer?,
        };
        if answer {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Denied, "nothing was installed").into())
        }
    }

    fn report(
        &self,
        resolved: &[Resolved],
        session: &mut CommandContext<'_>,
    ) -> Result<(), Failure> {
        if self.json {
            session.out.json(&install_page::report(resolved, false))?;
        } else {
            for site in resolved {
                let packages = units::count(site.packages.len(), "package");
                let folder = text::path(&site.site.directory, session.home());
                session
                    .out
                    .print_line(&terminal_text!("installed: {packages} in {folder}"))?;
            }
        }
        session.out.flush()?;
        let notes: TerminalText = resolved
            .iter()
            .map(|site| install_page::scripts(site, session.home(), session.err))
            .collect();
        say(&notes);
        let config = session.host.config();
        if resolved.iter().any(|site| site.site.needs_trust) && !config.trust_project {
            say(&problem::hint_line(
                "what these tools import has changed: `haft trust` shows what would run, and asks",
                session.err,
            ));
        }
        Ok(())
    }

    /// Checks again. An installed package may still lack the part that a tool imports.
    async fn check(&self, session: &mut CommandContext<'_>) -> Result<bool, Failure> {
        let survey = self.survey(session).await?;
        for site in &survey.sites {
            let missing: Vec<&str> = site
                .added
                .keys()
                .chain(&site.declared)
                .map(String::as_str)
                .collect();
            let text = format!(
                "still missing: `{}` for {}",
                missing.join("`, `"),
                install_page::tools(site).as_str()
            );
            let hint = "the package is there, but not the part of it that the tool imports; \
                        its version may be another one than the tool was written for";
            let error = Error::new(ErrorKind::Load, text).with_hint(hint);
            say(&problem::error(&error, session.err));
        }
        Ok(survey.sites.is_empty())
    }
}

/// Waits for the work. A signal cancels the work, but the wait continues until npm has ended.
async fn until_signal<T>(
    what: &TerminalText,
    work: impl Future<Output = Result<T, Error>>,
    session: &mut CommandContext<'_>,
    cancel: &CancellationToken,
) -> Result<T, Failure> {
    let work = progress::while_busy(what, work);
    tokio::pin!(work);
    let ended = tokio::select! {
        biased;
        ended = &mut work => ended,
        () = session.signals.next() => {
            cancel.cancel();
            session.killed = true;
            work.await
        }
    };
    Ok(ended?)
}
