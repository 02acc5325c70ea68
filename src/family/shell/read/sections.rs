//! Parser of the remaining sections, besides commands, steps and parameters.

use super::super::definition::{
    Change, Cleanup, Environment, Expected, Exposure, FilePaths, Interaction, Isolation, Metadata,
    Platform, Privilege, Resources, Security, TestCase, TypeNames,
};
use super::super::report::Report;
use super::super::yaml::{Node, Value};
use super::step::values;
use super::{flag, millis, text, texts, word};

pub(super) fn exposure(node: &Node) -> Exposure {
    let default = Exposure::default();
    let section = node.get("function-calling");
    let Some(node) = section.and_then(|node| node.get("schema-generation")) else {
        return default;
    };
    let mapping = node.get("parameter-mapping");
    let mapped = |kind: &str| mapping.and_then(|mapping| text(mapping, kind));
    Exposure {
        parameter_mapping: TypeNames {
            string: mapped("string"),
            number: mapped("number"),
            boolean: mapped("boolean"),
            array: mapped("array"),
            object: mapped("object"),
        },
        include_descriptions: flag(node, "include-descriptions")
            .unwrap_or(default.include_descriptions),
        include_defaults: flag(node, "include-defaults").unwrap_or(default.include_defaults),
        example_generation: flag(node, "example-generation").unwrap_or(default.example_generation),
        sanitize_schemas: flag(node, "sanitize-schemas").unwrap_or(default.sanitize_schemas),
    }
}

pub(super) fn security(node: &Node, report: &mut Report<'_>) -> Security {
    let Some(node) = node.get("security") else {
        return Security::default();
    };
    let privilege = node.get("execution-privilege");
    let isolation = node.get("isolation");
    Security {
        privilege: word(privilege, "execution-privilege", &Privilege::NAMES, report)
            .unwrap_or_default(),
        isolation: word(isolation, "isolation", &Isolation::NAMES, report).unwrap_or_default(),
        required_permissions: texts(node, "required-permissions"),
        justification: text(node, "justification"),
    }
}

/// Reads `environment:`, whose node is given.
pub(super) fn environment(node: &Node, report: &mut Report<'_>) -> Environment {
    let mut variables = Vec::new();
    for entry in node.get("variables").map(Node::entries).unwrap_or_default() {
        let is_name = !entry.key.is_empty()
            && !entry.key.contains(['=', '\0'])
            && !entry.key.contains(char::is_whitespace);
        if !is_name {
            report.error(
                entry.place,
                format!("`{}` cannot be the name of a variable", entry.key),
                "a name holds no `=` and no spaces",
            );
        }
        let value = entry.value.text().unwrap_or_default();
        if value.contains('\0') {
            report.error(
                entry.value.place,
                format!("the value of `{}` holds a NUL", entry.key),
                "no program can be given a NUL; remove it",
            );
        }
        variables.push((entry.key.clone(), value.to_owned()));
    }
    Environment {
        variables,
        inherit: flag(node, "inherit").unwrap_or(true),
        secrets: texts(node, "secrets"),
    }
}

pub(super) fn file_paths(node: &Node) -> FilePaths {
    let Some(node) = node.get("file-paths") else {
        return FilePaths::default();
    };
    let cross = node.get("cross-platform");
    let separator = |key: &str| cross.and_then(|cross| text(cross, key));
    FilePaths {
        normalize: flag(node, "normalize").unwrap_or_default(),
        working_directory: text(node, "working-directory"),
        temp_directory: text(node, "temp-directory"),
        windows_separator: separator("windows-separator"),
        unix_separator: separator("unix-separator"),
        auto_convert: cross
            .and_then(|cross| flag(cross, "auto-convert"))
            .unwrap_or_default(),
    }
}

pub(super) fn metadata(node: &Node) -> Metadata {
    let Some(node) = node.get("metadata") else {
        return Metadata::default();
    };
    Metadata {
        category: text(node, "category"),
        subcategory: text(node, "subcategory"),
        tags: texts(node, "tags"),
        search_keywords: texts(node, "search-keywords"),
    }
}

