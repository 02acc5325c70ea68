//! Advice for authors, shown only when a validation is requested. The tool works without it, so
//! loading does not report it (spec cycod 174).

use std::path::Path;

use super::super::definition::{
    Command, Commands, Definition, Environment, Kind, Place, Risk, StepWork, Work,
};
use super::super::references::{PREDEFINED, PROPERTIES, references};
use super::super::report::Report;
use super::super::run::survey::survey;
use super::Opened;
use haft_tool::{Problem, did_you_mean};

/// Returns advice for the file at `path`, by place. A reference to a missing step is an error.
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
    if definition.deprecated {
        let text = match &definition.deprecated_message {
            Some(message) => format!("the tool is deprecated: {message}"),
            None => "the tool is deprecated".to_owned(),
        };
        let place = opened.place("deprecated").unwrap_or(start);
        report.warning(place, text, "its users are told so");
    }
    for (text, place) in texts(definition, opened) {
        unknown_references(text, place, definition, &mut report);
    }
    for command in commands(definition, opened) {
        unescaped(&command.command, definition, opened, &mut report);
        places(&command, definition, &mut report);
    }
    report.finish()
}

/// Returns every text that references are filled into, except those that may also refer to the
/// host's own variables.
fn texts<'a>(definition: &'a Definition, opened: &Opened) -> Vec<(&'a str, Place)> {
    let place = |key: &str| opened.place(key).unwrap_or(Place { line: 1, column: 1 });
    let mut found = Vec::new();
    match &definition.work {
        Work::Command(command) => {
            let at = place(command.key());
            found.extend(command.texts().into_iter().map(|text| (text, at)));
        }
        Work::Steps(steps) => {
            for step in steps {
                let variables = step.environment.variables.iter();
                let variables: Vec<&str> = variables.map(|(_, text)| text.as_str()).collect();
                let texts = step.texts().into_iter();
                let texts = texts.filter(|text| !variables.contains(text));
                found.extend(texts.map(|text| (text, step.place)));
            }
        }
        Work::Alias(_) => return found,
    }
    let paths = &definition.file_paths;
    let own = [
        ("input", &definition.input),
        ("working-directory", &definition.working_directory),
        ("file-paths", &paths.working_directory),
        ("file-paths", &paths.temp_directory),
        ("error-handling", &definition.error_handling.fallback),
    ];
    for (key, text) in own {
        found.extend(text.as_deref().map(|text| (text, place(key))));
    }
    for entry in &definition.resources.cleanup {
        let text = entry.final_command.as_deref();
        found.extend(text.map(|text| (text, place("resources"))));
    }
    for text in &definition.security.required_permissions {
        found.push((text, place("security")));
    }
    found
}

/// A command with its environment and input.
struct Placed<'a> {
    command: Command,
    place: Place,
    environment: Option<&'a Environment>,
    input: Option<&'a str>,
}

/// Returns every command of the tool with its place.
fn commands<'a>(definition: &'a Definition, opened: &Opened) -> Vec<Placed<'a>> {
    let place = |key: &str| opened.place(key).unwrap_or(Place { line: 1, column: 1 });
    let alone = |command: Command, place: Place| Placed {
        command,
        place,
        environment: None,
        input: None,
    };
    let mut found = Vec::new();
    match &definition.work {
        Work::Command(command) => found.push(alone(command.clone(), place(command.key()))),
        Work::Steps(steps) => {
            for step in steps {
                let placed = |command| Placed {
                    command,
                    place: step.place,
                    environment: Some(&step.environment),
                    input: step.input.as_deref(),
                };
                if let StepWork::Command(command) = &step.work {
                    found.push(placed(command.clone()));
                }
                if let Some(text) = &step.error_handling.fallback {
                    found.push(placed(Commands::everywhere(text)));
                }
            }
        }
        Work::Alias(_) => return found,
    }
    if let Some(text) = &definition.error_handling.fallback {
        found.push(alone(Commands::everywhere(text), place("error-handling")));
    }
    let cleanup = definition.resources.cleanup.iter();
    for text in cleanup.filter_map(|entry| entry.final_command.as_deref()) {
        found.push(alone(Commands::everywhere(text), place("resources")));
    }
    found
}

/// Reports values that would be code in their places, and texts that are used in calculations.
fn places(command: &Placed<'_>, definition: &Definition, report: &mut Report<'_>) {
    let found = survey(
        definition,
        &command.command,
        command.environment,
        command.input,
    );
    for finding in found {
        let text = format!("`{{{}}}`: {}", finding.name, finding.why);
        if !finding.is_number {
            let hint = "hand the value to the program as an argument, or by `input` or \
                        `environment.variables`";
            report.error(command.place, text, hint);
        } else {
            let hint = match definition.parameter(&finding.name) {
                Some(_) => "declare it with `type: number`; every other text is refused in a call",
                None => "every other text is refused in a call",
            };
            report.warning(command.place, text, hint);
        }
    }
}

/// Reports references to unknown names, which stay as they are (spec cycod 56, 57). A name in
/// capitals is hardly meant to stay, and one with a step's property cannot work. `{a: 1}` and
/// `{print}` belong to `jq` and `awk`.
fn unknown_references(text: &str, place: Place, definition: &Definition, report: &mut Report<'_>) {
    for found in references(text) {
        let name = found.name;
        let steps = || definition.steps().iter().map(|step| step.name.as_str());
        if let Some(property) = found.property {
            if PROPERTIES.contains(&property) && !steps().any(|step| step == name) {
                let hint = did_you_mean(name, steps(), "add that step, or correct the name");
                let text = format!("`{{{name}.{property}}}` refers to unknown step '{name}'");
                report.error(place, text, hint);
            }
            continue;
        }
        let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-".contains(c);
        let is_meant = name.chars().all(is_capital)
            && name != "RAW"
            && !PREDEFINED.contains(&name)
            && definition.parameter(name).is_none();
        if is_meant {
            let known = definition.parameters.iter().map(|own| own.name.as_str());
            let hint = did_you_mean(name, known, "add that parameter, or correct the name");
            let text = format!("`{{{name}}}` refers to nothing and stays as it is");
            report.warning(place, text, hint);
        }
    }
}

/// Reports unescaped texts of the caller that reach a shell.
fn unescaped(command: &Command, definition: &Definition, opened: &Opened, report: &mut Report<'_>) {
    if matches!(command, Command::Run(_)) {
        return;
    }
    for parameter in &definition.parameters {
        let is_free = parameter.kind == Kind::String
            && !parameter.security.escape_shell
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
    /// Returns the place of a key of the tool.
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
