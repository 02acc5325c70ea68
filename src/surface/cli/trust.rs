//! `haft trust`: shows the code that a project would run, asks the user, and stores the answer.
//!
//! Nothing of the project runs here, whatever the answer. Trust is decided without a host.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::confirm::can_ask;
use super::context::on_host;
use super::exit::{Failure, SUCCESS};
use super::flags::Globals;
use super::trust_question::{ask, grant, trusting};
use super::{learn, mcp, remote, trust_page};
use crate::audit::{self, Caller, Event};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use crate::trust::{self, Project, Review, Store};
use haft_config::{Config, Flags};
use haft_render::style::Ink;
use haft_render::table::{self, Column, Fit};
use haft_render::{problem, text, units};
use haft_tool::{Error, ErrorKind, TerminalText, known_here, terminal_text};

/// Show what a project would run, and decide whether it may
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft trust                  the project in this directory
  haft trust ~/work/site
  haft trust --list
  haft trust --revoke ~/work/site
  haft trust --profile full   with these permissions instead of the configured ones
  haft trust mcp:github       what an MCP server changed since you trusted it
  haft trust remote:lab       what other hosts changed
  haft trust --learn          also what tools load by computed paths

Trust is bound to content: a change in any file that a tool pulls in asks again. Nothing runs
while haft shows and asks. For a single run in CI, `--trust-project` needs no question.")]
pub(super) struct Args {
    /// The project's directory, `mcp:NAME` for an MCP server or `remote:NAME` for other hosts
    /// [default: the working directory]
    path: Option<PathBuf>,

    /// Show the projects that are trusted
    #[arg(long, conflicts_with_all = ["path", "revoke", "yes", "learn", "allow_eval"])]
    list: bool,

    /// Forget the project
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,

    /// Ask nothing: trust what is shown
    #[arg(long, short)]
    yes: bool,

    /// Load the tools, and add the files that they find only while they load
    #[arg(long, conflicts_with = "revoke")]
    learn: bool,

    /// Let all modules of the project run text and bytes as code (`eval`, WebAssembly)
    #[arg(long, conflicts_with = "revoke")]
    allow_eval: bool,

    /// Choose the profile of the project's tools [default: `sandbox.project` of the configuration]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["revoke", "list"])]
    profile: Option<String>,

    /// Print what is shown as JSON, and ask nothing: the project, or with --list all projects
    #[arg(long, conflicts_with_all = ["revoke", "learn"])]
    pub(super) json: bool,
}

