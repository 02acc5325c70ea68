//! Parser of a whole tool.

use super::super::definition::{Alias, Definition, Deprecation, Place, Work};
use super::super::report::Report;
use super::super::yaml::{Node, Value};
use super::{command, flag, millis, parameter, sections, step, text, texts};

/// Reads the definition in `root`, a mapping. A missing part gets a placeholder and an error in the
/// report.
pub(super) fn tool(root: &Node, stem: &str, report: &mut Report<'_>) -> Definition {
    let name = name(root, stem, report);
    let description = text(root, "description").filter(|text| !text.trim().is_empty());
    if description.is_none() && matches!(root.value, Value::Map(_)) {
        report.error(
            root.place,
            "Tool description is required.",
            "add `description: …`: a model decides by it",
        );
    }
    let timeouts = [
        millis(root, "timeout"),
        root.get("resources").and_then(|own| millis(own, "timeout")),
    ];
    Definition {
        name,
        description: description.unwrap_or_default(),
        version: version(root, report),
        min_host_version: text(root, "min-cycod-version"),
        changelog: sections::changelog(root),
        deprecation: deprecation(root),
        work: work(root, report),
        parameters: match root.get("parameters") {
            Some(node) => parameter::parameters(node, report),
            None => Vec::new(),
        },
        exposure: sections::exposure(root),
        security: sections::security(root, report),
        environment: match root.get("environment") {
            Some(node) => sections::environment(node, report),
            None => Default::default(),
        },
        file_paths: sections::file_paths(root),
        metadata: sections::metadata(root),
        tests: sections::tests(root, report),
        timeout: timeouts
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Definition::TIMEOUT),
        working_directory: text(root, "working-directory"),
        platforms: sections::platforms(root, report),
        tags: texts(root, "tags"),
        ignore_errors: flag(root, "ignore-errors").unwrap_or_default(),
        input: text(root, "input"),
        interaction: sections::interaction(root),
        resources: sections::resources(root),
        error_handling: step::error_handling(root),
        detailed_help: text(root, "detailed-help"),
    }
}

/// Returns `name:`, or the file's name (spec cycod 3). It becomes part of paths and of commands, so
/// it is checked (spec cycod 12).
fn name(root: &Node, stem: &str, report: &mut Report<'_>) -> String {
    let written = root
        .get("name")
        .and_then(|node| Some((node.place, node.text()?)));
    let (place, name, hint) = match written {
        Some((place, name)) => (place, name, "use letters, digits, `-` and `_`"),
        None => (
            Place { line: 1, column: 1 },
            stem,
            "rename the file, or add `name: …` with letters, digits, `-` and `_`",
        ),
    };
    if !is_tool_name(name) {
        report.error(
            place,
            format!("`{name}` cannot be the name of a tool"),
            hint,
        );
    }
    name.to_owned()
}

/// Returns true if a name is harmless as a file name and on a command line (spec cycod 12).
pub(crate) fn is_tool_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

fn version(root: &Node, report: &mut Report<'_>) -> String {
    let Some((node, version)) = root
        .get("version")
        .and_then(|node| Some((node, node.text()?)))
    else {
        return "1.0.0".to_owned();
    };
    if semver::Version::parse(version).is_err() {
        report.warning(
            node.place,
            format!("`{version}` is not a semantic version"),
            "write three numbers, for example `1.0.0`",
        );
    }
    version.to_owned()
}

fn deprecation(root: &Node) -> Option<Deprecation> {
    let is_deprecated = flag(root, "deprecated").unwrap_or_default();
    is_deprecated.then(|| Deprecation {
        message: text(root, "deprecated-message"),
    })
}

/// Reads the work of the tool, of exactly one kind (spec cycod 19, 128).
fn work(root: &Node, report: &mut Report<'_>) -> Work {
    let mut kinds = command::KINDS.to_vec();
    kinds.push("steps");
    let found = command::present(root, &kinds);
    let nothing = Work::Steps(Vec::new());
    command::check_shell(root, report);
    match text(root, "type").as_deref() {
        None if root.get("base-tool").is_none() => {}
        None | Some("alias") => {
            for kind in found {
                if let Some(node) = root.get(kind) {
                    report.error(
                        node.place,
                        format!("an alias has no `{kind}` of its own: it runs its base"),
                        "remove it, or remove `type` and `base-tool`",
                    );
                }
            }
            return Work::Alias(alias(root, report));
        }
        Some(other) => {
            report.error(
                root.get("type").map_or(root.place, |node| node.place),
                format!("`type` must be one of: alias; not `{other}`"),
                "remove it, unless this is an alias of another tool",
            );
        }
    }
    match found.as_slice() {
        [] => {
            if matches!(root.value, Value::Map(_)) {
                report.error(
                    root.place,
                    "Tool must have at least one command or steps.",
                    "add `bash: …`, another kind of command, or `steps`",
                );
            }
            nothing
        }
        ["steps"] => Work::Steps(
            root.get("steps")
                .map(|node| step::steps(node, report))
                .unwrap_or_default(),
        ),
        [kind] => command::command(root, kind, report).map_or(nothing, Work::Command),
        several => {
            command::too_many(several, "the tool", root.place, report);
            nothing
        }
    }
}

/// Keys that an alias takes from its base, whatever its own file has.
const INHERITED: [&str; 13] = [
    "parameters",
    "function-calling",
    "security",
    "environment",
    "file-paths",
    "timeout",
    "working-directory",
    "platforms",
    "ignore-errors",
    "input",
    "interactive",
    "resources",
    "error-handling",
];

fn alias(root: &Node, report: &mut Report<'_>) -> Alias {
    for entry in root.entries() {
        if INHERITED.contains(&entry.key.as_str()) {
            report.warning(
                entry.place,
                format!("`{}` is ignored: an alias has its base's", entry.key),
                "remove it, or write a tool with `use-tool`",
            );
        }
    }
    let base = root.get("base-tool");
    if base.is_none() {
        report.error(
            root.get("type").map_or(root.place, |node| node.place),
            "an alias must say which tool it stands for",
            "add `base-tool: …`",
        );
    }
    Alias {
        base_tool: base.and_then(Node::text).unwrap_or_default().to_owned(),
        default_parameters: root
            .get("default-parameters")
            .map(step::values)
            .unwrap_or_default(),
        place: base.map_or(root.place, |node| node.place),
    }
}
