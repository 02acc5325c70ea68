//! Asks many programs for their descriptions at once.
//!
//! Most programs sleep while their interpreter starts, or wait for a disk, so far more of them run
//! concurrently than there are cores. Those that compute take turns. The timeout of each program
//! starts with it and is paused while other programs keep it from running: on a busy machine a
//! description takes longer, and no tool is missing.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::family::listing_folder::ListingCommand;
use haft_process::{Finished, Spawn, SpawnError};

/// Limit of programs that run at the same time.
const MAX_AT_ONCE: usize = 64;
/// Limit of programs that compute at the same time, for each core.
const MAX_PER_CORE: usize = 2;
/// Extra time beyond the timeout for a program that the machine kept from running.
const START_DELAY_ALLOWANCE: Duration = Duration::from_secs(9);
/// Deadline for second tries, counted from the first question.
const SECOND_TRIES: Duration = Duration::from_secs(10);

type Answer = Result<Finished, SpawnError>;

/// Runs all of them to their ends; the answers are in the order of the questions. Repeats a
/// question if its program may have timed out only because the machine is busy.
pub(super) async fn ask_all(questions: Vec<ListingCommand>) -> Vec<Answer> {
    let questions: Vec<Spawn> = questions
        .into_iter()
        .map(ListingCommand::into_spawn)
        .collect();
    let began = Instant::now();
    let cores = available_parallelism().map_or(1, NonZero::get);
    let (places, turns) = (
        Semaphore::new(MAX_AT_ONCE),
        Semaphore::new(cores * MAX_PER_CORE),
    );
    let asked = questions
        .iter()
        .map(|question| ask(question, &places, &turns));
    let answers = join_all(asked).await;
    let again = questions
        .iter()
        .zip(answers)
        .map(async |(question, answer)| {
            let was_held_up = matches!(&answer, Ok(finished) if finished.was_held_up);
            if was_held_up && began.elapsed() < SECOND_TRIES {
                ask(question, &places, &turns).await
            } else {
                answer
            }
        });
    join_all(again).await
}

async fn ask(question: &Spawn, places: &Semaphore, turns: &Semaphore) -> Answer {
    let _place = places.acquire().await;
    // The token is never cancelled: a caller that stops waiting drops the future, which ends the
    // programs.
    let never = CancellationToken::new();
    let question = Spawn {
        start_delay_allowance: START_DELAY_ALLOWANCE,
        ..question.clone()
    };
    question.run_in_turn(turns, &never).await
}
