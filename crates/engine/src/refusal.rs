//! Permission errors in haft's words: what was refused, by which rule, how to allow it.
//!
//! Deno's own errors name its command-line flags, which haft does not have. JavaScript creates
//! these errors while an op runs, so it receives the texts at its start
//! (`js-runtime/03_permissions.ts`).

use std::path::Path;

use serde_json::{Map, Value, json};

use haft_tool::{PermissionKind, PermissionProfile};

/// Placeholder in a text for the refused resource. No path contains it.
const WHAT: &str = "\0";

/// Returns the texts for each kind, by its name: `to` for a named resource, `denied` for one that a
/// denied entry names, `any` where none is named. `all` is for files that need every permission.
pub(super) fn texts(profile: &PermissionProfile) -> Value {
    let mut texts = Map::new();
    for kind in PermissionKind::ALL {
        let text = json!({
            "to": profile.refusal(kind, WHAT),
            "denied": denied(profile, kind),
            "any": profile.refusal(kind, ""),
        });
        texts.insert(kind.as_str().to_owned(), text);
    }
    let special = special(profile);
    texts.insert(
        "all".to_owned(),
        json!({ "to": special, "denied": [], "any": special }),
    );
    Value::Object(texts)
}

/// Returns the texts of denied entries, each with a spelling of its entry. Deno names a relative path as
/// it was written.
fn denied(profile: &PermissionProfile, kind: PermissionKind) -> Vec<(String, String)> {
    let folder = std::env::current_dir().unwrap_or_default();
    let mut denied = profile.denied_refusals(kind, WHAT);
    let relative = denied.iter().filter_map(|(entry, text)| {
        let relative = Path::new(entry).strip_prefix(&folder).ok()?.to_str()?;
        (!relative.is_empty()).then(|| (relative.to_owned(), text.clone()))
    });
    let relative: Vec<(String, String)> = relative.collect();
    denied.extend(relative);
    denied
}

/// Returns the text for files of the kernel, which lead around every other permission.
fn special(profile: &PermissionProfile) -> String {
    let bounded = PermissionKind::ALL
        .into_iter()
        .filter(|kind| profile.of(*kind).is_bounded());
    let reasons: Vec<String> = bounded.map(|kind| profile.reason(kind)).collect();
    format!(
        "access to `{WHAT}`, a file of the kernel, is not permitted: it needs every permission, and {}\n\
         hint: set every key of `permissions` to `all`",
        reasons.join("; ")
    )
}
