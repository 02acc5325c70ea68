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
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::audit;
use crate::host;
use crate::surface::rpc::Descriptor;
use crate::surface::stdout::Out;
use crate::surface::terminal::LogWriter;
use crate::telemetry;
use context::{CommandContext, on_host};
use exit::{Answer, Failure};
use flags::{Globals, With};
use haft_config::Env;
use haft_process::state_dir;
use haft_render::style::Ink;
use haft_tool::{Error, ErrorKind, Problem};

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
    Tool(Box<With<tool::Args>>),
    Test(With<test::Args>),
    New(With<new::Args>),
    Agents(Box<With<agents::Args>>),
    Bundle(With<bundle::Args>),
    Rpc(With<rpc::Args>),
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(Box<mcp::McpCommand>),
    Serve(Box<With<serve::Args>>),
    Open(With<open::Args>),
    Token(Box<With<token::Args>>),
    Queue(Box<With<queue::Args>>),
    Completions(completions::Args),
    #[command(hide = true)]
    Manual(manual::Args),
}

/// Shows a problem of haft's own files. No configuration has been resolved yet, so paths are not
/// shortened.
fn report(problem: &Problem) {
    let text = haft_render::problem::problem(problem, Path::new(""), Ink::for_stderr());
    crate::surface::terminal::say(&text);
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
    audit::set_reporter(report);
    state_dir::set_reporter(|repair| {
        let problem = Problem::warning(format!("{repair}, and was set right"))
            .at(repair.path())
            .hint("a program changed it: one in a sandbox can, if the system has no namespaces");
        report(&problem);
    });
    let code = match Typed::parse(command_line(args)) {
        Ok(typed) => {
            let answer = typed.answer();
            let ended = start(typed, &mut out);
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

fn start(typed: Typed, out: &mut Out) -> Result<u8, Failure> {
    let Typed {
        command, globals, ..
    } = typed;
    if let Some(filter) = globals.log_filter() {
        telemetry::init(filter, LogWriter::new)?;
    }
    let program = match globals.rpc_fd() {
        Some(number) => Some(command.program(number)?),
        None => None,
    };
    // One thread is enough: each isolate has a process, and more threads would slow the start.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    host::set_program_runtime(Some(runtime.handle().clone()));
    let ended = runtime.block_on(command.run(&globals, out, program));
    host::set_program_runtime(None);
    // A file operation that never returns must not delay the end of the program.
    runtime.shutdown_background();
    // Kills what was not waited for after a second signal or a shutdown timeout.
    haft_process::kill_all();
    audit::flush_all(FLUSH_TIMEOUT);
    host::telemetry::finish();
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
            Command::Tool(c) => c.args.run(globals, out).await,
            Command::Test(c) => c.args.run(globals, out).await,
            Command::New(c) => c.args.run(globals, out),
            Command::Config(c) => c.args.run(globals, out),
            Command::Agents(c) => c.args.run(globals, out),
            Command::Bundle(c) => on_host(globals, out, async |s| c.args.run(s).await).await,
            Command::Rpc(c) => c.args.run(globals, out).await,
            Command::Mcp(args) => args.run(globals, out, program).await,
            Command::Serve(c) => c.args.run(globals, out, program).await,
            Command::Open(c) => c.args.run(globals, out).await,
            Command::Token(c) => c.args.run(globals, out),
            Command::Queue(c) => c.args.run(globals, out).await,
            Command::Completions(args) => args.run(Cli::command(), out),
            Command::Manual(args) => args.run(Cli::command(), out),
        }
    }
}

/// A command line: the command, with what holds for all commands.
struct Typed {
    command: Command,
    /// The global arguments. Those after a later name take precedence.
    globals: Globals,
    /// True if `--json` was typed.
    is_json: bool,
}

impl Typed {
    fn parse(words: Vec<OsString>) -> Result<Typed, clap::Error> {
        let mut command = Cli::command();
        let matches = command.try_get_matches_from_mut(words)?;
        let cli = Cli::from_arg_matches(&matches)?;
        let mut typed = Typed {
            command: cli.command,
            globals: cli.globals,
            is_json: false,
        };
        typed.read_below(&command, &matches)?;
        Ok(typed)
    }

    /// Reads the arguments after the names below `command`.
    fn read_below(
        &mut self,
        command: &clap::Command,
        matches: &ArgMatches,
    ) -> Result<(), clap::Error> {
        let Some((name, matches)) = matches.subcommand() else {
            return Ok(());
        };
        let Some(below) = command.find_subcommand(name) else {
            return Ok(());
        };
        let has = |name: &str| below.get_arguments().any(|arg| arg.get_id() == name);
        if has(flags::ANY_GLOBAL) {
            let mut later = Globals::from_arg_matches(matches)?;
            if (command.get_name(), name) == tool::OWN_VERBOSE {
                later = later.without_verbose();
            }
            self.globals = self.globals.clone().followed_by(&later);
        }
        self.is_json = has("json") && matches.get_flag("json");
        self.read_below(below, matches)
    }

    /// Returns the format in which standard output reports a failure. Standard error gets the text
    /// in any case.
    fn answer(&self) -> Answer {
        let of_call = match &self.command {
            Command::Call(c) => c.args.event_answer(),
            Command::Run(c) => c.args.event_answer(),
            Command::Tool(c) => c.args.event_answer(),
            _ => None,
        };
        of_call.unwrap_or(Answer::json_if(self.is_json))
    }
}
