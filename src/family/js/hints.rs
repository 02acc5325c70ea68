//! Hints for the author of a module that does not load.
//!
//! The texts of problems are oh-my-pi's, because hosts match on them; hints are added beside them.
//! There is a hint only where the cause is certain: a wrong one costs more than none.

use std::path::Path;

use super::foreign_files;
use haft_config::paths;
use haft_discover::Candidate;

/// Provider of paths that are named explicitly.
const GIVEN: &str = "config";

/// Returns a hint for the problem `message` of the module of `candidate`.
pub(super) fn hint_for(message: &str, candidate: &Candidate) -> Option<String> {
    if candidate.resolved.is_dir() {
        let text =
            "a directory needs an index.ts or index.js, or a package.json that names its `main`";
        return Some(text.into());
    }
    if let Some(hint) = foreign_files::hint_for(&candidate.resolved) {
        return Some(hint);
    }
    if message == super::NO_DEFAULT {
        let text =
            "`export default (pi) => ({ name, description, parameters, execute })` makes a tool";
        return Some(text.into());
    }
    missing_package(message, candidate).or_else(|| missing_export(message))
}

/// Returns a hint for a script of another language that was named as a module.
pub(super) fn for_script(language: &str) -> String {
    format!(
        "this is a script for `{language}`, and no module; haft runs executables that describe themselves \
         from the folders of Kodelet and ikigai, and commands of a shell as YAML tools"
    )
}

/// Returns a hint for a package that is not installed. Names that do not look like a package
/// (`@/lib`, a URL) get no hint.
fn missing_package(message: &str, candidate: &Candidate) -> Option<String> {
    let (_, rest) = message.split_once("Cannot find package '")?;
    let (specifier, file) = rest.split_once("' imported from ")?;
    let slashes = if specifier.starts_with('@') { 2 } else { 1 };
    let parts: Vec<&str> = specifier.split('/').take(slashes).collect();
    let is_name = parts.iter().all(|part| {
        let part = part.strip_prefix('@').unwrap_or(part);
        part.starts_with(|c: char| c.is_ascii_alphanumeric()) && !part.contains([':', '@', ' '])
    });
    if !is_name || parts.len() < slashes {
        return None;
    }
    let package = parts.join("/");
    if Path::new(file).iter().any(|part| part == "node_modules") {
        let folder = Path::new(file).parent()?;
        return Some(format!(
            "an installed package lacks `{package}`: install that package again ({})",
            folder.display()
        ));
    }
    let tool = if candidate.source.provider == GIVEN {
        paths::quoted(&candidate.path)
    } else {
        paths::quoted(Path::new(&candidate.key))
    };
    Some(format!(
        "`haft install {tool}` installs `{package}` beside it"
    ))
}

/// Returns a hint for a missing export. Haft's own copy of a package has the parts that tools use, and
/// an installed package replaces it.
fn missing_export(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("The requested module '")?;
    let (package, _) = rest.split_once("' does not provide an export named ")?;
    let ours = [
        "@oh-my-pi/",
        "@mariozechner/",
        "@earendil-works/",
        "@opencode-ai/plugin",
        "@anthropic-ai/claude-agent-sdk",
    ];
    let is_ours = package == "ai" || ours.iter().any(|start| package.starts_with(start));
    is_ours.then(|| {
        format!("haft's `{package}` has what most tools use; one that is installed beside the tool comes first")
    })
}
