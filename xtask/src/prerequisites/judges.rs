//! The Python programs that check our interfaces in the tests, in an environment of their own.
//!
//! The environment is in the user's cache, so that all checkouts share it. Its folder is named
//! after the pinned packages, so that another version gets another folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::packages;
use crate::error::{During, Result};
use crate::machine::Machine;
use crate::{command, workspace};

/// Pinned Python packages, in pip's format.
const PINNED: &str = "tests/judges/requirements.txt";

pub fn ensure(root: &Path) -> Result<()> {
    let list = root.join(PINNED);
    let pinned = fs::read_to_string(&list).during(|| format!("read `{}`", list.display()))?;
    let folder = workspace::user_cache()?
        .join("haft-judges")
        .join(pinned.trim().replace("==", "-"));
    // Written last, so that an incomplete environment is not used.
    let done = folder.join("haft-done");
    if done.is_file() {
        return Ok(());
    }
    python(&Machine::look())?;
    command::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"]);
    command::run(pip.arg(&list))?;
    fs::write(&done, "").during(|| format!("write `{}`", done.display()))
}

/// Ensures Python with its `venv` module, which Debian packs separately.
fn python(machine: &Machine) -> Result<()> {
    let has = command::output(Command::new("python3").args(["-c", "import venv, ensurepip"]));
    if has.is_ok() {
        return Ok(());
    }
    let names = ["python3".into(), "python3-venv".into()];
    packages::ensure(
        "for the programs that judge our interfaces",
        &names,
        machine,
    )
}
