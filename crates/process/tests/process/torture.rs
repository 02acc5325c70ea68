//! Child processes under load: hundreds of calls of the worst programs, many at once, stopped at
//! random moments. No process may remain.
//!
//! It proves in large numbers what `process` and `process_trees` prove one by one: kodelet c1 to
//! c6, c14 and c21, ikigai c1 to c4 and c22. Timers only choose the random moments; no test waits
//! by one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_process::sandbox::{Access, Sandbox, SandboxPolicy};
use haft_process::{ChosenProgram, End, Finished, Keep, Leftovers, Spawn, Stdin};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::arena::{self, Arena, Dice, ENDING, ENDLESS, Holding};
use crate::programs::granted;

const CALLS: usize = 360;
const CONCURRENT_CALLS: usize = 24;
const KEPT: usize = 64 * 1024;
const FLOOD: u64 = 200_000_000;
const INPUT: usize = 1 << 20;

/// Intended end of a call.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Ends,
    TimesOut(Duration),
    /// The token is cancelled.
    IsCancelled(Duration),
    /// The future is dropped.
    IsDropped(Duration),
    /// The handle is dropped.
    IsLeft(Duration),
}

#[derive(Debug, Clone)]
struct Round {
    kind: &'static str,
    signal: i32,
    fate: Fate,
    grace: Duration,
    /// True if the program runs in a sandbox, which is another way to start.
    is_sandboxed: bool,
}

#[test]
fn slow_hundreds_of_the_worst_programs_leave_nothing() {
    arena::alone(
        "torture::slow_hundreds_of_the_worst_programs_leave_nothing",
        inside,
    );
}

async fn inside(arena: &Arena) {
    let tool: Arc<Path> = arena.worst().into();
    let policy = SandboxPolicy {
        read: Access::Paths(vec![granted(arena.folder())]),
        execute: Access::All,
        ..SandboxPolicy::default()
    };
    let sandbox = Sandbox::new(&policy.with_system_files()).expect("the kernel has it");
    let mut dice = arena.dice();
    // A first round creates everything that is created only once, before the count.
    torture(&tool, arena, &sandbox, &mut dice, CONCURRENT_CALLS).await;
    arena.assert_no_process_is_left();
    let before = Holding::now();
    torture(&tool, arena, &sandbox, &mut dice, CALLS).await;
    arena.assert_no_process_is_left();
    Holding::now().assert_back_to(&before, 12);
}

async fn torture(
    tool: &Arc<Path>,
    arena: &Arena,
    sandbox: &Sandbox,
    dice: &mut Dice,
    calls: usize,
) {
    let places = Arc::new(Semaphore::new(CONCURRENT_CALLS));
    let mut running = JoinSet::new();
    for number in 0..calls {
        let round = Round::new(number, dice);
        let mut spawn = round.spawn(tool, arena.folder());
        spawn.sandbox = round.is_sandboxed.then(|| sandbox.clone());
        let place = places.clone().acquire_owned().await;
        running.spawn(async move {
            let _place = place.expect("it is never closed");
            if let Some(finished) = call(spawn, round.fate).await {
                round.check(&finished);
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.expect("every call ended as it should");
    }
}

impl Round {
    fn new(number: usize, dice: &mut Dice) -> Self {
        let moment = dice.millis(40);
        let fate = match (number % 3, dice.below(3)) {
            (0, _) => Fate::Ends,
            (1, _) => Fate::TimesOut(moment),
            (_, 0) => Fate::IsCancelled(moment),
            (_, 1) => Fate::IsDropped(moment),
            (_, _) => Fate::IsLeft(moment),
        };
        let kind = match fate {
            Fate::Ends => dice.pick(&ENDING),
            _ if dice.below(4) == 0 => dice.pick(&ENDING),
            _ => dice.pick(&ENDLESS),
        };
        Self {
            kind,
            signal: *dice.pick(&[1, 2, 3, 6, 9, 11, 13, 15]),
            fate,
            grace: dice.millis(30),
            is_sandboxed: dice.below(2) == 0,
        }
    }

    fn spawn(&self, tool: &Path, folder: &Path) -> Spawn {
        let deadline = match self.fate {
            Fate::TimesOut(limit) => limit,
            _ => Duration::from_secs(60),
        };
        Spawn {
            // Every other call sets a working directory, which is another way to start.
            cwd: (self.signal % 2 == 0).then(|| folder.to_owned()),
            stdin: Stdin::Bytes(vec![b'x'; INPUT]),
            stdout: Keep::Head(KEPT),
            stderr: Keep::HeadAndTail {
                head: KEPT / 2,
                tail: KEPT / 2,
            },
            deadline: Some(deadline),
            grace: self.grace,
            timeout_grace: self.grace,
            leftovers: Leftovers::Kill,
            ..Spawn::new(
                ChosenProgram::not_of_project(tool),
                [self.kind, &self.signal.to_string()],
            )
        }
    }

    /// Checks that the call ended in a way that its fate allows; the program may also end first.
    fn check(&self, finished: &Finished) {
        let right = match (finished.end, self.fate) {
            (End::Cancelled(exit), Fate::IsCancelled(_)) => {
                exit.is_some() || finished.duration.is_zero()
            }
            (End::TimedOut(exit), Fate::TimesOut(_)) => exit.is_some(),
            (End::Signaled(signal), _) => self.kind == "signal" && signal == self.signal,
            (End::Exited(3), _) => {
                let sizes = [&finished.stdout, &finished.stderr]
                    .map(|out| out.bytes.len() as u64 + out.dropped);
                self.kind == "both" && sizes == [INPUT as u64, 300_000]
            }
            (End::Exited(0), _) if self.kind == "flood" => {
                finished.stdout.dropped == FLOOD - KEPT as u64
            }
            (End::Exited(0), _) => ENDING.contains(&self.kind),
            _ => false,
        };
        assert!(
            right,
            "{self:?}: {:?}, dropped {}",
            finished.end, finished.stdout.dropped
        );
        // What a grandchild holds ends with the call; only a killed one may take a moment longer.
        assert!(finished.stdout.bytes.len() <= KEPT && finished.stderr.bytes.len() <= KEPT);
    }
}

/// Runs a call; `None` if it was abandoned.
async fn call(spawn: Spawn, fate: Fate) -> Option<Finished> {
    let cancel = CancellationToken::new();
    let starts = "the program starts";
    match fate {
        Fate::Ends | Fate::TimesOut(_) => Some(spawn.run(&cancel).await.expect(starts)),
        Fate::IsCancelled(moment) => {
            let mut call = std::pin::pin!(spawn.run(&cancel));
            if let Ok(ended) = timeout(moment, &mut call).await {
                return Some(ended.expect(starts));
            }
            cancel.cancel();
            Some(call.await.expect(starts))
        }
        Fate::IsDropped(moment) => {
            let ended = timeout(moment, spawn.run(&cancel)).await;
            Some(ended.ok()?.expect(starts))
        }
        Fate::IsLeft(moment) => {
            let mut child = spawn.start(&cancel).await.expect(starts);
            let reading = async { while child.next().await.is_some() {} };
            timeout(moment, reading).await.ok()?;
            Some(child.wait().await)
        }
    }
}
