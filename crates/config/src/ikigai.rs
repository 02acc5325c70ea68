//! Settings of ikigai's tools: the `ikigai:` block and its variables.
//!
//! The system directories are `PREFIX/libexec/haft`, with the tools of haft, and
//! `PREFIX/libexec/ikigai`, with those of an ikigai installation. Without a prefix they are
//! searched beside the program: a build has `libexec` next to the binary, an installation has it
//! next to `bin`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kodelet::anchored;

/// Directory of haft's own tools, below a prefix.
const OF_HAFT: &str = "libexec/haft";
/// Directory of ikigai's own tools, below a prefix.
const OF_IKIGAI: &str = "libexec/ikigai";

/// Directories of ikigai's tools, and the timeout of their calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ikigai {
    /// The tools that come with haft; `None` if their directory is unknown.
    pub system_dir: Option<PathBuf>,
    /// The tools of an ikigai installation; `None` if their directory is unknown.
    pub installation_dir: Option<PathBuf>,
    /// The user's own tools; `None` without a home directory.
    pub user_dir: Option<PathBuf>,
    /// The project's tools; `None` unless they are turned on.
    pub project_dir: Option<PathBuf>,
    /// Maximum duration of a call.
    pub timeout: Duration,
}

/// The block as one layer has it.
#[derive(Debug, Default)]
pub(super) struct IkigaiLayer {
    pub prefix: Option<PathBuf>,
    pub project: Option<bool>,
    pub timeout: Option<Duration>,
}

impl IkigaiLayer {
    /// Takes the values from `lower` that this layer does not set.
    pub(super) fn merge_from(&mut self, lower: Self) {
        self.prefix = self.prefix.take().or(lower.prefix);
        self.project = self.project.or(lower.project);
        self.timeout = self.timeout.or(lower.timeout);
    }

    /// Returns the block with an absolute prefix.
    pub(super) fn anchored(mut self, base: &Path, home: &Path) -> Self {
        self.prefix = self.prefix.map(|prefix| anchored(&prefix, base, home));
        self
    }

    pub(super) fn resolve(self, program: Option<&Path>, home: Option<&Path>, cwd: &Path) -> Ikigai {
        let system = |below: &str| match &self.prefix {
            Some(prefix) => Some(prefix.join(below)),
            None => program.and_then(|program| beside(program, below)),
        };
        let asked = self.project.unwrap_or(false);
        Ikigai {
            system_dir: system(OF_HAFT),
            installation_dir: system(OF_IKIGAI),
            user_dir: home.map(|home| home.join(".ikigai/tools")),
            project_dir: asked.then(|| cwd.join(".ikigai/tools")),
            // The document fixes it (ikigai 35), but a host may want another.
            timeout: self.timeout.unwrap_or(Duration::from_secs(30)),
        }
    }
}

/// Returns the directory `below` that belongs to this program, if it exists.
fn beside(program: &Path, below: &str) -> Option<PathBuf> {
    let folder = program.parent()?;
    let built = folder.join(below);
    if built.is_dir() {
        return Some(built);
    }
    let installed = folder.parent()?.join(below);
    installed.is_dir().then_some(installed)
}
