//! Which file a path means, in Bun's order, and reading it.

use std::path::{Path, PathBuf};

use deno_core::serde_json::{self, Value};
use deno_error::JsErrorBox;

/// Tried behind a path without an extension, and behind `index` in a directory.
const EXTENSIONS: &[&str] = &["tsx", "jsx", "ts", "mts", "mjs", "js", "cts", "cjs", "json"];

/// What an author writes for a file that TypeScript compiles: `./helper.js` is `helper.ts`.
const COMPILED: &[(&str, &[&str])] = &[
    ("js", &["ts", "tsx"]),
    ("mjs", &["mts"]),
    ("cjs", &["cts"]),
    ("jsx", &["tsx"]),
];

/// The file that `path` means, if there is one.
pub(super) fn probe(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    compiled_from(path)
        .or_else(|| with_extension(path))
        .or_else(|| in_directory(path))
}

fn compiled_from(path: &Path) -> Option<PathBuf> {
    let extension = path.extension()?.to_str()?;
    let (_, sources) = COMPILED.iter().find(|(written, _)| *written == extension)?;
    sources
        .iter()
        .map(|source| path.with_extension(source))
        .find(|candidate| candidate.is_file())
}

fn with_extension(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    EXTENSIONS
        .iter()
        .map(|extension| {
            let mut longer = name.to_owned();
            longer.push(".");
            longer.push(extension);
            path.with_file_name(longer)
        })
        .find(|candidate| candidate.is_file())
}

/// A directory is imported like a package: its `main`, else its `index`.
fn in_directory(path: &Path) -> Option<PathBuf> {
    if !path.is_dir() {
        return None;
    }
    main_of(path).or_else(|| with_extension(&path.join("index")))
}

fn main_of(directory: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(directory.join("package.json")).ok()?;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    let main = manifest
        .get("module")
        .or_else(|| manifest.get("main"))?
        .as_str()?;
    let entry = directory.join(main);
    if entry.is_file() {
        return Some(entry);
    }
    compiled_from(&entry)
        .or_else(|| with_extension(&entry))
        .or_else(|| with_extension(&entry.join("index")))
}

/// The text of a file; a byte order mark is dropped, invalid UTF-8 is replaced.
pub(super) fn read_text(path: &Path) -> Result<String, JsErrorBox> {
    let bytes = std::fs::read(path).map_err(|error| {
        JsErrorBox::generic(format!("Cannot read '{}': {error}", path.display()))
    })?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
