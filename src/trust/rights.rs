//! Rights of one tool file, for surfaces that show and change them.

use std::path::Path;

use super::judge::look;
use crate::family::rights::{self, FileRights};
use haft_config::Config;

/// Returns the rights of the tools in a file that a scan finds, and true if they may run now.
/// `None` for a tool that is not in such a file.
pub(crate) fn rights_of(config: &Config, file: &Path) -> Option<(FileRights, bool)> {
    let (_, judged) = look(config);
    let is_it = |candidate: &haft_discover::Candidate| candidate.resolved == file;
    if let Some(candidate) = judged.trusted.iter().find(|one| is_it(one)) {
        return Some((rights::rights_of(config, candidate), true));
    }
    let (candidate, _) = judged.doubted.iter().find(|(one, _)| is_it(one))?;
    Some((rights::rights_of(config, candidate), false))
}
