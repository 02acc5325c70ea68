//! Converts bytes to text for an answer, and finds positions where a long text may be cut.

/// Limit of one answer's text in bytes. JSON can make six bytes of one, and hosts accept 10 MiB.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// Converts bytes to text; invalid UTF-8 becomes U+FFFD.
pub fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the last position up to `at` that is not inside a character.
pub fn boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let is_inside = |place: usize| bytes.get(place).is_some_and(|byte| byte & 0xC0 == 0x80);
    // A character has at most four bytes; more continuation bytes than that are not UTF-8.
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|place| !is_inside(*place))
        .unwrap_or(at)
}
