//! Rules for the work of a tool and of its steps: exactly one kind (spec cycod 19–25, 80–81, 128).

use std::collections::HashSet;

use super::super::definition::{Command, Commands, Definition, Place, Work};
use super::super::report::Report;
use super::super::yaml::{self, Node, Value};

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

/// Checks the work of the tool in `root`, the tree as it was written.
pub(super) fn check(root: &Node, definition: &mut Definition, report: &mut Report<'_>) {
    ignored(root, "shell", "script", report);
    let found = kinds(root, "steps");
    match (&mut definition.work, found.as_slice()) {
        (Work::Alias(_), found) => alias(root, found, report),
        (_, []) => report.error(
            root.place,
            "Tool must have at least one command or steps.",
            "add `bash: …`, another kind of command, or `steps`",
        ),
        (Work::Steps(own), ["steps"]) => {
            root.get("steps")
                .into_iter()
                .for_each(|node| steps(node, report));
            let mut names = HashSet::new();
            own.retain(|step| !step.name.trim().is_empty() && names.insert(step.name.clone()));
            for step in own {
                let mut names = HashSet::new();
                step.wait_for.retain(|name| names.insert(name.clone()));
            }
        }
        (_, [kind]) => command(root, kind, report),
        (_, several) => too_many(several, "the tool", root.place, report),
    }
}

fn steps(node: &Node, report: &mut Report<'_>) {
    if matches!(&node.value, Value::List(items) if items.is_empty()) {
        report.error(
            node.place,
            "Tool must have at least one command or steps.",
            "add a step, or a single command instead of `steps`",
        );
    }
    let mut names = HashSet::new();
    for item in node.items() {
        if !matches!(item.value, Value::Map(_)) {
            continue;
        }
        let name = item.filled_text("name");
        let what = match name {
            Some(name) => format!("Step '{name}'"),
            None => "A step".to_owned(),
        };
        ignored(item, "shell", "script", report);
        ignored(item, "with", "use-tool", report);
        match kinds(item, "use-tool").as_slice() {
            [] => report.error(
                item.place,
                format!("{what} must have a command."),
                "add `bash: …`, another kind of command, or `use-tool: …`",
            ),
            ["use-tool"] => {}
            [kind] => command(item, kind, report),
            several => too_many(several, &what, item.place, report),
        }
        unique_name("step", item, &mut names, report);
        super::variables(item, report);
    }
}

/// Reports a step or a test without a name, or with that of another one.
pub(super) fn unique_name<'a>(
    what: &str,
    item: &'a Node,
    names: &mut HashSet<&'a str>,
    report: &mut Report<'_>,
) {
    match item.filled_text("name") {
        None => report.error(
            item.place,
            format!("All {what}s must have a name."),
            format!("add `name: …` to the {what}"),
        ),
        Some(name) if !names.insert(name) => report.error(
            item.place,
            format!("Duplicate {what} name: '{name}'."),
            format!("rename one of the two {what}s"),
        ),
        Some(_) => {}
    }
}

/// Returns the kinds of work that the node has; `other` is one besides the commands.
fn kinds(node: &Node, other: &'static str) -> Vec<&'static str> {
    let kinds = Command::KEYS.into_iter().chain([other]);
    kinds.filter(|kind| node.get(kind).is_some()).collect()
}

fn too_many(found: &[&str], what: &str, place: Place, report: &mut Report<'_>) {
    report.error(
        place,
        format!("{what} has `{}` at once", found.join("` and `")),
        "keep one of them; several commands are `steps`",
    );
}

/// Checks the only command of the node.
fn command(node: &Node, kind: &str, report: &mut Report<'_>) {
    let Some(value) = node.get(kind) else {
        return;
    };
    if value.text().is_some_and(|text| text.trim().is_empty()) {
        report.error(
            value.place,
            format!("`{kind}` is empty"),
            "write the command",
        );
    }
    if kind == "script" && node.get("shell").is_none() {
        report.warning(
            value.place,
            "`script` has no `shell`: the platform's default runs it",
            "add `shell: bash`",
        );
    }
    let is_empty = |commands: Commands| commands.texts().next().is_none();
    if kind == "commands" && yaml::from_node(value).is_ok_and(is_empty) {
        report.error(
            value.place,
            "`commands` holds no command",
            "add `default: …`, or a command below `platforms`",
        );
    }
}

/// Warns of a key that has no effect without another one.
fn ignored(node: &Node, key: &str, needed: &str, report: &mut Report<'_>) {
    if let (Some(value), None) = (node.get(key), node.get(needed)) {
        report.warning(
            value.place,
            format!("`{key}` is ignored: there is no `{needed}`"),
            format!("use `{needed}`, or remove `{key}`"),
        );
    }
}

fn alias(root: &Node, found: &[&str], report: &mut Report<'_>) {
    for kind in found {
        report.error(
            root.get(kind).unwrap_or(root).place,
            format!("an alias has no `{kind}` of its own: it runs its base"),
            "remove it, or remove `type` and `base-tool`",
        );
    }
    for entry in root.entries() {
        if INHERITED.contains(&entry.key.as_str()) {
            report.warning(
                entry.place,
                format!("`{}` is ignored: an alias has its base's", entry.key),
                "remove it, or write a tool with `use-tool`",
            );
        }
    }
    if root.get("base-tool").is_none() {
        report.error(
            root.get("type").unwrap_or(root).place,
            "an alias must say which tool it stands for",
            "add `base-tool: …`",
        );
    }
}
