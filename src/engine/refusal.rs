//! Refusals of the runtime's permissions in haft's words: what was refused, by which rule, how to allow it.
//!
//! Deno says which of its flags is missing, which nobody can pass to haft.

use crate::tool::{PermissionKind, PermissionProfile};

/// What Deno says of an access, up to what it was to.
const REQUIRES: &str = "Requires ";

/// The end of what Deno says.
const WAY_OUT: &str = ", run again with the --allow-";

/// What Deno says where a variable would run other code in a program.
const LOADER: &str = "Requires --allow-run permissions to spawn subprocess with ";

/// The refusal `text` in haft's words; `None` if it is another text.
pub(super) fn explain(profile: &PermissionProfile, text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix(LOADER) {
        let variables = rest.split(" environment variable").next()?;
        let what = format!("a program with {variables}");
        return Some(profile.refusal(PermissionKind::Run, &what));
    }
    let (access, _) = text.strip_prefix(REQUIRES)?.rsplit_once(WAY_OUT)?;
    let (kind, what) = access.split_once(" access")?;
    let what = what.strip_prefix(" to ").unwrap_or_default();
    let what = what.trim_matches('"');
    Some(match PermissionKind::from_name(kind) {
        Some(kind) => profile.refusal(kind, what),
        None => special(profile, what),
    })
}

/// Files of the kernel lead around every other permission.
fn special(profile: &PermissionProfile, what: &str) -> String {
    let bounded = PermissionKind::ALL
        .into_iter()
        .filter(|kind| profile.of(*kind).is_bounded());
    let reasons: Vec<String> = bounded.map(|kind| profile.reason(kind)).collect();
    format!(
        "`{what}` is a file of the kernel, which needs every permission: {}\n\
         hint: set every key of `permissions` to `all`",
        reasons.join("; ")
    )
}
