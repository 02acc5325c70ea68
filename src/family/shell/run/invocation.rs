//! One call of one tool, from its checked arguments to its last cleanup command.
//!
//! A tool that is used with `use-tool` is a session inside of another one. After every end (success,
//! failure, timeout, cancellation) all started processes are stopped first. Then the cleanup runs,
//! with a timeout of its own (spec cycod 115, 116).

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::arguments::Arguments;
use super::super::definition::{Commands, ErrorHandling, UseTool, Work};
use super::super::offer::Unavailable;
use super::super::resolve::{ResolvedTool, ToolSet};
use super::host_env::HostEnv;
use super::report::{Ended, Report, StepReport, Text};
use super::scheduler;
use super::session::{Around, Folders, Refusal, Session, Unit};

/// Timeout of one cleanup command.
const CLEANUP: Duration = Duration::from_secs(30);

/// Timeout of the cleanup after a cancellation, which is shorter because the caller is waiting.
const HASTY_CLEANUP: Duration = Duration::from_secs(5);

/// Raw result of a run, before it becomes a report.
pub(crate) struct Ran {
    pub(super) steps: Vec<StepReport>,
    pub(super) is_late: bool,
    pub(super) was_cancelled: bool,
    pub(super) duration: Duration,
}

/// Runs a tool to its end.
///
/// # Errors
/// When nothing was started.
pub(crate) async fn perform(
    tool: &ResolvedTool,
    arguments: &Arguments,
    tool_set: &ToolSet,
    host_env: &HostEnv,
    around: Around,
) -> Result<Report, Refusal> {
    let definition = &tool.definition;
    let session = Session::open(
        definition,
        arguments,
        tool_set,
        host_env,
        around,
        Folders::Made,
    )
    .await?;
    let ran = session.run().await?;
    Ok(session.report(ran))
}

