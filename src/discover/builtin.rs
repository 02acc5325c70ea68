//! haft's built-in tools, if they are switched on.
//!
//! They have no file; one candidate stands for all of them.

use std::path::PathBuf;

use super::Provider;
use super::ground::Ground;
use super::sweep::Sweep;
use crate::config::Config;
use crate::tool::{Family, Level};

const ID: &str = "builtin";

pub(super) const PROVIDER: Provider = Provider {
    id: ID,
    name: "haft",
    family: Family::Native,
    places,
    find,
};

fn places(_config: &Config) -> Vec<PathBuf> {
    Vec::new()
}

fn find(ground: &Ground<'_>, sweep: &mut Sweep<'_>) {
    if ground.config.aynd.builtin_tools {
        let seen = (PathBuf::from(ID), None);
        sweep.named(ID.into(), seen, ID.to_owned(), Level::Host);
    }
}
