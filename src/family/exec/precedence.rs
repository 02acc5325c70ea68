//! Precedence of several tools that have the same name.
//!
//! A nearer level overrides a farther one: that is how both systems are customised. Within a level
//! a nearer directory overrides a farther one, too. Within a directory the first file counts; the
//! other one is an accident and is reported as a problem.

use std::collections::HashMap;

use haft_discover::Candidate;
use haft_tool::{Level, Problem};

/// A tool that did not get its name.
pub(super) struct Lost<'a> {
    /// Index among the claims.
    pub(super) place: usize,
    /// The candidate that has the name.
    pub(super) holder: &'a Candidate,
    /// True if the holder is nearer: an intended override.
    pub(super) is_override: bool,
}

/// Returns the claims that lose their names. `claims` are in the order of the files; `None` stands
/// for a file without a name. `rank` returns the greater number for the nearer of two directories
/// of one level.
pub(super) fn lost<'a>(
    claims: &[Option<(&'a Candidate, &str)>],
    rank: impl Fn(&Candidate) -> u8,
) -> Vec<Lost<'a>> {
    let nearness = |file: &Candidate| (level(file), rank(file));
    let claims = claims.iter().enumerate();
    let claims = claims.filter_map(|(place, claim)| claim.map(|(file, name)| (place, file, name)));
    let mut holders: HashMap<&str, (usize, &Candidate)> = HashMap::new();
    for (place, file, name) in claims.clone() {
        let holder = holders.entry(name).or_insert((place, file));
        if nearness(file) > nearness(holder.1) {
            *holder = (place, file);
        }
    }
    let losers = claims.filter_map(|(place, file, name)| {
        let (first, holder) = holders[name];
        (place != first).then(|| Lost {
            place,
            holder,
            is_override: nearness(holder) > nearness(file),
        })
    });
    losers.collect()
}

/// Returns a problem of the level info, not a warning: that a file of the user overrides another
/// one is intended.
pub(super) fn overridden(loser: &Candidate, holder: &Candidate, name: &str) -> Problem {
    let message = format!("`{name}` of {} counts in its place", holder.path.display());
    Problem::info(message).at(&loser.path).about(name)
}

/// Returns the problem of a file whose name another file of the same level has.
pub(super) fn comes_first(loser: &Candidate, holder: &Candidate, name: &str) -> Problem {
    let (file, holder) = (loser.path.display(), holder.path.display());
    let message = format!("{file} is not loaded: {holder} comes first with the same name `{name}`");
    let problem = Problem::warning(message).at(&loser.path).about(name);
    problem.hint("give one of the two another name")
}

fn level(candidate: &Candidate) -> u8 {
    match candidate.source.level {
        Level::Host => 0,
        Level::User => 1,
        Level::Project => 2,
    }
}
