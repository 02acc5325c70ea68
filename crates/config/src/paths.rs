//! Paths as users write them, handled as text. Only `read_text` accesses files.
//!
//! `resolve` is Node's `path.resolve`: it handles `.` and `..` in the text and keeps links.
//! oh-my-pi compares such paths, so two names of one file are two files here as well.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use haft_tool::shell_word;
use url::Url;

/// Maximum size of a text file that is read: far above any real manifest.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Schemes that oh-my-pi resolves itself. They never name a file.
const INTERNAL_SCHEMES: &[&str] = &[
    "agent", "artifact", "history", "issue", "local", "mcp", "memory", "omp", "pr", "rule",
    "security", "skill", "ssh", "vault", "xd",
];

/// A path that is not a file path: it belongs to one of oh-my-pi's URL schemes.
#[derive(Debug, thiserror::Error)]
#[error(
    "Path \"{given}\" uses internal scheme \"{scheme}://\" and must be resolved through the \
     proper protocol handler, not as a filesystem path."
)]
pub struct InternalScheme {
    given: String,
    scheme: &'static str,
}

/// Returns `path` as an absolute path that starts at `base`, without `.` and `..`.
pub fn resolve(base: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}

/// Joins `entry` to `base` even if it looks absolute, as Node's `path.join` does.
pub fn join(base: &Path, entry: &str) -> PathBuf {
    resolve(base, Path::new(entry.trim_start_matches('/')))
}

/// Expands a path of a flag or a configuration: `file:` URLs, `~`, a stray `:` or `@` in front,
/// unusual spaces. The result may still be relative.
pub fn expand(given: &str, home: &Path) -> Result<PathBuf, InternalScheme> {
    let path = without_at(without_colon(given));
    if let Some(scheme) = internal_scheme(path) {
        let given = given.to_owned();
        return Err(InternalScheme { given, scheme });
    }
    let path: String = path
        .chars()
        .map(|c| if is_odd_space(c) { ' ' } else { c })
        .collect();
    if let Some(file) = from_file_url(&path) {
        return Ok(file);
    }
    Ok(match path.strip_prefix('~') {
        // `~name` is a folder in the user's own home, as in oh-my-pi.
        Some("") => home.to_owned(),
        Some(rest) => join(home, rest),
        None => PathBuf::from(path),
    })
}

fn without_colon(path: &str) -> &str {
    let Some(rest) = path.strip_prefix(':') else {
        return path;
    };
    let mut drive = rest.chars();
    let is_drive =
        drive.next().is_some_and(|c| c.is_ascii_alphabetic()) && drive.next() == Some(':');
    let starts = ["/", "\\", "~", "./", "../", ".\\", "..\\"];
    let is_path = is_drive || starts.iter().any(|start| rest.starts_with(start));
    if is_path { rest } else { path }
}

fn without_at(path: &str) -> &str {
    match path.strip_prefix('@') {
        Some(rest) if rest == "~" || rest.starts_with('/') || rest.starts_with("~/") => rest,
        Some(rest) if internal_scheme(rest).is_some() => rest,
        _ => path,
    }
}

fn internal_scheme(path: &str) -> Option<&'static str> {
    let (scheme, rest) = path.split_once(':')?;
    let scheme = INTERNAL_SCHEMES.iter().find(|known| **known == scheme)?;
    let is_url = rest.starts_with("//") || (*scheme == "local" && rest.starts_with('/'));
    is_url.then_some(*scheme)
}

fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

fn from_file_url(path: &str) -> Option<PathBuf> {
    let is_file_url = path
        .get(..7)
        .is_some_and(|start| start.eq_ignore_ascii_case("file://"));
    is_file_url.then(|| Url::parse(path).ok()?.to_file_path().ok())?
}

/// Returns the text of a regular file; `None` if the file is missing. Refuses pipes, sockets and
/// devices before they are opened, because opening them can block for ever.
pub fn read_text(path: &Path) -> io::Result<Option<String>> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if found.len() > MAX_TEXT_BYTES {
        return Err(io::Error::other("larger than 16 MiB"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or_default() + 1);
    std::fs::File::open(path)?
        .take(MAX_TEXT_BYTES)
        .read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("not UTF-8 text"))?;
    Ok(Some(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }))
}

/// Returns true if the error only means that the path does not exist.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the error in words for people, without the number of the system call's error.
pub fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is not a directory".to_owned(),
        _ => {
            let text = error.to_string();
            let end = text.find(" (os error").unwrap_or(text.len());
            text[..end].to_lowercase()
        }
    }
}

/// Returns the key of a tool file or folder: its name without the extension. The key of an `index`
/// file is the name of its folder.
pub fn key(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    let named = if stem == "index" {
        path.parent().and_then(Path::file_name).unwrap_or(stem)
    } else {
        stem
    };
    named.to_string_lossy().into_owned()
}

/// Returns the path as a user would write it: with `~` for the home directory.
pub fn shown(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

/// Returns the path as one word of a shell's command line.
pub fn quoted(path: &Path) -> String {
    shell_word(&path.display().to_string())
}
