//! Structured results that are too long for a model, in which long strings are shortened.
//!
//! Clients that show a model the structured content and not the text would else put all of it into a
//! file of their own, or cut the middle out of its JSON.

use std::path::Path;

use serde_json::Value;

use crate::tool::excerpt;

/// Strings are not shortened below so many bytes; the notices in one take some hundred.
const SHORTEST: usize = 1_000;
/// How close to the limit a result has to come.
const STEP: usize = 64;

/// `value` with excerpts of its longest strings, so that its JSON has at most `most` bytes. `file` has
/// all of it. `None`: it is not the strings that make it long.
pub(super) fn shortened(value: &Value, most: usize, file: &Path) -> Option<Value> {
    let way_out = excerpt::way_to(file);
    let cut = |longest: usize| {
        let cut = with_excerpts(value, longest, &way_out);
        (cut.to_string().len() <= most).then_some(cut)
    };
    let mut best = cut(SHORTEST)?;
    let (mut fits, mut too_long) = (SHORTEST, most);
    while too_long.saturating_sub(fits) > STEP {
        let middle = fits.midpoint(too_long);
        match cut(middle) {
            Some(longer) => (best, fits) = (longer, middle),
            None => too_long = middle,
        }
    }
    Some(best)
}

fn with_excerpts(value: &Value, longest: usize, way_out: &str) -> Value {
    match value {
        Value::String(text) if text.len() > longest => {
            Value::String(excerpt::of(text, longest, way_out))
        }
        Value::Array(items) => {
            let items = items.iter();
            items
                .map(|item| with_excerpts(item, longest, way_out))
                .collect()
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields =
                fields.map(|(key, field)| (key.clone(), with_excerpts(field, longest, way_out)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}
