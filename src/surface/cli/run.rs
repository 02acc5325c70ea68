//! `haft run`: runs a script that calls tools.

use std::io::{self, IsTerminal, Read};
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;

use super::call::time;
use super::call_input::Input;
use super::context::CommandContext;
use super::exit::{Answer, Failure};
use super::flags::Approval;
use super::run_call::{CALL_ID, CallOptions, Form};
use crate::code::{CodeMode, RUN_CODE};
use crate::surface::selection::Wanted;
use crate::surface::terminal;
use haft_config::Flags;
use haft_tool::types::script_identifier;
use haft_tool::{Call, Family, Level, Source, Tool, terminal_text};
use haft_tool::{Error, ErrorKind};

/// Run a script that calls tools
#[derive(clap::Args)]
#[command(after_help = "\
The script is the body of an async function in TypeScript. Its last expression is the result.

Examples:
  haft run -e 'await tools.greet({name: \"Ada\"})'
  haft run report.ts --arg days=7        `args.days` in the script
  haft run report.ts --json | jq .details.value
  haft run < report.ts
  haft new report --from-run last        makes a tool of it

Tools that only read run without a question. The others are asked about once for each tool and run;
without a terminal they are refused, unless an approval mode is chosen: --approval-mode yolo.

Exit codes:
  0 result    1 the script failed    2 usage    124 timed out    130 cancelled")]
pub(super) struct Args {
    /// The file with the script; without it or with `-`: standard input
    #[arg(conflicts_with = "code")]
    file: Option<String>,

    /// The script itself
    #[arg(short = 'e', long = "eval", value_name = "CODE")]
    code: Option<String>,

    /// A value of the script's global `args` (may be repeated): key=value or key:=JSON
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    pairs: Vec<String>,

    /// Let the script see the tools of this set of the configuration only (may be repeated)
    #[arg(long = "toolset", value_name = "NAME")]
    toolsets: Vec<String>,

    /// Print the whole result as one JSON object
    #[arg(long)]
    json: bool,

    /// Print one JSON object a line: started, every update, the result
    #[arg(long, conflicts_with = "json")]
    events: bool,

    /// Stop the script after this time (`500ms`, `30s`, `2m`), waits for tools included
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,

    /// Time that the script itself may take, waits for tools not included; default: 30s
    #[arg(long, value_name = "TIME", value_parser = time)]
    own_time: Option<Duration>,

    /// Print the whole text, however long it is
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    approval: Approval,
}

impl Args {
    /// Returns the format in which a failure is reported if events are printed.
    pub(super) fn event_answer(&self) -> Option<Answer> {
        self.events.then(|| Answer::Event {
            call_id: CALL_ID,
            tool: RUN_CODE.to_owned(),
        })
    }

    /// Returns the global flags with the additions of this command.
    pub(super) fn over(&self, flags: Flags) -> Flags {
        Flags {
            spill_kb: self.full.then_some(0),
            ..self.approval.over(flags)
        }
    }

    /// Returns true if the script comes from standard input.
    fn reads_input(&self) -> bool {
        self.code.is_none() && matches!(self.file.as_deref(), None | Some("-"))
    }

    /// Reads the script. Called before the session, because tools do not get standard input.
    pub(super) fn script(&self) -> Result<String, Error> {
        let read = |name: &str, text: io::Result<String>| {
            text.map_err(|error| {
                let text = format!("{name} cannot be read: {error}");
                let error = Error::new(ErrorKind::Usage, text);
                error.with_hint("`haft run -e CODE` takes the script itself")
            })
        };
        match (&self.code, self.file.as_deref()) {
            (Some(code), _) => Ok(code.clone()),
            // A person who has forgotten the file would wait for nothing.
            (None, None) if io::stdin().is_terminal() => {
                let error = Error::new(ErrorKind::Usage, "no script is given");
                Err(error.with_hint("`haft run FILE`, `haft run -e CODE`, or `haft run < FILE`"))
            }
            (None, None | Some("-")) => {
                let mut text = String::new();
                let got = io::stdin().lock().read_to_string(&mut text);
                read("standard input", got.map(|_| text))
            }
            (None, Some(file)) => read(file, std::fs::read_to_string(file)),
        }
    }

    pub(super) async fn run(
        &self,
        script: String,
        session: &mut CommandContext<'_>,
    ) -> Result<u8, Failure> {
        let catalog = session.catalog().await?;
        // A tool that the script names may need the user's trust first.
        let untrusted = catalog.tools().filter(|tool| !tool.trusted);
        let named = untrusted
            .map(|tool| tool.name.clone())
            .find(|name| script.contains(name) || script.contains(&script_identifier(name)));
        if let Some(name) = named {
            session.tool_to_call(&name).await?;
        }
        let is_attended = session.is_attended || self.reads_input();
        let call = Call {
            id: CALL_ID.into(),
            tool: RUN_CODE.into(),
            arguments: self.arguments(&script)?,
        };
        let wanted = Wanted {
            toolsets: self.toolsets.clone(),
            ..Wanted::default()
        };
        let selection = wanted.scope(&session.host.config().toolsets)?;
        let mode = CodeMode::new(selection);
        session.host = mode.on(&session.host);
        let options = CallOptions {
            form: if self.events {
                Form::Events
            } else if self.json {
                Form::Json
            } else {
                Form::Text
            },
            timeout: self.timeout,
            test: None,
        };
        let ended = options.call(call, is_attended, None, session).await;
        match ended {
            Ok(called) => {
                if terminal::is_terminal() && !self.events && !self.json {
                    let line = "`haft new NAME --from-run last` makes a tool of this script";
                    terminal::say(&terminal_text!("{}\n", session.err.dim(line)));
                }
                Ok(called.code)
            }
            Err(failure) => {
                // After a second Ctrl-C nothing else is waited for.
                session.killed |= matches!(&failure, Failure::Killed(_));
                Err(failure)
            }
        }
    }

    /// Returns the arguments of `run_code`.
    fn arguments(&self, script: &str) -> Result<Box<RawValue>, Error> {
        let args = Input::read(None, &self.pairs)?.typed_by(&any())?;
        let mut arguments = json!({"code": script, "args": &*args});
        if let Some(time) = self.own_time {
            arguments["timeout_ms"] = json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        }
        if self.full {
            arguments["max_output_tokens"] = json!(1_000_000);
        }
        RawValue::from_string(arguments.to_string())
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
    }
}

/// Returns a tool that takes any arguments, for the types of `--arg`.
fn any() -> Tool {
    let source = Source {
        family: Family::Native,
        provider: String::new(),
        provider_name: String::new(),
        level: Level::Host,
        path: Default::default(),
        plugin: None,
    };
    Tool::new(RUN_CODE, "", json!({"type": "object"}), source)
}
