//! `haft refresh`: scans for all tools again and prints their number.
//!
//! Every command scans anyway, so this only serves to see the number and the problems after a
//! change. A long-running program uses `tools/refresh` or `Host::refresh`.

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use crate::surface::terminal::say;
use crate::surface::wire;
use haft_render::problem;
use haft_tool::terminal_text;

/// Look for the tools anew, and say how many there are
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft refresh
  haft refresh 2>/dev/null")]
pub(super) struct Args {}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let catalog = session.catalog().await?;
        for found in &catalog.problems {
            say(&problem::problem(found, session.home(), session.err));
        }
        session
            .out
            .print_line(&terminal_text!("{}", wire::refreshed(catalog.usable())))?;
        Ok(SUCCESS)
    }
}
