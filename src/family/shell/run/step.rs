//! Run of one step: its attempts, its fallback, its timeout (spec cycod 97–104).
//!
//! A used tool is a session of its own, which `invocation` runs.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::definition::{Command, Commands};
use super::mask::Mask;
use super::report::Ended;
use super::session::{Session, Unit, UnitWork};
use haft_config::exceeded_limit;
use haft_process::sandbox::ExceededLimit;
use haft_process::{End, SpawnError};

impl Session<'_> {
    /// Runs a step until it succeeds or all attempts failed. Returns the number of attempts, too.
    pub(crate) async fn run_unit(&self, unit: &Unit<'_>) -> (Ended, u32) {
        let retry = unit.error_handling.retry;
        let most = retry.map_or(0, |retry| retry.attempts);
        let mut delay = retry.map_or(Duration::ZERO, |retry| retry.delay.0);
        let mut attempts = 1;
        let mut ended = self.attempt(unit, &self.stop).await;
        while ended.has_failed() && !ended.was_stopped && attempts <= most {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = self.stop.cancelled() => {
                    ended.was_stopped = true;
                    break;
                }
            }
            delay = delay.saturating_mul(2);
            attempts += 1;
            ended = self.attempt(unit, &self.stop).await;
        }
        let Some(fallback) = &unit.error_handling.fallback else {
            return (ended, attempts);
        };
        if !ended.has_failed() || ended.was_stopped {
            return (ended, attempts);
        }
        let command = in_place_of(&unit.work, fallback);
        let instead = Unit {
            work: UnitWork::Command(&command),
            ..*unit
        };
        (self.attempt(&instead, &self.stop).await, attempts)
    }

    /// Makes one attempt.
    pub(crate) async fn attempt(&self, unit: &Unit<'_>, stop: &CancellationToken) -> Ended {
        if stop.is_cancelled() {
            return Ended {
                was_stopped: true,
                ..Ended::not_run(130, "it was not started: the call is over")
            };
        }
        let mask = match self.mask_of(unit).await {
            Ok(mask) => mask,
            Err(why) => return Ended::not_run(1, why),
        };
        let mut ended = match unit.work {
            UnitWork::UseTool(uses) => self.use_tool(uses, unit, stop).await,
            UnitWork::Command(command) => self.command(command, unit, &mask, stop).await,
        };
        // Our own error texts may repeat secret values.
        ended.error = ended.error.map(|error| mask.apply(&error));
        ended
    }

    async fn mask_of(&self, unit: &Unit<'_>) -> Result<Mask, String> {
        let mut secrets = Vec::new();
        for text in &unit.output.masked_values {
            let filled = self.values.text(text).await;
            secrets.push(filled.map_err(|error| error.to_string())?);
        }
        Ok(self.mask.and(&Mask::new(secrets)))
    }

    async fn command(
        &self,
        command: &Command,
        unit: &Unit<'_>,
        mask: &Mask,
        stop: &CancellationToken,
    ) -> Ended {
        let started = Instant::now();
        let launch = match self.outside(unit.environment, unit.input).await {
            Ok(outside) => self.launch(command, &outside).await,
            Err(why) => Err(why),
        };
        let launch = match launch {
            Ok(launch) => launch,
            Err(why) => return Ended::not_run(1, why),
        };
        let heard = async {
            let start = self.start(&launch, &launch.program, unit).await;
            let start = start.map_err(Failure::Said)?;
            let folder = start.spawn.cwd.clone();
            let name = unit.name.unwrap_or(&self.definition.name);
            let hear = |spawn| self.hear(spawn, name, unit.output, mask, stop);
            let heard = match (hear(start.spawn).await, launch.instead) {
                (Err(SpawnError::NotFound { .. }), Some(instead)) => {
                    let again = self.start(&launch, instead, unit).await;
                    hear(again.map_err(Failure::Said)?.spawn).await
                }
                (heard, _) => heard,
            };
            if let Some(container) = start.container {
                container.remove_if_left(&heard).await;
            }
            let (finished, ended) = heard.map_err(Failure::Spawn)?;
            Ok((finished, ended, folder))
        };
        let (finished, mut ended, folder) = match heard.await {
            Ok(heard) => heard,
            Err(Failure::Said(why)) => return Ended::not_run(1, why),
            Err(Failure::Spawn(error)) => return self.not_started(&error, &launch),
        };
        if let Some(note) = self
            .host_env
            .confinement
            .note_of(&finished, folder.as_deref())
        {
            ended.stderr.add_line(&note);
        }
        if let Some(exceeded) = finished.exceeded
            && ended.exit_code != 0
        {
            let own = self.definition.resources.max_memory.map(|size| size.0);
            ended.error = Some(match exceeded {
                ExceededLimit::Memory(limit) if own == Some(limit) => {
                    format!("Command exceeded its memory limit of {limit} bytes")
                }
                _ => format!("Command was ended: {}", exceeded_limit(exceeded)),
            });
            return ended;
        }
        match finished.end {
            End::TimedOut(_) => {
                // Each of several attempts has a timeout of its own.
                let limit = unit.timeout.unwrap_or_else(|| started.elapsed());
                ended.error = Some(format!("Command timed out after {}ms", limit.as_millis()));
            }
            End::Cancelled(_) => {
                ended.was_stopped = true;
                ended.error = Some("it was stopped".to_owned());
            }
            End::Signaled(signal) if ended.error.is_none() => {
                ended.error = Some(format!("Command was ended by signal {signal}"));
            }
            End::Exited(_) | End::Signaled(_) => {}
        }
        ended
    }
}

enum Failure {
    Said(String),
    Spawn(SpawnError),
}

/// Returns the fallback in the shell of the command that it replaces.
fn in_place_of(work: &UnitWork<'_>, text: &str) -> Command {
    let text = text.to_owned();
    match work {
        UnitWork::Command(Command::Cmd(_)) => Command::Cmd(text),
        UnitWork::Command(Command::Pwsh(_)) => Command::Pwsh(text),
        UnitWork::Command(Command::Run(_)) => Command::Run(text),
        UnitWork::Command(Command::Script { shell, .. }) => Command::Script {
            text,
            shell: shell.clone(),
        },
        UnitWork::Command(Command::Bash(_) | Command::Commands(_)) | UnitWork::UseTool(_) => {
            Commands::everywhere(&text)
        }
    }
}
