//! `file-write`: creates a file or replaces its content. It creates no folders.

use std::path::Path;

use serde_json::{Value, json};

use super::params::Params;
use super::replace::replace;
use super::stop::Stop;
use super::tool::Tool;

pub const TOOL: Tool = Tool {
    file: "file-write",
    description: "Write content to a file: creates it or replaces all that is in it",
    parameters: || {
        json!({
            "file_path": {"type": "string", "description": "Absolute or relative path of the file"},
            "content": {"type": "string", "description": "All of the file's new content"},
        })
    },
    required: &["file_path", "content"],
    returns: || {
        json!({
            "output": {"type": "string", "description": "What was done"},
            "bytes": {"type": "integer", "description": "How many bytes were written"},
        })
    },
    run,
};

fn run(params: &Params) -> Result<Value, Stop> {
    let path = params.text("file_path")?;
    let content = params.text("content")?;
    replace(path, content.as_bytes())?;
    let bytes = content.len();
    Ok(json!({"output": format!("Wrote {bytes} bytes to {}", base(path)), "bytes": bytes}))
}

/// Returns the last part of a path, for a message.
pub fn base(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.unwrap_or(path)
}
