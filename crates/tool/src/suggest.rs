//! Suggestions ("did you mean") for unknown words.

/// The lowest similarity for a suggestion.
pub const MIN_SIMILARITY: f64 = 0.82;

/// Similarity of words that differ by one letter, or by two neighbours that are swapped.
const ONE_SLIP: f64 = 0.9;

/// Returns the entry of `known` that is most similar to `word`, if it is similar enough.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = known.into_iter();
    let scored = known.map(|known| (similarity(word, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > MIN_SIMILARITY).then_some(best.1)
}

/// Returns the hint for an unknown word: the most similar entry of `known`, or else `otherwise`.
pub fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    match suggest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.into(),
    }
}

/// Returns the hint for an unknown word that lists the known ones if none is similar.
pub fn known_here(word: &str, known: &[&str]) -> String {
    let all = format!("known here: {}", known.join(", "));
    did_you_mean(word, known.iter().copied(), all)
}

/// Returns the similarity of two words, from 0 to 1. `-`, `_` and the case of letters are ignored,
/// because people confuse these first.
pub fn similarity(word: &str, known: &str) -> f64 {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let (word, known) = (plain(word), plain(known));
    let similarity = strsim::jaro_winkler(&word, &known);
    // In a short word one letter too many, or two that are swapped, weigh too much.
    let is_one_slip = known.chars().count() >= 3 && strsim::damerau_levenshtein(&word, &known) == 1;
    if is_one_slip {
        similarity.max(ONE_SLIP)
    } else {
        similarity
    }
}
