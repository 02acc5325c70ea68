//! Settings of aynd's tools: the folder of its plugin files, and whether its built-in tools are
//! offered.
//!
//! The built-in tools are off by default, because users who list the tools of other systems do not
//! expect them. A server turns them on, because its REST interface is aynd's, which always has
//! them. `AYND_TEST_TOOLS_DIR` is aynd's own variable. Like every variable it overrides files and
//! is overridden by flags.

use std::path::{Path, PathBuf};

use super::{Env, paths};

/// Settings of aynd's tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aynd {
    /// The folder with the plugin files, absolute.
    pub tools_dir: PathBuf,
    /// True if `git-status`, `git-diff-summary`, `workspace-info` and `file-reader` are in the
    /// catalog.
    pub builtin_tools: bool,
}

/// The settings as one layer has them.
#[derive(Debug, Default)]
pub(super) struct AyndLayer {
    pub(super) tools_dir: Option<PathBuf>,
    pub(super) builtin_tools: Option<bool>,
}

impl AyndLayer {
    /// Returns the layer of the variables. A relative folder starts at the process's directory.
    pub(super) fn from_env(env: &Env, builtin_tools: Option<bool>) -> AyndLayer {
        let base = env.current_dir.as_deref().unwrap_or(Path::new("/"));
        let given = env.aynd_test_tools_dir.as_deref();
        AyndLayer {
            tools_dir: given.map(|dir| paths::resolve(base, dir)),
            builtin_tools,
        }
    }

    pub(super) fn merge_from(&mut self, lower: AyndLayer) {
        self.tools_dir = self.tools_dir.take().or(lower.tools_dir);
        self.builtin_tools = self.builtin_tools.or(lower.builtin_tools);
    }

    /// Resolves the settings. `by_default` holds for the built-in tools if no layer sets them.
    pub(super) fn resolve(self, home: &Path, by_default: bool) -> Aynd {
        Aynd {
            tools_dir: self
                .tools_dir
                .unwrap_or_else(|| home.join(".config/aynd/tools")),
            builtin_tools: self.builtin_tools.unwrap_or(by_default),
        }
    }
}
