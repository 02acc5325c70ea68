//! Command line surface: one file per command.
//!
//! clap parses the arguments into plain data, and `flags` turns it into a `Config`. A command then
//! calls the host and prints. Data goes to standard output, everything else to standard error.

mod flags;
mod usage;

mod agents;
mod bundle;
mod call;
mod call_input;
mod call_session;
mod completions;
mod config;
mod debug;
mod doctor;
mod install;
mod learn;
mod learn_types;
mod list;
mod log;
mod manual;
mod mcp;
mod new;
mod open;
mod permit;
mod queue;
mod refresh;
mod remote;
mod repl;
mod rpc;
mod run;
mod run_call;
mod schema;
mod serve;
mod show;
mod test;
mod token;
mod tool;
mod trust;
mod types;
mod watch;

mod confirm;
mod context;
mod exit;
mod install_page;
mod live_region;
mod progress;
mod schema_kind;
mod terminal;
mod trust_page;
mod trust_question;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};

use crate::audit;
use crate::surface::rpc::Descriptor;
use crate::surface::stdout::Out;
use crate::telemetry;
use context::{CommandContext, on_host};
use exit::{Answer, Failure};
use flags::{Globals, With};
use haft_config::Env;
use haft_render::style::Ink;
use haft_tool::{Error, ErrorKind};

/// Timeout for writing the last lines of the call log before the program ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Finds the tools people write for LLM agents and runs them safely and fast.
#[derive(Parser)]
#[command(
    name = "haft",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  haft list                          every tool, and what is wrong with the others
  haft call greet --arg name=Ada     run one
  haft --tool ./my-tool.ts list      with a tool that lies somewhere else

`haft COMMAND --help` has examples for each command."
)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    List(With<list::Args>),
    Show(With<show::Args>),
    Schema(With<schema::Args>),
    Types(With<types::Args>),
    Call(With<call::Args>),
    Run(With<run::Args>),
    Repl(With<repl::Args>),
    Doctor(With<doctor::Args>),
    Config(With<config::Args>),
    Refresh(With<refresh::Args>),
    Watch(With<watch::Args>),
    Trust(With<trust::Args>),
    Permit(With<permit::Args>),
    Log(Box<log::Args>),
    Install(With<install::Args>),
    #[command(alias = "tools", override_help = include_str!("tool/help/tool.txt"))]
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Tool(Box<tool::Args>),
    Test(With<test::Args>),
    New(With<new::Args>),
    Agents(Box<agents::Args>),
    Bundle(With<bundle::Args>),
    Rpc(With<rpc::Args>),
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(Box<mcp::McpCommand>),
    Serve(Box<serve::Args>),
    Open(With<open::Args>),
    Token(Box<token::Args>),
    Queue(Box<queue::Args>),
    Completions(completions::Args),
    #[command(hide = true)]
    Manual(manual::Args),
}

/// Runs the program with these arguments (the first is its own name) and returns its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    haft_process::harden();
    // Must run before a second thread exists.
    Env::take_tokens();
    let err = Ink::for_stderr();
    let mut out = match Out::claim() {
        Ok(out) => out,
        Err(error) => return exit::without_output(&error, err),
    };
    audit::set_reporter(|problem| {
        // No configuration has been resolved here, so paths are not shortened.
        let text = haft_render::problem::problem(problem, Path::new(""), Ink::for_stderr());
        exit::say(&text);
    });
    let code = match Cli::try_parse_from(command_line(args)) {
        Ok(cli) => {
            let answer = cli.command.answer();
            let ended = start(cli, &mut out);
            exit::report(ended, &answer, &mut out, err)
        }
        Err(error) => usage::report(&error, &mut out, err),
    };
    ExitCode::from(code)
}

/// Returns the arguments in the form that clap parses.
fn command_line(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    tool::with_parameters(flags::with_patterns(args), Cli::command)
}

fn start(cli: Cli, out: &mut Out) -> Result<u8, Failure> {
    let globals = match cli.command.globals() {
        Some(later) => cli.globals.followed_by(&later),
        None => cli.globals,
    };
    if let Some(filter) = globals.log_filter() {
        telemetry::init(filter)?;
    }
    let program = match globals.rpc_fd() {
        Some(number) => Some(cli.command.program(number)?),
        None => None,
    };
    // One thread is enough: each isolate has its own, and more threads would slow the start.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(cli.command.run(&globals, out, program));
    // A file operation that never returns must not delay the end of the program.
    runtime.shutdown_background();
    // Kills what was not waited for after a second signal or a shutdown timeout.
    haft_process::kill_all();
    audit::flush_all(FLUSH_TIMEOUT);
    crate::host::telemetry::finish();
    let code = ended?;
    out.flush()?;
    Ok(code)
}

impl Command {
    /// Takes over the descriptor of `--rpc-fd`. Must run before a second thread exists.
    fn program(&self, number: i32) -> Result<Descriptor, Failure> {
        match self {
            Command::Mcp(_) | Command::Serve(_) => Ok(Descriptor::claim(number)?),
            _ => {
                let text = "--rpc-fd is an option of `haft mcp` and `haft serve`";
                let hint = "`haft rpc` serves JSON-RPC on standard input and output";
                Err(Error::new(ErrorKind::Usage, text).with_hint(hint).into())
            }
        }
    }

