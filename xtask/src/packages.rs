//! Packages of the distribution: installed if we may, else reported with the command that does it.

use std::process::Command;

use crate::command;
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Ensures that the packages are installed; `why` completes "installing … to link haft".
pub fn ensure(why: &str, packages: &[String], machine: &Machine) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let names = packages.join(" ");
    if !machine.apt || !machine.root {
        return Err(ask(why, &names, machine));
    }
    eprintln!("installing {names} {why} (as root, with apt-get)");
    let mut update = Command::new("apt-get");
    command::run(update.args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    install
        .args(["install", "-qq", "--yes", "--no-install-recommends"])
        .args(packages);
    command::run(&mut install)
}

/// Ensures that the programs are there. Each stands beside the package that has it.
pub fn ensure_programs(why: &str, programs: &[(&str, &str)]) -> Result<()> {
    let missing = programs
        .iter()
        .filter(|(program, _)| command::on_path(program).is_none())
        .map(|(_, package)| (*package).to_owned());
    ensure(why, &missing.collect::<Vec<_>>(), &Machine::look())
}

/// Returns the error that asks the user to install packages.
fn ask(why: &str, names: &str, machine: &Machine) -> Error {
    let hint = if machine.apt {
        format!("run `sudo apt-get update && sudo apt-get install --yes {names}`, then this again")
    } else {
        format!("install what Debian calls `{names}`, then run this again")
    };
    Error::Missing {
        what: format!("packages are missing {why}: {names}"),
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(machine: Machine) -> String {
        match ensure("to link haft", &["clang".into(), "lld".into()], &machine) {
            Err(Error::Missing { what, hint }) => format!("{what}\n{hint}"),
            other => panic!("not a sentence for a person: {other:?}"),
        }
    }

    #[test]
    fn whoever_may_not_install_gets_one_command() {
        assert_eq!(
            told(Machine {
                root: false,
                apt: true
            }),
            "packages are missing to link haft: clang lld\n\
             run `sudo apt-get update && sudo apt-get install --yes clang lld`, then this again"
        );
    }

    #[test]
    fn another_distribution_gets_the_names() {
        assert_eq!(
            told(Machine {
                root: true,
                apt: false
            }),
            "packages are missing to link haft: clang lld\n\
             install what Debian calls `clang lld`, then run this again"
        );
    }

    #[test]
    fn nothing_missing_needs_nothing() {
        ensure(
            "to link haft",
            &[],
            &Machine {
                root: false,
                apt: false,
            },
        )
        .expect("nothing to do");
    }
}
