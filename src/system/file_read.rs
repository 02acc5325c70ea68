//! `file-read`: returns the text of a file, or some of its lines.
//!
//! Lines are read one by one, so that ten lines of a file of 100 GB need the memory of ten lines.
//! The text is unchanged, line ends included. Binary files are refused, because models cannot use
//! them.

use std::io::{self, BufRead, BufReader, Read};

use serde_json::{Value, json};

use super::open::open;
use super::params::Params;
use super::stop::{Failure, Stop};
use super::text::{self, MAX_TEXT_BYTES};
use super::tool::Tool;

/// Size of a read, and of the part that is checked for binary content.
const BLOCK: usize = 64 << 10;

pub const TOOL: Tool = Tool {
    file: "file-read",
    description: "Read the text of a file, all of it or some of its lines",
    parameters: || {
        json!({
            "file_path": {"type": "string", "description": "Absolute or relative path of the file"},
            "offset": {"type": "integer", "minimum": 0, "description": "The first line to read, counted from 1 (default: 1)"},
            "limit": {"type": "integer", "minimum": 0, "description": "The most lines to read (default: all)"},
        })
    },
    required: &["file_path"],
    returns: || {
        json!({
            "output": {"type": "string", "description": "The text as it is; if it is too long, its last line says where to read on"},
        })
    },
    run,
};

fn run(params: &Params) -> Result<Value, Stop> {
    let path = params.text("file_path")?;
    let first = params.count("offset")?.unwrap_or(1).max(1);
    let limit = params.count("limit")?.unwrap_or(u64::MAX);
    let mut reader = BufReader::with_capacity(BLOCK, open(path)?);
    let failed = |error: io::Error| Failure::reading(path, &error);
    if reader.fill_buf().map_err(failed)?.contains(&0) {
        let message = format!("Not a text file: {path}");
        return Err(Failure::new("READ_FAILED", message).into());
    }
    let output = lines(&mut reader, first, limit).map_err(failed)?;
    Ok(json!({"output": output}))
}

fn lines(reader: &mut impl BufRead, first: u64, limit: u64) -> io::Result<String> {
    for _ in 1..first {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(String::new());
        }
    }
    let mut kept = Vec::new();
    for line in (first..).zip(0..limit).map(|(line, _)| line) {
        let start = kept.len();
        let room = (MAX_TEXT_BYTES - start) as u64;
        if reader
            .by_ref()
            .take(room + 1)
            .read_until(b'\n', &mut kept)?
            == 0
        {
            break;
        }
        if kept.len() > MAX_TEXT_BYTES {
            let note = cut(&mut kept, start, line);
            return Ok(text::lossy(kept) + &note);
        }
    }
    Ok(text::lossy(kept))
}

/// Removes the line that does not fit, or its end if it is the only line.
fn cut(kept: &mut Vec<u8>, start: usize, line: u64) -> String {
    if start > 0 {
        kept.truncate(start);
        return format!("[cut off before line {line}: read on with offset {line}]");
    }
    kept.truncate(text::boundary(kept, MAX_TEXT_BYTES));
    let next = line + 1;
    format!("\n[the rest of line {line} is left out: read on with offset {next}]")
}
