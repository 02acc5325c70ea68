//! Shell tools: a command template without a shell.
//!
//! The template is parsed once, when it is loaded. A call puts values into words, which are never
//! split again, and the programs are started one by one.

mod danger;
mod lexer;
mod run;
mod script;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Ground;
use super::args::Args;
use super::json::{Fault, Fields};
use super::limits;
use super::template::Part;
use crate::family::tool_command::template_words;
use haft_process::{CommandWord, project_files};
use lexer::Word;
use script::{Script, Step, When};

/// Default timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Fault of a template, with a hint.
pub(super) struct Refused {
    message: String,
    hint: String,
}

/// A command template, ready for values.
pub(super) struct Shell {
    steps: Vec<Step>,
    timeout: Duration,
    cwd: PathBuf,
}

/// Call whose values are in their places and have passed all checks.
pub(super) struct ShellPlan {
    steps: Vec<(When, Vec<Vec<CommandWord>>)>,
    timeout: Duration,
    cwd: PathBuf,
}

impl Refused {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Refused {
        let (message, hint) = (message.into(), hint.into());
        Refused { message, hint }
    }

    fn into_fault(self, handler: &Fields<'_>) -> Fault {
        let message = format!("Shell handler command: {}", self.message);
        handler.fault("command", message).hint(self.hint)
    }
}

impl Shell {
    /// Reads the handler; minor faults are added to `warnings`.
    pub(super) fn read(
        handler: &Fields<'_>,
        ground: &Ground,
        faults: &mut Vec<Fault>,
        warnings: &mut Vec<Fault>,
    ) -> Option<Shell> {
        let timeout = limits::timeout("Shell handler", handler, TIMEOUT, faults);
        let cwd = match (handler.get("cwd"), handler.string("cwd")) {
            (None, _) => Some(ground.project.clone()),
            (Some(_), Some(cwd)) => Some(ground.folder(&cwd)),
            (Some(_), None) => {
                let text = "Shell handler cwd must be a string if provided";
                faults.push(handler.fault("cwd", text));
                None
            }
        };
        let command = handler
            .string("command")
            .filter(|command| !command.trim().is_empty());
        let Some(command) = command else {
            let text = "Shell handler command is required and must be a non-empty string";
            faults.push(handler.fault("command", text));
            return None;
        };
        let is_trusted = match handler.get("trustedArgs").map(|given| given.value()) {
            None => false,
            Some(serde_json::Value::Bool(is_trusted)) => is_trusted,
            Some(_) => {
                let text = "Shell handler trustedArgs must be true or false if provided";
                faults.push(handler.fault("trustedArgs", text));
                false
            }
        };
        let script = script::parse(&command).and_then(|mut script| {
            for step in &mut script.steps {
                danger::judge_pipeline(&mut step.pipeline, is_trusted)?;
            }
            Ok(script)
        });
        match script {
            Ok(Script {
                steps,
                warnings: told,
            }) => {
                warnings.extend(told.into_iter().map(|told| told.into_fault(handler)));
                Some(Shell {
                    steps,
                    timeout: timeout?,
                    cwd: cwd?,
                })
            }
            Err(refused) => {
                faults.push(refused.into_fault(handler));
                None
            }
        }
    }

    /// Returns every parameter of the template.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        let commands = self.steps.iter().flat_map(|step| &step.pipeline);
        let words = commands.flat_map(|command| &command.words);
        words.flat_map(|word| super::template::parameters(word))
    }

    /// Returns the files of the project that the commands start.
    pub(super) fn named_files(&self, project: &Path) -> Vec<PathBuf> {
        let commands = self.steps.iter().flat_map(|step| &step.pipeline);
        let files = commands.flat_map(|command| {
            let texts = danger::texts(&command.words);
            let words = template_words(&texts, texts.iter().cloned());
            project_files(project, &self.cwd, &words)
        });
        files.collect()
    }

    /// Puts the values into their places.
    pub(super) fn plan(&self, tool: &str, args: &Args) -> Result<ShellPlan, String> {
        let argv = |command: &script::Command| -> Result<Vec<CommandWord>, String> {
            let words = command.words.iter();
            let argv: Vec<String> = words
                .map(|word| argument(tool, word, args))
                .collect::<Result<_, _>>()?;
            for rule in &command.no_options {
                values::check_option(rule, &command.words, &argv)?;
            }
            let texts = danger::texts(&command.words);
            Ok(template_words(&texts, argv))
        };
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let commands = step.pipeline.iter().map(argv);
            steps.push((step.when, commands.collect::<Result<_, _>>()?));
        }
        Ok(ShellPlan {
            steps,
            timeout: self.timeout,
            cwd: self.cwd.clone(),
        })
    }
}

/// Builds one argument. The contents of values are never parsed again.
fn argument(tool: &str, word: &Word, args: &Args) -> Result<String, String> {
    let mut argument = String::new();
    for part in word {
        match part {
            Part::Text(text) => argument.push_str(text),
            Part::Parameter(name) => {
                let value = args.text(name)?;
                values::check(tool, name, &value)?;
                argument.push_str(&value);
            }
        }
    }
    if matches!(word.first(), Some(Part::Parameter(_))) {
        values::notice_option(tool, &argument);
    }
    Ok(argument)
}
