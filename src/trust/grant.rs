//! A grant: the bytes of a project that the user trusts, tool by tool.
//!
//! Grants are compared by path and content, never by time. The project may be reached through a
//! link; its own files are named by its real path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::grants::{Grant, Rights, TrustedTool, digest, path_of, real, text_of};
use haft_discover::{Candidate, Decisions};
use haft_engine::graph::{Graph, What};
use haft_tool::{CodeFromData, Family, VerifiedEntry, VerifiedFiles};

/// The files of one tool with their hashes.
pub(super) type Files = BTreeMap<String, String>;

/// A file that differs from the trusted one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: String,
    /// The kind of the change.
    pub how: How,
}

/// Kind of a file's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The file is new, or newly imported.
    Added,
    /// The content differs.
    Modified,
    /// The file is gone, or not imported any more.
    Removed,
}

impl How {
    /// Returns the word that is printed behind the file's name.
    pub fn as_str(self) -> &'static str {
        match self {
            How::Added => "new",
            How::Modified => "changed",
            How::Removed => "gone",
        }
    }
}

/// Returns the rights that a module with this graph needs. The user sees and grants them.
pub(super) fn rights_of(graph: &Graph) -> Rights {
    let has = |what: What| {
        let mut openings = graph.openings.iter();
        openings.any(|opening| opening.what == what || opening.what == What::Unreadable)
    };
    Rights {
        code_from_text: has(What::CodeFromText),
        code_from_bytes: has(What::CodeFromBytes),
    }
}

/// A grant, with the part that is enforced when tools load and run.
pub(super) trait Granted {
    /// Returns the trusted files of the tool in `entry`, if its family and its provider are
    /// unchanged.
    fn files_of(&self, entry: &str, candidate: &Candidate) -> Option<Files>;

    /// Returns the trusted files of the test in `entry`.
    fn files_of_test(&self, entry: &str) -> Option<Files>;

    /// Returns the bytes that may run, in the form that the loaders enforce.
    fn verified(&self, names: &Names<'_>) -> Arc<VerifiedFiles>;

    /// Returns the facts about the module graphs, if they can be read.
    fn facts(&self) -> Option<Graph>;
}

fn with_hashes(grant: &Grant, tool: &TrustedTool) -> Files {
    let with_hash = |name: &String| {
        let hash = grant.files.get(name).cloned().unwrap_or_default();
        (name.clone(), hash)
    };
    tool.files.iter().map(with_hash).collect()
}

impl Granted for Grant {
    fn files_of(&self, entry: &str, candidate: &Candidate) -> Option<Files> {
        let tool = self.tools.get(entry)?;
        let source = &candidate.source;
        let is_same = tool.family == source.family && tool.provider == source.provider;
        is_same.then(|| with_hashes(self, tool))
    }

    fn files_of_test(&self, entry: &str) -> Option<Files> {
        Some(with_hashes(self, self.tools.get(entry)?))
    }

    fn facts(&self) -> Option<Graph> {
        serde_json::from_str(self.facts.as_ref()?.get()).ok()
    }

    fn verified(&self, names: &Names<'_>) -> Arc<VerifiedFiles> {
        let digest = |name: &String| blake3::Hash::from_hex(self.files.get(name)?).ok();
        let mut verified = VerifiedFiles {
            project: names.project.clone(),
            profile: self.profile.clone(),
            alias: (!names.is_direct()).then(|| names.cwd.to_owned()),
            ..VerifiedFiles::default()
        };
        for (entry, tool) in &self.tools {
            if let Some(digest) = digest(entry) {
                let entry = path_of(entry);
                let family = tool.family;
                let provider = tool.provider.clone();
                let requests = tool.requests.clone();
                let tool = VerifiedEntry {
                    family,
                    provider,
                    digest,
                    requests,
                };
                verified.entries.insert(entry, tool);
            }
            let files = tool.files.iter();
            let files = files.filter_map(|name| Some((path_of(name), digest(name)?)));
            match tool.family {
                Family::Js => verified.modules.extend(files),
                // Commands name files.
                _ => verified.programs.extend(files),
            }
            if tool.family == Family::Js {
                let right = |is_said: bool| {
                    if is_said {
                        CodeFromData::UntilFilesAreRead
                    } else {
                        CodeFromData::Never
                    }
                };
                let (text, bytes) = (&mut verified.code_from_text, &mut verified.code_from_bytes);
                *text = (*text).max(right(tool.rights.code_from_text));
                *bytes = (*bytes).max(right(tool.rights.code_from_bytes));
            }
        }
        if self.learned.code_from_data {
            verified.code_from_text = CodeFromData::Always;
            verified.code_from_bytes = CodeFromData::Always;
        }
        let learned = self.learned.files.iter().filter_map(|(name, hash)| {
            let hash = blake3::Hash::from_hex(hash).ok()?;
            Some((path_of(name), hash))
        });
        verified.modules.extend(learned);
        Arc::new(verified)
    }
}

/// Returns the differences, in the order of the paths.
pub(super) fn changes(was: &Files, is: &Files) -> Vec<Change> {
    let paths: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let change = |path: &String| {
        let how = match (was.get(path), is.get(path)) {
            (None, _) => How::Added,
            (_, None) => How::Removed,
            (Some(was), Some(is)) if was != is => How::Modified,
            _ => return None,
        };
        Some(Change {
            path: path.clone(),
            how,
        })
    };
    paths.into_iter().filter_map(change).collect()
}

/// Names files so that each has only one name, by whatever path the project was reached.
pub(super) struct Names<'a> {
    cwd: &'a Path,
    project: PathBuf,
}

impl<'a> Names<'a> {
    pub(super) fn of(cwd: &'a Path) -> Self {
        Names {
            cwd,
            project: real(cwd),
        }
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// True if the project was reached by its real path.
    pub(super) fn is_direct(&self) -> bool {
        self.cwd == self.project
    }

    /// Returns the file's path below the project's real path.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.cwd) {
            Ok(rest) => self.project.join(rest),
            Err(_) => path.to_owned(),
        }
    }

    pub(super) fn name(&self, path: &Path) -> String {
        text_of(&self.place(path))
    }

    /// Returns the decisions of settings files in the form of a grant.
    pub(super) fn settings(&self, decisions: &[Decisions]) -> BTreeMap<String, String> {
        let decisions = decisions.iter();
        decisions
            .map(|one| (self.name(&one.path), digest(&one.text())))
            .collect()
    }

    pub(super) fn files(&self, graph: &Graph) -> Files {
        let files = graph.files.iter();
        files
            .map(|(path, hash)| (self.name(path), hash.clone()))
            .collect()
    }
}