const COLUMNS: [Column; 3] = [
    Column::new("PROJECT", Fit::KeepEnd(16)),
    Column::new("TOOLS", Fit::Whole),
    Column::new("TRUSTED", Fit::Whole),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProjectView<'a> {
    project: &'a str,
    tools: usize,
    trusted_at: u64,
    exists: bool,
}

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let code = self.decide(globals, out).await?;
        let is_page = !self.list && !self.revoke && !self.json && self.path.is_none();
        if is_page {
            mcp::show_changes(globals, out).await?;
        }
        Ok(code)
    }

    async fn decide(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let server = self.path.as_deref().and_then(Path::to_str);
        if let Some(name) = server.and_then(|path| path.strip_prefix("mcp:")) {
            let name = name.to_owned();
            return on_host(globals, out, async |s| {
                mcp::trust_server(&name, self.yes, s).await
            })
            .await;
        }
        if let Some(name) = server.and_then(|path| path.strip_prefix("remote:")) {
            let name = name.to_owned();
            return on_host(globals, out, async |s| {
                remote::trust_hosts(&name, self.yes, s).await
            })
            .await;
        }
        let ink = Ink::for_stderr();
        if self.list {
            return self.list(&Config::resolve(globals.flags())?, out, ink);
        }
        let flags = self.over(globals.flags());
        if self.revoke {
            return revoke(flags, out);
        }
        let config = Config::resolve(trusting(flags.clone()))?;
        let mut review = Review::with_profile(&config, self.profile(&config)?);
        if self.allow_eval {
            review.allow_code_from_data();
        }
        if let Some(found) = &review.problem {
            say(&problem::problem(found, &config.home, ink));
        }
        let project = text::path(&review.project, &config.home);
        if self.json {
            if self.yes && !review.is_granted() && !review.is_empty() {
                grant(&review, &config)?;
            }
            let view = trust_page::PageView::of(&review, self.yes);
            out.json(&view)?;
            return Ok(SUCCESS);
        }
        if review.is_empty() {
            out.print_line(&terminal_text!(
                "{project} brings no tools: there is nothing to trust"
            ))?;
            if review.has_own_commands && (self.yes || can_ask()) {
                return self
                    .trust_for_own_commands(&review, &config, &project, out)
                    .await;
            }
            // Forget the grant, so that tools added later count as new.
            review.forget()?;
            return Ok(SUCCESS);
        }
        let page = trust_page::page(&review, &config.home, out.ink());
        out.print(&page)?;
        if review.is_granted() {
            out.print_line(&terminal_text!("trusted already, and nothing changed"))?;
        } else {
            out.flush()?;
            if !self.yes && !ask(&review).await? {
                let text = format!("{} is not trusted; nothing of it has run", project.as_str());
                return Err(Error::new(ErrorKind::Denied, text).into());
            }
            grant(&review, &config)?;
            let tools = units::count(review.tools.len(), "tool");
            out.print_line(&terminal_text!("trusted: {tools} of {project}"))?;
        }
        if self.learn {
            learn::by_loading(flags, self.yes, out).await
        } else {
            Ok(SUCCESS)
        }
    }

    /// Trusts a project without tools. Then the commands of the user's own that haft starts for its
    /// lists run there.
    async fn trust_for_own_commands(
        &self,
        review: &Review,
        config: &Config,
        project: &TerminalText,
        out: &mut Out,
    ) -> Result<u8, Failure> {
        if review.is_granted() {
            out.print_line(&terminal_text!(
                "it is trusted: your own commands that list tools run in it"
            ))?;
            return Ok(SUCCESS);
        }
        out.print_line(&terminal_text!(
            "your own commands that list tools run in an empty folder until you trust it"
        ))?;
        out.flush()?;
        if !self.yes && !ask(review).await? {
            return Ok(SUCCESS);
        }
        grant(review, config)?;
        out.print_line(&terminal_text!("trusted: {project}"))?;
        Ok(SUCCESS)
    }

    /// Returns the chosen profile, if there is such a profile.
    fn profile(&self, config: &Config) -> Result<Option<&str>, Error> {
        let Some(name) = self.profile.as_deref() else {
            return Ok(None);
        };
        let known = config.profile_names();
        if known.contains(&name) {
            return Ok(Some(name));
        }
        let hint = known_here(name, &known);
        let text = format!("unknown profile `{name}`");
        Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
    }

    /// Returns the flags with the reviewed project as working directory.
    fn over(&self, flags: Flags) -> Flags {
        let cwd = match (&flags.cwd, &self.path) {
            (Some(cwd), Some(path)) => Some(cwd.join(path)),
            (None, Some(path)) => Some(path.clone()),
            (cwd, None) => cwd.clone(),
        };
        Flags { cwd, ..flags }
    }

    fn list(&self, config: &Config, out: &mut Out, ink: Ink) -> Result<u8, Failure> {
        let (projects, problems) = Store::at(&config.state_dir, &config.home).projects();
        for found in &problems {
            say(&problem::problem(found, &config.home, ink));
        }
        if self.json {
            let views: Vec<_> = projects.iter().map(view).collect();
            out.json(&views)?;
        } else if projects.is_empty() {
            out.print_line(&terminal_text!("no project is trusted"))?;
        } else {
            let rows: Vec<_> = projects.iter().map(|one| row(one, &config.home)).collect();
            let page = table::render(&COLUMNS, &rows, out.width(), out.ink());
            out.print(&page)?;
        }
        Ok(SUCCESS)
    }
}

fn revoke(flags: Flags, out: &mut Out) -> Result<u8, Failure> {
    // The directory may be gone, but only its name is needed.
    let named = flags.cwd.clone();
    let config = Config::resolve(flags).or_else(|error| match &named {
        Some(path) if !path.exists() => Config::resolve(Flags::default()),
        _ => Err(error),
    })?;
    let project = match named.filter(|path| !path.exists()) {
        Some(path) => haft_config::paths::resolve(&config.cwd, &path),
        None => trust::real(&config.cwd),
    };
    let store = Store::at(&config.state_dir, &config.home);
    let shown = text::path(&project, &config.home);
    if store.forget(&project)? {
        let revoked = Event::TrustRevoked {
            project: project.to_string_lossy().into_owned(),
            by: Caller::parent("cli"),
        };
        audit::record(&config, revoked);
        out.print_line(&terminal_text!("{shown} is not trusted any more"))?;
    } else {
        out.print_line(&terminal_text!("{shown} was not trusted"))?
    }
    Ok(SUCCESS)
}

fn view(project: &Project) -> ProjectView<'_> {
    ProjectView {
        project: &project.path,
        tools: project.tools,
        trusted_at: project.trusted_at,
        exists: Path::new(&project.path).is_dir(),
    }
}

fn row(project: &Project, home: &Path) -> Vec<TerminalText> {
    let mut path = text::path(Path::new(&project.path), home);
    if !Path::new(&project.path).is_dir() {
        path.push_literal(" (gone)");
    }
    vec![
        path,
        TerminalText::from_value(&project.tools),
        TerminalText::from_value(&units::date(project.trusted_at)),
    ]
}
