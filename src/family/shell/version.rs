//! `min-cycod-version`: whether this host is new enough for a tool (spec cycod 14).

use semver::Version;

/// The version of the format's own host that haft stands for: everything in the specification,
/// which was written for 1.2.
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

/// Compares by number, so that 1.10 is above 1.9; `1` and `1.9` are filled up with zeros.
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
        // What is behind a `+` says nothing about age.
        Ok(version) if version.cmp_precedence(&HOST).is_gt() => Wanted::Newer,
        Ok(_) => Wanted::Met,
        Err(_) => Wanted::Garbage,
    }
}
