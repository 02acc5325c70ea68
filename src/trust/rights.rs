//! Rights of one tool file, for surfaces that show and change them.

use std::path::Path;

use super::judge::look;
use crate::family::file_rights::{FileRights, RightsReader};
use haft_config::Config;
use haft_discover::Candidate;
use haft_tool::{Error, ErrorKind, Family};

/// Returns the rights of the tool `name` in a file that a scan finds, and true if it may run now.
/// `None` for a tool that is not in such a file.
///
/// # Errors
/// [`ErrorKind::Load`] if the permit of the file is not believed.
pub(crate) fn rights_of(
    config: &Config,
    file: &Path,
    name: &str,
) -> Result<Option<(FileRights, bool)>, Error> {
    let (_, judged) = look(config);
    let reader = RightsReader::new(config);
    let is_it = |candidate: &&Candidate| candidate.resolved == file;
    let trusted = judged.trusted.iter().find(is_it);
    let mut doubted = judged.doubted.iter().map(|doubted| &doubted.candidate);
    let Some(candidate) = trusted.or_else(|| doubted.find(is_it)) else {
        return Ok(None);
    };
    // All tools of a module have the same rights.
    let name = match candidate.source.family {
        Family::Js => &candidate.key,
        _ => name,
    };
    let rights = reader.of(candidate, name).map_err(|problem| {
        let mut text = problem.message.clone();
        if let Some(path) = &problem.path {
            text = format!("{text} ({})", path.display());
        }
        let error = Error::new(ErrorKind::Load, text);
        match &problem.hint {
            Some(hint) => error.with_hint(hint.clone()),
            None => error,
        }
    })?;
    Ok(Some((rights, trusted.is_some())))
}
