//! Asks many programs for their descriptions at once.
//!
//! Most of them sleep in their interpreter's start or wait for a disk, so far more run side by side
//! than there are cores. The clock of each starts when it starts.

use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::process::{Finished, Spawn, SpawnError};

/// How many run at the same time.
const AT_ONCE: usize = 64;

/// Runs all of them to their ends; the answers are in the order of the questions.
pub(super) async fn ask_all(questions: Vec<Spawn>) -> Vec<Result<Finished, SpawnError>> {
    let places = Semaphore::new(AT_ONCE);
    // Whoever does not want the answers any more drops the future, and that ends the programs.
    let never = CancellationToken::new();
    let asked = questions.into_iter().map(async |question| {
        let _place = places.acquire().await;
        question.run(&never).await
    });
    join_all(asked).await
}
