//! Launch plan of a session: directory, tools and command of the agent.
//!
//! All checks happen here, so that an invalid request starts nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::agents::{Agent, Scope, Server, own_file, program};
use crate::registry::Catalog;
use crate::tool_registry::{SERVER, allowed_name};
use haft_config::{Config, paths};
use haft_process::UserFolder;
use haft_process::atomic_file::{Durability, write_private};
use haft_process::state_dir::make_folder;
use haft_process::{ChosenProgram, Keep, Leftovers, Spawn, Stdin};
use haft_tool::provider_schema::Names;
use haft_tool::{Error, ErrorKind};
use haft_tool::{Tier, Tool};

use super::Wish;

/// Maximum size of a prompt in bytes.
const MAX_PROMPT_BYTES: usize = 4 << 20;

/// Limits for the standard error output of an agent, which is kept for the message if it fails.
const COMPLAINT: Keep = Keep::HeadAndTail {
    head: 2 << 10,
    tail: 8 << 10,
};

/// Placeholders in the configured command, which are replaced for each session.
const MCP_CONFIG: &str = "{mcp_config}";
const ALLOWED_TOOLS: &str = "{allowed_tools}";
const PERMISSION_MODE: &str = "{permission_mode}";
const PROJECT: &str = "{project}";
const PROMPT: &str = "{prompt}";

/// A checked session that can be started.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) prompt: String,
    pub(super) project: PathBuf,
    pub(super) permission_mode: String,
    pub(super) allowed_tools: Vec<String>,
    pub(super) spawn: Spawn,
    /// Folder with the files of this session. It is removed when the session ends.
    pub(super) folder: Folder,
}

/// A folder that is removed with its content when the guard is dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed only wastes a few hundred bytes.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Order {
    pub(super) fn new(
        config: &Config,
        catalog: &Catalog,
        words: &[String],
        wish: Wish,
        id: &str,
    ) -> Result<Order, Error> {
        check_prompt(&wish.prompt)?;
        let project = project(config, wish.project.as_deref())?;
        let permission_mode = wish.permission_mode;
        let permission_mode =
            permission_mode.unwrap_or_else(|| config.sessions.permission_mode.clone());
        check_mode(&permission_mode)?;
        if !config.sessions.allows_mode(&permission_mode) {
            let most = &config.sessions.permission_mode;
            let text = format!("permissionMode `{permission_mode}` is more than `{most}`");
            return Err(Error::new(ErrorKind::Denied, text).with_hint(
                "ask for the same or a stricter one; `sessions.permission_mode` in the configuration is the most",
            ));
        }
        let tools = tools(catalog, wish.tools, &*wish.allows)?;
        let folder = config.state_dir.user_folder(UserFolder::Sessions).join(id);
        let folder = Folder(folder);
        let server = server(config, words, &project, &tools, wish.max_tier);
        let mcp_config = folder.0.join("mcp.json");
        write(&mcp_config, &server).map_err(|error| {
            let text = format!(
                "cannot write {}: {}",
                mcp_config.display(),
                paths::plain(&error)
            );
            Error::new(ErrorKind::Internal, text)
        })?;
        let allowed_tools: Vec<String> = tools.names.iter().map(|it| allowed_name(it)).collect();
        let fill = |word: &String| {
            // Replaced one after another. The prompt comes last, so placeholders in it stay as they
            // are.
            word.replace(MCP_CONFIG, &mcp_config.display().to_string())
                .replace(ALLOWED_TOOLS, &allowed_tools.join(","))
                .replace(PERMISSION_MODE, &permission_mode)
                .replace(PROJECT, &project.display().to_string())
                .replace(PROMPT, &wish.prompt)
        };
        let command = &config.sessions.command;
        let is_told = command.iter().any(|word| word.contains(PROMPT));
        let mut command = command.iter().map(fill);
        #[expect(
            clippy::disallowed_methods,
            reason = "the command is in the user's own configuration"
        )]
        let program = ChosenProgram::not_of_project(command.next().unwrap_or_default());
        let spawn = Spawn {
            cwd: Some(project.clone()),
            stdin: if is_told {
                Stdin::Empty
            } else {
                Stdin::Bytes(wish.prompt.clone().into_bytes())
            },
            // The output is read as a stream instead.
            stdout: Keep::Head(0),
            stderr: COMPLAINT,
            deadline: config.sessions.timeout,
            grace: config.limits.grace,
            timeout_grace: config.limits.grace,
            leftovers: Leftovers::Kill,
            ..Spawn::new(program, command)
        };
        Ok(Order {
            prompt: wish.prompt,
            project,
            permission_mode,
            allowed_tools,
            spawn,
            folder,
        })
    }
}

/// Tools of a session.
struct Tools {
    /// Names without the server's prefix, as the agent knows them.
    names: Vec<String>,
    /// True if the request or the client's rights limit the tools.
    is_selection: bool,
}

