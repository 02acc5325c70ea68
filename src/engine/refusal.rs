//! Refusals of the runtime's permissions in haft's words: what was refused, by which rule, how to allow it.
//!
//! Deno says which of its flags is missing, which nobody can pass to haft. JavaScript makes these errors while
//! an op runs, so it is given the texts when it starts (`js-runtime/03_permissions.ts`).

use serde_json::{Map, Value, json};

use crate::tool::{PermissionKind, PermissionProfile};

/// Stands in a text for what was refused. No path holds it.
const WHAT: &str = "\0";

/// The texts for each kind, by its name: `to` something, and `any` where nothing is named. `all` is for files that
/// need every permission.
pub(super) fn texts(profile: &PermissionProfile) -> Value {
    let mut texts = Map::new();
    for kind in PermissionKind::ALL {
        let text = json!({
            "to": profile.refusal(kind, WHAT),
            "any": profile.refusal(kind, ""),
        });
        texts.insert(kind.as_str().to_owned(), text);
    }
    let special = special(profile);
    texts.insert("all".to_owned(), json!({ "to": special, "any": special }));
    Value::Object(texts)
}

/// Files of the kernel lead around every other permission.
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
