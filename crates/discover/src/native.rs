//! oh-my-pi's own folders: `.omp/tools` of the project, then `~/.omp/agent/tools`.
//!
//! All files of both come before all sub-folders of both. Parents of the project are not searched:
//! only the working directory itself counts.

use std::path::PathBuf;

use super::Provider;
use super::collector::Collector;
use super::context::ScanContext;
use super::folder::{Folder, SubFolders};
use haft_config::Config;
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "native",
    name: "OMP",
    family: Family::Js,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    // `PI_CONFIG_DIR` does not change the name of the project's folder.
    vec![
        config.cwd.join(".omp/tools"),
        config.roots.omp_agent.join("tools"),
    ]
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let config = context.config;
    let levels = [Level::Project, Level::User];
    let mut folders: Vec<Folder> = Vec::new();
    for (folder, level) in places(config).iter().zip(levels) {
        folders.extend(Folder::read(
            folder,
            level,
            SubFolders::Count,
            config,
            collector,
        ));
    }
    for folder in &mut folders {
        folder.take_files(collector);
    }
    for folder in &mut folders {
        folder.take_indexes(collector);
    }
}
