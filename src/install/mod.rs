//! Installs the npm packages that tools import and that are missing.
//!
//! [`Survey`] finds the missing packages without running anything, [`Resolved`] is one folder with
//! its exact versions resolved, [`Resolved::install`] installs them. npm does the work in a staging
//! folder: `node_modules`, the lock file and `package.json` move into place in one step each, so an
//! interrupted installation changes nothing. Lifecycle scripts of packages never run.
//!
//! The project may be untrusted: nothing of it runs here, and its `.npmrc` is not read.

mod manifest;
mod name;
mod npm;
mod place;
mod plan;
mod stage;
mod survey;
mod target;

pub(crate) use npm::Npm;
pub(crate) use plan::{Package, Resolved};
pub(crate) use survey::{Site, Skipped, Survey};
