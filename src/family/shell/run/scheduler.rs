//! Scheduler of a tool's steps: each starts as soon as it may (spec cycod 82–97).
//!
//! All steps are futures of one task; a waiting step waits for the end of others. A step whose
//! dependency failed is not started, and neither are the steps that wait for it. Other steps run to
//! their end.

use std::time::SystemTime;

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::definition::{Definition, Step, Work};
use super::condition;
use super::plan::plan;
use super::report::{Ended, State, StepReport};
use super::session::{Session, Unit};
use super::value::StepFacts;
use haft_tool::Timestamp;

/// Returns for each step the steps that it waits for.
pub(crate) fn plan_of(definition: &Definition) -> Result<Vec<Vec<usize>>, String> {
    plan(definition.steps())
}

/// Runs all steps; the reports are in the order of the file.
pub(crate) async fn walk(session: &Session<'_>, plan: &[Vec<usize>]) -> Vec<StepReport> {
    let steps = match &session.definition.work {
        Work::Steps(steps) => steps,
        Work::Command(command) => {
            let unit = session.single(command);
            return vec![single(session, &unit).await];
        }
        Work::Alias(_) => unreachable!("aliases are resolved when files are loaded"),
    };
    let course = Course {
        session,
        steps,
        plan,
        done: steps.iter().map(|_| CancellationToken::new()).collect(),
        states: Mutex::new(vec![State::NotStarted; steps.len()]),
    };
    join_all((0..steps.len()).map(|index| course.go(index))).await
}

async fn single(session: &Session<'_>, unit: &Unit<'_>) -> StepReport {
    let watch = Watch::start();
    let (ended, attempts) = session.run_unit(unit).await;
    let state = if ended.has_failed() {
        State::Failed
    } else {
        State::Succeeded
    };
    StepReport {
        name: session.definition.name.clone(),
        state,
        facts: watch.facts(&ended),
        ended,
        attempts,
    }
}

struct Course<'a> {
    session: &'a Session<'a>,
    steps: &'a [Step],
    plan: &'a [Vec<usize>],
    /// Cancelled when the step has ended, or will never start.
    done: Vec<CancellationToken>,
    states: Mutex<Vec<State>>,
}

impl Course<'_> {
    async fn go(&self, index: usize) -> StepReport {
        for other in &self.plan[index] {
            self.done[*other].cancelled().await;
        }
        let step = &self.steps[index];
        let watch = Watch::start();
        let (state, ended, attempts) = self.decide(index).await;
        let facts = match state {
            State::Skipped | State::NotStarted => StepFacts::default(),
            _ => watch.facts(&ended),
        };
        if state != State::NotStarted {
            self.session.values.record(&step.name, facts.clone());
        }
        self.states.lock()[index] = state;
        self.done[index].cancel();
        StepReport {
            name: step.name.clone(),
            state,
            ended,
            facts,
            attempts,
        }
    }

    async fn decide(&self, index: usize) -> (State, Ended, u32) {
        let step = &self.steps[index];
        let may_start = {
            let states = self.states.lock();
            let goes_on = self.session.definition.ignore_errors;
            let lets_go = |state: State| match state {
                State::NotStarted => false,
                State::Failed => goes_on,
                State::Succeeded | State::Tolerated | State::Skipped => true,
            };
            self.plan[index].iter().all(|other| lets_go(states[*other]))
        };
        if !may_start || self.session.stop.is_cancelled() {
            return (State::NotStarted, Ended::default(), 0);
        }
        if let Some(condition) = &step.run_condition {
            let engine = &self.session.host_env.engine;
            match condition::holds(condition, &self.session.values, engine).await {
                Ok(true) => {}
                Ok(false) => return (State::Skipped, Ended::default(), 0),
                Err(error) => {
                    let why = format!("its run-condition cannot be decided: {error}");
                    return (Self::failed(step), Ended::not_run(1, why), 0);
                }
            }
        }
        let (ended, attempts) = self.session.run_unit(&self.session.unit(step)).await;
        let state = if ended.has_failed() {
            Self::failed(step)
        } else {
            State::Succeeded
        };
        (state, ended, attempts)
    }

    fn failed(step: &Step) -> State {
        if step.continue_on_error {
            State::Tolerated
        } else {
            State::Failed
        }
    }
}

/// Start time of a step.
struct Watch {
    time: SystemTime,
    instant: Instant,
}

impl Watch {
    fn start() -> Watch {
        Watch {
            time: SystemTime::now(),
            instant: Instant::now(),
        }
    }

    fn facts(&self, ended: &Ended) -> StepFacts {
        StepFacts {
            output: ended.stdout.raw.trim_end_matches(['\n', '\r']).to_owned(),
            error: ended.stderr.raw.trim_end_matches(['\n', '\r']).to_owned(),
            exit_code: Some(ended.exit_code),
            millis: u64::try_from(self.instant.elapsed().as_millis()).unwrap_or(u64::MAX),
            start_time: Timestamp::of(self.time).precise(),
            end_time: Timestamp::now().precise(),
        }
    }
}
