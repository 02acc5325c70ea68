//! Error texts and hints for a program that cannot be started.
//!
//! The system's own texts mislead: it reports "no such file" for a script whose interpreter is
//! missing.

use std::borrow::Cow;
use std::path::Path;

use nix::errno::Errno;

use crate::family::rights::{interpreter, interpreters};
use haft_process::sandbox::is_system_file;
use haft_process::{Finished, SpawnError};
use haft_tool::{PermissionKind, permit_command};

/// Limit of the standard error that a problem repeats, in bytes.
const MAX_SAID: usize = 2000;

/// Returns the cause of the error and a hint, in that order.
pub(super) fn explain(error: &SpawnError, path: &Path) -> (String, Cow<'static, str>) {
    if let SpawnError::NotPermitted { text, .. } = error {
        let (why, hint) = text.split_once("\nhint: ").unwrap_or((text, ""));
        return (why.to_owned(), hint.to_owned().into());
    }
    if let SpawnError::Sandboxed { .. }
    | SpawnError::Sandbox { .. }
    | SpawnError::SandboxNotMade { .. } = error
    {
        // A script is refused where its interpreter is.
        let named = interpreters(path).into_iter();
        let mut files = named.filter_map(|it| it.canonicalize().ok());
        let interpreter = files.find(|it| !is_system_file(it));
        let hint = match interpreter {
            Some(file) => permit_command(PermissionKind::Read, &file.display().to_string()),
            None => "`haft permit NAME` shows what the tool may do".to_owned(),
        };
        return (error.to_string(), hint.into());
    }
    let (why, hint) = explain_system(error, path);
    (why, hint.into())
}

fn explain_system(error: &SpawnError, path: &Path) -> (String, &'static str) {
    let errno = match error {
        SpawnError::System { source, .. } => source.raw_os_error().map(Errno::from_raw),
        SpawnError::PermissionDenied { .. } => Some(Errno::EACCES),
        SpawnError::NotFound { .. } => Some(Errno::ENOENT),
        SpawnError::Cwd { .. }
        | SpawnError::Nul { .. }
        | SpawnError::NotPermitted { .. }
        | SpawnError::NotVerified { .. }
        | SpawnError::Sandboxed { .. }
        | SpawnError::Sandbox { .. }
        | SpawnError::SandboxNotMade { .. }
        | SpawnError::Exposed { .. } => None,
    };
    match errno {
        Some(Errno::ENOENT) if path.exists() => match interpreter(path) {
            Some(line) if line.ends_with('\r') => (
                "its first line ends like a Windows file's, so its interpreter is not found".into(),
                "save it with Unix line ends",
            ),
            Some(line) => (
                format!("its interpreter `{}` does not exist", line.trim()),
                "correct its first line, or install the interpreter",
            ),
            None => (
                "what it needs to run is missing".into(),
                "build it for this machine",
            ),
        },
        Some(Errno::ENOENT) => (
            "it is not there any more".into(),
            "`haft refresh` looks again",
        ),
        Some(Errno::ENOEXEC) => (
            "it is neither a program nor a script with a `#!` line".into(),
            "begin a script with a line like `#!/bin/sh`",
        ),
        Some(Errno::EACCES) => (
            "it may not be executed".into(),
            "`chmod +x` it; the disk or its interpreter may forbid it, too",
        ),
        Some(Errno::ETXTBSY) => (
            "somebody is still writing it".into(),
            "try again when it is whole",
        ),
        _ => (error.to_string(), "try it by hand"),
    }
}

/// Returns the standard error of a failed program as the end of the reason; empty if it wrote
/// nothing.
pub(super) fn said(finished: &Finished) -> String {
    let text = finished.stderr.text();
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let end = text.floor_char_boundary(MAX_SAID);
    let rest = if end < text.len() { "…" } else { "" };
    format!(": {}{rest}", &text[..end])
}
