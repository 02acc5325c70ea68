//! Decides which of a project's tools may run now.

use std::sync::Arc;

use super::grant::{self, Change, Granted, How, Names};
use super::{HINT, Store};
use crate::family::Loaded;
use haft_config::grants::Grant;
use haft_config::{Config, FileUse, PROJECT_FILE};
use haft_discover::{Candidate, Decisions, Scan};
use haft_engine::graph::{Checker, Grapher};
use haft_tool::{Problem, VerifiedFiles};

/// Reason why a tool may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The user has not trusted it, or has not been asked.
    New,
    /// It differs from the tool that the user trusted.
    Changed(Vec<Change>),
}

/// Tool file that may not run.
pub(crate) struct Doubted {
    pub(crate) candidate: Candidate,
    pub(crate) doubt: Doubt,
    /// The tools as they describe themselves, or the reason why they do not. Without tools and
    /// problems the file was not loaded.
    pub(crate) described: Loaded,
}

/// Tools that may run, tools that may not with the reasons, and problems of the store.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) trusted: Vec<Candidate>,
    pub(crate) doubted: Vec<Doubted>,
    pub(crate) problems: Vec<Problem>,
    /// The files that modules of the project may load.
    pub(crate) verified: Arc<VerifiedFiles>,
}

/// Scans for tools and judges them. The project's settings decide about the user's tools only if
/// they are exactly those that the user trusts.
pub(crate) fn look(config: &Config) -> (Scan, Judged) {
    let decisions = haft_discover::decisions(config);
    let decides = decides(config, &decisions);
    let mut scan = haft_discover::scan_as(config, decides);
    let mut judged = judge(config, &mut scan);
    let is_replaced = scan.has_replaced && !judged.doubted.is_empty();
    // The settings files may have changed during the scan.
    let is_changed = decides && haft_discover::decisions(config) != decisions;
    if is_replaced || is_changed {
        // A plugin that may not run must not replace the user's.
        scan = haft_discover::scan_as(config, false);
        judged = judge(config, &mut scan);
    }
    if !decides {
        let problems = decisions.iter().map(|one| {
            let text = "the project's settings are not used: they are not trusted";
            Problem::info(text).at(&one.path).hint(HINT)
        });
        judged.problems.extend(problems);
    }
    (scan, judged)
}

fn decides(config: &Config, decisions: &[Decisions]) -> bool {
    if config.distrust_project {
        return false;
    }
    if config.trust_project || decisions.is_empty() {
        return true;
    }
    let names = Names::of(&config.cwd);
    let store = Store::at(&config.state_dir, &config.home);
    // A store that cannot be read is reported by `judge_once`.
    let grant = store.read(names.project()).ok().flatten();
    grant.is_some_and(|grant| grant.settings == names.settings(decisions))
}

/// Judges by content, and restores the files that an untrusted file has shadowed. Reads files and
/// parses those that changed; runs nothing.
fn judge(config: &Config, scan: &mut Scan) -> Judged {
    loop {
        let judged = judge_once(config, scan.candidates.clone());
        let refused = judged.doubted.iter();
        let refused: Vec<_> = refused.map(|it| it.candidate.path.clone()).collect();
        if !scan.restore(&refused) {
            return judged;
        }
    }
}

fn judge_once(config: &Config, candidates: Vec<Candidate>) -> Judged {
    let mut judged = Judged::default();
    let asks = |candidate: &Candidate| candidate.needs_trust() && !config.trust_project;
    if !candidates.iter().any(asks) && config.project_file != FileUse::Ignored {
        judged.trusted = candidates;
        return judged;
    }
    let names = Names::of(&config.cwd);
    let store = Store::at(&config.state_dir, &config.home);
    let grant: Option<Grant> = if config.distrust_project {
        None
    } else {
        store.read(names.project()).unwrap_or_else(|error| {
            let problem = store.problem(names.project(), &error);
            judged.problems.push(problem);
            None
        })
    };
    if config.project_file == FileUse::Ignored {
        judged
            .problems
            .push(ignored_config(config, grant.is_some()));
    }
    let verified = grant.as_ref().map(|grant| grant.verified(&names));
    judged.verified = verified.clone().unwrap_or_default();
    let court = Court {
        config,
        verified,
        config_change: config_change(config, grant.as_ref()),
        is_untouched: is_untouched(grant.as_ref(), &names),
        names,
        grant,
        grapher: Grapher::for_untrusted(),
    };
    for mut candidate in candidates {
        if !asks(&candidate) {
            judged.trusted.push(candidate);
            continue;
        }
        match court.doubt(&candidate) {
            None => {
                candidate.verified.clone_from(&court.verified);
                judged.trusted.push(candidate);
            }
            Some(doubt) => judged.doubted.push(Doubted {
                candidate,
                doubt,
                described: Loaded::default(),
            }),
        }
    }
    judged
}

struct Court<'a> {
    config: &'a Config,
    names: Names<'a>,
    grant: Option<Grant>,
    /// The part of the grant that is enforced when tools run.
    verified: Option<Arc<VerifiedFiles>>,
    /// Set if every file and every place that decided something is unchanged.
    is_untouched: bool,
    /// The change of the project's configuration, if any. It affects all tools, because their
    /// permissions depend on the configuration.
    config_change: Option<Change>,
    grapher: Grapher,
}

impl Court<'_> {
    fn doubt(&self, candidate: &Candidate) -> Option<Doubt> {
        let Some(grant) = &self.grant else {
            return Some(Doubt::New);
        };
        let entry = self.names.name(&candidate.resolved);
        let Some(was) = grant.files_of(&entry, candidate) else {
            return Some(Doubt::New);
        };
        if self.is_untouched && self.config_change.is_none() {
            return None;
        }
        let is = self
            .names
            .files(&super::graph(&self.grapher, self.config, candidate));
        let mut changes = grant::changes(&was, &is);
        let project = format!("{}/", self.names.project().display());
        for change in &mut changes {
            if let Some(short) = change.path.strip_prefix(&project) {
                change.path = short.to_owned();
            }
        }
        changes.extend(self.config_change.clone());
        (!changes.is_empty()).then_some(Doubt::Changed(changes))
    }
}

fn is_untouched(grant: Option<&Grant>, names: &Names<'_>) -> bool {
    // The facts name places by the real path. Through a link, other places would be checked.
    let facts = || grant.and_then(Granted::facts);
    names.is_direct() && facts().is_some_and(|facts| Checker::default().holds(&facts))
}

fn config_change(config: &Config, grant: Option<&Grant>) -> Option<Change> {
    let how = match (config.project_file, grant?.config.is_some()) {
        (FileUse::Absent, true) => How::Removed,
        (FileUse::Ignored, true) => How::Modified,
        (FileUse::Ignored, false) => How::Added,
        (FileUse::Absent, false) | (FileUse::Used, _) => return None,
    };
    Some(Change {
        path: PROJECT_FILE.to_owned(),
        how,
    })
}

fn ignored_config(config: &Config, is_known: bool) -> Problem {
    let text = if is_known {
        "the project's configuration is not used: it changed since you trusted it"
    } else {
        "the project's configuration is not used: the project is not trusted"
    };
    Problem::warning(text)
        .at(config.cwd.join(PROJECT_FILE))
        .hint(HINT)
}
