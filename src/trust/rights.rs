//! Rights of one tool file, for surfaces that show and change them.

use std::path::Path;

use super::judge::look;
use crate::family;
use crate::family::file_rights::{FileRights, RightsReader, subject_of};
use haft_config::Config;
use haft_config::permits::PermitSubject;
use haft_discover::Candidate;
use haft_tool::{Error, ErrorKind, Family};

/// Place of the tool or the MCP server whose rights are meant.
pub(crate) enum RightsPlace<'a> {
    /// The tool, or the server, of that name in a file.
    File(&'a Path, &'a str),
    /// The MCP server of that name in any file.
    Server(&'a str),
}

/// Rights of the tools of a file, or of a server.
pub(crate) struct FoundRights {
    pub(crate) rights: FileRights,
    /// Subject of a permit for it.
    pub(crate) subject: PermitSubject,
    /// True if it may run now.
    pub(crate) is_trusted: bool,
}

/// Reads the rights of what a scan finds there; `None` if it finds nothing.
///
/// # Errors
/// [`ErrorKind::Load`] if the permit of the file is not believed.
pub(crate) fn rights_of(
    config: &Config,
    place: &RightsPlace<'_>,
) -> Result<Option<FoundRights>, Error> {
    let (_, judged) = look(config);
    let reader = RightsReader::new(config);
    let is_it = |candidate: &&Candidate| match place {
        RightsPlace::File(file, _) => candidate.resolved == *file,
        RightsPlace::Server(name) => {
            candidate.source.family == Family::Mcp
                && family::mcp::server_names(config, candidate).contains(&(*name).to_owned())
        }
    };
    let trusted = judged.trusted.iter().find(is_it);
    let mut doubted = judged.doubted.iter().map(|doubted| &doubted.candidate);
    let Some(candidate) = trusted.or_else(|| doubted.find(is_it)) else {
        return Ok(None);
    };
    // All tools of a module have the same rights.
    let name = match (candidate.source.family, place) {
        (Family::Js, _) => &candidate.key,
        (_, RightsPlace::File(_, name) | RightsPlace::Server(name)) => *name,
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
    Ok(Some(FoundRights {
        rights,
        subject: subject_of(candidate, name),
        is_trusted: trusted.is_some(),
    }))
}