impl Session<'_> {
    /// Runs everything, including the cleanup.
    pub(crate) async fn run(&self) -> Result<Ran, Refusal> {
        let started = Instant::now();
        let plan = scheduler::plan_of(self.definition).map_err(Refusal::Impossible)?;
        let work = scheduler::walk(self, &plan);
        tokio::pin!(work);
        let mut is_late = false;
        let steps = tokio::select! {
            steps = &mut work => steps,
            () = self.timer.expired(started, self.definition.time_limit()) => {
                is_late = true;
                self.stop.cancel();
                work.await
            }
        };
        let was_cancelled = !is_late && self.stop.is_cancelled();
        self.clean_up(was_cancelled).await;
        Ok(Ran {
            steps,
            is_late,
            was_cancelled,
            duration: started.elapsed(),
        })
    }

    /// Runs another tool, which gets only the values of `with` (spec cycod 133–136).
    pub(super) async fn use_tool(
        &self,
        uses: &UseTool,
        unit: &Unit<'_>,
        stop: &CancellationToken,
    ) -> Ended {
        let Some(tool) = self.tool_set.get(&uses.tool) else {
            return Ended::not_run(1, format!("there is no tool '{}'", uses.tool));
        };
        if let Some(unavailable) = Unavailable::of(&tool.definition) {
            return Ended::not_run(1, unavailable.message);
        }
        let mut given = Vec::new();
        for (name, value) in &uses.with {
            match self.values.datum(value).await {
                Ok(value) => given.push((name.clone(), value)),
                Err(error) => return Ended::not_run(1, error.to_string()),
            }
        }
        let arguments = match Arguments::check(&tool.definition.parameters, given) {
            Ok(arguments) => arguments,
            Err(problems) => return Ended::not_run(1, problems.join("\n")),
        };
        let host_env = match self.host_env.for_used(&uses.tool) {
            Ok(host_env) => host_env,
            Err(why) => return Ended::not_run(1, why),
        };
        let stop = stop.child_token();
        let performed = perform(
            tool,
            &arguments,
            self.tool_set,
            &host_env,
            self.around(&stop),
        );
        let performed = Box::pin(performed);
        let report = match unit.timeout {
            None => performed.await,
            Some(limit) => {
                let mut performed = performed;
                tokio::select! {
                    report = &mut performed => report,
                    () = tokio::time::sleep(limit) => {
                        stop.cancel();
                        let ended = performed.await.map(|report| ended_of(&report));
                        let error = format!("Command timed out after {}ms", limit.as_millis());
                        return Ended {
                            exit_code: 124,
                            error: Some(error),
                            was_stopped: false,
                            ..ended.unwrap_or_default()
                        };
                    }
                }
            }
        };
        match report {
            Ok(report) => {
                for warning in &report.warnings {
                    self.note(report.mask.apply(warning));
                }
                ended_of(&report)
            }
            Err(refusal) => Ended::not_run(1, refusal.text()),
        }
    }

    /// Runs the cleanup, however the tool ended. Failures are only logged.
    async fn clean_up(&self, was_cancelled: bool) {
        for entry in &self.definition.resources.cleanup {
            if let Some(text) = &entry.final_command {
                self.log_failure(self.finally(text, was_cancelled).await);
            }
            if let Some(temp) = self.temp.as_ref().filter(|_| entry.delete_temp_files) {
                let kept: [&Path; 3] = [
                    &self.host_env.cwd,
                    &self.host_env.home,
                    self.host_env.temp(),
                ];
                self.log_failure(temp.remove(&kept));
            }
        }
    }

    fn log_failure(&self, result: Result<(), String>) {
        if let Err(error) = result {
            let error = self.mask.apply(&error);
            tracing::warn!(tool = self.definition.name, error, "a cleanup failed");
        }
    }

    /// Runs one command of the cleanup in the platform's default shell. It is not run if a
    /// reference in it is empty, because that may name the folder to remove: `rm -rf {DIRECTORY}/`
    /// (c23).
    pub(crate) async fn finally(&self, text: &str, was_cancelled: bool) -> Result<(), String> {
        let empty = self.values.first_empty(text).await;
        if let Some(name) = empty.map_err(|error| error.to_string())? {
            return Err(format!(
                "`{text}` is not run, because `{{{name}}}` is empty"
            ));
        }
        let command = Commands::everywhere(text);
        let mut unit = self.single(&command);
        let nothing = ErrorHandling::default();
        unit.error_handling = &nothing;
        unit.timeout = Some(if was_cancelled {
            HASTY_CLEANUP
        } else {
            CLEANUP
        });
        // The tool's own input does not belong to the cleanup.
        unit.input = Some("");
        // Only `force_token` cuts the cleanup short: the caller does not wait for it any more.
        let ended = self.attempt(&unit, &self.force_token).await;
        match ended.failure(None) {
            None => Ok(()),
            Some(why) => Err(why),
        }
    }

    pub(crate) fn report(self, ran: Ran) -> Report {
        let mut warnings = Vec::new();
        if self.definition.deprecated {
            let name = &self.definition.name;
            warnings.push(match &self.definition.deprecated_message {
                Some(message) => format!("Tool '{name}' is deprecated: {message}"),
                None => format!("Tool '{name}' is deprecated."),
            });
        }
        warnings.extend(self.notes.into_inner());
        Report {
            is_stepped: matches!(self.definition.work, Work::Steps(_)),
            timeout: ran.is_late.then(|| self.definition.time_limit()),
            was_cancelled: ran.was_cancelled,
            ignores_errors: self.definition.ignore_errors,
            warnings,
            mask: self.mask,
            steps: ran.steps,
            duration: ran.duration,
        }
    }
}

fn ended_of(report: &Report) -> Ended {
    let both = |raw: String, shown: String| Text { raw, shown };
    // The used tool may ignore its errors; then they are not failures here.
    let is_error = report.is_error();
    Ended {
        exit_code: report.exit_code(),
        stdout: both(
            report.output(|text| &text.raw),
            report.output(|text| &text.shown),
        ),
        stderr: both(
            report.errors(|text| &text.raw),
            report.errors(|text| &text.shown),
        ),
        error: is_error.then(|| report.failure()).flatten(),
        was_stopped: report.was_cancelled,
    }
}
