//! Shortens long strings in structured results that are too long for a model.
//!
//! Some clients show a model only the structured content. Otherwise such a client would write all
//! of it to a file of its own, or cut the middle out of its JSON.

use std::path::Path;

use serde_json::Value;

use haft_tool::excerpt;

/// Minimum length of shortened strings in bytes. The notices in one string take some hundred bytes.
const MIN_STRING_BYTES: usize = 1_000;
/// Precision of the search for the longest result below the limit.
const STEP: usize = 64;

/// Returns `value` with excerpts of its longest strings, so that its JSON has at most `most` bytes.
/// `file` contains the complete value. `None`: shorter strings would not suffice.
pub(super) fn shortened(value: &Value, most: usize, file: &Path) -> Option<Value> {
    let way_out = excerpt::way_to(file);
    let cut = |longest: usize| {
        let cut = with_excerpts(value, longest, &way_out);
        (cut.to_string().len() <= most).then_some(cut)
    };
    let mut best = cut(MIN_STRING_BYTES)?;
    let (mut fits, mut too_long) = (MIN_STRING_BYTES, most);
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
