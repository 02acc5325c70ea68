//! The Python programs that judge our interfaces in the tests, in an environment of their own.
//!
//! In the user's cache, so that every checkout of this machine has them; the folder is called after what
//! is pinned, so that another version is another folder.

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
    // Written last, so that half an environment is none.
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

/// Python with what makes environments, which Debian packs apart.
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
