//! Loading that the protocols of single files share: describe all files at once, parse each answer, resolve name
//! conflicts.

use super::precedence::{self, Lost};
use super::{Confinement, LoadContext, Loaded, describe};
use haft_config::Config;
use haft_discover::Candidate;
use haft_process::{End, Finished, Spawn, SpawnError};
use haft_tool::Problem;

/// Protocol of one system of executables.
pub(super) trait Protocol {
    /// The parsed answer of a tool.
    type Described;

    /// Returns the process that asks a file for its description.
    fn question(candidate: &Candidate, config: &Config, confinement: &Confinement) -> Spawn;

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
    fn passed_over(loser: &Candidate, name: &str, lost: &Lost<'_>) -> Problem {
        if lost.is_override {
            return precedence::overridden(loser, lost.holder, name);
        }
        precedence::comes_first(loser, lost.holder, name)
    }

    /// Builds the tool and its runner.
    fn take(candidate: &Candidate, described: Self::Described, means: &LoadContext<'_>) -> Loaded;
}

/// Loads the candidates; one result for each of them, in their order.
pub(super) async fn load<P: Protocol>(
    means: &LoadContext<'_>,
    candidates: &[&Candidate],
) -> Vec<Loaded> {
    let config = means.config;
    // A description is needed for the tool's own name, so it has the rights of the likely one.
    let confine = |file: &&Candidate| means.sandboxes.of(config, file, &file.likely_name());
    let with_command = |(file, confined): (&&Candidate, Result<Confinement, Box<Problem>>)| {
        let confinement = confined?;
        let question = P::question(file, config, &confinement);
        let command = means.listing.command(file, question)?;
        Ok((confinement, command))
    };
    let confined = candidates.iter().map(confine);
    let commands = candidates.iter().zip(confined).map(with_command);
    let commands: Vec<Result<_, Box<Problem>>> = commands.collect();
    let questions = commands.iter().flatten();
    let questions = questions.map(|(_, command)| command.clone()).collect();
    let mut answers = describe::ask_all(questions).await.into_iter();
    let confined: Vec<Result<Confinement, Box<Problem>>> = commands
        .into_iter()
        .map(|command| command.map(|(confinement, _)| confinement))
        .collect();
    let answers: Vec<Option<Result<Finished, SpawnError>>> = confined
        .iter()
        .map(|confinement| confinement.as_ref().ok().and_then(|_| answers.next()))
        .collect();
    let is_late = |answer: &Result<Finished, SpawnError>| matches!(answer, Ok(finished) if matches!(finished.end, End::TimedOut(_)));
    let late = answers
        .iter()
        .map(|answer| answer.as_ref().is_some_and(is_late));
    let late: Vec<bool> = late.collect();
    let files = candidates.iter().copied();
    let mut understood: Vec<Result<P::Described, Problem>> = files
        .clone()
        .zip(confined)
        .zip(answers)
        .map(
            |((file, confinement), answer)| match (confinement, answer) {
                (Err(problem), _) => Err(*problem),
                (Ok(confinement), Some(answer)) => {
                    let note = answer.as_ref().ok();
                    let note = note.and_then(|it| confinement.note_of(it, None));
                    P::understand(file, answer).map_err(|problem| noted(problem, note))
                }
                (Ok(_), None) => Err(Problem::error("it was not asked").at(&file.path)),
            },
        )
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
        (Ok(described), _) => P::take(file, described, means),
        (Err(problem), was_late) => Loaded {
            problems: vec![problem],
            was_late,
            ..Loaded::default()
        },
    });
    tools.collect()
}

/// Adds the line about its sandbox to the problem of a file that was not described. What it does by
/// hand says nothing then.
fn noted(mut problem: Problem, note: Option<String>) -> Problem {
    if let Some(note) = note {
        problem.message.push_str(&format!(" {note}"));
        problem.hint = Some(
            "`haft permit NAME` shows what the tool may do in its sandbox; by hand it has none"
                .to_owned(),
        );
    }
    problem
}
