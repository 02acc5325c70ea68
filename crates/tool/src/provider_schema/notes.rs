//! Expresses rules in words, in the description, where a dialect has no keyword for them.

use serde_json::{Map, Value, json};

use super::Effect;
use super::node::Rewriter;
use crate::schema::is_pattern;

impl Rewriter<'_> {
    /// Moves a pattern to the description if haft cannot read it, because strict readers refuse
    /// such a schema.
    pub(super) fn tell_patterns(&mut self, schema: &mut Map<String, Value>, at: &str) {
        let pattern = schema.get("pattern").and_then(Value::as_str);
        let Some(pattern) = pattern.filter(|pattern| !is_pattern(pattern)) else {
            return;
        };
        let pattern = format!("pattern: {}", short(&pattern.into()));
        schema.remove("pattern");
        self.tell(schema, at, &pattern);
    }

    pub(super) fn tell_formats(&mut self, schema: &mut Map<String, Value>, at: &str) {
        let Some(format) = schema
            .get("format")
            .and_then(Value::as_str)
            .map(str::to_owned)
        else {
            return;
        };
        let is_taken = |formats: &[&str]| formats.contains(&format.as_str());
        if !self.rules.formats.is_none_or(is_taken) {
            schema.remove("format");
            self.tell(schema, at, &format!("format: {format}"));
        }
    }

    pub(super) fn drop_keywords(&mut self, schema: &mut Map<String, Value>, at: &str) {
        let Some(taken) = self.rules.keywords else {
            return;
        };
        let keys: Vec<String> = schema
            .keys()
            .filter(|key| !taken.contains(&key.as_str()))
            .cloned()
            .collect();
        for key in keys {
            let Some(value) = schema.remove(&key) else {
                continue;
            };
            match key.as_str() {
                // These keywords do not restrict values.
                "$schema" | "$id" | "id" | "$comment" | "$anchor" | "$defs" | "definitions"
                | "deprecated" | "readOnly" | "writeOnly" | "contentEncoding"
                | "contentMediaType" | "propertyOrdering" | "example" => {}
                "exclusiveMinimum" | "exclusiveMaximum" => self.tell_bound(schema, at, &key, value),
                "additionalProperties" if value == json!(true) || value == json!({}) => {}
                // The tool itself ignores or refuses other properties.
                "additionalProperties" if value == json!(false) => {}
                _ if key.starts_with("x-") => {}
                _ => self.tell(schema, at, &format!("{key}: {}", short(&value))),
            }
        }
    }

    fn tell_bound(&mut self, schema: &mut Map<String, Value>, at: &str, key: &str, value: Value) {
        let (bound, sign, step) = match key {
            "exclusiveMinimum" => ("minimum", ">", 1),
            _ => ("maximum", "<", -1),
        };
        let is_integer = schema.get("type") == Some(&json!("integer"));
        match value
            .as_i64()
            .filter(|_| is_integer && !schema.contains_key(bound))
        {
            Some(edge) => {
                self.find(at, format!("`{key}`"), Effect::Rewritten);
                schema.insert(bound.to_owned(), json!(edge.saturating_add(step)));
            }
            None => self.tell(schema, at, &format!("{sign} {value}")),
        }
    }

    /// Adds a rule to the description for which the dialect has no keyword.
    pub(super) fn tell(&mut self, schema: &mut Map<String, Value>, at: &str, what: &str) {
        self.find(
            at,
            format!("`{}`", what.split(':').next().unwrap_or(what)),
            Effect::Told,
        );
        let described = schema.get("description").and_then(Value::as_str);
        let described = match described {
            Some(text) if !text.is_empty() => format!("{text} ({what})"),
            _ => format!("({what})"),
        };
        schema.insert("description".to_owned(), json!(described));
    }

    pub(super) fn lose(&mut self, at: &str, lost: &[String]) {
        for what in lost {
            let text = format!("a rule beside another one that it cannot be joined with ({what})");
            self.find(at, text, Effect::Told);
        }
    }
}

/// Formats a value for a description. Long values are cut.
fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
