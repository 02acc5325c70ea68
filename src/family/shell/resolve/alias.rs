//! Conversion of an alias to a tool of its own: its base's work with another name and other
//! defaults (spec cycod 128–132).

use super::super::definition::{Alias, Datum, Definition, Kind, Parameter};
use super::super::references::{circle_of_defaults, is_computed};
use haft_tool::{Problem, did_you_mean};

/// Merges the alias with its base, which is not an alias itself. Returns `None` if the problems
/// hold an error.
pub(super) fn merge(
    own: &Definition,
    alias: &Alias,
    base: &Definition,
) -> (Option<Definition>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut parameters = base.parameters.clone();
    let names: Vec<String> = parameters.iter().map(|own| own.name.clone()).collect();
    for (name, value) in &alias.default_parameters {
        match parameters.iter_mut().find(|own| own.name == *name) {
            Some(parameter) => give_default(parameter, value, &names, &mut problems),
            None => problems.push(unknown(name, alias, &names)),
        }
    }
    if let Some(circle) = circle_of_defaults(&parameters) {
        let text = format!("circular dependency of defaults {}", circle.join(" -> "));
        problems
            .push(Problem::error(text).hint("give one of them a default that refers to nothing"));
    }
    let is_usable = !problems
        .iter()
        .any(|problem| problem.severity == haft_tool::Severity::Error);
    let deprecated = if own.deprecated { own } else { base };
    let merged = is_usable.then(|| Definition {
        name: own.name.clone(),
        description: own.description.clone(),
        version: own.version.clone(),
        min_host_version: own
            .min_host_version
            .clone()
            .or(base.min_host_version.clone()),
        changelog: own.changelog.clone(),
        deprecated: deprecated.deprecated,
        deprecated_message: deprecated.deprecated_message.clone(),
        metadata: if own.metadata == Default::default() {
            base.metadata.clone()
        } else {
            own.metadata.clone()
        },
        tests: own.tests.clone(),
        detailed_help: own.detailed_help.clone().or(base.detailed_help.clone()),
        tags: tags(own, base),
        parameters,
        ..base.clone()
    });
    (merged, problems)
}

fn give_default(
    parameter: &mut Parameter,
    value: &Datum,
    names: &[String],
    problems: &mut Vec<Problem>,
) {
    let value = match (parameter.kind, value) {
        (_, Datum::Null) => return,
        (Kind::String, Datum::Text(_)) => value.clone(),
        (_, other) => other.clone(),
    };
    parameter.required = false;
    parameter.is_default_computed = is_computed(&value, names);
    if parameter.is_default_computed {
        parameter.default = Some(value);
        return;
    }
    match parameter.accept(value) {
        Ok(value) => parameter.default = Some(value),
        Err(texts) => problems.extend(texts.into_iter().map(|text| {
            Problem::error(format!("The default is not allowed: {text}"))
                .hint("change it in `default-parameters`")
        })),
    }
}

fn unknown(name: &str, alias: &Alias, names: &[String]) -> Problem {
    let text = format!(
        "`default-parameters` names '{name}', which '{}' does not have; it is ignored",
        alias.base_tool
    );
    let hint = did_you_mean(name, names.iter().map(String::as_str), "remove it");
    Problem::warning(text).hint(hint)
}

/// Returns the base's risk tag and the other tags of both: an alias cannot lower its risk.
fn tags(own: &Definition, base: &Definition) -> Vec<String> {
    let mut tags = base.tags.clone();
    for tag in &own.tags {
        let is_risk = matches!(tag.as_str(), "read" | "write" | "run");
        if !is_risk && !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    tags
}
