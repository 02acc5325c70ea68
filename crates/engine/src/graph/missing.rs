//! Imports that resolve to nothing although running the modules needs them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Graph, Grapher};
use crate::loader::compiled;
use crate::source::{Imports, stack_for};

impl Graph {
    /// Returns the missing specifiers by the file that imports them.
    ///
    /// Two kinds are left out. Imports that only types need are erased by compiling. Missing
    /// imports of installed packages are their own manifests' responsibility.
    ///
    /// The reader of `grapher` compiles the files for this.
    pub fn missing_at_run_time(&self, grapher: &Grapher) -> BTreeMap<PathBuf, BTreeSet<String>> {
        let own = self.missing.iter().filter(|(file, _)| !is_installed(file));
        let kept = own.map(|(file, specifiers)| {
            let mut specifiers = specifiers.clone();
            if let Some(imports) = grapher.imports_at_run_time(file) {
                specifiers.retain(|specifier| imports.names(specifier));
            }
            (file.clone(), specifiers)
        });
        kept.filter(|(_, specifiers)| !specifiers.is_empty())
            .collect()
    }
}

/// Returns true for a file of an installed package.
fn is_installed(file: &Path) -> bool {
    file.iter().any(|part| part == "node_modules")
}

/// Returns the imports of the compiled file; `None` if it cannot be compiled.
pub(super) fn imports_at_run_time(file: &Path) -> Option<Imports> {
    let code = compiled(file)?;
    // Compiled code is JavaScript, whatever the file's extension is.
    let name = file.with_extension("js");
    let stack = stack_for(&code)?;
    Some(stacker::maybe_grow(stack, stack, || {
        Imports::of(&name, code)
    }))
}
