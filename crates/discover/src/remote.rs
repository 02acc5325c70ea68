//! The configuration file, if it names other hosts (`remote`).
//!
//! The file is one candidate with all of them. Its family connects to them.

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use haft_config::paths;
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "remote",
    name: "other hosts",
    family: Family::Remote,
    places: |config| vec![config.config_file.clone()],
    find,
};

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let config = context.config;
    if !config.remote.is_empty() {
        // The file may be a candidate with MCP servers, too.
        let path = config.config_file.clone();
        let seen = (
            paths::resolve(&config.cwd, &path),
            Some("remote".to_owned()),
        );
        collector.named(path, seen, "remote".to_owned(), Level::User);
    }
}
