//! Messages about values that violate a schema, in words that a model can act on.
//!
//! Each message states the expected value and the actual one. For a union, it states the
//! expectation of the branch that the author probably meant. That branch is found by the types and
//! the fixed values (`kind: "a"`) of the branches.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::{Mismatch, below, shown_path};

/// Limit of strings in a message, in characters. Longer ones are cut.
const MAX_SHOWN_VALUE: usize = 80;

/// Limit of the listed choices. Further ones are only counted.
const MAX_SHOWN_CHOICES: usize = 50;

/// Limit of the described branches of a union. Further ones are only counted.
const MAX_SHOWN_FORMS: usize = 4;

/// Adds the messages for `error` to `found`.
pub(super) fn describe(error: &ValidationError<'_>, found: &mut Vec<Mismatch>) {
    let at = error.instance_path().as_str();
    let keyword = error.kind().keyword();
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let branches: Vec<Vec<&ValidationError<'_>>> = context
                .iter()
                .map(|branch| branch.iter().collect())
                .collect();
            describe_union(error, branches, found);
        }
        ValidationErrorKind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            push(found, &below(at, key), keyword, "is required".to_owned());
        }
        _ => push(found, at, keyword, message(error)),
    }
}

fn push(found: &mut Vec<Mismatch>, at: &str, keyword: &str, message: String) {
    let mismatch = Mismatch {
        pointer: at.to_owned(),
        keyword: keyword.to_owned(),
        message,
    };
    // Branches of an `allOf` often produce the same message.
    if !found.contains(&mismatch) {
        found.push(mismatch);
    }
}

/// Returns the message about a single keyword.
fn message(error: &ValidationError<'_>) -> String {
    let value = error.instance().as_ref();
    let was = || was(value);
    match error.kind() {
        ValidationErrorKind::Type { .. }
        | ValidationErrorKind::Constant { .. }
        | ValidationErrorKind::Enum { .. } => {
            format!("must be {}{}", one_of(&expected(error)), was())
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().map(|name| quoted(name)).collect();
            let noun = match names.len() {
                1 => "property",
                _ => "properties",
            };
            format!("must not have the {noun} {}", names.join(", "))
        }
        ValidationErrorKind::AdditionalItems { limit } => {
            format!("must have at most {}", counted(*limit as u64, "item"))
        }
        ValidationErrorKind::UnevaluatedItems { unexpected } => {
            format!("has {} too many", counted(unexpected.len() as u64, "item"))
        }
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}{}", was()),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}{}", was()),
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            format!("must be more than {limit}{}", was())
        }
        ValidationErrorKind::ExclusiveMaximum { limit } => {
            format!("must be less than {limit}{}", was())
        }
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}{}", was())
        }
        ValidationErrorKind::MinLength { limit } => at_least(*limit, "character", value),
        ValidationErrorKind::MaxLength { limit } => at_most(*limit, "character", value),
        ValidationErrorKind::MinItems { limit } => at_least(*limit, "item", value),
        ValidationErrorKind::MaxItems { limit } => at_most(*limit, "item", value),
        ValidationErrorKind::MinProperties { limit } => at_least(*limit, "property", value),
        ValidationErrorKind::MaxProperties { limit } => at_most(*limit, "property", value),
        ValidationErrorKind::Pattern { pattern } => {
            format!("must match the pattern {pattern}{}", was())
        }
        ValidationErrorKind::Format { format } => format!("must be a {format}{}", was()),
        ValidationErrorKind::UniqueItems => "must not hold the same item twice".to_owned(),
        ValidationErrorKind::Contains => {
            "must hold as many items as the schema's `contains` asks for".to_owned()
        }
        ValidationErrorKind::FalseSchema => "must be left out".to_owned(),
        ValidationErrorKind::Not { schema } => not_allowed(schema),
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "fits several forms of a `oneOf`, and must fit exactly one".to_owned()
        }
        ValidationErrorKind::PropertyNames { error } => {
            let mut inner = Vec::new();
            describe(error, &mut inner);
            let name = error.instance().as_str().map(quoted).unwrap_or_default();
            let why: Vec<String> = inner.into_iter().map(|wrong| wrong.message).collect();
            format!("the property name {name} {}", why.join(", "))
        }
        _ => error.to_string(),
    }
}

