//! Validation of a call's arguments against the parameters: all problems at once, in the format's
//! own words (spec cycod 34–49). Nothing has been started at that time.

use super::definition::{Datum, Kind, Number, Parameter, Validation};
use super::pattern::Matched;
use haft_tool::suggest;

/// Valid arguments: of each parameter's type and within its rules, unknown ones refused, `null`
/// left out. Defaults are not included: some are known only when a call computes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arguments {
    given: Vec<(String, Datum)>,
    /// Warnings for the caller; the call goes on.
    pub(crate) warnings: Vec<String>,
}

impl Arguments {
    /// Reads the JSON text of a call.
    pub(crate) fn from_json(parameters: &[Parameter], json: &str) -> Result<Self, Vec<String>> {
        match Datum::from_json(json) {
            Some(Datum::Object(given)) => Self::check(parameters, given),
            Some(Datum::Null) => Self::check(parameters, Vec::new()),
            Some(other) => Err(vec![format!(
                "Arguments must be an object, not {}.",
                other.kind()
            )]),
            None => Err(vec!["Arguments must be a JSON object.".to_owned()]),
        }
    }

    /// Checks values. Texts are also accepted for other types, if they spell a value of them.
    pub(crate) fn check(
        parameters: &[Parameter],
        given: Vec<(String, Datum)>,
    ) -> Result<Self, Vec<String>> {
        let mut arguments = Arguments::default();
        let mut problems = Vec::new();
        for (name, _) in &given {
            if !parameters.iter().any(|parameter| parameter.name == *name) {
                problems.push(unknown(name, parameters));
            }
        }
        for parameter in parameters {
            let value = given.iter().find(|(name, _)| *name == parameter.name);
            match value {
                None | Some((_, Datum::Null)) => {
                    if parameter.required && parameter.default.is_none() {
                        problems.push(format!("Parameter '{}' is required.", parameter.name));
                    }
                }
                Some((name, value)) => match parameter.accept(value.clone()) {
                    Ok(value) => {
                        arguments.given.push((name.clone(), value));
                        arguments.warnings.extend(deprecation(parameter));
                    }
                    Err(more) => problems.extend(more),
                },
            }
        }
        if problems.is_empty() {
            Ok(arguments)
        } else {
            Err(problems)
        }
    }

    /// Returns the value that was given for the parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&Datum> {
        let mut given = self.given.iter();
        given.find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

fn unknown(name: &str, parameters: &[Parameter]) -> String {
    let known = || parameters.iter().map(|parameter| parameter.name.as_str());
    if parameters.is_empty() {
        return format!("Unknown parameter '{name}': the tool has no parameters.");
    }
    let all = known().collect::<Vec<_>>().join(", ");
    match suggest(name, known()) {
        Some(near) => {
            format!("Unknown parameter '{name}', did you mean '{near}'? Known parameters: {all}.")
        }
        None => format!("Unknown parameter '{name}'. Known parameters: {all}."),
    }
}

fn deprecation(parameter: &Parameter) -> Option<String> {
    let name = &parameter.name;
    parameter
        .deprecated
        .then(|| match &parameter.deprecated_alternative {
            Some(other) => format!("Parameter '{name}' is deprecated; use '{other}' instead."),
            None => format!("Parameter '{name}' is deprecated."),
        })
}

impl Parameter {
    /// Converts the value to the parameter's type and checks the rules; the error lists all
    /// mistakes.
    pub(crate) fn accept(&self, value: Datum) -> Result<Datum, Vec<String>> {
        let value = match coerce(self.kind, value) {
            Some(value) => value,
            None => return Err(vec![self.says(wants(self.kind))]),
        };
        let mut problems = Vec::new();
        check_rules(&self.validation, &value, &mut problems);
        if problems.is_empty() {
            Ok(value)
        } else {
            Err(problems.into_iter().map(|text| self.says(text)).collect())
        }
    }

    fn says(&self, text: impl std::fmt::Display) -> String {
        format!("Parameter '{}' {text}.", self.name)
    }
}

const fn wants(kind: Kind) -> &'static str {
    match kind {
        Kind::String => "must be a string",
        Kind::Number => "must be a valid number",
        Kind::Boolean => "must be true or false",
        Kind::Array => "must be an array",
        Kind::Object => "must be an object",
    }
}

