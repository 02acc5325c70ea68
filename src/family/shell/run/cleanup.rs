//! End of a session: the cleanup after every kind of end, and the report (spec cycod 115, 116).

use std::path::Path;
use std::time::Duration;

use super::super::definition::{Commands, ErrorHandling, Work};
use super::invocation::Session;
use super::report::{Report, StepReport};

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

impl Session<'_> {
    /// Runs the cleanup, however the tool ended. Failures are only logged.
    pub(super) async fn clean_up(&self, was_cancelled: bool) {
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
