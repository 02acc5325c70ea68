//! Node and npm, with which the JS half of haft is bundled at build time.

use std::process::Command;

use crate::command;
use crate::error::{Error, Result};

/// The oldest Node that the bundler and the type checker run on.
const OLDEST: u32 = 20;

pub fn ensure() -> Result<()> {
    for program in ["node", "npm"] {
        if command::on_path(program).is_none() {
            return Err(missing(format!(
                "there is no `{program}`, which bundles the JS half of haft"
            )));
        }
    }
    let version = command::output(Command::new("node").arg("--version"))?;
    match major(&version) {
        Some(major) if major >= OLDEST => Ok(()),
        _ => Err(missing(format!(
            "Node {} is too old to bundle the JS half of haft",
            version.trim()
        ))),
    }
}

fn missing(what: String) -> Error {
    Error::Missing {
        what,
        hint: format!(
            "install Node {OLDEST} or newer with npm, from https://nodejs.org or, where that is new \
             enough, with `apt-get install nodejs npm`"
        ),
    }
}

fn major(version: &str) -> Option<u32> {
    version
        .trim()
        .strip_prefix('v')?
        .split('.')
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_decides() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("not a version"), None);
    }
}
