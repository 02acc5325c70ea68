//! `haft serve mcp`: serves only MCP, on standard input and output or over HTTP.

use super::How;
use super::web;
use crate::audit::Caller;
use crate::host::Host;
use crate::surface::cli::debug;
use crate::surface::cli::exit::Failure;
use crate::surface::cli::flags::Globals;
use crate::surface::mcp;
use crate::surface::rpc::Descriptor;
use crate::surface::selection::Wanted;
use crate::surface::stdout::Out;
use haft_config::{CodeListing, Config, ListenAddress, Structured, parse_task_mode, parse_word};
use haft_tool::TaskMode;

/// Serve the tools to MCP clients, on standard input and output or over HTTP
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft serve mcp                              what an agent's configuration starts
  haft serve mcp --http 127.0.0.1:8080        many clients at http://127.0.0.1:8080/mcp
  haft serve mcp --include 'git_*' --exclude git_push
  haft serve mcp --code=only                  models call all tools by code: docs/code-mode.md
  haft serve mcp --toolset review             `toolsets: {review: [\"git_*\"]}` in config.yaml

docs/mcp.md has the configuration of clients, and what they get.")]
pub(in crate::surface::cli) struct Args {
    /// Serve over HTTP at this address instead: HOST:PORT or PORT
    #[arg(long, value_name = "ADDR", conflicts_with = "listen")]
    http: Option<ListenAddress>,

    #[command(flatten)]
    wanted: Wanted,

    /// When results carry structured content: declared, always or never; clients show it to models
    /// instead of the text
    #[arg(long, value_name = "WHEN", value_parser = parse_word::<Structured>)]
    structured: Option<Structured>,

    /// When a call goes on as a task, where the client knows tasks: a duration, always or never
    #[arg(long, value_name = "TIME", value_parser = parse_task_mode)]
    task_after: Option<TaskMode>,

    /// Code mode: list `run_code` and `search_tools`, and with `auto` up to 30 tools beside them;
    /// `--code` alone is auto
    #[arg(
        long,
        value_name = "auto|only|never",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        value_parser = parse_word::<CodeListing>
    )]
    code: Option<CodeListing>,

    #[command(flatten)]
    how: How,
}

impl Args {
    /// Serves MCP as `haft mcp`.
    pub(in crate::surface::cli) async fn run_alone(
        &self,
        globals: &Globals,
        out: &Out,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        self.run(globals, &How::default(), out, program).await
    }

    /// Serves MCP. `earlier` has the flags that were typed before `mcp`, `program` is the
    /// descriptor of a program that is served too.
    pub(super) async fn run(
        &self,
        globals: &Globals,
        earlier: &How,
        out: &Out,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        let how = earlier.followed_by(&self.how);
        let is_over_http = self.http.is_some() || how.network.says_where();
        let mut flags = how.over(globals.flags())?;
        flags.serve.listen = self.http.clone().or(flags.serve.listen);
        flags.serve.with_builtin_tools = false;
        flags.mcp.structured = self.structured.or(flags.mcp.structured);
        flags.mcp.task_after = self.task_after.or(flags.mcp.task_after);
        flags.mcp.code = self.code.or(flags.mcp.code);
        let mut config = Config::resolve(flags.clone())?;
        let selection = self.wanted.scope(&config.toolsets)?;
        if is_over_http {
            let shared = self.wanted.scope(&config.toolsets)?;
            let surface = ("mcp-http", shared);
            return web::run(globals, flags, how.inspect, surface, program, |web| {
                let (stop, sharing) = (&web.stop, web.sharing.clone());
                let router = mcp::router(&web.host, selection, stop, &web.cut, sharing);
                web.for_clients(router)
            })
            .await;
        }
        debug::inspect(&mut config, how.inspect);
        let host = Host::new(config).recorded(Caller::parent("mcp"));
        let _debuggers = debug::serve(&host, how.inspect).await?;
        host.keep_spare_worker();
        let program = program.map(|descriptor| descriptor.serve(&host));
        let program = program.transpose()?;
        let code = mcp::serve_stdio(host, selection, out.protocol_file()?).await?;
        if let Some(program) = program {
            program.finish().await;
        }
        Ok(code)
    }
}
