//! File of one tool in its scope.

use std::path::PathBuf;
use std::sync::Arc;

use crate::family::shell::definition::{Definition, Scope};
use crate::family::shell::edit::{Fixed, Opened, advice, fix};
use crate::family::shell::resolve::ResolvedTool;
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
pub(crate) struct Merged(pub(super) Arc<ResolvedTool>);

impl Merged {
    pub(crate) fn summary(&self) -> Summary<'_> {
        Summary::of(&self.0.definition)
    }
}
