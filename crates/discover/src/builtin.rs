//! haft's built-in tools, if they are switched on.
//!
//! They have no file; one candidate stands for all of them.

use std::path::PathBuf;

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use haft_config::Config;
use haft_tool::{Family, Level};

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

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    if context.config.aynd.builtin_tools {
        let seen = (PathBuf::from(ID), None);
        collector.named(ID.into(), seen, ID.to_owned(), Level::Host);
    }
}
