//! `file-edit`: replaces a text in a file by another.
//!
//! It works on bytes, so that a file that is not UTF-8 keeps its other parts. If all lines of the
//! file end in CRLF, the texts are converted to CRLF too: models write LF, and an edit must neither
//! miss nor leave a file with both.

use std::io::Read;

use memchr::memmem;
use serde_json::{Value, json};

use super::file_write::base;
use super::open::open;
use super::params::Params;
use super::replace::replace;
use super::stop::{Failure, Stop};
use super::tool::Tool;

/// Limit of the size of a file, which is in memory twice.
const MAX_EDITED_BYTES: u64 = 64 << 20;

pub const TOOL: Tool = Tool {
    file: "file-edit",
    description: "Replace a text in a file; without replace_all it must occur exactly once",
    parameters: || {
        json!({
            "file_path": {"type": "string", "description": "Absolute or relative path of the file"},
            "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file"},
            "new_string": {"type": "string", "description": "The text to put there"},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence (default: false)"},
        })
    },
    required: &["file_path", "old_string", "new_string"],
    returns: || {
        json!({
            "output": {"type": "string", "description": "What was done"},
            "replacements": {"type": "integer", "description": "How many times the text was replaced"},
        })
    },
    run,
};

fn run(params: &Params) -> Result<Value, Stop> {
    let path = params.text("file_path")?;
    let (old, new) = (params.text("old_string")?, params.text("new_string")?);
    let all = params.switch("replace_all")?;
    if old.is_empty() {
        return Err(Failure::new("INVALID_ARG", "old_string cannot be empty").into());
    }
    if old == new {
        let message = "old_string and new_string are identical";
        return Err(Failure::new("INVALID_ARG", message).into());
    }
    let content = whole(path)?;
    let (old, new) = if all_lines_end_in_crlf(&content) {
        (with_crlf(old), with_crlf(new))
    } else {
        (old.to_owned(), new.to_owned())
    };
    let (edited, count) = replaced(&content, old.as_bytes(), new.as_bytes());
    match count {
        0 => {
            let message = format!("old_string is not in the file: {path}");
            return Err(Failure::new("NOT_FOUND", message).into());
        }
        2.. if !all => {
            let message = format!(
                "old_string occurs {count} times in the file: give more of the text around it, or set replace_all"
            );
            return Err(Failure::new("NOT_UNIQUE", message).into());
        }
        _ => replace(path, &edited)?,
    }
    let plural = if count == 1 { "" } else { "s" };
    let output = format!("Replaced {count} occurrence{plural} in {}", base(path));
    Ok(json!({"output": output, "replacements": count}))
}

fn whole(path: &str) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    open(path)?
        .take(MAX_EDITED_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(|error| Failure::reading(path, &error))?;
    if content.len() as u64 > MAX_EDITED_BYTES {
        let message = format!(
            "Too large to edit: {path} (more than {} MiB)",
            MAX_EDITED_BYTES >> 20
        );
        return Err(Failure::new("READ_FAILED", message));
    }
    Ok(content)
}

fn all_lines_end_in_crlf(content: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', content).peekable();
    ends.peek().is_some() && ends.all(|at| at > 0 && content[at - 1] == b'\r')
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn replaced(content: &[u8], old: &[u8], new: &[u8]) -> (Vec<u8>, usize) {
    let mut edited = Vec::with_capacity(content.len());
    let (mut copied, mut count) = (0, 0);
    for at in memmem::find_iter(content, old) {
        edited.extend_from_slice(&content[copied..at]);
        edited.extend_from_slice(new);
        copied = at + old.len();
        count += 1;
    }
    edited.extend_from_slice(&content[copied..]);
    (edited, count)
}
