//! aynd's plugin files: the `*.json` of one folder of the user, in the order of their names.
//!
//! Sub-folders are not read. A folder named `x.json` becomes a candidate: aynd tries to read it as
//! well, and the family reports the problem.

use std::fs;
use std::path::PathBuf;

use super::collector::Collector;
use super::context::ScanContext;
use super::{Provider, Verdict};
use haft_config::{Config, paths};
use haft_tool::{Family, Level, Problem};

pub(super) const PROVIDER: Provider = Provider {
    id: "aynd",
    name: "aynd plugins",
    family: Family::Plugin,
    places,
    find,
};

fn places(config: &Config) -> Vec<PathBuf> {
    vec![config.aynd.tools_dir.clone()]
}

fn find(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let folder = &context.config.aynd.tools_dir;
    collector.lists(folder);
    let mut files: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        // aynd treats a file in the folder's place as a missing folder.
        Err(error) if paths::is_missing(&error) => return collector.note(folder, Verdict::Missing),
        Err(error) => {
            let why = paths::plain(&error);
            let text = format!("the folder of plugin files cannot be read: {why}");
            let hint = "make it readable, or name another one with `aynd: {tools_dir: …}`";
            return collector.problem(Problem::warning(text).at(folder).hint(hint));
        }
    };
    files.sort();
    for file in files {
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let key = paths::key(&file);
            collector.listed(file, key, Level::User);
        } else {
            collector.ignored(file, "plugin files end in .json");
        }
    }
}
