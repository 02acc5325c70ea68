//! What one module said, and everything that this came from.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Fresh;
use super::world::World;
use crate::engine::graph::{Checker, Graph, What};

/// One remembered answer.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    /// The JSON of `30_load.ts`.
    described: Box<RawValue>,
    graph: Graph,
    world: World,
}

impl Entry {
    /// The entry of a module that was just loaded.
    ///
    /// # Errors
    /// When its answer must not be remembered; the text says why.
    pub(super) fn of(fresh: Fresh) -> Result<Entry, String> {
        let Fresh {
            described,
            graph,
            notes,
            ..
        } = fresh;
        if let Some(why) = &notes.fickle {
            return Err(why.clone());
        }
        if has_live_description(&described) {
            return Err("it computes a description anew each time".to_owned());
        }
        check_graph(&graph)?;
        if notes.has_symbols
            && let Some(path) = graph.files.keys().find(|path| uses_symbols(path))
        {
            return Err(format!("{} may share state by a symbol", path.display()));
        }
        let is_missing = |specifier: &String| {
            let mut missing = graph.missing.values();
            missing.any(|names| names.contains(specifier))
        };
        if let Some(specifier) = notes.unfound.iter().find(|it| !is_missing(it)) {
            return Err(format!(
                "it tries to require {specifier}, which is not there"
            ));
        }
        for (path, digest) in &notes.imported {
            if graph.files.get(path) != Some(digest) {
                let path = path.display();
                return Err(format!("it imports {path}, which its text does not tell"));
            }
        }
        if let Some(path) = notes
            .timely
            .iter()
            .find(|path| graph.files.contains_key(*path))
        {
            return Err(format!("{} may ask for the time", path.display()));
        }
        let world = World::of(&notes, &graph)?;
        let described = RawValue::from_string(described).map_err(|error| error.to_string())?;
        Ok(Entry {
            described,
            graph,
            world,
        })
    }

    /// True while loading the module again would give the same answer.
    pub(super) fn holds(&self, checker: &mut Checker) -> bool {
        checker.holds(&self.graph) && self.world.holds()
    }

    pub(super) fn described(&self) -> String {
        self.described.get().to_owned()
    }
}

fn has_live_description(described: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tool {
        #[serde(default)]
        has_live_description: bool,
    }
    #[derive(Default, Deserialize)]
    struct Described {
        tools: Vec<Tool>,
    }
    let described: Described = serde_json::from_str(described).unwrap_or_default();
    described.tools.iter().any(|tool| tool.has_live_description)
}

/// True for a file of the tool's own that uses registered symbols. Those of packages are their own
/// affair: their descriptions do not depend on who loaded before.
fn uses_symbols(path: &Path) -> bool {
    let is_of_package = path.iter().any(|part| part == "node_modules");
    !is_of_package
        && std::fs::read(path).is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            text.contains("Symbol") || text.contains("ownKeys")
        })
}

/// Openings whose every use is noted while it happens, or that read nothing.
const SEEN: &[What] = &[
    What::ComputedImport,
    What::ComputedRequire,
    What::CodeFromText,
    What::CodeFromBytes,
];

/// Computed imports and requires are seen while they happen; what else gets in unseen rules an answer
/// out.
fn check_graph(graph: &Graph) -> Result<(), String> {
    let unseen = graph
        .openings
        .iter()
        .find(|opening| !SEEN.contains(&opening.what));
    if let Some(opening) = unseen {
        let path = opening.path.display();
        return Err(format!("{path}:{} {}", opening.line, opening.what.as_str()));
    }
    // A context of its own has a clock of its own.
    if graph.builtins.contains("vm") {
        return Err("it uses node:vm".to_owned());
    }
    Ok(())
}
