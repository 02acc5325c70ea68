//! Values in shell commands, run by real shells. No V8 is linked here.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the environment"
)]

// What a value becomes, place by place.
mod quoting;
// Hostile values in every construct of bash.
mod attack;
// The same values in constructs that are composed.
mod compose;
// Files of commands: code or data.
mod files;

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// A temporary directory in which shells run, with an environment that holds nothing else.
struct Sandbox(TempDir);

impl Sandbox {
    fn with_home() -> Sandbox {
        let dir = tempfile::tempdir().expect("the temporary directory can be written");
        std::fs::create_dir(dir.path().join("home")).expect("a directory of ours");
        Sandbox(dir)
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.0.path())
            .env_clear()
            .env("HOME", self.0.path().join("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8");
        command
    }
}
