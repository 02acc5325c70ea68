//! Options for debugging the JavaScript of tools.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Options for debugging the JavaScript of tools. By default nothing can be debugged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debugging {
    /// True if debuggers can attach to the isolates.
    pub is_inspected: bool,
    /// The module that waits for a debugger before it runs, and pauses at its first statement.
    pub breaks_in: Option<PathBuf>,
    /// The module whose isolate is profiled, from the load of the module on.
    pub profiles: Option<PathBuf>,
}
