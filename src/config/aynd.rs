//! What aynd's users can set: where their plugin files are, and whether they want its built-in tools.
//!
//! The built-in tools are off by default: whoever lists the tools of other systems does not expect
//! them. A server has them: its REST interface is aynd's, which always brings them. `AYND_TEST_TOOLS_DIR` is aynd's own variable; like every variable it outweighs files and
//! yields to what was given directly.

use std::path::{Path, PathBuf};

use super::{Env, paths};

/// What aynd's tools go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aynd {
    /// The folder with the plugin files, absolute.
    pub tools_dir: PathBuf,
    /// Whether `git-status`, `git-diff-summary`, `workspace-info` and `file-reader` are in the catalog.
    pub builtin_tools: bool,
}

/// The same as one layer says it.
#[derive(Debug, Default)]
pub(super) struct WrittenAynd {
    pub(super) tools_dir: Option<PathBuf>,
    pub(super) builtin_tools: Option<bool>,
}

impl WrittenAynd {
    /// Relative folders of variables start where the process was started.
    pub(super) fn from_env(env: &Env, builtin_tools: Option<bool>) -> WrittenAynd {
        let base = env.current_dir.as_deref().unwrap_or(Path::new("/"));
        let given = env.aynd_test_tools_dir.as_deref();
        WrittenAynd {
            tools_dir: given.map(|dir| paths::resolve(base, dir)),
            builtin_tools,
        }
    }

    pub(super) fn fill_from(&mut self, lower: WrittenAynd) {
        self.tools_dir = self.tools_dir.take().or(lower.tools_dir);
        self.builtin_tools = self.builtin_tools.or(lower.builtin_tools);
    }

    /// `by_default`: what holds for the built-in tools if no layer says anything.
    pub(super) fn resolve(self, home: &Path, by_default: bool) -> Aynd {
        Aynd {
            tools_dir: self
                .tools_dir
                .unwrap_or_else(|| home.join(".config/aynd/tools")),
            builtin_tools: self.builtin_tools.unwrap_or(by_default),
        }
    }
}
