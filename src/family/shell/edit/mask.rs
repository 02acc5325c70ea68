//! Takes the values of secrets out of what is shown (spec cycod 177).
//!
//! A variable's value becomes a reference to the variable of that name in the host's environment,
//! so that an exported file works for every user who has the secret. A parameter loses its default.

use super::super::definition::Datum;

/// Masks the data of a whole file and returns the names whose values were taken out.
pub(super) fn mask(root: &mut Datum) -> Vec<String> {
    let mut masked = Vec::new();
    let secrets = secrets(root);
    environment(root, &secrets, &mut masked);
    if let Some(Datum::Object(parameters)) = get(root, "parameters") {
        for (name, parameter) in parameters {
            let Datum::Object(keys) = parameter else {
                continue;
            };
            let had = keys.len();
            if secrets.contains(name) {
                keys.retain(|(key, _)| key != "default" && key != "examples");
            }
            if keys.len() < had {
                masked.push(name.clone());
            }
        }
    }
    if let Some(Datum::List(steps)) = get(root, "steps") {
        for step in steps {
            let mut all = secrets.clone();
            all.extend(self::secrets(step));
            environment(step, &all, &mut masked);
        }
    }
    masked
}

fn environment(node: &mut Datum, secrets: &[String], masked: &mut Vec<String>) {
    let variables = get(node, "environment").and_then(|own| get(own, "variables"));
    let Some(Datum::Object(variables)) = variables else {
        return;
    };
    for (name, value) in variables {
        let is_reference = matches!(value, Datum::Text(text) if is_reference(text));
        if secrets.contains(name) && !is_reference && *value != Datum::Null {
            *value = Datum::Text(format!("{{{name}}}"));
            masked.push(name.clone());
        }
    }
}

/// Returns true if the text is only a reference, which holds no secret itself.
fn is_reference(text: &str) -> bool {
    let inner = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn secrets(node: &Datum) -> Vec<String> {
    let find = |node: &Datum, key: &str| match node {
        Datum::Object(entries) => entries
            .iter()
            .find(|(own, _)| own == key)
            .map(|(_, value)| value.clone()),
        _ => None,
    };
    let named = find(node, "environment").and_then(|own| find(&own, "secrets"));
    match named {
        Some(Datum::Text(name)) => vec![name],
        Some(Datum::List(names)) => names
            .into_iter()
            .filter_map(|name| match name {
                Datum::Text(name) => Some(name),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn get<'a>(node: &'a mut Datum, key: &str) -> Option<&'a mut Datum> {
    let Datum::Object(entries) = node else {
        return None;
    };
    let entry = entries.iter_mut().find(|(own, _)| own == key)?;
    Some(&mut entry.1)
}
