//! Runs the pipelines of a call one after another, under one clock.
//!
//! A program that cannot be started has the exit code of a shell: 127 or 126, with the reason in
//! the standard error, so that `missing || true` goes on.

use std::time::Duration;

use tokio::time::Instant;

use super::ShellPlan;
use super::script::When;
use crate::family::plugin::Ended;
use crate::family::rights::Confinement;
use crate::family::tool_command::ToolCommand;
use haft_config::paths;
use haft_process::{Captured, End, Keep, NotVerified, Spawn, SpawnError, run_pipeline};
use haft_tool::CallCtx;

/// Limit of the standard output that is kept, in bytes, over all programs of a call.
const STDOUT: usize = 8 << 20;

/// Limit of each program's standard error that is kept, in bytes.
const STDERR: usize = 1 << 20;

/// Outputs of the programs so far, and the last exit code.
struct SoFar {
    stdout: String,
    stderr: String,
    code: i32,
}

impl ShellPlan {
    /// Runs it to its end.
    pub(in crate::family::plugin) async fn run(
        self,
        confinement: &Confinement,
        ctx: &CallCtx,
    ) -> Ended {
        let until = Instant::now() + self.timeout;
        let mut so_far = SoFar {
            stdout: String::new(),
            stderr: String::new(),
            code: 0,
        };
        for (when, pipeline) in &self.steps {
            let is_due = match when {
                When::Always => true,
                When::AfterSuccess => so_far.code == 0,
                When::AfterFailure => so_far.code != 0,
            };
            if !is_due {
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            let room = STDOUT.saturating_sub(so_far.stdout.len());
            let programs = pipeline.iter().map(|words| {
                let command = confinement.commands.command(&self.cwd, words, [])?;
                Ok(confinement.confined(Spawn {
                    force_token: Some(ctx.force_token()),
                    ..self.spawn(&command, left, room)
                }))
            });
            let programs = match programs.collect::<Result<Vec<Spawn>, NotVerified>>() {
                Ok(programs) => programs,
                Err(why) => {
                    so_far.refused(126, &why.to_string());
                    continue;
                }
            };
            let finished = match run_pipeline(programs, ctx.cancel()).await {
                Ok(finished) => finished,
                Err(error) => {
                    so_far.not_started(&error);
                    continue;
                }
            };
            let is = |end: fn(End) -> bool| finished.iter().any(|member| end(member.end));
            if is(|end| matches!(end, End::Cancelled(_))) {
                return Ended::Stopped("Command was cancelled".to_owned());
            }
            if is(|end| matches!(end, End::TimedOut(_))) {
                let limit = self.timeout.as_secs_f64() * 1000.0;
                return Ended::Failed(format!("Command timed out after {limit}ms"));
            }
            for member in &finished {
                so_far.stderr.push_str(&shown(&member.stderr));
            }
            if let Some(last) = finished.last() {
                if let Some(note) = finished
                    .iter()
                    .find_map(|member| confinement.note_of(member, Some(&self.cwd)))
                {
                    so_far.note(&note);
                }
                so_far.stdout.push_str(&shown(&last.stdout));
                so_far.code = last.end.shell_code();
            }
        }
        so_far.ended()
    }

    fn spawn(&self, command: &ToolCommand, left: Duration, room: usize) -> Spawn {
        Spawn {
            cwd: Some(self.cwd.clone()),
            stdout: Keep::Head(room),
            stderr: Keep::Head(STDERR),
            deadline: Some(left),
            ..command.spawn([""; 0])
        }
    }
}

impl SoFar {
    fn not_started(&mut self, error: &SpawnError) {
        let code = match error {
            SpawnError::NotFound { .. } => 127,
            _ => 126,
        };
        let why = match error {
            SpawnError::Cwd { cwd, source, .. } => {
                format!(
                    "cannot start in {}: {}",
                    cwd.display(),
                    paths::plain(source)
                )
            }
            error => error.to_string(),
        };
        self.refused(code, &why);
    }

    /// Notes why a program is not started.
    fn refused(&mut self, code: i32, why: &str) {
        self.code = code;
        self.stderr.push_str(why);
        self.stderr.push('\n');
    }

    /// Adds a line to the standard error.
    fn note(&mut self, note: &str) {
        if !self.stderr.is_empty() && !self.stderr.ends_with('\n') {
            self.stderr.push('\n');
        }
        self.stderr.push_str(note);
        self.stderr.push('\n');
    }

    fn ended(self) -> Ended {
        if self.code != 0 {
            let said = if self.stderr.is_empty() {
                self.stdout
            } else {
                self.stderr
            };
            return Ended::Failed(format!(
                "Command failed with exit code {}:\n{said}",
                self.code
            ));
        }
        if self.stderr.is_empty() {
            return Ended::Succeeded(self.stdout);
        }
        Ended::Succeeded(format!("{}\n--- stderr ---\n{}", self.stdout, self.stderr))
    }
}

/// Returns the output, with a line about the missing part where the limit cut it.
fn shown(captured: &Captured) -> String {
    let text = captured.text();
    if captured.dropped == 0 {
        return text;
    }
    format!(
        "{text}\n[haft: {} bytes of output dropped]\n",
        captured.dropped
    )
}
