//! `haft tool run`: `haft call` for a tool of one scope, with a dry run as an option.

use std::ffi::{OsStr, OsString};

use clap::Command;

use super::super::call_input::Input;
use super::super::exit::{Answer, Failure, SUCCESS};
use super::super::flags::Globals;
use super::super::run_call::CALL_ID;
use super::super::{call, context::CommandContext};
use super::scope::ScopeArgs;
use super::{failed, pages, usage};
use crate::registry::Entry;
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use crate::tool_files::{Scope, ToolFileStore};
use haft_config::Flags;
use haft_tool::{Call, Family, TerminalText};
use haft_tool::{Error, ErrorKind};

/// Run a tool once
#[derive(clap::Args)]
#[group(id = "tool-run")]
pub(super) struct Args {
    #[command(flatten)]
    call: call::Args,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Print the commands on standard error before they are run
    #[arg(long)]
    show_command: bool,

    /// Print the commands, and run nothing
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(super) fn event_answer(&self) -> Option<Answer> {
        self.call.event_answer()
    }

    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        // Parsed before the session, so that a wrong argument starts nothing.
        let input = self.call.input()?;
        let scope = self.scope.to_search()?;
        let name = self.call.name();
        let flags = first(self.call.over(globals.flags()), globals, name, scope)?;
        CommandContext::with(flags, out, async |session| {
            let entry = the_tool(session, name, scope).await?;
            if self.dry_run || self.show_command {
                let shown = self.preview(input.clone(), &entry).await?;
                let shown = TerminalText::from_prose(&shown);
                if self.dry_run {
                    session.out.print(&shown)?;
                    return Ok(SUCCESS);
                }
                say(&shown);
            }
            self.call.run(input, session).await
        })
        .await
    }

    async fn preview(&self, input: Input, entry: &Entry) -> Result<String, Failure> {
        let call = Call {
            id: CALL_ID.to_owned(),
            tool: self.call.name().to_owned(),
            arguments: input.typed_by(&entry.tool)?,
        };
        let shown = entry.preview(&call).await?;
        Ok(shown.unwrap_or_default())
    }
}

/// Returns flags that give the tool of that scope its name.
pub(super) fn first(
    flags: Flags,
    globals: &Globals,
    name: &str,
    scope: Option<Scope>,
) -> Result<Flags, Error> {
    if name.is_empty() {
        return Err(usage("a tool has a name"));
    }
    let tool_files = ToolFileStore::new(&globals.config()?);
    tool_files.find(name, scope)?;
    Ok(Flags {
        cycod_first: scope.map(|scope| tool_files.folder(scope).to_owned()),
        ..flags
    })
}

/// Checks that the name resolves to the YAML shell tool. A tool of another kind may have claimed
/// the name first.
pub(super) async fn the_tool(
    session: &mut CommandContext<'_>,
    name: &str,
    scope: Option<Scope>,
) -> Result<std::sync::Arc<Entry>, Failure> {
    let tool_files = ToolFileStore::new(session.host.config());
    let file = tool_files.find(name, scope).map_err(Error::from)?;
    let entry = match session.tool_to_call(name).await {
        Ok(entry) => entry,
        // The tool exists, and its problems give the reason for which it cannot be used.
        Err(Failure::Haft(error))
            if error.kind() == ErrorKind::NoSuchTool
                && pages::has_errors(&tool_files.problems(&file)) =>
        {
            let text = format!("the tool '{name}' cannot be used: it is not valid");
            let hint = format!("`haft tool validate {name}` says what is wrong with it");
            return Err(failed(text).with_hint(hint).into());
        }
        Err(failure) => return Err(failure),
    };
    if entry.tool.source.path == file.path {
        return Ok(entry);
    }
    let owner = entry.tool.source.family;
    if file.scope == Scope::Local && owner == Family::Shell {
        // Between two such tools the project's takes precedence, unless it is not trusted.
        let text = format!("`{name}` comes from a project that is not trusted");
        let hint = "`haft trust` shows what would run, and asks; `--user` runs your own";
        return Err(Error::new(ErrorKind::Untrusted, text)
            .with_hint(hint)
            .into());
    }
    let taken = entry.tool.source.path.display();
    let text = format!("the name '{name}' belongs to {taken}");
    let hint = "`rename` in haft's configuration gives one of them another name";
    Err(failed(text).with_hint(hint).into())
}

/// Rewrites the unknown options after `tool run` as `--param KEY=VALUE`: an unknown option of
/// `haft tool run NAME --CITY London` is a parameter of the tool (spec cycod 151).
pub(in crate::surface::cli) fn with_parameters(
    args: Vec<OsString>,
    command: impl FnOnce() -> Command,
) -> Vec<OsString> {
    let Some(start) = after_run(&args) else {
        return args;
    };
    let mut command = command();
    // Shared options are only known to a command that has been built.
    command.build();
    let run = command.find_subcommand("tool");
    let Some(run) = run.and_then(|tool| tool.find_subcommand("run")) else {
        return args;
    };
    let own: Vec<&str> = run
        .get_arguments()
        .flat_map(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long().into_iter().chain(aliases)
        })
        .collect();
    let mut plain = args[..start].to_vec();
    let mut rest = args[start..].iter().peekable();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            plain.push(arg.clone());
            plain.extend(rest.cloned());
            break;
        }
        let Some((key, value)) = option(arg).filter(|(key, _)| !own.contains(&key.as_str())) else {
            plain.push(arg.clone());
            // The value of one of our options is not a tool parameter, even if it looks like an
            // option.
            let takes_next = own_that_takes_a_value(run, arg);
            plain.extend(takes_next.then(|| rest.next().cloned()).flatten());
            continue;
        };
        let value = value.or_else(|| {
            let is_value = |next: &&OsString| !next.to_string_lossy().starts_with("--");
            rest.next_if(|next| is_value(next))
                .map(|next| next.to_string_lossy().into_owned())
        });
        plain.push("--param".into());
        plain.push(format!("{key}={}", value.as_deref().unwrap_or("true")).into());
    }
    plain
}

/// Returns the index of the first word after `tool run`.
fn after_run(args: &[OsString]) -> Option<usize> {
    let tool = args
        .iter()
        .position(|arg| arg == "tool" || arg == "tools")?;
    let run = args[tool..].iter().position(|arg| arg == "run")?;
    // Only options may stand between the two words.
    let between = &args[tool + 1..tool + run];
    let is_option = |arg: &OsString| arg.to_string_lossy().starts_with('-');
    between.iter().all(is_option).then_some(tool + run + 1)
}

/// Splits `--KEY` or `--KEY=VALUE`.
fn option(arg: &OsStr) -> Option<(String, Option<String>)> {
    let text = arg.to_str()?.strip_prefix("--")?;
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (text, None),
    };
    (!key.is_empty()).then(|| (key.to_owned(), value))
}

fn own_that_takes_a_value(run: &Command, arg: &OsStr) -> bool {
    let Some((key, None)) = option(arg) else {
        return false;
    };
    run.get_arguments().any(|own| {
        let aliases = own.get_all_aliases().unwrap_or_default();
        let is_it = own.get_long() == Some(&key) || aliases.contains(&key.as_str());
        is_it && own.get_action().takes_values() && !own.is_require_equals_set()
    })
}