    /// Runs the command. `program` is the descriptor of `--rpc-fd`.
    async fn run(
        &self,
        globals: &Globals,
        out: &mut Out,
        program: Option<Descriptor>,
    ) -> Result<u8, Failure> {
        match self {
            Command::List(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Show(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Schema(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Types(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Doctor(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Refresh(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Watch(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Install(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Call(c) => {
                // Parsed before the session, so that a wrong argument starts nothing.
                let input = c.args.input()?;
                let flags = c.args.over(globals.flags());
                CommandContext::with(flags, out, async |s| c.args.run(input, s).await).await
            }
            Command::Run(c) => {
                let script = c.args.script()?;
                let flags = c.args.over(globals.flags());
                CommandContext::with(flags, out, async |s| c.args.run(script, s).await).await
            }
            Command::Repl(c) => {
                let flags = c.args.over(globals.flags());
                CommandContext::with_input(flags, "repl", out, async |s, input| {
                    c.args.run(s, input).await
                })
                .await
            }
            Command::Trust(c) => c.args.run(globals, out).await,
            Command::Permit(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Log(args) => args.run(globals, out).await,
            Command::Tool(args) => args.run(globals, out).await,
            Command::Test(c) => c.args.run(globals, out).await,
            Command::New(c) => c.args.run(globals, out),
            Command::Config(c) => c.args.run(globals, out),
            Command::Agents(args) => args.run(globals, out),
            Command::Bundle(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Rpc(c) => c.args.run(globals, out).await,
            Command::Mcp(args) => args.run(globals, out, program).await,
            Command::Serve(args) => args.run(globals, out, program).await,
            Command::Open(c) => c.args.run(globals, out).await,
            Command::Token(args) => args.run(globals, out),
            Command::Queue(args) => args.run(globals, out).await,
            Command::Completions(args) => args.run(Cli::command(), out),
            Command::Manual(args) => args.run(Cli::command(), out),
        }
    }

    /// Returns the global arguments that were typed after the command's name.
    fn globals(&self) -> Option<Globals> {
        let globals = match self {
            Command::List(c) => &c.globals,
            Command::Show(c) => &c.globals,
            Command::Schema(c) => &c.globals,
            Command::Types(c) => &c.globals,
            Command::Call(c) => &c.globals,
            Command::Run(c) => &c.globals,
            Command::Repl(c) => &c.globals,
            Command::Doctor(c) => &c.globals,
            Command::Config(c) => &c.globals,
            Command::Refresh(c) => &c.globals,
            Command::Watch(c) => &c.globals,
            Command::Trust(c) => &c.globals,
            Command::Permit(c) => &c.globals,
            Command::Install(c) => &c.globals,
            Command::Rpc(c) => &c.globals,
            Command::Test(c) => &c.globals,
            Command::New(c) => &c.globals,
            Command::Bundle(c) => &c.globals,
            Command::Open(c) => &c.globals,
            Command::Token(args) => return Some(args.globals()),
            Command::Queue(args) => return Some(args.globals()),
            Command::Mcp(args) => return Some(args.globals()),
            Command::Tool(args) => return Some(args.globals()),
            Command::Serve(args) => return Some(args.globals()),
            Command::Agents(args) => return Some(args.globals()),
            Command::Log(_) | Command::Completions(_) | Command::Manual(_) => return None,
        };
        Some(globals.clone())
    }

    /// Returns the format in which standard output reports a failure. Standard error gets the text
    /// in any case.
    fn answer(&self) -> Answer {
        match self {
            Command::List(c) => Answer::json_if(c.args.json),
            Command::Show(c) => Answer::json_if(c.args.json),
            Command::Doctor(c) => Answer::json_if(c.args.json),
            Command::Watch(c) => Answer::json_if(c.args.json),
            Command::Trust(c) => Answer::json_if(c.args.json),
            Command::Permit(c) => Answer::json_if(c.args.json),
            Command::Log(args) => Answer::json_if(args.json),
            Command::Install(c) => Answer::json_if(c.args.json),
            Command::Call(c) => c.args.answer(),
            Command::Run(c) => c.args.answer(),
            Command::Tool(args) => args.answer(),
            Command::Agents(args) => args.answer(),
            Command::Token(args) => args.answer(),
            Command::Queue(args) => args.answer(),
            Command::Mcp(args) => args.answer(),
            Command::Schema(_)
            | Command::Types(_)
            | Command::Refresh(_)
            | Command::Repl(_)
            | Command::Test(_)
            | Command::Config(_)
            | Command::New(_)
            | Command::Bundle(_)
            | Command::Rpc(_)
            | Command::Serve(_)
            | Command::Open(_)
            | Command::Completions(_)
            | Command::Manual(_) => Answer::Text,
        }
    }
}
