//! The same under load from a module: `pi.exec` of the worst programs through a host, with timeouts,
//! and with calls that are cancelled or dropped at random moments.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft::config::Env;
use haft::{Call, Flags, Host, Outcome};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::arena::{self, Arena, Dice, ENDING, ENDLESS, Holding};

const CALLS: usize = 120;
const CONCURRENT_CALLS: usize = 24;
const INPUT: usize = 1 << 20;

/// Intended end of a call.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    Ends,
    /// The timeout of the program.
    TimesOut(Duration),
    IsCancelled(Duration),
    /// The handle of the call is dropped.
    IsDropped(Duration),
}

#[derive(Debug)]
struct Round {
    kind: &'static str,
    signal: i32,
    fate: Fate,
}

#[test]
fn slow_hundreds_of_calls_of_pi_exec_leave_nothing() {
    arena::alone(
        "torture_pi_exec::slow_hundreds_of_calls_of_pi_exec_leave_nothing",
        inside,
    );
}

async fn inside(arena: &Arena) {
    let mut dice = arena.dice();
    let program = arena.worst();
    // The first host creates everything that a process creates once; only the second is measured.
    let mut before = None;
    for calls in [CONCURRENT_CALLS, CALLS] {
        let host = host(arena);
        torture(&host, &program, &mut dice, calls).await;
        // Checked before the shutdown, so that not the isolate's end has removed the processes.
        arena.assert_no_program_is_left();
        host.shutdown().await;
        arena.assert_no_process_is_left();
        drop(host);
        let now = Holding::now();
        match before.take() {
            None => before = Some(now),
            Some(before) => now.assert_back_to(&before, 24),
        }
    }
}

fn host(arena: &Arena) -> Host {
    let folder = arena.folder();
    std::fs::write(folder.join("worst.ts"), include_str!("worst.ts")).expect("a folder of ours");
    let env = Env {
        current_dir: Some(folder.to_owned()),
        home: Some(folder.join("home")),
        ..Env::default()
    };
    let flags = Flags {
        tools: vec!["worst.ts".to_owned()],
        ..Flags::default()
    };
    Host::new(crate::sandbox::resolve(flags, &env).expect("a configuration"))
}

async fn torture(host: &Host, program: &Path, dice: &mut Dice, calls: usize) {
    let places = Arc::new(Semaphore::new(CONCURRENT_CALLS));
    let mut running = JoinSet::new();
    for number in 0..calls {
        let round = Round::new(number, dice);
        let (host, call) = (host.clone(), round.call(program));
        let place = places.clone().acquire_owned().await;
        running.spawn(async move {
            let _place = place.expect("it is never closed");
            if let Some(outcome) = run(&host, call, round.fate).await {
                round.check(&outcome);
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.expect("every call ended as it should");
    }
}

impl Fate {
    /// Chooses each fate for a third of the calls.
    pub fn choose(number: usize, dice: &mut Dice) -> Self {
        let moment = dice.millis(80);
        match (number % 3, dice.below(2)) {
            (0, _) => Self::Ends,
            (1, _) => Self::TimesOut(moment.max(Duration::from_millis(1))),
            (_, 0) => Self::IsCancelled(moment),
            (_, _) => Self::IsDropped(moment),
        }
    }
}

impl Round {
    fn new(number: usize, dice: &mut Dice) -> Self {
        let fate = Fate::choose(number, dice);
        let kind = match fate {
            Fate::Ends => dice.pick(&ENDING),
            _ => dice.pick(&ENDLESS),
        };
        Self {
            // A program that ends by itself may leave background processes, so that kind is
            // replaced.
            kind: if *kind == "background" { "both" } else { kind },
            signal: *dice.pick(&[1, 2, 3, 6, 9, 11, 13, 15]),
            fate,
        }
    }

    fn call(&self, program: &Path) -> Call {
        let mut arguments = json!({
            "program": program,
            "args": [self.kind, self.signal.to_string()],
            "input": INPUT,
        });
        if let Fate::TimesOut(limit) = self.fate {
            arguments["timeout"] = json!(limit.as_secs_f64() * 1000.0);
        }
        Call {
            id: "c".into(),
            tool: "worst".into(),
            arguments: RawValue::from_string(arguments.to_string()).expect("it is JSON"),
        }
    }

    fn check(&self, outcome: &Outcome) {
        let Outcome { details, .. } = outcome;
        let was_killed = details["killed"] == json!(true);
        let code = details["code"].as_i64();
        let right = match (self.fate, self.kind) {
            (Fate::Ends, "signal") => code == Some(i64::from(self.signal) + 128),
            (Fate::Ends, "both") => {
                code == Some(3) && details["stdout"] == INPUT && details["stderr"] == 300_000
            }
            (Fate::Ends, _) => code == Some(0) && !was_killed,
            (Fate::TimesOut(_), _) => was_killed && code != Some(0),
            (Fate::IsCancelled(_) | Fate::IsDropped(_), _) => outcome.stopped.is_some(),
        };
        assert!(right, "{self:?}: {outcome:?}");
    }
}

/// Runs a call; `None` if it was abandoned.
pub async fn run(host: &Host, call: Call, fate: Fate) -> Option<Outcome> {
    let running = host.call(call, None);
    let runs = "the tool runs";
    match fate {
        Fate::Ends | Fate::TimesOut(_) => Some(running.outcome().await.expect(runs)),
        Fate::IsCancelled(moment) => {
            let cancel = running.cancellation();
            let mut outcome = std::pin::pin!(running.outcome());
            if let Ok(ended) = timeout(moment, &mut outcome).await {
                return Some(ended.expect(runs));
            }
            cancel.cancel();
            outcome.await.ok()
        }
        Fate::IsDropped(moment) => {
            let ended = timeout(moment, running.outcome()).await;
            Some(ended.ok()?.expect(runs))
        }
    }
}
