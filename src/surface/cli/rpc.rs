//! `haft rpc`: runs the RPC surface.

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
    /// Serves until the client closes standard input, requests the end or disappears.
    pub(super) async fn run(&self, globals: &Globals, out: &Out) -> Result<u8, Failure> {
        // Check the flags now, so that an error goes to the process that starts haft and not to the
        // first request.
        globals.config()?;
        Ok(rpc::serve(globals.flags(), !self.no_watch, out.protocol_file()?).await?)
    }
}
