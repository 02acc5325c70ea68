//! Supply chain of haft: licences, security advisories and notices of its dependencies.
//!
//! `docs/supply-chain.md` says what is checked, and how to go about it when a check fails.

pub mod advisories;
mod deny;
pub mod notices;
mod npm;

use std::path::Path;

use crate::error::Result;

/// Checks the dependencies of both languages. Only the installation of cargo-deny needs a network.
pub fn check(root: &Path) -> Result<()> {
    npm::check(root)?;
    deny::check(root)
}
