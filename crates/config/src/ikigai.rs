//! Settings of ikigai's tools.
//!
//! The system directories are `PREFIX/libexec/haft`, with the tools of haft, and
//! `PREFIX/libexec/ikigai`, with those of an ikigai installation. Without a prefix they are
//! searched beside the program: a build has `libexec` next to the binary, an installation has it
//! next to `bin`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::declare::{default_settings, optional_path, settings, timeout};

/// Directory of haft's own tools, below a prefix.
const OF_HAFT: &str = "libexec/haft";
/// Directory of ikigai's own tools, below a prefix.
const OF_IKIGAI: &str = "libexec/ikigai";

settings! {
    /// Directories of ikigai's tools, and the timeout of their calls.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Ikigai {
        /// The installation: the system's tools are in `PREFIX/libexec/ikigai` and
        /// `PREFIX/libexec/haft`. Default: found beside the program.
        pub prefix: Option<PathBuf> = "" => optional_path, env "HAFT_IKIGAI_PREFIX";
        /// Also read `.ikigai/tools` of the project, if it is trusted.
        pub project: bool = "false", env "HAFT_IKIGAI_PROJECT";
        /// Maximum duration of a call.
        // The document fixes it (ikigai 35), but a host may want another.
        pub timeout: Duration = "30s" => timeout, env "HAFT_IKIGAI_TIMEOUT";
        computed {
            /// The tools that come with haft; `None` if their directory is unknown.
            pub system_dir: Option<PathBuf>,
            /// The tools of an ikigai installation; `None` if their directory is unknown.
            pub installation_dir: Option<PathBuf>,
            /// The user's own tools; `None` without a home directory.
            pub user_dir: Option<PathBuf>,
            /// The project's tools; `None` unless they are turned on.
            pub project_dir: Option<PathBuf>,
        }
    }
}
default_settings!(Ikigai);

impl Ikigai {
    /// Computes the directories.
    pub(super) fn locate(&mut self, program: Option<&Path>, home: Option<&Path>, cwd: &Path) {
        let system = |below: &str| match &self.prefix {
            Some(prefix) => Some(prefix.join(below)),
            None => program.and_then(|program| beside(program, below)),
        };
        (self.system_dir, self.installation_dir) = (system(OF_HAFT), system(OF_IKIGAI));
        self.user_dir = home.map(|home| home.join(".ikigai/tools"));
        self.project_dir = self.project.then(|| cwd.join(".ikigai/tools"));
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