/// Adds the messages for a union of which no branch matches.
fn describe_union(
    error: &ValidationError<'_>,
    branches: Vec<Vec<&ValidationError<'_>>>,
    found: &mut Vec<Mismatch>,
) {
    let at = error.instance_path().as_str();
    let keyword = error.kind().keyword();
    let (mut choices, mut others) = (Vec::new(), Vec::new());
    for branch in branches {
        match choices_of(&branch, at) {
            Some(of_branch) => choices.push(of_branch),
            None => others.push(branch),
        }
    }
    let are_fixed = choices.iter().any(|choice| choice.is_fixed);
    let mut phrases: Vec<String> = Vec::new();
    for phrase in choices.into_iter().flat_map(|choice| choice.phrases) {
        if !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }
    if others.is_empty() {
        let text = format!("must be {}{}", one_of(&phrases), was(error.instance()));
        return push(found, at, keyword, text);
    }
    let suggest = suggest(at, others);
    if let [branch] = suggest.as_slice() {
        let of_branch = described(branch);
        let is_here = of_branch.iter().all(|wrong| wrong.pointer == at);
        // The other choices have the same type as the value, so any of them may be meant.
        if are_fixed && is_here {
            let why: Vec<&str> = of_branch
                .iter()
                .map(|wrong| wrong.message.as_str())
                .collect();
            let text = format!("must be {}; or {}", one_of(&phrases), why.join(", "));
            return push(found, at, keyword, text);
        }
        for wrong in of_branch {
            push(found, &wrong.pointer, &wrong.keyword, wrong.message);
        }
        return;
    }
    if let Some(wrong) = discriminator(at, &suggest) {
        return push(found, &wrong.pointer, &wrong.keyword, wrong.message);
    }
    let forms: Vec<Vec<Mismatch>> = suggest.iter().map(|branch| described(branch)).collect();
    let (first, rest) = (forms.first(), forms.get(1..).unwrap_or_default());
    let common = first.into_iter().flatten();
    let common = common.filter(|wrong| rest.iter().all(|form| form.contains(wrong)));
    let common: Vec<&Mismatch> = common.collect();
    if !common.is_empty() {
        for wrong in common {
            push(found, &wrong.pointer, &wrong.keyword, wrong.message.clone());
        }
        return;
    }
    push(found, at, keyword, in_forms(at, &forms));
}

/// Returns the mismatches of one branch.
fn described(branch: &[&ValidationError<'_>]) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for error in branch {
        describe(error, &mut found);
    }
    found
}

/// Types or values that a branch expects.
struct Choices {
    phrases: Vec<String>,
    /// True for values, false for types.
    is_fixed: bool,
}

/// Returns the types or values that a branch expects, if it refuses the value because of them.
fn choices_of(branch: &[&ValidationError<'_>], at: &str) -> Option<Choices> {
    let here = branch.iter().filter(|e| e.instance_path().as_str() == at);
    let mut of_type = None;
    for error in here {
        match error.kind() {
            ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => {
                return Some(Choices {
                    phrases: expected(error),
                    is_fixed: true,
                });
            }
            ValidationErrorKind::Type { .. } => {
                of_type = Some(Choices {
                    phrases: expected(error),
                    is_fixed: false,
                });
            }
            // A branch that no value matches adds no choice.
            ValidationErrorKind::FalseSchema => {
                of_type = Some(Choices {
                    phrases: Vec::new(),
                    is_fixed: false,
                });
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                let all = context.iter().map(|inner| {
                    let inner: Vec<&ValidationError<'_>> = inner.iter().collect();
                    choices_of(&inner, at)
                });
                if let Some(all) = all.collect::<Option<Vec<Choices>>>() {
                    return Some(Choices {
                        is_fixed: all.iter().any(|choice| choice.is_fixed),
                        phrases: all.into_iter().flat_map(|choice| choice.phrases).collect(),
                    });
                }
            }
            _ => {}
        }
    }
    of_type
}

/// Returns the branches whose fixed properties (`kind: "a"`) match the value; all branches if none
/// matches.
fn suggest<'a, 'e>(
    at: &str,
    branches: Vec<Vec<&'a ValidationError<'e>>>,
) -> Vec<Vec<&'a ValidationError<'e>>> {
    let fits = |branch: &&Vec<&ValidationError<'_>>| {
        !branch
            .iter()
            .any(|error| is_fixed(error) && is_child(at, error.instance_path().as_str()))
    };
    let fitting: Vec<_> = branches.iter().filter(fits).cloned().collect();
    // A value without the discriminating property matches no branch better than another.
    if fitting.is_empty() {
        branches
    } else {
        fitting
    }
}

fn is_fixed(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. }
    )
}

fn is_child(parent: &str, at: &str) -> bool {
    at.strip_prefix(parent)
        .and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|key| !key.contains('/'))
}

