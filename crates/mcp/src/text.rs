//! Texts of servers for people.

/// Returns the text as one line without hidden characters, cut to `limit` bytes.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let visible = haft_tool::visible::line(&words);
    if visible.len() <= limit {
        return visible.into_owned();
    }
    let mut end = limit;
    while !visible.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &visible[..end])
}
