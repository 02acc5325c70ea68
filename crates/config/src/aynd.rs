//! Settings of aynd's tools: the folder of its plugin files, and whether its built-in tools are
//! offered.
//!
//! `AYND_TEST_TOOLS_DIR` is aynd's own variable. Like every variable it overrides files and is
//! overridden by flags.

use std::path::PathBuf;

use super::declare::{default_settings, path, settings};

settings! {
    /// Settings of aynd's tools.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Aynd {
        /// The folder with aynd's plugin files.
        // Its files count as the user's own, which are trusted.
        pub tools_dir: PathBuf = "~/.config/aynd/tools" => path,
            env "AYND_TEST_TOOLS_DIR", user "--aynd-tools";
        /// True if `git-status`, `git-diff-summary`, `workspace-info` and `file-reader` are in the
        /// catalog. `haft serve` and `haft serve rest` turn them on unless this is set.
        // Off by default, because users who list the tools of other systems do not expect them. A
        // server turns them on, because its REST interface is aynd's, which always has them.
        pub builtin_tools: bool = "false", env "HAFT_BUILTIN_TOOLS";
    }
}
default_settings!(Aynd);
