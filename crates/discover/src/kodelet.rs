//! Kodelet's directories: `~/.kodelet/tools`, then `./kodelet-tools` and `./.kodelet/tools` of the
//! project.
//!
//! The family decides which of two tools of one name counts, because names are known only after the
//! files have described themselves.

use std::path::{Path, PathBuf};

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use super::executables;
use haft_config::{Config, CustomTools};
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "kodelet",
    name: "Kodelet",
    family: Family::Kodelet,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    let tools = &config.custom_tools;
    let places = [tools.global_dir.as_path()].into_iter();
    places
        .chain(of_project(tools))
        .map(Path::to_owned)
        .collect()
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let tools = &context.config.custom_tools;
    if !tools.enabled {
        for place in places(context.config) {
            executables::leave(&place, "`custom_tools.enabled: false`", collector);
        }
        return;
    }
    let global = if tools.global_dir_is_projects {
        Level::Project
    } else {
        Level::User
    };
    executables::take(&tools.global_dir, global, |_| None, collector);
    for place in of_project(tools) {
        executables::take(place, Level::Project, |_| None, collector);
    }
}

/// Returns the project's directories. In the home directory `./.kodelet/tools` is the user's own,
/// so it is left out.
fn of_project(tools: &CustomTools) -> impl Iterator<Item = &Path> {
    let places = [Some(&tools.local_dir), tools.dot_local_dir.as_ref()];
    let is_users = |place: &Path| {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(place) == real(&tools.global_dir)
    };
    let places = places.into_iter().flatten().map(PathBuf::as_path);
    places.filter(move |place| !is_users(place))
}
