//! `haft manual DIR`: writes the manual pages, for packagers of haft.
//!
//! The command is hidden, since users have `--help`. The pages are generated from the same
//! definitions, so they always agree with it.

use std::path::PathBuf;

use clap::Command;

use super::exit::{Failure, SUCCESS};
use crate::surface::stdout::Out;
use haft_config::paths;
use haft_tool::{Error, ErrorKind, terminal_text};

/// Write the manual pages into a directory: haft.1, and one for each command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft manual ~/.local/share/man/man1")]
pub(super) struct Args {
    /// The directory, which must exist
    directory: PathBuf,
}

impl Args {
    /// Writes the pages of `program`.
    pub(super) fn run(&self, program: Command, out: &mut Out) -> Result<u8, Failure> {
        clap_mangen::generate_to(program, &self.directory).map_err(|error| {
            let directory = self.directory.display();
            let text = format!("{directory}: no manual pages: {}", paths::plain(&error));
            Error::new(ErrorKind::Usage, text)
                .with_hint("name a directory that exists and can be written")
        })?;
        out.print_line(&terminal_text!("{}", self.directory.display()))?;
        Ok(SUCCESS)
    }
}
