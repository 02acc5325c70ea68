//! The browser that the tests of the page drive.

use crate::command;
use crate::error::Result;
use crate::machine::Machine;

use crate::packages;

/// Names of the browser's program on Debian and elsewhere; the tests look for the same names.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

pub fn ensure(machine: &Machine) -> Result<()> {
    if std::env::var_os("HAFT_CHROMIUM").is_some()
        || NAMES.iter().any(|name| command::on_path(name).is_some())
    {
        return Ok(());
    }
    packages::ensure("to test the page", &["chromium".into()], machine)
}