/// Returns the mismatch of the discriminating property: a property for which every branch expects a
/// fixed value.
fn discriminator(at: &str, branches: &[Vec<&ValidationError<'_>>]) -> Option<Mismatch> {
    let first = branches.first()?;
    let fixed = first.iter().filter(|e| is_fixed(e));
    for candidate in fixed {
        let place = candidate.instance_path().as_str();
        if !is_child(at, place) {
            continue;
        }
        let wanted = branches.iter().map(|branch| {
            let mut here = branch.iter().filter(|e| is_fixed(e));
            here.find(|e| e.instance_path().as_str() == place)
                .map(|e| expected(e))
        });
        let Some(wanted) = wanted.collect::<Option<Vec<Vec<String>>>>() else {
            continue;
        };
        let mut values: Vec<String> = Vec::new();
        for value in wanted.into_iter().flatten() {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let text = format!("must be {}{}", one_of(&values), was(candidate.instance()));
        return Some(Mismatch {
            pointer: place.to_owned(),
            keyword: candidate.kind().keyword().to_owned(),
            message: text,
        });
    }
    None
}

/// Returns a text such as `must fit one of 2 forms: (a: is required) or (b: must be a string (was
/// 1))`.
fn in_forms(at: &str, forms: &[Vec<Mismatch>]) -> String {
    let one = |form: &Vec<Mismatch>| {
        let lines = form.iter().map(|wrong| {
            let below = wrong.pointer.strip_prefix(at).unwrap_or(&wrong.pointer);
            match below {
                "" => wrong.message.clone(),
                below => format!("{}: {}", shown_path(below), wrong.message),
            }
        });
        format!("({})", lines.collect::<Vec<_>>().join(", "))
    };
    let mut shown: Vec<String> = forms.iter().take(MAX_SHOWN_FORMS).map(one).collect();
    if forms.len() > MAX_SHOWN_FORMS {
        shown.push(format!("{} more", forms.len() - MAX_SHOWN_FORMS));
    }
    format!("must fit one of {} forms: {}", forms.len(), one_of(&shown))
}

/// Returns the types or values that a type, a constant or an enumeration expects.
fn expected(error: &ValidationError<'_>) -> Vec<String> {
    match error.kind() {
        ValidationErrorKind::Constant { expected_value } => vec![shown(expected_value, usize::MAX)],
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            options
                .iter()
                .map(|value| shown(value, usize::MAX))
                .collect()
        }
        ValidationErrorKind::Type { kind } => match kind {
            TypeKind::Single(one) => vec![type_name(*one).to_owned()],
            TypeKind::Multiple(several) => {
                let mut names: Vec<String> = several
                    .iter()
                    .map(|one| type_name(one).to_owned())
                    .collect();
                // `a string or null`.
                names.sort_by_key(|name| name == "null");
                names
            }
        },
        _ => Vec::new(),
    }
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

fn not_allowed(schema: &Value) -> String {
    let fixed = schema.get("const").map(|value| vec![value.clone()]);
    let fixed = fixed.or_else(|| schema.get("enum")?.as_array().cloned());
    match fixed {
        Some(values) => {
            let values: Vec<String> = values.iter().map(|v| shown(v, usize::MAX)).collect();
            format!("must not be {}", one_of(&values))
        }
        None => format!(
            "must not fit {}",
            cut(&schema.to_string(), 4 * MAX_SHOWN_VALUE)
        ),
    }
}

fn at_least(limit: u64, noun: &str, value: &Value) -> String {
    format!(
        "must have at least {} (has {})",
        counted(limit, noun),
        size(value)
    )
}

fn at_most(limit: u64, noun: &str, value: &Value) -> String {
    format!(
        "must have at most {} (has {})",
        counted(limit, noun),
        size(value)
    )
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    }
}

fn counted(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "property") => format!("{count} properties"),
        _ => format!("{count} {noun}s"),
    }
}

/// Joins the choices as `a, b or c`.
fn one_of(choices: &[String]) -> String {
    let mut shown: Vec<&str> = choices.iter().map(String::as_str).collect();
    let more = choices.len().saturating_sub(MAX_SHOWN_CHOICES);
    let counted = format!("{more} more");
    if more > 0 {
        shown.truncate(MAX_SHOWN_CHOICES);
        shown.push(&counted);
    }
    match shown.as_slice() {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}

fn was(value: &Value) -> String {
    format!(" (was {})", shown(value, MAX_SHOWN_VALUE))
}

/// Formats a value for a message. Strings are cut after `most` characters; arrays and objects are
/// only named.
fn shown(value: &Value, most: usize) -> String {
    match value {
        Value::Array(_) if most < usize::MAX => "an array".to_owned(),
        Value::Object(_) if most < usize::MAX => "an object".to_owned(),
        Value::String(text) => quoted(&cut(text, most)),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
