//! The coding agents that can use haft: where each names its MCP servers, and how haft gets there.
//!
//! One file is touched, and in it only the entry of haft: comments, order and everything that
//! somebody else wrote stay as they are. A file that cannot be understood is not written to.

mod agent;
mod entry;
mod file;
mod jsonc;
mod settings;
mod toml;

pub(crate) use agent::{Agent, Place, Scope};
pub(crate) use entry::{Entry, HttpToken, Server, own_file, snippet};
pub(crate) use file::{Change, add, lists, remove, token};
pub(crate) use settings::Settings;

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::process;

/// How agents call the program, and what it is called in the shell's search path.
const PROGRAM: &str = "haft";

/// What an agent is told to start: the program that runs now.
///
/// A file that others check out names it as their shells find it, if ours finds this very program
/// so. A file of the user's names it by its path, since an editor that was started from a menu has
/// another search path than the shell.
pub(crate) fn program(config: &Config, scope: Scope) -> String {
    let running = &config.agents.program;
    let found = process::find_installed(PROGRAM).filter(|found| is_same(found, running));
    match (found, scope) {
        (Some(_), Scope::Project) => PROGRAM.to_owned(),
        // The path of the search path stays when a package manager moves the file behind it.
        (Some(found), _) => found.display().to_string(),
        (None, _) => running.display().to_string(),
    }
}

/// A name under which every agent takes a server.
///
/// # Errors
/// [`ErrorKind::Usage`], with the letters that are allowed.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(is_plain) {
        return Ok(());
    }
    let text = format!("`{name}` cannot be the name of an MCP server");
    Err(Error::new(ErrorKind::Usage, text).with_hint("use letters, digits, `-` and `_`"))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> { path.canonicalize().ok() };
    real(one).is_some_and(|one| Some(one) == real(other))
}
