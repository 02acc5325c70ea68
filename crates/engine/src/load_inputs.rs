//! The inputs of a module's load, on which its description depends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// Inputs of one load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LoadTrace {
    /// The environment variables that it read.
    pub(super) env: BTreeSet<String>,
    /// Set if it listed the environment variables.
    pub(super) lists_env: bool,
    /// Start of the load.
    pub(super) since: Option<SystemTime>,
    /// The paths that it accessed, other than by importing.
    pub(super) looked: BTreeSet<PathBuf>,
    /// Files that change with the system information that it read.
    pub(super) system: BTreeSet<PathBuf>,
    /// Native code that it loaded. The inputs of that code are not visible, so its file stands for
    /// them.
    pub(super) native: BTreeSet<PathBuf>,
    /// The specifiers that `require` did not find.
    pub(super) unfound: BTreeSet<String>,
    /// The files that it imported, with the hash of what was read.
    pub(super) imported: BTreeMap<PathBuf, String>,
    /// The files, imported by now, whose text names a clock other than `Date`.
    pub(super) timely: BTreeSet<PathBuf>,
    /// Reason for which the description must not be cached, if there is one.
    pub(super) mark_uncacheable: Option<String>,
    /// Set if it changed state that the modules after it can see.
    pub(super) mark_side_effects: bool,
    /// Set if it, or a module before it, put something on the global object under a registered
    /// symbol.
    pub(super) has_symbols: bool,
}
