//! Suggestions ("did you mean") for unknown words.

/// The lowest similarity for a suggestion.
pub(crate) const MIN_SIMILARITY: f64 = 0.82;

/// Returns the entry of `known` that is most similar to `word`, if it is similar enough.
pub(crate) fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter();
    let scored = known.map(|known| (similarity(word, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > MIN_SIMILARITY).then_some(best.1)
}

/// Returns the similarity of two words, from 0 to 1. `-`, `_` and the case of letters are ignored,
/// because people confuse these first.
pub(crate) fn similarity(word: &str, known: &str) -> f64 {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    strsim::jaro_winkler(&plain(word), &plain(known))
}
