//! Suggestions ("did you mean") for unknown words.

/// The lowest similarity (0 to 1) for a suggestion.
const ALIKE: f64 = 0.82;

/// Returns the entry of `known` that is most similar to `word`, if it is similar enough. `-`, `_`
/// and the case of letters are ignored, because people confuse these first.
pub(crate) fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let meant = plain(word);
    let scored = known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&meant, &plain(known)), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > ALIKE).then_some(best.1)
}
