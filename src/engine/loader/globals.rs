//! The CommonJS names in ES modules: `require`, `module`, `exports`, `__dirname`, `__filename`.
//!
//! Bun gives them to every file. A file that uses one, and does not declare it, gets an import at
//! its end: imports are hoisted, so the names are there before its first line runs, and no line moves.

use deno_core::serde_json;
use deno_core::url::Url;

const NAMES: &[&str] = &["require", "module", "exports", "__dirname", "__filename"];

/// The import to append to the module at `url`, or nothing. `declared` are its top-level names.
pub(super) fn import_for(code: &str, url: &Url, declared: &[String]) -> Option<String> {
    let wanted: Vec<&str> = NAMES
        .iter()
        .copied()
        .filter(|name| is_used(code, name) && !declared.iter().any(|other| other == name))
        .collect();
    if wanted.is_empty() {
        return None;
    }
    Some(format!(
        "\nimport {{ {} }} from \"haft:commonjs?{url}\";\n",
        wanted.join(", ")
    ))
}

/// Hides `Deno` from the module with these top-level names: Deno's own modules find it there, but tools are
/// given Node's and Bun's interfaces, and packages would take their Deno way.
pub(super) fn hide_deno(code: &mut String, declared: &[String]) {
    if uses_deno(code) && !declared.iter().any(|name| name == "Deno") {
        // Hoisted, so that no line moves.
        code.push_str("\nvar Deno;\n");
    }
}

/// Whether the global `Deno` may be meant somewhere.
pub(super) fn uses_deno(code: &str) -> bool {
    is_used(code, "Deno")
}

/// The source of `haft:commonjs?<url of the importing module>`.
pub(super) fn module_source(url: &Url) -> Option<String> {
    if url.scheme() != "haft" || url.path() != "commonjs" {
        return None;
    }
    let importer = serde_json::to_string(url.query().unwrap_or_default()).ok()?;
    Some(format!(
        "export const {{ {} }} = globalThis[Symbol.for(\"haft.commonjs\")]({importer});\n",
        NAMES.join(", ")
    ))
}

/// A cheap over-approximation: the name as a whole word that is used like a free name. A hit in a
/// comment costs one unused import.
fn is_used(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].chars().next();
        let is_word =
            |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
        let is_free = !is_word(before) && before != Some('.') && !is_word(after);
        // `module` and `exports` are common words: only their CommonJS uses count.
        let fits = match name {
            "require" => matches!(after, Some('(' | '.')),
            "module" => code[at..].starts_with("module.exports"),
            "exports" => matches!(after, Some('.' | '[')),
            _ => true,
        };
        is_free && fits
    })
}
