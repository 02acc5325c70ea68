//! `haft serve`: serves the tools to HTTP clients and agents. One file per kind of server.

mod mcp;
mod nats;
mod network;
mod rest;
mod web;

use clap::Subcommand;

use super::exit::Failure;
use super::flags::{Approval, Globals, With};
use crate::surface::inspect::InspectAddress;
use crate::surface::mcp as mcp_surface;
use crate::surface::rest as rest_surface;
use crate::surface::rpc::Descriptor;
use crate::surface::stdout::Out;
use haft_config::Flags;
use haft_tool::CallerScope;
pub(super) use mcp::Args as McpArgs;
use network::Network;

/// Serve the tools to other programs: MCP, REST, or both on one port; to other hosts by NATS
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft serve                                   everything on http://127.0.0.1:4238
  haft serve mcp                               for agents, on standard input and output
  haft serve rest --listen 127.0.0.1:8080
  haft serve nats --url nats://127.0.0.1:4222  for hosts with `remote: nats://127.0.0.1:4222`
  haft serve --listen unix                     on a socket that only you can connect to
  haft serve --listen 0.0.0.0:4238 --token-file ~/.config/haft/token

Where it listens is the first line on standard error that begins with `listening on `. Port 0 takes
one that is free. Clients need a token: the server makes one at each start, `haft open` opens the page
with it, and `haft token new` makes others that last. docs/rest.md has the requests.")]
pub(super) struct Args {
    #[command(flatten)]
    how: How,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    Mcp(With<mcp::Args>),
    Nats(With<nats::Args>),
    Rest(With<rest::Args>),
}

/// Options of every server.
#[derive(clap::Args, Clone, Debug, Default)]
struct How {
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    approval: Approval,

    /// Let debuggers attach to the tools at this address of the machine [default: 127.0.0.1:9229]
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "9229")]
    inspect: Option<InspectAddress>,
}

impl How {
    /// Merges these flags with those that were typed after the subcommand's name.
    fn followed_by(&self, later: &How) -> How {
        How {
            network: self.network.followed_by(&later.network),
            approval: self.approval.followed_by(&later.approval),
            inspect: later.inspect.or(self.inspect),
        }
    }

    /// Returns the flags with the additions of these.
    fn over(&self, flags: Flags) -> Result<Flags, Failure> {
        Ok(Flags {
            serve: self.network.flags()?,
            ..self.approval.over(flags)
        })
    }
}

impl Args {
    /// Serves. `program` is the descriptor of a program that is served too.
    pub(super) async fn run(
        &self,
        globals: &Globals,
        out: &Out,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        match &self.what {
            None => {
                let flags = self.how.over(globals.flags())?;
                let inspect = self.how.inspect;
                let surface = ("http", CallerScope::user());
                web::run(globals, flags, inspect, surface, program, everything).await
            }
            Some(What::Mcp(c)) => c.args.run(globals, &self.how, out, program).await,
            Some(What::Nats(c)) => c.args.run(globals, &self.how, program).await,
            Some(What::Rest(c)) => c.args.run(globals, &self.how, program).await,
        }
    }
}

/// Returns a router with all interfaces for one port.
fn everything(web: &web::Web) -> axum::Router {
    let api = rest_surface::rest(&web.host, &web.stop, web.sharing.clone());
    let (stop, sharing) = (&web.stop, web.sharing.clone());
    let mcp = mcp_surface::router(&api.host, CallerScope::user(), stop, &web.cut, sharing);
    rest::router(web, api.router).merge(web.for_clients(mcp))
}
