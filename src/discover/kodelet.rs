//! Kodelet's directories: `~/.kodelet/tools`, then `./kodelet-tools` of the project.
//!
//! Which of two tools of one name counts is for the family: names are known only when the files
//! have been asked.

use std::path::PathBuf;

use super::Provider;
use super::executables;
use super::ground::Ground;
use super::sweep::Sweep;
use crate::config::Config;
use crate::tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "kodelet",
    name: "Kodelet",
    family: Family::Kodelet,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    let tools = &config.custom_tools;
    vec![tools.global_dir.clone(), tools.local_dir.clone()]
}

fn find(ground: &Ground<'_>, sweep: &mut Sweep<'_>) {
    let tools = &ground.config.custom_tools;
    if !tools.enabled {
        for place in places(ground.config) {
            executables::leave(&place, "`custom_tools.enabled: false`", sweep);
        }
        return;
    }
    let global = match tools.global_dir_is_projects {
        true => Level::Project,
        false => Level::User,
    };
    executables::take(&tools.global_dir, global, |_| None, sweep);
    executables::take(&tools.local_dir, Level::Project, |_| None, sweep);
}