/// Converts the value to `kind`. Notations of command lines are accepted: `42`, `yes`, `a,b`, JSON
/// text.
fn coerce(kind: Kind, value: Datum) -> Option<Datum> {
    Some(match (kind, value) {
        (Kind::String, Datum::Text(text)) => Datum::Text(text),
        (Kind::String, Datum::Number(number)) => Datum::Text(number.to_string()),
        (Kind::String, Datum::Bool(flag)) => Datum::Text(flag.to_string()),
        (Kind::Number, Datum::Number(number)) => Datum::Number(number),
        (Kind::Number, Datum::Text(text)) => Datum::Number(Number::parse(&text)?),
        (Kind::Boolean, Datum::Bool(flag)) => Datum::Bool(flag),
        (Kind::Boolean, Datum::Number(number)) => Datum::Bool(truth(number.as_str())?),
        (Kind::Boolean, Datum::Text(text)) => Datum::Bool(truth(text.trim())?),
        (Kind::Array, Datum::List(items)) => Datum::List(items),
        (Kind::Array, Datum::Text(text)) => Datum::List(listed(&text)),
        (Kind::Array, value @ (Datum::Number(_) | Datum::Bool(_))) => Datum::List(vec![value]),
        (Kind::Object, Datum::Object(entries)) => Datum::Object(entries),
        (Kind::Object, Datum::Text(text)) => match Datum::from_json(&text)? {
            object @ Datum::Object(_) => object,
            _ => return None,
        },
        _ => return None,
    })
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// Parses a JSON list, or items between commas.
fn listed(text: &str) -> Vec<Datum> {
    if let Some(Datum::List(items)) = Datum::from_json(text) {
        return items;
    }
    if text.trim().is_empty() {
        return Vec::new();
    }
    let parts = text.split(',').map(str::trim);
    parts.map(|part| Datum::Text(part.to_owned())).collect()
}

fn check_rules(rules: &Validation, value: &Datum, problems: &mut Vec<String>) {
    match value {
        Datum::Text(text) => check_text(rules, text, problems),
        Datum::Number(number) => check_number(rules, number, problems),
        Datum::List(items) => check_items(rules, items, problems),
        Datum::Null | Datum::Bool(_) | Datum::Object(_) => {}
    }
    let is_choice = |value: &Datum| rules.choices.iter().any(|choice| same(choice, value));
    let is_allowed = match value {
        _ if rules.choices.is_empty() || is_choice(value) => true,
        // The choices of a list apply to its items.
        Datum::List(items) => !items.is_empty() && items.iter().all(is_choice),
        _ => false,
    };
    if !is_allowed {
        let choices = rules.choices.iter().map(shown);
        let choices = choices.collect::<Vec<_>>().join(", ");
        problems.push(format!("must be one of: {choices}"));
    }
}

fn check_text(rules: &Validation, text: &str, problems: &mut Vec<String>) {
    let length = text.chars().count();
    if let Some(least) = rules.min_length.filter(|least| length < *least as usize) {
        problems.push(format!("must be at least {least} characters long"));
    }
    if let Some(most) = rules.max_length.filter(|most| length > *most as usize) {
        problems.push(format!("must be no more than {most} characters long"));
    }
    if let Some(pattern) = &rules.pattern {
        let pattern_text = pattern.as_str();
        match pattern.search(text) {
            Matched::Yes => {}
            Matched::No => {
                problems.push(format!(
                    "does not match the required pattern: {pattern_text}"
                ));
            }
            Matched::TooExpensive => problems.push(format!(
                "cannot be checked: the pattern {pattern_text} takes too long on it"
            )),
        }
    }
}

fn check_number(rules: &Validation, number: &Number, problems: &mut Vec<String>) {
    let value = number.to_f64();
    if let Some(least) = rules.minimum.filter(|least| value < *least) {
        problems.push(format!("must be at least {least}"));
    }
    if let Some(most) = rules.maximum.filter(|most| value > *most) {
        problems.push(format!("must be no more than {most}"));
    }
    if let Some(step) = rules.multiple_of {
        let times = value / step;
        // 0.3 counts as a multiple of 0.1, although the doubles differ slightly.
        if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
            problems.push(format!("must be a multiple of {step}"));
        }
    }
}

fn check_items(rules: &Validation, items: &[Datum], problems: &mut Vec<String>) {
    let length = items.len();
    if let Some(least) = rules.min_items.filter(|least| length < *least as usize) {
        problems.push(format!("must have at least {least} items"));
    }
    if let Some(most) = rules.max_items.filter(|most| length > *most as usize) {
        problems.push(format!("must have no more than {most} items"));
    }
    if rules.unique_items {
        let mut seen = std::collections::HashSet::new();
        if !items.iter().all(|item| seen.insert(item.to_json())) {
            problems.push("must not have the same item twice".to_owned());
        }
    }
}

/// Compares a choice with a value. A list from a command line holds `5` as text, the choices as a
/// number.
fn same(choice: &Datum, value: &Datum) -> bool {
    choice == value || shown(choice) == shown(value)
}

fn shown(value: &Datum) -> String {
    match value {
        Datum::Text(text) => text.clone(),
        other => other.to_json(),
    }
}
