//! Cache entry: the description of one module and all inputs that determine it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Fresh;
use super::inputs::Inputs;
use crate::graph::{Checker, Graph, What};

/// One cached description.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    /// The JSON of `30_load.ts`.
    described: Box<RawValue>,
    graph: Graph,
    world: Inputs,
}

impl Entry {
    /// Creates the entry of a module that was just loaded.
    ///
    /// # Errors
    /// When its description must not be cached; the text says why.
    pub(super) fn of(fresh: Fresh) -> Result<Entry, String> {
        let Fresh {
            described,
            graph,
            notes,
            ..
        } = fresh;
        if let Some(why) = &notes.mark_uncacheable {
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
        let world = Inputs::of(&notes, &graph)?;
        let described = RawValue::from_string(described).map_err(|error| error.to_string())?;
        Ok(Entry {
            described,
            graph,
            world,
        })
    }

    /// Returns true if loading the module again would give the same description.
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

/// Returns true for a file of the tool's own that uses registered symbols. Packages may use them:
/// their descriptions do not depend on the modules that were loaded before.
fn uses_symbols(path: &Path) -> bool {
    let is_of_package = path.iter().any(|part| part == "node_modules");
    !is_of_package
        && std::fs::read(path).is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            text.contains("Symbol") || text.contains("ownKeys")
        })
}

/// Kinds of dynamic code whose every use is recorded at run time, or that reads nothing.
const SEEN: &[What] = &[
    What::ComputedImport,
    What::ComputedRequire,
    What::CodeFromText,
    What::CodeFromBytes,
];

/// Fails if the graph has dynamic code whose inputs are not recorded. Computed imports and requires
/// are recorded at run time.
fn check_graph(graph: &Graph) -> Result<(), String> {
    let unseen = graph
        .openings
        .iter()
        .find(|opening| !SEEN.contains(&opening.what));
    if let Some(opening) = unseen {
        let path = opening.path.display();
        return Err(format!("{path}:{} {}", opening.line, opening.what.as_str()));
    }
    // A context of `node:vm` has its own clock, whose use is not recorded.
    if graph.builtins.contains("vm") {
        return Err("it uses node:vm".to_owned());
    }
    Ok(())
}
