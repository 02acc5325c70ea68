//! Result of a call: texts for the model, facts for other readers (spec cycod 26–30, 95).
//!
//! There are two forms of every output: the true one, which later steps use, and the masked one,
//! which is all that leaves the tool.

use std::time::Duration;

use serde_json::{Value, json};

use super::mask::Mask;
use super::value::StepFacts;
use haft_tool::{Block, Outcome};

/// Result of a call.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) steps: Vec<StepReport>,
    pub(crate) is_stepped: bool,
    /// The timeout that expired.
    pub(crate) timeout: Option<Duration>,
    pub(crate) was_cancelled: bool,
    pub(crate) ignores_errors: bool,
    pub(crate) warnings: Vec<String>,
    pub(crate) mask: Mask,
    pub(crate) duration: Duration,
}

/// One step, in the order of the file.
#[derive(Debug)]
pub(crate) struct StepReport {
    pub(crate) name: String,
    pub(crate) state: State,
    pub(crate) ended: Ended,
    pub(crate) facts: StepFacts,
    pub(crate) attempts: u32,
}

/// State of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Succeeded,
    /// It failed, and the author marked that as unimportant.
    Tolerated,
    Failed,
    /// Its condition did not hold.
    Skipped,
    /// A step that it waits for failed, or the call had ended.
    NotStarted,
}

/// One run of a step's command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    pub(crate) exit_code: i64,
    pub(crate) stdout: Text,
    pub(crate) stderr: Text,
    /// Reason of the failure, if the program's output does not contain it.
    pub(crate) error: Option<String>,
    /// The call has ended: no retry.
    pub(crate) was_stopped: bool,
}

/// An output in both forms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    pub(crate) raw: String,
    pub(crate) shown: String,
}

impl Text {
    /// Adds a line to both forms.
    pub(crate) fn add_line(&mut self, line: &str) {
        for text in [&mut self.raw, &mut self.shown] {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// Limit of each output in the details, in bytes; the text already has all of it.
const DETAIL: usize = 64 << 10;

impl Ended {
    /// Returns the result of a command that never ran.
    pub(crate) fn not_run(exit_code: i64, error: impl Into<String>) -> Ended {
        Ended {
            exit_code,
            error: Some(error.into()),
            ..Ended::default()
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.exit_code != 0 || self.error.is_some()
    }

    /// Returns the reason of the failure; `None` if there is none.
    pub(crate) fn failure(&self, step: Option<&str>) -> Option<String> {
        if !self.has_failed() {
            return None;
        }
        let said = [&self.stderr.shown, &self.stdout.shown];
        let said = said
            .into_iter()
            .map(|text| text.trim_end())
            .find(|text| !text.is_empty());
        let who = match step {
            Some(name) => format!("Step '{name}'"),
            None => "Command".to_owned(),
        };
        let what = match (&self.error, step) {
            (Some(error), Some(_)) => format!("{who} failed: {error}"),
            (Some(error), None) => error.clone(),
            (None, _) => format!("{who} failed with exit code {}", self.exit_code),
        };
        Some(match said {
            Some(said) => format!("{said}\n{what}"),
            None => what,
        })
    }
}

impl Report {
    /// Returns the step that made the tool fail.
    fn failed(&self) -> Option<&StepReport> {
        self.steps.iter().find(|step| step.state == State::Failed)
    }

    /// Returns 0, or the code of the first step that failed and should not have (spec cycod 96). A
    /// stopped call has the code that a shell would return.
    pub(crate) fn exit_code(&self) -> i64 {
        if self.timeout.is_some() {
            return 124;
        }
        if self.was_cancelled {
            return 130;
        }
        self.failed().map_or(0, |step| match step.ended.exit_code {
            0 => 1,
            code => code,
        })
    }

    pub(crate) fn is_error(&self) -> bool {
        if self.timeout.is_some() || self.was_cancelled {
            true
        } else {
            self.exit_code() != 0 && !self.ignores_errors
        }
    }

    /// Returns the outputs of all executed steps, in the order of the file.
    pub(crate) fn output(&self, form: fn(&Text) -> &str) -> String {
        let mut output = String::new();
        for step in &self.steps {
            let text = form(&step.ended.stdout);
            if !output.is_empty() && !output.ends_with('\n') && !text.is_empty() {
                output.push('\n');
            }
            output.push_str(text);
        }
        output
    }

    pub(crate) fn errors(&self, form: fn(&Text) -> &str) -> String {
        self.steps
            .iter()
            .map(|step| form(&step.ended.stderr))
            .collect()
    }

    /// Returns the reason why the tool failed, masked; `None` if it did not fail.
    pub(crate) fn failure(&self) -> Option<String> {
        let name = |step: &StepReport| self.is_stepped.then(|| step.name.clone());
        let text = if let Some(timeout) = self.timeout {
            let text = format!("Command timed out after {}ms", timeout.as_millis());
            let output = self.output(|text| &text.shown);
            match output.trim_end() {
                "" => text,
                output => format!("{output}\n{text}"),
            }
        } else if self.was_cancelled {
            "Command was cancelled".to_owned()
        } else {
            let step = self.failed()?;
            step.ended.failure(name(step).as_deref())?
        };
        Some(self.mask.apply(&text))
    }

    /// Returns the outcome for the caller.
    pub(crate) fn outcome(&self, duration: Duration) -> Outcome {
        let text = if self.is_error() {
            self.failure().unwrap_or_default()
        } else {
            self.output(|text| &text.shown)
        };
        let mut content = vec![Block::text(text)];
        for warning in &self.warnings {
            let text = format!("warning: {}", self.mask.apply(warning));
            content.push(Block::text(text));
        }
        Outcome {
            content,
            details: self.details(),
            is_error: self.is_error(),
            useless: false,
            display: None,
            kept_in: None,
            server_error: None,
            duration,
            stopped: None,
        }
    }

    fn details(&self) -> Value {
        let mut details = json!({
            "exitCode": self.exit_code(),
            "stdout": clipped(&self.output(|text| &text.shown)),
            "stderr": clipped(&self.errors(|text| &text.shown)),
            "durationMs": self.duration.as_millis() as u64,
        });
        if self.is_stepped {
            let steps = self.steps.iter().map(|step| self.step_details(step));
            details["steps"] = steps.collect();
        }
        if !self.warnings.is_empty() {
            let warnings = self.warnings.iter().map(|text| self.mask.apply(text));
            details["warnings"] = warnings.collect();
        }
        details
    }

    fn step_details(&self, step: &StepReport) -> Value {
        let ended = &step.ended;
        let mut details = json!({
            "name": step.name,
            "state": step.state.as_str(),
            "exitCode": step.facts.exit_code,
            "stdout": clipped(&ended.stdout.shown),
            "stderr": clipped(&ended.stderr.shown),
            "durationMs": step.facts.millis,
        });
        if step.attempts > 1 {
            details["attempts"] = step.attempts.into();
        }
        if let Some(error) = &ended.error {
            details["error"] = self.mask.apply(error).into();
        }
        details
    }
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            State::Succeeded => "ok",
            State::Tolerated => "failed, continued",
            State::Failed => "failed",
            State::Skipped => "skipped",
            State::NotStarted => "not started",
        }
    }
}

fn clipped(text: &str) -> String {
    if text.len() <= DETAIL {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(DETAIL);
    format!("{}\n[{} more bytes]", &text[..end], text.len() - end)
}
