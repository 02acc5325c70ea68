//! `haft completions`: prints a script with which a shell completes commands and flags.

use clap::Command;
use clap_complete::Shell;

use super::exit::{Failure, SUCCESS};
use crate::surface::stdout::Out;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft completions bash > ~/.local/share/bash-completion/completions/haft
  haft completions zsh > ~/.zfunc/_haft
  haft completions fish > ~/.config/fish/completions/haft.fish")]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// Prints the script for `program`.
    pub(super) fn run(&self, mut program: Command, out: &mut Out) -> Result<u8, Failure> {
        // Written to memory first, since the generator panics if a write fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "haft", &mut script);
        out.data(&String::from_utf8_lossy(&script))?;
        Ok(SUCCESS)
    }
}
