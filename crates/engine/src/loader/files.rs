//! Finds the file that a path means, in Bun's order, and reads it.

use std::path::{Path, PathBuf};

use deno_core::serde_json::{self, Value};
use deno_error::JsErrorBox;
use sys_traits::{FsCanonicalize, FsMetadata, FsRead};

use crate::load_trace::{self, Read};
use crate::source::text_of;
use crate::verify::Verifier;
use haft_process::regular_files::{self, MAX_HASHED_BYTES};

/// Extensions that are tried after a path without one, and after `index` in a directory.
const EXTENSIONS: &[&str] = &["tsx", "jsx", "ts", "mts", "mjs", "js", "cts", "cjs", "json"];

/// Extensions that authors write for files that TypeScript compiles: `./helper.js` is `helper.ts`.
const COMPILED: &[(&str, &[&str])] = &[
    ("js", &["ts", "tsx"]),
    ("mjs", &["mts"]),
    ("cjs", &["cts"]),
    ("jsx", &["tsx"]),
];

/// Access of resolution to a disk.
pub(crate) trait Disk: FsCanonicalize + FsMetadata + FsRead {}

impl<D: FsCanonicalize + FsMetadata + FsRead> Disk for D {}

/// Returns the file that `path` means, if there is one, with all links followed. So imports of a
/// module are resolved from the real place of its file, and a file has one instance whatever path
/// leads to it.
pub(crate) fn probe(disk: &impl Disk, path: &Path) -> Option<PathBuf> {
    named(disk, path).map(|file| real(disk, file))
}

/// Returns `file` with all links followed.
pub(crate) fn real(disk: &impl Disk, file: PathBuf) -> PathBuf {
    disk.fs_canonicalize(&file).unwrap_or(file)
}

/// Returns the file that `path` means, by the name under which it was found.
fn named(disk: &impl Disk, path: &Path) -> Option<PathBuf> {
    if disk.fs_is_file_no_err(path) {
        return Some(path.to_owned());
    }
    compiled_from(disk, path)
        .or_else(|| with_extension(disk, path))
        .or_else(|| in_directory(disk, path))
}

fn compiled_from(disk: &impl Disk, path: &Path) -> Option<PathBuf> {
    let extension = path.extension()?.to_str()?;
    let (_, sources) = COMPILED.iter().find(|(written, _)| *written == extension)?;
    sources
        .iter()
        .map(|source| path.with_extension(source))
        .find(|candidate| disk.fs_is_file_no_err(candidate))
}

fn with_extension(disk: &impl Disk, path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    EXTENSIONS
        .iter()
        .map(|extension| {
            let mut longer = name.to_owned();
            longer.push(".");
            longer.push(extension);
            path.with_file_name(longer)
        })
        .find(|candidate| disk.fs_is_file_no_err(candidate))
}

/// Finds the entry of a directory, which is imported like a package: its `main`, else its `index`.
fn in_directory(disk: &impl Disk, path: &Path) -> Option<PathBuf> {
    if !disk.fs_is_dir_no_err(path) {
        return None;
    }
    main_of(disk, path).or_else(|| with_extension(disk, &path.join("index")))
}

fn main_of(disk: &impl Disk, directory: &Path) -> Option<PathBuf> {
    let text = disk
        .fs_read_to_string(directory.join("package.json"))
        .ok()?;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    let mains = ["main", "module"].into_iter();
    mains
        .filter_map(|field| manifest.get(field)?.as_str())
        .find_map(|main| {
            let entry = directory.join(main);
            if disk.fs_is_file_no_err(&entry) {
                return Some(entry);
            }
            compiled_from(disk, &entry)
                .or_else(|| with_extension(disk, &entry))
                .or_else(|| with_extension(disk, &entry.join("index")))
        })
}

/// Returns the text of an imported file. A byte order mark is dropped, invalid UTF-8 is replaced.
pub(super) fn read_text(path: &Path, verifier: Option<&Verifier>) -> Result<String, JsErrorBox> {
    let (text, read) = read(path, verifier)?;
    load_trace::imported(path, read);
    Ok(text)
}

/// Does the same and also returns the properties that are recorded. The bytes that are returned are
/// the bytes that were verified.
pub(super) fn read(path: &Path, verifier: Option<&Verifier>) -> Result<(String, Read), JsErrorBox> {
    let bytes = regular_files::read(path, MAX_HASHED_BYTES).map_err(|error| {
        JsErrorBox::generic(format!("Cannot read '{}': {error}", path.display()))
    })?;
    let read = Read::of(&bytes);
    if let Some(verifier) = verifier {
        verifier.check(path, read.hash())?;
    }
    Ok((text_of(bytes), read))
}
