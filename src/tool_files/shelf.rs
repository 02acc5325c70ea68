//! Checks of a tool against all other tools: the tools that it uses, and the base of an alias.

use std::path::Path;
use std::sync::Arc;

use super::files::ToolFileStore;
use super::tool_file::{Summary, ToolFile};
use crate::family::shell::definition::{Scope, Work};
use crate::family::shell::edit::{Opened, open_file};
use crate::family::shell::input_schema;
use crate::family::shell::resolve::{LoadedFile, ResolvedTool, ToolSet};
use haft_tool::Problem;

/// An alias merged with everything that it inherits from its base.
pub(crate) struct Merged(Arc<ResolvedTool>);

impl Merged {
    pub(crate) fn summary(&self) -> Summary<'_> {
        Summary::of(&self.0.definition)
    }
}

impl ToolFileStore {
    /// Resolves a tool together with all others. Returns the resolved tool if that succeeds, and
    /// the tool's problems. The tool counts as the first of its name in any scope.
    pub(crate) fn beside_others(
        &self,
        path: &Path,
        scope: Scope,
        opened: &Opened,
    ) -> (Option<Arc<ResolvedTool>>, Vec<Problem>) {
        let Some(definition) = &opened.definition else {
            return (None, Vec::new());
        };
        let mut brought = vec![LoadedFile {
            definition: definition.clone(),
            path: path.to_owned(),
            scope,
        }];
        for file in self.files(None) {
            let is_other = file.path != path && file.opened.name != definition.name;
            if let Some(definition) = file.opened.definition.filter(|_| is_other) {
                brought.push(LoadedFile {
                    definition,
                    path: file.path,
                    scope: file.scope,
                });
            }
        }
        let (shelf, problems) = ToolSet::fill(&brought);
        let own = problems.into_iter().next().unwrap_or_default();
        (shelf.get(&definition.name).cloned(), own)
    }

    /// Returns an alias merged with its base; `None` for every other file.
    pub(crate) fn merged(&self, file: &ToolFile) -> Option<Merged> {
        let definition = file.opened.definition.as_ref()?;
        if !matches!(definition.work, Work::Alias(_)) {
            return None;
        }
        self.beside_others(&file.path, file.scope, &file.opened)
            .0
            .map(Merged)
    }

    /// Returns the JSON Schema that a model sees; `None` if the file is not a valid tool.
    pub(crate) fn schema(&self, file: &ToolFile) -> Option<String> {
        let (shelved, _) = self.beside_others(&file.path, file.scope, &file.opened);
        Some(input_schema(&shelved?.definition).to_string())
    }

    /// Returns all problems of a file, sorted by position.
    pub(crate) fn problems(&self, file: &ToolFile) -> Vec<Problem> {
        let mut problems = file.opened.problems.clone();
        let (_, more) = self.beside_others(&file.path, file.scope, &file.opened);
        problems.extend(more);
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems
    }

    /// Reads the file again and returns its current state.
    pub(crate) fn again(&self, file: ToolFile) -> ToolFile {
        let opened = open_file(&file.path);
        ToolFile { opened, ..file }
    }
}
