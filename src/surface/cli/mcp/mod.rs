//! `haft mcp`: serves MCP on standard input and output, and manages the MCP servers whose tools haft
//! offers.

mod add;
mod connect;
mod import;
mod list;
mod login;
mod test;
mod trust;

use clap::Subcommand;

use super::context::CommandContext;
use super::exit::Failure;
use super::flags::{Globals, With};
use super::serve::McpArgs;
use crate::surface::rpc::Descriptor;
use crate::surface::stdout::Out;
use add::{Add, Remove};
pub(super) use connect::changes_page;
use haft_config::Config;
use import::Import;
use list::List;
pub(super) use list::{ServerView, view};
use login::{Login, Logout};
use test::{Refresh, Test};
pub(super) use trust::{show_changes, trust_server};

/// Help of the command. The flags of the server bring their own help, which this replaces.
pub(super) const EXAMPLES: &str = "\
Examples:
  haft mcp                                       what an agent's configuration starts
  haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  haft mcp add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GH_TOKEN}'
  haft mcp list                                  which there are, and their states
  haft mcp test files                            start it, and show what it offers
  haft trust mcp:files                           what it changed since you trusted it
  haft mcp import claude-code cursor             take over servers of other programs

docs/mcp.md has the options of the server, docs/mcp-servers.md the configuration of servers.";

/// Serve MCP on standard input and output, or manage the MCP servers whose tools haft offers
#[derive(clap::Args)]
pub(super) struct McpCommand {
    #[command(flatten)]
    serve: With<McpArgs>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Add(With<Add>),
    List(With<List>),
    Remove(With<Remove>),
    Test(With<Test>),
    Refresh(With<Refresh>),
    Import(With<Import>),
    Login(With<Login>),
    Logout(With<Logout>),
}

impl McpCommand {
    pub(super) async fn run(
        &self,
        globals: &Globals,
        out: &mut Out,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        let flags = globals.flags();
        match &self.verb {
            None => self.serve.args.run_alone(globals, out, program).await,
            Some(Verb::Add(c)) => {
                c.args.write(&Config::resolve(flags.clone())?)?;
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::List(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Remove(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Test(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Refresh(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Import(c)) => c.args.run(&Config::resolve(flags)?, out).await,
            Some(Verb::Login(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
            Some(Verb::Logout(c)) => {
                CommandContext::with(flags, out, async |s| c.args.run(s).await).await
            }
        }
    }
}
