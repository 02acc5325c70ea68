//! Bytes as text for an answer, and where a long text may be cut.

/// The most bytes of one answer's text. JSON can make six of one, and hosts take 10 MiB.
pub const LONGEST: usize = 1 << 20;

/// The text in these bytes; what is not UTF-8 becomes U+FFFD.
pub fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The last place up to `at` that is not inside a character.
pub fn boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let is_inside = |place: usize| bytes.get(place).is_some_and(|byte| byte & 0xC0 == 0x80);
    // A character has four bytes at most; where more look like its rest, this is no UTF-8.
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|place| !is_inside(*place))
        .unwrap_or(at)
}
