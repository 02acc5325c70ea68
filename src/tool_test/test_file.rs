//! Adds tests to a test file without changing what is there.

use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use haft_process::atomic_file::{self, Overwrite};

#[derive(Deserialize)]
struct Tests<'a> {
    #[serde(borrow)]
    tests: Vec<&'a RawValue>,
}

/// Returns the text of a test file with one more test. `before` is the text of the file, if there is
/// one; a new one begins with `head`.
pub(super) fn with_test(
    before: Option<&str>,
    head: &Map<String, Value>,
    test: &Value,
) -> Result<String, String> {
    let Some(before) = before else {
        let mut file = head.clone();
        file.insert("tests".into(), Value::Array(vec![test.clone()]));
        return Ok(pretty(&Value::Object(file))? + "\n");
    };
    let is_list = before.trim_start().starts_with('[');
    let tests: Vec<&RawValue> = if is_list {
        serde_json::from_str(before)
    } else {
        serde_json::from_str::<Tests<'_>>(before).map(|file| file.tests)
    }
    .map_err(|error| format!("it is not a file of tests: {error}"))?;
    let Some(last) = tests.last() else {
        let mut file: Value = serde_json::from_str(before).map_err(|error| error.to_string())?;
        let tests = if is_list {
            &mut file
        } else {
            &mut file["tests"]
        };
        *tests = Value::Array(vec![test.clone()]);
        return Ok(pretty(&file)? + "\n");
    };
    // The text of the test is a part of `before`.
    let start = last.get().as_ptr().addr() - before.as_ptr().addr();
    let end = start + last.get().len();
    let line = before[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &before[line..start];
    let indent = if indent.trim().is_empty() { indent } else { "" };
    let added = pretty(test)?.replace('\n', &format!("\n{indent}"));
    Ok(format!(
        "{},\n{indent}{added}{}",
        &before[..end],
        &before[end..]
    ))
}

/// Writes a test file. One that was not there before is not replaced.
pub(super) fn write(path: &Path, text: &str, was_there: bool) -> io::Result<()> {
    let overwrite = if was_there {
        Overwrite::Yes
    } else {
        Overwrite::No
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    atomic_file::write(path, text, overwrite)
}

fn pretty(value: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|error| error.to_string())
}
