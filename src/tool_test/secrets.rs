//! Masks secrets in recordings, which people share.
//!
//! Masks values that are known to be secret, and values that look like secrets: keys in the formats
//! of known vendors, values of secret names, passwords in URLs.

use std::sync::{Arc, OnceLock};

use regress::Regex;

use crate::family::shell::run::mask::Mask;

/// Replacement for a secret.
pub(super) const MASKED: &str = "***";

/// Minimum length of a known secret. Masking a shorter value everywhere would spoil the recording.
const MIN_SECRET_LEN: usize = 6;

/// Pattern of header, parameter and field names whose values are secret.
const SECRET_NAMES: &str = "authorization|cookie|token|secret|passw(?:or)?d|api[-_]?key|access[-_]?key|private[-_]?key|credential|session[-_]?id";

/// Patterns of values that are secret by their form alone.
const FORMS: &[&str] = &[
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{30,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----",
];

/// Masks secrets. Cheap to clone.
#[derive(Clone)]
pub(super) struct Secrets(Arc<Mask>);

impl Secrets {
    /// Masks `values` in addition to everything that looks like a secret.
    pub(super) fn new(values: &[String]) -> Secrets {
        let long = values
            .iter()
            .filter(|value| value.chars().count() >= MIN_SECRET_LEN);
        Secrets(Arc::new(Mask::new(long)))
    }

    /// Returns a mask that also covers these values.
    pub(super) fn and(&self, values: &[String]) -> Secrets {
        let more = Secrets::new(values);
        Secrets(Arc::new(self.0.and(&more.0)))
    }

    pub(super) fn mask(&self, text: &str) -> String {
        let mut masked = self.0.apply(text);
        for (pattern, group) in patterns() {
            masked = replaced(&masked, pattern, *group);
        }
        masked
    }
}

/// Returns true if a header, variable or parameter of that name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    static NAME: OnceLock<Option<Regex>> = OnceLock::new();
    let name_pattern = NAME.get_or_init(|| Regex::with_flags(SECRET_NAMES, "i").ok());
    name_pattern
        .as_ref()
        .is_some_and(|pattern| pattern.find(name).is_some())
}

/// Returns each pattern with the number of its secret group; 0 is the whole match.
fn patterns() -> &'static [(Regex, usize)] {
    static PATTERNS: OnceLock<Vec<(Regex, usize)>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let by_form = FORMS.iter().map(|form| ((*form).to_owned(), 0));
        let by_name = [
            // URLs and forms: `?api_key=…`, `--token=…`.
            format!(r#"[\w.-]*(?:{SECRET_NAMES})[\w.-]*=([^&\s"']+)"#),
            // JSON, also JSON text within a JSON string.
            format!(r#"\\?"[\w.-]*(?:{SECRET_NAMES})[\w.-]*\\?"\s*:\s*\\?"((?:[^"\\]|\\[^"])+)"#),
            // Headers.
            r"\b(?:Bearer|Basic)\s+([A-Za-z0-9+/=._~-]{6,})".to_owned(),
            r"://[^/\s:@]+:([^/\s@]+)@".to_owned(),
        ];
        let all = by_form.chain(by_name.into_iter().map(|pattern| (pattern, 1)));
        // All patterns compile. A test proves it by what they mask.
        all.filter_map(|(pattern, group)| Some((Regex::with_flags(&pattern, "i").ok()?, group)))
            .collect()
    })
}

fn replaced(text: &str, pattern: &Regex, group: usize) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for found in pattern.find_iter(text) {
        let Some(secret) = found.group(group) else {
            continue;
        };
        masked.push_str(&text[end..secret.start]);
        masked.push_str(MASKED);
        end = secret.end;
    }
    masked.push_str(&text[end..]);
    masked
}
