//! Properties of this machine: its user and its package manager.

use std::process::Command;

use crate::command;

pub struct Machine {
    /// Set if we are root and may install packages.
    pub root: bool,
    /// Set if Debian's package manager is installed.
    pub apt: bool,
}

impl Machine {
    pub fn look() -> Self {
        let user = command::output(Command::new("id").arg("-u"));
        Self {
            root: user.is_ok_and(|id| id.trim() == "0"),
            apt: command::on_path("apt-get").is_some(),
        }
    }
}
