//! Masking of secrets in everything that leaves a tool (spec cycod 109, 178–180).
//!
//! A secret is also masked in the encodings that programs often print. A secret may be cut in two:
//! a stream holds back text that may be its beginning, and a text that was cut loses that part.

use std::collections::BTreeSet;

use super::transform::Named;
use haft_tool::schema::encode_component;

const ASTERISKS: &str = "***";

/// Limit below which secrets are not hidden. Short ones occur everywhere, and hiding them reveals
/// more than it hides.
const MIN_SECRET_LEN: usize = 3;

/// Set of the secrets that must not be shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mask {
    /// Sorted by length, the longest first, so that overlapping secrets leave no remainder.
    secrets: Vec<String>,
}

impl Mask {
    pub(crate) fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Mask {
        let mut forms = BTreeSet::new();
        for secret in secrets {
            for own in [secret.as_ref(), secret.as_ref().trim()] {
                if own.chars().count() >= MIN_SECRET_LEN {
                    forms.extend(all_forms(own));
                }
            }
        }
        let mut secrets: Vec<String> = forms.into_iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Mask { secrets }
    }

    /// Returns the mask of both together.
    pub(crate) fn and(&self, other: &Mask) -> Mask {
        let mut secrets = [self.secrets.as_slice(), &other.secrets].concat();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Mask { secrets }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Returns the length of the longest secret, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.secrets.first().map_or(0, String::len)
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        let (masked, rest) = self.split(text, true);
        debug_assert!(rest.is_empty(), "all of it was asked for");
        masked
    }

    /// Masks text that was cut off at its end: a secret may have lost its other half.
    pub(crate) fn apply_to_cut(&self, text: &str) -> String {
        self.split(text, false).0
    }

    /// Masks everything up to text that may be the beginning of a secret, and returns that text as
    /// the rest. With `is_all` no text follows, and the rest is empty.
    fn split<'a>(&self, text: &'a str, is_all: bool) -> (String, &'a str) {
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(secret) = self
                .secrets
                .iter()
                .find(|secret| rest.starts_with(secret.as_str()))
            {
                masked.push_str(ASTERISKS);
                rest = &rest[secret.len()..];
                continue;
            }
            let may_begin = |secret: &String| secret.len() > rest.len() && secret.starts_with(rest);
            if !is_all && self.secrets.iter().any(may_begin) {
                return (masked, rest);
            }
            masked.push(c);
            rest = &rest[c.len_utf8()..];
        }
        (masked, rest)
    }
}

fn all_forms(secret: &str) -> Vec<String> {
    let base64 = Named::Base64Encode.apply(secret).unwrap_or_default();
    let unpadded = base64.trim_end_matches('=').to_owned();
    let for_urls = unpadded.replace('+', "-").replace('/', "_");
    let json = Named::JsonEscaped.apply(secret).unwrap_or_default();
    let for_shells = secret.replace('\'', r"'\''");
    let encoded = encode_component(secret);
    let form = encoded.replace("%20", "+");
    vec![
        secret.to_owned(),
        base64,
        unpadded,
        for_urls,
        json,
        for_shells,
        encoded,
        form,
    ]
}

/// Mask of a text that comes in pieces.
#[derive(Debug)]
pub(crate) struct MaskedStream {
    mask: Mask,
    /// Bytes that are not a whole character yet, and text that may be the beginning of a secret.
    held: Vec<u8>,
}

impl MaskedStream {
    pub(crate) fn new(mask: Mask) -> MaskedStream {
        MaskedStream {
            mask,
            held: Vec::new(),
        }
    }

    /// Returns the text that can be shown now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.held) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // Invalid UTF-8 never becomes valid: it is not held back.
            _ => self.held.len(),
        };
        let text = String::from_utf8_lossy(&self.held[..whole]).into_owned();
        let (masked, rest) = self.mask.split(&text, false);
        let mut held = rest.as_bytes().to_vec();
        held.extend_from_slice(&self.held[whole..]);
        self.held = held;
        masked
    }

    /// Returns the rest that was held back, at the end of the stream.
    pub(crate) fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.mask.apply(&String::from_utf8_lossy(&held))
    }
}
