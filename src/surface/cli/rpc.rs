//! `haft rpc`: hands the process over to the RPC surface.

use super::exit::Failure;
use super::flags::Globals;
use crate::surface::rpc;
use crate::surface::stdout::Out;

/// Serve other programs: JSON-RPC 2.0, one message a line on standard input and output
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' | haft rpc
  haft --cwd ~/project --trust-project rpc

The methods: initialize, tools/list, tools/refresh, tools/load, tools/validate, tools/call, tools/cancel,
session/event, shutdown. docs/rpc.md has them with transcripts.")]
pub(super) struct Args {
    /// Do not watch the tools' files: what changes counts after tools/refresh or the next start
    #[arg(long)]
    no_watch: bool,
}

impl Args {
    /// Serves until the other side closes standard input, asks for the end or goes away.
    pub(super) async fn run(&self, globals: &Globals, out: &Out) -> Result<u8, Failure> {
        // A flag that makes no sense is told to whoever starts us, not to the first request.
        globals.config()?;
        Ok(rpc::serve(globals.flags(), !self.no_watch, out.file()?).await?)
    }
}
