//! What an author should hear who asks for a validation, and nobody else: the tool works without
//! it, so that loading says nothing of it (spec cycod 174).

use std::path::Path;

use super::super::definition::{Command, Definition, Kind, Place, Risk, StepWork, Work};
use super::super::references::{PREDEFINED, PROPERTIES, references};
use super::super::report::Report;
use super::opened::Opened;
use crate::tool::Problem;

/// Warnings about the file at `path`, by place.
pub(crate) fn advice(path: &Path, opened: &Opened) -> Vec<Problem> {
    let Some(definition) = &opened.definition else {
        return Vec::new();
    };
    let mut report = Report::new(path, &opened.text);
    let start = Place { line: 1, column: 1 };
    let is_alias = matches!(definition.work, Work::Alias(_));
    if definition.risk() == Risk::Untagged && !is_alias {
        report.warning(
            opened.place("tags").unwrap_or(start),
            "no security tag: every call has to be approved",
            "add `read`, `write` or `run` to `tags`",
        );
    }
    for (command, place) in commands(definition, opened) {
        for text in command.texts() {
            unknown_references(text, place, definition, &mut report);
        }
        unescaped(&command, definition, opened, &mut report);
    }
    report.finish()
}

/// Every command of the tool with its place.
fn commands(definition: &Definition, opened: &Opened) -> Vec<(Command, Place)> {
    match &definition.work {
        Work::Command(command) => {
            let place = opened.place(command.key()).unwrap_or_default();
            vec![(command.clone(), place)]
        }
        Work::Steps(steps) => steps
            .iter()
            .filter_map(|step| match &step.work {
                StepWork::Command(command) => Some((command.clone(), step.place)),
                StepWork::UseTool(_) => None,
            })
            .collect(),
        Work::Alias(_) => Vec::new(),
    }
}

/// What nobody defines stays as it is (spec cycod 56); in capitals, or with a step's property, it
/// was hardly meant to. `{a: 1}` and `{print}` belong to `jq` and `awk`.
fn unknown_references(text: &str, place: Place, definition: &Definition, report: &mut Report<'_>) {
    for found in references(text) {
        let is_step = |name: &str| definition.steps().iter().any(|step| step.name == name);
        let is_meant = match found.property {
            Some(property) => PROPERTIES.contains(&property) && !is_step(found.name),
            None => {
                let in_capitals = found
                    .name
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
                in_capitals
                    && found.name != "RAW"
                    && !PREDEFINED.contains(&found.name)
                    && definition.parameter(found.name).is_none()
            }
        };
        if is_meant {
            let name = match found.property {
                Some(property) => format!("{}.{property}", found.name),
                None => found.name.to_owned(),
            };
            report.warning(
                place,
                format!("`{{{name}}}` refers to nothing and stays as it is"),
                "add that parameter or step, or correct the name",
            );
        }
    }
}

/// Texts of a caller's own choice that reach a shell as they are.
fn unescaped(command: &Command, definition: &Definition, opened: &Opened, report: &mut Report<'_>) {
    if matches!(command, Command::Run(_)) {
        return;
    }
    for parameter in &definition.parameters {
        let is_free = parameter.kind == Kind::String
            && !parameter.escape_shell
            && parameter.validation.choices.is_empty()
            && parameter.validation.pattern.is_none();
        let is_used = command
            .texts()
            .iter()
            .any(|text| references(text).any(|found| found.name == parameter.name));
        if is_free && is_used {
            let name = &parameter.name;
            report.warning(
                opened.parameter_place(name).unwrap_or_default(),
                format!("'{name}' reaches a shell as it is: whatever a caller writes is run"),
                "add `security: {escape-shell: true}`, or a `pattern`",
            );
        }
    }
}

impl Opened {
    /// Where a key of the tool stands.
    fn place(&self, key: &str) -> Option<Place> {
        let entries = self.tree.as_ref()?.entries();
        let entry = entries.iter().find(|entry| entry.key == key)?;
        Some(entry.place)
    }

    fn parameter_place(&self, name: &str) -> Option<Place> {
        let parameters = self.tree.as_ref()?.get("parameters")?;
        let entry = parameters
            .entries()
            .iter()
            .find(|entry| entry.key == name)?;
        Some(entry.place)
    }
}
