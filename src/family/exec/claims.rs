//! Which of several tools of one name counts.
//!
//! A nearer level overrides a farther one: that is how both systems are customised. Inside of a
//! level a nearer directory does so, too; inside of a directory the first file counts, and the other is
//! an accident that is told.

use std::collections::HashMap;

use crate::discover::Candidate;
use crate::tool::{Level, Problem};

/// A tool that did not get its name.
pub(super) struct Lost<'a> {
    /// Its place among the claims.
    pub(super) place: usize,
    /// Who has the name.
    pub(super) holder: &'a Candidate,
    /// The holder is nearer, which is no accident.
    pub(super) is_override: bool,
}

/// Those that lose their names; `claims` are in the order of the files, `None` has none. `rank` tells
/// which of two directories of one level is the nearer one.
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

/// That a file of the user's takes the place of another is worth a line, not a warning.
pub(super) fn overridden(loser: &Candidate, holder: &Candidate, name: &str) -> Problem {
    let message = format!("`{name}` of {} counts in its place", holder.path.display());
    Problem::info(message).at(&loser.path).about(name)
}

fn level(candidate: &Candidate) -> u8 {
    match candidate.source.level {
        Level::Host => 0,
        Level::User => 1,
        Level::Project => 2,
    }
}
