//! Lists the keys and values of a configuration file, for the review of its trust.

use std::collections::BTreeMap;

use serde_json::Value;

/// Maximum length of a value that is shown whole, in characters.
const MAX_SHOWN: usize = 300;

/// Returns every key of the text of a `config.yaml` with its value; dots separate the levels.
/// Returns an empty map for an invalid text, which is not used either.
pub fn settings(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Ok(Some(value)) = serde_saphyr::from_str::<Option<Value>>(text) {
        collect(String::new(), &value, &mut found);
    }
    found
}

fn collect(key: String, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (name, value) in entries {
                let key = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key}.{name}")
                };
                collect(key, value, found);
            }
        }
        value => {
            found.insert(key, shown(value));
        }
    }
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => {
            let digest = blake3::hash(text.as_bytes()).to_hex();
            format!(
                "{}… ({} bytes, {})",
                &text[..end],
                text.len(),
                &digest[..16]
            )
        }
        None => text,
    }
}