fn tools(
    catalog: &Catalog,
    wanted: Option<Vec<String>>,
    allows: &dyn Fn(&Tool) -> bool,
) -> Result<Tools, Error> {
    let open = || catalog.tools().filter(|tool| tool.trusted && !tool.hidden);
    let is_bounded = open().any(|tool| !allows(tool));
    let all = open().filter(|tool| allows(tool));
    let all: Vec<&str> = all.map(|tool| tool.name.as_str()).collect();
    let aliases = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
    let is_selection = wanted.is_some() || is_bounded;
    let chosen = match &wanted {
        None => all,
        Some(wanted) => {
            let unknown = wanted.iter().find(|name| !all.contains(&name.as_str()));
            if let Some(name) = unknown {
                let text = format!("there is no tool `{name}` that a session could have");
                return Err(Error::new(ErrorKind::Usage, text).with_hint(
                    "`allowedTools` are names of tools that are trusted and not hidden",
                ));
            }
            wanted.iter().map(String::as_str).collect()
        }
    };
    let mut names: Vec<String> = chosen
        .iter()
        .map(|name| aliases.offered(name).to_owned())
        .collect();
    names.dedup();
    Ok(Tools {
        names,
        is_selection,
    })
}

/// Returns the agent's MCP configuration: one server, which is this program again.
fn server(
    config: &Config,
    words: &[String],
    project: &Path,
    tools: &Tools,
    max_tier: Option<Tier>,
) -> String {
    let mut args = words.to_vec();
    // A setting may come from the configuration or from a variable, so it is passed on as an
    // option.
    let says = |args: &[String], flag: &str| args.iter().any(|word| word == flag);
    if config.aynd.builtin_tools && !says(&args, "--builtin-tools") {
        args.push("--builtin-tools".to_owned());
    }
    if !says(&args, "--aynd-tools") {
        let folder = config.aynd.tools_dir.display().to_string();
        args.extend(["--aynd-tools".to_owned(), folder]);
    }
    // Trust for one directory does not extend to another one.
    if project != config.cwd {
        args.retain(|word| word != "--trust-project");
    }
    let above = [(Tier::Write, "write"), (Tier::Exec, "run")].into_iter();
    let above = above.filter(|(tier, _)| max_tier.is_some_and(|most| *tier > most));
    args.extend(above.map(|(_, word)| format!("--auto-deny={word}")));
    args.extend(["--cwd".to_owned(), project.display().to_string()]);
    args.extend(["serve", "mcp"].map(str::to_owned));
    if tools.is_selection {
        let globs = tools.names.iter().map(|name| globset::escape(name));
        args.extend(globs.flat_map(|glob| ["--include".to_owned(), glob]));
        if tools.names.is_empty() {
            args.extend(["--exclude".to_owned(), "*".to_owned()]);
        }
    }
    let server = Server::Program {
        command: program(config, Scope::User),
        args,
    };
    let mut entry = server.identity(Agent::ClaudeCode);
    // Agents do not pass their whole environment on to servers.
    let mut variables = config.sessions.variables.clone();
    let mode = config.approval.mode.name().to_owned();
    variables.insert("HAFT_APPROVAL_MODE".to_owned(), mode);
    entry.insert("env".to_owned(), json!(variables));
    own_file(SERVER, &entry)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    write_private(path, text.as_bytes(), Durability::Unsynced)
}

/// Returns the agent's working directory. Access to the server must not give access to every
/// directory.
fn project(config: &Config, wanted: Option<&Path>) -> Result<PathBuf, Error> {
    let Some(wanted) = wanted else {
        return Ok(config.cwd.clone());
    };
    let given = config.cwd.join(wanted);
    let usage = |text: String| Error::new(ErrorKind::Usage, text);
    let real = fs::canonicalize(&given).map_err(|error| {
        usage(format!(
            "projectPath {}: {}",
            given.display(),
            paths::plain(&error)
        ))
    })?;
    if !real.is_dir() {
        return Err(usage(format!(
            "projectPath {}: not a directory",
            given.display()
        )));
    }
    let roots = std::iter::once(&config.cwd).chain(&config.sessions.directories);
    let mut roots = roots.filter_map(|root| fs::canonicalize(root).ok());
    match roots.any(|root| real.starts_with(root)) {
        // Trust is stored under this spelling of the directory, so keep it.
        true if fs::canonicalize(&config.cwd).is_ok_and(|cwd| cwd == real) => {
            Ok(config.cwd.clone())
        }
        true => Ok(real),
        false => {
            let text = format!(
                "projectPath {} is not below {}",
                real.display(),
                config.cwd.display()
            );
            Err(Error::new(ErrorKind::Denied, text).with_hint(
                "`sessions.directories` in the configuration lets sessions work elsewhere",
            ))
        }
    }
}

fn check_prompt(prompt: &str) -> Result<(), Error> {
    let wrong = if prompt.trim().is_empty() {
        "there is no prompt".to_owned()
    } else if prompt.len() > MAX_PROMPT_BYTES {
        format!("the prompt has more than {} MiB", MAX_PROMPT_BYTES >> 20)
    } else if prompt.contains('\0') {
        "the prompt has a NUL character".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Usage, wrong))
}

fn check_mode(mode: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_word = mode.starts_with(|c: char| c.is_ascii_alphabetic()) && mode.chars().all(is_plain);
    if is_word && mode.len() <= 64 {
        return Ok(());
    }
    let text = format!("`{mode}` is not a permission mode");
    Err(Error::new(ErrorKind::Usage, text)
        .with_hint("for Claude Code: default, acceptEdits, plan, dontAsk, bypassPermissions"))
}
