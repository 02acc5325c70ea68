//! Where ikigai's tools are and how long they may take: the `ikigai:` block and its variables.
//!
//! The system directories are `PREFIX/libexec/haft`, with what comes with haft, and
//! `PREFIX/libexec/ikigai`, with what an installation of ikigai brings. Without a prefix they are looked
//! for beside the program: a build keeps `libexec` next to the binary, an installation next to `bin`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kodelet::anchored;

/// Below a prefix: haft's own tools.
const OF_HAFT: &str = "libexec/haft";
/// Below a prefix: the tools of ikigai itself.
const OF_IKIGAI: &str = "libexec/ikigai";

/// Where ikigai's tools are and how they are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ikigai {
    /// The tools that came with haft; `None`: it is not known where they would be.
    pub system_dir: Option<PathBuf>,
    /// The tools of an installation of ikigai; `None`: it is not known where they would be.
    pub installation_dir: Option<PathBuf>,
    /// The user's own tools; `None`: there is no home directory.
    pub user_dir: Option<PathBuf>,
    /// The project's tools; `None` unless somebody asked for them.
    pub project_dir: Option<PathBuf>,
    /// The longest that a call may take.
    pub timeout: Duration,
}

/// The block as one layer has it.
#[derive(Debug, Default)]
pub(super) struct WrittenIkigai {
    pub prefix: Option<PathBuf>,
    pub project: Option<bool>,
    pub timeout: Option<Duration>,
}

impl WrittenIkigai {
    /// Takes from `lower` whatever this layer leaves open.
    pub(super) fn fill_from(&mut self, lower: Self) {
        self.prefix = self.prefix.take().or(lower.prefix);
        self.project = self.project.or(lower.project);
        self.timeout = self.timeout.or(lower.timeout);
    }

    /// The same with a relative prefix made absolute.
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
            // Fixed in the document (ikigai 35); a host may still want another.
            timeout: self.timeout.unwrap_or(Duration::from_secs(30)),
        }
    }
}

/// The directory that belongs to a program at this path, if there is one.
fn beside(program: &Path, below: &str) -> Option<PathBuf> {
    let folder = program.parent()?;
    let built = folder.join(below);
    if built.is_dir() {
        return Some(built);
    }
    let installed = folder.parent()?.join(below);
    installed.is_dir().then_some(installed)
}
