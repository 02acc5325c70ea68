//! The Python programs that check our interfaces in the tests, in an environment of their own.
//!
//! The environment is in the user's cache, so that all checkouts share it. Its folder is named
//! after the pinned packages, so that another version gets another folder.

use std::path::Path;

use crate::error::Result;
use crate::files;
use crate::python_environment;
use crate::workspace;

/// Pinned Python packages, in pip's format.
const PINNED: &str = "tests/judges/requirements.txt";

pub fn ensure(root: &Path) -> Result<()> {
    let list = root.join(PINNED);
    let pinned = files::read(&list)?;
    let folder = workspace::user_cache()?
        .join("haft-judges")
        .join(pinned.trim().replace("==", "-"));
    python_environment::ensure(&folder, &list).map(drop)
}
