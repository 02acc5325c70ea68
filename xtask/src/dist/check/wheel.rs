//! The wheel, in an environment of Python of its own.

use std::process::Command;

use super::super::{Context, wheel};
use super::{exercise, exists, is_gone, put_tool};
use crate::command;
use crate::error::{During, Result};
use crate::python_environment;

/// Program of a user of the library.
const LIBRARY_CALL: &str = r#"
import haft
with haft.HaftSync() as tools:
    assert tools.call("greet", {"name": "Ada"}).text == "Hello, Ada!"
"#;

pub fn check(context: &Context) -> Result<String> {
    let file = context.out.join(wheel::name(context)?);
    exists(&file)?;
    python_environment::ensure_python("to try the wheel")?;
    let folder = tempfile::tempdir().during(|| "make a folder".to_owned())?;
    let environment = folder.path().join("environment");
    let home = folder.path().join("home");
    put_tool(&home)?;
    command::output(
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment),
    )?;
    let python = environment.join("bin/python");
    let pip = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--disable-pip-version-check", "--no-input"])
            .args(words);
        pip
    };
    let mut install = pip(&["install", "--no-index", "--no-deps", "--quiet"]);
    command::output(install.arg(&file))?;
    command::output(&mut pip(&["check"]))?;
    let program = environment.join("bin/haft");
    exercise(context, &home.display().to_string(), |words| {
        let mut haft = Command::new(&program);
        haft.args(words).current_dir(&home).env_clear();
        // `sh` for the stubs of the system tools.
        haft.env("PATH", "/bin").env("HOME", &home);
        haft
    })?;
    command::output(
        Command::new(&python)
            .args(["-c", LIBRARY_CALL])
            .current_dir(&home)
            .env("HOME", &home),
    )?;
    command::output(&mut pip(&["uninstall", "--yes", "--quiet", "haft-tools"]))?;
    is_gone(&program)?;
    is_gone(&environment.join("libexec/haft-system-tools"))?;
    Ok(
        "pip install --no-index: version, list, two calls; the library calls a tool; uninstalled"
            .into(),
    )
}
