//! Check of `min-cycod-version`: is this host new enough for a tool (spec cycod 14).

use semver::Version;

/// Version of the format's own host that haft implements: the specification was written for 1.2.
pub(super) const HOST: Version = Version::new(1, 2, 0);

/// Result of comparing the version that a tool requires.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    Met,
    /// A version above [`HOST`].
    Newer,
    /// The text is not a version.
    Garbage,
}

/// Compares versions by number, so that 1.10 is above 1.9; `1` and `1.9` are completed with zeros.
pub(super) fn wanted(text: &str) -> Wanted {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let numbers = text.find(['-', '+']).unwrap_or(text.len());
    let dots = text[..numbers].matches('.').count();
    let filled = format!(
        "{}{}{}",
        &text[..numbers],
        ".0".repeat(2usize.saturating_sub(dots)),
        &text[numbers..]
    );
    match Version::parse(&filled) {
        // Build metadata after a `+` does not count.
        Ok(version) if version.cmp_precedence(&HOST).is_gt() => Wanted::Newer,
        Ok(_) => Wanted::Met,
        Err(_) => Wanted::Garbage,
    }
}
