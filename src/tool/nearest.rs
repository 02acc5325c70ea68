//! What was probably meant by a word that nobody knows.

/// Less alike (0 to 1) is no help.
const ALIKE: f64 = 0.82;

/// The most similar of `known`, if one is similar enough to be meant. `-`, `_` and capitals do not
/// count: they are what people get wrong first.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    let meant = plain(word);
    let scored = known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&meant, &plain(known)), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > ALIKE).then_some(best.1)
}
