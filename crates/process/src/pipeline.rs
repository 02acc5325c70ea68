//! Pipeline of programs: each reads the output of the one before it.
//!
//! The programs share the system's own pipes, so no data passes through haft. A reader that stops
//! reading ends its writer by SIGPIPE, so `yes | head -n 1` ends. Like a shell's pipeline it ends
//! when all programs have ended. One deadline and one token end them all.

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::error::SpawnError;
use crate::finished::Finished;
use crate::running::{Neighbours, Running};
use crate::spawn::Spawn;
use crate::system::{self, Descriptor};

/// Starts the programs and waits for all of them. The results are in the same order. Only the
/// `stdin` of the first program is used. The standard output is empty in all results but the last.
///
/// # Errors
/// If a program could not be started. The programs that were started before it are killed.
pub async fn run_pipeline(
    programs: Vec<Spawn>,
    cancel: &CancellationToken,
) -> Result<Vec<Finished>, SpawnError> {
    if cancel.is_cancelled() {
        return Ok(programs.iter().map(|_| Finished::never_started()).collect());
    }
    let count = programs.len();
    let mut members = Vec::with_capacity(count);
    let mut before: Option<Descriptor> = None;
    for (index, program) in programs.into_iter().enumerate() {
        let is_last = index + 1 == count;
        let between = (!is_last).then(system::pipe_between).transpose();
        let (reader, writer) = between
            .map_err(|source| SpawnError::System {
                program: program.shown_program(),
                source,
            })?
            .unzip();
        let neighbours = Neighbours {
            before: before.take(),
            after: writer,
        };
        before = reader;
        match Running::begin_between(program, None, neighbours, cancel).await? {
            Some(member) => members.push(member),
            None => return Ok((0..count).map(|_| Finished::never_started()).collect()),
        }
    }
    Ok(join_all(members.into_iter().map(|member| member.finish(cancel))).await)
}