pub(super) fn interaction(node: &Node) -> Option<Interaction> {
    let is_interactive = flag(node, "interactive").unwrap_or_default();
    let options = node.get("interactive-options");
    is_interactive.then(|| Interaction {
        timeout: options
            .and_then(|options| millis(options, "timeout"))
            .unwrap_or(Interaction::TIMEOUT),
        default_response: options.and_then(|options| text(options, "default-response")),
    })
}

pub(super) fn resources(node: &Node) -> Resources {
    let Some(node) = node.get("resources") else {
        return Resources::default();
    };
    let cleanup = node.get("cleanup").map(Node::items).unwrap_or_default();
    Resources {
        max_memory: node.get("max-memory").and_then(Node::size),
        cleanup: cleanup.iter().flat_map(cleanups).collect(),
    }
}

/// Reads the cleanup. An entry should have one key; two keys run in their order.
fn cleanups(node: &Node) -> Vec<Cleanup> {
    let known = node
        .entries()
        .iter()
        .filter_map(|entry| match entry.key.as_str() {
            "delete-temp-files" => entry.value.flag()?.then_some(Cleanup::DeleteTempFiles),
            "final-command" => Some(Cleanup::FinalCommand(entry.value.text()?.to_owned())),
            _ => None,
        });
    known.collect()
}

pub(super) fn changelog(node: &Node) -> Vec<Change> {
    let items = node.get("changelog").map(Node::items).unwrap_or_default();
    let change = |item: &Node| Change {
        version: text(item, "version").unwrap_or_default(),
        changes: text(item, "changes").unwrap_or_default(),
    };
    items.iter().map(change).collect()
}

/// Returns the platforms under `platforms` of `node`.
pub(super) fn platforms(node: &Node, report: &mut Report<'_>) -> Vec<Platform> {
    let Some(node) = node.get("platforms") else {
        return Vec::new();
    };
    let each = node.each().iter();
    let mut platforms: Vec<Platform> = each
        .filter_map(|item| word(Some(item), "platforms", &Platform::NAMES, report))
        .collect();
    platforms.dedup();
    platforms
}

pub(super) fn tests(node: &Node, report: &mut Report<'_>) -> Vec<TestCase> {
    let items = node.get("tests").map(Node::items).unwrap_or_default();
    let mut tests: Vec<TestCase> = Vec::new();
    for item in items {
        let name = text(item, "name").filter(|name| !name.trim().is_empty());
        if name.is_none() && matches!(item.value, Value::Map(_)) {
            let hint = "add `name: …` to the test";
            report.error(item.place, "All tests must have a name.", hint);
        }
        let name = name.unwrap_or_default();
        if !name.is_empty() && tests.iter().any(|test| test.name == name) {
            let hint = "rename one of the two tests";
            report.error(item.place, format!("Duplicate test name: '{name}'."), hint);
        }
        tests.push(TestCase {
            name,
            description: text(item, "description"),
            parameters: item.get("parameters").map(values).unwrap_or_default(),
            expected: expected(item),
            cleanup: texts(item, "cleanup"),
            platforms: platforms(item, report),
        });
    }
    tests
}

fn expected(node: &Node) -> Expected {
    let Some(node) = node.get("expected") else {
        return Expected::default();
    };
    Expected {
        exit_code: node
            .get("exit-code")
            .and_then(Node::whole)
            .unwrap_or_default(),
        output_contains: texts(node, "output-contains"),
        output_contains_any: texts(node, "output-contains-any"),
        output_not_contains: texts(node, "output-not-contains"),
        output_matches: texts(node, "output-matches"),
        file_exists: texts(node, "file-exists"),
        file_not_exists: texts(node, "file-not-exists"),
        directory_exists: texts(node, "directory-exists"),
    }
}
