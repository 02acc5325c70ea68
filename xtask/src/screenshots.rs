//! `cargo xtask screenshots`: pictures of the page of `haft serve`, for the documentation.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::error::Result;
use crate::{command, prerequisites, programs, workspace};

/// Take the pictures of `docs/page/`: every view at the widths of a phone, a tablet and a laptop.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask screenshots
  cargo xtask screenshots --into /tmp/shots --haft target/release/haft")]
pub struct Screenshots {
    /// Folder for the pictures.
    #[arg(long, value_name = "DIR", default_value = "docs/page")]
    into: PathBuf,

    /// The program to use instead of building it.
    #[arg(long, value_name = "FILE")]
    haft: Option<PathBuf>,
}

impl Screenshots {
    pub fn run(self) -> Result<()> {
        prerequisites::for_the_page()?;
        let haft = self.haft.map_or_else(|| programs::build_haft(false), Ok)?;
        let root = workspace::root();
        let mut node = Command::new("node");
        node.arg(root.join("xtask/screenshots.mjs"))
            .arg(haft)
            .arg(root.join(self.into));
        command::run(&mut node)
    }
}
