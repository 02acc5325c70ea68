//! What makes a graph incomplete, for people to read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A place in a file from which code may be loaded that is not in the graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Opening {
    /// The file.
    pub path: PathBuf,
    /// 1-based; 0 where it is the file as a whole.
    pub line: u32,
    /// What is done there.
    pub what: What,
}

/// How code gets in that no reading can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// `import(…)` of something computed.
    ComputedImport,
    /// `require(…)` of something computed, or `require` handed around.
    ComputedRequire,
    /// `eval`, `new Function`, `node:vm`, `data:` modules.
    CodeFromText,
    /// `WebAssembly`.
    CodeFromBytes,
    /// A worker that runs something computed.
    Worker,
    /// `process.dlopen`.
    NativeCode,
    /// The file cannot be parsed, or is too large for it.
    Unreadable,
}

impl What {
    /// What the module does there, for a sentence that starts with its place.
    pub fn as_str(self) -> &'static str {
        match self {
            What::ComputedImport => "imports a computed path",
            What::ComputedRequire => "requires a computed path",
            What::CodeFromText => "runs text as code",
            What::CodeFromBytes => "runs bytes as WebAssembly",
            What::Worker => "starts a worker from a computed path",
            What::NativeCode => "loads native code",
            What::Unreadable => "cannot be read as JavaScript",
        }
    }
}
