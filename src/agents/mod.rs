//! Configuration of the coding agents that can use haft: their MCP configuration files, and the
//! entry of haft.
//!
//! One file is changed, and in it only haft's entry: comments, order and all other entries stay. A
//! file that cannot be parsed is not written.

mod agent;
mod entry;
mod file;
mod jsonc;
mod own;
mod settings;
mod toml;
mod yaml;

pub(crate) use agent::{Agent, Place, Scope};
pub(crate) use entry::{Entry, HttpToken, Server};
pub(crate) use file::{Change, add, lists, own_file, remove, snippet, token};
pub(crate) use own::{add_server, remove_server};
pub(crate) use settings::Settings;

use std::path::{Path, PathBuf};

use haft_config::Config;
use haft_tool::{Error, ErrorKind};

/// Name of the program on the `PATH`, and the command in files that are shared.
const PROGRAM: &str = "haft";

/// Returns the command that an agent starts: the running program.
///
/// A project's file names it as `haft`, if that name leads to this very program on our `PATH`. A
/// user's file names it by its path, since an editor that was started from a menu has another
/// `PATH` than the shell.
pub(crate) fn program(config: &Config, scope: Scope) -> String {
    let running = &config.agents.program;
    let found = haft_process::find_installed(PROGRAM).filter(|found| is_same(found, running));
    match (found, scope) {
        (Some(_), Scope::Project) => PROGRAM.to_owned(),
        // The path on the `PATH` stays valid when a package manager moves its target.
        (Some(found), _) => found.display().to_string(),
        (None, _) => running.display().to_string(),
    }
}

/// Checks that every agent accepts the name for a server.
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
