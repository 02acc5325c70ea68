//! Places that make a module graph incomplete, in a form for users.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A place in a file from which code may be loaded that is not in the graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DynamicImport {
    /// The file.
    pub path: PathBuf,
    /// 1-based line; 0 for the file as a whole.
    pub line: u32,
    /// The kind of code that is loaded there.
    pub what: What,
}

/// Kind of code that cannot be known by reading the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// `import(…)` with a computed specifier.
    ComputedImport,
    /// `require(…)` with a computed specifier, or `require` handed around.
    ComputedRequire,
    /// `eval`, `new Function`, `node:vm`, `data:` modules.
    CodeFromText,
    /// `WebAssembly`.
    CodeFromBytes,
    /// A worker with a computed path.
    Worker,
    /// `process.dlopen`.
    NativeCode,
    /// The file cannot be parsed.
    Unreadable,
    /// The file nests too deeply to be parsed.
    TooDeep,
    /// The file has more bytes than a source may have.
    TooLarge,
    /// Parsing the file takes too much memory or time.
    TooCostly,
    /// The file is a pipe, a device or a file of the kernel.
    NotRegular,
    /// The file is too large to be hashed.
    TooLargeToHash,
    /// The tool imports too many files: the imports of this one are not followed.
    TooManyFiles,
}

impl What {
    /// Describes the opening, for a sentence that starts with its place.
    pub fn as_str(self) -> &'static str {
        match self {
            What::ComputedImport => "imports a computed path",
            What::ComputedRequire => "requires a computed path",
            What::CodeFromText => "runs text as code",
            What::CodeFromBytes => "runs bytes as WebAssembly",
            What::Worker => "starts a worker from a computed path",
            What::NativeCode => "loads native code",
            What::Unreadable => "cannot be read as JavaScript",
            What::TooDeep => "cannot be read as JavaScript: it nests too deeply",
            What::TooLarge => "cannot be read as JavaScript: it is larger than 16 MiB",
            What::TooCostly => {
                "cannot be read as JavaScript: parsing it takes more than 1 GiB of memory or 10 seconds"
            }
            What::NotRegular => "is not a regular file on a disk",
            What::TooLargeToHash => "is larger than 256 MiB",
            What::TooManyFiles => "is beyond the 50,000 files that a tool may pull in",
        }
    }
}
