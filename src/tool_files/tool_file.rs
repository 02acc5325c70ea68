//! File of one tool in its scope, and its checks against all other tools: those that it uses, and the
//! base of an alias.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::ToolFileStore;
use crate::family::shell::definition::{Definition, Scope, Work};
use crate::family::shell::edit::{Fixed, Opened, advice, fix, open_file};
use crate::family::shell::input_schema;
use crate::family::shell::resolve::{LoadedFile, ResolvedTool, ToolSet};
use haft_tool::Problem;

/// A file in the folder of a scope. It may be invalid as a tool.
pub(crate) struct ToolFile {
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
    pub(crate) opened: Opened,
    /// True if a tool of this name in an earlier scope takes precedence.
    pub(crate) is_shadowed: bool,
}

/// Data of a tool for lists.
pub(crate) struct Summary<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) version: &'a str,
    pub(crate) category: Option<&'a str>,
    /// Tags of the tool, including those of `metadata` (spec cycod 170).
    pub(crate) tags: Vec<&'a str>,
    /// Empty means all platforms.
    pub(crate) platforms: Vec<&'static str>,
    pub(crate) keywords: &'a [String],
    pub(crate) tests: usize,
    /// `Some` if the tool is deprecated. The text names the replacement and may be empty.
    pub(crate) deprecated: Option<&'a str>,
}

impl ToolFile {
    pub(crate) fn name(&self) -> &str {
        &self.opened.name
    }

    /// Returns `None` if the file is not a valid tool. Its problems give the reasons.
    pub(crate) fn summary(&self) -> Option<Summary<'_>> {
        self.opened.definition.as_ref().map(Summary::of)
    }

    /// Returns advice for the author in addition to the problems.
    pub(crate) fn advice(&self) -> Vec<Problem> {
        advice(&self.path, &self.opened)
    }

    /// Returns the text after the repairs that are safe.
    pub(crate) fn fixed(&self) -> Fixed {
        fix(&self.path, &self.opened)
    }
}

impl<'a> Summary<'a> {
    fn of(definition: &'a Definition) -> Summary<'a> {
        let metadata = &definition.metadata;
        let mut tags: Vec<&str> = definition.tags.iter().map(String::as_str).collect();
        for tag in &metadata.tags {
            if !tags.contains(&tag.as_str()) {
                tags.push(tag);
            }
        }
        let platforms = definition.platforms.iter();
        Summary {
            name: &definition.name,
            description: &definition.description,
            version: &definition.version,
            category: metadata.category.as_deref(),
            tags,
            platforms: platforms.map(|platform| platform.as_str()).collect(),
            keywords: &metadata.search_keywords,
            tests: definition.tests.len(),
            deprecated: definition
                .deprecated
                .then(|| definition.deprecated_message.as_deref().unwrap_or_default()),
        }
    }

    /// Returns true if the tool can run on the platform.
    pub(crate) fn runs_on(&self, platform: &str) -> bool {
        self.platforms.is_empty() || self.platforms.contains(&platform)
    }

    /// Returns true if the name, description, keywords or tags contain the text. Case is ignored.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let keywords = self.keywords.iter().map(String::as_str);
        [self.name, self.description]
            .into_iter()
            .chain(keywords)
            .chain(self.tags.iter().copied())
            .any(|own| own.to_lowercase().contains(&text))
    }
}

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
