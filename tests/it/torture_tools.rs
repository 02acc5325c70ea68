//! The same under load through executables that describe themselves: each of the worst programs is a
//! tool of Kodelet's and one of ikigai's (kodelet 53, c1 to c6, c14, c21; ikigai c1 to c4, c22).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft::call::Stopped;
use haft::config::Env;
use haft::{Call, Flags, Host, Outcome};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::arena::{self, Arena, Dice, ENDING, ENDLESS, Holding};
use crate::programs::script;
use crate::torture_pi_exec::{Fate, run};

const CALLS: usize = 180;
const CONCURRENT_CALLS: usize = 24;
const INPUT: usize = 1 << 20;

/// Timeout that none of them reaches, and that a third of the calls may still wait for.
const PATIENT: Duration = Duration::from_secs(60);
const HASTY: Duration = Duration::from_millis(60);

const FAMILIES: [Family; 2] = [Family::Kodelet, Family::Ikigai];

#[derive(Debug, Clone, Copy)]
enum Family {
    Kodelet,
    Ikigai,
}

#[derive(Debug)]
struct Round {
    family: Family,
    kind: &'static str,
    fate: Fate,
}

/// Two hosts over the same tools, because the timeout of a tool belongs to its host.
struct Hosts {
    patient: Host,
    hasty: Host,
}

#[test]
fn slow_hundreds_of_calls_of_executable_tools_leave_nothing() {
    arena::alone(
        "torture_tools::slow_hundreds_of_calls_of_executable_tools_leave_nothing",
        inside,
    );
}

async fn inside(arena: &Arena) {
    let mut dice = arena.dice();
    write_tools(arena);
    let hosts = Arc::new(Hosts {
        patient: host(arena.folder(), PATIENT),
        hasty: host(arena.folder(), HASTY),
    });
    torture(&hosts, &mut dice, CONCURRENT_CALLS).await;
    arena.assert_no_process_is_left();
    let before = Holding::now();
    torture(&hosts, &mut dice, CALLS).await;
    arena.assert_no_process_is_left();
    Holding::now().assert_back_to(&before, 16);
    hosts.patient.shutdown().await;
    hosts.hasty.shutdown().await;
}

fn write_tools(arena: &Arena) {
    let program = arena.worst();
    for family in FAMILIES {
        let (folder, question, schema) = match family {
            Family::Kodelet => ("home/.kodelet/tools", "description", "input_schema"),
            Family::Ikigai => ("home/.ikigai/tools", "--schema", "parameters"),
        };
        let folder = arena.folder().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder of ours");
        for kind in ENDING.iter().chain(&ENDLESS) {
            let name = kind.replace('-', "_");
            let about = json!({ "name": name, "description": kind, schema: {"type": "object", "properties": {}} });
            let program = program.display();
            let text = format!(
                "#!/bin/sh\n[ \"$1\" = {question} ] && exec echo '{about}'\nexec {program} {kind} 9\n"
            );
            script(&folder, &name, &text, 0o755);
        }
    }
}

fn host(folder: &Path, limit: Duration) -> Host {
    let env = Env {
        current_dir: Some(folder.to_owned()),
        home: Some(folder.join("home")),
        ..Env::default()
    };
    let mut config = crate::sandbox::resolve(Flags::default(), &env).expect("a configuration");
    config.custom_tools.timeout = limit;
    config.ikigai.timeout = limit;
    config.limits.grace = Duration::from_millis(30);
    Host::new(config)
}

async fn torture(hosts: &Arc<Hosts>, dice: &mut Dice, calls: usize) {
    let places = Arc::new(Semaphore::new(CONCURRENT_CALLS));
    let mut running = JoinSet::new();
    for number in 0..calls {
        let round = Round::new(number, dice);
        let hosts = hosts.clone();
        let place = places.clone().acquire_owned().await;
        running.spawn(async move {
            let _place = place.expect("it is never closed");
            let host = match round.fate {
                Fate::TimesOut(_) => &hosts.hasty,
                _ => &hosts.patient,
            };
            if let Some(outcome) = run(host, round.call(), round.fate).await {
                round.check(&outcome);
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.expect("every call ended as it should");
    }
}

impl Round {
    fn new(number: usize, dice: &mut Dice) -> Self {
        let fate = Fate::choose(number, dice);
        let kinds: &[&'static str] = match fate {
            Fate::Ends => &ENDING,
            _ => &ENDLESS,
        };
        Self {
            family: *dice.pick(&FAMILIES),
            kind: *dice.pick(kinds),
            fate,
        }
    }

    fn call(&self) -> Call {
        let name = self.kind.replace('-', "_");
        let arguments = json!({ "text": "x".repeat(INPUT) });
        Call {
            id: "c".into(),
            tool: match self.family {
                Family::Kodelet => format!("custom_tool_{name}"),
                Family::Ikigai => name,
            },
            arguments: RawValue::from_string(arguments.to_string()).expect("it is JSON"),
        }
    }

    fn check(&self, outcome: &Outcome) {
        let right = match (self.fate, self.family) {
            (Fate::Ends, Family::Kodelet) => {
                let failed = matches!(self.kind, "signal" | "both");
                outcome.stopped.is_none() && outcome.is_error == failed
            }
            // None of them prints JSON.
            (Fate::Ends, Family::Ikigai) => {
                let code = match self.kind {
                    "signal" | "both" => "TOOL_CRASHED",
                    _ => "INVALID_OUTPUT",
                };
                outcome.stopped.is_none() && outcome.details["error_code"] == code
            }
            // A fast program exceeds ikigai's output limit before it is stopped.
            (_, Family::Ikigai) if self.kind.ends_with("endless") && outcome.stopped.is_none() => {
                outcome.details["error_code"] == "INVALID_OUTPUT"
            }
            (Fate::TimesOut(_), _) => outcome.stopped == Some(Stopped::Deadline),
            (Fate::IsCancelled(_) | Fate::IsDropped(_), _) => outcome.stopped.is_some(),
        };
        let details = outcome.details.to_string();
        let start: String = details.chars().take(300).collect();
        assert!(right, "{self:?}: {:?} {start}", outcome.stopped);
    }
}
