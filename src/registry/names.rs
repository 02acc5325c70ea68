//! Names of the tools of one catalog: each belongs to one tool, and no two of them look alike.
//!
//! Names of haft's own tools are reserved in every catalog, whether these tools are offered or not: a
//! model or a user that reads the name must not get another tool.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::family::exec::ikigai;
use haft_tool::{Family, Problem, Tool, name_skeleton};

/// Name of the tool that runs scripts.
pub(crate) const RUN_CODE: &str = "run_code";
/// Name of the tool that finds tools for scripts.
pub(crate) const SEARCH_TOOLS: &str = "search_tools";

/// Registry of names, by the skeleton of each.
pub(crate) struct NameRegistry(HashMap<String, NameHolder>);

/// Holder of a name.
#[derive(Clone)]
struct NameHolder {
    name: String,
    kind: HolderKind,
}

/// Kind of a holder.
#[derive(Clone, PartialEq, Eq)]
enum HolderKind {
    /// A tool of code mode.
    CodeMode,
    /// A system tool. Other tools of ikigai may replace it.
    SystemTool,
    /// A tool of the embedding program, which haft does not know.
    Program,
    /// A tool of this file.
    File(PathBuf),
}

impl NameRegistry {
    /// Returns the registry in which haft's own names and those of the embedding program are
    /// reserved.
    pub(crate) fn new(built_in: &[String]) -> NameRegistry {
        let mut registry = NameRegistry(HashMap::new());
        for name in [RUN_CODE, SEARCH_TOOLS] {
            registry.reserve(name, HolderKind::CodeMode);
        }
        for name in ikigai::system_tool_names() {
            registry.reserve(name, HolderKind::SystemTool);
        }
        for name in built_in {
            registry.reserve(name, HolderKind::Program);
        }
        registry
    }

    fn reserve(&mut self, name: &str, kind: HolderKind) {
        let name = name.to_owned();
        self.0
            .insert(name_skeleton(&name), NameHolder { name, kind });
    }

    /// Gives `tool` its name without a check, because a catalog has it already.
    pub(crate) fn keep(&mut self, tool: &Tool) {
        self.insert(name_skeleton(&tool.name), tool);
    }

    fn insert(&mut self, skeleton: String, tool: &Tool) {
        let holder = NameHolder {
            name: tool.name.clone(),
            kind: HolderKind::File(tool.source.path.clone()),
        };
        self.0.insert(skeleton, holder);
    }

    /// Gives `tool` its name.
    ///
    /// # Errors
    /// If another tool has the name, or one that looks like it. The problem names both.
    pub(crate) fn claim(&mut self, tool: &Tool) -> Result<(), Box<Problem>> {
        let skeleton = name_skeleton(&tool.name);
        match self.holder_against(&skeleton, tool) {
            Some(holder) => Err(Box::new(holder.conflict(tool))),
            None => {
                self.insert(skeleton, tool);
                Ok(())
            }
        }
    }

    /// Returns true if `tool` can have its name.
    pub(crate) fn is_free(&self, tool: &Tool) -> bool {
        self.holder_against(&name_skeleton(&tool.name), tool)
            .is_none()
    }

    fn holder_against(&self, skeleton: &str, tool: &Tool) -> Option<&NameHolder> {
        let holder = self.0.get(skeleton)?;
        let replaces = holder.kind == HolderKind::SystemTool
            && holder.name == tool.name
            && tool.source.family == Family::Ikigai;
        (!replaces).then_some(holder)
    }
}

impl NameHolder {
    fn conflict(&self, tool: &Tool) -> Problem {
        let name = &tool.name;
        let text = match (&self.kind, self.name == *name) {
            (HolderKind::Program | HolderKind::File(_), true) => {
                format!("Tool name \"{name}\" conflicts with existing tool")
            }
            (_, true) => format!("Tool name \"{name}\" is reserved for {}", self.described()),
            (_, false) => {
                let codes: Vec<String> = differing_characters(name, &self.name);
                format!(
                    "Tool name \"{name}\" looks like \"{}\", the name of {} ({})",
                    self.name,
                    self.described(),
                    codes.join(", ")
                )
            }
        };
        let holder = match &self.kind {
            HolderKind::File(other) => format!("{} has the name", other.display()),
            HolderKind::Program => "a built-in tool has the name".to_owned(),
            HolderKind::CodeMode | HolderKind::SystemTool => {
                format!("{} has the name `{}`", self.described(), self.name)
            }
        };
        let path = tool.source.path.display();
        let way_out = match tool.source.family {
            Family::Native => "the program has to register it under another name".to_owned(),
            _ => format!(
                "to keep both, put `rename: {{\"{path}#{name}\": \"a_new_name\"}}` into the configuration"
            ),
        };
        Problem::error(text)
            .at(&tool.source.path)
            .about(name)
            .hint(format!("{holder}; {way_out}"))
    }

    fn described(&self) -> &'static str {
        match &self.kind {
            HolderKind::CodeMode => "haft's own tool of code mode",
            HolderKind::SystemTool => "a system tool of haft",
            HolderKind::Program => "a built-in tool",
            HolderKind::File(_) => "another tool",
        }
    }
}

/// Returns the characters of `name` that `other` does not have, with their code points.
fn differing_characters(name: &str, other: &str) -> Vec<String> {
    let mut codes = Vec::new();
    for c in name.chars().filter(|c| !other.contains(*c)) {
        let code = format!("U+{:04X}", u32::from(c));
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}
