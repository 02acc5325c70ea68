//! Ways to run a [`Spawn`]. Callers observe the order of the checks: first a cancelled token, then
//! the data itself, then the program, then the folder.

use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::child::Child;
use crate::error::SpawnError;
use crate::exec_args::{check_rights, find};
use crate::finished::Finished;
use crate::running::Running;
use crate::spawn::Spawn;
use crate::system::Starvation;

/// Number of chunks that a slow reader may be behind before its child has to wait.
const CHUNKS_IN_FLIGHT: usize = 16;

/// Interval of the checks whether a program with a permit of `turns` still computes.
const TURN: Duration = Duration::from_millis(50);

/// Interval of the checks whether a program without a permit computes again. It is longer, because
/// any number of programs may sleep.
const IDLE_TURN: Duration = Duration::from_millis(500);

impl Spawn {
    /// Returns an error if the permissions forbid the program. Called before a wrapper is put in
    /// front of the program. Other errors appear when the program is started.
    ///
    /// # Errors
    /// If its permissions do not allow it.
    pub fn check_rights(&self) -> Result<(), SpawnError> {
        let (program, name) = (self.shown_program(), self.program.name());
        let (variables, folder) = (self.variables(), self.folder());
        match find(&program, name, self, &variables, &folder) {
            Ok(file) => check_rights(self, &program, &folder.join(file), &variables),
            Err(_) => Ok(()),
        }
    }

    /// Starts the program and waits for its end. If the token is already cancelled, nothing is
    /// started.
    ///
    /// # Errors
    /// Only if the program could not be started. The result contains the way it ended.
    pub async fn run(self, cancel: &CancellationToken) -> Result<Finished, SpawnError> {
        if cancel.is_cancelled() {
            return Ok(Finished::never_started());
        }
        match Running::begin(self, None, cancel).await? {
            Some(running) => Ok(running.finish(cancel).await),
            None => Ok(Finished::never_started()),
        }
    }

    /// Runs like [`Spawn::run`], but waits for a permit of `turns` first. The program returns the
    /// permit as soon as it stops computing, so any number of sleeping programs may run. When it
    /// computes again, it takes the next free permit, so that fewer other programs start.
    ///
    /// # Errors
    /// Only if the program could not be started.
    pub async fn run_in_turn(
        self,
        turns: &Semaphore,
        cancel: &CancellationToken,
    ) -> Result<Finished, SpawnError> {
        // The semaphore is never closed.
        let mut turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(Finished::never_started()),
            turn = turns.acquire() => turn.ok(),
        };
        let Some(running) = Running::begin(self, None, cancel).await? else {
            return Ok(Finished::never_started());
        };
        let leader = running.leader.pid();
        let finished = running.finish(cancel);
        tokio::pin!(finished);
        loop {
            tokio::select! {
                finished = &mut finished => return Ok(finished),
                () = sleep(if turn.is_some() { TURN } else { IDLE_TURN }) => {
                    turn = if Starvation::of(leader).is_at_work() {
                        turn.or_else(|| turns.try_acquire().ok())
                    } else {
                        None
                    };
                }
            }
        }
    }

    /// Starts the program and returns a handle that reads its output while it runs. Dropping the
    /// handle kills the child and all processes below it.
    ///
    /// # Errors
    /// Only if the program could not be started.
    pub async fn start(self, cancel: &CancellationToken) -> Result<Child, SpawnError> {
        let stop = cancel.child_token();
        let (sender, chunks) = mpsc::channel(CHUNKS_IN_FLIGHT);
        let mut input = None;
        let begun = if stop.is_cancelled() {
            None
        } else {
            Running::begin(self, Some(sender), &stop).await?
        };
        let mut output_closed = CancellationToken::new();
        let task = match begun {
            None => tokio::spawn(async { Finished::never_started() }),
            Some(mut running) => {
                input = running.input.take();
                output_closed = running.output_closed();
                let stop = stop.clone();
                tokio::spawn(async move { running.finish(&stop).await })
            }
        };
        Ok(Child::new(chunks, stop, task, input, output_closed))
    }
}
