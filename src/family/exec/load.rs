//! Loading that both protocols share: describe all files at once, parse each answer, resolve name
//! conflicts.

use super::precedence::{self, Lost};
use super::{Loaded, describe};
use haft_config::Config;
use haft_discover::Candidate;
use haft_process::{End, Finished, Spawn, SpawnError};
use haft_tool::Problem;

/// Protocol of one system of executables.
pub(super) trait Protocol {
    /// The parsed answer of a tool.
    type Described;

    /// Returns the process that asks a file for its description.
    fn question(candidate: &Candidate, config: &Config) -> Spawn;

    /// Parses the answer, or returns the problem that keeps it from being a tool.
    fn understand(
        candidate: &Candidate,
        answer: Result<Finished, SpawnError>,
    ) -> Result<Self::Described, Problem>;

    /// Returns the rank of the candidate's directory within its level; the greater one is nearer.
    fn rank(candidate: &Candidate, config: &Config) -> u8;

    /// Returns the name that the tool asks for.
    fn name(described: &Self::Described) -> &str;

    /// Returns the problem of a tool whose name is taken by another one.
    fn passed_over(loser: &Candidate, name: &str, lost: &Lost<'_>) -> Problem;

    /// Builds the tool and its runner.
    fn take(candidate: &Candidate, described: Self::Described, config: &Config) -> Loaded;
}

/// Loads the candidates; one result for each of them, in their order.
pub(super) async fn load<P: Protocol>(config: &Config, candidates: &[&Candidate]) -> Vec<Loaded> {
    let questions = candidates.iter().map(|file| P::question(file, config));
    let answers = describe::ask_all(questions.collect()).await;
    let is_late = |answer: &Result<Finished, SpawnError>| matches!(answer, Ok(finished) if matches!(finished.end, End::TimedOut(_)));
    let late: Vec<bool> = answers.iter().map(is_late).collect();
    let files = candidates.iter().copied();
    let mut understood: Vec<Result<P::Described, Problem>> = files
        .clone()
        .zip(answers)
        .map(|(file, answer)| P::understand(file, answer))
        .collect();

    let mut lost = Vec::new();
    let claims: Vec<Option<(&Candidate, &str)>> = files
        .clone()
        .zip(&understood)
        .map(|(file, known)| Some((file, P::name(known.as_ref().ok()?))))
        .collect();
    for loser in precedence::lost(&claims, |file| P::rank(file, config)) {
        if let Some((file, name)) = claims[loser.place] {
            lost.push((loser.place, P::passed_over(file, name, &loser)));
        }
    }
    for (place, problem) in lost {
        understood[place] = Err(problem);
    }
    let known = understood.into_iter().zip(late);
    let tools = files.zip(known).map(|(file, known)| match known {
        (Ok(described), _) => P::take(file, described, config),
        (Err(problem), was_late) => Loaded {
            problems: vec![problem],
            was_late,
            ..Loaded::default()
        },
    });
    tools.collect()
}
