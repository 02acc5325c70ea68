//! Which of several tools of one name counts.
//!
//! A nearer level overrides a farther one: that is how both systems are customised. Inside of a
//! level the first file counts, and the other is an accident that is told.

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

/// Those that lose their names; `claims` are in the order of the files.
pub(super) fn lost<'a>(claims: &[(&'a Candidate, &str)]) -> Vec<Lost<'a>> {
    let mut holders: HashMap<&str, usize> = HashMap::new();
    for (place, (candidate, name)) in claims.iter().enumerate() {
        let holder = holders.entry(name).or_insert(place);
        if nearness(candidate) > nearness(claims[*holder].0) {
            *holder = place;
        }
    }
    let all = claims.iter().enumerate();
    all.filter_map(|(place, (candidate, name))| {
        let holder = claims[holders[name]].0;
        (place != holders[name]).then(|| Lost {
            place,
            holder,
            is_override: nearness(holder) > nearness(candidate),
        })
    })
    .collect()
}

/// That a file of the user's takes the place of another is worth a line, not a warning.
pub(super) fn overridden(loser: &Candidate, holder: &Candidate, name: &str) -> Problem {
    let message = format!("`{name}` of {} counts in its place", holder.path.display());
    Problem::info(message).at(&loser.path).about(name)
}

fn nearness(candidate: &Candidate) -> u8 {
    match candidate.source.level {
        Level::Host => 0,
        Level::User => 1,
        Level::Project => 2,
    }
}
