//! Rights of one tool file, for surfaces that show and change them.

use std::path::Path;

use super::judge::look;
use crate::family::file_rights::{FileRights, RightsReader};
use haft_config::Config;
use haft_discover::Candidate;
use haft_tool::Family;

/// Returns the rights of the tool `name` in a file that a scan finds, and true if it may run now.
/// `None` for a tool that is not in such a file.
pub(crate) fn rights_of(config: &Config, file: &Path, name: &str) -> Option<(FileRights, bool)> {
    let (_, judged) = look(config);
    let reader = RightsReader::new(config);
    let found = |candidate: &Candidate| match candidate.source.family {
        // All tools of a module have the same rights.
        Family::Js => reader.of(candidate, &candidate.key),
        _ => reader.of(candidate, name),
    };
    let is_it = |candidate: &Candidate| candidate.resolved == file;
    if let Some(candidate) = judged.trusted.iter().find(|one| is_it(one)) {
        return Some((found(candidate), true));
    }
    let mut doubted = judged.doubted.iter().map(|doubted| &doubted.candidate);
    let candidate = doubted.find(|one| is_it(one))?;
    Some((found(candidate), false))
}
