//! How deep JSON nests: readers have limits, and a value that goes beyond is refused before it is read.

/// The number of arrays and objects around the innermost value of valid JSON.
pub(crate) fn json_depth(json: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' if !in_text => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}
