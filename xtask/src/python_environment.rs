//! Environments with pinned Python packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::error::Result;
use crate::files;
use crate::machine::Machine;
use crate::packages;

/// Makes an environment in `folder` with the packages of `list`, which is in pip's format, unless
/// exactly these are there.
pub fn ensure(folder: &Path, list: &Path) -> Result<PathBuf> {
    let pinned = files::read(list)?;
    // Written last, so that an incomplete environment is not used.
    let done = folder.join("haft-done");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == pinned) {
        return Ok(folder.to_owned());
    }
    ensure_python("for the tests with Python programs")?;
    command::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(folder),
    )?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"]);
    command::run(pip.arg(list))?;
    files::write(&done, &pinned)?;
    Ok(folder.to_owned())
}

/// Ensures Python with its `venv` module, which Debian packs separately.
pub fn ensure_python(why: &str) -> Result<()> {
    let has = command::output(Command::new("python3").args(["-c", "import venv, ensurepip"]));
    if has.is_ok() {
        return Ok(());
    }
    let names = ["python3".into(), "python3-venv".into()];
    packages::ensure(why, &names, &Machine::look())
}
