//! Table of the repl's own commands with their names, arguments and descriptions.
//!
//! Help, completion and the parser share this table.

use haft_tool::suggest;
use haft_tool::{Error, ErrorKind};

/// A command of the repl.
pub(super) struct Command {
    pub(super) name: &'static str,
    /// Alternative name.
    alias: Option<&'static str>,
    /// Arguments, as the help shows them.
    pub(super) usage: &'static str,
    pub(super) about: &'static str,
    pub(super) takes: Takes,
    pub(super) does: Does,
}

/// Kind of completion for the arguments of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Tool,
    Command,
    Session,
    Approval,
}

/// Action of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    List,
    Show,
    Refresh,
    Problems,
    Session,
    Approve,
    Run,
    History,
    Help,
    Quit,
}

/// Subcommands of `/session`.
pub(super) const OF_SESSION: [(&str, &str); 4] = [
    ("switch", "go on with another session: its name, file or id"),
    ("new", "begin one"),
    ("branch", "go on from an earlier entry"),
    ("list", "the sessions that haft keeps"),
];

/// All commands, in the order of the help.
pub(super) const ALL: [Command; 10] = [
    Command {
        name: "tools",
        alias: None,
        usage: "[TEXT]",
        about: "list the tools, or those with TEXT in them",
        takes: Takes::Nothing,
        does: Does::List,
    },
    Command {
        name: "tool",
        alias: None,
        usage: "[NAME]",
        about: "show a tool with its arguments",
        takes: Takes::Tool,
        does: Does::Show,
    },
    Command {
        name: "refresh",
        alias: Some("reload"),
        usage: "",
        about: "look for the tools anew, and say what changed",
        takes: Takes::Nothing,
        does: Does::Refresh,
    },
    Command {
        name: "problems",
        alias: None,
        usage: "",
        about: "what is wrong with tools",
        takes: Takes::Nothing,
        does: Does::Problems,
    },
    Command {
        name: "session",
        alias: None,
        usage: "[switch NAME | new [NAME] | branch ENTRY | list]",
        about: "show the session, or go to another one",
        takes: Takes::Session,
        does: Does::Session,
    },
    Command {
        name: "approve",
        alias: None,
        usage: "[MODE | TOOL… | reset]",
        about: "which calls run without a question",
        takes: Takes::Approval,
        does: Does::Approve,
    },
    Command {
        name: "run",
        alias: None,
        usage: "CODE",
        about: "run a script that calls tools: /run await tools.NAME({…})",
        takes: Takes::Nothing,
        does: Does::Run,
    },
    Command {
        name: "history",
        alias: None,
        usage: "[COUNT]",
        about: "the lines before",
        takes: Takes::Nothing,
        does: Does::History,
    },
    Command {
        name: "help",
        alias: Some("?"),
        usage: "[COMMAND]",
        about: "this",
        takes: Takes::Command,
        does: Does::Help,
    },
    Command {
        name: "quit",
        alias: Some("exit"),
        usage: "",
        about: "leave, as Ctrl-D does",
        takes: Takes::Nothing,
        does: Does::Quit,
    },
];

/// Returns the command of that name or alias.
pub(super) fn find(name: &str) -> Option<&'static Command> {
    ALL.iter()
        .find(|command| command.name == name || command.alias == Some(name))
}

/// Returns the command of that name, or an error that suggests the nearest one.
pub(super) fn get(name: &str) -> Result<&'static Command, Error> {
    find(name).ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, format!("there is no command `/{name}`"));
        let names = ALL.iter().map(|command| command.name);
        match suggest(name, names) {
            Some(near) => error.with_hint(format!("did you mean `/{near}`?")),
            None => error.with_hint("`/help` lists them"),
        }
    })
}
